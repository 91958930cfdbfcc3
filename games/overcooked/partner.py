"""Bob, the scripted partner: carries onions to any free counter or pot, and shakes himself loose when stuck.

He draws from two generators of one seed: one for the whole episode, and one that starts anew with every phase, so that a phase with the
same choices makes the same first draw. Every draw is the reference's (spec 3.5), also those whose result is thrown away.
"""

from __future__ import annotations

from typing import Any

from games.overcooked.kitchen import LOOK, STEP, Cell, Kitchen
from games.overcooked.rules import ONIONS, View
from games.rng import Legacy, Tape

__all__ = ["FETCH", "PLACE", "Partner"]

FETCH = 1
PLACE = 2
# Turns on one cell after which each further turn there is a random one.
_PATIENCE = 3
_RANDOM = "DURLSI"


class Partner:
    """Bob's memory. Changed by `act` alone, once a turn."""

    __slots__ = (
        "_agent",
        "_counters",
        "_kitchen",
        "_onions",
        "_phase",
        "_places",
        "_serving_too",
        "_tape",
        "last_pos",
        "obj_goal",
        "put_goal",
        "stage",
        "stuck",
    )

    stage: int
    """FETCH or PLACE."""
    stuck: int
    """Turns in a row that began where the one before began."""
    last_pos: Cell
    obj_goal: Cell | None
    """Where this phase means to take an onion."""
    put_goal: Cell | None
    """Where this phase means to put what is held."""

    def __init__(self, kitchen: Kitchen, tape: Tape) -> None:
        self._kitchen = kitchen
        self._tape = tape
        self._counters = kitchen.cells("X")
        self._onions = kitchen.cells("O")
        self._places = kitchen.cells("XP")
        self._serving_too = kitchen.cells("XS")
        self._agent = Legacy(tape)
        # The reference draws twice before the first turn, each time to choose among one.
        self._agent.double()
        self._agent.double()
        self.last_pos = kitchen.starts[1]
        self.stuck = 0
        self._begin(FETCH)

    @property
    def draws(self) -> list[int]:
        """32-bit outputs taken so far from the episode's and from the phase's generator."""
        return [self._agent.draws, self._phase.draws]

    def set_draws(self, agent: int, phase: int) -> None:
        """Put both generators where `draws` says."""
        self._agent.draws = agent
        self._phase.draws = phase

    def act(self, view: View) -> str:
        """Return Bob's letter for this turn, seeing the state before it."""
        (ax, ay), _, _ = view["players"][0]
        (x, y), facing, held = view["players"][1]
        if self.stage == PLACE and held is None:
            self._agent.double()
            self._begin(FETCH)
        if self.stage == FETCH and held is not None and held[0] == "onion":
            self._begin(PLACE)
        cell = (x, y)
        dx, dy = STEP[facing]
        ahead = (x + dx, y + dy)
        if self.stage == FETCH and held is None:
            self.obj_goal, letter = self._seek(self.obj_goal, self._onions, cell, ahead, (ax, ay))
        else:
            wanted = self._free(view, held)
            self.put_goal, letter = self._seek(self.put_goal, wanted, cell, ahead, (ax, ay))
        if cell == self.last_pos:
            self.stuck += 1
            if self.stuck >= _PATIENCE:
                letter = _RANDOM[self._agent.upto(len(_RANDOM) - 1)]
        else:
            self.last_pos = cell
            self.stuck = 0
        return letter

    def _begin(self, stage: int) -> None:
        """Begin a phase: a generator anew, and no goals."""
        self.stage = stage
        self._phase = Legacy(self._tape)
        self.obj_goal = None
        self.put_goal = None

    def _free(self, view: View, held: list[Any]) -> list[Cell]:
        """Return where Bob would put what he holds: free counters, and pots that still take an onion, or where soup is served."""
        taken = {(thing[1][0], thing[1][1]) for thing in view["objects"] if thing[0] != "soup" or len(thing[2]) >= ONIONS}
        if held[0] == "onion":
            cells = self._places
        elif held[0] == "soup":
            cells = self._serving_too
        else:
            cells = self._counters
        return [cell for cell in cells if cell not in taken]

    def _seek(self, goal: Cell | None, wanted: Any, cell: Cell, ahead: Cell, other: Cell) -> tuple[Cell, str]:
        """Return (goal, letter towards it): the remembered goal if it still serves, else one drawn among those that do."""
        ways = self._kitchen.routes(cell, other)
        first = ways.first
        if goal is None or goal not in wanted or goal not in first:
            choice = [there for there in wanted if there in first] or ways.floor
            goal = choice[self._phase.upto(len(choice) - 1)]
        if goal == ahead and goal in wanted:
            return goal, "I"
        # Always drawn, though only used where there is no way to take.
        drawn = LOOK[self._phase.upto(len(LOOK) - 1)][0]
        return goal, first[goal] or drawn
