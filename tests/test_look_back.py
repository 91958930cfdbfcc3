"""The commands that look back at a recording: what they print, and what they exit with."""

from __future__ import annotations

import json
import re
from itertools import product
from pathlib import Path
from typing import Any

import msgspec
import pytest

from replays import events as ev
from replays.reader import open_replay
from replays.writer import ReplayWriter
from rtdesk.cli import run
from workers.config import plan_episode
from workers.simulator import run_simulation

SHORT: dict[str, Any] = {"load": "hard", "seed": 1, "ticks": 8, "tick_budget": 1024, "reactive_budget": 512}


def record(path: Path, *, wrong: int | None = None, text: bool = False, **options: Any) -> Path:
    """Record a simulated episode; `wrong` exchanges the action of that tick in the file, `text` a word the reactor said in it."""
    batches: list[tuple[int, list[ev.AnyEvent]]] = []
    header, end = run_simulation(plan_episode("freeway", **{**SHORT, **options}), commit=lambda tick, events: batches.append((tick, events)))

    def change(event: ev.AnyEvent) -> ev.AnyEvent:
        if event.tick != wrong:
            return event
        if text:
            return msgspec.structs.replace(event, text="Z" + event.text[1:]) if isinstance(event, ev.Token) and event.stream == "reactor" else event
        return msgspec.structs.replace(event, letter="U" if event.letter != "U" else "D") if isinstance(event, ev.Action) else event

    with ReplayWriter.create(path, header) as writer:
        for tick, events in batches:
            writer.tick(tick, [change(event) for event in events])
        writer.end(end)
    return path


