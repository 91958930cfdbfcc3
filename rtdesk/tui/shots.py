"""Pictures of the screen as SVG that any viewer draws alike: blanks kept, no font fetched from anywhere."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from textual.app import App

__all__ = ["screen_svg"]

FONTS = "'DejaVu Sans Mono', 'Liberation Mono', Menlo, Consolas, monospace"

_FACE = re.compile(r"@font-face\s*\{.*?\}", re.DOTALL)
_FAMILY = re.compile(r"font-family:\s*[^;]*;")


def screen_svg(app: App[Any], title: str = "rtdesk") -> str:
    """Return the running app's screen as one SVG document. Textual's own drops blanks at the ends of runs and asks the network for its font."""
    svg = app.export_screenshot(title=title)
    svg = _FAMILY.sub(f"font-family: {FONTS};", _FACE.sub("", svg))
    return svg.replace("<svg ", '<svg xml:space="preserve" ', 1)
