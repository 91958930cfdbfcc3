"""Real processes: the live log equals the simulator's, deaths cost what they may cost, and nothing is left behind."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest
from live_kit import ANSWERING, CHOPPER, DEADLINE_S, PONDERING, children, gone, kill, metronome, same_as_simulated, watched, whole

from replays import events as ev
from replays.reader import open_replay
from workers.backends.scripted import Backend as Scripted
from workers.config import plan_episode
from workers.errors import ConfigError, WorkerError
from workers.live.desk import LiveRun, start_s
from workers.live.parts import Part

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="counts processes and descriptors in /proc")

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "run.rtr"


def failing_load() -> tuple[float, float, float]:
    raise OSError("no load here")


@pytest.mark.parametrize(("load", "patience_s"), [(0.1, 30), (2.0, 30), (8.0, 120), (900.0, 300), (None, 30)])
def test_a_start_may_take_longer_where_many_want_the_processors(load: float | None, patience_s: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    monkeypatch.setattr(os, "getloadavg", failing_load if load is None else lambda: (load, 0.0, 0.0))
    assert start_s() == patience_s


SLOW_TO_IMPORT = """
import os, pathlib, time

if "SLOW" in os.environ:
    pathlib.Path("importing").touch()
    time.sleep(60)


def main():
    pass
"""
STARTER = """
import multiprocessing, os, time
import slow
from workers.live.birth import Cord, born

