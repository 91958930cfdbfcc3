"""Who plays the episodes of a bench: processes of this machine, or workers of dask. They know little, and leave nothing behind."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from bench_kit import REPOSITORY, SMALL, bench, children_in, rows_of, same, stand_in, wait_for

from replays.reader import open_replay
from rtdesk.bench.grid import Asked as Grid
from rtdesk.bench.grid import make_plan
from rtdesk.bench.pool import LocalEngine
from rtdesk.bench.run import drive
from rtdesk.cli import run


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return stand_in(tmp_path, monkeypatch)


# Processes.


def test_children_load_neither_screen_nor_numpy_nor_requests(folder: Path) -> None:
    (folder / "spy.py").write_text(
        (folder / "corridor.py").read_text()
        + "\nimport json, multiprocessing, sys\n_over = Game.step\n\n\ndef step(self, *given):\n"
        "    names = sorted({name.split('.')[0] for name in sys.modules})\n"
        "    open('modules-' + multiprocessing.current_process().name, 'w').write(json.dumps(names))\n"
        "    return _over(self, *given)\n\n\nGame.step = step\n",
        encoding="utf-8",
    )
    assert run(["bench", "--games", "./spy.py", "--agents", "random", "--seeds", "0", "-o", "out"]) == 0
    modules = set(json.loads((folder / "modules-rtdesk-bench-1").read_text()))
    assert modules & {"textual", "rich", "numpy", "requests", "click"} == set()
    assert "workers" in modules


def test_the_first_child_is_kept_from_ctrl_c_like_the_others() -> None:
    """In a process of its own, for Python's resource tracker is started once in each, and with the first child."""
    script = (
        "import signal\nfrom multiprocessing import resource_tracker\nfrom workers.live.parts import held_back\n"
        "with held_back():\n    resource_tracker.ensure_running()\n    print(sorted(signal.pthread_sigmask(signal.SIG_BLOCK, ())))\n"
        "print(sorted(signal.pthread_sigmask(signal.SIG_BLOCK, ())))"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [str([signal.SIGHUP, signal.SIGINT]), "[]"]


def test_a_process_that_died_idle_is_started_again(folder: Path) -> None:
    first, second = make_plan(Grid(games=("./corridor.py",), agents=("random",), seeds="0-1")).jobs()
    engine = LocalEngine(1)
    try:
        done: list[Any] = []
        drive([first], engine, done=lambda job, told: done.append(told))
        (pid,) = children_in(folder)
        os.kill(int(pid), signal.SIGKILL)
        drive([second], engine, done=lambda job, told: done.append(told))
        assert [(told.key, told.ok) for told in done] == [(first.key, True), (second.key, True)]
    finally:
        engine.close()


def test_an_engine_closed_in_the_middle_leaves_nobody(folder: Path) -> None:
    jobs = make_plan(Grid(games=("./unlucky.py",), agents=("random",), seeds="3")).jobs()
    engine = LocalEngine(1, folder=str(folder))
    engine.start(jobs[0])
    assert engine.wait(0.0) == []
    engine.close()
    assert children_in(folder) == []


# dask.

cluster = pytest.mark.skipif(importlib.util.find_spec("distributed") is None, reason="needs the extra cluster")


def test_dask_that_is_not_installed_is_one_line(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    find: Callable[..., Any] = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *more: None if name == "distributed" else find(name, *more))
    assert run(["bench", *SMALL, "--engine", "dask", "-o", "out"]) == 2
    assert "pip install 'rtdesk[cluster]'" in capsys.readouterr().err
    assert not (folder / "out").exists()


@cluster
@pytest.mark.slow
def test_dask_plays_the_same_on_loopback_alone_and_leaves_nothing(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    local = bench(capsys, *SMALL, "--seeds", "0-1", "-o", "local")
    process = subprocess.Popen(
        [sys.executable, "-m", "rtdesk", "bench", *SMALL, "--seeds", "0-1", "--engine", "dask", "-o", "far", "--json"],
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    heard: set[str] = set()

    def over() -> bool:
        heard.update(listening(process.pid))
        return process.poll() is not None

    wait_for(over, seconds=110)
    out, err = process.communicate()
    assert process.returncode == 0, err
    assert same(json.loads(out)) == same(local)
    assert heard
    assert {address for address in heard if address != "127.0.0.1"} == set()
    digests = [{told["key"]: told["canonical"] for told in rows_of(folder / name)} for name in ("local", "far")]
    assert digests[0] == digests[1]
    for told in rows_of(folder / "far"):
        with open_replay(folder / "far" / told["replay"]) as recording:
            assert not recording.incomplete
    assert members(process.pid) == []


@cluster
@pytest.mark.slow
def test_dask_interrupted_leaves_nothing(folder: Path) -> None:
    (folder / "tmp").mkdir()
    process = subprocess.Popen(
        [sys.executable, "-m", "rtdesk", "bench", "--games", "snake", "--agents", "agile", "--engine", "dask", "--jobs", "2", "-o", "out", "--json"],
        env={**os.environ, "PYTHONPATH": str(REPOSITORY), "TMPDIR": str(folder / "tmp")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    wait_for(lambda: any((folder / "tmp").rglob("*.part")))
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert json.loads(out)["episodes"]["failed"] == 0
    assert "Traceback" not in err
    wait_for(lambda: members(process.pid) == [])
    assert list((folder / "tmp").iterdir()) == []


@cluster
@pytest.mark.slow
def test_dask_survives_a_game_that_kills_its_worker(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["bench", "--games", "./unlucky.py", "--agents", "random", "--seeds", "0-2,4", "--engine", "dask", "--jobs", "2", "-o", "out", "--json"]) == 1
    out, err = capfd.readouterr()
    counts = json.loads(out)["episodes"]
    assert counts == {"planned": 4, "ok": 2, "failed": 2, "missing": 0}
    assert "a game that talks" not in err
    faults = {told["seed"]: told["fault"] for told in rows_of(folder / "out")}
    assert "bad luck" in faults[1]
    assert "worker died" in faults[2]


@cluster
def test_a_scheduler_that_is_not_there_is_one_line(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rtdesk.bench.cluster.REACHED_S", 0.5)
    assert run(["bench", *SMALL, "--seeds", "0", "--engine", "dask=tcp://127.0.0.1:9", "-o", "out"]) == 1
    err = capsys.readouterr().err
    assert "no dask scheduler at tcp://127.0.0.1:9" in err.splitlines()[-1]
    assert "Traceback" not in err


@cluster
def test_paths_from_here_are_not_sent_elsewhere(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bench", "--games", "./corridor.py", "--agents", "random", "--engine", "dask=tcp://127.0.0.1:9", "-o", "out"]) == 2
    assert "give it whole" in capsys.readouterr().err


def members(group: int) -> list[int]:
    """Processes of a process group."""
    out = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            fields = (process / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[2]) == group and fields[0] != "Z":
            out.append(int(process.name))
    return out


def listening(group: int) -> set[str]:
    """Addresses that processes of a group listen at."""
    inodes = set()
    for pid in members(group):
        for link in Path(f"/proc/{pid}/fd").glob("*"):
            try:
                target = os.readlink(link)
            except OSError:
                continue
            if target.startswith("socket:["):
                inodes.add(target[8:-1])
    out = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and fields[9] in inodes:
                address = fields[1].partition(":")[0]
                out.add(".".join(str(int(address[at : at + 2], 16)) for at in (6, 4, 2, 0)) if len(address) == 8 else address)
    return out
