"""What the builtin Overcooked reactor sees for itself: what it wants next, and what three moves can reach.

Distances are counted as the crow flies, counters not minded, and the other cook is taken to stand still: a glance, not a plan.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from games.overcooked import faced, soup_in
from games.overcooked.kitchen import FLOOR, STEP, Cell
from workers.thinkers.commit import Step

__all__ = ["Glance", "at", "hands"]

MOVES = 3
"""Moves looked ahead, the I included."""
NAMED = 4
"""Wanted things named with their distance, at most."""
FAR = 99

_FIXTURE = {"X": "the counter", "P": "pot", "O": "the onions", "D": "the dishes", "S": "the serving counter"}
_BACK = {"U": "D", "D": "U", "L": "R", "R": "L"}


class Spot(NamedTuple):
    """A floor cell I could get to."""

    letters: str
    cell: Cell


class Front(NamedTuple):
    """A fixture I could come to face."""

    letters: str
    fixture: Cell


class Glance:
    """One look at the fresh kitchen: `look` says everything, and `letter` is what I would do on my own."""

    def __init__(self, view: dict[str, Any]) -> None:
        self.mate = "Alice" if view["you"] else "Bob"
        self.view = view
        self.terrain: list[str] = view["terrain"]
        (cell, self.facing, held), (other, self.mate_faces, mate_held) = view["players"]
        self.cell: Cell = (cell[0], cell[1])
        self.other: Cell = (other[0], other[1])
        self.held: str = held[0] if held else ""
        self.mate_holds: str = mate_held[0] if mate_held else ""
        self.spots: list[Spot] = []
        self.fronts: list[Front] = []
        self.aim, self.wanted = self._wants()
        self.shunned: set[Cell] = set()
        """Cells I am warned of for the next turn."""
        self.letter = "S"

    def _wants(self) -> tuple[str, list[Cell]]:
        """Return what I want next in words, and where it is to be had."""
        cells: dict[str, list[Cell]] = {kind: [] for kind in "XPODS"}
        for y, row in enumerate(self.terrain):
            for x, kind in enumerate(row):
                if kind != FLOOR:
                    cells[kind].append((x, y))
        lying = {(thing[1][0], thing[1][1]): thing for thing in self.view["objects"]}
        loose = {cell: thing[0] for cell, thing in lying.items() if cell not in cells["P"]}
        full = [pot for pot in cells["P"] if pot in lying and len(lying[pot][2]) == self.view["onions_per_soup"]]
        ready = [pot for pot in full if lying[pot][4] == "ready"]
        room = [pot for pot in cells["P"] if pot not in full]
        free = [cell for cell in cells["X"] if cell not in loose]
        if self.held == "soup":
            return "serve the soup", cells["S"]
        if self.held == "dish":
            begun = ready or full or [pot for pot in cells["P"] if pot in lying]
            return ("lift a soup with the dish", begun) if begun else ("lay the dish down, for nothing is cooking", free)
        if self.held == "onion":
            return ("put the onion into a pot with room", room) if room else ("lay the onion down, for no pot has room", free)
        soups = [cell for cell, thing in loose.items() if thing == "soup"]
        if soups:
            return "take the soup off a counter", soups
        if ready or not room:
            why = "for a soup is ready" if ready else "for all pots are full"
            return f"get a dish, {why}", [*cells["D"], *(cell for cell, thing in loose.items() if thing == "dish")]
        return "get an onion, for a pot has room", [*cells["O"], *(cell for cell, thing in loose.items() if thing == "onion")]

    def look(self) -> Iterator[Step]:
        """Say what is there, what I want, where three moves lead, and what I would do on my own."""
        yield from self._situation()
        yield "plan", f"I want to {self.aim}. As the crow flies {self._distances()}.\n"
        yield from self._moves()
        yield from self._choose()

    def aim_at(self, target: Cell) -> Iterator[Step]:
        """Hold the moves already looked at against a narrower wish, and choose anew."""
        self.wanted = [target]
        away = ", ".join([f"{at(spot.cell)} {self._crow(spot.cell)}" for spot in (Spot("", self.cell), *self.spots)])
        yield "plan", f"How far it is to {at(target)} from the cells I looked at: {away}.\n"
        yield from self._choose()

    def _situation(self) -> Iterator[Step]:
        view = self.view
        yield (
            "understand",
            f"Turn {view['turn']}. I am at {at(self.cell)} facing {self.facing} and hold {hands(self.held)}. {self.mate} is at {at(self.other)} facing "
            f"{self.mate_faces} and holds {hands(self.mate_holds)}, {self._from_mate(self.cell)} from me.\n",
        )
        mine, others = view["history"]
        yield "understand", f"My last letters are {' '.join(mine) or 'none'}, {self.mate}'s {' '.join(others) or 'none'}.\n"
        pots = []
        for y, row in enumerate(self.terrain):
            for x, kind in enumerate(row):
                if kind == "P":
                    pots.append(f"Pot {at((x, y))} {self._inside([x, y])}.")
        lying = [f"{thing[0]} {at(thing[1])}" for thing in view["objects"] if self.terrain[thing[1][1]][thing[1][0]] != "P"]
        yield "understand", " ".join(pots) + (f" On the counters lie {', '.join(lying)}.\n" if lying else " The counters are empty.\n")

    def _inside(self, pot: list[int]) -> str:
        soup = soup_in(self.view, pot)
        if soup is None:
            return "is empty"
        if soup[4] == "idle":
            missing = self.view["onions_per_soup"] - len(soup[2])
            return f"has {len(soup[2])} onion{'' if len(soup[2]) == 1 else 's'} and needs {missing} more"
        if soup[4] == "ready":
            return "has a soup that is ready"
        left = self.view["cook_time"] - soup[3]
        return f"cooks for {left} more turn{'' if left == 1 else 's'}"

    def _distances(self) -> str:
        x, y = self.cell
        near = sorted((abs(x - there[0]) + abs(y - there[1]), there) for there in self.wanted)[:NAMED]
        return ", ".join([f"{at(there)} is {steps} away" for steps, there in near]) or "there is nowhere to"

    def _moves(self) -> Iterator[Step]:
        """Write down every way of up to three moves: the cells it gets to and what it comes to face."""
        front = faced(self.view["players"][0])
        kind = self.terrain[front[1]][front[0]]
        if kind != FLOOR:
            self.fronts.append(Front("", (front[0], front[1])))
            use = "that is what I want" if (front[0], front[1]) in self.wanted else "of no use now"
            yield "execute", f"Move 1, I: I face {_FIXTURE[kind]} {at(front)}, {use}.\n"
        seen = {self.cell}
        level = [Spot("", self.cell)]
        for number in range(1, MOVES + 1):
            further = []
            for spot in level:
                said = []
                for letter, (dx, dy) in STEP.items():
                    there = (spot.cell[0] + dx, spot.cell[1] + dy)
                    kind = self.terrain[there[1]][there[0]]
                    if kind != FLOOR:
                        said.append(self._turned(letter, kind, there, number))
                        if number < MOVES:
                            self.fronts.append(Front(spot.letters + letter, there))
                    elif there == self.other:
                        said.append(f"{letter} runs into {self.mate}")
                    elif there in seen:
                        said.append(f"{letter} is {at(there)} again")
                    else:
                        seen.add(there)
                        further.append(Spot(spot.letters + letter, there))
                        said.append(self._stepped(letter, there))
                        ahead = (there[0] + dx, there[1] + dy)
                        if number < MOVES and self.terrain[ahead[1]][ahead[0]] != FLOOR:
                            self.fronts.append(Front(spot.letters + letter, ahead))
                            if ahead in self.wanted:
                                said[-1] += f", facing {at(ahead)}"
                start = f"after {' '.join(spot.letters)}, from {at(spot.cell)}" if spot.letters else f"from {at(spot.cell)}"
                yield "execute", f"Move {number} {start}: {'; '.join(said)}.\n"
            self.spots += further
            level = further

    def _turned(self, letter: str, kind: str, there: Cell, number: int) -> str:
        text = f"{letter} runs into {_FIXTURE[kind]} {at(there)} and only turns me"
        if there not in self.wanted:
            return text
        return f"{text}, but I there is what I want" if number < MOVES else f"{text}, to what I want, one move too late"

    def _stepped(self, letter: str, there: Cell) -> str:
        steps = self._from_mate(there)
        near = f"next to {self.mate}" if steps == 1 else f"{steps} from {self.mate}"
        return f"{letter} gets to {at(there)}, a free cell {near}, with {self._crow(there)} to go"

    def _crow(self, cell: Cell) -> int:
        """Return how far the nearest wanted thing is from a cell, as the crow flies."""
        return min((abs(cell[0] - x) + abs(cell[1] - y) for x, y in self.wanted), default=FAR)

    def _from_mate(self, cell: Cell) -> int:
        return abs(cell[0] - self.other[0]) + abs(cell[1] - self.other[1])

    def _choose(self) -> Iterator[Step]:
        """Settle on a letter of my own and say why."""
        ways = [front.letters for front in self.fronts if front.fixture in self.wanted]
        self.letter = "S"
        yield "check", f"Weighing the first moves: {'; '.join([self._weighed(letter, ways) for letter in STEP])}.\n"
        if "" in ways:
            if self._in_time():
                self.letter = "I"
                yield "check", f"I can {self.aim} at once, so on my own I would play I.\n"
            else:
                yield "check", "I am in front of it, but nothing can be lifted yet, so on my own I would wait with S.\n"
        elif self._dancing():
            yield "check", f"{self.mate} and I keep stepping to and fro in front of each other, so on my own I would stay once.\n"
        elif ways:
            way = min(ways, key=len)
            self.letter = way[0]
            yield "check", f"{' '.join(way)} I does it in {len(way) + 1} moves, so on my own I would play {self.letter}.\n"
        else:
            yield from self._approach()

    def _weighed(self, letter: str, ways: list[str]) -> str:
        """Return the best that begins with a letter."""
        done = min((len(way) + 1 for way in ways if way.startswith(letter)), default=0)
        if done:
            return f"{letter} does it in {done} moves"
        left = min((self._crow(spot.cell) for spot in self.spots if spot.letters.startswith(letter)), default=FAR)
        return f"{letter} leaves {left} to go at best" if left < FAR else f"{letter} leads nowhere"

    def _approach(self) -> Iterator[Step]:
        """Nothing wanted is within three moves: go where the least is left, and least far of those."""
        spots = [spot for spot in self.spots if self._first(spot) not in self.shunned] or self.spots
        if not spots:
            yield "check", "There is no way on now, so on my own I would stay.\n"
            return
        end = min(spots, key=lambda spot: (self._crow(spot.cell), len(spot.letters)))
        left = self._crow(end.cell)
        # Staying where nothing is gained: this is where three moves are too few.
        if left >= self._crow(self.cell):
            yield "check", f"No cell within three moves is nearer than the {self._crow(self.cell)} I have to go here, so on my own I would stay.\n"
            return
        self.letter = end.letters[0]
        yield "check", f"The nearest I get is {at(end.cell)} by {' '.join(end.letters)}, {left} to go, so on my own I would play {self.letter}.\n"

    def _first(self, spot: Spot) -> Cell:
        dx, dy = STEP[spot.letters[0]]
        return (self.cell[0] + dx, self.cell[1] + dy)

    def _in_time(self) -> bool:
        """Return whether I does something now: with a dish only in front of a soup that is ready."""
        front = faced(self.view["players"][0])
        if self.held != "dish" or self.terrain[front[1]][front[0]] != "P":
            return True
        soup = soup_in(self.view, front)
        return soup is not None and soup[4] == "ready"

    def _dancing(self) -> bool:
        """Return whether the other is within two steps and my last three letters went to and fro, as happens when we mirror each other."""
        mine = self.view["history"][0][-3:]
        return len(mine) == 3 and self._from_mate(self.cell) <= 2 and mine[0] == mine[2] and _BACK.get(mine[0]) == mine[1]


def at(cell: Any) -> str:
    return f"({cell[0]},{cell[1]})"


def hands(held: str) -> str:
    """Return what is held in words."""
    return f"{'an' if held == 'onion' else 'a'} {held}" if held else "nothing"
