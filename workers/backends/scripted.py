"""A thinker that says what it was told to: for tests, ours and yours.

The script is a JSON list of generations, taken in turn; the last one is said again for ever. A generation is an object:
`tokens` (how many tokens of filler to say first), `chunks` (list of [text, tokens, channel], the last two optional),
`finish` (stop, length, or a fault kind to end with), `raise` (text of an exception to die with after the chunks).
`{tick}` in a text becomes the generation's turn. `forced` is what it says when it is cut and asked for its answer (chunks as above;
`forced_end`, an object with `finish`, how that ends), and `says` the sentence of the fault it ends with.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from replays import events as ev
from workers.backends.base import Chunk, Finish, Item, Request, spread
from workers.errors import BackendError, ConfigError
from workers.tokens import token_lengths

__all__ = ["Backend"]

_FILLER = " so"
_FILLER_RUN = 50


class Backend:
    """Plays a script from a file (`scripted:FILE`) or from a list handed over in Python."""

    blocking = False

    def __init__(self, script: str | list[dict[str, Any]] = "") -> None:
        spec = "scripted"
        if script == "":
            raise ConfigError("scripted needs a script; give scripted:FILE, a JSON list of generations")
        if isinstance(script, str):
            spec = f"scripted:{Path(script).name}"
            try:
                script = json.loads(Path(script).read_text(encoding="utf-8"))
            except (OSError, ValueError) as error:
                raise ConfigError(f"script {script!r} cannot be read: {error}; give a file that holds a JSON list of generations") from error
        if not isinstance(script, list) or not script:
            raise ConfigError(f"a script is {script!r:.60}, expected a JSON list with at least one generation; see docs/add-your-own.md for one")
        self._script = script
        self._next = 0
        self.info = ev.Backend(spec=spec, title="script", exact=True, deterministic=True)

    def check(self, game: str, stream: str) -> None:
        """A script fits every game."""

    def stream(self, request: Request) -> Iterator[Item]:
        if request.forced:
            cut = self._script[min(max(0, self._next - 1), len(self._script) - 1)]
            return self._say({"chunks": cut.get("forced", ()), **cut.get("forced_end", {})}, request)
        generation = self._script[min(self._next, len(self._script) - 1)]
        self._next += 1
        return self._say(generation, request)

    def _say(self, generation: dict[str, Any], request: Request) -> Iterator[Item]:
        left = int(generation.get("tokens", 0))
        while left > 0:
            run = min(left, _FILLER_RUN)
            yield Chunk(_FILLER * run, (len(_FILLER),) * run)
            left -= run
        for entry in generation.get("chunks", ()):
            text, tokens, channel = (*entry, None, "reasoning")[:3] if len(entry) < 2 else (*entry, "reasoning")[:3]
            text = str(text).replace("{tick}", str(request.tick))
            yield Chunk(text, tuple(token_lengths(text)) if tokens is None else spread(text, int(tokens)), str(channel))
        if "raise" in generation:
            raise RuntimeError(generation["raise"])
        finish = generation.get("finish", "stop")
        if finish not in ("stop", "length"):
            raise BackendError(str(generation.get("says", f"the script ends with {finish}")), kind=finish)
        yield Finish(finish)

    def close(self) -> None:
        """Nothing is held open."""
