"""The builtin thinkers: search algorithms that write their reasoning down while they search. They are no language models.

One planner and one reactor a game, `<game>_planner.plan(view, ...)` and `<game>_reactor.react(view, guidance, ...)`. Both are lazy
generators of (strategy, text): the texts joined are what the screen shows and what the thinking costs, counted by `workers.tokens`.
Steps of the strategy `conclude` are the visible answer, all others are reasoning.

Rules they keep, each held by a test:
1. No silent work. A position that was not written down does not influence the answer.
2. A planner searches the frozen observation it was given; a reactor sees its own fresh one and the planner's *text*. They share the
   rules of the game and nothing else; `guidance` is the reactors' reading of that text.
3. A stream that is no longer read no longer searches.
4. Nothing is random.
"""

from __future__ import annotations

__all__ = ["STRATEGIES", "Step"]

STRATEGIES = ("understand", "plan", "execute", "explore", "check", "summarize", "conclude")
"""The seven kinds of step, in the order of their ids on the wire. Source: arXiv 2606.03965."""

Step = tuple[str, str]
"""(strategy, text)."""
