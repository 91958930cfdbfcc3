"""Episodes for the tests of the replay layer: real games played by a seeded generator, with thinkers' events written by hand."""

from __future__ import annotations

import random
from pathlib import Path
from typing import NamedTuple

import msgspec

import games
from games.snake import safe_moves
from replays import events as ev
from replays.writer import ReplayWriter

N_TE, N_TR = 64, 16


class Played(NamedTuple):
    header: ev.Episode
    ticks: list[tuple[int, list[ev.AnyEvent]]]
    end: ev.End

    @property
    def events(self) -> list[ev.AnyEvent]:
        """All events in order, header first, as reading the file gives them."""
        return [self.header, *(event for _, events in self.ticks for event in events), self.end]


def typed(event: ev.AnyEvent) -> ev.AnyEvent:
    """The event after the door every event comes through."""
    return ev.decode(ev.encode(event))


def play(game_name: str = "snake", *, load: str = "easy", seed: int = 22, ticks: int = 30, salt: int = 0) -> Played:
    """Play `ticks` ticks with random actions that do not kill, and write down every kind of event."""
    rng = random.Random(f"{game_name}/{load}/{seed}/{salt}")
    game = games.make(game_name, load=load, seed=seed)
    game.reset()
    header = ev.Episode(
        tick=0,
        game=game_name,
        load=load,
        seed=seed,
        agent="agile",
        tick_budget_tokens=N_TE,
        reactive_budget_tokens=N_TR,
        options={"guidance": "both", "ticks": ticks, "planner-memory": True},
        backends={"planner": ev.Backend(spec="builtin", title="builtin search"), "reactor": ev.Backend(spec="scripted", exact=False)},
        prompt_hash="0" * 64,
        texts={"rules": game.describe()},
        versions={"rtdesk": "0.1.0"},
        meas={"id": f"file-{salt}", "started": "2030-01-01T00:00:00Z"},
    )
    out: list[tuple[int, list[ev.AnyEvent]]] = []
    seq = defaults = 0
    done_reason = "ticks"
    for tick in range(ticks):
        at, now = tick * N_TE, tick * 1_000_000_000
        observed = game.observe()
        events: list[ev.AnyEvent] = [
            ev.Tick(
                tick=tick,
                t_ns=now,
                at=at,
                view=observed.view,
                text=observed.text,
                guidance_at=at + N_TE - N_TR,
                end_at=at + N_TE,
                snapshot=game.snapshot() if tick == 0 else None,
            )
        ]
        if tick % 10 == 4:
            events.append(ev.Control(tick=tick, t_ns=now + 5, at=at, what="key", value="up"))
            events.append(ev.Bookmark(tick=tick, t_ns=now + 6, note="look ✓"))
        if tick % 10 == 5:
            events.append(ev.Budget(tick=tick, at=at, reactive_budget_tokens=N_TR, why="cut twice"))
        events += _thoughts(tick, at, now, rng)
        lost = tick % 7 == 6
        letters = safe_moves(observed.view) if game_name == "snake" else game.legal_actions
        letter = game.default_action if lost else rng.choice(letters or game.legal_actions)
        if lost:
            defaults += 1
            events.append(ev.Fault(tick=tick, at=at, component="reactor", what="stalled", done="default action"))
        events.append(
            ev.Action(
                tick=tick,
                t_ns=now + 900,
                at=at + N_TE,
                letter=letter,
                source="default" if lost else "reactor",
                reason="fault" if lost else None,
                generation=None if lost else tick,
            )
        )
        result = game.step(letter)
        reason = result.done_reason or ("ticks" if tick == ticks - 1 else None)
        events.append(
            ev.Step(
                tick=tick,
                t_ns=now + 950,
                at=at + N_TE,
                state=game.snapshot(),
                reward=result.reward,
                score=result.score,
                points=game.points,
                done=reason is not None,
                done_reason=reason,
                reset=result.reset,
            )
        )
        for i, event in enumerate(events):
            events[i] = typed(msgspec.structs.replace(event, seq=seq))
            seq += 1
        out.append((tick, events))
        if reason is not None:
            done_reason = reason
            break
    totals = ev.Totals(
        ticks=len(out),
        score=game.spec.normalise(game.points),
        raw_score=result.score,
        points=game.points,
        default_actions=defaults,
        planner_tokens=sum(len(event.lens) for _, events in out for event in events if isinstance(event, ev.Token) and event.stream == "planner"),
        reactor_tokens=sum(len(event.lens) for _, events in out for event in events if isinstance(event, ev.Token) and event.stream == "reactor"),
        faults=defaults,
    )
    end = ev.End(tick=len(out) - 1, seq=seq, at=len(out) * N_TE, totals=totals, done_reason=done_reason)
    return Played(typed(header), out, typed(end))


