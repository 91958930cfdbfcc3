"""Overcooked: two cooks in one kitchen make onion soup together. You are Alice; Bob is a script.

Cells are (x, y), x to the right, y up. In each turn both cooks act at once:
1. Bob picks his action from the state before the turn.
2. Interactions (I), Alice's first, then Bob's on what she left. It concerns the cell the cook faces.
   Counter: put down what is held if it is empty, take what lies there if empty-handed. Dispenser: an empty-handed cook takes an onion
   or a dish. Pot: an onion goes in while there are fewer than 3; with the third, cooking starts by itself. A dish becomes the soup if
   it is ready, and the pot is empty then; a dish on any other pot does nothing, and neither do empty hands. Serving counter: a soup is
   delivered. Anything else: nothing.
3. Moves (U D L R): a cook turns to the direction and enters the cell if it is floor. If both would end on one cell, or would swap, both
   stay where they were, turned. S stays.
4. Cooking soups get one turn older, also one started in this turn; at 5 they are ready.
5. Reward: 20 for each soup delivered by either. For Alice alone: 5 for lifting a soup out of its pot, and 3 for taking a dish from the
   dispenser while no dish lies on a counter and more pots are in use than Bob holds dishes.

| | |
|---|---|
| actions | U D L R I S |
| default action | S |
| ends when | turn 100 is over |
| score | the rewards' sum; one soup made by Alice alone is 28 |
| points | soups delivered by the pair; 3 make a normalised score of 1.0 |
| cognitive load | the kitchen: 5 x 5 easy, 7 x 5 medium with a counter block in the middle, 8 x 5 hard |

Deviations from the reference (package RealtimeGym, commit 3d5b3ef), all outside the recorded turns: seeds above 7 seed Bob's generators
(there, and for seeds 0..7 here, every seed is the same game: Bob's are fixed at 42); a finished episode cannot be stepped; the last
observation is the real one, not an empty one; anything but U D L R I S is an error (there, it means stay); reward is per step, beside
the cumulative score; Bob may be played by somebody else (`step(action, partner=...)`).
"""

from __future__ import annotations

from functools import partial
from typing import Any

from games.base import BaseGame, Board, GameError, GameSpec, Observation, StepResult, read_snapshot
from games.overcooked.drawing import drawn
from games.overcooked.kitchen import KITCHENS, STEP, routes
from games.overcooked.partner import Partner
from games.overcooked.rules import COOK_TIME, ONIONS, SOUP_VALUE, Object, View, advance, faced, interact, object_at, soup_in
from games.overcooked.saved import Snapshot, checked_objects, checked_players
from games.overcooked.text import CAP, describe, words
from games.rng import Tape

__all__ = ["SPEC", "Game", "advance", "describe", "faced", "interact", "object_at", "routes", "soup_in", "words"]

# The reference fixes Bob's generators; its seeds 0..7 all give this one game.
BOB_SEED = 42
_SAME_GAME = 8

SPEC = GameSpec(
    name="overcooked",
    title="Overcooked",
    summary="Cook and deliver onion soups together with a partner who has ideas of his own.",
    letters=(("U", "up"), ("D", "down"), ("L", "left"), ("R", "right"), ("I", "interact"), ("S", "stay")),
    default_action="S",
    points_name="soups",
    points_max=3.0,
    max_ticks=CAP,
    help=(
        "Deliver onion soups together with Bob: 20 points each.",
        "1. Carry 3 onions to a pot; it then cooks for 5 turns.",
        "2. Take a dish, lift the ready soup: 5 points.",
        "3. Carry it to the serving counter.",
        "A dish is worth 3 while a pot is in use and no dish",
        "lies about. Counters hold one thing each.",
        "You turn before you walk against something.",
        "Keys: arrows, WASD or hjkl move; Enter or e interacts.",
    ),
)

_VECTOR = {letter: list(step) for letter, step in STEP.items()}


