"""A model's stream, from the socket to the ring: CPU a token against the openai Python SDK, and how soon a reactor sees a token.

    python benchmarks/stream.py [--json] [--rounds 5] [--sdk PYTHON|none]

Both read the same recorded stream from a server on loopback, in turns: a burst (everything at once, as from a server that is
faster than the game) and paced (one event a millisecond, as a fast model writes). Ours is the whole way of a planner's token:
socket, parser, reading thread, token clock, ring. The SDK only reads, and joins the text. CPU is that of the reading process.
The SDK is no dependency: `--sdk` names a Python that has it; by default this one, else a temporary environment it is installed
into, else the comparison is left out and said so. Latency: a server writes an instant into a token and sends it; the thinker's process
puts it into the ring; the reactor's process reads it from there and looks at its clock.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import multiprocessing
import os
import platform
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from workers.backends.openai import Backend
from workers.backends.openai.settings import Places
from workers.rings import Ring, RingHandle, RingReader, RingWriter
from workers.stream import open_stream
from workers.wire import Emitter, Piece, split

CAPACITY = 1 << 22
BURST = 20_000
PACED = 1_000
CALM = 100
PERIOD_NS = 1_000_000
WORDS = (" the", " car", " in", " lane", " 3", " reaches", " column", " 4", " next", " turn", ".", " So", " wait", ",", "\n")

Result = dict[str, Any]

SDK_READER = """
import json, sys, time
from openai import OpenAI
for line in sys.stdin:
    order = json.loads(line)
    client = OpenAI(base_url=order["url"], api_key="none", max_retries=0)
    cpu = time.process_time()
    texts, tokens = [], 0
    stream = client.chat.completions.create(model=order["model"], messages=[{"role": "user", "content": "?"}], stream=True)
    for chunk in stream:
        if chunk.choices:
            delta = chunk.choices[0].delta
            text = getattr(delta, "reasoning_content", None) or delta.content
            if text:
                texts.append(text)
                tokens += 1
    print(json.dumps({"cpu_s": time.process_time() - cpu, "tokens": tokens, "bytes": len("".join(texts).encode())}), flush=True)
"""


def event(text: str, channel: str = "reasoning_content") -> bytes:
    """One event as a hosted model sends it."""
    head = '{"id":"3f1c0e5a-77b2","object":"chat.completion.chunk","created":1767000000,"model":"m","system_fingerprint":"fp_8802369eaa",'
    body = f'"choices":[{{"index":0,"delta":{{"content":null,"{channel}":{json.dumps(text)}}},"logprobs":null,"finish_reason":null}}]}}'
    return b"data: " + (head + body).encode() + b"\n\n"


class Server:
    """Says `model` tokens: `burst:N` all at once, `paced:N` one a millisecond; `stamp:N` and `calm:N` the instant as text, 1,000 and 100 a second."""

    def __init__(self) -> None:
        self.listener = socket.socket()
        self.listener.bind(("127.0.0.1", 0))
        self.listener.listen(8)
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}/v1"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self) -> None:
        while True:
            connection, _ = self.listener.accept()
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        asked = b""
        while b"\r\n\r\n" not in asked or not asked.endswith(b"}"):
            asked += connection.recv(65536)
        how, _, count = json.loads(asked.partition(b"\r\n\r\n")[2])["model"].partition(":")
        connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n")
        end = b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
        events = [event(WORDS[at % len(WORDS)]) for at in range(int(count))] if how in ("burst", "paced") else []
        try:
            if how == "burst":
                connection.sendall(b"".join(b"%x\r\n%s\r\n" % (len(one), one) for one in events))
            else:
                self.pace(connection, events or [None] * int(count), 10 * PERIOD_NS if how == "calm" else PERIOD_NS)
            connection.sendall(b"%x\r\n%s\r\n0\r\n\r\n" % (len(end), end))
        except OSError:
            pass
        connection.close()

    def pace(self, connection: socket.socket, events: list[Any], period_ns: int) -> None:
        due = time.monotonic_ns()
        for one in events:
            due += period_ns
            left = due - time.monotonic_ns()
            if left > 0:
                time.sleep(left / 1e9)
            one = one or event(f" {time.monotonic_ns()}")
            connection.sendall(b"%x\r\n%s\r\n" % (len(one), one))


def think(url: str, model: str, writer: RingWriter) -> int:
    """Read one answer into a ring, as a planner's process does; return its tokens."""
    backend = Backend(f"{url}#{model}", places=Places(environ={}, folder=Path("/nowhere"), config=Path("/nowhere")))
    woken = threading.Event()
    stream = open_stream(backend, REQUEST, stall_s=30.0, wake=woken.set)
    emitter = Emitter(writer)

    def emit(channel: str, text: str, lens: list[int], offset: int) -> None:
        emitter.tokens(0, 0, channel, text, lens, stream.released - len(lens) + 1)

    while not stream.ended:
        woken.clear()
        stream.release(8192, 512, emit)
        if not stream.ended:
            woken.wait(0.05)
    backend.close()
    if stream.fault is not None:
        raise SystemExit(f"the stream broke: {stream.fault}")
    return stream.released


