"""tmux, a terminal with a width table of its own, shows exactly the rows the scene meant."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

HERE = Path(__file__).parent

CHILD = """
import os, sys
sys.path[:0] = [{here!r}, {root!r}]
from material import episode
from replays import events as ev
from replays.clean import clean
from rtdesk.tui.app import DeskApp
from rtdesk.tui.player import ListSource

page = open({page!r}, "rb").read().decode()
samples = "".join(chr(code) for low in (0xA0, 0x370, 0x2010, 0x2190, 0x2500, 0x2600, 0x3040, 0x4E00, 0xAC00, 0xFF01, 0x1F600) for code in range(low, low + 60))
text = page + "\\n日本語モデル école e\\u0301 👨\\u200d👩\\u200d👧 ⚠\\ufe0f 🇫🇷 한국어\\n" + "\\n".join(samples[i:i + 30] for i in range(0, len(samples), 30)) + "\\nfinal line"
events = episode()[:3]
events.append(ev.Token(tick=0, at=10, stream="planner", generation=0, channel="content", text=text, lens=[len(text)]))
source = ListSource(events, rate=1.0)

class App(DeskApp):
    def action_bookmark(self):
        # Renamed into place, so that nobody reads half of it.
        open({out!r} + ".part", "w").write("\\n".join(self.screen_text()))
        os.replace({out!r} + ".part", {out!r})

source.command("pause")
raise SystemExit(App(source, look="dark", ascii=False).run_desk())
"""


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
def test_tmux_shows_exactly_the_rows_the_scene_meant(tmp_path: Path) -> None:
    out = tmp_path / "rows"
    script = tmp_path / "child.py"
    script.write_text(CHILD.format(here=str(HERE), root=str(HERE.parents[1]), page=str(HERE / "data" / "hostile.bin"), out=str(out)))
    server = ["tmux", "-L", f"rtdesk-test-{os.getpid()}", "-f", "/dev/null"]
    environment = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "TMUX")} | {"LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"}
    subprocess.run([*server, "new-session", "-d", "-x", "120", "-y", "50", f"{sys.executable} {script}"], check=True, env=environment)
    try:
        until = time.monotonic() + 40
        shown: list[str] = []
        while time.monotonic() < until:
            shown = subprocess.run([*server, "capture-pane", "-p"], check=True, capture_output=True, text=True, env=environment).stdout.split("\n")
            if any("final line" in row for row in shown):
                break
            time.sleep(0.1)
        subprocess.run([*server, "send-keys", "m"], check=True, env=environment)
        until = time.monotonic() + 20
        while not out.exists() and time.monotonic() < until:
            time.sleep(0.05)
        meant = out.read_text().split("\n")
        shown = subprocess.run([*server, "capture-pane", "-p"], check=True, capture_output=True, text=True, env=environment).stdout.split("\n")
    finally:
        subprocess.run([*server, "kill-server"], check=False, env=environment)
    # The foot's notice aside, row by row.
    differing = [(one, other) for one, other in zip((row.rstrip() for row in shown[:-2]), (row.rstrip() for row in meant[:-1])) if one != other]
    assert differing == []
