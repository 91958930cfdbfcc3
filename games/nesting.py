"""How deep plain values nest. What one stack could write another, called from deeper down or of another Python, could not read again."""

from __future__ import annotations

from typing import Any

__all__ = ["nests_deeper"]

_NESTING = frozenset((dict, list, tuple))


def nests_deeper(value: Any, levels: int) -> bool:
    """Return whether lists and dicts in `value` nest by more than `levels`; level by level, so no depth costs any stack."""
    level = [value] if type(value) in _NESTING else []
    for _ in range(levels + 1):
        inside: list[Any] = []
        for outer in level:
            for inner in outer.values() if type(outer) is dict else outer:
                if type(inner) in _NESTING:
                    inside.append(inner)
        if not inside:
            return False
        level = inside
    return True
