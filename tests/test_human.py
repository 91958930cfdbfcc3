"""A person at the desk: which key counts for which tick, who moves which player, and how a heat begins. Without processes, on a manual clock."""

from __future__ import annotations

import math
import sys
from collections import deque
from pathlib import Path
from typing import Any

import pytest

from replays import events as ev
from rtdesk.heat import Gate
from rtdesk.leave import Exit
from rtdesk.live import Wanted
from rtdesk.match import GHOST_RATES, Seat, make_plan
from workers.conductor import Conductor, Want
from workers.config import plan_episode
from workers.episode import cast_of, make_game, make_header
from workers.errors import ConfigError
from workers.hands import Hands
from workers.pace import Tempo
from workers.rings import ListRing
from workers.simulator import simulate
from workers.wire import Command, Emitter, GoAhead, Stand, drain, split

sys.path.insert(0, str(Path(__file__).parent / "workers"))

SECOND = 1_000_000_000
BEGIN = 5 * SECOND


class Sitting:
    """An episode played by keys at given seconds; nothing waits but the manual clock."""

    def __init__(self, game: str = "overcooked", *, tick_s: float = 0.5, ticks: int = 12, agent: str = "human", together: bool = False, **options: Any) -> None:
        self.now = BEGIN
        config = plan_episode(game, agent=agent, tick_rate=1 / tick_s, ticks=ticks, load="easy", **options)
        played = make_game(config)
        header = make_header(config, played, meas={})
        self._ring, self._desk = ListRing(), ListRing()
        emitter = Emitter(self._ring.writer(), clock=lambda: self.now, epoch_ns=BEGIN)
        assert config.tick_rate is not None
        assert config.tick_budget_tokens is not None
        tempo = Tempo(config.tick_rate * config.tick_budget_tokens, tick_tokens=config.tick_budget_tokens)
        self.conductor = Conductor(cast_of(config, played, header), played, emitter, header=header, tempo=tempo, together=together)
        self._orders = Emitter(self._desk.writer(), clock=lambda: self.now)
        self._heard = self._desk.reader()
        self._said = self._ring.reader()
        self.events: list[Any] = []
        self.most_waiting = 0

    def tell(self, message: Command | GoAhead) -> None:
        self._orders.control(message)
        self.conductor.hear("desk", drain(self._heard))
        self.most_waiting = max(self.most_waiting, len(self.conductor._hands._early))

    def play(self, keys: list[tuple[float, str]] | list[tuple[float, str, int]], *, word_s: dict[int, float] | None = None) -> list[ev.Action]:
        """Press `keys` (second, letter, player) while it plays; in a match the word for tick k comes at `word_s[k]`, else at once."""
        coming = deque(sorted((BEGIN + round(key[0] * SECOND), key[1], key[2] if len(key) > 2 else 0) for key in keys))  # type: ignore[misc]
        for want in self.conductor.run():
            while not self.conductor.met(want, self.now):
                due = self._due(want, word_s or {})
                self.now = max(self.now, min(due, coming[0][0] if coming else math.inf))  # type: ignore[assignment]
                while coming and coming[0][0] <= self.now:
                    t_ns, letter, player = coming.popleft()
                    self.tell(Command(what="key", value=letter, player=player, t_ns=t_ns))
                if want.kind == "go" and self.now >= due:
                    self.tell(GoAhead(tick=want.upto))
            self.now = round(self.now)
        self.events = list(split(drain(self._said)))
        return [event for event in self.events if isinstance(event, ev.Action)]

    def _due(self, want: Want, word_s: dict[int, float]) -> float:
        if want.kind == "go":
            return BEGIN + word_s[want.upto] * SECOND if want.upto in word_s else self.now
        assert want.kind == "due", want
        return math.ceil(self.conductor.due_ns(want))

    @property
    def keys(self) -> list[tuple[int, str, int]]:
        return [(event.tick, event.value, event.player) for event in self.events if isinstance(event, ev.Control)]


def letters(actions: list[ev.Action], player: int = 0) -> str:
    return "".join(action.letter if action.source == "human" else "-" for action in actions if action.player == player)


# Which key counts.


def test_a_held_key_moves_once_a_tick_and_nothing_of_it_is_left() -> None:
    """Case T12."""
    sitting = Sitting(tick_s=0.5)
    held = [(number / 30, "R") for number in range(90)]
    actions = sitting.play([*held, (3.1, "U")])
    assert letters(actions) == "RRRRRRU-----"
    assert {action.reason for action in actions if action.source == "default"} == {"none"}
    assert sitting.most_waiting <= 1
    # The repeats of a key in force say nothing new.
    assert sitting.keys == [*((tick, "R", 0) for tick in range(6)), (6, "U", 0)]


