"""What travels in a ring: events, runs of tokens, and control messages that are never recorded.

An event is encoded once, here, by its emitter; everybody else decodes those bytes, in the simulator too, so that live
and simulated logs are equal by construction. The one thing that surprises: `t_ns` and `seq` are not in an event's bytes.
The frame header carries the time, and the recorder gives the sequence.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import msgspec

from replays import events as ev
from workers.rings import KIND_CHUNK, KIND_EVENT, KIND_MARK, Frame, FrameReader, FrameWriter, pack_chunk, split_chunk, unpack_chunk

__all__ = [
    "CHANNELS",
    "START",
    "Close",
    "Command",
    "Control",
    "Death",
    "Emitter",
    "Go",
    "GoAhead",
    "Grant",
    "Mark",
    "Pace",
    "Piece",
    "Ready",
    "Stand",
    "drain",
    "read_control",
    "read_event",
    "read_piece",
    "split",
]

CHANNELS = ("reasoning", "content")
_CHANNEL_OF = {name: number for number, name in enumerate(CHANNELS)}
# A frame holds an eighth of its ring at most, and the smallest ring tokens travel in has 1 MiB.
_MAX_CHUNK = 1 << 16


class Control(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="kind"):
    """Base of the messages that steer a run and are never recorded."""


class Ready(Control, frozen=True, tag="ready"):
    """A child has started and stands at its readers."""

    role: str
    incarnation: int = 0


class Go(Control, frozen=True, tag="go"):
    """Conductor to all: who takes part from the next tick on. Written at the start, and whenever a restarted thinker is back."""

    epoch_ns: int
    """The absolute monotonic instant the episode began; what `t_ns` is counted from."""
    streams: list[str]
    since: int = 0
    """What the planner wrote in ticks before this one is void: the game was reset."""


class Mark(Control, frozen=True, tag="mark"):
    """A thinker has released everything up to `upto`: exactly one a border, also when it is idle."""

    tick: int
    stream: str
    upto: int
    at: int
    """Instant of its last token in this window, or the window's start if it released none."""
    generation: int
    ended: bool
    """Whether the generation is over by itself; one that was cut at its budget is not."""
    tokens: int = 0
    """What the generation has released so far."""
    incarnation: int = 0


class Grant(Control, frozen=True, tag="grant"):
    """Shared throughput: `stream` may release from `begin` up to `upto`."""

    stream: str
    begin: int
    upto: int


class Pace(Control, frozen=True, tag="pace"):
    """Token x is due at t_ns + (x - at) / rate; rate 0 is a pause. `t_ns` is absolute monotonic."""

    at: float
    t_ns: int
    rate: float


class Close(Control, frozen=True, tag="close"):
    """The episode is over; everybody goes home."""


class Stand(Control, frozen=True, tag="stand"):
    """Conductor to desk: everything is ready for the end of `tick` (START: for the episode's beginning), and it waits for the word."""

    tick: int


class GoAhead(Control, frozen=True, tag="goahead"):
    """Desk to conductor, the word: every side of the match stands at the end of `tick`, so it may end. With START the episode begins."""

    tick: int
    t_ns: int = 0
    """With START: the absolute monotonic instant the episode's time is counted from, the same on all sides."""


START = -1
"""In place of a tick: the beginning of the episode."""


class Command(Control, frozen=True, tag="command"):
    """Desk to conductor: what a person asked for."""

    what: str
    value: str = ""
    player: int = 0
    """For a key: whose it is, where two play in one game."""
    t_ns: int = 0
    """The absolute monotonic instant it was asked for, or the key was pressed."""


class Death(Control, frozen=True, tag="death"):
    """Desk to conductor: a child is gone; `restarts` says whether another incarnation follows."""

    role: str
    incarnation: int
    what: str
    restarts: bool


AnyControl = Ready | Go | Mark | Grant | Pace | Close | Stand | GoAhead | Command | Death

_encoder = msgspec.msgpack.Encoder()
_control: msgspec.msgpack.Decoder[AnyControl] = msgspec.msgpack.Decoder(AnyControl)


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

    def __init__(self, writer: FrameWriter, *, clock: Callable[[], int] = time.monotonic_ns, epoch_ns: int = 0) -> None:
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

    def hold(self) -> None:
        """Keep what is written from here on from its readers until `show`: they wake once for all of it, and not before it is said."""
        self._writer.hold()

    def show(self) -> None:
        """Let the readers have what was held."""
        self._writer.show()

    def tokens(self, tick: int, generation: int, channel: str, text: str, lens: list[int] | tuple[int, ...], at: int) -> None:
        """Write one run; `at` is the instant of its first token, 0 in wall time."""
        number, now = _CHANNEL_OF[channel], self.now()
        for piece, sizes in split_chunk(text, lens, max_bytes=_MAX_CHUNK):
            payload = pack_chunk(piece, sizes)
            self._writer.write(KIND_CHUNK, tick, payload, ntok=len(sizes), at=at, generation=generation, channel=number, t_ns=now)
            at += len(sizes) if at else 0


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


def drain(reader: FrameReader, *, publish: bool = True) -> Iterator[Frame]:
    """Yield every frame up to where the ring's tail stands now; one `poll` may give less, and a flood never ends."""
    goal = reader.cursor + reader.lag
    while reader.cursor < goal and (frames := reader.poll(publish=publish)):
        yield from frames


def split(frames: Iterable[Frame]) -> Iterator[ev.AnyEvent | AnyControl | Piece]:
    """Decode frames in order, each into what it carries."""
    for frame in frames:
        if frame.kind == KIND_CHUNK:
            yield read_piece(frame)
        elif frame.kind == KIND_EVENT:
            yield read_event(frame)
        else:
            yield read_control(frame)
