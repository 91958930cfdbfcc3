"""Recordings on the screen: one, or up to three of one level in step, a fork beside its parent."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from replays.clean import one_line
from replays.reader import Replay, open_replay
from rtdesk.leave import Exit
from workers.recorded import file_id

if TYPE_CHECKING:
    from rtdesk.tui.asking import Asker
    from rtdesk.tui.player import ReplaySource

__all__ = ["MOST", "replay"]

MOST = 3
"""Recordings that fit beside each other."""


def replay(files: Sequence[str], *, tick: int | None, game: str | None, look: str | None, plain: bool, fps: int | None, alone: bool = False) -> int:
    """Show recordings until the person leaves; beside a single one, unless `alone`, what belongs beside it. Returns the exit code."""
    from rtdesk.live import check_terminal

    if len(files) > MOST:
        raise Exit(2, f"{len(files)} files were given; at most {MOST} stand side by side, so give up to {MOST} recordings of one level")
    if look is not None:
        from rtdesk.tui.looks import LOOKS

        if look not in LOOKS:
            raise Exit(2, f"unknown look {look!r}; give --look {', '.join(LOOKS[:-1])} or {LOOKS[-1]}")
    if game is not None:
        import games

        # Better said now than on the screen.
        games.spec(game)
    with contextlib.ExitStack() as stack:
        recordings = [stack.enter_context(open_replay(file)) for file in files]
        check_level(recordings)
        given = recordings[0]
        if len(files) == 1 and not alone:
            recordings = beside(given, stack)
        recordings = parents_first(recordings)
        first, last = span(recordings)
        if tick is not None and not first <= tick <= last:
            raise Exit(2, f"tick {tick} is not in {' or '.join(files)}; give --tick from {first} to {last}")
        check_terminal("rtdesk info says what is in a file, rtdesk export writes it as a table, a picture or a page")
        from rtdesk.logs import Log
        from rtdesk.tui.scrubber import ScrubApp

        log = Log()
        stack.callback(log.close)
        sources = make_sources(recordings, playing=tick is None)
        if tick is not None:
            sources[0].command("jump", str(tick))
        told = "" if len(files) > 1 or len(recordings) == 1 else f"beside it {' and '.join(os.path.basename(one.path) for one in recordings if one is not given)}; --alone shows one"
        app = ScrubApp(sources, asker=[make_asker(one, game) for one in recordings], game=game, look=look, ascii=plain or None, fps=fps)
        app.choose(recordings.index(given))
        app.say(told)
        return app.run_desk()


def beside(recording: Replay, stack: contextlib.ExitStack) -> list[Replay]:
    """Return a recording and what belongs beside it, a parent's parent too, opened on `stack`, the sides of a match in their order."""
    from replays.errors import ReplayError
    from rtdesk.relatives import relatives

    found = [recording]
    for one in found:
        # It grows while it is gone through.
        for path in relatives(one.path, one.header):
            if len(found) < MOST and not any(os.path.samefile(path, known.path) for known in found):
                with contextlib.suppress(ReplayError):
                    found.append(stack.enter_context(open_replay(path)))
    return sorted(found, key=lambda one: one.header.match.side if one.header.match is not None else MOST)


def check_level(recordings: Sequence[Replay]) -> None:
    """Raise Exit unless all are of one game, load and seed: only those can be looked at tick by tick."""
    first = recordings[0]
    for other in recordings[1:]:
        if _level(other) != _level(first):
            raise Exit(
                2,
                f"{first.path} is {_told(first)}, {other.path} is {_told(other)}; runs side by side need one game, load and seed: "
                "give recordings of one level, or look at them one by one",
            )


def parents_first(recordings: Sequence[Replay]) -> list[Replay]:
    """Return the recordings in the order given, but a fork behind its parent."""
    ids = {file_id(one.header) for one in recordings}
    forks = [one for one in recordings if one.header.parent is not None and one.header.parent.file and one.header.parent.file in ids]
    out = [one for one in recordings if one not in forks]
    while forks:
        # A fork of a fork stands behind both.
        known = {file_id(one.header) for one in out}
        fork = next((one for one in forks if one.header.parent is not None and one.header.parent.file in known), forks[0])
        forks.remove(fork)
        out.append(fork)
    return out


def span(recordings: Sequence[Replay]) -> tuple[int, int]:
    """Return the first and the last tick any of them holds; (0, 0) where none holds one."""
    held = [one for one in recordings if one.ticks]
    return min((one.ticks[0] for one in held), default=0), max((one.ticks[-1] for one in held), default=0)


def make_sources(recordings: Sequence[Replay], *, playing: bool) -> list[ReplaySource]:
    """Return a source a recording; the first leads, and they move over the ticks of all of them."""
    from rtdesk.tui.player import ReplaySource

    ticks = None if len(recordings) == 1 else sorted(set().union(*(one.ticks for one in recordings)))
    lead = ReplaySource(recordings[0], title=os.path.basename(recordings[0].path), playing=playing, ticks=ticks)
    return [lead, *(ReplaySource(one, title=os.path.basename(one.path), lead=lead) for one in recordings[1:])]


def make_asker(recording: Replay, game: str | None) -> Asker | None:
    """Return who asks the recording's reactor again; None where it has none that was shown a planner's words."""
    from rtdesk.tui.asking import Asker

    backends = recording.header.backends
    if "reactor" not in backends or "planner" not in backends:
        return None

    def ask(tick: int) -> Any:
        from workers.attribution import ask as ask_again

        return ask_again(recording, tick, game=game)

    spec = backends["reactor"].spec
    return Asker(ask, costs="" if spec == "builtin" else spec)


def _level(recording: Replay) -> tuple[str, str, int]:
    header = recording.header
    return header.game, header.load, header.seed


def _told(recording: Replay) -> str:
    header = recording.header
    return one_line(f"{header.game} {header.load} seed {header.seed}", 80)
