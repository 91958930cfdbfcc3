"""The two stream panes: heading rule, pinned lines, running tail. Pure.

Pinned lines answer "what does it want, and does that still hold?"; the tail is allowed to be a waterfall. The line being
written is bright, what stands above it is softer, and what belongs to an older turn is dim.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.style import Style

from replays.clean import clean, one_line
from replays.clean import width as cells
from replays.events import Part
from replays.notes import why
from replays.plans import Cell, PlanLine, where
from replays.streams import StreamState
from replays.view_state import ViewState
from rtdesk.tui.highlight import painted, spans
from rtdesk.tui.looks import STRATEGY, Look
from rtdesk.tui.pair import name_of, of_whom, sign_of
from rtdesk.tui.person import key_rows, rules_of
from rtdesk.tui.runs import Row, Run, blank, finish, rule
from rtdesk.tui.views import Find, View
from rtdesk.tui.wrap import Line, last_rows, rows_at, wrap

__all__ = ["answer_row", "person_pane", "planner_head", "planner_pane", "planner_pins", "programmed", "reactor_pane", "tail_height", "tail_rows", "waited"]

RECENT = 24
"""Lines of the event list in which the reason of a failure is looked for."""


def planner_pane(state: ViewState, view: View, look: Look, width: int, height: int) -> list[Row]:
    stream = state.planner
    rows = [planner_head(state, look, width, waits="planner" in waited(state, view))]
    pins = planner_pins(state, look, width)
    rows += pins[: _pin_count(height)]
    if stream.segments:
        rows.append(_segments(stream, look, width))
    return _with_tail(rows, state, stream, view, look, width, height, "planner")


def reactor_pane(state: ViewState, view: View, look: Look, width: int, height: int) -> list[Row]:
    rows = [_reactor_head(state, look, width, waits="reactor" in waited(state, view)), answer_row(state, look, width)]
    return _with_tail(rows, state, state.reactor, view, look, width, height, "reactor")


def person_pane(state: ViewState, view: View, look: Look, width: int, height: int) -> list[Row]:
    """Return the pane of a run in which nobody thinks: the key in force, the rules, what there is to see in words."""
    header, human = state.header, view.status.human
    title = ("you both" if view.status.people > 1 else "you") if human else (header.agent if header is not None else "player")
    notes = ("the last key of a tick counts", "last key counts") if human else ("no thinker",)
    rows = [rule(look, "person" if human or state.keys else "", one_line(title, 24), notes, f"{state.keys:>5,} keys" if human or state.keys else "", width)]
    if human or state.keys:
        word = _keys_in_force(state, view, look)
        if view.status.count:
            word = [(f" {view.status.count} ", look.chip["person"]), ("  get ready", look.text)]
        rows.append(_pin(look, "person", "key", word, width))
    body: list[list[Run]] = [[]]
    if view.spec is not None:
        lines = view.spec.help
        if view.status.people > 1:
            # Which keys are whose where two share a keyboard, the game's own lines do not know.
            lines = tuple(rules_of(view.spec))
            body += [*key_rows(view.spec, look, width - 3, people=2), []]
        body += [[(view.spec.title, look.bright)], *_wrapped(view.spec.summary, look.text, width - 3), []]
        body += [row for line in _sentences(lines) for row in _wrapped(line, look.soft, width - 3)] + [[]]
    told = rows_at(clean(state.text[:8000]), width - 3, max(1, height), 0)
    body += [[(line.text, look.dim)] for line in told]
    rows += [finish((("  ", look.base), *line), width, look) for line in body[: max(0, height - len(rows))]]
    return rows + [blank(width, look)] * (height - len(rows))


def _keys_in_force(state: ViewState, view: View, look: Look) -> list[Run]:
    """The key of the one person who plays, or of both where two do."""
    header = state.header
    if header is None or header.agent != "human" or header.options.get("partner") != "human":
        key = state.key or state.partner_key
        return [(f" {key} ", look.chip["person"]), ("  in force for this tick", look.text)] if key else [(" none in this tick", look.dim)]
    runs: list[Run] = []
    for player, key in enumerate((state.key, state.partner_key)):
        name = " ".join(part for part in (name_of(state, player), sign_of(view, player)) if part)
        runs += [(f" {key or look.signs.dot} ", look.chip["person"] if key else look.dim), (f" {name}   ", look.text)]
    return runs


def _sentences(lines: Sequence[str]) -> list[str]:
    """Return lines that were broken for some other width as they were meant: what ends in no full stop goes on."""
    out: list[str] = []
    for line in lines:
        if out and not out[-1].endswith("."):
            out[-1] += " " + line
        else:
            out.append(line)
    return out


def _wrapped(text: str, style: Style, columns: int) -> list[list[Run]]:
    return [[(line.text, style)] for line in wrap(text, 0, len(text), columns)]


def tail_height(state: ViewState, voice: str, height: int) -> int:
    """Return how many rows of a pane are tail, for scrolling by pages."""
    if voice == "reactor":
        return max(0, height - 2 - (height >= 10))
    return max(0, height - 1 - _pin_count(height) - bool(state.planner.segments) - (height >= 10))


def _pin_count(height: int) -> int:
    return 3 if height >= 12 else 2


def _clock(state: ViewState, at: int | None, t_ns: int | None = None) -> str:
    """Return an instant as the reader counts it: tokens, or seconds, since the tick began."""
    if at is not None and state.start_at is not None:
        return f"{at - state.start_at:,}"
    if t_ns is not None:
        return f"{max(0.0, (t_ns - state.start_ns) / 1e9):.1f} s"
    return "?"


def waited(state: ViewState, view: View) -> tuple[str, ...]:
    """Return whose words the board waits for: those that run and are not yet where the tick needs them."""
    if view.status.mode != "live" or view.status.play != "waiting" or state.start_at is None or state.end_at is None:
        return ()
    # Until the reactor may wake, that is where the planner has to get.
    planner, reactor = state.planner, state.reactor
    goal = state.guidance_at if state.guidance_at is not None and state.woke is None else state.end_at
    late = planner.running and (planner.at is None or planner.at < goal)
    return (*(("planner",) if late else ()), *(("reactor",) if reactor.running else ()))


def planner_head(state: ViewState, look: Look, width: int, *, waits: bool = False) -> Row:
    """Return the planner's heading; `waits` says that the board holds until it has said more."""
    stream, title = state.planner, of_whom(state) + "planner"
    count = f"{stream.tokens:>6,} tok" if width >= 44 else f"{stream.tokens:>6,}"
    if stream.generation < 0:
        return rule(look, "planner", title, ("waiting for its first turn", "waiting"), count, width)
    turn, behind = stream.generation, max(0, state.tick - stream.generation)
    if stream.running:
        if waits:
            notes: Sequence[str] = (f"thinks about turn {turn}: the board waits for it", f"turn {turn}, waited for", "waited for")
        elif behind == 0:
            notes = (f"thinks about turn {turn}, the one now running", f"thinks about turn {turn}", f"turn {turn}")
        else:
            notes = (f"thinks about turn {turn}, now {state.tick}: {behind:>2} behind", f"thinks about turn {turn}, {behind:>2} behind", f"turn {turn}, {behind:>2} behind", f"turn {turn}")
    else:
        done = {"stop": "done with", "cancelled": "dropped", "length": "cut at its limit on", "budget": "cut at its budget on"}.get(stream.finish or "stop", "failed on")
        notes = (f"{done} turn {turn}, idle until the next tick", f"{done} turn {turn}, idle", f"turn {turn}, idle")
    return rule(look, "planner", title, notes, count, width)