os.environ["SLOW"] = "1"
process = multiprocessing.get_context("spawn").Process(target=born, args=(Cord(os.getpid(), holds=True), slow.main, ()), daemon=True)
process.start()
print(process.pid, flush=True)
process.join()
"""


def test_a_child_that_is_still_importing_goes_with_its_parent(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(SLOW_TO_IMPORT, encoding="utf-8")
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join((str(REPOSITORY), str(tmp_path)))}
    with subprocess.Popen([sys.executable, "-c", STARTER], cwd=tmp_path, env=environ, stdout=subprocess.PIPE, text=True) as starter:
        assert starter.stdout is not None
        child = int(starter.stdout.readline())
        deadline = time.monotonic() + DEADLINE_S
        while not (tmp_path / "importing").exists():
            assert time.monotonic() < deadline
            time.sleep(0.005)
        starter.kill()
        gone([child], seconds=1.0)


# Live equals simulated.

AGENTS: list[dict[str, Any]] = [
    {"agent": "agile"},
    {"agent": "agile", "throughput": "shared"},
    {"agent": "agile", "dynamic_reactive_budget": True, "reactive_budget": 512},
    {"agent": "agile", "force_answer": True, "reactive_budget": 1024},
    {"agent": "reactive"},
    {"agent": "planning"},
    {"agent": "random"},
    {"agent": "default"},
]


@pytest.mark.parametrize("options", AGENTS, ids=lambda options: "-".join(str(value) for value in options.values()))
def test_live_log_equals_the_simulated_one_whatever_the_timing(options: dict[str, Any], file: Path, tmp_path: Path) -> None:
    chopper = tmp_path / "chopper.py"
    chopper.write_text(CHOPPER.format(blocking=options["agent"] != "agile" or "throughput" in options))
    asked = {"load": "hard", "seed": 2, "ticks": 12, "planner": str(chopper), "reactor": str(chopper), **options}
    config = plan_episode("snake", **asked)
    with watched(config, record=file, jitter=0.003) as live:
        log = live.play()
    assert live.run.failure is None
    same_as_simulated(log, config, **asked)


def test_same_episode_twice_gives_the_same_log(tmp_path: Path) -> None:
    digests = []
    for number in range(2):
        with watched(plan_episode("snake", load="easy", seed=5, ticks=10), record=tmp_path / f"{number}.rtr", jitter=0.001) as live:
            digests.append(ev.canonical_digest(live.play()))
    assert digests[0] == digests[1]


def test_paced_run_has_the_same_log_as_an_unpaced_one(file: Path) -> None:
    asked = {"load": "easy", "seed": 5, "ticks": 4}
    config = plan_episode("snake", tick_rate=8.0, **asked)
    with watched(config, record=file) as live:
        log = live.play()
    same_as_simulated(log, config, **asked)
    times = [event.t_ns / 1e9 for event in log if isinstance(event, ev.Step)]
    assert times[0] > 0.12
    # Ticks end on a grid of an eighth of a second; a machine that is busy may lose the grid, and never runs ahead of it.
    assert all(later - earlier > 0.06 for earlier, later in pairwise(times))
    tokens = [event.meas["arrivals"] for event in log if isinstance(event, ev.Token) and event.stream == "planner"]
    assert sum(len(arrivals) for arrivals in tokens) > 8


# Deaths.


def test_killed_planner_is_a_fault_and_comes_back(tmp_path: Path, file: Path) -> None:
    with watched(metronome(tmp_path, tick_rate=20.0), record=file) as live:
        live.until("first steps", lambda: live.steps >= 3)
        pid = kill(live, "planner")
        took = live.until("fault event", lambda: live.of(ev.Fault), seconds=5)
        assert took < 1
        live.until("new generation", lambda: len(live.of(ev.Generation, stream="planner", phase="start")) >= 2)
        assert live.run.pids()["planner"] != pid
        live.run.command("quit")
        log = live.play()
    whole_until_quit(log)
    [fault] = [event for event in log if isinstance(event, ev.Fault)]
    assert (fault.component, fault.what, fault.done) == ("planner", "planner was ended by SIGKILL (out of memory, or somebody killed it)", "restarted; the game goes on")
    ends = [event for event in log if isinstance(event, ev.Generation) and event.phase == "end" and event.stream == "planner"]
    assert ends[0].finish == "fault"
    assert {event.source for event in log if isinstance(event, ev.Action)} == {"reactor"}


def test_killed_reactor_costs_one_default_action(tmp_path: Path, file: Path) -> None:
    with watched(metronome(tmp_path, tick_rate=20.0), record=file) as live:
        live.until("first steps", lambda: live.steps >= 3)
        kill(live, "reactor")
        assert live.until("fault event", lambda: live.of(ev.Fault), seconds=5) < 1
        dead = live.of(ev.Fault)[0].tick
        live.until("an action of the new reactor", lambda: any(action.tick > dead and action.source == "reactor" for action in live.of(ev.Action)))
        live.run.command("quit")
        log = live.play()
    whole_until_quit(log)
    defaults = [(event.tick, event.reason) for event in log if isinstance(event, ev.Action) and event.source == "default"]
    assert defaults in ([], [(dead, "fault")])
    after = next(event for event in log if isinstance(event, ev.Generation) and event.stream == "reactor" and event.tick > dead)
    # The new one has read the running generation from its first frame: its guidance reaches back to it.
    [part] = [part for part in after.prompt if isinstance(part, ev.Part) and part.trace is not None]
    assert (part.trace, part.start) == (0, 0)
    assert part.upto > 8192


def test_killed_recorder_goes_on_where_it_was_durable(tmp_path: Path, file: Path) -> None:
    with watched(metronome(tmp_path, tick_rate=40.0), record=file) as live:
        for number in range(1, 3):
            live.until("steps", lambda number=number: live.steps >= 6 * number)
            kill(live, "recorder")
            assert live.until("fault event", lambda number=number: len(live.of(ev.Fault)) >= number, seconds=5) < 1
        live.until("steps after that", lambda: live.steps >= 20)
        live.run.command("quit")
        log = live.play()
    assert live.run.record_failure is None
    whole_until_quit(log)
    faults = [event for event in log if isinstance(event, ev.Fault)]
    assert [(fault.component, fault.cause) for fault in faults] == [("recorder", "host")] * 2
    assert log[-1].totals.faults == 0  # type: ignore[union-attr]


def whole_until_quit(log: Sequence[ev.AnyEvent]) -> None:
    """Every tick is there once and in order, the last one without a step."""
    ticks = [event.tick for event in log if isinstance(event, ev.Tick)]
    steps = [event.tick for event in log if isinstance(event, ev.Step)]
    assert ticks == list(range(len(ticks)))
    assert steps == list(range(len(steps)))
    assert len(ticks) - len(steps) in (0, 1)
    assert [event.seq for event in log[1:]] == list(range(len(log) - 1))
    assert isinstance(log[-1], ev.End)
    assert log[-1].done_reason == "quit"


def test_killed_game_is_one_clear_message_and_the_replay_is_kept(tmp_path: Path, file: Path) -> None:
    with watched(metronome(tmp_path, tick_rate=20.0), record=file) as live:
        live.until("first steps", lambda: live.steps >= 5)
        others = [pid for role, pid in live.run.pids().items() if role != "game"]
        kill(live, "game")
        assert live.until("failure", lambda: live.run.failure, seconds=5) < 1
        assert live.run.failure == "game was ended by SIGKILL (out of memory, or somebody killed it)"
        assert live.run.over
        # They see that nobody gives orders any more.
        gone(others, seconds=5)
        live.events += live.run.poll()
        steps = live.steps
    assert live.run.record_failure is None
    with open_replay(file) as replay:
        assert replay.incomplete
        assert replay.closed
        assert [event.tick for event in replay.iter() if isinstance(event, ev.Step)] == list(range(steps))


def test_every_child_killed_at_once_leaves_nothing(tmp_path: Path, file: Path) -> None:
    with watched(metronome(tmp_path, tick_rate=20.0), record=file) as live:
        live.until("first steps", lambda: live.steps >= 2)
        for role in list(live.run.pids()):
            kill(live, role)
        live.until("failure", lambda: live.run.failure)
    with open_replay(file) as replay:
        assert replay.incomplete
        assert replay.tick_count >= 1


def test_planner_that_dies_too_often_is_not_started_again_and_the_game_finishes(tmp_path: Path, file: Path) -> None:
    dying = tmp_path / "dying.py"
    dying.write_text(
        "import os\nfrom replays.events import Backend as Info\n"
        "class Backend:\n    info = Info(spec='dying')\n    blocking = False\n"
        "    def stream(self, request):\n        os._exit(9)\n        yield\n    def close(self): ...\n"
    )
    config = metronome(tmp_path, planner_memory=False, ticks=8)
    with watched(msgspec.structs.replace(config, planner=str(dying)), record=file) as live:
        log = live.play()
    whole(log, 8)
    faults = [event for event in log if isinstance(event, ev.Fault)]
    assert [fault.what for fault in faults] == ["planner failed with exit code 9"] * 4
    assert [fault.done for fault in faults] == ["restarted; the game goes on"] * 3 + ["not restarted; the game goes on without it"]
    assert {event.source for event in log if isinstance(event, ev.Action)} == {"reactor"}


def test_hung_thinker_is_ended_and_named(tmp_path: Path) -> None:
    hanging = tmp_path / "hanging.py"
    hanging.write_text(
        "import os, time\nfrom replays.events import Backend as Info\n"
        f"marker = {str(tmp_path / 'hung')!r}\n"
        "class Backend:\n    info = Info(spec='hanging')\n    blocking = False\n"
        "    def stream(self, request):\n"
        "        if not os.path.exists(marker):\n            open(marker, 'w').close()\n            time.sleep(3600)\n"
        "        return iter(())\n    def close(self): ...\n"
    )
    config = msgspec.structs.replace(metronome(tmp_path, ticks=2, stall_timeout="200ms"), planner=str(hanging))
    with watched(config) as live:
        live.play()
        [fault] = live.of(ev.Fault)
        assert (fault.component, fault.what) == ("planner", "planner was ended: no sign of life for 0.2 s")
        assert live.steps == 2


def test_stream_that_blocks_ends_as_stalled_and_time_goes_on(tmp_path: Path, file: Path) -> None:
    silent = tmp_path / "silent.py"
    silent.write_text(
        "import threading\nfrom replays.events import Backend as Info\nfrom workers.backends import Chunk\n"
        "class Backend:\n    info = Info(spec='silent')\n"
        "    def stream(self, request):\n        yield Chunk('one two', (3, 4))\n        threading.Event().wait()\n"
        "    def close(self): ...\n"
    )
    config = msgspec.structs.replace(metronome(tmp_path, ticks=2, stall_timeout="150ms"), planner=str(silent))
    with watched(config, record=file) as live:
        pid = live.run.pids()["planner"]
        live.until("second generation", lambda: len(live.of(ev.Generation, stream="planner", phase="start")) == 2)
        assert live.run.pids()["planner"] == pid
        log = live.play()
    whole(log, 2)
    ends = [event for event in log if isinstance(event, ev.Generation) and event.phase == "end" and event.stream == "planner"]
    assert [(end.tick, end.finish, end.clock_tokens) for end in ends] == [(0, "stalled", 2), (1, "stalled", 2)]
    assert [event.what for event in log if isinstance(event, ev.Fault)] == ["no byte for 0.15 s"] * 2


def test_exception_in_a_thinker_is_recorded_and_the_game_goes_on(tmp_path: Path, file: Path) -> None:
    boom = tmp_path / "boom.py"
    boom.write_text(
        "from replays.events import Backend as Info\nfrom workers.backends import Chunk\n"
        "class Backend:\n    info = Info(spec='boom')\n"
        "    def stream(self, request):\n        for _ in range(4):\n            yield Chunk('x', (1,))\n        raise RuntimeError('boom')\n"
        "    def close(self): ...\n"
    )
    config = msgspec.structs.replace(metronome(tmp_path, ticks=3), planner=str(boom))
    with watched(config, record=file) as live:
        log = live.play()
    whole(log, 3)
    faults = [event for event in log if isinstance(event, ev.Fault)]
    assert [(fault.component, fault.what) for fault in faults] == [("planner", "RuntimeError: boom")] * 3
    assert log[-1].totals.faults == 3  # type: ignore[union-attr]


# Before the start.


@pytest.mark.parametrize("role", ["planner", "reactor"])
def test_child_that_dies_at_its_import_is_named_and_nothing_is_left(tmp_path: Path, role: str) -> None:
    broken = tmp_path / "broken.py"
    # The desk's own check passes; the child's import does not.
    broken.write_text(
        "import os\nfrom replays.events import Backend as Info\n"
        f"if os.getpid() != {os.getpid()}:\n    raise ImportError('no such\\x1b[31m library')\n"
        "class Backend:\n    info = Info(spec='broken')\n    def stream(self, request): ...\n    def close(self): ...\n"
    )
    with watched(msgspec.structs.replace(metronome(tmp_path), **{role: str(broken)})) as live:
        live.until("failure", lambda: live.run.failure)
        assert live.run.failure is not None
        assert live.run.failure.startswith(f"{role} failed with exit code 1: ")
        assert "no such" in live.run.failure
        assert "\x1b" not in live.run.failure
        assert live.events == []


def test_thinker_given_as_an_object_cannot_be_live() -> None:
    with pytest.raises(ConfigError, match="give it by name or path, not Backend"):
        LiveRun(plan_episode("snake", planner=Scripted([{"tokens": 1}])))


def test_run_that_was_never_started_closes() -> None:
    run = LiveRun(plan_episode("snake"))
    run.close()
    run.close()
    assert run.poll() == []


def test_quit_before_the_first_tick_is_over_at_once(tmp_path: Path) -> None:
    with watched(metronome(tmp_path)) as live:
        live.run.command("quit")
        live.until("end of the run", lambda: live.run.over)


def test_no_descriptor_and_no_process_is_left_when_a_start_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    start = Part.start
    started: list[int] = []

    def refuse(part: Part, *arguments: Any) -> None:
        if part.role == "game":
            raise OSError(11, "Resource temporarily unavailable")
        start(part, *arguments)
        assert part.process is not None
        started.append(part.process.pid or 0)

    monkeypatch.setattr(Part, "start", refuse)
    before = len(os.listdir("/proc/self/fd"))
    run = LiveRun(metronome(tmp_path))
    with pytest.raises(WorkerError, match=r"a process could not be started: .*; free memory or processes and try again"):
        run.start()
    gone(started, seconds=5)
    assert len(os.listdir("/proc/self/fd")) <= before + 1


# What a person wishes.


def test_pause_step_rate_and_bookmark(tmp_path: Path, file: Path) -> None:
    with watched(metronome(tmp_path, tick_rate=20.0), record=file) as live:
        live.until("first steps", lambda: live.steps >= 2)
        live.run.command("pause")
        live.until("pause", lambda: live.of(ev.Control, what="pause"))
        held = live.steps
        live.run.command("bookmark", "here")
        live.until("bookmark", lambda: live.of(ev.Bookmark))
        assert live.steps == held
        live.run.command("step")
        live.until("pause after the step", lambda: len(live.of(ev.Control, what="pause")) == 2)
        assert live.steps == held + 1
        live.run.command("rate", "1000")
        live.run.command("resume")
        began = time.monotonic()
        live.until("fast steps", lambda: live.steps >= held + 40)
        # At 20 ticks a second it would have been two seconds.
        assert time.monotonic() - began < 1.5
        live.run.command("quit")
        log = live.play()
    whole_until_quit(log)
    assert [event.what for event in log if isinstance(event, ev.Control)] == ["pause", "step", "pause", "rate", "resume", "quit"]
    assert [event.note for event in log if isinstance(event, ev.Bookmark)] == ["here"]


def test_unpaced_run_without_thinkers_hears_a_quit(tmp_path: Path) -> None:
    with watched(plan_episode("metronome", agent="default")) as live:
        live.until("steps", lambda: live.steps > 100)
        live.run.command("quit")
        live.until("end", lambda: live.run.end is not None, seconds=5)
    assert live.run.end is not None
    assert live.run.end.done_reason == "quit"


def test_quit_in_the_middle_of_a_tick_is_at_once(tmp_path: Path, file: Path) -> None:
    with watched(metronome(tmp_path, tick_rate=0.1), record=file) as live:
        live.until("first tick", lambda: live.of(ev.Tick))
        live.until("text", lambda: live.of(ev.Token))
        live.run.command("quit")
        assert live.until("end", lambda: live.run.end is not None, seconds=5) < 1
        log = live.play()
    whole_until_quit(log)
    assert log[-1].totals.ticks == 0  # type: ignore[union-attr]
    assert any(isinstance(event, ev.Token) for event in log)


# Wall time.


def test_wall_ticks_end_at_absolute_deadlines(tmp_path: Path, file: Path) -> None:
    # Plenty of time for the first answer of all, and hardly any load.
    quick = [{"tokens": 1, "chunks": [["\\boxed{B}", 2, "content"]]}]
    config = metronome(tmp_path, tick_budget="60ms", reactive_budget="40ms", reactor=quick, ticks=25, tpot="2ms")
    with watched(config, record=file) as live:
        log = live.play()
    whole(log, 25)
    ticks = {event.tick: event for event in log if isinstance(event, ev.Tick)}
    steps = {event.tick: event for event in log if isinstance(event, ev.Step)}
    assert [ticks[k].deadline_ns for k in range(25)] == [(k + 1) * 60_000_000 for k in range(25)]
    assert [ticks[k].deadline_ns - ticks[k].reactor_ns for k in range(25)] == [40_000_000] * 25  # type: ignore[operator]
    lateness = sorted(steps[k].t_ns - ticks[k].deadline_ns for k in range(25))  # type: ignore[operator]
    assert lateness[0] >= 0
    assert lateness[12] < 5_000_000, "the median tick was late by more than 5 ms"
    sources = [event.source for event in log if isinstance(event, ev.Action)]
    assert sources.count("reactor") > 12
    assert all(event.at is None for event in log)
    # One generation goes on over all ticks, a token every 2 ms, and none sooner.
    planner = sum(len(event.lens) for event in log if isinstance(event, ev.Token) and event.stream == "planner")
    assert 100 < planner <= 25 * 30 + 10


def test_reactor_is_cut_at_the_deadline_and_what_stands_there_counts(tmp_path: Path, file: Path) -> None:
    early = {"chunks": [["\\boxed{B}", 2, "content"], [" so" * 3000, 3000, "content"]]}
    never = {"tokens": 3000}
    config = metronome(tmp_path, tick_budget="120ms", reactive_budget="80ms", reactor=[early, never], ticks=4, tpot="2ms", agent="agile")
    with watched(config, record=file) as live:
        log = live.play()
    ends = [event for event in log if isinstance(event, ev.Generation) and event.stream == "reactor" and event.phase == "end"]
    deadlines = {event.tick: event.deadline_ns for event in log if isinstance(event, ev.Tick)}
    assert [end.finish for end in ends][:3] == ["budget"] * 3
    assert all(0 < end.clock_tokens <= 41 for end in ends)
    assert all(end.t_ns - deadlines[end.id] < 60_000_000 for end in ends)  # type: ignore[operator]
    actions = [(event.source, event.reason) for event in log if isinstance(event, ev.Action)]
    assert actions[0] in (("reactor", None), ("default", "late"))
    assert actions[1:] == [("default", "late")] * 3
    assert log[-1].totals.late_actions == actions.count(("default", "late"))  # type: ignore[union-attr]


def test_late_answer_is_dropped_and_counted(tmp_path: Path, file: Path) -> None:
    tardy = tmp_path / "tardy.py"
    tardy.write_text(
        "import time\nfrom replays.events import Backend as Info\nfrom workers.backends import Chunk\n"
        "class Backend:\n    info = Info(spec='tardy')\n    blocking = False\n"
        "    def stream(self, request):\n"
        "        # Works past the deadline without looking up, as a machine too slow for its ticks would.\n"
        "        time.sleep(0.15 if request.tick % 2 == 0 else 0)\n"
        "        yield Chunk('\\\\boxed{B}', (9,), 'content')\n"
        "    def close(self): ...\n"
    )
    config = msgspec.structs.replace(metronome(tmp_path, agent="reactive", tick_budget="100ms", ticks=6), reactor=str(tardy))
    with watched(config, record=file) as live:
        log = live.play()
    whole(log, 6)
    actions = [(event.source, event.reason) for event in log if isinstance(event, ev.Action)]
    assert actions[0] == ("default", "late")
    assert log[-1].totals.late_actions == log[-1].totals.default_actions == actions.count(("default", "late")) >= 2  # type: ignore[union-attr]
    # The answer came, and stands in the log of a later tick.
    late = [event for event in log if isinstance(event, ev.Answer) and event.tick > event.generation]
    assert late
    assert all(event.generation in (0, 2, 4) for event in late)


def test_wall_pause_takes_effect_at_the_tick_end_and_moves_the_deadlines(tmp_path: Path, file: Path) -> None:
    with watched(metronome(tmp_path, tick_budget="50ms", reactive_budget="30ms"), record=file) as live:
        live.until("first steps", lambda: live.steps >= 3)
        live.run.command("pause")
        live.until("pause", lambda: live.of(ev.Control, what="pause"))
        held = live.steps
        paused_at = time.monotonic()
        live.run.command("bookmark", "still")
        live.until("bookmark", lambda: live.of(ev.Bookmark))
        assert live.steps == held
        live.run.command("resume")
        live.until("steps after that", lambda: live.steps >= held + 3)
        stood = time.monotonic() - paused_at
        live.run.command("quit")
        log = live.play()
    deadlines = [event.deadline_ns for event in log if isinstance(event, ev.Tick)]
    gaps = [(later - earlier) / 1e9 for earlier, later in pairwise(deadlines)]  # type: ignore[operator]
    assert sum(gap > 0.0501 for gap in gaps) == 1
    assert max(gaps) < stood + 0.1
    [fault] = [event for event in log if isinstance(event, ev.Fault)]
    assert fault.what.startswith("paused for ")
    assert (fault.cause, fault.done) == ("host", "deadlines moved; the run is not comparable")


@pytest.mark.slow
def test_game_that_stood_still_is_not_fast_forwarded(tmp_path: Path, file: Path) -> None:
    with watched(metronome(tmp_path, tick_budget="50ms", reactive_budget="30ms"), record=file) as live:
        live.until("first steps", lambda: live.steps >= 3)
        pid = live.run.pids()["game"]
        os.kill(pid, signal.SIGSTOP)
        time.sleep(2.5)
        steps = live.steps
        os.kill(pid, signal.SIGCONT)
        live.until("fault", lambda: live.of(ev.Fault))
        live.until("steps after that", lambda: live.steps >= steps + 4)
        live.run.command("quit")
        log = live.play()
    [fault] = [event for event in log if isinstance(event, ev.Fault)]
    assert fault.what.startswith("stood still for 2.")
    times = [event.t_ns for event in log if isinstance(event, ev.Step)]
    late = max(range(1, len(times)), key=lambda k: times[k] - times[k - 1])
    assert times[late + 1] - times[late] > 30_000_000


# The recorder, slow or without room.


@pytest.mark.slow
def test_game_holds_for_a_recorder_that_is_behind_and_not_for_ever(tmp_path: Path, file: Path) -> None:
    with watched(metronome(tmp_path, ticks=60, tick_budget=65_536), record=file) as live:
        live.until("first steps", lambda: live.steps >= 1)
        pid = live.run.pids()["recorder"]
        os.kill(pid, signal.SIGSTOP)
        live.until("fault", lambda: live.of(ev.Fault, what="recorder behind"))
        live.until("steps after that", lambda: live.steps >= live.of(ev.Fault)[0].tick + 30)
        os.kill(pid, signal.SIGCONT)
        log = live.play()
    assert isinstance(log[-1], ev.End)
    gaps = [event for event in log if isinstance(event, ev.Fault) and event.what.startswith("gap: ")]
    assert gaps
    assert [event.seq for event in log[1:]] == list(range(len(log) - 1))


def test_full_disk_is_told_at_once_and_the_game_goes_on(tmp_path: Path) -> None:
    script = (
        "mount -t tmpfs -o size=64k tmpfs /mnt && exec "
        f"{sys.executable} -m rtdesk play snake --agent agile --ticks 40 --headless --json --record /mnt/r.rtr"
    )
    if subprocess.run(["unshare", "-Urm", "true"], capture_output=True, check=False).returncode:
        pytest.skip("no unprivileged mount here")
    inside = f"{script[: script.index(' && exec')]} && {script[script.index('exec ') + 5 :]}; code=$?; cp /mnt/r.rtr {tmp_path}/r.rtr; exit $code"
    done = subprocess.run(["unshare", "-Urm", "sh", "-c", inside], capture_output=True, text=True, env=environment(tmp_path), timeout=60, cwd=REPOSITORY, check=False)
    assert done.returncode == 1, done.stderr
    assert "recording stopped" in done.stderr
    assert "No space left on device" in done.stderr
    assert "Traceback" not in done.stderr
    result = json.loads(done.stdout)
    assert result["ticks"] == 40
    with open_replay(tmp_path / "r.rtr") as replay:
        assert replay.incomplete
        assert 0 < replay.tick_count < 40


# The desk itself.


def environment(folder: Path, **more: str) -> dict[str, str]:
    return {**os.environ, "XDG_DATA_HOME": str(folder / "data"), "XDG_STATE_HOME": str(folder / "state"), **more}


def start(command: list[str], folder: Path, **more: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command, cwd=REPOSITORY, env=environment(folder, **more), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def play(folder: Path, *more: str) -> list[str]:
    return [sys.executable, "-m", "rtdesk", "play", "snake", "--headless", "--record", str(folder / "run.rtr"), *more]


def ticks_in(path: Path) -> int:
    try:
        with open_replay(path) as replay:
            return replay.tick_count
    except Exception:
        return 0


def wait_for_ticks(process: subprocess.Popen[str], path: Path, ticks: int) -> list[int]:
    """Wait until the file holds so many ticks; return the processes below."""
    deadline = time.monotonic() + DEADLINE_S
    while ticks_in(path) < ticks:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline, f"{path} holds {ticks_in(path)} ticks"
        time.sleep(0.02)
    return children(process.pid)


def test_killed_desk_takes_its_children_along_and_leaves_nothing_in_shared_memory(tmp_path: Path) -> None:
    process = start(play(tmp_path, "--tick-rate", "10"), tmp_path)
    below = wait_for_ticks(process, tmp_path / "run.rtr", 3)
    named = shared_names([process.pid, *below])
    assert len(below) >= 4
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    took = gone(below, seconds=5)
    assert took < 1
    process.communicate()
    assert [name for name in named if os.path.exists(name)] == []
    assert ticks_in(tmp_path / "run.rtr") >= 3


def test_vanished_folder_is_told_at_once_and_the_game_goes_on(tmp_path: Path) -> None:
    """Where a recording was deleted writing to it goes on without an error, so nobody would know."""
    place = tmp_path / "place"
    place.mkdir()
    command = [sys.executable, "-m", "rtdesk", "play", "snake", "--headless", "--json", "--tick-rate", "10", "--ticks", "30", "--seed", "3", "--record", str(place / "run.rtr")]
    process = start(command, tmp_path)
    wait_for_ticks(process, place / "run.rtr", 3)
    shutil.rmtree(place)
    assert process.stderr is not None
    told = process.stderr.readline()
    assert "recording stopped" in told
    assert "was deleted" in told
    # The game goes on: it is not over when that is told.
    assert process.poll() is None
    out, err = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 1, err
    result = json.loads(out)
    assert (result["ticks"], result["replay"]) == (30, None)
    assert "Traceback" not in err


def shared_names(pids: list[int]) -> set[str]:
    """Files in /dev/shm that these processes have mapped."""
    lines = [line for pid in pids for line in Path(f"/proc/{pid}/maps").read_text().splitlines()]
    return {line.split(maxsplit=5)[5].removesuffix(" (deleted)") for line in lines if "/dev/shm/" in line}


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGHUP, 129)])
def test_signal_to_the_desk_alone_ends_everything(number: signal.Signals, code: int, tmp_path: Path) -> None:
    process = start(play(tmp_path, "--tick-rate", "10"), tmp_path)
    below = wait_for_ticks(process, tmp_path / "run.rtr", 3)
    process.send_signal(number)
    out, err = process.communicate(timeout=5)
    assert process.returncode == code, err
    gone(below, seconds=1)
    assert "Traceback" not in out + err
    with open_replay(tmp_path / "run.rtr") as replay:
        assert replay.tick_count >= 3
        assert replay.end is None or replay.end.done_reason == "quit"


SCRIPT = """
from workers.config import plan_episode
from workers.live.desk import LiveRun, start_s

