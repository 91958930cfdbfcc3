"""Matches of real processes: they begin together, tick together, and end each in its own time."""

from __future__ import annotations

import json
import os
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from replays import events as ev
from replays.reader import open_replay
from replays.reduce import fold
from replays.verify import verify
from replays.view_state import ViewState
from rtdesk.ghost import GhostSource
from rtdesk.heat import Gate, Heat, Table
from rtdesk.live_source import LiveSource
from workers.config import Config, plan_episode
from workers.live.desk import LiveRun
from workers.simulator import simulate
from workers.wire import START

DEADLINE_S = 30.0


class Play:
    """A table with a source for every side, polled as a screen would."""

    def __init__(self, configs: Sequence[Config], *, records: Sequence[Path | None] = (), gate: Gate | None = None, hands: Sequence[dict[int, int]] = ()) -> None:
        self.count = 0
        self._gate = gate
        self._records = list(records) or [None] * len(configs)
        self._together = len(configs) > 1
        heat = self._heat(configs)
        self.table = Table(heat, self._begin)
        hands = hands or [{}] * len(configs)
        self.sources = [LiveSource(self.table, side, hands=hands[side], crowd=sum(map(len, hands))) for side in range(len(configs))]
        self.states = [ViewState() for _ in configs]
        self.events: list[list[Any]] = [[] for _ in configs]
        heat.start()

    def _heat(self, configs: Sequence[Config]) -> Heat:
        self.count += 1
        match = [ev.Match(side=side, of=len(configs)) if self._together else None for side in range(len(configs))]
        runs = [
            LiveRun(config, record=None if path is None else str(path), meas={"match": f"m{self.count}"}, held=True, together=self._together, match=match[side])
            for side, (config, path) in enumerate(zip(configs, self._records))
        ]
        gate, self._gate = self._gate or Gate(), None
        return Heat(runs, gate=gate)

    def _begin(self, configs: Sequence[Config]) -> Heat:
        heat = self._heat(configs)
        heat.start()
        return heat

    def poll(self) -> None:
        for side, source in enumerate(self.sources):
            for item in source.poll(time.monotonic_ns()):
                if isinstance(item, ViewState):
                    self.states[side], self.events[side] = item, []
                else:
                    fold(self.states[side], item)
                    self.events[side].append(item)

    def until(self, what: str, reached: Callable[[], Any]) -> None:
        began = time.monotonic()
        while not reached():
            self.poll()
            waited = time.monotonic() - began
            runs = self.table.heat.runs
            assert waited < DEADLINE_S, f"no {what} after {waited:.0f} s: {[(run.failure, run.stands, run.pids()) for run in runs]}"
            # A run that is being put away is left alone, as a screen leaves it.
            threading.Event().wait(0.005) if self.table.changing else runs[0].wait(0.005)

    def of(self, side: int, kind: type) -> list[Any]:
        return [event for event in self.events[side] if isinstance(event, kind)]

    @property
    def over(self) -> bool:
        return all(state.end is not None for state in self.states)


@contextmanager
def playing(*configs: Config, **options: Any) -> Iterator[Play]:
    play = Play(configs, **options)
    pids = [pid for run in play.table.heat.runs for pid in run.pids().values()]
    try:
        yield play
        pids += [pid for run in play.table.heat.runs for pid in run.pids().values()]
    finally:
        play.table.close()
    until = time.monotonic() + 2
    while left := [pid for pid in pids if _alive(pid)]:
        assert time.monotonic() < until, f"still alive: {left}"
        time.sleep(0.005)


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def level(agent: str, game: str = "snake", **options: Any) -> Config:
    return plan_episode(game, agent=agent, **{"load": "easy", "seed": 0, "ticks": 8, "tick_rate": 10.0, **options})


@pytest.fixture(scope="module")
def raced(tmp_path_factory: pytest.TempPathFactory) -> tuple[Play, list[Path]]:
    """An agent against a person, who walks in a square."""
    folder = tmp_path_factory.mktemp("raced")
    paths = [folder / "agent.rtr", folder / "human.rtr"]
    with playing(level("agile"), level("human"), records=paths, hands=[{}, {0: 0}]) as play:
        seen = -1
        while not play.over:
            play.until("tick", lambda seen=seen: play.states[1].tick > seen or play.over)
            seen = play.states[1].tick
            # Both sources are asked, as the screen does; the key is for one of them.
            for source in play.sources:
                source.command("key", "UURRDDLL"[seen % 8])
    return play, paths


