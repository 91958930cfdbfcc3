"""The builtin Snake thinkers: what they write is true, is all they know, and is worth what it costs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import pytest

import games
from games.snake import STEP, advance, moves, safe_moves
from workers.answers import read_answer
from workers.simulator import simulate
from workers.thinkers import STRATEGIES, snake_planner, snake_reactor, snake_search, snake_words
from workers.thinkers.guidance import Move, read_notes
from workers.thinkers.snake_planner import plan
from workers.thinkers.snake_reactor import react
from workers.thinkers.snake_search import LETTERS, Node, Tree
from workers.tokens import count_tokens

LOADS = ("easy", "medium", "hard")
LETTER_WORDS = (("L", "left"), ("R", "right"), ("U", "up"), ("D", "down"))
STARTS = [(load, seed) for load in LOADS for seed in (0, 5, 12, 40)]
LOOK = re.compile(r"Turn (\d+) at \((\d),(\d)\)(?:, by ([LRUD]+))?(?: with (\d+) eaten)?: (.*)\.$")
WAY = re.compile(r"([LRUD]) to (the apple at )?\((\d),(\d)\), (?:leaving|shut into) (\d+) cells?[^;]*?worth (-?\d+\.\d\d)")
FORCED = re.compile(r"(?:must be|then) ([LRUD]) to (the apple at )?\((\d),(\d)\)")
LINE = re.compile(r"Best line(?: so far)?: (.*?)\. It eats (\d+) and ends at worth (-?\d+\.\d\d) with (\d+) cells open")
ENTRY = re.compile(r"Turn (\d+): ([LRUD]) to \((\d),(\d)\)")


@lru_cache(maxsize=64)
def _walk(load: str, seed: int, turns: int) -> tuple[Any, ...]:
    """Return (observations of an episode played by the rule: nearest apple, but never into a dead end if it can be helped)."""
    game = games.make("snake", load=load, seed=seed)
    views = [game.reset().view]
    for _ in range(turns):
        view = views[-1]

        def cost(letter: str, view: dict[str, Any] = view) -> tuple[int, int]:
            after = advance(view, letter)[0]
            x, y = after["snake"][0]
            return (-min(1, len(safe_moves(after))), min([abs(x - f[0]) + abs(y - f[1]) for f in after["foods"]], default=0))

        result = game.step(min(safe_moves(view) or ("S",), key=cost))
        if result.done:
            break
        views.append(result.observation.view)
    return tuple(views)


def view_of(load: str, seed: int, turn: int = 0) -> dict[str, Any]:
    """Return a board some turns into an episode, or the last one alive."""
    views = _walk(load, seed, 60)
    return dict(views[min(turn, len(views) - 1)])


def boards() -> Iterator[tuple[str, dict[str, Any]]]:
    for load, seed in STARTS:
        for turn in (0, 9, 25, 50):
            view = view_of(load, seed, turn)
            if safe_moves(view):
                yield load, view


def text_of(steps: Any, channel: str = "") -> str:
    return "".join(text for strategy, text in steps if not channel or (strategy == "conclude") == (channel == "content"))


def guided(text: str, turn: int) -> str:
    return f"The planner's thinking so far, unfinished, made for turn {turn}:\n{text}\n"


def answer_of(steps: Any) -> str:
    reading = read_answer(text_of(steps, "content"), letters=LETTER_WORDS, mode="act", turn=0)
    assert reading.letters is not None
    return str(reading.letters[0])


def board(snake: str, *, turn: int = 12, direction: str = "L", foods: str = "", obstacles: str = "") -> dict[str, Any]:
    """Return a view from strings of digits: `33 43` is a snake with its head on (3,3), `254` an apple on (2,5) for 4 more turns."""
    return {
        "turn": turn,
        "direction": direction,
        "snake": [[int(c[0]), int(c[1])] for c in snake.split()],
        "foods": [[int(c[0]), int(c[1]), int(c[2:]), 1] for c in foods.split()],
        "obstacles": [[int(c[0]), int(c[1])] for c in obstacles.split()],
        "size": 8,
    }


# The arithmetic against the rules.


def replayed(view: dict[str, Any], path: str) -> tuple[dict[str, Any], int]:
    eaten = 0
    for letter in path:
        view, eats, dead = advance(view, letter)
        assert not dead
        eaten += eats
    return view, eaten


def test_every_position_of_the_tree_is_the_one_the_rules_give() -> None:
    seen = 0
    for load, view in boards():
        tree = Tree(view, depth=12, max_ticks=100)
        for _ in range(3):
            for depth in range(tree.depth):
                node = tree.next_at(depth)
                if node is None:
                    continue
                here, eaten = replayed(view, node.path)
                assert (here["snake"], here["turn"], eaten) == ([[c % 8, c // 8] for c in node.body], node.turn, node.eaten), load
                assert [[f[0] + 8 * f[1], here["turn"] + f[2]] for f in here["foods"]] == [list(food) for food in node.foods]
                ways = {letter: child for letter, _, child in tree.expand(node)}
                assert set(ways) == set(moves(here))
                assert tuple(letter for letter in moves(here) if ways[letter] is not None) == safe_moves(here)
                seen += 1
    assert seen > 800


def test_the_apple_behind_a_vanishing_one_does_not_age_in_the_search_either() -> None:
    view = board("33", foods="111 662 163 614")
    node = Tree(view, depth=8, max_ticks=100).walk("LLDD")
    after, _ = replayed(view, "LLDD")
    assert [[c % 8, c // 8, gone - node.turn] for c, gone in node.foods] == [food[:3] for food in after["foods"]]


def test_a_position_is_dead_exactly_when_no_line_leaves_it() -> None:
    # A pocket: (1,1) has one way out, and a long body fills it.
    tree = Tree(board("21 31 41 51 61 62 52 42 32 22 12", direction="L"), depth=10, max_ticks=100)
    assert [(letter, block) for letter, block, _ in tree.expand(tree.root)] == [("L", ""), ("U", "body"), ("D", "wall")]
    first = tree.root.children[0]  # type: ignore[index]
    assert not tree.root.dead
    tree.expand(first)
    assert not tree.root.dead, "the tail moves away in time"
    tight = Tree(board("21 31 41 51 61 62 52 42 32 22 12 13 14", direction="L"), depth=10, max_ticks=100)
    assert [block for _, block, _ in tight.expand(tight.root)] == ["closed", "body", "wall"]
    assert tight.root.dead
    assert tight.best() is None


# The planner's text.


def check_look(view: dict[str, Any], line: str) -> int:
    """Hold one sentence of the search against the rules; return how many ways on it was held for."""
    found = LOOK.match(line)
    assert found, line
    here, eaten = replayed(view, found[4] or "")
    assert (here["turn"], here["snake"][0], eaten) == (int(found[1]), [int(found[2]), int(found[3])], int(found[5] or 0)), line
    said = found[6]
    forced = FORCED.findall(said)
    if forced:
        for letter, apple, x, y in forced:
            assert len(safe_moves(here)) == 1, line
            here, eats, dead = advance(here, letter)
            assert (dead, eats, here["snake"][0]) == (False, bool(apple), [int(x), int(y)]), line
        return len(forced)
    for letter, apple, x, y, _, _ in WAY.findall(said):
        after, eats, dead = advance(here, letter)
        assert (dead, eats, after["snake"][0]) == (False, bool(apple), [int(x), int(y)]), line
    named = set(re.findall(r"(?:^|; |, |and )([LRUD])(?= )", said))
    assert named == set(moves(here)), line
    return len(WAY.findall(said))


@pytest.mark.parametrize(("load", "seed"), STARTS)
def test_every_look_of_the_planner_says_what_the_rules_say(load: str, seed: int) -> None:
    held = looks = 0
    for turn in (0, 25):
        view = view_of(load, seed, turn)
        for line in text_of(plan(view, load=load), "reasoning").splitlines():
            if LOOK.match(line):
                looks += 1
                held += check_look(view, line)
    assert looks > 100
    assert held > looks


def test_no_line_is_written_down_before_the_looks_it_rests_on() -> None:
    """The search is in the text: each prefix of each best line was the subject of an earlier sentence."""
    for load, seed in STARTS[::3]:
        view = view_of(load, seed, 9)
        known = set()
        surveyed = True
        for line in text_of(plan(view, load=load), "reasoning").splitlines():
            found = LOOK.match(line)
            if found:
                surveyed = False
                path = found[4] or ""
                known |= {path + letter for letter, *_ in WAY.findall(found[6])}
                for letter, *_ in FORCED.findall(found[6]):
                    path += letter
                    known.add(path)
            best = LINE.match(line)
            if best and not surveyed:
                path = "".join(letter for _, letter, _, _ in ENTRY.findall(best[1]))
                assert path in known, line


def test_best_lines_lead_where_they_say_and_eat_what_they_say() -> None:
    count = 0
    for load, view in boards():
        for line in text_of(plan(view, load=load)).splitlines():
            best = LINE.match(line)
            if best is None:
                continue
            here = view
            eaten = 0
            for turn, letter, x, y in ENTRY.findall(best[1]):
                assert int(turn) == here["turn"]
                here, eats, dead = advance(here, letter)
                assert (dead, here["snake"][0]) == (False, [int(x), int(y)]), line
                eaten += eats
            assert eaten == int(best[2]), line
            count += 1
    assert count > 200


def test_worth_is_the_sum_of_what_the_text_says_it_is() -> None:
    tree = Tree(board("33 43 53", foods="138 634"), depth=8, max_ticks=100)
    tree.expand(tree.root)
    up = next(child for child in tree.root.children or () if child.path == "U")
    # 36 cells less three of body, the tail's among the open ones; the apple at (1,3) is 3 steps from (3,4), the other in time as well.
    assert (up.room, up.tail, up.near, up.worth, up.score) == (34, True, 3, 4 * 34 - 6 * 3, 4 * 34 - 6 * 3 + 10)
    again = Tree(board("33 43 53", foods="138 634"), depth=8, max_ticks=100)
    assert "U to (3,4), leaving 34 cells open and an apple 3 away, worth 1.18" in snake_words.look(again, again.root)


@pytest.mark.parametrize(("load", "seed"), STARTS)
def test_the_box_is_a_legal_line_indexed_by_turn(load: str, seed: int) -> None:
    for turn in (0, 9, 25, 50):
        view = view_of(load, seed, turn)
        reading = read_answer(text_of(plan(view, load=load), "content"), letters=LETTER_WORDS, mode="plan", turn=view["turn"])
        assert reading.letters is not None
        assert reading.turns == list(range(view["turn"], view["turn"] + len(reading.letters)))
        if safe_moves(view):
            replayed(view, "".join(reading.letters))
        if turn == 0:
            assert len(reading.letters) >= 16


def test_plan_lines_warnings_and_goals_are_read_by_the_reactors_parser() -> None:
    warned = instead = 0
    for load, view in boards():
        notes = read_notes(guided(text_of(plan(view, load=load)), view["turn"]))
        lines = list(notes.lines())
        assert lines[0].moves[0].turn in (view["turn"], view["turn"] + 1)
        best = [line for line in lines if not line.instead]
        assert best
        for line in lines:
            x, y = view["snake"][0]
            if line.instead:
                instead += 1
                x, y = (int(n) for n in line.instead.strip("()").split(","))
            for move in line.moves:
                x, y = x + STEP[move.letter][0], y + STEP[move.letter][1]
                assert move.where == f"to ({x},{y})"
        warned += len(notes.warnings)
    assert warned > 5
    assert instead > 20


def test_a_first_move_that_is_warned_against_has_no_way_on() -> None:
    for load, view in boards():
        for letter, turn, end in re.findall(r"WARNING do not go ([LRUD]) at turn (\d+): every way on is closed by turn (\d+)", text_of(plan(view, load=load))):
            here, _, dead = advance(view, letter)
            assert int(turn) == view["turn"]
            layer = [] if dead else [here]
            while layer:
                assert layer[0]["turn"] <= int(end)
                layer = [after for one in layer for after in (advance(one, step)[0] for step in safe_moves(one))]
                assert len(layer) < 5000


def test_an_apple_in_a_pocket_is_warned_of() -> None:
    view = board("23 33 43 53 63 64 54 44 34 24", direction="L", foods="118 664", obstacles="21 22 13")
    view["obstacles"] = [[2, 1], [2, 2]]
    text = text_of(plan(view, load="medium"))
    assert "WARNING avoid food (1,1): dead end until turn 20.\n" in text


def test_the_first_line_comes_early_and_the_whole_plan_in_good_time() -> None:
    totals = []
    early = 0
    for load, view in boards():
        spent = first = 0
        for _, text in plan(view, load=load):
            spent += count_tokens(text)
            if not first and text.startswith("Best line so far: "):
                first = spent
        assert 120 <= first <= 460
        early += first <= 420
        assert spent <= 24_000
        if view["turn"] == 0:
            assert 8192 <= spent <= 14_000
        totals.append(spent)
    assert 6_000 <= sum(totals) / len(totals) <= 16_000
    assert early >= 0.95 * len(totals)


def test_a_conclusion_fits_into_what_a_reactor_is_shown_of_it() -> None:
    for load, view in boards():
        assert count_tokens(text_of(plan(view, load=load), "content")) <= 1024


def test_strategies_are_the_known_ones_and_the_answer_comes_last() -> None:
    for load, view in list(boards())[::4]:
        kinds = [strategy for strategy, _ in plan(view, load=load)]
        assert set(kinds) <= set(STRATEGIES)
        assert kinds.index("conclude") == len(kinds) - kinds.count("conclude")
        assert [strategy for strategy, _ in react(view, "", load=load)][-1] == "conclude"
    assert set(STRATEGIES) == {strategy for strategy, _ in plan(view_of("medium", 5), load="medium")}


def test_the_same_board_gives_the_same_text() -> None:
    view = view_of("hard", 5, 25)
    text = text_of(plan(view, load="hard"))
    assert text == text_of(plan(view, load="hard"))
    assert text_of(react(view, guided(text, 25), load="hard")) == text_of(react(view, guided(text, 25), load="hard"))


def test_thinkers_leave_their_view_as_it_was() -> None:
    view = view_of("medium", 5, 25)
    before = repr(view)
    text_of(react(view, guided(text_of(plan(view, load="medium")), 25), load="medium"))
    assert repr(view) == before


def test_a_planner_looks_at_nothing_before_it_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    looked = []
    expand = Tree.expand

    def counted(self: Tree, node: Node) -> list[tuple[str, str, Node | None]]:
        looked.append(node.path)
        return expand(self, node)

    monkeypatch.setattr(Tree, "expand", counted)
    steps = plan(view_of("easy", 0), load="easy")
    sentences = 0
    for _, text in steps:
        # A sentence's own forced ways are looked at for it; nothing is looked at for the next one.
        sentences += 1 if LOOK.match(text.strip()) else 0
        last = len(looked)
        if sentences == 20:
            break
    assert sentences == 20
    assert last >= 20
    steps.close()
    assert len(looked) == last


def test_a_shorter_episode_shortens_the_line() -> None:
    view = dict(view_of("medium", 5, 9))
    reading = read_answer(text_of(plan(view, load="medium", max_ticks=view["turn"] + 3), "content"), letters=LETTER_WORDS, mode="plan", turn=view["turn"])
    assert reading.letters is not None
    assert len(reading.letters) == 3


# Wishes.


def steered(view: dict[str, Any], wishes: dict[int, str], *, then: str | None = None, most: int = 4000) -> list[tuple[str, str]]:
    steps = plan(view, load="medium")
    out = [next(steps)]
    try:
        while len(out) < most:
            out.append(steps.send(wishes.get(len(out), then)))
    except StopIteration:
        return out
    raise AssertionError("the thinking does not end")


@pytest.mark.parametrize("after", [1, 3, 8, 40])
def test_a_wish_to_conclude_is_granted_at_once(after: int) -> None:
    view = view_of("medium", 5, 9)
    steps = steered(view, {after: "conclude"})
    reasoning = [strategy for strategy, _ in steps[after:] if strategy != "conclude"]
    # Without a line yet, one look is needed to have an answer at all.
    assert len(reasoning) <= 4
    reading = read_answer(text_of(steps, "content"), letters=LETTER_WORDS, mode="plan", turn=view["turn"])
    assert reading.letters is not None
    replayed(view, "".join(reading.letters))


def test_wishes_to_check_sum_up_and_try_others_are_granted_once_there_is_a_line() -> None:
    view = view_of("medium", 5)
    for wish in ("check", "summarize", "explore"):
        steps = steered(view, {40: wish})
        assert steps[40][0] == wish
    assert steered(view, {1: "check"})[1][0] != "check"


@pytest.mark.parametrize("wish", [*STRATEGIES[:-1], "nonsense"])
def test_a_wish_repeated_for_ever_does_not_keep_the_thinking_from_its_end(wish: str) -> None:
    steps = steered(view_of("medium", 5), {}, then=wish)
    assert steps[-1][0] == "conclude"
    assert count_tokens(text_of(steps)) <= 24_000


# Memory.


def test_a_remembered_line_is_followed_first_where_it_still_fits() -> None:
    view = view_of("medium", 5)
    conclusion = text_of(plan(view, load="medium"), "content")
    letters = "".join(letter for _, letter, _, _ in ENTRY.findall(conclusion.splitlines()[0]))
    later, _ = replayed(view, letters[0])
    text = text_of(plan(later, load="medium", memory=conclusion))
    assert f"My last plan goes on {' '.join(letters[1:])} from here" in text
    elsewhere, _ = replayed(view, next(letter for letter in safe_moves(view) if letter != letters[0]))
    assert "My last plan" not in text_of(plan(elsewhere, load="medium", memory=conclusion))


# The reactor.


def test_left_alone_it_takes_the_apple_beside_it_but_not_into_the_wall() -> None:
    assert answer_of(react(board("33 43", foods="348"), "", load="easy")) == "U"
    assert answer_of(react(board("13 23"), "", load="easy")) in "UD"


def test_left_alone_it_does_not_step_where_nothing_follows() -> None:
    # (1,1) has one neighbour that is free, and that is where it comes from.
    assert answer_of(react(board("12 22 32", direction="L", foods="119", obstacles="21"), "", load="easy")) == "U"


def test_it_follows_a_line_that_passes_where_it_stands() -> None:
    view = board("33 43", foods="323", turn=12)
    line = "Best line so far: Turn 12: U to (3,4); Turn 13: U to (3,5); Turn 14: U to (3,6).\n"
    assert answer_of(react(view, "", load="easy")) == "D"
    assert answer_of(react(view, guided(line, 12), load="easy")) == "U"
    earlier = "Best line so far: Turn 11: L to (3,3); Turn 12: U to (3,4); Turn 13: U to (3,5); Turn 14: U to (3,6).\n"
    text = text_of(react(view, guided(earlier, 11), load="easy"))
    assert text.endswith("\\boxed{U}")
    assert "Its line made for turn 11 says Turn 12: U to (3,4), which fits where I stand." in text


def test_it_steps_back_onto_a_line_next_to_it() -> None:
    line = "Best line so far: Turn 12: U to (2,4); Turn 13: U to (2,5); Turn 14: U to (2,6).\n"
    view = board("34 44", foods="323", turn=12)
    text = text_of(react(view, guided(line, 12), load="easy"))
    assert "I do not stand where it starts, but L takes me back onto it." in text
    assert text.endswith("\\boxed{L}")


def test_a_contingency_is_followed_where_it_fits() -> None:
    text = "Best line so far: Turn 11: U to (4,5); Turn 12: U to (4,6).\nIf at turn 12 I stand on (3,3) instead: Turn 12: U to (3,4); Turn 13: U to (3,5); Turn 14: U to (3,6).\n"
    view = board("33 43", foods="323", turn=12)
    said = text_of(react(view, guided(text, 11), load="easy"))
    assert "in case I came another way, and I did" in said
    assert said.endswith("\\boxed{U}")


def test_a_line_that_breaks_on_the_fresh_board_is_dropped() -> None:
    view = board("33 43", foods="323", obstacles="35", turn=12)
    line = "Best line so far: Turn 12: U to (3,4); Turn 13: U to (3,5); Turn 14: U to (3,6).\n"
    text = text_of(react(view, guided(line, 12), load="easy"))
    assert "U runs into the obstacle at (3,5). There the line breaks." in text
    assert text.endswith("\\boxed{D}")


def test_a_line_into_a_cell_without_a_way_on_is_not_followed() -> None:
    view = board("12 22 32", direction="L", foods="119", obstacles="21", turn=12)
    assert answer_of(react(view, guided("Best line so far: Turn 12: D to (1,1).\n", 12), load="easy")) == "U"


def test_of_two_lines_the_newer_one_counts() -> None:
    lines = "Best line so far: Turn 12: U to (3,4); Turn 13: U to (3,5).\nBest line so far: Turn 12: L to (2,3); Turn 13: L to (1,3).\n"
    assert answer_of(react(board("33 43", foods="323"), guided(lines, 12), load="easy")) == "L"
    finished = "Conclusion of the planner's last finished thinking, made for turn 10:\nBest line: Turn 12: L to (2,3); Turn 13: L to (1,3).\n\n"
    running = guided("Best line so far: Turn 12: U to (3,4); Turn 13: U to (3,5).\n", 12)
    assert answer_of(react(board("33 43", foods="323"), finished + running, load="easy")) == "U"
    assert answer_of(react(board("33 43", foods="323"), finished, load="easy")) == "L"


def test_warnings_turn_it_away_from_a_move_and_from_an_apple() -> None:
    view = board("33 43", foods="323 139")
    assert answer_of(react(view, "", load="easy")) == "D"
    assert answer_of(react(view, guided("WARNING do not go D at turn 12: every way on is closed by turn 15.\n", 12), load="easy")) == "L"
    assert answer_of(react(view, guided("WARNING do not go D at turn 11: every way on is closed by turn 15.\n", 11), load="easy")) == "D"
    far = board("33 43", foods="313 168")
    assert answer_of(react(far, "", load="easy")) == "D"
    assert answer_of(react(far, guided("WARNING avoid food (3,1): dead end until turn 17.\n", 12), load="easy")) == "L"
    assert answer_of(react(far, guided("WARNING avoid food (3,1): dead end until turn 12.\n", 9), load="easy")) == "D"


def test_a_goal_is_kept_while_its_apple_lies_there() -> None:
    view = board("33 43", foods="313 137")
    assert answer_of(react(view, guided("GOAL target food (1,3).\n", 12), load="easy")) == "L"
    assert "Its goal (6,6) is gone" in text_of(react(view, guided("GOAL target food (6,6).\n", 12), load="easy"))


def test_a_reactor_alone_and_with_guidance_stays_within_its_budget() -> None:
    alone, helped = [], []
    for load, view in boards():
        text = text_of(plan(view, load=load))
        alone.append(count_tokens(text_of(react(view, "", load=load))))
        helped.append(count_tokens(text_of(react(view, guided(text, view["turn"]), load=load))))
    assert 400 <= sum(alone) / len(alone) <= 900
    assert max(alone) <= 1300
    assert 900 <= sum(helped) / len(helped) <= 1500
    assert max(helped) <= 2048


def test_no_words_of_the_planner_make_it_longer_than_its_budget() -> None:
    long = "Best line so far: " + "; ".join(f"Turn {12 + k}: {'LDRU'[k % 4]} to ({'2233'[k % 4]},{'3223'[k % 4]})" for k in range(500)) + ".\n"
    flood = "".join(f"WARNING avoid food ({k % 8},{k // 8}): dead end until turn 99{k}.\nWARNING do not go {LETTERS[k % 4]} at turn 12: {k}.\n" for k in range(64))
    text = f"{'9' * 6000} GOAL\n{long * 20}{flood}Best line: Turn {'9' * 6000}: U to (1,1).\nGOAL target food ({'1' * 6000},1).\n"
    assert count_tokens(text_of(react(view_of("hard", 5, 50), guided(text, 12), load="hard"))) <= 2048
    said = text_of(react(board("33 43", foods="323 139"), guided(text, 12), load="hard"))
    assert count_tokens(said) <= 2048
    assert said.endswith("\\boxed{L}")


def test_a_snake_that_cannot_move_still_gets_an_answer() -> None:
    view = board("11 21 22 12 13", direction="L")
    assert not safe_moves(view)
    assert answer_of(react(view, "", load="easy")) == "L"
    reading = read_answer(text_of(plan(view, load="easy"), "content"), letters=LETTER_WORDS, mode="plan", turn=12)
    assert reading.letters == ["L"]


def test_when_every_line_dies_the_plan_is_the_one_that_lasts() -> None:
    # Two free cells ahead, then walls: the body is longer than the pocket.
    view = board("31 41 51 61 62 52 42 32 22 12 13 23 33 43", direction="L")
    text = text_of(plan(view, load="easy"))
    assert "Every line I can find ends by turn 14." in text
    reading = read_answer(text, letters=LETTER_WORDS, mode="plan", turn=12)
    assert reading.letters == ["L", "L"]


# Reading guidance.


def test_guidance_cut_anywhere_gives_whole_moves_only() -> None:
    whole = "GOAL target food (3,5).\nBest line so far: Turn 12: U to (3,5); Turn 13: R to (4,5); Turn 14: R to (5,5). It eats 1.\nWARNING avoid food (5,2): dead end until turn 17.\n"
    moves_ = (Move(12, "U", "to (3,5)"), Move(13, "R", "to (4,5)"), Move(14, "R", "to (5,5)"))
    text = guided(whole, 12).rstrip("\n") + "\n"
    for end in range(len(text) + 1):
        notes = read_notes(text[:end])
        for line in notes.lines():
            assert line.moves == moves_[: len(line.moves)]
            assert line.made_for == 12
        assert notes.goal in ("", "target food (3,5)")
        assert notes.warnings in ((), ("avoid food (5,2): dead end until turn 17",))
    notes = read_notes(text)
    assert (next(notes.lines()).moves, notes.goal, len(notes.warnings)) == (moves_, "target food (3,5)", 1)


def test_guidance_of_the_other_games_reads_as_well() -> None:
    text = (
        "Best line so far: Turn 3: U to lane 3; Turn 4: S to lane 3.\n"
        "If at turn 15 I stand on lane 3 instead, then S; Turn 16: U to lane 4.\n"
        "Best line so far: Turn 0: U from (3,3) holding nothing; Turn 1: I from (3,3) holding nothing.\n"
        "GOAL fetch onion from (3,4), then add onion to (3,0).\n"
    )
    newest, contingency, oldest = read_notes(text).lines()
    assert newest.moves == (Move(0, "U", "from (3,3) holding nothing"), Move(1, "I", "from (3,3) holding nothing"))
    assert contingency.moves == (Move(15, "S", ""), Move(16, "U", "to lane 4"))
    assert contingency.instead == "lane 3"
    assert oldest.moves == (Move(3, "U", "to lane 3"), Move(4, "S", "to lane 3"))
    assert {line.made_for for line in read_notes(text).lines()} == {-1}
    assert read_notes(text).goal == "fetch onion from (3,4), then add onion to (3,0)"


def test_a_newer_thinking_without_a_line_leaves_the_older_warnings_in_force() -> None:
    finished = "Conclusion of the planner's last finished thinking, made for turn 10:\nBest line: Turn 10: U to (3,4).\nWARNING avoid food (5,2): dead end until turn 17.\n\n"
    assert read_notes(finished + guided("Okay, it is tu", 12)).warnings == ("avoid food (5,2): dead end until turn 17",)
    assert read_notes(finished + guided("Best line so far: Turn 12: U to (3,4).\n", 12)).warnings == ()
    assert next(read_notes(finished).lines()).finished


def test_nothing_reads_as_nothing() -> None:
    notes = read_notes("")
    assert (list(notes.lines()), notes.goal, notes.warnings) == ([], "", ())


# The pair.


def raiser(*_: Any, **__: Any) -> Any:
    raise AssertionError("the reactor called the planner")


def test_the_reactor_does_without_the_planners_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    view = view_of("medium", 5, 25)
    guidance = guided(text_of(plan(view, load="medium")), 25)
    before = text_of(react(view, guidance, load="medium"))
    for module in (snake_planner, snake_search, snake_words):
        for name, value in list(vars(module).items()):
            if getattr(value, "__module__", "") == module.__name__ and callable(value):
                monkeypatch.setattr(module, name, raiser)
    with pytest.raises(AssertionError, match="called the planner"):
        snake_planner.plan(view, load="medium")
    assert text_of(snake_reactor.react(view, guidance, load="medium")) == before
    assert "The line stands for" in before


def played(agent: str, load: str, seed: int, **options: Any) -> tuple[float, list[str]]:
    episode = simulate("snake", agent=agent, load=load, seed=seed, **options)
    return episode.summary["points"], [event.letter for event in episode.events if type(event).__name__ == "Action"]


@pytest.mark.parametrize("load", LOADS)
def test_with_its_guidance_blanked_agile_plays_as_reactive_does(load: str) -> None:
    for seed in (0, 1):
        assert played("agile", load, seed, guidance="none") == played("reactive", load, seed)


def test_on_a_hard_board_the_pair_eats_more_than_either_alone() -> None:
    scores = {agent: sum(played(agent, "hard", seed)[0] for seed in (0, 1)) for agent in ("reactive", "planning", "agile")}
    assert scores["agile"] > scores["reactive"] + 8
    assert scores["agile"] > scores["planning"] + 8


def test_a_plan_that_ends_within_its_first_turn_is_worth_having() -> None:
    assert played("planning", "medium", 0, tick_budget=32768)[0] >= 12
    assert played("planning", "medium", 0, tick_budget=4096)[0] <= 4


def test_too_small_a_reactive_budget_goes_straight_into_the_wall() -> None:
    points, letters = played("agile", "medium", 0, reactive_budget=512)
    assert points <= 1
    assert set(letters) == {"S"}


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [range(8), range(8, 32)])
def test_the_curves_have_their_shape(seeds: range) -> None:
    def mean(agent: str, load: str, **options: Any) -> float:
        return sum(played(agent, load, seed, **options)[0] for seed in seeds) / len(seeds)

    reactive = {load: mean("reactive", load) for load in LOADS}
    planning = {load: mean("planning", load) for load in LOADS}
    agile = {load: mean("agile", load) for load in LOADS}
    assert reactive["hard"] <= reactive["easy"] / 2
    for load in LOADS:
        assert agile[load] > max(reactive[load], planning[load])
    assert agile["hard"] - max(reactive["hard"], planning["hard"]) >= 6
    assert mean("planning", "medium", tick_budget=4096) <= mean("planning", "medium", tick_budget=32768) / 3
    assert mean("agile", "medium", tick_budget=4096) >= 0.8 * agile["medium"]
    assert mean("agile", "medium", reactive_budget=1024) <= 0.25 * agile["medium"]
