"""The checkers of agents and backends, on ones that are broken on purpose in one way at a time."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from replays.events import Backend as Info
from replays.events import Part
from workers import agents
from workers.agents import Asked, Decision, Shape
from workers.agents.base import answered
from workers.backends import Chunk, Finish, Item, Request
from workers.backends.scripted import Backend as Scripted
from workers.check import CheckFailed, Report, check_agent, check_backend
from workers.errors import BackendError, ConfigError
from workers.tokens import lengths


def complaints(report: Report) -> list[tuple[str, str, str]]:
    return [(finding.check, finding.problem, finding.cause) for finding in report.findings]


def told(report: Report, check: str, problem: str, cause: str = "") -> bool:
    return any(name == check and problem in what and cause in why for name, what, why in complaints(report))


# Agents.


def prompt(asked: Asked) -> list[str | Part]:
    return [Part(text="reactor"), Part(text="rules"), Part(obs=asked.tick), *asked.guidance]


def an_agent(**parts: Any) -> Any:
    return SimpleNamespace(**{"SHAPE": Shape(reactor=True), "reactor_prompt": prompt, "act": answered, **parts})


def without_a_board(asked: Asked) -> list[str | Part]:
    return [Part(text="reactor"), *asked.guidance]


def of_another_turn(asked: Asked) -> list[str | Part]:
    return [Part(obs=asked.tick - 1)]


def with_an_unknown_text(asked: Asked) -> list[str | Part]:
    return [Part(text="hints"), Part(obs=asked.tick)]


def pointing_nowhere(asked: Asked) -> list[str | Part]:
    return [Part(), Part(obs=asked.tick)]


def with_a_guess(asked: Asked) -> list[str | Part]:
    return [Part(obs=asked.tick), Part(trace=0, upto=9)]


COUNT = itertools.count()


@pytest.mark.parametrize(
    ("parts", "check", "problem", "cause"),
    [
        ({"SHAPE": {"reactor": True}}, "surface", "expected a workers.agents.Shape", "SHAPE = Shape("),
        ({"SHAPE": Shape(reactor=True, planner_answers=True)}, "surface", "planner_answers without a planner", "read as a plan"),
        ({"reactor_prompt": None}, "surface", "there is no reactor_prompt()", "each needs a prompt"),
        ({"act": None}, "surface", "there is no act()", "whose word is the action"),
        ({"reactor_prompt": lambda asked: "play well"}, "prompts", "expected a list", "list of str and Part"),
        ({"reactor_prompt": lambda asked: [b"board", Part(obs=asked.tick)]}, "prompts", "holds b'board'", "a str or a replays.events.Part"),
        ({"reactor_prompt": without_a_board}, "prompts", "does not show the board", "Part(obs=asked.tick)"),
        ({"reactor_prompt": of_another_turn}, "prompts", "the observation of turn 6, but was asked about 7", "no other observation is kept"),
        ({"reactor_prompt": with_an_unknown_text}, "prompts", "the fixed text 'hints'", "the texts of an episode are"),
        ({"reactor_prompt": pointing_nowhere}, "prompts", "points at nothing", "exactly one of text, obs, trace"),
        ({"reactor_prompt": with_a_guess}, "prompts", "generation 0, which it was not given", "pass on asked.guidance"),
        ({"reactor_prompt": lambda asked: [str(next(COUNT)), Part(obs=asked.tick)]}, "prompts", "something else when asked again", "keep nothing"),
        ({"act": lambda choice: None}, "decisions", "gives None, expected a workers.agents.Decision", "Decision(letter, source)"),
        ({"act": lambda choice: "U"}, "decisions", "gives 'U'", "Decision(letter, source)"),
        ({"act": lambda choice: Decision("Z", "policy")}, "decisions", "decides 'Z'", "give one of L R U D"),
        ({"act": lambda choice: Decision("U", "luck")}, "decisions", "comes from 'luck'", "'policy'"),
        ({"act": lambda choice: Decision("U", "default", "none")}, "decisions", "calls 'U' the default", "choice.default_action"),
        ({"act": lambda choice: Decision(choice.default_action, "default")}, "decisions", "reason None", "its reason one of"),
        ({"act": lambda choice: Decision("U", "policy", "none")}, "decisions", "gives the reason 'none'", "only a default action"),
        ({"act": lambda choice: Decision(choice.answer.letters[0], "reactor")}, "decisions", "raised AttributeError", "test_check_thinkers.py, line"),
        ({"act": lambda choice: Decision("LRUD"[next(COUNT) % 4], "policy")}, "decisions", ", then ", "choice.rng"),
    ],
)
def test_a_broken_agent_is_told_what_is_wrong_and_why(parts: dict[str, Any], check: str, problem: str, cause: str) -> None:
    report = check_agent(an_agent(**parts))
    assert told(report, check, problem, cause), complaints(report)


@pytest.mark.parametrize("name", agents.OURS)
def test_our_own_agents_pass(name: str) -> None:
    assert check_agent(name).raise_on_error().ok


def test_a_good_agent_that_has_no_name_passes() -> None:
    assert check_agent(an_agent()).ok
    assert check_agent(an_agent(), game="overcooked").ok


def test_an_agent_that_differs_between_two_episodes_is_found(tmp_path: Path) -> None:
    # Each call of act alone is fair; what it keeps shows only when a whole episode is played again.
    mine = tmp_path / "moody.py"
    mine.write_text(
        "from workers.agents import Choice, Decision, Shape\n"
        "SHAPE = Shape()\n"
        "seen = []\n"
        "def act(choice):\n"
        "    if choice.tick == 0:\n"
        "        seen.append(choice)\n"
        "    return Decision('U' if len(seen) % 2 else 'L', 'policy')\n"
    )
    report = check_agent(str(mine))
    assert told(report, "episode", "two episodes with the same thinkers differ", "keep nothing between calls"), complaints(report)


def test_what_is_no_agent_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="unknown agent 'agil'; did you mean 'agile'"):
        check_agent("agil")
    (tmp_path / "empty.py").write_text("")
    with pytest.raises(ConfigError, match="has no SHAPE"):
        check_agent(str(tmp_path / "empty.py"))


# Backends.


def answer(request: Request) -> str:
    letter = request.letters[0][0]
    return f"\\boxed{{{letter}}}" if request.mode == "act" else f"\\boxed{{Turn {request.tick}: {letter}}}"


def backend(stream: Callable[[Request], Any], **more: Any) -> Callable[[], Any]:
    """A function that makes a backend with this stream."""

    def made() -> Any:
        return SimpleNamespace(**{"info": Info(spec="mine", title="mine"), "stream": stream, "close": lambda: None, **more})

    return made


def good(request: Request) -> Iterator[Item]:
    yield None
    yield Chunk("Grüße, 世界. ", lengths("Grüße, 世界. "))
    yield Chunk(answer(request), lengths(answer(request)), "content")
    yield Finish("stop")


def says(*items: Any) -> Callable[[Request], Iterator[Any]]:
    def stream(request: Request) -> Iterator[Any]:
        yield from items
        yield from good(request)

    return stream


def ends_with(*items: Any) -> Callable[[Request], Iterator[Any]]:
    def stream(request: Request) -> Iterator[Any]:
        yield from good(request)
        yield from items

    return stream


def only(*items: Any) -> Callable[[Request], Iterator[Any]]:
    return lambda request: (item for item in items)


def as_reasoning(request: Request) -> Iterator[Item]:
    yield Chunk(answer(request), lengths(answer(request)))


def for_ever(request: Request) -> Iterator[Item]:
    while True:
        yield Chunk("so " * 1000, (3,) * 1000)


def silent(request: Request) -> Iterator[Item]:
    while True:
        yield None


def failing(request: Request) -> Iterator[Item]:
    yield None
    raise BackendError("no server at port 1", kind="unreachable")


def drawn(request: Request) -> Iterator[Item]:
    text = f"{random.random()} "
    yield Chunk(text, lengths(text))
    yield from good(request)


class Deaf:
    """An iterator that cannot be closed."""

    def __init__(self, request: Request) -> None:
        self._items = good(request)

    def __iter__(self) -> Deaf:
        return self

    def __next__(self) -> Item:
        return next(self._items)


class Stubborn(Deaf):
    """One that goes on after it was closed."""

    def close(self) -> None:
        """Does nothing, which is the mistake."""


def once_only() -> Any:
    """A backend whose cancelled request blocks it for good."""
    busy: list[bool] = []

    def stream(request: Request) -> Iterator[Item]:
        if busy:
            raise BackendError("busy", kind="fault")
        busy.append(True)
        yield from good(request)
        busy.clear()

    return backend(stream)()


def closes_once() -> Any:
    closed: list[bool] = []

    def close() -> None:
        if closed:
            raise RuntimeError("already closed")
        closed.append(True)

    return backend(good, close=close)()


@pytest.mark.parametrize(
    ("make", "check", "problem", "cause"),
    [
        (backend(good, info={"spec": "mine"}), "surface", "expected a replays.events.Backend", "info = Backend("),
        (backend(good, close=None), "surface", "there is no close()", "stream(request) and close()"),
        (backend(lambda request: [Chunk("x", (1,))]), "streams", "gives a list, expected an iterator", "generator"),
        (backend(says(Chunk("Grüße", (5,)))), "streams", "add up to 5 bytes, its text 'Grüße' has 7", "not characters"),
        (backend(says(Chunk("ü!", (1, 2)))), "streams", "ends inside a character", "length 0"),
        (backend(says(Chunk("ab", (3, -1)))), "streams", "has lens (3, -1)", "UTF-8 bytes"),
        (backend(says(Chunk("\ud83d", (3,)))), "streams", "which is no UTF-8", "surrogate"),
        (backend(says(Chunk("so ", (3,), "thinking"))), "streams", "has channel 'thinking'", "content for the visible answer"),
        (backend(says("hello")), "streams", "is 'hello'", "Chunk, Finish, or None"),
        (backend(says(Finish("stop"))), "streams", "is a Finish, and more follows", "the last item"),
        (backend(ends_with(Finish("error"))), "streams", "finishes with 'error'", "BackendError"),
        (backend(only(Chunk("go up", (5,), "content"))), "streams", "the answer 'go up' cannot be read (invalid)", "\\boxed{L}"),
        (backend(only()), "streams", "the answer '' cannot be read (none)", "rtdesk answer"),
        (backend(as_reasoning), "streams", "there is an answer, but in the reasoning", "channel 'content'"),
        (backend(for_ever), "streams", "does not end", "Finish('stop')"),
        (backend(silent), "streams", "said nothing for 9 s", "Finish('stop')"),
        (backend(failing), "streams", "failed (unreachable): no server at port 1", "is the server there"),
        (backend(Deaf), "cancelling", "has no close()", "closing it cancels"),
        (backend(Stubborn), "cancelling", "after close() the stream goes on", "at its end"),
        (once_only, "cancelling", "the next one failed (fault): busy", "fit for the next request"),
        (closes_once, "closing", "close() again raises RuntimeError: already closed", "the second time it does nothing"),
        (backend(drawn), "determinism", "it says something else", "deterministic=False"),
    ],
)
def test_a_broken_backend_is_told_what_is_wrong_and_why(make: Callable[[], Any], check: str, problem: str, cause: str) -> None:
    now = [0.0]

    def sleep(seconds: float) -> None:
        now[0] += 1.0

    report = check_backend(make, timeout_s=9, clock=lambda: now[0], sleep=sleep)
    assert told(report, check, problem, cause), complaints(report)


@pytest.mark.parametrize("game", ["snake"])
def test_the_builtin_thinkers_pass(game: str) -> None:
    assert check_backend("builtin", game=game).raise_on_error().ok


def test_a_good_backend_passes_with_letters_beyond_ascii() -> None:
    assert check_backend(backend(good)).raise_on_error().ok
    assert check_backend(backend(drawn, info=Info(spec="mine", deterministic=False))).ok


def test_a_script_passes_if_it_answers(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text('[{"tokens": 5, "chunks": [["\\\\boxed{Turn 0: L}", null, "content"]]}]')
    assert check_backend(f"scripted:{script}").raise_on_error().ok
    assert told(check_backend(lambda: Scripted([{"tokens": 5}])), "streams", "cannot be read (none)")


def test_a_backend_that_refuses_the_game_is_told_so() -> None:
    def check(game: str, stream: str) -> None:
        raise ConfigError("not mine")

    assert told(check_backend(backend(good, check=check)), "surface", "refuses both roles of snake", "--game")


def test_unknown_backends_are_one_sentence_and_findings_can_be_raised() -> None:
    with pytest.raises(ConfigError, match="unknown backend 'buildin'"):
        check_backend("buildin")
    with pytest.raises(CheckFailed, match="in the reasoning"):
        check_backend(backend(as_reasoning)).raise_on_error()
