"""An agent or a thinker from a file that misbehaves is told of in one sentence with its name, and by what it did."""

from __future__ import annotations

from pathlib import Path

import pytest

from replays import events as ev
from workers import agents, backends
from workers.agents._guard import Guarded
from workers.errors import ConfigError
from workers.simulator import simulate

AGENT = '''
from workers.agents.base import Choice, Decision, Shape, answered

SHAPE = Shape(planner=True, reactor=True)


def planner_prompt(asked):
    return list(asked.parts)


def reactor_prompt(asked):
    return list(asked.parts)


def act(choice):
    return answered(choice)
'''


def written(tmp_path: Path, *lines: str) -> str:
    file = tmp_path / "mine.py"
    file.write_text(AGENT + "\n".join(lines) + "\n", encoding="utf-8")
    return str(file)


def test_an_agent_of_ours_is_asked_directly_and_another_through_the_guard(tmp_path: Path) -> None:
    assert agents.played("agile") is agents.load("agile")
    assert isinstance(agents.played(written(tmp_path)), Guarded)


def test_a_sound_agent_plays_what_ours_of_the_same_make_does(tmp_path: Path) -> None:
    mine, ours = (simulate("snake", agent=agent, load="easy", ticks=12) for agent in (written(tmp_path), "agile"))
    assert ev.canonical(mine.events[1:]) == ev.canonical(ours.events[1:])


@pytest.mark.parametrize("function", ["planner_prompt", "reactor_prompt", "act"])
@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("raise RuntimeError('boom')", "failed: RuntimeError: boom"),
        ("raise SystemExit(0)", "failed: SystemExit: 0"),
        ("return None", "gave "),
        ("return [5]", "gave "),
        ("return ['\\ud800']", "gave "),
    ],
)
def test_whatever_a_function_does_wrong_names_the_agent_and_the_function(tmp_path: Path, function: str, body: str, said: str) -> None:
    file = written(tmp_path, f"def {function}(asked): {body}")
    with pytest.raises(ConfigError) as caught:
        simulate("snake", agent=file, ticks=2, dynamic_reactive_budget=True)
    assert str(caught.value).startswith(f"the agent {file!r} cannot play: {function}() {said}")
    assert str(caught.value).endswith(f"`rtdesk check agent {file}` says more")


@pytest.mark.parametrize(
    ("decision", "said"),
    [
        ("Decision('Z', 'policy')", "decided 'Z', expected one of "),
        ("Decision([], 'policy')", r"decided \[\], expected one of "),
        ("Decision('U', 'guess')", "gave source 'guess'"),
        ("Decision('U', 'default', 'because')", "reason 'because'"),
    ],
)
def test_a_decision_nobody_could_apply_is_refused_where_it_comes_from(tmp_path: Path, decision: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        simulate("snake", agent=written(tmp_path, f"def act(choice): return {decision}"), ticks=2)


BACKEND = '''
import sys
from replays.events import Backend as Info
class Backend:
    info = Info(spec="./mine.py", title="mine")
    def __init__(self):
        {start}
    def stream(self, request):
        return iter(())
    def close(self):
        {end}
'''


def test_a_backend_that_leaves_at_its_start_cannot_be_made(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(BACKEND.format(start="sys.exit(3)", end="pass"), encoding="utf-8")
    with pytest.raises(ConfigError, match="cannot be made: SystemExit: 3"):
        backends.make(str(file))


def test_a_backend_that_leaves_when_it_is_closed_takes_nobody_along(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(BACKEND.format(start="pass", end="sys.exit(3)"), encoding="utf-8")
    backends.shut(backends.make(str(file)))
