"""The desk's engine: it makes the rings, starts the children, watches over them, and lets a screen (or nobody) look on.

What keeps children alive does not run in the screen's event loop: a thread of its own waits on the children's sentinels
and heartbeats. Children are started by `spawn` from the main thread before the screen; a restarted one by that thread,
which lives as long as the desk does.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections import deque
from multiprocessing.connection import wait as wait_sources
from typing import Any

import msgspec

from replays import events as ev
from workers.backends import Hosted, hosts
from workers.config import Config
from workers.episode import make_game, make_header
from workers.errors import ConfigError, WorkerError
from workers.live.child import DONE, TOLD, WRITE_FAILED, Orders
from workers.live.child import main as child_main
from workers.live.lineup import Lineup
from workers.live.parts import Part
from workers.rings import RingReader, RingWriter, Switchboard, capacity_for, wait_any
from workers.wire import Command, Death, Emitter, GoAhead, Pace, Piece, Stand, drain, split

__all__ = ["LiveRun", "start_s"]

log = logging.getLogger(__name__)

PROCESSES = ("game", "planner", "reactor", "recorder", "desk", "referee")
MAX_RESTARTS = 3
READY_S = 30.0
"""Real seconds the children may take to start; a restarted one before it shows its first sign of life. More on a crowded machine."""
CROWD = 10.0
"""But no more than so many times as long."""
CLOSE_S = 5.0
"""Real seconds they may take to end by themselves once the episode is over."""
TOLD_S = 1.0
"""Real seconds they may take to end once they were told to."""
GAME_BYTES = 1 << 22
DESK_BYTES = 1 << 16
KEYS_BYTES = DESK_BYTES // 2
"""What may wait for the game in the desk's ring while keys are still written there; the rest is for who must be heard."""
LOG_LINES = 500
LOOK_S = 0.25
"""How often the supervisor looks at heartbeats."""
SLACK_NS = 1_000_000_000
HUNG_NS = 2_000_000_000
"""A game that has shown no sign of life for so long is not going to end by itself."""
GRACE_S = 0.2
"""How long the desk waits for its own SIGTERM when a child went by one: who stops a whole run tells all of its processes at once."""


