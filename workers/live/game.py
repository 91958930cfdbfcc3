"""The game's process: it drives the conductor over shared memory, and is the one that waits for instants."""

from __future__ import annotations

import math
import time

import msgspec

from workers.conductor import Conductor, Want
from workers.config import Config
from workers.episode import cast_of, make_game
from workers.live.child import DONE, NAP_S, TOLD, Child
from workers.live.keyboard import Keyboard
from workers.pace import Tempo
from workers.rings import Frame
from workers.wire import START, Close, Command, Death, Emitter, GoAhead, Ready, Stand, drain, read_control

__all__ = ["main", "moved_ns", "rate_of"]

READY_S = 10.0
"""Real seconds the next tick waits for a child that is being restarted."""
RECORDER_S = 2.0
"""Real seconds the conductor waits for a recorder that is more than half a ring behind, in token time."""
LID_S = 2.0
"""Wall time: a process stopped for longer than this (and two ticks) is paused and marked, not fast-forwarded."""
NOTICE_NS = 100_000_000
"""Wall time, in a match: so long before a deadline a wish to pause must have been told, so that it reaches all sides before that deadline."""
KEYS_S = 0.01
"""Longest that a tick's end waits for keys that have been typed and not been read."""
LOOK_S = 0.0005
"""How often it is looked meanwhile."""
HANDOVER_S = 0.005
"""From the desk's reading of a key to the key in its ring, real seconds at most."""
BELL_S = 0.0015
"""A wait on a bell is counted in whole milliseconds and ends up to one late; so much before an instant it gives way to a sleep."""


def rate_of(config: Config) -> float:
    """Tokens a second at which a run is shown; infinity for unpaced."""
    if config.clock == "wall":
        return math.inf
    if config.tpot_s is not None:
        return 1 / config.tpot_s
    return math.inf if config.tick_rate is None else config.tick_rate * (config.tick_budget_tokens or 1)


