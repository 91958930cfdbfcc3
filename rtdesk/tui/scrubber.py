"""The scrubber: the desk's screen over recordings, with a timeline one can move on, words to look for, and questions to ask.

    ScrubApp(ReplaySource.open("a.rtr")).run_desk()

Everything but the keys and the cards is the live screen's. Of several recordings the chosen one leads: keys, cards and the mouse are
about it, and the others stand where it stands. Words are typed in the foot; while they are, every other key is a letter.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from textual.app import SystemCommand
from textual.binding import Binding, BindingsMap
from textual.geometry import Size
from textual.screen import Screen

from replays.clean import one_line
from rtdesk.tui import sides
from rtdesk.tui.app import DeskApp
from rtdesk.tui.asking import Asker
from rtdesk.tui.boards import BoardMaker
from rtdesk.tui.cards import card_rect
from rtdesk.tui.entry import Typing
from rtdesk.tui.history import LABEL, tick_at, track
from rtdesk.tui.keys import ABANDON
from rtdesk.tui.layout import Layout, Rect, narrowed
from rtdesk.tui.looks import LOOKS
from rtdesk.tui.player import ReplaySource
from rtdesk.tui.replay_cards import PromptText, events_card, guidance_card, keys_card, panel_rect, prompt_card, prompt_text
from rtdesk.tui.replay_keys import EVENTS, REPLAY_COMMANDS, entry_foot, replay_bindings, replay_foot, search_foot
from rtdesk.tui.runs import Row
from rtdesk.tui.stage import Run
from rtdesk.tui.timeline import MARGIN
from rtdesk.tui.views import Find, Status, View

__all__ = ["ScrubApp"]

HELD_NS = 200_000_000
"""Presses of a key closer than this are one holding of it."""
FASTER_EVERY = 6
"""Presses in one holding after which a scrub goes twice as far."""
COPIED = 100_000
"""Characters copied at most: a terminal may refuse more."""


class ScrubApp(Typing, DeskApp):
    """The screen over one to three recordings."""

    def __init__(
        self, source: ReplaySource | Sequence[ReplaySource], *, asker: Asker | Sequence[Asker | None] | None = None, game: str | None = None, **options: Any
    ) -> None:
        """`asker` asks the reactor again, one a recording; `game` is a game the person trusts to draw the boards, by name or path."""
        super().__init__(source, **options)
        self.replays: tuple[ReplaySource, ...] = (source,) if isinstance(source, ReplaySource) else tuple(source)
        self._chosen = 0
        if game is not None:
            for run in self._sides:
                run.boards = BoardMaker.named(game)
        self._askers = tuple(asker) if isinstance(asker, Sequence) else (asker,) * len(self.replays)
        self._top = 0
        self._most = 0
        self._prompt: tuple[Any, PromptText] | None = None
        self._asked = -1
        self._scrubbed, self._presses, self._way = 0, 0, 0
        self._dragged = -1
        self._shown_words = ""
        self._shown_overview: Any = None
        self._troubles: set[tuple[str, str]] = set()
        keys = [*replay_bindings(), ABANDON]
        self._bindings = BindingsMap([Binding(key, action, words, show=False, priority=True) for key, action, words in keys])

    @property
    def lead(self) -> ReplaySource:
        """The recording that leads: the chosen one."""
        return self.replays[self._chosen]

    @property
    def _first(self) -> Run:
        return self._sides[self._chosen]

    @property
    def _asker(self) -> Asker | None:
        return self._askers[self._chosen]

    # What is shown.

    def _poll(self, now_ns: int) -> None:
        super()._poll(now_ns)
        self._tell_troubles()
        words, overview = self.lead.found(), tuple(one.overview for one in self.replays)
        if words != self._shown_words or overview != self._shown_overview:
            self._shown_words, self._shown_overview = words, overview
            self._stale = True
        busy = self._asker is not None and self._asker.busy
        if self._card == "guidance" and (busy or self._asked >= 0):
            self._stale = True
            self._asked = self._asked if busy else -1
        if any(one.reading for one in self.replays):
            # Reading ahead is done in the beats, so they stay quick as long as there is something to read.
            self._quiet = -1

    def _tell_troubles(self) -> None:
        """Say what is wrong with a file, once it is known: a damaged place is found when it is read."""
        for one in self.replays:
            new = [trouble for trouble in one.troubles() if (one.title, trouble) not in self._troubles]
            if new:
                self._troubles.update((one.title, trouble) for trouble in new)
                self.say(f"{one.title}: {'; '.join(new)}")

    def _view(self, run: Run, status: Status) -> View:
        view = super()._view(run, status)
        search = self.lead.search
        thinks = any(one.store.header.backends for one in self.replays)
        view.keys = replay_foot(thinks=thinks, runs=len(self.replays), asks=self._asker is not None)
        view.chosen = len(self.replays) > 1 and run is self._first
        view.voice = self.voice if view.chosen else ""
        if self._entry is not None:
            view.keys, view.notice = entry_foot(*self._entry, self.look.signs.cursor), ""
        elif search is not None:
            view.keys = search_foot(one_line(search.query, 40), self.lead.found())
        if search is not None:
            hit = search.at(self.lead.tick, self.lead.share) if run is self._first else None
            view.find = Find(search.pattern, hit.stream if hit is not None else "")
        return view

    def _draw_card(self, view: View, layout: Layout) -> None:
        if layout.small or self._card not in ("help", "find", "prompt", "guidance"):
            super()._draw_card(view, layout)
            return
        width = card_rect(layout, self._card, 1).width
        rows: list[Row]
        if self._card == "prompt":
            rect = self._panel(layout)
            text, turn = self._prompt_text(rect.width - 4), getattr(self.state, self.voice).generation
            rows, self._most = prompt_card(text, self.voice, turn, self.look, rect, self._top, other="Tab" if len(self.replays) == 1 else "shift Tab")
        else:
            if self._card == "help":
                rows = keys_card(view, self.look, width)
            elif self._card == "find":
                rows = events_card(self.look, width)
            else:
                tick = max(0, self.lead.tick)
                rows = guidance_card("nobody to ask" if self._asker is None else self._asker.about(tick), tick, self.look, width)
            rect = card_rect(layout, self._card, len(rows))
        self._place_card(rect)
        self._parts["card"].show(rows[: rect.height])

    def arrangement(self, size: Size | None = None) -> Layout:
        """Return the layout; where a panel leaves half of the streams to be seen, they are wrapped for that half."""
        layout = super().arrangement(size)
        if self._card != "prompt" or len(self.replays) > 1 or layout.small:
            return layout
        column = self._panel(layout).x
        return narrowed(layout, column) if column > layout.parts["planner"].x else layout

    def _panel(self, layout: Layout) -> Rect:
        return panel_rect(layout, beside=self._chosen if len(self.replays) > 1 else None, count=len(self.replays))

    def _prompt_text(self, columns: int) -> PromptText:
        stream = getattr(self.state, self.voice)
        key = (self._chosen, self.voice, stream.generation, tuple(map(id, stream.prompt)), self.state.tick, columns)
        if self._prompt is None or self._prompt[0] != key:
            self._prompt = (key, prompt_text(self.lead.prompt(self.state, self.voice), columns))
        return self._prompt[1]

    def choose(self, number: int) -> None:
        """Have keys and cards be about another of the recordings."""
        if number == self._chosen or not 0 <= number < len(self.replays):
            return
        old, self._chosen = self.lead, number
        self.lead.take_the_lead(old, [one for one in self.replays if one is not self.lead])
        self.source = self.lead
        self._anchors, self._top, self._seen_notes = {}, 0, self.state.noted
        if self._card == "guidance":
            # What it shows is about the other one.
            self._open("guidance")
        self._soon()

    # What keys do.

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "close":
            return len(self.screen_stack) == 1 and (bool(self._card) or self.lead.search is not None)
        if self._card == "find":
            # Its letters mean kinds of event, whatever they mean elsewhere.
            return len(self.screen_stack) == 1 and action in ("pick", "leave")
        if self._card in ("prompt", "guidance"):
            # One may go on moving with a panel open; that is what it is for.
            return len(self.screen_stack) == 1 and action != "pick"
        return super().check_action(action, parameters)

    def action_close(self) -> None:
        if self._card:
            super().action_close()
        else:
            self._ask("search", "")

    def action_scrub(self, way: int) -> None:
        now = self._clock()
        held = way == self._way and now - self._scrubbed < HELD_NS
        self._presses = self._presses + 1 if held else 0
        self._scrubbed, self._way = now, way
        self._ask("scrub", str(way << min(9, self._presses // FASTER_EVERY)))

    def action_event(self, count: int) -> None:
        self._ask("event", str(count))

    def action_hit(self, count: int) -> None:
        self._ask("hit", str(count))

    def action_search(self) -> None:
        self._entry = ("/", "")
        self._soon()

    def action_note(self) -> None:
        self._entry = ("mark", "")
        self._soon()

    def action_pick(self, key: str) -> None:
        kind = next((kind for sign, kind, _ in EVENTS if sign == key.lower()), "")
        self._open("find")
        self._ask("find", f"-{kind}" if key.isupper() else kind)

    def action_prompts(self) -> None:
        self._top = 0
        self._open("prompt")

    def action_other(self) -> None:
        """The next recording, or the one whose number has been typed; with one alone, the other stream."""
        count = len(self.replays)
        if count == 1:
            self.action_stream()
            return
        number = int(self._jump) - 1 if self._jump else (self._chosen + 1) % count
        self._jump = ""
        if 0 <= number < count:
            self.choose(number)
            self.say(f"{number + 1} of {count}: {self.lead.title}")
        else:
            self.say(f"there is no recording {number + 1}: {count} stand side by side")

    def action_stream(self) -> None:
        self._top = 0
        super().action_other()

    def action_guidance(self) -> None:
        tick = max(0, self.lead.tick)
        if self._asker is None:
            self.say("nobody to ask: this recording has no reactor that was shown a planner's words")
            return
        if self._card != "guidance":
            if self._status.play == "playing":
                # The answer is about this tick, and takes a moment: it must not have gone by when it comes.
                self._ask("pause")
            self._open("guidance")
        elif not isinstance(self._asker.about(tick), str):
            self._open("guidance")
            return
        else:
            self._asker.agree()
        self._asker.begin(tick)
        self._asked = tick
        self._soon()

    def action_copy(self) -> None:
        """Copy what is shown: a prompt, or what a stream has said of its generation. Clean text only ever reaches the terminal."""
        voice = self.voice
        if self._card == "prompt":
            text, what = self._prompt_text(self._panel(self.arrangement()).width - 4).text, f"the {voice}'s prompt"
        else:
            stream = getattr(self.state, voice)
            begins = max((border.offset for border in stream.borders if border.kind == "turn"), default=0) - stream.dropped
            text, what = stream.text[max(0, begins) :], f"what the {voice} said of turn {stream.generation}"
        if not text:
            self.say("nothing to copy")
            return
        self.copy_to_clipboard(text[-COPIED:])
        cut = "" if len(text) <= COPIED else f", the last {COPIED:,} characters of it"
        self.say(f"copied {what}{cut} ({min(len(text), COPIED):,} characters)")

    def action_scroll(self, rows: int) -> None:
        if self._card == "prompt":
            self._scroll_prompt(rows)
        else:
            super().action_scroll(rows)

    def action_scroll_page(self, pages: int) -> None:
        if self._card == "prompt":
            self._scroll_prompt(pages * max(1, self._panel(self.arrangement()).height - 4))
        else:
            super().action_scroll_page(pages)

    def _scroll_prompt(self, rows: int) -> None:
        self._top = max(0, min(self._top + rows, self._most))
        self._soon()

    # The mouse.

    def click_part(self, part: str, x: int, y: int) -> None:
        if part == "meter":
            return
        if len(self.replays) > 1 and part in sides.COLUMNS:
            self.choose(sides.COLUMNS.index(part))
            return
        super().click_part(part, x, y)

    def press_part(self, part: str, x: int, y: int) -> bool:
        """The button went down; return whether moving it on drags something."""
        if part != "meter" or self.lead.overview is None:
            return False
        self._dragged = 0 if y < 3 else 1
        self.drag_part(part, x, y)
        return True

    def drag_part(self, part: str, x: int, y: int) -> None:
        """Go where the pointer is: on the tick's own bar inside the tick, on the timeline to a tick."""
        overview = self.lead.overview
        if overview is None:
            return
        width = self.arrangement().parts["meter"].width
        if self._dragged == 0:
            self._ask("place", f"{self.lead.tick} {min(1.0, max(0.0, (x - 1) / max(1, width - 2)))}")
        else:
            label = sides.LABEL if len(self._sides) > 1 else LABEL
            self._ask("jump", str(tick_at(track(overview.ticks, width - label - MARGIN), x - label - 1)))

    def scroll_part(self, part: str, rows: int) -> None:
        if part == "meter":
            self._ask("tick", str(1 if rows > 0 else -1))
        elif part == "card" and self._card == "prompt":
            self._scroll_prompt(rows)
        elif len(self.replays) == 1:
            super().scroll_part(part, rows)
        elif part in sides.COLUMNS[: len(self.replays)]:
            # The wheel over a column: it is that one's tail that moves.
            self.choose(sides.COLUMNS.index(part))
            self._scroll_stream(self.voice, rows)

    def _tail_size(self, part: str) -> tuple[int, int]:
        if len(self.replays) == 1:
            return super()._tail_size(part)
        side = sides.Side(self.state, self._view(self._first, self.lead.status))
        return sides.tail_size(side, self.look, self.arrangement(), self._chosen)

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        for command in REPLAY_COMMANDS:
            if not command.help or command.action in ("palette", "jump") or command.action.startswith("scroll"):
                continue
            name, _, argument = command.action.partition("(")
            method = getattr(self, f"action_{name}")
            value: Any = argument.strip("')")
            value = int(value) if value.lstrip("-").isdigit() else value
            call = (lambda method=method, value=value: method(value)) if argument else method
            yield SystemCommand(f"{command.help[:1].upper()}{command.help[1:]}", f"key {command.label}", call)
        for name in LOOKS:
            yield SystemCommand(f"Look: {name}", "colours of the screen", lambda name=name: self.set_look(name))
