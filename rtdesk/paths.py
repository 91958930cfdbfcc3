"""Where rtdesk keeps things, and whether it was put together right."""

from __future__ import annotations

import importlib.util
import os
import time
from pathlib import Path

__all__ = ["default_recording", "intruder", "keep_taught", "log_file", "replay_folder", "was_taught"]

PACKAGES = ("games", "replays", "workers")


def replay_folder() -> Path:
    """The folder replays are written to unless told otherwise."""
    import platformdirs

    return Path(platformdirs.user_data_dir("rtdesk", appauthor=False)) / "replays"


def log_file() -> Path:
    """The one log file of all processes."""
    import platformdirs

    return Path(platformdirs.user_log_dir("rtdesk", appauthor=False)) / "rtdesk.log"


def _taught_file() -> Path:
    return replay_folder().parent / "taught"


def was_taught(game: str) -> bool:
    """Whether a person has been shown the rules of a game here before."""
    try:
        return game in _taught_file().read_text(encoding="utf-8").split("\n")
    except (OSError, ValueError):
        return False


def keep_taught(game: str) -> None:
    """Remember it. Where nothing can be written the rules are simply shown again."""
    if was_taught(game):
        return
    try:
        _taught_file().parent.mkdir(parents=True, exist_ok=True)
        with _taught_file().open("a", encoding="utf-8") as file:
            file.write(f"{game}\n")
    except OSError:
        return


def default_recording(game: str, load: str, seed: int, agent: str) -> str:
    """Return a path for a new recording, its folder made. Raises OSError if that cannot be.

    Time and process are in its name: runs that start in the same second have not made their files yet when the next one looks.
    """
    folder = replay_folder()
    folder.mkdir(parents=True, exist_ok=True)
    # The end of a long name, which may be a path, says more than its beginning.
    name = f"{game}-{load}-s{seed}-{agent[-80:]}-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}"
    name = "".join(letter if letter.isalnum() or letter in "-_." else "_" for letter in name)
    path = folder / f"{name}.rtr"
    count = 1
    while os.path.lexists(path):
        count += 1
        path = folder / f"{name}-{count}.rtr"
    return str(path)


def intruder() -> str | None:
    """Return a sentence if one of our packages would be loaded from elsewhere than beside rtdesk, else None."""
    home = Path(__file__).resolve().parent.parent
    for name in PACKAGES:
        spec = importlib.util.find_spec(name)
        origin = Path(spec.origin).resolve() if spec is not None and spec.origin else None
        if origin is None or origin.parent.parent != home:
            where = "is missing" if origin is None else f"was found at {origin}"
            return f"package {name!r} {where}, expected beside rtdesk in {home}; install rtdesk into an environment of its own, and start it by its name, `rtdesk`, or from another folder"
    return None
