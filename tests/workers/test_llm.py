"""A real model behind a real llama.cpp server, on loopback: wire, streaming, cancelling, budgets, and whole live episodes. Never scores.

`make test-llm` fetches what it needs. The model can write and no more, so where an answer must be legal a grammar sees to it.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from clock_kit import of
from live_kit import gone, watched

from replays import events as ev
from replays.timing import StreamTimes
from workers.backends import Chunk, Finish
from workers.backends.openai import Backend
from workers.backends.openai.settings import Places
from workers.config import plan_episode
from workers.errors import BackendError

pytestmark = pytest.mark.llm

REPOSITORY = Path(__file__).parents[2]
PLANNER = "{game}. Actions: {actions}.\n{observation}\n{memory}\nIt is turn {turn}. Think about the next turns.\n"
REACTOR = "{game}. Actions: {actions}.\n{observation}\n{guidance}\nIt is turn {turn}. Answer with one action as \\boxed{X}.\n"
GRAMMAR = 'root ::= "\\\\boxed{" [LRUD] "}"'
ENDLESS = "root ::= [a-z ] root"
STORY = "Tell a very long story about a snake."


@pytest.fixture(scope="module")
def weights() -> str:
    pytest.importorskip("xllamacpp", reason="needs the extra local")
    import weights as kept

    assert kept.cached(), "no weights; make test-llm fetches them"
    return str(kept.place())


@pytest.fixture(scope="module")
def server(weights: str) -> Iterator[str]:
    """The base URL of one server for all tests."""
    from workers.backends.local import Host, read_spec

    host = Host(read_spec(weights))
    yield f"{host.url}/v1"
    host.close()
    gone([host.pid], seconds=2)


@pytest.fixture
def backend(server: str) -> Iterator[Backend]:
    made = Backend(f"{server}#smollm2", places=Places(environ={}))
    yield made
    made.close()


@pytest.fixture
def home(server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home whose settings know the server by three names, and short prompts: `tiny`, `letters`, which can say nothing but a legal answer, and
    `rambler`, which can neither box anything nor end."""
    settings = tmp_path / "rtdesk"
    settings.mkdir()
    (settings / "config.toml").write_text(
        f'[providers.tiny]\nurl = "{server}"\n\n[providers.letters]\nurl = "{server}"\n[providers.letters.parameters]\ngrammar = \'{GRAMMAR}\'\n'
        f'\n[providers.rambler]\nurl = "{server}"\n[providers.rambler.parameters]\ngrammar = "{ENDLESS}"\n'
    )
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    prompts = tmp_path / "prompts"
    prompts.mkdir()
    (prompts / "planner.txt").write_text(PLANNER)
    (prompts / "reactor.txt").write_text(REACTOR)
    return tmp_path


def play(home: Path, *, planner: str = "tiny/m", reactor: str = "letters/m", **options: Any) -> list[ev.AnyEvent]:
    """A live agile episode, from its file."""
    config = plan_episode("snake", load="easy", planner=planner, reactor=reactor, prompts=str(home / "prompts"), **options)
    with watched(config, record=home / "run.rtr") as live:
        live.until("end of the episode", lambda: live.run.end is not None, seconds=300)
        live.run.close()
        assert live.run.failure is None
        return live.log()


def ends(events: list[ev.AnyEvent], stream: str) -> list[Any]:
    return of(events, ev.Generation, stream=stream, phase="end")


# The wire.


def test_an_answer_streams_token_by_token_and_its_usage_is_told(backend: Backend) -> None:
    items = list(backend.ask("Count from 1 to 20.", max_tokens=40))
    *chunks, finish = [item for item in items if not (isinstance(item, Chunk) and not item.lens)]
    assert isinstance(finish, Finish)
    counted = sum(len(chunk.lens) for chunk in chunks if isinstance(chunk, Chunk))
    assert len(chunks) > 5
    assert finish.usage_tokens is not None
    # Its end token is counted by the server and has no text.
    assert abs(finish.usage_tokens - counted) <= 1
    assert finish.meas is not None
    assert finish.meas["ttft_s"] > 0
    assert finish.meas["tpot_s"] > 0
    assert finish.meas["tokens_estimated"] is False


def test_a_budget_ends_an_answer(backend: Backend) -> None:
    finish = list(backend.ask(STORY, max_tokens=16))[-1]
    assert isinstance(finish, Finish)
    assert (finish.reason, finish.usage_tokens) == ("length", 16)


def test_a_cancelled_answer_frees_its_place_at_the_server(backend: Backend) -> None:
    """There are two places. Were the stories told to their end, which is beyond a minute, the third would wait for them."""
    for _ in range(2):
        stream = backend.ask(STORY, max_tokens=3000)
        assert any(isinstance(item, Chunk) and item.lens for item in stream)
        stream.cancel()
    began = time.monotonic()
    assert list(backend.ask("Say yes.", max_tokens=4))
    assert time.monotonic() - began < 15


