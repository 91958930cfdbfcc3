"""The socket side: what is closed, what is used again, what breaks, what is asked again, and what another thread may cancel."""

from __future__ import annotations

import gzip
import json
import socket
import threading
import time
import zlib
from pathlib import Path
from typing import Any

import pytest
from model_kit import SSE, Asked, ModelServer, Say, delta, sse, usage
from test_openai_cases import Skipping, read

from workers.backends import Chunk, Finish, openai
from workers.backends.openai import Backend
from workers.backends.openai.framing import Inflater
from workers.backends.openai.heard import Heard, hear
from workers.backends.openai.settings import Places
from workers.errors import BackendError

NOBODY = Places(environ={}, folder=Path("/nowhere"))
OK = sse(delta("go "), delta("\\boxed{U}"), delta(finish="stop"), usage(7))
ENOUGH_S = 5.0


def kind(heard: Heard) -> str | None:
    return None if heard.error is None else heard.error.kind


# Closing.


@pytest.mark.parametrize("when", ["before the headers", "in the middle", "while nobody reads"])
def test_server_sees_a_cancelled_request_closed(when: str) -> None:
    body = sse(delta("go "), done=False)
    say = Say(raw=b"", end="hang") if when == "before the headers" else Say(body, end="hang")

    def slow(asked: Asked) -> Say:
        if when == "before the headers":
            for _ in range(500):
                if asked.closed.wait(0.01):
                    break
        return say

    with ModelServer(slow) as server:
        backend = Backend(server.spec, places=NOBODY)
        stream = backend.ask("?")
        if when == "while nobody reads":
            assert next(stream) == Chunk("go ", (3,), "content")
            stream.cancel()
        else:
            got: list[Any] = []
            reader = threading.Thread(target=lambda: got.extend(stream))
            reader.start()
            deadline = time.monotonic() + ENOUGH_S
            while not server.asked or (when == "in the middle" and not got):
                assert time.monotonic() < deadline, "the request did not arrive"
                time.sleep(0.002)
            began = time.monotonic()
            stream.cancel()
            reader.join(ENOUGH_S)
            assert not reader.is_alive()
            assert time.monotonic() - began < 0.5
        if when != "before the headers":
            assert server.asked[0].closed.wait(ENOUGH_S), "the server was not told"
        server.asked[0].closed.set()
        assert list(stream) == []
        backend.close()


def test_closing_the_backend_closes_what_runs() -> None:
    with ModelServer(Say(sse(delta("go "), done=False), end="hang")) as server:
        backend = Backend(server.spec, places=NOBODY)
        stream = backend.ask("?")
        next(stream)
        assert stream.so_far()["ttft_s"] > 0
        backend.close()
        assert server.asked[0].closed.wait(ENOUGH_S)
        assert list(stream) == []


def test_cancelled_before_it_began_nothing_is_asked() -> None:
    with ModelServer(Say(OK)) as server:
        backend = Backend(server.spec, places=NOBODY)
        stream = backend.ask("?")
        stream.close()
        assert list(stream) == []
        assert server.asked == []


def test_cancelled_while_it_waits_to_ask_again_it_comes_back_at_once() -> None:
    with ModelServer(Say(b"{}", status=429, headers={"retry-after": "60"}, writes="one")) as server:
        backend = Backend(server.spec, places=NOBODY)
        stream = backend.ask("?")
        # A sign of life: the server told us to wait, and that is no stall.
        assert next(stream) == Chunk("", ())
        stream.cancel()
        assert list(stream) == []
        assert len(server.asked) == 1


def test_finished_connection_is_used_again_and_a_hanging_one_is_closed() -> None:
    for framed in ("chunked", "length"):
        with ModelServer(Say(OK, keep=True, framed=framed)) as server:
            backend = Backend(server.spec, places=NOBODY)
            for _ in range(3):
                assert kind(hear(_to_end(backend))) is None
            backend.close()
            assert [asked.connection for asked in server.asked] == [1, 1, 1], framed
    with ModelServer(Say(OK, end="hang")) as server:
        backend = Backend(server.spec, places=NOBODY)
        items = list(backend.ask("?"))
        assert isinstance(items[-1], Finish)
        assert server.asked[0].closed.wait(ENOUGH_S)
        backend.close()


