"""The policy programs of one episode, as the conductor has them: the one in force, and the one that is about to be.

A program comes with the planner's answer, its process is started at once, and at the end of that tick, when it has loaded, it takes the
place of the one before. A program that does not load changes nothing. The same text again is the same program and keeps its memory.
The one thing that surprises: a program whose process had to be ended three ticks in a row is put out of force, or an endless loop would
cost every tick of the episode its deadline.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from games.base import GameSpec
from replays import events as ev
from workers.agents import Ran
from workers.config import Config
from workers.sandbox.check import ProgramError
from workers.sandbox.host import CALL_S, Program

__all__ = ["STRIKES", "Failure", "Programs", "call_seconds"]

STRIKES = 3
"""Ticks in a row a program's process may die in before it is put out of force."""
SHORTEST_CALL_S = 0.05


class Failure(NamedTuple):
    """What a fault event says."""

    what: str
    done: str


def call_seconds(config: Config) -> float:
    """Return the real seconds a call may take: one, or half a tick of wall time if that is shorter, but never below a twentieth."""
    if config.tick_budget_s is None:
        return CALL_S
    return min(CALL_S, max(SHORTEST_CALL_S, config.tick_budget_s / 2))


class Programs:
    """`take` what the planner wrote, `run` it once a tick, `close` always. `beat` is called now and then while a program is waited for."""

    def __init__(self, spec: GameSpec, *, call_s: float = CALL_S, beat: Callable[[], object] = lambda: None) -> None:
        self._letters = {name.upper(): letter for letter, word in spec.letters for name in (letter, word)}
        self._expected = ", ".join(spec.legal_actions)
        self._call_s = call_s
        self._beat = beat
        self._now: _Held | None = None
        self._next: _Held | None = None
        self._refused: list[Failure] = []

    def take(self, answer: ev.Answer) -> None:
        """Take the planner's answer; one that holds no program changes nothing."""
        if answer.program is None:
            return
        newest = self._next or self._now
        if newest is not None and newest.program.source == answer.program:
            newest.generation = answer.generation
            return
        if self._next is not None:
            self._next.program.close()
        try:
            program = Program(answer.program, call_s=self._call_s, beat=self._beat)
        except ProgramError as error:
            # The planner has looked at it; this is for a planner that has not.
            self._next = None
            self._refused.append(Failure(f"program of turn {answer.generation}: {error}", "it is not used"))
            return
        program.start()
        self._next = _Held(program, answer.generation)

    def run(self, view: Any) -> tuple[Ran | None, list[Failure]]:
        """Return what the program in force says to `view`, None without one, and what failed meanwhile."""
        failures, self._refused = self._refused, []
        coming, self._next = self._next, None
        if coming is not None:
            outcome = coming.program.load()
            if outcome.fault:
                coming.program.close()
                kept = "it is not used" if self._now is None else "it is not used; the one before stays in force"
                failures.append(Failure(f"program of turn {coming.generation}: {outcome.fault}", kept))
                if self._now is None:
                    return Ran(generation=coming.generation, why="fault"), failures
            else:
                self._drop()
                self._now = coming
        held = self._now
        if held is None:
            return None, failures
        outcome = held.program.call(view)
        held.strikes = held.strikes + 1 if outcome.died else 0
        name = f"program of turn {held.generation}"
        if outcome.value is not None:
            letter = self._letters.get(outcome.value.strip().upper())
            if letter is not None:
                return Ran(generation=held.generation, letter=letter), failures
            failures.append(Failure(f"{name}: act() returned {outcome.value!r:.60}, expected one of {self._expected}", "default action"))
            return Ran(generation=held.generation, why="invalid"), failures
        done = "default action"
        if held.strikes >= STRIKES or outcome.unfit:
            self._drop()
            done += f"; put out of force after {STRIKES} in a row" if not outcome.unfit else "; put out of force"
        elif outcome.died:
            done += "; started again, with an empty memory"
        failures.append(Failure(f"{name}: {outcome.fault}", done))
        return Ran(generation=held.generation, why="fault"), failures

    def _drop(self) -> None:
        if self._now is not None:
            self._now.program.close()
            self._now = None

    def close(self) -> None:
        """End every process."""
        self._drop()
        if self._next is not None:
            self._next.program.close()
            self._next = None


class _Held:
    """A program and whose it is."""

    def __init__(self, program: Program, generation: int) -> None:
        self.program = program
        self.generation = generation
        self.strikes = 0
