"""From a key to the game and back to the eye: a person races an agent on a real pseudo-terminal while both its streams run.

    python benchmarks/input.py [--json] [--tokens-per-s 500] [--size 120x36] [--presses 100]

Matches of Overcooked (`--vs human`, boards side by side): at 4 ticks a second, the pace people play at, and at 30, as many as `--presses`
keys take. The agent's planner and reactor both have the whole tick and write `--tokens-per-s` each. Keys are written into the terminal's
other end at random instants. Reported, each with p50 and p99:

    key to screen     from the write to the first byte of output that shows the letter in force beside the person's board
    key to conductor  from the write to the key's event in the replay, written by the game's process in the tick it took effect in
    same tick         share of keys that took effect in the tick they were written in: a tick lasts from its event in the person's replay to
                      the next one's. Keys written in a tick's last 10 ms stand apart, by how many ms they left

A key is left out where this script itself was held up by 2 ms or more while it wrote it, so that nobody knows when it was pressed.
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
AIM = {"key_to_screen_p50_ms": 25.0, "same_tick_percent": 100.0}
KEYS = {"U": b"w", "D": b"s", "L": b"a", "R": b"d"}
CONTROL = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\))")
LAST_MS = 10.0
STEPS_MS = (1.0, 2.0, 5.0, 10.0)
"""Upper ends of the classes in which keys of a tick's last 10 ms are reported."""
UNSURE_NS = 2_000_000
MOST_MATCHES = 12
"""At 30 ticks a second a match of Overcooked is over after some 50 keys."""


class Press(NamedTuple):
    """One key."""

    letter: str
    t_ns: int
    sure: bool
    """Whether writing it took so little that it is known when it was pressed."""
    shown_ms: float | None
    """None where no frame ever showed it: the tick was over before."""


class Key(NamedTuple):
    """One key that took effect, held against the replay."""

    delay_ms: float
    left_ms: float
    """From the write to the end of the tick it was written in."""
    same: bool


def environment(folder: Path) -> dict[str, str]:
    """A terminal of all colours, and a home of its own."""
    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "SSH_CONNECTION")}
    return {**kept, "TERM": "xterm-256color", "COLORTERM": "truecolor", "LANG": "C.UTF-8", "XDG_DATA_HOME": str(folder / "data"), "XDG_STATE_HOME": str(folder)}


