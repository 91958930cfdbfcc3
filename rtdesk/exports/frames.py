"""Frames of the screen from a recording: the scene's own rows, at a tick or as time goes by. Pure but for reading the file.

    film = Film(recording, size=(120, 36), look="dark")
    film.at(40)                          # the whole screen, rows of (text, style)
    film.play(Span(0, 99), fps=8)        # (seconds, rows) of each frame

The player that drives the screen moves through the recording here as well, by a clock of its own, so two exports of one file are equal.
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Iterator

from replays import events as ev
from replays.reader import Replay
from replays.reduce import fold
from replays.view_state import ViewState
from rtdesk.exports import Span
from rtdesk.tui.boards import BoardMaker
from rtdesk.tui.keys import foot_keys
from rtdesk.tui.layout import Layout, arrange
from rtdesk.tui.looks import Look, make_look
from rtdesk.tui.player import ReplaySource
from rtdesk.tui.runs import Row
from rtdesk.tui.scene import scene
from rtdesk.tui.views import Overview, Status, View

__all__ = ["Film", "recorded_rate", "screen_rows"]

SLOWEST_S, FASTEST_S = 20.0, 0.1
"""A tick this long or short was no pace for eyes: a run without a screen, say."""
LOOKED_AT = 200
"""Ticks whose pace is looked at."""


def recorded_rate(recording: Replay) -> float:
    """Return the ticks a second a recording was paced at; 1 where it was not."""
    budget = recording.header.tick_budget_s
    if budget:
        return 1.0 / budget
    begun = [
        event.t_ns for tick in recording.ticks[:LOOKED_AT] for event in recording.events(tick) if isinstance(event, ev.Tick)
    ]
    lengths = [(later - earlier) / 1e9 for earlier, later in itertools.pairwise(begun)]
    usual = statistics.median(lengths) if lengths else 0.0
    return round(1.0 / usual, 3) if FASTEST_S <= usual <= SLOWEST_S else 1.0


class Film:
    """A recording as a row of screens of one size and look."""

    def __init__(self, recording: Replay, *, size: tuple[int, int] = (120, 36), look: str = "dark", rate: float | None = None, game: str | None = None) -> None:
        """`game` is a game the person trusts to draw the board, by name or path."""
        self.recording = recording
        self.look: Look = make_look(look)
        self.size = size
        self.rate = rate if rate is not None else recorded_rate(recording)
        """Ticks a second."""
        self.state = ViewState()
        self._boards = BoardMaker.named(game)
        # In mode live the player does not read the whole file piecemeal by the time it takes; that is done here, at once.
        self._source = ReplaySource(recording, mode="live", playing=False, rate=self.rate)
        self._now_ns = 1
        self._take()
        self.overview = self._whole()

    def _whole(self) -> Overview:
        self._source.command("end")
        self._take()
        history = self.state.history
        for event in self.recording.annotations:
            if isinstance(event, ev.Bookmark):
                history.mark(event.tick, "bookmark")
        ticks = self.recording.last_tick
        return Overview(acted=history.acted, marks=history.marks, scores=tuple(history.scores), ticks=0 if ticks is None else ticks + 1)

    def _take(self, passed_ns: int = 0) -> None:
        self._now_ns += passed_ns
        for item in self._source.poll(self._now_ns):
            if isinstance(item, ViewState):
                self.state = item
            else:
                fold(self.state, item)

    def seek(self, tick: int) -> None:
        """Stand at the end of a tick: everything said and answered, nothing applied yet."""
        self._source.playing = False
        self._source.command("jump", str(tick))
        self._take()

    def at(self, tick: int, share: float = 1.0) -> list[Row]:
        """Return the screen at the end of a tick, or at `share` of it."""
        if share >= 1.0:
            self.seek(tick)
            return self.rows("paused")
        self._source.playing = True
        self._source.command("jump", str(tick))
        self._source.playing = True
        self._take()
        left = share / self.rate
        # The player does not make up for more than a second at once.
        while left > 0:
            self._take(round(min(left, 1.0) * 1e9))
            left -= 1.0
        return self.rows("paused")

    def play(self, span: Span, *, fps: int) -> Iterator[tuple[float, list[Row]]]:
        """Yield (seconds, screen) of each frame from the beginning of the first tick of `span` to the end of its last."""
        source = self._source
        source.playing = True
        source.command("jump", str(span.first))
        source.playing = True
        self._take()
        yield 0.0, self.rows("playing")
        frame = 0
        while source.playing and not source.ended and source.tick <= span.last:
            frame += 1
            # By whole frames from the beginning, so that rounding does not add up.
            self._take(frame * 1_000_000_000 // fps - (frame - 1) * 1_000_000_000 // fps)
            if source.tick > span.last:
                self.seek(span.last)
            yield frame / fps, self.rows("ended" if source.ended else "playing")

    def view(self, play: str = "paused") -> View:
        """Return what the scene is given besides the state."""
        board = self._boards.board(self.state.header, self.state.snapshot)
        told = self._source.status
        status = Status(mode="replay", play=play, rate=self.rate, speed=1.0, at=told.at, t_ns=told.t_ns, ticks=self.overview.ticks, title="")
        return View(status=status, board=board, spec=self._boards.spec, overview=self.overview, keys=foot_keys((), replay=True, paceable=True))

    def layout(self, view: View) -> Layout:
        """Return where the parts stand."""
        header, board = self.state.header, view.board
        backends = header.backends if header is not None else {}
        return arrange(
            *self.size, board.columns if board else 8, board.rows if board else 8, planner="planner" in backends or not backends, reactor="reactor" in backends
        )

    def rows(self, play: str = "paused") -> list[Row]:
        """Return the screen as it stands."""
        view = self.view(play)
        layout = self.layout(view)
        return screen_rows(scene(self.state, view, self.look, layout), layout)


def screen_rows(parts: dict[str, list[Row]], layout: Layout) -> list[Row]:
    """Put the parts of a scene together: one row of runs for each row of the screen."""
    rows: list[Row] = []
    order = sorted(layout.parts.items(), key=lambda item: item[1].x)
    for y in range(layout.height):
        row: Row = ()
        for part, rect in order:
            if rect.y <= y < rect.y + rect.height and rect.width:
                row = (*row, *parts[part][y - rect.y])
        rows.append(row)
    return rows
