"""Playing a recorded episode again and comparing every step with the record.

The game is made from the header's name, load and seed (a fork: from the snapshot in its first tick) and given the recorded actions. No
thinker runs. The one thing that surprises: a game named by a path is not loaded, since opening somebody's file must never run code it
names; say which game to use instead.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec

import games
from games.base import Game, GameError, observed
from replays import events as ev
from replays.compare import Parting, brief, first_parting, text_parting
from replays.errors import ReplayError
from replays.payload import AnyRecorded
from replays.reader import Replay

__all__ = ["Divergence", "Verdict", "make_recorded", "verify"]


class Divergence(msgspec.Struct, frozen=True):
    """The first place where the record and the game played again differ."""

    tick: int
    field: str
    """Such as `state.snake[0][1]`, `view.foods`, `text`, `score`, `done`, `action`, `end.score`."""
    recorded: Any
    played: Any
    """What playing it again gives."""

    def __str__(self) -> str:
        return f"tick {self.tick}: {self.field} is {brief(self.recorded)} in the file, {brief(self.played)} when played again"


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What `verify` found."""

    steps: int
    """Steps that were played again and found equal."""
    divergence: Divergence | None
    unchecked: tuple[int, ...]
    """Ticks that could not be played again because the file lost them or the tick before; later ones go on from the recorded state."""

    @property
    def same(self) -> bool:
        """Whether every step of the file was checked and equal."""
        return self.divergence is None and not self.unchecked


def make_recorded(header: ev.Episode, game: str | None = None) -> Game:
    """Return a new game as the header names it, not yet reset; `game` is used in place of the recorded name.

    Raises ReplayError for a name that is a path (a replay must not choose code to run) or is not known here.
    """
    name = header.game if game is None else game
    if game is None and (name.endswith(".py") or "/" in name or "\\" in name):
        raise ReplayError(f"the replay's game is the file {name!r}, which is not loaded on a replay's word; if you trust it, name it yourself with --game")
    try:
        return games.make(name, load=header.load, seed=header.seed)
    except GameError as error:
        raise ReplayError(f"the replay's game cannot be made: {error}; name the game to use with --game") from None


def verify(replay: Replay, *, game: str | None = None) -> Verdict:
    """Play the episode again and return the verdict. Raises ReplayError if its game cannot be made."""
    return _Player(replay, make_recorded(replay.header, game)).run()


class _Found(msgspec.Struct):
    """What a tick holds for us."""

    tick: ev.Tick | None = None
    letters: dict[int, str] = {}
    step: ev.Step | None = None
    end: ev.End | None = None
    defaults: dict[int, int] = {}


