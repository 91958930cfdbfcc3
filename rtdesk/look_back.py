"""Looking back at a recording: the commands that say what is in a file, verify it, compare it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from replays.compare import Missing, brief
from rtdesk.leave import Exit
from rtdesk.say import complain, hush, print_json, print_plain

if TYPE_CHECKING:
    from collections.abc import Callable

    from replays.diff import Comparison
    from replays.reader import Replay
    from workers.attribution import Influence

__all__ = ["answer", "diff", "info", "tell_damage", "verify"]


UNASKED_TICKS, UNASKED_S = 400, 2.0
"""`info` counts what guidance changed without being asked to in so many ticks at most, if it takes no longer (10 ms a tick here)."""


def tell_damage(recording: Replay) -> None:
    """Say on stderr what has been found damaged: what comes of a part of a file must not pass for the whole."""
    for warning in recording.warnings:
        complain(f"{recording.path}: {warning}")


def info(file: str, *, as_json: bool, guidance: bool = False, game: str | None = None, reactor: str | None = None) -> int:
    from replays.info import info as inspect
    from replays.reader import open_replay

    if reactor is not None and not guidance:
        raise Exit(2, f"--reactor {reactor} says who is asked for --guidance; give both, or neither")
    hush()
    with open_replay(file) as recording:
        found = inspect(recording)
        influence = _influence(recording, game=game, reactor=reactor) if guidance else _quick_influence(recording, game=game)
        if influence is not None:
            import msgspec

            from workers.attribution import AHEAD

            found["guidance"] = {**msgspec.to_builtins(influence), "neither": influence.neither, "ahead": AHEAD}
        else:
            found["guidance"] = None
    if as_json:
        print_json(found)
    else:
        print_plain("\n".join(info_lines(found)))
    for warning in found["warnings"]:
        complain(str(warning))
    return 0


def _influence(recording: Replay, *, game: str | None, reactor: str | None, enough: Callable[[], bool] = lambda: False) -> Influence | None:
    from workers.attribution import weigh

    return weigh(recording, game=game, reactor=reactor, enough=enough)


def _quick_influence(recording: Replay, *, game: str | None) -> Influence | None:
    """Return what guidance changed where that takes a moment and asks nobody else; None elsewhere.

    A thinker is shown nothing that a file only claims: the recording must be what its game makes of it.
    """
    import time

    from replays.errors import ReplayError
    from replays.verify import verify as check

    backends = recording.header.backends
    until = time.monotonic() + UNASKED_S
    if "planner" not in backends or "reactor" not in backends or backends["reactor"].spec != "builtin" or recording.tick_count > UNASKED_TICKS or recording.warnings:
        return None
    try:
        same = check(recording, game=game).same
        return _influence(recording, game=game, reactor=None, enough=lambda: time.monotonic() > until) if same else None
    except (ReplayError, ValueError, LookupError):
        return None


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
    partner = found["partner"]
    who = found["agent"] + (f" with {partner['name']}" if partner is not None else "")
    rows = [
        ("episode", f"{found['game']} {found['load']} seed {found['seed']}, agent {who} ({thinkers})"),
        ("clock", f"{found['clock']} time, {budget}{share}"),
        ("result", f"score {score} (raw {'-' if found['raw_score'] is None else format(found['raw_score'], 'g')}) in {found['steps']} steps, {ended}"),
        *_action_lines(found, ""),
        *(_action_lines(partner, "partner's ") if partner is not None else ()),
        ("tokens", f"planner {found['planner_tokens']}, reactor {found['reactor_tokens']}"),
        *_speed_lines(found),
        ("faults", str(found["faults"])),
        ("time", f"{found['duration_s']:.2f} s"),
        ("file", f"{found['bytes']} bytes, format {found['version']}, {found['keyframes']} keyframes"),
        ("canonical", found["canonical"]),
    ]
    rows += [("fault", " ".join(str(part) for part in (fault.values() if isinstance(fault, dict) else [fault]))) for fault in found["fault_list"][:20]]
    if found["guidance"] is not None:
        rows += _guidance_lines(found["guidance"])
    elif {"planner", "reactor"} <= set(found["backends"]) and found["options"].get("guidance") != "none":
        rows.append(("guidance", "not counted; --guidance asks the reactor again and counts what it changed"))
    return [f"{name:10} {value}" for name, value in rows]


def _speed_lines(found: dict[str, Any]) -> list[tuple[str, str]]:
    """How fast each stream was, and how much the reactor needs."""
    rows = []
    for name, stream in found["streams"].items():
        tpot, ttft, fit = stream["tpot_s"], stream["ttft_s"], stream["fit"]
        parts = [f"{word} {_ms(told['median'])} (p90 {_ms(told['p90'])})" for word, told in (("TTFT", ttft), ("TPOT", tpot)) if told is not None]
        if fit is not None:
            parts.append(f"T = {fit['alpha']:.3g} N {'-' if fit['beta'] < 0 else '+'} {abs(fit['beta']):.3g} s (R2 {fit['r2']:.2f})")
        if parts:
            rows.append((name, ", ".join(parts)))
    use = found["reactor_use"]
    if use is not None:
        shares = ", ".join(f"{name[1:]}% within {use[name]}" for name in ("p50", "p90", "p95") if use[name] is not None)
        rows.append(("needs", f"reactor streams: {shares or 'unknown, too many were cut'} tokens; {use['cut']} of {use['streams']} cut"))
    return rows


def _action_lines(told: dict[str, Any], whose: str) -> list[tuple[str, str]]:
    """Where a player's actions came from, and why they were defaults where they were."""
    return [
        ("actions", whose + (", ".join(f"{source} {count}" for source, count in told["actions"].items()) or "none")),
        ("defaults", f"{whose}{told['default_actions']}" + "".join(f", {reason} {count}" for reason, count in told["default_reasons"].items())),
    ]


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:.3g} ms"


