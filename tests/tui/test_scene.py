"""The scene: rows for every part at every size, with no app. Most of what the screen promises is held here."""

from itertools import product
from pathlib import Path

import msgspec
import pytest
from material import BUDGET, episode, upto

import games
from replays import events as ev
from replays.clean import clean, width
from replays.reduce import fold, fold_all
from replays.view_state import ViewState
from rtdesk.tui.board import Overlay, draw_board
from rtdesk.tui.boards import BoardMaker
from rtdesk.tui.cards import card_rect, find_card, help_card, log_card
from rtdesk.tui.history import plot_rows
from rtdesk.tui.layout import MINIMUM, Layout, arrange
from rtdesk.tui.looks import LOOKS, make_look
from rtdesk.tui.result import result_card
from rtdesk.tui.runs import plain
from rtdesk.tui.scene import scene
from rtdesk.tui.views import Overview, Status, View

SIZES = [(60, 20), (80, 24), (79, 31), (100, 32), (120, 36), (200, 60), (240, 80)]
EVENTS = episode()


def view_of(state: ViewState, share: float, **more: object) -> View:
    maker = BoardMaker()
    board = maker.board(state.header, state.snapshot)
    return View(status=Status(rate=1.0, at=(max(0, state.tick) + share) * BUDGET), board=board, spec=maker.spec, **more)  # type: ignore[arg-type]


def at(tick: int, share: float, events: list[ev.AnyEvent] = EVENTS) -> tuple[ViewState, View]:
    state = fold_all(upto(events, tick, share))
    return state, view_of(state, share)


def text(state: ViewState, view: View, layout: Layout, look: str = "dark", ascii: bool = False) -> dict[str, list[str]]:
    return {part: [plain(row) for row in rows] for part, rows in scene(state, view, make_look(look, ascii), layout).items()}


def layout_for(size: tuple[int, int], view: View) -> Layout:
    return arrange(*size, view.board.columns if view.board else 8, view.board.rows if view.board else 8)


@pytest.mark.parametrize(("size", "look"), [*product(SIZES, LOOKS)])
def test_every_part_fills_its_place_exactly(size: tuple[int, int], look: str) -> None:
    for state, view in ((ViewState(), View()), at(0, 0.0), at(9, 0.99), at(10, 0.1), at(15, 0.5), at(27, 1.0)):
        layout = layout_for(size, view)
        for part, rows in scene(state, view, make_look(look), layout).items():
            rect = layout.parts[part]
            assert len(rows) == rect.height, part
            assert [sum(width(run) for run, _ in row) for row in rows] == [rect.width] * rect.height, part


@pytest.mark.parametrize("size", SIZES)
def test_parts_tile_the_screen(size: tuple[int, int]) -> None:
    layout = arrange(*size)
    covered = [[0] * size[0] for _ in range(size[1])]
    for rect in layout.parts.values():
        for y in range(rect.y, rect.y + rect.height):
            for x in range(rect.x, rect.x + rect.width):
                covered[y][x] += 1
    assert all(count == 1 for row in covered for count in row)


def test_at_80x24_board_both_streams_and_budget_are_there() -> None:
    state, view = at(12, 0.95)
    layout = layout_for((80, 24), view)
    parts = text(state, view, layout)
    assert layout.cell == (2, 1)
    assert sum(entity.kind == "wall" for entity in view.board.entities) == 28
    for voice, stream in (("planner", state.planner), ("reactor", state.reactor)):
        said = {line.strip() for line in stream.text.splitlines()}
        tail = [row.replace("▌", "").strip() for row in parts[voice][2:]]
        shown = [row for row in tail if row and any(row in line for line in said)]
        assert len(shown) >= 3, voice
    assert "of 8,192 tokens left" in parts["meter"][2]


@pytest.mark.parametrize("size", [(59, 24), (80, 19), (40, 12), (20, 6), (10, 3), (1, 1)])
def test_below_the_minimum_one_line_names_what_is_needed(size: tuple[int, int]) -> None:
    state, view = at(12, 0.5)
    layout = layout_for(size, view)
    parts = text(state, view, layout)
    lines = [row.strip() for row in parts["head"] if row.strip()]
    assert len(lines) == 1
    if size[0] >= 24:
        assert f"{MINIMUM[0]}x{MINIMUM[1]}" in lines[0]
        assert f"{size[0]}x{size[1]}" in lines[0]
    assert all(not rows for part, rows in parts.items() if part != "head")


