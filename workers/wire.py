"""What travels in a ring: events, runs of tokens, and control messages that are never recorded.

An event is encoded once, here, by its emitter; everybody else decodes those bytes, in the simulator too, so that live
and simulated logs are equal by construction. The one thing that surprises: `t_ns` and `seq` are not in an event's bytes.
The frame header carries the time, and the recorder gives the sequence.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import NamedTuple, Protocol

import msgspec

from replays import events as ev
from workers.rings import KIND_CHUNK, KIND_EVENT, KIND_MARK, Frame, pack_chunk, unpack_chunk

__all__ = [
    "CHANNELS",
    "Close",
    "Command",
    "Control",
    "Death",
    "Emitter",
    "Grant",
    "Mark",
    "Pace",
    "Piece",
    "Ready",
    "Writer",
    "read_control",
    "read_event",
    "read_piece",
]

CHANNELS = ("reasoning", "content")
_CHANNEL_OF = {name: number for number, name in enumerate(CHANNELS)}


class Control(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="kind"):
    """Base of the messages that steer a run and are never recorded."""


class Ready(Control, frozen=True, tag="ready"):
    """A child has started and stands at its readers."""

    role: str
    incarnation: int = 0


class Mark(Control, frozen=True, tag="mark"):
    """A thinker has released everything up to `upto`: exactly one a border, also when it is idle."""

    tick: int
    stream: str
    upto: int
    at: int
    """Instant of its last token in this window, or the window's start if it released none."""
    generation: int
    ended: bool
    incarnation: int = 0


class Grant(Control, frozen=True, tag="grant"):
    """Shared throughput: `stream` may release from `begin` up to `upto`."""

    stream: str
    begin: int
    upto: int


class Pace(Control, frozen=True, tag="pace"):
    """Token x is due at t_ns + (x - at) / rate; rate 0 is a pause. `t_ns` is absolute monotonic."""

    at: int
    t_ns: int
    rate: float


class Close(Control, frozen=True, tag="close"):
    """The episode is over; everybody goes home."""


class Command(Control, frozen=True, tag="command"):
    """Desk to conductor: what a person asked for."""

    what: str
    value: str = ""


class Death(Control, frozen=True, tag="death"):
    """Desk to conductor: a child is gone; `restarts` says whether another incarnation follows."""

    role: str
    incarnation: int
    what: str
    restarts: bool


AnyControl = Ready | Mark | Grant | Pace | Close | Command | Death

_encoder = msgspec.msgpack.Encoder()
_control: msgspec.msgpack.Decoder[AnyControl] = msgspec.msgpack.Decoder(AnyControl)


class Writer(Protocol):
    """The writing end of a ring, in shared memory or in a list."""

    def write(
        self, kind: int, tick: int, payload: bytes, *, ntok: int = 0, at: int = 0, generation: int = 0, channel: int = 0, t_ns: int | None = None
    ) -> None: ...


class Piece(NamedTuple):
    """A run of tokens as it came in one frame."""

    tick: int
    generation: int
    channel: str
    text: str
    lens: tuple[int, ...]
    at: int
    """Virtual instant of the first token; 0 in wall time."""
    t_ns: int


class Emitter:
    """Writes one process's events into its ring; `epoch_ns` is the absolute monotonic instant the episode began."""

    def __init__(self, writer: Writer, *, clock: Callable[[], int] = time.monotonic_ns, epoch_ns: int = 0) -> None:
        self._writer = writer
        self._clock = clock
        self.epoch_ns = epoch_ns

    def now(self) -> int:
        """Nanoseconds since the episode began."""
        return self._clock() - self.epoch_ns

    def event(self, event: ev.Event) -> None:
        self._writer.write(KIND_EVENT, event.tick, ev.encode(event), at=event.at or 0, t_ns=self.now())

    def control(self, message: Control, *, tick: int = 0) -> None:
        self._writer.write(KIND_MARK, tick, _encoder.encode(message), t_ns=self.now())

    def tokens(self, tick: int, generation: int, channel: str, text: str, lens: list[int] | tuple[int, ...], at: int) -> None:
        """Write one run; `at` is the instant of its first token."""
        payload = pack_chunk(text, lens)
        self._writer.write(
            KIND_CHUNK, tick, payload, ntok=len(lens), at=at, generation=generation, channel=_CHANNEL_OF[channel], t_ns=self.now()
        )


def read_event(frame: Frame) -> ev.AnyEvent:
    """Return the typed event of an EVENT frame, with its frame's time."""
    event = ev.decode(frame.payload)
    msgspec.structs.force_setattr(event, "t_ns", frame.t_ns)
    return event


def read_control(frame: Frame) -> AnyControl:
    return _control.decode(frame.payload)


def read_piece(frame: Frame) -> Piece:
    """Return the tokens of a CHUNK frame."""
    text, lens = unpack_chunk(frame.payload, frame.ntok)
    return Piece(frame.tick, frame.generation, CHANNELS[frame.channel], text, tuple(lens), frame.at, frame.t_ns)


def is_event(frame: Frame) -> bool:
    return frame.kind == KIND_EVENT


def split(frames: Iterable[Frame]) -> Iterable[ev.AnyEvent | AnyControl | Piece]:
    """Decode frames in order, each into what it carries."""
    for frame in frames:
        if frame.kind == KIND_CHUNK:
            yield read_piece(frame)
        elif frame.kind == KIND_EVENT:
            yield read_event(frame)
        else:
            yield read_control(frame)
