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
from typing import TYPE_CHECKING, Any

from textual.app import App, ComposeResult
from textual.binding import Binding, BindingsMap
from textual.color import Color
from textual.geometry import Size
from textual.screen import Screen

from replays.clean import one_line
from replays.notes import Note
from replays.view_state import ViewState
from rtdesk.tui.actions import Actions
from rtdesk.tui.boards import BoardMaker
from rtdesk.tui.cards import card_rect, find_card, help_card, log_card
from rtdesk.tui.keys import ABANDON, bindings, foot_keys
from rtdesk.tui.layout import PARTS, Layout, Rect, arrange
from rtdesk.tui.looks import look_for, make_look
from rtdesk.tui.meter import alarm, window
from rtdesk.tui.person import rules_card
from rtdesk.tui.playing import Playing
from rtdesk.tui.result import result_card
from rtdesk.tui.rows import Rows
from rtdesk.tui.runs import Row
from rtdesk.tui.scene import PART
from rtdesk.tui.sides import MOST, Side, arrange_sides, sides_scene
from rtdesk.tui.source import Source
from rtdesk.tui.stage import THEMES, DeskScreen, Run
from rtdesk.tui.terminal import desk_driver, is_busy
from rtdesk.tui.verdict import match_card
from rtdesk.tui.views import Status, View

if TYPE_CHECKING:
    pass

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

