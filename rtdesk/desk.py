"""The desk on screen: processes first, the screen library while they start, and a result line when the screen has gone."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from rtdesk.cli import Exit
from rtdesk.live import Wanted, label, machine, sentence
from rtdesk.paths import default_recording, log_file
from workers.config import Config

if TYPE_CHECKING:
    from replays.reader import Replay
    from rtdesk.logs import Log

__all__ = ["play_desk", "replay_desk"]


def next_name(path: str) -> str:
    """A path beside `path` that is free, for a second run of the same command."""
    stem, ending = os.path.splitext(path)
    count = 2
    while os.path.lexists(f"{stem}-{count}{ending}"):
        count += 1
    return f"{stem}-{count}{ending}"


def play_desk(wanted: Wanted, config: Config, record: str | None, log: Log) -> int:
    """Play on the screen until the person leaves. Returns the exit code."""
    from rtdesk.live_source import LiveSource
    from workers.live.desk import LiveRun
    from workers.simulator import summary

    def begin(settings: Config) -> LiveRun:
        path = record
        if path is not None and os.path.lexists(path):
            path = next_name(path) if wanted.record is not None else default_recording(
                run.header.game, settings.load, settings.seed, label(settings)
            )
        fresh = LiveRun(settings, record=path, meas=machine(), log_queue=log.queue)
        fresh.start()
        return fresh

    run = LiveRun(config, record=record, meas=machine(), log_queue=log.queue)
    source = LiveSource(run, begin, note="; ".join([*config.warnings, *([log.note] if log.note else [])]), log_path=log_file())
    try:
        run.start()
        # The children are starting; the screen library takes about as long.
        from rtdesk.tui.app import run_screen

        code = run_screen(source, look=wanted.look, ascii=wanted.plain or None, fps=wanted.fps, trusted_games=frozenset({config.game}))
    finally:
        source.close()
    last = source.run
    if last.end is not None:
        kept = last.recording if last.recording and os.path.exists(last.recording) else None
        print(sentence(summary(last.header, last.end, replay=kept, wall_s=last.end.t_ns / 1e9)))
    if source.record_failure is not None:
        print(f"rtdesk: recording stopped: {source.record_failure}", file=sys.stderr)
        return code or 1
    if last.failure is not None:
        kept_note = f"; the replay so far is {last.recording}" if last.recording and os.path.exists(last.recording) else ""
        raise Exit(1, f"{last.failure}{kept_note}")
    return code


def replay_desk(recording: Replay, *, tick: int | None, look: str | None, plain: bool, fps: int | None) -> int:
    """Show a recording until the person leaves. Returns the exit code."""
    from rtdesk.tui.app import run_screen
    from rtdesk.tui.player import ReplaySource

    source = ReplaySource(recording, title=os.path.basename(recording.path), playing=tick is None)
    if tick is not None:
        source.command("jump", str(tick))
    return run_screen(source, look=look, ascii=plain or None, fps=fps)
