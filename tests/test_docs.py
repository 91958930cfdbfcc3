"""The code in docs/ is run as it stands: the three files of a newcomer, and every block marked as a test."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from games.check import check_game
from replays import events as ev
from replays.errors import ReplayError
from replays.reader import open_replay
from replays.verify import verify
from rtdesk.cli import run
from rtdesk.world import realtime
from workers.check import check_agent, check_backend
from workers.simulator import SimulatedEpisode, simulate

DOCS = Path(__file__).parent.parent / "docs"
FILE = re.compile(r"<!-- file: (\S+) -->\n```python\n(.*?)```", re.DOTALL)
BLOCK = re.compile(r"<!-- test -->\n```python\n(.*?)```", re.DOTALL)


def files() -> dict[str, str]:
    return dict(FILE.findall((DOCS / "add-your-own.md").read_text(encoding="utf-8")))


def blocks(name: str) -> list[str]:
    return BLOCK.findall((DOCS / name).read_text(encoding="utf-8"))


@pytest.fixture
def newcomer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the three files, and standing in it."""
    for name, text in files().items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_each_of_the_three_files_is_under_sixty_lines() -> None:
    assert {name: text.count("\n") < 60 for name, text in files().items()} == {"echo.py": True, "careful.py": True, "corridor.py": True}


def test_the_three_files_pass_their_checkers(newcomer: Path) -> None:
    check_game("./corridor.py").raise_on_error()
    check_agent("./careful.py").raise_on_error()
    check_backend("./echo.py").raise_on_error()


def sources(played: SimulatedEpisode) -> set[str]:
    return {event.source for event in played.events if isinstance(event, ev.Action)}


def test_the_game_plays_by_its_path(newcomer: Path) -> None:
    played = simulate("./corridor.py", agent="random", seed=3)
    assert played.summary["done_reason"] in ("goal", "cap")
    assert played.summary["score"] == played.summary["points"] / 9


def test_the_backend_plays_by_its_path(newcomer: Path) -> None:
    played = simulate("snake", agent="reactive", reactor="./echo.py", load="easy")
    assert sources(played) == {"reactor"}
    assert played.summary["reactor_tokens"] > 0
    assert played.summary["faults"] == 0


def test_the_agent_plays_by_its_path_and_all_three_together(newcomer: Path) -> None:
    played = simulate("snake", agent="./careful.py", planner="./echo.py", reactor="./echo.py", load="easy")
    assert "plan" in sources(played)
    assert played.summary["default_actions"] == 0
    together = simulate("./corridor.py", agent="./careful.py", planner="./echo.py", reactor="./echo.py")
    # Echo always answers with the first action, which is L: forty turns at the left end.
    assert together.summary["ticks"] == 40
    assert together.summary["points"] == 0
    assert together.summary["default_actions"] == 0


def test_a_replay_of_the_game_verifies_only_with_a_game_the_person_names(newcomer: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with realtime("./corridor.py", tick_budget=100, record="run.rtr") as world:
        while not world.done:
            world.observe()
            world.act("R")
    with open_replay("run.rtr") as recording:
        with pytest.raises(ReplayError, match="not loaded on a replay's word"):
            verify(recording)
        assert verify(recording, game="./corridor.py").same
    assert run(["verify", "run.rtr"]) == 2
    assert "name it yourself with --game" in capsys.readouterr().err
    assert run(["verify", "run.rtr", "--game", "./corridor.py"]) == 0
    assert run(["verify", "run.rtr", "--game", "snake"]) == 1


@pytest.mark.parametrize("place", range(len(blocks("add-your-own.md"))))
def test_blocks_of_the_guide_run(place: int, newcomer: Path) -> None:
    exec(compile(blocks("add-your-own.md")[place], f"docs/add-your-own.md, block {place}", "exec"), {"__name__": "docs"})


@pytest.mark.parametrize("place", range(len(blocks("environments.md"))))
def test_blocks_about_environments_run(place: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    text = blocks("environments.md")[place]
    if "gym" in text:
        pytest.importorskip("gymnasium")
        pytest.importorskip("pettingzoo")
    monkeypatch.chdir(tmp_path)
    exec(compile(text, f"docs/environments.md, block {place}", "exec"), {"__name__": "docs"})
    if "env.spend" in text:
        assert capsys.readouterr().out == "True 1\n"
    if "record=" in text:
        assert run(["verify", "mine.rtr"]) == 0


def test_check_on_the_command_line_says_what_it_found(newcomer: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "game", "./corridor.py"]) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[0] == "ok    surface"
    assert out.splitlines()[-1] == "game ./corridor.py passes (13 checks)"
    broken = newcomer / "gusty.py"
    broken.write_text(files()["corridor.py"].replace("reward=self.points - before", "reward=self.points"), encoding="utf-8")
    assert run(["check", "game", "./gusty.py"]) == 1
    assert "FAIL  episodes" in capsys.readouterr().out


def test_check_as_json_is_one_object(newcomer: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import json

    assert run(["check", "agent", "./careful.py", "--game", "./corridor.py", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report == {
        "kind": "agent",
        "subject": "./careful.py",
        "ok": True,
        "checks": ["surface", "prompts", "decisions", "episode"],
        "findings": [],
    }
    bad = newcomer / "mute.py"
    bad.write_text(files()["echo.py"].replace('lengths(answer), "content"', "lengths(answer)"), encoding="utf-8")
    assert run(["check", "backend", "./mute.py", "--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert {found["check"] for found in report["findings"]} == {"streams"}
    assert set(report["findings"][0]) == {"check", "problem", "cause"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["game", "snek"], "did you mean 'snake'"),
        (["game", "./nowhere.py"], "no such file"),
        (["agent", "agil"], "did you mean 'agile'"),
        (["backend", "./nowhere.py"], "no such file"),
        (["backend", "builtin", "--game", "snek"], "did you mean 'snake'"),
        (["game", "snake", "--game", "freeway"], "leave it out"),
        (["board", "snake"], "'board' is not one of"),
    ],
)
def test_check_of_what_is_not_there_is_one_line_and_exit_2(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("rtdesk: ")
    assert err.count("\n") == 1
    assert words in err
