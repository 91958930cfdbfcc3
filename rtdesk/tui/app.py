"""The desk's app: it polls a source once a frame, folds, and shows the rows the scene makes. Six flat widgets and one card.

Cost is by frame, not by token: one timer for everything, 15 frames a second in a flood, up to 30 when text is slow enough to
read, none when nothing changed. The app never waits for the terminal: before it draws it asks whether the last frame has left,
and if not it folds, draws nothing and counts.

    DeskApp(source).run_desk() -> int          # the exit code
    DeskApp([source, source]).run_desk()       # runs side by side, in step
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from textual.app import App, ComposeResult
from textual.binding import Binding, BindingsMap
from textual.color import Color
from textual.screen import Screen

from replays.clean import one_line
from replays.notes import Note
from replays.view_state import ViewState
from rtdesk.tui.actions import Actions
from rtdesk.tui.boards import BoardMaker
from rtdesk.tui.drawing import Drawing
from rtdesk.tui.keys import ABANDON, bindings
from rtdesk.tui.layout import PARTS, Layout, Rect
from rtdesk.tui.looks import look_for, make_look
from rtdesk.tui.playing import Playing
from rtdesk.tui.rows import Rows
from rtdesk.tui.sides import MOST
from rtdesk.tui.source import Source
from rtdesk.tui.stage import THEMES, DeskScreen, Run
from rtdesk.tui.terminal import desk_driver

__all__ = ["DeskApp", "run_screen"]

log = logging.getLogger(__name__)

FPS = 30.0
FLOOD_FPS = 15.0
SSH_FPS = 12.0
QUIET, QUIET_S = 15, 0.1
"""After so many beats with nothing to draw, seconds from one beat to the next; a key wakes it at once."""
ECHO_S = 0.003
"""Seconds from a person's key to the frame that shows it."""
NOTICE_S = 3.0
"""Seconds a notice stays in the foot."""
SWITCH_S = 0.0005
"""How long the drawing of a frame keeps the thread that reads a person's keys from running; Python's own 5 ms, two or three times a
key, is half a tick at 30 ticks a second."""


