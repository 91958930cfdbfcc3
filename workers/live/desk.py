"""The desk's engine: it makes the rings, starts the children, watches over them, and lets a screen (or nobody) look on.

What keeps children alive does not run in the screen's event loop: a thread of its own waits on the children's sentinels
and heartbeats. Children are started by `spawn` from the main thread before the screen; a restarted one by that thread,
which lives as long as the desk does.
"""

from __future__ import annotations

import logging
import logging.handlers
import multiprocessing
import os
import signal
import sys
import threading
import time
import types
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import wait as wait_sentinels
from multiprocessing.process import BaseProcess
from typing import Any

import msgspec

from replays import events as ev
from workers.config import Config
from workers.episode import make_game, make_header
from workers.errors import WorkerError
from workers.live.child import WRITE_FAILED, Orders, Pipe
from workers.live.child import main as child_main
from workers.rings import RingReader, Switchboard, wait_any
from workers.wire import Command, Death, Emitter, Piece, split

__all__ = ["LiveRun"]

log = logging.getLogger(__name__)

PROCESSES = ("game", "planner", "reactor", "recorder", "desk")
MAX_RESTARTS = 3
READY_S = 20.0
"""Real seconds the children may take to start."""
CLOSE_S = 5.0
"""Real seconds they may take to end by themselves once the episode is over."""
RING_BYTES = 1 << 20
DESK_BYTES = 1 << 16
LOG_LINES = 500


def ring_bytes(config: Config) -> int:
    """Capacity of a thinker's ring: two ticks of one-token frames, or at least 1 MiB, or five seconds of a fast stream."""
    wanted = max(RING_BYTES, 128 * (config.tick_budget_tokens or 0))
    return 1 << (wanted - 1).bit_length()


@contextmanager
def _bare_main() -> Iterator[None]:
    """Start children without running the user's main module again: a script without a main guard works, and starts faster."""
    kept = sys.modules["__main__"]
    bare = types.ModuleType("__main__")
    bare.__spec__ = None
    sys.modules["__main__"] = bare
    try:
        yield
    finally:
        sys.modules["__main__"] = kept


class _Part:
    """One child and its past."""

    def __init__(self, role: str) -> None:
        self.role = role
        self.process: BaseProcess | None = None
        self.incarnation = -1
        self.pipe: int = -1
        self.last_line = ""
        self.over = False


