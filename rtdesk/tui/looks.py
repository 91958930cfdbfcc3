"""Looks: every colour and sign the screen uses, as Rich styles made once.

Four of them: `dark`, `light`, `ansi` (named colours on the terminal's own background) and `mono` (no colour at all, which is
also what NO_COLOR gives). One colour per voice, everywhere: planner, reactor, person, default action. Nothing else takes a
voice's colour, and nothing depends on colour alone: chips are reversed, walls are hatched without colour, heads carry eyes.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import lru_cache

from rich.style import Style

__all__ = ["LOOKS", "STRATEGY", "VOICES", "Look", "Signs", "contrast", "look_for", "make_look", "mix"]

VOICES = ("planner", "reactor", "person", "default")

# Strategy -> (letter, colour key); the letters are those of steered runs everywhere.
STRATEGY = {
    "understand": "U",
    "plan": "P",
    "explore": "X",
    "execute": "E",
    "check": "C",
    "summarize": "S",
    "conclude": "F",
}

_PALETTES: dict[str, dict[str, str]] = {
    "dark": {
        "bg": "#0e1218", "check": "#141a23", "panel": "#161c25", "rule": "#2c3542", "faint": "#677384", "dim": "#8d99a8", "text": "#cbd4df", "bright": "#ffffff",
        "planner": "#6296ff", "reactor": "#ffd24a", "person": "#3df0d0", "default": "#f5494b", "ink": "#0b0e13",
        "wall": "#252d39", "wall2": "#1c232d", "block": "#465263", "head": "#ffffff", "body": "#c3cfdd", "tail": "#6f7c8d", "goal": "#8fd16a", "hazard": "#b98d74",
        "hazard2": "#8c6a58", "item": "#e8e2d0", "tool": "#5a6678", "player": "#f4f7fb", "partner": "#9a8fb5", "kerb": "#2b3340", "road": "#0f141b", "plot": "#9fb0c3",
        "s_understand": "#8fb4ff", "s_plan": "#6296ff", "s_explore": "#7fd6c2", "s_execute": "#a6b3c2", "s_check": "#d9b3ff", "s_summarize": "#c8cf8a", "s_conclude": "#ffffff",
    },
    "light": {
        "bg": "#fbfbf8", "check": "#f3f4f1", "panel": "#eceeed", "rule": "#c8cdd4", "faint": "#788290", "dim": "#5b6570", "text": "#222a33", "bright": "#000000",
        "planner": "#17418f", "reactor": "#8a6d00", "person": "#0a8279", "default": "#7e0a1c", "ink": "#ffffff",
        "wall": "#d3d8de", "wall2": "#e2e5e9", "block": "#9aa4b0", "head": "#11161c", "body": "#47525f", "tail": "#9aa5b1", "goal": "#3f8a2c", "hazard": "#9c6a4c",
        "hazard2": "#c09a84", "item": "#6e6038", "tool": "#a7b0bc", "player": "#11161c", "partner": "#6d5f8d", "kerb": "#d3d8de", "road": "#f1f2f0", "plot": "#5c6a7a",
        "s_understand": "#3f66ad", "s_plan": "#17418f", "s_explore": "#1d7d6b", "s_execute": "#56616e", "s_check": "#6f43a3", "s_summarize": "#6a6f1d", "s_conclude": "#000000",
    },
    "ansi": {
        "bg": "default", "check": "default", "panel": "default", "rule": "bright_black", "faint": "bright_black", "dim": "bright_black", "text": "default",
        "bright": "default", "planner": "bright_blue", "reactor": "bright_yellow", "person": "bright_cyan", "default": "bright_red", "ink": "black",
        "wall": "bright_black", "wall2": "bright_black", "block": "white", "head": "bright_white", "body": "white", "tail": "white", "goal": "bright_green", "hazard": "magenta",
        "hazard2": "magenta", "item": "white", "tool": "bright_black", "player": "bright_white", "partner": "magenta", "kerb": "bright_black", "road": "default", "plot": "white",
        "s_understand": "bright_blue", "s_plan": "blue", "s_explore": "cyan", "s_execute": "white", "s_check": "magenta", "s_summarize": "green", "s_conclude": "bright_white",
    },
    "mono": {},
}  # fmt: skip


class Signs:
    """The signs of a look: drawn ones, or ASCII where the terminal may draw them two cells wide."""

    __slots__ = (
        "arrows", "ascii", "bar", "bars", "block", "bullet", "cursor", "diamond", "dot", "down", "ellipsis", "hollow", "line", "lower", "marks", "parts", "pause", "play", "shade", "slow", "thick", "up", "upper",
        "wait",
    )  # fmt: skip

    def __init__(self, ascii: bool) -> None:
        self.ascii = ascii
        self.line = "-" if ascii else "─"
        self.thick = "=" if ascii else "━"
        self.bar = "|" if ascii else "▌"
        self.block = "#" if ascii else "█"
        self.shade = ":" if ascii else "▒"
        self.dot = "." if ascii else "·"
        self.bullet = "*" if ascii else "●"
        self.diamond = "+" if ascii else "◆"
        self.hollow = "o" if ascii else "◇"
        self.up = "^" if ascii else "▲"
        self.down = "v" if ascii else "▼"
        self.ellipsis = "..." if ascii else "…"
        self.cursor = "_" if ascii else "▌"
        self.upper = "'" if ascii else "▀"
        self.lower = "," if ascii else "▄"
        self.parts = ("", "", "", "", "", "", "", "") if ascii else ("", "▏", "▎", "▍", "▌", "▋", "▊", "▉")
        self.bars = " .:-=+*#" if ascii else " ▁▂▃▄▅▆▇█"
        self.arrows = {"L": "<", "R": ">", "U": "^", "D": "v"} if ascii else {"L": "◀", "R": "▶", "U": "▲", "D": "▼"}
        self.play = ">" if ascii else "▶"
        self.pause = "=" if ascii else "‖"
        self.slow = "~" if ascii else "≈"
        self.wait = "..." if ascii else "…"
        self.marks = (
            {"score": "*", "died": "x", "reset": "<", "default": "!", "late": "l", "fault": "#", "bookmark": "b", "stale": "~", "cap": "|", "plan": "o"}
            if ascii
            else {"score": "✱", "died": "✕", "reset": "↺", "default": "!", "late": "»", "fault": "‼", "bookmark": "⚑", "stale": "~", "cap": "┤", "plan": "∘"}
        )


class Look:
    """Styles by word. `paint(fg, bg)` gives the style of two palette words, for boards and meters."""

    def __init__(self, name: str, palette: Mapping[str, str], ascii: bool = False) -> None:
        self.name = name
        self.palette = dict(palette)
        self.signs = Signs(ascii)
        self.colour = bool(palette)
        self.rgb = self.colour and palette["bg"].startswith("#")
        self._paint = lru_cache(maxsize=2048)(self._make)
        style = self.style
        self.base = style("text")
        self.text = style("text")
        self.soft = style("text", mix=("bg", 0.22)) if self.rgb else style("text")
        self.bright = style("bright", bold=True)
        self.dim = style("dim", dim=not self.colour)
        self.faint = style("faint", dim=not self.colour)
        self.rule = style("rule", dim=not self.colour)
        self.brand = style("bg", "bright", bold=True) if self.rgb else Style(reverse=True, bold=True)
        self.key = style("bright", bold=True)
        self.plot = style("plot")
        self.notice = style("ink", "text", bold=True) if self.rgb else Style(reverse=True, bold=True)
        self.voice = {voice: style(voice) for voice in VOICES}
        self.strong = {voice: style(voice, bold=True) for voice in VOICES}
        self.chip = {voice: style("ink", voice, bold=True) if self.colour else Style(reverse=True, bold=True) for voice in VOICES}
        self.chip[""] = style("bg", "dim", bold=True) if self.rgb else Style(reverse=True)
        for table in (self.voice, self.strong):
            table[""] = self.text
        self.found = style("person", bold=True, underline=True)
        """Words looked for, where they stand; the one that was gone to is a chip."""
        self.segment = {name: style(f"s_{name}") for name in STRATEGY} if self.colour else {name: Style() for name in STRATEGY}

    def style(
        self, fg: str, bg: str = "bg", *, bold: bool = False, dim: bool = False, underline: bool = False, mix: tuple[str, float] | None = None
    ) -> Style:
        """Return the style of two palette words; without colour only weight is left."""
        if not self.colour:
            return Style(bold=bold or None, dim=dim or None, underline=underline or None)
        front = self.palette[fg]
        if mix is not None:
            front = _blend(front, self.palette[mix[0]], mix[1])
        return Style(color=front, bgcolor=self.palette[bg], bold=bold or None, underline=underline or None)

    def paint(self, fg: str | None, bg: str | None, bold: bool = False) -> Style:
        """Return the style of two colours, each a palette word, `word:word:percent` for a blend, or None for the background."""
        return self._paint(fg, bg, bold)

    def _make(self, fg: str | None, bg: str | None, bold: bool) -> Style:
        if not self.colour:
            return Style(bold=bold or None, reverse=True if bg == "reverse" else None)
        return Style(color=self.value(fg or "bg"), bgcolor=self.value(bg or "bg"), bold=bold or None)

    def value(self, word: str) -> str:
        """Return the colour a word names: `#rrggbb`, or a terminal colour's name."""
        if ":" in word:
            one, other, percent = word.split(":")
            return _blend(self.palette[one], self.palette[other], int(percent) / 100)
        return self.palette[word]


