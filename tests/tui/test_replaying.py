"""`rtdesk replay`: which files go together and in what order, every refusal in one line, a game of one's own, and the kept recordings shown."""

import asyncio
import contextlib
import functools
import os
import tracemalloc
from pathlib import Path
from typing import Any

import msgspec
import pytest
from material import episode
from test_player import write

import games
from replays import events as ev
from replays.info import info
from replays.reader import Replay, open_replay
from replays.verify import verify
from replays.writer import ReplayWriter
from rtdesk import replaying
from rtdesk.cli import run
from rtdesk.leave import Exit
from rtdesk.tui.boards import BoardMaker
from rtdesk.tui.player import ReplaySource
from rtdesk.tui.scrubber import ScrubApp

DATA = Path(__file__).parents[1] / "replays" / "data"
KEPT = sorted(DATA.glob("v1-*.rtr"))


@functools.cache
def played(load: str = "hard") -> list[ev.AnyEvent]:
    return episode(load=load, seed=3)


def recording(folder: Path, name: str, *, load: str = "hard", file: str = "", parent: str = "", first: int = 0, last: int = 12) -> str:
    events = played(load)
    header = events[0]
    assert isinstance(header, ev.Episode)
    fields = {field: getattr(header, field) for field in header.__struct_fields__}
    header = ev.Episode(**{**fields, "meas": {"file_id": file}, "parent": ev.Parent(file=parent, tick=first) if parent else None})
    path = folder / f"{name}.rtr"
    write(path, [header, *(event for event in events[1:] if first <= event.tick <= last)])
    return str(path)


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The one line a command leaves with exit code 2."""
    assert run(["replay", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    (line,) = err.splitlines()
    return line


def test_runs_of_different_levels_are_refused_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, other = recording(tmp_path, "a"), recording(tmp_path, "b", load="medium")
    line = refused(capsys, one, other)
    assert f"{one} is snake hard seed 3, {other} is snake medium seed 3; runs side by side need one game, load and seed" in line


def test_other_wrong_uses_are_refused_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = recording(tmp_path, "a", last=6)
    assert "4 files were given; at most 3 stand side by side" in refused(capsys, one, one, one, one)
    assert "tick 99 is not in" in refused(capsys, one, "--tick", "99")
    assert "give --tick from 0 to 6" in refused(capsys, one, "--tick", "99")
    assert "unknown look 'pink'; give --look dark, light, ansi or mono" in refused(capsys, one, "--look", "pink")
    assert "unknown game 'snak'" in refused(capsys, one, "--game", "snak")
    assert "cannot be opened" in refused(capsys, str(tmp_path / "none.rtr"))
    assert "rtdesk info says what is in a file" in refused(capsys, one)


def test_a_hostile_header_does_not_reach_the_terminal_in_a_refusal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    events = played()
    header = events[0]
    assert isinstance(header, ev.Episode)
    fields = {field: getattr(header, field) for field in header.__struct_fields__}
    path = tmp_path / "x.rtr"
    write(path, [ev.Episode(**{**fields, "game": "a\x1b[2Jb", "load": "c\x07"}), *events[1:20]])
    assert "\x1b" not in refused(capsys, recording(tmp_path, "a"), str(path))


def test_a_fork_stands_behind_its_parent_whatever_the_order_they_are_given_in(tmp_path: Path) -> None:
    parent = recording(tmp_path, "parent", file="p")
    child = recording(tmp_path, "child", file="c", parent="p", first=5)
    grandchild = recording(tmp_path, "grandchild", file="g", parent="c", first=8)
    stranger = recording(tmp_path, "stranger", file="s", parent="elsewhere", first=3)
    for order in ([grandchild, child, parent], [child, parent, grandchild], [parent, child, grandchild]):
        found = [Path(one.path).stem for one in replaying.parents_first([open_replay(path) for path in order])]
        assert found == ["parent", "child", "grandchild"]
    found = [Path(one.path).stem for one in replaying.parents_first([open_replay(path) for path in (stranger, child)])]
    assert found == ["stranger", "child"]


def test_what_belongs_beside_a_recording_is_found_in_its_folder_by_its_ids(tmp_path: Path) -> None:
    """Sides of a match, the recording that was raced, and a fork's parent; whatever they are called, and only of the same level."""

    def made(name: str, load: str = "hard", **fields: Any) -> str:
        header, *events = played(load)
        path = tmp_path / f"{name}.rtr"
        write(path, [msgspec.structs.replace(header, **fields), *(event for event in events if event.tick < 3)])
        return str(path)

    match = {"match": "m1"}
    first = made("z-first", meas={**match, "file_id": "1"}, match=ev.Match(side=0, of=2))
    second = made("a-second", meas={**match, "file_id": "2"}, match=ev.Match(side=1, of=2))
    made("other-match", meas={"match": "m2", "file_id": "3"}, match=ev.Match(side=0, of=2))
    made("other-level", load="medium", meas={**match, "file_id": "4"}, match=ev.Match(side=1, of=2))
    raced = made("raced", meas={"file_id": "6", "ghost": "7"}, match=ev.Match(side=0, of=2))
    ghost = made("ghost", meas={"file_id": "7"})
    fork = made("fork", meas={"file_id": "8"}, parent=ev.Parent(file="7", tick=0))
    again = made("again", meas={"file_id": "9"}, parent=ev.Parent(file="8", tick=1))
    alone = made("alone", meas={"file_id": ""}, parent=ev.Parent(file="", tick=0))
    for name, copied in (("copy", ghost), ("copy-of-first", first)):
        (tmp_path / f"{name}.rtr").write_bytes(Path(copied).read_bytes())
        os.utime(copied, (1, 1))
    (tmp_path / "noise.rtr").write_bytes(b"\x81\xa1")
    (tmp_path / "folder.rtr").mkdir()
    (tmp_path / "gone.rtr").symlink_to(tmp_path / "nowhere")

    def beside(path: str) -> list[str]:
        with contextlib.ExitStack() as stack:
            return [one.path for one in replaying.parents_first(replaying.beside(stack.enter_context(open_replay(path)), stack))]

    assert beside(first) == beside(second) == [first, second]
    assert beside(raced) == [raced, ghost]
    assert beside(ghost) == [ghost]
    assert beside(fork) == [ghost, fork]
    assert beside(again) == [ghost, fork, again]
    assert beside(alone) == [alone]