def _pin(look: Look, voice: str, word: str, runs: Sequence[Run], width: int, *, strong: bool = True) -> Row:
    bar = (look.signs.bar, look.voice[voice])
    label = (f" {word:<7}", look.strong[voice] if strong else look.dim)
    return finish((bar, label, *runs), width, look)


def planner_pins(state: ViewState, look: Look, width: int) -> list[Row]:
    """Return the three lines that matter of what a planner has said: its best line, goal and warning, or what there is to know of its program."""
    if programmed(state):
        return _program_pins(state, look, width)
    pins = state.pins
    plan = pins.best if pins.best is not None else state.plan
    word = "best" if plan is pins.best else "plan"
    rows = [_pin(look, "planner", word, _plan_runs(state, plan, look, width - 9), width)]
    if pins.goal:
        old = pins.goal_turn != state.planner.generation
        rows.append(_pin(look, "planner", "goal", ((pins.goal, look.dim if old else look.text), _since(pins.goal_turn, old, look)), width))
    else:
        rows.append(_pin(look, "planner", "goal", (("none named yet", look.dim),), width))
    if pins.warnings:
        old = pins.warned != state.planner.generation
        runs: list[Run] = [(pins.warnings[0], look.dim if old else look.text)]
        if len(pins.warnings) > 1:
            runs.append((f"  (+{len(pins.warnings) - 1})", look.dim))
        rows.append(_pin(look, "planner", "warn", runs, width, strong=not old))
    else:
        rows.append(_pin(look, "planner", "warn", (("nothing", look.dim),), width, strong=False))
    return rows


