"""The terminal's door: Textual's Linux driver, told apart from a terminal that does not read, and hardened against odd keys.

* `busy` says whether the last frame has left. Textual's writer takes 30 writes and then blocks the event loop; whoever asks
  first never gets there.
* Unasked kitty key reports with an event type (`ESC [ 97 ; 1 : 3 u`) kill Textual 8's parser: press and repeat are read
  without it, releases are dropped.
* Whatever a terminal sends, the thread that reads it lives on: bytes that are no UTF-8 (a mouse report of old, a terminal of another
  encoding) end it as Textual comes, and the session with it. What its parser fails on is dropped, and it begins anew.
* A paste that does not end, because its other half was lost on the way, is over once nothing more of it comes: until then every key is
  part of it, those that leave as well.
* Closing never waits for a terminal that is gone.
* Stopped by somebody else (SIGSTOP) and let go on, the desk takes its terminal back. Textual would start a second time on top of
  itself, and take the raw line discipline for the one to restore.
* The size is the terminal's own, whatever COLUMNS and LINES say.
* An app with a `take_key` is offered every key in the thread that reads the terminal, before its event loop is: see `at_once`.
"""

from __future__ import annotations

import codecs
import functools
import os
import re
import select
import signal
import sys
import termios
import time
import tty
from collections.abc import Callable, Iterable
from queue import Full
from typing import TYPE_CHECKING, Any

from textual import events
from textual._xterm_parser import XTermParser
from textual.keys import Keys

if TYPE_CHECKING:
    from textual.driver import Driver
    from textual.message import Message

__all__ = ["desk_driver"]

_TYPED = re.compile(r"(\x1b\[[0-9:]*;[0-9]*):([0-9]+)((?:;[0-9:]*)?[A-Za-z~])")
_PASTE, _PASTED = "\x1b[200~", "\x1b[201~"
PASTE_S = 1.0
"""Seconds without a character after which a paste is over, end or not."""
CLOSE_S = 1.0
"""Seconds a closing screen waits for the terminal to take its last bytes."""


class DeskParser(XTermParser):
    """Textual's parser, without what kills it or makes it deaf. `clock` gives seconds."""

    def __init__(self, debug: bool = False, *, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(debug)
        self._clock = clock
        # The last characters fed, in case a mark of a paste comes in two pieces.
        self._last = ""
        self._pasting = False
        self._fed = 0.0

    def feed(self, data: str) -> Iterable[Message]:
        if not data:
            return super().feed(data)
        seen = self._last + data
        self._last = seen[1 - len(_PASTE) :]
        begun, ended = seen.rfind(_PASTE), seen.rfind(_PASTED)
        if begun != ended:
            self._pasting = begun > ended
        self._fed = self._clock()
        return self._survive(super().feed(data))

    def tick(self) -> Iterable[Message]:
        if self._pasting and self._clock() - self._fed > PASTE_S:
            return self.feed(_PASTED)
        return self._survive(super().tick())

    def _survive(self, found: Iterable[Message]) -> Iterable[Message]:
        try:
            yield from found
        except Exception:
            # Its generator is dead; what it knows of the terminal stays.
            super(XTermParser, self).__init__()

    def _sequence_to_key_events(self, sequence: str, alt: bool = False) -> Iterable[events.Key]:
        typed = _TYPED.fullmatch(sequence)
        if typed is not None:
            head, kind, tail = typed.groups()
            if kind == "3":
                return [events.Key(Keys.Ignore, sequence)]
            sequence = head + tail
        try:
            # Made here and not by whoever reads it: it is a generator, and its errors must end here.
            return list(super()._sequence_to_key_events(sequence, alt))
        except (ValueError, OverflowError):
            # A report no terminal should send; it must not end the session.
            return [events.Key(Keys.Ignore, sequence)]


def _forgiving(encoding: str) -> Callable[[], codecs.IncrementalDecoder]:
    return functools.partial(codecs.getincrementaldecoder(encoding), "replace")


def desk_driver() -> type[Driver] | None:
    """Return the driver to run on, or None (Textual's own choice) where there is no Linux driver."""
    if sys.platform == "win32":
        return None
    from textual.drivers import linux_driver

    # The driver makes its parser by this name, and has no other seam.
    linux_driver.XTermParser = DeskParser  # type: ignore[misc]
    # And its decoder by this one, which would be a strict one.
    linux_driver.getincrementaldecoder = _forgiving  # type: ignore[assignment]

    class DeskDriver(linux_driver.LinuxDriver):
        """Linux driver that can say whether the terminal still takes what is written."""

        written = 0
        """Characters handed to the terminal since start."""

        def write(self, data: str) -> None:
            self.written += len(data)
            super().write(data)

        def process_message(self, message: Message) -> None:
            # In the thread that reads the terminal.
            if isinstance(message, events.Resize) and not (message.size.width and message.size.height):
                # A report in the stream of keys, of a terminal without a size.
                return
            if isinstance(message, events.Key) and hasattr(self._app, "take_key") and self._app.take_key(message.key):
                return
            super().process_message(message)

        def _get_terminal_size(self) -> tuple[int, int]:
            try:
                width, height = os.get_terminal_size(sys.__stderr__.fileno() if sys.__stderr__ is not None else 2)
            except (OSError, ValueError):
                width = height = 0
            return (width, height) if width and height else super()._get_terminal_size()

        def _sigcont_application(self, *_: Any) -> None:
            if self._must_signal_resume:
                # Stopped by Ctrl-Z's own signal, when Textual had handed the terminal back.
                super()._sigcont_application()
            elif self._writer_thread is not None:
                self._take_back()

        def _take_back(self) -> None:
            """Set again what a shell may have changed while we stood still, and have everything drawn."""
            try:
                raw = termios.tcgetattr(self.fileno)
                raw[tty.LFLAG] = self._patch_lflag(raw[tty.LFLAG])
                raw[tty.IFLAG] = self._patch_iflag(raw[tty.IFLAG])
                raw[tty.CC][termios.VMIN] = 1
                termios.tcsetattr(self.fileno, termios.TCSANOW, raw)
            except termios.error:
                return
            self.write("\x1b[?1049h\x1b[?25l\x1b[?1004h\x1b[?2004h\x1b[?7l")
            self._enable_mouse_support()
            # A shell that wrote here has moved everything: only a new size has all of it painted.
            os.kill(os.getpid(), signal.SIGWINCH)
            self._app.call_later(self._app.refresh, repaint=True, layout=True)

        @property
        def busy(self) -> bool:
            """Whether something written before has not left yet."""
            thread = self._writer_thread
            if thread is None or not thread.is_alive():
                return thread is not None
            if thread._queue.qsize() > 0:
                return True
            try:
                return not select.select([], [thread.fileno()], [], 0)[1]
            except (OSError, ValueError):
                return False

        def close(self) -> None:
            thread = self._writer_thread
            if thread is None:
                return
            try:
                thread._queue.put(None, timeout=CLOSE_S)
            except Full:
                # The terminal does not read; the thread is a daemon and ends with the process.
                return
            thread.join(CLOSE_S)

    return DeskDriver


def is_busy(driver: Any) -> bool:
    """Return whether `driver` says its terminal lags; a driver that cannot say never does."""
    return bool(getattr(driver, "busy", False))
