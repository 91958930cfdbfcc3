"""From rings to the log: one order, whatever the frames were cut into."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest

from replays import events as ev
from workers.merge import Merger
from workers.rings import ListRing
from workers.wire import Emitter, Mark, Ready, drain, read_control, read_piece

TEXT = "Turn 1: é. " * 40
LENS = [len(char.encode()) for char in TEXT]


def written(cuts: list[int], *, wall: bool = False) -> list[ev.AnyEvent]:
    """A tick of 440 tokens, G at 300, the planner's text cut into frames at these tokens; what the log makes of it."""
    rings = {name: ListRing(name=name) for name in ("game", "planner", "reactor")}
    now = [0]
    emit = {name: Emitter(ring.writer(), clock=lambda: now[0]) for name, ring in rings.items()}

    def stamp(at: int) -> int | None:
        now[0] = at * 1000
        return None if wall else at

    emit["game"].event(ev.Tick(tick=0, at=stamp(0), view={}, text="", guidance_at=None if wall else 300, end_at=None if wall else 440, reactor_ns=300_500 if wall else None))
    emit["planner"].event(ev.Generation(tick=0, at=stamp(0), stream="planner", id=0, phase="start"))
    borders = sorted({0, 300, 440, *cuts})
    for begin, end in pairwise(borders):
        stamp(begin + 1)
        emit["planner"].tokens(0, 0, "reasoning", TEXT[begin:end], LENS[begin:end], 0 if wall else begin + 1)
    emit["planner"].control(Mark(tick=0, stream="planner", upto=440, at=440, generation=0, ended=False))
    emit["reactor"].event(ev.Generation(tick=0, at=stamp(300), stream="reactor", id=0, phase="start"))
    stamp(301)
    emit["reactor"].tokens(0, 0, "content", "U", [1], 0 if wall else 301)
    emit["reactor"].event(ev.Answer(tick=0, at=stamp(301), stream="reactor", generation=0, mode="act", letters=["U"]))
    emit["game"].event(ev.Action(tick=0, at=stamp(440), letter="U", source="reactor"))
    emit["game"].event(ev.Step(tick=0, at=stamp(440), state={}, reward=0, score=0))
    merger = Merger()
    for name, ring in rings.items():
        for frame in drain(ring.reader(7)):
            merger.feed(name, frame)
    return merger.commit(0)


def test_runs_of_tokens_are_cut_at_the_guidance_instant_and_nowhere_else() -> None:
    events = written([])
    kinds = [(type(event).__name__, getattr(event, "stream", ""), event.at) for event in events]
    assert kinds == [
        ("Tick", "", 0),
        ("Generation", "planner", 0),
        ("Token", "planner", 1),
        ("Generation", "reactor", 300),
        ("Token", "planner", 301),
        ("Token", "reactor", 301),
        ("Answer", "reactor", 301),
        ("Action", "", 440),
        ("Step", "", 440),
    ]
    assert [event.seq for event in events] == list(range(9))


@pytest.mark.parametrize("seed", range(20))
def test_log_does_not_depend_on_how_frames_were_cut(seed: int) -> None:
    shake = Random(seed)
    cuts = [shake.randrange(440) for _ in range(shake.randrange(60))]
    assert ev.canonical(written(cuts)) == ev.canonical(written([]))


def test_arrivals_keep_every_frame() -> None:
    [first, _] = [event for event in written([100, 200]) if isinstance(event, ev.Token) and event.stream == "planner"]
    assert first.meas["arrivals"] == [[100, 1000], [100, 101_000], [100, 201_000]]
    assert sum(count for count, _ in first.meas["arrivals"]) == len(first.lens) == 300


def test_wall_time_goes_by_arrival() -> None:
    events = written([100], wall=True)
    assert [type(event).__name__ for event in events][:5] == ["Tick", "Generation", "Token", "Generation", "Token"]
    assert all(event.at is None for event in events)


def token(tick: int, generation: int, at: int) -> ListRing:
    ring = ListRing()
    Emitter(ring.writer()).tokens(tick, generation, "reasoning", "ab", [1, 1], at)
    return ring


def test_gap_in_virtual_time_ends_a_run() -> None:
    ring = ListRing()
    emit = Emitter(ring.writer())
    for at in (1, 3, 9):
        emit.tokens(0, 0, "reasoning", "ab", [1, 1], at)
    merger = Merger()
    for frame in drain(ring.reader()):
        merger.feed("planner", frame)
    assert [(event.at, len(event.lens)) for event in merger.commit(0) if isinstance(event, ev.Token)] == [(1, 4), (9, 2)]


def test_what_comes_too_late_for_its_tick_is_taken_along() -> None:
    merger = Merger()
    [frame] = drain(token(3, 3, 0).reader())
    merger.feed("planner", frame)
    [late] = merger.commit(5)
    assert (late.tick, late.seq) == (5, 0)


def test_what_belongs_to_a_later_tick_stays() -> None:
    merger = Merger()
    for tick in (4, 6):
        [frame] = drain(token(tick, tick, 0).reader())
        merger.feed("planner", frame)
    assert (merger.uncommitted(), merger.uncommitted(6)) == ([4, 6], [4])
    assert len(merger.commit(5)) == 1
    merger.drop(6)
    assert merger.commit(9) == []


def test_control_messages_are_not_kept() -> None:
    ring = ListRing()
    Emitter(ring.writer()).control(Ready(role="planner"))
    [frame] = drain(ring.reader())
    merger = Merger()
    assert merger.feed("planner", frame) is None
    assert merger.uncommitted() == []
    assert read_control(frame) == Ready(role="planner")


def test_run_too_long_for_a_frame_travels_in_several() -> None:
    ring = ListRing()
    Emitter(ring.writer()).tokens(2, 1, "content", "é" * 200_000, [2] * 200_000, 11)
    pieces = [read_piece(frame) for frame in drain(ring.reader())]
    assert len(pieces) > 3
    assert "".join(piece.text for piece in pieces) == "é" * 200_000
    at = 11
    for piece in pieces:
        assert piece.at == at
        at += len(piece.lens)
    assert at == 200_011
