"""What the checker asks of a game, one question a function: each yields (what is wrong, its likely cause).

The three of `GATES` come first, in order; the others take for granted what those asked for.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from games._look_checks import boards, description
from games._subject import Subject, encoded, first_difference, refusal, scramble, unplain
from games.base import Board, GameSpec, Observation, StepResult

__all__ = ["CHECKS", "GATES"]

Found = Iterator[tuple[str, str]]

_METHODS = ("reset", "step", "observe", "snapshot", "restore", "describe", "board")
_REST = ("game", "load", "seed", "score", "done", "done_reason")
_DRAWS = "it draws from the module-level `random`, reads a clock, or walks over a set; draw from a generator made of the seed"
_HELP_WIDTH = 56


def surface(subject: Subject) -> Found:
    """SPEC is complete and Game has every method."""
    spec = subject.spec
    if not isinstance(spec, GameSpec):
        yield f"SPEC is a {type(spec).__name__}, expected games.base.GameSpec", "SPEC must be an instance: SPEC = GameSpec(name=..., ...)"
        return
    if getattr(subject.module, "__file__", None) and not (subject.module.__doc__ or "").strip():
        yield "the module has no docstring", "the rules, in plain words, stand at the top of a game's file"
    if not (spec.name.isidentifier() and spec.name == spec.name.lower()):
        yield f"SPEC.name is {spec.name!r}", "a name is what a person types: lower-case letters, digits, underscores"
    yield from _letters(spec)
    if not (math.isfinite(spec.points_max) and spec.points_max > 0):
        yield f"SPEC.points_max is {spec.points_max!r}, expected a positive number", "it is the points that make a normalised score of 1"
    if spec.max_ticks is not None and spec.max_ticks < 1:
        yield f"SPEC.max_ticks is {spec.max_ticks!r}", "give at least 1, or None for a game without end"
    if not 0 <= spec.seeds[0] <= spec.seeds[1] < 2**63:
        yield f"SPEC.seeds is {spec.seeds!r}", "give the smallest and the largest seed, both included, from 0"
    if not spec.loads or len(set(spec.loads)) < len(spec.loads):
        yield f"SPEC.loads is {spec.loads!r}", "give each cognitive load once; leave it out for easy, medium, hard"
    for line in spec.help:
        if len(line) > _HELP_WIDTH:
            yield f"SPEC.help has a line of {len(line)} columns: {line!r}", f"the help card is {_HELP_WIDTH} columns wide"
    missing = [f"{name}()" for name in _METHODS if not callable(getattr(subject.module.Game, name, None))]
    if missing:
        yield f"Game has no {', no '.join(missing)}", "every method of games.base.Game is needed; games.base.BaseGame has what games share"


def _letters(spec: GameSpec) -> Found:
    letters = [letter for letter, _ in spec.letters]
    if not letters:
        yield "SPEC.letters is empty", 'give (letter, word) pairs such as (("L", "left"), ("R", "right"))'
    for letter in [*letters, spec.default_action]:
        if len(letter) != 1 or not letter.isalnum():
            yield f"{letter!r} is no single letter", "an action is one letter or digit; its word stands beside it in SPEC.letters"
    for word in (word for _, word in spec.letters):
        if not word or any(char.isspace() for char in word):
            yield f"{word!r} is no word for an action", "answers are read by whole words, so a word has no blank in it"
    folded = [name.casefold() for name in [*letters, *(word for letter, word in spec.letters if word.casefold() != letter.casefold())]]
    for name in {name for name in folded if folded.count(name) > 1}:
        yield f"{name!r} names two actions of SPEC.letters", "answers are read in any case, so names differ in more than case"


def results(subject: Subject) -> Found:
    """Methods return what they should; asked first, because everything else looks into it."""
    game = subject.make()
    first = game.reset()
    returned: list[tuple[str, Any, Any]] = [("reset()", first, Observation), ("observe()", game.observe(), Observation), ("snapshot()", game.snapshot(), dict)]
    returned += [("describe()", game.describe(), str), ("board()", game.board(), Board), ("points", game.points, (int, float))]
    returned.append(("step()", game.step(subject.spec.legal_actions[0]), StepResult))
    for name, value, expected in returned:
        if not isinstance(value, expected):
            kind = expected.__name__ if isinstance(expected, type) else "number"
            yield f"{name} gives {value!r:.60}, expected a {kind}", "a method without `return` gives None; see the methods of games.base.Game"


def making(subject: Subject) -> Found:
    """Loads and seeds are checked, and remembered."""
    low, high = subject.spec.seeds
    for load, seed in subject.starts():
        game = subject.make(load, seed)
        if (game.load, game.seed) != (load, seed):
            yield f"Game({load!r}, {seed}) has load {game.load!r} and seed {game.seed!r}", "__init__ sets both; super().__init__(load, seed) does"
        if tuple(game.legal_actions) != subject.spec.legal_actions or game.default_action != subject.spec.default_action:
            yield f"legal_actions is {game.legal_actions!r}, default_action {game.default_action!r}: not those of SPEC", "return SPEC's"
        if game.spec is not subject.spec:
            yield "game.spec is not SPEC", "class Game has the line `spec = SPEC`"
    why = "call self._checked_load(load) and self._checked_seed(seed), which games.base.BaseGame has"
    known = subject.spec.loads[0]
    for given in (("no such load", low), (known, low - 1), (known, high + 1), (known, "1")):
        if (came := refusal(subject.make, *given)) is not None:
            yield f"Game{given!r} {came}", why
    game, _ = subject.middle(known, subject.seeds[0])
    yield from _unharmed(subject, game, "reset(seed) with a seed out of range", why, "reset", high + 1)


def seeding(subject: Subject) -> Found:
    """A seed given to reset is the seed given to Game; none given is the one already set."""
    load = subject.spec.loads[0]
    first, last = subject.seeds[0], subject.seeds[-1]
    letters = subject.actions(first)
    expected = subject.trace(subject.fresh(load, last), letters)
    game = subject.fresh(load, first)
    for letter in letters[:3]:
        if game.step(letter).done:
            break
    for call, arguments in ((f"reset({last})", (last,)), ("reset() after it", ())):
        game.reset(*arguments)
        if (found := first_difference(expected, subject.trace(game, letters), "step")) is not None:
            yield f"{call} plays another episode than Game({load!r}, {last}): {found}", "reset(seed) must set all that __init__ makes from the seed"


def determinism(subject: Subject) -> Found:
    """The same seed and actions give the same bytes: twice, after another episode, and beside another game."""
    kept = "reset() leaves something of the last episode behind; set there everything that step() changes"
    shared = "two games share something: a mutable class attribute or default, a module-level variable, or the module-level `random`"
    for load, seed in subject.starts():
        letters = subject.actions(seed)
        game = subject.fresh(load, seed)
        expected = subject.trace(game, letters)
        if (found := _parting(expected, subject.trace(subject.fresh(load, seed), letters))) is not None:
            yield f"{load}, seed {seed}: the same actions played twice differ: {found}", _DRAWS
            continue
        game.reset()
        if (found := _parting(expected, subject.trace(game, letters))) is not None:
            yield f"{load}, seed {seed}: the second episode of one game differs from its first: {found}", kept
        game, other = subject.fresh(load, seed), subject.fresh(subject.spec.loads[-1], subject.seeds[-1])
        beside = []
        for letter in letters[: len(expected)]:
            beside.append(subject.after(game, letter))
            if other.step(letter).done:
                other.reset()
        if (found := _parting(expected, beside)) is not None:
            yield f"{load}, seed {seed}: an episode differs when another game is played beside it: {found}", shared


def _parting(one: list[dict[str, Any]], other: list[dict[str, Any]]) -> str | None:
    if encoded(one) == encoded(other):
        return None
    return first_difference(one, other, "step") or "their bytes"


def episodes(subject: Subject) -> Found:
    """Ticks count, rewards add up, and an episode ends as the spec says."""
    for load, seed in subject.starts():
        game = subject.make(load, seed)
        yield from _observed(game.reset(), 0, f"{load}, seed {seed}, after reset()")
        rest = game.snapshot().get("rest")
        # What the score began at: by the snapshot, else by the first step.
        began = rest.get("score") if isinstance(rest, dict) else None
        total = 0.0
        for count, letter in enumerate(subject.actions(seed, max(subject.steps, subject.spec.max_ticks or 0)), 1):
            result = game.step(letter)
            where = f"{load}, seed {seed}, step {count}"
            yield from _observed(result.observation, count, where)
            if result.observation != game.observe():
                yield f"{where}: the result's observation is not what observe() gives", "make the result's observation after the state has changed"
            total += result.reward
            began = result.score - result.reward if began is None else began
            if not math.isclose(began + total, result.score, rel_tol=1e-9, abs_tol=1e-9):
                yield f"{where}: the score is {result.score}, but it began at {began} and the rewards sum to {total}", (
                    "reward is this step's alone and score is the sum so far; is one of them given as the other?"
                )
                break
            yield from _scored(subject, game, where)
            yield from _ending(subject, result, count, where)
            if result.done:
                break
            if subject.spec.max_ticks is not None and count >= subject.spec.max_ticks:
                yield f"{where}: the episode goes on after SPEC.max_ticks = {subject.spec.max_ticks}", "set truncated and done_reason 'cap' on the last tick"
                break


def _observed(observation: Observation, tick: int, where: str) -> Found:
    if observation.tick != tick:
        yield f"{where}: the observation's tick is {observation.tick}, expected {tick}", "ticks count the steps played, from 0 after reset()"
    turn = observation.view.get("turn", tick)
    if turn != tick:
        yield f"{where}: the view's turn is {turn!r}, expected {tick}", "turn is the thinkers' word for tick, always equal to it"
    if not isinstance(observation.text, str) or not observation.text.strip():
        yield f"{where}: the observation's text is {observation.text!r}", "a language model reads nothing but the text: put the whole state in words"
    if (found := unplain(observation.view, "view")) is not None:
        yield f"{where}: {found}", "a view is plain data, so that it comes back from a file as it was: lists for tuples, int() or float() for others"


def _scored(subject: Subject, game: Any, where: str) -> Found:
    points = game.points
    if not isinstance(points, int | float) or not math.isfinite(points):
        yield f"{where}: points is {points!r}, expected a finite number", "points are what SPEC.points_max counts"
    elif not 0 <= subject.spec.normalise(points) <= 1:
        yield f"{where}: {points} points are normalised to {subject.spec.normalise(points)}", "a normalised score lies in [0, 1]"


def _ending(subject: Subject, result: StepResult, count: int, where: str) -> Found:
    if result.terminated and result.truncated:
        yield f"{where}: both terminated and truncated", "terminated is the game's own end, truncated the tick cap; one of them says why"
    if result.done != (result.done_reason is not None):
        yield f"{where}: done is {result.done} and done_reason {result.done_reason!r}", "give the reason (goal, dead, cap) exactly when the episode ends"
    elif result.done_reason not in (None, "goal", "dead", "cap"):
        yield f"{where}: done_reason is {result.done_reason!r}", "it is goal, dead or cap"
    if result.truncated and count != subject.spec.max_ticks:
        yield f"{where}: truncated before SPEC.max_ticks = {subject.spec.max_ticks}", "an end by the game's own rules is `terminated`"


def snapshots(subject: Subject) -> Found:
    """A snapshot is plain, complete and independent; any game of that name can take it up in mid-episode."""
    for load, seed in subject.starts():
        game, letters = subject.middle(load, seed)
        saved = game.snapshot()
        where = f"{load}, seed {seed}"
        if (found := unplain(saved, "snapshot")) is not None:
            yield f"{where}: {found}", "a snapshot is plain data, so that it comes back from a file as it was: lists for tuples, int() or float() for others"
            continue
        yield from _rest(subject, game, saved, where)
        kept = copy.deepcopy(saved)
        before = subject.state(game)
        expected = subject.trace(game, letters)
        if (found := first_difference(kept, saved, "snapshot")) is not None:
            yield f"{where}: a snapshot changed while the game went on: {found}", "snapshot() hands out the game's own lists; copy them"
        stranger, _ = subject.middle(subject.spec.loads[-1], subject.seeds[-1])
        for name, target in (("a game of another load and seed in mid-episode", stranger), ("a new game", subject.make(load, seed))):
            # What a file gives back: the same values, other objects.
            given = msgspec.msgpack.decode(msgspec.msgpack.encode(kept))
            target.restore(given)
            if (found := first_difference(before, subject.state(target))) is not None:
                yield f"{where}: restored into {name}: {found}", "restore() must set all of the state, load and seed included, and rebuild what follows from them"
                continue
            scramble(given)
            if (found := first_difference(before, subject.state(target))) is not None:
                yield f"{where}: changing a snapshot after restore() changed the game: {found}", "restore() keeps the snapshot's own lists; copy them"
                continue
            if (found := first_difference(expected, subject.trace(target, letters), "step")) is not None:
                yield f"{where}: restored into {name}, the rest of the episode goes otherwise: {found}", (
                    "the snapshot lacks something: a counter, an order still to come, how much the generator has drawn"
                )


def _rest(subject: Subject, game: Any, saved: dict[str, Any], where: str) -> Found:
    rest = saved.get("rest")
    if not isinstance(rest, dict) or any(name not in rest for name in _REST):
        yield f"{where}: the snapshot's `rest` is {rest!r:.80}", f"the key `rest` holds {', '.join(_REST)}"
        return
    for name, value in (("game", subject.spec.name), ("load", game.load), ("seed", game.seed), ("done", False), ("done_reason", None)):
        if rest[name] != value:
            yield f"{where}: snapshot.rest.{name} is {rest[name]!r} in mid-episode, expected {value!r}", "rest says what the game itself says"


def strangers(subject: Subject) -> Found:
    """A snapshot of something else is refused, and nothing changes."""
    game, _ = subject.middle(subject.spec.loads[0], subject.seeds[0])
    alien = {**game.snapshot(), "rest": {"game": "another game"}}
    bare = {**game.snapshot(), "rest": {"game": subject.spec.name}}
    why = "check all of it before setting any of it; games.base.read_snapshot does the first half"
    for name, given in (("{}", {}), ("one of another game", alien), ("one without a load", bare)):
        yield from _unharmed(subject, game, f"restore() of a bad snapshot ({name})", why, "restore", given)


def defaults(subject: Subject) -> Found:
    """The default action is accepted in every state."""
    for load, seed in subject.starts():
        game, other = subject.fresh(load, seed), subject.make(load, seed)
        for count, letter in enumerate(subject.actions(seed)):
            other.restore(game.snapshot())
            try:
                other.step(subject.spec.default_action)
            except Exception as error:
                yield f"{load}, seed {seed}: after {count} steps the default action {subject.spec.default_action!r} is refused: {error}", (
                    "it is played whenever no answer came in time, so step() takes it even where it is no legal action"
                )
                break
            if game.step(letter).done:
                break


def refusals(subject: Subject) -> Found:
    """What cannot be played is refused, and nothing changes."""
    load, seed = subject.spec.loads[0], subject.seeds[0]
    why = "begin step() with `if not self._playing or action not in self._accepted: raise self._refusal(action)`, before anything changes"
    if (came := refusal(subject.make(load, seed).step, subject.spec.default_action)) is not None:
        yield f"step() before reset() {came}", why
    game, _ = subject.middle(load, seed)
    known = {*subject.spec.legal_actions, subject.spec.default_action}
    first = subject.spec.legal_actions[0]
    for letter in ("", "?", first + first, first.swapcase(), None):
        if letter not in known:
            yield from _unharmed(subject, game, f"step({letter!r}), which is no action,", why, "step", letter)
    for start in subject.starts():
        over = subject.ended(*start)
        if over is not None:
            yield from _unharmed(subject, over, "step() after the end", why, "step", subject.spec.default_action)
            again = subject.make(load, seed)
            again.restore(over.snapshot())
            if (came := refusal(again.step, subject.spec.default_action)) is not None:
                yield f"step() after restoring the snapshot of an episode that is over {came}", "restore() must take up from `rest` that it is over"
            return


def _unharmed(subject: Subject, game: Any, what: str, why: str, method: str, argument: Any) -> Found:
    """Refused with a GameError, and the game as it was."""
    before = encoded(subject.state(game))
    if (came := refusal(getattr(game, method), argument)) is not None:
        yield f"{what} {came}", why
    elif encoded(subject.state(game)) != before:
        yield f"{what} is refused, but the game changed", "check everything before changing anything"


def aliasing(subject: Subject) -> Found:
    """What a game hands out is nobody's but the taker's: changing it changes no game, and it does not change later."""
    own = "the game hands out its own lists; copy them"
    for load, seed in subject.starts():
        game, letters = subject.middle(load, seed)
        where = f"{load}, seed {seed}"
        before = copy.deepcopy(subject.state(game))
        scramble(game.observe().view)
        if (found := first_difference(before, subject.state(game))) is not None:
            yield f"{where}: changing an observation's view changed the game: {found}", own
            continue
        scramble(game.snapshot())
        if (found := first_difference(before, subject.state(game))) is not None:
            yield f"{where}: changing a snapshot changed the game: {found}", own
            continue
        # Not read until the game has gone on: a lazy one must not look at what changes.
        unread = game.observe()
        subject.trace(game, letters)
        late = {"tick": unread.tick, "text": unread.text, "view": unread.view}
        if (found := first_difference(before["now"], late)) is not None:
            yield f"{where}: an observation changed while the game went on: {found}", "its view or text is made from lists that step() alters; make new ones, or copy"


GATES: tuple[tuple[str, Callable[[Subject], Found]], ...] = (("surface", surface), ("results", results), ("determinism", determinism))

CHECKS: tuple[tuple[str, Callable[[Subject], Found]], ...] = (
    ("making", making),
    ("episodes", episodes),
    ("seeding", seeding),
    ("snapshot and restore", snapshots),
    ("bad snapshots", strangers),
    ("default action", defaults),
    ("refusals", refusals),
    ("aliasing", aliasing),
    ("board", boards),
    ("describe", description),
)
