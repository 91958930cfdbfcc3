"""`rtdesk report` on folders that are whole, not complete, or broken, on replays alone, and its figures."""

from __future__ import annotations

import importlib.util
import json
import math
import os
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from bench_kit import cell, lay, report, row, rows_of

from rtdesk.bench.rows import encode_row
from rtdesk.cli import run
from rtdesk.report.data import _from_replays

# Folders.


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small bench, played."""
    folder = tmp_path_factory.mktemp("bench")
    words = ["--games", "freeway,snake", "--loads", "easy,hard", "--agents", "agile,reactive", "--tick-budgets", "4096,2048", "--reactive-budgets", "512,1024"]
    assert run(["bench", *words, "--seeds", "0-1", "--ticks", "3", "-o", str(folder / "out")]) == 0
    return folder / "out"


def test_two_reports_of_one_folder_are_the_same_bytes(played: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outs = []
    for _ in range(2):
        assert run(["report", str(played), "--json"]) == 0
        outs.append(capsys.readouterr().out)
    assert outs[0] == outs[1]
    assert outs[0].count("\n") == 1


def test_replays_alone_tell_the_same(played: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = report(capsys, str(played))
    alone = report(capsys, str(played / "replays"))
    assert alone["scores"] == whole["scores"]
    assert alone["tests"] == whole["tests"]
    assert alone["tokens"] == whole["tokens"]
    assert alone["episodes"]["planned"] is None
    # A row made from a recording says what a row of the bench says of itself.
    _, made = _from_replays(played / "replays", [])
    kept = {one["key"]: (one["design"], one["thinkers"]) for one in rows_of(played)}
    assert {one.key: (one.design, one.thinkers) for one in made} == kept


def test_the_text_has_every_table(played: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["report", str(played)]) == 0
    out = capsys.readouterr().out
    assert "48 episodes of 48 planned, 0 failed, 0 missing; builtin search" in out
    assert "score = points / most, clipped to 0 and 1: freeway 89 turns left; snake 24 apples" in out
    for heading in ("scores;", "paired sign-flip tests", "tokens of a plan"):
        assert heading in out
    assert max(map(len, out.splitlines())) <= 160


def test_a_folder_that_is_not_complete_says_what_is_missing(played: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bench.json").write_bytes((played / "bench.json").read_bytes())
    rows = [line for line in (played / "results.jsonl").read_bytes().splitlines(keepends=True) if json.loads(line)["seed"] == 0]
    (tmp_path / "results.jsonl").write_bytes(b"".join(rows) + b'{"key": "torn')
    found = report(capsys, str(tmp_path))
    assert found["episodes"] == {"planned": 48, "ok": 24, "failed": 0, "missing": 24}
    assert {tuple(gap["episodes"]) for gap in found["missing"]} == {("s1",)}
    assert "the last line of results.jsonl was torn off and does not count" in found["notes"]
    assert all(line["score"]["low"] is None for line in found["scores"])
    assert run(["report", str(tmp_path)]) == 0
    assert "missing, 24 (the same rtdesk bench command goes on):" in capsys.readouterr().out


def test_a_plan_of_which_nothing_is_played_yet_is_a_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = lay(tmp_path / "out", [cell("agile", [0])], [])
    found = report(capsys, folder)
    assert found["episodes"] == {"planned": 1, "ok": 0, "failed": 0, "missing": 1}
    assert run(["report", folder]) == 0


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda folder: None, "is no folder"),
        (lambda folder: folder.mkdir(), "no results.jsonl and no replays"),
        (lambda folder: folder.write_text("x"), "is no folder"),
        (lambda folder: lay(folder, [], []) and (folder / "bench.json").write_text("[]"), "no plan of a bench"),
        (lambda folder: folder.mkdir() or os.mkfifo(folder / "bench.json"), "bench.json: is no regular file"),
        (lambda folder: folder.mkdir() or (folder / "results.jsonl").mkdir(), "results.jsonl: is no regular file"),
    ],
)
def test_what_is_no_folder_of_results_is_one_line(make: Callable[[Path], Any], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make(tmp_path / "out")
    assert run(["report", str(tmp_path / "out")]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert words in err


def test_an_agent_nobody_has_played_is_one_line(played: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["report", str(played), "--against", "agil+ticks=3"]) == 2
    assert "did you mean 'agile+ticks=3'" in capsys.readouterr().err


def test_a_wild_row_is_no_row_and_its_words_are_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = lay(tmp_path / "out", [cell("agile", [0, 1, 2])], [row(0, None, fault="\x1b[2Jgone\n\n\x07"), row(1, 0.5)])
    with open(Path(folder) / "results.jsonl", "ab") as file:
        file.write(b"[" * 10_000 + b"\n" + encode_row(row(0, 0.5)).replace(b'"seed":0', b'"seed":"x"') + b"\xff\xfe\n")
        file.write(encode_row(row(0, 0.5)).replace(b'"score":0.5', b'"score":1e999'))
        file.write(encode_row(row(2, 0.5, meas={"wall_s": "long", "calls": {"reactor": [[1], ["a", 2, 3, 4, 5, 6], 7]}})))
    assert run(["report", folder]) == 0
    out = capsys.readouterr().out
    assert "4 lines of results.jsonl are no rows" in out
    assert "\x1b" not in out
    assert "\x07" not in out


@pytest.mark.parametrize(
    "edit",
    [{"seed": 1}, {"sample": 1}, {"config": "other"}, {"score": 7.5}, {"score": -0.1}, {"score": None}, {"status": "fine"}, {"points": 1e300}, {"status": "error"}],
)
def test_a_row_that_no_bench_can_have_written_moves_no_mean(edit: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = lay(tmp_path / "out", [cell("agile", [0, 1])], [row(1, 0.5)])
    with open(Path(folder) / "results.jsonl", "ab") as file:
        file.write(encode_row(msgspec.structs.replace(row(0, 0.9), **edit)))
    found = report(capsys, folder)
    assert (found["scores"][0]["ok"], found["scores"][0]["score"]["mean"], found["episodes"]["missing"]) == (1, 0.5, 1)
    assert "1 lines of results.jsonl are no rows and do not count" in found["notes"]


def test_a_plan_of_more_episodes_than_there_can_be_is_no_plan(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = lay(tmp_path / "out", [cell("agile", [0], samples=10**12)], [])
    assert run(["report", folder]) == 2
    assert "more than 1000000 episodes" in capsys.readouterr().err


def test_a_damaged_replay_is_told_and_the_others_count(played: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second, *_ = sorted((played / "replays").iterdir())
    (tmp_path / first.name).write_bytes(first.read_bytes())
    (tmp_path / second.name).write_bytes(second.read_bytes()[: second.stat().st_size // 2])
    (tmp_path / "none.rtr").write_bytes(b"nothing of the kind")
    found = report(capsys, str(tmp_path))
    assert found["episodes"]["ok"] == 1
    assert found["episodes"]["failed"] == 1
    assert "cut short" in found["failures"][0]["fault"]
    assert any("none.rtr" in note for note in found["notes"])


def test_recordings_of_play_are_told_by_their_agent(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["play", "freeway", "--agent", "random", "--seed", "3", "--ticks", "4", "--headless", "--record", str(tmp_path / "one.rtr")]) == 0
    capsys.readouterr()
    found = report(capsys, str(tmp_path))
    assert [(line["agent"], line["ok"]) for line in found["scores"]] == [("random", 1)]


# Figures.


drawing = pytest.mark.skipif(importlib.util.find_spec("matplotlib") is None, reason="needs the extra plots")


@drawing
def test_a_figure_has_an_interval_where_there_is_one_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from rtdesk.report import plots

    cells = [cell("reactive", seeds, load=load, config=load) for load, seeds in (("easy", [0, 1]), ("hard", [0]))]
    rows = [row(0, 0.8, agent="reactive", config="easy"), row(1, 0.6, agent="reactive", config="easy"), row(0, 0.5, agent="reactive", load="hard", config="hard")]
    found = report(capsys, lay(tmp_path / "out", cells, rows))
    ((name, figure),) = plots._figures(found)
    assert name == "score-over-load"
    (panel,) = figure.axes
    (drawn,) = panel.containers[0][2]
    heights = [float(np.ptp(segment[:, 1])) for segment in drawn.get_segments() if len(segment)]
    # A bar without height would say that one seed tells everything.
    assert [height > 0 for height in heights if not math.isnan(height)] == [True]


@drawing
@pytest.mark.slow
def test_figures_are_drawn_and_two_times_the_same(played: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = report(capsys, str(played), "--plots")
    names = [Path(path).name for path in found["plots"]]
    kinds = ("score-over-load", "score-over-pressure", "score-over-ntr", "tokens-of-answers")
    assert {f"{kind}.{ending}" for kind in kinds for ending in ("png", "svg")} <= set(names)
    first = {path: Path(path).read_bytes() for path in found["plots"]}
    assert all(data.startswith(b"\x89PNG") for path, data in first.items() if path.endswith(".png"))
    report(capsys, str(played), "--plots")
    assert {path: Path(path).read_bytes() for path in found["plots"]} == first
    text = (played / "plots" / "score-over-load.svg").read_text()
    assert "normalised score" in text
    assert "easy" in text


def test_figures_without_the_extra_are_one_line(played: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    find: Callable[..., Any] = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *more: None if name == "matplotlib" else find(name, *more))
    assert run(["report", str(played), "--plots"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err == "rtdesk: figures need matplotlib, which is not installed; pip install 'rtdesk[plots]', or leave out --plots\n"


def test_rows_of_a_bench_are_what_the_report_counts(played: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [told for told in rows_of(played) if (told["game"], told["load"], told["agent"], told["tick_budget"]) == ("snake", "easy", "reactive+ticks=3", 4096)]
    found = report(capsys, str(played))
    (line,) = (line for line in found["scores"] if (line["game"], line["load"], line["agent"], line["tick_budget"]) == ("snake", "easy", "reactive+ticks=3", 4096))
    assert line["score"]["mean"] == pytest.approx(statistics.fmean(told["score"] for told in rows), abs=1e-6)
    assert line["ok"] == 2