def test_the_row_under_the_board_says_who_decided() -> None:
    state, view = at(12, 0.95)
    rows = text(state, view, layout_for((120, 36), view))["left"]
    assert state.answer is not None
    assert any(f" {state.answer.letter}  reactor" in row for row in rows)
    state, view = at(10, 0.05)
    rows = text(state, view, layout_for((120, 36), view))["left"]
    assert any(" S  default  answer cut off" in row for row in rows)


def test_a_tick_without_an_answer_is_shouted_for_a_moment() -> None:
    for share, loud in ((0.05, True), (0.5, False)):
        state, view = at(10, share)
        meter = text(state, view, layout_for((120, 36), view))["meter"]
        assert ("no answer in time" in meter[2]) is loud
    state, view = at(9, 1.0)
    parts = text(state, view, layout_for((120, 36), view))
    assert "gave no answer: answer cut off" in parts["reactor"][0]
    assert "no answer" in parts["meter"][2]


def test_the_meter_drains_and_names_the_instants() -> None:
    state, view = at(12, 0.25)
    bar, labels = text(state, view, layout_for((120, 36), view))["meter"][1:3]
    assert labels.split()[:5] == ["6,144", "of", "8,192", "tokens", "left"]
    assert bar.count("▒") == round(118 / 4)
    assert abs(bar.count("─") - 118 / 4) <= 1
    assert labels.index("▲") == 1 + round(118 * 0.75)
    state, view = at(12, 0.95)
    labels = text(state, view, layout_for((120, 36), view))["meter"][2]
    assert "reactor woke ▲" in labels
    assert f"▲ answers {state.answer.letter}" in labels


@pytest.mark.parametrize(("reason", "words"), [("invalid", "default S: answer is no legal action"), ("fault", "default S: thinker failed"), ("late", "no answer in time: default S")])
def test_the_alarm_says_what_an_answer_lacked(reason: str, words: str) -> None:
    state, view = at(10, 0.05)
    assert state.last is not None
    state.last = msgspec.structs.replace(state.last, reason=reason)
    assert words in text(state, view, layout_for((120, 36), view))["meter"][2]


def test_why_a_thinker_failed_is_pinned_until_it_begins_again() -> None:
    state, view = at(12, 0.2)
    what = "http://127.0.0.1:8080/v1/chat/completions answered 404 Not Found: there is no model of that name, ask whoever keeps it"
    fold(state, ev.Fault(tick=12, component="planner", what=what))
    fold(state, ev.Generation(tick=12, stream="planner", id=12, phase="end", finish="http_status"))
    for size, most in (((120, 36), 3), ((80, 24), 2)):
        rows = text(state, view, layout_for(size, view))["planner"]
        at_ = next(number for number, row in enumerate(rows) if row.startswith("▌ fault "))
        told = " ".join(row[9:].strip() for row in rows[at_ : at_ + most]).strip()
        assert what.startswith(told)
        assert len(told) > 30
    assert "404 Not Found" in " ".join(text(state, view, layout_for((120, 36), view))["planner"])
    # In the event list it stands once, and in a roomy one it can be read.
    shown = [row.strip() for row in text(state, view, layout_for((200, 60), view))["rail"]]
    assert sum("planner failed" in row for row in shown) == 1
    assert "404 Not Found" in " ".join(shown)
    assert not any("http status" in row for row in shown)
    fold(state, ev.Generation(tick=13, stream="planner", id=13, phase="start"))
    assert not any(row.startswith("▌ fault") for row in text(state, view, layout_for((120, 36), view))["planner"])


