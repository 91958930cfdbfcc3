"""What is said once the screen has gone: how the last heat ended, and where the recordings of the ones before it are."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from replays import events as ev
from rtdesk.desk import _look_back, _told
from rtdesk.heat import Table
from rtdesk.live_source import REMARK_NS, LiveSource
from workers.config import Config, plan_episode


def heat(config: Config, path: Path, *, ended: bool = True) -> Any:
    """A heat of one run that is over; its file is there once it has been played."""
    header = ev.Episode(tick=0, game="snake", load="easy", seed=config.seed, agent="random")
    end = ev.End(tick=1, totals=ev.Totals(score=0.0, raw_score=0.0, ticks=2), done_reason="ticks")
    if ended:
        path.touch()
    run = SimpleNamespace(config=config, header=header, end=end if ended else None, recording=str(path), record_failure=None, failure=None)
    return SimpleNamespace(runs=[run], gate=None, poll=lambda now_ns: None, close=lambda: None)


def after(table: Table, what: str) -> None:
    table.change(what)
    assert table._swap is not None
    table._swap.join()
    table.poll(0)


def test_every_replay_of_a_session_is_named_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = plan_episode("snake", agent="random", load="easy")
    heats = iter([heat(config, tmp_path / "b.rtr"), heat(config, tmp_path / "c.rtr", ended=False)])
    table = Table(heat(config, tmp_path / "a.rtr"), lambda configs: next(heats))
    after(table, "restart")
    table.close()
    assert _told(table, 0) == 0
    assert [line for line in capsys.readouterr().out.splitlines() if "replay" in line] == [f"replay {tmp_path}/b.rtr", f"earlier replay {tmp_path}/a.rtr"]

    # Quit while the next one was being started: of that there is nothing to tell.
    after(table, "next-seed")
    table.close()
    _told(table, 0)
    assert capsys.readouterr().out.splitlines() == [f"earlier replay {tmp_path}/a.rtr", f"earlier replay {tmp_path}/b.rtr"]


def test_a_remark_gives_the_foot_back_to_the_keys_and_a_failure_does_not(tmp_path: Path) -> None:
    on = heat(plan_episode("snake", agent="random", load="easy"), tmp_path / "a.rtr", ended=False)
    on.runs[0].begun, on.runs[0].over, on.runs[0].pace = True, False, None
    source = LiveSource(Table(on, lambda configs: on, note="the budget is odd"))
    assert source._note(5) == "the budget is odd"
    assert source._note(5 + REMARK_NS) == ""
    on.runs[0].failure = "game was ended by SIGKILL"
    assert source._note(5 + 9 * REMARK_NS) == "game was ended by SIGKILL"


def test_a_terminal_that_is_gone_does_not_change_the_exit_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Gone:
        encoding = "utf-8"

        def write(self, text: str) -> int:
            raise OSError(5, "Input/output error")

        def flush(self) -> None: ...

    dropped: list[bool] = []
    monkeypatch.setattr("rtdesk.desk.drop_output", lambda: dropped.append(True))
    monkeypatch.setattr("sys.stdout", Gone())
    on = heat(plan_episode("snake", agent="random", load="easy"), tmp_path / "a.rtr")
    assert _told(Table(on, lambda configs: on), 129) == 129
    assert dropped == [True]


@pytest.mark.parametrize(("game", "given"), [("snake", None), ("./mine.py", "./mine.py")])
def test_looking_back_opens_what_was_recorded_and_trusts_the_game_that_was_played(game: str, given: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    closed: list[bool] = []

    def replay(files: Any, **options: Any) -> int:
        asked.append((list(files), options))
        return 0

    monkeypatch.setattr("rtdesk.replaying.replay", replay)
    log: Any = SimpleNamespace(close=lambda: closed.append(True))
    wanted: Any = SimpleNamespace(look="light", plain=True, fps=7)
    assert _look_back(["a.rtr", "b.rtr"], wanted, game, log) == 0
    assert asked == [(["a.rtr", "b.rtr"], {"tick": None, "game": given, "look": "light", "plain": True, "fps": 7})]
    # The screen of the recording keeps a log of its own.
    assert closed == [True]
    assert _look_back([], wanted, game, log) == 0
    assert len(asked) == 1
