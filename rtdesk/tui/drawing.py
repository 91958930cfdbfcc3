"""How the app draws: where its parts stand, what each part shows, and which of them have changed. A mixin of the app.

A part is made anew when what its rows depend on has changed, and a widget compares rows once more before it writes any; so a frame costs
what is new in it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from textual.geometry import Size
from textual.message_pump import MessagePump

from replays.clean import one_line
from replays.view_state import ViewState
from rtdesk.tui.boards import BoardMaker
from rtdesk.tui.cards import card_rect, find_card, help_card, log_card
from rtdesk.tui.keys import foot_keys
from rtdesk.tui.layout import PARTS, Layout, Rect, arrange
from rtdesk.tui.looks import Look
from rtdesk.tui.meter import alarm, window
from rtdesk.tui.person import rules_card
from rtdesk.tui.result import result_card
from rtdesk.tui.rows import Rows
from rtdesk.tui.runs import Row
from rtdesk.tui.scene import PART
from rtdesk.tui.sides import Side, arrange_sides, sides_scene
from rtdesk.tui.source import Source
from rtdesk.tui.stage import Run
from rtdesk.tui.terminal import is_busy
from rtdesk.tui.verdict import match_card
from rtdesk.tui.views import Status, View

__all__ = ["Drawing"]


class Drawing(MessagePump):
    """Needs an app around it that has what is named here."""

    _shown_status: Status | None = None
    _log_due = 0
    _log_shown: Sequence[str] = ()

    if TYPE_CHECKING:
        source: Source
        look: Look
        look_back: bool
        size: Size
        frames: int
        dropped: int
        _sides: list[Run]
        _status: Status
        _timer: bool
        _clock: Callable[[], int]
        _earlier: Callable[[ViewState], list[float]]
        _human: tuple[str, ...]
        _people: int
        _card: str
        _card_rect: Rect
        _notice: str
        _prompts: bool
        _jump: str
        _stale: bool
        _held: int
        _anchors: dict[str, int]
        _parts: dict[str, Rows]
        _drawn: dict[str, Any]
        _arranged: tuple[Any, Layout] | None
        _driver: Any

        @property
        def state(self) -> ViewState: ...

        @property
        def boards(self) -> BoardMaker: ...

        @property
        def _first(self) -> Run: ...

        @property
        def _leading(self) -> Source: ...

    # Where the parts stand.

    def arrangement(self, size: Size | None = None) -> Layout:
        """Return the layout of the screen as it is now, or will be at `size`."""
        if len(self._sides) > 1:
            return self._arrange_sides(size)
        board = self.boards.board(self.state.header, self.state.snapshot)
        header = self.state.header
        planner = header is None or "planner" in header.backends or not header.backends
        reactor = header is None or "reactor" in header.backends
        key = (size or self.size, board.columns if board else 8, board.rows if board else 8, planner, reactor)
        if self._arranged is None or self._arranged[0] != key:
            changed = self._arranged is not None and self._arranged[0][1:] != key[1:]
            width, height = key[0]
            self._arranged = (key, arrange(width, height, key[1], key[2], planner=planner, reactor=reactor))
            if changed:
                self._lay_out()
        return self._arranged[1]

    def _arrange_sides(self, size: Size | None) -> Layout:
        found = [run.boards.board(run.state.header, run.state.snapshot) for run in self._sides]
        boards = tuple((board.columns, board.rows) if board is not None else (8, 8) for board in found)
        key = (size or self.size, boards)
        if self._arranged is None or self._arranged[0] != key:
            width, height = key[0]
            changed = self._arranged is not None and self._arranged[0][1:] != key[1:]
            self._arranged = (key, arrange_sides(width, height, boards))
            if changed:
                self._lay_out()
        return self._arranged[1]

    def _lay_out(self) -> None:
        """Have the parts placed anew. Asked of a part: asked of the screen, Textual keeps the arrangement it has."""
        if self._parts:
            self._parts["head"].refresh(layout=True)

    def rect_of(self, part: str, size: Size) -> Rect:
        if part == "card":
            return self._card_rect
        return self.arrangement(size).parts.get(part, Rect(0, 0, 0, 0))

    # A frame.

    def draw(self, *, force: bool = False) -> bool:
        """Draw a frame if there is something new and the terminal has taken the last one; return whether one was drawn."""
        status = self._status if self._timer else self._leading.status
        self._status = status
        if not force and not self._stale and self._shown_status == status:
            return False
        if not force and is_busy(self._driver):
            self.dropped += 1
            self._held += 1
            self._stale = True
            return False
        view = self._view(self._first, status if self._leading is self.source else self.source.status)
        layout = self.arrangement()
        if len(self._sides) > 1:
            self._draw_sides(view, layout)
        else:
            for part in PARTS:
                self._draw_part(part, view, layout, force)
        if self._card:
            self._draw_card(view, layout)
        self._stale, self._shown_status = False, status
        self._held = max(0, self._held - 1)
        self.frames += 1
        return True

    def _draw_sides(self, view: View, layout: Layout) -> None:
        for part, rows in sides_scene(self._all_sides(view), self.look, layout).items():
            if rows:
                self._parts[part].show(rows)

    def _all_sides(self, view: View) -> list[Side]:
        return [Side(run.state, view if run is self._first else self._view(run, run.source.status)) for run in self._sides]

    def _draw_part(self, part: str, view: View, layout: Layout, force: bool) -> None:
        rect = layout.parts[part]
        if rect.height == 0:
            return
        key = self._key(part, view, rect)
        if not force and key is not None and self._drawn.get(part) == key:
            return
        self._drawn[part] = key
        self._parts[part].show(PART[part](self.state, view, self.look, layout))

    def _key(self, part: str, view: View, rect: Rect) -> Any:
        """Return what a part's rows depend on where that is cheaper to compare than the rows are to make; None if it is not."""
        state = self.state
        if part == "head":
            return (rect, state.header is None, state.tick, view.status.play, view.status.rate, view.status.speed, view.status.count, view.jump, state.end is None)
        if part == "foot":
            return (rect, view.notice, view.keys)
        if part == "rail":
            # Tokens of this tick are counted on, but only where there is somebody who thinks.
            counts = tuple((stream.total_tokens, stream.tick_tokens, stream.running) for stream in (state.planner, state.reactor))
            return (rect, state.header is None, state.tick, state.noted, counts, state.tick_budget, state.reactive_budget)
        if part == "left":
            span = window(state, view)
            loud = alarm(state, span.share if span is not None else 0.0)
            # The pace is rounded, so that its last digit does not repaint the column every frame.
            pace = tuple(f"{value:.0e}" if value is not None else "" for stream in (state.planner, state.reactor) for value in (stream.tpot_s, stream.ttft_s))
            return (
                rect, id(view.board), state.tick, id(state.answer), id(state.last), id(state.pins.best), state.holds, state.key, state.partner_key, view.status.count, state.steps, state.noted, loud, pace, view.dropped, state.defaults, state.late, state.faults,
            )  # fmt: skip
        return None

    def _view(self, run: Run, status: Status) -> View:
        board = run.boards.board(run.state.header, run.state.snapshot)
        replay = status.mode == "replay"
        notice = self._notice or one_line(status.note, 200) or (run.boards.why if board is None and run.state.snapshot else "")
        return View(
            status=status,
            board=board,
            spec=run.boards.spec,
            overview=run.source.overview,
            anchors=self._anchors,
            notice=notice,
            prompts=self._prompts,
            keys=foot_keys(self._human, replay=replay, paceable=status.paceable, people=self._people),
            jump=self._jump,
            memo=run.memo,
            dropped=self.dropped if self._held > 5 else 0,
        )

    def screen_text(self) -> list[str]:
        """Return the screen as text, row by row, for tests and pictures as text."""
        layout = self.arrangement()
        grid = [[" "] * layout.width for _ in range(layout.height)]
        for part, rect in (*layout.parts.items(), *([("card", self._card_rect)] if self._card else [])):
            for y, line in enumerate(self._parts[part].text()[: rect.height]):
                column = rect.x
                for char in line:
                    if rect.y + y < layout.height and column < layout.width:
                        grid[rect.y + y][column] = char
                    column += 1
        return ["".join(row) for row in grid]

    # Cards.

    def _draw_card(self, view: View, layout: Layout) -> None:
        room = layout.parts["planner"].height + layout.parts["reactor"].height
        width = card_rect(layout, self._card, 1).width
        rows: list[Row] = []
        if layout.small:
            pass
        elif self._card == "help":
            rows = help_card(self.state, view, self.look, width)
        elif self._card == "rules":
            rows = rules_card(self.state, view, self.look, width)
        elif self._card == "find":
            rows = find_card(view, self.look, width)
        elif self._card == "result" and len(self._sides) > 1:
            width = card_rect(layout, "match", 1).width
            rows = match_card(self._all_sides(view), self.look, width, layout.parts["left"].height, look_back=self.look_back)
        elif self._card == "result":
            rows = result_card(self.state, view, self.look, width, self._earlier(self.state), room=layout.parts["left"].height, look_back=self.look_back)
        elif self._card == "log":
            rows = log_card(self._log_lines(), self.look, card_rect(layout, "log", room).width, card_rect(layout, "log", room).height)
        kind = "match" if self._card == "result" and len(self._sides) > 1 else self._card
        rect = card_rect(layout, kind, len(rows)) if rows else Rect(0, 0, 0, 0)
        self._place_card(rect)
        self._parts["card"].show(rows[: rect.height])

    def _place_card(self, rect: Rect) -> None:
        if rect != self._card_rect:
            self._card_rect = rect
            self._lay_out()

    def _log_lines(self) -> Sequence[str]:
        # A live desk reads them from a file: twice a second is enough.
        now = self._clock()
        if now >= self._log_due:
            self._log_shown, self._log_due = self.source.log_lines(), now + 500_000_000
        return self._log_shown
