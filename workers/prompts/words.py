"""What prompts say of one game in particular: how a plan line is written, what is worth noting, what is worth looking at.

The forms are the ones the builtin thinkers write and read (`workers.thinkers.guidance`), so a model's planner can guide a builtin
reactor and the other way round. A game of yours gets the general words; its rules it brings itself.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Words", "words_of"]


class Words(NamedTuple):
    """One game's words."""

    line: str
    """A plan line."""
    marks: str
    """Goals, warnings and contingencies, one a line."""
    advice: str
    """What a planner does well to look at."""
    glance: str
    """What a reactor does well to look at."""
    defaults: tuple[tuple[str, str], ...] = ()
    """What a default action that is no answer means: (letter, words)."""
    view: str = (
        "It holds the same facts as the board in words, under string keys, as numbers, strings and lists. You cannot see its keys from here: begin with "
        "what you are sure of, look with `view.get(name)`, and fall back on an action that is safe without it."
    )
    """What a program finds in a view."""
    mates: tuple[str, str] = ("", "")
    """In a game for two, what `marks` calls the other one when the first player reads it, and when the second does."""


_GENERAL = Words(
    line="   Best line so far: Turn 12: X to where it leads; Turn 13: X to where it leads.",
    marks=(
        "   GOAL what to aim for, and by which turn.\n"
        "   WARNING what to keep away from, and until which turn.\n"
        "   If at turn 14 I stand on another place instead: Turn 14: X to where it leads."
    ),
    advice="Compare lines by what they come to at their end, and do not follow one that leads into a corner.",
    glance="Prefer an action after which more than one is still good.",
)

_WORDS = {
    "freeway": Words(
        line="   Best line so far: Turn 12: U to lane 3; Turn 13: S to lane 3; Turn 14: U to lane 4.",
        marks=(
            "   GOAL lane 9 at turn 24.\n"
            "   WARNING avoid lane 6 at turn 19: dead end.\n"
            "   If at turn 15 I stand on lane 3 instead: Turn 15: S to lane 3; Turn 16: U to lane 4."
        ),
        advice=(
            "You can work out the whole road: each car's head after n turns follows from its speed and from when it comes back. For a step that ends on "
            "lane y at the end of a turn, what counts is whether a car of that lane covers x = 0 after that turn's move, and nothing else. Search by turn "
            "and lane: from each (turn, lane) you can reach, which of U, S and D is not hit? Waiting, or one lane back, can open a way that going on "
            "closes. A hit costs all the turns so far, so no risk is worth a turn; among safe ways take the one that arrives first."
        ),
        glance=(
            "For U, S and D work out where the cars of the lane you would be on are after this turn's move, and whether one covers x = 0; for a step that "
            "is not hit, do the same for the turn after. Go up when that is safe and there is a way on, else wait where you are safe."
        ),
        view=(
            '`view["turn"]` is the turn, `view["lane"]` your lane, 0 to 9. `view["cars"]` is a list of `[lane, head, direction, speed, length]`, direction '
            '"left" or "right", speed above 0. A car covers head - length to head if it faces right, head to head + length if it faces left; you are at 0.'
        ),
    ),
    "snake": Words(
        line="   Best line so far: Turn 12: U to (3,5); Turn 13: R to (4,5).",
        marks=(
            "   GOAL target food (3,5).\n"
            "   WARNING avoid food (5,2): dead end until turn 17.\n"
            "   WARNING do not go L at turn 12: every way on is closed by turn 16.\n"
            "   If at turn 13 I stand on (2,4) instead: Turn 13: U to (2,5); Turn 14: R to (3,5)."
        ),
        advice=(
            "For each apple: how many steps is it away round walls, obstacles and body, does it last that long, and once it is eaten, is there still a "
            "way to the tail or room enough for the whole body? Plan a route over several apples and not only to the nearest; an apple in a pocket is not "
            "worth the life. Keep the cells of the body turn by turn: the tail moves on by a cell in each turn in which nothing is eaten."
        ),
        glance=(
            "A move into a wall, an obstacle or the body ends the game; so does one into a pocket from which there is no way on. Of the safe moves take one that "
            "brings an apple that still lasts nearer, and of those one that leaves more ways on."
        ),
        defaults=(("S", "straight on"),),
        view=(
            '`view["turn"]` is the turn, `view["direction"]` the heading as a letter, `view["snake"]` the cells `[x, y]` head first, `view["foods"]` a list of '
            '`[x, y, life, value]` in ageing order, `view["obstacles"]` cells, `view["size"]` 8: walls are where x or y is 0 or size - 1.'
        ),
    ),
    "overcooked": Words(
        line="   Best line so far: Turn 12: U from (3,3) holding nothing; Turn 13: I from (3,3) holding nothing; Turn 14: L from (3,3) holding onion.",
        marks=(
            "   GOAL onion from (3,4), then onion into pot (3,0).\n"
            "   WARNING keep out of (2,3) at turn 13: Bob is expected there.\n"
            "   If at turn 12 I am at (3,3) with U blocked: Turn 12: R from (3,3) holding nothing; Turn 13: U from (4,3) holding nothing."
        ),
        advice=(
            "In this game a line says for each turn where you are and what you hold before the action. Divide the work into errands (get an onion, put it "
            "into a pot, get a dish, lift the soup, serve it) and ask which one the kitchen lacks most and which one the other cook is about to do. "
            "Count turns: every cell is one, turning towards something that is not floor is one, and so is every I. Let a soup cook while you fetch "
            "the dish. Think of where the other cook will be, and do not count on walking through a cell that he needs."
        ),
        glance=(
            "What do you hold, what is it good for, and where is that? If you face it, I; if you stand beside it, turn towards it; else take a step that brings "
            "you nearer and that the other cook does not block. If you have been stepping to and fro in front of him, stay once or take another way."
        ),
        view=(
            '`view["turn"]` is the turn, `view["you"]` your number, 0 or 1. `view["terrain"]` is a list of strings, so `view["terrain"][y][x]` is the letter of a '
            'cell: blank floor, X counter, P pot, O onions, D dishes, S serving counter. `view["players"]` holds `[[x, y], facing letter, held]` of both cooks, '
            '`view["objects"]` what lies on counters and in pots; `held` is None or such an object. An object is `["onion", [x, y]]`, `["dish", [x, y]]` or '
            '`["soup", [x, y], list of onions, turns cooked or -1, "idle", "cooking" or "ready", 5 or -1]`. `view["history"]` holds the last letters of both, '
            '`view["orders_delivered"]` the soups so far.'
        ),
        mates=("Bob", "Alice"),
    ),
}


def words_of(game: str, player: int = 0) -> Words:
    """Return the words of a game by its name, as one of its players reads them; the general ones for a game we do not know."""
    words = _WORDS.get(game, _GENERAL)
    first, second = words.mates
    return words._replace(marks=words.marks.replace(first, second)) if player and first else words
