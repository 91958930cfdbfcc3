"""`rtdesk report` against figures worked out by hand: scores, tests, tokens, speed, cost, and who is pooled with whom."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from bench_kit import cell, lay, report, row, write_rows

from rtdesk.bench.folder import Writer
from rtdesk.cli import run
from rtdesk.report.words import lines
from rtdesk.stats import bootstrap, wilson

# Tables.


def test_failed_episodes_have_no_score_and_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Case E01: ok 4, failed 2, mean over ok 6 of 10; with failures as zero it would be 4."""
    scores = [0.5, 0.7, None, 0.3, None, 0.9]
    rows = [row(seed, score, fault=None if score is not None else "provider_error") for seed, score in enumerate(scores)]
    found = report(capsys, lay(tmp_path / "out", [cell("agile", list(range(6)))], rows))
    line = found["scores"][0]
    assert (line["n"], line["ok"], line["failed"], line["missing"]) == (4, 4, 2, 0)
    assert line["score"]["mean"] == pytest.approx(0.6)
    assert line["score_failed_as_zero"] == pytest.approx(0.4)
    assert found["episodes"] == {"planned": 6, "ok": 4, "failed": 2, "missing": 0}
    assert [failure["seed"] for failure in found["failures"]] == [2, 4]
    assert run(["report", str(tmp_path / "out")]) == 0
    out = capsys.readouterr().out
    assert "4 episodes of 6 planned, 2 failed" in out
    assert "snake easy s2 agile: provider_error" in out


