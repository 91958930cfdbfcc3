"""The reducer: what a screen knows after a stream of events, however finely it came."""

import random

import msgspec
import pytest

import games
from replays import events as ev
from replays.plans import Pins, position, read_plan
from replays.reduce import fold, fold_all
from replays.streams import BLOCK
from replays.view_state import NOTES, SCORES, ViewState

HEADER = ev.Episode(tick=0, game="snake", load="easy", seed=0, agent="agile", tick_budget_tokens=100, reactive_budget_tokens=25, backends={"planner": ev.Backend(spec="builtin"), "reactor": ev.Backend(spec="builtin")})  # fmt: skip


def tick(number: int, **more: object) -> ev.Tick:
    return ev.Tick(tick=number, at=number * 100, view={}, text="", guidance_at=number * 100 + 75, end_at=number * 100 + 100, **more)  # type: ignore[arg-type]


def start(stream: str, number: int) -> ev.Generation:
    return ev.Generation(tick=number, at=number * 100, stream=stream, id=number, phase="start")


def token(stream: str, number: int, text: str, at: int, *, generation: int | None = None, channel: str = "reasoning") -> ev.Token:
    return ev.Token(tick=number, at=at, t_ns=at * 10, stream=stream, generation=number if generation is None else generation, channel=channel, text=text, lens=[len(char.encode()) for char in text])  # fmt: skip


def snake_state(head: tuple[int, int]) -> dict[str, object]:
    game = games.make("snake", "easy", 0)
    game.reset()
    snapshot = game.snapshot()
    return {**snapshot, "snake": [list(head)]}


def test_text_in_pieces_of_any_size_gives_the_same_state() -> None:
    text = "Okay, é e\u0301 日本.\r\nGOAL target food (3,5).\nBest line so far: Turn 0: U to (3,4); Turn 1: U to (3,5). It eats 1.\nWARNING do not go L at turn 2.\n" * 9
    whole = [HEADER, tick(0), start("planner", 0), token("planner", 0, text, 1)]
    chance = random.Random(5)
    pieces: list[ev.AnyEvent] = whole[:3]
    place = 0
    while place < len(text):
        size = chance.randrange(1, 7)
        pieces.append(token("planner", 0, text[place : place + size], 1 + place))
        place += size
    one, other = fold_all(whole).to_map(), fold_all(pieces).to_map()
    for state in (one, other):
        # The pace of a stream is read from when its frames came, and the one big event came at once.
        for name in ("tpot_s", "ttft_s", "last_ns", "first_ns"):
            state["planner"].pop(name, None)
        state.pop("now_ns", None)
    assert one == other


def test_the_state_survives_its_map_and_goes_on_the_same() -> None:
    events = [HEADER, tick(0, snapshot=snake_state((3, 3))), start("planner", 0), token("planner", 0, "Best line so far: Turn 0: U to (3,4)\nGOAL x yz\n\r", 1)]
    more: list[ev.AnyEvent] = [token("planner", 0, "\nWARNING go e", 60), token("planner", 0, "\u0301\n", 72), ev.Bookmark(tick=0, note="n")]
    whole = fold_all([*events, *more])
    data = msgspec.msgpack.decode(msgspec.msgpack.encode(fold_all(events).to_map()))
    restored = fold_all(more, ViewState.from_map(data, HEADER))
    assert restored.to_map() == whole.to_map()
    assert restored.header is HEADER
    assert "\nWARNING go é\n" in restored.planner.text


def test_a_damaged_map_is_an_error_with_a_path() -> None:
    with pytest.raises(msgspec.ValidationError, match=r"\$"):
        ViewState.from_map({"tick": "seven"})


def test_the_tail_is_bounded_and_starts_at_the_same_place_whatever_the_pieces() -> None:
    line = "token 12 abcdefghij\n"
    count = 5 * BLOCK // len(line)
    small = fold_all([HEADER, tick(0), start("planner", 0), *(token("planner", 0, line, 1 + 20 * i) for i in range(count))])
    big = fold_all([HEADER, tick(0), start("planner", 0), token("planner", 0, line * count, 1)])
    assert BLOCK <= len(small.planner.text) <= 2 * BLOCK
    assert (small.planner.text, small.planner.dropped) == (big.planner.text, big.planner.dropped)
    assert small.planner.said == len(line) * count


