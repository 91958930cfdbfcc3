"""The builtin Overcooked thinkers: what they write is what they search, and what they say can be checked against the rules."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import games
from games.overcooked import SPEC, Game, advance
from games.overcooked.partner import Partner
from replays.events import Action
from workers.answers import read_answer
from workers.simulator import simulate
from workers.thinkers import STRATEGIES, overcooked_planner, overcooked_search
from workers.thinkers.overcooked_planner import plan
from workers.thinkers.overcooked_reactor import react
from workers.thinkers.overcooked_search import Tree, predict
from workers.tokens import count_tokens

LOADS = ("easy", "medium", "hard")
LINE = re.compile(r"Turn (\d+): ([UDLRIS]) from \((\d+),(\d+)\) holding (\w+)")


def view_of(load: str, letters: str = "", *, seed: int = 8) -> dict[str, Any]:
    """The view after some letters of Alice's."""
    game = games.make("overcooked", load=load, seed=seed)
    view = game.reset().view
    for letter in letters:
        view = game.step(letter).observation.view
    return view


def changed(view: dict[str, Any], **parts: Any) -> dict[str, Any]:
    return {**view, **parts}


def cooks(view: dict[str, Any], alice: list[Any], bob: list[Any]) -> dict[str, Any]:
    return changed(view, players=[alice, bob])


def text_of(steps: Iterator[tuple[str, str]]) -> str:
    return "".join(text for _, text in steps)


def planned(view: dict[str, Any], load: str = "medium", **options: Any) -> str:
    return text_of(plan(view, load=load, **options))


def reacted(view: dict[str, Any], guidance: str = "", load: str = "medium") -> tuple[str, str]:
    """The reactor's text and its letter."""
    steps = list(react(view, guidance, load=load))
    strategy, answer = steps[-1]
    assert strategy == "conclude"
    match = re.fullmatch(r"\\boxed\{([UDLRIS])\}", answer)
    assert match is not None
    return text_of(iter(steps)), match[1]


def notes(*lines: str, turn: int = 0, state: str = "unfinished") -> str:
    return f"The planner's thinking so far, {state}, made for turn {turn}:\n" + "\n".join(lines) + "\n"


def positions() -> Iterator[tuple[str, dict[str, Any]]]:
    """Kitchens as they come up in play: each load, some turns of a game in which Alice follows the planner."""
    for load in LOADS:
        game = games.make("overcooked", load=load, seed=9)
        view = game.reset().view
        while True:
            yield load, view
            moves = LINE.findall(planned(view, load).rsplit("Best line: ", 1)[-1])
            letters = [letter for _, letter, *_ in moves[:7]] or ["S"]
            for letter in letters:
                result = game.step(letter)
                if result.done:
                    break
            if result.done:
                break
            view = result.observation.view


POSITIONS = list(positions())


# The planner.


def test_a_plan_ends_in_a_box_that_reads_as_a_plan_from_its_turn_on() -> None:
    for load, view in POSITIONS:
        steps = list(plan(view, load=load))
        assert all(strategy in STRATEGIES and text and text.isascii() for strategy, text in steps)
        kinds = [strategy for strategy, _ in steps]
        assert "conclude" in kinds
        assert set(kinds[kinds.index("conclude") :]) == {"conclude"}
        answer = "".join(text for strategy, text in steps if strategy == "conclude")
        reading = read_answer(answer, letters=SPEC.letters, mode="plan", turn=view["turn"])
        assert reading.letters
        assert reading.turns is not None
        assert reading.turns[0] == view["turn"]
        assert count_tokens(answer) <= 1024


def test_the_first_best_line_comes_early_and_the_whole_is_long_but_bounded() -> None:
    totals = []
    for load, view in POSITIONS:
        spent, first = 0, 0
        for _, text in plan(view, load=load):
            spent += count_tokens(text)
            if not first and text.startswith("Best line so far: "):
                first = spent
        totals.append(spent)
        if first:
            assert 120 <= first <= 520
        assert spent <= 24_000
    assert 6_000 <= sum(totals) / len(totals) <= 16_000


def test_every_best_line_stands_where_it_says_by_the_rules() -> None:
    followed = 0
    for load, view in POSITIONS:
        if predict(view).pot is not None:
            continue
        for line in [text for _, text in plan(view, load=load) if text.startswith(("Best line", "If at turn"))]:
            # Alice's part alone, with Bob in a corner: the lines keep out of his way, so he changes nothing.
            now = cooks(view, view["players"][0], [[0, 0], "U", None])
            for turn, letter, x, y, held in LINE.findall(line):
                cell, _, hands = now["players"][0]
                assert (now["turn"], cell, hands[0] if hands else "nothing") == (int(turn), [int(x), int(y)], held)
                now, _, _ = advance(now, letter, "S")
                followed += 1
    assert followed > 1000