def moved_ns(late_ns: int, tick_ns: int, *, together: bool) -> int:
    """By how much deadlines move in wall time when one was met `late_ns` late; 0 where that is lateness like any other.

    The sides of a match, `together`, wake one after the other: they move by whole ticks, so that their deadlines stay the same instants.
    """
    if late_ns <= max(LID_S * 1e9, 2 * tick_ns):
        return 0
    return -(-late_ns // tick_ns) * tick_ns if together else late_ns


class Driver:
    """Fulfils the conductor's wants."""

    def __init__(self, child: Child) -> None:
        self._child = child
        self._config = child.config
        self._game = make_game(child.config)
        self._cast = cast_of(child.config, self._game, child.header)
        self._emitter = Emitter(child.writer())
        self._desk = child.reader("desk")
        shape = self._cast.shape
        self._heard = {name: child.reader(name) for name, there in (("planner", shape.planner), ("reactor", shape.reactor)) if there}
        self._readers = [self._desk, *self._heard.values()]
        # Rings whose reader in the recorder's slot is waited for.
        self._recorded = [child.wiring.peek(name) for name in ("game", *self._heard)] if child.recording is not None else []
        self._recorder_slot = child.wiring.slot("recorder")
        self._told_behind = False
        self._keyboard = Keyboard(child.keyboard)
        self.code = DONE

    def main(self) -> None:
        """Wait for the thinkers, then play the episode."""
        self._child.ready(self._emitter)
        early = self._gather()
        epoch_ns = time.monotonic_ns()
        if early is not None and self._child.held:
            epoch_ns = self._hold_start(early)
        if early is None or not epoch_ns:
            # Who waits for the first tick goes home, too.
            self._emitter.control(Close())
            return
        self._emitter.epoch_ns = epoch_ns
        meas = {**self._child.header.meas, "epoch_ns": self._emitter.epoch_ns}
        header = msgspec.structs.replace(self._child.header, meas=meas)
        tempo = Tempo(
            rate_of(self._config),
            tick_tokens=self._config.tick_budget_tokens,
            tick_ns=round((self._config.tick_budget_s or 0) * 1e9) if self._child.together else 0,
            notice_ns=NOTICE_NS if self._child.together else 0,
        )
        conductor = Conductor(
            self._cast, self._game, self._emitter, header=header, tempo=tempo, together=self._child.together, beat=self._child.beat
        )
        for seat in conductor.seats.values():
            seat.ready = 0
        try:
            for want in conductor.run():
                conductor.hear("desk", early)
                early = []
                self._fulfil(conductor, want)
        finally:
            conductor.close()
            self._keyboard.close()

    def _gather(self) -> list[Frame] | None:
        """Wait until every thinker has written its ready mark; return what a person asked for meanwhile, or None if it is time to go."""
        waiting = set(self._heard)
        early: list[Frame] = []
        while waiting:
            if not self._child.wait(self._readers, NAP_S):
                return None
            for frame in drain(self._desk):
                order = read_control(frame)
                if isinstance(order, Death) or (isinstance(order, Command) and order.what == "quit"):
                    return None
                early.append(frame)
            for name, reader in self._heard.items():
                if any(isinstance(read_control(frame), Ready) for frame in drain(reader)):
                    waiting.discard(name)
        return early

    def _hold_start(self, early: list[Frame]) -> int:
        """Wait for the desk's word; returns the instant time is counted from, or 0 if it is time to go. What else the desk says goes to `early`."""
        self._emitter.control(Stand(tick=START))
        begin_ns = 0
        while not begin_ns and self._child.wait([self._desk], NAP_S):
            for frame in drain(self._desk):
                order = read_control(frame)
                if begin_ns:
                    # Said after the word, and read along with it.
                    early.append(frame)
                elif isinstance(order, GoAhead):
                    begin_ns = order.t_ns
                elif isinstance(order, Command) and order.what == "quit":
                    return 0
                elif not (isinstance(order, Command) and order.what == "key"):
                    # A key pressed at a board that does not move yet moves nobody later.
                    early.append(frame)
        return begin_ns

    def _fulfil(self, conductor: Conductor, want: Want) -> None:
        began = time.monotonic_ns()
        while True:
            self._hear(conductor)
            now = time.monotonic_ns()
            if conductor.met(want, now) or (want.kind == "ready" and now - began > READY_S * 1e9):
                break
            self._emitter.show()
            if not self._sleep(conductor, want, now):
                self._go(conductor)
        if want.kind == "due" and conductor.quit is None:
            self._await_keys(conductor)
        if want.kind == "tick":
            self._hold_for_recorder(conductor)
        elif want.kind == "due" and not want.upto:
            self._check_lid(conductor, now - want.due_ns)

    def _await_keys(self, conductor: Conductor) -> None:
        """A key that reached the terminal before the tick's end acts in it, also where the desk comes to read it a moment later."""
        end = time.monotonic() + KEYS_S
        typed = False
        while self._keyboard.waiting and time.monotonic() < end:
            typed = True
            if self._child.wait([self._desk], LOOK_S):
                self._hear(conductor)
        if typed:
            # Read by now, or it will not be: what was read last may still be on its way into the ring.
            self._child.wait([self._desk], HANDOVER_S)
            self._hear(conductor)

    def _hear(self, conductor: Conductor) -> None:
        # Read first and handed over last: a death told there comes after everything the dead one had written.
        orders = list(drain(self._desk))
        for name, reader in self._heard.items():
            conductor.hear(name, drain(reader))
        conductor.hear("desk", orders)

    def _sleep(self, conductor: Conductor, want: Want, now: int) -> bool:
        """Sleep until something may have come. False: it is time to go."""
        timeout = NAP_S
        if want.kind == "due":
            due = conductor.due_ns(want)
            left = (due - now) / 1e9
            if left < BELL_S:
                self._child.beat()
                time.sleep(max(0.0, left))
                return not self._child.leaving
            timeout = min(NAP_S, left - BELL_S)
        return self._child.wait(self._readers, timeout, events_only=True)

    def _check_lid(self, conductor: Conductor, late_ns: int) -> None:
        """A machine that slept is not made to hurry: the ticks to come move, and the log says so."""
        assert self._config.tick_budget_s is not None
        moved = moved_ns(late_ns, round(self._config.tick_budget_s * 1e9), together=self._child.together)
        if moved:
            conductor.stood_still("stood still", moved)

    def _hold_for_recorder(self, conductor: Conductor) -> None:
        """In token time the game does not run away from its recorder; nor does it wait for one for ever."""
        if self._config.clock == "wall":
            return
        deadline = time.monotonic() + RECORDER_S
        while not conductor.recorder_gone and conductor.quit is None:
            if not any(ring.lag(self._recorder_slot) > ring.capacity // 2 for ring in self._recorded):
                self._told_behind = False
                return
            if self._told_behind:
                return
            if time.monotonic() > deadline:
                conductor.fault("recorder", "recorder behind", "the game goes on; the file may have a gap", cause="host")
                self._told_behind = True
                return
            self._emitter.show()
            if not self._child.wait([self._desk], 0.005):
                self._go(conductor)
            self._hear(conductor)

    def _go(self, conductor: Conductor) -> None:
        """It is time to go, and it was not the desk that said so in its ring: the episode ends, and the exit code tells."""
        if conductor.quit is None:
            conductor.quit, self.code = "quit", TOLD


def main(child: Child) -> int:
    """Entry point."""
    driver = Driver(child)
    driver.main()
    return driver.code
