"""An agent as the partner: its thinkers play the second cook beside a person or a baseline; live, simulated, recorded and read again."""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent / "workers"))

from live_kit import CHOPPER, Watched, kill, same_as_simulated, watched, whole

import games
from games.base import observed
from replays import events as ev
from replays.export import csv_lines
from replays.info import info
from replays.reader import open_replay
from replays.reduce import fold_all
from replays.verify import verify
from replays.writer import ReplayWriter
from rtdesk.exports import Span
from rtdesk.exports.html import page_data
from rtdesk.fork import fork_options
from rtdesk.live import Wanted, label
from rtdesk.match import Seat, make_plan
from workers.attribution import ask, weigh
from workers.config import Config, plan_episode
from workers.errors import ConfigError
from workers.recorded import config_of
from workers.rerun import rerun
from workers.simulator import run_simulation, simulate

SHORT: dict[str, Any] = {"load": "easy", "ticks": 12}
# Who thinks for the second cook, and who plays the first one.
PAIRS: list[dict[str, Any]] = [
    {"agent": "random", "partner": "agile"},
    {"agent": "default", "partner": "agile", "throughput": "shared"},
    {"agent": "random", "partner": "reactive"},
    {"agent": "default", "partner": "planning"},
    {"agent": "random", "partner": "code", "allow_code": True},
]


def ids(options: dict[str, Any]) -> str:
    return "-".join(str(value) for value in options.values())


def actions(events: list[Any], player: int) -> list[ev.Action]:
    return [event for event in events if isinstance(event, ev.Action) and event.player == player]


def record(path: Path, **options: Any) -> Path:
    batches: list[tuple[int, list[ev.AnyEvent]]] = []
    config = plan_episode("overcooked", **options)
    header, end = run_simulation(config, commit=lambda tick, events: batches.append((tick, events)), meas={"file_id": path.stem})
    with ReplayWriter.create(path, header) as writer:
        for tick, events in batches:
            writer.tick(tick, events)
        writer.end(end)
    return path


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return record(tmp_path_factory.mktemp("kitchen") / "pair.rtr", agent="random", partner="agile", load="easy", ticks=30, tick_budget=4096, reactive_budget=1536)


# Who thinks, for whom, and what they see.


def test_the_thinkers_see_what_the_second_cook_sees() -> None:
    header, *events = simulate("overcooked", agent="default", partner="agile", **SHORT).events
    assert isinstance(header, ev.Episode)
    assert (header.agent, header.options["partner"], header.player, header.thinker) == ("default", "agile", 1, "agile")
    assert set(header.backends) == {"planner", "reactor"}
    ticks = [event for event in events if isinstance(event, ev.Tick)]
    assert {tick.view["you"] for tick in ticks} == {1}
    assert all("You are Bob." in tick.text for tick in ticks)
    # Their notes are about the first cook, and their word is the second one's letter.
    said = "".join(event.text for event in events if isinstance(event, ev.Token))
    assert "Alice" in said
    answers = {event.generation: event.letters for event in events if isinstance(event, ev.Answer)}
    assert [(action.source, [action.letter]) for action in actions(events, 1)] == [("reactor", answers[action.tick]) for action in actions(events, 1)]
    assert {(action.letter, action.source, action.reason) for action in actions(events, 0)} == {("S", "default", "none")}


def test_prompts_call_the_other_cook_by_name() -> None:
    def marks(**options: Any) -> str:
        header = simulate("overcooked", ticks=1, **options).events[0]
        assert isinstance(header, ev.Episode)
        return header.texts["marks"]

    mine, theirs = marks(agent="agile"), marks(agent="default", partner="agile")
    assert "Bob is expected there" in mine
    assert "Alice is expected there" in theirs
    assert theirs.replace("Alice", "Bob") == mine


def test_where_the_agent_thinks_nothing_is_said_of_whose_view_it_is() -> None:
    for options in ({"agent": "reactive"}, {"agent": "reactive", "partner": "random"}, {"agent": "default", "partner": "random"}):
        header = simulate("overcooked", ticks=1, **options).events[0]
        assert isinstance(header, ev.Episode)
        assert "player" not in ev.to_map(header)
        assert header.thinker == header.agent


def test_two_who_do_not_think_have_no_thinkers_though_one_is_a_partner() -> None:
    assert simulate("overcooked", agent="human", partner="random", ticks=2).events[0].backends == {}  # type: ignore[union-attr]


def test_the_partner_comes_to_the_same_beside_a_person_without_keys_as_beside_the_default() -> None:
    mine, theirs = (simulate("overcooked", agent=agent, partner="agile", **SHORT).events for agent in ("human", "default"))
    assert ev.canonical(mine[1:]) == ev.canonical(theirs[1:])


