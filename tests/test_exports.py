"""Films, pictures and pages of a recording: right for eyes, safe for machines, never over an existing file."""

from __future__ import annotations

import base64
import csv
import errno
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest

from replays import events as ev
from replays.export import csv_lines
from replays.reader import open_replay
from replays.writer import ReplayWriter
from rtdesk import exports
from rtdesk.cli import run
from rtdesk.exports import Span
from rtdesk.exports.cast import cast_lines
from rtdesk.exports.frames import Film, recorded_rate
from rtdesk.exports.html import page_data
from rtdesk.exports.svg import svg_at
from rtdesk.tui.runs import Row
from workers.config import plan_episode
from workers.simulator import run_simulation

HOSTILE = "</script><script>alert(1)</script>\x1b[2J\x1b]0;owned\x07<!-- & \u202e \u2028 ]]>"


def record(path: Path, game: str = "snake", *, hostile: bool = False, pace_ns: int = 0, **options: Any) -> Path:
    batches: list[tuple[int, list[ev.AnyEvent]]] = []
    settings = {"load": "hard", "seed": 1, "ticks": 6, "tick_budget": 1024, "reactive_budget": 512, **options}
    header, end = run_simulation(plan_episode(game, **settings), commit=lambda tick, events: batches.append((tick, events)))

    def spoil(event: ev.AnyEvent) -> ev.AnyEvent:
        if isinstance(event, ev.Token) and event.tick in (2, 3):
            return msgspec.structs.replace(event, text=HOSTILE, lens=[len(HOSTILE.encode())])
        return event

    if hostile:
        header = msgspec.structs.replace(header, agent=HOSTILE, load=HOSTILE, backends={role: msgspec.structs.replace(one, title=HOSTILE) for role, one in header.backends.items()})
    with ReplayWriter.create(path, header) as writer:
        for tick, events in batches:
            told = [spoil(event) if hostile else event for event in events]
            writer.tick(tick, [msgspec.structs.replace(event, t_ns=tick * pace_ns) for event in told] if pace_ns else told)
        writer.end(end)
    return path


@pytest.fixture(scope="module")
def snake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return record(tmp_path_factory.mktemp("exports") / "run.rtr", "overcooked")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return record(tmp_path_factory.mktemp("exports") / "bad.rtr", "overcooked", hostile=True)


def screen(lines: list[bytes]) -> tuple[list[str], int]:
    """A terminal that knows what a film may use: cursor to a row, styles, the cursor on and off. Returns (rows, frames)."""
    header, *frames = [json.loads(line) for line in lines]
    grid = [[" "] * header["width"] for _ in range(header["height"])]
    row = column = 0
    for _, kind, data in frames:
        assert kind == "o"
        for escape, text in re.findall(r"(\x1b\[[0-9;?]*[A-Za-z])|([^\x1b]+)", data):
            if not escape:
                for char in text:
                    assert char.isprintable(), repr(char)
                    grid[row][column] = char
                    column += 1
            elif escape.endswith("H"):
                row, column = (int(part) - 1 for part in escape[2:-1].split(";"))
            elif escape == "\x1b[2J":
                grid = [[" "] * header["width"] for _ in range(header["height"])]
            else:
                assert escape.endswith("m") or escape in ("\x1b[?25l", "\x1b[?25h"), repr(escape)
        assert not re.search(r"\x1b(?!\[)", data)
    return ["".join(line) for line in grid], len(frames)


def plain_rows(rows: Sequence[Row]) -> list[str]:
    """The letters of a screen."""
    return ["".join(text for text, _ in row) for row in rows]


@pytest.mark.parametrize("look", ["dark", "light", "ansi", "mono"])
def test_a_film_ends_on_the_screen_of_its_last_tick(look: str, snake: Path) -> None:
    with open_replay(snake) as recording:
        lines = list(cast_lines(recording, Span(0, 5), size=(100, 30), look=look, fps=4))
        film = Film(recording, size=(100, 30), look=look)
        film.seek(5)
        shown, frames = screen(lines)
    told = json.loads(lines[0])
    assert (told["version"], told["width"], told["height"]) == (2, 100, 30)
    assert frames > 6 * 4 / 2
    times = [json.loads(line)[0] for line in lines[1:]]
    assert times == sorted(times)
    assert 6.0 <= times[-1] <= 8.0
    # All but the head's word for how it runs and what comes with the end of the episode.
    same = [a == b for a, b in zip(shown, plain_rows(film.rows("ended")))]
    assert sum(same) >= 26


