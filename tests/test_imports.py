"""Who may import whom, and what is never loaded where it is not needed."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[1]
LAYERS = ("games", "replays", "workers", "rtdesk")
HEAVY = {"textual", "numpy", "requests"}
HOOK = """
import json, os, sys

leave = os._exit


def tell(code):
    import multiprocessing

    name = multiprocessing.current_process().name
    with open(os.path.join(os.environ["TELL_MODULES"], name + ".json"), "w") as file:
        json.dump(sorted({module.split(".")[0] for module in sys.modules}), file)
    leave(code)


os._exit = tell
"""


def imported(path: Path) -> Iterator[tuple[str, int]]:
    """Every module a file imports, at any depth, with the line."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: relative import; a file's path is its import path"
            yield node.module or "", node.lineno
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "import_module" and isinstance(node.args[0], ast.Constant):
            yield str(node.args[0].value), node.lineno


def sources(layer: str) -> list[Path]:
    found = sorted((REPOSITORY / layer).rglob("*.py"))
    assert found
    return found


@pytest.mark.parametrize("layer", LAYERS)
def test_each_folder_imports_only_what_stands_to_its_left(layer: str) -> None:
    right = set(LAYERS[LAYERS.index(layer) + 1 :])
    wrong = [f"{path}:{line} imports {name}" for path in sources(layer) for name, line in imported(path) if name.split(".")[0] in right]
    assert wrong == []


def test_textual_is_imported_by_the_screen_alone() -> None:
    screen = REPOSITORY / "rtdesk" / "tui"
    files = [path for layer in LAYERS for path in sources(layer) if screen not in path.parents]
    wrong = [f"{path}:{line} imports {name}" for path in files for name, line in imported(path) if name.split(".")[0] in ("textual", "rich")]
    assert wrong == []


def test_events_are_a_leaf() -> None:
    ours = [name for name, _ in imported(REPOSITORY / "replays" / "events.py") if name.split(".")[0] in LAYERS]
    assert ours == []


def loaded(code: str, folder: Path) -> set[str]:
    """Top-level modules that a fresh interpreter has loaded after `code`."""
    code += "\nimport json, sys\nprint(json.dumps(sorted({name.split('.')[0] for name in sys.modules})), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=REPOSITORY, env=home(folder), timeout=60, check=True)
    return set(json.loads(done.stderr.splitlines()[-1]))


def home(folder: Path, **more: str) -> dict[str, str]:
    return {**os.environ, "XDG_DATA_HOME": str(folder / "data"), "XDG_STATE_HOME": str(folder / "state"), **more}


def test_help_loads_nothing_heavy(tmp_path: Path) -> None:
    modules = loaded("from rtdesk.cli import run\nassert run(['--help']) == 0", tmp_path)
    assert modules & (HEAVY | {"multiprocessing", "msgspec", "rich"}) == set()
    assert "click" in modules


def test_console_script_imports_nothing_by_itself(tmp_path: Path) -> None:
    assert loaded("import rtdesk.__main__", tmp_path) - loaded("import typing", tmp_path) <= {"rtdesk", "__future__"}


def test_simulating_loads_no_screen_and_no_numpy(tmp_path: Path) -> None:
    modules = loaded("import rtdesk\nrtdesk.simulate('snake', agent='agile', ticks=2)", tmp_path)
    assert modules & HEAVY == set()


def test_children_load_neither_screen_nor_numpy_nor_requests(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(HOOK)
    env = home(tmp_path, PYTHONPATH=f"{tmp_path}{os.pathsep}{REPOSITORY}", TELL_MODULES=str(tmp_path))
    command = [sys.executable, "-m", "rtdesk", "play", "snake", "--ticks", "3", "--headless", "--json", "--record", str(tmp_path / "run.rtr")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=REPOSITORY, env=env, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    told = {path.stem: set(json.loads(path.read_text())) for path in tmp_path.glob("*.json")}
    assert {f"rtdesk-{role}" for role in ("game", "planner", "reactor", "recorder")} <= set(told)
    for name, modules in told.items():
        assert modules & (HEAVY | {"rich", "click"}) == set(), name
        assert "workers" in modules
