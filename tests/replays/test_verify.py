"""Playing a recording again: equal, twice in a row; changed, the first divergence by name."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from replay_episodes import Played, play, record_starts, typed, write

import games
from replays import events as ev
from replays.errors import ReplayError
from replays.reader import open_replay
from replays.verify import Verdict, verify
from replays.writer import ReplayWriter

NAMES = ["snake", "freeway", "overcooked"]


def check(path: Path, **options: str) -> Verdict:
    with open_replay(path) as replay:
        return verify(replay, **options)


def changed(played: Played, tick: int, change: Callable[[ev.AnyEvent], ev.AnyEvent]) -> Played:
    ticks = [(number, [change(event) if number == tick else event for event in events]) for number, events in played.ticks]
    return played._replace(ticks=ticks)


@pytest.mark.parametrize("load", ["easy", "medium", "hard"])
@pytest.mark.parametrize("name", NAMES)
def test_an_untouched_recording_verifies_again_and_again(tmp_path: Path, name: str, load: str) -> None:
    played = play(name, load=load, ticks=30)
    path = write(tmp_path / "a.rtr", played)
    for _ in range(2):
        verdict = check(path)
        assert verdict.same, str(verdict.divergence)
        assert verdict.steps == len(played.ticks)


@pytest.mark.parametrize("name", NAMES)
def test_a_changed_action_is_found_at_its_tick_or_later(tmp_path: Path, name: str) -> None:
    played = play(name, ticks=30)
    letters = games.spec(name).legal_actions
    found = []
    for letter in letters:
        path = tmp_path / f"{letter}.rtr"
        if any(isinstance(event, ev.Action) and event.letter == letter for event in dict(played.ticks)[11]):
            continue

        def other(event: ev.AnyEvent, letter: str = letter) -> ev.AnyEvent:
            return msgspec.structs.replace(event, letter=letter) if isinstance(event, ev.Action) else event

        write(path, changed(played, 11, other))
        verdict = check(path)
        if verdict.divergence is None:
            continue
        assert not verdict.same
        assert verdict.divergence.tick >= 11
        assert verdict.divergence.recorded != verdict.divergence.played
        assert str(verdict.divergence).startswith(f"tick {verdict.divergence.tick}: ")
        found.append(verdict.divergence.field)
    # Some letter may mean the same in that tick, but not all of them do.
    assert found


@pytest.mark.parametrize(
    ("field", "value", "named"),
    [("score", 99.0, "score"), ("reward", 7.5, "reward"), ("points", 3.0, "points"), ("reset", True, "reset"), ("done", True, "done")],
)
def test_a_changed_figure_of_a_step_is_named(tmp_path: Path, field: str, value: object, named: str) -> None:
    played = play(ticks=12)
    tampered = changed(played, 5, lambda event: msgspec.structs.replace(event, **{field: value}) if isinstance(event, ev.Step) else event)
    divergence = check(write(tmp_path / "a.rtr", tampered)).divergence
    assert divergence is not None
    assert (divergence.tick, divergence.field, divergence.recorded) == (5, named, value)


def test_a_changed_state_observation_or_text_is_named_to_the_leaf(tmp_path: Path) -> None:
    played = play(ticks=12)

    def step(event: ev.AnyEvent) -> ev.AnyEvent:
        if not isinstance(event, ev.Step):
            return event
        state = msgspec.msgpack.decode(msgspec.msgpack.encode(event.state))
        state["snake"][0][1] += 1
        return msgspec.structs.replace(event, state=state)

    def view(event: ev.AnyEvent) -> ev.AnyEvent:
        return msgspec.structs.replace(event, view={**event.view, "size": 9}) if isinstance(event, ev.Tick) else event

    def text(event: ev.AnyEvent) -> ev.AnyEvent:
        return msgspec.structs.replace(event, text=event.text.replace("Turn: 7", "Turn: 8")) if isinstance(event, ev.Tick) else event

    for number, (change, tick, field) in enumerate(((step, 4, "state.snake[0][1]"), (view, 6, "view.size"), (text, 7, "text[6:]"))):
        divergence = check(write(tmp_path / f"{number}.rtr", changed(played, tick, change))).divergence
        assert divergence is not None
        assert (divergence.tick, divergence.field) == (tick, field)


def test_another_seed_in_the_header_is_noticed(tmp_path: Path) -> None:
    played = play(ticks=12)
    divergence = check(write(tmp_path / "a.rtr", played._replace(header=msgspec.structs.replace(played.header, seed=23)))).divergence
    assert divergence is not None
    assert divergence.tick == 0
    assert divergence.field.startswith("snapshot")


def test_wrong_totals_are_noticed(tmp_path: Path) -> None:
    played = play(ticks=12)
    for number, (field, value) in enumerate((("score", 0.9), ("raw_score", 50.0), ("default_actions", 40), ("ticks", 5))):
        end = msgspec.structs.replace(played.end, totals=msgspec.structs.replace(played.end.totals, **{field: value}))
        divergence = check(write(tmp_path / f"{number}.rtr", played._replace(end=end))).divergence
        assert divergence is not None
        assert (divergence.field, divergence.recorded) == (f"end.{field}", value)


def test_a_step_without_an_action_or_with_an_illegal_one_is_named(tmp_path: Path) -> None:
    played = play(ticks=12)
    gone = played._replace(ticks=[(t, [e for e in events if not (t == 3 and isinstance(e, ev.Action))]) for t, events in played.ticks])
    wrong = changed(played, 3, lambda event: msgspec.structs.replace(event, letter="Z") if isinstance(event, ev.Action) else event)
    for number, episode in enumerate((gone, wrong)):
        divergence = check(write(tmp_path / f"{number}.rtr", episode)).divergence
        assert divergence is not None
        assert (divergence.tick, divergence.field) == (3, "action")


def test_ticks_lost_to_damage_are_told_and_the_rest_is_checked(tmp_path: Path) -> None:
    path = write(tmp_path / "a.rtr", play(ticks=20), keyframe_every=100)
    data = bytearray(path.read_bytes())
    data[record_starts(bytes(data))[1 + 6] + 30] ^= 0xFF
    path.write_bytes(data)
    verdict = check(path)
    assert verdict.divergence is None
    assert verdict.unchecked == (6, 7)
    assert verdict.steps == 18
    assert not verdict.same


def test_a_recording_that_was_quit_within_a_tick_verifies(tmp_path: Path) -> None:
    played = play(ticks=12)
    tick, events = played.ticks[-1]
    ticks = [*played.ticks[:-1], (tick, [event for event in events if not isinstance(event, ev.Step | ev.Action)])]
    last = next(event for event in played.ticks[-2][1] if isinstance(event, ev.Step))
    totals = msgspec.structs.replace(played.end.totals, ticks=11, raw_score=last.score, points=last.points, score=last.points / 24)
    end = msgspec.structs.replace(played.end, done_reason="quit", totals=totals)
    verdict = check(write(tmp_path / "a.rtr", Played(played.header, ticks, end)))
    assert verdict.same, str(verdict.divergence)
    assert verdict.steps == 11


def test_a_fork_is_played_on_from_its_snapshot(tmp_path: Path) -> None:
    played = play("overcooked", ticks=20)
    game = games.make("overcooked", load=played.header.load, seed=played.header.seed)
    game.reset()
    for _, events in played.ticks[:8]:
        game.step(next(event.letter for event in events if isinstance(event, ev.Action)))
    tick, events = played.ticks[8]
    first = [msgspec.structs.replace(event, snapshot=game.snapshot()) if isinstance(event, ev.Tick) else event for event in events]
    header = msgspec.structs.replace(played.header, parent=ev.Parent(file="file-0", tick=8))
    totals = msgspec.structs.replace(played.end.totals, ticks=12, default_actions=1)
    end = msgspec.structs.replace(played.end, totals=totals)
    path = write(tmp_path / "a.rtr", Played(header, [(tick, first), *played.ticks[9:]], end))
    verdict = check(path)
    assert verdict.same, str(verdict.divergence)
    assert verdict.steps == 12


def test_a_partner_who_is_no_script_is_played_as_recorded(tmp_path: Path) -> None:
    rng = random.Random(4)
    game = games.make("overcooked", load="medium", seed=1)
    game.reset()
    header = ev.Episode(tick=0, game="overcooked", load="medium", seed=1, agent="random")
    path = tmp_path / "a.rtr"
    with ReplayWriter.create(path, header) as writer:
        for tick in range(15):
            seen = game.observe()
            letters = [rng.choice(game.legal_actions) for _ in range(2)]
            start = ev.Tick(tick=tick, view=seen.view, text=seen.text)
            actions = [ev.Action(tick=tick, letter=letter, source="policy", player=player) for player, letter in enumerate(letters)]
            result = game.step(letters[0], partner=letters[1])  # type: ignore[call-arg]
            step = ev.Step(tick=tick, state=game.snapshot(), reward=result.reward, score=result.score, points=game.points)
            writer.tick(tick, [typed(event) for event in (start, *actions, step)])
    verdict = check(path)
    assert verdict.divergence is None
    assert verdict.steps == 15


def test_a_game_named_by_a_path_is_never_run_on_the_files_word(tmp_path: Path) -> None:
    trap = tmp_path / "trap.py"
    trap.write_text(f"open({str(tmp_path / 'sprung')!r}, 'w')\n")
    played = play(ticks=3)
    for number, name in enumerate((str(trap), "./trap.py", "trap.py", "a\\b")):
        path = write(tmp_path / f"{number}.rtr", played._replace(header=msgspec.structs.replace(played.header, game=name)))
        with pytest.raises(ReplayError, match="not loaded on a replay's word"):
            check(path)
    assert not (tmp_path / "sprung").exists()
    # Named by the person, it is the person's choice.
    assert check(tmp_path / "0.rtr", game="snake").steps == 3


def test_a_game_that_is_not_installed_is_told(tmp_path: Path) -> None:
    played = play(ticks=3)
    path = write(tmp_path / "a.rtr", played._replace(header=msgspec.structs.replace(played.header, game="chess")))
    with pytest.raises(ReplayError, match="cannot be made: unknown game 'chess'"):
        check(path)