def asked(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    code = run(list(arguments))
    return code, capsys.readouterr().out


def test_verify_runs_thinkers_again_and_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(record(tmp_path / "a.rtr"))
    code, out = asked(capsys, "verify", path)
    assert code == 0
    assert "8 steps played again, all equal; thinkers run again in 8 ticks, all equal" in out
    code, out = asked(capsys, "verify", path, "--json")
    told = json.loads(out)
    assert (code, told["same"], told["divergence"], told["steps"]) == (0, True, None, 8)
    assert told["thinkers"] == {"ran": True, "same": True, "ticks": 8, "why": "", "divergence": None}


def test_verify_without_thinkers_plays_the_game_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(record(tmp_path / "a.rtr", wrong=3, text=True))
    code, out = asked(capsys, "verify", path, "--no-thinkers", "--json")
    assert (code, json.loads(out)["thinkers"]["ran"]) == (0, False)
    code, out = asked(capsys, "verify", path, "--json")
    told = json.loads(out)
    assert (code, told["same"], told["game"]["same"], told["thinkers"]["same"]) == (1, False, True, False)
    assert (told["divergence"]["tick"], told["divergence"]["field"]) == (3, "token reactor text[0:]")
    assert told["divergence"]["recorded"].startswith("Z")
    code, out = asked(capsys, "verify", path)
    assert code == 1
    assert "the game itself is the same" in out


def test_the_earlier_divergence_is_the_one_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out = asked(capsys, "verify", str(record(tmp_path / "a.rtr", wrong=4)), "--json")
    told = json.loads(out)
    assert (code, told["divergence"]["tick"], told["divergence"]["field"]) == (1, 4, "action.letter")
    assert not told["game"]["same"]


def test_info_tells_speed_use_and_what_guidance_did(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(record(tmp_path / "a.rtr"))
    code, out = asked(capsys, "info", path, "--json")
    told = json.loads(out)
    assert code == 0
    unasked = told["guidance"]
    assert told["reactor_use"]["streams"] == 8
    assert set(told["streams"]["planner"]) >= {"ttft_s", "tpot_s", "fit"}
    code, out = asked(capsys, "info", path, "--json", "--guidance")
    found = json.loads(out)["guidance"]
    assert (found["asked"], found["ahead"]) == (8, 10)
    # The builtin reactor is asked without being told to.
    assert found == unasked
    assert found["better"] + found["worse"] + found["neither"] == found["changed"] == len(found["exchanges"])
    code, out = asked(capsys, "info", path, "--guidance")
    assert f"changed {found['changed']} of 8 actions" in out
    assert "reactor streams" in out
    assert asked(capsys, "info", path) == (code, out)


def test_info_asks_nobody_unasked_where_that_costs_or_shows_a_thinker_what_is_not_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    path = record(tmp_path / "a.rtr")
    with open_replay(path) as replay:
        header, ticks = replay.header, [(tick, replay.events(tick)) for tick in replay.ticks]

    def saved(name: str, header: ev.Episode, change: Any = lambda event: event) -> str:
        with ReplayWriter.create(tmp_path / name, header) as writer:
            for tick, events in ticks:
                writer.tick(tick, [change(event) for event in events])
        return str(tmp_path / name)

    model = saved("model", msgspec.structs.replace(header, backends={**header.backends, "reactor": ev.Backend(spec="openai/x", deterministic=False)}))
    untrue = saved("untrue", header, lambda event: msgspec.structs.replace(event, view={**event.view, "lanes": 10**9}) if isinstance(event, ev.Tick) and event.tick == 2 else event)
    alone = str(record(tmp_path / "alone", agent="reactive", reactive_budget=None))
    monkeypatch.setattr("rtdesk.look_back.UNASKED_TICKS", 7)
    for one in (model, untrue, str(path)):
        code, out = asked(capsys, "info", one, "--json")
        assert (code, json.loads(out)["guidance"]) == (0, None), one
        assert "guidance   not counted; --guidance" in asked(capsys, "info", one)[1]
    assert "guidance" not in asked(capsys, "info", alone)[1]
    monkeypatch.setattr("rtdesk.look_back.UNASKED_TICKS", 8)
    assert json.loads(asked(capsys, "info", str(path), "--json")[1])["guidance"] is not None
    assert json.loads(asked(capsys, "info", untrue, "--json")[1])["guidance"] is None
    monkeypatch.setattr("rtdesk.look_back.UNASKED_S", -1.0)
    assert json.loads(asked(capsys, "info", str(path), "--json")[1])["guidance"] is None


@pytest.mark.parametrize(
    ("arguments", "says"), [(["--reactor", "builtin"], "--guidance"), (["--guidance", "--reactor", "gpt"], "backend")], ids=["alone", "unknown"]
)
def test_bad_wishes_of_info_are_one_line(arguments: list[str], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = run(["info", str(record(tmp_path / "a.rtr")), *arguments])
    out, err = capsys.readouterr()
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert says in err


def test_info_about_guidance_needs_a_reactor(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = record(tmp_path / "a.rtr", agent="planning", reactive_budget=None)
    assert run(["info", str(path), "--guidance"]) == 2
    assert "no reactor to ask" in capsys.readouterr().err


def test_diff_names_the_parting_and_sums_up_the_rest(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, other = str(record(tmp_path / "a.rtr")), str(record(tmp_path / "b.rtr", agent="reactive", reactive_budget=None))
    code, out = asked(capsys, "diff", one, other)
    assert code == 1
    lines = out.splitlines()
    assert lines[0] == "header: agent is 'agile' in the first, 'reactive' in the second"
    assert any(line.startswith("tick 0: text planner") for line in lines)
    assert any("of 8 ticks in common" in line for line in lines)
    assert any(line.split()[:2] == ["planner", "tokens"] for line in lines)
    code, out = asked(capsys, "diff", one, other, "--json")
    told = json.loads(out)
    assert (code, told["same"], told["after"]["tick"], told["after"]["ticks"]) == (1, False, 0, 8)
    assert told["after"]["b"]["planner_tokens"] == 0
    assert asked(capsys, "diff", one, one) == (0, "the same in all 8 ticks\n")


READS_ALL = (["info"], ["verify"], ["export", "--to", "csv"], ["export", "--to", "jsonl"], ["export", "--to", "html", "-o", "out"], ["diff", "whole"])
FORKS = ["fork", "--tick", "2", "--ticks", "4", "--headless", "--no-record"]


# A fork reads no further than its tick, so it knows of a place behind that only where the file has no index any more.
@pytest.mark.parametrize(("arguments", "damage"), [*product(READS_ALL, ["zeroed", "cut"]), (FORKS, "cut")])
def test_no_command_passes_a_damaged_file_for_a_whole_one(arguments: list[str], damage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    """R03: damage is told with its place on stderr, by whatever reads the file."""
    monkeypatch.chdir(tmp_path)
    whole = record(tmp_path / "whole")
    data = bytearray(whole.read_bytes())
    at = len(data) * 6 // 10
    if damage == "zeroed":
        data[at : at + 512] = bytes(512)
    else:
        del data[at:]
    (tmp_path / "damaged").write_bytes(data)
    assert run([arguments[0], "damaged", *arguments[1:]]) in (0, 1)
    assert re.search(r"rtdesk: .*record at byte \d+", capfd.readouterr().err)
    assert run([arguments[0], "whole", *(["out2" if one == "out" else one for one in arguments[1:]])]) == 0
    assert capfd.readouterr().err == ""

