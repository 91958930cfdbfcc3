"""Recording: what is refused before a run starts, what survives, what a full disk leaves, going on after a crash."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from replay_episodes import Played, play, record_starts, write

from replays import events as ev
from replays.annotate import annotate, resave
from replays.errors import ReplayError
from replays.format import MAX_DEPTH, MAX_PAYLOAD
from replays.reader import open_replay
from replays.writer import ReplayWriter, check_target


@pytest.fixture(scope="module")
def played() -> Played:
    return play(ticks=12)


def bare(tick: int, text: str = "") -> list[ev.Event]:
    return [ev.Tick(tick=tick, view={}, text=text), ev.Step(tick=tick, state={}, reward=0.0, score=0.0)]


HEADER = ev.Episode(tick=0, game="snake", load="easy", seed=1, agent="random")


def test_what_was_recorded_is_read_back_event_for_event(tmp_path: Path, played: Played) -> None:
    path = write(tmp_path / "a.rtr", played)
    with open_replay(path) as replay:
        assert list(replay) == played.events
        assert not replay.incomplete
        assert replay.warnings == []
        assert list(replay.ticks) == [tick for tick, _ in played.ticks]
        assert replay.end == played.end


def test_the_same_episode_gives_the_same_bytes(tmp_path: Path, played: Played) -> None:
    assert write(tmp_path / "a.rtr", played).read_bytes() == write(tmp_path / "b.rtr", play(ticks=12)).read_bytes()


def test_a_file_that_exists_is_never_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "a.rtr"
    path.write_bytes(b"precious")
    for call in (check_target, lambda p: ReplayWriter.create(p, HEADER)):
        with pytest.raises(ReplayError, match="already exists"):
            call(path)
    assert path.read_bytes() == b"precious"


@pytest.mark.parametrize("victim", ["there", "not there"])
def test_a_symbolic_link_at_the_path_is_not_followed(tmp_path: Path, victim: str) -> None:
    target = tmp_path / "victim"
    if victim == "there":
        target.write_bytes(b"precious")
    (tmp_path / "a.rtr").symlink_to(target)
    for call in (check_target, lambda p: ReplayWriter.create(p, HEADER)):
        with pytest.raises(ReplayError, match="symbolic link"):
            call(tmp_path / "a.rtr")
    assert target.exists() == (victim == "there")
    if victim == "there":
        assert target.read_bytes() == b"precious"


def test_a_link_is_not_resumed_through(tmp_path: Path, played: Played) -> None:
    path = write(tmp_path / "a.rtr", played, closed=False)
    before = path.read_bytes()
    (tmp_path / "b.rtr").symlink_to(path)
    with pytest.raises(ReplayError, match="symbolic link"):
        ReplayWriter.resume(tmp_path / "b.rtr")
    assert path.read_bytes() == before


def test_a_target_that_cannot_be_written_is_told_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    cases = {
        tmp_path: "is a folder",
        tmp_path / "file" / "a.rtr": "is a file, not a folder",
        tmp_path / "none" / "a.rtr": "does not exist",
        "": "path is empty",
        str(tmp_path / "a\0b"): "null",
        tmp_path / ("x" * 300): "cannot be created",
    }
    for path, words in cases.items():
        with pytest.raises(ReplayError, match=words) as error:
            check_target(path)
        assert "\n" not in str(error.value)
    assert sorted(item.name for item in tmp_path.iterdir()) == ["file"]


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs a folder nobody can write to, root included")
def test_an_unwritable_folder_is_refused_even_for_root() -> None:
    with pytest.raises(ReplayError, match=r"cannot be created in /proc/self"):
        check_target("/proc/self/a.rtr")


def test_a_good_target_is_left_as_it_was(tmp_path: Path) -> None:
    check_target(tmp_path / "a.rtr")
    assert list(tmp_path.iterdir()) == []


def test_each_tick_is_in_the_file_when_tick_returns(tmp_path: Path, played: Played) -> None:
    path = tmp_path / "a.rtr"
    writer = ReplayWriter.create(path, played.header)
    for tick, events in played.ticks:
        writer.tick(tick, events)
        with open_replay(path) as replay:
            assert replay.last_tick == tick
            assert replay.events(tick) == tuple(events)
            assert replay.incomplete
    writer.close()


def test_a_killed_recorder_loses_nothing_it_has_written(tmp_path: Path) -> None:
    script = f"""
