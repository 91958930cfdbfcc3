"""Running a recording's thinkers again and comparing the whole event log: what `verify` adds to playing the game again.

Only where that must give the same: the token clock, and thinkers that say the same whenever they are asked the same. The log is compared
tick by tick as the simulator commits it, so nothing is held but one tick. The one thing that surprises: a thinker that was killed, or
whose machine failed it, is no divergence. What can be compared ends there, and the verdict says where and why.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from games.base import GameError
from replays import events as ev
from replays.compare import Missing, Parting, first_parting, text_parting
from replays.payload import AnyRecorded
from replays.verify import Divergence
from workers.errors import ConfigError
from workers.recorded import Recording, config_of, own_start
from workers.simulator import run_simulation

__all__ = ["Rerun", "rerun"]

_DROPPED = ("seq", "t_ns", "meas")
# Which rtdesk it was and what it was forked from are not what happened; prompt texts are looked at by themselves.
_ASIDE = (*_DROPPED, "versions", "parent", "match", "texts", "prompt_hash")
# Fields that say which event of its kind an event is.
_NAMES = {"stream", "phase", "id", "mode", "component", "what", "player"}


class Rerun(msgspec.Struct, frozen=True, kw_only=True):
    """What running the thinkers again found."""

    ticks: int = 0
    """Ticks whose events were all equal."""
    divergence: Divergence | None = None
    why: str = ""
    """Why nothing was compared, or not all of it; empty if everything was."""

    @property
    def ran(self) -> bool:
        """Whether anything was compared."""
        return self.ticks > 0 or self.divergence is not None

    @property
    def same(self) -> bool:
        """Whether nothing that was compared differs."""
        return self.divergence is None


def rerun(recording: Recording, *, game: str | None = None, planner: Any = None, reactor: Any = None) -> Rerun:
    """Run the episode again and return the verdict; `game`, `planner` and `reactor` stand in for what the header names.

    Raises nothing for a recording that cannot be run again: the verdict says why.
    """
    header = recording.header
    why = _unrepeatable(header, {"planner": planner, "reactor": reactor})
    if why:
        return Rerun(why=why)
    start = own_start(recording)
    if header.parent is not None and start is None:
        return Rerun(why="the state the fork began with is lost")
    try:
        config = config_of(header, game=game, planner=planner, reactor=reactor, start=start)
        comparison = _Comparison(recording)
        played, end = run_simulation(config, commit=comparison.tick, stop=lambda: comparison.over)
    except (ConfigError, GameError) as error:
        return Rerun(why=str(error))
    return comparison.verdict(played, end)


def _unrepeatable(header: ev.Episode, given: dict[str, Any]) -> str:
    """Return why an episode cannot be run again, or an empty string."""
    if header.clock != "token":
        return "wall time does not come twice"
    if "human" in (header.agent, header.options.get("partner")):
        return "a person played, and is not asked to press the keys again"
    for role, backend in header.backends.items():
        if role == "controller":
            return "its planner was steered by a controller"
        if not backend.deterministic and given.get(role) is None:
            return f"the {role} ({backend.title or backend.spec}) does not say the same twice"
    return ""


class _Comparison:
    """Holds the recorded ticks against those that are committed, until one differs or the recording is over."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._held = set(recording.ticks)
        # The builtin thinkers read the observation as data, and of a prompt the planner's text alone.
        self._reads = any(backend.spec != "builtin" for backend in recording.header.backends.values())
        self._last = recording.ticks[-1] if recording.ticks else -1
        self._found: Divergence | None = None
        # The first prompt that is put together differently, of thinkers that do not read it.
        self._prompt: Divergence | None = None
        self._why = ""
        self.over = not self._held
        self.ended = True
        """Whether the recording was compared to its end."""
        self._equal = 0
        self._reached = -1

    def tick(self, tick: int, events: list[ev.AnyEvent]) -> None:
        """Take a tick as it was played again."""
        self._reached = max(self._reached, tick)
        if self.over or tick not in self._held:
            self.over = self.over or tick > self._last
            return
        recorded = self._recording.events(tick)
        if not any(isinstance(event, ev.Step) for event in recorded):
            # Quit in the middle, or lost: how far each thinker had come by then depends on when.
            self._why = f"tick {tick} was not played to its end" if tick == self._last else f"the file lost part of tick {tick}"
            self.ended = self.ended and tick != self._last
            self.over = tick == self._last
            return
        if not any(isinstance(event, ev.Tick) for event in recorded):
            self._why = f"the file lost part of tick {tick}"
            return
        sides = _comparable(recorded), _comparable(events)
        parting = _part(*sides, words=True)
        if parting is not None and not self._reads:
            unread, parting = parting, _part(*sides, words=False)
            if parting is None and self._prompt is None:
                self._prompt = Divergence(tick, *unread)
        if parting is None:
            self._equal += 1
            self.over = tick == self._last
            return
        self.over = True
        failed = _failure(recorded, events)
        self.ended = False
        if failed is not None:
            self._why = f"from tick {tick} on: {failed.component}: {failed.what}"
        else:
            self._found = Divergence(tick, *parting)

    def verdict(self, header: ev.Episode, end: ev.End) -> Rerun:
        """Say what was found, header and end included."""
        found = self._found
        recorded = self._recording.header
        words = _words_parting(recorded, header)
        reworded = words is not None and not self._reads
        if words is not None and found is None and reworded:
            self._why = self._why or f"the prompts are not this version's any more ({words.path.partition('[')[0]}); its thinkers do not read them"
            words = None
        parting = _header_parting(recorded, header) or words
        if parting is not None:
            # The header tells what was played and what the thinkers were asked; where that differs, all else follows from it.
            found = Divergence(self._recording.ticks[0] if self._held else 0, *parting)
        if found is None and self._prompt is not None and not reworded:
            if recorded.versions.get("rtdesk") == header.versions.get("rtdesk"):
                found = self._prompt
            else:
                self._why = self._why or "the prompts are not this version's any more; its thinkers do not read them"
        if found is None and self.ended and self._held:
            found = self._ending(end)
        return Rerun(ticks=self._equal, divergence=found, why=self._why if self._held else "the recording holds no tick")

    def _ending(self, end: ev.End) -> Divergence | None:
        recorded = next((event for event in self._recording.events(self._last) if isinstance(event, ev.End)), None)
        if self._reached < self._last:
            return Divergence(self._reached + 1, "tick", "in the file", "not reached")
        if recorded is None or recorded.done_reason in ("quit", "fault"):
            return None
        parting = first_parting(_map(recorded), _map(end), "end")
        return None if parting is None else Divergence(self._last, *parting)


