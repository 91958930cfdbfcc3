"""What the screen costs: two streams at 10,000 tokens a second each, 120x36, on a real pseudo-terminal that is read at once.

    python benchmarks/screen.py [--json] [--seconds S] [--rate TOKENS_PER_S] [--size 120x36]

Reported: CPU of one core (user and system) of the desk's process, bytes a second to the terminal, frames a second, key to handler
(p50, p99) under that load and with a terminal that does not read for 3 s, the CPU of an idle (paused) screen, and the time from process
start to the first board. The desk here runs over a source that makes the streams itself; a live desk's processes are apart from it.
Rounds are medians of three; the spread is the range.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import platform
import pty
import select
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]

MUST = {"cpu_percent": 15.0, "bytes_per_s": 120_000, "key_p99_ms": 10.0, "stalled_key_max_ms": 50.0, "idle_cpu_percent": 0.5}
AIM = {"cpu_percent": 8.0, "bytes_per_s": 60_000, "key_p99_ms": 4.0, "stalled_key_max_ms": 15.0}

CHILD = '''
import sys, time, itertools
sys.path.insert(0, {root!r})
import games
from replays import events as ev
from rtdesk.tui.app import DeskApp
from rtdesk.tui.views import Status

RATE, BUDGET, WINDOW = {rate}, 8192, 2048
WORDS = ("Turn {{}} from (4,1): U goes to (4,2), 4 cells open for length 8, tail reachable, value 0.7.\\n"
         "Let me look at the food at (3,6), which stays for 6 more turns. The shortest open path is U R R D, so I need 4 moves.\\n")

class Streams:
    """An agile episode whose planner and reactor both talk all the time."""
    overview = None
    def __init__(self):
        self.game = games.make("snake", "hard", 0)
        self.seen = self.game.reset()
        self.began = 0
        self.tick = -1
        self.told = 0
        self.paused = {idle}
        self.log = open({log!r}, "a", buffering=1)
        self.text = "".join(WORDS.format(n) for n in range(400))
        self.place = 0
    @property
    def status(self):
        return Status(rate=1.0, play="paused" if self.paused else "playing", ticks=100)
    def poll(self, now):
        if not self.began:
            self.began = now
            back = ev.Backend(spec="builtin", title="builtin search")
            return [ev.Episode(tick=0, at=0, game="snake", load="hard", seed=0, agent="agile", tick_budget_tokens=BUDGET, reactive_budget_tokens=WINDOW, backends={{"planner": back, "reactor": back}})]
        if self.paused and self.told > 2000:
            return []
        out = []
        due = int((now - self.began) / 1e9 * RATE)
        while self.told < due:
            tick = self.told // RATE
            if tick != self.tick:
                if self.tick >= 0:
                    letter = "LURD"[self.tick % 4] if self.game.snapshot()["rest"]["done"] is False else None
                    if letter:
                        result = self.game.step(letter)
                        out.append(ev.Action(tick=self.tick, letter=letter, source="reactor"))
                        out.append(ev.Step(tick=self.tick, state=self.game.snapshot(), reward=0, score=0.0))
                        if result.done:
                            self.game.reset()
                self.tick = tick
                at = tick * BUDGET
                out.append(ev.Tick(tick=tick, at=at, guidance_at=at + BUDGET - WINDOW, end_at=at + BUDGET, view={{}}, text="", snapshot=self.game.snapshot(), t_ns=now - self.began))
                for stream in ("planner", "reactor"):
                    out.append(ev.Generation(tick=tick, at=at, stream=stream, id=tick, phase="start", t_ns=now - self.began))
            count = min(50, due - self.told)
            size = count * 4
            if self.place + size > len(self.text):
                self.place = 0
            piece = self.text[self.place:self.place + size]
            self.place += size
            inside = (self.told % RATE) * BUDGET // RATE
            for stream in ("planner", "reactor"):
                out.append(ev.Token(tick=tick, at=tick * BUDGET + inside, t_ns=now - self.began, stream=stream, generation=tick, channel="reasoning", text=piece, lens=[4] * count))
            self.told += count
        return out
    def command(self, what, value=""):
        self.log.write(f"{{time.monotonic_ns()}}\\n")
        return ""
    def log_lines(self): return []
    def close(self): pass

app = DeskApp(Streams(), look="dark", ascii=False)
code = app.run_desk()
open({log!r} + ".end", "w").write(f"{{app.frames}} {{app.dropped}}")
raise SystemExit(code)
'''


class Screen:
    """A desk in a child on a pseudo-terminal; a thread reads what it writes, unless told to stop."""

    def __init__(self, folder: str, *, rate: int, size: tuple[int, int], idle: bool = False) -> None:
        self.log = os.path.join(folder, f"keys-{time.monotonic_ns()}")
        Path(self.log).touch()
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
        environment = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "SSH_CONNECTION")}
        environment |= {"TERM": "xterm-256color", "COLORTERM": "truecolor", "LANG": "C.UTF-8"}
        code = CHILD.format(root=str(ROOT), rate=rate, log=self.log, idle=idle)
        self.started = time.monotonic()
        self.child = subprocess.Popen([sys.executable, "-c", code], stdin=slave, stdout=slave, stderr=slave, env=environment, start_new_session=True)
        os.close(slave)
        self.bytes = 0
        self.board_s: float | None = None
        self.reading = True
        self.done = False
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def _read(self) -> None:
        while not self.done:
            if not self.reading:
                time.sleep(0.01)
                continue
            if not select.select([self.master], [], [], 0.1)[0]:
                continue
            try:
                data = os.read(self.master, 65536)
            except OSError:
                return
            self.bytes += len(data)
            if self.board_s is None and "▙".encode() in data:
                self.board_s = time.monotonic() - self.started

    def cpu_s(self) -> float:
        fields = Path(f"/proc/{self.child.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def keys(self, seconds: float, gap: float) -> list[float]:
        """Press keys for `seconds`; return the ms from each to its handler."""
        before = len(Path(self.log).read_text().split())
        sent = []
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            sent.append(time.monotonic_ns())
            os.write(self.master, b"+")
            time.sleep(gap)
        time.sleep(0.2)
        handled = [int(line) for line in Path(self.log).read_text().split()][before:]
        return [(took - asked) / 1e6 for asked, took in zip(sent, handled)]

    def close(self) -> tuple[int, int]:
        """Quit; return (frames drawn, frames dropped)."""
        os.write(self.master, b"q")
        self.child.wait(10)
        self.done = True
        self.thread.join(2)
        os.close(self.master)
        frames, dropped = Path(self.log + ".end").read_text().split()
        return int(frames), int(dropped)


def percentile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def measure(folder: str, seconds: float, rate: int, size: tuple[int, int]) -> dict[str, float]:
    screen = Screen(folder, rate=rate, size=size)
    time.sleep(2.0)
    cpu, count, then = screen.cpu_s(), screen.bytes, time.monotonic()
    time.sleep(seconds)
    passed = time.monotonic() - then
    figures = {"cpu_percent": (screen.cpu_s() - cpu) / passed * 100, "bytes_per_s": (screen.bytes - count) / passed}
    keys = screen.keys(seconds, 0.0137)
    figures |= {"key_p50_ms": percentile(keys, 0.5), "key_p99_ms": percentile(keys, 0.99)}
    screen.reading = False
    stalled = screen.keys(3.0, 0.05)
    screen.reading = True
    figures |= {"stalled_key_p50_ms": percentile(stalled, 0.5), "stalled_key_max_ms": max(stalled)}
    figures["first_board_s"] = screen.board_s or float("nan")
    time.sleep(0.5)
    total = time.monotonic() - screen.started
    frames, dropped = screen.close()
    figures |= {"frames_per_s": frames / total, "frames_dropped": float(dropped)}
    idle = Screen(folder, rate=rate, size=size, idle=True)
    time.sleep(2.5)
    cpu, then = idle.cpu_s(), time.monotonic()
    time.sleep(seconds)
    figures["idle_cpu_percent"] = (idle.cpu_s() - cpu) / (time.monotonic() - then) * 100
    idle.close()
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    parser.add_argument("--seconds", type=float, default=5.0, help="seconds of each measurement")
    parser.add_argument("--rate", type=int, default=10_000, help="tokens a second of each stream")
    parser.add_argument("--size", default="120x36", help="columns x rows")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    width, _, height = options.size.partition("x")
    with tempfile.TemporaryDirectory() as folder:
        rounds = [measure(folder, options.seconds, options.rate, (int(width), int(height))) for _ in range(options.rounds)]
    medians = {name: statistics.median(one[name] for one in rounds) for name in rounds[0]}
    spread = {name: [min(one[name] for one in rounds), max(one[name] for one in rounds)] for name in rounds[0]}
    missed = [name for name, limit in MUST.items() if medians[name] > limit]
    import textual

    result: dict[str, Any] = {
        "benchmark": "screen", "python": platform.python_version(), "textual": textual.__version__, "machine": f"{os.cpu_count()} cores, {platform.machine()}",
        "rate": options.rate, "size": options.size, "median": medians, "range": spread, "must": MUST, "aim": AIM, "missed": missed,
    }  # fmt: skip
    if options.json:
        print(json.dumps(result))
    else:
        print(f"screen, {options.size}, two streams at {options.rate:,} tokens/s; {result['machine']}, Python {result['python']}, Textual {result['textual']}")
        for name, value in medians.items():
            low, high = spread[name]
            print(f"  {name:<20} {value:>12,.2f}   ({low:,.2f} to {high:,.2f})" + (f"   must <= {MUST[name]:,}" if name in MUST else ""))
    raise SystemExit(1 if missed else 0)


if __name__ == "__main__":
    main()
