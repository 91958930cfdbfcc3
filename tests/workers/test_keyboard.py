"""The terminal as the game's process sees it: what has been typed and not read, and what that does to a tick's end."""

from __future__ import annotations

import os
import pty
import time
import tty
from collections.abc import Iterator

import pytest

from replays import events as ev
from workers.config import plan_episode
from workers.live.desk import LiveRun
from workers.live.keyboard import Keyboard

MS = 1_000_000


@pytest.fixture
def terminal() -> Iterator[tuple[int, int]]:
    """Both ends of a pseudo-terminal in raw mode: the one that types, and the one that is read."""
    master, slave = pty.openpty()
    tty.setraw(slave)
    yield master, slave
    for fd in (master, slave):
        try:
            os.close(fd)
        except OSError:
            continue


def test_keys_wait_from_the_typing_to_the_reading(terminal: tuple[int, int]) -> None:
    master, slave = terminal
    keyboard = Keyboard(os.ttyname(slave))
    assert not keyboard.waiting
    os.write(master, b"w")
    assert keyboard.waiting
    assert os.read(slave, 8) == b"w"
    assert not keyboard.waiting
    keyboard.close()
    keyboard.close()


def test_nothing_waits_at_a_terminal_that_is_none_or_has_gone(terminal: tuple[int, int]) -> None:
    master, slave = terminal
    assert not Keyboard(None).waiting
    assert not Keyboard("/nowhere/at/all").waiting
    keyboard = Keyboard(os.ttyname(slave))
    os.write(master, b"w")
    os.close(master)
    assert not keyboard.waiting
    keyboard.close()


class Typist:
    """A desk that reads keys late: in every second tick one is typed just before its end and handed over just after."""

    def __init__(self, run: LiveRun, master: int, slave: int) -> None:
        self.run, self._master, self._slave = run, master, slave
        self.events: list[ev.AnyEvent] = []
        self.tried: list[int] = []
        """Ticks in which everything came when it was to come."""

    def play(self, seconds: float = 30.0) -> None:
        end = time.monotonic() + seconds
        while not self.run.over:
            assert time.monotonic() < end, "the episode did not end"
            self.run.wait(0.05)
            new = self.run.poll()
            self.events += new
            for event in new:
                if isinstance(event, ev.Tick) and event.tick % 2 == 0 and self.run.pace is not None and event.end_at is not None:
                    pace = self.run.pace
                    self._type(event.tick, round(pace.t_ns + (event.end_at - pace.at) * 1e9 / pace.rate))

    def _type(self, tick: int, due_ns: int) -> None:
        self._until(due_ns - 3 * MS)
        os.write(self._master, b"w")
        typed = time.monotonic_ns()
        self._until(due_ns + 1 * MS)
        os.read(self._slave, 8)
        self.run.key("U")
        if typed < due_ns and time.monotonic_ns() < due_ns + 4 * MS:
            self.tried.append(tick)

    def _until(self, instant_ns: int) -> None:
        while (left := instant_ns - time.monotonic_ns()) > 0:
            self.run.wait(min(left / 1e9, 0.001))


def test_a_key_typed_before_a_ticks_end_acts_in_it_also_if_it_is_read_after_it(terminal: tuple[int, int]) -> None:
    master, slave = terminal
    config = plan_episode("freeway", agent="human", load="easy", tick_rate=5.0, ticks=10)
    with LiveRun(config, keyboard=os.ttyname(slave)) as run:
        run.start()
        typist = Typist(run, master, slave)
        typist.play()
    keys = {event.tick for event in typist.events if isinstance(event, ev.Control) and event.what == "key"}
    assert typist.tried, "this machine was too busy to press a single key in time"
    assert set(typist.tried) <= keys


def test_keys_that_nobody_reads_hold_no_tick_up(terminal: tuple[int, int]) -> None:
    master, slave = terminal
    os.write(master, b"never read")
    config = plan_episode("freeway", agent="human", load="easy", tick_rate=30.0, ticks=10)
    with LiveRun(config, keyboard=os.ttyname(slave)) as run:
        run.start()
        end = time.monotonic() + 30
        while not run.over:
            assert time.monotonic() < end, "the episode did not end"
            run.wait(0.05)
            run.poll()
        assert run.end is not None
        assert run.end.done_reason == "ticks"
