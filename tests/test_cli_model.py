"""`rtdesk model` as a user meets it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent / "workers"))

from model_kit import SSE, STREAMS, Asked, ModelServer, Say, delta, sse, usage

from replays import events as ev
from replays.reader import open_replay

PROMISED = (
    "reasoning",
    "content",
    "completion_tokens",
    "tokens_estimated",
    "finish_reason",
    "error",
    "message",
    "ttft_ms",
    "tpot_ms",
    "attempts",
)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No setting of whoever runs the tests plays a part."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    for name in ("RTDESK_API_KEY", "OPENAI_API_KEY", "DEEPSEEK_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def rtdesk(*arguments: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    from rtdesk.cli import run

    code = run(list(arguments))
    out, err = capsys.readouterr()
    return code, out, err


@pytest.mark.parametrize("case", ["S02", "S14", "S41", "S47", "S48", "S49", "S51", "S55", "S57"])
def test_answer_is_shown_as_it_was_read(case: str, capsys: pytest.CaptureFixture[str]) -> None:
    expected = json.loads((STREAMS / case / "expected.json").read_text())
    with ModelServer(Say.case(case)) as server:
        code, out, err = rtdesk("model", server.spec, "--prompt", "Which way?", "--json", capsys=capsys)
    assert out.count("\n") == 1
    found = json.loads(out)
    assert set(PROMISED) <= set(found)
    for name in ("reasoning", "content"):
        assert found[name].strip() == expected[name].strip()
    for name in ("completion_tokens", "finish_reason", "error"):
        assert found[name] == expected[name]
    assert found["tokens_estimated"] is (expected["completion_tokens"] is None)
    assert code == (0 if expected["error"] is None else 1)
    assert err == ("" if code == 0 else f"rtdesk: {found['message']}\n")


def test_answer_for_a_person_marks_an_estimate_and_lets_no_control_character_through(capsys: pytest.CaptureFixture[str]) -> None:
    with ModelServer(Say(sse(delta(reasoning="hm \x1b[31mred"), delta("go up"), delta(finish="stop")))) as server:
        code, out, _ = rtdesk("model", server.spec, "--prompt", "?", capsys=capsys)
    assert code == 0
    assert "\x1b" not in out
    assert "an estimate" in out
    assert "-- reasoning --" in out
    assert "go up" in out


def test_idle_timeout_is_the_users(capsys: pytest.CaptureFixture[str]) -> None:
    with ModelServer(Say(sse(delta("go "), done=False), end="hang")) as server:
        code, out, _ = rtdesk("model", server.spec, "--prompt", "?", "--idle-timeout", "150ms", "--json", capsys=capsys)
    assert (code, json.loads(out)["error"], json.loads(out)["content"]) == (1, "stalled", "go ")


def counts(asked: Asked) -> Say:
    """A server that does as it is asked, a number at a time."""
    if asked.method == "GET":
        models = {"object": "list", "data": [{"id": "m-test", "max_model_len": 4096}, {"id": "other"}]}
        return Say(json.dumps(models).encode(), headers={"content-type": "application/json"}, writes="one")
    begin = 5 if len(asked.body["messages"]) > 1 else 1
    numbers = [f"{number}\n" for number in range(begin, 31)]
    return Say(sse(*(delta(reasoning="hm") for _ in range(2)), *map(delta, numbers), delta(finish="stop"), usage(len(numbers) + 2)), gap_s=0.004)


def test_probe_says_what_the_server_does(capsys: pytest.CaptureFixture[str]) -> None:
    with ModelServer(counts) as server:
        code, out, err = rtdesk("model", server.spec, "--json", capsys=capsys)
        assert {asked.path for asked in server.asked} == {"/v1/chat/completions", "/v1/models"}
    assert (code, err) == (0, "")
    found = json.loads(out)
    wanted: dict[str, Any] = {
        "reachable": True,
        "reasoning_field": "reasoning",
        "usage_in_stream": True,
        "usage_stepwise": False,
        "estimate_ratio": 1.0,
        "prefix_continuation": True,
        "concurrent_streams": True,
        "context_tokens": 4096,
        "listed": True,
        "error": None,
    }
    assert {name: found[name] for name in wanted} == wanted
    assert found["tpot_ms"] > 1
    assert found["ttft_ms"] > 0


def test_probe_of_a_server_that_can_do_little(capsys: pytest.CaptureFixture[str]) -> None:
    def poor(asked: Asked) -> Say:
        if asked.method == "GET":
            return Say(b"not found", status=404, headers={}, writes="one")
        if "stream_options" in asked.body:
            return Say(b'{"error":{"message":"stream_options: extra inputs are not permitted"}}', status=400, headers={}, writes="one")
        return Say(sse(*(delta(f"{number}\n") for number in range(1, 30)), delta(finish="stop")), headers=SSE)

    with ModelServer(poor) as server:
        code, out, _ = rtdesk("model", server.spec, capsys=capsys)
    assert code == 0
    rows = dict(line.split(None, 1) for line in out.splitlines() if line.startswith(("usage", "continues", "context", "note")))
    assert rows["usage"].startswith("no: counts are estimates")
    assert rows["continues"].startswith("no")
    assert rows["context"] == "the server does not say"
    assert rows["note"] == "stream_options left out"


@pytest.mark.parametrize(
    ("spec", "code", "says"),
    [
        ("deepseek/deepseek-chat", 2, "DEEPSEEK_API_KEY"),
        ("depseek/m", 2, "did you mean 'deepseek'"),
        ("http://127.0.0.1:9/v1", 2, "URL#model"),
        ("http://127.0.0.1:9/v1#m", 1, "http://127.0.0.1:9/v1/chat/completions"),
        ("builtin", 2, "no model behind a server"),
        ("nosuch", 2, "unknown backend"),
    ],
)
def test_what_cannot_be_asked_is_one_line_and_with_json_one_object(spec: str, code: int, says: str, capsys: pytest.CaptureFixture[str]) -> None:
    got, out, err = rtdesk("model", spec, "--json", capsys=capsys)
    assert got == code
    assert err.startswith("rtdesk: ")
    assert err.count("\n") == 1
    assert says in err
    found = json.loads(out)
    assert found["error"] == ("config" if code == 2 else "connection")
    assert says in found["message"]


def test_unreachable_server_ends_a_game_before_it_starts(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = rtdesk("play", "snake", "--planner", "http://127.0.0.1:9/v1#m", "--headless", "--no-record", capsys=capsys)
    assert (code, out) == (1, "")
    assert "http://127.0.0.1:9/v1/chat/completions: cannot be reached" in err
    assert err.count("\n") == 1


KEY = "sk-cli-Zq7vX2mKp9wTr4Lc"


def leaks(data: bytes) -> bool:
    return any(KEY[at : at + 6].encode() in data for at in range(len(KEY) - 5))


def command_lines() -> bytes:
    """What `ps` shows of everything that runs."""
    lines = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            lines.append(path.read_bytes())
        except OSError:
            continue
    return b"\n".join(lines)


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="needs /proc")
def test_key_is_in_no_process_list_no_replay_and_no_log(tmp_path: Path) -> None:
    seen: list[bytes] = []

    def refuses(asked: Asked) -> Say:
        seen.append(command_lines())
        return Say(json.dumps({"error": {"message": f"wrong: {asked.headers['authorization']}"}}).encode(), status=401, headers={}, writes="one")

    arguments = ["freeway", "--ticks", "2", "--headless", "--json", "--record", str(tmp_path / "run.rtr")]
    home = {"XDG_DATA_HOME": str(tmp_path / "data"), "XDG_STATE_HOME": str(tmp_path / "state"), "XDG_CONFIG_HOME": str(tmp_path / "config")}
    with ModelServer(refuses) as server:
        done = subprocess.run(
            [sys.executable, "-m", "rtdesk", "play", *arguments, "--planner", server.spec, "--reactor", server.spec],
            cwd=Path(__file__).parents[1],
            env={**os.environ, **home, "RTDESK_API_KEY": KEY},
            capture_output=True,
            timeout=60,
            check=False,
        )
        assert server.asked[0].headers["authorization"] == f"Bearer {KEY}"
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["faults"] >= 2
    assert seen
    assert b"rtdesk" in seen[0]
    written = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    with open_replay(str(tmp_path / "run.rtr")) as recording:
        events = [recording.header_bytes, *(ev.encode(event) for event in recording.iter() if isinstance(event, ev.Event))]
    assert any(b"***" in data for data in events), "the refusal was not recorded"
    written += events
    for data in (*seen, *written, done.stdout, done.stderr):
        assert not leaks(data)
