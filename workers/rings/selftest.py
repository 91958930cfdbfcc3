"""Torture for a ring: one writer at full speed, several readers that are lapped all the time, and a pattern that shows one wrong byte.

Shipped because the promise it checks depends on the machine: the tests, the benchmark and anybody on new hardware run the same thing.
The one thing that surprises: `recheck=False` must fail. A torture that cannot see tearing proves nothing. To make it likely, all readers
but the first hang back on purpose until the writer is about to lap them, and copy from under its pen.
"""

from __future__ import annotations

import multiprocessing
from multiprocessing.connection import Connection
from typing import NamedTuple

from workers.errors import RingError, WorkerError
from workers.rings.frames import KIND_CHUNK, KIND_EVENT
from workers.rings.layout import STATE_OPEN
from workers.rings.reader import RingReader
from workers.rings.ring import Ring
from workers.rings.wiring import RingHandle

__all__ = ["Tally", "patterns", "torture"]

# How long a reader may take to start or to finish, on a busy machine.
_PATIENCE_S = 60.0


class Tally(NamedTuple):
    """What one reader saw."""

    accepted: int
    """Frames that came out of the ring and were right."""
    lost: int
    """Frames it was told it had lost."""
    wrong: int
    """Frames that came out and were not what was written, or polls that reported damage."""
    laps: int
    """Times it was lapped."""


_ROUND = 1009


def patterns() -> list[bytes]:
    """Return the payloads, frame `n` having number n modulo 1,009: 8 to 1,807 bytes, no two alike.

    Every fourth is long, so that the writer goes round a small ring in a few dozen calls; a small ring holds far fewer than 1,009.
    """
    sizes = [8 + number * 31 % (96 if number & 3 else 1800) for number in range(_ROUND)]
    return [(number.to_bytes(8, "little") * (1 + (size >> 3)))[:size] for number, size in enumerate(sizes)]


def torture(frames: int, *, capacity: int = 1 << 14, readers: int = 3, crc: bool = True, recheck: bool = True) -> list[Tally]:
    """Write `frames` frames through a small ring to spawned readers and return each one's tally.

    Raises WorkerError if a reader does not start or finish in a minute.
    """
    context = multiprocessing.get_context("spawn")
    with Ring.create(capacity, name="torture", readers=readers, crc=crc) as ring:
        pipes = []
        children = []
        for slot in range(readers):
            here, there = context.Pipe(duplex=False)
            child = context.Process(target=_read, args=(ring.handle(slot), there, recheck), name=f"torture reader {slot}", daemon=True)
            child.start()
            there.close()
            pipes.append(here)
            children.append(child)
        try:
            for slot, pipe in enumerate(pipes):
                _receive(pipe, slot)
            with ring.writer() as writer:
                write, payloads = writer.write, patterns()
                for number in range(frames):
                    write(KIND_EVENT if number % 5 == 0 else KIND_CHUNK, number >> 8, payloads[number % _ROUND], at=number, t_ns=number)
            return [Tally(*_receive(pipe, slot)) for slot, pipe in enumerate(pipes)]
        finally:
            for child in children:
                child.terminate()
                child.join()
                child.close()
            for pipe in pipes:
                pipe.close()


def _receive(pipe: Connection, slot: int) -> tuple[int, int, int, int]:
    if not pipe.poll(_PATIENCE_S):
        raise WorkerError(f"torture reader {slot} said nothing for {_PATIENCE_S:.0f} s; the machine may be too busy, or the ring hangs")
    try:
        told: tuple[int, int, int, int] = pipe.recv()
    except EOFError:
        raise WorkerError(f"torture reader {slot} died; see its traceback on stderr") from None
    return told


def _read(handle: RingHandle, pipe: Connection, recheck: bool) -> None:
    accepted = wrong = 0
    payloads = patterns()
    with RingReader(handle, recheck=recheck) as reader:
        pipe.send((0, 0, 0, 0))
        # How many bytes it stays behind before it polls: nothing, then 15/16 of the ring, then a little less.
        behind = reader.segment.capacity * (16 - handle.slot) // 16 if handle.slot else 0
        while not reader.closed:
            while reader.lag < behind and reader.segment.state == STATE_OPEN:
                pass
            try:
                frames = reader.poll()
            except RingError:
                wrong += 1
                reader.seek(reader.segment.tail)
                continue
            for frame in frames:
                at = frame.at
                if frame.payload == payloads[at % _ROUND] and frame.seq == at & 0xFFFFFFFF and frame.t_ns == at and frame.tick == at >> 8:
                    accepted += 1
                else:
                    wrong += 1
            if not frames:
                reader.wait(1.0)
        pipe.send((accepted, reader.lost, wrong, reader.laps))

