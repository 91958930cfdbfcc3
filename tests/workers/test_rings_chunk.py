"""Tokens in CHUNK frames: packing, cutting, and characters of several bytes at the wrap."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ring_kit import drain

from workers.rings import KIND_CHUNK, MAX_TOKENS, ListRing, Ring, RingError, pack_chunk, split_chunk, unpack_chunk

P09 = Path(__file__).parent / "data" / "cases" / "P09"

tokens = st.lists(st.text(max_size=300), max_size=40)


@given(tokens)
def test_a_chunk_gives_back_its_text_and_lengths(parts: list[str]) -> None:
    lengths = tuple(len(part.encode()) for part in parts)
    payload = pack_chunk("".join(parts), lengths)
    assert unpack_chunk(payload, len(parts)) == ("".join(parts), lengths)


@given(tokens, st.integers(1, 400), st.integers(1, 50))
def test_pieces_of_a_chunk_are_within_the_limits_and_lose_nothing(parts: list[str], max_bytes: int, max_tokens: int) -> None:
    lengths = [len(part.encode()) for part in parts]
    pieces = list(split_chunk("".join(parts), lengths, max_bytes=max_bytes, max_tokens=max_tokens))
    assert "".join(text for text, _ in pieces) == "".join(parts)
    assert [length for _, cut in pieces for length in cut] == lengths
    for text, cut in pieces:
        assert len(cut) <= max_tokens
        assert len(pack_chunk(text, cut)) <= max_bytes or len(cut) == 1


def test_lengths_of_255_and_more_are_escaped() -> None:
    assert pack_chunk("é" * 127, [254]) == b"\xfe" + ("é" * 127).encode()
    assert pack_chunk("x" * 255, [255]) == b"\xff\xff\x00\x00\x00" + b"x" * 255
    assert pack_chunk("x" * 70_001, [0, 70_000, 1]) == b"\x00\xff\x70\x11\x01\x00\x01" + b"x" * 70_001


def test_lengths_that_do_not_add_up_to_the_text_are_refused() -> None:
    with pytest.raises(RingError, match="chunk of 2 bytes was given token lengths of 1 bytes"):
        pack_chunk("é", [1])
    with pytest.raises(RingError, match="-1 is negative"):
        pack_chunk("é", [3, -1])


@pytest.mark.parametrize(
    ("payload", "ntok", "says"),
    [
        (b"\x02a", 1, "says it has 3 bytes and has 2"),
        (b"\x01ab", 1, "says it has 2 bytes and has 3"),
        (b"\x01", 2, "says it has 3 bytes and has 1|ends after"),
        (b"\xff\x01", 2, "ends after the length of 1"),
        (b"\x01\xc3", 1, "no UTF-8 at byte 0"),
    ],
)
def test_a_payload_that_is_no_chunk_is_refused(payload: bytes, ntok: int, says: str) -> None:
    with pytest.raises(RingError, match=says):
        unpack_chunk(payload, ntok)


@pytest.mark.parametrize("crc", [True, False])
def test_the_longest_chunk_travels_in_one_write(crc: bool) -> None:
    text = "é" * MAX_TOKENS
    with Ring.create(1 << 20, crc=crc) as ring, ring.writer() as writer, ring.reader(0) as reader:
        writer.write(KIND_CHUNK, 0, pack_chunk(text, [2] * MAX_TOKENS), ntok=MAX_TOKENS)
        (frame,) = reader.poll()
        assert unpack_chunk(frame.payload, frame.ntok) == (text, (2,) * MAX_TOKENS)


def _joined(ring: Ring | ListRing, text: str, wraps: int) -> str:
    """Write `text` as case P09 asks, one code point a write and a poll after every third; return what was read."""
    writer, reader = ring.writer(), ring.reader(0)
    read: list[str] = []
    for number, point in enumerate(text):
        octets = len(point.encode())
        writer.write(KIND_CHUNK, 0, pack_chunk(point, [octets]), ntok=1, at=number + 1)
        if number % 3 == 2:
            read += [unpack_chunk(frame.payload, frame.ntok)[0] for frame in reader.poll()]
    read += [unpack_chunk(frame.payload, frame.ntok)[0] for frame in drain(reader)]
    assert reader.lost == 0
    assert ring.tail > wraps
    return "".join(read)


@pytest.mark.parametrize("ring_bytes", json.loads((P09 / "case.json").read_text())["ring_bytes"])
@pytest.mark.parametrize("crc", [True, False])
def test_characters_of_several_bytes_survive_the_wrap(ring_bytes: int, crc: bool) -> None:
    # The case's rings hold bare bytes. Ours needs 40 more a frame and an eighth for the longest, so each is made eight times as large.
    capacity = 1 << (8 * ring_bytes - 1).bit_length()
    text = (P09 / "stream.txt").read_text(encoding="utf-8")
    with Ring.create(capacity, crc=crc) as ring:
        assert _joined(ring, text, 20 * capacity) == text


def test_characters_of_several_bytes_survive_the_list() -> None:
    text = (P09 / "stream.txt").read_text(encoding="utf-8")
    assert _joined(ListRing(), text, 0) == text
