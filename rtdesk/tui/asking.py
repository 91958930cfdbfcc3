"""Asking the reactor of a recording again, in a thread: the screen goes on meanwhile, and looks whether there is an answer."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from workers.attribution import Attribution

__all__ = ["Asker"]

log = logging.getLogger(__name__)

KEPT = 64
"""Ticks whose answers are kept."""


class Asker:
    """Asks about one tick at a time. `ask(tick)` gives the answer, or raises an error whose text is a sentence for the person."""

    def __init__(self, ask: Callable[[int], Attribution], *, costs: str = "") -> None:
        """`costs` says whom it really asks, where that is no thinker of this machine; it is then asked only when told so twice."""
        self._ask = ask
        self.costs = costs
        self._answers: dict[int, Attribution | str] = {}
        self._thread: threading.Thread | None = None
        self._agreed = False

    def about(self, tick: int) -> Attribution | str:
        """Return the answer, or a line that says what is going on instead."""
        found = self._answers.get(tick)
        if found is not None:
            return found
        if self.busy:
            return "asking ..."
        return f"This asks {self.costs} three times. Press c again to do so." if self.costs and not self._agreed else "Press c to ask."

    def begin(self, tick: int) -> None:
        """Start asking, unless there is an answer or another question is under way."""
        if tick in self._answers or self.busy:
            return
        if self.costs and not self._agreed:
            return
        self._thread = threading.Thread(target=self._run, args=(tick,), name="ask-again", daemon=True)
        self._thread.start()

    def agree(self) -> None:
        """The person has been told what it costs."""
        self._agreed = True

    @property
    def busy(self) -> bool:
        """Whether a question is under way."""
        return self._thread is not None and self._thread.is_alive()

    def join(self, timeout_s: float) -> None:
        """Wait for the question that is under way."""
        if self._thread is not None:
            self._thread.join(timeout_s)

    def _run(self, tick: int) -> None:
        answer: Attribution | str
        try:
            answer = self._ask(tick)
        except Exception as error:
            log.info("asking again about tick %s failed: %s", tick, error)
            answer = str(error) or type(error).__name__
        while len(self._answers) >= KEPT:
            self._answers.pop(next(iter(self._answers)))
        self._answers[tick] = answer