class Game(BaseGame):
    """One episode of Overcooked after another; the rules stand at the top of this package."""

    spec = SPEC

    def __init__(self, load: str = "medium", seed: int = 0) -> None:
        super().__init__(load, seed)
        self._kitchen = KITCHENS[self.load]
        self._tape = Tape(_bob_seed(self.seed))
        self._bob = Partner(self._kitchen, self._tape)
        # The state is a view that is never altered in place: each turn makes the next one, so observations only hold on to it.
        self._view: View = {}
        self._score = 0.0

    @property
    def points(self) -> float:
        """Soups delivered by the pair."""
        return float(self._view["orders_delivered"]) if self._view else 0.0

    def reset(self, seed: int | None = None) -> Observation:
        """Start the episode of `seed`, or of the seed already set, and return Alice's first observation."""
        if seed is not None:
            self.seed = self._checked_seed(seed)
            if self._tape.seed != _bob_seed(self.seed):
                self._tape = Tape(_bob_seed(self.seed))
        self._bob = Partner(self._kitchen, self._tape)
        self._turn = 0
        self._score = 0.0
        self.done_reason = None
        self._playing = True
        players = [[list(cell), "D", None] for cell in self._kitchen.starts]
        self._view = _begun(self._kitchen.terrain, 0, players, [], ["", ""], 0)
        return self.observe()

    def step(self, action: str, partner: str | None = None) -> StepResult:
        """Play one turn: Alice does `action`, Bob what his script says or, if given, `partner`.

        The script neither acts nor remembers in a turn in which `partner` is given. Raises GameError, with nothing changed, if a letter is no
        action or there is no episode to step.
        """
        if not self._playing or action not in self._accepted:
            raise self._refusal(action)
        if partner is None:
            partner = self._bob.act(self._view)
        elif partner not in self._accepted:
            raise self._refusal(partner)
        self._view, soups, bonus = advance(self._view, action, partner)
        self._turn += 1
        reward = float(SOUP_VALUE * soups + bonus)
        self._score += reward
        over = self._turn >= CAP
        if over:
            self._playing = False
            self.done_reason = "cap"
        return StepResult(
            observation=self.observe(),
            reward=reward,
            score=self._score,
            terminated=False,
            truncated=over,
            reset=False,
            done_reason=self.done_reason,
        )

    def observe(self, player: int = 0) -> Observation:
        """Return the current observation of Alice (0) or Bob (1)."""
        view = self._view
        if not view:
            raise self._unready("observe")
        if player not in (0, 1):
            raise GameError(f"overcooked: player {player!r} is no cook; give 0 for Alice or 1 for Bob")
        return Observation(tick=self._turn, view=partial(_copied, view, player), text=words)

    def snapshot(self) -> dict[str, Any]:
        """Return the whole state as plain values, in the schema of the recorded reference episodes plus `rest`."""
        view = self._view
        if not view:
            raise self._unready("snapshot")
        bob = self._bob
        return {
            "turn": self._turn,
            "timestep": self._turn,
            "players": [[cell[:], _VECTOR[facing][:], held and _copy(held)] for cell, facing, held in view["players"]],
            "objects": [_copy(thing) for thing in view["objects"]],
            "history": view["history"][:],
            "partner": {
                "stage": bob.stage,
                "stuck": bob.stuck,
                "last_pos": list(bob.last_pos),
                "obj_goal": bob.obj_goal and list(bob.obj_goal),
                "put_goal": bob.put_goal and list(bob.put_goal),
            },
            "rest": {
                "game": "overcooked",
                "load": self.load,
                "seed": self.seed,
                "score": self._score,
                "done": not self._playing,
                "done_reason": self.done_reason,
                "orders": view["orders_delivered"],
                "draws": bob.draws,
            },
        }

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Become the game the snapshot was taken of, load and seed included. Raises GameError, with nothing changed, if it is none."""
        saved = read_snapshot(snapshot, Snapshot, "overcooked")
        load, seed = self._checked_load(saved.rest.load), self._checked_seed(saved.rest.seed)
        kitchen = KITCHENS[load]
        players = checked_players(saved.players, kitchen)
        objects = checked_objects(saved.objects, kitchen)
        tape = self._tape if self._tape.seed == _bob_seed(seed) else Tape(_bob_seed(seed))
        bob = Partner(kitchen, tape)
        bob.stage, bob.stuck, bob.last_pos = saved.partner.stage, saved.partner.stuck, saved.partner.last_pos
        bob.obj_goal, bob.put_goal = saved.partner.obj_goal, saved.partner.put_goal
        bob.set_draws(*saved.rest.draws)
        self.load, self.seed, self._kitchen, self._tape, self._bob = load, seed, kitchen, tape, bob
        self._view = _begun(kitchen.terrain, saved.turn, players, objects, list(saved.history), saved.rest.orders)
        self._turn, self._score = saved.turn, saved.rest.score
        self._playing, self.done_reason = not saved.rest.done, saved.rest.done_reason

    def describe(self) -> str:
        """Return the rules in words, for a thinker."""
        return describe()

    def board(self) -> Board:
        """Return what a screen draws: floor and fixtures, what lies on them, then Bob and Alice."""
        if not self._view:
            raise self._unready("board")
        return drawn(self._view)


def _bob_seed(seed: int) -> int:
    return seed if seed >= _SAME_GAME else BOB_SEED


def _begun(terrain: tuple[str, ...], turn: int, players: list[list[Any]], objects: list[Object], history: list[str], orders: int) -> View:
    """Return Alice's view of a state."""
    return {
        "turn": turn,
        "you": 0,
        "terrain": list(terrain),
        "players": players,
        "objects": objects,
        "history": history,
        "orders_delivered": orders,
        "cook_time": COOK_TIME,
        "onions_per_soup": ONIONS,
        "soup_value": SOUP_VALUE,
    }


def _copy(thing: Object) -> Object:
    """Return an object that shares nothing with `thing`."""
    if thing[0] == "soup":
        name, cell, onions, tick, state, cook_time = thing
        return [name, cell[:], onions[:], tick, state, cook_time]
    return [thing[0], thing[1][:]]


def _copied(view: View, you: int) -> View:
    """Return a view as player `you` has it, sharing nothing with `view`."""
    return {
        **view,
        "you": you,
        "terrain": view["terrain"][:],
        "players": [[cell[:], facing, held and _copy(held)] for cell, facing, held in view["players"]],
        "objects": [_copy(thing) for thing in view["objects"]],
        "history": view["history"][:],
    }