def test_counts_start_over_with_the_tick_and_with_the_generation() -> None:
    state = fold_all([HEADER, tick(0), start("planner", 0), token("planner", 0, "abcd", 1), tick(1), token("planner", 1, "ef", 101, generation=0)])
    assert (state.planner.tick_tokens, state.planner.tokens, state.planner.total_tokens) == (2, 6, 6)
    assert (state.now_at, state.planner.generation) == (102, 0)
    fold(state, start("planner", 1))
    assert (state.planner.tokens, state.planner.total_tokens) == (0, 6)


def test_budget_nobody_used_is_counted_tick_by_tick() -> None:
    events = [HEADER, tick(0), start("planner", 0), token("planner", 0, "a" * 30, 1), tick(1), tick(2), start("planner", 2), token("planner", 2, "b" * 100, 201), tick(3)]
    assert fold_all(events).idle == 70 + 100 + 0
    alone = msgspec.structs.replace(HEADER, backends={"reactor": ev.Backend(spec="builtin")})
    assert fold_all([alone, tick(0), tick(1)]).idle == 0


def test_the_clock_is_that_of_the_newest_event_whatever_the_order() -> None:
    state = fold_all([HEADER, token("planner", 0, "late", 50), token("reactor", 0, "early", 20)])
    assert state.now_ns == 500


@pytest.mark.parametrize(("ended", "finish", "told"), [(2, "stop", False), (3, "stop", True), (0, "length", True)])
def test_the_end_of_thinking_is_news_when_it_took_long_or_went_wrong(ended: int, finish: str, told: bool) -> None:
    end = ev.Generation(tick=ended, at=ended * 100 + 5, stream="planner", id=0, phase="end", finish=finish, clock_tokens=9)
    state = fold_all([HEADER, tick(0), start("planner", 0), *(tick(number) for number in range(1, ended + 1)), end])
    assert [note.kind for note in state.notes] == (["finish"] if told else [])


def test_a_line_without_places_holds_for_the_turn_it_was_made_on_and_says_nothing_of_others() -> None:
    line = "Best line so far: Turn 1: U; Turn 2: U\n"
    seen = [HEADER, tick(0, snapshot=snake_state((3, 3))), start("planner", 0), token("planner", 0, line, 1)]
    assert fold_all(seen).holds is None
    seen = [HEADER, tick(0, snapshot=snake_state((3, 3))), tick(1), start("planner", 1), token("planner", 1, line, 101)]
    state = fold_all(seen)
    assert state.holds is True
    assert fold_all([tick(2)], state).holds is None


def test_a_plan_goes_stale_once_and_says_where_the_player_is() -> None:
    line = "Best line so far: Turn 0: U to (3,4); Turn 1: U to (3,5); Turn 2: U to (3,6)\n"
    events = [
        HEADER, tick(0, snapshot=snake_state((3, 3))), start("planner", 0), token("planner", 0, line, 1),
        ev.Action(tick=0, letter="U", source="reactor"), ev.Step(tick=0, state=snake_state((3, 4)), reward=0, score=0), tick(1),
    ]  # fmt: skip
    state = fold_all(events)
    assert state.holds is True
    fold_all([ev.Action(tick=1, letter="L", source="reactor"), ev.Step(tick=1, state=snake_state((2, 4)), reward=0, score=0), tick(2)], state)
    assert state.holds is False
    assert [note.text for note in state.notes if note.kind == "stale"] == ["plan went stale: at (2,4), not (3,5)"]
    assert state.history.marks[2] == "~"


def test_who_acted_and_what_happened_is_one_character_a_tick() -> None:
    events: list[ev.AnyEvent] = [HEADER]
    for number, (letter, source, reason) in enumerate([("U", "reactor", None), ("S", "default", "late"), ("L", "human", None)]):
        events += [tick(number), ev.Action(tick=number, letter=letter, source=source, reason=reason), ev.Step(tick=number, state=snake_state((3, 3)), reward=0, score=number, points=float(number))]
    state = fold_all(events)
    assert (state.history.acted, state.history.letters) == ("rdh", "USL")
    assert (state.defaults, state.late, state.steps) == (1, 1, 3)
    assert state.history.scores == [(0, 0, 0), (1, 1, 1), (2, 2, 2)]


def test_a_second_players_action_is_not_mine() -> None:
    state = fold_all([HEADER, tick(0), ev.Action(tick=0, letter="U", source="reactor"), ev.Action(tick=0, letter="L", source="human", player=1)])
    assert state.last is not None
    assert (state.last.letter, state.partner, state.history.letters) == ("U", "L", "U")


