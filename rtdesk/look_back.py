"""Looking back at a recording: the scrubber, and the commands that say what is in a file, verify it, export it, compare it."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable
from typing import Any

from rtdesk.cli import Exit

__all__ = ["answer", "diff", "export", "info", "replay", "verify"]


def replay(file: str, *, tick: int | None, look: str | None, plain: bool, fps: int | None) -> int:
    """Open the scrubber. Returns the exit code."""
    from replays.reader import open_replay
    from rtdesk.live import check_terminal

    with open_replay(file) as recording:
        if tick is not None and not (recording.first_tick or 0) <= tick <= (recording.last_tick or 0):
            raise Exit(2, f"tick {tick} is not in {file}; it holds ticks {recording.first_tick} to {recording.last_tick}")
        check_terminal()
        from rtdesk.desk import replay_desk

        return replay_desk(recording, tick=tick, look=look, plain=plain, fps=fps)


def info(file: str, *, as_json: bool) -> int:
    from replays.info import info as inspect
    from replays.reader import open_replay

    with open_replay(file) as recording:
        found = inspect(recording)
    if as_json:
        print(json.dumps(found, allow_nan=False))
    else:
        print_plain("\n".join(info_lines(found)))
    for warning in found["warnings"]:
        print(f"rtdesk: {warning}", file=sys.stderr)
    return 0


def info_lines(found: dict[str, Any]) -> list[str]:
    """The summary for a person, the most telling first."""
    if found["clock"] == "token":
        budget = f"{found['tick_budget_tokens']} tokens a tick"
        share = f", reactor {found['reactive_budget_tokens']}" if found["reactive_budget_tokens"] else ""
    else:
        budget = f"{found['tick_budget_s']:g} s a tick"
        share = f", reactor {found['reactive_budget_s']:g} s" if found["reactive_budget_s"] else ""
    thinkers = ", ".join(f"{role} {backend.get('title') or backend['spec']}" for role, backend in found["backends"].items()) or "nobody thinks"
    score = "-" if found["score"] is None else f"{found['score']:.3f}"
    ended = f"ended by {found['done_reason']}" if found["complete"] else "incomplete: it has no end"
    rows = [
        ("episode", f"{found['game']} {found['load']} seed {found['seed']}, agent {found['agent']} ({thinkers})"),
        ("clock", f"{found['clock']} time, {budget}{share}"),
        ("result", f"score {score} (raw {found['raw_score']:g}) in {found['steps']} steps, {ended}"),
        ("actions", ", ".join(f"{source} {count}" for source, count in found["actions"].items()) or "none"),
        ("defaults", f"{found['default_actions']}" + "".join(f", {reason} {count}" for reason, count in found["default_reasons"].items())),
        ("tokens", f"planner {found['planner_tokens']}, reactor {found['reactor_tokens']}"),
        ("faults", str(found["faults"])),
        ("time", f"{found['duration_s']:.2f} s"),
        ("file", f"{found['bytes']} bytes, format {found['version']}, {found['keyframes']} keyframes"),
        ("canonical", found["canonical"]),
    ]
    rows += [("fault", " ".join(str(part) for part in (fault.values() if isinstance(fault, dict) else [fault]))) for fault in found["fault_list"][:20]]
    return [f"{name:10} {value}" for name, value in rows]


def verify(file: str, *, game: str | None = None, as_json: bool) -> int:
    from replays.reader import open_replay
    from replays.verify import verify as check

    with open_replay(file) as recording:
        verdict = check(recording, game=game)
        warnings = [str(warning) for warning in recording.warnings]
    found = verdict.divergence
    if as_json:
        from replays.info import strict

        where = None if found is None else {"tick": found.tick, "field": found.field, "recorded": found.recorded, "played": found.played}
        report = {"file": file, "same": verdict.same, "steps": verdict.steps, "divergence": where, "unchecked": list(verdict.unchecked), "warnings": warnings}
        print(json.dumps(strict(report), allow_nan=False))
    elif verdict.same:
        print_plain(f"{file}: {verdict.steps} steps played again, all equal")
    else:
        what = str(found) if found is not None else f"{len(verdict.unchecked)} ticks could not be checked because the file lost them"
        print_plain(f"{file}: differs: {what} ({verdict.steps} steps equal)")
    return 0 if verdict.same else 1


def export(file: str, *, kind: str, output: str | None) -> int:
    from replays.export import csv_lines, jsonl_lines
    from replays.reader import open_replay
    from workers.plugins import unknown

    makers = {"csv": csv_lines, "jsonl": jsonl_lines}
    if kind not in makers:
        raise unknown("export format", kind, list(makers))
    with open_replay(file) as recording:
        lines = makers[kind](recording)
        if output is None:
            write_lines(lines, sys.stdout.fileno())
            return 0
        try:
            # A link planted at the output's name is not followed, and nothing is overwritten.
            fd = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o644)
        except OSError as error:
            raise Exit(2, f"{output}: cannot be written ({error.strerror}); give a path that does not exist yet with -o OUT") from error
        try:
            write_lines(lines, fd)
        except OSError as error:
            raise Exit(1, f"{output}: {error.strerror}; what was written so far is there") from error
        finally:
            os.close(fd)
    return 0


def write_lines(lines: Iterable[str], fd: int) -> None:
    """Write text to a descriptor as UTF-8, whatever the locale says."""
    for line in lines:
        data = memoryview((line if line.endswith("\n") else line + "\n").encode("utf-8", "surrogatepass"))
        while data:
            data = data[os.write(fd, data) :]


def diff(first: str, second: str, *, as_json: bool) -> int:
    from replays.diff import diff as compare
    from replays.reader import open_replay

    with open_replay(first) as one, open_replay(second) as other:
        comparison = compare(one, other)
    if as_json:
        import msgspec

        from replays.info import strict

        print(json.dumps(strict({**msgspec.to_builtins(comparison), "same": comparison.same}), allow_nan=False))
    elif comparison.same:
        print_plain(f"the same in all {comparison.ticks[0]} ticks")
    else:
        for difference in sorted(comparison.firsts.values(), key=lambda found: found.tick):
            print_plain(str(difference))
    return 0 if comparison.same else 1


def answer(game: str, *, mode: str, turn: int, file: str | None) -> int:
    import games
    from workers.answers import answer_report

    spec = games.spec(game)
    if file is None or file == "-":
        raw = sys.stdin.buffer.read()
    else:
        try:
            with open(file, "rb") as source:
                raw = source.read()
        except OSError as error:
            raise Exit(2, f"{file}: cannot be read ({error.strerror}); give a text file, or the text on stdin") from error
    print(json.dumps(answer_report(spec, raw.decode("utf-8", "replace"), mode, turn)))
    return 0


def print_plain(text: str) -> None:
    """Print text that may hold what a file or a model said: no control character reaches the terminal, any locale copes."""
    from replays.clean import clean

    encoding = sys.stdout.encoding or "utf-8"
    print(clean(text).encode(encoding, "backslashreplace").decode(encoding))