def test_where_the_board_waits_the_one_it_waits_for_is_named() -> None:
    for share, who in ((0.3, "planner"), (0.77, "reactor")):
        state, view = at(12, share)
        state.planner.running = who == "planner"
        for play, waits in (("playing", False), ("waiting", True)):
            view.status = msgspec.structs.replace(view.status, play=play)
            parts = text(state, view, layout_for((120, 36), view))
            for voice in ("planner", "reactor"):
                assert ("the board waits for it" in parts[voice][0]) is (waits and voice == who)
    view.status = msgspec.structs.replace(view.status, mode="replay")
    assert "waits" not in text(state, view, layout_for((120, 36), view))["reactor"][0]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("share", [0.01, 0.1, 0.3, 0.75, 0.77, 0.9, 0.999])
def test_an_arrow_below_the_meter_points_at_its_instant_or_is_not_there(size: tuple[int, int], share: float) -> None:
    state, view = at(12, 1.0)
    assert state.answer is not None
    state.answer = msgspec.structs.replace(state.answer, at=state.start_at + round(share * BUDGET))
    labels = text(state, view, layout_for(size, view))["meter"][2]
    inner = size[0] - 2
    marks = {1 + min(inner - 1, round(inner * one)) for one in (0.75, share)}
    arrows = [column for column, sign in enumerate(labels) if sign == "▲"]
    assert set(arrows) <= marks
    letter = state.answer.letter
    assert f"answers {letter}" in labels or f"▲ {letter}" in labels
    if size[0] > 60 and not any(words in labels for words in (f"▲ answers {letter}", f"answers {letter} ▲", f"▲ {letter}")):
        assert f"answers {letter} at {round(share * BUDGET):,}" in labels


def test_a_planner_that_writes_programs_has_its_program_pinned_and_no_plan() -> None:
    state, view = at(12, 0.2)
    assert state.header is not None
    state.header = msgspec.structs.replace(state.header, agent="code", backends={"planner": state.header.backends["planner"]})
    parts = text(state, view, layout_for((120, 36), view))
    assert "code   no program yet" in parts["planner"][1]
    fold(state, ev.Answer(tick=12, stream="planner", generation=11, mode="program", program="def act(view, memory):\n    return 'S'\n"))
    parts = text(state, view, layout_for((120, 36), view))
    assert "code   2 lines  in force since tick 12" in parts["planner"][1]
    assert "turn 11 wrote it" in parts["planner"][2]
    assert any(row.startswith(" program since tick 12") for row in parts["left"])
    assert not any("no line yet" in row or row.startswith(" plan ") for row in (*parts["planner"], *parts["left"]))


def test_a_baseline_borrows_nobodys_colour() -> None:
    state, view = at(12, 0.2)
    assert state.header is not None
    assert state.last is not None
    state.header = msgspec.structs.replace(state.header, agent="random", backends={})
    state.last, state.answer = msgspec.structs.replace(state.last, source="policy"), None
    look = make_look("dark")
    voices = {look.value(voice) for voice in ("planner", "reactor", "person", "default")}
    rows = scene(state, view, look, arrange(120, 36, reactor=False))
    shown = [(text, style) for row in (rows["planner"][0], *(row for row in rows["left"] if "policy" in plain(row))) for text, style in row]
    assert any("policy" in text for text, _ in shown)
    for _, style in shown:
        assert not {colour and colour.name for colour in (style.color, style.bgcolor)} & voices


@pytest.mark.parametrize("columns", [60, 80, 100])
def test_a_person_reads_the_rules_whole(columns: int) -> None:
    state, view = at(0, 0.0)
    assert state.header is not None
    assert view.spec is not None
    state.header = msgspec.structs.replace(state.header, agent="human", backends={})
    view.status = msgspec.structs.replace(view.status, human=("U", "D", "L", "R"))
    rows = text(state, view, arrange(columns, 60, reactor=False))["planner"]
    shown = " ".join(" ".join(rows).split())
    for said in (view.spec.summary, *view.spec.help):
        assert said in shown


def test_figures_do_not_move_the_row_when_they_grow() -> None:
    widths = set()
    for tick, share in ((1, 0.01), (1, 0.5), (9, 0.99)):
        state, view = at(tick, share)
        parts = text(state, view, layout_for((120, 36), view))
        widths.add((parts["meter"][2].index(" of "), parts["head"][0].index("of 100")))
    assert len(widths) == 1