def programmed(state: ViewState) -> bool:
    """Whether the planner writes a program that acts, and no plan."""
    return state.program is not None or (state.header is not None and state.header.thinker == "code")


def _program_pins(state: ViewState, look: Look, width: int) -> list[Row]:
    program = state.program
    if program is None or not program.lines:
        held: list[Run] = [("no program yet", look.dim)]
    else:
        held = [(f"{program.lines} lines", look.bright), (f"  in force since tick {program.since}", look.dim)]
    if program is None:
        newest: list[Run] = [("being written", look.dim)]
    elif program.refused:
        why = {"truncated": "it was cut off", "invalid": "it is not allowed to run"}.get(program.refused, "there was none in it")
        newest = [("not used: ", look.voice["default"]), (why, look.text)]
    else:
        newest = [(f"turn {program.generation}", look.text), (" wrote it" if program.generation <= program.since else " wrote the same again", look.dim)]
    faults: list[Run] = [(f"{state.faults}", look.strong["default"] if state.faults else look.dim)]
    return [
        _pin(look, "planner", "code", held, width),
        _pin(look, "planner", "newest", newest, width),
        _pin(look, "planner", "faults", faults, width, strong=bool(state.faults)),
    ]


def _since(turn: int, old: bool, look: Look) -> Run:
    return (f"  from turn {turn}" if old else "", look.dim)


def _plan_runs(state: ViewState, plan: PlanLine | None, look: Look, room: int) -> list[Run]:
    if plan is None:
        return [("no line yet", look.dim)]
    coming = [step for step in plan.steps if step.turn >= state.tick]
    stale = state.holds is False and plan is state.pins.best
    if not coming:
        return [(f"ran out at turn {plan.steps[-1].turn}", look.dim)]
    if stale:
        sign, here = look.signs.hollow, where(state.stands)
        full = f"{sign} stale: expects {where(state.expected)}, now at {here}   "
        runs: list[Run] = [(full if room >= len(full) + 24 else f"{sign} stale at {here}  ", look.bright)]
    else:
        runs = [(f"{look.signs.diamond} ", look.voice["planner"])]
    used = sum(cells(text) for text, _ in runs)
    note = _note(plan.note)
    shown = 0
    for step in coming:
        cell: Cell | None = step.to or step.start
        turn, what = f"{step.turn} ", f"{step.letter}{where(cell).replace('lane ', '') if cell else ''}  "
        spare = room - used - len(turn) - len(what)
        if spare < 2 or (shown >= 3 and note and spare < len(note) + 2):
            break
        runs += [(turn, look.dim), (what, look.dim if stale else look.bright if shown == 0 else look.text)]
        used += len(turn) + len(what)
        shown += 1
    if shown < len(coming):
        runs.append((look.signs.ellipsis + " ", look.dim))
        used += 2
    if note and room - used > 8:
        runs.append((note, look.dim))
    return runs


