"""From rings to the log: the canonical order of a tick, and frames of tokens merged into token events.

One pure function orders a tick, shared by the recorder and the simulator: the game's events from before `action`; then the
planner's and the reactor's by (at, planner first, ring sequence); then `action` and `step`. Token frames are merged first,
each run in the place of its first frame, and only then is `seq` given. Source: spec/token-clock section 3.
"""

from __future__ import annotations

from collections import deque

import msgspec

from replays import events as ev
from workers.rings import KIND_CHUNK, KIND_EVENT, Frame
from workers.wire import Piece, read_event, read_piece

__all__ = ["Merger", "merge_tokens", "order_tick"]

Item = ev.AnyEvent | Piece


def merge_tokens(stream: str, items: list[Item], *, guidance_at: int | None, reactor_ns: int | None) -> list[tuple[int, ev.AnyEvent]]:
    """Return (sort key, event) in ring order: consecutive pieces of one generation, channel and window become one event.

    The key is the `at` of the event or of the run's first token; in wall time (no `at`) it is the arrival in nanoseconds.
    """
    out: list[tuple[int, ev.AnyEvent]] = []
    run: list[Piece] = []

    def beyond(piece: Piece) -> bool:
        if piece.at:
            return guidance_at is not None and piece.at > guidance_at
        return reactor_ns is not None and piece.t_ns > reactor_ns

    def close() -> None:
        if not run:
            return
        first = run[0]
        token = ev.Token(
            tick=first.tick,
            t_ns=first.t_ns,
            at=first.at or None,
            stream=stream,
            generation=first.generation,
            channel=first.channel,
            text="".join(piece.text for piece in run),
            lens=[length for piece in run for length in piece.lens],
            meas={"arrivals": [[len(piece.lens), piece.t_ns] for piece in run]},
        )
        out.append((first.at or first.t_ns, token))
        run.clear()

    for item in items:
        if isinstance(item, Piece):
            if run and (run[0].generation, run[0].channel, beyond(run[0])) != (item.generation, item.channel, beyond(item)):
                close()
            run.append(item)
        else:
            close()
            out.append((item.t_ns if item.at is None else item.at, item))
    close()
    return out


def order_tick(game: list[Item], planner: list[Item], reactor: list[Item]) -> list[ev.AnyEvent]:
    """Return one tick's events in canonical order, `seq` not yet given."""
    before: list[ev.AnyEvent] = []
    after: list[ev.AnyEvent] = []
    guidance_at = reactor_ns = None
    for item in game:
        if isinstance(item, Piece):
            continue
        if isinstance(item, ev.Tick):
            guidance_at, reactor_ns = item.guidance_at, item.reactor_ns
        (after if after or isinstance(item, ev.Action) else before).append(item)
    thinkers = [
        (at, rank, place, event)
        for rank, (name, items) in enumerate((("planner", planner), ("reactor", reactor)))
        for place, (at, event) in enumerate(merge_tokens(name, items, guidance_at=guidance_at, reactor_ns=reactor_ns))
    ]
    thinkers.sort(key=lambda row: row[:3])
    return [*before, *(row[3] for row in thinkers), *after]


class Merger:
    """Holds frames until their tick commits. `streams` are fed in ring order: game, planner, reactor."""

    def __init__(self, *, seq: int = 0) -> None:
        self._held: dict[str, deque[tuple[int, Item]]] = {"game": deque(), "planner": deque(), "reactor": deque()}
        self._seq = seq

    def feed(self, stream: str, frame: Frame) -> Item | None:
        """Take one frame; control messages are not kept. Returns the item, so the caller sees steps and ends go by."""
        if frame.kind == KIND_CHUNK:
            item: Item = read_piece(frame)
        elif frame.kind == KIND_EVENT:
            item = read_event(frame)
        else:
            return None
        self._held[stream].append((frame.tick, item))
        return item

    def commit(self, tick: int) -> list[ev.AnyEvent]:
        """Return the events of `tick` in order, with `seq`. What belongs to a later tick stays; in wall time what came late is taken along."""
        taken: dict[str, list[Item]] = {}
        for name, held in self._held.items():
            items: list[Item] = []
            while held and held[0][0] <= tick:
                items.append(held.popleft()[1])
            taken[name] = items
        events: list[ev.AnyEvent] = [event for event in order_tick(taken["game"], taken["planner"], taken["reactor"]) if not isinstance(event, ev.Episode | ev.End)]
        for event in events:
            msgspec.structs.force_setattr(event, "seq", self.next_seq())
            if event.tick != tick:
                msgspec.structs.force_setattr(event, "tick", tick)
        return events

    def next_seq(self) -> int:
        self._seq += 1
        return self._seq - 1