def _words_parting(recorded: ev.Episode, played: ev.Episode) -> Parting | None:
    """Return where the fixed prompt texts part."""
    for name in dict.fromkeys((*recorded.texts, *played.texts)):
        parting = text_parting(recorded.texts.get(name, ""), played.texts.get(name, ""), f"header.texts.{name}")
        if parting is not None:
            return parting
    return None


def _header_parting(recorded: ev.Episode, played: ev.Episode) -> Parting | None:
    one, other = ({name: value for name, value in _map(event).items() if name not in _ASIDE} for event in (recorded, played))
    # The same game by another name: whoever plays it again says which file it is.
    one["game"] = other["game"]
    for side in (one, other):
        for backend in side.get("backends", {}).values():
            # How it is called, and where it was found, is not how it thinks.
            backend.pop("spec", None)
    return first_parting(one, other, "header")


def _comparable(events: Sequence[AnyRecorded]) -> list[ev.AnyEvent]:
    """Return the events two runs must share, without what a person did and what comes from the machine's pace."""
    return [
        event
        for event in events
        if isinstance(event, ev.Event)
        and not isinstance(event, ev.Bookmark | ev.Control | ev.End)
        and not (isinstance(event, ev.Fault) and event.cause == "host")
    ]


def _map(event: ev.Event, *, words: bool = True) -> dict[str, Any]:
    """Return an event's fields; without `words` a prompt is what it shows of the planner's text, however that is put."""
    told = {name: value for name, value in ev.to_map(event).items() if name not in _DROPPED}
    if not words and "prompt" in told:
        told["prompt"] = [part for part in told["prompt"] if isinstance(part, dict) and "trace" in part]
    return told


def _part(recorded: list[ev.AnyEvent], played: list[ev.AnyEvent], *, words: bool) -> Parting | None:
    """Return the first field that differs, under the name of its event."""
    for one, other in zip(recorded, played):
        a, b = _map(one, words=words), _map(other, words=words)
        if a == b:
            continue
        if _name(a) != _name(b):
            return Parting("event", _name(a), _name(b))
        path = _name(a)
        text = text_parting(a["text"], b["text"], f"{path} text") if isinstance(a.get("text"), str) and isinstance(b.get("text"), str) else None
        return text or first_parting(a, b, path)
    if len(recorded) != len(played):
        place = min(len(recorded), len(played))
        sides = [_name(_map(side[place])) if len(side) > place else Missing for side in (recorded, played)]
        return Parting("event", sides[0], sides[1])
    return None


def _name(data: dict[str, Any]) -> str:
    """Return an event's kind and what tells it from others: `generation planner 3 start`."""
    return " ".join([data["kind"], *(str(value) for name, value in data.items() if name in _NAMES)])


def _failure(recorded: Sequence[AnyRecorded], played: Sequence[AnyRecorded]) -> ev.Fault | None:
    """Return the first fault of the recording that does not come again."""
    again = {(event.component, event.what) for event in played if isinstance(event, ev.Fault)}
    for event in recorded:
        if isinstance(event, ev.Fault) and event.cause != "host" and (event.component, event.what) not in again:
            return event
    return None
