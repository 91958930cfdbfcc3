"""The builtin Freeway thinkers: what they write is true, is all they know, and is worth what it costs."""

from __future__ import annotations

import re
from typing import Any

import pytest

import games
from games.freeway import GOAL, best_score, blocked, build, car_after, lane_after, level_seed, timetable
from games.rng import Legacy
from workers.answers import read_answer
from workers.simulator import simulate
from workers.thinkers import STRATEGIES, freeway_planner, freeway_reactor, freeway_search
from workers.thinkers.freeway_planner import plan
from workers.thinkers.freeway_reactor import react
from workers.thinkers.guidance import read_notes
from workers.tokens import count_tokens

LOADS = ("easy", "medium", "hard")
LETTERS = (("U", "up"), ("D", "down"), ("S", "stay"))
ROADS = [(load, seed) for load in LOADS for seed in (0, 3, 6, 11)]
SUM = re.compile(r"(-?\d+) ([+-]) (\d+) \* (\d+) = (-?\d+)")
LOOK = re.compile(r"From lane (\d) at turn (\d+): ([USD]) \w+ me (?:back )?(?:on|to) lane (\d) at turn (\d+); .*: (clear|hit)\.")
INSTEAD = re.compile(r"If at turn (\d+) I stand on lane (\d) instead")


def view_of(load: str, seed: int, letters: str = "") -> dict[str, Any]:
    """Return the view after some turns without a hit."""
    game = games.make("freeway", load=load, seed=seed)
    view = game.reset().view
    for letter in letters:
        result = game.step(letter)
        assert not result.reset
        view = result.observation.view
    return view


def text_of(steps: Any, channel: str = "") -> str:
    return "".join(text for strategy, text in steps if not channel or (strategy == "conclude") == (channel == "content"))


def moves_of(view: dict[str, Any], text: str) -> str:
    reading = read_answer(text, letters=LETTERS, mode="plan", turn=view["turn"])
    assert reading.letters is not None
    assert reading.turns == list(range(view["turn"], view["turn"] + len(reading.letters)))
    return "".join(reading.letters)


# The planner.


@pytest.mark.parametrize(("load", "seed"), ROADS)
def test_a_plan_crosses_in_the_fewest_turns(load: str, seed: int) -> None:
    letters = moves_of(view_of(load, seed), text_of(plan(view_of(load, seed), load=load), "content"))
    game = games.make("freeway", load=load, seed=seed)
    game.reset()
    results = [game.step(letter) for letter in letters]
    assert results[-1].terminated
    assert not any(result.reset for result in results)
    assert results[-1].score == best_score(build(Legacy(level_seed(load, seed))))


@pytest.mark.parametrize(("load", "seed"), ROADS)
def test_every_look_of_the_planner_says_what_the_rules_say(load: str, seed: int) -> None:
    view = view_of(load, seed, "SS")
    text = text_of(plan(view, load=load))
    looks = LOOK.findall(text)
    assert len(looks) > 30
    for lane, turn, letter, to, at, verdict in looks:
        assert int(to) == lane_after(int(lane), letter)
        assert int(at) == int(turn) + 1
        assert blocked(view, int(to), int(at) - view["turn"]) == (verdict == "hit")


@pytest.mark.parametrize("thinker", ["planner", "reactor"])
def test_every_sum_is_right_and_about_a_car_of_the_road(thinker: str) -> None:
    for load, seed in ROADS:
        view = view_of(load, seed, "S")
        text = text_of(plan(view, load=load) if thinker == "planner" else react(view, text_of(plan(view, load=load)), load=load))
        heads = {car_after(car, turns) for car in view["cars"] for turns in range(100)}
        sums = SUM.findall(text)
        assert sums
        for start, sign, times, step, total in sums:
            assert int(start) + (1 if sign == "+" else -1) * int(times) * int(step) == int(total)
            assert int(total) in heads