class Ask:
    """All of a request that a backend of ours reads."""

    prompt = "?"
    budget_tokens = None


REQUEST: Any = Ask()


def thinker_process(handle: RingHandle, pipe: Connection) -> None:
    """Read as told: (url, model); answer with own CPU seconds and tokens."""
    with RingWriter(handle) as writer:
        while (order := pipe.recv()) is not None:
            cpu = time.process_time()
            tokens = think(*order, writer)
            pipe.send({"cpu_s": time.process_time() - cpu, "tokens": tokens})


def reactor_process(handle: RingHandle, pipe: Connection) -> None:
    """Watch the ring for as many tokens as told; answer with the ns each stamped token was under way."""
    with RingReader(handle) as reader:
        while (tokens := pipe.recv()) is not None:
            # The bursts before this one were nobody's to read.
            reader.seek(reader.segment.tail)
            pipe.send("ready")
            latencies: list[int] = []
            seen = 0
            while seen < tokens:
                frames = reader.poll()
                if not frames:
                    reader.wait(1.0)
                    continue
                now = time.monotonic_ns()
                for item in split(frames):
                    if isinstance(item, Piece):
                        latencies += [now - int(stamp) for stamp in item.text.split() if len(stamp) > 9 and stamp.isdigit()]
                        seen += item.text.count(" ")
            pipe.send(latencies)