class LiveRun:
    """One live episode. `start()`, then `poll()` for events and `command()` for wishes; `close()` always."""

    def __init__(
        self,
        config: Config,
        *,
        record: str | None = None,
        meas: dict[str, Any] | None = None,
        log_queue: Any = None,
        jitter: float = 0.0,
    ) -> None:
        self.config = config
        self.recording = record
        game = make_game(config)
        self.header = make_header(config, game, meas={"engine": "live", **(meas or {})})
        self.end: ev.End | None = None
        self.failure: str | None = None
        """Why the run cannot go on, in one sentence; None while it can."""
        self.record_failure: str | None = None
        self.begun = False
        self._queue = log_queue
        self._jitter = jitter
        self._parts: dict[str, _Part] = {}
        self._lock = threading.Lock()
        self._closing = False
        self._closed = False
        self._emitter: Emitter | None = None
        self._readers: dict[str, RingReader] = {}
        self._lines: deque[str] = deque(maxlen=LOG_LINES)
        shape = {"planner": config.planner is not None, "reactor": config.reactor is not None, "recorder": record is not None, "game": True}
        self._roles = tuple(name for name in ("recorder", "planner", "reactor", "game") if shape[name])
        thinkers = ring_bytes(config)
        self._board = Switchboard({"game": RING_BYTES * 4, "planner": thinkers, "reactor": thinkers, "desk": DESK_BYTES}, PROCESSES, me="desk")

    # Start and end.

    def start(self) -> None:
        """Start the children; returns at once. Raises WorkerError if one cannot be started."""
        try:
            self._emitter = Emitter(self._board.writer("desk"), epoch_ns=time.monotonic_ns())
            self._readers = {name: self._board.reader(name) for name in ("game", "planner", "reactor")}
            self._wake_read, self._wake_write = os.pipe()
            # Children inherit that the interrupt is ignored; the desk takes its own back at once.
            before = signal.getsignal(signal.SIGINT) if threading.current_thread() is threading.main_thread() else None
            if before is not None:
                signal.signal(signal.SIGINT, signal.SIG_IGN)
            try:
                for role in self._roles:
                    self._parts[role] = _Part(role)
                    self._spawn(self._parts[role])
            finally:
                if before is not None:
                    signal.signal(signal.SIGINT, before)
        except OSError as error:
            self.close()
            raise WorkerError(f"a process could not be started: {error}; free memory or processes and try again") from error
        self._started_ns = time.monotonic_ns()
        self._watcher = threading.Thread(target=self._watch, name="supervisor", daemon=True)
        self._watcher.start()

    def _spawn(self, part: _Part) -> None:
        part.incarnation += 1
        read, write = os.pipe()
        os.set_blocking(read, False)
        if part.pipe >= 0:
            os.close(part.pipe)
        part.pipe = read
        orders = Orders(
            role=part.role,
            incarnation=part.incarnation,
            config=msgspec.msgpack.encode(self.config),
            header=ev.encode(self.header),
            recording=self.recording if part.role in ("recorder", "game") else None,
            jitter=self._jitter,
        )
        context = multiprocessing.get_context("spawn")
        part.process = context.Process(
            target=child_main, args=(self._board.for_child(part.role), Pipe(write), orders, self._queue), name=f"rtdesk-{part.role}", daemon=True
        )
        try:
            with _bare_main():
                part.process.start()
        finally:
            os.close(write)

    def close(self) -> None:
        """End everything: children first asked, then told, then killed; memory and descriptors go. Safe to call twice."""
        if self._closed:
            return
        self._closed = self._closing = True
        if self._emitter is not None and self.end is None:
            self._send(Command(what="quit"))
        deadline = time.monotonic() + (CLOSE_S if self.begun and self.failure is None else 0.5)
        alive = [part for part in self._parts.values() if part.process is not None]
        for step in ("ask", "tell", "kill"):
            for part in alive:
                process = part.process
                assert process is not None
                if process.is_alive() and step != "ask":
                    process.terminate() if step == "tell" else process.kill()
            for part in alive:
                assert part.process is not None
                part.process.join(max(0.05, deadline - time.monotonic()))
            alive = [part for part in alive if part.process is not None and part.process.is_alive()]
            if not alive:
                break
            deadline = time.monotonic() + 1.0
        if hasattr(self, "_watcher"):
            os.write(self._wake_write, b"x")
            self._watcher.join(2.0)
        for part in self._parts.values():
            self._read_pipe(part)
            if part.pipe >= 0:
                os.close(part.pipe)
            if part.process is not None:
                if part.role == "recorder" and part.process.exitcode == WRITE_FAILED and self.record_failure is None:
                    self.record_failure = part.last_line or "the recorder could not write its file"
                with suppress(ValueError):
                    part.process.close()
        # The last words: an end written while the children were being asked is still in the ring.
        self.poll_game()
        self._board.close()
        if hasattr(self, "_wake_read"):
            os.close(self._wake_read)
            os.close(self._wake_write)

    def __enter__(self) -> LiveRun:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # What a screen sees and wishes.

    def poll(self) -> list[ev.AnyEvent]:
        """Return what has come since the last call, never blocking; runs of tokens come as token events, one a frame."""
        return self._poll(("game", "planner", "reactor"))

    def poll_game(self) -> list[ev.AnyEvent]:
        """The same for the game's ring alone: all that a desk without a screen needs."""
        return self._poll(("game",))

    def _poll(self, rings: tuple[str, ...]) -> list[ev.AnyEvent]:
        out: list[ev.AnyEvent] = []
        for name in rings if self._readers else ():
            for item in split(self._readers[name].poll()):
                if isinstance(item, Piece):
                    out.append(
                        ev.Token(
                            tick=item.tick,
                            t_ns=item.t_ns,
                            at=item.at or None,
                            stream=name,
                            generation=item.generation,
                            channel=item.channel,
                            text=item.text,
                            lens=list(item.lens),
                        )
                    )
                elif isinstance(item, ev.Event):
                    if isinstance(item, ev.Episode):
                        self.header, self.begun = item, True
                    elif isinstance(item, ev.End):
                        self.end = item
                    out.append(item)
        return out

    def command(self, what: str, value: str = "") -> None:
        """Ask the conductor for something: pause, resume, step, rate, bookmark, quit."""
        self._send(Command(what=what, value=value))

    def _send(self, message: Command | Death) -> None:
        with self._lock:
            if self._emitter is not None:
                self._emitter.control(message)

    @property
    def over(self) -> bool:
        """Whether the episode has ended, or cannot go on."""
        return self.end is not None or self.failure is not None

    def wait(self, timeout: float) -> None:
        """Sleep until the game has written something, at most `timeout` seconds; for runs without a screen."""
        wait_any([self._readers["game"]], timeout, events_only=True)

    def log_lines(self) -> list[str]:
        """The last lines the children wrote to their stderr."""
        return list(self._lines)

    def pids(self) -> dict[str, int]:
        """Process ids by role, for messages and tests."""
        return {role: part.process.pid or 0 for role, part in self._parts.items() if part.process is not None and not part.over}

    # Watching over the children.

    def _watch(self) -> None:
        while not self._closing:
            sentinels: dict[Any, _Part] = {}
            for part in self._parts.values():
                if part.process is not None and not part.over:
                    sentinels[part.process.sentinel] = part
            fired = wait_sentinels([*sentinels, self._wake_read], timeout=0.25)
            for part in self._parts.values():
                self._read_pipe(part)
            if self._closing or self._wake_read in fired:
                return
            for sentinel in fired:
                self._on_exit(sentinels[sentinel])
            self._check_hung()
            waited = time.monotonic_ns() - self._started_ns
            if waited > READY_S * 1e9 and not self._game_begun() and not self.failure:
                self.failure = f"the processes did not start within {READY_S:.0f} s; is the machine out of memory?"

    def _check_hung(self) -> None:
        """Kill who has shown no sign of life for the stall timeout; its death is then seen as any other."""
        limit = self.config.stall_timeout_s * 1e9
        for role in ("game", "planner", "reactor"):
            part = self._parts.get(role)
            if part is None or part.over or part.process is None:
                continue
            beat = self._board.ring(role).heartbeat_ns
            if beat and time.monotonic_ns() - beat > limit + 1e9:
                log.error("%s has shown no sign of life for %.0f s; ending it", role, self.config.stall_timeout_s)
                part.last_line = f"no sign of life for {self.config.stall_timeout_s:.0f} s"
                part.process.kill()

    def _on_exit(self, part: _Part) -> None:
        assert part.process is not None
        part.process.join()
        code = part.process.exitcode
        self._read_pipe(part)
        if code == 0:
            part.over = True
            return
        what = _say_exit(part.role, code, part.last_line)
        log.error("%s", what)
        self._lines.append(what)
        if part.role == "game":
            part.over = True
            self.failure = what
            return
        if part.role != "recorder":
            self._board.abort(part.role)
        restarts = part.incarnation < MAX_RESTARTS and code != WRITE_FAILED and self._game_begun()
        if part.role == "recorder" and not restarts:
            self.record_failure = part.last_line or what
        if not restarts:
            part.over = True
            if not self._game_begun():
                self.failure = what
        self._send(Death(role=part.role, incarnation=part.incarnation, what=what, restarts=restarts))
        if restarts and not self._closing:
            try:
                self._spawn(part)
            except OSError as error:
                part.over = True
                self._send(Death(role=part.role, incarnation=part.incarnation, what=f"{part.role} could not be restarted: {error}", restarts=False))

    def _game_begun(self) -> bool:
        return self.begun or self._peek_header()

    def _peek_header(self) -> bool:
        # Headless desks poll seldom; the header's frame is the first of its ring after the ready mark.
        return self._board.ring("game").segment.tail > 256

    def _read_pipe(self, part: _Part) -> None:
        if part.pipe < 0:
            return
        with suppress(BlockingIOError, OSError):
            while data := os.read(part.pipe, 65536):
                for line in data.decode(errors="replace").splitlines():
                    if line.strip():
                        part.last_line = line.strip()
                        self._lines.append(f"{part.role}: {line}")


def _say_exit(role: str, code: int | None, line: str) -> str:
    """Name a dead child with its exit code, its last line, and the usual cause where there is one."""
    if code is not None and code < 0:
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = f"signal {-code}"
        hint = {"SIGKILL": " (out of memory, or somebody killed it)", "SIGBUS": " (no memory behind a shared mapping)"}.get(name, "")
        text = f"{role} was ended by {name}{hint}"
    else:
        text = f"{role} failed with exit code {code}"
    return f"{text}: {line}" if line else text


