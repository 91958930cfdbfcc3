"""Every recorded stream and exchange gives the expected answer, served on loopback as it was recorded, and cut in every other way."""

from __future__ import annotations

import json
import random
import time
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

import pytest
from model_kit import STREAMS, Asked, ModelServer, Say

from workers.backends.openai import Backend
from workers.backends.openai.deltas import Answer
from workers.backends.openai.heard import Heard, hear
from workers.backends.openai.meter import Meter
from workers.backends.openai.request import chat_url
from workers.backends.openai.retry import backoff_s, delay_s
from workers.backends.openai.secret import Secret
from workers.backends.openai.settings import Places
from workers.backends.openai.tags import RETURN
from workers.backends.openai.usage import Usage

CASES = sorted(path.name for path in STREAMS.iterdir() if (path / "body.bin").exists())
HTTP_ERRORS = {"S53"}


class Skipping:
    """A clock on which waiting takes no time: what a server makes us wait is only added up."""

    def __init__(self) -> None:
        self.waited: list[float] = []

    def clock(self) -> float:
        return time.monotonic() + sum(self.waited)

    def wait(self, seconds: float) -> None:
        self.waited.append(seconds)


def read(spec: str, *, idle_s: float = 2.0, **options: Any) -> tuple[Heard, Backend]:
    skipping = Skipping()
    backend = Backend(spec, idle_timeout_s=idle_s, clock=skipping.clock, wait=skipping.wait, places=Places(environ={}, folder=Path("/nowhere")))
    heard = hear(backend.ask("Which way?", **options))
    backend.close()
    return heard, backend