def _thoughts(tick: int, at: int, now: int, rng: random.Random) -> list[ev.AnyEvent]:
    words = ["left ", "wall ", "apple ", "über ", "路 ", "dead end ", "go ", "\n"]

    def said(stream: str, generation: int, first: int, count: int) -> ev.Token:
        chosen = [rng.choice(words) for _ in range(count)]
        return ev.Token(
            tick=tick,
            t_ns=now + 100,
            at=first,
            stream=stream,
            generation=generation,
            channel="reasoning" if stream == "planner" else "content",
            text="".join(chosen),
            lens=[len(word.encode()) for word in chosen],
            meas={"arrivals": [[count, now + 100]]},
        )

    generation = tick - tick % 3
    out: list[ev.AnyEvent] = []
    if tick == generation:
        out.append(
            ev.Generation(tick=tick, at=at, stream="planner", id=tick, phase="start", prompt=["You play.", ev.Part(text="rules"), ev.Part(obs=tick)])
        )
    if tick % 9 == 0:
        out.append(ev.Segment(tick=tick, at=at, id=tick, generation=generation, phase="open", strategy="check", phrase="Wait,"))
    out.append(said("planner", generation, at + 1, N_TE - N_TR))
    if tick % 9 == 0:
        out.append(
            ev.Segment(tick=tick, at=at, id=tick, generation=generation, phase="close", strategy="check", finish="border", tokens=48, used_after=48, budget=200)
        )
    wake = at + N_TE - N_TR
    part = ev.Part(trace=generation, upto=40, guidance=True)
    out.append(ev.Generation(tick=tick, at=wake, stream="reactor", id=tick, phase="start", prompt=["Now.", part]))
    out.append(said("reactor", tick, wake + 1, N_TR))
    meas = {"ttft_s": 0.25 + tick / 100, "tpot_s": 0.01}
    out.append(
        ev.Generation(tick=tick, at=at + N_TE, stream="reactor", id=tick, phase="end", finish="stop", clock_tokens=N_TR, usage_tokens=N_TR, meas=meas)
    )
    out.append(ev.Answer(tick=tick, at=at + N_TE, stream="reactor", generation=tick, mode="act", letters=["L"]))
    return out


def write(path: Path, played: Played, *, keyframe_every: int = 8, closed: bool = True, ended: bool = True) -> Path:
    """Record an episode; not `closed`: as a killed recorder leaves it."""
    writer = ReplayWriter.create(path, played.header)
    for tick, events in played.ticks:
        writer.tick(tick, events)
        if tick % keyframe_every == keyframe_every - 1:
            writer.keyframe(tick, {"tick": tick, "note": "state after it"})
    if ended:
        writer.end(played.end)
    if closed:
        writer.close()
    else:
        import os

        os.close(writer._fd)
        writer._fd = -1
    return path


def record_starts(data: bytes) -> list[int]:
    """Where the records of an undamaged file begin, found the slow way."""
    mark, starts, at = b"\x96\xce\x00\x52\x54\x4b", [], 0
    while (at := data.find(mark, at)) >= 0:
        starts.append(at)
        at += 1
    return starts