def test_the_planners_heading_says_how_far_behind_it_is() -> None:
    state, view = at(5, 0.3)
    heading = text(state, view, layout_for((120, 36), view))["planner"][0]
    assert state.planner.generation < 5
    assert f"thinks about turn {state.planner.generation}, now 5" in heading


def test_titles_shrink_before_the_counter_is_cut() -> None:
    state, view = at(5, 0.3)
    for columns in range(60, 130):
        layout = arrange(columns, 24)
        heading = text(state, view, layout)["planner"][0]
        assert f"{state.planner.tokens:,}" in heading
        assert "…" not in heading


def test_a_stale_plan_is_said_and_drawn_differently() -> None:
    tick = next(note.tick for note in fold_all(EVENTS).notes if note.kind == "stale")
    state, view = at(tick, 0.02)
    assert state.holds is False
    parts = text(state, view, layout_for((120, 36), view), "mono")
    assert "◇ stale" in parts["planner"][1]
    assert any("◇" in row for row in parts["left"])
    assert not any("◆" in row for row in parts["left"])


def test_the_snake_has_eyes_and_walls_are_hatched_without_colour() -> None:
    state, view = at(6, 0.2)
    rows = text(state, view, layout_for((80, 24), view), "mono")["left"]
    assert sum(row.count("░") for row in rows) == 28 * 2
    assert any("••" in row or " :" in row or ": " in row for row in rows)


@pytest.mark.parametrize("cell", [(2, 1), (4, 2), (6, 3), (8, 4)])
@pytest.mark.parametrize(("look", "ascii"), [("dark", False), ("light", False), ("ansi", False), ("mono", False), ("dark", True)])
def test_an_arrow_stands_in_its_own_cell_and_an_apple_there_keeps_its_number(cell: tuple[int, int], look: str, ascii: bool) -> None:
    game = games.make("snake", "hard", 0)
    game.reset()
    board = game.board()
    made = make_look(look, ascii)
    apple = next(entity for entity in board.entities if entity.role == "goal")
    free = next((x, y) for x in range(1, 7) for y in range(1, 7) if all((entity.x, entity.y) != (x, y) for entity in board.entities))
    plain_rows = [plain(row) for row in draw_board(board, made, cell, Overlay(), axes=False)]
    for (x, y), letter in product((free, (apple.x, apple.y)), "LRUD"):
        rows = draw_board(board, made, cell, Overlay(path=((x, y),), arrow=(x, y), letter=letter), axes=False)
        column, row = x * cell[0], (board.rows - 1 - y) * cell[1]
        inside = ""
        for number, line in enumerate(rows):
            shown = plain(line)
            assert width(shown) == width(plain_rows[number])
            if row <= number < row + cell[1]:
                inside += shown[column : column + cell[0]]
                shown = shown[:column] + plain_rows[number][column : column + cell[0]] + shown[column + cell[0] :]
            assert shown == plain_rows[number]
        if (x, y) != free:
            arrow = made.signs.arrows[letter]
            assert arrow in inside
            assert apple.text in inside or (len(arrow + apple.text) > cell[0] and not any(sign.isdigit() for sign in inside))
        assert made.signs.diamond not in inside


def test_ascii_draws_nothing_but_ascii() -> None:
    state, view = at(12, 0.95)
    for size in ((80, 24), (120, 36), (200, 60)):
        for rows in text(state, view, layout_for(size, view), "mono", ascii=True).values():
            assert all(row.isascii() for row in rows)


def test_history_rows_are_aligned_tick_by_tick() -> None:
    state, view = at(20, 0.5)
    score, events, acted = text(state, view, layout_for((120, 36), view))["meter"][4:7]
    assert acted[9 + 9] == "!"
    assert events[9 + 9] == "!"
    assert acted[9:29].count("▀") == 19
    assert score.rstrip().endswith(f"{state.score:g}")