def _to_end(backend: Backend) -> list[Any]:
    return list(backend.ask("?"))


# Framing.


@pytest.mark.parametrize("framed", ["chunked", "length", "none"])
@pytest.mark.parametrize("writes", ["per_byte", "one"])
def test_body_is_framed_as_its_headers_say(framed: str, writes: str) -> None:
    with ModelServer(Say(OK, framed=framed, writes=writes)) as server:
        heard, _ = read(server.spec)
    assert (heard.content, heard.completion_tokens, kind(heard)) == ("go \\boxed{U}", 7, None)


def bare(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


@pytest.mark.parametrize(
    ("coding", "packed"),
    [
        pytest.param("gzip", gzip.compress(OK, mtime=0), id="gzip"),
        pytest.param("GZIP", gzip.compress(OK[:50]) + gzip.compress(OK[50:]), id="two-members"),
        pytest.param("deflate", zlib.compress(OK), id="deflate"),
        pytest.param("deflate", bare(OK), id="bare-deflate"),
        pytest.param("identity", OK, id="identity"),
    ],
)
@pytest.mark.parametrize("writes", ["per_byte", "one"])
def test_packed_body_is_unpacked(coding: str, packed: bytes, writes: str) -> None:
    with ModelServer(Say(packed, headers={**SSE, "content-encoding": coding}, writes=writes)) as server:
        heard, _ = read(server.spec)
    assert (heard.content, kind(heard)) == ("go \\boxed{U}", None)
    assert server.asked[0].headers["accept-encoding"] == "identity"


@pytest.mark.parametrize(("coding", "body"), [("br", OK), ("gzip", b"\x1f\x8b" + b"nonsense" * 20)])
def test_body_that_cannot_be_unpacked_is_malformed(coding: str, body: bytes) -> None:
    with ModelServer(Say(body, headers={**SSE, "content-encoding": coding}, writes="one")) as server:
        heard, _ = read(server.spec)
    assert kind(heard) == "malformed"


HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
LONG = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 100000\r\n\r\n"


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (HEAD + b"zz\r\n" + OK, "malformed"),
        (HEAD + b"-5\r\n" + OK, "malformed"),
        (HEAD + b"%x\r\n%s\r\n" % (len(OK), OK[:70]), "truncated"),
        (LONG + OK[:200], "truncated"),
        (HEAD + b"%X;name=value\n%s\n0\r\nx-trailer: 1\r\n\r\n" % (len(OK), OK), None),
        (b"SSH-2.0-OpenSSH_9.6\r\n" * 3, "malformed"),
    ],
)
def test_broken_framing_is_named(raw: bytes, expected: str | None) -> None:
    with ModelServer(Say(raw=raw)) as server:
        heard, _ = read(server.spec)
    assert kind(heard) == expected


@pytest.mark.parametrize("packed", [gzip.compress(OK), zlib.compress(OK), bare(OK)], ids=["gzip", "deflate", "bare"])
def test_unpacking_does_not_depend_on_the_cuts(packed: bytes) -> None:
    for size in (1, 2, 3, 50):
        unpacker = Inflater("gzip" if packed[:1] == b"\x1f" else "deflate")
        pieces = [piece for at in range(0, len(packed), size) for piece in unpacker.pieces(packed[at : at + size])]
        assert b"".join(pieces) == OK


def test_body_that_unpacks_into_a_flood_comes_in_pieces() -> None:
    pieces = list(Inflater("gzip").pieces(gzip.compress(bytes(20 << 20))))
    assert sum(map(len, pieces)) == 20 << 20
    assert max(map(len, pieces)) <= 1 << 20


# Breaking.


def test_reset_in_the_middle_keeps_the_text_and_is_not_asked_again() -> None:
    with ModelServer(Say(sse(delta("go "), done=False), end="reset")) as server:
        heard, _ = read(server.spec)
        assert (kind(heard), heard.content, len(server.asked)) == ("connection", "go ", 1)