@pytest.mark.parametrize(("load", "seed"), ROADS)
def test_contingencies_lead_across_or_back_onto_the_line(load: str, seed: int) -> None:
    view = view_of(load, seed)
    text = text_of(plan(view, load=load))
    table = timetable(view, 100)
    lane, on = 0, set()
    for turn, letter in enumerate(moves_of(view, text)):
        lane = lane_after(lane, letter)
        on.add((turn + 1, lane))
    lines = [line for line in read_notes(text).lines() if line.instead]
    assert len(lines) == len(INSTEAD.findall(text)) > 4
    for line in lines:
        turn, lane = line.moves[0].turn, int(line.instead[-1])
        assert not table[turn][lane]
        for move in line.moves:
            assert move.turn == turn
            turn, lane = turn + 1, lane_after(lane, move.letter)
            assert move.where in ("", f"to lane {lane}")
            assert lane == GOAL or not table[turn][lane]
        assert lane == GOAL or (turn, lane) in on


@pytest.mark.parametrize(("load", "seed"), ROADS)
def test_a_place_warned_against_has_no_way_on(load: str, seed: int) -> None:
    view = view_of(load, seed)
    table = timetable(view, 100)
    for warning in read_notes(text_of(plan(view, load=load))).warnings:
        lane, turn = map(int, re.findall(r"\d+", warning))
        places = {lane}
        for now in range(turn, 100):
            places = {to for at in places for letter in "USD" if not table[now + 1][to := lane_after(at, letter)]}
            assert GOAL not in places
            if not places:
                break
        assert not places


def test_some_road_has_a_warning_and_a_line_called_off() -> None:
    text = text_of(plan(view_of("hard", 0), load="hard"))
    assert "WARNING avoid lane 3 at turn 5: dead end.\n" in text
    assert "Lane 3 at turn 5 leads nowhere, so that line is off" in text


def test_the_first_line_comes_early_and_the_whole_plan_in_good_time() -> None:
    wholes: dict[str, list[int]] = {load: [] for load in LOADS}
    for load, seed in ROADS:
        spent = 0
        first = None
        for _, text in plan(view_of(load, seed), load=load):
            spent += count_tokens(text)
            if first is None and text.startswith("Best line so far"):
                first = spent
        assert first is not None
        assert 120 <= first <= 420
        wholes[load].append(spent)
    assert all(6_000 <= whole <= 24_000 for load in LOADS for whole in wholes[load])
    assert sum(wholes["easy"]) < sum(wholes["medium"]) < sum(wholes["hard"])


def test_a_conclusion_fits_into_what_a_reactor_is_shown_of_it() -> None:
    for load, seed in ROADS:
        content = text_of(plan(view_of(load, seed), load=load), "content")
        assert content.startswith("Best line: Turn 0: ")
        assert "GOAL lane 9 at turn " in content
        assert count_tokens(content) <= 1024


def test_strategies_are_the_known_ones_and_the_answer_comes_last() -> None:
    steps = list(plan(view_of("medium", 5), load="medium"))
    assert {strategy for strategy, _ in steps} == set(STRATEGIES)
    first = next(k for k, (strategy, _) in enumerate(steps) if strategy == "conclude")
    assert all(strategy == "conclude" for strategy, _ in steps[first:])
    assert all(text.endswith("\n") for _, text in steps)


def test_the_same_road_gives_the_same_text() -> None:
    for load in LOADS:
        assert list(plan(view_of(load, 2), load=load)) == list(plan(view_of(load, 2), load=load))
        assert list(react(view_of(load, 2), "", load=load)) == list(react(view_of(load, 2), "", load=load))


def test_a_thinker_leaves_its_view_as_it_was() -> None:
    view, untouched = view_of("hard", 1), view_of("hard", 1)
    list(react(view, text_of(plan(view, load="hard")), load="hard"))
    assert view == untouched


def test_a_planner_looks_at_nothing_before_it_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    looked = []
    look = freeway_search.Road.look
    monkeypatch.setattr(freeway_search.Road, "look", lambda road, place: looked.append(place) or look(road, place))
    steps = plan(view_of("hard", 0), load="hard")
    assert looked == []
    text = text_of(next(steps) for _ in range(20))
    assert 0 < len(looked) <= text.count("From lane ")
    before = len(looked)
    steps.close()
    assert len(looked) == before


