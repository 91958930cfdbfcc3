"""From a key to the game and back to the eye: a person races an agent on a real pseudo-terminal while both its streams run.

    python benchmarks/input.py [--json] [--tokens-per-s 500] [--size 120x36] [--presses 100]

Two matches of Overcooked (`--vs human`, boards side by side): at 4 ticks a second, the pace people play at, and at 30. The agent's planner
and reactor both have the whole tick and write `--tokens-per-s` each. Keys are written into the terminal's other end at random instants.
Reported, each with p50 and p99:

    key to screen     from the write to the first byte of output that shows the letter in force beside the person's board
    key to conductor  from the write to the key's event in the replay, written by the game's process in the tick it took effect in
    same tick         share of keys that took effect in the tick they were written in; those written in its last 10 ms stand apart

Nothing is simulated: four processes a side, the recorder, and the screen run as `rtdesk play` starts them.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import platform
import pty
import random
import re
import select
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time
from bisect import bisect_right
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from replays import events as ev  # noqa: E402
from replays.reader import open_replay  # noqa: E402

MUST = {"key_to_screen_p50_ms": 50.0}
AIM = {"key_to_screen_p50_ms": 25.0, "same_tick_percent": 99.0}
KEYS = {"U": b"w", "D": b"s", "L": b"a", "R": b"d"}
CONTROL = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\))")
LAST_MS = 10.0


class Press(NamedTuple):
    """One key."""

    letter: str
    t_ns: int
    shown_ms: float


class Terminal:
    """The other end of the desk's terminal."""

    def __init__(self, command: list[str], size: tuple[int, int], environ: dict[str, str]) -> None:
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
        self.child = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, env=environ, start_new_session=True, cwd=ROOT)
        os.close(slave)
        self.bytes = 0
        self._seen = b""

    def until(self, wanted: bytes, timeout: float) -> int | None:
        """Read until `wanted` is among the letters written since the last `forget`; return when it came, or None."""
        end = time.monotonic() + timeout
        while (left := end - time.monotonic()) > 0:
            if not select.select([self.master], [], [], left)[0]:
                break
            try:
                data = os.read(self.master, 1 << 16)
            except OSError:
                return None
            now = time.monotonic_ns()
            self.bytes += len(data)
            self._seen = (self._seen + data)[-65536:]
            if wanted in CONTROL.sub(b"", self._seen):
                return now
        return None

    def forget(self) -> None:
        self._seen = b""

    def press(self, key: bytes) -> int:
        os.write(self.master, key)
        return time.monotonic_ns()

    def close(self) -> None:
        end = time.monotonic() + 10
        self.press(b"\x11")
        while self.child.poll() is None and time.monotonic() < end:
            self.until(b"never written", 0.1)
        if self.child.poll() is None:
            self.child.kill()
        self.child.wait()
        os.close(self.master)


def match(folder: Path, *, rate: float, tokens_per_s: float, size: tuple[int, int], presses: int) -> dict[str, Any]:
    """Play one match and return its figures."""
    (folder / "data" / "rtdesk").mkdir(parents=True, exist_ok=True)
    # The rules have been read: the count begins at once.
    (folder / "data" / "rtdesk" / "taught").write_text("overcooked\n", encoding="utf-8")
    budget = max(8, round(tokens_per_s / rate))
    path = folder / f"at{rate:g}.rtr"
    command = [sys.executable, "-m", "rtdesk", "play", "overcooked", "--load", "easy", "--vs", "human", "--tick-rate", f"{rate:g}"]
    command += ["--tick-budget", str(budget), "--reactive-budget", str(budget), "--record", str(path)]
    environ = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor", "LANG": "C.UTF-8", "XDG_DATA_HOME": str(folder / "data"), "XDG_STATE_HOME": str(folder)}
    for name in ("NO_COLOR", "SSH_CONNECTION"):
        environ.pop(name, None)
    terminal = Terminal(command, size, environ)
    chance = random.Random(1)
    done: list[Press] = []
    missed = 0
    try:
        if terminal.until(b"live", 60.0) is None:
            raise SystemExit("the match did not begin within 60 s")
        began, letter = time.monotonic(), "S"
        played = 100 / rate
        while len(done) + missed < presses and time.monotonic() - began < played - 0.5:
            terminal.until(b"never written", chance.uniform(0.4, 1.4) * min(0.2, 1.2 / rate))
            letter = chance.choice([one for one in KEYS if one != letter])
            terminal.forget()
            at = terminal.press(KEYS[letter])
            shown = terminal.until(f" {letter}  you".encode(), 1.0)
            if shown is None:
                missed += 1
            else:
                done.append(Press(letter, at, (shown - at) / 1e6))
        seconds, written = time.monotonic() - began, terminal.bytes
    finally:
        terminal.close()
    return {**figures(done, path.with_name(f"{path.stem}-vs-human.rtr")), "tick_rate": rate, "tick_budget": budget, "not_shown": missed, "kB_per_s": written / seconds / 1000}


