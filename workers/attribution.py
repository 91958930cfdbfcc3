"""What guidance did: ask the reactor of a recording again, with and without what it was shown of the planner's thinking.

    ask(recording, 17)      the actions at tick 17 with guidance none, trace and both, side by side
    weigh(recording)        how many actions of the episode guidance changed, and whether for better or worse

The reactor runs by its own core, on the recorded observation and the planner's text cut where it was cut then, so with a builtin thinker
and the token clock the answer is exact: what was shown then gives what was answered then. The one thing that surprises: "better" looks
ten ticks ahead at a game in which one action is exchanged and the recorded ones follow, whether or not a player would have gone on so.
"""

from __future__ import annotations

import threading
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from games.base import Game, GameError
from replays import events as ev
from replays.verify import make_recorded
from workers.backends import Backend, shut
from workers.config import Config
from workers.episode import cast_of, make_backend, make_game, make_header
from workers.errors import ConfigError
from workers.reactor import ReactorCore
from workers.recorded import Recording, config_of
from workers.rings import KIND_EVENT, ListRing
from workers.stream import FINISHED, Progress
from workers.wire import Emitter, Grant, Mark, Piece, drain, read_event

__all__ = ["AHEAD", "KINDS", "Asked", "Attribution", "Exchange", "Influence", "ask", "weigh"]

KINDS = ("none", "trace", "both")
AHEAD = 10
"""Ticks after which an exchanged action is judged, its own included."""
BUILTIN_TPOT_S = 0.001
_FAR = 1 << 62
_NAP_S = 0.002
_SEEN = 4
"""Ticks before the one asked about whose observations a prompt may point at."""


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What the reactor says to one kind of guidance."""

    guidance: str
    """none, trace, conclusion or both."""
    letter: str
    """The action it comes to: its answer, or the default."""
    source: str
    """reactor or default."""
    reason: str | None = None
    """Why the default: none, truncated, invalid, fault."""
    tokens: int = 0
    """What it wrote."""
    shown_bytes: int = 0
    """How much it was shown of the planner's thinking."""


class Attribution(msgspec.Struct, frozen=True, kw_only=True):
    """One tick's actions side by side."""

    tick: int
    letter: str
    """What was applied."""
    source: str
    guidance: str
    """What the reactor was shown then."""
    asked: tuple[Asked, ...]
    """In the order asked for."""
    exact: bool
    """Whether asking again must give what was answered then: a deterministic reactor in token time."""

    @property
    def changed(self) -> bool:
        """Whether an answer without guidance would have been another action than the one applied."""
        return any(one.guidance == "none" and one.letter != self.letter for one in self.asked)

    def line(self) -> str:
        """Say it in one line, for the foot of a screen.

        >>> one = Asked(guidance="none", letter="L", source="reactor")
        >>> Attribution(tick=3, letter="U", source="reactor", guidance="both", asked=(one,), exact=True).line()
        'tick 3: U from reactor (both); asked again: none L'
        """
        said = ", ".join(f"{one.guidance} {one.letter}" + ("" if one.source == "reactor" else f" (default: {one.reason})") for one in self.asked)
        again = "asked again" if self.exact else "asked again, not exact"
        return f"tick {self.tick}: {self.letter} from {self.source} ({self.guidance}); {again}: {said}"


class Exchange(msgspec.Struct, frozen=True, kw_only=True):
    """An action that guidance changed, and what would have come of the other."""

    tick: int
    letter: str
    """With guidance, as recorded."""
    other: str
    """Without."""
    score: float
    """Raw score `AHEAD` ticks later (or at the end), as recorded."""
    other_score: float


class Influence(msgspec.Struct, frozen=True, kw_only=True):
    """What guidance did in an episode."""

    asked: int
    """Ticks in which the reactor acted, or should have."""
    changed: int
    better: int
    worse: int
    exchanges: tuple[Exchange, ...]
    exact: bool

    @property
    def neither(self) -> int:
        """Changed actions that came to the same score."""
        return self.changed - self.better - self.worse


def ask(recording: Recording, tick: int, kinds: Sequence[str] = KINDS, *, game: str | None = None, reactor: str | Backend | None = None) -> Attribution:
    """Ask the reactor of `recording` again at `tick`, once for each kind of guidance.

    `game` and `reactor` stand in for names that are not taken on a recording's word. A model is really asked, and may say something else
    each time. Raises ConfigError, a sentence, for a tick or an agent that has no reactor to ask.
    """
    witness = _Witness(recording, game=game, reactor=reactor)
    try:
        return witness.ask(tick, kinds)
    finally:
        witness.close()


