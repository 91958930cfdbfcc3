"""The state a recording has when a tick begins, for any tick, soon: from the nearest state known before it.

Known are the file's keyframes and the states kept here: on the way of every jump, and by the survey of the whole file. What lies
between is folded, so the answer is exactly what playing from the start gives. Pure but for reading the store.

    states = States(replay)
    states.before(1234)          # a ViewState of the caller's own
"""

from __future__ import annotations

import logging
from bisect import bisect_left, bisect_right, insort
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

import msgspec

from replays.events import Token
from replays.reduce import fold
from replays.streams import StreamState
from replays.view_state import ViewState
from rtdesk.tui.ticks import TickStore

__all__ = ["KEPT_BYTES", "States", "cost", "from_keyframe"]

log = logging.getLogger(__name__)

APART = 10.0
"""Work between two kept states at first, in ticks' worth (about 0.1 ms here); doubled whenever room runs out."""
STREAMS = ("planner", "reactor", "controller")
TOKENS = 1500
"""Tokens whose reading and folding costs as much as everything else of a tick."""
KEPT_BYTES = 24 << 20
"""What the kept states may take, however long the recording is."""


def cost(events: Any) -> float:
    """Return what reading and folding a tick costs, in ticks' worth."""
    return 1.0 + sum(len(event.lens) for event in events if isinstance(event, Token)) / TOKENS


def from_keyframe(store: TickStore, tick: int) -> tuple[int, ViewState] | None:
    """Return (ticks of the store already in it, state) of the nearest keyframe at or before `tick`; None if there is none to use."""
    found = store.keyframe(tick)
    if found is None:
        return None
    stands, data = found
    try:
        if not isinstance(data.get("planner"), dict) or data.get("tick") != stands:
            raise ValueError("it is no state of this reducer")
        return bisect_right(store.ticks, stands), ViewState.from_map(data, store.header)
    except (msgspec.ValidationError, TypeError, ValueError) as error:
        # A keyframe of another version, or a damaged one: the events say everything it says.
        log.info("keyframe of tick %s not usable: %s", stands, error)
        return None


class _Text:
    """What a stream said from one place on, as far as any kept state has it. A tail only grows until it is cut, so states that lie near
    each other hold beginnings of one text; each with its own, they would take ten times the room."""

    __slots__ = ("__weakref__", "text")

    def __init__(self, text: str) -> None:
        self.text = text


class _Kept(NamedTuple):
    """A state, the tails of its streams apart."""

    state: ViewState
    tails: list[tuple[_Text, int]]
    """For each stream the text and how much of it is the state's."""
    size: int
    """What all but the tails takes."""

    def copy(self) -> ViewState:
        state = self.state.copy()
        for name, (held, length) in zip(STREAMS, self.tails):
            getattr(state, name).tail = held.text[:length]
        return state


class States:
    """The states of one recording."""

    def __init__(self, store: TickStore, *, room: int = KEPT_BYTES) -> None:
        self._store = store
        self._room = room
        self._apart = APART
        self._kept: dict[int, _Kept] = {}
        # By stream and by how much it had said before.
        self._texts: WeakValueDictionary[tuple[str, int], _Text] = WeakValueDictionary()
        # By how many ticks of the store are in it.
        self._counts: list[int] = []
        self._bytes = 0

    @property
    def kept_bytes(self) -> int:
        """What the kept states take, roughly."""
        return self._bytes

    def before(self, tick: int) -> ViewState:
        """Return the state with every event of the ticks before `tick` folded, for the caller to fold on."""
        stop = bisect_left(self._store.ticks, tick)
        count, state = self._nearest(stop)
        work = 0.0
        while count < stop:
            work += self.step(count, state)
            count += 1
            if work >= self._apart:
                self.keep(count, state)
                work = 0.0
        return state

    def step(self, count: int, state: ViewState) -> float:
        """Fold tick number `count` of the store; return what that cost."""
        events = self._store.events(self._store.ticks[count])
        for event in events:
            fold(state, event)
        return cost(events)

    def keep(self, count: int, state: ViewState) -> None:
        """Keep a copy of a state that has the first `count` ticks in it."""
        if count in self._kept:
            return
        kept = _Kept(state.copy(), [self._share(name, getattr(state, name)) for name in STREAMS], _size(state))
        for name in STREAMS:
            getattr(kept.state, name).tail = ""
        self._kept[count] = kept
        insort(self._counts, count)
        self._bytes += kept.size
        while self._bytes > self._room and len(self._counts) > 1:
            # Every second one goes: what is left is as even as before, and half as dense.
            self._apart *= 2
            for old in self._counts[::2]:
                del self._kept[old]
            self._counts = self._counts[1::2]
            texts = {id(held): len(held.text) for one in self._kept.values() for held, _ in one.tails}
            self._bytes = sum(one.size for one in self._kept.values()) + sum(texts.values())

    def _share(self, name: str, stream: StreamState) -> tuple[_Text, int]:
        """Return where the tail of a stream is kept, and its length."""
        tail = stream.text
        held = self._texts.get((name, stream.dropped))
        if held is not None and held.text.startswith(tail):
            return held, len(tail)
        if held is not None and tail.startswith(held.text):
            self._bytes += len(tail) - len(held.text)
            held.text = tail
            return held, len(tail)
        # Also where something was taken back in between: then it has a text of its own.
        held = self._texts[name, stream.dropped] = _Text(tail)
        self._bytes += len(tail)
        return held, len(tail)

    @property
    def apart(self) -> float:
        """Work that should lie between two kept states."""
        return self._apart

    def _nearest(self, stop: int) -> tuple[int, ViewState]:
        place = bisect_right(self._counts, stop) - 1
        kept = self._counts[place] if place >= 0 else 0
        frame = None
        if stop > kept and stop > 0:
            frame = self._frame(kept, stop)
        if frame is not None:
            # What took a millisecond to read is worth keeping: its neighbours are asked for next.
            self.keep(frame[0], frame[1])
            return frame
        if place >= 0:
            return kept, self._kept[kept].copy()
        return 0, fold(ViewState(), self._store.header)

    def _frame(self, kept: int, stop: int) -> tuple[int, ViewState] | None:
        """Return the keyframe between a kept state and a place, if it saves more than reading it costs."""
        keyed = getattr(self._store, "keyframe_ticks", None)
        if keyed is not None:
            place = bisect_right(keyed, self._store.ticks[stop - 1]) - 1
            if place < 0 or bisect_right(self._store.ticks, keyed[place]) < kept + 8:
                return None
        frame = from_keyframe(self._store, self._store.ticks[stop - 1])
        return frame if frame is not None and kept <= frame[0] <= stop else None


def _size(state: ViewState) -> int:
    """Return what a state takes without its streams' tails, roughly."""
    history = state.history
    return 3 * len(history.acted) + 8 * (len(history.scores) + len(state.notes)) + 4096