def test_reset_after_the_finish_takes_nothing_away() -> None:
    with ModelServer(Say(sse(delta("\\boxed{U}"), delta(finish="stop"), done=False), end="reset")) as server:
        heard, _ = read(server.spec)
    assert (kind(heard), heard.content, heard.meas["finish_reason"]) == (None, "\\boxed{U}", "stop")


def test_silence_after_the_finish_is_waited_for_only_a_little() -> None:
    with ModelServer(Say(sse(delta("\\boxed{U}"), delta(finish="stop"), done=False), end="hang")) as server:
        heard, _ = read(server.spec, idle_s=0.2)
    assert (kind(heard), heard.content) == (None, "\\boxed{U}")


def test_connection_that_broke_before_any_text_is_tried_again() -> None:
    with ModelServer([Say(sse(delta(), done=False), end="reset"), Say(raw=b""), Say(OK)]) as server:
        heard, _ = read(server.spec)
        assert (kind(heard), heard.content, len(server.asked)) == (None, "go \\boxed{U}", 3)
    assert heard.meas["attempts"] == 3
    assert heard.meas["throttled_s"] > 1.0


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504, 529])
def test_status_that_may_pass_is_asked_again_and_the_wait_is_told(status: int) -> None:
    skipping = Skipping()
    refusal = Say(b'{"error":{"message":"not now"}}', status=status, headers={"retry-after": "3"}, writes="one")
    with ModelServer([refusal, Say(OK)]) as server:
        backend = Backend(server.spec, clock=skipping.clock, wait=skipping.wait, places=NOBODY)
        heard = hear(backend.ask("?"))
        backend.close()
        assert (kind(heard), len(server.asked)) == (None, 2)
    assert heard.meas["throttled_s"] == pytest.approx(3.0, abs=0.2)
    assert heard.meas["ttft_s"] < 1.0


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 405, 413, 422, 501])
def test_status_that_stays_is_not_asked_again(status: int) -> None:
    with ModelServer(Say(b'{"error":{"message":"no such\\nthing"}}', status=status, headers={}, writes="one")) as server:
        heard, _ = read(server.spec)
        assert (kind(heard), len(server.asked)) == ("http_status", 1)
    assert heard.error is not None
    assert heard.error.code == status
    assert str(status) in str(heard.error)
    assert "no such thing" in str(heard.error)


def test_used_up_quota_is_not_asked_again() -> None:
    body = json.dumps({"error": {"message": "You exceeded your quota", "code": "insufficient_quota", "type": "insufficient_quota"}}).encode()
    with ModelServer(Say(body, status=429, headers={}, writes="one")) as server:
        heard, _ = read(server.spec)
        assert (kind(heard), len(server.asked)) == ("http_status", 1)


@pytest.mark.parametrize(("code", "requests"), [(429, 3), (503, 3), (400, 1), ("overloaded_error", 3), ("invalid_request_error", 1)])
def test_error_in_the_stream_is_asked_again_by_its_code_while_there_is_no_text(code: Any, requests: int) -> None:
    with ModelServer(Say(sse({"error": {"code": code, "message": "hm"}}))) as server:
        heard, _ = read(server.spec)
        assert (kind(heard), len(server.asked)) == ("provider_error", requests)
    with ModelServer(Say(sse(delta("go "), {"error": {"code": code, "message": "hm"}}))) as server:
        heard, _ = read(server.spec)
        assert (kind(heard), heard.content, len(server.asked)) == ("provider_error", "go ", 1)


def test_redirect_is_named_and_not_followed() -> None:
    with ModelServer(Say(b"", status=307, headers={"location": "https://elsewhere.example/v1"}, writes="one")) as server:
        heard, _ = read(server.spec)
        assert len(server.asked) == 1
    assert kind(heard) == "http_status"
    assert "https://elsewhere.example/v1" in str(heard.error)


