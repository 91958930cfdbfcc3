r"""Answers are read by rule: the recorded cases, each rule of `workers.answers` in a row of a table, and no text that breaks the reader."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from games.base import GameSpec
from workers.answers import Reading, answer_report, plan_action, read_answer, strip_think

SNAKE = (("L", "left"), ("R", "right"), ("U", "up"), ("D", "down"))
FREEWAY = (("U", "up"), ("D", "down"), ("S", "stay"))
OVERCOOKED = (("U", "up"), ("D", "down"), ("L", "left"), ("R", "right"), ("I", "interact"), ("S", "stay"))
GAMES = {"snake": SNAKE, "freeway": FREEWAY, "overcooked": OVERCOOKED}

CASES = sorted((Path(__file__).parent / "data" / "answers").iterdir())


def act(text: str, letters: tuple[tuple[str, str], ...] = SNAKE, **knobs: Any) -> str | None:
    """Return the letter read in mode act."""
    reading = read_answer(text, letters=letters, mode="act", **knobs)
    assert reading.turns is None
    return reading.letters[0] if reading.letters else None


def plan(text: str, letters: tuple[tuple[str, str], ...] = SNAKE, **knobs: Any) -> dict[int, str] | None:
    """Return the plan read as turn -> letter."""
    reading = read_answer(text, letters=letters, mode="plan", **knobs)
    return None if reading.letters is None or reading.turns is None else dict(zip(reading.turns, reading.letters))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case_reads_as_recorded(case: Path) -> None:
    expected = json.loads((case / "expected.json").read_text(encoding="utf-8"))
    text = (case / "input.txt").read_bytes().decode("utf-8")
    for visible in (text, strip_think(text)):
        cut = expected.get("finish_reason") == "length"
        reading = read_answer(visible, letters=GAMES[expected["game"]], mode=expected["mode"], cut=cut)
        assert reading.letters == expected["actions"]
        if "turns" in expected:
            assert reading.turns == expected["turns"]


def test_cases_are_there() -> None:
    assert len(CASES) == 25


# Where the answer stands.


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        (r"\boxed{L} no, \boxed{R}", "R"),
        (r"\boxed{R} and never \boxed{X}", None),
        (r"\boxed{R} \boxed{}", None),
        (r"the form is \boxed{action(U/D/L/R)}, so \boxed{U}", "U"),
        (r"\boxed{\boxed{U}}", "U"),
        (r"\boxed{{{U}}}", "U"),
        (r"a set {1, 2 and \boxed{U}}} b", "U"),
        (r"\boxed{L and then \boxed{R}", "R"),
        (r"\boxed {U}", "U"),
        (r"\\boxed{\\text{U}}", "U"),
        (r"\boxed\{U\}", "U"),
        ("boxed{U}", "U"),
        (r"\fbox{U}", "U"),
        ("\x08oxed{\text{U}}", "U"),
        ("\\boxed｛Ｕ｝", "U"),
        (r"in \boxed as asked", None),
        ("```\nL\n``` or \\boxed{U}", "U"),
        ("```\n\\boxed{U}\n```", "U"),
    ],
)
def test_last_box_decides(text: str, letter: str | None) -> None:
    assert act(text) == letter


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ("```\nU\n```", "U"),
        ("```text\nup\n```\nDone.", "U"),
        ("```U```", "U"),
        ("~~~\nU\n~~~", "U"),
        ("```\nL\n```\nbetter:\n```\nR\n```", "R"),
        ("```\nL\n```\nbetter:\n```\njump\n```", None),
        ("```python\nreturn U\n```", None),
        ('```json\n{"action": "U"}\n```', "U"),
        ("```\nI go U\n```", None),
        ("``U``", None),
        ("U", None),
        ("Answer: U", None),
        ("**U**", None),
        ("Turn 3: U", None),
    ],
)
def test_without_a_box_only_the_last_fence_is_read(text: str, letter: str | None) -> None:
    assert act(text) == letter


@pytest.mark.parametrize(
    ("text", "visible"),
    [
        ("<think>a</think>b", "b"),
        ("<THINKING>a</Thinking>b", "b"),
        ("a</think>b", "b"),
        ("a</think>", ""),
        ("<think>a", ""),
        ("b<think>a</think>c<think>d", "b c"),
        ("<think>a<think>b</think>c</think>d", "d"),
        ("<think>a</think>b</think>\n", "b"),
        ("<think>a</think>", ""),
        ("no tags, 1 < 2", "no tags, 1 < 2"),
        ("<thinker>a</thinker>", "<thinker>a</thinker>"),
        ("<th<think>x</think>ink>y", "<th ink>y"),
    ],
)
def test_think_blocks_are_taken_out(text: str, visible: str) -> None:
    assert strip_think(text).strip() == visible
    assert strip_think(strip_think(text)).strip() == visible


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        (r"<think>\boxed{L}</think>", None),
        (r"<think>\boxed{L}", None),
        (r"\boxed{L}</think>\boxed{U}", "U"),
        (r"\boxed{L}</think>", None),
        (r"\boxed{U} <think>or \boxed{L}?</think>", "U"),
        (r"\boxed{U} <think>or \boxed{L}", "U"),
    ],
)
def test_a_box_in_a_think_block_never_counts(text: str, letter: str | None) -> None:
    assert act(text) == letter


# What an action is, and what is taken away round it.


@pytest.mark.parametrize("token", ["U", "u", "UP", "Up", "up"])
@pytest.mark.parametrize(
    "frame",
    [
        "%s", " %s ", r"\text{%s}", r"\text{\textbf{%s}}", r"\mathbf{%s}", r"\mathrm{ %s }", r"\displaystyle %s", r"\rm %s",
        r"\;%s\,", r"\quad %s", r"\left( %s \right)", r"\textcolor{red}{%s}", r"\hspace{1cm}%s", r"$%s$", r"\(%s\)", "**%s**",
        "_%s_", "`%s`", r"\_%s\_", "# %s", "- %s", "* %s", "1. %s", r"1\. %s", "(%s)", "[%s]", "<%s>", '"%s"', "“%s”", "「%s」",
        "%s.", "%s!", "%s。", "%s\u200b", "\ufeff%s", "\u2060%s\u00ad", "\u00a0%s\u3000", "%s\ufe0f", "Answer: %s",
        "Final answer: **%s**", "Action = %s", "go %s", "Move %s", "Turn 7: %s", "%s (not R)", "%s（等待）", "%s [R is deadly]",
        "%s - R is deadly", "%s — L, R lose", "%s -- (R)x", "%s\n(R and L lose)", "%s (R) (L)", "%s\\",
    ],
)  # fmt: skip
def test_one_action_is_read_through_its_decoration(frame: str, token: str) -> None:
    assert act(r"so \boxed{" + frame.replace("%s", token) + "} it is") == "U"


@pytest.mark.parametrize(
    "inside",
    [
        "", " ", "\u200b", "X", "?", "JUMP", "SURRENDER", "UUR", "U2", "RI", "Upwards", "action", "<action>", "{action}",
        "action(U/D/L/R)", "U/D/L/R", "U or R", "U, R", "U R", "U - R", "I will wait here", "Do not go UP, go RIGHT", "not U",
        "U because R is deadly", "U, because", "U: since R is deadly", "S", "STAY", r"\uparrow", "↑", r"\frac{U}{1}", r"\left",
        r"\right", "U等待", "ı", "U?R", "U ✅", "U # go right", "U // R", "Turn 7:", "Turn: U", "Turn 7: go", "...",
    ],
)  # fmt: skip
def test_anything_else_in_the_box_is_no_action(inside: str) -> None:
    assert act(r"U is safe. \boxed{" + inside + "} U") is None


def test_words_and_pronouns_are_whole_tokens() -> None:
    assert act(r"\boxed{INTERACT}", OVERCOOKED) == "I"
    assert act(r"\boxed{i}", OVERCOOKED) == "I"
    assert act(r"\boxed{Right}", OVERCOOKED) == "R"
    assert act(r"\boxed{I (the pot is full)}", OVERCOOKED) == "I"
    assert act(r"\boxed{I go up}", OVERCOOKED) is None
    assert act(r"\boxed{STAY}", FREEWAY) == "S"
    assert act(r"\boxed{LEFT}", FREEWAY) is None


def test_act_wants_one_action() -> None:
    assert act(r"\boxed{U: UP}") == "U"
    assert act(r"\boxed{U, up}") == "U"
    assert act("\\boxed{1. U\n2. R}") is None
    assert act("\\boxed{Turn 7: U\nTurn 8: R}", turn=8) == "R"
    assert act("\\boxed{Turn 7: U\nTurn 8: R}", turn=9) is None
    assert act("\\boxed{Turn 7: U\nTurn 7: R}", turn=7) is None


# Plans.


@pytest.mark.parametrize(
    "inside",
    [
        "Turn 8: U\nTurn 9: L", "Turn 9: L\nTurn 8: U", "Turn 8: U, Turn 9: L", "Turn 8: U; Turn 9: L.", "turn 8 : u\nTURN 9=left",
        "Turn 8 - U\nTurn 9 -> L", "Turn 8) U\nTurn 9) L", "Turn (8): U\nTurn (9): L", r"Turn \(8\): U \\ Turn \(9\): L",
        r"Turn $8$: \text{U}\newline Turn $9$: \mathbf{L}", "Tick 8: U\nTick 9: L", "Turn 8：Ｕ\nTurn 9： Ｌｅｆｔ（左）",
        "Turn 08: U\nTurn 09: L", "- Turn 8: U\n- Turn 9: L", "1. Turn 8: U\n2. Turn 9: L", "* **Turn 8:** U\n* **Turn 9:** `L`",
        "Turn 8: U\r\nTurn 9: L\r\n", "Turn 8: U<br>Turn 9: L", r"\nTurn 8: U\nTurn 9: L\n", r"\\Turn 8: U\\Turn 9: L",
        r"\begin{array}{l} \text{Turn 8: U} \\ \text{Turn 9: L} \end{array}",
        r"\begin{aligned} Turn 8: &U \\ Turn 9: &L \end{aligned}", r"Turn 8: \boxed{U}, Turn 9: \boxed{L}",
        "Plan:\nTurn 8: U\nTurn 9: L", "Turn 8: U\nTurn 9: L\n2. is my length then",
        "Here is what I do.\n\nTurn 8: U\nThis eats the food, then R is free.\nTurn 9: L\n...",
        "Turn 8: U\nTurn 8: up\nTurn 9: L", "Turn 8: U (then at Turn 9: R)\nTurn 9: L (3,4)",
        "Turn 8: U - safe, as turn 9 is R\nTurn 9: L — done", "Turn 8: U - safe, Turn 9: L - food",
        "Turn 8: Up (U)\nTurn 9: L: left", "Turn 8: move up\nTurn 9: go LEFT", "Turn 8: [U]\nTurn 9: (L)",
        "[Turn 8: U, Turn 9: L]", "8. U\n9. L", "9: L\n8: U", "Step 8: U\nStep 9: L",
    ],
)  # fmt: skip
def test_turn_entries_are_read_and_ordered(inside: str) -> None:
    assert plan(r"\boxed{" + inside + "}", turn=3) == {8: "U", 9: "L"}
    if "boxed" not in inside:
        assert plan("```\n" + inside + "\n```", turn=3) == {8: "U", 9: "L"}


@pytest.mark.parametrize(
    "inside",
    [
        "Turn 8: U\nTurn 8: L", "Turn 8: U\nTurn 10: L", "Turn 8: U\n...\nTurn 12: L", "Turn 8: U\nTurn 9: JUMP",
        "Turn 8: U\nTurn 9:", "Turn 8:\nTurn 9: L", "Turn 8: U\nL", "Turn 8: U, L", "Turn 8: U U\nTurn 9: L", "Turns 8-9: U",
        "Turn 8-9: U", "Turn 8 U\nTurn 9 L", "Turn 8: U\n2. L", "Turn -8: U", "Turn t_1: action on turn t_1", "Turn 8: action",
        r"Turn \(t_1\): U", "Turn 9999999999: U", "Turn ", "9", ": U", "Turn 8: U\nTurn 9: I go L", "Turn 8: U # eat",
        "Turn 8: U. Then I turn left.", "Turn 8: U/L", "Turn 8: (eat) U", "1. U\n1. L", "1. U\n3. L", "1. U\nTurn 9: go", "1. U\n2. think", "UUR",
        "U, U, R, ...", "U, U, X", "U then R", "Here is the plan: U, U, R", "U|L", "Turn 8 U",
    ],
)  # fmt: skip
def test_a_plan_with_a_fault_is_no_plan(inside: str) -> None:
    assert read_answer(r"\boxed{" + inside + "}", letters=SNAKE, mode="plan", turn=8) == Reading(why="invalid")


@pytest.mark.parametrize(
    "inside",
    [
        "U U R", "U, U, R", "U,U,R", "U; U; R", "U、U、R", "u -> u -> r", "U → U → R", "U => U => R", "U > U > R",
        r"U \to U \rightarrow R", "U-U-R", "U - U - R", "U – U – R", "U\nU\n\nR", "up up right", "[U, U, R]", '["U", "U", "R"]',
        "(U), (U), (R)", "[U] [U] [R]", "Plan: U, U, R", "Actions:\nU, U, R", "**U**, **U**, **R**",
        r"\text{U}, \text{U}, \text{R}", "1. U\n2. U\n3. R", "0. U\n1. U\n2. R", "1) U 2) U 3) R", "(1) U (2) U (3) R",
        "Step 1: U\nStep 2: U\nStep 3: R", "2. U\n1. U\n3. R", "My plan is this.\n1. U\n2. U\n3. R", "- U\n- U\n- R",
        "• U\n• U\n• R", "U, U, R.", "U (up), U (up), R (right)", "U: up, U: up, R: right", "U, U, R (D is next)",
        "U, U, R - then D", "U - up\nU - up\nR - right", "go up, go up, go right",
    ],
)  # fmt: skip
def test_a_bare_sequence_counts_from_the_given_turn(inside: str) -> None:
    assert plan(r"\boxed{" + inside + "}", turn=20) == {20: "U", 21: "U", 22: "R"}


# Cut texts.


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\\boxed{Turn 3: U\nTurn 4: L\nTurn 5: RI", {3: "U", 4: "L"}),
        ("\\boxed{Turn 3: U\nTurn 4: L\nTurn 5:", {3: "U", 4: "L"}),
        ("\\boxed{Turn 3: U\nTurn 4: L\nTurn 5: R", {3: "U", 4: "L"}),
        ("\\boxed{Turn 3: U\nTurn 4: L\n", {3: "U", 4: "L"}),
        ("\\boxed{Plan:\nTurn 3: U\nTu", {3: "U"}),
        ("\\boxed{Turn 3: U \\\\ Turn 4: RI", {3: "U"}),
        ("\\boxed{Turn 3: U\nTurn 4: JUMP\nTurn 5: R", None),
        ("\\boxed{Turn 3: U\nTurn 4: L\n\nThat is the plan.\nIt is safe.", {3: "U", 4: "L"}),
        ("\\boxed{Turn 3: U", {3: "U"}),
        ("\\boxed{Turn 3:", None),
        ("\\boxed{Turn 3: U, Turn 4: L", None),
        ("\\boxed{U", {3: "U"}),
        ("\\boxed{U, U, R", None),
        ("\\boxed{U, U,\nR", {3: "U", 4: "U"}),
        ("\\boxed{U\nL\nThat is the plan.\nIt is safe.", {3: "U", 4: "L"}),
        ("```\nTurn 3: U\nTurn 4: RI", {3: "U"}),
    ],
)
def test_a_cut_plan_gives_its_whole_lines(text: str, expected: dict[int, str] | None) -> None:
    assert plan(text, turn=3, cut=True) == expected
    assert plan(text, turn=3, cut=False) == expected


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        (r"\boxed{U", "U"),
        (r"\boxed{\text{U}", "U"),
        (r"\boxed{\text{up", "U"),
        (r"\boxed{U (the lane is fr", "U"),
        (r"\boxed{U - the lane is fr", "U"),
        ("\\boxed{U\nThat is sa", "U"),
        ("```\nU", "U"),
        ("```text\nU", "U"),
        (r"\boxed{", None),
        (r"\boxed{Ri", None),
        (r"\boxed{U, R", None),
        (r"\boxed{\te", None),
        (r"\boxed{I will wai", None),
        (r"\boxed{U} wait, \boxed{", None),
        (r"\boxed{U} so \bo", "U"),
        (r"I choose U", None),
        ("```te", None),
    ],
)
def test_a_cut_act_gives_a_whole_single_action(text: str, letter: str | None) -> None:
    assert act(text, cut=True) == letter


def test_why_says_what_was_wrong() -> None:
    def why(text: str, *, cut: bool = False) -> str | None:
        return read_answer(text, letters=SNAKE, mode="act", cut=cut).why

    assert why("") == why(" \n\u200b") == why("", cut=True) == why("<think>hm") == "none"
    assert why(r"\boxed{X}") == why("up I go") == "invalid"
    assert why(r"\boxed{Ri", cut=True) == why("up I g", cut=True) == "truncated"
    assert why(r"\boxed{U", cut=True) is None


# What others call.


def test_a_late_plan_keeps_its_turns() -> None:
    reading = read_answer(r"\boxed{U, U, L, L, D, R}", letters=SNAKE, mode="plan", turn=10)
    assert [plan_action(reading.letters, reading.turns, tick) for tick in range(14, 18)] == ["D", "R", None, None]
    assert plan_action(reading.letters, reading.turns, 9) is None
    assert plan_action(None, None, 3) is None


def test_report_has_the_fields_the_command_prints() -> None:
    spec = GameSpec(name="s", title="S", summary="", letters=SNAKE, default_action="S", points_name="p", points_max=1.0)
    assert answer_report(spec, r"<think>\boxed{L}</think>\boxed{up}", "act") == {"actions": ["U"], "turns": None, "why": None}
    assert answer_report(spec, r"\boxed{U L}", "plan", 4) == {"actions": ["U", "L"], "turns": [4, 5], "why": None}
    assert answer_report(spec, "hm", "plan") == {"actions": None, "turns": None, "why": "invalid"}


def test_other_games_bring_their_own_letters_and_words() -> None:
    buttons = (("A", "jump"), ("1", "one"), ("2", "two"))
    assert act(r"\boxed{Jump}", buttons) == "A"
    assert act(r"\boxed{1.}", buttons) == "1"
    assert plan("\\boxed{Turn 1: 2\nTurn 2: one}", buttons) == {1: "2", 2: "1"}
    assert act(r"\boxed{wait}", FREEWAY, alias={"wait": "S", "fly": "F"}) == "S"
    assert act(r"\boxed{fly}", FREEWAY, alias={"wait": "S", "fly": "F"}) is None


def test_unknown_mode_is_refused() -> None:
    with pytest.raises(ValueError, match="act"):
        read_answer("", letters=SNAKE, mode="think")


# No text breaks the reader.

PIECES = [
    r"\boxed{", "}", "{", "oxed{", "```", "~~~", "\n", " ", "<think>", "</think>", "Turn", "turn 1:", "Step", "1", "2.", "9", "U",
    "up", "R", "I", "(", ")", "[", "]", "<", ">", "-", "->", "=", ":", ",", ";", ".", "...", "*", "#", "|", "\\", "\\\\",
    r"\text{", r"\n", r"\begin{array}", "{l}", r"\nU", "go", "Answer", "等", "\u200b", "\ud800", "\x00", "\x08oxed{", "<br>", "²",
    "٣", "①",
]  # fmt: skip
texts = st.one_of(st.text(max_size=80), st.lists(st.sampled_from(PIECES), max_size=40).map("".join))


@given(text=texts, mode=st.sampled_from(["act", "plan"]), turn=st.integers(0, 99), cut=st.booleans(), boxed=st.booleans())
@settings(max_examples=400, deadline=None, derandomize=True)
def test_every_text_gives_a_sound_reading(text: str, mode: str, turn: int, cut: bool, boxed: bool) -> None:
    reading = read_answer(rf"\boxed{{{text}" if boxed else text, letters=OVERCOOKED, mode=mode, turn=turn, cut=cut)
    assert (reading.letters is None) == (reading.why in ("none", "invalid", "truncated"))
    if reading.letters is None:
        assert reading.turns is None
        assert reading.why != "truncated" or cut
        return
    assert reading.letters
    assert set(reading.letters) <= set("UDLRIS")
    if mode == "act":
        assert len(reading.letters) == 1
        assert reading.turns is None
    else:
        assert reading.turns == list(range(reading.turns[0], reading.turns[0] + len(reading.letters)))  # type: ignore[index]


@given(text=st.text(st.characters(exclude_characters="{}`~｛｝")))
@settings(derandomize=True)
def test_prose_never_answers(text: str) -> None:
    assert act(text) is None


@given(before=texts, letters=st.lists(st.sampled_from("UDLR"), min_size=1, max_size=8), first=st.integers(0, 90), data=st.data())
@settings(deadline=None, derandomize=True)
def test_a_whole_plan_is_read_behind_any_text(before: str, letters: list[str], first: int, data: st.DataObject) -> None:
    lines = [f"Turn {first + index}: {letter}" for index, letter in enumerate(letters)]
    shuffled = "\n".join(data.draw(st.permutations(lines)))
    # A think tag left open takes what follows, and a box that is open holds what follows: both by rule.
    text = before + "</think>\n\\boxed{\n" + shuffled + "\n}\n"
    assert plan(text) == {first + index: letter for index, letter in enumerate(letters)}


HOSTILE: list[Callable[[int], str]] = [
    lambda n: "{" * n,
    lambda n: "}" * n,
    lambda n: "\\boxed{" * (n // 7),
    lambda n: "\\boxed{" * (n // 14) + "}" * (n // 14),
    lambda n: "oxed" + " " * n,
    lambda n: "\\boxed{" + "\\" * n,
    lambda n: "\\boxed{" + "\\begin{" * (n // 7),
    lambda n: "\\boxed{" + "U " * (n // 2) + "}",
    lambda n: "\\boxed{" + "U(" * (n // 2) + "}",
    lambda n: "\\boxed{U " + "(" * n + "}",
    lambda n: "\\boxed{" + "-=" * (n // 2) + "}",
    lambda n: "\\boxed{" + "U - x " * (n // 6) + "}",
    lambda n: "\\boxed{" + "U - x\n" * (n // 6) + "}",
    lambda n: "\\boxed{U - " + "Turn 1 " * (n // 7) + "}",
    lambda n: "\\boxed{" + "Turn 1: U (" * (n // 11) + "}",
    lambda n: "\\boxed{" + "x\n" * (n // 2) + "}",
    lambda n: "\\boxed{" + "a\u0301\u0323" * (n // 3) + "}",
    lambda n: "\\boxed{" + "1" * n + "}",
    lambda n: "`" * n,
    lambda n: "``` " * (n // 4),
    lambda n: "<think>" * (n // 7),
    lambda n: "</think>" * (n // 8),
    lambda n: "<" * n,
]


def steps(text: str) -> int:
    """Return how many source lines run while `text` is read: a measure that no load on the machine changes."""
    count = 0

    def trace(frame: FrameType, event: str, arg: object) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        read_answer(text, letters=SNAKE, mode="plan")
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize("hostile", HOSTILE, ids=range(len(HOSTILE)))
def test_steps_grow_with_the_text_and_no_faster(hostile: Callable[[int], str]) -> None:
    small, large = steps(hostile(1500)), steps(hostile(3000))
    assert large <= 2.1 * small + 300
    assert large <= 60 * 3000


@pytest.mark.parametrize("hostile", HOSTILE[:4], ids=range(4))
def test_a_megabyte_of_braces_or_boxes_ends(hostile: Callable[[int], str]) -> None:
    # Steps inside the regular expressions are not counted above; were one of them quadratic, this would run for hours.
    assert act(hostile(1_000_000)) is None


@pytest.mark.slow
@pytest.mark.parametrize("hostile", HOSTILE, ids=range(len(HOSTILE)))
def test_a_megabyte_of_anything_ends(hostile: Callable[[int], str]) -> None:
    text = hostile(1_000_000)
    reading = read_answer(text, letters=SNAKE, mode="plan")
    assert isinstance(reading, Reading)