def test_a_wish_to_conclude_is_granted_at_once() -> None:
    for taken in (1, 3, 6, 40):
        view = view_of("medium", 4)
        steps = plan(view, load="medium")
        for _ in range(taken):
            next(steps)
        rest = [steps.send("conclude"), *steps]
        assert len(rest) < 20
        assert moves_of(view, text_of(rest, "content"))


def test_wishes_to_check_sum_up_and_try_others_are_granted_once_there_is_a_line() -> None:
    steps = plan(view_of("easy", 0), load="easy")
    text = ""
    while "GOAL" not in text:
        text += next(steps)[1]
    next(steps)
    assert steps.send("check")[1].startswith("Wait, let me verify")
    while next(steps)[1] != "So the line holds.\n\n":
        pass
    assert steps.send("summarize")[0] == "summarize"
    assert steps.send("explore")[1].startswith("What if ")
    assert text_of(steps).count("Wait, let me verify") == 0


def test_wishes_never_change_what_is_true() -> None:
    view = view_of("hard", 4)
    steps = plan(view, load="hard")
    text = next(steps)[1]
    wishes = ["plan", "check", "explore", None, "summarize", "execute", "explore", "understand"] * 2000
    try:
        for wish in wishes:
            text += steps.send(wish)[1]
    except StopIteration:
        pass
    for _, _, _, lane, turn, verdict in LOOK.findall(text):
        assert blocked(view, int(lane), int(turn)) == (verdict == "hit")
    assert len(moves_of(view, text)) == 19


def test_memory_saves_the_search_where_its_line_still_holds() -> None:
    memory = "Your own last conclusion, made for turn 0, as a reference:\n" + text_of(plan(view_of("hard", 2), load="hard"), "content")
    letters = moves_of(view_of("hard", 2), memory)
    view = view_of("hard", 2, letters[:4])
    fresh = text_of(plan(view, load="hard"))
    reminded = text_of(plan(view, load="hard", memory=memory))
    assert "My last plan goes on" in reminded
    assert "Best line so far" in reminded
    assert reminded.index("GOAL lane 9") < fresh.index("GOAL lane 9")
    assert moves_of(view, reminded) == letters[4:]


def test_memory_of_another_road_is_walked_and_dropped() -> None:
    memory = text_of(plan(view_of("easy", 1), load="easy"), "content")
    view = view_of("hard", 0)
    text = text_of(plan(view, load="hard", memory=memory))
    assert "So it does not hold, and I search anew." in text
    assert len(moves_of(view, text)) == 19


def test_without_a_way_across_in_time_the_plan_says_so() -> None:
    view = view_of("medium", 0)
    text = text_of(plan(view, load="medium", max_ticks=6))
    assert "No line I can find reaches the other side in time." in text
    letters = moves_of(view, text)
    assert 0 < len(letters) <= 6


def test_a_hopeless_place_still_gets_an_answer() -> None:
    view = {"turn": 40, "lane": 4, "cars": [[lane, -12, "right", 12, 11] for lane in (3, 4, 5)]}
    assert moves_of(view, text_of(plan(view, load="hard"))) in "USD"
    assert read_answer(text_of(react(view, "", load="hard")), letters=LETTERS, mode="act").letters == ["U"]
    assert "I am hit whatever I do." in text_of(react(view, "", load="hard"))


# The reactor.

CLEAR = {"turn": 7, "lane": 3, "cars": [[lane, 24, "right", 3, 11] for lane in range(1, 9)]}
LINE = "Best line so far: Turn 5: U to lane 2; Turn 6: U to lane 3; Turn 7: S to lane 3; Turn 8: U to lane 4; Turn 9: U to lane 5.\n"


