"""The four ring figures of the design, beside multiprocessing.Queue: `python benchmarks/rings.py [--json] [--rounds N] [--torture N]`.

Ring and Queue take turns, round by round, with the same bytes, between the same two processes; what is printed is the median of the
rounds and their spread. Writer and reader do what a worker does: the writer gives tick, generation and instant with each token, the reader
sleeps when there is nothing and looks at every payload.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import platform
import statistics
import sys
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from workers.rings import KIND_CHUNK, Ring, RingHandle, RingReader, RingWriter, pack_chunk
from workers.rings.selftest import torture

TOKEN = pack_chunk(" token", [6])
CHUNK = pack_chunk(" token" * 16, [6] * 16)
# Holds a whole round, so that no reader is lapped and both sides carry the same.
CAPACITY = 1 << 23
TOKENS = 100_000
CHUNKS = 40_000
PACED = 800
PERIOD_NS = 1_000_000

Result = dict[str, Any]


def reader_process(handle: RingHandle, queue: Any, pipe: Connection) -> None:
    """Read as told: ("ring" or "queue", frames); answer with the end instant, own CPU seconds, and the latencies of all frames."""
    with RingReader(handle) as reader:
        while (order := pipe.recv()) is not None:
            how, frames = order
            pipe.send("ready")
            cpu = time.process_time()
            latencies = read_ring(reader, frames) if how == "ring" else read_queue(queue, frames)
            end = time.monotonic_ns()
            pipe.send((end, time.process_time() - cpu, latencies, reader.lost))


def read_ring(reader: RingReader, frames: int) -> list[int]:
    latencies: list[int] = []
    seen = octets = 0
    now = time.monotonic_ns
    while seen < frames:
        got = reader.poll()
        if not got:
            reader.wait(1.0)
            continue
        if len(got) == 1:
            latencies.append(now() - got[0].t_ns)
        for frame in got:
            octets += len(frame.payload)
        seen += len(got)
    return latencies


def read_queue(queue: Any, frames: int) -> list[int]:
    latencies: list[int] = []
    octets = 0
    now = time.monotonic_ns
    get = queue.get
    for _ in range(frames):
        _kind, _tick, payload, _ntok, _at, _generation, t_ns = get()
        latencies.append(now() - t_ns)
        octets += len(payload)
    return latencies


def write_ring(writer: RingWriter, frames: int, payload: bytes, ntok: int) -> None:
    write = writer.write
    for at in range(0, frames * ntok, ntok):
        write(KIND_CHUNK, 7, payload, ntok=ntok, at=at, generation=3)


def write_queue(queue: Any, frames: int, payload: bytes, ntok: int) -> None:
    put, now = queue.put, time.monotonic_ns
    for at in range(0, frames * ntok, ntok):
        put((KIND_CHUNK, 7, payload, ntok, at, 3, now()))


def paced(one: Callable[[int], None], frames: int) -> None:
    """Call `one` every millisecond, by absolute deadlines."""
    due = time.monotonic_ns()
    for at in range(frames):
        due += PERIOD_NS
        left = due - time.monotonic_ns()
        if left > 0:
            time.sleep(left / 1e9)
        one(at)


class Pair:
    """A writer here and a reader in a spawned child, with both transports between them."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.ring = Ring.create(CAPACITY, readers=1, crc=False)
        self.writer = self.ring.writer()
        self.queue = context.Queue()
        self.pipe, there = context.Pipe()
        self.child = context.Process(target=reader_process, args=(self.ring.handle(0), self.queue, there), daemon=True)
        self.child.start()
        there.close()

    def trial(self, how: str, frames: int, write: Callable[[], None]) -> Result:
        """Run one round; frames a second, CPU of both processes a frame, latencies."""
        self.pipe.send((how, frames))
        self.pipe.recv()
        cpu, begin = time.process_time(), time.monotonic_ns()
        write()
        end, other_cpu, latencies, lost = self.pipe.recv()
        spent = time.process_time() - cpu + other_cpu
        if lost:
            raise SystemExit(f"the ring was lapped ({lost} frames): the figures would not be of the same work")
        return {"per_s": frames / (end - begin) * 1e9, "cpu_ns": spent / frames * 1e9, "latencies": latencies}

    def close(self) -> None:
        self.pipe.send(None)
        self.child.join()
        self.writer.close()
        self.ring.close()
        self.queue.close()


def median_spread(values: list[float]) -> Result:
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def throughput(pair: Pair, rounds: int, frames: int, payload: bytes, ntok: int) -> Result:
    ring: list[Result] = []
    queue: list[Result] = []
    for _ in range(rounds):
        ring.append(pair.trial("ring", frames, lambda: write_ring(pair.writer, frames, payload, ntok)))
        queue.append(pair.trial("queue", frames, lambda: write_queue(pair.queue, frames, payload, ntok)))
    return {
        "ring_tokens_per_s": median_spread([r["per_s"] * ntok for r in ring]),
        "queue_tokens_per_s": median_spread([r["per_s"] * ntok for r in queue]),
        "speed_ratio": median_spread([r["per_s"] / q["per_s"] for r, q in zip(ring, queue)]),
        "ring_cpu_ns_per_token": median_spread([r["cpu_ns"] / ntok for r in ring]),
        "queue_cpu_ns_per_token": median_spread([r["cpu_ns"] / ntok for r in queue]),
        "cpu_ratio": median_spread([q["cpu_ns"] / r["cpu_ns"] for r, q in zip(ring, queue)]),
    }