def test_the_plan_verifies_its_line_by_the_rules_and_it_holds() -> None:
    said = [text for load, view in POSITIONS for strategy, text in plan(view, load=load) if strategy == "check" and text.startswith("Wait")]
    assert len(said) >= 20
    assert all(text.rstrip().endswith("It holds.") for text in said)


def test_every_sum_can_be_checked_by_hand() -> None:
    sum_of = re.compile(r"; (?:(-?[\d.]+) ([+-]) )?(-?)([\d.]+) x ([\d.]+) is (-?[\d.]+)\.\n")
    checked = 0
    for load, view in POSITIONS:
        for strategy, text in plan(view, load=load):
            match = sum_of.search(text)
            if strategy != "execute" or match is None:
                continue
            before, sign, minus, points, discount, result = match.groups()
            gain = float(points) * float(discount) * (-1 if "-" in (sign or "", minus) else 1)
            assert float(result) == pytest.approx(float(before or 0) + gain, abs=0.0051)
            checked += 1
    assert checked > 1000


def test_nothing_is_searched_that_is_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    weighed: list[str] = []
    real = Tree.done

    def spy(self: Tree, node: Any, kind: str, target: Any, route: Any) -> Any:
        weighed.append(kind)
        return real(self, node, kind, target, route)

    monkeypatch.setattr(Tree, "done", spy)
    for load, view in POSITIONS[::5]:
        weighed.clear()
        text = planned(view, load)
        assert len(weighed) == len(re.findall(r", done at turn \d+|I ends after the game", text))


def test_a_plan_no_longer_read_no_longer_searches(monkeypatch: pytest.MonkeyPatch) -> None:
    weighed: list[str] = []
    real = Tree.done

    def spy(self: Tree, node: Any, kind: str, target: Any, route: Any) -> Any:
        weighed.append(kind)
        return real(self, node, kind, target, route)

    monkeypatch.setattr(Tree, "done", spy)
    thinking = plan(view_of("hard"), load="hard")
    for _, text in thinking:
        if text.startswith("Best line"):
            break
    assert len(weighed) == 1
    thinking.close()
    assert len(weighed) == 1


def test_the_partner_is_predicted_and_never_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    view = view_of("medium", "UI")
    before = planned(view)

    def refuse(*_: Any) -> str:
        raise AssertionError("asked the partner")

    monkeypatch.setattr(Partner, "act", refuse)
    assert planned(view) == before


def test_bob_empty_handed_is_expected_on_his_way_to_the_onions() -> None:
    mate = predict(view_of("medium"))
    assert mate.cells[0] == (3, 1)
    assert mate.cells[1:] in (((2, 1), (1, 1)), ((4, 1), (5, 1)))


def test_bob_with_an_onion_before_a_pot_is_counted_as_having_added_it() -> None:
    view = view_of("medium")
    view = cooks(view, view["players"][0], [[2, 1], "D", ["onion", [2, 1]]])
    assert predict(view).pot == (2, 0)
    assert Tree(view, last=100).root.pots[(2, 0)] == (1, -1)
    assert "has an onion for pot (2,0), which I count as in" in planned(view)


def test_the_way_keeps_out_of_the_cells_bob_is_expected_in() -> None:
    view = view_of("hard")
    # Bob carries an onion down the left corridor towards me and goes on.
    view = cooks(view, [[1, 1], "U", None], [[1, 3], "D", ["onion", [1, 3]]])
    view = changed(view, history=["LLU", "LLD"])
    text = planned(view, "hard")
    assert "WARNING keep out of (1,2) at turn 0" not in text
    assert "WARNING keep out of (1,2) at turn 1: Bob is expected there.\n" in text
    best = text.rsplit("Best line: ", 1)[1]
    assert not best.startswith("Turn 0: U from (1,1)")


def test_an_onion_is_handed_over_the_counters_where_that_saves_a_walk() -> None:
    text = planned(view_of("hard", "UI"), "hard")
    assert "lay down on (3,2)" in text.rsplit("GOAL ", 1)[1]


