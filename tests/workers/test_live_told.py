"""Processes that end in ways no kill -9 shows: told by a SIGTERM of their own, or by code that ends them without a word."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest
from live_kit import DEADLINE_S, children, gone, metronome, watched, whole

from replays import events as ev
from replays.reader import open_replay

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="counts processes in /proc")

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "run.rtr"


@pytest.mark.parametrize("role", ["planner", "reactor"])
def test_thinker_told_to_go_is_a_death_like_any_other(role: str, tmp_path: Path, file: Path) -> None:
    with watched(metronome(tmp_path, ticks=14, tick_rate=10.0), record=file) as live:
        live.until("first steps", lambda: live.steps >= 2)
        os.kill(live.run.pids()[role], signal.SIGTERM)
        live.until("fault", lambda: live.of(ev.Fault), seconds=5)
        log = live.play()
    whole(log, 14)
    assert [event.what for event in log if isinstance(event, ev.Fault)] == [f"{role} was ended by SIGTERM (somebody told it to go)"]
    assert live.run.failure is None


def test_recorder_told_to_go_is_started_again_and_the_file_is_whole(tmp_path: Path, file: Path) -> None:
    with watched(metronome(tmp_path, ticks=20, tick_rate=10.0), record=file) as live:
        live.until("first steps", lambda: live.steps >= 2)
        os.kill(live.run.pids()["recorder"], signal.SIGTERM)
        log = live.play()
    whole(log, 20)
    assert live.run.record_failure is None
    [fault] = [event for event in log if isinstance(event, ev.Fault)]
    assert (fault.component, fault.cause) == ("recorder", "host")


def test_game_told_to_go_ends_the_episode_and_is_named(tmp_path: Path, file: Path) -> None:
    with watched(metronome(tmp_path, tick_rate=10.0), record=file) as live:
        live.until("first steps", lambda: live.steps >= 2)
        os.kill(live.run.pids()["game"], signal.SIGTERM)
        live.until("end", lambda: live.run.end is not None)
    assert live.run.failure == "game was ended by SIGTERM (somebody told it to go)"
    with open_replay(file) as replay:
        assert replay.end is not None
        assert replay.end.done_reason == "quit"


@pytest.mark.parametrize("role", ["planner", "reactor"])
def test_process_that_ends_without_a_word_is_not_taken_for_one_that_is_done(role: str, tmp_path: Path, file: Path) -> None:
    leaving = tmp_path / "leaving.py"
    leaving.write_text(
        "import os\nfrom replays.events import Backend as Info\n"
        "class Backend:\n    info = Info(spec='leaving')\n"
        "    def stream(self, request):\n        if request.tick == 1:\n            os._exit(0)\n        return iter(())\n"
        "    def close(self): ...\n"
    )
    config = msgspec.structs.replace(metronome(tmp_path, ticks=4, planner_memory=False), **{role: str(leaving)})
    with watched(config, record=file) as live:
        log = live.play()
    whole(log, 4)
    faults = [event.what for event in log if isinstance(event, ev.Fault) and event.component == role]
    assert faults[0] == f"{role} ended by itself, without a word"


def test_whole_run_told_at_once_keeps_its_end_and_its_exit_code(tmp_path: Path, file: Path) -> None:
    command = [sys.executable, "-m", "rtdesk", "play", "snake", "--headless", "--tick-rate", "10", "--record", str(file)]
    places = {f"XDG_{name}_HOME": str(tmp_path / name) for name in ("DATA", "STATE", "CONFIG", "CACHE")}
    process = subprocess.Popen(
        command, cwd=REPOSITORY, env={**os.environ, **places}, start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + DEADLINE_S
    while not (file.exists() and ticks_in(file) >= 3):
        assert time.monotonic() < deadline, f"no ticks in time: {process.poll()}"
        time.sleep(0.05)
    below = children(process.pid)
    os.killpg(process.pid, signal.SIGTERM)
    out, err = process.communicate(timeout=10)
    assert process.returncode == 143, err
    assert err == ""
    assert "ended by quit" in out
    gone(below, seconds=1)
    with open_replay(file) as replay:
        assert replay.end is not None
        assert replay.warnings == []


def ticks_in(path: Path) -> int:
    with open_replay(path) as replay:
        return replay.tick_count


@pytest.mark.parametrize("role", ["planner", "reactor", "game"])
def test_leaving_does_not_wait_long_for_a_process_that_stands_still(role: str, tmp_path: Path, file: Path) -> None:
    with watched(metronome(tmp_path, tick_rate=10.0), record=file) as live:
        live.until("first steps", lambda: live.steps >= 2)
        os.kill(live.run.pids()[role], signal.SIGSTOP)
        if role == "game":
            # It has to have stood still for a while to count as hung.
            still = time.monotonic() + 2.5
            live.until("two seconds", lambda: time.monotonic() > still)
        live.run.command("quit")
        began = time.monotonic()
        live.run.close()
        took = time.monotonic() - began
    assert took < 4
    with open_replay(file) as replay:
        assert replay.tick_count >= 2
        assert replay.warnings == []