def test_both_sides_tick_at_the_same_instants(raced: tuple[Play, list[Path]]) -> None:
    play, _ = raced
    epochs = [state.header.meas["epoch_ns"] for state in play.states if state.header is not None]
    assert epochs[0] == epochs[1]
    steps = [{event.tick: event.t_ns for event in play.of(side, ev.Step)} for side in (0, 1)]
    assert set(steps[0]) == set(steps[1]) == set(range(8))
    apart = [abs(steps[0][tick] - steps[1][tick]) for tick in steps[0]]
    assert statistics.median(apart) < 20_000_000


def test_every_side_is_a_file_of_its_own_with_one_match_id(raced: tuple[Play, list[Path]]) -> None:
    _, paths = raced
    headers = []
    for path in paths:
        with open_replay(path) as replay:
            assert replay.end is not None
            assert verify(replay).same
            headers.append(replay.header)
    assert [(header.agent, header.match) for header in headers] == [("agile", ev.Match(side=0, of=2)), ("human", ev.Match(side=1, of=2))]
    assert headers[0].meas["match"] == headers[1].meas["match"]
    assert headers[0].meas.get("engine") == "live"


def test_the_person_moved_by_keys_and_the_keys_are_in_the_file(raced: tuple[Play, list[Path]]) -> None:
    _, paths = raced
    with open_replay(paths[1]) as replay:
        events = list(replay)
    keys = {event.tick: event.value for event in events if isinstance(event, ev.Control) and event.what == "key"}
    actions = {event.tick: (event.letter, event.source) for event in events if isinstance(event, ev.Action)}
    # A key sent on seeing a tick may come after its end on a busy machine; what is in the log is what was done.
    assert len(keys) >= 6
    assert actions == {tick: (keys[tick], "human") if tick in keys else ("S", "default") for tick in range(8)}


def test_the_agents_side_is_the_episode_it_plays_alone(raced: tuple[Play, list[Path]]) -> None:
    _, paths = raced
    with open_replay(paths[0]) as replay:
        log = [event for event in replay if isinstance(event, ev.Event) and not isinstance(event, ev.Episode)]
    alone = simulate("snake", agent="agile", load="easy", seed=0, ticks=8)
    assert ev.canonical(log) == ev.canonical(alone.events[1:])  # type: ignore[arg-type]


def test_nothing_begins_before_the_rules_are_read_and_the_board_is_there_all_the_while() -> None:
    with playing(level("human"), gate=Gate(count=0, reading=True), hands=[{0: 0}]) as play:
        play.until("readiness", lambda: play.table.heat.ready)
        [source] = play.sources
        assert source.status.reading
        assert source.status.play == "waiting"
        assert play.states[0].snapshot["snake"]
        assert play.events[0] == []
        source.command("key", "U")
        source.command("begin")
        play.until("end", lambda: play.over)
        assert not source.status.reading
        # What was pressed before the game began moved nobody.
        assert play.of(0, ev.Action)[0].source == "default"
        assert play.of(0, ev.Control) == []


def test_leaving_before_the_start_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "never.rtr"
    with playing(level("human"), records=[path], gate=Gate(reading=True)) as play:
        play.until("readiness", lambda: play.table.heat.ready)
    assert not path.exists()


def test_a_side_that_is_out_or_dead_does_not_hold_the_other() -> None:
    with playing(level("default", ticks=20), level("default", "freeway", ticks=10), level("default", "freeway", ticks=12)) as play:
        # The snake runs into the wall by itself; one road's process is killed.
        play.until("a few steps", lambda: play.states[2].steps >= 4)
        assert play.states[0].end is not None
        os.kill(play.table.heat.runs[1].pids()["game"], signal.SIGKILL)
        play.until("end of the third", lambda: play.states[2].end is not None)
        assert play.states[2].steps == 12
        assert "SIGKILL" in (play.table.heat.runs[1].failure or "")


def test_a_flood_of_keys_never_drowns_the_word_a_side_waits_for() -> None:
    with playing(level("default", "freeway", ticks=4), level("human", "freeway", ticks=4), hands=[{}, {0: 0}]) as play:
        # Nobody polls, so nothing begins before this.
        until = time.monotonic() + DEADLINE_S
        while not play.table.heat.ready:
            assert time.monotonic() < until, "the sides do not stand at their beginning"
            threading.Event().wait(0.005)
        game = play.table.heat.runs[1].pids()["game"]
        os.kill(game, signal.SIGSTOP)
        try:
            play.table.heat.poll(time.monotonic_ns())
            while not play.states[0].header:
                # The side that runs has had the word, so the one that stands still has it, too.
                assert time.monotonic() < until, "the word was not given"
                play.poll()
            for _ in range(5000):
                play.sources[1].command("key", "D")
        finally:
            os.kill(game, signal.SIGCONT)
        play.until("end", lambda: play.over)
        assert play.states[1].steps == 4


