"""What the machine does to a command line: an output that takes nothing, a terminal that is none, text that would be control."""

from __future__ import annotations

import io
import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from rtdesk import cli, live
from rtdesk.leave import Exit
from rtdesk.say import complain

REPOSITORY = Path(__file__).parents[1]
RECORDING = "docs/recordings/trap-agile.rtr"


def rtdesk(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "rtdesk", *arguments]
    return subprocess.run(command, cwd=REPOSITORY, text=True, timeout=60, **{"capture_output": True, **options})  # type: ignore[call-overload, no-any-return]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("command", [["games"], ["--help"], ["--version"]], ids=" ".join)
def test_output_that_cannot_be_written_is_one_line_and_exit_1(command: list[str], unbuffered: str) -> None:
    with open("/dev/full", "w") as full:
        done = rtdesk(*command, capture_output=False, stdout=full, stderr=subprocess.PIPE, env={**os.environ, "PYTHONUNBUFFERED": unbuffered})
    assert done.returncode == 1
    assert done.stderr == "rtdesk: the output could not be written: No space left on device; free space, or write elsewhere\n"


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("command", [["--help"], ["games"], ["doctor"], ["info", RECORDING], ["info", RECORDING, "--json"], ["export", RECORDING, "--to", "jsonl"]], ids=" ".join)
def test_a_reader_that_has_gone_ends_it_without_a_word(command: list[str], unbuffered: str) -> None:
    gone, end = os.pipe()
    os.close(gone)
    with open(end, "wb") as nobody:
        done = rtdesk(*command, capture_output=False, stdout=nobody, stderr=subprocess.PIPE, env={**os.environ, "PYTHONUNBUFFERED": unbuffered})
    assert (done.returncode, done.stderr) == (1, "")


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize("command", ["games", "doctor", "doctor --fix-terminal", f"info {RECORDING} --json", "play snake --ticks 1 --headless --no-record --json"])
def test_an_end_that_was_closed_before_is_no_failure(command: str, closed: str) -> None:
    done = subprocess.run(["sh", "-c", f'exec "$0" -m rtdesk {command} {closed}', sys.executable], cwd=REPOSITORY, capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stderr == b""
    assert ">&-" not in closed or closed == "2>&-" or done.stdout == b""


@pytest.mark.parametrize("command", ["play snake --ticks 1 --headless --no-record", "bench --games snake --loads easy --agents default --seeds 0 -o {out}"])
def test_a_folder_that_is_gone_is_named_as_what_is_wrong(command: str, tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    line = f'cd "$1" && rmdir "$1" && exec "$0" -m rtdesk {command.format(out=tmp_path / "out")}'
    environ = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    done = subprocess.run(["sh", "-c", line, sys.executable, str(tmp_path / "here")], env=environ, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert done.stderr == "rtdesk: the folder this was started in is gone, and no process starts without one; go to another and try again\n"


def test_too_many_open_files_is_the_machines_fault_and_said_so() -> None:
    code = (
        "import resource, runpy, sys; resource.setrlimit(resource.RLIMIT_NOFILE, (18, 18));"
        "sys.argv = ['rtdesk', 'play', 'snake', '--headless', '--no-record', '--ticks', '1']; runpy.run_module('rtdesk', run_name='__main__')"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert done.stderr.startswith("rtdesk: ")
    assert "Too many open files" in done.stderr
    assert done.stderr.count("\n") == 1


def test_an_error_of_any_text_is_one_line_without_control(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    evil = tmp_path / "evil.py"
    evil.write_text("raise RuntimeError('boom \\x1b]0;owned\\x07 \\x9b31m \\u202e\\n[red]')")
    for arguments in (["play", str(evil), "--headless"], ["play", "snake", "--planner", str(evil), "--headless"], ["info", "\x1b]52;c;x\x07.rtr"]):
        assert cli.run(arguments) == 2
        err = capsys.readouterr().err
        assert err.count("\n") == 1
        assert [char for char in err if char != "\n" and (ord(char) < 32 or 0x7F <= ord(char) < 0xA0 or char == "\u202e")] == []


def test_a_line_beside_the_result_is_text_in_any_locale(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stderr", io.TextIOWrapper(raw, encoding="ascii", write_through=True))
    complain("note: a server said \x1b]0;owned\x07\nand went – 冷")
    line, rest = raw.getvalue().decode("ascii").split("\n")
    assert rest == ""
    assert line.isprintable()
    assert line.startswith("rtdesk: note: a server said ")
    assert line.endswith(" and went \\u2013 \\u51b7")


NOISY = """
\"\"\"Walk.\"\"\"
from games.base import BaseGame, Board, GameSpec, Observation, StepResult
print("loaded")
SPEC = GameSpec(name="walk", title="Walk", summary="Walk.", letters=(("R", "right"),), default_action="R", points_name="steps", points_max=9, max_ticks=3)


class Game(BaseGame):
    spec = SPEC
    points = 0

    def reset(self, seed=None):
        print("reset")
        self.points, self._playing = 0, True
        return self.observe()

    def observe(self):
        return Observation(tick=self.points, text="walk", view={"x": self.points})

    def step(self, action):
        print("step")
        self.points += 1
        over = "cap" if self.points == 3 else None
        return StepResult(observation=self.observe(), reward=1, score=self.points, terminated=False, truncated=over is not None, reset=False, done_reason=over)

    def snapshot(self):
        return {"x": self.points, "rest": {"game": "walk", "load": self.load, "seed": self.seed, "score": self.points, "done": False, "done_reason": None}}

    def restore(self, snapshot):
        self.points = snapshot["x"]

    def describe(self):
        print("describe")
        return "walk"

    def board(self):
        return Board(columns=1, rows=1, entities=())
"""


def test_json_is_alone_on_stdout_whatever_a_file_of_yours_prints(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    game, run = tmp_path / "walk.py", tmp_path / "run.rtr"
    game.write_text(NOISY, encoding="utf-8")
    for command in (
        ["play", str(game), "--agent", "default", "--headless", "--record", str(run)],
        ["verify", str(run), "--game", str(game)],
        ["check", "game", str(game)],
    ):
        cli.run([*command, "--json"])
        out, err = capsys.readouterr()
        assert isinstance(json.loads(out), dict), command
        assert "reset" in err, command
    assert cli.run(["play", str(game), "--agent", "default", "--headless", "--no-record"]) == 0
    assert "reset" in capsys.readouterr().out


def test_whoever_leaves_by_the_back_door_is_told_of(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(live, "play_headless", lambda wanted: sys.exit(0))
    assert cli.run(["play", "snake", "--headless", "--json"]) == 1
    assert capsys.readouterr() == ("", "rtdesk: something called sys.exit(0) in the middle of it; is it in a file of yours?\n")


def test_nothing_but_one_door_leads_to_stderr() -> None:
    # The screen has a line of its own for its own failure, when there is nothing left to import; a bench paints a counter of its own making.
    doors = [path.name for path in (REPOSITORY / "rtdesk").rglob("*.py") if re.search(r"file=sys\.stderr|sys\.stderr\.write|err=True", path.read_text())]
    assert sorted(doors) == ["app.py", "run.py", "say.py"]


@pytest.mark.parametrize("name", ["stdin", "stdout", "stderr"])
@pytest.mark.parametrize("closed", [False, True])
def test_each_end_that_is_no_terminal_is_named(name: str, closed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    master, slave = pty.openpty()
    monkeypatch.setenv("TERM", "xterm")
    with open(slave, "r+b", buffering=0) as terminal, open(os.devnull) as nothing:
        for each in ("stdin", "stdout", "stderr"):
            monkeypatch.setattr(sys, each, terminal)
        live.check_terminal()
        monkeypatch.setattr(sys, name, None if closed else nothing)
        with pytest.raises(Exit, match=f"^{name} is not a terminal, so there .* add --headless") as refusal:
            live.check_terminal()
    os.close(master)
    assert refusal.value.code == 2


def test_interrupted_while_it_loads_is_130_and_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "click.py").write_text("raise KeyboardInterrupt")
    code = "import sys; from rtdesk.__main__ import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, env={**os.environ, "PYTHONPATH": f"{tmp_path}:{REPOSITORY}"}, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (130, "")


@pytest.mark.parametrize("name", ["games", "replays", "workers"])
def test_a_package_of_another_maker_in_the_way_is_named_and_not_run(name: str, tmp_path: Path) -> None:
    (tmp_path / f"{name}.py").write_text("print('this ran')")
    done = subprocess.run(
        [sys.executable, "-m", "rtdesk", "play", "snake", "--headless"], cwd=tmp_path, capture_output=True, text=True, timeout=60, env={**os.environ, "PYTHONPATH": str(REPOSITORY)}
    )
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith(f"rtdesk: package '{name}' was found at {tmp_path / name}.py, expected beside rtdesk")
    assert done.stderr.count("\n") == 1