def test_a_side_of_a_match_opens_with_the_other_and_is_the_chosen_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    header, *events = played()
    paths = []
    for side in (0, 1):
        path = tmp_path / f"{side}.rtr"
        write(path, [msgspec.structs.replace(header, meas={"match": "m", "file_id": str(side)}, match=ev.Match(side=side, of=2)), *(event for event in events if event.tick < 9)])
        paths.append(str(path))
    shown: list[ScrubApp] = []
    monkeypatch.setattr(ScrubApp, "run_desk", lambda self: shown.append(self) or 0)
    monkeypatch.setattr("rtdesk.live.check_terminal", lambda *_: None)
    assert run(["replay", paths[1], "--tick", "4"]) == 0
    assert [one.title for one in shown[0].replays] == ["0.rtr", "1.rtr"]
    assert shown[0].lead.title == "1.rtr"
    assert shown[0].lead.tick == 4
    assert shown[0]._notice == "beside it 0.rtr; --alone shows one"
    assert run(["replay", paths[1], "--alone"]) == 0
    assert [one.title for one in shown[1].replays] == ["1.rtr"]
    assert run(["replay", paths[1], paths[0]]) == 0
    assert (shown[2].lead.title, shown[2]._notice) == ("1.rtr", "")


def test_several_recordings_move_over_the_ticks_of_all_of_them(tmp_path: Path) -> None:
    recordings = [open_replay(recording(tmp_path, "a", first=0, last=6)), open_replay(recording(tmp_path, "b", first=4, last=11))]
    assert replaying.span(recordings) == (0, 11)
    sources = replaying.make_sources(recordings, playing=False)
    assert [list(source.ticks) for source in sources] == [list(range(12))] * 2
    sources[0].command("end")
    for source in sources:
        source.poll(1)
    assert [source.tick for source in sources] == [11, 11]
    assert {source.status.play for source in sources} == {"ended"}
    assert [source.status.title for source in sources] == ["a.rtr", "b.rtr"]


def test_recordings_of_different_levels_and_equal_ones() -> None:
    with open_replay(KEPT[0]) as one, open_replay(KEPT[-1]) as other:
        with pytest.raises(Exit):
            replaying.check_level([one, other])
        replaying.check_level([one, one])


