"""The scrubber under a pilot: every key and the mouse, words typed in the foot, panels, several recordings. Time stands still unless moved."""

import asyncio
import base64
import re
from collections.abc import Awaitable, Callable
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import pytest
from material import BUDGET, episode, upto
from textual import events as tui
from textual.pilot import Pilot

from replays import events as ev
from replays.clean import width
from replays.reader import open_replay
from replays.reduce import fold_all
from replays.writer import ReplayWriter
from rtdesk.replaying import make_asker, make_sources
from rtdesk.tui.asking import Asker
from rtdesk.tui.keys import FIND
from rtdesk.tui.layout import arrange
from rtdesk.tui.looks import make_look
from rtdesk.tui.player import EventList, ListSource, ReplaySource
from rtdesk.tui.prompts import rebuild
from rtdesk.tui.replay_cards import guidance_card
from rtdesk.tui.replay_keys import REPLAY_COMMANDS, replay_bindings, replay_foot
from rtdesk.tui.runs import plain
from rtdesk.tui.scene import scene
from rtdesk.tui.scrubber import ScrubApp
from rtdesk.tui.timeline import timeline_rows
from rtdesk.tui.views import Overview, Status, View
from workers.attribution import Asked, Attribution

EVENTS = episode()
LAST = EVENTS[-1].tick


class Bench:
    """An app over recordings, its clock, and what it copied."""

    def __init__(self, *recordings: list[ev.AnyEvent], **options: Any) -> None:
        self.now = 1_000_000_000
        ticks = range(max(run[-1].tick for run in recordings) + 1)
        lead = ReplaySource(EventList(recordings[0]), playing=False, ticks=ticks)
        self.sources = [lead, *(ReplaySource(EventList(run), lead=lead) for run in recordings[1:])]
        self.app = ScrubApp(self.sources, look="dark", ascii=False, timer=False, clock=lambda: self.now, **options)

    @property
    def lead(self) -> ReplaySource:
        return self.sources[0]

    @property
    def place(self) -> tuple[int, float]:
        return self.lead.tick, self.lead.share

    def beat(self, count: int = 1, seconds: float = 0.0) -> None:
        for _ in range(count):
            self.now += round(seconds * 1e9)
            self.app._poll(self.now)
        self.app.draw(force=True)

    def read(self) -> None:
        """Let a search read everything."""
        assert self.lead.search is not None
        self.lead.search.work(lambda: False)
        self.beat(2)

    def text(self) -> str:
        return "\n".join(self.app.screen_text())

    def run(self, script: Callable[[Pilot[None]], Awaitable[None]], size: tuple[int, int] = (120, 36)) -> None:
        async def go() -> None:
            async with self.app.run_test(size=size) as pilot:
                await pilot.pause()
                for source in self.sources:
                    source.survey.work(lambda: False)
                self.beat()
                await pilot.pause()
                await script(pilot)

        asyncio.run(go())


def test_every_key_of_the_table_does_what_it_says() -> None:
    bench = Bench(EVENTS)

    async def script(pilot: Pilot[None]) -> None:
        for keys, place in [
            (["1", "2", "g"], (12, 1.0)), (["left"], (11, 1.0)), (["right", "right"], (13, 1.0)), (["pageup"], (3, 1.0)), (["pagedown"], (13, 1.0)),
            (["home"], (0, 1.0)), (["end"], (LAST, 1.0)), (["9", "enter"], (9, 1.0)), (["comma"], (9, pytest.approx((BUDGET - 2048 + 250) / BUDGET, abs=0.05))),
            (["f", "d"], (9, 1.0)), (["f", "f"], (17, 1.0)), (["f", "D"], (9, 1.0)), (["f", "b"], (20, 1.0)), (["f", "A"], (17, 1.0)),
        ]:  # fmt: skip
            await pilot.press(*keys)
            # The default action is of tick 9 alone, so a search for it from there finds nothing and stays.
            if keys != ["f", "d"]:
                assert bench.place == place, keys
        await pilot.press("minus", "minus")
        assert bench.lead.status.speed == 0.25
        await pilot.press("plus", "plus", "equals_sign")
        assert bench.lead.status.speed == 2.0
        await pilot.press("space")
        assert bench.lead.playing
        bench.beat(1, 0.3)
        await pilot.press("space")
        assert bench.lead.status.play == "paused"

    bench.run(script)


