"""What every game is made of: its spec, what a thinker may see of it, what a step gives back, and what a screen draws.

The one thing that surprises: a game knows no clock, no process and no model. It is stepped with one letter at a time
and never waits; what happens when nobody answers is the worker layer's business and is called the default action.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import Annotated, Any, ClassVar, Protocol, TypeVar, runtime_checkable

import msgspec

__all__ = ["BaseGame", "Board", "Entity", "Figure", "Game", "GameError", "GameSpec", "Observation", "StepResult", "Turn", "did_you_mean", "no_snapshot", "observed", "read_snapshot"]

LOADS = ("easy", "medium", "hard")


class GameError(ValueError):
    """Something asked of a game that its rules do not know: the message says what was given, what is legal, what to try."""


class GameSpec(msgspec.Struct, frozen=True, kw_only=True):
    """The fixed facts of a game; the same for every load and seed."""

    name: str
    """Lower-case name a person types; also the module's name."""
    title: str
    """Name for headings, such as `Snake`."""
    summary: str
    """One sentence: what the player tries to do."""
    letters: tuple[tuple[str, str], ...]
    """(letter, full word) of each action a thinker may answer, in the order prompts list them."""
    default_action: str
    """What the game does when no action came in time. `step` accepts it even where it is no legal action."""
    points_name: str
    """What the points behind the normalised score are called: `apples`, `soups`, `turns left`."""
    points_max: float
    """Points that make a normalised score of 1.0."""
    max_ticks: int | None = 100
    """Ticks after which an episode ends; None for a game without end."""
    seeds: tuple[int, int] = (0, 2**31 - 1)
    """Smallest and largest seed, both included."""
    loads: tuple[str, ...] = LOADS
    """Cognitive loads it has, easiest first."""
    help: tuple[str, ...] = ()
    """Lines of the help card: goal, rules, keys; at most 56 columns each."""

    @property
    def legal_actions(self) -> tuple[str, ...]:
        """Letters a thinker may answer."""
        return tuple(letter for letter, _ in self.letters)

    def normalise(self, points: float) -> float:
        """Return the score in [0, 1] for raw points, clipped at both ends."""
        return min(1.0, max(0.0, points / self.points_max))


