"""The command line as a user meets it: exit codes, one line an error, one JSON object, nothing left behind."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import msgpack
import pytest

from replays import events as ev
from replays.reader import open_replay
from rtdesk import paths
from workers.simulator import simulate


def rtdesk(*arguments: str, cwd: Path, env: dict[str, str] | None = None, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    home = {"XDG_DATA_HOME": str(cwd / "data"), "XDG_STATE_HOME": str(cwd / "state")}
    return subprocess.run(
        [sys.executable, "-m", "rtdesk", *arguments],
        cwd=cwd,
        env={**os.environ, **home, **(env or {})},
        input=stdin,
        stdin=None if stdin is not None else subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def in_process(*arguments: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    from rtdesk.cli import run

    code = run(list(arguments))
    out, err = capsys.readouterr()
    return code, out, err


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, object], Path]:
    """The command of the issue, run once for real."""
    folder = tmp_path_factory.mktemp("played")
    shared = set(os.listdir("/dev/shm")) if os.path.isdir("/dev/shm") else set()
    path = folder / "run.rtr"
    done = rtdesk("play", "snake", "--agent", "agile", "--load", "hard", "--seed", "0", "--headless", "--json", "--record", str(path), cwd=folder)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    if shared:
        # Others may use the folder meanwhile; ours would carry this run's semaphores or segments.
        assert not [name for name in set(os.listdir("/dev/shm")) - shared if "rtdesk" in name]
    lines = done.stdout.splitlines()
    assert len(lines) == 1
    return json.loads(lines[0]), path


def test_headless_json_has_the_promised_keys(played: tuple[dict[str, object], Path]) -> None:
    result, path = played
    promised = {"game", "load", "seed", "agent", "score", "raw_score", "ticks", "done_reason", "default_actions", "late_actions"}
    promised |= {"planner_tokens", "reactor_tokens", "faults", "replay", "wall_s"}
    assert promised <= set(result)
    assert result["replay"] == str(path)
    assert 0 <= result["score"] <= 1  # type: ignore[operator]


def test_replay_reads_with_a_plain_unpacker(played: tuple[dict[str, object], Path]) -> None:
    _, path = played
    with path.open("rb") as file:
        objects = list(msgpack.Unpacker(file, max_buffer_size=1 << 28, strict_map_key=False))
    assert objects[0]["format"] == "rtdesk.replay"
    assert objects[0]["game"] == "snake"
    assert all(record[0] == 0x52544B for record in objects[1:])


def test_live_replay_equals_the_simulator(played: tuple[dict[str, object], Path]) -> None:
    result, path = played
    with open_replay(path) as recording:
        live = [event for event in recording.iter() if isinstance(event, ev.Event)]
    simulated = simulate("snake", agent="agile", load="hard", seed=0)
    if not isinstance(live[0], ev.Episode):
        live.insert(0, recording.header)
    assert ev.canonical(live) == ev.canonical(simulated.events)
    for name in ("score", "raw_score", "ticks", "planner_tokens", "reactor_tokens", "done_reason"):
        assert result[name] == simulated.summary[name]


def test_info_verify_and_diff_of_a_played_file(played: tuple[dict[str, object], Path], capsys: pytest.CaptureFixture[str]) -> None:
    result, path = played
    code, out, _ = in_process("info", str(path), "--json", capsys=capsys)
    found = json.loads(out)
    assert code == 0
    assert found["complete"] is True
    assert found["score"] == result["score"]
    assert found["canonical"] == ev.canonical_digest(simulate("snake", agent="agile", load="hard", seed=0).events)
    code, out, _ = in_process("verify", str(path), "--json", capsys=capsys)
    assert (code, json.loads(out)["same"], json.loads(out)["steps"]) == (0, True, result["ticks"])
    code, out, _ = in_process("diff", str(path), str(path), "--json", capsys=capsys)
    assert (code, json.loads(out)["same"]) == (0, True)


def test_export_writes_one_row_a_tick_and_strict_json(played: tuple[dict[str, object], Path], tmp_path: Path) -> None:
    result, path = played
    table = tmp_path / "run.csv"
    assert rtdesk("export", str(path), "--to", "csv", "-o", str(table), cwd=tmp_path).returncode == 0
    with table.open(newline="", encoding="utf-8") as lines:
        assert len(list(csv.reader(lines))) == result["ticks"] + 1  # type: ignore[operator]
    again = rtdesk("export", str(path), "--to", "csv", "-o", str(table), cwd=tmp_path)
    assert again.returncode == 2
    done = rtdesk("export", str(path), "--to", "jsonl", cwd=tmp_path)
    kinds = [json.loads(line, parse_constant=pytest.fail)["kind"] for line in done.stdout.splitlines()]
    assert kinds.count("step") == result["ticks"]


BAD = [
    (["play", "freway"], "did you mean 'freeway'"),
    (["play", "snake", "--agent", "agil"], "did you mean 'agile'"),
    (["play", "snake", "--load", "hrad"], "did you mean 'hard'"),
    (["play", "snake", "--reactive-budget", "9000"], "reactive budget 9000 tokens exceeds tick budget 8192 tokens"),
    (["play", "snake", "--tick-budget", "0"], "out of range"),
    (["play", "snake", "--tick-budget", "-5"], "tick budget '-5' is no budget"),
    (["play", "snake", "--tick-budget", "99999999999"], "out of range"),
    (["play", "snake", "--tick-budget", "soon"], "is no budget"),
    (["play", "snake", "--tick-budget", "6s", "--clock", "token"], "clock is 'token'"),
    (["play", "snake", "--tick-budget", "6s", "--reactive-budget", "2048"], "different units"),
    (["play", "snake", "--tick-budget", "nan s"], "is no budget"),
    (["play", "snake", "--seed", "-1"], "seed"),
    (["play", "snake", "--seed", "x"], "--seed"),
    (["play", "snake", "--ticks", "0"], "ticks"),
    (["play", "snake", "--tick-rate", "0/s"], "tick rate"),
    (["play", "snake", "--tick-rate", "fast"], "tick rate"),
    (["play", "snake", "--agent", "reactive", "--reactive-budget", "100"], "takes no reactive budget"),
    (["play", "snake", "--guidance", "bits"], "guidance"),
    (["play", "snake", "--planner", "gpt"], "backend"),
    (["play", "snake", "--planner", "./nowhere.py"], "no such file"),
    (["play", "snake", "--default-action", "Q"], "default action 'Q'"),
    (["play", "snake", "--stall-timeout", "-3s"], "duration"),
    (["play", "snake", "--json"], "--headless"),
    (["play", "snake", "--record", "x.rtr", "--no-record"], "contradict"),
    (["play", "snake", "--headles"], "--headless"),
    (["play"], "GAME"),
    (["plya"], "did you mean 'play'"),
    (["replay", "/nowhere.rtr"], "/nowhere.rtr"),
    (["info", "/"], "/"),
    (["answer", "snake", "--mode", "act", "/nowhere.txt"], "/nowhere.txt"),
]


@pytest.mark.parametrize(("arguments", "says"), BAD, ids=[" ".join(row[0]) for row in BAD])
def test_bad_input_is_one_line_and_exit_2(
    arguments: list[str], says: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    code, out, err = in_process(*arguments, capsys=capsys)
    assert code == 2
    assert out == ""
    assert err.count("\n") == 1
    assert says in err
    assert not list(tmp_path.glob("*.rtr"))


def test_play_without_a_terminal_says_to_use_headless(tmp_path: Path) -> None:
    done = rtdesk("play", "snake", cwd=tmp_path)
    assert done.returncode == 2
    assert "--headless" in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize("kind", ["there already", "a folder", "no folder", "a link"])
def test_a_recording_never_overwrites_or_follows(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    target = {"there already": victim, "a folder": tmp_path, "no folder": tmp_path / "no" / "x.rtr", "a link": tmp_path / "link.rtr"}[kind]
    if kind == "a link":
        target.symlink_to(victim)
    code, _, err = in_process("play", "snake", "--headless", "--record", str(target), capsys=capsys)
    assert code == 2
    assert str(target) in err
    assert victim.read_text() == "precious"


@pytest.mark.parametrize(
    "env", [{"TERM": ""}, {"LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "0"}, {"COLUMNS": "0", "LINES": "abc"}], ids=["no TERM", "C locale", "odd size"]
)
def test_headless_runs_whatever_the_surroundings(env: dict[str, str], tmp_path: Path) -> None:
    done = rtdesk("play", "snake", "--agent", "default", "--headless", "--json", "--no-record", cwd=tmp_path, env=env)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["replay"] is None


def test_recordings_go_to_the_data_folder_with_a_telling_name(tmp_path: Path) -> None:
    done = rtdesk("play", "snake", "--agent", "random", "--load", "easy", "--seed", "3", "--headless", "--json", cwd=tmp_path)
    path = Path(json.loads(done.stdout)["replay"])
    assert path.parent == tmp_path / "data" / "rtdesk" / "replays"
    assert path.name.startswith("snake-easy-s3-random-")
    assert path.suffix == ".rtr"


def test_answer_prints_how_a_text_is_read(tmp_path: Path) -> None:
    done = rtdesk("answer", "snake", "--mode", "act", cwd=tmp_path, stdin="I go up. \\boxed{U}")
    assert json.loads(done.stdout)["actions"] == ["U"]
    done = rtdesk("answer", "snake", "--mode", "plan", "--turn", "4", cwd=tmp_path, stdin="\\boxed{Turn 4: U\nTurn 5: L}")
    assert json.loads(done.stdout) == {"actions": ["U", "L"], "turns": [4, 5], "why": None}


def test_doctor_names_a_library_that_is_too_old_and_one_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    from importlib import metadata

    from rtdesk.doctor import libraries

    def version(name: str) -> str:
        if name == "msgspec":
            raise metadata.PackageNotFoundError(name)
        return {"click": "8.1.7", "textual": "8.10.0rc1"}[name]

    monkeypatch.setattr(metadata, "requires", lambda name: ["textual<9,>=8.2", "click>=8.2", "msgspec>=0.19", 'dask>=9; extra == "cluster"'])
    monkeypatch.setattr(metadata, "version", version)
    assert list(libraries()) == [
        (True, "textual", "8.10.0rc1"),
        (False, "click", "8.1.7 is too old, expected 8.2 or newer; install rtdesk again"),
        (False, "msgspec", "is not installed; install rtdesk again"),
    ]


def test_doctor_and_games_name_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = in_process("doctor", capsys=capsys)
    assert code == 0
    assert "rtdesk.log" in out
    code, out, _ = in_process("games", capsys=capsys)
    assert code == 0
    assert out.split()[0] == "freeway"


def test_recordings_of_runs_that_begin_in_one_second_have_names_of_their_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setattr(paths.time, "strftime", lambda form: "20260102-030405")
    names = set()
    for pid in (11, 12, 13):
        monkeypatch.setattr(paths.os, "getpid", lambda pid=pid: pid)
        names.add(os.path.basename(paths.default_recording("snake", "hard", 0, "agile")))
    assert names == {f"snake-hard-s0-agile-20260102-030405-{pid}.rtr" for pid in (11, 12, 13)}
    longest = paths.default_recording("snake", "hard", 0, "./" + "long/" * 100 + "agent.py")
    assert longest.endswith("agent.py-20260102-030405-13.rtr")
    Path(longest).touch()
