"""A person's own module, from its file: the door for a game, an agent or a backend that is given by its path.

One module a file, under a name of its own, since two folders may both hold a mygame.py. What surprises: the file is run once a
process; a second call gives the same module, whatever the file says by then.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

__all__ = ["load_file"]


def load_file(given: str, *, what: str, refusal: type[Exception]) -> ModuleType:
    """Return the module in the file `given`, a `what` such as game. Raises `refusal`, in a sentence, if it is missing, no Python or fails."""
    path = Path(given).expanduser()
    if not path.is_file():
        raise refusal(f"no {what} at {given!r}: there is no such file; give the path of a .py file, or a name")
    title = f"rtdesk {what} {path.resolve()}"
    loaded = sys.modules.get(title)
    if loaded is not None:
        return loaded
    how = importlib.util.spec_from_file_location(title, path)
    if how is None or how.loader is None:
        raise refusal(f"no {what} at {given!r}: it is no Python file; give a path ending in .py")
    module = importlib.util.module_from_spec(how)
    # Registered before it runs: typed structs look their annotations up there.
    sys.modules[title] = module
    try:
        how.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[title]
        where = _line(error, how.origin)
        raise refusal(f"the {what} at {given!r} does not load: {type(error).__name__}: {error}{where}; mend it and try again") from error
    return module


def _line(error: BaseException, file: str | None) -> str:
    """Return where in `file` an error was raised, as ` (line 3)`; empty for a syntax error, whose own text says so."""
    # Imported here because only the error path needs it.
    import traceback

    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    return f" (line {lines[-1]})" if lines else ""
