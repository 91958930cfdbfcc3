"""What the checker asks of an agent, one question a function: each yields (what is wrong, its likely cause)."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

from games.base import Game
from replays import events as ev
from workers.agents import Asked, Choice, Decision, Ran, Shape
from workers.agents.base import REASONS, SOURCES
from workers.backends.scripted import Backend as Scripted
from workers.prompts import Layout, fixed_texts

__all__ = ["AGENT_CHECKS", "AGENT_GATES", "Player"]

Found = Iterator[tuple[str, str]]

_TURN = 7
_PURE = "keep nothing between calls and draw from choice.rng alone: an agent plays the same episode twice"


class Player:
    """An agent under the checker, and a game it is asked about. `named` is its name, if it has one to be found by."""

    def __init__(self, module: Any, *, named: str | None, game: Game, path: str) -> None:
        self.module = module
        self.named = named
        self.game = game
        self.path = path

    @property
    def shape(self) -> Shape:
        shape: Shape = self.module.SHAPE
        return shape

    @property
    def roles(self) -> list[str]:
        return [role for role in ("planner", "reactor") if getattr(self.shape, role)]

    def choices(self) -> Iterator[tuple[str, Choice]]:
        """Every kind of situation at the end of a tick, with its name."""
        letters = self.game.legal_actions
        good, other = letters[0], letters[-1]
        act: dict[str, Any] = {"tick": _TURN, "stream": "reactor", "generation": _TURN, "mode": "act"}
        plan: dict[str, Any] = {"tick": _TURN - 1, "stream": "planner", "generation": _TURN - 2, "mode": "plan"}
        answers: dict[str, ev.Answer | None] = {"no answer": None, "an answer": ev.Answer(letters=[good], **act)}
        if self.shape.reactor:
            answers |= {f"a reactor cut or unclear ({why})": ev.Answer(why=why, **act) for why in ("none", "truncated", "invalid")}
        else:
            del answers["an answer"]
        plans: dict[str, ev.Answer | None] = {"no plan": None}
        if self.shape.planner_answers:
            plans |= {
                "a plan that covers the turn": ev.Answer(letters=[good, other], turns=[_TURN, _TURN + 1], **plan),
                "a plan of earlier turns": ev.Answer(letters=[good], turns=[_TURN - 1], **plan),
                "a plan nobody could read": ev.Answer(why="invalid", **plan),
            }
        for missing in ("none", "fault", "late"):
            for said, answer in answers.items():
                for planned, entry in plans.items():
                    where = f"with {said} and {planned}" + (f" (missing: {missing})" if answer is None and entry is None else "")
                    yield where, Choice(_TURN, letters, self.game.default_action, answer, entry, random.Random(1), missing)
        programs = {"an action": Ran(_TURN - 2, good), "nothing, for it failed": Ran(_TURN - 2, why="fault"), "no action": Ran(_TURN - 2, why="invalid")}
        for ran, outcome in programs.items() if self.shape.planner_programs else ():
            yield f"with a program that gave {ran}", Choice(_TURN, letters, self.game.default_action, None, None, random.Random(1), program=outcome)


def surface(player: Player) -> Found:
    """SHAPE says who thinks, and there is a prompt for each."""
    shape = player.module.SHAPE
    if not isinstance(shape, Shape):
        yield f"SHAPE is {shape!r:.60}, expected a workers.agents.Shape", "SHAPE = Shape(planner=True, reactor=True)"
        return
    if shape.planner_answers and not shape.planner:
        yield "SHAPE has planner_answers without a planner", "planner_answers says that the planner's finished text is read as a plan"
    for name in ("act", *(f"{role}_prompt" for role in player.roles)):
        if not callable(getattr(player.module, name, None)):
            yield f"there is no {name}()", "SHAPE says who thinks: each needs a prompt, and act() says whose word is the action"


def prompts(player: Player) -> Found:
    """Prompts are lists of texts and parts that point at what is there."""
    game = player.game
    texts = fixed_texts(
        game, shape=player.shape, default_action=game.default_action, tick_budget="8192 tokens", reactive_budget="2048 tokens"
    )
    trace = ev.Part(trace=5, start=0, upto=4, guidance=True)
    for role in player.roles:
        make: Callable[[Asked], Any] = getattr(player.module, f"{role}_prompt")
        shown: tuple[str | ev.Part, ...] = ("The planner's thinking so far:\n", trace, "\n")
        for more in ((), shown):
            given: dict[str, Any] = {"guidance" if role == "reactor" else "memory": more}
            asked = Asked(_TURN, tuple(Layout(texts, role).fill(_TURN, **given)), **given)
            parts = make(asked)
            where = f"{role}_prompt(), {'with' if more else 'without'} {'guidance' if role == 'reactor' else 'memory'},"
            if not isinstance(parts, list):
                yield f"{where} gives {parts!r:.60}, expected a list", "return a list of str and Part"
                return
            yield from _parts(parts, where, texts)
            if not any(isinstance(part, ev.Part) and part.obs is not None for part in parts):
                yield f"{where} does not show the board", "pass on asked.parts, or put Part(obs=asked.tick) where the observation's text belongs"
            if make(asked) != parts:
                yield f"{where} gives something else when asked again", _PURE


def _parts(parts: list[Any], where: str, texts: dict[str, str]) -> Found:
    for part in parts:
        if isinstance(part, str):
            continue
        if not isinstance(part, ev.Part):
            yield f"{where} holds {part!r:.60}", "a part is a str or a replays.events.Part"
        elif sum(pointer is not None for pointer in (part.text, part.obs, part.trace)) != 1:
            yield f"{where} holds {part!r}, which points at nothing or at two things", "set exactly one of text, obs, trace"
        elif part.text is not None and part.text not in texts:
            yield f"{where} points at the fixed text {part.text!r}", f"the texts of an episode are {', '.join(texts)}; other words stand in the prompt as they are"
        elif part.obs is not None and part.obs != _TURN:
            yield f"{where} points at the observation of turn {part.obs}, but was asked about {_TURN}", "Part(obs=asked.tick): no other observation is kept"
        elif part.trace is not None and part.trace != 5:
            yield f"{where} points at the planner's generation {part.trace}, which it was not given", "pass on asked.guidance or asked.memory as they are"


def decisions(player: Player) -> Found:
    """act() decides in every situation, legally, and the same twice."""
    game = player.game
    for where, choice in player.choices():
        decision = player.module.act(choice)
        if not isinstance(decision, Decision):
            yield f"act() {where} gives {decision!r:.60}, expected a workers.agents.Decision", "return Decision(letter, source); without an answer it is the default action"
            return
        if decision.letter not in (*game.legal_actions, choice.default_action):
            yield f"act() {where} decides {decision.letter!r}", f"give one of {' '.join(game.legal_actions)}, or choice.default_action"
        if decision.source not in SOURCES:
            yield f"act() {where} says the action comes from {decision.source!r}", f"a source is one of {', '.join(SOURCES)}; a rule of your own is 'policy'"
        if decision.source == "default" and (decision.letter != choice.default_action or decision.reason not in REASONS):
            yield f"act() {where} calls {decision.letter!r} the default, reason {decision.reason!r}", (
                f"a default is choice.default_action, and its reason one of {', '.join(REASONS)}"
            )
        if decision.source != "default" and decision.reason is not None:
            yield f"act() {where} gives the reason {decision.reason!r} for an action from {decision.source!r}", "only a default action needs a reason"
        again = player.module.act(choice._replace(rng=random.Random(1)))
        if again != decision:
            yield f"act() {where} decides {decision.letter!r}, then {again.letter!r}", _PURE


def episode(player: Player) -> Found:
    """It plays a short episode, the same twice."""
    if player.named is None:
        return
    # Imported here: the simulator is the heaviest of the worker layer, and only an agent with a name can be played.
    from workers.config import plan_episode
    from workers.simulator import run_simulation

    letter = player.game.legal_actions[0]
    boxes = {"planner": f"Best line so far: Turn {{tick}}: {letter}\n\\boxed{{Turn {{tick}}: {letter}}}", "reactor": f"\\boxed{{{letter}}}"}
    if player.shape.planner_programs:
        boxes["planner"] = f"```python\ndef act(view, memory):\n    return {letter!r}\n```"
    logs = []
    for _ in range(2):
        scripts: dict[str, Any] = {
            role: Scripted([{"tokens": 40, "chunks": [[boxes[role], None, "content"]]}, {"tokens": 900}]) for role in ("planner", "reactor")
        }
        config = plan_episode(player.path, agent=player.named, ticks=6, tick_budget=256, allow_code=True, **scripts)
        log: list[ev.AnyEvent] = []
        header, end = run_simulation(config, commit=lambda tick, events, log=log: log.extend(events))  # type: ignore[misc]
        logs.append(ev.canonical([header, *log, end]))
    if logs[0] != logs[1]:
        yield "two episodes with the same thinkers differ", _PURE


AGENT_GATES: tuple[tuple[str, Callable[[Player], Found]], ...] = (("surface", surface),)
AGENT_CHECKS: tuple[tuple[str, Callable[[Player], Found]], ...] = (("prompts", prompts), ("decisions", decisions), ("episode", episode))