def test_onions_too_late_for_a_soup_are_worth_nothing() -> None:
    view = changed(view_of("hard"), turn=80)
    view = cooks(view, [[3, 1], "D", ["onion", [3, 1]]], [[5, 3], "U", None])
    text = planned(view, "hard")
    assert "onion into pot (3,0): I, done at turn 81, too late for a soup; -1 x 0.97 is -0.97." in text


def test_a_plan_can_be_made_on_the_last_turns() -> None:
    for turn in (96, 97, 98, 99):
        text = planned(changed(view_of("medium"), turn=turn))
        assert f"\\boxed{{Turn {turn}: " in text


def test_conclude_ends_the_thinking_at_once() -> None:
    for after in (1, 4, 12, 60):
        thinking = plan(view_of("medium"), load="medium")
        steps = [next(thinking)]
        for _ in range(after - 1):
            steps.append(thinking.send(None))
        rest = [thinking.send("conclude"), *thinking]
        assert len(rest) <= 16
        assert read_answer(text_of(iter(rest)), letters=SPEC.letters, mode="plan", turn=0).letters


@pytest.mark.parametrize(("wish", "begins"), [("check", "Wait, "), ("summarize", "So far "), ("explore", "What if ")])
def test_a_wish_is_granted_once_there_is_something_to_do(wish: str, begins: str) -> None:
    thinking = plan(view_of("medium"), load="medium")
    for _, text in thinking:
        if text.startswith("Sweep 4"):
            break
    strategy, text = thinking.send(wish)
    assert (strategy, text[: len(begins)]) == (wish, begins)
    assert thinking.send(None)[0] != "conclude"


def test_other_wishes_change_nothing() -> None:
    view = view_of("easy")
    thinking = plan(view, load="easy")
    said = [next(thinking)[1]]
    try:
        while True:
            said.append(thinking.send("execute")[1])
    except StopIteration:
        pass
    assert "".join(said) == planned(view, "easy")


def test_the_remembered_errand_is_kept_to() -> None:
    view = view_of("medium")
    goal = re.findall(r"GOAL (onion from \(\d,\d\))", planned(view))[-1]
    other = "onion from (4,4)" if goal == "onion from (2,4)" else "onion from (2,4)"
    text = planned(view, memory=f"GOAL {other}, then onion into pot (2,0).\n")
    assert "0.30 of it for keeping to my last plan" in text
    assert text.rsplit("GOAL ", 1)[1].startswith(other)


def test_the_same_view_gives_the_same_text() -> None:
    for load, view in POSITIONS[::7]:
        assert planned(view, load) == planned(view, load)


def test_bob_can_be_the_one_who_thinks() -> None:
    game = Game(load="medium", seed=8)
    game.reset()
    view = game.observe(1).view
    text = planned(view)
    assert text.startswith("Okay, it is turn 0. I am Bob at (3,1)")
    assert "Alice at (3,3)" in text
    assert "Best line: Turn 0: L from (3,1)" in text or "Best line: Turn 0: R from (3,1)" in text
    said, letter = reacted(view, notes(*[line for line in text.split("\n") if line.startswith("Best line so far")]))
    assert said.startswith("Turn 0. I am at (3,1)")
    assert letter in "LR"


# The reactor.


def test_the_reactor_alone_stays_short_and_ends_in_one_box() -> None:
    for load, view in POSITIONS:
        text, _ = reacted(view, load=load)
        assert 300 <= count_tokens(text) <= 1300
        assert text.count("\\boxed") == 1


def test_the_reactor_with_a_whole_plan_before_it_needs_less_than_2048_tokens() -> None:
    longest = []
    for load, view in POSITIONS:
        text, _ = reacted(view, notes(planned(view, load), turn=view["turn"]), load)
        longest.append(count_tokens(text))
    assert max(longest) <= 2048
    assert 900 <= sum(longest) / len(longest) <= 1600


def test_alone_it_does_what_lies_before_it() -> None:
    view = view_of("medium")
    assert reacted(cooks(view, [[2, 3], "U", None], view["players"][1]))[1] == "I"
    assert reacted(cooks(view, [[2, 3], "R", None], view["players"][1]))[1] == "U"


def test_alone_it_is_lost_behind_a_row_of_counters_and_says_so() -> None:
    view = view_of("hard")
    text, letter = reacted(cooks(view, [[4, 3], "U", ["onion", [4, 3]]], [[1, 1], "L", None]), load="hard")
    assert letter == "S"
    assert "No cell within three moves is nearer" in text