class Observation:
    """What a thinker may see at a tick. A value: changing its parts never changes the game.

    Made eagerly from a text and a dict, or lazily: `view` a function that builds a fresh dict, `text` a function from such a
    dict to words. Lazy parts are built when first read and kept, so a game that nobody watches pays for neither; the functions
    must look at nothing that changes afterwards. Text is always made from a fresh view, never from one a reader may have edited.
    """

    __slots__ = ("_make_text", "_make_view", "_text", "_view", "tick")

    tick: int
    """Tick the observation belongs to, from 0; thinkers call it turn."""

    def __init__(
        self, *, tick: int, text: str | Callable[[dict[str, Any]], str], view: dict[str, Any] | Callable[[], dict[str, Any]]
    ) -> None:
        self.tick = tick
        self._make_text = text
        self._make_view = view
        self._text: str | None = None
        self._view: dict[str, Any] | None = None

    @property
    def text(self) -> str:
        """The state in words, complete, for a language model."""
        if self._text is None:
            words = self._make_text
            self._text = words if isinstance(words, str) else words(self._fresh_view())
        return self._text

    @property
    def view(self) -> dict[str, Any]:
        """The same facts as plain data (dicts with string keys, lists, ints, floats, strings); nothing hidden is in it."""
        if self._view is None:
            self._view = self._fresh_view()
        return self._view

    def _fresh_view(self) -> dict[str, Any]:
        make = self._make_view
        return make() if callable(make) else make

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Observation):
            return NotImplemented
        return self.tick == other.tick and self.view == other.view and self.text == other.text

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Observation(tick={self.tick!r}, text={self.text!r}, view={self.view!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _observation, (self.tick, self.text, self.view)


def _observation(tick: int, text: str, view: dict[str, Any]) -> Observation:
    """Rebuild a pickled observation."""
    return Observation(tick=tick, text=text, view=view)


class StepResult(msgspec.Struct, frozen=True, kw_only=True):
    """What one step gave."""

    observation: Observation
    """The real state after the step, also when the episode is over."""
    reward: float
    """This step's reward."""
    score: float
    """Cumulative raw reward; Freeway starts at 100."""
    terminated: bool
    """The game's own rules ended the episode (goal reached, snake dead)."""
    truncated: bool
    """The tick cap ended it."""
    reset: bool
    """The game threw the player back to its start; thinkers drop what they were thinking."""
    done_reason: str | None = None
    """goal, dead or cap once the episode is over; None before."""

    @property
    def done(self) -> bool:
        """Whether the episode is over."""
        return self.terminated or self.truncated


class Entity(msgspec.Struct, frozen=True, kw_only=True):
    """One thing on the board, in game coordinates (x grows right, y grows up, as U does)."""

    kind: str
    """Its own word, such as `head`, `body`, `food`, `car`, `pot`; unique per looks, so nothing depends on colour."""
    x: int
    """Column, from 0."""
    y: int
    """Row, from 0 at the bottom."""
    glyph: str
    """One cell wide, in any font."""
    ascii: str
    """The same for a terminal without box drawing."""
    role: str = "item"
    """What colour it may take: wall, floor, player, partner, hazard, goal, item, tool."""
    text: str = ""
    """A short figure shown beside the glyph: food life, cooking progress, car speed."""
    facing: str = ""
    """U, D, L or R where the thing looks somewhere; else empty."""
    links: str = ""
    """Letters of the neighbours this piece is joined to (a snake's body is drawn as a tube along them)."""
    length: int = 1
    """Cells it covers, counted from (x, y) against `facing`."""


class Board(msgspec.Struct, frozen=True, kw_only=True):
    """What a screen draws: back to front, so later entities lie over earlier ones. Parts off the board are clipped by the drawer."""

    columns: int
    """Cells across."""
    rows: int
    """Cells up."""
    entities: tuple[Entity, ...]
    """What is drawn, back to front."""
    status: tuple[tuple[str, str], ...] = ()
    """(word, value) facts that do not sit on a cell, such as ("soups", "2")."""


def did_you_mean(what: str, given: object, known: Iterable[str]) -> str:
    """Return the message for a name nobody knows: what was given, the nearest known one if any is near, all of them."""
    # Imported here because only the error path needs it.
    import difflib

    names = list(known)
    near = difflib.get_close_matches(str(given), names, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    return f"unknown {what} {given!r}{hint} (available: {', '.join(names)})"


def no_snapshot(name: str, why: object) -> GameError:
    """The error for a value that is no state of the game called `name`."""
    return GameError(f"not a snapshot of game {name!r}: {why}; give what snapshot() returned")


Turn = Annotated[int, msgspec.Meta(ge=0, le=1 << 53)]
"""A turn in a snapshot. One below 0 would have a thinker look ahead for ever, one much larger could not be recorded after a step more."""
Figure = Annotated[int, msgspec.Meta(ge=-(1 << 53), le=1 << 53)]
"""Any other whole number in a snapshot that a step adds to or takes from."""

SnapshotT = TypeVar("SnapshotT", bound=msgspec.Struct)


def read_snapshot(snapshot: Any, shape: type[SnapshotT], name: str) -> SnapshotT:
    """Return `snapshot` checked against `shape`, whose fields mirror its keys, among them `rest` with a `game` key.

    The result shares nothing with `snapshot`. Raises GameError naming the first part that is wrong, or the game it is really of.
    """
    rest = snapshot.get("rest") if isinstance(snapshot, dict) else None
    if isinstance(rest, dict) and rest.get("game", name) != name:
        raise GameError(f"snapshot is of game {rest['game']!r}, expected {name!r}; restore it with games.make({rest['game']!r})")
    try:
        return msgspec.convert(snapshot, type=shape)
    except msgspec.ValidationError as error:
        raise no_snapshot(name, error) from None


class BaseGame:
    """What our games have in common, for yours to inherit: load and seed checked, steps refused in one clear sentence.

    A subclass sets `spec`, defines the methods of `Game`, sets `_playing` in `reset` and `restore` (true) and when an episode ends (false,
    with `done_reason`), and begins `step` with

        if not self._playing or action not in self._accepted:
            raise self._refusal(action)
    """

    spec: ClassVar[GameSpec]
    _accepted: tuple[str, ...]

    def __init__(self, load: str = "medium", seed: int = 0) -> None:
        self._accepted = (*self.spec.legal_actions, self.spec.default_action)
        self.load = self._checked_load(load)
        self.seed = self._checked_seed(seed)
        self.done_reason: str | None = None
        """goal, dead or cap once the episode is over; None before."""
        self._playing = False
        self._turn = 0

    @property
    def legal_actions(self) -> tuple[str, ...]:
        return self.spec.legal_actions

    @property
    def default_action(self) -> str:
        return self.spec.default_action

    def _checked_load(self, load: str) -> str:
        if load not in self.spec.loads:
            raise GameError(did_you_mean("load", load, self.spec.loads))
        return load

    def _checked_seed(self, seed: int) -> int:
        low, high = self.spec.seeds
        try:
            number = operator.index(seed)
        except TypeError:
            raise GameError(f"seed {seed!r} is no whole number; give one from {low} to {high}") from None
        if not low <= number <= high:
            raise GameError(f"seed {number} is out of range for {self.spec.name}; give one from {low} to {high}")
        return number

    def _refusal(self, action: object) -> GameError:
        """Return why `step(action)` is refused, as a sentence."""
        name = self.spec.name
        if self.done_reason is not None:
            return GameError(f"{name}: the episode ended on turn {self._turn} ({self.done_reason}); call reset() to play again")
        if not self._playing:
            return self._unready("step")
        legal = self.spec.legal_actions
        default = self.spec.default_action
        extra = "" if default in legal else f", and {default} for the default action"
        return GameError(f"{name}: {action!r} is no action; give one of {', '.join(legal)}{extra}")

    def _unready(self, method: str) -> GameError:
        return GameError(f"{self.spec.name}: {method}() before reset(); call reset() or restore() first")


@runtime_checkable
class Game(Protocol):
    """The door every game goes through, ours and yours; `rtdesk check game` tests it."""

    spec: GameSpec
    """The game's fixed facts."""
    load: str
    """Cognitive load of this level."""
    seed: int
    """Seed of this level; same seed, load and actions give the same episode."""

    @property
    def points(self) -> float:
        """Raw points behind the normalised score: apples eaten, soups delivered, turns left."""
        ...

    @property
    def legal_actions(self) -> tuple[str, ...]:
        """Letters a thinker may answer."""
        ...

    @property
    def default_action(self) -> str:
        """The letter `step` is given when no answer came in time."""
        ...

    def reset(self, seed: int | None = None) -> Observation:
        """Begin an episode, of another seed if one is given. Raises GameError for a seed out of range."""
        ...

    def step(self, action: str) -> StepResult:
        """Play one tick. Raises GameError, with nothing changed, for a letter that is no action, or when no episode runs."""
        ...

    def observe(self) -> Observation:
        """The current observation, without changing anything. A game for two, whose `step` takes `partner`, takes `player` here."""
        ...

    def snapshot(self) -> dict[str, Any]:
        """The whole state as plain values, hidden parts included; sharing nothing with the game."""
        ...

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Become the game a snapshot was taken of, load and seed included. Raises GameError, with nothing changed, if it is none."""
        ...

    def describe(self) -> str:
        """The rules in words, for a thinker; the same for the whole episode."""
        ...

    def board(self) -> Board:
        """What a screen draws of the state as it stands."""
        ...


def observed(game: Game, player: int = 0) -> Observation:
    """Return what one of the players sees. A game for one is not asked whose view is wanted; raises TypeError if it is to be another's than the first's."""
    return game.observe(*((player,) if player else ()))
