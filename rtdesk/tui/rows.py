"""The one widget: it keeps rows of styled text and repaints those that changed, each over its whole width.

Built for cost: strips are kept and handed to the compositor as they are, past Textual's style cache (a fifth of the cost). The
price is that the app's line filters are applied here, once a strip, and dropped on a change of look.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.segment import Segment
from textual import events
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from replays.clean import width
from rtdesk.tui.runs import Row, columns

__all__ = ["Rows"]


class Rows(Widget, can_focus=False, inherit_css=False):
    """Paints rows; knows nothing of what they mean."""

    ALLOW_SELECT = False

    def __init__(self, name: str) -> None:
        super().__init__(id=name)
        self.part = name
        self._rows: list[Row] = []
        self._strips: list[Strip] = []
        self.changed = 0
        """Rows repainted since start."""

    def show(self, rows: Sequence[Row]) -> int:
        """Show `rows`; return how many of them differ from what is on the screen."""
        old, strips = self._rows, self._strips
        if len(rows) != len(old):
            self._rows = list(rows)
            self._strips = [self._strip(row) for row in rows]
            self.changed += len(rows)
            self.refresh()
            return len(rows)
        dirty: list[Region] = []
        width = self.size.width
        for y, row in enumerate(rows):
            if row is not old[y] and row != old[y]:
                old[y] = row
                strips[y] = self._strip(row)
                dirty.append(Region(0, y, width, 1))
        if dirty:
            self.changed += len(dirty)
            self.refresh(*dirty)
        return len(dirty)

    def drop(self) -> None:
        """Forget everything kept: the look has changed."""
        self._rows, self._strips = [], []

    def text(self) -> list[str]:
        """Return what is on the screen, for tests and screenshots as text."""
        return ["".join(text for text, _ in row) for row in self._rows]

    def _strip(self, row: Row) -> Strip:
        if self.app.ascii_only:  # type: ignore[attr-defined]
            row = tuple((_ascii(text), style) for text, style in row)
        strip = Strip([Segment(text, style) for text, style in row], columns(row))
        for line_filter in self.app.get_line_filters():
            strip = strip.apply_filter(line_filter, self.app.ground)  # type: ignore[attr-defined]
        return strip

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        if y >= len(self._strips):
            return self._strip(((" " * width, self.app.look.base),))  # type: ignore[attr-defined]
        return self._strips[y]

    def render_lines(self, crop: Region) -> list[Strip]:
        left, right = crop.x, crop.right
        strips = []
        for y in range(crop.y, crop.bottom):
            strip = self.render_line(y)
            size = strip.cell_length
            if size < right:
                # A frame drawn while the terminal was being resized: the next one fits.
                strip = strip.extend_cell_length(right, self.app.look.base)  # type: ignore[attr-defined]
            strips.append(strip if left == 0 and right >= size else strip.crop(left, right))
        return strips

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self.app.scroll_part(self.part, -3)  # type: ignore[attr-defined]

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self.app.scroll_part(self.part, 3)  # type: ignore[attr-defined]

    def on_mouse_down(self, event: events.MouseDown) -> None:
        press = getattr(self.app, "press_part", None)
        if press is not None and press(self.part, event.x, event.y):
            event.stop()
            self.capture_mouse()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        if event.button and self.app.mouse_captured is self:
            event.stop()
            self.app.drag_part(self.part, event.x, event.y)  # type: ignore[attr-defined]

    def on_mouse_up(self, event: events.MouseUp) -> None:
        if self.app.mouse_captured is self:
            self.release_mouse()

    def on_click(self, event: events.Click) -> None:
        event.stop()
        self.app.click_part(self.part, event.x, event.y)  # type: ignore[attr-defined]


def _ascii(text: str) -> str:
    """Return `text` for a terminal that is written in ASCII: a question mark a cell for what it cannot show."""
    if text.isascii():
        return text
    return "".join(char if char < "\x80" else "?" * width(char) for char in text)