def test_two_exports_of_one_file_are_equal(snake: Path) -> None:
    def made() -> list[bytes]:
        with open_replay(snake) as recording:
            return [*cast_lines(recording, Span(1, 3), fps=5), svg_at(recording, 2, 0.4).encode(), json.dumps(page_data(recording, Span(0, 5))).encode()]

    assert made() == made()


def test_a_film_of_some_ticks_shows_no_other(snake: Path) -> None:
    with open_replay(snake) as recording:
        heads = {plain_rows(rows)[0] for _, rows in Film(recording).play(Span(2, 3), fps=3)}
    assert {re.search(r"tick +(\d+)", head)[1] for head in heads} == {"2", "3"}  # type: ignore[index]


def test_a_film_keeps_the_recorded_pace_where_there_was_one(tmp_path: Path) -> None:
    with open_replay(record(tmp_path / "a.rtr", pace_ns=500_000_000)) as recording:
        assert recorded_rate(recording) == 2.0
    with open_replay(record(tmp_path / "b.rtr", pace_ns=1_000)) as recording:
        assert recorded_rate(recording) == 1.0


def test_a_share_of_a_tick_has_that_much_of_it_gone(snake: Path) -> None:
    with open_replay(snake) as recording:
        film = Film(recording)
        film.at(3, 0.25)
        assert film.state.tick == 3
        assert film.view().status.at == pytest.approx(3 * 1024 + 256, abs=2)
        film.at(3)
        assert film.state.answer is not None


@pytest.mark.parametrize("game", ["snake", "freeway", "overcooked"])
@pytest.mark.parametrize("agent", ["agile", "planning", "default"])
def test_a_picture_is_well_formed_small_and_asks_for_nothing(game: str, agent: str, tmp_path: Path) -> None:
    options = {"reactive_budget": None} if agent != "agile" else {}
    with open_replay(record(tmp_path / "a.rtr", game, agent=agent, load="easy", **options)) as recording:
        tick = recording.ticks[len(recording.ticks) // 2]
        svg = svg_at(recording, tick)
        said = "".join("".join(row) for row in plain_rows(Film(recording).at(tick)))
    root = ET.fromstring(svg)
    assert root.tag.endswith("svg")
    assert "http" not in svg.replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"<(script|image|foreignObject|use)|@import|url\(|href|onload", svg)
    assert 'xml:space="preserve"' in svg
    assert len(svg.encode()) < 150_000
    drawn = "".join(root.itertext()).replace(" ", "")
    for word in re.findall(r"[A-Za-z]{5,}", said):
        assert word in drawn


def test_hostile_text_is_text_in_a_picture_and_a_film(hostile: Path) -> None:
    with open_replay(hostile) as recording:
        root = ET.fromstring(svg_at(recording, 3))
        assert not [node for node in root.iter() if node.tag.endswith("script")]
        assert "alert(1)" in "".join(root.itertext())
        screen(list(cast_lines(recording, Span(0, 5), fps=3)))


def page(path: Path, tmp_path: Path, *more: str) -> str:
    out = tmp_path / "page.html"
    assert run(["export", str(path), "--to", "html", "-o", str(out), *more]) == 0
    return out.read_text("utf-8")


def test_a_page_allows_itself_its_own_script_and_style_and_nothing_else(snake: Path, tmp_path: Path) -> None:
    text = page(snake, tmp_path)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy is not None
    assert "default-src 'none'" in policy[1]
    for name in ("script", "style"):
        inside = re.search(rf"<{name}>(.*?)</{name}>", text, re.DOTALL)
        assert inside is not None
        digest = base64.b64encode(hashlib.sha256(inside[1].encode()).digest()).decode()
        assert f"{name}-src 'sha256-{digest}'" in policy[1]
    assert not re.search(r'(?:src|href)="(?!data:,")', text)
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text)