def test_soups_are_made_by_the_partner_alone() -> None:
    told = simulate("overcooked", agent="default", partner="agile", load="easy").summary
    assert (told["points"], told["agent"], told["partner"]) == (3.0, "default", "agile")
    # What was always told is the agent's; the partner's stands beside it.
    assert (told["default_actions"], told["partner_default_actions"], told["partner_late_actions"]) == (100, 0, 0)
    assert told["planner_tokens"] > 0


def test_only_a_partner_that_is_no_script_is_told_of() -> None:
    assert not [name for name in simulate("overcooked", agent="default", ticks=1).summary if "partner" in name]
    assert not [name for name in simulate("snake", agent="default", ticks=1).summary if "partner" in name]


def test_a_partner_without_an_answer_does_the_default_and_the_reason_is_kept() -> None:
    events = simulate("overcooked", agent="random", partner="reactive", load="easy", ticks=4, tick_budget=40).events
    assert [(action.letter, action.source, action.reason) for action in actions(events, 1)] == [("S", "default", "truncated")] * 4
    end = events[-1]
    assert isinstance(end, ev.End)
    assert (end.totals.default_actions, end.totals.partner_default_actions) == (0, 4)
    planned = simulate("overcooked", agent="random", partner="planning", load="easy", ticks=2, tick_budget=40).events
    assert [action.reason for action in actions(planned, 1)] == ["none", "none"]


def test_a_default_action_of_ones_choice_is_the_partners_as_well() -> None:
    events = simulate("overcooked", agent="default", partner="reactive", load="easy", ticks=2, tick_budget=40, default_action="U").events
    assert [action.letter for action in events if isinstance(action, ev.Action)] == ["U"] * 4


GAME = '''
from games.base import BaseGame, GameSpec, Observation, StepResult, Board

SPEC = GameSpec(name="duo", title="Duo", summary="Two.", letters=(("A", "a"),), default_action="A", points_name="points", points_max=1.0, help=())


class Game(BaseGame):
    spec = SPEC

    @property
    def points(self):
        return 0.0

    def reset(self, seed=None):
        self._playing = True
        return self.observe()

    def step(self, action, partner=None):
        return StepResult(observation=self.observe(), reward=0.0, score=0.0, terminated=False, truncated=False, reset=False)

    def observe(self):
        return Observation(tick=self._turn, view={}, text="")

    def snapshot(self):
        return {"rest": {"game": "duo", "load": self.load, "seed": self.seed}}

    def restore(self, snapshot):
        self._playing = True

    def describe(self):
        return "Two."

    def board(self):
        return Board(columns=1, rows=1, entities=())
'''


def test_a_game_that_shows_itself_to_one_player_alone_has_no_partner_who_thinks(tmp_path: Path) -> None:
    path = tmp_path / "duo.py"
    path.write_text(GAME)
    assert plan_episode(str(path), agent="default", partner="random").players == {0: "default", 1: "random"}
    with pytest.raises(ConfigError, match=r"observe\(\) takes no `player`.*--agent reactive, or --partner scripted"):
        plan_episode(str(path), agent="default", partner="reactive")


def test_a_third_cook_is_refused() -> None:
    game = games.make("overcooked", "easy", 0)
    game.reset()
    assert observed(game, 1).view["you"] == 1
    for player in (-1, 2):
        with pytest.raises(games.GameError, match="give 0 for Alice or 1 for Bob"):
            observed(game, player)
    with pytest.raises(TypeError):
        observed(games.make("snake"), 1)


# Live.


@pytest.mark.parametrize("options", PAIRS, ids=ids)
def test_the_live_log_equals_the_simulated_one(options: dict[str, Any], tmp_path: Path) -> None:
    chopper = tmp_path / "chopper.py"
    chopper.write_text(CHOPPER.format(blocking="throughput" in options))
    # Programs come from our own thinker or from one the person names; cut into pieces they are the same.
    asked = {**SHORT, "planner": str(chopper), "reactor": str(chopper), **options}
    config = plan_episode("overcooked", **asked)
    with watched(config, record=tmp_path / "run.rtr", jitter=0.003) as live:
        log = live.play()
    assert live.run.failure is None
    whole(log, 12)
    same_as_simulated(log, config, **asked)


