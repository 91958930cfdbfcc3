"""What the tests of the clock share: episodes of scripted thinkers, and what a log says of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from replays import events as ev
from workers.backends import Item, Request
from workers.backends.scripted import Backend as Scripted
from workers.prompts import render
from workers.simulator import simulate

Script = list[dict[str, Any]]


def thinking(tokens: int, answer: str = "\\boxed{B}", **more: Any) -> dict[str, Any]:
    """A generation of `tokens` tokens in all, the last nine of which are its visible answer."""
    return {"tokens": tokens - 9, "chunks": [[answer, 9, "content"]], **more}


QUICK = [thinking(100)]
"""A reactor that answers at once."""


class Heard(Scripted):
    """A scripted thinker that keeps what it was asked, as text."""

    def __init__(self, script: Script) -> None:
        super().__init__(script)
        self.prompts: dict[int, str] = {}
        self.memories: dict[int, str] = {}
        self.guidance: dict[int, str] = {}

    def stream(self, request: Request) -> Iterator[Item]:
        self.prompts[request.tick] = str(request.prompt)
        self.memories[request.tick] = request.memory
        self.guidance[request.tick] = request.guidance
        return super().stream(request)


def play(
    agent: str, *, planner: Script | Heard = QUICK, reactor: Script | Heard = QUICK, game: str = "metronome", ticks: int = 4, **options: Any
) -> list[ev.AnyEvent]:
    """The log of an episode of scripted thinkers."""
    thinkers = {
        "planner": planner if isinstance(planner, Scripted) else Scripted(planner),
        "reactor": reactor if isinstance(reactor, Scripted) else Scripted(reactor),
    }
    return simulate(game, agent=agent, ticks=ticks, **thinkers, **options).events


def of(events: Sequence[ev.AnyEvent], kind: type, **fields: Any) -> list[Any]:
    """The events of one kind whose fields have these values."""
    return [event for event in events if isinstance(event, kind) and all(getattr(event, name) == value for name, value in fields.items())]


def generations(events: Sequence[ev.AnyEvent], stream: str) -> list[tuple[int, int | None, int | None, int | None, str | None]]:
    """(id, start at, end tick, end at, finish) of every generation of a stream."""
    out = []
    for start in of(events, ev.Generation, stream=stream, phase="start"):
        end = next(iter(of(events, ev.Generation, stream=stream, phase="end", id=start.id)), None)
        out.append((start.id, start.at, end and end.tick, end and end.at, end and end.finish))
    return out


def lengths(events: Sequence[ev.AnyEvent], generation: int) -> list[int]:
    """Bytes of each token of a planner generation, in order."""
    return [size for token in of(events, ev.Token, stream="planner", generation=generation) for size in token.lens]


def text(events: Sequence[ev.AnyEvent], generation: int) -> bytes:
    """All text of a planner generation."""
    return "".join(token.text for token in of(events, ev.Token, stream="planner", generation=generation)).encode()


def prompt(events: Sequence[ev.AnyEvent], start: ev.Generation) -> str:
    """A prompt, rebuilt from nothing but the log."""
    header = events[0]
    assert isinstance(header, ev.Episode)
    observations = {tick.tick: tick.text for tick in of(events, ev.Tick)}
    return render(start.prompt, texts=header.texts, observation=observations.__getitem__, trace=lambda generation: text(events, generation))


class Shown(NamedTuple):
    """What of the planner's thinking a prompt holds: generation and tokens of its conclusion, and of the trace."""

    conclusion: tuple[int, int] | None
    trace: tuple[int, int] | None


def shown(events: Sequence[ev.AnyEvent]) -> list[Shown]:
    """What the reactor was shown at each tick, counted in tokens, from the prompt parts of its generation events."""
    out = []
    for start in of(events, ev.Generation, stream="reactor", phase="start"):
        found: dict[str, tuple[int, int]] = {}
        label = ""
        for part in start.prompt:
            if isinstance(part, str):
                label = "conclusion" if part.startswith("Conclusion") else "trace" if part.startswith("The planner's") else label
            elif part.trace is not None:
                assert part.guidance
                _, before = found.get(label, (part.trace, 0))
                found[label] = (part.trace, before + _tokens(lengths(events, part.trace), part.start, part.upto))
        out.append(Shown(found.get("conclusion"), found.get("trace")))
    return out


def _tokens(sizes: list[int], start: int, upto: int) -> int:
    """Tokens that lie between two byte offsets."""
    offset = count = 0
    for size in sizes:
        offset += size
        count += start < offset <= upto
    return count