def answer(view: dict[str, Any], guidance: str = "") -> tuple[str, str]:
    """Return (letter, the reasoning)."""
    steps = list(react(view, guidance, load="medium"))
    assert [strategy for strategy, _ in steps].count("conclude") == 1
    assert steps[-1][0] == "conclude"
    reading = read_answer(steps[-1][1], letters=LETTERS, mode="act")
    assert reading.letters is not None
    return reading.letters[0], text_of(steps)


def test_left_alone_it_goes_up_when_up_is_free() -> None:
    assert answer(CLEAR)[0] == "U"


def test_it_stays_when_a_car_is_about_to_be_above() -> None:
    view = {"turn": 0, "lane": 3, "cars": [[4, -12, "right", 12, 11], [3, 24, "right", 3, 11]]}
    letter, text = answer(view)
    assert letter == "S"
    assert "U is hit at once." in text


def test_it_does_not_step_between_cars_that_close_in() -> None:
    view = {"turn": 0, "lane": 0, "cars": [[1, -24, "right", 12, 11], [2, -24, "right", 12, 11]]}
    assert answer(view)[0] == "S"


def test_it_follows_a_line_that_passes_where_it_stands() -> None:
    letter, text = answer(CLEAR, LINE)
    assert letter == "S"
    assert "says Turn 7: S to lane 3, and I stand where it expects me" in text
    assert "It holds for 3 turns" in text


def test_it_says_for_which_turn_a_line_was_made() -> None:
    label = "The planner's thinking so far, unfinished, made for turn 5:\n"
    assert "Its line made for turn 5 says" in answer(CLEAR, label + LINE)[1]


def test_a_line_that_breaks_on_the_fresh_road_is_dropped() -> None:
    view = {**CLEAR, "cars": [*CLEAR["cars"][:3], [4, -12, "right", 6, 11], *CLEAR["cars"][4:]]}
    letter, text = answer(view, LINE)
    assert "There the line breaks." in text
    assert "so I drop its S" in text
    assert letter == "U"


def test_a_contingency_is_followed_where_it_fits() -> None:
    letter, text = answer(CLEAR, LINE.replace("lane 3", "lane 8") + "If at turn 7 I stand on lane 3 instead, then D; Turn 8: U to lane 3.\n")
    assert letter == "D"
    assert "for the case that I stand on lane 3 at turn 7" in text


def test_it_steps_back_onto_a_line_next_to_it() -> None:
    line = "Best line so far: Turn 6: S to lane 2; Turn 7: S to lane 2; Turn 8: U to lane 3; Turn 9: U to lane 4.\n"
    letter, text = answer(CLEAR, line)
    assert letter == "D"
    assert "does not pass lane 3 at turn 7, but D would bring me onto it at turn 8" in text


def test_a_line_that_leads_across_comes_before_a_newer_one_that_stops_halfway() -> None:
    across = "; ".join(f"Turn {7 + k}: {letter} to lane {lane}" for k, (letter, lane) in enumerate([("S", 3), *[("U", lane) for lane in range(4, 10)]]))
    assert answer(CLEAR, f"Best line so far: {across}.\nBest line so far: Turn 7: D to lane 2; Turn 8: S to lane 2.\n")[0] == "S"


def test_of_two_lines_alike_the_newer_one_counts() -> None:
    assert answer(CLEAR, LINE + LINE.replace("Turn 7: S to lane 3; Turn 8: U to lane 4; Turn 9: U to lane 5", "Turn 7: D to lane 2"))[0] == "D"


def test_a_warning_about_the_next_place_speaks_against_it() -> None:
    letter, text = answer(CLEAR, "WARNING avoid lane 4 at turn 8: dead end.\n")
    assert letter == "S"
    assert "That speaks against U." in text
    assert answer(CLEAR, "WARNING avoid lane 4 at turn 9: dead end.\n")[0] == "U"


def test_a_line_cut_in_its_first_move_is_no_line() -> None:
    assert answer(CLEAR, "Best line so far: Turn 7: S to la")[0] == "U"


def test_lines_that_skip_turns_or_speak_of_other_things_are_passed_over() -> None:
    for line in ("Turn 5: S to lane 3; Turn 7: S to lane 3.", "Turn 7: S to (3,4).", "Turn 7: L to lane 3."):
        assert answer(CLEAR, f"Best line so far: {line}\n")[0] == "U"