def test_a_page_holds_hostile_text_as_data(hostile: Path, tmp_path: Path) -> None:
    text = page(hostile, tmp_path)
    assert text.count("<script") == 2
    assert text.count("</script>") == 2
    assert "alert(1)</script>" not in text
    assert "\x1b" not in text
    assert "\u202e" not in text
    data = json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL)[1], parse_constant=pytest.fail)  # type: ignore[index]
    assert "alert(1)" in data["ticks"][2]["planner"]["runs"][0][2]


def test_a_page_says_what_happened(snake: Path) -> None:
    with open_replay(snake) as recording:
        data = page_data(recording, Span(0, 5))
        steps = {event.tick: event for tick in recording.ticks for event in recording.events(tick) if isinstance(event, ev.Step)}
        actions = {event.tick: event for tick in recording.ticks for event in recording.events(tick) if isinstance(event, ev.Action) and event.player == 0}
        said = {
            (tick, stream): "".join(event.text for event in recording.events(tick) if isinstance(event, ev.Token) and event.stream == stream)
            for tick in recording.ticks
            for stream in ("planner", "reactor")
        }
    assert [row["t"] for row in data["ticks"]] == list(steps)
    for row in data["ticks"]:
        assert row["score"] == steps[row["t"]].score
        assert row["act"][:2] == [actions[row["t"]].letter, actions[row["t"]].source]
        assert row["wake"] == 0.5
        for stream in ("planner", "reactor"):
            runs = row[stream]["runs"]
            assert "".join(run[2] for run in runs) == said[row["t"], stream]
            assert all(0 <= run[0] <= run[1] <= 1 for run in runs)
        assert all(run[0] >= 0.5 for run in row["reactor"]["runs"])
    assert data["columns"] * data["rows"] > 0
    kinds = {one[0] for row in data["ticks"] for one in row["e"]}
    assert len(kinds) >= 2