def test_the_reactors_answer_carries_its_reason_and_whether_the_plan_agrees() -> None:
    state = fold_all(
        [
            HEADER, tick(0, snapshot=snake_state((3, 3))), start("planner", 0), token("planner", 0, "Best line so far: Turn 0: U to (3,4)\n", 1),
            start("reactor", 0), token("reactor", 0, "I aim for the food.\nWeighing U gives 4.\n\\boxed{U}", 76),
            ev.Answer(tick=0, at=90, stream="reactor", generation=0, mode="act", letters=["U"]),
        ]
    )
    assert state.answer is not None
    assert (state.answer.letter, state.answer.agrees, state.answer.reason) == ("U", True, "I aim for the food")


def test_a_reset_empties_what_is_pinned() -> None:
    state = fold_all([HEADER, tick(0), start("planner", 0), token("planner", 0, "GOAL lane 9\nBest line so far: Turn 0: U to lane 1\n", 1), ev.Step(tick=0, state={"cars": [], "pos": 9}, reward=-1, score=99, reset=True)])
    assert (state.pins.best, state.pins.goal) == (None, "")


def test_an_event_of_the_future_is_counted_and_changes_nothing_else() -> None:
    class Strange(msgspec.Struct):
        tick: int = 0

    state = fold(ViewState(), Strange())  # type: ignore[arg-type]
    assert state.unknown == 1


def test_everything_outside_text_is_cleaned_at_the_border() -> None:
    state = fold_all([HEADER, tick(0), ev.Bookmark(tick=0, note="\x1b]0;owned\x07"), ev.Fault(tick=0, component="planner", what="\x9b2J", done="\u202e"), ev.Action(tick=0, letter="\x1b[A", source="reactor")])
    shown = str(state.notes) + str(state.last) + str(state.bookmarks) + state.history.letters
    assert "\x1b" not in shown
    assert "\x9b" not in shown
    assert "\u202e" not in shown


def test_lists_are_bounded() -> None:
    state = ViewState()
    for number in range(3 * NOTES):
        fold(state, ev.Bookmark(tick=number % 50, note="n"))
        fold(state, start("planner", number))
        fold(state, token("planner", number, "WARNING do not go L at turn 3\n", number + 1))
        fold(state, ev.Segment(tick=0, id=number, generation=number, phase="open", strategy="plan"))
        fold(state, ev.Generation(tick=number, stream="planner", id=number, phase="end", finish="stop"))
    assert len(state.notes) == NOTES
    assert len(state.planner.borders) <= 512
    assert len(state.planner.ends) <= 64
    assert len(state.bookmarks) <= 1000


@pytest.mark.parametrize(
    ("line", "expects"),
    [
        ("Turn 4: U to (3,5); Turn 5: R to (4,5). It eats 2.", {5: (3, 5), 6: (4, 5)}),
        ("Turn 4: S to lane 0; Turn 5: U to lane 1.", {5: (0,), 6: (1,)}),
        ("Turn 4: U from (3,3) holding nothing; Turn 5: I from (3,3) holding nothing", {4: (3, 3), 5: (3, 3)}),
        ("Turn 4: U\nTurn 5: R", {}),
    ],
)
def test_plan_lines_of_every_game_say_where_the_player_must_stand(line: str, expects: dict[int, tuple[int, ...]]) -> None:
    plan = read_plan(line, 4)
    assert plan is not None
    assert {turn: plan.expects(turn) for turn in (4, 5, 6) if plan.expects(turn) is not None} == expects
    assert plan.step(5) is not None


def test_positions_are_read_from_the_snapshots_of_all_games() -> None:
    for name, cell in (("snake", (3, 3)), ("freeway", (0,)), ("overcooked", None)):
        game = games.make(name, "easy", 0)
        game.reset()
        found = position(game.snapshot())
        assert found is not None
        assert cell is None or found == cell
    assert position({"snake": []}) is None
    assert position({"players": "x"}) is None


def test_only_the_newest_thinkings_warnings_are_pinned() -> None:
    pins = Pins()
    pins.feed(0, "WARNING one one\nWARNING two two\n", 1)
    assert pins.warnings == ["two two", "one one"]
    pins.feed(0, "WARNING three three\n", 2)
    assert pins.warnings == ["three three"]