def test_the_last_key_of_a_tick_wins() -> None:
    assert letters(Sitting(ticks=3).play([(0.1, "L"), (0.2, "R"), (0.49, "U"), (0.6, "D")])) == "UD-"


def test_a_key_counts_in_the_tick_it_was_pressed_in_up_to_its_last_instant() -> None:
    assert letters(Sitting(ticks=4).play([(0.5, "L"), (0.500001, "R"), (1.499, "U")])) == "LRU-"


def test_thirty_ticks_a_second_take_a_key_each() -> None:
    pressed = [(number / 30 + 0.020, "UDLR"[number % 4]) for number in range(40)]
    assert letters(Sitting(tick_s=1 / 30, ticks=40).play(pressed)) == "UDLR" * 10


def test_a_key_the_game_does_not_know_is_none() -> None:
    assert letters(Sitting("snake", ticks=2).play([(0.1, "I"), (0.6, "U")])) == "-U"


def test_keys_are_in_the_canonical_log_and_change_it() -> None:
    def digest(keys: list[tuple[float, str]]) -> str:
        sitting = Sitting(ticks=3)
        sitting.play(keys)
        return ev.canonical_digest([event for event in sitting.events if isinstance(event, ev.Event)])

    same = {digest([(0.1, "L")]), digest([(0.3, "L")]), digest([(0.2, "L"), (0.25, "L")])}
    assert len(same) == 1
    assert digest([(0.1, "L"), (0.2, "I"), (0.3, "L")]) not in same
    assert digest([]) not in same


def test_keys_pressed_while_somebody_is_waited_for_do_not_count() -> None:
    sitting = Sitting(ticks=4, together=True)
    # The word for tick 1 comes two seconds late; then time goes on from there.
    actions = sitting.play([(0.2, "L"), (0.7, "D"), (1.5, "U"), (2.9, "U"), (3.2, "R")], word_s={1: 3.0})
    assert letters(actions) == "LDR-"
    stands = [event.tick for event in sitting.events if isinstance(event, Stand)]
    assert stands == [0, 1, 2, 3]


def test_a_tick_that_ends_a_little_late_takes_keys_until_it_ends() -> None:
    actions = Sitting(ticks=4, together=True).play([(0.51, "L"), (1.7, "R"), (2.2, "U"), (2.48, "D"), (2.6, "R")], word_s={0: 0.52, 2: 1.72, 3: 2.5})
    assert letters(actions) == "L-RU"


def test_a_key_pressed_in_the_moment_between_two_ticks_counts_for_the_next() -> None:
    hands = Hands((0,), "UDLR")
    hands.begin(BEGIN)
    hands.end(BEGIN + SECOND)
    late = Command(what="key", value="U", t_ns=BEGIN + SECOND + 1_000_000)
    assert not hands.press(late, until_ns=BEGIN + SECOND)
    assert hands.begin(BEGIN + SECOND + 2_000_000) == [late]
    assert hands.key(0) == "U"


def test_keys_pressed_before_the_game_began_do_not_count() -> None:
    hands = Hands((0,), "UDLR")
    assert not hands.press(Command(what="key", value="U", t_ns=BEGIN - 1), until_ns=math.inf)
    assert hands.begin(BEGIN) == []
    assert hands.key(0) == ""


# Who moves whom.


def test_two_people_move_two_cooks_and_the_log_says_who() -> None:
    sitting = Sitting(ticks=3, partner="human")
    actions = sitting.play([(0.1, "L", 0), (0.2, "R", 1), (0.7, "U", 1)])
    assert letters(actions) == "L--"
    assert letters(actions, 1) == "RU-"
    assert [(action.tick, action.player) for action in actions] == [(tick, player) for tick in range(3) for player in (0, 1)]
    assert sitting.keys == [(0, "L", 0), (0, "R", 1), (1, "U", 1)]
    # Both moved: the partner is no script any more.
    step = next(event for event in sitting.events if isinstance(event, ev.Step))
    assert step.state["history"] == ["L", "R"]


def test_a_person_is_the_partner_of_a_baseline() -> None:
    actions = Sitting(ticks=2, agent="default", partner="human").play([(0.1, "L", 0), (0.2, "U", 1)])
    assert letters(actions, 1) == "U-"
    assert [action.letter for action in actions if action.player == 0] == ["S", "S"]


def test_a_partner_that_draws_does_not_disturb_the_agents_own_draws() -> None:
    alone = simulate("overcooked", agent="random", load="easy", ticks=20).events
    paired = simulate("overcooked", agent="random", partner="random", load="easy", ticks=20).events
    mine = [[event.letter for event in events if isinstance(event, ev.Action) and event.player == 0] for events in (alone, paired)]
    assert mine[0] == mine[1]
    assert [event.letter for event in paired if isinstance(event, ev.Action) and event.player == 1] != mine[0]


