"""A person on the screen: rules first, the count, keys of one or two hands, boards side by side, and how the match went."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import pytest
from material import BUDGET, episode, upto
from textual.pilot import Pilot

import games
from games.snake import safe_moves
from replays import events as ev
from replays.clean import width
from replays.reduce import fold_all
from replays.view_state import ViewState
from rtdesk.tui.app import ECHO_S, DeskApp
from rtdesk.tui.boards import BoardMaker
from rtdesk.tui.keys import bindings, moves
from rtdesk.tui.layout import arrange
from rtdesk.tui.looks import make_look
from rtdesk.tui.meter import window
from rtdesk.tui.person import rules_card
from rtdesk.tui.runs import plain
from rtdesk.tui.scene import scene
from rtdesk.tui.sides import Side, arrange_sides, sides_scene
from rtdesk.tui.verdict import match_card
from rtdesk.tui.views import Status, View

EVENTS = episode()
SNAKE = ("L", "R", "U", "D")
KITCHEN = ("U", "D", "L", "R", "I", "S")


class Fake:
    """A source that keeps what it was asked for, and behaves as a live one does where that matters."""

    overview = None

    def __init__(self, events: list[ev.AnyEvent], **status: Any) -> None:
        self.waiting: list[Any] = list(events)
        self.asked: list[tuple[str, str]] = []
        self.status = Status(**{"rate": 4.0, **status})

    def poll(self, now_ns: int) -> list[Any]:
        out, self.waiting = self.waiting, []
        return out

    def command(self, what: str, value: str = "") -> str:
        self.asked.append((what, value))
        if what in ("begin", "read"):
            self.status = msgspec.structs.replace(self.status, reading=what == "read")
        elif what == "pause":
            self.status = msgspec.structs.replace(self.status, play="playing" if self.status.play == "paused" else "paused")
        return ""

    def log_lines(self) -> list[str]:
        return []

    def close(self) -> None:
        return None


def drive(sources: list[Fake], script: Callable[[DeskApp, Pilot[None]], Awaitable[None]], size: tuple[int, int] = (80, 24)) -> None:
    app = DeskApp(sources, look="dark", ascii=False, timer=False, clock=lambda: 1)

    async def run() -> None:
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            step(app)
            await pilot.pause()
            await script(app, pilot)

    asyncio.run(run())


def step(app: DeskApp) -> str:
    """Poll, draw, and return the screen as text."""
    app._poll(app._clock())
    app.draw(force=True)
    return "\n".join(app.screen_text())


# Before the start.


def test_the_rules_stand_before_a_first_play_and_start_it() -> None:
    source = Fake(EVENTS[:1], human=SNAKE, people=1, reading=True, play="waiting")

    async def script(app: DeskApp, pilot: Pilot[None]) -> None:
        shown = step(app)
        assert "how to play Snake" in shown
        assert "Enter or Space starts" in shown
        assert "goes straight on" in shown
        await pilot.press("up", "q", "x")
        assert source.asked == []
        await pilot.press("space")
        assert source.asked == [("begin", "")]
        source.status = msgspec.structs.replace(source.status, count=3)
        shown = step(app)
        assert "how to play" not in shown
        assert "starts in 3" in shown
        assert " 3  get ready" in shown
        source.status = msgspec.structs.replace(source.status, count=2)
        assert app.draw()
        assert "starts in 2" in app.screen_text()[0]

    drive([source], script)


def test_the_rules_are_a_key_away_and_the_game_waits_meanwhile() -> None:
    source = Fake(EVENTS[:30], human=SNAKE, people=1)

    async def script(app: DeskApp, pilot: Pilot[None]) -> None:
        await pilot.press("question_mark")
        assert "how to play Snake" in step(app)
        await pilot.press("up", "enter", "up")
        assert source.asked == [("pause", ""), ("pause", ""), ("key", "U")]
        # In the count they are read once more, and the count begins anew afterwards.
        source.asked.clear()
        source.status = msgspec.structs.replace(source.status, count=2)
        step(app)
        await pilot.press("question_mark", "enter")
        assert source.asked == [("read", ""), ("begin", "")]

    drive([source], script)


def test_a_pause_of_ones_own_is_not_ended_by_a_card() -> None:
    source = Fake(EVENTS[:30], human=SNAKE, people=1)

    async def script(app: DeskApp, pilot: Pilot[None]) -> None:
        await pilot.press("f2")
        step(app)
        await pilot.press("question_mark", "escape")
        assert source.asked == [("pause", "")]

    drive([source], script)


@pytest.mark.parametrize("size", [(60, 20), (80, 24), (120, 36), (200, 60)])
@pytest.mark.parametrize("name", ["snake", "freeway", "overcooked"])
@pytest.mark.parametrize("people", [1, 2])
def test_every_games_rules_fit_on_the_card(name: str, size: tuple[int, int], people: int) -> None:
    spec = games.spec(name)
    header = ev.Episode(tick=0, game=name, load="easy", seed=0, agent="human", options={"default-action": spec.default_action})
    view = View(status=Status(human=spec.legal_actions, people=people), spec=spec)
    layout = arrange(*size)
    rows = rules_card(fold_all([header]), view, make_look("dark"), layout.width)
    assert {sum(width(run) for run, _ in row) for row in rows} == {layout.width}
    text = "\n".join(plain(row) for row in rows)
    assert "how to play" in text
    if size[1] >= 24:
        # All of it: rules, what no key does, and every key.
        assert len(rows) - 2 <= layout.parts["left"].height
        for line in spec.help:
            if line.startswith("Keys"):
                break
            assert line in text
        words = dict(spec.letters)
        for letter in spec.legal_actions:
            assert words[letter] in text
        if spec.default_action in words:
            assert f"No key: {words[spec.default_action]} ({spec.default_action})" in text


# Hands.


def test_two_hands_have_keys_of_their_own_in_every_game() -> None:
    for name in ("snake", "freeway", "overcooked"):
        letters = games.spec(name).legal_actions
        taken: dict[str, str] = {}
        for keys, action, _ in bindings(letters, 2):
            if action.startswith(("pick", "begin")):
                continue
            for key in keys.split(","):
                assert taken.setdefault(key, action) == action, key
        for half in (0, 1):
            assert set(moves(letters, half)) == set(letters)


def test_where_nobody_walks_sideways_those_keys_stay() -> None:
    assert moves(("U", "D", "S"))["S"].split(",") == ["space", "left", "a", "h", "right", "d", "l"]


def test_each_persons_keys_say_whose_they_are_and_go_to_every_side() -> None:
    sources = [Fake(EVENTS[:30], human=KITCHEN, people=2), Fake(EVENTS[:30], human=(), people=2)]

    async def script(app: DeskApp, pilot: Pilot[None]) -> None:
        await pilot.press("w", "up", "e", "enter", "x", "full_stop", "k")
        letters = ["U", "U/1", "I", "I/1", "S", "S/1"]
        for source in sources:
            assert source.asked == [("key", letter) for letter in letters]

    drive(sources, script)


def test_time_is_told_in_seconds_where_a_person_plays() -> None:
    state = fold_all(upto(EVENTS, 9, 0.5))
    for status, unit in ((Status(rate=4.0), "tokens"), (Status(rate=4.0, people=1), "s"), (Status(rate=None, people=1), "tokens")):
        span = window(state, View(status=status))
        assert span is not None
        assert span.unit == unit
    span = window(state, View(status=Status(rate=4.0, people=1, at=9.5 * BUDGET)))
    assert span is not None
    assert (span.total, span.now) == (0.25, pytest.approx(0.125))


# Side by side.


def side(events: list[ev.AnyEvent], **status: Any) -> Side:
    state = fold_all(events)
    maker = BoardMaker()
    board = maker.board(state.header, state.snapshot)
    return Side(state, View(status=Status(**{"rate": 4.0, **status}), board=board, spec=maker.spec))


def person(ticks: int = 12) -> list[ev.AnyEvent]:
    """An episode of a person's, on the level of `episode()`."""
    game = games.make("snake", "hard", 3)
    observation = game.reset()
    out: list[ev.AnyEvent] = [ev.Episode(tick=0, game="snake", load="hard", seed=3, agent="human", tick_budget_tokens=BUDGET)]
    for tick in range(ticks):
        at = tick * BUDGET
        out.append(ev.Tick(tick=tick, at=at, end_at=at + BUDGET, view=observation.view, text=observation.text, snapshot=game.snapshot() if not tick else None))
        letter = (safe_moves(observation.view) or ["L"])[0]
        out += [ev.Control(tick=tick, what="key", value=letter), ev.Action(tick=tick, at=at + BUDGET, letter=letter, source="human")]
        result = game.step(letter)
        observation = result.observation
        out.append(ev.Step(tick=tick, at=at + BUDGET, state=game.snapshot(), reward=result.reward, score=result.score, points=game.points, done=result.done))
        if result.done:
            break
    totals = ev.Totals(ticks=tick + 1, score=game.spec.normalise(game.points), raw_score=result.score, points=game.points)
    return [*out, ev.End(tick=tick, totals=totals, done_reason="dead")]