class DeskApp(Actions, Playing, Drawing, App[None]):
    """The screen over any source, live or recorded."""

    AUTO_FOCUS = None
    TITLE = "rtdesk"
    ENABLE_COMMAND_PALETTE = True
    NOTIFICATION_TIMEOUT = 2
    CSS = "Screen { overflow: hidden hidden; } #card { display: none; } #card.open { display: block; }"
    _failed = False
    _quiet = 0

    def __init__(
        self,
        source: Source | Sequence[Source],
        *,
        look: str | None = None,
        ascii: bool | None = None,
        fps: float | None = None,
        clock: Callable[[], int] = time.monotonic_ns,
        timer: bool = True,
        shots: Path | None = None,
        earlier: Callable[[ViewState], list[float]] = lambda state: [],
        look_back: bool = False,
        trusted_games: frozenset[str] = frozenset(),
    ) -> None:
        """`look` is dark, light, ansi or mono (found out unless given); `timer=False` draws only on `draw()`, for pictures.

        With several sources, at most three, their runs stand side by side; the first one's status is the screen's.
        `earlier(state)` gives the scores of earlier runs of the same level for the result card; `look_back` offers there to
        leave with the code LOOK_BACK, for whoever runs the app to show the recording. `shots` is where screenshots go.
        """
        name = look or look_for()
        if os.environ.get("NO_COLOR") is not None:
            name = "mono"
        # Without this Textual turns named colours and grey into true colour, NO_COLOR or not.
        super().__init__(driver_class=desk_driver(), ansi_color=name in ("ansi", "mono"))
        self.ascii_only = not _speaks_utf8()
        """The terminal is written in an encoding that has letters of ASCII only: model text is shown so, too."""
        self.look = make_look(name, _ascii_wanted() if ascii is None else ascii)
        self.sources: tuple[Source, ...] = tuple(source) if isinstance(source, Sequence) else (source,)
        if not 1 <= len(self.sources) <= MOST:
            raise ValueError(f"{len(self.sources)} runs on one screen: expected 1 to {MOST}; open the others on a second screen")
        self.source = source = self.sources[0]
        self._sides = [Run(one, BoardMaker(trusted_games)) for one in self.sources]
        self.shots = shots or Path.cwd()
        self.frames = 0
        self.dropped = 0
        """Frames not drawn because the terminal had not taken the last one."""
        self._held = 0
        self._clock = clock
        self._timer = timer
        self._fps = min(fps or FPS, FPS * 2)
        if fps is None and os.environ.get("SSH_CONNECTION"):
            self._fps = SSH_FPS
        self._earlier = earlier
        self.look_back = look_back
        self._status = source.status
        self._drawn: dict[str, Any] = {}
        self._stale = True
        self._anchors: dict[str, int] = {}
        self._voice = "planner"
        self._prompts = False
        self._notice, self._notice_until = "", 0
        self._jump = ""
        self._card = ""
        self._card_rect = Rect(0, 0, 0, 0)
        self._result_seen = False
        self._until: str | None = None
        self._seen_notes = 0
        self._told_fault = ""
        self._said = 0
        self._arranged: tuple[Any, Layout] | None = None
        self._parts: dict[str, Rows] = {}
        self._beating: asyncio.Handle | None = None
        self._beat_due = 0.0
        self._human = next((one.status.human for one in self.sources if one.status.human), ())
        self._people = max(one.status.people for one in self.sources) or bool(self._human)
        for theme in THEMES.values():
            self.register_theme(theme)
        self.theme = f"desk-{'light' if name == 'light' else 'dark'}"
        keys = [*bindings(self._human, self._people), ABANDON]
        self._bindings = BindingsMap([Binding(key, action, words, show=False, priority=True) for key, action, words in keys])
        self.sit_down()

    @property
    def _first(self) -> Run:
        """The run that keys and cards are about where they are about one."""
        return self._sides[0]

    @property
    def state(self) -> ViewState:
        """What is known of the first run."""
        return self._first.state

    @property
    def _leading(self) -> Source:
        """The source that says how it runs: the first that still does. One whose process has died is over, too, and has no end to show for it."""
        return next((run.source for run in self._sides if not run.over), self.source)

    @property
    def boards(self) -> BoardMaker:
        return self._sides[0].boards

    @property
    def ground(self) -> Color:
        """The background line filters blend with."""
        return Color.parse(self.look.value("bg")) if self.look.rgb else Color.parse("#000000")

    # Putting the screen together.

    def compose(self) -> ComposeResult:
        for part in PARTS:
            yield Rows(part)
        yield Rows("card")

    def get_default_screen(self) -> Screen[Any]:
        return DeskScreen(id="_default")

    def on_mount(self) -> None:
        self._parts = {part: self.query_one(f"#{part}", Rows) for part in (*PARTS, "card")}
        self._parts["card"].styles.layer = "_card"
        self.screen.styles.layers = ("default", "_card")  # type: ignore[assignment]
        self.draw(force=True)
        if not self.is_headless:
            loop = asyncio.get_running_loop()
            for number, code in ((signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130)):
                try:
                    loop.add_signal_handler(number, self._leave, code)
                except (NotImplementedError, RuntimeError, ValueError):
                    # Not the main thread, or no signals here: the caller's business then.
                    break
            # What has been imported and built by now stays. A full collection that looks through it as well stopped frames and keys alike
            # for 95 ms in the middle of a match (2 cores, Python 3.11); without it there is hardly anything to look through.
            gc.freeze()
        if self._timer:
            self._beat()

    def on_resize(self) -> None:
        # The app's own size changes only after this handler.
        self._stale = True
        self.call_later(self._resized)

    def _resized(self) -> None:
        if self._parts:
            self.cover()
            self.draw(force=True)

    # The beat.

    def _beat(self) -> None:
        self._beating = None
        if self._exit:
            return
        started = self._clock()
        try:
            self._poll(started)
            flood = self._flooded()
            self._quiet = 0 if self.draw() or self._stale else self._quiet + 1
        except Exception as error:
            self._handle_exception(error)
            return
        period = 1.0 / min(self._fps, FLOOD_FPS if flood else FPS) if self._quiet < QUIET else QUIET_S
        spent = (self._clock() - started) / 1e9
        self._wait_for_beat(max(0.002, period - spent))

    def _wait_for_beat(self, delay_s: float) -> None:
        loop = asyncio.get_running_loop()
        self._beat_due = loop.time() + delay_s
        self._beating = loop.call_later(delay_s, self._beat)

    def _soon(self) -> None:
        """Something a person did is to be seen: do not wait for a slow beat."""
        self._stale = True
        if self._quiet >= QUIET and self._beating is not None:
            self._beating.cancel()
            self._quiet = 0
            self._wait_for_beat(0.0)

    def _hurry(self) -> None:
        """A key of the game was pressed: what it did is told within a millisecond or so, and is to be seen before the next frame is due."""
        self._stale = True
        due = asyncio.get_running_loop().time() + ECHO_S
        # Never later than it was due already: keys that come without end, as pasted ones do, would put it off for as long.
        if self._beating is not None and self._beat_due > due:
            self._beating.cancel()
            self._quiet = 0
            self._wait_for_beat(ECHO_S)

    def _poll(self, now_ns: int) -> None:
        for run in sorted(self._sides, key=lambda run: run.source is not self.source):
            # The one that leads goes first: others stand where it stands.
            new, over = run.poll(now_ns)
            self._stale = self._stale or new
            if over:
                # A state of its own: what is new in it may have the old one's addresses.
                self._drawn.clear()
            if over and run.source is self.source:
                self._anchors, self._result_seen = {}, False
                self._seen_notes = self.state.noted
        self._status = self._leading.status
        self._tell_faults()
        if self._until is not None:
            self._break_on(self._until)
        self._seen_notes = self.state.noted
        if self._notice and now_ns > self._notice_until:
            self._notice, self._stale = "", True
        if self._covered:
            # What began behind it waits as well.
            self.hold_game()
        elif self._status.reading:
            self._open("rules")
        if not self._result_seen and self._status.mode == "live" and all(run.over for run in self._sides) and any(run.state.end for run in self._sides):
            self._result_seen = True
            self._open("result")

    def _news(self) -> Sequence[Note]:
        """The lines of the event list that came with this frame."""
        new = self.state.noted - self._seen_notes
        return self.state.notes[-new:] if new > 0 else ()

    def _tell_faults(self) -> None:
        """Say in the foot what failed in a live run: small screens have no event list. The same fault tick after tick is said once."""
        if self._status.mode != "live":
            return
        for note in self._news():
            if note.kind == "fault" and note.tick >= self.state.tick - 1 and note.text != self._told_fault:
                self._told_fault = note.text
                self.say(f"tick {note.tick}: {note.text}")

    def _break_on(self, kind: str) -> None:
        for note in self._news():
            if not kind or note.kind == kind:
                self._until = None
                if self._status.play == "playing":
                    self._ask("pause")
                self.say(f"tick {note.tick}: {note.text}")
                return

    def _flooded(self) -> bool:
        """Whether more new text came in this frame than the panes hold: nobody reads that, so half the frames will do."""
        said = sum(run.state.planner.said + run.state.reactor.said for run in self._sides)
        new, self._said = said - self._said, said
        layout = self.arrangement()
        room = sum(layout.parts[part].width * layout.parts[part].height for part in ("planner", "reactor"))
        return new * self._fps > room * 2

    # Cards.

    def _open(self, card: str) -> None:
        """Open a card, or close it if it is the one that is open."""
        self._card = "" if self._card == card else card
        self.cover()
        self._parts["card"].set_class(bool(self._card), "open")
        self._parts["card"].drop()
        self._soon()
        self.draw()
        self._lay_out()

    def say(self, text: str) -> None:
        """Show a line in the foot for a moment."""
        if text:
            self._notice, self._notice_until = one_line(text, 200), self._clock() + int(NOTICE_S * 1e9)
            self._soon()

    def set_look(self, name: str) -> None:
        """Change the look; under NO_COLOR there is only one."""
        if self.no_color:
            self.say("NO_COLOR is set")
            return
        self.look = make_look(name, self.look.signs.ascii)
        self.ansi_color = name in ("ansi", "mono")
        self.theme = f"desk-{'light' if name == 'light' else 'dark'}"
        for part in self._parts.values():
            part.drop()
        self._drawn.clear()
        self.say(f"look: {name}")
        self.draw(force=True)

    def _leave(self, code: int) -> None:
        for source in self.sources:
            source.command("quit")
        if self._beating is not None:
            self._beating.cancel()
        self.exit(return_code=code)

    # Failing: one line, exit code 1, traceback without locals in the log.

    def _fatal_error(self) -> None:
        log.error("the screen failed\n%s", traceback.format_exc(limit=20))
        self._close_messages_no_wait()

    def panic(self, *renderables: Any) -> None:
        self._return_code, self._failed = 1, True
        log.error("the screen failed: %s\n%s", self._exception, traceback.format_exc(limit=20))
        self._close_messages_no_wait()

    def _print_error_renderables(self) -> None:
        self._exit_renderables.clear()

    def run_desk(self) -> int:
        """Run until the person leaves; return the exit code. After a failure one line has gone to stderr."""
        if self._people:
            sys.setswitchinterval(SWITCH_S)
        try:
            self.run()
        finally:
            for source in self.sources:
                source.close()
        code = self.return_code or 0
        if self._exception is not None or self._failed:
            code = 1
            what = f"{type(self._exception).__name__}: {one_line(str(self._exception), 200)}" if self._exception is not None else "terminal input"
            sys.stderr.write(f"rtdesk: the screen failed ({what}); the log has the details; try --headless\n")
        return code


def _ascii_wanted() -> bool:
    """Whether this locale may draw signs of ambiguous width two cells wide."""
    wanted = os.environ.get("LC_ALL") or os.environ.get("LC_CTYPE") or os.environ.get("LANG") or ""
    return not _speaks_utf8() or wanted[:2] in ("zh", "ja", "ko")


def _speaks_utf8() -> bool:
    return sys.__stderr__ is None or "utf" in (sys.__stderr__.encoding or "").lower()


def run_screen(source: Source | Sequence[Source], *, look: str | None = None, ascii: bool | None = None, fps: float | None = None, **options: Any) -> int:
    """Show one source, or up to three side by side, in this terminal until the person leaves; return the exit code."""
    return DeskApp(source, look=look, ascii=ascii, fps=fps, **options).run_desk()