class LiveRun:
    """One live episode. `start()`, then `poll()` for events and `command()` for wishes; `close()` always.

    With `held` the episode begins when `go(START, t_ns)` says so. With `together` each tick ends, in token time, when `go(tick)` says so
    (see `workers.live.match`). `keyboard` is the terminal at which the keys are typed that this run is given by `key()`: a tick's end waits
    a moment for those that nobody has read yet. `match` is for the header. `jitter` is for tests: every process sleeps up to so many seconds at random in
    every wait.
    """

    def __init__(
        self,
        config: Config,
        *,
        record: str | None = None,
        meas: dict[str, Any] | None = None,
        log_queue: Any = None,
        held: bool = False,
        together: bool = False,
        keyboard: str | None = None,
        match: ev.Match | None = None,
        jitter: float = 0.0,
    ) -> None:
        for role in ("planner", "reactor"):
            if not isinstance(getattr(config, role), str | None):
                raise ConfigError(f"a live {role} is made in a process of its own; give it by name or path, not {type(getattr(config, role)).__name__}")
        self.config = config
        self.recording = record
        game = make_game(config)
        header = make_header(config, game, meas={"engine": "live", **(meas or {})})
        self.header = msgspec.structs.replace(header, match=match)
        self.opening = game.snapshot()
        """The game before its first tick, for a screen that has something to show while the children start."""
        self.stands: int | None = None
        """The tick at whose end it waits for `go`; START before the beginning, None while it is under way."""
        self.pace: Pace | None = None
        """How virtual time runs now, in token time; None where nothing is paced."""
        self._held, self._together, self._keyboard = held, together, keyboard
        self.end: ev.End | None = None
        self.failure: str | None = None
        """Why the run cannot go on, in one sentence; None while it can."""
        self.record_failure: str | None = None
        """Why nothing is recorded any more; the game goes on."""
        self.begun = False
        """Whether the header has been seen."""
        self._queue = log_queue
        self._jitter = jitter
        self._lock = threading.Lock()
        self._closing = False
        self._quitting = False
        self._closed = False
        self._writer: RingWriter | None = None
        self._emitter: Emitter | None = None
        self._readers: dict[str, RingReader] = {}
        self._lineup = Lineup()
        self._lines: deque[str] = deque(maxlen=LOG_LINES)
        self._hosts: list[Hosted] = []
        self._wake_read, self._wake_write = -1, -1
        self._watcher = threading.Thread(target=self._watch, name="supervisor", daemon=True)
        there = {"recorder": record is not None, "planner": config.planner is not None, "reactor": config.reactor is not None, "game": True}
        self._parts = {role: Part(role) for role, wanted in there.items() if wanted}
        thinker = capacity_for(config.tick_budget_tokens or 0)
        self._board = Switchboard({"game": GAME_BYTES, "planner": thinker, "reactor": thinker, "desk": DESK_BYTES}, PROCESSES, me="desk")

    # Start and end.

    def start(self) -> None:
        """Start the children; returns at once. Raises WorkerError if one cannot be started; then everything is closed."""
        try:
            self._hosts = hosts((self.config.planner, self.config.reactor))
            self._writer = self._board.writer("desk")
            self._emitter = Emitter(self._writer, epoch_ns=time.monotonic_ns())
            self._readers = {name: self._board.reader(name) for name in ("game", "planner", "reactor")}
            self._wake_read, self._wake_write = os.pipe()
            for part in self._parts.values():
                self._spawn(part)
            self._watcher.start()
        except BaseException as error:
            self.close()
            if isinstance(error, OSError):
                raise WorkerError(f"a process could not be started: {error}; free memory or processes and try again") from error
            raise

    def _spawn(self, part: Part) -> None:
        def arguments(incarnation: int, kernel_watch: bool) -> tuple[Any, ...]:
            orders = Orders(
                role=part.role,
                incarnation=incarnation,
                config=msgspec.msgpack.encode(self.config),
                header=ev.encode(self.header),
                recording=self.recording if part.role in ("recorder", "game") else None,
                desk=os.getpid(),
                kernel_watch=kernel_watch,
                jitter=self._jitter,
                held=self._held,
                together=self._together,
                keyboard=self._keyboard,
            )
            return self._board.for_child(part.role), orders

        part.start(child_main, arguments, self._queue)

    def close(self) -> None:
        """End everything: children first asked, then told, then killed; memory and descriptors go. Safe to call twice."""
        if self._closed:
            return
        self._closed = self._closing = True
        unasked = self.end is not None and not self._quitting
        if self._watcher.ident is not None:
            # Before anything else, so that nobody is started any more.
            os.write(self._wake_write, b"x")
            self._watcher.join()
        if self.end is None and self._under_way and self.failure is None:
            self._send(Command(what="quit"))
        self._end_children()
        # The last words: an end written while the children were being asked is still in the ring.
        self.poll_game()
        for part in self._parts.values():
            self._lines.extend(f"{part.role}: {line}" for line in part.read())
            part.close_pipe()
            if part.process is not None:
                self._note_lost_recording(part)
                if part.role == "game" and part.process.exitcode == TOLD and unasked:
                    # The episode's own end came first, and whoever waited for it did not wait for the supervisor.
                    self.failure = self.failure or part.obituary()
                part.process.close()
                part.process = None
            part.over = True
        self._let_go()
        for fd in (self._wake_read, self._wake_write):
            if fd >= 0:
                os.close(fd)

    def _let_go(self) -> None:
        """Unmap the rings and close what keeps them; local models go."""
        for host in self._hosts:
            host.close()
        self._hosts = []
        for reader in self._readers.values():
            reader.close()
        self._readers = {}
        with self._lock:
            if self._writer is not None:
                self._writer.close()
            self._emitter = self._writer = None
        self._board.close()

    def _end_children(self) -> None:
        """Wait for all children, less and less patiently; their pipes are read meanwhile, so that none hangs in a last word."""
        self.poll_game()
        began = time.monotonic()
        patience = {part.role: self._patience(part) for part in self._parts.values()}
        told: dict[str, int] = {}
        while alive := [part for part in self._parts.values() if part.alive]:
            waited = time.monotonic() - began
            if waited > CLOSE_S + TOLD_S + CLOSE_S:
                break
            for part in alive:
                over = waited - patience[part.role]
                wanted = 0 if over < 0 else 1 if over < TOLD_S else 2
                if wanted > told.get(part.role, 0) and part.process is not None:
                    told[part.role] = wanted
                    log.info("%s does not end by itself; %s it", part.role, "telling" if wanted == 1 else "killing")
                    part.process.terminate() if wanted == 1 else part.process.kill()
            if "game" in told or not self._parts["game"].alive:
                # So the recorder knows that nothing more comes, and keeps the tick in progress.
                self._board.abort("game")
            wait_sources([source for part in alive for source in part.sources], 0.05)
            for part in self._parts.values():
                self._lines.extend(f"{part.role}: {line}" for line in part.read())

    def _patience(self, part: Part) -> float:
        """Return how many seconds a child may take to end by itself."""
        if self.end is None and not (self._under_way and self.failure is None):
            # With a dead game the others see that its ring was aborted, and the recorder has something to finish.
            return TOLD_S if self._under_way else 0.0
        if part.role in ("planner", "reactor"):
            # Nothing of theirs is waited for any more.
            return TOLD_S
        hung = part.role == "game" and time.monotonic_ns() - self._board.ring("game").heartbeat_ns > HUNG_NS
        return TOLD_S if hung else CLOSE_S

    def _note_lost_recording(self, part: Part) -> None:
        code = part.process.exitcode if part.process is not None else None
        if part.role == "recorder" and code not in (None, DONE) and self.record_failure is None and self.begun:
            self.record_failure = part.last_line if code == WRITE_FAILED and part.last_line else part.obituary()

    def __enter__(self) -> LiveRun:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # What a screen sees and wishes.

    def poll(self) -> list[ev.AnyEvent]:
        """Return what has come since the last call, in the order in which it happened; runs of tokens come as token events, one a frame.

        Never blocks. What a thinker wrote in a tick whose beginning has not been read yet comes with the next call.
        """
        # One after the other: the ring that gives the orders before the rings the orders are about.
        game, *thinkers = [self._read(name) for name in ("game", "planner", "reactor")]
        return self._lineup.feed(game, thinkers)

    def poll_game(self) -> list[ev.AnyEvent]:
        """The same for the game's ring alone: all that a desk without a screen needs."""
        return self._read("game")

    def _read(self, name: str) -> list[ev.AnyEvent]:
        out: list[ev.AnyEvent] = []
        for item in split(drain(self._readers[name])) if self._readers else ():
            if isinstance(item, Piece):
                out.append(_token(name, item))
            elif isinstance(item, Stand):
                self.stands = item.tick
            elif isinstance(item, Pace):
                self.pace = item
            elif isinstance(item, ev.Event):
                if isinstance(item, ev.Episode | ev.Step):
                    self.stands = None
                if isinstance(item, ev.Episode):
                    self.header, self.begun = item, True
                elif isinstance(item, ev.End):
                    self.end = item
                out.append(item)
        return out

    def command(self, what: str, value: str = "", *, t_ns: int | None = None) -> None:
        """Ask the conductor for something: pause, resume, step, rate (ticks a second, or max), bookmark, quit.

        `t_ns` is the absolute instant it is asked for, now unless given; what moves a clock has the same one on all sides of a match.
        """
        self._quitting = self._quitting or what == "quit"
        self._send(Command(what=what, value=value, t_ns=time.monotonic_ns() if t_ns is None else t_ns))

    def key(self, letter: str, player: int = 0) -> None:
        """A person pressed a key, now. From any thread.

        Of more keys than a game that stands still may have waiting the later ones are dropped: none laps it past a word it waits for.
        """
        with self._lock:
            if self._emitter is not None and self._board.ring("desk").lag(self._board.slot("game")) < KEYS_BYTES:
                self._emitter.control(Command(what="key", value=letter, player=player, t_ns=time.monotonic_ns()))

    def go(self, tick: int, t_ns: int = 0) -> None:
        """Give the word for the end of `tick`, or with START for the beginning, at the absolute instant `t_ns`."""
        self._send(GoAhead(tick=tick, t_ns=t_ns))

    def listen(self) -> RingReader:
        """Return a reader of the game's ring for the match's referee; whoever asked closes it."""
        return RingReader(self._board.wiring.handle("game", self._board.slot("referee")))

    def _send(self, message: Command | Death | GoAhead) -> None:
        with self._lock:
            if self._emitter is not None:
                self._emitter.control(message)

    @property
    def _under_way(self) -> bool:
        """Whether the game's process answers to a wish."""
        return self.begun or self.stands is not None

    @property
    def over(self) -> bool:
        """Whether the episode has ended, or cannot go on."""
        if self.end is not None or self.failure is not None:
            return True
        # Quit before it began: the game's process has gone, and what it wrote has been read.
        return self._parts["game"].over and (not self._readers or self._readers["game"].lag == 0)

    def wait(self, timeout: float) -> None:
        """Sleep until the game has written something, at most `timeout` seconds; for runs without a screen."""
        if self._readers:
            wait_any([self._readers["game"]], timeout, events_only=True)

    def log_lines(self) -> list[str]:
        """The last lines the children wrote to their stderr."""
        return list(self._lines)

    def pids(self) -> dict[str, int]:
        """Process ids by role, for messages and tests."""
        return {role: part.process.pid or 0 for role, part in self._parts.items() if part.process is not None and not part.over}

    # Watching over the children.

    def _watch(self) -> None:
        try:
            self._look_after_children()
        except Exception as error:
            # Without it a dead child would be waited for in silence.
            log.exception("the supervisor failed")
            self.failure = f"the supervisor failed: {type(error).__name__}: {error}"

    def _look_after_children(self) -> None:
        looked = began = time.monotonic_ns()
        while not self._closing:
            fired = wait_sources([source for part in self._parts.values() for source in part.sources] + [self._wake_read], timeout=LOOK_S)
            for part in self._parts.values():
                self._lines.extend(f"{part.role}: {line}" for line in part.read())
            if self._closing:
                return
            for part in self._parts.values():
                if part.process is not None and not part.over and part.process.sentinel in fired:
                    self._on_exit(part)
            now = time.monotonic_ns()
            if now - looked < SLACK_NS:
                self._check_hung(now)
            # Else this very process stood still, and so may all of them have: they get a round to show that they live.
            looked = now
            if self.failure is None and not self._game_begun() and now - began > (limit_s := start_s()) * 1e9:
                self.failure = f"the processes did not start within {limit_s:.0f} s; is the machine out of memory?"

    def _check_hung(self, now: int) -> None:
        """Kill who has shown no sign of life for the stall timeout; its death is then seen as any other."""
        for role in ("game", "planner", "reactor"):
            part = self._parts.get(role)
            if part is None or part.over or part.process is None or part.verdict:
                continue
            beat = self._board.ring(role).heartbeat_ns
            attached = beat > part.started_ns
            limit_s = self.config.stall_timeout_s if attached else start_s()
            if now - max(beat, part.started_ns) > limit_s * 1e9 + SLACK_NS:
                part.verdict = f"no sign of life for {limit_s:g} s"
                log.error("%s has shown no sign of life for %g s; ending it", role, limit_s)
                part.process.kill()

    def _on_exit(self, part: Part) -> None:
        assert part.process is not None
        part.process.join()
        self._lines.extend(f"{part.role}: {line}" for line in part.read())
        if part.process.exitcode == DONE:
            part.over = True
            if part.role == "game":
                # An incarnation that came too late for the word that it is over goes home, too.
                self._board.abort("game")
            return
        if part.process.exitcode == TOLD:
            wait_sources([self._wake_read], timeout=GRACE_S)
            if self._closing:
                return
        what = part.obituary()
        log.error("%s", what)
        self._lines.append(what)
        if part.role != "recorder":
            # How the siblings learn of it.
            self._board.abort(part.role)
        begun = self._game_begun()
        # While the episode is being quit only the file is worth another process.
        wanted = part.role == "recorder" or (part.role != "game" and not self._quitting)
        restarts = wanted and begun and part.incarnation < MAX_RESTARTS and part.process.exitcode != WRITE_FAILED
        if not restarts:
            part.over = True
            if part.role == "recorder":
                self.record_failure = part.last_line if part.process.exitcode == WRITE_FAILED and part.last_line else what
            if part.role == "game" or not begun:
                self.failure = what
        if part.role != "game":
            self._send(Death(role=part.role, incarnation=part.incarnation, what=what, restarts=restarts))
        if restarts:
            self._restart(part)

    def _restart(self, part: Part) -> None:
        part.process = None
        try:
            self._spawn(part)
        except (OSError, RuntimeError) as error:
            part.over = True
            what = f"{part.role} could not be restarted: {error}"
            if part.role == "recorder":
                self.record_failure = what
            self._send(Death(role=part.role, incarnation=part.incarnation, what=what, restarts=False))

    def _game_begun(self) -> bool:
        # A headless desk may poll seldom. The first frame of the game's ring is its ready mark, the second the header.
        return self.begun or self._board.ring("game").segment.frames > 1


def start_s() -> float:
    """Real seconds a start may take here and now: a child that gets a tenth of a processor takes ten times as long, and nothing is wrong."""
    try:
        crowd = os.getloadavg()[0] / (os.cpu_count() or 1)
    except OSError:
        return READY_S
    return READY_S * min(max(1.0, crowd), CROWD)


def _token(stream: str, piece: Piece) -> ev.Token:
    return ev.Token(
        tick=piece.tick,
        t_ns=piece.t_ns,
        at=piece.at or None,
        stream=stream,
        generation=piece.generation,
        channel=piece.channel,
        text=piece.text,
        lens=list(piece.lens),
    )