@pytest.mark.parametrize("size", [(60, 20), (80, 24), (120, 40), (200, 60)])
@pytest.mark.parametrize("look", ["dark", "mono"])
def test_a_match_says_whose_board_is_whose_at_every_size(size: tuple[int, int], look: str) -> None:
    sides = [side(upto(EVENTS, 9, 0.9)), side(person()[:11], human=SNAKE, people=1)]
    parts = sides_scene(sides, make_look(look), arrange_sides(*size, [(8, 8)] * 2))
    head = plain(parts["head"][0])
    assert "agile vs you" in head or size[0] < 80
    assert plain(parts["planner"][0]).startswith("━━ you")
    assert plain(parts["left"][0]).startswith("━━ agile")
    assert any("in force" in plain(row) for row in parts["planner"])
    race = "\n".join(plain(row) for row in parts["meter"])
    assert " agile " in race
    assert " you " in race


def test_a_side_that_is_out_says_why_and_the_other_goes_on() -> None:
    sources = [Fake(person(), human=SNAKE, people=1, play="ended"), Fake(upto(EVENTS, 9, 0.9), people=1)]

    async def script(app: DeskApp, pilot: Pilot[None]) -> None:
        shown = step(app)
        assert "━━ you  died" in shown
        assert "● live" in app.screen_text()[0]
        await pilot.press("f2")
        assert "paused" in step(app).splitlines()[0]

    drive(sources, script, (120, 40))


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
def test_the_result_has_a_winner_a_line_a_side_and_both_curves(size: tuple[int, int]) -> None:
    layout = arrange_sides(*size, [(8, 8)] * 2)
    sides = [side(EVENTS), side(person(), human=SNAKE, people=1)]
    room = layout.parts["left"].height
    rows = match_card(sides, make_look("dark"), size[0], room)
    assert len(rows) <= room + 2
    text = "\n".join(plain(row) for row in rows)
    points = [one.state.points for one in sides]
    assert points[0] > points[1]
    assert f"agile wins   by {points[0] - points[1]:g} apples" in text
    assert text.count("died") == 2
    assert text.count(f"score {sides[0].state.score:g}") == 1
    assert text.count("━━ ") >= 3
    # One scale for both: the same figures stand at both axes.
    plots = [plain(row) for row in rows if plain(row).strip("▌ ").startswith("0 ")]
    assert plots