def test_a_held_scrub_key_gets_faster_and_a_single_press_is_one_token() -> None:
    bench = Bench(EVENTS)

    async def script(pilot: Pilot[None]) -> None:
        await pilot.press("5", "g")
        bench.lead.command("place", "5 0.5")
        places = []
        for _ in range(13):
            await pilot.press("shift+right")
            places.append(round(bench.lead.share * BUDGET))
        steps = [b - a for a, b in pairwise(places)]
        assert steps == [1] * 5 + [2] * 6 + [4]
        bench.now += 1_000_000_000
        await pilot.press("shift+right", "shift+left", "shift+left")
        assert round(bench.lead.share * BUDGET) == places[-1] - 1

    bench.run(script)


def test_the_last_frame_of_a_scrub_shows_a_token_more_of_the_thought() -> None:
    bench = Bench(EVENTS)

    async def script(pilot: Pilot[None]) -> None:
        bench.lead.command("place", "3 0.4")
        bench.beat()
        before = bench.app.state.planner.text
        await pilot.press("shift+right")
        bench.beat()
        after = bench.app.state.planner.text
        assert after.startswith(before)
        assert len(after) == len(before) + 4
        assert "".join(after[-8:].split()) in "".join(bench.text().split())

    bench.run(script)


def test_words_are_typed_in_the_foot_and_shown_where_they_stand() -> None:
    bench = Bench(EVENTS)

    async def script(pilot: Pilot[None]) -> None:
        await pilot.press("8", "g", "slash", *"goal targetx", "backspace")
        bench.beat()
        assert bench.app.screen_text()[-1].startswith(" /goal target▌")
        # While words are typed no key is a command: neither q, nor l, nor a digit has done anything.
        assert bench.place == (8, 1.0)
        await pilot.press("enter")
        bench.read()
        await pilot.pause()
        tick, share = bench.place
        assert tick >= 9
        assert re.search(r"/goal target hit \d+ of \d+ in planner", bench.app.screen_text()[-1])
        rows = bench.app._parts["planner"]._rows
        marked = [text for row in rows for text, style in row if style == bench.app.look.chip["person"]]
        assert marked == ["GOAL target"]
        assert "found" in bench.text()
        await pilot.press("n")
        assert bench.place > (tick, share)
        await pilot.press("N")
        assert bench.place == (tick, share)
        await pilot.press("escape")
        bench.beat()
        assert bench.lead.search is None
        assert "space play" in bench.app.screen_text()[-1]

    bench.run(script)


def test_a_search_can_be_left_pasted_and_repeated() -> None:
    bench = Bench(EVENTS)

    async def script(pilot: Pilot[None]) -> None:
        await pilot.press("slash", "q", "escape")
        assert bench.app._entry is None
        assert bench.lead.search is None
        await pilot.press("slash")
        bench.app.post_message(tui.Paste("tail\x1b[2J\nreach"))
        await pilot.pause()
        assert bench.app._entry == ("/", "tail␛[2J reach")
        await pilot.press("ctrl+u", *"value", "enter")
        bench.read()
        first = bench.place
        await pilot.press("slash", "enter")
        assert bench.place > first
        assert bench.app.return_code is None

    bench.run(script)


def test_a_bookmark_can_have_a_note() -> None:
    bench = Bench(EVENTS)

    async def script(pilot: Pilot[None]) -> None:
        await pilot.press("6", "g", "M", *"why q?", "enter", "m")
        bench.beat()
        assert bench.lead.survey.bookmarks == {6: ["why q?", ""]}
        assert "why q?" in [note.text for note in bench.app.state.notes]

    bench.run(script)


def test_a_click_and_a_drag_on_the_timeline_and_on_the_ticks_bar_go_there() -> None:
    bench = Bench(EVENTS)
    wide = 3

    async def script(pilot: Pilot[None]) -> None:
        await pilot.mouse_down("#meter", offset=(9 + wide * 15 + 1, 5))
        await pilot.mouse_up("#meter", offset=(9 + wide * 15 + 1, 5))
        assert bench.place == (15, 1.0)
        await pilot.mouse_down("#meter", offset=(1 + 59, 1))
        await pilot.mouse_up("#meter", offset=(1 + 59, 1))
        assert bench.place == (15, 0.5)
        # Dragged: the pointer may leave the row on the way.
        meter = bench.app._parts["meter"]
        await pilot.mouse_down("#meter", offset=(9 + wide * 4, 6))
        assert bench.app.mouse_captured is meter
        meter.post_message(tui.MouseMove(meter, 9 + wide * 7 + 1, -3, 3, 0, 1, False, False, False))
        await pilot.pause()
        assert bench.place == (7, 1.0)
        await pilot.mouse_up("#meter", offset=(9 + wide * 7 + 1, 6))
        assert bench.app.mouse_captured is None

    bench.run(script)