import os, signal
from replays import events as ev
from replays.writer import ReplayWriter
w = ReplayWriter.create({str(tmp_path / "a.rtr")!r}, ev.Episode(tick=0, game="snake", load="easy", seed=1, agent="random"))
for t in range(5):
    w.tick(t, [ev.Tick(tick=t, view={{}}, text="x"), ev.Step(tick=t, state={{}}, reward=0.0, score=0.0)])
os.kill(os.getpid(), signal.SIGKILL)
"""
    done = subprocess.run([sys.executable, "-c", script], env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}, timeout=60, check=False)
    assert done.returncode == -9
    with open_replay(tmp_path / "a.rtr") as replay:
        assert list(replay.ticks) == [0, 1, 2, 3, 4]
        assert replay.incomplete
        assert "was not closed" in str(replay.warnings[0])


def test_a_full_disk_is_told_at_once_and_leaves_the_ticks_before_it(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    path = tmp_path / "a.rtr"
    writer = ReplayWriter.create(path, HEADER)
    writer.tick(0, bare(0))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    noise = os.urandom(40_000).hex()
    resource.setrlimit(resource.RLIMIT_FSIZE, (writer.size + 20_000, hard))
    try:
        with pytest.raises(ReplayError, match=r"tick 1 could not be written .* holds the ticks up to 0"):
            writer.tick(1, bare(1, noise))
        assert path.stat().st_size == writer.size
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    # There is room again: the same tick is recorded, and nothing is missing.
    writer.tick(1, bare(1, noise))
    writer.close()
    with open_replay(path) as replay:
        assert list(replay.ticks) == [0, 1]
        assert replay.warnings == []


@pytest.mark.parametrize("folder", [False, True], ids=["the file", "its folder"])
def test_a_file_that_was_deleted_is_told_with_the_next_tick(tmp_path: Path, folder: bool) -> None:
    place = tmp_path / "place"
    place.mkdir()
    writer = ReplayWriter.create(place / "a.rtr", HEADER)
    writer.tick(0, bare(0))
    if folder:
        shutil.rmtree(place)
    else:
        (place / "a.rtr").unlink()
    for _ in range(2):
        with pytest.raises(ReplayError, match=r"a\.rtr: was deleted while it was being recorded"):
            writer.tick(1, bare(1))
    writer.close()
    assert not (place / "a.rtr").exists()


def test_a_disk_that_is_full_from_the_start_leaves_no_file(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, hard))
    try:
        with pytest.raises(ReplayError, match="the header could not be written"):
            ReplayWriter.create(tmp_path / "a.rtr", HEADER)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert list(tmp_path.iterdir()) == []


def test_a_resumed_file_goes_on_as_if_nothing_had_happened(tmp_path: Path, played: Played) -> None:
    whole = write(tmp_path / "whole.rtr", played, keyframe_every=100).read_bytes()
    torn = tmp_path / "torn.rtr"
    starts = record_starts(whole)
    # The record of tick 7: the first two are the index of nothing and tick 0.
    begin, stop = starts[1 + 7], starts[2 + 7]
    for cut in (begin, begin + 1, begin + 5, begin + 20, stop - 1):
        torn.write_bytes(whole[:cut])
        with ReplayWriter.resume(torn) as writer:
            assert writer.last_tick == 6
            assert writer.size == begin
            assert writer.next_seq == played.ticks[7][1][0].seq
            for tick, events in played.ticks[7:]:
                writer.tick(tick, events)
            writer.end(played.end)
        assert torn.read_bytes() == whole


def test_resume_knows_an_episode_that_has_ended(tmp_path: Path, played: Played) -> None:
    path = write(tmp_path / "a.rtr", played, closed=False)
    with ReplayWriter.resume(path) as writer:
        assert writer.ended
        assert writer.next_seq == played.end.seq + 1
        with pytest.raises(ReplayError, match="after the end"):
            writer.tick(99, bare(99))
    with open_replay(path) as replay:
        assert not replay.incomplete


def test_resuming_does_not_hide_a_damaged_header(tmp_path: Path, played: Played) -> None:
    path = write(tmp_path / "a.rtr", played)
    data = bytearray(path.read_bytes())
    data[data.index(b"agile")] ^= 1
    path.write_bytes(data)
    annotate(path, [ev.Bookmark(tick=2, note="x")])
    with open_replay(path) as replay:
        assert replay.header.agent != "agile"
        assert "header" in str(replay.warnings[0])


def test_a_tick_is_recorded_once_and_in_order(tmp_path: Path) -> None:
    with ReplayWriter.create(tmp_path / "a.rtr", HEADER) as writer:
        writer.tick(4, bare(4))
        for tick in (4, 3):
            with pytest.raises(ReplayError, match="already there"):
                writer.tick(tick, bare(tick))


def test_two_writers_never_share_a_file(tmp_path: Path) -> None:
    pytest.importorskip("fcntl")
    path = tmp_path / "a.rtr"
    with ReplayWriter.create(path, HEADER) as writer:
        writer.tick(0, bare(0))
        with pytest.raises(ReplayError, match="being recorded"):
            ReplayWriter.resume(path)
        with pytest.raises(ReplayError, match="being recorded"):
            annotate(path, [ev.Bookmark(tick=0)])
    annotate(path, [ev.Bookmark(tick=0, note="now")])


def test_numbers_of_numpy_are_recorded_as_numbers(tmp_path: Path) -> None:
    state = {"x": np.int64(7), "speed": np.float32(0.5), "alive": np.bool_(True), "cells": np.array([[1, 2], [3, 4]]), "name": np.str_("a")}
    step = ev.Step(tick=0, state=state, reward=np.float32(0.1), score=np.float64(2.5), done=np.bool_(True))
    with ReplayWriter.create(tmp_path / "a.rtr", HEADER) as writer:
        writer.tick(0, [step])
        writer.keyframe(0, {"score": np.float32(0.1)})
    with open_replay(tmp_path / "a.rtr") as replay:
        (read,) = replay.events(0)
        assert isinstance(read, ev.Step)
        assert abs(read.reward - 0.1) < 1e-6
        assert read.score == 2.5
        assert read.done is True
        assert read.state == {"x": 7, "speed": 0.5, "alive": True, "cells": [[1, 2], [3, 4]], "name": "a"}
        assert [type(read.state[name]) for name in ("x", "speed", "alive")] == [int, float, bool]


@pytest.mark.parametrize(
    ("state", "words"),
    [({"a": object()}, "object cannot be recorded"), ({"a": 2**70}, "ints"), ({"a": "\ud800"}, "surrogates")],
)
def test_what_cannot_be_recorded_is_named_and_leaves_no_trace(tmp_path: Path, state: dict[str, object], words: str) -> None:
    with ReplayWriter.create(tmp_path / "a.rtr", HEADER) as writer:
        with pytest.raises(ReplayError, match=f"tick 0 cannot be recorded: .*{words}"):
            writer.tick(0, [ev.Step(tick=0, state=state, reward=0.0, score=0.0)])
        writer.tick(0, bare(0))
    with open_replay(tmp_path / "a.rtr") as replay:
        assert replay.warnings == []
        assert replay.tick_count == 1


def test_what_no_reader_would_open_is_not_written(tmp_path: Path) -> None:
    deep: dict[str, object] = {}
    for _ in range(MAX_DEPTH + 2):
        deep = {"a": deep}
    with ReplayWriter.create(tmp_path / "a.rtr", HEADER) as writer:
        with pytest.raises(ReplayError, match="deeper"):
            writer.tick(0, [ev.Step(tick=0, state=deep, reward=0.0, score=0.0)])
        with pytest.raises(ReplayError, match="at most"):
            writer.tick(0, bare(0, "x" * (MAX_PAYLOAD + 1)))
        with pytest.raises(ReplayError, match="count from 0"):
            writer.tick(-1, bare(-1))


def test_a_closed_writer_says_so(tmp_path: Path) -> None:
    writer = ReplayWriter.create(tmp_path / "a.rtr", HEADER)
    writer.close()
    writer.close()
    with pytest.raises(ReplayError, match="closed"):
        writer.tick(0, bare(0))


def test_annotations_are_appended_and_change_no_byte_before_them(tmp_path: Path, played: Played) -> None:
    path = write(tmp_path / "a.rtr", played)
    before = path.read_bytes()
    annotate(path, [ev.Bookmark(tick=5, note="here"), ev.Bookmark(tick=2, note="and here")])
    annotate(path, [ev.Bookmark(tick=5, note="again")])
    assert path.read_bytes().startswith(before)
    with open_replay(path) as replay:
        assert [(event.tick, event.note) for event in replay.annotations] == [(2, "and here"), (5, "here"), (5, "again")]
        assert list(replay) == played.events
        assert not replay.incomplete
        assert replay.warnings == []
    with pytest.raises(ReplayError, match="no tick 900"):
        annotate(path, [ev.Bookmark(tick=900)])


def test_annotating_cuts_off_a_torn_record(tmp_path: Path, played: Played) -> None:
    path = write(tmp_path / "a.rtr", played, closed=False)
    whole = path.read_bytes()
    path.write_bytes(whole[:-3])
    annotate(path, [ev.Bookmark(tick=1, note="x")])
    with open_replay(path) as replay:
        assert replay.warnings == []
        assert replay.end is None
        assert len(replay.annotations) == 1


def test_a_copy_keeps_the_bytes_of_every_record(tmp_path: Path, played: Played) -> None:
    path = write(tmp_path / "a.rtr", played)
    annotate(path, [ev.Bookmark(tick=5, note="here")])
    assert resave(path, tmp_path / "b.rtr") == len(played.ticks) + 1 + 1 + 1  # ticks, one keyframe, end, bookmark
    with open_replay(path) as old, open_replay(tmp_path / "b.rtr") as new:
        assert list(new.records()) == list(old.records())
        assert new.header_bytes == old.header_bytes
        assert not new.incomplete
    resave(path, tmp_path / "c.rtr", annotations=False)
    with open_replay(tmp_path / "c.rtr") as replay:
        assert replay.annotations == []
    with pytest.raises(ReplayError, match="already exists"):
        resave(path, tmp_path / "b.rtr")


def test_a_replay_is_read_while_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "a.rtr"
    writer = ReplayWriter.create(path, HEADER)
    failures: list[BaseException] = []

    def read() -> None:
        try:
            for _ in range(20):
                with open_replay(path) as replay:
                    assert list(replay.ticks) == list(range(replay.tick_count))
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=read)
    thread.start()
    for tick in range(200):
        writer.tick(tick, bare(tick))
    thread.join()
    writer.close()
    assert not failures


@pytest.mark.slow
def test_recording_a_very_long_episode_stays_linear(tmp_path: Path) -> None:
    import time

    path = tmp_path / "long.rtr"
    spent = []
    with ReplayWriter.create(path, HEADER) as writer:
        for tick in range(50_000):
            token = ev.Token(tick=tick, at=tick * 2 + 1, stream="planner", generation=0, channel="reasoning", text="ab", lens=[1, 1])
            began = time.perf_counter()
            writer.tick(tick, [bare(tick)[0], token, bare(tick)[1]])
            spent.append(time.perf_counter() - began)
    assert sorted(spent[-1000:])[500] <= 2 * sorted(spent[:1000])[500]
    began = time.perf_counter()
    with open_replay(path) as replay:
        assert len(replay.events(49_999)) == 3
    assert time.perf_counter() - began < 3