def test_a_game_by_path_is_drawn_only_when_the_person_names_it(tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    path = tmp_path / "mine.py"
    path.write_text(f"from pathlib import Path\nPath({str(ran)!r}).touch()\nfrom games.snake import *\nfrom games.snake import Game, SPEC\n", encoding="utf-8")
    game = games.make("snake", "easy", 0)
    game.reset()
    header = ev.Episode(tick=0, game=str(path), load="easy", seed=0, agent="agile")
    wary = BoardMaker()
    assert wary.board(header, game.snapshot()) is None
    assert "give it with --game" in wary.why
    assert not ran.exists()
    trusting = BoardMaker(frozenset({str(path)}), game=str(path))
    assert trusting.board(header, game.snapshot()) is not None
    assert ran.exists()


def test_who_asks_again_is_there_for_a_reactor_that_was_shown_a_planners_words(tmp_path: Path) -> None:
    with open_replay(recording(tmp_path, "a")) as one:
        asker = replaying.make_asker(one, None)
        assert asker is not None
        assert asker.costs == ""
    header = played()[0]
    assert isinstance(header, ev.Episode)
    fields = {field: getattr(header, field) for field in header.__struct_fields__}
    for backends, expected in (({"reactor": ev.Backend(spec="builtin")}, None), ({"planner": ev.Backend(spec="builtin"), "reactor": ev.Backend(spec="openai/x")}, "openai/x")):
        path = tmp_path / f"{len(backends)}.rtr"
        write(path, [ev.Episode(**{**fields, "backends": backends}), *played()[1:9]])
        with open_replay(path) as one:
            asker = replaying.make_asker(one, None)
            assert (asker.costs if asker is not None else None) == expected


@pytest.mark.parametrize("path", KEPT, ids=[path.stem for path in KEPT])
def test_a_kept_recording_opens_tells_verifies_and_shows(path: Path) -> None:
    """Recordings of every released version: they open for ever."""
    with open_replay(path) as replay:
        assert replay.warnings == []
        assert not replay.incomplete
        found = info(replay)
        verdict = verify(replay)
        assert verdict.same, str(verdict.divergence)
        assert verdict.steps == found["steps"] == found["ticks"]
        shown = _screens(replay)
    last = replay.ticks[-1]
    assert f"of {last}" in shown[0][0]
    assert any("━━ planner" in row for row in shown[1])
    assert f"score {found['raw_score']:>4g}" in "\n".join(shown[-1])


def _screens(replay: Replay) -> list[list[str]]:
    """The screen at the first tick, in the middle and at the end."""
    (source,) = replaying.make_sources([replay], playing=False)
    app = ScrubApp(source, asker=replaying.make_asker(replay, None), look="dark", ascii=False, timer=False, clock=lambda: 1)
    out: list[list[str]] = []

    async def show() -> None:
        async with app.run_test(size=(120, 36)) as pilot:
            await pilot.pause()
            source.survey.work(lambda: False)
            for tick in (replay.ticks[0], replay.ticks[len(replay.ticks) // 2], replay.ticks[-1]):
                source.command("jump", str(tick))
                app._poll(1)
                app.draw(force=True)
                out.append(app.screen_text())

    asyncio.run(show())
    return out


@pytest.mark.parametrize("far", [3_000_000_000, 1 << 62])
def test_a_file_with_ticks_far_out_is_shown_and_takes_no_memory_for_them(tmp_path: Path, far: int) -> None:
    header = played()[0]
    assert isinstance(header, ev.Episode)
    one, other = tmp_path / "a.rtr", tmp_path / "b.rtr"
    for path, ticks in ((one, (0, 1, far)), (other, (0, far - 1))):
        with ReplayWriter.create(path, header) as writer:
            for tick in ticks:
                step = ev.Step(tick=tick, state={"snake": [[1, 1]]}, reward=1.0, score=1.0)
                writer.tick(tick, [ev.Tick(tick=tick, at=0, view={}, text="t", end_at=2), ev.Action(tick=tick, letter="L", source="default"), step])
    with open_replay(one) as first, open_replay(other) as second:
        sources = replaying.make_sources([first, second], playing=False)
        app = ScrubApp(sources, look="dark", ascii=False, timer=False, clock=lambda: 1)

        async def show() -> None:
            async with app.run_test(size=(120, 36)) as pilot:
                await pilot.pause()
                for source in sources:
                    source.survey.work(lambda: False)
                for key in ("end", "left", "left", "home", "f", "d", "comma", "shift+left"):
                    await pilot.press(key)
                    app._poll(1)
                    app.draw(force=True)
                assert str(far) in app.screen_text()[0]
                await pilot.click("#meter", offset=(100, 4))

        tracemalloc.start()
        asyncio.run(show())
        assert tracemalloc.get_traced_memory()[1] < 64 << 20
        tracemalloc.stop()


def test_what_is_wrong_with_a_file_is_said_when_it_is_opened(tmp_path: Path) -> None:
    whole = Path(recording(tmp_path, "whole", last=10_000))
    torn, holed = tmp_path / "torn.rtr", tmp_path / "holed.rtr"
    data = whole.read_bytes()
    torn.write_bytes(data[: len(data) * 6 // 10])
    holed.write_bytes(data[: len(data) // 2] + bytes(64) + data[len(data) // 2 + 64 :])

    def foot(path: Path) -> str:
        async def run() -> str:
            app = ScrubApp(ReplaySource(open_replay(path), title=path.name, playing=False), look="dark", ascii=False, timer=False)
            async with app.run_test(size=(120, 36)) as pilot:
                await pilot.pause()
                # It is read ahead in the beats, and damage is found by who reads it.
                app._poll(app._clock())
                while app.lead.reading:
                    app._poll(app._clock())
                app.draw(force=True)
                return app.screen_text()[-1]

        return asyncio.run(run())

    assert "cut short" in foot(torn)
    assert "its checksum does not match" in foot(holed)
    assert "space play" in foot(whole)
