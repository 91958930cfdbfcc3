"""Where two plain values first differ; shared by `verify` and `diff`."""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = ["Missing", "Parting", "brief", "first_parting", "text_parting"]


class _Missing:
    def __repr__(self) -> str:
        return "nothing"


Missing = _Missing()
"""Stands for what one side does not have."""


class Parting(NamedTuple):
    """The first place two values differ."""

    path: str
    """Such as `snake[2][0]`; empty where the values themselves differ."""
    a: Any
    b: Any


def first_parting(a: Any, b: Any, path: str = "") -> Parting | None:
    """Return the first place two plain values differ, None if they are equal.

    Dicts are compared in `a`'s order, then for what only `b` has. A whole number equals the float of its value, NaN equals NaN, and
    no number equals a bool.
    """
    if isinstance(a, dict) and isinstance(b, dict):
        for key, value in a.items():
            found = first_parting(value, b.get(key, Missing), f"{path}.{key}" if path else str(key))
            if found is not None:
                return found
        for key, value in b.items():
            if key not in a:
                return Parting(f"{path}.{key}" if path else str(key), Missing, value)
        return None
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        for i in range(max(len(a), len(b))):
            one, other = (side[i] if i < len(side) else Missing for side in (a, b))
            found = first_parting(one, other, f"{path}[{i}]")
            if found is not None:
                return found
        return None
    if isinstance(a, bool) == isinstance(b, bool) and (a == b or (a != a and b != b)):
        return None
    return Parting(path, a, b)


def text_parting(a: str, b: str, path: str) -> Parting | None:
    """Return where two texts part, with some characters of each from there on; None if they are equal."""
    if a == b:
        return None
    shared = next((i for i, (one, other) in enumerate(zip(a, b)) if one != other), min(len(a), len(b)))
    return Parting(f"{path}[{shared}:]", a[shared : shared + 60], b[shared : shared + 60])


def brief(value: Any) -> str:
    """Return the value's `repr`, cut to one short line."""
    text = repr(value)
    return text if len(text) <= 100 else text[:97] + "..."