def latency(pair: Pair, rounds: int, frames: int) -> Result:
    ring: list[float] = []
    queue: list[float] = []
    for _ in range(rounds):
        one = pair.trial("ring", frames, lambda: paced(lambda at: pair.writer.write(KIND_CHUNK, 7, TOKEN, ntok=1, at=at), frames))
        other = pair.trial(
            "queue", frames, lambda: paced(lambda at: pair.queue.put((KIND_CHUNK, 7, TOKEN, 1, at, 3, time.monotonic_ns())), frames)
        )
        ring.append(statistics.median(one["latencies"]) / 1000)
        queue.append(statistics.median(other["latencies"]) / 1000)
    return {
        "ring_p50_us": median_spread(ring),
        "queue_p50_us": median_spread(queue),
        "ratio": median_spread([r / q for r, q in zip(ring, queue)]),
    }


def tearing(frames: int) -> Result:
    plain, checked = torture(frames, crc=False), torture(frames, crc=True)
    tallies = plain + checked
    return {
        "frames": 2 * frames,
        "readers": len(plain),
        "wrong": sum(tally.wrong for tally in tallies),
        "accounted": all(tally.accepted + tally.lost == frames for tally in tallies),
        "accepted": sum(tally.accepted for tally in tallies),
        "laps": sum(tally.laps for tally in tallies),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description="Ring against multiprocessing.Queue.")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    parser.add_argument("--rounds", type=int, default=5, help="interleaved rounds a figure (default 5)")
    parser.add_argument("--torture", type=int, default=1_000_000, help="frames of the torture, half with checksums (default 1,000,000; the figure asks for 10,000,000)")
    options = parser.parse_args()
    begin = time.monotonic()
    pair = Pair()
    # A round of each before the measured ones: imports, page faults, the queue's feeder thread.
    throughput(pair, 1, 2000, TOKEN, 1)
    report: Result = {
        "machine": f"{platform.machine()}, {multiprocessing.cpu_count()} cores, {platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "rounds": options.rounds,
        "token": throughput(pair, options.rounds, TOKENS, TOKEN, 1),
        "chunk": throughput(pair, options.rounds, CHUNKS, CHUNK, 16),
        "wake": latency(pair, options.rounds, PACED),
    }
    pair.close()
    report["tearing"] = tearing(options.torture // 2)
    report["took_s"] = round(time.monotonic() - begin, 1)
    if options.json:
        print(json.dumps(report))
    else:
        show(report)
    return 0 if report["tearing"]["wrong"] == 0 and report["tearing"]["accounted"] else 1


def show(report: Result) -> None:
    print(f"{report['machine']}, Python {report['python']}; medians of {report['rounds']} interleaved rounds (least to most)\n")
    print(f"{'figure':<42}{'ring':>14}{'Queue':>14}{'ratio':>8}  spread          must   aim")
    token, chunk, wake, torn = report["token"], report["chunk"], report["wake"], report["tearing"]
    line("one token a frame, tokens/s", token, "ring_tokens_per_s", "queue_tokens_per_s", "speed_ratio", "5x     8x")
    line("   CPU of both ends, ns/token", token, "ring_cpu_ns_per_token", "queue_cpu_ns_per_token", "cpu_ratio", "6x     6x")
    line("16-token chunk a frame, tokens/s", chunk, "ring_tokens_per_s", "queue_tokens_per_s", "speed_ratio", "4x     6x")
    line("blocking wake-up at 1k tokens/s, p50 us", wake, "ring_p50_us", "queue_p50_us", "ratio", "0.50   0.33")
    said = "all accounted for" if torn["accounted"] else "NOT ACCOUNTED FOR"
    print(f"torn or wrong of {torn['frames']:,} frames, {torn['readers']} readers: {torn['wrong']}; {torn['laps']:,} laps; accepted + lost: {said}")
    print(f"took {report['took_s']} s")


def line(title: str, figures: Result, ring: str, queue: str, ratio: str, goal: str) -> None:
    both = figures[ratio]
    digits = 1 if figures[ring]["median"] < 1000 else 0
    a, b = (f"{figures[key]['median']:,.{digits}f}" for key in (ring, queue))
    spread = f"({both['min']:.2f} to {both['max']:.2f})"
    print(f"{title:<42}{a:>14}{b:>14}{both['median']:>8.2f}  {spread:<16}{goal}")


if __name__ == "__main__":
    sys.exit(main())
