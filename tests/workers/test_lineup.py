"""What a screen reads from three rings, in the order in which it happened, however the polls fall."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache
from typing import Any

import msgspec
import pytest

from replays import events as ev
from replays.reduce import fold
from replays.view_state import ViewState
from workers.live.lineup import Lineup
from workers.simulator import simulate

RINGS = ("game", "planner", "reactor")


@cache
def log() -> tuple[ev.AnyEvent, ...]:
    """A real episode, tokens in frames as they come live, each event with the instant at which it was written."""
    out: list[ev.AnyEvent] = []
    for event in simulate("snake", agent="agile", load="hard", seed=1, ticks=6, tick_budget=600, reactive_budget=200).events:
        for piece in frames(event) if isinstance(event, ev.Token) else (event,):
            out.append(msgspec.structs.replace(piece, t_ns=10 * (len(out) + 1)))
    return tuple(out)


def frames(event: ev.Token, size: int = 40) -> Iterator[ev.Token]:
    done = 0
    for first in range(0, len(event.lens), size):
        lens = event.lens[first : first + size]
        text = event.text.encode()[done : done + sum(lens)].decode()
        done += sum(lens)
        yield msgspec.structs.replace(event, text=text, lens=lens, at=None if event.at is None else event.at + first)


def ring_of(event: ev.AnyEvent) -> str:
    return getattr(event, "stream", "game")


def polled(seed: int) -> list[ev.AnyEvent]:
    """The log as a screen gets it that polls at random instants and takes its time from one ring to the next."""
    shake = random.Random(seed)
    lineup, out = Lineup(), []
    read = dict.fromkeys(RINGS, 0)
    now, last = 0, log()[-1].t_ns
    while min(read.values()) < last:
        now += shake.choice((15, 200, 2000))
        got = {}
        for ring in RINGS:
            got[ring] = [event for event in log() if ring_of(event) == ring and read[ring] < event.t_ns <= now]
            read[ring] = now
            now += shake.choice((0, 0, 30, 400, 3000))
        out += lineup.feed(got["game"], (got["planner"], got["reactor"]))
    return out


def seen(events: list[ev.AnyEvent] | tuple[ev.AnyEvent, ...]) -> list[Any]:
    """What a screen shows at each tick's beginning and end."""
    state, out = ViewState(), []
    for event in events:
        fold(state, event)
        if isinstance(event, ev.Tick | ev.Action):
            out.append((state.tick, state.answer, state.woke, state.planner.tick_tokens, state.reactor.tick_tokens, state.reactor.tokens, state.now_at))
    return out


@pytest.mark.parametrize("seed", range(25))
def test_every_tick_looks_the_same_however_the_polls_fall(seed: int) -> None:
    events = polled(seed)
    assert sorted(event.t_ns for event in events) == [event.t_ns for event in log()]
    assert seen(events) == seen(log())


def test_rings_read_one_after_the_other_are_not_in_order_by_themselves() -> None:
    # The control of the test above: the same polls without the lineup show another screen.
    naive = sorted(log(), key=lambda event: (event.t_ns // 700, RINGS.index(ring_of(event))))
    assert seen(naive) != seen(log())


def test_what_belongs_to_a_tick_not_read_yet_waits() -> None:
    lineup = Lineup()
    [early] = [event for event in log() if isinstance(event, ev.Generation) and event.stream == "planner"][:1]
    assert lineup.feed((), ((early,), ())) == []
    [tick] = [event for event in log() if isinstance(event, ev.Tick) and event.tick == early.tick]
    assert lineup.feed((tick,), ((), ())) == [tick, early]