def test_a_persons_keys_move_the_first_cook_while_the_partner_thinks(tmp_path: Path) -> None:
    path = tmp_path / "run.rtr"
    config = plan_episode("overcooked", agent="human", partner="agile", load="easy", ticks=200, tick_rate=40.0)
    with watched(config, record=path) as live:
        log = _press_until_it_counts(live)
    keys = [event for event in log if isinstance(event, ev.Control) and event.what == "key"]
    assert {key.player for key in keys} == {0}
    mine = {action.tick: action for action in actions(log, 0)}
    assert "human" in {action.source for action in mine.values()}
    assert {action.source for action in actions(log, 1)} == {"reactor"}
    with open_replay(path) as replay:
        assert verify(replay).same
        found = rerun(replay)
        assert (found.ran, found.same) == (False, True)
        assert "a person played" in found.why
        told = info(replay)
    assert told["partner"]["actions"]["reactor"] == len(actions(log, 1))
    assert told["actions"]["human"] == sum(action.source == "human" for action in mine.values())


def _press_until_it_counts(live: Watched) -> list[ev.AnyEvent]:
    def pressed() -> bool:
        live.run.key("L", 0)
        # The second cook is nobody's at the keyboard.
        live.run.key("R", 1)
        return sum(action.source == "human" for action in live.of(ev.Action)) >= 3

    live.until("three keys that counted", pressed)
    live.run.command("quit")
    return live.play()


def test_a_reactor_that_is_killed_costs_the_partner_one_default_action(tmp_path: Path) -> None:
    config = plan_episode("overcooked", agent="random", partner="reactive", load="easy", ticks=80, tick_rate=20.0)
    with watched(config, record=tmp_path / "run.rtr") as live:
        live.until("first steps", lambda: len(live.of(ev.Step)) >= 3)
        kill(live, "reactor")
        live.until("fault event", lambda: live.of(ev.Fault), seconds=5)
        dead = live.of(ev.Fault)[0].tick
        live.until("an action of the new reactor", lambda: any(action.tick > dead and action.source == "reactor" for action in live.of(ev.Action, player=1)))
        live.run.command("quit")
        log = live.play()
    assert [(action.tick, action.reason) for action in actions(log, 1) if action.source == "default"] in ([], [(dead, "fault")])
    assert {action.source for action in actions(log, 0)} == {"policy"}


# What is to be played.


def wanted(*, vs: str | None = None, **options: Any) -> Wanted:
    return Wanted(game="overcooked", options={"agent": "human", "partner": "agile", "load": "easy", "seed": 0, **options}, tick_rate=None, record=None, recording=False, vs=vs)


def test_a_person_is_the_first_cook_and_the_kitchens_pace_is_theirs() -> None:
    plan = make_plan(wanted(), screen=True)
    assert (plan.seats, plan.hands(0), plan.sides[0].tick_rate) == ((Seat(0, 0),), {0: 0}, 3.0)
    assert label(plan.sides[0]) == "human-with-agile"


def test_the_partners_share_of_a_tick_is_asked_for_as_an_agents_is() -> None:
    assert make_plan(wanted(reactive_budget="1024"), screen=True).sides[0].reactive_budget_tokens == 1024
    with pytest.raises(ConfigError, match="takes no reactive budget"):
        make_plan(wanted(partner="reactive", reactive_budget="1024"), screen=True)


def test_two_kitchens_race_with_a_partner_in_each() -> None:
    plan = make_plan(wanted(vs="random", reactive_budget="1024"), screen=True)
    assert [(side.agent, side.partner, side.player, side.reactive_budget_tokens) for side in plan.sides] == [("human", "agile", 1, 1024), ("random", "agile", 1, 1024)]
    with pytest.raises(ConfigError, match="both have to think"):
        make_plan(wanted(vs="reactive"), screen=True)


# Recorded.


def test_a_recording_verifies_and_its_thinkers_run_again(recording: Path) -> None:
    with open_replay(recording) as replay:
        assert verify(replay).same
        found = rerun(replay)
    assert (found.ticks, found.same, found.why) == (30, True, "")


def test_its_settings_come_back_from_the_header(recording: Path) -> None:
    with open_replay(recording) as replay:
        config = config_of(replay.header)
    assert isinstance(config, Config)
    assert (config.agent, config.partner, config.player, config.thinker) == ("random", "agile", 1, "agile")
    assert config.reactive_budget_tokens == 1536


def test_a_programming_partner_runs_again_too(tmp_path: Path) -> None:
    path = record(tmp_path / "code.rtr", agent="random", partner="code", allow_code=True, **SHORT)
    with open_replay(path) as replay:
        assert rerun(replay).same
        assert rerun(replay).ticks == 12


