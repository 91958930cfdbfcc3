"""What the tests of bench and report share: the newcomer's game, those that fail or wait, and rows made by hand."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rtdesk.bench.folder import Writer
from rtdesk.bench.grid import Cell
from rtdesk.bench.rows import Row, encode_row, key_of
from rtdesk.cli import run

REPOSITORY = Path(__file__).parent.parent
SMALL = ["--games", "freeway", "--agents", "random,reactive", "--ticks", "4", "--jobs", "1"]
GUIDE = REPOSITORY / "docs" / "add-your-own.md"
FILE = re.compile(r"<!-- file: (\S+) -->\n```python\n(.*?)```", re.DOTALL)
UNLUCKY = """

import os
import threading

_step = Game.step


def step(self, *given):
    print("a game that talks")
    if self.seed == 1:
        raise RuntimeError("bad luck")
    if self.seed == 2:
        os._exit(7)
    if self.seed == 3:
        threading.Event().wait()
    return _step(self, *given)


Game.step = step
"""
GATED = """

_step = Game.step


def step(self, *given):
    if self.seed >= 2:
        open("gate").close()
    return _step(self, *given)


Game.step = step
"""


def newcomers(folder: Path) -> None:
    """Write the three files of the guide, `unlucky.py`, a corridor that fails on seed 1, kills its process on 2 and hangs on 3, and
    `gated.py`, one that opens `gate` at each step from seed 2 on: while that is a pipe nobody writes into, it stands there."""
    files = dict(FILE.findall(GUIDE.read_text(encoding="utf-8")))
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "unlucky.py").write_text(files["corridor.py"].replace('name="corridor"', 'name="unlucky"') + UNLUCKY, encoding="utf-8")
    (folder / "gated.py").write_text(files["corridor.py"].replace('name="corridor"', 'name="gated"') + GATED, encoding="utf-8")


def stand_in(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand in a folder with the newcomer's files; no setting of whoever runs the tests plays a part."""
    newcomers(folder)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder))
    for name in ("RTDESK_API_KEY", "OPENAI_API_KEY", "DEEPSEEK_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    return folder


def bench(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> dict[str, Any]:
    """Run a bench with --json; returns its one object."""
    assert run(["bench", *arguments, "--json"]) == code
    return json.loads(capsys.readouterr().out)


def same(result: dict[str, Any]) -> dict[str, Any]:
    """What two runs of one thing share."""
    return {name: value for name, value in result.items() if name not in ("meas", "folder")}


def rows_of(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]


def row(seed: int, score: float | None, *, agent: str = "agile", config: str = "", sample: int = 0, **more: Any) -> Row:
    """A row of an episode of ten ticks, different from all others unless told otherwise."""
    config = config or f"{agent}-config"
    told: dict[str, Any] = {
        "game": "snake",
        "load": "easy",
        "tick_budget": 8192,
        "reactive_budget": 2048 if agent.startswith("agile") else None,
        "ticks": 10,
        "moves": f"{config} {seed} {sample} {score}",
        "raw_score": None if score is None else score * 24,
        "points": None if score is None else score * 24,
        "done_reason": "cap",
        **more,
    }
    return Row(key=key_of(config, seed, sample), config=config, agent=agent, seed=seed, sample=sample, score=score, status="error" if score is None else "ok", **told)


def cell(agent: str, seeds: list[int], **more: Any) -> Cell:
    """The cell of `row`s."""
    told: dict[str, Any] = {"game": "snake", "load": "easy", "tick_budget": 8192, "reactive_budget": 2048 if agent.startswith("agile") else None, **more}
    config = told.pop("config", f"{agent}-config")
    return Cell(config=config, agent=agent, design=told.pop("design", f"{agent}-design"), settings=told.pop("settings", {}), seeds=seeds, points_max=24, points_name="apples", **told)


def write_rows(folder: Path, rows: list[Row], *, tail: bytes = b"") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "results.jsonl").write_bytes(b"".join(map(encode_row, rows)) + tail)


def report(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> dict[str, Any]:
    """Run a report with --json; returns its one object."""
    assert run(["report", *arguments, "--json"]) == code
    return json.loads(capsys.readouterr().out)


def lay(folder: Path, cells: list[Cell], rows: list[Row]) -> str:
    """Write a folder of results."""
    with Writer(folder) as writer:
        writer.plan(cells)
        for one in rows:
            writer.row(one)
    return str(folder)


def wait_for(what: Callable[[], bool], *, seconds: float = 100.0) -> None:
    """Wait until something is so; fails after `seconds`."""
    import threading
    import time

    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline, "waited in vain"
        threading.Event().wait(0.02)


def children_in(folder: Path) -> list[str]:
    """Processes of ours that stand in a folder."""
    out = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if process.name != str(os.getpid()) and (process / "cwd").resolve() == folder.resolve() and b"spawn" in (process / "cmdline").read_bytes():
                out.append(process.name)
        except OSError:
            continue
    return out