def _note(note: str) -> str:
    """Return the first clause of what the thinker says of its line."""
    for border in (", ", "; ", " and ", ". "):
        note = note.split(border, 1)[0]
    return note.rstrip(".").removeprefix("It ")


def _segments(stream: StreamState, look: Look, width: int) -> Row:
    """Return the steered run as one strip: width by tokens, letter and colour by strategy, what is over budget in the alarm's colour."""
    done = stream.segments
    used = sum(one.tokens for one in done)
    open_tokens = max(1, stream.tokens - used) if done and done[-1].finish is None else 0
    weights = [max(1, one.tokens or (open_tokens if one is done[-1] else 1)) for one in done]
    room = width - 2
    while len(weights) > room:
        done, weights = done[1:], weights[1:]
    total, at, spent = sum(weights), 0, 0
    runs: list[Run] = [(look.signs.bar, look.voice["planner"]), (" ", look.base)]
    for one, weight in zip(done, weights):
        spent += weight
        upto = max(at + 1, round(spent / total * room))
        letter = STRATEGY.get(one.strategy.lower(), one.strategy[:1].upper() or "?")
        style = look.strong["default"] if one.over else look.segment.get(one.strategy.lower(), look.text)
        fill = look.signs.shade if "forced" in one.flags else look.signs.line
        runs.append((letter + fill * (upto - at - 1), style))
        at = upto
    return finish(runs, width, look)


def _reactor_head(state: ViewState, look: Look, width: int, *, waits: bool = False) -> Row:
    stream, answer = state.reactor, state.answer
    spent = stream.tick_tokens
    budget = state.reactive_budget
    count = f"{spent:>5,} of {budget:,} tok" if budget and width >= 70 else f"{spent:>6,} tok"
    if state.tick < 0:
        notes: Sequence[str] = ("waiting for its first turn", "waiting")
    elif state.woke is None:
        when = _clock(state, state.guidance_at, state.reactor_ns)
        notes = (f"asleep until {when}", f"until {when}", "asleep")
    elif answer is None and waits:
        notes = (f"thinks about turn {state.tick}: the board waits for it", "waited for")
    elif answer is None:
        when = _clock(state, state.woke if state.start_at is not None else None, state.woke)
        notes = (f"awake since {when}, thinks about turn {state.tick}", f"awake since {when}", "awake")
    elif answer.letter is None:
        notes = (f"gave no answer: {why(answer.why)}", "no answer")
    else:
        when = _clock(state, answer.at, answer.t_ns)
        notes = (f"answered at {when}", f"at {when}")
    return rule(look, "reactor", of_whom(state) + "reactor", notes, count, width)


def answer_row(state: ViewState, look: Look, width: int) -> Row:
    answer = state.answer
    if answer is None:
        word = look.signs.wait if state.woke is not None else "not yet"
        return _pin(look, "reactor", "answer", ((f" {word}", look.dim),), width)
    if answer.letter is None:
        return _pin(look, "reactor", "answer", ((" none ", look.chip["default"]), (f"  {why(answer.why)}", look.voice["default"])), width)
    runs: list[Run] = [(f" {answer.letter} ", look.chip["reactor"])]
    if answer.agrees is not None:
        runs.append(("  plan agrees" if answer.agrees else "  not the plan's letter", look.text))
    if answer.reason:
        runs.append((f"  {answer.reason}", look.dim))
    return _pin(look, "reactor", "answer", runs, width)


def _with_tail(rows: list[Row], state: ViewState, stream: StreamState, view: View, look: Look, width: int, height: int, voice: str) -> list[Row]:
    rows += _failed(state, stream, look, width, 3 if height >= 12 else 2)
    if height >= 10:
        rows.append(blank(width, look))
    count = height - len(rows)
    if count <= 0:
        return rows[:height]
    if view.prompts:
        rows += _prompt(state, stream, look, width, count)
    else:
        # What the reactor said last tick is old news until it wakes again.
        old = voice == "reactor" and state.woke is None
        rows += tail_rows(stream, view.anchors.get(voice), look, width, count, voice, old, view.find)
    return rows


