"""Summaries, exports and the first parting of two recordings."""

from __future__ import annotations

import csv
import io
import json
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest
from replay_episodes import Played, play, write

from replays import events as ev
from replays.annotate import annotate
from replays.compare import first_parting
from replays.diff import diff
from replays.export import COLUMNS, csv_lines, jsonl_lines
from replays.info import canonical_digest, info
from replays.reader import open_replay
from replays.writer import ReplayWriter


@pytest.fixture(scope="module")
def played() -> Played:
    return play(ticks=20)


def told(path: Path) -> dict[str, Any]:
    with open_replay(path) as replay:
        return info(replay)


def test_the_digest_is_that_of_the_events(tmp_path: Path, played: Played) -> None:
    digest = told(write(tmp_path / "a.rtr", played))["canonical"]
    assert digest == ev.canonical_digest(played.events) == canonical_digest(played.events)
    assert digest == told(write(tmp_path / "b.rtr", play(ticks=20)))["canonical"]


def test_the_digest_ignores_pace_and_people_and_nothing_else(tmp_path: Path, played: Played) -> None:
    base = told(write(tmp_path / "a.rtr", played))["canonical"]

    def digest(name: str, change: Any) -> str:
        ticks = [(tick, [new for event in events if (new := change(event)) is not None]) for tick, events in played.ticks]
        return str(told(write(tmp_path / name, played._replace(ticks=ticks)))["canonical"])

    def slower(event: ev.AnyEvent) -> ev.AnyEvent | None:
        if isinstance(event, ev.Bookmark):
            return None
        event = msgspec.structs.replace(event, t_ns=event.t_ns + 77, seq=event.seq + 5)
        return msgspec.structs.replace(event, meas={"x": 1}) if isinstance(event, ev.Token) else event

    def bolder(event: ev.AnyEvent) -> ev.AnyEvent:
        return msgspec.structs.replace(event, text=event.text + "!") if isinstance(event, ev.Token) else event

    def handless(event: ev.AnyEvent) -> ev.AnyEvent | None:
        return None if isinstance(event, ev.Control) else event

    assert digest("b.rtr", slower) == base
    assert digest("c.rtr", bolder) != base
    assert digest("d.rtr", handless) != base


def test_info_counts_what_happened(tmp_path: Path, played: Played) -> None:
    path = write(tmp_path / "a.rtr", played)
    annotate(path, [ev.Bookmark(tick=3, note="later")])
    found = told(path)
    assert found["complete"]
    assert found["status"] == "complete"
    assert (found["game"], found["seed"], found["ticks"], found["steps"]) == ("snake", 22, 20, 20)
    assert (found["default_actions"], found["default_reasons"], found["late_actions"]) == (2, {"fault": 2}, 0)
    assert (found["planner_tokens"], found["reactor_tokens"]) == (20 * 48, 20 * 16)
    assert found["actions"] == {"default": 2, "reactor": 18}
    assert found["streams"]["reactor"]["finished"] == {"stop": 20}
    assert found["streams"]["reactor"]["ttft_s"]["median"] == pytest.approx(0.345)
    assert found["faults"] == 2
    assert found["fault_list"][0] == {"tick": 6, "component": "reactor", "what": "stalled", "done": "default action", "cause": "thinker"}
    assert found["bookmarks"] == [{"tick": 4, "note": "look ✓"}, {"tick": 14, "note": "look ✓"}, {"tick": 3, "note": "later"}]
    assert found["segments"] == 3
    assert found["tick_s"] == {"median": 1.0, "p90": 1.0}
    assert found["streams"]["reactor"]["tpot_s"] == {"median": 0.01, "p90": 0.01}
    assert found["reactor_use"] == {"streams": 20, "cut": 0, "p50": 16, "p90": 16, "p95": 16, "most": 16, "cdf": [[16, 1.0]]}
    assert (found["score"], found["raw_score"]) == (played.end.totals.score, played.end.totals.raw_score)
    assert found["done_reason"] == "ticks"
    assert found["warnings"] == []
    assert json.loads(json.dumps(found, allow_nan=False)) == found


def test_info_of_an_incomplete_file_says_how_far_it_came(tmp_path: Path, played: Played) -> None:
    found = told(write(tmp_path / "a.rtr", played._replace(ticks=played.ticks[:9]), ended=False, closed=False))
    last = played.ticks[8][1][-1]
    assert isinstance(last, ev.Step)
    assert (found["complete"], found["ticks"], found["done_reason"]) == (False, 9, None)
    assert (found["raw_score"], found["score"]) == (last.score, last.points / 24)
    assert len(found["warnings"]) == 1


