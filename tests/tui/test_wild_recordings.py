"""Recordings whose checksums are right and whose contents are wild, keyframes too: the scrubber shows them, and text stays text."""

import asyncio
import random
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from material import episode

from replays import events as ev
from replays.errors import ReplayError
from replays.payload import AnyRecorded
from replays.reader import open_replay
from replays.reduce import fold
from replays.view_state import ViewState
from replays.writer import ReplayWriter
from rtdesk.replaying import make_asker, make_sources
from rtdesk.tui.boards import BoardMaker
from rtdesk.tui.layout import arrange
from rtdesk.tui.looks import make_look
from rtdesk.tui.player import ReplaySource
from rtdesk.tui.runs import plain
from rtdesk.tui.scene import scene
from rtdesk.tui.scrubber import ScrubApp
from rtdesk.tui.views import Find, View

WILD: list[Any] = [0, -1, 1 << 62, -(1 << 62), 0.0, -1.5, float("nan"), float("inf"), "", "x" * 999, "\x1b[2J\x07\u202e\n", None, True, [], {}, [[]], [1, 2], {"a": [1]}, "planner", "stop"]
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069]")
EVENTS = episode(ticks=14)


def poke(value: Any, rng: random.Random) -> Any:
    if isinstance(value, dict | list) and value and rng.random() < 0.8:
        changed: Any = dict(value) if isinstance(value, dict) else list(value)
        key = rng.choice(list(value)) if isinstance(value, dict) else rng.randrange(len(value))
        if rng.random() < 0.1:
            del changed[key]
        else:
            changed[key] = poke(value[key], rng)
        return changed
    return rng.choice(WILD)


def spoiled(event: ev.AnyEvent, rng: random.Random) -> ev.AnyEvent:
    told = ev.to_map(event)
    for _ in range(20):
        name = rng.choice([name for name in told if name != "kind"])
        try:
            return ev.decode_map({**told, name: poke(told[name], rng)})
        except (ValueError, TypeError, OverflowError):
            continue
    return event


def record(path: Path, rng: random.Random) -> bool:
    """Write the episode with keyframes, both spoiled here and there; False if it cannot be written."""
    state = fold(ViewState(), EVENTS[0])
    try:
        header = spoiled(EVENTS[0], rng) if rng.random() < 0.2 else EVENTS[0]
        assert isinstance(header, ev.Episode)
        with ReplayWriter.create(path, header) as writer:
            for tick in range(EVENTS[-1].tick + 1):
                batch = [event for event in EVENTS[1:] if event.tick == tick]
                for event in batch:
                    fold(state, event)
                writer.tick(tick, [spoiled(event, rng) if rng.random() < 0.1 else event for event in batch])
                if tick % 4 == 3:
                    told = msgspec.to_builtins(state.to_map())
                    for _ in range(rng.randrange(4)):
                        told = poke(told, rng) if rng.random() < 0.9 else told
                    writer.keyframe(tick, told if isinstance(told, dict) else {})
    except ReplayError:
        return False
    return True


def look_through(source: ReplaySource) -> None:
    """Stand at many places, draw each, and see that nothing but text is drawn."""
    boards, look, state = BoardMaker(), make_look("dark"), ViewState()
    source.survey.work(lambda: False)
    asked: list[tuple[str, str]] = [("jump", "5"), ("jump", "9"), ("event", "1"), ("event", "1"), ("scrub", "40"), ("scrub", "-9"), ("event", "-1"), ("tick", "3"), ("search", "cells"), ("hit", "1"), ("home", ""), ("end", ""), ("find", "-")]
    for what, value in asked:
        told = source.command(what, value)
        for item in source.poll(1):
            state = item if isinstance(item, ViewState) else fold(state, item)
        board = boards.board(state.header, state.snapshot)
        view = View(status=source.status, board=board, spec=boards.spec, overview=source.overview, find=Find(source.search.pattern) if source.search else None)
        for rows in scene(state, view, look, arrange(200, 60)).values():
            for row in rows:
                assert not CONTROL.search(plain(row)), plain(row)
        assert isinstance(told, str)
        source.prompt(state, "planner")


@pytest.mark.parametrize("seed", range(24))
def test_a_wild_recording_is_looked_through(seed: int, tmp_path: Path) -> None:
    if record(tmp_path / "a.rtr", random.Random(seed)):
        with open_replay(tmp_path / "a.rtr") as replay:
            (source,) = make_sources([replay], playing=False)
            look_through(source)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_many_wild_recordings_are_looked_through(tmp_path: Path) -> None:
    for seed in range(1000, 1400):
        path = tmp_path / f"{seed}.rtr"
        if record(path, random.Random(seed)):
            with open_replay(path) as replay:
                (source,) = make_sources([replay], playing=False)
                look_through(source)


def test_a_keyframe_full_of_terminal_control_is_shown_as_text(tmp_path: Path) -> None:
    evil = "\x1b]52;c;aGk=\x07\x1b[2J\u202eevil"

    def spoil(value: Any) -> Any:
        if isinstance(value, str):
            return evil
        if isinstance(value, dict):
            return {key: spoil(one) if key not in ("name", "snapshot", "kind", "voice") else one for key, one in value.items()}
        return [spoil(one) for one in value] if isinstance(value, list) else value

    state = fold(ViewState(), EVENTS[0])
    path = tmp_path / "a.rtr"
    header = EVENTS[0]
    assert isinstance(header, ev.Episode)
    with ReplayWriter.create(path, header) as writer:
        for tick in range(10):
            batch: list[AnyRecorded] = [event for event in EVENTS[1:] if event.tick == tick]
            for event in batch:
                fold(state, event)  # type: ignore[arg-type]
            # The last ticks say nothing, so that what the keyframe says is what is shown.
            writer.tick(tick, [event for event in batch if isinstance(event, ev.Tick)] if tick > 7 else batch)  # type: ignore[arg-type]
            if tick == 7:
                writer.keyframe(tick, spoil(msgspec.to_builtins(state.to_map())))
    copied: list[str] = []
    with open_replay(path) as replay:
        (source,) = make_sources([replay], playing=False)
        app = ScrubApp(source, asker=make_asker(replay, None), look="dark", ascii=False, timer=False, clock=lambda: 1)
        app.copy_to_clipboard = copied.append  # type: ignore[method-assign]
        # Once the file has been read in the background there are better states than the keyframe's.
        source.survey.done = True

        async def show() -> None:
            async with app.run_test(size=(200, 60)) as pilot:
                await pilot.pause()
                for key in ("8", "g", "y", "p", "y", "tab", "y", "escape", "l", "l", "question_mark"):
                    await pilot.press(key)
                    app._poll(1)
                    app.draw(force=True)
                    shown = "\n".join(app.screen_text())
                    assert not CONTROL.search(shown.replace("\n", ""))
                    if key == "g":
                        assert "␛]52;c;aGk=␇␛[2J·evil" in shown

        asyncio.run(show())
    assert copied
    assert not any(CONTROL.search(text.replace("\n", "")) for text in copied)