def test_a_replays_timeline_shows_what_is_still_to_come() -> None:
    whole = fold_all(EVENTS)
    state, view = at(4, 1.0)
    view.status = msgspec.structs.replace(view.status, mode="replay", play="paused")
    view.overview = Overview(acted=whole.history.acted, marks=whole.history.marks, scores=tuple(whole.history.scores), ticks=whole.steps)
    rows = text(state, view, layout_for((120, 36), view))["meter"][4:7]
    assert "✕" in rows[1]
    assert rows[2].count("▀") >= 3 * (whole.steps - 3)


def test_at_200x60_there_are_a_score_plot_and_an_event_list() -> None:
    state, view = at(21, 0.5)
    parts = text(state, view, layout_for((200, 60), view))
    assert any("score ─" in row for row in parts["left"])
    assert any("plan went stale: at" in row for row in parts["rail"])
    assert any("default S: answer cut off" in row for row in parts["rail"])
    state, view = at(21, 0.5)
    rows = text(state, view, layout_for((160, 60), view))["left"]
    assert any("plan went stale: at" in row for row in rows)


def test_the_pace_of_both_thinkers_is_told_where_there_is_room() -> None:
    for size, part, both in (((200, 60), "rail", True), ((120, 36), "left", True), ((80, 24), "left", True), ((80, 22), "left", False)):
        state, view = at(21, 0.95)
        rows = [row[:27] for row in text(state, view, layout_for(size, view))[part]]
        for voice in ("planner", "reactor"):
            assert any(row.strip().startswith(voice) and " ms" in row for row in rows) is both, size
        assert any("TPOT" in row and "TTFT" in row for row in rows) is both or any(row.startswith(" TPOT") and " ms" in row for row in rows)


@pytest.mark.parametrize("top", [1, 3, 7, 18, 24, 100, 4000])
@pytest.mark.parametrize("height", [4, 6, 9, 12])
def test_a_figure_beside_the_plot_stands_where_a_bar_of_that_height_ends(top: int, height: int) -> None:
    state, view = at(12, 0.5)
    state.history.scores = [(0, float(top), float(top))]
    rows = [plain(row) for row in plot_rows(state, view, make_look("dark"), 60, height)]
    found = {int(row[:6]): number for number, row in enumerate(rows[:-1]) if row[:6].strip()}
    assert found
    for value, number in found.items():
        state.history.scores = [(0, float(value), float(value))]
        bars = [plain(row)[6] for row in plot_rows(state, view, make_look("dark"), 60, height, top=top)]
        ends = next(line for line, sign in enumerate(bars) if sign != " ")
        assert abs(ends - number) <= 1


def test_model_text_is_shown_verbatim_brackets_and_all() -> None:
    """Case T01: markup in model output is text."""
    case = ["[red]", "[/]", "[/", "[", "]", "[bold", "[/INST] ok", 'list [1,2,3] and ["a"]', "\\[b]"]
    for channel, one in product(("reasoning", "content"), (True, False)):
        state = fold_all(EVENTS[:3])
        for i, part in enumerate(case):
            for piece in [part + "\n"] if one else [*part, "\n"]:
                fold(state, ev.Token(tick=0, at=10 + i, stream="planner", generation=0, channel=channel, text=piece, lens=[len(piece)]))
        view = view_of(state, 0.1)
        rows = text(state, view, layout_for((120, 36), view))["planner"]
        for part in case:
            assert any(row.replace("▌", "").strip() == part for row in rows), part


def test_wide_and_odd_names_keep_the_board_aligned() -> None:
    """Case T05: whatever the model is called, the columns to its right stand where they stood."""
    labels = ["日本語モデル", "école", "⚠\ufe0f warn", "👨\u200d👩\u200d👧 fam", "❤\ufe0f", "ﷺ", "\u202etxet lasrever", "a\u200bb", "🇫🇷"]
    columns = set()
    for label in labels:
        events = episode(3, title=label)
        state, view = at(1, 0.5, events)
        layout = layout_for((120, 36), view)
        rows = scene(state, view, make_look("dark"), layout)
        head = plain(rows["head"][0])
        assert clean(label)[:3] in head
        assert sum(width(run) for run, _ in rows["head"][0]) == 120
        columns.add(width(head[: head.index("tick ")]))
        assert {sum(width(run) for run, _ in row) for row in rows["left"]} == {layout.parts["left"].width}
    assert len(columns) == 1


