"""The little of YAML that model files use: nested names and plain values. Anything else is refused with its line.

No YAML library is a dependency, and a file that holds a key should not be able to do more than hold values.
"""

from __future__ import annotations

import json
import re
from typing import Any

from workers.errors import ConfigError

__all__ = ["read_yaml"]

_LINE = re.compile(r"( *)([A-Za-z_][\w.-]*)\s*:(?:\s+(.*))?")
_WORDS: dict[str, Any] = {"": None, "null": None, "~": None, "true": True, "false": False}


def read_yaml(text: str, *, name: str) -> dict[str, Any]:
    """Return the mapping in `text`. Raises ConfigError, which names the line and never repeats it: it may hold a key."""
    root: dict[str, Any] = {}
    levels: list[tuple[int, dict[str, Any]]] = [(-1, root)]
    open_name: str | None = None
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#") or line.strip() in ("---", "..."):
            continue
        match = _LINE.fullmatch(line.rstrip())
        if match is None:
            raise ConfigError(f"{name}: line {number} is not understood; a model file has lines of the form `name: value`, nested by blanks")
        depth = len(match[1])
        if open_name is not None and depth > levels[-1][0]:
            inner: dict[str, Any] = {}
            levels[-1][1][open_name] = inner
            levels.append((depth, inner))
        elif levels[-1][0] == -1:
            levels[-1] = (depth, root)
        while depth < levels[-1][0] and len(levels) > 1:
            levels.pop()
        if depth != levels[-1][0]:
            raise ConfigError(f"{name}: line {number} is indented unlike the lines around it; a model file nests by blanks, the same for each line of a table")
        raw = _uncomment(match[3] or "")
        levels[-1][1][match[2]] = _value(raw, name, number)
        open_name = match[2] if not raw else None
    return root


def _uncomment(raw: str) -> str:
    raw = raw.strip()
    if raw[:1] in ('"', "'") and (end := raw.find(raw[0], 1)) > 0:
        return raw[: end + 1]
    return re.split(r"(?:^|\s)#", raw, maxsplit=1)[0].strip()


def _value(raw: str, name: str, number: int) -> Any:
    if raw.lower() in _WORDS:
        return _WORDS[raw.lower()]
    if raw[0] in "\"'" and raw[-1] == raw[0] and len(raw) > 1:
        return raw[1:-1]
    if raw[0] in "[{":
        try:
            return json.loads(raw)
        except ValueError:
            raise ConfigError(f"{name}: the list or mapping on line {number} is not understood; write it as JSON") from None
    if raw[0] in "|>&*!%@`":
        raise ConfigError(f"{name}: line {number} uses more of YAML than a model file needs; write a plain value")
    for number_of in (int, float):
        try:
            return number_of(raw.replace("_", "?"))
        except ValueError:
            continue
    return raw