class Terminal:
    """The other end of the desk's terminal."""

    def __init__(self, command: list[str], size: tuple[int, int], environ: dict[str, str]) -> None:
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
        self.child = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, env=environ, start_new_session=True, cwd=ROOT)
        os.close(slave)
        self.bytes = 0
        self.seen = b""
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

    def idle(self, seconds: float) -> None:
        """Read and forget for so long; `seen` keeps the last of it."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if select.select([self.master], [], [], left)[0]:
                try:
                    self.seen = os.read(self.master, 1 << 16)
                except OSError:
                    return
                self.bytes += len(self.seen)
        self._seen = b""

    def press(self, key: bytes) -> tuple[int, bool]:
        """Write a key; return when, and whether that is known well."""
        before = time.monotonic_ns()
        os.write(self.master, key)
        after = time.monotonic_ns()
        return after, after - before < UNSURE_NS

    def close(self) -> None:
        end = time.monotonic() + 10
        self.press(b"\x11")
        while self.child.poll() is None and time.monotonic() < end:
            self.idle(0.1)
        if self.child.poll() is None:
            self.child.kill()
        self.child.wait()
        os.close(self.master)


class Played(NamedTuple):
    """One match."""

    presses: list[Press]
    keys: list[Key]
    seconds: float
    written: int
    """Bytes to the terminal."""


def match(folder: Path, *, rate: float, budget: int, size: tuple[int, int], presses: int, number: int) -> Played:
    """Play one match, at most `presses` keys of it."""
    path = folder / f"at{rate:g}-{number}.rtr"
    command = [sys.executable, "-m", "rtdesk", "play", "overcooked", "--load", "easy", "--vs", "human", "--tick-rate", f"{rate:g}"]
    command += ["--tick-budget", str(budget), "--reactive-budget", str(budget), "--record", str(path)]
    terminal = Terminal(command, size, environment(folder))
    chance = random.Random(number)
    done: list[Press] = []
    try:
        if terminal.until(b"live", 60.0) is None:
            raise SystemExit("the match did not begin within 60 s")
        began, letter = time.monotonic(), "S"
        played = 100 / rate
        while len(done) < presses and time.monotonic() - began < played - 0.5:
            terminal.idle(chance.uniform(0.4, 1.4) * min(0.2, 1.2 / rate))
            letter = chance.choice([one for one in KEYS if one != letter])
            at, sure = terminal.press(KEYS[letter])
            shown = terminal.until(f" {letter}  you".encode(), min(1.0, 8 / rate))
            done.append(Press(letter, at, sure, None if shown is None else (shown - at) / 1e6))
        seconds, written = time.monotonic() - began, terminal.bytes
    finally:
        terminal.close()
    return Played(done, took_effect(done, path.with_name(f"{path.stem}-vs-human.rtr")), seconds, written)


def took_effect(done: list[Press], path: Path) -> list[Key]:
    """Hold what was pressed against what the replay says."""
    with open_replay(path) as replay:
        events = list(replay)
        epoch = int(replay.header.meas["epoch_ns"])
    begins = [epoch + event.t_ns for event in events if isinstance(event, ev.Tick)]
    keys = [(epoch + event.t_ns, event.tick, event.value) for event in events if isinstance(event, ev.Control) and event.what == "key"]
    out = []
    for press in done:
        found = next(((t_ns, tick) for t_ns, tick, value in keys if t_ns >= press.t_ns - UNSURE_NS and value == press.letter), None)
        tick = bisect_right(begins, press.t_ns) - 1
        if found is not None and press.sure and 0 <= tick < len(begins) - 1:
            out.append(Key((found[0] - press.t_ns) / 1e6, (begins[tick + 1] - press.t_ns) / 1e6, found[1] == tick))
    return out


def measure(folder: Path, *, rate: float, tokens_per_s: float, size: tuple[int, int], presses: int) -> dict[str, Any]:
    """Play matches until `presses` keys have been pressed; return the figures."""
    (folder / "data" / "rtdesk").mkdir(parents=True, exist_ok=True)
    # The rules have been read: the count begins at once.
    (folder / "data" / "rtdesk" / "taught").write_text("overcooked\n", encoding="utf-8")
    budget = max(8, round(tokens_per_s / rate))
    played: list[Played] = []
    while (left := presses - sum(len(one.presses) for one in played)) > 0 and len(played) < MOST_MATCHES:
        played.append(match(folder, rate=rate, budget=budget, size=size, presses=left, number=len(played)))
    done = [press for one in played for press in one.presses]
    keys = [key for one in played for key in one.keys]
    shown = [press.shown_ms for press in done if press.shown_ms is not None]
    early = [key for key in keys if key.left_ms > LAST_MS]
    last = {}
    for low, high in zip((0.0, *STEPS_MS), STEPS_MS):
        found = [key.same for key in keys if low < key.left_ms <= high]
        last[f"{low:g} to {high:g} ms"] = [sum(found), len(found)]
    return {
        "tick_rate": rate,
        "tick_budget": budget,
        "matches": len(played),
        "presses": len(done),
        "key_to_screen_p50_ms": statistics.median(shown),
        "key_to_screen_p99_ms": quantile(shown, 0.99),
        "not_shown": len(done) - len(shown),
        "key_to_conductor_p50_ms": statistics.median(key.delay_ms for key in keys),
        "key_to_conductor_p99_ms": quantile([key.delay_ms for key in keys], 0.99),
        "same_tick": [sum(key.same for key in early), len(early)],
        "same_tick_percent": 100 * sum(key.same for key in early) / max(1, len(early)),
        "missed_ms": [[round(key.left_ms, 1), round(key.delay_ms, 1)] for key in early if not key.same],
        "last_10_ms": last,
        "kB_per_s": sum(one.written for one in played) / sum(one.seconds for one in played) / 1000,
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
        found = [measure(Path(folder), rate=rate, tokens_per_s=options.tokens_per_s, size=(columns, rows), presses=options.presses) for rate in (4.0, 30.0)]
    machine = {"python": platform.python_version(), "cores": os.cpu_count(), "system": f"{platform.system()} {platform.machine()}", "load": os.getloadavg()[0]}
    report = {"machine": machine, "tokens_per_s": options.tokens_per_s, "size": options.size, "must": MUST, "aim": AIM, "matches": found}
    if options.json:
        print(json.dumps(report))
        return
    print(f"{machine['system']}, {machine['cores']} cores, Python {machine['python']}, load {machine['load']:.1f}; {options.size}, two streams of {options.tokens_per_s:g} tokens/s")
    for one in found:
        last = ", ".join(f"{span} left {same} of {count}" for span, (same, count) in one["last_10_ms"].items())
        print(
            f"{one['tick_rate']:>4g} ticks/s  {one['presses']} keys: to screen p50 {one['key_to_screen_p50_ms']:.1f} ms, p99 {one['key_to_screen_p99_ms']:.1f} ms, not shown {one['not_shown']}; "
            f"to the conductor p50 {one['key_to_conductor_p50_ms']:.2f} ms, p99 {one['key_to_conductor_p99_ms']:.2f} ms; {one['kB_per_s']:.0f} kB/s\n"
            f"              same tick {one['same_tick'][0]} of {one['same_tick'][1]} ({one['same_tick_percent']:.1f} %); {last}"
            + "".join(f"\n              missed: {left} ms before the end, {delay} ms to the conductor" for left, delay in one["missed_ms"])
        )


if __name__ == "__main__":
    main()
