"""Running a recording's thinkers again: equal where nothing was changed, the first divergence by name where something was."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from recordings_kit import record, write

from replays import events as ev
from replays.reader import open_replay
from workers.config import plan_episode
from workers.rerun import Rerun, rerun

SHORT: dict[str, Any] = {"load": "hard", "seed": 1, "ticks": 5, "tick_budget": 1024, "reactive_budget": 512}


def again(path: Path, **options: Any) -> Rerun:
    with open_replay(path) as recording:
        return rerun(recording, **options)


@pytest.mark.parametrize("game", ["snake", "freeway", "overcooked"])
@pytest.mark.parametrize("agent", ["agile", "reactive", "planning"])
def test_an_untouched_recording_comes_out_the_same(game: str, agent: str, tmp_path: Path) -> None:
    options = {**SHORT, "agent": agent}
    if agent != "agile":
        options.pop("reactive_budget")
    path = record(tmp_path / "a.rtr", game, **options)
    with open_replay(path) as recording:
        assert rerun(recording) == Rerun(ticks=recording.tick_count)


@pytest.mark.parametrize(
    "options",
    [
        {"agent": "random"},
        {"agent": "default"},
        {"throughput": "shared", **SHORT},
        {"dynamic_reactive_budget": True, **SHORT, "ticks": 12},
        {"guidance": "conclusion", "guidance_limit": 40, "planner_memory": True, "default_action": "L", **SHORT},
    ],
    ids=["random", "default", "shared", "dynamic", "switches"],
)
def test_every_option_of_the_header_is_heeded(options: dict[str, Any], tmp_path: Path) -> None:
    found = again(record(tmp_path / "a.rtr", **{"load": "medium", **options}))
    assert found.divergence is None
    assert found.why == ""
    assert found.ticks > 1


def altered(what: str) -> Any:
    def change(event: ev.AnyEvent) -> ev.AnyEvent | None:
        replace = msgspec.structs.replace
        if event.tick == 3:
            if what == "text" and isinstance(event, ev.Token) and event.stream == "reactor":
                return replace(event, text="X" + event.text[1:])
            if what == "answer" and isinstance(event, ev.Answer):
                return replace(event, letters=["Q"])
            if what == "action" and isinstance(event, ev.Action):
                return replace(event, letter="D" if event.letter != "D" else "U")
            if what == "missing" and isinstance(event, ev.Answer):
                return None
            if what == "timing" and isinstance(event, ev.Generation) and event.stream == "reactor" and event.phase == "end":
                return replace(event, at=(event.at or 0) + 7)
        return event

    return change


@pytest.mark.parametrize(
    ("what", "field"),
    [
        ("text", "token reactor text[0:]"),
        ("answer", "answer reactor act.letters[0]"),
        ("action", "action.letter"),
        ("missing", "event"),
        ("timing", "generation reactor 3 end.at"),
    ],
)
def test_the_first_divergence_is_named_with_tick_field_and_both_values(what: str, field: str, tmp_path: Path) -> None:
    found = again(write(tmp_path / "a.rtr", plan_episode("snake", **SHORT), change=altered(what)))
    assert found.divergence is not None
    assert (found.ticks, found.divergence.tick, found.divergence.field) == (3, 3, field)
    assert found.divergence.recorded != found.divergence.played
    assert not found.same


def older_prompts(event: ev.AnyEvent) -> ev.AnyEvent:
    assert isinstance(event, ev.Episode)
    return msgspec.structs.replace(event, texts={**event.texts, "rules": "You dance. " + event.texts["rules"]}, prompt_hash="f" * 64)


def test_prompts_of_another_version_are_the_first_divergence_for_who_reads_them(tmp_path: Path) -> None:
    script = tmp_path / "say.json"
    script.write_text(json.dumps([{"tokens": 30, "chunks": [["\\boxed{B}", 9, "content"]]}]))
    thinkers = {"planner": f"scripted:{script}", "reactor": f"scripted:{script}"}
    found = again(write(tmp_path / "a.rtr", plan_episode("metronome", ticks=3, **thinkers), header=older_prompts), **thinkers)
    assert found.divergence is not None
    assert found.divergence.field == "header.texts.rules[0:]"


def test_prompts_of_another_version_are_a_remark_for_who_does_not_read_them(tmp_path: Path) -> None:
    def reworded(event: ev.AnyEvent) -> ev.AnyEvent:
        if isinstance(event, ev.Generation) and event.phase == "start":
            return msgspec.structs.replace(event, prompt=["Hear, hear! ", *event.prompt])
        return event

    found = again(write(tmp_path / "a.rtr", plan_episode("snake", **SHORT), header=older_prompts, change=reworded))
    assert found.divergence is None
    assert found.ticks > 0
    assert "header.texts.rules" in found.why


@pytest.mark.parametrize("left", [False, True])
def test_a_prompt_that_is_not_what_this_very_version_asks_is_a_divergence_though_nobody_reads_it(left: bool, tmp_path: Path) -> None:
    def reworded(event: ev.AnyEvent) -> ev.AnyEvent | None:
        if left and event.tick == 4 and isinstance(event, ev.Step | ev.End):
            return None
        if isinstance(event, ev.Generation) and event.phase == "start" and event.stream == "reactor" and event.tick == 2:
            return msgspec.structs.replace(event, prompt=["Hear, hear! ", *event.prompt])
        return event

    found = again(write(tmp_path / "a.rtr", plan_episode("snake", **SHORT), change=reworded))
    assert found.divergence is not None
    assert (found.divergence.tick, found.divergence.field) == (2, "generation reactor 2 start.prompt[0]")
    assert found.divergence.recorded == "Hear, hear! "

    def older(event: ev.AnyEvent) -> ev.AnyEvent:
        return msgspec.structs.replace(event, versions={"rtdesk": "0.0.1"}) if isinstance(event, ev.Episode) else event

    found = again(write(tmp_path / "b.rtr", plan_episode("snake", **SHORT), header=older, change=reworded))
    assert found.same
    assert found.why


def test_guidance_cut_elsewhere_is_a_divergence_for_everybody(tmp_path: Path) -> None:
    def cut(event: ev.AnyEvent) -> ev.AnyEvent:
        if isinstance(event, ev.Generation) and event.stream == "reactor" and event.tick == 2 and event.phase == "start":
            parts = [msgspec.structs.replace(part, upto=part.upto - 1) if isinstance(part, ev.Part) and part.trace is not None else part for part in event.prompt]
            return msgspec.structs.replace(event, prompt=parts)
        return event

    found = again(write(tmp_path / "a.rtr", plan_episode("snake", **SHORT), change=cut))
    assert found.divergence is not None
    assert (found.divergence.tick, found.divergence.field) == (2, "generation reactor 2 start.prompt[0].upto")


def test_a_killed_thinker_is_no_divergence_and_ends_what_can_be_compared(tmp_path: Path) -> None:
    def killed(event: ev.AnyEvent) -> ev.AnyEvent:
        if event.tick == 2 and isinstance(event, ev.Answer):
            return ev.Fault(tick=2, seq=event.seq, at=event.at, component="reactor", what="reactor was ended by SIGKILL", done="restarted")
        return event

    found = again(write(tmp_path / "a.rtr", plan_episode("snake", **SHORT), change=killed))
    assert found.same
    assert found.ticks == 2
    assert "SIGKILL" in found.why


def test_a_fault_of_the_host_and_a_pause_do_not_count(tmp_path: Path) -> None:
    def more(tick: int) -> list[ev.AnyEvent]:
        return [ev.Control(tick=tick, what="pause"), ev.Fault(tick=tick, component="recorder", what="behind", cause="host")]

    assert again(write(tmp_path / "a.rtr", plan_episode("snake", **SHORT), more=more)) == Rerun(ticks=5)


@pytest.mark.parametrize("whole", [True, False], ids=["quit", "cut off"])
def test_an_episode_that_was_left_is_compared_as_far_as_it_was_played(whole: bool, tmp_path: Path) -> None:
    def left(event: ev.AnyEvent) -> ev.AnyEvent | None:
        gone = event.tick == 4 and (isinstance(event, ev.Step | ev.Action) or (not whole and isinstance(event, ev.Token)))
        return None if gone else event

    found = again(write(tmp_path / "a.rtr", plan_episode("snake", **SHORT), change=left, end=False))
    assert (found.ticks, found.divergence) == (4, None)
    assert "tick 4" in found.why


def test_why_a_person_left_between_two_ticks_is_not_asked_again(tmp_path: Path) -> None:
    def left(event: ev.AnyEvent) -> ev.AnyEvent:
        return msgspec.structs.replace(event, done_reason="quit") if isinstance(event, ev.End) else event

    assert again(write(tmp_path / "a.rtr", plan_episode("snake", **SHORT), change=left)) == Rerun(ticks=5)


def test_an_episode_that_went_on_longer_than_it_should_differs(tmp_path: Path) -> None:
    def less(event: ev.AnyEvent) -> ev.AnyEvent:
        assert isinstance(event, ev.Episode)
        return msgspec.structs.replace(event, options={**event.options, "ticks": 3})

    found = again(write(tmp_path / "a.rtr", plan_episode("snake", **SHORT), header=less))
    assert found.divergence is not None
    assert found.divergence.tick in (2, 3)


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"clock": "wall", "tick_budget_s": 1.0}, "wall time"),
        ({"agent": "human"}, "a person played"),
        ({"options": {"partner": "human"}}, "a person played"),
        ({"game": "./mine.py"}, "not loaded on a recording's word"),
        ({"agent": "../../evil.py"}, "not loaded on a recording's word"),
        ({"agent": "nobody"}, "unknown agent"),
        ({"options": {"warp": 9}}, "'warp'"),
        ({"parent": ev.Parent(file="x", tick=4)}, "lost"),
    ],
)
def test_what_cannot_be_run_again_says_why_and_is_no_divergence(fields: dict[str, Any], why: str, tmp_path: Path) -> None:
    def change(event: ev.AnyEvent) -> ev.AnyEvent:
        return msgspec.structs.replace(event, **fields)

    def bare(event: ev.AnyEvent) -> ev.AnyEvent:
        return msgspec.structs.replace(event, snapshot=None) if isinstance(event, ev.Tick) else event

    found = again(write(tmp_path / "a.rtr", plan_episode("snake", **SHORT), header=change, change=bare if "parent" in fields else lambda event: event))
    assert not found.ran
    assert found.same
    assert why in found.why


@pytest.mark.parametrize("spec", ["http://127.0.0.1:9#m", "./mine.py", "scripted:/etc/passwd", "scripted", "../x/y.yaml", "openai"])
def test_a_recording_chooses_no_server_and_no_file(spec: str, tmp_path: Path) -> None:
    def other(event: ev.AnyEvent) -> ev.AnyEvent:
        assert isinstance(event, ev.Episode)
        backends = {role: msgspec.structs.replace(backend, spec=spec) for role, backend in event.backends.items()}
        return msgspec.structs.replace(event, backends=backends)

    path = write(tmp_path / "a.rtr", plan_episode("snake", **SHORT), header=other)
    found = again(path)
    assert not found.ran
    assert "--planner" in found.why
    # Named by the person, it runs.
    assert again(path, planner="builtin", reactor="builtin").ticks == 5


def test_a_script_that_is_named_is_run_again(tmp_path: Path) -> None:
    script = tmp_path / "say.json"
    script.write_text(json.dumps([{"tokens": 30, "chunks": [["\\boxed{B}", 9, "content"]]}]))
    spec = f"scripted:{script}"
    path = record(tmp_path / "a.rtr", "metronome", ticks=4, planner=spec, reactor=spec, tick_budget=256, reactive_budget=128)
    assert again(path, planner=spec, reactor=spec) == Rerun(ticks=4)


def test_a_model_is_not_asked_again_to_say_the_same(tmp_path: Path) -> None:
    def model(event: ev.AnyEvent) -> ev.AnyEvent:
        assert isinstance(event, ev.Episode)
        backends = {role: msgspec.structs.replace(backend, deterministic=False, title="a model") for role, backend in event.backends.items()}
        return msgspec.structs.replace(event, backends=backends)

    found = again(write(tmp_path / "a.rtr", plan_episode("snake", **SHORT), header=model))
    assert not found.ran
    assert "a model" in found.why
