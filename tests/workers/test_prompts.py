"""What thinkers are asked: three games, both roles, by parts in the log, and a folder of the user's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from clock_kit import QUICK, Heard, of, play, prompt, thinking

import games
from replays import events as ev
from rtdesk.cli import run
from workers import prompts
from workers.agents import Shape
from workers.answers import read_answer
from workers.config import plan_episode
from workers.errors import ConfigError
from workers.prompts import ROLES, Layout, default_templates, fixed_texts, prompt_hash, render
from workers.prompts.template import Template
from workers.recorded import config_of
from workers.thinkers.guidance import read_notes

GAMES = ("freeway", "snake", "overcooked")
BOTH = Shape(planner=True, reactor=True)
ANSWERS = {"freeway": "\\boxed{U}", "snake": "\\boxed{L}", "overcooked": "\\boxed{S}"}


def heard(game: str, agent: str = "agile", **options: Any) -> tuple[Heard, Heard, list[ev.AnyEvent]]:
    planner, reactor = Heard([thinking(3000, ANSWERS[game])]), Heard([thinking(100, ANSWERS[game])])
    events = play(agent, planner=planner, reactor=reactor, game=game, **options)
    return planner, reactor, events


@pytest.mark.parametrize("game", GAMES)
def test_every_placeholder_of_a_prompt_is_filled(game: str) -> None:
    planner, reactor, _ = heard(game, ticks=3)
    for text in (planner.prompts[2], reactor.prompts[2]):
        assert Template(text, role="planner").names == []
        assert "\n\n\n" not in text
        assert text == text.strip() + "\n"


@pytest.mark.parametrize("game", GAMES)
def test_prompts_tell_the_turn_the_budget_the_rules_the_board_and_the_actions(game: str) -> None:
    planner, reactor, events = heard(game, ticks=3, tick_budget=4096, reactive_budget=1024)
    [board] = [tick.text.strip() for tick in of(events, ev.Tick, tick=2)]
    for text in (planner.prompts[2], reactor.prompts[2]):
        assert "# Turn 2\n" in text
        assert games.make(game).describe().strip() in text
        assert board in text
        assert all(f"{letter} ({word.lower()})" in text for letter, word in games.spec(game).letters)
        assert "\\boxed{" in text
    assert "4096 tokens" in planner.prompts[2]
    assert "1024 tokens" in reactor.prompts[2]
    assert f"Your plan begins with turn {2}" in planner.prompts[2]


def test_prompts_of_wall_time_name_seconds() -> None:
    config = plan_episode("snake", tick_budget="6s", reactive_budget="2s")
    from workers.episode import make_game, make_header

    texts = make_header(config, make_game(config), meas={}).texts
    assert (texts["tick_budget"], texts["reactive_budget"]) == ("6 seconds", "2 seconds")


@pytest.mark.parametrize("game", GAMES)
def test_a_builtin_reactor_reads_the_forms_a_model_is_asked_for(game: str) -> None:
    texts = fixed_texts(games.make(game), shape=BOTH, default_action="S", tick_budget="8 tokens", reactive_budget="4 tokens")
    notes = read_notes("\n".join(line.strip() for line in (texts["line"] + "\n" + texts["marks"]).splitlines()) + "\n")
    assert len(list(notes.lines())) == 2
    assert notes.goal
    assert notes.warnings
    known = games.make(game).legal_actions
    assert all(move.letter in known for line in notes.lines() for move in line.moves)


def test_the_form_of_a_plan_is_one_the_answer_reader_reads() -> None:
    form = default_templates()["planner"].split("\\boxed{")[1].split("}")[0]
    text = "\\boxed{" + form.replace("t+1", "8").replace("t:", "7:").replace("X", "U") + "}"
    reading = read_answer(text, letters=games.spec("snake").letters, mode="plan", turn=7)
    assert (reading.letters, reading.turns) == (["U", "U"], [7, 8])


@pytest.mark.parametrize(("agent", "read", "followed"), [("agile", True, False), ("planning", False, True)])
def test_a_planner_is_told_who_uses_what_it_writes(agent: str, read: bool, followed: bool) -> None:
    options = {"reactive_budget": 1024} if agent == "agile" else {}
    planner, _, _ = heard("snake", agent, ticks=1, **options)
    assert ("A quick player does" in planner.prompts[0]) is read
    assert ("Nobody looks over your plan" in planner.prompts[0]) is followed


def test_a_reactor_without_a_planner_is_told_of_no_notes() -> None:
    _, reactor, _ = heard("snake", "reactive", ticks=1)
    assert "planner" not in reactor.prompts[0]


def test_guidance_stands_in_the_prompt_as_a_reference_with_its_turn() -> None:
    _, reactor, events = heard("snake", ticks=2)
    asked = reactor.prompts[1]
    assert asked.index("reference, not an order") < asked.index("# Turn 1") < asked.index("made for turn 0:") < asked.index("It is turn 1,")
    assert reactor.guidance[1] in asked
    starts = of(events, ev.Generation, stream="reactor", phase="start")
    assert [prompt(events, start) for start in starts] == [reactor.prompts[tick] for tick in range(2)]


def test_planner_memory_stands_in_its_place_or_leaves_none() -> None:
    planner, _, _ = heard("snake", ticks=2, planner_memory=True)
    assert "\n\nYour own last conclusion, made for turn 0, as a reference:\n\\boxed{L}\n\n# Turn 1\n" in planner.prompts[1]
    assert "stand for the numbers of turns" in planner.prompts[0]
    assert "conclusion, made for" not in planner.prompts[0]


def test_the_log_holds_no_text_of_a_prompt_twice() -> None:
    _, _, events = heard("snake", ticks=2)
    literal = [part for start in of(events, ev.Generation, phase="start") for part in start.prompt if isinstance(part, str)]
    assert max(map(len, literal)) < 120


def test_fixed_part_of_a_prompt_comes_first() -> None:
    """So that a server may keep what it has read of it."""
    planner, reactor, _ = heard("snake", ticks=3)
    for asked in (planner.prompts, reactor.prompts):
        head = asked[1].partition("# Turn")[0]
        assert len(head) > 2000
        assert asked[2].startswith(head)


def own(folder: Path, **texts: str) -> str:
    for role, text in texts.items():
        (folder / f"{role}.txt").write_text(text, encoding="utf-8")
    return str(folder)


def test_a_folder_of_own_prompts_stands_in_for_ours(tmp_path: Path) -> None:
    folder = own(tmp_path, reactor="Turn {turn} of {game}, {next_turn} next. \\boxed{u}\n{observation}\n\n{guidance}\n\nGo, in {reactive_budget}!")
    planner, reactor, events = heard("snake", ticks=2, prompts=folder)
    header = events[0]
    assert isinstance(header, ev.Episode)
    [board] = [tick.text.strip() for tick in of(events, ev.Tick, tick=0)]
    assert reactor.prompts[0].startswith(f"Turn 0 of Snake, 1 next. \\boxed{{u}}\n{board}\n\nThe planner's thinking so far")
    assert reactor.prompts[0].endswith("Go, in 2048 tokens!")
    assert "You are the planner" in planner.prompts[0]
    assert header.options["prompts"] == "own"
    assert str(tmp_path) not in repr(header)


def test_a_planner_that_writes_programs_has_a_file_of_its_own(tmp_path: Path) -> None:
    folder = own(tmp_path, planner="{observation} Plan.", coder="{observation} Program.\n{memory}")
    asked: dict[str, Any] = {"game": "snake", "ticks": 1, "prompts": folder, "planner_memory": False}
    planner, _, events = heard(agent="code", allow_code=True, **asked)
    assert planner.prompts[0].endswith("Program.\n")
    header = events[0]
    assert isinstance(header, ev.Episode)
    assert config_of(header, planner="builtin").prompts == {"coder": "{observation} Program.\n{memory}"}
    planner, _, _ = heard(agent="planning", **asked)
    assert planner.prompts[0].endswith("Plan.")


def test_our_own_folder_is_one_that_may_be_given() -> None:
    ours = str(Path(prompts.__file__).parent)
    header = heard("snake", ticks=1, prompts=ours)[2][0]
    plain = heard("snake", ticks=1)[2][0]
    assert isinstance(header, ev.Episode)
    assert isinstance(plain, ev.Episode)
    assert header.prompt_hash == plain.prompt_hash


def test_own_prompts_change_the_hash_and_ours_say_nothing(tmp_path: Path) -> None:
    folder = own(tmp_path, planner=default_templates()["planner"] + "\nBe brief.\n")
    headers = [heard("snake", ticks=1, **more)[2][0] for more in ({}, {}, {"prompts": folder})]
    ours, again, theirs = (header for header in headers if isinstance(header, ev.Episode))
    assert ours.prompt_hash == again.prompt_hash == prompt_hash(ours.texts)
    assert theirs.prompt_hash != ours.prompt_hash
    assert "prompts" not in ours.options


def test_a_recording_with_own_prompts_is_played_on_with_them(tmp_path: Path) -> None:
    folder = own(tmp_path, planner="{observation}\n{memory}\nThink.", reactor="{observation}\n{guidance}\nAct.")
    header = heard("snake", ticks=1, prompts=folder)[2][0]
    assert isinstance(header, ev.Episode)
    config = config_of(header, planner="builtin", reactor="builtin")
    assert config.prompts == {"planner": "{observation}\n{memory}\nThink.", "reactor": "{observation}\n{guidance}\nAct."}


@pytest.mark.parametrize(
    ("texts", "options", "said"),
    [
        ({"planner": "{observation}\n{memory}\nOn turn {turm} think."}, {}, "planner.txt, line 3: 'turm'; did you mean 'turn'?"),
        ({"planner": "{observation}\n{guidance}"}, {}, "planner.txt, line 2: 'guidance'"),
        ({"reactor": "Act at {turn}."}, {}, "reactor.txt: has no {observation}"),
        ({"reactor": "{observation}"}, {}, "has no {guidance}, so the planner's notes would not be seen"),
        ({"planner": "{observation}"}, {"planner_memory": True}, "has no {memory}"),
        ({"palnner": "{observation}"}, {}, "'palnner.txt'; did you mean 'planner.txt'?"),
        ({}, {}, "is empty; give one that holds planner.txt or reactor.txt"),
        ({"planner": "x" * 70_000}, {}, "has 70000 bytes, and a prompt may have 65536"),
    ],
)
def test_a_wrong_prompt_is_one_clear_line(texts: dict[str, str], options: dict[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"^[^\n]+$") as caught:
        plan_episode("snake", prompts=own(tmp_path, **texts), **options)
    assert said in str(caught.value)


def test_prompts_that_are_no_text_or_no_folder_are_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is no folder"):
        plan_episode("snake", prompts=str(tmp_path / "nowhere"))
    (tmp_path / "planner.txt").write_bytes(b"{observation} \xff")
    with pytest.raises(ConfigError, match="no UTF-8 from byte 14 on"):
        plan_episode("snake", prompts=str(tmp_path))


def test_an_own_prompt_without_guidance_is_fine_where_none_is_wanted(tmp_path: Path) -> None:
    folder = own(tmp_path, reactor="{observation}")
    assert plan_episode("snake", prompts=folder, guidance="none").prompts == {"reactor": "{observation}"}
    assert plan_episode("snake", agent="reactive", prompts=folder).prompts == {"reactor": "{observation}"}


def test_the_command_line_takes_a_folder_of_prompts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = own(tmp_path, planner="{bord}")
    assert run(["play", "snake", "--headless", "--no-record", "--prompts", folder]) == 2
    captured = capsys.readouterr()
    assert captured.err.count("\n") == 1
    assert "'bord'" in captured.err


def test_a_placeholder_alone_on_its_line_takes_the_line_away_when_it_is_empty() -> None:
    texts = {"planner": "A\n{memory}\n\nB {memory}|{reader}\n{reader}\n{observation}\n", "reader": ""}
    layout = Layout(texts, "planner")

    def text(**given: Any) -> str:
        return render(layout.fill(3, **given), texts=texts, observation=lambda tick: f"board {tick}\n", trace=lambda generation: b"")

    assert text() == "A\nB |\nboard 3\n"
    assert text(memory=["M"]) == "A\nM\n\nB M|\nboard 3\n"


def test_our_templates_are_all_there() -> None:
    assert set(default_templates()) == set(ROLES)
    assert play("agile", planner=QUICK, reactor=QUICK, ticks=1)