def test_one_row_an_episode_counts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Case E02: mean 4.5, here of ten."""
    rows = [row(seed, score) for seed, score in [(0, 0.5), (1, None), (3, 0.3), (4, 0.4), (3, 0.3), (1, 0.6), (4, None)]]
    found = report(capsys, lay(tmp_path / "out", [cell("agile", list(range(6)))], rows))
    assert found["scores"][0]["score"]["mean"] == pytest.approx(0.45)
    assert "3 rows repeat an episode; one good row counts for each" in found["notes"]
    assert [gap["episodes"] for gap in found["missing"]] == [["s2", "s5"]]


def test_a_line_has_means_intervals_and_rates(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = [(0.2, 1, "dead", 100, 10), (0.6, 3, "cap", 200, 20), (0.4, 2, "cap", 300, 30)]
    rows = [
        row(seed, score, default_actions=defaults, done_reason=why, planner_tokens=planner, reactor_tokens=reactor)
        for seed, (score, defaults, why, planner, reactor) in enumerate(told)
    ]
    line = report(capsys, lay(tmp_path / "out", [cell("agile", [0, 1, 2])], rows))["scores"][0]
    low, high = bootstrap([[0.2, 0.6, 0.4]])
    assert line["score"] == {"mean": 0.4, "low": round(low, 6), "high": round(high, 6), "interval": "bootstrap"}
    assert line["points"]["mean"] == pytest.approx(9.6)
    assert line["default_rate"]["mean"] == pytest.approx(0.2)
    assert (line["planner_tokens"], line["reactor_tokens"], line["ticks"]) == (200.0, 20.0, 10)
    assert line["ended"]["cap"] == {"n": 2, "of": 3, "low": round(wilson(2, 3)[0], 6), "high": round(wilson(2, 3)[1], 6)}


def test_samples_of_a_seed_are_one_value(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [row(0, 0.0, sample=0), row(0, 1.0, sample=1), row(1, 0.8, sample=0), row(1, 0.8, sample=1)]
    line = report(capsys, lay(tmp_path / "out", [cell("agile", [0, 1], samples=2, model=True)], rows))["scores"][0]
    assert (line["n"], line["ok"]) == (2, 4)
    low, high = bootstrap([[0.5, 0.8]])
    assert (line["score"]["mean"], line["score"]["low"], line["score"]["high"]) == (0.65, round(low, 6), round(high, 6))


def test_identical_episodes_count_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [row(seed, 0.25, moves="the same") for seed in range(4)] + [row(4, 0.75)]
    line = report(capsys, lay(tmp_path / "out", [cell("agile", list(range(5)))], rows))["scores"][0]
    assert (line["n"], line["ok"], line["identical"]) == (2, 5, 3)
    assert line["score"]["mean"] == 0.5


def test_the_line_over_all_games_weighs_games_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cells = [cell("agile", [0, 1]), cell("agile", [0], game="freeway", config="other")]
    rows = [row(0, 0.2), row(1, 0.4), row(0, 0.9, game="freeway", config="other")]
    scores = report(capsys, lay(tmp_path / "out", cells, rows))["scores"]
    assert [(line["game"], line["score"]["mean"]) for line in scores] == [("freeway", 0.9), ("snake", 0.3), ("all", 0.6)]
    # Where a game is not there yet, there is no such line.
    scores = report(capsys, lay(tmp_path / "part", cells, rows[:2]))["scores"]
    assert [line["game"] for line in scores] == ["freeway", "snake"]
    assert scores[0]["score"]["mean"] is None


def pairs(tmp_path: Path, agile: list[float | None], reactive: list[float | None], **more: Any) -> str:
    rows = [row(seed, score, **more) for seed, score in enumerate(agile)] + [row(seed, score, agent="reactive", **more) for seed, score in enumerate(reactive)]
    return lay(tmp_path / "out", [cell("agile", list(range(len(agile)))), cell("reactive", list(range(len(reactive))))], rows)


def test_agents_are_compared_over_the_seeds_both_have(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = pairs(tmp_path, [0.9, 0.8, 0.7, 0.6, None], [0.5, 0.5, 0.5, 0.5, 0.9])
    test = report(capsys, folder)["tests"][0]
    assert (test["a"], test["b"], test["pairs"], test["unpaired"]) == ("agile", "reactive", 4, 1)
    assert test["lead"] == pytest.approx(0.25)
    assert test["p"] == 2 / 16
    assert test["said"] == "p = 0.1250"
    assert [(one["a"], one["lead"]) for one in report(capsys, folder, "--against", "agile")["tests"]] == [("reactive", pytest.approx(-0.25))]


def test_a_test_without_a_difference_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = pairs(tmp_path, [0.5, 0.25], [0.5, 0.25], moves="")
    test = report(capsys, folder)["tests"][0]
    assert (test["p"], test["p_holm"], test["said"]) == (None, None, "n/a (identical episodes)")
    assert run(["report", folder]) == 0
    assert "n/a (identical episodes)" in capsys.readouterr().out


def test_pairs_of_identical_episodes_count_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [row(seed, 0.5, moves="a") for seed in range(3)] + [row(seed, 0.25, agent="reactive", moves="b") for seed in range(3)]
    test = report(capsys, lay(tmp_path / "out", [cell("agile", [0, 1, 2]), cell("reactive", [0, 1, 2])], rows))["tests"][0]
    assert (test["pairs"], test["identical"], test["p"]) == (1, 2, 1.0)


def test_over_all_loads_a_pair_is_a_seed_on_a_load(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cells, rows = [], []
    for load in ("easy", "hard"):
        for agent, score in (("agile", 0.75), ("reactive", 0.5)):
            cells.append(cell(agent, [0, 1], load=load, config=f"{agent}-{load}"))
            rows += [row(seed, score, agent=agent, load=load, config=f"{agent}-{load}") for seed in (0, 1)]
    tests = report(capsys, lay(tmp_path / "out", cells, rows))["tests"]
    assert [(test["load"], test["pairs"], test["p"]) for test in tests] == [("easy", 2, 0.5), ("hard", 2, 0.5), ("all", 4, 0.125)]
    # Of its kind there are two by load, and one over loads.
    assert [test["p_holm"] for test in tests] == [1.0, 1.0, 0.125]


def test_what_is_called_all_is_of_all(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One agent was on both games, another on one of them: they have met on that one, and not over all."""
    told = [("agile", "snake", 0.75), ("agile", "freeway", 0.75), ("reactive", "snake", 0.5), ("reactive", "freeway", 0.5), ("random", "snake", 0.25)]
    cells = [cell(agent, [0, 1], game=game, config=f"{agent}-{game}") for agent, game, _ in told]
    rows = [row(seed, score, agent=agent, game=game, config=f"{agent}-{game}") for agent, game, score in told for seed in (0, 1)]
    folder = lay(tmp_path / "out", cells, rows)
    tests = report(capsys, folder)["tests"]
    assert [(test["a"], test["b"], test["pairs"]) for test in tests if test["game"] == "all"] == [("agile", "reactive", 4)]
    assert {(test["a"], test["b"]) for test in tests if test["game"] == "snake"} == {("agile", "random"), ("agile", "reactive"), ("random", "reactive")}
    # The text has each couple once: over all games where it can be had, else by game.
    shown = [line.split()[:2] for line in lines(report(capsys, folder)) if "8192" in line and ("agile" in line or "random" in line) and ("+0." in line or "-0." in line)]
    assert sorted(shown) == [["all", "easy"], ["snake", "easy"], ["snake", "easy"]]