def test_it_waits_before_a_soup_that_still_cooks_and_lifts_it_when_ready() -> None:
    view = view_of("medium")
    view = cooks(view, [[2, 1], "D", ["dish", [2, 1]]], [[5, 3], "U", None])
    onions = ["onion"] * 3
    cooking = changed(view, objects=[["soup", [2, 0], onions, 2, "cooking", 5]])
    ready = changed(view, objects=[["soup", [2, 0], onions, 5, "ready", 5]])
    assert reacted(cooking)[1] == "S"
    assert reacted(ready)[1] == "I"


def test_a_line_that_fits_is_walked_and_followed_against_its_own_look_ahead() -> None:
    view = view_of("hard", "UI")
    alone = reacted(view, load="hard")[1]
    line = "Best line so far: Turn 2: R from (3,3) holding onion; Turn 3: R from (4,3) holding onion; Turn 4: R from (5,3) holding onion."
    text, letter = reacted(view, notes(line, turn=2), "hard")
    assert alone != "R"
    assert letter == "R"
    assert "The line stands for 3 turns, so I take its R." in text


def test_a_line_for_another_place_or_other_hands_is_not_followed() -> None:
    view = view_of("hard", "UI")
    alone = reacted(view, load="hard")[1]
    for line in (
        "Best line so far: Turn 2: R from (4,3) holding onion; Turn 3: R from (5,3) holding onion.",
        "Best line so far: Turn 2: R from (3,3) holding nothing; Turn 3: R from (4,3) holding nothing.",
    ):
        text, letter = reacted(view, notes(line, turn=2), "hard")
        assert letter == alone
        assert "None of its lines passes where I stand" in text


def test_a_line_i_am_late_for_is_taken_up_where_it_fits() -> None:
    view = view_of("hard", "UI")
    line = "Best line so far: Turn 0: R from (3,3) holding onion; Turn 1: R from (4,3) holding onion."
    text, letter = reacted(view, notes(line), "hard")
    assert letter == "R"
    assert "2 turns late" in text


def test_a_line_that_does_nothing_in_the_fresh_kitchen_is_dropped() -> None:
    view = view_of("medium")
    view = cooks(view, [[2, 1], "D", ["onion", [2, 1]]], [[5, 3], "U", None])
    view = changed(view, objects=[["soup", [2, 0], ["onion"] * 3, 1, "cooking", 5]])
    line = "Best line so far: Turn 0: I from (2,1) holding onion; Turn 1: L from (2,1) holding nothing."
    text, letter = reacted(view, notes(line))
    assert "does nothing now. There the line breaks." in text
    assert letter != "I"


def test_the_other_cook_is_walked_against_twice_and_then_walked_around() -> None:
    view = view_of("medium")
    view = cooks(view, [[2, 3], "R", None], [[3, 3], "U", None])
    lines = (
        "If at turn 0 I am at (2,3) with R blocked: Turn 0: U from (2,3) holding nothing; Turn 1: I from (2,3) holding nothing.",
        "Best line so far: Turn 0: R from (2,3) holding nothing; Turn 1: R from (3,3) holding nothing.",
    )
    for history, expected in (("", "R"), ("R", "R"), ("RR", "U")):
        text, letter = reacted(changed(view, history=[history, "III"]), notes(*lines))
        assert letter == expected
    assert "so I drop R" in text
    assert "line for when that step is blocked" in text


def test_a_finished_plan_that_fits_comes_before_a_line_of_a_thinking_under_way() -> None:
    view = view_of("hard", "UI")
    finished = "Conclusion of the planner's last finished thinking, made for turn 1:\nBest line: Turn 2: L from (3,3) holding onion; Turn 3: L from (2,3) holding onion.\n\n"
    running = "Best line so far: Turn 2: R from (3,3) holding onion; Turn 3: R from (4,3) holding onion."
    assert reacted(view, finished + notes(running, turn=2), "hard")[1] == "L"
    ended = notes(running, "[answer]", running.replace(" so far", ""), turn=2, state="just ended")
    assert reacted(view, finished + ended, "hard")[1] == "R"


def test_where_no_line_fits_the_goal_is_kept() -> None:
    view = view_of("medium")
    view = cooks(view, [[3, 3], "D", None], [[1, 1], "L", None])
    text, letter = reacted(view, notes("GOAL onion from (4,4), then onion into pot (4,0)."))
    other, to_other = reacted(view, notes("GOAL onion from (2,4), then onion into pot (2,0)."))
    assert (letter, to_other) == ("R", "L")
    assert "Its goal onion from (4,4) suits me still" in text
    assert "Its goal onion from (2,4) suits me still" in other