def test_a_heat_that_was_ended_while_it_counted_never_begins_and_the_next_can_be_asked_for() -> None:
    with playing(level("default", "freeway", ticks=4), level("human", "freeway", ticks=4), gate=Gate(count=1), hands=[{}, {0: 0}]) as play:
        play.until("readiness", lambda: play.table.heat.ready)
        begin = play._begin

        def fail(configs: Sequence[Config]) -> Heat:
            raise RuntimeError("no thread to be had")

        play.table._begin = fail
        play.sources[0].command("restart")
        play.until("the change", lambda: not play.table.changing)
        assert "no thread to be had" in play.sources[0].status.note
        # The count of the heat that was put away is long over.
        play.table.heat.poll(time.monotonic_ns() + 10_000_000_000)
        assert not play.states[0].steps
        play.table._begin = begin
        play.sources[0].command("restart")
        play.until("end", lambda: play.over)
        assert play.count == 2


def test_a_pause_in_the_count_holds_it_and_a_second_one_begins_it_again() -> None:
    with playing(level("default", "freeway", ticks=4), level("human", "freeway", ticks=4), gate=Gate(count=3), hands=[{}, {0: 0}]) as play:
        play.until("the count", lambda: play.sources[0].status.count == 3)
        for source in play.sources:
            source.command("pause", "on")
        play.poll()
        assert [(source.status.play, source.status.count) for source in play.sources] == [("paused", 0)] * 2
        # However much time goes by.
        play.table.heat.poll(time.monotonic_ns() + 60_000_000_000)
        assert play.table.heat.gate is not None
        assert not play.table.heat.gate.open
        for source in play.sources:
            source.command("pause", "off")
        now = time.monotonic_ns()
        play.table.heat.poll(now)
        assert [(source.status.play, source.status.count) for source in play.sources] == [("waiting", 3)] * 2
        play.table.heat.poll(now + 3_000_000_000)
        play.until("end", lambda: play.over)
        assert [state.paused for state in play.states] == [False, False]
        assert play.of(0, ev.Control) == []


def test_what_is_said_right_after_the_word_to_begin_is_heard() -> None:
    with playing(level("default", "freeway", ticks=40)) as play:
        run = play.table.heat.runs[0]
        until = time.monotonic() + DEADLINE_S
        while not play.table.heat.ready:
            assert time.monotonic() < until, "the run does not stand at its beginning"
            run.poll_game()
            run.wait(0.02)
        os.kill(run.pids()["game"], signal.SIGSTOP)
        try:
            run.go(START, time.monotonic_ns())
            run.command("bookmark", "first")
            run.command("rate", "max")
        finally:
            os.kill(run.pids()["game"], signal.SIGCONT)
        play.until("end", lambda: play.over)
        assert [event.note for event in play.of(0, ev.Bookmark)] == ["first"]
        assert [event.what for event in play.of(0, ev.Control)] == ["rate"]


def test_a_referee_that_fails_is_told_and_waited_for_by_nobody() -> None:
    with playing(level("default", "freeway", ticks=400), level("default", "freeway", ticks=400)) as play:
        play.until("a few steps", lambda: play.states[1].steps >= 2)
        referee: Any = play.table.heat._referee

        def fail() -> None:
            raise RuntimeError("no whistle")

        referee._give = fail
        play.until("a word about it", lambda: all("the referee failed: RuntimeError: no whistle" in source.status.note for source in play.sources))
        assert [source.status.play for source in play.sources] == ["ended", "ended"]


def test_no_side_of_a_match_that_is_ended_plays_on_while_another_is_closed() -> None:
    wall = {"tick_budget": "50ms", "tick_rate": None, "ticks": 4000}
    with playing(level("default", "freeway", **wall), level("default", "freeway", **wall)) as play:
        play.until("a few steps", lambda: min(state.steps for state in play.states) >= 3)
        first, second = play.table.heat.runs
        close, ended = first.close, []

        def slow() -> None:
            # However long the first takes, the second has been told as well.
            until = time.monotonic() + 5
            while second.end is None and time.monotonic() < until:
                second.wait(0.02)
                second.poll_game()
            ended.append(second.end is not None)
            close()

        first.close = slow  # type: ignore[method-assign]
    assert ended[0]