def weigh(recording: Recording, *, game: str | None = None, reactor: str | Backend | None = None, enough: Callable[[], bool] = lambda: False) -> Influence | None:
    """Ask the reactor again without guidance at every tick of an episode, and play the exchanged actions out; None if it was `enough` before.

    Raises ConfigError, a sentence, for an agent without a reactor; ReplayError if the game cannot be made.
    """
    exchanges = []
    asked = 0
    witness = _Witness(recording, game=game, reactor=reactor)
    try:
        told = witness.config.guidance != "none" and witness.config.planner is not None
        for tick in recording.ticks if told else ():
            if not witness.acted(tick):
                continue
            if enough():
                return None
            asked += 1
            found = witness.ask(tick, ("none",))
            if found.changed:
                exchange = _exchange(recording, tick, found.letter, found.asked[0].letter, make_recorded(recording.header, game))
                if exchange is not None:
                    exchanges.append(exchange)
        return Influence(
            asked=asked,
            changed=len(exchanges),
            better=sum(one.score > one.other_score for one in exchanges),
            worse=sum(one.score < one.other_score for one in exchanges),
            exchanges=tuple(exchanges),
            exact=witness.exact,
        )
    finally:
        witness.close()


class _Witness:
    """The reactor of a recording, ready to be asked about any of its ticks."""

    def __init__(self, recording: Recording, *, game: str | None, reactor: str | Backend | None) -> None:
        header = recording.header
        # A planner that cannot be had here is not needed: what it said is in the file.
        self.config: Config = config_of(header, game=game, planner="builtin" if "planner" in header.backends else None, reactor=reactor)
        if self.config.reactor is None:
            raise ConfigError(f"agent {header.thinker!r} has no reactor to ask; this is for agents with one, such as agile")
        self._recording = recording
        self._game = make_game(self.config)
        # Prompts may be built of texts an older recording did not have yet.
        texts = {**make_header(self.config, self._game, meas={}).texts, **header.texts}
        self._header = msgspec.structs.replace(header, texts=texts)
        self._backend = make_backend(self.config, "reactor")
        self.exact = self._backend.info.deterministic and header.clock == "token"

    def acted(self, tick: int) -> bool:
        """Whether the tick was played, and the reactor's was the action or the lack of one."""
        events = self._recording.events(tick)
        sources = [event.source for event in events if isinstance(event, ev.Action) and event.player == self._header.player]
        return bool(sources) and sources[0] in ("reactor", "forced", "default") and any(isinstance(event, ev.Step) for event in events)

    def ask(self, tick: int, kinds: Sequence[str]) -> Attribution:
        ticks, events = self._recording.ticks, self._recording.events(tick)
        begun = next((event for event in events if isinstance(event, ev.Tick)), None)
        action = next((event for event in events if isinstance(event, ev.Action) and event.player == self._header.player), None)
        if begun is None or action is None:
            span = f"it holds ticks {ticks[0]} to {ticks[-1]}" if ticks else "it holds none"
            raise ConfigError(f"tick {tick} of the recording cannot be asked about: {span}, expected a tick that was played; give another")
        if self._header.clock == "token" and not (begun.at is not None and begun.guidance_at is not None and begun.end_at is not None):
            raise ConfigError(f"tick {tick} of the recording cannot be asked about: it does not say when the reactor woke; give another")
        heard = list(self._planner_until(tick)) if any(kind != "none" for kind in kinds) else []
        return Attribution(
            tick=tick,
            letter=action.letter,
            source=action.source,
            guidance=self.config.guidance,
            asked=tuple(self._ask(begun, kind, heard) for kind in kinds),
            exact=self.exact,
        )

    def _ask(self, begun: ev.Tick, kind: str, heard: Sequence[ev.Generation | Piece]) -> Asked:
        """Let the reactor's own core answer one tick."""
        config = msgspec.structs.replace(self.config, guidance=kind)
        cast = cast_of(config, self._game, self._header)
        for tick in _between(self._recording.ticks, begun.tick - _SEEN, begun.tick - 1):
            for event in self._recording.events(tick):
                if isinstance(event, ev.Tick):
                    cast.saw(event)
        ring, bell = ListRing(name="reactor"), threading.Event()
        own = ring.reader(1)
        core = ReactorCore(cast, Emitter(ring.writer(), clock=lambda: 0), self._backend, wake=bell.set)
        core.on_game(begun)
        for item in heard:
            core.on_planner(item)
        limit = _FAR
        if begun.guidance_at is not None and begun.end_at is not None:
            core.on_planner(Mark(tick=begun.tick, stream="planner", upto=begun.guidance_at, at=begun.guidance_at, generation=-1, ended=False))
            core.on_game(Grant(stream="reactor", begin=begun.guidance_at, upto=begun.end_at))
        else:
            core.wake()
            seconds = config.reactive_budget_s or config.tick_budget_s or 0.0
            limit = int(seconds / (config.tpot_s or BUILTIN_TPOT_S)) if self._backend.info.deterministic else _FAR
        while core.waiting_for is not None:
            bell.clear()
            progress = core.work(limit)
            if progress is Progress.UNKNOWN:
                bell.wait(_NAP_S)
            elif progress is Progress.IDLE and core.waiting_for is not None:
                # Wall time: its time is up.
                core.cut()
        return _read(kind, [read_event(frame) for frame in drain(own) if frame.kind == KIND_EVENT], self.config.default_action)

    def _planner_until(self, tick: int) -> Iterator[ev.Generation | Piece]:
        """Yield what the planner had said when the reactor woke in `tick`, from the beginning of the last finished generation on."""
        for number in _between(self._recording.ticks, self._beginning(tick), tick):
            for event in self._recording.events(number):
                if number == tick and isinstance(event, ev.Generation) and event.stream == "reactor":
                    return
                if isinstance(event, ev.Generation) and event.stream == "planner":
                    yield event
                elif isinstance(event, ev.Token) and event.stream == "planner":
                    yield Piece(event.tick, event.generation, event.channel, event.text, tuple(event.lens), event.at or 0, event.t_ns)

    def _beginning(self, tick: int) -> int:
        """Return the tick from which on everything is known that may be shown at `tick`; a reset makes what came before void."""
        ended: set[int] = set()
        first = tick
        ticks = self._recording.ticks
        for place in range(bisect_right(ticks, tick) - 1, -1, -1):
            number = ticks[place]
            for event in reversed(self._recording.events(number)):
                if number < tick and isinstance(event, ev.Step) and event.reset:
                    return number + 1
                if isinstance(event, ev.Generation) and event.stream == "planner":
                    if event.phase == "end" and number < tick and event.finish in FINISHED:
                        ended.add(event.id)
                    elif event.phase == "start" and event.id in ended:
                        return number
            first = number
        return first

    def close(self) -> None:
        shut(self._backend)