def test_lines_read_many_at_once_pin_what_they_pin_one_by_one() -> None:
    """A jump in a recording folds whole ticks at once; a live screen folds frames."""
    chance = random.Random(11)
    words = ["GOAL target food (3,5).", "  GOAL go up. Best line: Turn 3: U to (1,2)", "WARNING do not go L.", "x WARNING no", "the GOAL is far", "BEST LINE so far: Turn 1: U", "best line: none", "best line", "Ordinary talk.", "\u00e9t\u00e9", "", "GOAL", "GOAL GOAL GOAL"]  # fmt: skip
    for _ in range(400):
        lines = chance.choices(words[: None if chance.random() < 0.3 else 9], k=chance.randrange(1, 30))
        text = "\n".join(lines)
        whole, single, cut = Pins(), Pins(), Pins()
        whole.feed(0, text, 4)
        for char in text:
            single.feed(0, char, 4)
        for part in (text[: len(text) // 3], text[len(text) // 3 :]):
            cut.feed(0, part, 4)
        for pins in (whole, single, cut):
            pins.close(4)
        assert whole == single == cut


def test_a_copy_folds_on_apart_from_its_original() -> None:
    events = [HEADER, tick(0, snapshot=snake_state((3, 3))), start("planner", 0), token("planner", 0, "GOAL x y z\nBest line: Turn 0: U\r", 1)]
    events.append(ev.Segment(tick=0, at=30, id=0, generation=0, phase="open", strategy="plan"))
    more: list[ev.AnyEvent] = [
        token("planner", 0, "\nWARNING go e", 60), token("planner", 0, "\u0301\n", 72), ev.Bookmark(tick=0, note="n"),
        ev.Segment(tick=0, at=80, id=0, generation=0, phase="close", strategy="plan", finish="stop", tokens=9),
        ev.Step(tick=0, at=100, state=snake_state((3, 4)), reward=1.0, score=1.0, points=1.0),
    ]  # fmt: skip
    state = fold_all(events)
    before = state.to_map()
    other = fold_all(more, state.copy())
    assert state.to_map() == before
    assert other.to_map() == fold_all([*events, *more]).to_map()
    assert fold_all(more, state).to_map() == other.to_map()


def test_a_curve_of_thousands_of_points_is_thinned_and_ends_where_it_ends() -> None:
    state = fold_all([HEADER, tick(0)])
    for number in range(3 * SCORES):
        fold(state, ev.Step(tick=number, at=number, state={}, reward=1.0, score=float(number + 1)))
        assert state.history.scores[-1] == (number, float(number + 1), 0.0)
    assert SCORES // 2 <= len(state.history.scores) <= SCORES
    assert state.history.scores[0] == (0, 1.0, 0.0)
    ticks = [one[0] for one in state.history.scores]
    assert ticks == sorted(set(ticks))


@pytest.mark.parametrize("line", ["GOAL = 9", "GOAL=9", "GOALS are many", "GOAL, WALL = 1, 2", "GOAL_X = 3"])
def test_a_name_in_a_program_is_no_goal(line: str) -> None:
    events = [HEADER, tick(0), start("planner", 0), token("planner", 0, f"GOAL lane 9\n{line}\n", 1)]
    assert fold_all(events).pins.goal == "lane 9"


def test_a_program_in_force_is_told_once_and_a_refused_one_leaves_it_there() -> None:
    def wrote(tick: int, text: str | None, why: str | None = None) -> ev.Answer:
        return ev.Answer(tick=tick, stream="planner", generation=tick, mode="program", program=text, why=why)

    state = ViewState()
    fold(state, wrote(0, None, "truncated"))
    assert state.program is not None
    assert (state.program.lines, state.program.refused) == (0, "truncated")
    fold(state, wrote(1, "def act(view, memory):\n    return 'S'\n"))
    fold(state, wrote(2, "def act(view, memory):\n    return 'S'\n"))
    assert (state.program.since, state.program.generation, state.program.lines, state.program.refused) == (1, 2, 2, "")
    fold(state, wrote(3, None, "invalid"))
    assert (state.program.since, state.program.lines, state.program.refused) == (1, 2, "invalid")
    fold(state, wrote(4, "def act(view, memory):\n    return 'U'\n"))
    assert (state.program.since, state.program.refused) == (4, "")
    assert [note.text for note in state.notes] == [
        "no program in that text: cut off", "program of turn 1: 2 lines", "program of turn 4: 2 lines",
    ]  # fmt: skip
    # It is no answer of the reactor's, and a keyframe carries it.
    assert state.answer is None
    assert ViewState.from_map(state.to_map()).program == state.program


def test_of_a_plan_without_end_some_moves_are_kept_and_all_are_counted() -> None:
    letters = ["U"] * 5000
    state = fold_all([HEADER, tick(0), ev.Answer(tick=0, stream="planner", generation=0, mode="plan", letters=letters, turns=list(range(5000)))])
    assert state.plan is not None
    assert len(state.plan.steps) == 1000
    assert state.plan.step(999) is not None
    assert state.notes[-1].text == "plan for turn 0: 5000 moves"