def figures(done: list[Press], path: Path) -> dict[str, Any]:
    """Hold what was pressed against what the replay says."""
    with open_replay(path) as replay:
        events = list(replay)
        epoch = int(replay.header.meas["epoch_ns"])
    begins = [epoch + event.t_ns for event in events if isinstance(event, ev.Tick)]
    keys = [(epoch + event.t_ns, event.tick, event.value) for event in events if isinstance(event, ev.Control) and event.what == "key"]
    delays: list[float] = []
    same = near = near_same = 0
    for press in done:
        found = next(((t_ns, tick) for t_ns, tick, value in keys if t_ns >= press.t_ns - 1_000_000 and value == press.letter), None)
        tick = bisect_right(begins, press.t_ns) - 1
        if found is None or not 0 <= tick < len(begins) - 1:
            continue
        delays.append((found[0] - press.t_ns) / 1e6)
        if begins[tick + 1] - press.t_ns < LAST_MS * 1e6:
            near += 1
            near_same += found[1] == tick
        else:
            same += found[1] == tick
    shown = [press.shown_ms for press in done]
    sure = len(delays) - near
    return {
        "presses": len(done),
        "key_to_screen_p50_ms": statistics.median(shown),
        "key_to_screen_p99_ms": quantile(shown, 0.99),
        "key_to_conductor_p50_ms": statistics.median(delays),
        "key_to_conductor_p99_ms": quantile(delays, 0.99),
        "same_tick_percent": 100 * same / max(1, sure),
        "in_the_last_10_ms": near,
        "of_those_same_tick": near_same,
    }


def quantile(values: list[float], share: float) -> float:
    """Nearest rank."""
    ranked = sorted(values)
    return ranked[min(len(ranked) - 1, max(0, round(share * len(ranked)) - 1))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--tokens-per-s", type=float, default=500.0)
    parser.add_argument("--size", default="120x36")
    parser.add_argument("--presses", type=int, default=100)
    options = parser.parse_args()
    columns, rows = (int(part) for part in options.size.split("x"))
    with tempfile.TemporaryDirectory() as folder:
        found = [match(Path(folder), rate=rate, tokens_per_s=options.tokens_per_s, size=(columns, rows), presses=options.presses) for rate in (4.0, 30.0)]
    machine = {"python": platform.python_version(), "cores": os.cpu_count(), "system": f"{platform.system()} {platform.machine()}", "load": os.getloadavg()[0]}
    report = {"machine": machine, "tokens_per_s": options.tokens_per_s, "size": options.size, "must": MUST, "aim": AIM, "matches": found}
    if options.json:
        print(json.dumps(report))
        return
    print(f"{machine['system']}, {machine['cores']} cores, Python {machine['python']}, load {machine['load']:.1f}; {options.size}, two streams of {options.tokens_per_s:g} tokens/s")
    for one in found:
        print(
            f"{one['tick_rate']:>4g} ticks/s  {one['presses']} keys: to screen p50 {one['key_to_screen_p50_ms']:.1f} ms, p99 {one['key_to_screen_p99_ms']:.1f} ms; "
            f"to the conductor p50 {one['key_to_conductor_p50_ms']:.2f} ms, p99 {one['key_to_conductor_p99_ms']:.2f} ms; same tick {one['same_tick_percent']:.1f} % "
            f"(in its last 10 ms {one['of_those_same_tick']} of {one['in_the_last_10_ms']}); {one['kB_per_s']:.0f} kB/s; not shown {one['not_shown']}"
        )


if __name__ == "__main__":
    main()
