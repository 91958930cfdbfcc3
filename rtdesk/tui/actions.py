"""What keys and mouse do. A mixin of the app: every action is here, drawing is in `app`.

Commands go to every source on the screen (runs side by side move in step); scrolling is a command to a part, not a matter of
focus, so nothing on the screen ever swallows a key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from textual.app import SystemCommand

from replays.view_state import ViewState
from rtdesk.tui.history import LABEL, tick_at, track
from rtdesk.tui.keys import COMMANDS, FIND, LOOK_BACK
from rtdesk.tui.looks import LOOKS
from rtdesk.tui.panes import tail_height
from rtdesk.tui.shots import screen_svg
from rtdesk.tui.source import Source
from rtdesk.tui.views import Status
from rtdesk.tui.wrap import last_rows, rows_before

if TYPE_CHECKING:
    from textual.app import App
    from textual.geometry import Size
    from textual.screen import Screen

    from rtdesk.tui.layout import Layout

__all__ = ["Actions"]


class Actions:
    """Needs an app around it that has what is named here."""

    if TYPE_CHECKING:
        source: Source
        sources: tuple[Source, ...]

        @property
        def _leading(self) -> Source: ...

        @property
        def state(self) -> ViewState: ...

        shots: Path
        screen_stack: list[Any]
        _anchors: dict[str, int]
        _card: str
        _covered: bool
        _held_for_card: bool
        _people: int
        _human: tuple[str, ...]
        _jump: str
        _prompts: bool
        _status: Status
        _until: str | None
        _voice: str
        look: Any
        look_back: bool
        say: Callable[[str], None]
        set_look: Callable[[str], None]
        _leave: Callable[[int], None]
        _open: Callable[[str], None]
        _soon: Callable[[], None]
        _hurry: Callable[[], None]

        def arrangement(self, size: Size | None = None) -> Layout: ...

    # Keys. An open dialog or card switches the game's keys off.

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if len(self.screen_stack) > 1 or action == "abandon":
            # A dialog has all the keys, but for the two that end a program everywhere.
            return action == "abandon" and len(self.screen_stack) > 1
        if action in ("close", "pick"):
            return bool(self._card) and (action == "close" or self._card == "find")
        if action in ("begin", "over"):
            return self._card == ("rules" if action == "begin" else "result")
        if self._card == "find":
            return action in ("find", "leave")
        if self._covered and self._people and action in ("step", "move"):
            return False
        return not (self._card and action in ("move", "digit", "jump"))

    def _ask(self, what: str, value: str = "") -> None:
        if what == "pause" and len(self.sources) > 1:
            # Said and not toggled, so that boards side by side never stand the one way and the other.
            value = "off" if self._leading.status.play == "paused" else "on"
        leading = self._leading
        answer = self.source.command(what, value)
        for other in self.sources:
            if other is self.source:
                continue
            if what == "find":
                # They are runs of one level: the others go to the tick the first has found.
                tick = getattr(self.source, "tick", None)
                other.command("jump", str(tick if tick is not None else self.state.tick))
            else:
                said = other.command(what, value)
                # A side that is out has nothing to say to what the others do.
                answer = answer or (said if other is leading else "")
        self._status = self._leading.status
        self._soon()
        self.say(answer)

    def action_pause(self) -> None:
        self._until = None
        if self._people and self._covered and self._leading.status.play == "paused":
            # Nobody plays behind a card: what is asked for is how it goes on afterwards.
            self._held_for_card = not self._held_for_card
            self.say("goes on when this closes" if self._held_for_card else "stays paused when this closes")
            return
        self._ask("pause")

    def action_step(self) -> None:
        self._held_for_card = False
        self._ask("step")

    def action_slow(self, direction: str) -> None:
        self._pace_by("slow", direction)

    def action_faster(self) -> None:
        self._pace_by("faster")

    def action_slower(self) -> None:
        self._pace_by("slower")

    def _pace_by(self, what: str, value: str = "") -> None:
        if self._status.paceable:
            self._ask(what, value)
        else:
            self.say("in wall time the pace is the clock's")

    def action_bookmark(self) -> None:
        self._ask("bookmark")

    def action_restart(self) -> None:
        self._again("restart")

    def action_next_seed(self) -> None:
        self._again("next-seed")

    def _again(self, what: str) -> None:
        if self._card == "result":
            self._open("result")
        self._ask(what)

    def action_move(self, letter: str, hand: int = 0) -> None:
        """A person's move; `hand` is 1 for the second person's half of the keyboard."""
        if letter in self._human:
            self._press(f"{letter}/{hand}" if hand else letter)
            self._hurry()

    def _press(self, value: str) -> None:
        """Hand a move to every run; also from the thread that reads the terminal."""
        for source in self.sources:
            source.command("key", value)

    def action_over(self, what: str) -> None:
        """What the result card offers: to a person, whose letters are keys of the game otherwise, and to look back to everybody."""
        if what == "quit":
            self._leave(0)
        elif what == "look-back":
            if self.look_back:
                self._leave(LOOK_BACK)
        else:
            self._again(what)

    def action_rules(self) -> None:
        self._open("rules")

    def action_begin(self) -> None:
        self._open("rules")

    def action_tick(self, count: int) -> None:
        if self._status.mode == "replay":
            self._ask("tick", str(count))

    def action_digit(self, digit: str) -> None:
        if self._status.mode == "replay":
            self._jump = (self._jump + digit)[:7] if digit else self._jump[:-1]
            self._soon()

    def action_jump(self) -> None:
        if self._jump:
            tick, self._jump = self._jump, ""
            self._ask("jump", tick)

    def action_find(self) -> None:
        self._open("find")

    def action_pick(self, key: str) -> None:
        kind = next((kind for sign, kind, _ in FIND if sign == key), "")
        self._open("find")
        if self._status.mode == "replay":
            self._ask("find", kind)
            return
        self._until = kind
        self.say(f"runs on until the next {kind or 'event'}")
        if self._status.play == "paused":
            self._ask("pause")

    def action_help(self) -> None:
        self._open("help")

    def action_log(self) -> None:
        self._open("log")

    def action_close(self) -> None:
        self._open(self._card)

    def action_prompts(self) -> None:
        self._prompts = not self._prompts
        self._soon()

    def action_palette(self) -> None:
        if len(self.screen_stack) == 1:
            # Imported where it is needed: nobody waits for it at the start.
            from rtdesk.tui.palette import Palette

            cast("App[Any]", self).push_screen(Palette(id="--command-palette"))

    def action_look(self) -> None:
        self.set_look(LOOKS[(LOOKS.index(self.look.name) + 1) % len(LOOKS)])

    def action_shot(self) -> None:
        header = self.state.header
        name = f"rtdesk-{_file_word(header.game) if header else 'desk'}-t{max(0, self.state.tick)}.svg"
        path = self.shots / name
        try:
            path.write_text(screen_svg(cast("App[Any]", self)), encoding="utf-8")
        except OSError as error:
            self.say(f"no screenshot: {error}")
        else:
            self.say(f"screenshot: {path}")

    def action_leave(self) -> None:
        self._leave(0)

    def action_abandon(self) -> None:
        self._leave(0)

    def action_help_quit(self) -> None:
        self._leave(0)

    async def action_quit(self) -> None:
        self._leave(0)

    # Scrolling: a command to a part, not a matter of focus.

    @property
    def voice(self) -> str:
        """The stream that keys scroll: the one chosen, where this run has it."""
        header = self.state.header
        has = [role for role in ("planner", "reactor") if header is not None and role in header.backends]
        return self._voice if self._voice in has or not has else has[0]

    def action_other(self) -> None:
        was = self.voice
        self._voice = "reactor" if was == "planner" else "planner"
        self.say(f"scrolling the {self.voice}" if self.voice != was else f"the {was} is the only one who speaks here")

    def action_scroll(self, rows: int) -> None:
        self._scroll_stream(self.voice, rows)

    def action_scroll_page(self, pages: int) -> None:
        if self._status.mode == "replay":
            self._ask("tick", str(10 * pages))
            return
        self._scroll_stream(self.voice, pages * max(1, self._tail_size(self.voice)[1] - 1))

    def action_follow(self) -> None:
        if self._status.mode == "replay" and not self._anchors:
            self._ask("end")
        self._anchors = {}
        self._soon()

    def action_home(self) -> None:
        if self._status.mode == "replay":
            self._ask("home")
            return
        self._anchors = {**self._anchors, self.voice: getattr(self.state, self.voice).dropped}
        self._soon()

    def scroll_part(self, part: str, rows: int) -> None:
        """Scroll a stream's pane."""
        if part in ("planner", "reactor"):
            self._scroll_stream(part, rows)

    def _tail_size(self, part: str) -> tuple[int, int]:
        """Return columns and rows of a stream's tail."""
        rect = self.arrangement().parts[part]
        return rect.width, tail_height(self.state, part, rect.height)

    def _scroll_stream(self, part: str, rows: int) -> None:
        """Scroll a stream; at its end it follows again. The place is pinned by character, so new text does not move it."""
        stream = getattr(self.state, part)
        width, height = self._tail_size(part)
        text, room = stream.text, width - 3
        shown = last_rows(text, room, height)
        last = shown[0].offset if shown else 0
        at = self._anchors[part] - stream.dropped if part in self._anchors else last
        if rows < 0:
            at = rows_before(text, room, -rows, max(0, at))
        else:
            following = last_rows(text[: max(0, at)] + text[max(0, at) :], room, 10_000)
            place = next((i for i, row in enumerate(following) if row.offset >= at), len(following) - 1)
            at = following[min(len(following) - 1, place + rows)].offset if following else 0
        anchors = {name: value for name, value in self._anchors.items() if name != part}
        if at < last:
            anchors[part] = at + stream.dropped
        self._anchors = anchors
        self._soon()

    def click_part(self, part: str, x: int, y: int) -> None:
        """A click on the timeline goes to that tick; a click on a pane makes it the one keys scroll."""
        if part in ("planner", "reactor"):
            self._voice = part
        elif part == "meter" and self._status.mode == "replay" and y >= 3:
            overview = self.source.overview
            if overview is not None:
                layout = self.arrangement()
                found = track(overview.ticks, layout.width - LABEL - 10)
                self._ask("jump", str(tick_at(found, x - LABEL - 1)))
        elif part == "card" and self._card == "result":
            self._open("result")

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        for command in COMMANDS:
            if command.action in ("palette", "find") or command.action.startswith("scroll"):
                continue
            name, _, argument = command.action.partition("(")
            method = getattr(self, f"action_{name}")
            call = (lambda method=method, argument=argument: method(argument.strip("')"))) if argument else method
            yield SystemCommand(f"{command.help[:1].upper()}{command.help[1:]}", f"key {command.playing_label if self._human else command.label}", call)
        for name in LOOKS:
            yield SystemCommand(f"Look: {name}", "colours of the screen", lambda name=name: self.set_look(name))


def _file_word(name: str) -> str:
    return "".join(char for char in Path(name).stem if char.isalnum() or char in "-_")[:40] or "game"