def test_two_answers_come_at_the_same_time(backend: Backend) -> None:
    spans: list[tuple[float, float]] = []

    def read() -> None:
        times = [time.monotonic() for item in backend.ask(STORY, max_tokens=48) if isinstance(item, Chunk) and item.lens]
        spans.append((times[0], times[-1]))

    threads = [threading.Thread(target=read) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (a, b), (c, d) = spans
    assert max(a, c) < min(b, d)


def test_a_prompt_beyond_the_context_is_an_overflow_and_says_so(backend: Backend) -> None:
    with pytest.raises(BackendError, match=r"^context overflow: http://127.0.0.1:"):
        list(backend.ask("x " * 6000, max_tokens=4))


def test_an_answer_goes_on_from_its_beginning(backend: Backend) -> None:
    text = "".join(item.text for item in backend.ask("Count from 1 to 9.", max_tokens=6, prefix="1, 2, 3, 4, 5,") if isinstance(item, Chunk))
    assert text.strip().startswith("6")


# Whole episodes.


def test_a_live_agile_episode_in_token_time(home: Path) -> None:
    events = play(home, tick_budget=96, reactive_budget=32, ticks=4, seed=3)
    assert of(events, ev.Fault) == []
    actions = of(events, ev.Action)
    assert [action.source for action in actions] == ["reactor"] * len(actions)
    assert len(actions) >= 2
    planned = of(events, ev.Generation, stream="planner", phase="start")
    assert planned
    # It thinks across ticks: what was written in a tick is what the tick lasted, or the thinking ended there.
    for tick in of(events, ev.Tick):
        written = sum(len(token.lens) for token in of(events, ev.Token, stream="planner", tick=tick.tick))
        over = [end for end in ends(events, "planner") if end.tick == tick.tick]
        assert written == 96 or over
    shown = [part for start in of(events, ev.Generation, stream="reactor", phase="start") for part in start.prompt if isinstance(part, ev.Part) and part.guidance]
    assert shown
    for end in ends(events, "reactor"):
        assert end.usage_tokens is not None
        assert abs(end.usage_tokens - end.clock_tokens) <= 1
        assert end.meas["ttft_s"] > 0


def test_planner_and_reactor_think_at_the_same_time(home: Path) -> None:
    events = play(home, tick_budget="6s", reactive_budget="4s", ticks=2, seed=3)
    assert of(events, ev.Fault) == []
    header = events[0]
    assert isinstance(header, ev.Episode)
    assert header.clock == "wall"
    actions = of(events, ev.Action)
    # A machine that is busy may be late, and then it is counted.
    assert {(action.source, action.reason) for action in actions} <= {("reactor", None), ("default", "late")}
    end = of(events, ev.End)[0]
    assert end.totals.late_actions == sum(action.reason == "late" for action in actions)
    assert end.totals.planner_tokens > 0
    times = StreamTimes()
    for event in events:
        if isinstance(event, ev.Generation) and event.stream == "reactor":
            (times.start if event.phase == "start" else times.end)(event)
    assert times.summary()["ttft_s"] is not None


def test_a_reactor_that_rambles_is_asked_for_its_answer(home: Path) -> None:
    events = play(home, reactor="rambler/m", tick_budget=96, reactive_budget=64, force_answer=True, ticks=2, seed=3)
    assert of(events, ev.Fault) == []
    asked = [answer for answer in of(events, ev.Answer, stream="reactor") if answer.forced]
    assert asked
    for answer in asked:
        [end] = [end for end in ends(events, "reactor") if end.id == answer.generation]
        assert end.clock_tokens <= 64
        content = "".join(token.text for token in of(events, ev.Token, stream="reactor", generation=answer.generation, channel="content"))
        assert "\\boxed{" in content


def test_a_users_own_file_plays(weights: str, home: Path) -> None:
    events = play(home, planner=f"local:{weights}", reactor=f"local:{weights}", tick_budget=48, reactive_budget=16, ticks=2, seed=3)
    header = events[0]
    assert isinstance(header, ev.Episode)
    assert {backend.spec for backend in header.backends.values()} == {f"local:{Path(weights).name}"}
    assert of(events, ev.Fault) == []
    assert all(end.clock_tokens > 0 for end in ends(events, "reactor"))


def test_the_real_server_ends_with_its_parent(weights: str) -> None:
    code = (
        "import sys\nfrom workers.backends.local import Host, read_spec\n"
        f"host = Host(read_spec({weights!r}))\nprint(host.pid, flush=True)\nsys.stdin.read()\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=REPOSITORY)
    assert parent.stdout is not None
    assert parent.stdin is not None
    pid = int(parent.stdout.readline())
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    gone([pid], seconds=5)
    parent.stdin.close()
    parent.stdout.close()
