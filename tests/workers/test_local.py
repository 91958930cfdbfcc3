"""Local models without one: what a spec says, what cannot be run, and a server that lives as long as who started it."""

from __future__ import annotations

import os
import runpy
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from live_kit import gone
from model_kit import ModelServer, Say, delta, sse, usage

from replays import events as ev
from rtdesk.cli import run
from workers import backends
from workers.backends import local
from workers.backends.local import Host, Model, read_spec
from workers.config import plan_episode
from workers.errors import ConfigError, WorkerError
from workers.recorded import config_of
from workers.simulator import simulate

REPOSITORY = Path(__file__).parents[2]
CHILD = REPOSITORY / "workers" / "backends" / "_llama.py"

WAITS = """
import os, sys
print('{"url": "%s"}', flush=True)
while os.read(0, 4096):
    pass
"""
"""A server's process as its starter sees it: an address, and an end when the pipe ends."""

FAKE = """
import runpy, sys, types


class Part(types.SimpleNamespace):
    def __getattr__(self, name):
        self.__dict__[name] = Part()
        return self.__dict__[name]


class Server:
    def __init__(self, params):
        if "bad" in params.model.path:
            raise RuntimeError("no such tensor")
        told = [params.n_ctx, params.n_parallel, params.cpuparams.n_threads, params.port, params.hostnames, sorted(params.model_alias)]
        self.listening_address = repr(told)


sys.modules["xllamacpp"] = types.SimpleNamespace(CommonParams=Part, Server=Server)
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""
"""Runs the child's own file on a stand-in for llama.cpp."""


@pytest.fixture
def model(tmp_path: Path) -> str:
    path = tmp_path / "tiny.gguf"
    path.write_bytes(b"GGUF" + bytes(20))
    return str(path)


@pytest.fixture
def child(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that is run in place of the server's."""
    monkeypatch.setattr(local, "check_installed", lambda: None)
    path = tmp_path / "child.py"
    monkeypatch.setattr(local, "_CHILD", path)
    return path


def test_a_spec_says_which_file_and_how_to_run_it(model: str) -> None:
    assert read_spec(model) == Model(path=model)
    assert read_spec(f"{model}?threads=8&context=8192&slots=4&layers=99") == Model(path=model, threads=8, context=8192, slots=4, layers=99)


@pytest.mark.parametrize(
    ("rest", "said"),
    [
        ("", "give local:FILE.gguf"),
        ("/nowhere/x.gguf", "cannot be read (No such file or directory)"),
        ("{model}?thread=8", "'thread'; did you mean 'threads'?"),
        ("{model}?threads=0", "threads='0' of local:tiny.gguf is out of range; give a whole number from 1 to 1024"),
        ("{model}?threads=many", "out of range"),
    ],
)
def test_a_wrong_spec_is_one_clear_line(rest: str, said: str, model: str) -> None:
    with pytest.raises(ConfigError, match=r"^[^\n]+$") as caught:
        backends.make(f"local:{rest.format(model=model)}")
    assert said in str(caught.value)


def test_a_file_that_is_no_model_is_refused_before_anything_starts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "notes.gguf").write_text("just text")
    assert run(["play", "snake", "--headless", "--no-record", "--reactor", f"local:{tmp_path / 'notes.gguf'}"]) == 2
    assert "is no GGUF file" in capsys.readouterr().err


def test_the_extra_that_is_missing_is_named(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"pip install 'rtdesk\[local\]'"):
        plan_episode("snake", agent="reactive", reactor=f"local:{model}")


def test_the_header_names_the_file_and_no_folder(model: str, child: Path) -> None:
    info = backends.make(f"local:{model}?threads=3").info
    assert (info.spec, info.title, info.exact, info.deterministic) == ("local:tiny.gguf", "tiny", False, False)
    assert info.params == {"context": 4096, "slots": 2, "threads": 3, "layers": 0}


def test_a_recording_does_not_start_a_model(model: str, child: Path) -> None:
    header = ev.Episode(tick=0, game="snake", load="easy", seed=0, agent="reactive", tick_budget_tokens=8192, backends={"reactor": backends.make(f"local:{model}").info})
    with pytest.raises(ConfigError, match="not used on a recording's word"):
        config_of(header)