class Ours:
    """A thinker's process and a reactor's, with a ring between them."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.ring = Ring.create(CAPACITY, readers=1)
        self.thinker, there = context.Pipe()
        context.Process(target=thinker_process, args=(self.ring.handle(), there), daemon=True).start()
        self.reactor, there = context.Pipe()
        context.Process(target=reactor_process, args=(self.ring.handle(0), there), daemon=True).start()

    def read(self, url: str, model: str) -> Result:
        self.thinker.send((url, model))
        found: Result = self.thinker.recv()
        return found

    def latencies(self, url: str, how: str, tokens: int) -> list[int]:
        self.reactor.send(tokens)
        self.reactor.recv()
        self.thinker.send((url, f"{how}:{tokens}"))
        self.thinker.recv()
        found: list[int] = self.reactor.recv()
        return found

    def close(self) -> None:
        self.thinker.send(None)
        self.reactor.send(None)
        self.ring.close()


class Sdk:
    """The SDK in a process of its own."""

    def __init__(self, python: str) -> None:
        self.process = subprocess.Popen([python, "-c", SDK_READER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=without_proxies())

    def read(self, url: str, model: str) -> Result:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps({"url": url, "model": model}) + "\n")
        self.process.stdin.flush()
        found: Result = json.loads(self.process.stdout.readline())
        return found

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(10)


def without_proxies() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}


def sdk_python(given: str, folder: str) -> tuple[str | None, str]:
    """Return (a Python that has the SDK, or None; what to say about it)."""
    if given == "none":
        return None, "left out"
    if given != "auto":
        return given, given
    if importlib.util.find_spec("openai") is not None:
        return sys.executable, "installed here"
    python = os.path.join(folder, "bin", "python")
    for command in ([sys.executable, "-m", "venv", folder], [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "openai"]):
        if subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=120, check=False).returncode:
            return None, "cannot be installed here; give --sdk PYTHON"
    return python, "in a temporary environment"


def median_spread(values: list[float]) -> Result:
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def per_token(found: Result, tokens: int) -> float:
    if found["tokens"] < tokens:
        raise SystemExit(f"{found['tokens']} of {tokens} tokens came: the figures would not be of the same work")
    return float(found["cpu_s"] / tokens * 1e6)


def compare(ours: Ours, sdk: Sdk | None, url: str, how: str, tokens: int, rounds: int) -> Result:
    """CPU microseconds a token of both, in turns."""
    mine: list[float] = []
    theirs: list[float] = []
    for _ in range(rounds):
        mine.append(per_token(ours.read(url, f"{how}:{tokens}"), tokens))
        if sdk is not None:
            theirs.append(per_token(sdk.read(url, f"{how}:{tokens}"), tokens))
    out: Result = {"tokens": tokens, "rtdesk_us": median_spread(mine)}
    if theirs:
        out["sdk_us"] = median_spread(theirs)
        out["ratio"] = median_spread([a / b for a, b in zip(mine, theirs)])
    return out


def latency(ours: Ours, url: str, how: str, tokens: int, rounds: int) -> Result:
    """Microseconds from a server's write to the reactor's look at the token."""
    p50: list[float] = []
    p99: list[float] = []
    for _ in range(rounds):
        found = sorted(ours.latencies(url, how, tokens))
        p50.append(found[len(found) // 2] / 1000)
        p99.append(found[len(found) * 99 // 100] / 1000)
    return {"tokens": tokens, "p50_us": median_spread(p50), "p99_us": median_spread(p99)}


def main() -> int:
    parser = argparse.ArgumentParser(description="A model's stream from the socket to the ring.")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    parser.add_argument("--rounds", type=int, default=5, help="interleaved rounds a figure (default 5)")
    parser.add_argument("--sdk", default="auto", help="a Python that has the openai SDK, or none (default: find or install one)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rtdesk-sdk-") as folder:
        python, said = sdk_python(options.sdk, folder)
        begin = time.monotonic()
        server, ours = Server(), Ours()
        sdk = Sdk(python) if python is not None else None
        # A round of each before the measured ones: imports, first connections, page faults.
        compare(ours, sdk, server.url, "burst", 500, 1)
        report: Result = {
            "machine": f"{platform.machine()}, {multiprocessing.cpu_count()} cores, {platform.system()} {platform.release()}",
            "python": platform.python_version(),
            "rounds": options.rounds,
            "sdk": said,
            "burst": compare(ours, sdk, server.url, "burst", BURST, options.rounds),
            "paced": compare(ours, sdk, server.url, "paced", PACED, options.rounds),
            "latency": latency(ours, server.url, "calm", CALM, options.rounds),
            "latency_fast": latency(ours, server.url, "stamp", PACED, options.rounds),
        }
        ours.close()
        if sdk is not None:
            sdk.close()
        report["took_s"] = round(time.monotonic() - begin, 1)
    if options.json:
        print(json.dumps(report))
    else:
        show(report)
    ratios = [report[how]["ratio"]["median"] for how in ("burst", "paced") if "ratio" in report[how]]
    return 0 if all(ratio <= 0.5 for ratio in ratios) else 1


def show(report: Result) -> None:
    print(f"{report['machine']}, Python {report['python']}; medians of {report['rounds']} interleaved rounds (least to most); SDK {report['sdk']}\n")
    print(f"{'CPU from socket to ring, us a token':<40}{'rtdesk':>10}{'SDK':>10}{'ratio':>8}  spread          must")
    for how, title in (("burst", "everything at once"), ("paced", "1,000 tokens a second")):
        row = report[how]
        both = row.get("ratio")
        theirs = f"{row['sdk_us']['median']:.1f}" if both else "-"
        ratio = f"{both['median']:.2f}" if both else "-"
        spread = f"({both['min']:.2f} to {both['max']:.2f})" if both else "-"
        print(f"{title:<40}{row['rtdesk_us']['median']:>10.1f}{theirs:>10}{ratio:>8}  {spread:<16}0.50")
    for name, title in (("latency", "100"), ("latency_fast", "1,000")):
        row = report[name]
        p50, p99 = row["p50_us"]["median"], row["p99_us"]["median"]
        print(f"server's write to the reactor's sight at {title} tokens a second, us: p50 {p50:.0f}, p99 {p99:.0f}")
    print(f"took {report['took_s']} s")


if __name__ == "__main__":
    sys.exit(main())