def test_the_prompt_is_rebuilt_from_the_log_and_scrolls_and_follows_the_stream() -> None:
    long = list(EVENTS)
    first = next(i for i, event in enumerate(long) if isinstance(event, ev.Generation))
    prompt = [ev.Part(text="rules"), "\nA line of its own.\n" * 60, ev.Part(obs=0), ev.Part(trace=0, upto=20, guidance=True), ev.Part(text="nowhere"), ev.Part(obs=999)]
    long[first] = ev.Generation(tick=0, at=0, stream="planner", id=0, phase="start", prompt=prompt)
    bench = Bench(long)

    async def script(pilot: Pilot[None]) -> None:
        await pilot.press("0", "g", "p")
        bench.beat()
        shown = bench.text()
        assert "prompt of the planner" in shown
        assert "for turn 0" in shown
        assert " ".join(EVENTS[0].texts["rules"].split()[:4]) in shown  # type: ignore[union-attr]
        before = bench.place
        await pilot.press("down", "down", "pagedown", "pagedown", "pagedown")
        bench.beat()
        assert bench.place == before
        assert bench.text() != shown
        await pilot.press(*["pagedown"] * 9)
        bench.beat()
        assert "[text nowhere is not in this file]" in bench.text()
        assert "observation of turn 999 is not in this file]" in bench.text()
        await pilot.press("tab")
        bench.beat()
        assert "prompt of the reactor" in bench.text()
        # Moving on with the panel open: it shows the prompt of the generation that runs there.
        await pilot.press("right", "right")
        bench.beat()
        assert bench.lead.tick == 2
        assert "for turn 2" in bench.text()
        await pilot.press("escape")
        bench.beat()
        assert "prompt of the" not in bench.text()

    bench.run(script)


def test_on_a_wide_screen_no_line_of_the_streams_runs_under_the_prompt() -> None:
    bench = Bench(list(EVENTS))

    async def script(pilot: Pilot[None]) -> None:
        await pilot.press("8", "g")
        bench.beat()
        before = bench.app.screen_text()
        assert any("token use" in row for row in before)
        await pilot.press("p")
        bench.beat()
        panel, streams = bench.app._card_rect, bench.app.arrangement().parts["planner"]
        assert streams.x + streams.width == panel.x
        said = " ".join(bench.app.state.planner.text.split())
        rows = [row[streams.x : panel.x].strip(" ▌") for row in bench.app.screen_text()[7:28]]
        assert sum(bool(row) for row in rows) > 5
        assert " ".join(" ".join(rows).split()) in said
        await pilot.press("escape")
        bench.beat()
        assert bench.app.screen_text() == before

    bench.run(script, (200, 60))


def test_guidance_in_a_prompt_is_what_the_planner_had_said() -> None:
    store = EventList(EVENTS)
    tick = next(event.tick for event in EVENTS if isinstance(event, ev.Generation) and event.stream == "reactor" and event.tick > 4)
    start = next(event for event in EVENTS if isinstance(event, ev.Generation) and event.stream == "reactor" and event.tick == tick)
    (piece,) = rebuild(store, start.prompt, tick=tick)
    (part,) = start.prompt
    assert isinstance(part, ev.Part)
    said = "".join(event.text for event in EVENTS if isinstance(event, ev.Token) and event.stream == "planner" and event.generation == part.trace)
    assert piece.guidance
    assert piece.text == said[:900]
    assert piece.source == f"planner's words of turn {part.trace}"


def test_a_prompt_that_points_at_things_without_end_is_shown_at_once() -> None:
    reads: list[int] = []

    class Counted(EventList):
        def events(self, tick: int) -> Any:
            reads.append(tick)
            return super().events(tick)

    store = Counted(EVENTS)
    pieces = rebuild(store, [ev.Part(obs=3), ev.Part(trace=5, upto=1)] * 50_000, tick=LAST)
    assert len(pieces) <= 1001
    assert "left out" in pieces[-1].text
    # However often it points at a tick, that is read once, and a generation's ticks once.
    assert len(reads) <= LAST + 3