def test_context_overflow_is_called_that() -> None:
    body = b'{"error":{"message":"This model\'s maximum context length is 4096 tokens; max_tokens is too large","code":400,"param":"max_tokens"}}'
    with ModelServer(Say(body, status=400, headers={}, writes="one")) as server:
        heard, _ = read(server.spec, max_tokens=9)
        assert len(server.asked) == 1
    assert str(heard.error).startswith("context overflow: ")


def test_nobody_listens() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        spec = f"http://127.0.0.1:{free.getsockname()[1]}/v1#m"
        heard, backend = read(spec)
        assert kind(heard) == "connection"
        assert heard.meas["attempts"] == 3
        with pytest.raises(BackendError, match=r"http://127\.0\.0\.1:\d+/v1/chat/completions: cannot be reached"):
            backend.check("snake", "planner")


def test_tls_to_a_server_without_it_is_kind_tls() -> None:
    with ModelServer(Say(raw=b"HTTP/1.1 400 Bad\r\n\r\n")) as server:
        heard, _ = read(server.spec.replace("http://", "https://"))
    assert kind(heard) == "tls"
    assert heard.meas["attempts"] == 1


def test_stall_before_the_first_byte() -> None:
    # The head comes and then nothing; and not even a head.
    for say in (Say(b"", end="hang"), Say(OK, delay_s=0.5)):
        with ModelServer(say) as server:
            heard, _ = read(server.spec, idle_s=0.15)
            assert (kind(heard), len(server.asked)) == ("stalled", 1)


def test_comments_keep_a_stream_alive_and_are_told_as_signs_of_life() -> None:
    body = b": keep-alive\n\n" * 12 + OK
    with ModelServer(Say(body, gap_s=0.06)) as server:
        backend = Backend(server.spec, idle_timeout_s=0.4, places=NOBODY)
        items = list(backend.ask("?"))
        backend.close()
    assert items[0] == Chunk("", ())
    assert isinstance(items[-1], Finish)


def test_total_time_is_limited_however_alive_the_server_is() -> None:
    with ModelServer(Say(b": keep-alive\n\n" * 1000, gap_s=0.02)) as server:
        backend = Backend(server.spec, total_timeout_s=0.3, places=NOBODY)
        heard = hear(backend.ask("?"))
        backend.close()
        assert server.asked[0].closed.wait(ENOUGH_S)
    assert kind(heard) == "stalled"
    assert "0.3 s" in str(heard.error)


@pytest.mark.parametrize("head", [b"HTTP/1.1 100 Continue\r\n\r\n", b"H"])
def test_head_without_end_is_a_stall_and_the_server_sees_it_closed(head: bytes) -> None:
    with ModelServer(Say(raw=head, gap_s=0.02)) as server:
        backend = Backend(server.spec, total_timeout_s=0.3, attempts=1, places=NOBODY)
        heard = hear(backend.ask("?"))
        backend.close()
        assert server.asked[0].closed.wait(ENOUGH_S)
    assert kind(heard) == "stalled"
    assert str(heard.error).endswith("no answer began within 0.3 s")


@pytest.mark.parametrize("say", [Say(raw=b"HTTP/1.1 100 Continue\r\n\r\n", gap_s=0.02), Say(b": on it\n\n" * 100_000, gap_s=0.02)], ids=["head", "body"])
def test_description_that_never_ends_is_none(say: Say, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openai, "_DESCRIBE_S", 0.3)
    with ModelServer(say) as server:
        backend = Backend(server.spec, places=NOBODY)
        assert backend.describe() == {"context_tokens": None, "listed": None}
        backend.close()
        assert server.asked[0].closed.wait(ENOUGH_S)


def test_flood_is_read_in_few_chunks_and_to_its_end() -> None:
    body = sse(*(delta(" so") for _ in range(20_000)), delta(finish="stop"), usage(20_000))
    with ModelServer(Say(body)) as server:
        backend = Backend(server.spec, places=NOBODY)
        items = [item for item in backend.ask("?") if isinstance(item, Chunk) and item.lens]
        backend.close()
    assert sum(len(item.lens) for item in items) == 20_000
    assert "".join(item.text for item in items) == " so" * 20_000
    assert len(items) < 10_000
