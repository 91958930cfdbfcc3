"""Where every byte of a ring lies, who writes it, and in which order.

    offset  word  field                                   written by
    0       0     magic                                   creator, last of all
    8       1     layout version                          creator
    16      2     capacity: data bytes, a power of two    creator
    24      3     owner pid                               writer, when it attaches
    32      4     owner start time (kernel ticks)         writer, when it attaches
    40      5     state: 0 open, 1 closed, 2 aborted      writer; `aborted` by the desk alone
    48      6     flags: bit 0 = every frame has a crc    creator
    56      7     epoch: writers that attached so far     writer, when it attaches
    64      8     intent                                  writer, before the bytes
    128     16    tail                                    writer, after the bytes
    136     17    frame count, as of the last sixteenth,  writer
                  heartbeat, batch or close
    144     18    event tail: end of the last frame that  writer, after tail
                  is no CHUNK
    192     24    heartbeat, monotonic ns                 writer
    256     32    16 checkpoints: position of the first   writer, before tail
                  frame that begins in each sixteenth
    384     48    8 bytes, slot i asleep for any frame    reader of slot i
    392     49    8 bytes, slot i asleep for events       reader of slot i
    512     64    8 slots of 64 bytes:                    reader of the slot; the desk sets
                    +0 pid        +8 cursor               cursors while no reader runs
                    +16 lost bytes
                    +24 sleeping: 0 awake, else nap * 4 + (1 any frame, 2 events and marks)
                    +32 low half of cursor << 32 | sequence expected there
    4096    -     data, `capacity` bytes

Everything is little-endian; words are u64, aligned. Hot words are 64 bytes apart, so that a reader that spins on `tail` does not
slow the store of `intent`. A *position* counts bytes since the ring was made and never wraps; its place in the data is
`position & (capacity - 1)`.

A frame is 8-aligned and never split over the wrap. In the place where it does not fit any more stands a PAD word, a u32 of which
the top bit is set and the rest is the number of bytes to the wrap:

    0        4      8      12     13        14     16           20      24    32       40
    | length | seq  | tick | kind | channel | ntok | generation | flags | at  | t_ns   | payload ... [crc32] [0-7 bytes unused]
      u32      u32    u32    u8     u8        u16    u32          u32     u64   i64

`length` counts header, payload and crc, not the alignment. A payload too long for one frame (capacity / 8) travels in several with
the flag PART, the first with BEGIN, all but the last with MORE; they appear under one `tail` store. A checkpoint may lie between two of
them: a reader that begins there counts the rest of the event as lost. The crc, where the ring has it, is the crc32 of header
and payload, begun with the low half of the frame's position: a whole frame of an earlier lap does not pass for a new one.

Order of stores. Writer: `intent` = end, then payload and header, then `tail` = end. Reader: read `tail`; if `intent` - cursor >
capacity it was lapped; copy out in one slice; read `intent` again, and drop the copy if the writer has begun to overwrite it; only
then parse the private copy; publish the cursor last. Publishing `tail` last protects new frames; the second look at `intent` protects
old ones from being overwritten while they are copied.

States of a slot: free (cursor 0, pid 0) -> read (pid of the reader) -> asleep and awake again -> after a death the desk may set the
cursor, and the next reader begins there.

Not promised:
* Nothing waits. A reader slower than the writer by one ring loses frames; it is told how many, and goes on at a checkpoint.
* Order of memory. The above needs stores to be seen in program order, which x86 gives. CPython emits no barrier for weaker
  machines: there every frame has a crc, a mismatch means "not yet, or lapped", and that is all that is promised.
* A wake-up. The writer's look at the sleeping flag may be ordered before its `tail` store becomes visible; a sleeper looks again
  after 50 ms, so a lost wake-up costs that much and never hangs.
* An exact frame count while frames are written: no two stores are one, and this one would cost each frame 26 ns. It is exact once the
  ring is closed. A new writer finds its sequence by walking from the last checkpoint to `tail`.
* Protection against a hostile writer: a length that cannot be is reported as damage, but a payload is what was written.
"""

from __future__ import annotations

import os
import platform
import struct

__all__ = [
    "DEFAULT_CAPACITY",
    "MAX_SLOTS",
    "MIN_CAPACITY",
    "STATE_ABORTED",
    "STATE_CLOSED",
    "STATE_OPEN",
    "capacity_for",
]

MAGIC = int.from_bytes(b"rtd.ring", "little")
VERSION = 1
HEADER_BYTES = 4096
MAX_SLOTS = 8
DEFAULT_CAPACITY = 1 << 20
# The least in which a frame of an eighth holds a header, four bytes of text and a crc.
MIN_CAPACITY = 512

# Word indices.
W_MAGIC, W_VERSION, W_CAPACITY, W_PID, W_START, W_STATE, W_FLAGS, W_EPOCH = range(8)
W_INTENT = 8
W_TAIL, W_COUNT, W_EVENT_TAIL = 16, 17, 18
W_HEARTBEAT = 24
W_CHECKPOINTS = 32
CHECKPOINTS = 16
W_ASLEEP_ANY, W_ASLEEP_EVENTS = 48, 49
W_SLOTS = 64
SLOT_WORDS = 8
S_PID, S_CURSOR, S_LOST, S_SLEEPING, S_SEQ = range(5)

STATE_OPEN, STATE_CLOSED, STATE_ABORTED = 0, 1, 2
RING_CRC = 1

NAP_ANY, NAP_EVENTS = 1, 2

HEAD_FORMAT = "<IIIBBHIIQq"
HEAD = struct.Struct(HEAD_FORMAT)
HEAD_BYTES = HEAD.size
CRC = struct.Struct("<I")
PAD = struct.Struct("<I")
PAD_BIT = 1 << 31
MASK32 = (1 << 32) - 1

# Frame flags of our own stand above FLAG_FIRST, so that one comparison tells a plain frame.
FLAG_MORE = 1 << 31
FLAG_CRC = 1 << 30
FLAG_PART = 1 << 29
FLAG_BEGIN = 1 << 28
FLAG_FIRST = FLAG_BEGIN

# Above some 700 KB the C library copies with stores that may overtake earlier ones, which would undo the order this file rests on.
MAX_FRAME = 1 << 18

# x86 shows stores in program order, and so do virtual machines on it.
STRONG_MEMORY = platform.machine().lower() in {"x86_64", "amd64", "i386", "i686"}


def capacity_for(tick_budget_tokens: int) -> int:
    """Return the ring capacity in bytes for a tick of that many tokens: a power of two, at least 1 MiB.

    128 bytes a token hold two ticks of one-token frames.
    """
    needed = max(DEFAULT_CAPACITY, 128 * tick_budget_tokens)
    return 1 << (needed - 1).bit_length()


def max_frame(capacity: int) -> int:
    """Return the greatest `length` a frame may have in a ring of that capacity."""
    return min(capacity // 8, MAX_FRAME)


def wants_crc() -> bool:
    """Return whether frames get a crc unless the creator says otherwise.

    Always on machines with weak memory order; elsewhere with RTDESK_RING_CRC=1 in the environment, as the test-suite sets it.
    """
    return not STRONG_MEMORY or os.environ.get("RTDESK_RING_CRC") == "1"