def test_what_is_copied_is_clean_and_goes_through_the_terminals_own_door() -> None:
    hostile = [*EVENTS[:4], ev.Token(tick=0, at=1, stream="planner", generation=0, channel="reasoning", text="a\x1b]52;c;aGk=\x07b\u202e", lens=[14]), EVENTS[-1]]
    bench = Bench([event if event.tick == 0 else ev.Bookmark(tick=0) for event in hostile])
    copied: list[str] = []
    bench.app.copy_to_clipboard = copied.append  # type: ignore[method-assign]

    async def script(pilot: Pilot[None]) -> None:
        bench.lead.command("place", "0 1")
        bench.beat()
        await pilot.press("y")
        bench.beat()
        assert "copied what the planner said of turn 0" in bench.app.screen_text()[-1]
        await pilot.press("p", "y")
        await pilot.press("tab", "y")

    bench.run(script)
    assert copied
    for text in copied:
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", text)
    assert any("a␛]52;c;aGk=␇b·" in text for text in copied)
    assert base64.b64encode(copied[0].encode())


def attribution(**more: Any) -> Attribution:
    asked = (Asked(guidance="none", letter="L", source="reactor", tokens=90), Asked(guidance="trace", letter="S", source="default", reason="truncated", tokens=2048, shown_bytes=3000), Asked(guidance="both", letter="U", source="reactor", tokens=700, shown_bytes=4100))
    return Attribution(**{"tick": 9, "letter": "U", "source": "reactor", "guidance": "both", "asked": asked, "exact": True, **more})


def test_what_guidance_did_stands_side_by_side() -> None:
    asked = []

    def ask(tick: int) -> Attribution:
        asked.append(tick)
        return attribution(tick=tick)

    asker = Asker(ask)
    bench = Bench(EVENTS, asker=asker)

    async def script(pilot: Pilot[None]) -> None:
        await pilot.press("9", "g", "c")
        asker.join(10)
        bench.beat(2)
        shown = bench.text()
        assert "guidance at tick 9" in shown
        for row in (r"none +L +reactor +90 tok +nothing", r"trace +S +default.* 2,048 tok +3,000 bytes", r"both +U +reactor +700 tok +4,100 bytes"):
            assert re.search(row, shown), row
        assert "Guidance changed this action: without it the reactor plays L." in shown
        await pilot.press("c")
        bench.beat()
        assert "guidance at tick" not in bench.text()
        await pilot.press("c", "right")
        bench.beat()
        assert "guidance at tick 10" in bench.text()
        assert "Press c to ask." in bench.text()

    bench.run(script)
    assert asked == [9]


def test_a_model_is_only_asked_when_told_twice() -> None:
    asked = []
    asker = Asker(lambda tick: asked.append(tick) or attribution(tick=tick, exact=False), costs="openai/gpt-x")  # type: ignore[func-returns-value]
    bench = Bench(EVENTS, asker=asker)

    async def script(pilot: Pilot[None]) -> None:
        await pilot.press("9", "g", "c")
        bench.beat()
        assert "asks openai/gpt-x three times" in " ".join(bench.text().split())
        assert asked == []
        await pilot.press("c")
        asker.join(10)
        bench.beat(2)
        assert asked == [9]
        assert "may say something else each time" in bench.text()

    bench.run(script)


def test_a_question_that_fails_says_why_in_a_line() -> None:
    def ask(tick: int) -> Attribution:
        raise ValueError("agent 'x' has no reactor to ask\x1b[2J")

    asker = Asker(ask)
    bench = Bench(EVENTS, asker=asker)

    async def script(pilot: Pilot[None]) -> None:
        await pilot.press("c")
        asker.join(10)
        bench.beat(2)
        assert "agent 'x' has no reactor to ask" in bench.text()
        assert "\x1b" not in bench.text()
        await pilot.press("escape")

    bench.run(script)
    nobody = Bench(EVENTS)

    async def other(pilot: Pilot[None]) -> None:
        await pilot.press("c")
        nobody.beat()
        assert "nobody to ask" in nobody.app.screen_text()[-1]

    nobody.run(other)