def test_csv_has_one_row_a_tick(tmp_path: Path, played: Played) -> None:
    path = write(tmp_path / "a.rtr", played)
    annotate(path, [ev.Bookmark(tick=4, note="=HYPERLINK(1)"), ev.Bookmark(tick=5, note="=1+1")])
    with open_replay(path) as replay:
        text = "".join(csv_lines(replay))
    assert text.endswith("\r\n")
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    assert tuple(rows[0]) == COLUMNS
    assert [row["tick"] for row in rows] == [str(tick) for tick in range(20)]
    steps = [event for _, events in played.ticks for event in events if isinstance(event, ev.Step)]
    assert [float(row["score"]) for row in rows] == [step.score for step in steps]
    assert (rows[6]["action"], rows[6]["source"], rows[6]["reason"], rows[6]["faults"]) == ("S", "default", "fault", "1")
    assert (rows[7]["planner_tokens"], rows[7]["reactor_tokens"], rows[7]["reactor_finish"]) == ("48", "16", "stop")
    assert (rows[6]["planner_generation"], rows[7]["planner_generation"]) == ("6", "")
    assert (rows[19]["done"], rows[19]["done_reason"]) == ("1", "ticks")
    assert rows[4]["bookmark"] == "'=HYPERLINK(1) | look ✓"
    assert rows[5]["bookmark"] == "'=1+1"


def test_csv_shown_on_a_terminal_is_text(tmp_path: Path, played: Played) -> None:
    note = "a\x1b[31mb\x07\rc\td\ne\x9b\u202ef é 日本"
    path = write(tmp_path / "a.rtr", played)
    annotate(path, [ev.Bookmark(tick=4, note=note)])
    with open_replay(path) as replay:
        rows = list(csv.DictReader(io.StringIO("".join(csv_lines(replay)), newline="")))
    assert rows[4]["bookmark"].startswith("a␛[31mb␇␍c\td\ne��f é 日本")


def test_csv_of_a_file_that_claims_huge_prompts_stays_small_and_quick(tmp_path: Path) -> None:
    """A prompt of very many parts, each of a large text, would be gigabytes; one that points at nothing says so."""
    header = ev.Episode(tick=0, game="snake", load="easy", seed=1, agent="agile", backends={role: ev.Backend(spec="x") for role in ("planner", "reactor")}, texts={"big": "x" * 1_000_000})
    huge = [ev.Part(text="big")] * 20_000 + [ev.Part(text="big", upto=1)] * 20_000
    odd = ["a", ev.Part(text="none"), ev.Part(obs=7), ev.Part(trace=9, upto=3, guidance=True), ev.Part(), "b"]
    with ReplayWriter.create(tmp_path / "a.rtr", header) as writer:
        for tick, prompt in enumerate((huge, odd, huge[20_000:])):
            said = ev.Token(tick=tick, at=1, stream="planner", generation=10**15 - tick, channel="reasoning", text="y" * 2_000_000, lens=[1])
            writer.tick(tick, [ev.Generation(tick=tick, stream="reactor", id=tick, phase="start", prompt=prompt), said])
    began = time.perf_counter()
    with open_replay(tmp_path / "a.rtr") as replay:
        text = "".join(csv_lines(replay))
    assert time.perf_counter() - began < 5
    assert len(text) < 8 << 20
    csv.field_size_limit(1 << 24)
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    assert rows[1]["model1_prompt"] == "a" + "[a part of the prompt is not in this file]" * 4 + "b"
    assert rows[2]["model1_prompt"] == "x" * 1000


