"""The game's process: it drives the conductor over shared memory, and is the one that waits for instants."""

from __future__ import annotations

import logging
import math
import time

import msgspec

from workers.conductor import Conductor, Want
from workers.episode import cast_of, make_game
from workers.live.child import Child
from workers.pace import Pacer
from workers.rings import RingReader
from workers.wire import Command, Emitter, split

__all__ = ["main"]

log = logging.getLogger(__name__)

READY_S = 10.0
"""Real seconds the next tick waits for a child that is being restarted."""
RECORDER_S = 2.0
"""Real seconds the conductor waits for a recorder that is more than half a ring behind, in token time."""
LID_S = 2.0
"""Wall time: a process stopped for longer than this (and two ticks) is paused and marked, not fast-forwarded."""


class Driver:
    """Fulfils the conductor's wants."""

    def __init__(self, child: Child) -> None:
        self._child = child
        config = child.config
        self.game = make_game(config)
        cast = cast_of(config, self.game, child.header)
        self._emitter = Emitter(child.writer(), epoch_ns=0)
        self._heard: dict[str, RingReader] = {"desk": child.reader("desk")}
        for name, there in (("planner", cast.shape.planner), ("reactor", cast.shape.reactor)):
            if there:
                self._heard[name] = child.reader(name)
        self._readers = list(self._heard.values())
        pacer = None
        if config.clock == "token":
            rate = None
            if config.tpot_s is not None:
                rate = 1 / config.tpot_s
            elif config.tick_rate is not None:
                rate = config.tick_rate * (config.tick_budget_tokens or 1)
            pacer = Pacer(rate=rate) if rate is not None else None
        self._cast, self._pacer = cast, pacer
        self._waiting = {name for name in self._heard if name != "desk"}
        self._recorder = [child.wiring.peek(name) for name in ("game", "planner", "reactor")] if child.recording else []
        self._slot = child.wiring.slot("recorder")
        self._behind_told = False
        self.conductor: Conductor | None = None

    def start(self) -> bool:
        """Wait until every thinker has written its ready mark; then the episode begins. False: it is time to go."""
        self._child.ready(self._emitter)
        from workers.wire import Close, Death, Ready

        while self._waiting:
            for name, reader in self._heard.items():
                for item in split(reader.poll()):
                    if isinstance(item, Ready):
                        self._waiting.discard(item.role)
                    elif isinstance(item, Death) or (isinstance(item, Command) and item.what == "quit"):
                        self._emitter.control(Close())
                        return False
                del name
            if not self._child.wait(self._readers, 0.05 if self._waiting else 0):
                return False
        self._emitter.epoch_ns = time.monotonic_ns()
        if self._pacer is not None:
            self._pacer.set(0, self._emitter.epoch_ns, self._pacer.rate)
        header = msgspec.structs.replace(self._child.header, meas={**self._child.header.meas, "epoch_ns": self._emitter.epoch_ns})
        self.conductor = Conductor(self._cast, self.game, self._emitter, header=header, pacer=self._pacer)
        return True

    def run(self) -> None:
        assert self.conductor is not None
        for want in self.conductor.run():
            self._fulfil(want)
            self._hold_for_recorder()

    def _fulfil(self, want: Want) -> None:
        conductor = self.conductor
        assert conductor is not None
        began = time.monotonic_ns()
        wall_due = want.kind == "due" and not want.upto
        while True:
            self._hear(conductor)
            now = time.monotonic_ns()
            if conductor.met(want, now):
                if wall_due:
                    self._check_lid(conductor, want, now)
                elif want.kind == "pause":
                    conductor.shift_wall(now - began)
                return
            if want.kind == "ready" and now - began > READY_S * 1e9:
                return
            timeout = 0.05
            if want.kind == "due":
                due = conductor.due_ns(want)
                left = (due - now) / 1e9
                timeout = 0.05 if math.isinf(due) else max(0.0, left)
                if left < 0.002:
                    # The last stretch of a paced or wall instant is slept in one piece: a bell may ring early, never late.
                    self._child.beat()
                    time.sleep(max(0.0, left))
                    continue
                timeout = min(0.05, timeout - 0.001)
            if not self._child.wait(self._readers, timeout, events_only=True):
                conductor.quit = "quit"
                return

    def _hear(self, conductor: Conductor) -> None:
        for name, reader in self._heard.items():
            for item in split(reader.poll()):
                conductor.on(name, item)

    def _check_lid(self, conductor: Conductor, want: Want, now: int) -> None:
        """A machine that slept is not made to hurry: the ticks to come move, and the log says so."""
        late_s = (now - want.due_ns) / 1e9
        whole = self._child.config.tick_budget_s or 0.0
        if late_s > max(LID_S, 2 * whole):
            conductor.fault("game", f"stood still for {late_s:.1f} s", "deadlines moved; times are not comparable", cause="host")
            conductor.shift_wall(round(late_s * 1e9))

    def _hold_for_recorder(self) -> None:
        """In token time the game does not run away from its recorder."""
        if not self._recorder or self._child.config.clock == "wall" or self._behind_told:
            return
        began = time.monotonic()
        while any(ring.lag(self._slot) > ring.capacity // 2 for ring in self._recorder):
            if time.monotonic() - began > RECORDER_S:
                assert self.conductor is not None
                self.conductor.fault("recorder", "recorder behind", "the game goes on; the file may have a gap", cause="host")
                self._behind_told = True
                return
            if not self._child.wait(self._readers[:1], 0.005):
                return


def main(child: Child) -> int:
    driver = Driver(child)
    if driver.start():
        driver.run()
    return 0
