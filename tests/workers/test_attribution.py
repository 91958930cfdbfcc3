"""Asking the reactor of a recording again: exact where it must be, and what guidance came to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from recordings_kit import record, write

import games
from replays import events as ev
from replays.reader import open_replay
from workers.attribution import AHEAD, KINDS, Attribution, ask, weigh
from workers.backends import Chunk, Finish, Request
from workers.config import plan_episode
from workers.errors import ConfigError

SHORT: dict[str, Any] = {"load": "hard", "seed": 1, "ticks": 12, "tick_budget": 2048, "reactive_budget": 1024}


@pytest.mark.parametrize("game", ["snake", "freeway", "overcooked"])
@pytest.mark.parametrize("guidance", ["both", "trace", "none"])
def test_what_was_shown_then_gives_what_was_answered_then(game: str, guidance: str, tmp_path: Path) -> None:
    path = record(tmp_path / "a.rtr", game, guidance=guidance, **SHORT)
    with open_replay(path) as recording:
        for tick in recording.ticks:
            found = ask(recording, tick, (guidance,))
            told = next(event for event in recording.events(tick) if isinstance(event, ev.Answer))
            end = next(event for event in recording.events(tick) if isinstance(event, ev.Generation) and event.stream == "reactor" and event.phase == "end")
            start = next(event for event in recording.events(tick) if isinstance(event, ev.Generation) and event.stream == "reactor")
            shown = sum(part.upto - part.start for part in start.prompt if isinstance(part, ev.Part) and part.guidance)
            one = found.asked[0]
            assert (one.letter, one.tokens, one.shown_bytes) == ((told.letters or [found.letter])[0], end.clock_tokens, shown), tick
            assert found.exact


@pytest.mark.parametrize("options", [{"throughput": "shared"}, {"guidance_limit": 50}, {"dynamic_reactive_budget": True}], ids=["shared", "limit", "dynamic"])
def test_asking_again_is_exact_under_every_option(options: dict[str, Any], tmp_path: Path) -> None:
    with open_replay(record(tmp_path / "a.rtr", **{**SHORT, **options})) as recording:
        for tick in recording.ticks:
            found = ask(recording, tick, ("both",))
            assert found.asked[0].letter == found.letter


def test_the_kinds_stand_side_by_side_and_none_is_shown_nothing(tmp_path: Path) -> None:
    with open_replay(record(tmp_path / "a.rtr", **SHORT)) as recording:
        found = ask(recording, 3)
        assert tuple(one.guidance for one in found.asked) == KINDS
        none, trace, both = found.asked
        assert none.shown_bytes == 0
        assert 0 < trace.shown_bytes <= both.shown_bytes
        assert found.line().startswith("tick 3: ")
        assert len(found.line().splitlines()) == 1


def test_guidance_that_changes_nothing_changes_no_action(tmp_path: Path) -> None:
    with open_replay(record(tmp_path / "a.rtr", guidance="none", **SHORT)) as recording:
        assert weigh(recording).changed == 0
        assert not any(ask(recording, tick, ("none",)).changed for tick in recording.ticks)


class Follower:
    """Answers U where it is shown anything of the planner, else D."""

    info = ev.Backend(spec="follower", title="follower")
    blocking = False

    def stream(self, request: Request) -> Any:
        text = f"\\boxed{{{'U' if request.guidance else 'D'}}}"
        yield Chunk(text, (len(text),), "content")
        yield Finish()

    def close(self) -> None:
        """Nothing is held."""


def followed(tmp_path: Path, **options: Any) -> Path:
    config = plan_episode("snake", **{"load": "easy", "seed": 0, "ticks": 5, "tick_budget": 512, "reactive_budget": 128, **options}, reactor=Follower())
    return write(tmp_path / "a.rtr", config)


def test_exchanged_actions_are_played_out_with_the_recorded_ones_behind(tmp_path: Path) -> None:
    path = followed(tmp_path)
    with open_replay(path) as recording:
        found = weigh(recording, reactor=Follower())
        steps = {event.tick: event for tick in recording.ticks for event in recording.events(tick) if isinstance(event, ev.Step)}
    assert found.asked == len(steps)
    assert found.changed == len(steps)
    assert [one.letter for one in found.exchanges] == ["U"] * len(steps)
    # By hand: the same episode with one D in it.
    for one in found.exchanges:
        game = games.make("snake", load="easy", seed=0)
        game.reset()
        score = 0.0
        for tick in range(min(len(steps), one.tick + AHEAD)):
            result = game.step("D" if tick == one.tick else "U")
            score = result.score
            if result.done:
                break
        assert (one.score, one.other_score) == (steps[max(steps)].score, score)
    assert found.better + found.worse + found.neither == found.changed


def test_a_recording_does_not_choose_who_is_asked(tmp_path: Path) -> None:
    with open_replay(followed(tmp_path)) as recording, pytest.raises(ConfigError, match="--reactor"):
        ask(recording, 0)


def test_a_reactor_that_does_not_answer_comes_to_the_default(tmp_path: Path) -> None:
    script = tmp_path / "mute.json"
    script.write_text(json.dumps([{"tokens": 9000}]))
    with open_replay(record(tmp_path / "a.rtr", **SHORT)) as recording:
        found = ask(recording, 4, ("none",), reactor=f"scripted:{script}")
    one = found.asked[0]
    assert (one.letter, one.source, one.reason, one.tokens) == ("S", "default", "truncated", 1024)
    assert "default: truncated" in found.line()


@pytest.mark.parametrize(("agent", "tick", "says"), [("planning", 1, "no reactor"), ("random", 1, "no reactor"), ("reactive", 99, "it holds ticks 0 to 2")])
def test_what_cannot_be_asked_is_one_sentence(agent: str, tick: int, says: str, tmp_path: Path) -> None:
    with open_replay(record(tmp_path / "a.rtr", agent=agent, load="easy", ticks=3, tick_budget=512)) as recording, pytest.raises(ConfigError, match=says):
        ask(recording, tick)


def test_a_lost_tick_before_is_survived(tmp_path: Path) -> None:
    def lose(event: ev.AnyEvent) -> ev.AnyEvent | None:
        return None if event.tick in (3, 4) else event

    with open_replay(write(tmp_path / "a.rtr", plan_episode("overcooked", **SHORT), change=lose)) as recording:
        assert isinstance(ask(recording, 6), Attribution)
        found = weigh(recording)
        assert found.asked == 10


def test_a_state_that_is_none_is_left_out(tmp_path: Path) -> None:
    def spoil(event: ev.AnyEvent) -> ev.AnyEvent:
        return msgspec.structs.replace(event, state={"snake": "long"}) if isinstance(event, ev.Step) else event

    with open_replay(write(tmp_path / "a.rtr", plan_episode("snake", **SHORT), change=spoil)) as recording:
        found = weigh(recording)
    assert all(one.tick == 0 for one in found.exchanges)


def test_wall_time_is_asked_with_its_seconds_and_says_that_it_is_not_exact(tmp_path: Path) -> None:
    config = plan_episode("snake", load="easy", seed=0, tick_budget="1s", reactive_budget="500ms")
    from workers.episode import make_game, make_header

    game = make_game(config)
    seen = game.observe()
    header = make_header(config, game, meas={})
    from replays.writer import ReplayWriter

    with ReplayWriter.create(tmp_path / "w.rtr", header) as writer:
        second = 1_000_000_000
        tick = ev.Tick(tick=0, view=seen.view, text=seen.text, snapshot=game.snapshot(), reactor_ns=second // 2, deadline_ns=second)
        writer.tick(0, [tick, ev.Action(tick=0, letter="L", source="reactor")])
    with open_replay(tmp_path / "w.rtr") as recording:
        found = ask(recording, 0, ("none",))
    assert not found.exact
    assert found.asked[0].tokens <= 500
    assert "not exact" in found.line()
