"""`rtdesk doctor`: what this machine offers, where things are kept, and what is wrong."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

from rtdesk.paths import intruder, log_file, replay_folder

__all__ = ["fix_terminal", "report"]

# Everything a screen of ours may have switched on, off again: mouse, focus, paste, alternate screen, cursor, colours, keyboard.
_RESET = "\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?1015l\x1b[?1004l\x1b[?2004l\x1b[?2026l\x1b[?1049l\x1b[<u\x1b[?25h\x1b[0m"


def checks() -> Iterator[tuple[bool, str, str]]:
    """Yield (fine, what, how it stands)."""
    import platform

    yield sys.version_info >= (3, 11), "python", f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    stranger = intruder()
    yield stranger is None, "packages", stranger or "games, replays and workers lie beside rtdesk"
    yield from libraries()
    yield memory()
    yield True, "wake-ups", "eventfd" if hasattr(os, "eventfd") else "pipes"
    for what, path in (("replays", replay_folder()), ("log", log_file().parent)):
        there = path
        while not there.exists() and there != there.parent:
            there = there.parent
        yield os.access(there, os.W_OK), what, f"{path}" + ("" if os.access(there, os.W_OK) else " cannot be written")
    yield True, "log file", str(log_file())
    terminal = f"TERM={os.environ.get('TERM', 'unset')}" + (", NO_COLOR" if os.environ.get("NO_COLOR") else "")
    shown = sys.stdout is not None and sys.stdout.isatty()
    yield shown, "terminal", terminal if shown else "stdout is no terminal: play with --headless"


def libraries() -> Iterator[tuple[bool, str, str]]:
    """Whether what rtdesk is built on is there, and new enough."""
    import re
    from importlib.metadata import PackageNotFoundError, requires, version

    try:
        wanted = [line for line in requires("rtdesk") or () if "extra ==" not in line]
    except PackageNotFoundError:
        yield False, "libraries", "rtdesk is not installed, so nothing says what it needs; install it with pip install ."
        return
    for line in wanted:
        match = re.match(r"([\w-]+)[^>]*(?:>=([\d.]+))?", line)
        assert match is not None
        name, least = match[1], match[2] or "0"
        try:
            found = version(name)
        except PackageNotFoundError:
            yield False, name, "is not installed; install rtdesk again"
            continue
        fine = _numbers(found) >= _numbers(least)
        yield fine, name, found if fine else f"{found} is too old, expected {least} or newer; install rtdesk again"


def _numbers(version: str) -> list[int]:
    """The leading numbers of a version, for comparing."""
    import re

    return [int(number) for number in re.findall(r"\d+", re.match(r"[\d.]*", version)[0])]  # type: ignore[index]


def memory() -> tuple[bool, str, str]:
    """Whether shared memory for rings can be had."""
    from workers.errors import RingError
    from workers.rings import Ring

    try:
        with Ring.create(1 << 20, readers=1):
            return True, "shared memory", "rings can be made, without a name and without a trace"
    except RingError as error:
        return False, "shared memory", str(error)


def report() -> int:
    """Print every check; exit 1 if one that matters fails."""
    bad = 0
    for fine, what, text in checks():
        print(f"{'ok  ' if fine else 'bad ' if what != 'terminal' else 'note'}  {what:23} {text}")
        bad += not fine and what != "terminal"
    return 1 if bad else 0


def fix_terminal() -> int:
    """Bring a terminal back to its senses: modes off, cursor on, echo on."""
    if sys.stdout is not None:
        sys.stdout.write(_RESET)
        sys.stdout.flush()
    if sys.stdin is not None and sys.stdin.isatty():
        import termios

        attributes = termios.tcgetattr(0)
        attributes[0] |= termios.ICRNL | termios.IXON
        attributes[1] |= termios.OPOST
        attributes[3] |= termios.ICANON | termios.ECHO | termios.ISIG | termios.IEXTEN
        termios.tcsetattr(0, termios.TCSANOW, attributes)
    return 0