def test_an_episode_starts_one_server_for_both_and_ends_it(model: str, child: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[Host] = []
    make = local.Host

    def counted(of: Model) -> Host:
        started.append(make(of))
        return started[-1]

    monkeypatch.setattr(local, "Host", counted)
    said = Say(sse(delta("\\boxed{U}"), delta(finish="stop"), usage(5)))
    with ModelServer(said) as server:
        child.write_text(WAITS % server.url.removesuffix("/v1"))
        events = simulate("freeway", load="easy", ticks=2, planner=f"local:{model}", reactor=f"local:{model}").events
        assert {asked.body["model"] for asked in server.asked} == {"tiny.gguf"}
    assert [event.letter for event in events if isinstance(event, ev.Action)] == ["U", "U"]
    [one] = started
    gone([one.pid], seconds=2)
    assert not [name for name in os.environ if name.startswith("RTDESK_LOCAL_")]


def test_a_backend_on_its_own_starts_a_server_and_ends_it(model: str, child: Path) -> None:
    with ModelServer(Say(sse(delta("hi"), delta(finish="stop"), usage(1)))) as server:
        child.write_text(WAITS % server.url.removesuffix("/v1"))
        backend = backends.make(f"local:{model}")
        assert isinstance(backend, local.Backend)
        assert backend._own is None
        assert [item.text for item in backend.ask("hello") if isinstance(item, backends.Chunk)] == ["hi"]
        own = backend._own
        assert own is not None
        backend.close()
        gone([own.pid], seconds=2)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("print('{\"error\": \"no such tensor\"}')", "does not load: no such tensor"),
        ("import sys; print('E load: error: bad magic', file=sys.stderr); sys.exit(3)", r"ended with exit code 3 \(E load: error: bad magic\)"),
    ],
)
def test_a_model_that_does_not_load_says_why(text: str, said: str, model: str, child: Path) -> None:
    child.write_text(text)
    with pytest.raises(WorkerError, match=said):
        Host(read_spec(model))
    with pytest.raises(WorkerError):
        simulate("snake", agent="reactive", reactor=f"local:{model}")


def test_a_server_ends_with_its_parent_however_that_dies(model: str, child: Path) -> None:
    child.write_text(WAITS % "http://127.0.0.1:1")
    code = (
        "import os, pathlib, sys\n"
        "from workers.backends import local\n"
        "local.check_installed = lambda: None\n"
        f"local._CHILD = pathlib.Path({str(child)!r})\n"
        f"host = local.Host(local.read_spec({model!r}))\n"
        "print(host.pid, flush=True)\n"
        "sys.stdin.read()\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=REPOSITORY)
    assert parent.stdout is not None
    assert parent.stdin is not None
    pid = int(parent.stdout.readline())
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    gone([pid], seconds=2)
    parent.stdin.close()
    parent.stdout.close()


def child_says(model: str) -> tuple[str, int]:
    """The first line of the server's own process, and its exit code once its pipe has ended."""
    command = [sys.executable, "-c", FAKE, str(CHILD), model, "4096", "2", "1", "0"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        if "Error" in line:
            # It ends by itself, with its own code, before the end of its stdin would end it.
            process.wait(30)
        process.communicate()
    return line, process.returncode


def test_the_servers_process_listens_on_loopback_alone_and_gives_each_stream_its_context() -> None:
    line, code = child_says("/models/m.gguf")
    assert "[8192, 2, 1, 0, ['127.0.0.1'], ['m.gguf']]" in line
    assert code == 0


def test_the_servers_process_says_why_it_cannot() -> None:
    line, code = child_says("bad.gguf")
    assert "RuntimeError: no such tensor" in line
    assert code == 1


def test_a_command_probes_a_local_model(model: str, child: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with ModelServer(Say(sse(delta("hello"), delta(finish="stop"), usage(1)))) as server:
        child.write_text(WAITS % server.url.removesuffix("/v1"))
        assert run(["model", f"local:{model}", "--prompt", "hi"]) == 0
    assert "hello" in capsys.readouterr().out


def test_the_server_file_imports_nothing_of_ours() -> None:
    names = set(runpy.run_path(str(CHILD), run_name="looked at"))
    assert {"json", "os", "sys", "threading"} <= names
    assert not names & {"workers", "games", "replays", "rtdesk"}
