"""`rtdesk replay` in a terminal: opened, searched, copied from and left, with nothing left behind."""

import base64
import re
from pathlib import Path

from pty_desk import Desk

FILE = Path(__file__).parents[1] / "replays" / "data" / "v1-snake-agile.rtr"


def test_a_recording_is_opened_searched_copied_from_and_left_in_a_terminal() -> None:
    setup = f"from rtdesk.cli import run\nraise SystemExit(run(['replay', {str(FILE)!r}, '--tick', '2', '--look', 'dark']))"
    with Desk(setup) as desk:
        desk.read_until(b"guidance")
        desk.forget()
        desk.send(b"/goal target\r")
        desk.read_until(b" in planner")
        shown = desk.output.decode("utf-8", "replace")
        assert re.search(r"hit \d+ of \d+ in planner", shown)
        desk.forget()
        desk.send(b"y")
        desk.read_until(b"copied what the planner said")
        copied = re.findall(rb"\x1b\]52;c;([A-Za-z0-9+/=]*)\x07", bytes(desk.output))
        assert len(copied) == 1
        assert b"GOAL target" in base64.b64decode(copied[0])
        desk.send(b"\x1bq")
        desk.send(b"q")
        assert desk.finish() == 0
        assert desk.modes_left_set() == set()
        assert b"Traceback" not in desk.output