def _failed(state: ViewState, stream: StreamState, look: Look, width: int, most: int) -> list[Row]:
    """Return why the last generation failed, in at most so many rows; nothing while one runs, or if it came to an ordinary end."""
    if stream.running or stream.finish in (None, "stop", "length", "budget", "cancelled"):
        return []
    told = (note.text for note in reversed(state.notes[-RECENT:]) if note.kind == "fault" and note.tick >= stream.generation and note.text.startswith(stream.name))
    said = next(told, "").removeprefix(f"{stream.name} failed: ")
    lines = wrap(said, 0, len(said), width - 10)[:most] if said else []
    return [_pin(look, "default", "" if number else "fault", ((line.text, look.voice["default"]),), width) for number, line in enumerate(lines)]


def tail_rows(stream: StreamState, anchor: int | None, look: Look, width: int, count: int, voice: str, old: bool, find: Find | None = None) -> list[Row]:
    """Return the running tail; `find` are words to show where they stand."""
    text = stream.text
    room = width - 3
    follow = anchor is None
    if follow:
        lines = last_rows(text, room, count)
    else:
        lines = rows_at(text, room, count, (anchor or 0) - stream.dropped)
    rows: list[Row] = []
    begins = max((border.offset for border in stream.borders if border.kind == "turn"), default=0) - stream.dropped
    last_line = lines[-1] if lines else None
    live = follow and stream.running and last_line is not None
    current = -1
    if live:
        # Every row of the line being written is bright, not only its last.
        current = next((i for i in range(len(lines) - 1, -1, -1) if lines[i].first), 0)
    style = look.soft
    found = spans(text, lines, find.pattern) if find is not None else []
    newest = look.chip["person"] if find is not None and find.stream == voice else look.found
    for i, line in enumerate(lines):
        if line.first or not rows:
            style = look.dim if old else _tail_style(line, begins, look, voice)
        shown = look.text if live and i >= current and style is look.soft else style
        runs: list[Run] = [("  ", shown), *painted(line, shown, found, look.found, newest)]
        if live and line is last_line and cells(line.text) < room:
            runs.append((look.signs.cursor, look.voice[voice]))
        rows.append(finish(runs, width, look))
    rows += [blank(width, look)] * (count - len(rows))
    if not follow:
        below = stream.said - stream.dropped - (lines[-1].offset if lines else 0)
        rows[-1] = finish(((f"  scrolled back, {below:,} characters below; End follows again", look.notice),), width, look)
    return rows


_KEYWORDS = ("Best line", "GOAL")


def _tail_style(line: Line, begins: int, look: Look, voice: str) -> Style:
    if line.offset < begins:
        return look.faint
    if line.first and (line.text.startswith(_KEYWORDS) or "\\boxed{" in line.text):
        return look.voice[voice]
    return look.soft


def _prompt(state: ViewState, stream: StreamState, look: Look, width: int, count: int) -> list[Row]:
    texts = state.header.texts if state.header is not None else {}
    parts: list[str] = []
    for part in stream.prompt:
        if not isinstance(part, Part):
            parts.append(part)
        elif part.text is not None:
            text = texts.get(part.text, f"[text {part.text}]")
            parts.append(text.encode()[part.start : part.upto].decode(errors="replace") if part.upto else text)
        elif part.obs is not None:
            parts.append(state.text if part.obs == state.tick else f"[observation of turn {part.obs}]")
        else:
            parts.append(f"\n[planner's text of turn {part.trace}, bytes {part.start:,} to {part.upto:,}]\n")
    text = clean("".join(parts)[-24_000:]) or "no prompt recorded"
    lines = rows_at(text, width - 3, count, 0)
    rows = [finish((("  " + line.text, look.soft),), width, look) for line in lines]
    return rows + [blank(width, look)] * (count - len(rows))