class DeskApp(Actions, Playing, App[None]):
    """The screen over any source, live or recorded."""

    AUTO_FOCUS = None
    TITLE = "rtdesk"
    ENABLE_COMMAND_PALETTE = True
    NOTIFICATION_TIMEOUT = 2
    CSS = "Screen { overflow: hidden hidden; } #card { display: none; } #card.open { display: block; }"

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

    def arrangement(self, size: Size | None = None) -> Layout:
        """Return the layout of the screen as it is now, or will be at `size`."""
        if len(self._sides) > 1:
            return self._arrange_sides(size)
        board = self.boards.board(self.state.header, self.state.snapshot)
        header = self.state.header
        planner = header is None or "planner" in header.backends or not header.backends
        reactor = header is None or "reactor" in header.backends
        key = (size or self.size, board.columns if board else 8, board.rows if board else 8, planner, reactor)
        if self._arranged is None or self._arranged[0] != key:
            changed = self._arranged is not None and self._arranged[0][1:] != key[1:]
            width, height = key[0]
            self._arranged = (key, arrange(width, height, key[1], key[2], planner=planner, reactor=reactor))
            if changed:
                self._lay_out()
        return self._arranged[1]

    def _arrange_sides(self, size: Size | None) -> Layout:
        found = [run.boards.board(run.state.header, run.state.snapshot) for run in self._sides]
        boards = tuple((board.columns, board.rows) if board is not None else (8, 8) for board in found)
        key = (size or self.size, boards)
        if self._arranged is None or self._arranged[0] != key:
            width, height = key[0]
            changed = self._arranged is not None and self._arranged[0][1:] != key[1:]
            self._arranged = (key, arrange_sides(width, height, boards))
            if changed:
                self._lay_out()
        return self._arranged[1]

    def _lay_out(self) -> None:
        """Have the parts placed anew. Asked of a part: asked of the screen, Textual keeps the arrangement it has."""
        if self._parts:
            self._parts["head"].refresh(layout=True)

    def rect_of(self, part: str, size: Size) -> Rect:
        if part == "card":
            return self._card_rect
        return self.arrangement(size).parts.get(part, Rect(0, 0, 0, 0))

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

    def draw(self, *, force: bool = False) -> bool:
        """Draw a frame if there is something new and the terminal has taken the last one; return whether one was drawn."""
        status = self._status if self._timer else self._leading.status
        self._status = status
        if not force and not self._stale and self._shown_status == status:
            return False
        if not force and is_busy(self._driver):
            self.dropped += 1
            self._held += 1
            self._stale = True
            return False
        view = self._view(self._first, status if self._leading is self.source else self.source.status)
        layout = self.arrangement()
        if len(self._sides) > 1:
            self._draw_sides(view, layout)
        else:
            for part in PARTS:
                self._draw_part(part, view, layout, force)
        if self._card:
            self._draw_card(view, layout)
        self._stale, self._shown_status = False, status
        self._held = max(0, self._held - 1)
        self.frames += 1
        return True

    _shown_status: Status | None = None
    _failed = False
    _quiet = 0
    _log_due = 0
    _log_shown: Sequence[str] = ()

    def _draw_sides(self, view: View, layout: Layout) -> None:
        for part, rows in sides_scene(self._all_sides(view), self.look, layout).items():
            if rows:
                self._parts[part].show(rows)

    def _all_sides(self, view: View) -> list[Side]:
        return [Side(run.state, view if run is self._first else self._view(run, run.source.status)) for run in self._sides]

    def _draw_part(self, part: str, view: View, layout: Layout, force: bool) -> None:
        rect = layout.parts[part]
        if rect.height == 0:
            return
        key = self._key(part, view, rect)
        if not force and key is not None and self._drawn.get(part) == key:
            return
        self._drawn[part] = key
        self._parts[part].show(PART[part](self.state, view, self.look, layout))

    def _key(self, part: str, view: View, rect: Rect) -> Any:
        """Return what a part's rows depend on where that is cheaper to compare than the rows are to make; None if it is not."""
        state = self.state
        if part == "head":
            return (rect, state.header is None, state.tick, view.status.play, view.status.rate, view.status.speed, view.status.count, view.jump, state.end is None)
        if part == "foot":
            return (rect, view.notice, view.keys)
        if part == "rail":
            # Tokens of this tick are counted on, but only where there is somebody who thinks.
            counts = tuple((stream.total_tokens, stream.tick_tokens, stream.running) for stream in (state.planner, state.reactor))
            return (rect, state.header is None, state.tick, state.noted, counts, state.tick_budget, state.reactive_budget)
        if part == "left":
            span = window(state, view)
            loud = alarm(state, span.share if span is not None else 0.0)
            # The pace is rounded, so that its last digit does not repaint the column every frame.
            pace = tuple(f"{value:.0e}" if value is not None else "" for stream in (state.planner, state.reactor) for value in (stream.tpot_s, stream.ttft_s))
            return (
                rect, id(view.board), state.tick, id(state.answer), id(state.last), id(state.pins.best), state.holds, state.key, state.partner_key, view.status.count, state.steps, state.noted, loud, pace, view.dropped, state.defaults, state.late, state.faults,
            )  # fmt: skip
        return None

    def _view(self, run: Run, status: Status) -> View:
        board = run.boards.board(run.state.header, run.state.snapshot)
        replay = status.mode == "replay"
        notice = self._notice or one_line(status.note, 200) or (run.boards.why if board is None and run.state.snapshot else "")
        return View(
            status=status,
            board=board,
            spec=run.boards.spec,
            overview=run.source.overview,
            anchors=self._anchors,
            notice=notice,
            prompts=self._prompts,
            keys=foot_keys(self._human, replay=replay, paceable=status.paceable, people=self._people),
            jump=self._jump,
            memo=run.memo,
            dropped=self.dropped if self._held > 5 else 0,
        )

    def screen_text(self) -> list[str]:
        """Return the screen as text, row by row, for tests and pictures as text."""
        layout = self.arrangement()
        grid = [[" "] * layout.width for _ in range(layout.height)]
        for part, rect in (*layout.parts.items(), *([("card", self._card_rect)] if self._card else [])):
            for y, line in enumerate(self._parts[part].text()[: rect.height]):
                column = rect.x
                for char in line:
                    if rect.y + y < layout.height and column < layout.width:
                        grid[rect.y + y][column] = char
                    column += 1
        return ["".join(row) for row in grid]

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

    def _draw_card(self, view: View, layout: Layout) -> None:
        room = layout.parts["planner"].height + layout.parts["reactor"].height
        width = card_rect(layout, self._card, 1).width
        rows: list[Row] = []
        if layout.small:
            pass
        elif self._card == "help":
            rows = help_card(self.state, view, self.look, width)
        elif self._card == "rules":
            rows = rules_card(self.state, view, self.look, width)
        elif self._card == "find":
            rows = find_card(view, self.look, width)
        elif self._card == "result" and len(self._sides) > 1:
            width = card_rect(layout, "match", 1).width
            rows = match_card(self._all_sides(view), self.look, width, layout.parts["left"].height, look_back=self.look_back)
        elif self._card == "result":
            rows = result_card(self.state, view, self.look, width, self._earlier(self.state), room=layout.parts["left"].height, look_back=self.look_back)
        elif self._card == "log":
            rows = log_card(self._log_lines(), self.look, card_rect(layout, "log", room).width, card_rect(layout, "log", room).height)
        kind = "match" if self._card == "result" and len(self._sides) > 1 else self._card
        rect = card_rect(layout, kind, len(rows)) if rows else Rect(0, 0, 0, 0)
        if rect != self._card_rect:
            self._card_rect = rect
            self._lay_out()
        self._parts["card"].show(rows[: rect.height])

    def _log_lines(self) -> Sequence[str]:
        # A live desk reads them from a file: twice a second is enough.
        now = self._clock()
        if now >= self._log_due:
            self._log_shown, self._log_due = self.source.log_lines(), now + 500_000_000
        return self._log_shown

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


