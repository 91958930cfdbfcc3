"""What the tests of real processes share: waiting with a deadline and a name, and what is left of a run."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from replays import events as ev
from replays.reader import open_replay
from workers.config import Config, plan_episode
from workers.live.desk import LiveRun
from workers.simulator import simulate

DEADLINE_S = 30.0
"""For what has no promised time: generous, because other work shares the machine."""

CHOPPER = '''
"""The builtin thinkers, their chunks cut at random, now and then with nothing yet."""

import random

from replays.events import Backend as Info
from workers.backends import Chunk, cut
from workers.backends.builtin import Backend as Builtin


class Backend(Builtin):
    info = Info(spec="chopper", title="chopper")
    blocking = {blocking}

    def stream(self, request):
        shake = random.Random()
        for item in super().stream(request):
            if not isinstance(item, Chunk):
                yield item
                continue
            text, lens = item.text, item.lens
            while lens:
                (head, sizes), (text, lens) = cut(text, lens, shake.randint(1, len(lens)))
                if shake.random() < 0.02:
                    yield None
                yield Chunk(head, sizes, item.channel)
'''

PONDERING: list[dict[str, Any]] = [{"tokens": 1_000_000}]
ANSWERING: list[dict[str, Any]] = [{"tokens": 50, "chunks": [["\\boxed{B}", 9, "content"]]}]


def script(folder: Path, generations: Sequence[dict[str, Any]], name: str) -> str:
    """A spec of a scripted thinker."""
    path = folder / f"{name}.json"
    path.write_text(json.dumps(generations))
    return f"scripted:{path}"


def metronome(folder: Path, *, agent: str = "agile", planner: Sequence[dict[str, Any]] = PONDERING, reactor: Sequence[dict[str, Any]] = ANSWERING, **options: Any) -> Config:
    """An episode of a game without end, by scripted thinkers."""
    thinkers = {"planner": script(folder, planner, "planner"), "reactor": script(folder, reactor, "reactor")}
    return plan_episode("metronome", agent=agent, **{**thinkers, **options})


class Watched:
    """A live run with all that it has said so far."""

    def __init__(self, config: Config, *, record: Path | None = None, jitter: float = 0.0) -> None:
        self.path = record
        self.run = LiveRun(config, record=None if record is None else str(record), jitter=jitter)
        self.events: list[ev.AnyEvent] = []

    def until(self, what: str, reached: Callable[[], Any], *, seconds: float = DEADLINE_S) -> float:
        """Wait for something to be true; returns how many seconds it took. Says who was late."""
        began = time.monotonic()
        while True:
            self.events += self.run.poll()
            if reached():
                return time.monotonic() - began
            waited = time.monotonic() - began
            if waited > seconds or (self.run.over and waited > 1):
                self.events += self.run.poll()
                if reached():
                    return waited
                last = self.of(ev.Step)[-1].tick if self.of(ev.Step) else None
                raise AssertionError(
                    f"no {what} after {waited:.1f} s; last step {last}, over {self.run.over}, failure {self.run.failure}, "
                    f"recording {self.run.record_failure}, alive {self.run.pids()}, log {self.run.log_lines()[-5:]}"
                )
            self.run.wait(0.02)

    def of(self, kind: type, **fields: Any) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind) and all(getattr(event, name) == value for name, value in fields.items())]

    @property
    def steps(self) -> int:
        return len(self.of(ev.Step))

    def play(self) -> list[ev.AnyEvent]:
        """Play to the end, close, and return the log: the file's if there is one."""
        self.until("end of the episode", lambda: self.run.end is not None)
        self.run.close()
        return self.log() if self.path is not None else self.events

    def log(self) -> list[ev.AnyEvent]:
        """What the file holds, header first."""
        assert self.path is not None
        with open_replay(self.path) as replay:
            assert replay.warnings == []
            return list(replay.iter())  # type: ignore[arg-type]


@contextmanager
def watched(config: Config, *, record: Path | None = None, jitter: float = 0.0) -> Iterator[Watched]:
    """A started run; whatever happens, none of its processes and descriptors are left."""
    before = set(os.listdir("/proc/self/fd"))
    live = Watched(config, record=record, jitter=jitter)
    pids: list[int] = []
    try:
        live.run.start()
        pids = list(live.run.pids().values())
        yield live
    finally:
        pids += list(live.run.pids().values())
        live.run.close()
    gone(pids, seconds=1.0)
    left = {fd: link for fd in set(os.listdir("/proc/self/fd")) - before if (link := target(fd)).startswith(("/memfd", "anon_inode", "pipe"))}
    # The first spawn of a process starts the resource tracker, which keeps one pipe for good.
    assert len(left) <= 1, f"descriptors left open: {left}"


def target(fd: str) -> str:
    try:
        return os.readlink(f"/proc/self/fd/{fd}")
    except OSError:
        return ""


def alive(pid: int) -> bool:
    """Whether a process runs; one that is dead and not yet waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def gone(pids: Sequence[int], *, seconds: float) -> float:
    """Wait until these processes are gone; returns how long that took. Says who was late."""
    began = time.monotonic()
    while left := [pid for pid in pids if pid and alive(pid)]:
        waited = time.monotonic() - began
        assert waited < seconds, f"still alive after {waited:.1f} s: {[Path(f'/proc/{pid}/cmdline').read_bytes()[-80:] for pid in left]}"
        time.sleep(0.005)
    return time.monotonic() - began


def kill(live: Watched, role: str) -> int:
    """Kill a child as hard as can be; returns its pid."""
    pid = live.run.pids()[role]
    os.kill(pid, signal.SIGKILL)
    return pid


def children(pid: int) -> list[int]:
    """Processes started by `pid`, all generations."""
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children") if alive(pid) else ():
        for child in task.read_text().split():
            found += [int(child), *children(int(child))]
    return found


def whole(log: Sequence[ev.AnyEvent], ticks: int) -> None:
    """Assert that a log has every tick once, in order and numbered, and an end."""
    assert [event.tick for event in log if isinstance(event, ev.Tick)] == list(range(ticks))
    assert [event.tick for event in log if isinstance(event, ev.Step)] == list(range(ticks))
    assert [event.seq for event in log[1:]] == list(range(len(log) - 1))
    assert isinstance(log[-1], ev.End)


def same_as_simulated(log: Sequence[ev.AnyEvent], config: Config, **options: Any) -> None:
    """Assert that the simulator's canonical log is equal, and say where it is not."""
    live = ev.canonical(list(log))
    simulated = ev.canonical(simulate(config.game, **options).events)
    for number, (mine, theirs) in enumerate(zip(live, simulated)):
        assert mine == theirs, f"event {number} differs"
    assert len(live) == len(simulated)