@pytest.mark.parametrize(
    ("game", "options", "words"),
    [
        ("snake", {"partner": "human"}, "which one plays alone"),
        ("snake", {"partner": "agile"}, "which one plays alone"),
        ("overcooked", {"partner": "agile"}, "agent 'agile' and partner 'agile' both have to think.*give --partner scripted"),
        ("overcooked", {"agent": "reactive", "partner": "agile"}, "'reactive' and partner 'agile' both have to think"),
        ("overcooked", {"agent": "human", "partner": "code"}, "agent 'code' .* add --allow-code"),
        ("overcooked", {"agent": "human", "partner": "reactive", "reactive_budget": 512}, "takes no reactive budget"),
        ("overcooked", {"agent": "human", "partner": "agile", "tick_budget": "6s", "throughput": "shared"}, "divides token time"),
        ("overcooked", {"partner": "hunan"}, "did you mean 'human'"),
    ],
)
def test_a_partner_that_cannot_be_is_refused(game: str, options: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        plan_episode(game, **options)


def test_only_a_game_for_two_says_who_the_partner_is() -> None:
    assert plan_episode("overcooked").options["partner"] == "scripted"
    assert "partner" not in plan_episode("snake").options


# How a heat begins.


def test_the_count_runs_when_the_rules_are_read_and_everybody_stands_ready() -> None:
    gate = Gate(count=3, reading=True)
    assert not gate.due(1 * SECOND, ready=True)
    assert gate.left == 0
    gate.reading = False
    assert not gate.due(2 * SECOND, ready=False)
    assert gate.left == 0
    shown = []
    for tenth in range(30, 60):
        assert not gate.due(tenth * SECOND // 10, ready=True)
        shown.append(gate.left)
    assert shown == [3] * 10 + [2] * 10 + [1] * 10
    assert gate.due(6 * SECOND, ready=True)
    assert gate.left == 0
    assert not gate.due(7 * SECOND, ready=True)


def test_reading_once_more_starts_the_count_anew() -> None:
    gate = Gate(count=3)
    gate.due(0, ready=True)
    gate.due(2 * SECOND, ready=True)
    assert gate.left == 1
    gate.reading = True
    assert not gate.due(9 * SECOND, ready=True)
    gate.reading = False
    assert not gate.due(10 * SECOND, ready=True)
    assert gate.left == 3
    assert gate.due(13 * SECOND, ready=True)


# What is to be played.


def wanted(game: str = "snake", *, vs: str | None = None, rate: float | None = None, given: frozenset[str] = frozenset(), **options: Any) -> Wanted:
    return Wanted(game=game, options={"agent": "agile", "load": "easy", "seed": 0, **options}, tick_rate=rate, record=None, recording=False, vs=vs, given=given)


def test_one_person_has_the_whole_keyboard_wherever_they_sit() -> None:
    cases = [
        (wanted(agent="human"), [Seat(0, 0)], [{0: 0}]),
        (wanted(vs="human"), [Seat(1, 0)], [{}, {0: 0}]),
        (wanted("overcooked", partner="human"), [Seat(0, 1)], [{0: 1}]),
    ]
    for one, seats, hands in cases:
        plan = make_plan(one, screen=True)
        assert list(plan.seats) == seats
        assert [plan.hands(side) for side in range(len(plan.sides))] == hands


def test_two_people_have_half_of_it_each() -> None:
    kitchen = make_plan(wanted("overcooked", agent="human", partner="human"), screen=True)
    assert [kitchen.hands(0), kitchen.people] == [{0: 0, 1: 1}, 2]
    race = make_plan(wanted(agent="human", vs="human"), screen=True)
    assert [race.hands(0), race.hands(1)] == [{0: 0}, {1: 0}]


def test_the_pace_is_a_persons_where_one_plays() -> None:
    rates = [make_plan(one, screen=True).sides[0].tick_rate for one in (wanted(), wanted(vs="human"), wanted("overcooked", partner="human"), wanted(vs="human", rate=9.0))]
    assert rates == [1.0, 4.0, 3.0, 9.0]


def test_sides_share_level_and_budgets_and_leave_out_what_is_not_for_them() -> None:
    plan = make_plan(wanted(vs="reactive", seed=7, tick_budget="4096", reactive_budget="1024", throughput="shared"), screen=False)
    one, other = plan.sides
    assert (one.seed, other.seed, one.tick_budget_tokens, other.tick_budget_tokens) == (7, 7, 4096, 4096)
    assert (one.reactive_budget_tokens, other.reactive_budget_tokens) == (1024, 4096)
    assert (one.throughput, other.throughput) == ("shared", "parallel")
    # A share in seconds says the clock for both.
    assert {side.clock for side in make_plan(wanted(vs="human", reactive_budget="2s"), screen=True).sides} == {"wall"}


@pytest.mark.parametrize(
    ("asked", "screen", "words"),
    [
        (wanted(vs="human"), False, "leave out --headless"),
        (wanted(vs="human", rate=math.inf), True, "--tick-rate max"),
        (wanted("overcooked", agent="human", vs="human", partner="human"), True, "more boards than hands"),
        (wanted(vs="nobody"), True, "unknown agent 'nobody'"),
        (wanted(vs="missing.rtr"), True, "missing.rtr"),
        (wanted(vs="reactive", rate=2.0, tpot="5ms"), True, "both set the pace"),
    ],
)
def test_a_match_that_cannot_be_is_refused_in_a_sentence(asked: Wanted, screen: bool, words: str) -> None:
    with pytest.raises((Exit, ConfigError, OSError, ValueError), match=words):
        make_plan(asked, screen=screen)


@pytest.fixture
def recording(tmp_path: Path) -> str:
    return _record(tmp_path, "snake", agent="reactive", load="hard", seed=3, ticks=12, tick_budget=64)


def _record(folder: Path, game: str, **options: Any) -> str:
    from replays.writer import ReplayWriter

    path = folder / "ghost.rtr"
    header, *events = simulate(game, **options).events
    assert isinstance(header, ev.Episode)
    with ReplayWriter.create(path, header) as writer:
        for tick in range(12):
            writer.tick(tick, [event for event in events if event.tick == tick and not isinstance(event, ev.End)])
        assert isinstance(events[-1], ev.End)
        writer.end(events[-1])
    return str(path)


def test_a_recording_is_raced_on_its_own_level(recording: str) -> None:
    plan = make_plan(wanted(agent="human", vs=recording), screen=True)
    try:
        assert plan.ghost is not None
        assert [(side.load, side.seed, side.ticks) for side in plan.sides] == [("hard", 3, 12)]
        # Made without a pace: nobody could race that, so the usual one is taken.
        assert plan.sides[0].tick_rate == 4.0
        assert GHOST_RATES[0] < plan.sides[0].tick_rate < GHOST_RATES[1]
    finally:
        plan.ghost.close()


def test_a_recording_of_another_level_is_refused(recording: str) -> None:
    for one, words in (
        (wanted(vs=recording, seed=4, given=frozenset({"seed"})), "seed 3, not 4"),
        (wanted("freeway", vs=recording), "recording of snake"),
    ):
        with pytest.raises(Exit, match=words):
            make_plan(one, screen=True)


def test_a_kitchen_is_raced_with_the_partner_it_had_or_one_that_was_named(tmp_path: Path) -> None:
    path = _record(tmp_path, "overcooked", agent="default", partner="random", ticks=12)
    with pytest.raises(Exit, match="give --partner random to race it on equal terms"):
        make_plan(wanted("overcooked", agent="human", vs=path), screen=True)
    for partner in ("random", "scripted"):
        plan = make_plan(wanted("overcooked", agent="human", vs=path, partner=partner, given=frozenset({"partner"})), screen=True)
        assert plan.ghost is not None
        plan.ghost.close()
        assert [side.partner for side in plan.sides] == [partner]


def test_beside_a_model_a_tick_is_as_long_as_its_thinking(monkeypatch: pytest.MonkeyPatch) -> None:
    import rtdesk.match

    monkeypatch.setattr(rtdesk.match, "_model_tpot", lambda sides: 0.02)
    plan = make_plan(wanted(vs="human", tick_budget="256"), screen=True)
    assert [config.tpot_s for config in plan.sides] == [0.02, 0.02]
    assert "a tick lasts 5.1 s, 256 tokens of 20 ms" in plan.sides[0].warnings[-1]
    # Told otherwise, it is not asked.
    assert make_plan(wanted(vs="human", rate=2.0), screen=True).sides[0].tpot_s is None


def test_a_models_speed_is_measured_by_asking_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from model_kit import ModelServer, Say, delta, sse, usage

    import rtdesk.match

    monkeypatch.setenv("RTDESK_API_KEY", "none")
    words = [delta(f"{number} ") for number in range(20)]
    with ModelServer(Say(sse(*words, delta(finish="stop"), usage(20)), gap_s=0.01)) as server:
        sides = [plan_episode("snake", agent="agile", planner=server.spec, reactor=server.spec), plan_episode("snake", agent="human")]
        tpot = rtdesk.match._model_tpot(sides)
        assert len([asked for asked in server.asked if asked.method == "POST"]) == 1
    assert tpot is not None
    assert 0.01 <= tpot < 0.1
    assert rtdesk.match._model_tpot([plan_episode("snake", agent="agile")]) is None
    with pytest.raises(Exit, match="give --tick-rate"):
        rtdesk.match._model_tpot(sides)