def test_no_words_of_the_planner_make_it_longer_than_its_budget() -> None:
    for load, seed in ROADS:
        view = view_of(load, seed)
        guidance = text_of(plan(view, load=load))
        for letter in ["", *moves_of(view, guidance)]:
            if letter:
                view = {"turn": view["turn"] + 1, "lane": lane_after(view["lane"], letter), "cars": [[car[0], car_after(car, 1), *car[2:]] for car in view["cars"]]}
            if view["lane"] < GOAL:
                assert count_tokens(text_of(react(view, "", load=load))) <= 1300
                assert 250 <= count_tokens(text_of(react(view, guidance, load=load))) <= 2048


def test_the_reactor_does_without_the_planners_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    view = view_of("hard", 0)
    guidance = text_of(plan(view, load="hard"))
    told, alone = text_of(react(view, guidance, load="hard")), text_of(react(view, "", load="hard"))

    def never(*_: Any, **__: Any) -> Any:
        raise AssertionError("the reactor called the planner")

    for module in (freeway_planner, freeway_search):
        for name, value in list(vars(module).items()):
            if callable(value) and getattr(value, "__module__", "") == module.__name__:
                monkeypatch.setattr(module, name, never)
                for method in [name for name, member in vars(value).items() if callable(member)] if isinstance(value, type) else []:
                    monkeypatch.setattr(value, method, never)
    assert text_of(react(view, guidance, load="hard")) == told
    assert text_of(react(view, "", load="hard")) == alone
    shared = {id(value) for module in (freeway_planner, freeway_search) for value in vars(module).values() if getattr(value, "__module__", "").startswith("workers.thinkers.freeway")}
    assert not [name for name, value in vars(freeway_reactor).items() if id(value) in shared]


# Both, against the clock.


def ticks(load: str, seed: int, agent: str, **options: Any) -> int:
    episode = simulate("freeway", agent=agent, load=load, seed=seed, **options)
    assert episode.summary["faults"] == 0
    return episode.summary["ticks"]


@pytest.mark.parametrize("load", LOADS)
def test_with_its_guidance_blanked_agile_plays_as_reactive_does(load: str) -> None:
    for seed in (0, 5):
        assert ticks(load, seed, "agile", reactive_budget=2048, guidance="none") == ticks(load, seed, "reactive")


def test_on_a_hard_road_the_pair_crosses_where_either_alone_does_not() -> None:
    for seed in (0, 1):
        assert ticks("hard", seed, "agile") == 100 - best_score(build(Legacy(level_seed("hard", seed)))) < 25
        assert ticks("hard", seed, "reactive") == 100
        assert ticks("hard", seed, "planning") > 90


def test_a_plan_that_ends_within_the_first_turn_is_as_good_as_any() -> None:
    for seed in range(4):
        assert ticks("medium", seed, "planning", tick_budget=32768) == ticks("medium", seed, "agile", tick_budget=32768)


def test_too_small_a_reactive_budget_is_walking_blindly() -> None:
    assert ticks("medium", 0, "agile", reactive_budget=512) == 100
    assert ticks("medium", 0, "agile", reactive_budget=2048) == 12


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [range(8), range(8, 16)])
def test_the_curves_have_their_shape(seeds: range) -> None:
    def score(load: str, agent: str, **options: Any) -> float:
        return sum(100 - ticks(load, seed, agent, **options) for seed in seeds) / len(seeds) / 89

    reactive = {load: score(load, "reactive") for load in LOADS}
    assert reactive["easy"] >= 0.85
    assert reactive["hard"] <= 0.3
    for load in LOADS:
        assert score(load, "agile") >= max(reactive[load], score(load, "planning")) - 0.02
    late, early = score("medium", "planning", tick_budget=4096), score("medium", "planning", tick_budget=32768)
    assert late <= early / 3
    assert score("medium", "agile", tick_budget=4096) >= 0.9 * early