@pytest.mark.parametrize("size", [(80, 24), (60, 20), (40, 12), (1, 1)])
def test_every_card_opens_at_any_size(size: tuple[int, int]) -> None:
    bench = Bench(EVENTS, asker=Asker(lambda tick: attribution(tick=tick)))

    async def script(pilot: Pilot[None]) -> None:
        for keys in (["question_mark"], ["f", "escape"], ["p"], ["p", "c"], ["escape", "l"], ["l", "slash", "a", "enter"]):
            await pilot.press(*keys)
            bench.beat(2)
            rows = bench.app.screen_text()
            assert (len(rows), {len(row) for row in rows}) == (size[1], {size[0]})

    bench.run(script, size)


def test_three_recordings_move_in_step_and_a_fork_waits_for_its_first_tick() -> None:
    fork = [ev.Episode(**{**{name: getattr(EVENTS[0], name) for name in EVENTS[0].__struct_fields__}, "parent": ev.Parent(file="x", tick=10)}), *(event for event in EVENTS[1:] if event.tick >= 10)]
    bench = Bench(EVENTS, episode(load="hard", seed=3, ticks=15), fork)

    async def script(pilot: Pilot[None]) -> None:
        await pilot.press("5", "g")
        bench.beat()
        assert "begins at tick 10" in bench.text()
        assert "agile from 10" in bench.text()
        await pilot.press("1", "2", "g", "shift+left")
        bench.beat()
        assert [(one.tick, one.share) for one in bench.sources] == [(12, (BUDGET - 1) / BUDGET)] * 3
        assert [run.state.tick for run in bench.app._sides] == [12, 12, 12]
        await pilot.press("2", "0", "g")
        bench.beat()
        assert [run.state.tick for run in bench.app._sides] == [20, 14, 20]

    bench.run(script, (200, 60))


def with_backends(run: list[Any], **roles: str) -> list[Any]:
    return [ev.Episode(**{**{name: getattr(run[0], name) for name in run[0].__struct_fields__}, "agent": "-".join(roles), "backends": {role: ev.Backend(spec=spec) for role, spec in roles.items()}}), *run[1:]]


def test_keys_and_cards_are_about_the_recording_that_is_chosen() -> None:
    """Words looked for, prompt, copy, bookmark, events of a kind and the tail that scrolls: those of the chosen one, and the others come along."""
    other = with_backends([event for event in episode(load="hard", seed=3, ticks=15) if not (isinstance(event, ev.Generation | ev.Token | ev.Answer) and event.stream == "planner")], reactor="builtin")
    other.insert(1 + next(i for i, event in enumerate(other[1:]) if event.tick == 8), ev.Fault(tick=8, component="reactor", what="only here", at=other[1].at))
    asked: list[int] = []
    askers = [None, Asker(lambda tick: asked.append(tick) or attribution(tick=tick))]  # type: ignore[func-returns-value]
    bench = Bench(EVENTS, other, asker=askers)

    async def script(pilot: Pilot[None]) -> None:
        app = bench.app
        await pilot.press("5", "g")
        bench.beat()
        titles = app.screen_text()[1]
        assert " agile " in titles
        assert " reactor " in titles
        chips = {text for text, style in app._parts["left"]._rows[0] if style is app.look.chip[""]}
        assert chips == {" agile "}
        await pilot.press("c")
        assert "nobody to ask" in app._notice
        await pilot.press("tab")
        bench.beat()
        assert app.lead is bench.sources[1]
        assert (app.lead.lead, bench.sources[0].lead) == (None, app.lead)
        assert [one.tick for one in bench.sources] == [5, 5]
        assert not {text for text, style in app._parts["left"]._rows[0] if style is app.look.chip[""]}
        assert {text for text, style in app._parts["planner"]._rows[0] if style is app.look.chip[""]} == {" reactor "}
        # The one stream this run has, though the planner's was meant before.
        assert app.voice == "reactor"
        await pilot.press("y")
        assert "what the reactor said of turn 5" in app._notice
        await pilot.press("p")
        bench.beat()
        assert "prompt of the reactor" in bench.text()
        assert app._card_rect.x == 0
        await pilot.press("escape")
        await pilot.press("f", "f")
        bench.beat()
        assert [one.tick for one in bench.sources] == [8, 8]
        await pilot.press("m")
        assert (bench.sources[0].survey.bookmarks, bench.sources[1].survey.bookmarks) == ({}, {8: [""]})
        await pilot.press("slash", *"boxed", "enter")
        app.lead.search.work(lambda: False)
        bench.beat(3)
        assert {hit.stream for hit in app.lead.search.hits} == {"reactor"}
        assert bench.sources[0].search is None
        at = bench.place
        await pilot.press("tab")
        app.lead.search.work(lambda: False)
        bench.beat()
        assert bench.place == at
        assert (app.lead.search.query, bench.sources[1].search) == ("boxed", None)
        await pilot.press("escape", "2", "tab", "c")
        app._asker.join(5)
        bench.beat()
        assert asked == [bench.place[0]]
        await pilot.press("escape", "7", "tab")
        assert "there is no recording 7" in app._notice
        assert app.lead is bench.sources[1]
        # On its own words only the chosen column scrolls.
        await pilot.press("up", "up", "up")
        bench.beat()
        assert "scrolled back" in "\n".join(app._parts["planner"].text())
        assert "scrolled back" not in "\n".join(app._parts["left"].text())
        await pilot.press("end")
        app.click_part("left", 3, 3)
        bench.beat()
        assert app.lead is bench.sources[0]
        assert app.voice == "planner"
        await pilot.press("shift+tab")
        bench.beat()
        assert app.voice == "reactor"
        app.scroll_part("planner", -3)
        assert app.lead is bench.sources[1]

    bench.run(script, (120, 36))


