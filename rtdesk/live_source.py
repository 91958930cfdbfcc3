"""A live run as a screen's source: its events as they come, wishes handed to the conductor, and the next run when one is asked for.

Imports no screen library. Starting and ending processes takes a moment, so a change of run happens in a thread and the
screen keeps drawing meanwhile.
"""

from __future__ import annotations

import logging
import math
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from replays import events as ev
from replays.reduce import ViewState
from rtdesk.tui.source import Item, Pace
from rtdesk.tui.views import Overview, Status
from workers.config import Config
from workers.errors import WorkerError
from workers.live.desk import LiveRun

__all__ = ["LiveSource"]

log = logging.getLogger(__name__)

SLOWEST = 1 / 64
FASTEST = 64.0
LOG_TAIL = 16384


class LiveSource:
    """Owns the run that is on. `begin(config, n)` makes and starts run number n; `last` is what to report after the screen has gone."""

    def __init__(self, run: LiveRun, begin: Callable[[Config], LiveRun], *, note: str = "", log_path: Path | None = None) -> None:
        self._run = run
        self._begin = begin
        self._note = note
        self._log_path = log_path
        self._pace = self._pace_of(run.config)
        self._paused = False
        self._stepping = False
        self._swap: threading.Thread | None = None
        self._fresh: LiveRun | None = None
        self._restart = False
        self.error: str | None = None
        """Why no further run could be started."""
        self.record_failure: str | None = None

    @staticmethod
    def _pace_of(config: Config) -> Pace | None:
        if config.clock == "wall":
            return None
        rate = config.tick_rate
        if config.tpot_s is not None and config.tick_budget_tokens:
            rate = 1 / (config.tpot_s * config.tick_budget_tokens)
        return Pace(math.inf if rate is None else rate, slowest=SLOWEST, fastest=FASTEST)

    @property
    def run(self) -> LiveRun:
        """The run that is on."""
        return self._run

    # The protocol.

    @property
    def status(self) -> Status:
        run, config = self._run, self._run.config
        if self._swap is not None or not run.begun:
            play = "waiting"
        elif run.over:
            play = "ended"
        else:
            play = "paused" if self._paused else "playing"
        rate = None if self._pace is None else self._pace.rate(config.tick_budget_tokens)
        return Status(
            mode="live",
            play=play,
            rate=None if rate is None or math.isinf(rate) else rate,
            ticks=config.ticks,
            paceable=self._pace is not None,
            note=self.error or run.failure or (f"not recording: {run.record_failure}" if run.record_failure else self._note),
        )

    @property
    def overview(self) -> Overview | None:
        return None

    def poll(self, now_ns: int) -> Sequence[Item]:
        if self._swap is not None:
            if self._swap.is_alive():
                return ()
            self._swap = None
            if self._fresh is not None:
                self._run, self._fresh = self._fresh, None
                self._paused = self._stepping = False
                self._pace = self._pace_of(self._run.config)
                return [ViewState(), *self._take()]
        return self._take()

    def _take(self) -> list[Item]:
        out: list[Item] = []
        for event in self._run.poll():
            if isinstance(event, ev.Control):
                # A single step ends in a pause that the conductor makes; it says so in the log.
                self._paused = event.what == "pause" or (self._paused and event.what not in ("resume", "step"))
            out.append(event)
        return out

    def command(self, what: str, value: str = "") -> str:
        if what == "quit":
            self._run.command("quit")
            return ""
        if what in ("restart", "next-seed"):
            return self._change_run(what)
        if self._run.over:
            return "the episode is over: r again, n next seed, q quit"
        if what == "pause":
            self._run.command("resume" if self._paused else "pause")
            self._paused = not self._paused
            return "" if self._pace is not None or not self._paused else "pausing at the end of this tick; the run will not be comparable"
        if what == "step":
            self._run.command("step")
            return ""
        if what == "bookmark":
            self._run.command("bookmark", value)
            return ""
        if what in ("faster", "slower", "slow"):
            return self._change_pace(what, value)
        return ""

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

    def _change_run(self, what: str) -> str:
        if self._swap is not None:
            return "starting"
        config = self._run.config
        if what == "next-seed":
            config = msgspec.structs.replace(config, seed=config.seed + 1)
        old = self._run

        def swap() -> None:
            old.close()
            self.record_failure = self.record_failure or old.record_failure
            try:
                self._fresh = self._begin(config)
                self.error = None
            except (WorkerError, ValueError, OSError) as error:
                log.error("no further run: %s", error)
                self.error = str(error)

        self._swap = threading.Thread(target=swap, name="change-run", daemon=True)
        self._swap.start()
        return f"seed {config.seed}"

    def log_lines(self) -> Sequence[str]:
        lines = self._run.log_lines()
        if self._log_path is None:
            return lines
        try:
            with self._log_path.open("rb") as file:
                file.seek(0, 2)
                file.seek(max(0, file.tell() - LOG_TAIL))
                tail = file.read().decode("utf-8", "replace").splitlines()[-200:]
        except OSError:
            tail = []
        return [f"log {self._log_path}", *tail, *lines]

    def close(self) -> None:
        """End the run that is on, and one that was just being started."""
        if self._swap is not None:
            self._swap.join(30.0)
            if self._fresh is not None:
                self._fresh.close()
        self._run.close()
        self.record_failure = self.record_failure or self._run.record_failure