def mix(one: str, other: str, share: float) -> str:
    """Return the word of a blend, `share` of it `other`, in steps of five percent (few styles, all cached)."""
    return f"{one}:{other}:{round(share * 20) * 5}"


def _blend(one: str, other: str, share: float) -> str:
    if not (one.startswith("#") and other.startswith("#")):
        return one if share < 0.75 else other
    parts = [round(int(one[i : i + 2], 16) * (1 - share) + int(other[i : i + 2], 16) * share) for i in (1, 3, 5)]
    return "#" + "".join(f"{part:02x}" for part in parts)


@lru_cache(maxsize=16)
def make_look(name: str, ascii: bool = False) -> Look:
    """Return the look called `name`. Raises ValueError for an unknown one."""
    if name not in _PALETTES:
        raise ValueError(f"unknown look {name!r}: expected one of {', '.join(_PALETTES)}; try --look dark")
    return Look(name, _PALETTES[name], ascii)


LOOKS = tuple(_PALETTES)


def look_for(environ: Mapping[str, str] | None = None) -> str:
    """Return the look a terminal gets unasked: `mono` under NO_COLOR or a terminal without colour, `ansi` below 256 colours, else `dark`."""
    environ = os.environ if environ is None else environ
    if environ.get("NO_COLOR") is not None:
        return "mono"
    term = environ.get("TERM", "")
    if term in ("", "dumb", "vt100", "vt102", "vt220", "linux-m", "xterm-mono", "screen-m"):
        return "mono"
    if environ.get("COLORTERM", "").lower() in ("truecolor", "24bit") or "256color" in term or "direct" in term or "kitty" in term:
        return "dark"
    return "ansi"


def contrast(one: str, other: str) -> float:
    """Return the WCAG 2 contrast ratio of two `#rrggbb` colours, 1 to 21."""
    bright, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


def _luminance(colour: str) -> float:
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