def test_steered_segments_are_a_strip_of_letters_scaled_by_tokens() -> None:
    state = fold_all(EVENTS[:3])
    used = 0
    for i, (strategy, tokens) in enumerate((("understand", 80), ("plan", 60), ("execute", 160), ("conclude", 40))):
        fold(state, ev.Segment(tick=0, id=i, generation=0, phase="open", strategy=strategy))
        used += tokens
        fold(state, ev.Segment(tick=0, id=i, generation=0, phase="close", strategy=strategy, tokens=tokens, used_before=used - tokens, used_after=used, budget=300, finish="boundary"))
    view = view_of(state, 0.1)
    look = make_look("dark")
    layout = layout_for((120, 36), view)
    rows = scene(state, view, look, layout)["planner"]
    strip = next(row for row in rows if plain(row).startswith("▌ U─"))
    letters = plain(strip)[2:]
    places = [letters.index(letter) for letter in "UPEF"]
    room = layout.parts["planner"].width - 2
    assert places == [round(room * share / 340) for share in (0, 80, 140, 300)]
    assert any(style is look.strong["default"] and "F" in run for run, style in strip)


def test_a_hostile_page_leaves_no_control_character_in_any_row() -> None:
    """Case T03, at the scene: every text of every event is the hostile page. The terminal's own test is in test_pty.py."""
    page = (Path(__file__).parent / "data" / "hostile.bin").read_bytes().decode()
    bad = page[:30]
    header = msgspec.structs.replace(
        EVENTS[0], agent=bad, load=bad, seed=3, texts={bad: bad}, backends={"planner": ev.Backend(spec=bad, title=bad), "reactor": ev.Backend(spec=bad)}
    )
    tick = msgspec.structs.replace(EVENTS[1], text=page)
    state = fold_all([header, tick, ev.Generation(tick=0, at=0, stream="planner", id=0, phase="start", prompt=[page, ev.Part(text=bad)])])
    for stream in ("planner", "reactor"):
        fold(state, ev.Token(tick=0, at=50, stream=stream, generation=0, channel="content", text=page, lens=[1] * len(page)))
    fold(state, ev.Token(tick=0, at=60, stream="planner", generation=0, channel="reasoning", text=f"GOAL {page}\nWARNING {page}\n", lens=[1]))
    fold(state, ev.Segment(tick=0, id=1, generation=0, phase="open", strategy=bad, phrase=page, flags=[bad]))
    for event in (
        ev.Bookmark(tick=0, note=page), ev.Fault(tick=0, component=page, what=page, done=page), ev.Control(tick=0, what="key", value=bad),
        ev.Budget(tick=0, why=page), ev.Action(tick=0, letter=bad, source=bad, reason=bad), ev.Action(tick=0, letter=bad, source="default", reason=bad),
        ev.Answer(tick=0, stream="reactor", generation=0, mode="act", letters=[page]), ev.Answer(tick=0, stream="reactor", generation=0, mode="act", why=bad),
    ):  # fmt: skip
        fold(state, event)
        for prompts, size in product((False, True), ((80, 24), (200, 60))):
            view = view_of(state, 0.1, prompts=prompts)
            look = make_look("dark")
            parts = text(state, view, layout_for(size, view))
            cards = [result_card(state, view, look, 72), help_card(state, view, look, 100)]
            shown = "\n".join([row for rows in parts.values() for row in rows] + [plain(row) for card in cards for row in card])
            assert all(char == "\n" or char.isprintable() for char in shown), event
            if not prompts and size == (200, 60):
                for word in ("safe1", "safe2", "safe3", "safe4", "safe5", "safe6", "end"):
                    assert word in shown


def test_a_person_sees_the_key_in_force_and_the_rules() -> None:
    header = ev.Episode(tick=0, game="snake", load="easy", seed=0, agent="human")
    tick = ev.Tick(tick=0, at=0, end_at=8192, view={}, text="the board in words", snapshot=EVENTS[1].snapshot)
    state = fold_all([header, tick, ev.Control(tick=0, what="key", value="R")])
    view = view_of(state, 0.1)
    view.status = msgspec.structs.replace(view.status, human=("U", "D", "L", "R"))
    parts = text(state, view, arrange(120, 36, planner=True, reactor=False))
    shown = "\n".join(parts["planner"])
    assert "━━ you" in shown
    assert " R   in force for this tick" in shown
    assert "Eat apples" in shown
    assert "the board in words" in shown
    # A person has seconds, not tokens.
    assert " s left" in parts["meter"][2]


