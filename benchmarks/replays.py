"""How fast a long replay opens and seeks: 1,000,000 tokens over 5,000 ticks, the figures of the README.

    python benchmarks/replays.py [--json] [--ticks 5000] [--tokens 200]

Seek is a tick chosen at random, its events read, checked, inflated and typed, nothing of it in a cache. Screen seek is a jump of the scrubber,
reducer included: the whole state of a screen at the end of a tick, in a file just opened (nothing known but its keyframes), and once it has been
read through in the background; its processor time stands beside, which other work on the machine lengthens less. Opening without an index is
what a killed recorder's file costs.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import msgspec

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from replays import events as ev
from replays.format import keyframe_due
from replays.reader import open_replay
from replays.reduce import fold
from replays.view_state import ViewState
from replays.writer import ReplayWriter

WORDS = ("If ", "the ", "snake ", "goes ", "up ", "at ", "(3,", "4)", ", ", "it ", "eats ", "an ", "apple", " in ", "turn ", "12", "\n", "Best line: ", "U", " dead end")


def record(path: Path, ticks: int, tokens: int) -> float:
    """Write the episode and return the median seconds of a tick."""
    rng = random.Random(1)
    budget = tokens
    spent = []
    thinker = ev.Backend(spec="builtin")
    header = ev.Episode(
        tick=0, game="snake", load="hard", seed=1, agent="agile", tick_budget_tokens=budget, reactive_budget_tokens=budget // 4,
        backends={"planner": thinker, "reactor": thinker},
    )  # fmt: skip
    state = {"turn": 0, "snake": [[3, 3], [3, 4], [4, 4]], "foods": [[1, 2, 9, 1], [5, 5, 4, 1]], "rest": {"score": 3, "done": False}}

    def said(tick: int, stream: str, at: int, count: int) -> ev.Token:
        words = rng.choices(WORDS, k=count)
        # Live frames carry some tokens each, and say when they came.
        arrivals = [[min(8, count - first), tick * 250_000_000 + first * 31_250] for first in range(0, count, 8)]
        text, lens = "".join(words), [len(word) for word in words]
        return ev.Token(
            tick=tick, at=at, stream=stream, generation=tick - tick % 4, channel="reasoning", text=text, lens=lens, meas={"arrivals": arrivals}
        )

    shown = fold(ViewState(), header)
    with ReplayWriter.create(path, header) as writer:
        for tick in range(ticks):
            at = tick * budget
            wake = budget - budget // 4
            text = f"Turn: {tick}\nSnake, head first: (3,3) (3,4) (4,4)\nHeading: L (left)\nApples: (1,2) life 9; (5,5) life 4\n"
            events: list[ev.Event] = [
                ev.Tick(tick=tick, t_ns=tick * 250_000_000, at=at, view={**state, "turn": tick}, text=text, guidance_at=at + wake, end_at=at + budget),
                said(tick, "planner", at + 1, wake),
                said(tick, "reactor", at + wake + 1, budget - wake),
                ev.Answer(tick=tick, at=at + budget, stream="reactor", generation=tick, mode="act", letters=["L"]),
                ev.Action(tick=tick, at=at + budget, letter="L", source="reactor", generation=tick),
                ev.Step(tick=tick, at=at + budget, state={**state, "turn": tick + 1}, reward=0.0, score=float(tick // 20 % 24)),
            ]
            began = time.perf_counter()
            writer.tick(tick, events)
            spent.append(time.perf_counter() - began)
            for event in events:
                fold(shown, event)
            if keyframe_due(tick):
                writer.keyframe(tick, shown.to_map())
        writer.end(ev.End(tick=ticks - 1, totals=ev.Totals(ticks=ticks, score=0.5, raw_score=12.0), done_reason="cap"))
    return statistics.median(spent)


def measure(path: Path, seeks: int = 2000) -> dict[str, float]:
    """Measure a recorded file in this process; seconds, and MiB over what the process had before."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    opens = []
    for _ in range(15):
        began = time.perf_counter()
        open_replay(path).close()
        opens.append(time.perf_counter() - began)
    rng = random.Random(2)
    seek = []
    with open_replay(path) as replay:
        # A tick is asked for once, so none comes from the cache.
        for tick in rng.sample(replay.ticks, min(seeks, replay.tick_count)):
            began = time.perf_counter()
            events = replay.events(tick)
            seek.append(time.perf_counter() - began)
            assert events[0].tick == tick
    screen = measure_screen(path, rng, seeks // 2)
    with open_replay(path) as replay:
        began = time.perf_counter()
        count = sum(1 for _ in replay)
        walk = time.perf_counter() - began
    memory = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    return {
        "open_s": statistics.median(opens),
        "open_worst_s": max(opens),
        "seek_p50_s": _nth(seek, 0.5),
        "seek_p99_s": _nth(seek, 0.99),
        **screen,
        "read_all_s": walk,
        "events": count,
        "memory_mib": memory,
    }


def measure_screen(path: Path, rng: random.Random, jumps: int) -> dict[str, float]:
    """Measure the scrubber's source: opening until there is a state to draw, jumps at once, and jumps after the background reading."""
    from rtdesk.tui.player import ReplaySource
    from rtdesk.tui.states import States

    def state_of(source: ReplaySource, now_ns: int) -> ViewState:
        state = ViewState()
        for item in source.poll(now_ns):
            state = item if isinstance(item, ViewState) else fold(state, item)
        return state

    def jump(source: ReplaySource, tick: int) -> tuple[float, float]:
        """Wall and processor seconds."""
        began, busy = time.perf_counter(), time.process_time()
        source.command("jump", str(tick))
        # Folding what the tick says is the app's part; the background reading that a poll does as well is not of the jump.
        out, source._out = source._out, []
        assert isinstance(out[0], ViewState)
        for event in out[1:]:
            fold(out[0], event)
        assert out[0].tick == tick
        return time.perf_counter() - began, time.process_time() - busy

    began = time.perf_counter()
    replay = open_replay(path)
    source = ReplaySource(replay, playing=False)
    state_of(source, 1)
    opened = time.perf_counter() - began
    ticks = rng.sample(list(replay.ticks), min(jumps, replay.tick_count))
    cold = []
    for tick in ticks:
        # As in a file just opened: no state kept, no tick in the reader's cache.
        source.store.close()
        source.store = replay = open_replay(path)
        source.states = States(replay)
        source._base = None
        cold.append(jump(source, tick))
    began = time.perf_counter()
    source.survey = type(source.survey)(replay, source.states)
    source.survey.work(lambda: False)
    survey = time.perf_counter() - began
    warm = [jump(source, tick) for tick in ticks]
    source.close()
    return {
        "screen_open_s": opened,
        "screen_seek_cold_p50_s": _nth([wall for wall, _ in cold], 0.5),
        "screen_seek_cold_p99_s": _nth([wall for wall, _ in cold], 0.99),
        "screen_seek_cold_cpu_p99_s": _nth([cpu for _, cpu in cold], 0.99),
        "screen_seek_p50_s": _nth([wall for wall, _ in warm], 0.5),
        "screen_seek_p99_s": _nth([wall for wall, _ in warm], 0.99),
        "screen_seek_cpu_p99_s": _nth([cpu for _, cpu in warm], 0.99),
        "survey_s": survey,
        "states_mib": source.states.kept_bytes / (1 << 20),
    }


def _nth(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--ticks", type=int, default=5000)
    parser.add_argument("--tokens", type=int, default=200, help="tokens a tick")
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.measure is not None:
        print(json.dumps(measure(args.measure)))
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "long.rtr"
        tick_s = record(path, args.ticks, args.tokens)
        size = path.stat().st_size

        def child(file: Path) -> dict[str, float]:
            # A process of its own, so that recording does not count as memory.
            out = subprocess.run([sys.executable, __file__, "--measure", str(file)], capture_output=True, text=True, check=True).stdout
            return dict(json.loads(out))

        found = child(path)
        torn = Path(folder) / "torn.rtr"
        torn.write_bytes(path.read_bytes()[:-1])
        began = []
        for _ in range(5):
            start = time.perf_counter()
            open_replay(torn).close()
            began.append(time.perf_counter() - start)
    result = {
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, {platform.system()} {platform.release()}",
        "load": os.getloadavg()[0],
        "python": platform.python_version(),
        "msgspec": msgspec.__version__,
        "ticks": args.ticks,
        "tokens": args.ticks * args.tokens,
        "size_mib": size / (1 << 20),
        "record_tick_median_s": tick_s,
        "open_without_index_s": statistics.median(began),
        **found,
    }
    if args.json:
        print(json.dumps(result))
        return
    print(f"{result['machine']}, load {result['load']:.1f}; Python {result['python']}, msgspec {result['msgspec']}")
    print(f"{result['tokens']:,} tokens over {args.ticks:,} ticks: {result['size_mib']:.1f} MiB, {size / args.ticks / args.tokens:.2f} bytes a token")
    rows = (
        ("record a tick, median", tick_s, ""),
        ("open, median of 15", found["open_s"], "must 0.5 s, aim 0.1 s"),
        ("open without an index, median of 5", result["open_without_index_s"], ""),
        ("seek to a tick, p50", found["seek_p50_s"], ""),
        ("seek to a tick, p99", found["seek_p99_s"], "must 10 ms, aim 2 ms"),
        ("screen open, to the first state", found["screen_open_s"], "must 500 ms, aim 100 ms"),
        ("screen seek p50, file just opened", found["screen_seek_cold_p50_s"], ""),
        ("screen seek p99, file just opened", found["screen_seek_cold_p99_s"], "must 10 ms, aim 2 ms"),
        ("   processor time", found["screen_seek_cold_cpu_p99_s"], ""),
        ("screen seek p50", found["screen_seek_p50_s"], ""),
        ("screen seek p99", found["screen_seek_p99_s"], "must 10 ms, aim 2 ms"),
        ("   processor time", found["screen_seek_cpu_p99_s"], ""),
        ("background reading of all, in slices", found["survey_s"], ""),
        ("read every event", found["read_all_s"], ""),
    )
    for name, seconds, aim in rows:
        print(f"  {name:40} {seconds * 1e3:9.3f} ms  {aim}")
    print(f"  {'memory for all of it':40} {found['memory_mib']:9.1f} MiB")


if __name__ == "__main__":
    main()