def test_csv_of_very_many_ticks_has_the_end_of_what_grows(tmp_path: Path, played: Played, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("replays.told.ALL_CHARS", 20 * 8 * 200)
    with open_replay(write(tmp_path / "a.rtr", played)) as replay:
        rows = list(csv.DictReader(io.StringIO("".join(csv_lines(replay)), newline="")))
        boards = [event.text for tick in replay.ticks for event in replay.events(tick) if isinstance(event, ev.Tick)]
    assert any(len(board) > 200 for board in boards)
    for row, board in zip(rows, boards):
        assert row["render"] == (board if len(board) <= 200 else f"[{len(board) - 200:,} characters left out] {board[-200:]}")


def test_json_lines_hold_every_event_and_give_it_back(tmp_path: Path, played: Played) -> None:
    path = write(tmp_path / "a.rtr", played)
    annotate(path, [ev.Bookmark(tick=4, note="x")])
    with open_replay(path) as replay:
        lines = list(jsonl_lines(replay))
    assert all(line.count("\n") == 1 for line in lines)
    assert [ev.decode_map(json.loads(line)) for line in lines] == [*played.events, ev.Bookmark(tick=4, note="x")]


def test_json_lines_shown_on_a_terminal_are_text(tmp_path: Path, played: Played) -> None:
    note = "".join(map(chr, range(1, 0xA0))) + "\u200b\u202e\u2028\u2066\ufeff é 日本"
    path = write(tmp_path / "a.rtr", played)
    annotate(path, [ev.Bookmark(tick=4, note=note)])
    with open_replay(path) as replay:
        *_, line = jsonl_lines(replay)
    assert json.loads(line)["note"] == note
    assert [char for char in line[:-1] if not char.isprintable()] == []
    assert "é 日本" in line


def compared(tmp_path: Path, a: Played, b: Played) -> Any:
    for name in ("a.rtr", "b.rtr"):
        (tmp_path / name).unlink(missing_ok=True)
    with open_replay(write(tmp_path / "a.rtr", a)) as one, open_replay(write(tmp_path / "b.rtr", b)) as other:
        return diff(one, other)


def test_a_recording_does_not_differ_from_itself(tmp_path: Path, played: Played) -> None:
    found = compared(tmp_path, played, play(ticks=20))
    assert found.same
    assert found.header == ()
    assert found.ticks == (20, 20)


def test_the_first_parting_of_each_kind_is_named(tmp_path: Path, played: Played) -> None:
    other = play(ticks=20, salt=1)
    found = compared(tmp_path, played, other)
    assert not found.same
    assert found.header == ()
    assert found.first.what == "text"
    assert found.first.tick == 0
    assert set(found.firsts) >= {"observation", "text", "action", "state"}
    acted, state, seen = (found.firsts[kind] for kind in ("action", "state", "observation"))
    assert acted.tick <= state.tick < seen.tick
    assert acted.field == "letter"
    assert seen.tick == state.tick + 1
    assert str(found.first).startswith("tick 0: text planner[")


def test_what_differs_after_the_parting_is_counted(tmp_path: Path, played: Played) -> None:
    found = compared(tmp_path, played, play(ticks=20, salt=1))
    after = found.after
    assert (after.tick, after.score, after.ticks) == (0, 0.0, 20)
    assert after.differ["text"] == 20
    assert 0 < after.differ["action"] <= 20
    assert (after.a.raw_score, after.a.planner_tokens, after.a.faults) == (played.end.totals.raw_score, 20 * 48, 2)
    assert after.a.done_reason == "ticks"
    assert compared(tmp_path, played, play(ticks=20)).after is None


def test_a_fault_of_the_machine_is_no_difference_in_what_it_came_to(tmp_path: Path, played: Played) -> None:
    slept = ev.Fault(tick=3, component="game", what="stood still for 9 s", done="deadlines moved", cause="host")
    held = played._replace(ticks=[(tick, [*events, slept] if tick == 3 else events) for tick, events in played.ticks])
    assert compared(tmp_path, played, held).same
    other = compared(tmp_path, held, play(ticks=20, salt=1)).after
    assert (other.a.faults, other.b.faults) == (2, 2)


def test_the_score_both_had_is_that_before_the_parting(tmp_path: Path, played: Played) -> None:
    def other(event: ev.AnyEvent) -> ev.AnyEvent:
        return msgspec.structs.replace(event, letter="Q") if isinstance(event, ev.Action) and event.tick == 15 else event

    changed = played._replace(ticks=[(tick, [other(event) for event in events]) for tick, events in played.ticks])
    found = compared(tmp_path, played, changed)
    step = dict(played.ticks)[14][-1]
    assert isinstance(step, ev.Step)
    assert (found.after.tick, found.after.score, found.after.ticks, found.after.differ) == (15, step.score, 5, {"action": 1})


def test_virtual_timing_that_differs_is_named_and_the_machines_pace_is_not(tmp_path: Path, played: Played) -> None:
    def later(event: ev.AnyEvent) -> ev.AnyEvent:
        if isinstance(event, ev.Generation) and event.phase == "end" and event.tick == 4:
            return msgspec.structs.replace(event, at=(event.at or 0) - 3, clock_tokens=13)
        return msgspec.structs.replace(event, t_ns=event.t_ns * 7)

    changed = played._replace(ticks=[(tick, [later(event) for event in events]) for tick, events in played.ticks])
    found = compared(tmp_path, played, changed)
    assert set(found.firsts) == {"timing"}
    assert (found.first.tick, found.first.field) == (4, "reactor generation 4 end.at")


def test_a_fork_is_compared_from_where_it_begins(tmp_path: Path, played: Played) -> None:
    child = played._replace(ticks=played.ticks[8:], header=msgspec.structs.replace(played.header, parent=ev.Parent(file="x", tick=8)))
    found = compared(tmp_path, played, child)
    assert found.same
    assert found.ticks == (20, 12)


def test_a_header_and_a_length_that_differ_are_named(tmp_path: Path, played: Played) -> None:
    shorter = played._replace(ticks=played.ticks[:12], header=msgspec.structs.replace(played.header, agent="reactive", meas={"id": "other"}))
    found = compared(tmp_path, played, shorter)
    assert [(parting.path, parting.a, parting.b) for parting in found.header] == [("agent", "agile", "reactive")]
    # The end record stands in tick 19 of the shorter one.
    assert (found.first.what, found.first.tick, found.first.a, found.first.b) == ("length", 12, "has it", "ends before")


@pytest.mark.parametrize(
    ("a", "b", "path"),
    [
        (1, 1.0, None),
        (float("nan"), float("nan"), None),
        ((1, 2), [1, 2], None),
        (True, 1, ""),
        (0, False, ""),
        ({"a": [1, {"b": 2}]}, {"a": [1, {"b": 3}]}, "a[1].b"),
        ({"a": 1}, {}, "a"),
        ({}, {"a": None}, "a"),
        ([1], [1, 2], "[1]"),
        ("x", 1, ""),
    ],
)
def test_values_are_compared_to_the_leaf(a: object, b: object, path: str | None) -> None:
    found = first_parting(a, b)
    assert (None if found is None else found.path) == path
