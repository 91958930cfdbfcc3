"""docs/json.md names the keys there are, all of them and no other."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import games
from replays.info import info
from replays.reader import open_replay
from rtdesk.cli import run
from rtdesk.model import model
from workers.answers import answer_report
from workers.errors import ConfigError
from workers.simulator import simulate

ROOT = Path(__file__).parent.parent
RECORDING = ROOT / "docs" / "recordings" / "trap-agile.rtr"


def listed(heading: str) -> set[str]:
    """Keys in the first column of the section's table."""
    page = (ROOT / "docs" / "json.md").read_text(encoding="utf-8")
    section = page.split(f"\n## `{heading}")[1].split("\n## ")[0]
    return {key for row in re.findall(r"^\| (`.*?) \|", section, re.MULTILINE) for key in re.findall(r"`(\w+)`", row)}


def printed(capsys: pytest.CaptureFixture[str]) -> set[str]:
    import json

    return set(json.loads(capsys.readouterr().out))


def test_play() -> None:
    assert listed("rtdesk play") == set(simulate("snake", agent="default", load="easy", seed=0).summary)


def test_info() -> None:
    with open_replay(RECORDING) as recording:
        assert listed("rtdesk info") == set(info(recording))


def test_verify(capsys: pytest.CaptureFixture[str]) -> None:
    run(["verify", str(RECORDING), "--json", "--no-thinkers"])
    assert listed("rtdesk verify") == printed(capsys)


def test_model(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ConfigError):
        model("nobody/m", prompt="?", idle_timeout="30s", as_json=True)
    # What cannot be asked has no address.
    assert listed("rtdesk model") - printed(capsys) == {"url", "model", "profile"}


def test_answer() -> None:
    assert listed("rtdesk answer") == set(answer_report(games.spec("snake"), "\\boxed{U}", "act"))