class _Player:
    def __init__(self, replay: Replay, game: Game) -> None:
        self._replay = replay
        self._game = game
        self._steps = 0
        self._defaults: Counter[int] = Counter()
        self._unchecked: list[int] = []
        # Whether the game stands where the next tick of the file begins.
        self._placed = False
        self._last: ev.Step | None = None

    def run(self) -> Verdict:
        expected = self._replay.first_tick or 0
        divergence = None
        for tick in self._replay.ticks:
            found = _sort(self._replay.events(tick))
            if tick != expected:
                self._unchecked.extend(range(expected, min(tick, expected + 1000)))
                self._placed = False
            expected = tick + 1
            parting = self._tick(tick, found)
            if parting is not None:
                divergence = Divergence(tick, *parting)
                break
        return Verdict(steps=self._steps, divergence=divergence, unchecked=tuple(self._unchecked))

    def _tick(self, tick: int, found: _Found) -> Parting | None:
        if not self._placed and tick == self._replay.first_tick and found.tick is not None:
            parting = self._begin(found.tick)
            if parting is not None:
                return parting
            self._placed = True
        if not self._placed or found.tick is None:
            if found.end is None or found.step is not None:
                self._unchecked.append(tick)
            return self._go_on_from(found)
        parting = self._observation(found.tick)
        if parting is not None:
            return parting
        self._defaults.update(found.defaults)
        if found.step is not None:
            parting = self._step(found)
            if parting is not None:
                return parting
            self._steps += 1
            self._last = found.step
        elif found.end is None and tick != self._replay.last_tick:
            # Its step was lost; the game cannot be trusted to stand where the next tick begins.
            self._unchecked.append(tick)
            self._placed = False
        return self._ending(found.end) if found.end is not None and not self._unchecked else None

    def _begin(self, tick: ev.Tick) -> Parting | None:
        """Put the game where the file begins."""
        self._game.reset()
        if tick.snapshot is None:
            return None if tick.tick == 0 else Parting("snapshot", None, "needed, because the file does not begin with tick 0")
        if self._replay.header.parent is None and tick.tick == 0:
            return first_parting(tick.snapshot, _plain(self._game.snapshot()), "snapshot")
        return self._restore(tick.snapshot, "snapshot")

    def _go_on_from(self, found: _Found) -> Parting | None:
        """After a gap: take the recorded state behind this tick's step as the place to go on from."""
        self._placed = False
        if found.step is None:
            return None
        parting = self._restore(found.step.state, "state")
        self._placed = parting is None and not found.step.done
        return parting

    def _restore(self, snapshot: dict[str, Any], field: str) -> Parting | None:
        try:
            self._game.restore(snapshot)
        except GameError as error:
            return Parting(field, "the recorded one", f"refused: {error}")
        return None

    def _observation(self, tick: ev.Tick) -> Parting | None:
        try:
            now = observed(self._game, self._replay.header.player)
        except (GameError, TypeError):
            return Parting("header.player", self._replay.header.player, "one whom the game shows itself to")
        parting = first_parting(tick.view, _plain(now.view), "view")
        return parting or text_parting(tick.text, now.text, "text")

    def _step(self, found: _Found) -> Parting | None:
        step = found.step
        assert step is not None
        letter = found.letters.get(0)
        if letter is None:
            return Parting("action", None, "one, because the tick has a step")
        others = {"partner": found.letters[1]} if 1 in found.letters else {}
        try:
            result = self._game.step(letter, **others)
        except (GameError, TypeError) as error:
            return Parting("action", letter, f"refused: {error}")
        reason = result.done_reason
        if not result.done and step.done_reason == "ticks":
            # The person's own limit, not a rule of the game.
            reason = "ticks"
        # The same door every recorded event came through, so that 1 and 1.0 or a tuple and a list make no difference.
        played = ev.decode(
            ev.encode(
                ev.Step(
                    tick=step.tick,
                    state=self._game.snapshot(),
                    reward=result.reward,
                    score=result.score,
                    points=self._game.points,
                    done=reason is not None,
                    done_reason=reason,
                    reset=result.reset,
                )
            )
        )
        for name in ("state", "reward", "score", "points", "done", "done_reason", "reset"):
            parting = first_parting(getattr(step, name), getattr(played, name), name)
            if parting is not None:
                return parting
        return None

    def _ending(self, end: ev.End) -> Parting | None:
        totals = end.totals
        raw = self._last.score if self._last is not None else totals.raw_score
        points = self._last.points if self._last is not None else totals.points
        for name, recorded, played in (
            ("ticks", totals.ticks, self._steps),
            ("raw_score", totals.raw_score, raw),
            ("points", totals.points, points),
            ("score", totals.score, self._game.spec.normalise(points)),
            ("default_actions", totals.default_actions, self._defaults[0]),
            # What is thought for the partner alone is newer than this count.
            *([("partner_default_actions", totals.partner_default_actions, self._defaults[1])] if self._replay.header.player else []),
        ):
            parting = first_parting(recorded, played, f"end.{name}")
            if parting is not None:
                return parting
        return None


def _sort(events: tuple[AnyRecorded, ...]) -> _Found:
    found = _Found(letters={}, defaults={})
    for event in events:
        if isinstance(event, ev.Tick):
            found.tick = event
        elif isinstance(event, ev.Action):
            found.letters[event.player] = event.letter
            found.defaults[event.player] = int(event.source == "default")
        elif isinstance(event, ev.Step):
            found.step = event
        elif isinstance(event, ev.End):
            found.end = event
    return found


def _plain(value: dict[str, Any]) -> Any:
    """Return a game's value as reading it back from a file would give it."""
    return msgspec.msgpack.decode(msgspec.msgpack.encode(value, enc_hook=ev.plain))