def expected_of(case: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((STREAMS / case / "expected.json").read_text())
    return found


@pytest.mark.parametrize("case", CASES)
def test_recorded_stream_is_read_as_expected(case: str) -> None:
    expected = expected_of(case)
    also = expected.get("also", {})
    began = time.monotonic()
    with ModelServer(Say.case(case)) as server:
        heard, _ = read(server.spec, idle_s=also.get("idle_timeout_s", 2.0))
        took = time.monotonic() - began
        requests = len(server.asked)
    error = heard.error
    assert heard.reasoning.strip() == expected["reasoning"].strip()
    assert heard.content.strip() == expected["content"].strip()
    assert heard.completion_tokens == expected["completion_tokens"]
    assert heard.meas.get("finish_reason") == expected["finish_reason"]
    assert (None if error is None else error.kind) == expected["error"]
    assert took < also.get("must_return_within_s", 5.0)
    assert heard.meas["tokens_estimated"] is (expected["completion_tokens"] is None)
    if heard.reasoning or heard.content:
        assert heard.counted > 0
    if "error_code" in also:
        assert error is not None
        assert error.code == also["error_code"]
    # Nothing is asked twice but what a server may have got over, and that only before any text.
    assert (requests > 1) is bool(also.get("retry", False))
    if error is not None:
        assert server.url in str(error)
        assert "\n" not in str(error)


def whole(body: bytes, parts: list[int]) -> Answer:
    answer = Answer()
    for begin, end in zip([0, *parts], [*parts, len(body)]):
        answer.feed(body[begin:end])
    answer.end()
    return answer


def joined(answer: Answer) -> tuple[str, str]:
    reasoning, content = "", ""
    for piece in answer.pieces:
        if piece.kind == RETURN:
            reasoning, content = reasoning + content, ""
        elif piece.kind == "reasoning":
            reasoning += piece.text
        else:
            content += piece.text
    return reasoning.strip(), content.strip()


@pytest.mark.parametrize("case", [case for case in CASES if case not in HTTP_ERRORS])
def test_answer_does_not_depend_on_how_the_body_was_cut(case: str) -> None:
    body = (STREAMS / case / "body.bin").read_bytes()
    once = whole(body, [])
    draw = random.Random(case)
    for parts in [list(range(1, len(body))), *(sorted(draw.sample(range(len(body)), min(len(body), 7))) for _ in range(20))]:
        again = whole(body, parts)
        assert joined(again) == joined(once)
        assert [piece.text for piece in again.pieces] == [piece.text for piece in once.pieces]
        assert (again.usage, again.finish, again.trouble) == (once.usage, once.finish, once.trouble)


def exchange(case: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((STREAMS / case / "exchange.json").read_text())
    return found


def by_rules(rules: list[dict[str, Any]], asked: Asked) -> Say:
    for rule in rules:
        if rule.get("else") or rule["if_body_has"] in asked.body:
            if "stream_case" in rule:
                return Say.case(rule["stream_case"])
            return Say(json.dumps(rule["body"]).encode(), status=rule["status"], headers={"content-type": "application/json"}, writes="one")
    raise AssertionError("no rule fits")


@pytest.mark.parametrize("case", ["X01", "X02"])
def test_rejected_parameter_is_changed_once_and_that_is_remembered(case: str) -> None:
    rules = exchange(case)["server_rules"]
    with ModelServer(lambda asked: by_rules(rules, asked)) as server:
        backend = Backend(server.spec, places=Places(environ={}, folder=Path("/nowhere")))
        first = hear(backend.ask("Which way?", max_tokens=77))
        assert first.error is None
        assert len(server.asked) == 2
        second = hear(backend.ask("And now?", max_tokens=77))
        backend.close()
    assert second.error is None
    bodies = [asked.body for asked in server.asked]
    assert len(bodies) == 3
    for body in bodies[1:]:
        if case == "X01":
            assert "stream_options" not in body
            assert body["max_tokens"] == 77
        else:
            assert "max_tokens" not in body
            assert body["max_completion_tokens"] == 77
            assert body["stream_options"] == {"include_usage": True}
    assert first.meas["tokens_estimated"] is (case == "X01")


def test_base_urls_are_joined() -> None:
    for row in exchange("X04")["urls"]:
        assert chat_url(row["base"]) == row["expect"]


def test_key_is_trimmed_for_the_header() -> None:
    for row in exchange("X06")["keys"]:
        with ModelServer(Say.case("S11")) as server:
            backend = Backend(server.spec, places=Places(environ={"RTDESK_API_KEY": row["env"]}, folder=Path("/nowhere")))
            assert hear(backend.ask("?")).error is None
            backend.close()
        assert server.asked[0].headers["authorization"] == row["header"]
        assert "sk-abc" not in repr(Secret(row["env"], where="X"))


def test_retry_after_forms() -> None:
    case = exchange("X08")
    now = parsedate_to_datetime(case["now"]).astimezone(UTC)
    for row in case["headers"]:
        got = delay_s({"retry-after": row["retry-after"]}, 2, now=now, max_delay_s=case["max_delay_s"])
        wanted = [backoff_s(2) if value == "backoff" else value for value in row.get("accept", [row["delay_s"]])]
        assert got in wanted, row
    far = delay_s({"retry-after": "86400"}, 1, now=datetime.now(UTC), max_delay_s=case["max_delay_s"])
    assert far == case["max_delay_s"]


def test_loopback_is_never_sent_to_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    with ModelServer([]) as proxy, ModelServer(Say.case("S11")) as server:
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
        for name in ("NO_PROXY", "no_proxy"):
            monkeypatch.setenv(name, "")
        backend = Backend(server.spec)
        backend.check("snake", "planner")
        assert hear(backend.ask("?")).error is None
        backend.close()
        assert len(server.asked) == 1
        assert proxy.connections == 0


class Manual:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_waiting_is_told_apart_from_thinking() -> None:
    case = json.loads((STREAMS / "E07" / "case.json").read_text())
    clock = Manual()
    meter = Meter(clock)
    for entry in case["timeline"]:
        clock.now = entry["t"]
        if entry["ev"] == "request":
            meter.request()
        elif entry["ev"] == "429":
            meter.refused()
        elif entry["ev"] == "first_token":
            meter.text(1)
        else:
            meter.usage(Usage(10, entry["completion_tokens"]))
            meter.done()
    meas = meter.meas()
    assert {name: meas[name] for name in case["expected"]} == case["expected"]


def test_every_attempt_is_billed() -> None:
    case = json.loads((STREAMS / "E08" / "case.json").read_text())
    meter = Meter(Manual())
    for attempt in case["attempts"]:
        meter.request()
        meter.usage(Usage(attempt["prompt_tokens"], attempt["completion_tokens"]))
    assert meter.billed_tokens == case["expected"]["completion_tokens"]
    assert meter.meas()["attempts"] == case["expected"]["attempts"]
    assert meter.meas()["prompt_tokens"] == case["expected"]["prompt_tokens"]
