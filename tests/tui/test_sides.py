"""Runs side by side: a column each, one meter, the race below; keys go to all of them."""

import asyncio
from itertools import product

import msgspec
import pytest
from material import BUDGET, episode, upto

from replays import events as ev
from replays.clean import width
from replays.notes import KIND, MARK
from replays.reduce import fold_all
from rtdesk.tui.app import DeskApp
from rtdesk.tui.boards import BoardMaker
from rtdesk.tui.looks import make_look
from rtdesk.tui.player import ListSource
from rtdesk.tui.runs import plain
from rtdesk.tui.sides import Side, arrange_sides, side_name, sides_scene
from rtdesk.tui.views import Overview, Status, View

RUNS = [episode(seed=3), episode(load="medium", seed=3), episode(load="medium", seed=6)]


def side(number: int, tick: int, share: float) -> Side:
    state = fold_all(upto(RUNS[number], tick, share))
    maker = BoardMaker()
    board = maker.board(state.header, state.snapshot)
    return Side(state, View(status=Status(rate=1.0, at=(tick + share) * BUDGET), board=board, spec=maker.spec))


@pytest.mark.parametrize(("size", "count"), [*product([(60, 20), (80, 24), (120, 36), (200, 60)], [2, 3])])
def test_every_part_fills_its_place_and_the_parts_tile_the_screen(size: tuple[int, int], count: int) -> None:
    sides = [side(number, 9, 0.9) for number in range(count)]
    layout = arrange_sides(*size, [(8, 8)] * count)
    covered = [[0] * size[0] for _ in range(size[1])]
    for part, rows in sides_scene(sides, make_look("dark"), layout).items():
        rect = layout.parts[part]
        assert len(rows) == rect.height, part
        assert [sum(width(run) for run, _ in row) for row in rows] == [rect.width] * rect.height, part
        for y in range(rect.y, rect.y + rect.height):
            for x in range(rect.x, rect.x + rect.width):
                covered[y][x] += 1
    assert all(count == 1 for row in covered for count in row)


def test_each_column_has_its_board_its_decision_and_its_pinned_lines() -> None:
    sides = [side(0, 9, 0.99), side(1, 9, 0.99)]
    parts = sides_scene(sides, make_look("mono"), arrange_sides(120, 36, [(8, 8)] * 2))
    for part, one in zip(("left", "planner"), sides):
        text = "\n".join(plain(row) for row in parts[part])
        assert text.count("░") == 28 * 4 * 2
        assert "best" in text
        assert "answer" in text
        assert f"score {one.state.score:g}" in text
    meter = [plain(row) for row in parts["meter"]]
    assert sum("agile" in row for row in meter) == 2
    assert "of 8,192 tokens left" in meter[2]


def test_keys_go_to_every_run_and_they_stay_in_step() -> None:
    sources = [ListSource(run, mode="replay", playing=False) for run in RUNS]
    app = DeskApp(sources, look="dark", ascii=False, timer=False, clock=lambda: 1)

    async def run() -> None:
        async with app.run_test(size=(200, 60)) as pilot:
            await pilot.pause()
            for _ in range(80):
                app._poll(1)
            app.draw(force=True)
            await pilot.pause()
            await pilot.press("7", "g")
            app._poll(2)
            assert [source.tick for source in sources] == [7, 7, 7]
            await pilot.press("slash", "d")
            app._poll(3)
            assert [source.tick for source in sources] == [9, 9, 9]
            await pilot.press("space")
            for step in range(1, 30):
                app._poll(3 + step * 33_000_000)
            app.draw(force=True)
            await pilot.pause()
            assert len({(source.tick, source._share) for source in sources}) == 1
            # The head, the headings of the columns, and a row each in the race.
            assert sum("agile" in row for row in app.screen_text()) == 5

    asyncio.run(run())


def test_more_than_three_runs_are_refused_in_a_sentence() -> None:
    with pytest.raises(ValueError, match="4 runs on one screen: expected 1 to 3"):
        DeskApp([ListSource(RUNS[0])] * 4, timer=False)


@pytest.mark.parametrize("size", [(80, 24), (120, 36), (200, 60)])
def test_recordings_side_by_side_have_their_event_marks_on_the_timeline(size: tuple[int, int]) -> None:
    """Food, faults and bookmarks stand where who acted stands, in the colour of who did it."""
    look = make_look("dark")
    bench = []
    for number in (0, 2):
        whole = fold_all(RUNS[number])
        past = Overview(acted=whole.history.acted, marks=whole.history.marks, scores=tuple(whole.history.scores), ticks=len(whole.history.acted))
        state, view = side(number, 9, 0.9)
        bench.append(Side(state, View(status=Status(mode="replay"), overview=past, board=view.board, spec=view.spec, chosen=number == 2)))
    rows = sides_scene(bench, look, arrange_sides(*size, [(8, 8)] * 2))["meter"]
    for one in bench:
        kinds = {KIND[mark] for mark in one.view.overview.marks.strip() if mark in KIND} - {"default", "plan", "stale"}
        assert {"score", "fault", "bookmark"} <= kinds
    signs = [sign for row in rows for text, _ in row for sign in text]
    for kind in ("score", "fault", "bookmark"):
        count = sum(one.view.overview.marks.count(MARK[kind]) for one in bench)
        assert signs.count(look.signs.marks[kind]) == count, kind


def test_a_long_name_gives_way_to_its_score_and_to_the_tick_it_was_forked_at() -> None:
    state, view = side(0, 9, 0.9)
    header = msgspec.structs.replace(state.header, agent="planning", parent=ev.Parent(file="x", tick=1234))
    state.header = header
    one = Side(state, view)
    assert side_name(one, 0, 13) == "plan from 1234"
    parts = sides_scene([one] * 3, make_look("dark"), arrange_sides(60, 20, [(8, 8)] * 3))
    assert all(plain(parts[name][0]).rstrip().endswith(f"score {state.score:g}") for name in ("left", "planner", "reactor"))


def test_the_meter_is_of_the_chosen_run_unless_that_is_over() -> None:
    late, early = side(0, 9, 0.25), side(1, 3, 0.9)
    early.state.end = next(event for event in RUNS[1] if isinstance(event, ev.End))
    chosen = Side(early.state, msgspec.structs.replace(early.view, chosen=True))
    layout = arrange_sides(120, 36, [(8, 8)] * 2)
    assert "6,144 of 8,192" in plain(sides_scene([chosen, late], make_look("dark"), layout)["meter"][2])
    there = side(1, 9, 0.5)
    chosen = Side(there.state, msgspec.structs.replace(there.view, chosen=True))
    assert "4,096 of 8,192" in plain(sides_scene([late, chosen], make_look("dark"), layout)["meter"][2])


def test_a_fork_has_no_score_before_its_first_tick() -> None:
    state, view = side(0, 12, 0.9)
    state.header = msgspec.structs.replace(state.header, parent=ev.Parent(file="x", tick=10))
    past = Overview(acted=" " * 10 + "r" * 18, marks="", scores=((10, 4.0, 4.0), (20, 6.0, 6.0)), ticks=28)
    fork = Side(state, View(status=Status(mode="replay"), overview=past, board=view.board, spec=view.spec))
    look = make_look("dark")
    rows = [plain(row) for row in sides_scene([fork, fork], look, arrange_sides(120, 36, [(8, 8)] * 2))["meter"]]
    row = next(row for row in rows if row.startswith(" agile from 10"))
    bars = row[15 : 15 + 28 * 3]
    assert bars[:30].strip() == ""
    assert set(bars[30:36]) <= set(look.signs.bars) - {" "}