def test_a_side_whose_process_died_neither_leads_nor_keeps_the_result_away() -> None:
    dead = Fake(upto(EVENTS, 3, 0.5), play="ended", note="game was ended by SIGKILL")
    dead.command = lambda what, value="": ""  # type: ignore[method-assign]
    alive = Fake(upto(EVENTS, 5, 0.5), human=SNAKE, people=1, play="playing")

    async def script(app: DeskApp, pilot: Pilot[None]) -> None:
        app._poll(1)
        for paused in ("paused", "playing"):
            await pilot.press("f2")
            assert alive.status.play == paused
        shown = step(app)
        # The one that plays says which tick it is and how long it lasts; the other says that it is out.
        assert "tick   5" in shown
        assert "● live" in shown
        assert "━━ agile  broke off" in shown
        await pilot.press("f1")
        assert alive.status.play == "paused"
        await pilot.press("escape")
        assert alive.status.play == "playing"
        assert app._card == ""
        alive.waiting = [ViewState(), *EVENTS]
        alive.status = msgspec.structs.replace(alive.status, play="ended")
        app._poll(1)
        app.draw(force=True)
        assert app._card == "result"
        assert any("broke off" in line for line in app.screen_text())

    drive([dead, alive], script)


def test_keys_without_end_do_not_put_off_the_frame_that_shows_them() -> None:
    source = Fake(upto(EVENTS, 3, 0.5), human=SNAKE, people=1, play="playing")

    async def script(app: DeskApp, pilot: Pilot[None]) -> None:
        app._beat()
        app._hurry()
        due = app._beat_due
        for _ in range(100):
            app._hurry()
        assert app._beat_due == due
        assert due <= asyncio.get_running_loop().time() + ECHO_S

    drive([source], script)