def test_who_leads_next_goes_on_at_the_same_place_and_pace() -> None:
    bench = Bench(EVENTS, episode(load="hard", seed=3, ticks=15))

    async def script(pilot: Pilot[None]) -> None:
        await pilot.press("6", "g", "plus", "plus", "space")
        bench.beat(3, 0.1)
        place = bench.place
        assert place[0] >= 6
        await pilot.press("tab")
        assert (bench.app.lead.tick, bench.app.lead.share) == place
        assert bench.app.lead.status.speed == 4.0
        bench.beat(3, 0.1)
        assert len({(one.tick, one.share) for one in bench.sources}) == 1
        assert bench.place > place
        # It leads on behind its own end: the other one goes further.
        await pilot.press("space", "2", "0", "g")
        bench.beat()
        assert [run.state.tick for run in bench.app._sides] == [20, 14]
        await pilot.press("shift+left", "comma", "p", "escape", "y", "m")
        bench.beat()
        assert bench.place[0] in (19, 20)

    bench.run(script, (120, 36))


def test_no_key_means_two_things_and_every_key_of_the_foot_is_a_key() -> None:
    seen: dict[str, str] = {}
    for keys, action, _ in replay_bindings():
        if action.startswith("pick"):
            continue
        for key in keys.split(","):
            assert seen.setdefault(key, action) == action, key
    labels = {label for command in REPLAY_COMMANDS for label in (command.label, *command.label.split())}
    for thinks, asks, runs in product((True, False), (True, False), (1, 3)):
        foot = replay_foot(thinks=thinks, asks=asks, runs=runs)
        assert all(label in labels for label, _ in foot)
        assert (("c", "guidance") in foot) == (thinks and asks)
        assert (("Tab", "next run") in foot) == (runs > 1)
    actions = {command.action.partition("(")[0] for command in REPLAY_COMMANDS}
    assert all(hasattr(ScrubApp, f"action_{name}") for name in actions)
    assert {key for key, _, _ in FIND} <= {keys for keys, action, _ in replay_bindings() if action.startswith("pick")}


def test_the_palette_knows_the_scrubbers_commands() -> None:
    bench = Bench(EVENTS)

    async def script(pilot: Pilot[None]) -> None:
        commands = {command.title: command for command in bench.app.get_system_commands(bench.app.screen)}
        bench.lead.command("jump", "6")
        bench.beat()
        commands["A tick back, a tick on"].callback()
        bench.beat()
        assert bench.place[0] == 5
        commands["Next hit, hit before"].callback()
        before = bench.lead.status.speed
        commands["Slow motion, and back"].callback()
        bench.beat()
        assert bench.lead.status.speed < before

    bench.run(script)


