"""Rings: one writer, up to eight readers with a cursor each, and no writer that waits for a reader.

    layout     every byte, and the order of stores
    segment    the memory          doorbell, wait    sleeping
    writer     RingWriter          reader            RingReader
    ring       Ring, Switchboard: the supervisor's side        wiring    what a spawned child is handed
    frames     Frame, and how tokens are packed                memory    ListRing: the same within one process

Rings know nothing of games or models.
"""

from __future__ import annotations

from workers.errors import RingError
from workers.rings.doorbell import Doorbell
from workers.rings.frames import (
    KIND_CHUNK,
    KIND_EVENT,
    KIND_MARK,
    MAX_TOKENS,
    Frame,
    FrameReader,
    FrameWriter,
    pack_chunk,
    split_chunk,
    unpack_chunk,
)
from workers.rings.layout import DEFAULT_CAPACITY, MAX_SLOTS, capacity_for
from workers.rings.memory import ListReader, ListRing, ListWriter
from workers.rings.reader import RingReader
from workers.rings.ring import Ring, Switchboard
from workers.rings.segment import Segment
from workers.rings.wait import Waiter, wait_any
from workers.rings.wiring import RingHandle, Wiring
from workers.rings.writer import RingWriter

__all__ = [
    "DEFAULT_CAPACITY",
    "KIND_CHUNK",
    "KIND_EVENT",
    "KIND_MARK",
    "MAX_SLOTS",
    "MAX_TOKENS",
    "Doorbell",
    "Frame",
    "FrameReader",
    "FrameWriter",
    "ListReader",
    "ListRing",
    "ListWriter",
    "Ring",
    "RingError",
    "RingHandle",
    "RingReader",
    "RingWriter",
    "Segment",
    "Switchboard",
    "Waiter",
    "Wiring",
    "capacity_for",
    "pack_chunk",
    "split_chunk",
    "unpack_chunk",
    "wait_any",
]