def test_cards_say_how_it_went_and_what_the_keys_do() -> None:
    state = fold_all(EVENTS)
    view = view_of(state, 1.0)
    look = make_look("dark")
    result = "\n".join(plain(row) for row in result_card(state, view, look, 72, [0.2, 0.4]))
    for word in ("died after 28 ticks", "2 earlier runs", "followed", "next seed", "apples of 24"):
        assert word in result
    helped = "\n".join(plain(row) for row in help_card(state, view, look, 110))
    for word in ("pause, or go on", "slow motion", "planner", "default action", "Snake"):
        assert word in helped
    assert "default action" in "\n".join(plain(row) for row in find_card(view, look, 60))
    logged = log_card(["one \x1b[2J two"], look, 60, 8)
    assert len(logged) == 8
    assert "␛[2J" in "\n".join(plain(row) for row in logged)


def test_wall_time_counts_seconds() -> None:
    header = ev.Episode(tick=0, game="snake", load="easy", seed=0, agent="agile", clock="wall", tick_budget_s=8.0, reactive_budget_s=2.0, backends={"planner": ev.Backend(spec="x"), "reactor": ev.Backend(spec="x")})  # fmt: skip
    tick = ev.Tick(tick=0, t_ns=0, view={}, text="", reactor_ns=6_000_000_000, deadline_ns=8_000_000_000)
    state = fold_all([header, tick])
    view = View(status=Status(t_ns=2_000_000_000, paceable=False))
    meter = text(state, view, arrange(120, 36))["meter"]
    assert "6.00 of 8.0 s left" in meter[2]
    assert meter[1].count("▒") == round(118 / 4)
    assert "asleep until 6.0 s" in text(state, view, arrange(120, 36))["reactor"][0]


@pytest.mark.parametrize("name", games.names())
@pytest.mark.parametrize("load", ["easy", "medium", "hard"])
@pytest.mark.parametrize("look", ["dark", "mono"])
def test_every_games_board_fits_at_80x24_with_every_thing_on_it(name: str, load: str, look: str) -> None:
    game = games.make(name, load, 0)
    game.reset()
    board = game.board()
    for size in ((60, 20), (80, 24), (120, 36), (200, 60)):
        layout = arrange(*size, board.columns, board.rows)
        rows = draw_board(board, make_look(look), layout.cell, Overlay(), axes=layout.axes)
        assert len(rows) + 2 <= layout.parts["left"].height
        assert {sum(width(run) for run, _ in row) for row in rows} == {board.columns * layout.cell[0] + 3 * layout.axes} or not layout.axes
        assert board.columns * layout.cell[0] + 3 * layout.axes < layout.parts["left"].width
    shown = "\n".join(plain(row) for row in draw_board(board, make_look(look), (4, 2), Overlay(), axes=False))
    for entity in board.entities:
        if entity.text and entity.role in ("goal", "hazard") and 0 <= entity.x < board.columns:
            assert entity.text[:1] in shown, entity


@pytest.mark.parametrize(
    ("columns", "shown"),
    [(100, "rtdesk   snake hard · seed 3   agile"), (80, "rtdesk   snake hard · seed 3   agile"), (70, "snake hard · seed 3   agile"), (62, "snake seed 3   agile")],
)
def test_the_head_gives_up_whole_words_where_it_is_narrow(columns: int, shown: str) -> None:
    state, view = at(12, 0.4)
    view.status = msgspec.structs.replace(view.status, rate=1 / 32)
    [row] = text(state, view, arrange(columns, 24))["head"]
    assert row.strip().startswith(shown)
    left, _, right = row.partition("tick")
    assert left.endswith(" ")
    assert right.split() == ["12", "of", "100", "●", "live", f"{BUDGET / 32:.0f}", "tok/s"]


