"""The app under a pilot: keys, cards, scrolling, sizes. The source's clock stands still unless a test moves it."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from material import episode
from textual import events
from textual.pilot import Pilot

from replays import events as ev
from replays.view_state import ViewState
from rtdesk.tui.app import DeskApp
from rtdesk.tui.keys import COMMANDS, LOOK_BACK, bindings, foot_keys
from rtdesk.tui.player import ListSource
from rtdesk.tui.replay_keys import REPLAY_COMMANDS
from rtdesk.tui.views import Status

EVENTS = episode()


class Recorder:
    """A source that notes what it was asked: everything a live desk would be asked."""

    def __init__(self, events: list[ev.AnyEvent], *, human: tuple[str, ...] = (), mode: str = "live", paceable: bool = True) -> None:
        self.waiting: list[Any] = list(events)
        self.asked: list[tuple[str, str]] = []
        self.shown = Status(mode=mode, rate=1.0, human=human, paceable=paceable)
        self.overview = None
        self.closed = False

    @property
    def status(self) -> Status:
        return self.shown

    def poll(self, now_ns: int) -> list[Any]:
        out, self.waiting = self.waiting, []
        return out

    def command(self, what: str, value: str = "") -> str:
        self.asked.append((what, value))
        return ""

    def log_lines(self) -> list[str]:
        return ["first line", "second \x1b[2J line"]

    def close(self) -> None:
        self.closed = True


def drive(app: DeskApp, script: Callable[[Pilot[None]], Awaitable[None]], size: tuple[int, int] = (120, 36)) -> None:
    async def run() -> None:
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            app._poll(app._clock())
            app.draw(force=True)
            await pilot.pause()
            await script(pilot)

    asyncio.run(run())


def desk(source: Any, **options: Any) -> DeskApp:
    return DeskApp(source, look="dark", ascii=False, timer=False, clock=lambda: 1, **options)


@pytest.mark.parametrize(
    ("key", "asked"),
    [
        ("space", ("pause", "")), ("full_stop", ("step", "")), ("left_square_bracket", ("slow", "down")), ("right_square_bracket", ("slow", "up")),
        ("plus", ("faster", "")), ("equals_sign", ("faster", "")), ("minus", ("slower", "")), ("m", ("bookmark", "")), ("r", ("restart", "")), ("n", ("next-seed", "")),
    ],
)  # fmt: skip
def test_every_command_key_asks_the_source(key: str, asked: tuple[str, str]) -> None:
    source = Recorder(EVENTS[:40])

    async def script(pilot: Pilot[None]) -> None:
        await pilot.press(key)
        assert source.asked == [asked]

    drive(desk(source), script)


def test_quit_asks_the_source_and_leaves_with_zero() -> None:
    for key in ("q", "ctrl+q", "ctrl+c"):
        source = Recorder(EVENTS[:40])
        app = desk(source)

        async def script(pilot: Pilot[None], key: str = key) -> None:
            await pilot.press(key)

        drive(app, script)
        assert source.asked[-1] == ("quit", "")
        assert app.return_code == 0


def test_while_a_person_plays_keys_move_and_commands_move_away() -> None:
    source = Recorder(EVENTS[:40], human=("U", "D", "L", "R", "I", "S"))

    async def script(pilot: Pilot[None]) -> None:
        for key in ("up", "s", "h", "right", "w", "enter", "e", "space", "q", "m"):
            await pilot.press(key)
        assert source.asked == [("key", letter) for letter in "UDLRUIIS"]
        source.asked.clear()
        # With caps lock on the same keys move.
        await pilot.press("W", "A", "J", "L", "E")
        assert source.asked == [("key", letter) for letter in "ULDRI"]
        await pilot.press("f2", "ctrl+b")
        assert source.asked[-2:] == [("pause", ""), ("bookmark", "")]

    drive(desk(source), script)


def test_moves_are_received_whatever_has_been_pressed_or_clicked_before() -> None:
    """Case T13: nothing on the screen takes the focus."""
    source = Recorder(EVENTS[:60], human=("U", "D", "L", "R"))
    app = desk(source)

    async def script(pilot: Pilot[None]) -> None:
        for part in ("#planner", "#reactor", "#left", "#meter"):
            await pilot.click(part)
            await pilot.press("tab")
            assert app.focused is None
            source.asked.clear()
            await pilot.press("up", "down", "left", "right", "k")
            assert source.asked == [("key", letter) for letter in "UDLRU"]
        before = app.screen_text()
        await pilot.press("pageup")
        app.draw(force=True)
        assert app.screen_text() != before
        await pilot.press("pagedown", "pagedown", "pagedown")
        app.draw(force=True)
        assert app._anchors == {}

    drive(app, script)


def test_in_wall_time_the_pace_cannot_be_changed_and_the_screen_says_so() -> None:
    source = Recorder(EVENTS[:40], paceable=False)
    app = desk(source)

    async def script(pilot: Pilot[None]) -> None:
        await pilot.press("plus", "left_square_bracket")
        assert source.asked == []
        app.draw(force=True)
        assert "pace is the clock's" in app.screen_text()[-1]

    drive(app, script)


def test_an_open_card_switches_the_games_keys_off_and_escape_closes_it() -> None:
    source = Recorder(EVENTS[:40], human=("U", "D", "L", "R"))
    app = desk(source)

    async def script(pilot: Pilot[None]) -> None:
        await pilot.press("f1")
        assert any("━━ help" in row for row in app.screen_text())
        await pilot.press("up")
        # The game waits while somebody reads.
        assert source.asked == [("pause", "")]
        await pilot.press("escape", "up")
        assert source.asked[1:] == [("key", "U")]
        assert not any("━━ help" in row for row in app.screen_text())

    drive(app, script)


def test_the_command_palette_takes_letters_and_gives_them_back() -> None:
    source = Recorder(EVENTS[:40])
    app = desk(source)

    async def script(pilot: Pilot[None]) -> None:
        await pilot.press("ctrl+p")
        await pilot.pause()
        await pilot.press("m", "q", "space")
        assert source.asked == []
        assert app.return_code is None
        await pilot.press("escape")
        await pilot.pause()
        await pilot.press("m")
        assert source.asked == [("bookmark", "")]

    drive(app, script)


def test_enter_pressed_twice_in_the_palette_chooses_once() -> None:
    source = Recorder(EVENTS[:40])
    app = desk(source)

    async def script(pilot: Pilot[None]) -> None:
        await pilot.press("ctrl+p", *"bookmark")
        await pilot.pause()
        await app.screen.workers.wait_for_complete()
        await pilot.press("down")
        # All at once, as a bouncing key sends them.
        for _ in range(4):
            app.post_message(events.Key("enter", "\r"))
        await pilot.pause()
        await pilot.press("escape", "escape")
        assert len(app.screen_stack) == 1
        assert [what for what, _ in source.asked].count("bookmark") == 1

    drive(app, script)


def test_find_runs_on_until_the_event_and_pauses() -> None:
    source = Recorder(EVENTS[:10])
    app = desk(source)

    async def script(pilot: Pilot[None]) -> None:
        await pilot.press("slash")
        assert any("━━ find" in row for row in app.screen_text())
        await pilot.press("d")
        assert not any("━━ find" in row for row in app.screen_text())
        assert source.asked == []
        source.waiting = EVENTS[10:]
        app._poll(1)
        assert source.asked == [("pause", "")]
        app.draw(force=True)
        assert "default S: answer cut off" in app.screen_text()[-1]

    drive(app, script)


def test_the_log_drawer_shows_clean_lines() -> None:
    app = desk(Recorder(EVENTS[:40]))

    async def script(pilot: Pilot[None]) -> None:
        await pilot.press("l")
        shown = "\n".join(app.screen_text())
        assert "second ␛[2J line" in shown
        assert "\x1b" not in shown

    drive(app, script)


def test_the_screen_stays_on_a_result_card_after_the_end() -> None:
    source = Recorder(EVENTS)
    app = desk(source, earlier=lambda state: [0.1, 0.5])

    async def script(pilot: Pilot[None]) -> None:
        shown = "\n".join(app.screen_text())
        assert "━━ result" in shown
        assert "2 earlier runs" in shown
        await pilot.press("n")
        assert source.asked == [("next-seed", "")]
        source.waiting = [ViewState(), *EVENTS[:30]]
        app._poll(1)
        app.draw(force=True)
        assert "━━ result" not in "\n".join(app.screen_text())

    drive(app, script)


@pytest.mark.parametrize("offered", [True, False])
def test_from_the_result_card_one_can_go_to_the_recording(offered: bool) -> None:
    source = Recorder(EVENTS)
    app = desk(source, look_back=offered)

    async def script(pilot: Pilot[None]) -> None:
        assert ("v look back" in "\n".join(app.screen_text())) is offered
        await pilot.press("v")
        assert (app.return_code == LOOK_BACK) is offered

    drive(app, script)
    assert (("quit", "") in source.asked) is offered


def test_small_terminals_get_a_polite_line_and_recover() -> None:
    """Case T06."""
    app = desk(Recorder(EVENTS[:60]))

    async def script(pilot: Pilot[None]) -> None:
        normal = app.screen_text()
        for size in ((79, 23), (70, 24), (60, 20), (40, 12), (20, 6), (10, 3), (1, 1), (120, 36)):
            await pilot.resize_terminal(*size)
            await pilot.pause()
            rows = app.screen_text()
            assert (len(rows), len(rows[0])) == (size[1], size[0])
            if size[0] < 60:
                assert sum(bool(row.strip()) for row in rows) == 1
        app.draw(force=True)
        assert app.screen_text() == normal

    drive(app, script)


@pytest.mark.parametrize("size", [(80, 24), (79, 23), (60, 20), (40, 12), (20, 6), (10, 3), (1, 1)])
def test_any_size_opens(size: tuple[int, int]) -> None:
    app = desk(Recorder(EVENTS[:60]))

    async def script(pilot: Pilot[None]) -> None:
        assert len(app.screen_text()) == size[1]
        await pilot.press("question_mark", "escape", "slash", "escape", "l")

    drive(app, script, size)


def test_digits_and_enter_go_to_a_tick_of_a_recording() -> None:
    source = ListSource(EVENTS, mode="replay", playing=False)
    app = desk(source)

    async def script(pilot: Pilot[None]) -> None:
        await pilot.press("1", "3", "backspace", "2")
        app.draw(force=True)
        assert "go to tick 12" in app.screen_text()[0]
        await pilot.press("g")
        app._poll(2)
        assert (source.tick, app.state.tick) == (12, 12)
        for key, tick in (("right", 13), ("left", 12), ("pageup", 2), ("pagedown", 12), ("home", 0), ("end", EVENTS[-1].tick)):
            await pilot.press(key)
            assert source.tick == tick, key

    drive(app, script)


def test_a_click_on_the_timeline_goes_to_that_tick() -> None:
    source = ListSource(EVENTS, mode="replay", playing=False)
    app = desk(source)

    async def script(pilot: Pilot[None]) -> None:
        for _ in range(100):
            app._poll(3)
        app.draw(force=True)
        assert source.overview is not None
        wide = 3
        await pilot.click("#meter", offset=(9 + wide * 15 + 1, 6))
        assert source.tick == 15

    drive(app, script)


def test_scrolled_back_text_stays_where_it_is_while_more_comes() -> None:
    source = Recorder(EVENTS[:60])
    app = desk(source)

    async def script(pilot: Pilot[None]) -> None:
        for _ in range(3):
            await pilot.press("pageup")
        app.draw(force=True)
        before = app._parts["planner"].text()[5:-1]
        text = "Turn 99 from (1,1): U goes to (1,2), tail reachable, value 0.1.\n" * 40
        planner = app.state.planner
        source.waiting = [
            ev.Token(tick=app.state.tick, stream="planner", generation=planner.generation, channel="reasoning", text=text, lens=[len(text)])
        ]
        app._poll(1)
        app.draw(force=True)
        assert app._parts["planner"].text()[5:-1] == before
        assert "scrolled back" in app._parts["planner"].text()[-1]
        await pilot.press("end")
        app.draw(force=True)
        assert app._parts["planner"].text()[5:-1] != before

    drive(app, script)


def test_the_look_changes_at_once() -> None:
    app = desk(Recorder(EVENTS[:60]))

    async def script(pilot: Pilot[None]) -> None:
        before = app.screen_text()[:-1]
        seen = set()
        for _ in range(4):
            await pilot.press("t")
            seen.add(app.look.name)
            await pilot.pause()
        assert seen == {"dark", "light", "ansi", "mono"}
        assert app.screen_text()[:-1] == before

    drive(app, script)


def test_a_screenshot_is_an_svg_named_for_the_tick(tmp_path: Path) -> None:
    app = desk(Recorder(EVENTS[:60]), shots=tmp_path)

    async def script(pilot: Pilot[None]) -> None:
        await pilot.press("S")

    drive(app, script)
    (path,) = tmp_path.iterdir()
    assert path.name == f"rtdesk-snake-t{app.state.tick}.svg"
    assert path.read_text(encoding="utf-8").startswith("<svg")


def test_a_failing_source_ends_the_app_with_exit_code_one(capsys: pytest.CaptureFixture[str]) -> None:
    class Broken(Recorder):
        def poll(self, now_ns: int) -> list[Any]:
            secret = "do not print me"
            raise RuntimeError("the ring is damaged" if secret else "")

    source = Broken([])
    app = DeskApp(source, look="dark", ascii=False)

    async def run() -> None:
        await app.run_async(headless=True, size=(80, 24))

    asyncio.run(run())
    assert app.return_code == 1
    assert "do not print me" not in capsys.readouterr().err


def test_no_key_means_two_things() -> None:
    for human in ((), ("U", "D", "S"), ("U", "D", "L", "R", "I", "S")):
        seen: dict[str, str] = {}
        for keys, action, _ in bindings(human):
            if action.startswith(("pick", "begin")):
                # They mean something while their own card is open, and only then.
                continue
            for key in keys.split(","):
                assert seen.setdefault(key, action) == action, key


def test_the_foots_keys_are_keys() -> None:
    labels = {command.label for command in (*COMMANDS, *REPLAY_COMMANDS)} | {command.playing_label for command in COMMANDS}
    for human, replay in (((), False), ((), True), (("U", "I"), False)):
        for label, _ in foot_keys(human, replay=replay, paceable=True):
            assert label in labels or label in ("[ ]", "+ -", "◀ ▶", "0-9 g", "arrows", "Enter")


def test_a_fault_is_told_in_the_foot_and_the_same_one_only_once() -> None:
    source = Recorder(EVENTS[:6])
    app = DeskApp(source, look="dark", ascii=False, timer=False)

    def failed(tick: int, what: str, cause: str = "thinker") -> ev.Fault:
        return ev.Fault(tick=tick, component="planner", what=what, done="the game goes on", cause=cause)

    async def script(pilot: Pilot[None]) -> None:
        def foot_after(*events: ev.AnyEvent) -> str:
            source.waiting = list(events)
            app._notice = ""
            app._poll(app._clock())
            app.draw(force=True)
            return app.screen_text()[-1]

        assert "tick 0: planner failed: RuntimeError: boom; the game goes on" in foot_after(failed(0, "RuntimeError: boom"))
        assert "boom" not in foot_after(failed(1, "RuntimeError: boom"))
        assert "tick 2: planner was ended by SIGKILL; the game goes on" in foot_after(failed(2, "planner was ended by SIGKILL"))
        assert "space pause" in foot_after()

    drive(app, script, size=(80, 24))