def _read(kind: str, events: Sequence[ev.AnyEvent], default: str) -> Asked:
    """What a core wrote of one tick, in short."""
    answer = next((event for event in events if isinstance(event, ev.Answer)), None)
    start, end = (next((event for event in events if isinstance(event, ev.Generation) and event.phase == phase), None) for phase in ("start", "end"))
    if answer is None or start is None or end is None:
        raise ConfigError(f"the reactor cannot be asked with guidance {kind!r}: the recorded tick leaves it no time; give another tick")
    return Asked(
        guidance=kind,
        letter=answer.letters[0] if answer.letters else default,
        source="reactor" if answer.letters else "default",
        reason=None if answer.letters else answer.why,
        tokens=end.clock_tokens,
        shown_bytes=sum(part.upto - part.start for part in start.prompt if isinstance(part, ev.Part) and part.guidance),
    )


def _exchange(recording: Recording, tick: int, letter: str, other: str, game: Game) -> Exchange | None:
    """Play the recorded actions on from `tick` with the first of them exchanged; None where the file lost a state or an action."""
    ticks = list(_between(recording.ticks, tick, tick + AHEAD - 1))
    played = [_played(recording.events(number)) for number in ticks]
    before = _before(recording, tick)
    if before is None or [number - tick for number in ticks] != list(range(len(ticks))):
        return None
    player = recording.header.player
    score = other_score = 0.0
    alive = True
    game.reset()
    try:
        game.restore(before)
        for i, (letters, step) in enumerate(played):
            if step is None or not {0, player} <= letters.keys():
                # The recording ends in the middle of this tick: what came before is all there is.
                break
            score = step.score
            if alive:
                if i == 0:
                    letters = {**letters, player: other}
                partner = {"partner": letters[1]} if 1 in letters else {}
                result = game.step(letters[0], **partner)
                alive, other_score = not result.done, result.score
    except GameError:
        # A state or a letter the game does not know: `verify` says what is wrong with such a file.
        return None
    return Exchange(tick=tick, letter=letter, other=other, score=float(score), other_score=float(other_score))


def _played(events: Sequence[Any]) -> tuple[dict[int, str], ev.Step | None]:
    letters = {event.player: event.letter for event in events if isinstance(event, ev.Action)}
    return letters, next((event for event in events if isinstance(event, ev.Step)), None)


def _before(recording: Recording, tick: int) -> dict[str, Any] | None:
    """Return the game's state when `tick` begins."""
    begun = next((event for event in recording.events(tick) if isinstance(event, ev.Tick)), None)
    if begun is not None and begun.snapshot is not None:
        return begun.snapshot
    step = _played(recording.events(tick - 1))[1]
    return None if step is None else step.state


def _between(ticks: Sequence[int], low: int, high: int) -> Sequence[int]:
    """The ticks from `low` to `high`, both included."""
    return ticks[bisect_left(ticks, low) : bisect_right(ticks, high)]
