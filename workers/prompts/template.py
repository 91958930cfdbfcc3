"""A prompt's template: text with named placeholders, checked once, and filled with parts for every generation."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from replays import events as ev
from workers.errors import ConfigError
from workers.plugins import unknown

__all__ = ["FIXED", "MOVING", "Layout", "Template", "default_templates", "read_folder"]

FIXED = ("game", "rules", "actions", "default_action", "tick_budget", "reader", "notes", "line", "marks", "advice", "glance", "view")
"""Placeholders that mean the same in the whole episode."""
MOVING = {
    "planner": ("turn", "next_turn", "observation", "memory"),
    "reactor": ("turn", "next_turn", "observation", "guidance", "reactive_budget"),
}
"""Placeholders of each role that mean something else in every generation; `reactive_budget` only where N_TR moves."""
_ALSO = {"planner": ("reactive_budget",), "reactor": ()}
FILES = {"planner": "planner", "reactor": "reactor", "coder": "planner"}
"""Files of a folder of prompts, without their ending, and whose template each is: a planner that writes programs has one of its own."""
_PLACEHOLDER = re.compile(r"\{([a-z][a-z_]*)\}")
_MAX_BYTES = 1 << 16

Piece = str | ev.Part


class Hole(NamedTuple):
    """A placeholder, or, with no name, a stretch of literal text."""

    name: str
    start: int
    """Byte offsets in the template's UTF-8."""
    upto: int
    alone: bool = False
    """It stands on a line of its own; the line end and the blank lines behind it go with it when it is empty."""
    after: int = 0
    """Where the text goes on if it is empty."""


class Template:
    """One role's template. Raises ConfigError, one sentence that names the place, for a placeholder nobody knows."""

    def __init__(self, text: str, *, role: str, given: str = "") -> None:
        self.text = text
        known = (*FIXED, *MOVING[role], *_ALSO[role])
        self.holes: list[Hole] = []
        for match in _PLACEHOLDER.finditer(text):
            start, end = match.span()
            if text[:start].endswith("\\boxed"):
                continue
            name = match[1]
            if name not in known:
                line = text.count("\n", 0, start) + 1
                raise unknown(f"placeholder in {given or role + '.txt'}, line {line}:", name, list(known))
            begins = start == 0 or text[start - 1] == "\n"
            rest = re.compile(r"\n+").match(text, end)
            alone = begins and (rest is not None or end == len(text))
            first, last = len(text[:start].encode()), len(text[:end].encode())
            self.holes.append(Hole(name, first, last, alone, last + (len(rest[0]) if rest is not None else 0)))

    @property
    def names(self) -> list[str]:
        """The placeholders, in order."""
        return [hole.name for hole in self.holes]


class Layout:
    """A template ready to be filled for one generation after the other. Built from a header's texts alone."""

    def __init__(self, texts: Mapping[str, str], role: str) -> None:
        template = Template(texts[role], role=role)
        size = len(template.text.encode())
        self._pieces: list[Piece | tuple[str, int, int]] = []
        at = 0
        for hole in template.holes:
            if hole.start > at:
                self._pieces.append(ev.Part(text=role, start=at, upto=hole.start))
            at = hole.upto
            if hole.name not in texts:
                # What moves; what stands behind it depends on whether it says anything.
                self._pieces.append((hole.name, hole.upto if hole.alone else 0, hole.after))
            elif texts[hole.name]:
                self._pieces.append(ev.Part(text=hole.name))
            elif hole.alone:
                at = hole.after
        if size > at:
            self._pieces.append(ev.Part(text=role, start=at, upto=size))

    def fill(self, turn: int, *, memory: Sequence[Piece] = (), guidance: Sequence[Piece] = (), reactive_budget: str = "") -> list[Piece]:
        """Return the parts of the prompt of one generation, begun at `turn`; guidance and memory as parts, empty for none."""
        values: dict[str, Sequence[Piece]] = {
            "turn": (str(turn),),
            "next_turn": (str(turn + 1),),
            "observation": (ev.Part(obs=turn),),
            "memory": memory,
            "guidance": guidance,
            "reactive_budget": (reactive_budget,),
        }
        out: list[Piece] = []
        skip = 0
        for piece in self._pieces:
            if isinstance(piece, tuple):
                name, begin, after = piece
                said = values[name]
                out.extend(said)
                skip = after if begin and not said else 0
            elif skip and isinstance(piece, ev.Part):
                if piece.upto > skip:
                    out.append(ev.Part(text=piece.text, start=max(skip, piece.start), upto=piece.upto))
                skip = 0
            else:
                out.append(piece)
        return out


def default_templates() -> dict[str, str]:
    """Return our own templates by role."""
    return {role: (Path(__file__).parent / f"{role}.txt").read_text(encoding="utf-8") for role in MOVING}


def read_folder(folder: str) -> dict[str, str]:
    """Return the templates of a folder by their files' names without ending; any of FILES. Raises ConfigError, one sentence."""
    place = Path(folder).expanduser()
    names = [f"{name}.txt" for name in FILES]
    if not place.is_dir():
        raise ConfigError(f"prompts folder {folder!r} is no folder; give one that holds {' or '.join(names[:2])}")
    if strange := sorted(path.name for path in place.glob("*.txt") if path.name not in names):
        raise unknown(f"prompt in {folder}:", strange[0], names)
    out = {}
    for name, role in FILES.items():
        path = place / f"{name}.txt"
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            continue
        except OSError as error:
            raise ConfigError(f"{path}: cannot be read ({error.strerror}); check its permissions") from None
        out[name] = _checked(data, role, str(path))
    if not out:
        raise ConfigError(f"prompts folder {folder!r} is empty; give one that holds {' or '.join(names[:2])}")
    return out


def _checked(data: bytes, role: str, given: str) -> str:
    if len(data) > _MAX_BYTES:
        raise ConfigError(f"{given}: has {len(data)} bytes, and a prompt may have {_MAX_BYTES}; shorten it")
    try:
        text = data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{given}: no UTF-8 from byte {error.start} on; save it as UTF-8") from None
    names = Template(text, role=role, given=given).names
    if "observation" not in names:
        raise ConfigError(f"{given}: has no {{observation}}, so the {role} would not see the board; put it where the board belongs")
    return text
