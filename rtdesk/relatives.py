"""What belongs beside a recording: the other side of its match, the recording it raced, the one it was forked from.

They are looked for in its own folder and known by their ids, never by their names. Only a recording that names one has the folder read.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from replays.errors import ReplayError
from replays.events import Episode
from replays.scan import Source, read_header
from workers.recorded import file_id

__all__ = ["relatives"]

LOOKED_AT = 1000
"""Files of a folder that are looked at, the newest first."""


def relatives(path: str, header: Episode) -> list[str]:
    """Return the paths of the recordings of the same level that belong beside the one at `path`, sides of a match in their order."""
    match, ghost, parent = _id(header, "match"), _id(header, "ghost"), header.parent.file if header.parent is not None else ""
    if not (match or ghost or parent):
        return []
    found: dict[str, tuple[int, str]] = {}
    for other in _files(path):
        try:
            source = Source(other)
        except ReplayError:
            continue
        try:
            episode = read_header(source).episode
        except ReplayError:
            continue
        finally:
            source.close()
        if (episode.game, episode.load, episode.seed) != (header.game, header.load, header.seed):
            continue
        id = file_id(episode)
        if id and id != file_id(header) and (id in (ghost, parent) or (match and _id(episode, "match") == match)):
            # Of copies of one recording the oldest counts, which is seen last.
            found[id] = (episode.match.side if episode.match is not None else -1, other)
    return [other for _, other in sorted(found.values())]


def _id(header: Episode, name: str) -> str:
    found = header.meas.get(name)
    return found if isinstance(found, str) else ""


def _files(path: str) -> Iterator[str]:
    """Yield the other recordings of a folder."""
    folder = os.path.dirname(path) or os.curdir
    try:
        with os.scandir(folder) as entries:
            files = [(entry.stat().st_mtime, entry.name) for entry in entries if entry.name.endswith(".rtr") and entry.is_file()]
    except OSError:
        return
    for _, name in sorted(files, reverse=True)[:LOOKED_AT]:
        other = os.path.join(os.path.dirname(path), name)
        if not os.path.samefile(other, path):
            yield other
