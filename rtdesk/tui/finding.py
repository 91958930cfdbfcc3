"""Finding a place in a recording by what happened or was said there. A mixin of the player, which knows how to go there."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from rtdesk.tui.search import Hit, Search
from rtdesk.tui.survey import Survey
from rtdesk.tui.ticks import TickStore
from rtdesk.tui.views import Overview

if TYPE_CHECKING:
    from rtdesk.tui.released import TickPlay

__all__ = ["Finding"]


class Finding:
    """Needs a player around it that has what is named here."""

    if TYPE_CHECKING:
        store: TickStore
        ticks: Sequence[int]
        playing: bool
        survey: Survey
        search: Search | None
        _play: TickPlay
        _wanted: int

        @property
        def tick(self) -> int: ...

        def _jump(self, place: int, share: float, *, last: bool = True) -> None: ...

    _hits_key: tuple[int, str, int] | None = None
    _hits: Overview

    def _find(self, value: str) -> str:
        back, kind = value.startswith("-"), value.removeprefix("-")
        if self.survey.overview is None:
            return "still reading the recording"
        tick = self.survey.find(kind, self.tick, back=back)
        if tick is None:
            return f"no {kind or 'event'} {'before' if back else 'after'} tick {self.tick}"
        self.playing = False
        self._jump(bisect_left(self.ticks, tick), 1.0)
        found = self.survey.kinds(tick)
        notes = self.survey.bookmarks.get(tick, [])
        words = kind or ", ".join(sorted(found))
        return f"tick {tick}: {words}" + (f", {notes[-1]}" if kind == "bookmark" and notes and notes[-1] else "")

    def _search(self, what: str, value: str) -> str:
        if what == "search":
            if not value:
                self.search, self._wanted = None, 0
                return ""
            self.search = Search(self.store, value, tick=self.tick)
            self._wanted = 1
        elif self.search is None:
            return "no search yet: / looks for words in what was said"
        else:
            self._wanted = -1 if value.startswith("-") else 1
        self.playing = False
        self._arrive()
        return ""

    def _arrive(self) -> None:
        """Go to the hit that is wanted, once it is known which one it is."""
        search = self.search
        if search is None or not self._wanted:
            return
        tick, share = self.tick, self._play.share
        hit: Hit | None
        if search.done and search.hits:
            # At the end it goes on at the beginning, and the other way round.
            hit = (search.after(tick, share) or search.hits[0]) if self._wanted > 0 else (search.before(tick, share) or search.hits[-1])
        else:
            hit = search.surely_after(tick, share) if self._wanted > 0 else None
        if hit is not None:
            self._jump(bisect_left(self.ticks, hit.tick), hit.share, last=False)
        if hit is not None or search.done:
            self._wanted = 0

    def found(self) -> str:
        """Return how a search stands, in a few words; empty while there is none."""
        search = self.search
        if search is None:
            return ""
        count = f"{len(search.hits):,}{'+' if search.full else ''}"
        here = search.at(self.tick, self._play.share)
        read = "" if search.done else f", {search.progress:.0%} read"
        if here is not None:
            return f"hit {search.number(here):,} of {count} in {here.stream}{read}"
        return f"{count} hit{'' if len(search.hits) == 1 else 's'}{read}" if search.hits or not search.done else "not found"

    def _with_hits(self, found: Overview) -> Overview:
        search = self.search
        assert search is not None
        key = (id(found), search.query, len(search.ticks))
        if self._hits_key != key:
            self._hits_key, self._hits = key, msgspec.structs.replace(found, hits=frozenset(search.ticks))
        return self._hits
