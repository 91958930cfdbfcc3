"""One generation's tokens: cut at any border they are the same, and whatever a backend does becomes a finish and a sentence."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replays import events as ev
from workers.backends import Chunk, Finish, Item, make, shut
from workers.errors import BackendError, ConfigError
from workers.fetch import AHEAD, Fetched
from workers.stream import TokenStream, open_stream

DEADLINE_S = 10.0


def released(stream: TokenStream, steps: list[int], run: int = 7) -> list[tuple[str, str, int]]:
    """Release in steps of these sizes, then the rest; return every token as (channel, text, bytes)."""
    out: list[tuple[str, str, int]] = []

    def emit(channel: str, text: str, lens: list[int], offset: int) -> None:
        raw = text.encode()
        for size in lens:
            out.append((channel, raw[:size].decode(), size))
            raw = raw[size:]

    for step in [*steps, 10**9]:
        before = len(out)
        done, ready = stream.release(step, run, emit)
        assert ready
        assert done == len(out) - before <= step
    return out


texts = st.lists(st.tuples(st.lists(st.text(max_size=4), min_size=1, max_size=6), st.sampled_from(["reasoning", "content"])), max_size=8)


@given(texts, st.lists(st.integers(0, 9), max_size=12))
def test_tokens_are_the_same_however_they_are_cut(chunks: list[tuple[list[str], str]], steps: list[int]) -> None:
    items: list[Item] = [Chunk("".join(tokens), tuple(len(token.encode()) for token in tokens), channel) for tokens, channel in chunks]
    wanted = [(channel, token, len(token.encode())) for tokens, channel in chunks for token in tokens]
    stream = TokenStream(iter(items))
    assert released(stream, steps) == wanted
    assert (stream.ended, stream.finish, stream.fault, stream.released) == (True, "stop", None, len(wanted))


def test_end_is_seen_one_look_ahead_and_costs_nothing() -> None:
    stream = TokenStream(iter([Chunk("abc", (1, 1, 1)), Finish("length", 99, {"attempts": 2})]))
    assert stream.release(3, 10, lambda *_: None) == (3, True)
    assert (stream.ended, stream.finish, stream.usage_tokens, stream.meas) == (True, "length", 99, {"attempts": 2})


def test_runs_are_gathered_and_not_mixed_between_channels() -> None:
    got: list[tuple[str, str, list[int], int]] = []
    items = [Chunk("ab", (1, 1)), Chunk("cd", (1, 1)), Chunk("x", (1,), "content"), Chunk("y", (1,), "content")]
    TokenStream(iter(items)).release(99, 100, lambda *row: got.append(row))
    assert got == [("reasoning", "abcd", [1, 1, 1, 1], 0), ("content", "xy", [1, 1], 4)]


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        ("text", "the backend gave str, expected Chunk, Finish or None"),
        (Chunk("abc", (1, 1)), "add up to 2 bytes, and the text has 3"),
        (Chunk("é", (1, 1)), "ends inside a code point"),
        (Chunk("éé", (2,)), "add up to 2 bytes, and the text has 4"),
        (Chunk("\ud83d", (3,)), "half a surrogate pair"),
        (Chunk("abc", (4, -1)), "a token of -1 bytes"),
        (Chunk("a", (1,), "thought"), "named channel 'thought'"),
        (Chunk("x" * 70_000, (70_000,)), "a token of 70000 bytes came from the backend, expected 0 to 65536"),
        (Chunk(b"abc", (3,)), "a chunk from the backend has bytes and ['int'], expected str and whole numbers"),  # type: ignore[arg-type]
        (Chunk("abc", (1.5, 1.5)), "has str and ['float']"),  # type: ignore[arg-type]
        (Finish("stop", -5), "the backend counts -5 tokens"),
        (Finish("stop", 10**30), "tokens, expected a whole number from 0"),
        (Finish("stop", 2.0), "the backend counts 2.0 tokens"),  # type: ignore[arg-type]
        (Finish(3), "ended with 3, expected stop or length"),  # type: ignore[arg-type]
        (Finish("stop", 3, {"what": object()}), "what the backend measured cannot be recorded"),
        (Finish("stop", 3, {"what": 10**30}), "what the backend measured cannot be recorded"),
        (Finish("stop", 3, {1: 2}), "what the backend measured cannot be recorded"),  # type: ignore[dict-item]
    ],
)
def test_what_no_ring_could_carry_is_malformed(item: Any, expected: str) -> None:
    stream = TokenStream(iter([Chunk("ok", (2,)), item]))
    done, ready = stream.release(99, 10, lambda *_: None)
    assert (done, ready, stream.finish) == (1, True, "malformed")
    assert expected in str(stream.fault)


def test_finish_of_another_kind_is_a_fault() -> None:
    stream = TokenStream(iter([Finish("content_filter")]))
    assert stream.look()
    assert (stream.finish, stream.fault) == ("content_filter", "the stream ended with 'content_filter'")


@pytest.mark.parametrize(
    ("error", "finish", "fault"),
    [
        (BackendError("no route", kind="connection"), "connection", "no route"),
        (RuntimeError("boom"), "fault", "RuntimeError: boom"),
        (SystemExit(3), "fault", "SystemExit: 3"),
        (RuntimeError("x" * 9999), "fault", "RuntimeError: " + "x" * (500 - 14)),
    ],
)
@pytest.mark.parametrize("where", ["at once", "in the stream"])
@pytest.mark.parametrize("blocking", [False, True])
def test_what_a_backend_raises_is_told_by_the_stream(error: BaseException, finish: str, fault: str, where: str, blocking: bool) -> None:
    backend = Raising(error, at_once=where == "at once", blocking=blocking)
    stream = open_stream(backend, None, stall_s=60, wake=lambda: None)  # type: ignore[arg-type]
    tokens = finished(stream)
    assert (tokens, stream.finish, stream.fault) == (0 if where == "at once" else 4, finish, fault)


class Raising:
    info = ev.Backend(spec="raising")

    def __init__(self, error: BaseException, *, at_once: bool, blocking: bool) -> None:
        self.error, self.at_once, self.blocking = error, at_once, blocking

    def stream(self, request: object) -> Iterator[Item]:
        if self.at_once:
            raise self.error
        return self.say()

    def say(self) -> Iterator[Item]:
        yield Chunk("abcd", (1, 1, 1, 1))
        raise self.error

    def close(self) -> None: ...


def finished(stream: TokenStream) -> int:
    """Read a stream that may come from a thread to its end; return how many tokens it gave."""
    deadline = time.monotonic() + DEADLINE_S
    count = 0
    while not stream.ended:
        count += stream.release(10**9, 100, lambda *_: None)[0]
        assert time.monotonic() < deadline, f"the stream did not end; {count} tokens came"
    return count


# Silence.


def test_silence_longer_than_the_stall_timeout_ends_the_generation() -> None:
    now = [0.0]
    items: Iterator[Item] = iter([Chunk("a", (1,)), None, None, Chunk("b", (1,)), *[None] * 9])
    stream = TokenStream(items, stall_s=5.0, clock=lambda: now[0])
    assert stream.release(9, 9, lambda *_: None) == (1, False)
    now[0] = 4.9
    assert not stream.look()
    assert stream.look()
    stream.take(1)
    assert not stream.look()
    now[0] = 9.8
    assert not stream.look()
    now[0] = 9.9
    assert stream.look()
    assert (stream.finish, stream.fault, stream.ended) == ("stalled", "no byte for 5 s", True)


class Gate:
    """A stream that blocks in next() until it is let go."""

    def __init__(self, items: list[Item]) -> None:
        self.items = iter(items)
        self.gate = threading.Semaphore(0)
        self.closed = threading.Event()

    def __iter__(self) -> Gate:
        return self

    def __next__(self) -> Item:
        assert self.gate.acquire(timeout=DEADLINE_S)
        return next(self.items)

    def close(self) -> None:
        self.closed.set()


def test_blocking_stream_never_blocks_who_asks_and_rings_when_something_came() -> None:
    rung = threading.Event()
    gate = Gate([Chunk("a", (1,)), Chunk("b", (1,))])
    fetched = Fetched(lambda: gate, rung.set)
    assert next(fetched) is None
    gate.gate.release()
    assert rung.wait(DEADLINE_S)
    assert next(fetched) == Chunk("a", (1,))
    assert next(fetched) is None
    rung.clear()
    gate.gate.release(2)
    assert rung.wait(DEADLINE_S)
    stream = TokenStream(fetched)
    assert (finished(stream), stream.finish) == (1, "stop")


def test_abandoned_stream_closes_itself_when_it_comes_back() -> None:
    gate = Gate([Chunk("a", (1,))] * 3)
    fetched = Fetched(lambda: gate, lambda: None)
    fetched.close()
    with pytest.raises(StopIteration):
        next(fetched)
    assert not gate.closed.is_set()
    gate.gate.release()
    assert gate.closed.wait(DEADLINE_S)


def test_stream_with_cancel_is_told_at_once() -> None:
    class Cancellable(Gate):
        def cancel(self) -> None:
            self.gate.release()

    gate = Cancellable([])
    reading = threading.Event()

    def ask() -> Iterator[Item]:
        reading.set()
        return gate

    fetched = Fetched(ask, lambda: None)
    assert reading.wait(DEADLINE_S)
    while fetched._items is None:
        assert next(fetched) is None
    fetched.close()
    assert gate.closed.wait(DEADLINE_S)


def test_reading_ahead_is_bounded() -> None:
    full = threading.Event()
    count = [0]

    def flood() -> Iterator[Item]:
        while True:
            count[0] += 1
            if count[0] > AHEAD:
                full.set()
            yield Chunk("x", (1,))

    fetched = Fetched(flood, lambda: None)
    assert full.wait(DEADLINE_S)
    seen = 0
    while next(fetched) is not None and seen < AHEAD:
        seen += 1
    assert seen == AHEAD
    assert count[0] <= 2 * AHEAD + 2
    fetched.close()


def test_same_tokens_from_a_thread() -> None:
    shake = Random(1)
    words = ["".join(shake.choice("abc €") for _ in range(shake.randrange(1, 9))) for _ in range(500)]

    def say() -> Iterator[Item]:
        for word in words:
            yield Chunk(word, tuple(len(char.encode()) for char in word))
            if shake.random() < 0.1:
                yield None

    texts: list[str] = []
    stream = TokenStream(Fetched(say, lambda: None))

    def take(channel: str, text: str, lens: list[int], offset: int) -> None:
        texts.append(text)

    deadline = time.monotonic() + DEADLINE_S
    while not stream.ended:
        stream.release(shake.randrange(1, 50), 10, take)
        assert time.monotonic() < deadline
    assert "".join(texts) == "".join(words)


def test_a_backend_that_does_not_close_is_noted_and_stops_nobody(caplog: pytest.LogCaptureFixture) -> None:
    class Stuck:
        info = ev.Backend(spec="stuck")

        def stream(self, request: Any) -> Iterator[Item]:
            return iter(())

        def close(self) -> None:
            raise RuntimeError("will not")

    with caplog.at_level("INFO"):
        shut(Stuck())
    assert "backend stuck did not close" in caplog.text
    assert "will not" in caplog.text


def test_a_backend_says_what_it_is(tmp_path: Path) -> None:
    nameless = tmp_path / "nameless.py"
    nameless.write_text("class Backend:\n    info = {'spec': 'mine'}\n    def stream(self, request): ...\n    def close(self): ...\n")
    with pytest.raises(ConfigError, match=r"has info \{'spec': 'mine'\}; expected a replays.events.Backend"):
        make(str(nameless))