def test_a_mirror_dance_is_broken_by_staying_once() -> None:
    view = view_of("easy")
    view = cooks(view, [[2, 2], "L", ["onion", [2, 2]]], [[2, 1], "L", ["onion", [2, 1]]])
    dancing = changed(view, history=["LRL", "LRL"])
    text, letter = reacted(dancing, load="easy")
    assert letter == "S"
    assert "keep stepping to and fro" in text
    assert reacted(changed(view, history=["RLS", "RLR"]), load="easy")[1] != "S"


def test_guidance_cut_anywhere_gives_a_legal_answer() -> None:
    view = view_of("medium", "LU")
    text = notes(planned(view), turn=2)
    for cut in range(0, len(text), 997):
        reacted(view, text[:cut])


def test_the_reactor_needs_nothing_of_the_planner(monkeypatch: pytest.MonkeyPatch) -> None:
    load, view = POSITIONS[3]
    guidance = notes(planned(view, load), turn=view["turn"])
    before = reacted(view, guidance, load)

    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("used the planner")

    for module in (overcooked_planner, overcooked_search):
        for name, thing in vars(module).items():
            if callable(thing) and getattr(thing, "__module__", "") == module.__name__:
                monkeypatch.setattr(module, name, refuse)
    for cls in (Tree, overcooked_search.Layout):
        for name in ("__init__", "done", "errands", "ways", "ways_past"):
            if hasattr(cls, name):
                monkeypatch.setattr(cls, name, refuse)
    assert reacted(view, guidance, load) == before


def test_planner_and_reactor_share_only_the_rules_the_tokens_and_the_text() -> None:
    folder = Path(overcooked_planner.__file__).parent

    def imports(name: str) -> set[str]:
        tree = ast.parse((folder / f"{name}.py").read_text())
        return {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}

    planner = imports("overcooked_planner") | imports("overcooked_search")
    reactor = imports("overcooked_reactor") | imports("overcooked_glance") | imports("overcooked_advice")
    shared = {name for name in planner & reactor if name.startswith(("workers", "games", "replays"))}
    assert shared <= {"games.overcooked", "games.overcooked.kitchen", "workers.tokens"}


def test_agile_with_blanked_guidance_scores_as_reactive() -> None:
    for load in ("easy", "medium"):
        blank = simulate("overcooked", agent="agile", load=load, seed=10, tick_budget=8192, reactive_budget=2048, guidance="none")
        alone = simulate("overcooked", agent="reactive", load=load, seed=10, tick_budget=8192)
        letters = [[event.letter for event in played.events if isinstance(event, Action)] for played in (blank, alone)]
        assert len(letters[0]) == 100
        assert letters[0] == letters[1]
        assert blank.summary["score"] == alone.summary["score"]


def test_an_agile_episode_keeps_its_budgets_and_beats_both_parts_where_the_way_is_long() -> None:
    agile = simulate("overcooked", agent="agile", load="hard", seed=8, tick_budget=8192).summary
    reactive = simulate("overcooked", agent="reactive", load="hard", seed=8, tick_budget=8192).summary
    planning = simulate("overcooked", agent="planning", load="hard", seed=8, tick_budget=8192).summary
    assert agile["default_actions"] == 0
    assert agile["points"] > max(reactive["points"], planning["points"])


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [range(8, 16), range(16, 24)])
def test_the_shape_holds_on_tuned_and_on_fresh_seeds(seeds: range) -> None:
    def mean(agent: str, load: str, tick_budget: int, **options: Any) -> float:
        scores = [simulate("overcooked", agent=agent, load=load, seed=seed, tick_budget=tick_budget, **options).summary["score"] for seed in seeds]
        return sum(scores) / len(scores)

    scores = {(agent, load): mean(agent, load, 8192) for agent in ("reactive", "planning", "agile") for load in LOADS}
    for load in LOADS:
        assert scores["agile", load] >= max(scores["reactive", load], scores["planning", load]) - 0.02
    assert scores["reactive", "hard"] <= scores["reactive", "easy"] / 2
    assert scores["agile", "hard"] >= max(scores["reactive", "hard"], scores["planning", "hard"]) + 0.25
    slow, quick = mean("planning", "medium", 32768), mean("planning", "medium", 4096)
    assert quick <= slow / 3
    assert mean("agile", "medium", 4096) >= 0.75 * mean("agile", "medium", 32768)
    assert mean("agile", "medium", 8192, reactive_budget=512) <= 0.1