def test_over_all_loads_is_only_what_both_have_on_all_of_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = [("agile", "easy"), ("agile", "hard"), ("reactive", "easy"), ("reactive", "medium")]
    cells = [cell(agent, [0, 1], load=load, config=f"{agent}-{load}") for agent, load in told]
    rows = [row(seed, 0.5, agent=agent, load=load, config=f"{agent}-{load}") for agent, load in told for seed in (0, 1)]
    assert [test["load"] for test in report(capsys, lay(tmp_path / "out", cells, rows))["tests"]] == ["easy"]


def test_an_interval_of_few_seeds_is_marked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scores = [0.1, 0.9, 0.3, 0.4, 0.5, 0.6, 0.7, 0.2]
    for name, count in (("few", 7), ("enough", 8)):
        found = report(capsys, lay(tmp_path / name, [cell("agile", list(range(count)))], [row(seed, scores[seed]) for seed in range(count)]))
        assert found["scores"][0]["n_least"] == count
        text = "\n".join(lines(found))
        assert ("]~" in text) == ("~ from fewer than 8 seeds" in text) == (count < 8)


def test_a_p_is_never_written_as_zero(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [row(seed, score, agent=agent) for agent, score in (("agile", 0.75), ("reactive", 0.5)) for seed in range(24)]
    found = report(capsys, lay(tmp_path / "out", [cell("agile", list(range(24))), cell("reactive", list(range(24)))], rows))
    assert found["tests"][0]["said"] == "p < 0.0001"
    text = "\n".join(lines(found))
    assert "< 0.0001" in text
    assert "0.0000" not in text


def test_the_share_of_a_tick_is_part_of_who_is_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cells = [cell("agile", [0], reactive_budget=share, config=f"c{share}") for share in (512, 2048)]
    rows = [row(0, share / 4096, config=f"c{share}", reactive_budget=share) for share in (512, 2048)]
    found = report(capsys, lay(tmp_path / "out", cells, rows))
    assert [(line["reactive_budget"], line["score"]["mean"]) for line in found["scores"]] == [(512, 0.125), (2048, 0.5)]
    assert [(test["a_reactive_budget"], test["b_reactive_budget"], test["lead"]) for test in found["tests"]] == [(512, 2048, -0.375)]


def test_of_several_shares_the_usual_one_meets_the_others(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cells = [cell("agile", [0], reactive_budget=share, config=f"c{share}") for share in (512, 2048, 4096)] + [cell("reactive", [0])]
    rows = [row(0, 0.5, config=f"c{share}", reactive_budget=share) for share in (512, 2048, 4096)] + [row(0, 0.25, agent="reactive")]
    folder = lay(tmp_path / "out", cells, rows)
    found = report(capsys, folder)
    met = [(test["a"], test["a_reactive_budget"], test["b"], test["b_reactive_budget"]) for test in found["tests"]]
    assert met == [("agile", 2048, "reactive", None), ("agile", 512, "agile", 2048), ("agile", 4096, "agile", 2048)]
    assert run(["report", folder]) == 0
    assert "agile @512" in capsys.readouterr().out


def test_a_narrow_terminal_gets_the_telling_columns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = report(capsys, pairs(tmp_path, [0.9, 0.8], [0.5, 0.25]))
    wide, narrow = lines(found), lines(found, width=80)
    assert max(map(len, _table_of(narrow))) <= 80 < max(map(len, _table_of(wide)))
    for word in ("score", "95 %", "agent", "failed"):
        assert word in _table_of(narrow)[0]
    assert "more columns (points, defaults, tokens) need a wider terminal" in "\n".join(narrow)


def _table_of(text: list[str]) -> list[str]:
    """The table of scores."""
    start = next(place for place, line in enumerate(text) if line.startswith("game "))
    return text[start : start + 3]


# Never pooled.


def test_agents_that_share_a_name_alone_are_not_pooled(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = {"backends": {"planner": {"spec": "a"}}, "versions": {"rtdesk": "0.1"}}
    cells = [
        cell("agile", [0, 1], config="one", design="d1", settings=made, thinkers={"planner": "model a"}),
        cell("agile", [0, 1], config="two", design="d2", settings={**made, "backends": {"planner": {"spec": "b"}}}, thinkers={"planner": "model b"}),
    ]
    rows = [row(seed, score, config=config) for config, score in (("one", 0.25), ("two", 0.75)) for seed in (0, 1)]
    found = report(capsys, lay(tmp_path / "out", cells, rows))
    assert {line["agent"]: line["score"]["mean"] for line in found["scores"]} == {"agile (model a)": 0.25, "agile (model b)": 0.75}
    assert "agent agile ran as 2 designs, which are not pooled; they differ in backends.planner.spec (a and b)" in found["notes"]
    assert found["tests"][0]["lead"] == -0.5


def test_another_version_is_another_agent(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Rows of two versions, with no plan to say which is the one asked for."""
    old = [msgspec.structs.replace(row(seed, 0.25), config="old", key=f"old-s{seed}") for seed in (0, 1)]
    write_rows(tmp_path / "out", [*old, *(row(seed, 0.75, config="new") for seed in (0, 1))])
    found = report(capsys, str(tmp_path / "out"))
    assert {line["agent"]: line["score"]["mean"] for line in found["scores"]} == {"agile (old)": 0.25, "agile (new)": 0.75}
    assert found["episodes"]["planned"] is None


def test_rows_whose_plan_is_lost_still_tell_designs_and_thinkers_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [
        row(seed, score, game=game, config=game, design=title, thinkers={"planner": title})
        for game, title, score in (("snake", "model a", 0.25), ("./mine.py", "model b", 0.75))
        for seed in (0, 1)
    ]
    write_rows(tmp_path / "out", rows)
    found = report(capsys, str(tmp_path / "out"))
    assert {(line["game"], line["agent"]) for line in found["scores"]} == {("snake", "agile (model a)"), ("./mine.py", "agile (model b)")}
    assert found["thinkers"] == "model b, model a"
    assert found["scale"]["./mine.py"]["points_max"] is None
    assert "score = points / most, clipped to 0 and 1: ./mine.py not recorded; snake 24 apples" in lines(found)
    # Rows of before they told of it.
    write_rows(tmp_path / "old", [row(0, 0.5, streams={"planner": 3})])
    assert report(capsys, str(tmp_path / "old"))["thinkers"] == "thinkers not recorded"


def test_rows_the_plan_no_longer_names_are_left_out_and_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = lay(tmp_path / "out", [cell("agile", [0], config="old")], [row(0, 0.25, config="old")])
    with Writer(Path(folder)) as writer:
        writer.plan([cell("agile", [0], config="new")])
        writer.row(row(0, 0.75, config="new"))
    found = report(capsys, folder)
    assert [line["score"]["mean"] for line in found["scores"]] == [0.75]
    assert "1 rows of other configurations (earlier versions, prompts or options) are left out" in found["notes"]


# Tokens, speed, cost.


def test_answers_that_were_cut_say_only_that_they_needed_more(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [row(0, 0.5, plan_lengths=[1000, 3000], reactor_lengths=[10, 20], reactor_cut=[20]), row(1, 0.6, plan_lengths=[2000], reactor_lengths=[40])]
    told = report(capsys, lay(tmp_path / "out", [cell("agile", [0, 1])], rows))["tokens"][0]
    assert told["reactor"]["cdf"] == [[10, 0.25], [20, 0.5], [40, 1.0]]
    assert (told["reactor"]["p50"], told["reactor"]["cut"], told["reactor"]["streams"]) == (20, 1, 4)
    assert (told["plans"]["p50"], told["plans"]["max"], told["plans"]["streams"]) == (2000, 3000, 3)


def test_speed_is_fitted_over_episodes_and_over_streams(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Case E07: what a server made us wait is no part of a rate. T = 0.02 N + 0.7 by construction."""
    calls = [[100 * n, 0.7 + 2.0 * n, 0.7, 0.02, 3.0 if n == 1 else 0.0, 2 if n == 1 else 1] for n in range(1, 5)]
    rows = [
        row(seed, 0.5, reactor_tokens=1000 * (seed + 1), meas={"wall_s": 5.0 + 10.0 * (seed + 1), "calls": {"reactor": calls}}) for seed in range(3)
    ]
    (told,) = report(capsys, lay(tmp_path / "out", [cell("agile", [0, 1, 2], model=True)], rows))["speed"]
    assert (told["role"], told["streams"], told["throttled_s"], told["attempts"]) == ("reactor", 12, 9.0, 15)
    assert told["ttft_s"] == {"median": 0.7, "p90": 0.7}
    assert told["fit_generations"]["alpha"] == pytest.approx(0.02)
    assert told["fit_generations"]["beta"] == pytest.approx(0.7)
    assert told["fit_episodes"]["alpha"] == pytest.approx(0.01)
    assert told["fit_episodes"]["beta"] == pytest.approx(5.0)
    assert run(["report", str(tmp_path / "out")]) == 0
    assert "9 s throttled" in capsys.readouterr().out


def test_the_cost_is_that_of_all_tokens_failed_episodes_included(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [
        row(0, 0.5, read_tokens={"planner": 1_000_000, "reactor": 500_000}, billed_tokens={"planner": 2_000_000, "reactor": 100_000}),
        row(1, None, read_tokens={"reactor": 500_000}, billed_tokens={"reactor": 100_000}),
    ]
    folder = lay(tmp_path / "out", [cell("agile", [0, 1])], rows)
    found = report(capsys, folder, "--price", "1", "4", "--reactor-price", "0.5", "2")
    assert found["totals"] == {"planner": {"read": 1_000_000, "written": 2_000_000}, "reactor": {"read": 1_000_000, "written": 200_000}}
    assert found["cost"] == pytest.approx(1 * 1 + 2 * 4 + 1 * 0.5 + 0.2 * 2)
    assert report(capsys, folder)["cost"] is None


@pytest.mark.parametrize("price", [("1", "nan"), ("inf", "1"), ("-1", "1")])
def test_a_price_is_a_number_there_is(price: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["report", str(tmp_path), "--price", *price]) == 2
    err = capsys.readouterr().err
    assert "--price" in err
    assert err.count("\n") == 1
