"""A prompt in the log is a list of parts; `render` makes the text of it. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from replays import events as ev

__all__ = ["MOST_BYTES", "MOST_PARTS", "render"]

MOST_PARTS = 1000
"""Parts of one prompt that are looked at by who reads files of strangers; ours have a dozen."""
MOST_BYTES = 1 << 20
"""About how much of one prompt's text, or of one generation's, such a reader keeps."""


def render(
    parts: Iterable[str | ev.Part],
    *,
    texts: Mapping[str, str],
    observation: Callable[[int], str],
    trace: Callable[[int], bytes | bytearray],
) -> str:
    """Return a prompt's text. `texts` are the header's; `observation(tick)` and `trace(generation)` give what parts point at."""
    out: list[str] = []
    for part in parts:
        if isinstance(part, str):
            out.append(part)
        elif part.text is not None:
            text = texts[part.text]
            out.append(text.encode()[part.start : part.upto].decode(errors="replace") if part.upto else text)
        elif part.obs is not None:
            out.append(observation(part.obs).rstrip("\n"))
        else:
            assert part.trace is not None
            out.append(trace(part.trace)[part.start : part.upto].decode(errors="replace"))
    return "".join(out)