run = LiveRun(plan_episode("snake", agent="random", ticks=5))
run.start()
while not run.over:
    run.wait(0.05)
    run.poll()
run.close()
print("ticks", run.end.totals.ticks if run.end else run.failure)
"""


@pytest.mark.parametrize("entry", ["module", "main", "console", "script"])
def test_every_way_to_start_works_and_none_starts_a_chain(entry: str, tmp_path: Path) -> None:
    arguments = ["play", "snake", "--agent", "random", "--ticks", "5", "--headless", "--no-record", "--json"]
    script = tmp_path / "bare.py"
    script.write_text(SCRIPT)
    command = {
        "module": [sys.executable, "-m", "rtdesk", *arguments],
        "main": [sys.executable, "-c", "import sys; from rtdesk.__main__ import main; sys.exit(main())", *arguments],
        "console": [str(Path(sys.executable).with_name("rtdesk")), *arguments],
        "script": [sys.executable, str(script)],
    }[entry]
    if entry == "console" and not Path(command[0]).exists():
        pytest.skip("rtdesk is not installed here")
    process = start(command, tmp_path, PYTHONWARNINGS="error::DeprecationWarning", PYTHONPATH=str(REPOSITORY))
    out, err = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 0, err
    assert err == ""
    assert out.strip() == "ticks 5" if entry == "script" else json.loads(out)["ticks"] == 5


def quiet_runs(count: int, folder: Path) -> None:
    code = SCRIPT.replace('agent="random", ticks=5', 'agent="agile", ticks=20')
    code += "import os\nprint(len([name for name in os.listdir('/proc/self/fd')]))\n"
    script = folder / "quiet.py"
    script.write_text(code)
    for _ in range(count):
        process = start([sys.executable, str(script)], folder, PYTHONPATH=str(REPOSITORY))
        out, err = process.communicate(timeout=DEADLINE_S)
        assert (process.returncode, err) == (0, "")
        assert out.startswith("ticks 20")


def test_run_says_nothing_on_stderr(tmp_path: Path) -> None:
    quiet_runs(2, tmp_path)


@pytest.mark.slow
def test_twenty_runs_say_nothing_on_stderr(tmp_path: Path) -> None:
    quiet_runs(20, tmp_path)


def test_no_thread_is_forked(tmp_path: Path) -> None:
    run = LiveRun(metronome(tmp_path, planner=PONDERING, reactor=ANSWERING, ticks=1))
    with run:
        run.start()
        assert all(type(part.process).__name__ == "SpawnProcess" for part in run._parts.values())