def test_pausing_holds_all_boards_and_the_next_heat_is_another_match() -> None:
    with playing(level("default", "freeway", ticks=400), level("human", "freeway", ticks=400), hands=[{}, {0: 0}]) as play:
        play.until("a few steps", lambda: play.states[0].steps >= 2)
        for source in play.sources:
            source.command("pause")
        play.until("pause", lambda: all(state.paused for state in play.states))
        assert [source.status.play for source in play.sources] == ["paused", "paused"]
        assert abs(play.states[0].tick - play.states[1].tick) <= 1
        first = [state.header for state in play.states]
        for source in play.sources:
            source.command("next-seed")
        play.until("another start", lambda: play.states[0].steps >= 1 and play.states[0].header is not first[0])
        headers = [state.header for state in play.states]
        assert [header.seed for header in headers if header is not None] == [1, 1]
        assert [header.meas["match"] for header in headers if header is not None] == ["m2", "m2"]


def test_a_ghost_is_where_the_one_who_races_it_is(tmp_path: Path) -> None:
    from replays.writer import ReplayWriter

    header, *events = simulate("freeway", agent="reactive", load="easy", ticks=12, tick_budget=64).events
    assert isinstance(header, ev.Episode)
    path = tmp_path / "ghost.rtr"
    with ReplayWriter.create(path, header) as writer:
        for tick in range(12):
            writer.tick(tick, [event for event in events if event.tick == tick and not isinstance(event, ev.End)])
        writer.end(events[-1])  # type: ignore[arg-type]
    with open_replay(path) as recording, playing(level("human", "freeway", ticks=8), hands=[{0: 0}]) as play:
        ghost = GhostSource(recording, play.sources[0])
        state, apart = ViewState(), set()
        while not play.over:
            play.poll()
            for item in ghost.poll(time.monotonic_ns()):
                state = item if isinstance(item, ViewState) else fold(state, item)
            if play.states[0].tick >= 0:
                apart.add(state.tick - play.states[0].tick)
            play.table.heat.runs[0].wait(0.005)
        assert apart <= {-1, 0, 1}
        assert state.tick in (7, 8)
        # Out of the race it runs on to its own end, as fast as the clock given says.
        now = time.monotonic_ns()
        for second in range(1, 30):
            for item in ghost.poll(now + second * 1_000_000_000):
                state = item if isinstance(item, ViewState) else fold(state, item)
        assert state.end is not None
        assert state.steps == 12


def test_a_match_without_a_screen_is_one_json_object(tmp_path: Path) -> None:
    path = tmp_path / "a.rtr"
    arguments = ["play", "freeway", "--agent", "default", "--vs", "random", "--load", "easy", "--headless", "--json", "--record", str(path)]
    done = subprocess.run([sys.executable, "-m", "rtdesk", *arguments], cwd=tmp_path, env={**os.environ, "XDG_STATE_HOME": str(tmp_path), "PYTHONPATH": str(Path(__file__).parents[1])}, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    result = json.loads(done.stdout)
    assert [side["agent"] for side in result["sides"]] == ["default", "random"]
    assert result["agent"] == "default"
    replays = [side["replay"] for side in result["sides"]]
    assert replays == [str(path), str(tmp_path / "a-vs-random.rtr")]
    for name in replays:
        with open_replay(name) as replay:
            assert replay.header.meas["match"] == result["match"]


SLOW = """
import os
from workers.backends.builtin import Backend as Builtin


class Backend(Builtin):
    blocking = False

    def stream(self, request):
        while request.tick >= 2 and not os.path.exists({flag!r}):
            yield None
        yield from super().stream(request)
"""


def test_a_slow_server_holds_both_boards_and_keys_of_the_hold_do_not_count(tmp_path: Path) -> None:
    flag, slow = tmp_path / "answered", tmp_path / "slow.py"
    slow.write_text(SLOW.format(flag=str(flag)), encoding="utf-8")
    thinking = {"planner": str(slow), "tick_budget": 64, "tick_rate": 20.0, "ticks": 5}
    with playing(level("planning", "freeway", **thinking), level("human", "freeway", tick_budget=64, tick_rate=20.0, ticks=5), hands=[{}, {0: 0}]) as play:
        play.until("the hold", lambda: all(source.status.play == "waiting" and "all boards hold" in source.status.note for source in play.sources))
        held = [state.tick for state in play.states]
        assert held[0] == held[1]
        play.sources[1].command("key", "D")
        for _ in range(20):
            play.poll()
            threading.Event().wait(0.005)
        assert [state.tick for state in play.states] == held
        flag.touch()
        play.until("end", lambda: play.over)
        assert [event.letter for event in play.of(1, ev.Action)] == ["U"] * 5
        assert play.of(1, ev.Control) == []
        assert [source.status.play for source in play.sources] == ["ended", "ended"]