def test_both_curves_have_one_axis_also_where_a_side_broke_off() -> None:
    out = Side(fold_all(upto(EVENTS, 3, 0.5)), View(status=Status(play="ended", ticks=80), spec=games.spec("snake")))
    rows = [plain(row) for row in match_card([out, side(EVENTS)], make_look("mono", True), 120, 30)]
    axis = next(row for row in rows if row.count("    0 0 ") == 2).split()[1:]
    assert axis[: len(axis) // 2] == axis[len(axis) // 2 :]


def test_a_draw_is_called_one() -> None:
    same = side(person(), human=SNAKE, people=1)
    assert "a draw" in plain(match_card([same, same], make_look("mono"), 80, 18)[3])


def test_after_the_match_letters_are_commands_again() -> None:
    sources = [Fake(EVENTS, people=1, play="ended"), Fake(person(), human=SNAKE, people=1, play="ended")]

    async def script(app: DeskApp, pilot: Pilot[None]) -> None:
        assert "━━ match" in step(app)
        await pilot.press("up", "n")
        assert sources[0].asked == sources[1].asked == [("next-seed", "")]
        for source in sources:
            source.waiting = [ViewState(), EVENTS[0]]
            source.status = msgspec.structs.replace(source.status, play="waiting", count=3)
        assert "━━ match" not in step(app)
        # And keys of the game while it runs.
        await pilot.press("n")
        assert sources[0].asked[-1] == ("next-seed", "")

    drive(sources, script, (120, 40))


# In one kitchen.


def test_the_row_of_who_decided_has_the_partner_as_well() -> None:
    game = games.make("overcooked", "easy", 0)
    game.reset()
    header = ev.Episode(tick=0, game="overcooked", load="easy", seed=0, agent="agile", options={"partner": "human"}, backends={"reactor": ev.Backend(spec="builtin")})
    begun = ev.Tick(tick=0, at=0, end_at=BUDGET, view={}, text="", snapshot=game.snapshot())
    key = ev.Control(tick=0, what="key", value="L", player=1)
    answer = ev.Answer(tick=0, stream="reactor", generation=0, mode="act", letters=["U"])
    row = _decided([header, begun, key, answer])
    assert row.strip().startswith("L  you B   U  reactor A")
    done = [ev.Action(tick=0, letter="U", source="reactor"), ev.Action(tick=0, letter="L", source="human", player=1)]
    later = ev.Tick(tick=1, at=BUDGET, end_at=2 * BUDGET, view={}, text="")
    assert _decided([header, begun, key, answer, *done, later]).strip().startswith("L  you B   U  reactor A")


@pytest.mark.parametrize("size", [(80, 24), (120, 36), (200, 60)])
def test_the_keys_of_two_people_in_one_kitchen_stand_beside_each_other_and_on_the_board(size: tuple[int, int]) -> None:
    game = games.make("overcooked", "easy", 0)
    game.reset()
    header = ev.Episode(tick=0, game="overcooked", load="easy", seed=0, agent="human", options={"partner": "human"})
    begun = ev.Tick(tick=0, at=0, end_at=BUDGET, view={}, text="", snapshot=game.snapshot())
    keys = [ev.Control(tick=0, what="key", value="U"), ev.Control(tick=0, what="key", value="L", player=1)]

    def shown(*events: ev.AnyEvent) -> list[str]:
        one = side([header, begun, *events], human=KITCHEN, people=2)
        layout = arrange(*size, 5, 5, planner=False, reactor=False)
        parts = scene(one.state, one.view, make_look("mono", True), layout)
        return [plain(row).rstrip() for part in ("left", "planner") for row in parts[part]]

    nobody, first, both = shown(), shown(keys[0]), shown(*keys)
    assert any(row.endswith(".  first A    .  second B") for row in nobody)
    assert any(row.endswith("U  first A    .  second B") for row in first)
    assert any(row.endswith("U  first A    L  second B") for row in both)
    assert any("L  second B   U  first A" in row for row in both)
    # Both sit at one keyboard, so no key is told as if one had all of it.
    assert any("first   w up" in row for row in both)
    assert any("second  up up" in row for row in both)
    assert not any("hjkl" in row for row in both)
    done = [ev.Action(tick=0, letter="U", source="human"), ev.Action(tick=0, letter="L", source="human", player=1)]
    after = shown(*keys, *done, ev.Tick(tick=1, at=BUDGET, end_at=2 * BUDGET, view={}, text=""))
    assert any("L  second B   U  first A" in row for row in after)


def _decided(events: list[ev.AnyEvent]) -> str:
    one = side(events, human=KITCHEN, people=1)
    rows = [plain(row) for row in scene(one.state, one.view, make_look("mono"), arrange(120, 40, 5, 5))["left"]]
    return next(row for row in rows if " reactor" in row)


def test_the_pace_has_its_keys_while_a_person_plays() -> None:
    source = Fake(EVENTS[:30], human=SNAKE, people=1)

    async def script(app: DeskApp, pilot: Pilot[None]) -> None:
        await pilot.press("plus", "minus", "f8", "f9")
        assert source.asked == [("faster", ""), ("slower", "")] * 2

    drive([source], script)


# What hides the board from a person's hands.


def test_a_person_does_not_play_behind_the_command_palette() -> None:
    source, other = Fake(EVENTS[:30], human=SNAKE, people=1), Fake(EVENTS[:30])

    async def script(app: DeskApp, pilot: Pilot[None]) -> None:
        await pilot.press("ctrl+p")
        await pilot.pause()
        assert source.asked == other.asked == [("pause", "on")]
        await pilot.press("up", "w")
        assert step(app)
        assert source.asked == [("pause", "on")]
        await pilot.press("escape")
        await pilot.pause()
        assert source.asked == other.asked == [("pause", "on"), ("pause", "off")]
        # A pause of one's own outlives it.
        await pilot.press("f2")
        source.asked.clear()
        step(app)
        await pilot.press("ctrl+p")
        await pilot.pause()
        await pilot.press("escape")
        await pilot.pause()
        assert source.asked == []

    drive([source, other], script, (120, 36))


def test_a_pause_chosen_in_the_palette_is_one_that_stays() -> None:
    source = Fake(EVENTS[:30], human=SNAKE, people=1)

    async def script(app: DeskApp, pilot: Pilot[None]) -> None:
        await pilot.press("ctrl+p")
        await pilot.pause()
        await pilot.press(*"pause, or")
        # Its commands are searched in tasks of their own; this ends when they have.
        for _ in range(400):
            await pilot.pause(0.01)
            if app.screen.query_one("CommandList").option_count:  # type: ignore[attr-defined]
                break
        await pilot.press("enter")
        for _ in range(400):
            await pilot.pause(0.01)
            if len(app.screen_stack) == 1:
                break
        await pilot.pause()
        assert source.status.play == "paused"
        assert not app._covered

    drive([source], script, (120, 36))


def test_a_game_that_begins_behind_a_dialog_waits_for_it() -> None:
    source = Fake(EVENTS[:1], human=SNAKE, people=1, play="waiting")

    async def script(app: DeskApp, pilot: Pilot[None]) -> None:
        await pilot.press("ctrl+p")
        await pilot.pause()
        assert source.asked == []
        source.status = msgspec.structs.replace(source.status, count=3)
        step(app)
        assert source.asked == [("read", "")]
        source.status = msgspec.structs.replace(source.status, count=0)
        assert "how to play" not in step(app)
        await pilot.press("escape")
        await pilot.pause()
        assert source.asked == [("read", ""), ("begin", "")]

    drive([source], script)


def test_behind_a_card_the_pause_key_says_how_it_goes_on() -> None:
    source = Fake(EVENTS[:30], human=SNAKE, people=1)

    async def script(app: DeskApp, pilot: Pilot[None]) -> None:
        await pilot.press("f1", "f2", "f3")
        assert "stays paused when this closes" in step(app)
        await pilot.press("escape")
        assert source.asked == [("pause", "")]
        await pilot.press("f1", "f2")
        assert "goes on when this closes" in step(app)
        await pilot.press("escape")
        assert source.asked == [("pause", ""), ("pause", "")]

    drive([source], script)


def test_a_game_whose_board_has_no_room_waits_for_a_larger_terminal() -> None:
    source = Fake(EVENTS[:30], human=SNAKE, people=1)

    async def script(app: DeskApp, pilot: Pilot[None]) -> None:
        await pilot.resize_terminal(58, 18)
        await pilot.pause()
        await pilot.press("up")
        assert "needs 60x20, has 58x18; the game waits" in step(app)
        assert source.asked == [("pause", "")]
        await pilot.resize_terminal(80, 24)
        await pilot.pause()
        assert source.asked == [("pause", ""), ("pause", "")]
        await pilot.press("up")
        assert source.asked[-1] == ("key", "U")

    drive([source], script)
