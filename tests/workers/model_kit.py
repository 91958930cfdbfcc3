"""A model server on loopback for tests: replays recorded bodies byte for byte, follows rules, remembers what it was asked."""

from __future__ import annotations

import itertools
import json
import re
import socket
import struct
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

STREAMS = Path(__file__).parent / "data" / "streams"
SSE = {"content-type": "text/event-stream; charset=utf-8"}


class Say:
    """One answer. `writes` are the bytes in the pieces in which they are sent; `end` is close, hang or reset; `framed` chunked, length or none.

    `raw` is sent instead of all that; with a gap, again and again."""

    def __init__(
        self,
        body: bytes = b"",
        *,
        status: int = 200,
        headers: dict[str, str] | None = None,
        writes: Any = "per_event",
        end: str = "close",
        delay_s: float = 0.0,
        gap_s: float = 0.0,
        framed: str = "chunked",
        raw: bytes | None = None,
        keep: bool = False,
    ) -> None:
        self.body, self.status, self.headers = body, status, SSE if headers is None else headers
        self.writes, self.end, self.delay_s, self.gap_s = writes, end, delay_s, gap_s
        self.framed, self.raw, self.keep = framed, raw, keep

    @classmethod
    def case(cls, name: str) -> Say:
        """The answer of a recorded case."""
        http = json.loads((STREAMS / name / "http.json").read_text())
        writes = http["writes"]
        delay = http.get("first_delay_ms", writes.get("first_delay_ms", 0) if isinstance(writes, dict) else 0)
        body = (STREAMS / name / "body.bin").read_bytes()
        return cls(body, status=http["status"], headers=http["headers"], writes=writes, end=http["end"], delay_s=delay / 1000)

    def parts(self) -> list[bytes]:
        if isinstance(self.writes, dict):
            cuts = [0, *self.writes["cuts"], len(self.body)]
            return [self.body[a:b] for a, b in itertools.pairwise(cuts)]
        if self.writes == "per_byte":
            return [self.body[at : at + 1] for at in range(len(self.body))]
        if self.writes == "one":
            return [self.body]
        return [part for part in re.split(rb"(?<=\n\n)|(?<=\r\n\r\n)|(?<=\r\r)", self.body) if part]


class Asked:
    """One request as the server saw it."""

    def __init__(self, head: bytes, body: bytes, connection: int) -> None:
        lines = head.decode("latin-1").split("\r\n")
        self.method, self.path, _ = lines[0].split(" ", 2)
        self.headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines[1:])}
        self.raw = body
        self.body: dict[str, Any] = json.loads(body) if body else {}
        self.connection = connection
        self.closed = threading.Event()
        """Set when the server sees the client's end of the connection closed."""


class ModelServer:
    """`answer(asked)` decides what is said; a list is said in turn, its last for ever. A context manager."""

    def __init__(self, answer: Say | list[Say] | Callable[[Asked], Say]) -> None:
        self._answer = answer
        self.asked: list[Asked] = []
        self.connections = 0
        self._done = threading.Event()
        self._listener = socket.socket()
        self._listener.bind(("127.0.0.1", 0))
        self._listener.listen(16)
        self.port = self._listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/v1"
        self.spec = f"{self.url}#m-test"
        self._thread = threading.Thread(target=self._accept, daemon=True)

    def __enter__(self) -> ModelServer:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._done.set()
        # A blocked accept() is not woken by close() alone.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        while not self._done.is_set():
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._serve, args=(connection, self.connections), daemon=True).start()

    def _serve(self, connection: socket.socket, number: int) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with connection:
            buffer = b""
            while True:
                while b"\r\n\r\n" not in buffer:
                    data = _receive(connection)
                    if not data:
                        return
                    buffer += data
                    if buffer[:1] == b"\x16":
                        # Somebody speaks TLS to us.
                        return connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
                head, _, buffer = buffer.partition(b"\r\n\r\n")
                size = int((re.search(rb"(?i)content-length: *(\d+)", head) or [b"", b"0"])[1])
                while len(buffer) < size:
                    buffer += _receive(connection)
                asked, buffer = Asked(head, buffer[:size], number), buffer[size:]
                self.asked.append(asked)
                say = self._pick(asked)
                try:
                    self._say(connection, say, asked)
                except OSError:
                    asked.closed.set()
                    return
                if not say.keep:
                    return

    def _pick(self, asked: Asked) -> Say:
        if isinstance(self._answer, Say):
            return self._answer
        if isinstance(self._answer, list):
            return self._answer[min(len(self.asked), len(self._answer)) - 1]
        return self._answer(asked)

    def _say(self, connection: socket.socket, say: Say, asked: Asked) -> None:
        if say.raw is not None:
            connection.sendall(say.raw)
            while say.gap_s and not (self._done.wait(say.gap_s) or gone(connection)):
                connection.sendall(say.raw)
            if say.gap_s:
                asked.closed.set()
            return
        framing = {"chunked": "transfer-encoding: chunked\r\n", "length": f"content-length: {len(say.body)}\r\n", "none": ""}[say.framed]
        head = f"HTTP/1.1 {say.status} X\r\n" + "".join(f"{name}: {value}\r\n" for name, value in say.headers.items()) + framing
        connection.sendall((head + ("" if say.keep else "connection: close\r\n") + "\r\n").encode())
        if say.delay_s:
            time.sleep(say.delay_s)
        for part in say.parts():
            connection.sendall(b"%x\r\n%s\r\n" % (len(part), part) if say.framed == "chunked" else part)
            if say.gap_s and (self._done.wait(say.gap_s) or gone(connection)):
                asked.closed.set()
                return
        if say.end == "close" and say.framed == "chunked":
            connection.sendall(b"0\r\n\r\n")
        elif say.end == "hang":
            over = False
            while not over:
                # One more look when the server is told to end: the client may have gone just before.
                over = self._done.wait(0.01)
                if gone(connection):
                    asked.closed.set()
                    return
        elif say.end == "reset":
            time.sleep(0.02)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def _receive(connection: socket.socket) -> bytes:
    try:
        return connection.recv(65536)
    except OSError:
        return b""


def gone(connection: socket.socket) -> bool:
    """Whether the other side has closed the connection."""
    connection.setblocking(False)
    try:
        return connection.recv(1, socket.MSG_PEEK) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True
    finally:
        connection.setblocking(True)


def delta(content: str | None = None, *, finish: str | None = None, **fields: Any) -> dict[str, Any]:
    """One chunk of an answer."""
    inside = {**({} if content is None else {"content": content}), **fields}
    return {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": inside, "finish_reason": finish}]}


def usage(completion: int, prompt: int = 10, **fields: Any) -> dict[str, Any]:
    """A usage chunk without choices."""
    return {"choices": [], "usage": {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion, **fields}}


def sse(*events: Any, done: bool = True) -> bytes:
    """An event stream of these objects."""
    parts = [event if isinstance(event, bytes) else b"data: " + json.dumps(event).encode() + b"\n\n" for event in events]
    return b"".join(parts) + (b"data: [DONE]\n\n" if done else b"")
