"""The recorder over lists: what it writes is the log, once, whoever was killed between writing and saying so."""

from __future__ import annotations

import itertools
import os
from pathlib import Path
from typing import Any

import pytest
from clock_kit import QUICK, play, thinking

from replays import events as ev
from replays.format import KEYFRAME_EVERY
from replays.reader import open_replay
from workers.backends.scripted import Backend as Scripted
from workers.config import plan_episode
from workers.live.recorder import Recorder
from workers.rings import ListReader
from workers.simulator import Stage

TICKS = 2 * KEYFRAME_EVERY + 3
PLANNER = [thinking(20_000)]


class Room(Stage):
    """An episode, and what a recorder's process stands in: the file's path, readers in a slot of its own, how many came before it."""

    SLOT = 7

    def __init__(self, path: Path, *, ticks: int = TICKS) -> None:
        config = plan_episode("metronome", agent="agile", ticks=ticks, planner=Scripted(PLANNER), reactor=Scripted(QUICK))
        super().__init__(config, meas={}, clock=itertools.count(0, 1000).__next__)
        self.recording = str(path)
        self.incarnation = 0
        # A slot that nobody holds yet keeps no frame; the real one is given out before the first tick.
        for name in self._rings:
            self.reader(name)
        self.recorder = Recorder(self)  # type: ignore[arg-type]

    def reader(self, name: str) -> ListReader:
        return self._rings[name].reader(self.SLOT)

    def play(self, kill_at: set[int] = frozenset()) -> None:  # type: ignore[assignment]
        """Play to the end; at the ticks named the recorder dies when it has written the tick and not yet moved its cursors."""
        for want in self.conductor.run():
            dies = want.kind == "tick" and self.conductor.tick - 1 in kill_at
            if dies:
                for reader in (self.recorder.game, *self.recorder._thinkers.values()):
                    reader.publish = lambda upto=None: None  # type: ignore[method-assign]
            self.pump()
            if dies:
                self.restart()
            while not self.conductor.met(want, 0):
                self.think()
        self.pump()

    def pump(self) -> None:
        while self.recorder.pump():
            pass

    def restart(self) -> None:
        assert self.recorder._writer is not None
        os.close(self.recorder._writer._fd)
        self.recorder._writer._fd = -1
        self.incarnation += 1
        self.recorder = Recorder(self)  # type: ignore[arg-type]


def log(path: Path) -> list[Any]:
    with open_replay(path) as recording:
        assert not recording.incomplete
        assert recording.check() == []
        return [recording.header, *(event for event in recording.iter() if not isinstance(event, ev.Episode))]


def expected(ticks: int = TICKS) -> list[ev.AnyEvent]:
    return play("agile", planner=PLANNER, reactor=QUICK, ticks=ticks)


def test_what_is_written_is_the_log_and_a_keyframe_now_and_then(tmp_path: Path) -> None:
    path = tmp_path / "a.rtr"
    Room(path).play()
    written = log(path)
    assert ev.canonical(written) == ev.canonical(expected())
    assert [event.seq for event in written[1:]] == list(range(len(written) - 1))
    with open_replay(path) as recording:
        assert list(recording.keyframe_ticks) == [KEYFRAME_EVERY - 1, 2 * KEYFRAME_EVERY - 1]


@pytest.mark.parametrize("kill_at", [{0}, {4}, {4, 5}, {KEYFRAME_EVERY - 1}, {TICKS - 2}], ids=str)
def test_a_tick_is_in_the_file_once_whoever_died_before_it_was_said(kill_at: set[int], tmp_path: Path) -> None:
    path = tmp_path / "a.rtr"
    Room(path).play(kill_at)
    written = log(path)
    assert ev.canonical(written) == ev.canonical(expected())
    assert [event.seq for event in written[1:]] == list(range(len(written) - 1))