def test_a_long_recording_keeps_the_end_of_each_tick(snake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rtdesk.exports.html.TEXT_BYTES", 600)
    with open_replay(snake) as recording:
        data = page_data(recording, Span(0, 5))
        whole = page_data(recording, Span(5, 5))
    stream = data["ticks"][1]["planner"]
    assert stream["dropped"] > 0
    assert sum(len(run[2]) for run in stream["runs"]) <= 300
    assert [row["t"] for row in whole["ticks"]] == [5]


@pytest.mark.slow
def test_a_page_draws_itself_in_a_browser(hostile: Path, tmp_path: Path) -> None:
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no browser here")
    page(hostile, tmp_path)
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"]
    done = subprocess.run(
        [browser, *flags, f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", f"file://{tmp_path / 'page.html'}#t=3"],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert 'id="desk" hidden' not in done.stdout
    assert re.search(r'class="clock"><span class="dim">tick </span><b>3</b>', done.stdout)
    assert done.stdout.count("<script") == 2
    assert "alert(1)" in done.stdout


def test_a_gif_moves(snake: Path, tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    out = tmp_path / "run.gif"
    code = run(["export", str(snake), "--to", "gif", "--ticks", "1-3", "--fps", "2", "--size", "80x24", "-o", str(out)])
    if code == 2:
        pytest.skip("the font of matplotlib is not here")
    with image.open(out) as picture:
        assert picture.n_frames >= 5
        assert picture.size == (80 * 8 + 16, 24 * 16 + 16)
        first = picture.convert("RGB").tobytes()
        picture.seek(picture.n_frames - 1)
        assert picture.convert("RGB").tobytes() != first


def test_a_gif_without_pillow_is_one_clear_line(snake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(__import__("sys").modules, "PIL", None)
    code = run(["export", str(snake), "--to", "gif", "-o", str(tmp_path / "x.gif")])
    out, err = capsys.readouterr()
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "rtdesk[plots]" in err
    assert not (tmp_path / "x.gif").exists()


BAD = [
    (["--to", "pdf"], "available: cast, csv"),
    (["--to", "svg", "--tick", "99"], "tick 99 is not in"),
    (["--to", "svg", "--tick", "nan"], "is not in"),
    (["--to", "svg", "--size", "10x10"], "no screen"),
    (["--to", "svg", "--size", "big"], "no screen"),
    (["--to", "svg", "--look", "drak"], "did you mean 'dark'"),
    (["--to", "csv", "--tick", "3"], "is no matter of csv"),
    (["--to", "html", "--size", "100x30"], "is no matter of html"),
    (["--to", "cast", "--ticks", "4-2"], "give A-B within 0-5"),
    (["--to", "cast", "--ticks", "3-99"], "give A-B within 0-5"),
    (["--to", "cast", "--tick-rate", "max"], "no pace for a film"),
    (["--to", "cast", "--fps", "0"], "--fps"),
]


@pytest.mark.parametrize(("arguments", "says"), BAD, ids=[" ".join(row[0]) for row in BAD])
def test_bad_wishes_are_one_line_exit_2_and_no_file(
    arguments: list[str], says: str, snake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    code = run(["export", str(snake), *arguments])
    out, err = capsys.readouterr()
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert says in err
    assert not list(tmp_path.iterdir())


def test_a_name_made_here_never_hits_a_file(snake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run-t2.svg").symlink_to(tmp_path / "victim")
    for _ in range(2):
        assert run(["export", str(snake), "--to", "svg", "--tick", "2"]) == 0
    assert sorted(os.listdir(tmp_path)) == ["run-t2-2.svg", "run-t2-3.svg", "run-t2.svg"]
    assert "run-t2-3.svg" in capsys.readouterr().out


@pytest.mark.parametrize("kind", ["there already", "a folder", "no folder", "a link"])
def test_a_given_name_must_be_free(kind: str, snake: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    target = {"there already": victim, "a folder": tmp_path, "no folder": tmp_path / "no" / "x", "a link": tmp_path / "link"}[kind]
    if kind == "a link":
        target.symlink_to(tmp_path / "elsewhere")
    for to in ("csv", "svg", "html"):
        assert run(["export", str(snake), "--to", to, "-o", str(target)]) == 2
        assert str(target) in capsys.readouterr().err
    assert victim.read_text() == "precious"
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize(("kind", "pieces", "left"), [("csv", 2, True), ("csv", 0, False), ("cast", 2, True), ("svg", 0, False), ("gif", 0, False), ("html", 0, False)])
def test_on_a_full_disk_half_a_table_is_kept_and_half_a_picture_is_not(
    kind: str, pieces: int, left: bool, snake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if kind == "gif":
        pytest.importorskip("PIL.Image")
    write, written = exports._write_all, []

    def full(fd: int, data: bytes) -> None:
        if len(written) == pieces:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written.append(data)
        write(fd, data)

    monkeypatch.setattr(exports, "_write_all", full)
    out = tmp_path / f"a.{kind}"
    assert run(["export", str(snake), "--to", kind, "-o", str(out)]) == 1
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert ("what was written so far is there" if left else "nothing is left of it") in line
    assert out.exists() is left
    if left:
        assert out.read_bytes() == b"".join(written)


def test_a_recording_without_a_tick_has_nothing_to_draw(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = plan_episode("snake", agent="default")
    from workers.episode import make_game, make_header

    with ReplayWriter.create(tmp_path / "empty.rtr", make_header(config, make_game(config), meas={})):
        pass
    assert run(["export", str(tmp_path / "empty.rtr"), "--to", "svg"]) == 2
    assert "holds no tick" in capsys.readouterr().err
    assert run(["info", str(tmp_path / "empty.rtr")]) == 0
    assert run(["verify", str(tmp_path / "empty.rtr")]) in (0, 1)
    assert run(["fork", str(tmp_path / "empty.rtr"), "--tick", "0", "--headless"]) == 2


@pytest.mark.parametrize("agent", ["agile", "planning", "reactive"])
def test_csv_has_the_columns_of_the_references_logs(tmp_path: Path, agent: str) -> None:
    """What its notebooks read: board, action, reward, plan, and both models' prompts, responses and tokens."""
    path = record(tmp_path / "a.rtr", agent=agent, ticks=8, tick_budget=8192, reactive_budget=2048 if agent == "agile" else None)
    csv.field_size_limit(1 << 24)
    with open_replay(path) as replay:
        rows = list(csv.DictReader(io.StringIO("".join(csv_lines(replay)), newline="")))
        events = [(tick, replay.events(tick)) for tick in replay.ticks]
        totals = replay.end.totals
    boards = [event.text for _, found in events for event in found if isinstance(event, ev.Tick)]
    assert [row["render"] for row in rows] == boards
    assert sum(float(row["reward"]) for row in rows) == totals.raw_score
    assert sum(int(row["model1_token_num"] or 0) for row in rows) == totals.reactor_tokens
    assert sum(int(row["model2_token_num"] or 0) for row in rows) == totals.planner_tokens
    said = {stream: "".join(event.text for _, found in events for event in found if isinstance(event, ev.Token) and event.stream == stream) for stream in ("planner", "reactor")}
    if agent == "planning":
        assert {row["model1_prompt"] + row["model1_response"] + row["model1_token_num"] for row in rows} == {""}
        planned = [row for row in rows if row["source"] == "plan"]
        assert planned
        assert all(row["plan"].startswith(row["action"]) for row in planned)
    else:
        assert [row["model1_response"].replace("<think>", "").replace("\n</think>\n", "") for row in rows if said["reactor"]] == [
            "".join(event.text for event in found if isinstance(event, ev.Token) and event.stream == "reactor") for _, found in events
        ]
        assert all(board.rstrip("\n") in row["model1_prompt"] for board, row in zip(boards, rows))
    if agent == "reactive":
        assert {row["plan"] for row in rows} == {"N/A"}
        assert {row["model2_prompt"] + row["model2_response"] + row["model2_token_num"] for row in rows} == {""}
    else:
        assert boards[0].rstrip("\n") in rows[0]["model2_prompt"]
        # It grows until the planner begins anew.
        for one, two in pairwise(rows):
            assert two["model2_response"].startswith(one["model2_response"].split("\n</think>")[0]) or two["model2_prompt"]
    if agent == "agile":
        # The guidance is a piece of what the planner had said, and part of what was asked.
        shown = [row for row in rows if row["plan"]]
        assert shown
        assert all(row["plan"] in row["model1_prompt"] and row["plan"][-60:] in said["planner"] for row in shown)


@pytest.mark.parametrize("kind", ["svg", "cast", "html"])
def test_a_game_of_yours_is_drawn_only_when_it_is_named(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ran = tmp_path / "ran"
    path = tmp_path / "mine.py"
    path.write_text(f"from pathlib import Path\nPath({str(ran)!r}).touch()\nfrom games.snake import *\nfrom games.snake import Game, SPEC\n", encoding="utf-8")
    source = record(tmp_path / "a.rtr")
    with open_replay(source) as replay:
        header = msgspec.structs.replace(replay.header, game=str(path))
        ticks = [(tick, replay.events(tick)) for tick in replay.ticks]
    with ReplayWriter.create(tmp_path / "b.rtr", header) as writer:
        for tick, events in ticks:
            writer.tick(tick, [event for event in events if not isinstance(event, ev.End)])
    plain, named = tmp_path / f"plain.{kind}", tmp_path / f"named.{kind}"
    assert run(["export", str(tmp_path / "b.rtr"), "--to", kind, "-o", str(plain)]) == 0
    told = capsys.readouterr().err
    assert "drawn without its board" in told
    assert "give it with --game" in told
    assert told.count("\n") == 1
    assert not ran.exists()
    assert run(["export", str(tmp_path / "b.rtr"), "--to", kind, "--game", str(path), "-o", str(named)]) == 0
    assert capsys.readouterr().err == ""
    assert ran.exists()
    assert named.stat().st_size > plain.stat().st_size
    assert run(["export", str(tmp_path / "b.rtr"), "--to", kind, "--game", "nosuch", "-o", str(tmp_path / "c")]) == 2
    assert "nosuch" in capsys.readouterr().err
    assert not (tmp_path / "c").exists()
