"""What stands around the rows: how the parts are placed, the themes of Textual's own dialogs, one run and what is known of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from textual.geometry import Offset, Region, Size, Spacing
from textual.layout import Layout as TextualLayout
from textual.layout import WidgetPlacement
from textual.screen import Screen
from textual.theme import Theme

from replays.reduce import fold
from replays.view_state import ViewState
from rtdesk.tui.boards import BoardMaker
from rtdesk.tui.source import Source

if TYPE_CHECKING:
    from textual.widget import Widget

__all__ = ["THEMES", "DeskScreen", "Run"]

THEMES = {
    name: Theme(
        name=f"desk-{name}",
        primary=palette[0],
        secondary=palette[1],
        background=palette[2],
        surface=palette[2],
        panel=palette[3],
        foreground=palette[4],
        dark=name == "dark",
        # Left to itself Textual mixes a blue black for the palette's ground and a bright bar beside it.
        variables={
            "panel-darken-1": palette[3],
            "scrollbar": palette[5],
            "scrollbar-hover": palette[5],
            "scrollbar-active": palette[0],
            "scrollbar-background": palette[3],
            "scrollbar-background-hover": palette[3],
            "scrollbar-background-active": palette[3],
            "scrollbar-corner-color": palette[3],
            "block-cursor-background": palette[5],
            "block-cursor-foreground": palette[6],
        },
    )
    for name, palette in {
        "dark": ("#6296ff", "#ffd24a", "#0e1218", "#161c25", "#cbd4df", "#2c3542", "#ffffff"),
        "light": ("#17418f", "#8a6d00", "#fbfbf8", "#eceeed", "#222a33", "#c8cdd4", "#000000"),
    }.items()
}


class _DeskLayout(TextualLayout):
    """Puts the six parts where `arrange` says, and the card over them."""

    name = "desk"

    def arrange(self, parent: Widget, children: list[Widget], size: Size, greedy: bool = True) -> list[WidgetPlacement]:
        app: Any = parent.app
        placements = []
        for child in children:
            rect = app.rect_of(child.id or "", size)
            region = Region(rect.x, rect.y, rect.width, rect.height)
            placements.append(WidgetPlacement(region, Offset(0, 0), Spacing(), child, 1 if child.id == "card" else 0))
        return placements


class Run:
    """One source and what has been folded from it."""

    def __init__(self, source: Source, boards: BoardMaker) -> None:
        self.source = source
        self.boards = boards
        self.state = ViewState()
        self.memo: dict[str, Any] = {}

    @property
    def over(self) -> bool:
        """Whether nothing more comes: the episode has ended, or its process has and left no end."""
        return self.state.end is not None or self.source.status.play == "ended"

    def poll(self, now_ns: int) -> tuple[bool, bool]:
        """Fold what is new; return (whether there was anything, whether it starts over)."""
        items = self.source.poll(now_ns)
        over = False
        for item in items:
            if isinstance(item, ViewState):
                self.state, over = item, True
            else:
                fold(self.state, item)
        return bool(items), over


class DeskScreen(Screen[Any]):
    """A screen laid out by the scene's own rule."""

    @property
    def layout(self) -> TextualLayout:
        return _DESK_LAYOUT

    def on_screen_suspend(self) -> None:
        self._tell_app()

    def on_screen_resume(self) -> None:
        self._tell_app()

    def _tell_app(self) -> None:
        """A dialog has come before this screen, or has gone."""
        app: Any = self.app
        app.cover()


_DESK_LAYOUT = _DeskLayout()