@pytest.mark.parametrize(("player", "field"), [(0, "view.you"), (2, "header.player"), (-1, "header.player")])
def test_a_header_that_names_another_player_is_a_divergence_and_no_crash(player: int, field: str, recording: Path, tmp_path: Path) -> None:
    import msgspec

    path = tmp_path / "odd.rtr"
    with open_replay(recording) as replay, ReplayWriter.create(path, msgspec.structs.replace(replay.header, player=player)) as writer:
        for tick in replay.ticks:
            writer.tick(tick, [event for event in replay.events(tick) if isinstance(event, ev.Event) and not isinstance(event, ev.End)])
    with open_replay(path) as odd:
        divergence = verify(odd).divergence
        assert divergence is not None
        assert (divergence.tick, divergence.field) == (0, field)
        assert rerun(odd).divergence is not None
        fold_all(event for tick in odd.ticks for event in [odd.header, *odd.events(tick)] if isinstance(event, ev.Event))


def test_a_partner_named_by_a_path_is_not_loaded_on_a_recordings_word(recording: Path) -> None:
    import msgspec

    with open_replay(recording) as replay:
        for partner in ("./mine.py", 7):
            header = msgspec.structs.replace(replay.header, options={**replay.header.options, "partner": partner})
            with pytest.raises(ConfigError, match="not loaded on a recording's word"):
                config_of(header)


def test_a_fork_keeps_its_partner_and_may_have_another(recording: Path, tmp_path: Path) -> None:
    def forked(name: str, **given: Any) -> ev.Episode:
        _, options = fork_options(str(recording), 10, given)
        path = record(tmp_path / f"{name}.rtr", **options)
        with open_replay(path) as replay:
            assert replay.first_tick == 10
            assert verify(replay).same
            assert rerun(replay).same
            return replay.header

    kept = forked("kept")
    assert (kept.agent, kept.options["partner"], kept.player, kept.reactive_budget_tokens) == ("random", "agile", 1, 1536)
    other = forked("other", partner="reactive")
    assert (other.options["partner"], other.player, other.reactive_budget_tokens) == ("reactive", 1, 4096)
    turned = forked("turned", agent="agile", partner="scripted")
    assert (turned.agent, turned.player, turned.reactive_budget_tokens) == ("agile", 0, 1536)
    with pytest.raises(ConfigError, match="both have to think"):
        plan_episode("overcooked", **fork_options(str(recording), 10, {"agent": "reactive"})[1])


def test_a_table_has_the_partners_letter_source_and_reason(tmp_path: Path) -> None:
    path = record(tmp_path / "cut.rtr", agent="random", partner="reactive", load="easy", ticks=3, tick_budget=40)
    with open_replay(path) as replay:
        rows = list(csv.DictReader(csv_lines(replay)))
        told = info(replay)
    assert [(row["source"], row["partner_action"], row["partner_source"], row["partner_reason"]) for row in rows] == [("policy", "S", "default", "truncated")] * 3
    assert (told["actions"], told["default_actions"], told["thinks_for"]) == ({"policy": 3}, 0, "partner")
    assert told["partner"] == {"name": "reactive", "default_actions": 3, "default_reasons": {"truncated": 3}, "actions": {"default": 3}}


def test_a_script_is_no_partner_to_tell_of(tmp_path: Path) -> None:
    path = record(tmp_path / "plain.rtr", agent="random", load="easy", ticks=3)
    with open_replay(path) as replay:
        told = info(replay)
        assert (told["partner"], told["thinks_for"]) == (None, "agent")
        assert {row["partner_source"] for row in csv.DictReader(csv_lines(replay))} == {""}


def test_what_guidance_did_is_asked_about_the_partners_actions(recording: Path) -> None:
    with open_replay(recording) as replay:
        told = ask(replay, 4, ("none", "both"))
        [applied] = [event for event in replay.events(4) if isinstance(event, ev.Action) and event.player == 1]
        assert (told.letter, told.source) == (applied.letter, "reactor")
        # With what it was shown then it says what it said then.
        assert told.asked[1].letter == applied.letter
        assert weigh(replay).asked == 30


def test_the_page_shows_the_partners_action_and_the_other_cooks_beside_it(recording: Path) -> None:
    with open_replay(recording) as replay:
        data = page_data(replay, Span(0, 29))
        letters = [[event.letter for event in replay.events(tick) if isinstance(event, ev.Action)] for tick in range(30)]
    assert (data["agent"], data["whose"]) == ("random + agile", "partner's ")
    # What was applied in a tick is told with the tick.
    assert [(row["beside"][:2], row["act"][0]) for row in data["ticks"]] == [(["random", mine], theirs) for mine, theirs in letters]
