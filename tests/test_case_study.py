"""docs/case-study.md: every command runs, says what the page says it says, and the shipped recordings are what the commands make."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from replays.reader import open_replay
from rtdesk.cli import cli, run
from rtdesk.options import episode_options
from workers.config import plan_episode
from workers.episode import make_game, make_header

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "case-study.md").read_text(encoding="utf-8")
BEHIND = "run: python docs/make_recordings.py, and look whether the page still tells the truth"


def told() -> list[tuple[str, list[str]]]:
    """Each command of the page with the lines of output shown below it."""
    found = re.findall(r"^ {4}rtdesk (.*)\n(?:\n```text\n((?:.*\n)*?)```\n)?", PAGE, re.MULTILINE)
    return [(command, output.splitlines()) for command, output in found]


COMMANDS = told()


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which `docs` is there, and what commands write does no harm."""
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(("command", "output"), [row for row in COMMANDS if row[0].split()[0] not in ("play", "replay")], ids=lambda value: str(value)[:60])
def test_every_command_says_what_the_page_says(command: str, output: list[str], elsewhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = run(shlex.split(command))
    said, err = capsys.readouterr()
    assert code == (1 if command.startswith("diff") else 0), err
    lines = said.splitlines()
    at = 0
    for line in output:
        if line == "...":
            continue
        # A line may go on with what a machine or a version adds.
        at = next((i + 1 for i in range(at, len(lines)) if lines[i].startswith(line)), -1)
        assert at > 0, f"{line!r} is not in\n{said}{BEHIND}"


def test_the_page_shows_what_it_talks_about() -> None:
    kinds = [command.split()[0] for command, _ in COMMANDS]
    assert kinds.count("play") == 3
    assert set(kinds) >= {"verify", "replay", "info", "fork", "diff", "export"}


@pytest.mark.parametrize("line", [command for command, _ in COMMANDS if command.startswith("play")])
def test_the_shipped_recordings_are_what_the_commands_make(line: str, elsewhere: Path) -> None:
    context = cli.commands["play"].make_context("play", shlex.split(line)[1:])
    options: dict[str, Any] = {name: value for name, value in episode_options(context.params).items() if name in plan_episode.__kwdefaults__}
    options.pop("tick_rate", None)
    config = plan_episode(context.params["game"], **options)
    header = make_header(config, make_game(config), meas={})
    path = ROOT / "docs" / "recordings" / context.params["record"]
    with open_replay(path) as recording:
        for name in ("game", "load", "seed", "agent", "clock", "tick_budget_tokens", "reactive_budget_tokens"):
            assert getattr(recording.header, name) == getattr(header, name)
        assert recording.header.options["ticks"] == header.options["ticks"]
    assert path.stat().st_size < 400_000
    assert run(["verify", str(path)]) == 0, BEHIND


def test_the_pictures_are_small_and_ask_for_nothing() -> None:
    svg = (ROOT / "docs" / "desk.svg").read_text(encoding="utf-8")
    assert len(svg.encode()) < 150_000
    assert svg.startswith("<svg ")
    assert "seed 15, agile, tick 19" in svg
    assert not re.search(r"<script|@import|url\(|href", svg)
    gif = (ROOT / "docs" / "desk.gif").read_bytes()
    assert gif.startswith(b"GIF89a")
    assert len(gif) < 1_500_000


@pytest.mark.slow
@pytest.mark.parametrize("line", [command for command, _ in COMMANDS if command.startswith("play")])
def test_the_commands_that_made_them_run(line: str, elsewhere: Path) -> None:
    assert run(shlex.split(line)) == 0
    assert run(["diff", shlex.split(line)[-1], f"docs/recordings/{shlex.split(line)[-1]}"]) == 0, BEHIND
