"""Play live: settings, recording, log and processes put together, with a screen or without."""

from __future__ import annotations

import math
import os
import signal
import sys
import time
from typing import Any

import msgspec

from rtdesk.leave import Exit
from rtdesk.paths import default_recording, intruder
from rtdesk.say import complain, print_json
from workers.config import Config, plan_episode

__all__ = ["Wanted", "play_headless", "play_on_screen"]

SCREEN_RATE = 1.0
"""Ticks a second on screen unless told otherwise: 100 ticks in 100 seconds, which the eye can follow."""
QUIT_S = 2.0


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """What the command line asked for."""

    game: str
    options: dict[str, Any]
    tick_rate: float | None
    """Ticks a second; infinity for as fast as it goes; None for the default."""
    record: str | None
    recording: bool
    vs: str | None = None
    """Who plays against: human, an agent, or a recording."""
    given: frozenset[str] = frozenset()
    """Names of the options that were typed, not filled in."""
    as_json: bool = False
    look: str | None = None
    plain: bool = False
    fps: int | None = None


def settle(wanted: Wanted, *, default_rate: float | None) -> tuple[Config, str | None]:
    """Check everything that can be checked before anything starts. Returns the settings and the replay's path."""
    from replays.writer import check_target

    stranger = intruder()
    if stranger is not None:
        raise Exit(1, stranger)
    rate = wanted.tick_rate if wanted.tick_rate is not None else default_rate
    if wanted.tick_rate is not None and math.isfinite(wanted.tick_rate) and wanted.options.get("tpot"):
        raise Exit(2, "--tick-rate and --tpot both set the pace; give one of them")
    config = plan_episode(wanted.game, tick_rate=None if rate is None or math.isinf(rate) else rate, **wanted.options)
    if not wanted.recording:
        return config, None
    path = wanted.record
    if path is None:
        import games

        try:
            path = default_recording(games.spec(config.game).name, config.load, config.seed, label(config))
        except OSError as error:
            raise Exit(2, f"the replays folder cannot be made: {error}; give --record FILE, or --no-record") from error
    check_target(path)
    return config, os.path.abspath(path)


def label(config: Config) -> str:
    """The agent as the names of recordings have it, and the partner where that is who thinks; a fork's says where it begins."""
    name = f"{config.agent}-with-{config.partner}" if config.player else config.agent
    return name if config.start is None else f"{name}-from{config.first_tick}"


class Signals:
    """SIGINT, SIGTERM and SIGHUP become a flag; `code` is what to exit with."""

    NAMES = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def __init__(self) -> None:
        self.code: int | None = None
        self._before = {number: signal.signal(number, self._note) for number in self.NAMES}

    def _note(self, number: int, frame: object) -> None:
        self.code = 130 if number == signal.SIGINT else 128 + number

    def restore(self) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)


def machine() -> dict[str, Any]:
    """What differs between two runs of the same thing, for the header's `meas`."""
    import platform
    import uuid

    return {
        "file_id": uuid.uuid4().hex,
        "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
    }


def play_headless(wanted: Wanted) -> int:
    """Play one episode without a screen; print its result. Returns the exit code."""
    if wanted.vs is not None:
        from rtdesk.headless import play_match

        return play_match(wanted)
    if "human" in (wanted.options.get("agent"), wanted.options.get("partner")):
        raise Exit(2, "a person plays on the screen; leave out --headless (--agent default plays what nobody's keys play)")
    from rtdesk.logs import Log
    from workers.live.desk import LiveRun
    from workers.simulator import summary

    config, record = settle(wanted, default_rate=None)
    for warning in config.warnings:
        complain(f"note: {warning}")
    log = Log()
    signals = Signals()
    began = time.monotonic()
    told_recorder = False
    quit_at = math.inf
    run = LiveRun(config, record=record, meas=machine(), log_queue=log.queue)
    try:
        run.start()
        while not run.over:
            run.wait(0.05)
            run.poll_game()
            if run.record_failure is not None and not told_recorder:
                told_recorder = True
                complain(f"recording stopped: {run.record_failure}; the game goes on")
            if signals.code is not None and math.isinf(quit_at):
                quit_at = time.monotonic() + QUIT_S
                run.command("quit")
            if time.monotonic() > quit_at:
                break
        wall_s = time.monotonic() - began
    finally:
        run.close()
        log.close()
        signals.restore()
    if run.end is None:
        if signals.code is not None:
            return signals.code
        kept = f"; the replay so far is {record}" if record and os.path.exists(record) else ""
        raise Exit(1, f"{run.failure or 'the run ended without a result'}{kept}")
    result = summary(run.header, run.end, replay=record if record and os.path.exists(record) else None, wall_s=wall_s)
    print_json(result) if wanted.as_json else print(sentence(result))
    if run.record_failure is not None:
        if not told_recorder:
            complain(f"recording stopped: {run.record_failure}")
        return 1
    if run.failure is not None and signals.code is None:
        raise Exit(1, run.failure)
    return signals.code or 0


def sentence(result: dict[str, Any]) -> str:
    """The result in a few plain lines."""
    lines = [
        f"{result['game']} {result['load']} seed {result['seed']}, {result['agent']}: score {result['score']:.3f} "
        f"(raw {result['raw_score']:g}) in {result['ticks']} ticks, ended by {result['done_reason']}",
        f"defaults {result['default_actions']}, late {result['late_actions']}, faults {result['faults']}; "
        f"tokens: planner {result['planner_tokens']}, reactor {result['reactor_tokens']}; {result['wall_s']:.2f} s",
    ]
    if result["replay"]:
        lines.append(f"replay {result['replay']}")
    return "\n".join(lines)


def check_terminal(instead: str = "add --headless (and --json for a machine)") -> None:
    """Raise Exit(2) unless a screen can be shown here; `instead` is what to try."""
    # A closed one is None. The screen is drawn on stderr, which is a terminal more often than stdout.
    ends = {"stdout": "is nothing to draw on", "stdin": "are no keys to play with", "stderr": "is nothing to draw on: it is where the screen goes"}
    for name, lack in ends.items():
        stream = getattr(sys, name)
        if stream is None or not stream.isatty():
            raise Exit(2, f"{name} is not a terminal, so there {lack}; {instead}")
    if os.environ.get("TERM", "dumb") in ("", "dumb"):
        raise Exit(2, f"this terminal (TERM=dumb) cannot show a screen; {instead}, or set TERM")


def play_on_screen(wanted: Wanted) -> int:
    """Play on the screen; the processes start first, the screen library is imported meanwhile."""
    from rtdesk.logs import Log
    from rtdesk.match import make_plan

    plan = make_plan(wanted, screen=True)
    try:
        check_terminal()
        log = Log()
        try:
            from rtdesk.desk import play_desk

            return play_desk(wanted, plan, log)
        finally:
            log.close()
    finally:
        if plan.ghost is not None:
            plan.ghost.close()
