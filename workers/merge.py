"""From rings to the log: the canonical order of a tick, and frames of tokens merged into token events.

One pure function orders a tick, shared by the recorder and the simulator: the game's events from before `action`; then the
planner's and the reactor's by (at, planner first, ring sequence); then `action` and `step`. Token frames are merged first,
each run in the place of its first frame, and only then is `seq` given. Source: docs/design.md, Events.
"""

from __future__ import annotations

from collections import deque
from itertools import chain

import msgspec

from replays import events as ev
from workers.rings import KIND_CHUNK, KIND_EVENT, Frame
from workers.wire import Piece, read_event, read_piece

__all__ = ["Merger", "merge_tokens", "order_tick"]

Item = ev.AnyEvent | Piece


def merge_tokens(stream: str, items: list[Item], *, guidance_at: int | None, reactor_ns: int | None) -> list[tuple[int, ev.AnyEvent]]:
    """Return (sort key, event) in ring order: pieces of one generation, channel and window that follow each other become one event.

    The key is the `at` of the event or of the run's first token; in wall time (no `at`) it is the arrival in nanoseconds.
    """
    out: list[tuple[int, ev.AnyEvent]] = []
    run: list[Piece] = []

    def beyond(piece: Piece) -> bool:
        if piece.at:
            return guidance_at is not None and piece.at > guidance_at
        return reactor_ns is not None and piece.t_ns > reactor_ns

    def follows(piece: Piece) -> bool:
        last = run[-1]
        if (last.generation, last.channel, beyond(last)) != (piece.generation, piece.channel, beyond(piece)):
            return False
        return not piece.at or piece.at == last.at + len(last.lens)

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
            lens=list(chain.from_iterable([piece.lens for piece in run])),
            meas={"arrivals": [[len(piece.lens), piece.t_ns] for piece in run]},
        )
        out.append((first.at or first.t_ns, token))
        run.clear()

    for item in items:
        if isinstance(item, Piece):
            if run and not follows(item):
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
    """Holds what came until its tick commits, and numbers it. Streams are game, planner, reactor; each is fed in ring order."""

    def __init__(self, *, seq: int = 0) -> None:
        self._held: dict[str, deque[tuple[int, Item]]] = {"game": deque(), "planner": deque(), "reactor": deque()}
        self._seq = seq

    def feed(self, stream: str, frame: Frame) -> Item | None:
        """Take one frame; control messages are not kept, and neither are header and end, which stand outside the ticks.

        Returns the item, so the caller sees headers, steps and ends go by.
        """
        if frame.kind == KIND_CHUNK:
            item: Item = read_piece(frame)
        elif frame.kind == KIND_EVENT:
            item = read_event(frame)
        else:
            return None
        if not isinstance(item, ev.Episode | ev.End):
            self._held[stream].append((frame.tick, item))
        return item

    def commit(self, tick: int) -> list[ev.AnyEvent]:
        """Return the events of `tick` in order, with `seq`. What belongs to a later tick stays; what came too late for its own is taken along."""
        events = order_tick(*(self._take(name, tick) for name in ("game", "planner", "reactor")))
        for event in events:
            self.number(event)
            if event.tick != tick:
                msgspec.structs.force_setattr(event, "tick", tick)
        return events

    def uncommitted(self, before: int | None = None) -> list[int]:
        """Return the ticks of which something is held, in order; only those below `before` if it is given."""
        ticks = {tick for held in self._held.values() for tick, _ in held}
        return sorted(tick for tick in ticks if before is None or tick < before)

    def drop(self, tick: int) -> None:
        """Forget what is held up to and including `tick`: it is in the file already."""
        for name in self._held:
            self._take(name, tick)

    def restart(self, seq: int) -> None:
        """Number from `seq` on."""
        self._seq = seq

    def number(self, event: ev.Event) -> None:
        """Give an event of one's own its place in the file."""
        msgspec.structs.force_setattr(event, "seq", self._seq)
        self._seq += 1

    def _take(self, stream: str, tick: int) -> list[Item]:
        held = self._held[stream]
        items: list[Item] = []
        while held and held[0][0] <= tick:
            items.append(held.popleft()[1])
        return items
