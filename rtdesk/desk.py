"""The desk on screen: processes first, the screen library while they start, and a result line when the screen has gone."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import games
from rtdesk.leave import Exit, drop_output
from rtdesk.live import Wanted, sentence
from rtdesk.paths import keep_taught, log_file, replay_folder, was_taught
from rtdesk.say import complain
from workers.config import Config

if TYPE_CHECKING:
    from rtdesk.heat import Heat, Table
    from rtdesk.logs import Log
    from rtdesk.match import Plan
    from rtdesk.tui.source import Source
    from workers.live.desk import LiveRun

__all__ = ["play_desk"]


def next_name(path: str) -> str:
    """A path beside `path` that is free, for a second run of the same command."""
    stem, ending = os.path.splitext(path)
    count = 2
    while os.path.lexists(f"{stem}-{count}{ending}"):
        count += 1
    return f"{stem}-{count}{ending}"


def play_desk(wanted: Wanted, plan: Plan, log: Log) -> int:
    """Play on the screen until the person leaves. Returns the exit code."""
    from rtdesk.heat import COUNT, Gate, Heat, Table
    from rtdesk.live_source import LiveSource
    from rtdesk.match import make_runs, new_path

    def heat_of(sides: Sequence[Config], records: Sequence[str | None], *, reading: bool) -> Heat:
        runs = make_runs(plan, sides, records, log_queue=log.queue)
        gate = Gate(count=COUNT if plan.people else 0, reading=reading) if plan.people or len(sides) > 1 else None
        return Heat(runs, gate=gate)

    def begin(sides: Sequence[Config]) -> Heat:
        paths = [_free_path(old, lambda number=number: new_path(wanted, sides, number, plan.ghost)) for number, old in enumerate(plan.records)]  # type: ignore[misc]
        heat = heat_of(sides, paths, reading=False)
        heat.start()
        return heat

    first = plan.sides[0]
    name = games.spec(first.game).name
    heat = heat_of(plan.sides, plan.records, reading=plan.people > 0 and not was_taught(name))
    notes = [*dict.fromkeys(warning for config in plan.sides for warning in config.warnings), *([log.note] if log.note else [])]
    table = Table(heat, begin, note="; ".join(notes), log_path=log_file(), one_seed=plan.ghost is not None, read=lambda: keep_taught(name))
    lives = [LiveSource(table, number, hands=plan.hands(number), crowd=plan.people) for number in range(len(plan.sides))]
    try:
        heat.start()
        # The children are starting; the screen library takes about as long.
        from rtdesk.earlier import Earlier
        from rtdesk.ghost import GhostSource
        from rtdesk.tui.app import run_screen
        from rtdesk.tui.keys import LOOK_BACK

        sources: list[Source] = [*lives, *([GhostSource(plan.ghost, lives[0])] if plan.ghost is not None else [])]
        kept = any(path is not None for path in plan.records)
        code = run_screen(
            sources, look=wanted.look, ascii=wanted.plain or None, fps=wanted.fps, trusted_games=frozenset({first.game}), earlier=Earlier(replay_folder()), look_back=kept
        )
    finally:
        table.close()
    if code != LOOK_BACK:
        return _told(table, code)
    code = _told(table, 0)
    return _look_back([path for run in table.heat.runs if (path := _kept(run))], wanted, first.game, log) if code == 0 else code


def _look_back(files: Sequence[str], wanted: Wanted, game: str, log: Log) -> int:
    """Show what has just been recorded; a game that is a file has been run by this person's own word."""
    from rtdesk.replaying import replay

    # The scrubber keeps the log itself.
    log.close()
    return replay(files, tick=None, game=None if game.isidentifier() else game, look=wanted.look, plain=wanted.plain, fps=wanted.fps) if files else 0


def _free_path(old: str | None, make: Callable[[], str]) -> str | None:
    """Return where the next replay of a side goes: where the last one was to go if it never came to be."""
    if old is None or not os.path.lexists(old):
        return old
    path = make()
    return os.path.abspath(path if not os.path.lexists(path) else next_name(path))


def _told(table: Table, code: int) -> int:
    """Print how the last heat ended; return the exit code. Raises Exit for one that could not go on."""
    from workers.simulator import summary

    for run in table.heat.runs:
        if run.end is not None:
            _say(sentence(summary(run.header, run.end, replay=_kept(run), wall_s=run.end.t_ns / 1e9)))
    shown = {_kept(run) for run in table.heat.runs if run.end is not None}
    for path in table.past:
        if path not in shown:
            _say(f"earlier replay {path}")
    if table.record_failure is not None:
        complain(f"recording stopped: {table.record_failure}")
        return code or 1
    failed = next((run for run in table.heat.runs if run.failure is not None), None)
    if failed is not None:
        kept = _kept(failed)
        raise Exit(1, f"{failed.failure}" + (f"; the replay so far is {kept}" if kept else ""))
    return code


def _say(text: str) -> None:
    """Print what is left to say. The terminal may be gone by now: that changes nothing about how the run ended."""
    try:
        print(text, flush=True)
    except OSError:
        drop_output()


def _kept(run: LiveRun) -> str | None:
    return run.recording if run.recording and os.path.exists(run.recording) else None
