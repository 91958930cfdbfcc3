"""A live run as a screen's source: its events as they come, wishes handed to the conductor, keys to the player whose they are.

Imports no screen library. In a match every side has its own source at one table; what concerns the whole match (the next heat) the
first side does for all.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence

import games
from replays import events as ev
from replays.reduce import fold
from replays.view_state import ViewState
from rtdesk.heat import Heat, Table, rate_of
from rtdesk.tui.source import Item, Pace
from rtdesk.tui.views import Overview, Status
from workers.hands import HELD_NS
from workers.live.desk import LiveRun
from workers.pace import Pacer

__all__ = ["LiveSource"]

SLOWEST = 1 / 64
FASTEST = 64.0
FASTEST_HANDS = 30.0
"""Ticks a second a person may be asked to keep up with."""
LOG_TAIL = 16384
REMARK_NS = 10_000_000_000
"""So long a remark about how the run was set up is shown."""


class LiveSource:
    """Side number `side` of what is on at `table`. `hands` says which player of this run each person at the keyboard moves."""

    def __init__(self, table: Table, side: int = 0, *, hands: Mapping[int, int] | None = None, crowd: int = 0) -> None:
        """`crowd` is how many people play at this keyboard, on whichever side: what time is left is told in seconds then."""
        self._table = table
        self._side = side
        self._hands = dict(hands or {})
        self._crowd = crowd
        self._since: int | None = None
        self._take_seat()

    def _take_seat(self) -> None:
        """Sit down at the run of the heat that is on."""
        self._heat: Heat = self._table.heat
        self._run: LiveRun = self._heat.runs[self._side]
        self._opened = self._paused = self._stepped = False
        self._tick: ev.Tick | None = None
        config = self._run.config
        self._letters = games.spec(config.game).legal_actions if self._hands else ()
        rate = rate_of(config)
        self._pace = None if rate is None else Pace(rate, slowest=SLOWEST, fastest=FASTEST_HANDS if self._crowd else FASTEST)

    @property
    def run(self) -> LiveRun:
        """The run that is on."""
        return self._run

    # The protocol.

    @property
    def status(self) -> Status:
        config, gate = self._run.config, self._table.heat.gate
        rate = None if self._pace is None else self._pace.rate(config.tick_budget_tokens)
        now = time.monotonic_ns()
        return Status(
            mode="live",
            play=self._play(now),
            rate=None if rate is None or math.isinf(rate) else rate,
            at=self._at(now),
            t_ns=None if self._paused and not self._crowd else self._t_ns(now),
            ticks=config.ticks,
            human=self._letters,
            people=self._crowd,
            reading=gate is not None and gate.reading,
            count=0 if gate is None else gate.left,
            paceable=self._pace is not None,
            note=self._note(now),
        )

    def _note(self, now: int) -> str:
        run = self._run
        if self._table.error or run.failure:
            return self._table.error or run.failure or ""
        if run.record_failure:
            return f"not recording: {run.record_failure}"
        if run.begun and not run.over and not self._paused and self._holds(now):
            return "waiting for a thinker: all boards hold" if len(self._heat.runs) > 1 else "waiting for a thinker: the board holds"
        # What was only worth a remark at the start gives the foot back to the keys.
        self._since = now if self._since is None else self._since
        return self._table.note if now - self._since < REMARK_NS else ""

    def _play(self, now: int) -> str:
        run = self._run
        if self._table.changing:
            return "waiting"
        if not run.begun and not run.over:
            return "paused" if self._heat.gate is not None and self._heat.gate.paused else "waiting"
        if run.over:
            return "ended"
        return "paused" if self._paused else "waiting" if self._holds(now) else "playing"

    def _holds(self, now: int) -> bool:
        """Whether the tick was due a while ago: somebody's server is waited for."""
        pace, tick = self._pacer(), self._tick
        if pace is None or tick is None or tick.end_at is None or self._stepped:
            return False
        due = pace.due_ns(tick.end_at)
        return now - due > HELD_NS

    def _pacer(self) -> Pacer | None:
        pace = self._run.pace
        return None if pace is None else Pacer(at=pace.at, t_ns=pace.t_ns, rate=pace.rate)

    def _at(self, now: int) -> float | None:
        """The virtual instant now, in a paced tick."""
        pace, tick = self._pacer(), self._tick
        if pace is None or tick is None or tick.at is None or tick.end_at is None:
            return None
        return min(max(pace.position(now), tick.at), tick.end_at)

    def _t_ns(self, now: int) -> int | None:
        """The instant now in wall time, ns since the episode began."""
        epoch = self._run.header.meas.get("epoch_ns")
        return now - epoch if self._pace is None and isinstance(epoch, int) and self._run.begun else None

    @property
    def position(self) -> float | None:
        """Where the run is, in ticks and a share of the one under way; None before its first."""
        tick = self._tick
        if tick is None:
            return None
        if self._stepped:
            return tick.tick + 1.0
        now = time.monotonic_ns()
        at, t_ns = self._at(now), self._t_ns(now)
        if at is not None and tick.at is not None and tick.end_at is not None:
            return tick.tick + (at - tick.at) / (tick.end_at - tick.at)
        if t_ns is not None and tick.deadline_ns is not None:
            whole = (self._run.config.tick_budget_s or 1.0) * 1e9
            return tick.tick + min(1.0, max(0.0, 1.0 - (tick.deadline_ns - t_ns) / whole))
        return float(tick.tick)

    @property
    def overview(self) -> Overview | None:
        return None

    def poll(self, now_ns: int) -> Sequence[Item]:
        table = self._table
        table.poll(now_ns)
        if table.changing:
            return ()
        if table.heat is not self._heat:
            self._take_seat()
        opening = [] if self._opened else [self._opening()]
        self._opened = True
        return [*opening, *self._take()]

    def _opening(self) -> ViewState:
        """The board before the first tick: there is something to look at while the processes start and the count runs."""
        state = fold(ViewState(), self._run.header)
        state.snapshot = self._run.opening
        return state

    def _take(self) -> list[Item]:
        out: list[Item] = []
        for event in self._run.poll():
            if isinstance(event, ev.Control):
                if event.what != "key":
                    # A single step ends in a pause that the conductor makes; it says so in the log.
                    self._paused = event.what == "pause" or (self._paused and event.what not in ("resume", "step"))
            elif isinstance(event, ev.Tick):
                self._tick, self._stepped = event, False
            elif isinstance(event, ev.Step):
                self._stepped = True
            out.append(event)
        return out

    def command(self, what: str, value: str = "") -> str:
        if what == "quit":
            self._run.command("quit")
            return ""
        if what == "key":
            self._key(value)
            return ""
        if what in ("begin", "read"):
            if self._side == 0:
                self._table.reading(what == "read")
            return ""
        if what in ("restart", "next-seed"):
            return self._table.change(what) if self._side == 0 else ""
        if self._heat.over:
            return "the episode is over: restart, next seed, or quit"
        if what == "pause":
            return self._pause(value)
        if what == "step" and self._side == 0:
            self._heat.step()
            return ""
        if self._run.over:
            return ""
        if what == "bookmark":
            self._run.command("bookmark", value)
            return ""
        if what in ("faster", "slower", "slow"):
            return self._change_pace(what, value)
        return ""

    def _pause(self, value: str) -> str:
        """All sides of a heat are told at one instant, whichever is asked first: one clock stands still, or none."""
        self._paused = {"on": True, "off": False}.get(value, not self._paused)
        self._heat.hold(self._paused)
        return "" if self._pace is not None or not self._paused or not self._run.begun else "pausing at the end of this tick; the run will not be comparable"

    def _key(self, value: str) -> None:
        """A key is `letter`, or `letter/1` from the second person's half of the keyboard. It comes from the thread that reads the terminal, too."""
        letter, _, hand = value.partition("/")
        player = self._hands.get(int(hand or 0))
        if player is not None:
            self._run.key(letter, player)

    def _change_pace(self, what: str, value: str) -> str:
        if self._pace is None:
            return "wall time runs at its own pace"
        budget = self._run.config.tick_budget_tokens
        if math.isinf(self._pace.base):
            # As fast as it goes has no half: the first step down is to the screen's own pace.
            self._pace.base = 1.0 if what != "faster" else math.inf
        elif what == "faster":
            self._pace.faster()
        elif what == "slower":
            self._pace.slower()
        else:
            self._pace.slow(value, budget)
        rate = self._pace.rate(budget)
        self._run.command("rate", "max" if math.isinf(rate) else repr(rate))
        if self._pace.slowed and budget:
            return f"slow motion: {rate * budget:,.0f} tokens a second"
        return "" if math.isinf(rate) else f"{rate:g} ticks a second"

    def log_lines(self) -> Sequence[str]:
        lines = self._run.log_lines()
        path = self._table.log_path
        if path is None:
            return lines
        try:
            with path.open("rb") as file:
                file.seek(0, 2)
                file.seek(max(0, file.tell() - LOG_TAIL))
                tail = file.read().decode("utf-8", "replace").splitlines()[-200:]
        except OSError:
            tail = []
        return [f"log {path}", *tail, *lines]

    def close(self) -> None:
        """End all that is on, and what was just being started."""
        self._table.close()