def _guidance_lines(told: dict[str, Any]) -> list[tuple[str, str]]:
    exact = "" if told["exact"] else "; asked again, so not exact"
    counts = f"better {told['better']}, worse {told['worse']}, neither {told['neither']} (score {told['ahead']} ticks later)"
    rows = [("guidance", f"changed {told['changed']} of {told['asked']} actions: {counts}{exact}")]
    for one in told["exchanges"]:
        if one["score"] != one["other_score"]:
            word = "better" if one["score"] > one["other_score"] else "worse"
            rows.append(("", f"tick {one['tick']}: {one['letter']} instead of {one['other']}, {word}: {one['score']:g} against {one['other_score']:g}"))
    return rows


def verify(
    file: str, *, game: str | None = None, planner: str | None = None, reactor: str | None = None, thinkers: bool = True, as_json: bool
) -> int:
    from replays.reader import open_replay
    from replays.verify import verify as check
    from workers.rerun import Rerun, rerun

    hush()
    with open_replay(file) as recording:
        verdict = check(recording, game=game)
        again = rerun(recording, game=game, planner=planner, reactor=reactor) if thinkers else Rerun(why="not asked for")
        warnings = [str(warning) for warning in recording.warnings]
        made_by = recording.header.versions.get("rtdesk", "")
        ended = recording.end is not None
        tell_damage(recording)
    same = verdict.same and again.same
    # Where both differ in one tick the log's own difference came first: a step only shows what an action did.
    first = min((one for one in (again.divergence, verdict.divergence) if one is not None), key=lambda one: one.tick, default=None)
    if as_json:
        from replays.info import strict

        report = {
            "file": file,
            "same": same,
            "steps": verdict.steps,
            "divergence": _divergence(first),
            "unchecked": list(verdict.unchecked),
            "thinkers": {"ran": again.ran, "same": again.same if again.ran else None, "ticks": again.ticks, "why": again.why, "divergence": _divergence(again.divergence)},
            "game": {"same": verdict.same, "divergence": _divergence(verdict.divergence)},
            "warnings": warnings,
        }
        print_json(strict(report))
        return 0 if same else 1
    told = f"thinkers run again in {again.ticks} ticks, all equal" if again.ran else "thinkers not run again"
    told += f" ({again.why})" if again.why else ""
    if same:
        print_plain(f"{file}: {verdict.steps} steps played again, all equal; {told}" + ("" if ended else "; it has no end"))
        return 0
    what = str(first) if first is not None else f"{len(verdict.unchecked)} ticks could not be checked because the file lost them"
    print_plain(f"{file}: differs: {what} ({verdict.steps} steps equal" + ("" if again.divergence is not None else f"; {told}") + ")")
    if again.divergence is not None and verdict.same:
        from workers.episode import rtdesk_version

        other = f"recorded by rtdesk {made_by}, this is {rtdesk_version()}" if made_by != rtdesk_version() else "has a thinker, an agent or a prompt been changed since?"
        print_plain(f"{file}: the game itself is the same; the thinkers say something else: {other}")
    return 1


def _divergence(found: Any) -> dict[str, Any] | None:
    if found is None:
        return None
    recorded, played = (None if value is Missing else value for value in (found.recorded, found.played))
    return {"tick": found.tick, "field": found.field, "recorded": recorded, "played": played}


def _nothing(value: object) -> object:
    """What one side does not have is null in JSON."""
    return None if value is Missing else str(value)


def diff(first: str, second: str, *, as_json: bool) -> int:
    from replays.diff import diff as compare
    from replays.reader import open_replay

    with open_replay(first) as one, open_replay(second) as other:
        comparison = compare(one, other)
        tell_damage(one)
        tell_damage(other)
    if as_json:
        import msgspec

        from replays.info import strict

        print_json(strict({**msgspec.to_builtins(comparison, enc_hook=_nothing), "same": comparison.same}))
    elif comparison.same:
        print_plain(f"the same in all {comparison.ticks[0]} ticks")
    else:
        print_plain("\n".join(_diff_lines(comparison)))
    return 0 if comparison.same else 1


def _diff_lines(found: Comparison) -> list[str]:
    """What differs, first things first, then what came of it."""
    lines = [f"header: {parting.path} is {brief(parting.a)} in the first, {brief(parting.b)} in the second" for parting in found.header]
    lines += [str(difference) for difference in sorted(found.firsts.values(), key=lambda one: one.tick)]
    after = found.after
    if after is None:
        return lines
    counts = ", ".join(f"{kind} in {count}" for kind, count in after.differ.items())
    lines.append(f"from tick {after.tick} on, where both had score {after.score:g}: of {after.ticks} ticks in common {counts or 'none differs'}")
    names = {"raw_score": "score", "default_actions": "defaults", "done_reason": "ended by"}
    lines.append(f"{'':15}{'first':>12}{'second':>12}")
    for name in after.a.__struct_fields__:
        one, other = (getattr(side, name) for side in (after.a, after.b))
        words = [f"{value:g}" if isinstance(value, float) else "-" if value is None else f"{value}" for value in (one, other)]
        lines.append(f"{names.get(name, name.replace('_', ' ')):15}{words[0]:>12}{words[1]:>12}" + ("" if one == other else "  *"))
    return lines


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
    print_json(answer_report(spec, raw.decode("utf-8", "replace"), mode, turn))
    return 0