@pytest.mark.parametrize(("size", "look", "tick"), [*product([(60, 20), (80, 24), (120, 36), (200, 60)], ["dark", "mono"], [0, 14, 27])])
def test_a_recordings_screen_fills_its_place(size: tuple[int, int], look: str, tick: int) -> None:
    state = fold_all(upto(EVENTS, tick, 0.9))
    whole = fold_all(EVENTS)
    view = View(status=Status(mode="replay", at=(tick + 0.9) * BUDGET), overview=Overview(acted=whole.history.acted, marks=whole.history.marks, scores=tuple(whole.history.scores), ticks=LAST + 1))
    layout = arrange(*size)
    for part, rows in scene(state, view, make_look(look), layout).items():
        rect = layout.parts[part]
        assert len(rows) == rect.height, part
        assert {sum(width(text) for text, _ in row) for row in rows} <= {rect.width}, part


@pytest.mark.parametrize("ticks", [1, 7, 28, 100, 101, 5000, 60_000])
@pytest.mark.parametrize("columns", [60, 80, 120, 200])
def test_the_ruler_names_the_cursor_and_true_figures_only(ticks: int, columns: int) -> None:
    look = make_look("mono")
    state = fold_all(upto(EVENTS, 0, 0.5))
    for tick in {0, ticks // 3, ticks // 2, ticks - 1}:
        state.tick = tick
        view = View(status=Status(mode="replay"), overview=Overview(acted="r" * ticks, marks=" " * ticks, ticks=ticks))
        ruler = plain(timeline_rows(state, view, look, columns, 3)[0])
        assert width(ruler) == columns
        place = ruler.index("▼")
        figures = [(match.start(), int(match.group())) for match in re.finditer(r"\d+", ruler)]
        assert tick in [figure for at, figure in figures if abs(at - place) <= len(str(tick))]
        others = [figure for at, figure in figures if not (at == place + 1 or at + len(str(figure)) == place)]
        assert others == sorted(others)
        assert all(figure < ticks for figure in others)


def test_the_guidance_card_shortens_in_a_narrow_place() -> None:
    for columns in (40, 53, 72, 120):
        for row in guidance_card(attribution(), 9, make_look("dark"), columns):
            assert sum(width(text) for text, _ in row) == columns


def test_an_ascii_terminal_gets_ascii() -> None:
    source = ListSource([EVENTS[0], *(event for event in EVENTS[1:] if event.tick < 12)], mode="replay", playing=False)
    app = ScrubApp(source, look="mono", ascii=True, timer=False, clock=lambda: 1)

    async def run() -> None:
        async with app.run_test(size=(120, 36)) as pilot:
            await pilot.pause()
            for _ in range(40):
                app._poll(1)
            await pilot.press("6", "g")
            app._poll(2)
            app.draw(force=True)
            assert all(row.isascii() for row in app.screen_text()[:-1]), [row for row in app.screen_text() if not row.isascii()]

    asyncio.run(run())


def test_the_page_about_it_names_every_key_that_moves_or_asks() -> None:
    page = (Path(__file__).parents[2] / "docs" / "looking-back.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([^`]+)`", page))
    for command in REPLAY_COMMANDS:
        if command.action.partition("(")[0] in ("log", "look", "shot", "palette", "help", "leave", "jump", "scroll"):
            continue
        for label in [] if not command.help else [command.label] if command.label.startswith("shift") else command.label.split():
            label = label.replace("shift ◀ ▶", "shift ◀")
            assert label in named, label


def test_a_recording_without_a_tick_takes_every_key(tmp_path: Path) -> None:
    header = EVENTS[0]
    assert isinstance(header, ev.Episode)
    path = tmp_path / "empty.rtr"
    with ReplayWriter.create(path, header):
        pass
    with open_replay(path) as replay:
        (source,) = make_sources([replay], playing=False)
        asker = make_asker(replay, None)
        assert asker is not None
        app = ScrubApp(source, asker=asker, look="dark", ascii=False, timer=False, clock=lambda: 1)

        async def run() -> None:
            async with app.run_test(size=(120, 36)) as pilot:
                await pilot.pause()
                for key in ("space", "right", "left", "shift+right", "comma", "full_stop", "pagedown", "end", "home", "3", "g", "f", "a", "m", "slash", "x", "enter", "n", "N", "escape", "p", "y", "c", "plus", "minus", "left_square_bracket"):
                    await pilot.press(key)
                    app._poll(1)
                    app.draw(force=True)
                asker.join(10)
                app._poll(1)
                app.draw(force=True)
                assert "cannot be asked about" in "\n".join(app.screen_text())
                await pilot.click("#meter", offset=(30, 5))

        asyncio.run(run())
