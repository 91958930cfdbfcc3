"""What the ring tests share: payloads that tell their number, and reading a ring to its tail."""

from __future__ import annotations

from workers.rings import KIND_CHUNK, KIND_EVENT, Frame, FrameReader, FrameWriter


def payload(number: int, room: int) -> bytes:
    """A payload of 0 to `room` bytes; the length goes through all values, the bytes tell the number."""
    size = number * 7 % (room + 1)
    return (number.to_bytes(4, "little") * (size // 4 + 1))[:size]


def write(writer: FrameWriter, number: int, room: int = 100) -> None:
    """Write frame `number`, every field derived from it."""
    writer.write(
        KIND_EVENT if number % 3 == 0 else KIND_CHUNK,
        number // 10,
        payload(number, room),
        ntok=number % 65_536,
        at=number,
        generation=number // 100,
        channel=number % 2,
        t_ns=1_000_000 + number,
        flags=number % 4,
    )


def check(frame: Frame, room: int = 100) -> int:
    """Assert that a frame is what `write` wrote under its number; return the number."""
    number = frame.at
    assert frame.payload == payload(number, room)
    assert (frame.kind, frame.tick) == (KIND_EVENT if number % 3 == 0 else KIND_CHUNK, number // 10)
    assert (frame.ntok, frame.generation, frame.channel) == (number % 65_536, number // 100, number % 2)
    assert (frame.t_ns, frame.flags) == (1_000_000 + number, number % 4)
    return number


def drain(reader: FrameReader) -> list[Frame]:
    """Poll until nothing comes."""
    frames: list[Frame] = []
    while got := reader.poll():
        frames.extend(got)
    return frames