@pytest.mark.parametrize("columns", [60, 70, 79, 80, 100])
def test_facts_beside_a_small_board_are_whole(columns: int) -> None:
    for tick, share in product(range(14), (0.1, 0.5, 0.95)):
        state, view = at(tick, share)
        rows = text(state, view, arrange(columns, 24))["left"]
        [plan] = [row for row in rows if row.startswith(" plan ")]
        assert plan.split()[-1] in ("holds", "stale", "yet", "line")
        assert not any("…" in row for row in rows if row.startswith((" plan", " TPOT")))


def test_the_meter_drains_by_the_pace_while_nobody_speaks_and_by_the_speaker_else() -> None:
    header = ev.Episode(tick=0, game="snake", load="easy", seed=0, agent="agile", tick_budget_tokens=1000, reactive_budget_tokens=200, backends={"planner": ev.Backend(spec="x")})
    begun = [
        header,
        ev.Tick(tick=0, at=0, guidance_at=800, end_at=1000, text="", view={}, snapshot={}),
        ev.Generation(tick=0, at=0, stream="planner", id=0, phase="start"),
        ev.Token(tick=0, at=1, stream="planner", generation=0, channel="reasoning", text="so so", lens=[2, 3]),
    ]
    ended = ev.Generation(tick=0, at=2, stream="planner", id=0, phase="end", finish="stop")
    woke = ev.Generation(tick=0, at=800, stream="reactor", id=0, phase="start")

    def left(events: list[ev.AnyEvent], at: float) -> str:
        view = View(status=Status(rate=1.0, at=at))
        rows = text(fold_all(events), view, arrange(100, 30))["meter"]
        return next(row for row in rows if "tokens left" in row).split(" of ")[0].strip()

    # A server that is slower than the pace holds time up.
    assert left(begun, 500) == "998"
    assert left([*begun, ended], 500) == "500"
    # It does not go back when the next one begins to think.
    assert left([*begun, ended], 799) == "201"
    assert left([*begun, ended, woke], 805) == "200"


def test_a_run_without_a_planner_says_nothing_of_plans() -> None:
    header = ev.Episode(tick=0, game="snake", load="easy", seed=0, agent="reactive", tick_budget_tokens=100, backends={"reactor": ev.Backend(spec="x")})
    events = [
        header,
        ev.Tick(tick=0, at=0, guidance_at=0, end_at=100, text="", view={}, snapshot={}),
        ev.Answer(tick=0, at=9, stream="reactor", generation=0, mode="act", letters=["U"]),
    ]
    rows = text(fold_all(events), View(status=Status(rate=1.0)), arrange(80, 24))["left"]
    assert any("U  reactor" in row for row in rows)
    assert not any("plan" in row for row in rows)


@pytest.mark.parametrize("size", [(80, 24), (120, 36)])
def test_no_card_is_cut(size: tuple[int, int]) -> None:
    layout, look = arrange(*size), make_look("dark", False)
    state = fold_all(EVENTS)
    view = view_of(state, 1.0)
    for kind, made in (("help", help_card), ("result", result_card)):
        cut = [plain(row) for row in made(state, view, look, card_rect(layout, kind, 1).width) if "…" in plain(row)]
        assert cut == []


def test_the_result_of_a_run_in_wall_time_claims_no_token_budget() -> None:
    header = ev.Episode(tick=0, game="snake", load="easy", seed=0, agent="agile", clock="wall", tick_budget_s=1.0, reactive_budget_s=0.5, backends={"planner": ev.Backend(spec="x"), "reactor": ev.Backend(spec="x")})  # fmt: skip
    events = [header, ev.Tick(tick=0, text="", view={}, snapshot={})]
    events += [ev.Token(tick=0, stream=stream, generation=0, channel="reasoning", text="abc", lens=[1, 2]) for stream in ("planner", "reactor")]
    state = fold_all([*events, ev.Step(tick=0, state={}, reward=0.0, score=0.0)])
    card = "\n".join(plain(row) for row in result_card(state, View(), make_look("dark", False), 60))
    assert "planner  2 tokens" in card
    assert "2 a tick" in card
    assert " of 0" not in card
