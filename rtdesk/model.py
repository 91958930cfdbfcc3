"""`rtdesk model`: what a model server really does, or one answer as it was read."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

from rtdesk.say import complain, print_json, print_plain
from workers.errors import BackendError, ConfigError

if TYPE_CHECKING:
    from workers.backends.openai import Backend
    from workers.backends.openai.heard import Heard

__all__ = ["model"]

COUNT = "Count from 1 to 40 in digits, one number a line. Write the numbers and nothing else."
BEGUN = "1\n2\n3\n4\n"
PROBE_TOKENS = 96
PREFIX_TOKENS = 24
SHORTEST_S = 0.05
"""Two answers shorter than this cannot be told to have run at the same time."""


def model(spec: str, *, prompt: str | None, idle_timeout: str, as_json: bool) -> int:
    """Show one answer, or probe the endpoint. Returns 0, or 1 with one line on stderr if there was none."""
    from workers.config import parse_duration

    blank: dict[str, Any] = _answer_keys(None) if prompt is not None else _probe_keys()
    found = {"spec": spec, **blank}
    try:
        backend = _backend(spec, parse_duration(idle_timeout, name="--idle-timeout"))
    except ConfigError as error:
        if as_json:
            print_json({**found, "spec": None, "error": "config", "message": str(error)})
        raise
    found |= {"spec": backend.info.spec, "url": backend.endpoint.shown, "model": backend.endpoint.model, "profile": backend.endpoint.profile.name}
    try:
        if prompt is not None:
            heard = _ask(backend, prompt)
            found |= _answer_keys(heard)
        else:
            found |= probe(backend)
    finally:
        backend.close()
    if as_json:
        print_json(found)
    else:
        print_plain("\n".join(answer_lines(found) if prompt is not None else probe_lines(found)))
    if found["error"] is None:
        return 0
    complain(found["message"])
    return 1


def _backend(spec: str, idle_timeout_s: float) -> Backend:
    from workers import backends
    from workers.backends.openai import Backend

    backend = backends.make(spec)
    if not isinstance(backend, Backend):
        raise ConfigError(f"{spec!r} is no model behind a server; give provider/model or URL#model, see docs/models.md")
    backend.idle_timeout_s = idle_timeout_s
    return backend


def _ask(backend: Backend, prompt: str, **options: Any) -> Heard:
    from workers.backends.openai.heard import hear

    return hear(backend.ask(prompt, **options))


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds * 1000, 3)


def _answer_keys(heard: Heard | None) -> dict[str, Any]:
    """What is told of one answer; docs/json.md has what the keys mean."""
    meas = {} if heard is None else heard.meas
    error = None if heard is None else heard.error
    return {
        "reasoning": "" if heard is None else heard.reasoning,
        "content": "" if heard is None else heard.content,
        "completion_tokens": None if heard is None else heard.completion_tokens,
        "tokens_estimated": heard is None or heard.completion_tokens is None,
        "finish_reason": meas.get("finish_reason"),
        "error": None if error is None else error.kind,
        "message": None if error is None else str(error),
        "ttft_ms": _ms(meas.get("ttft_s")),
        "tpot_ms": _ms(meas.get("tpot_s")),
        "attempts": meas.get("attempts", 0),
        "error_code": None if error is None else error.code,
        "clock_tokens": 0 if heard is None else heard.counted,
        "prompt_tokens": meas.get("prompt_tokens"),
        "hidden_tokens": meas.get("hidden_tokens", 0),
        "reasoning_field": meas.get("reasoning_field"),
        "throttled_ms": _ms(meas.get("throttled_s", 0.0)),
        "generation_ms": _ms(meas.get("generation_s")),
        "tokens_per_s": meas.get("tokens_per_s"),
    }


def answer_lines(found: dict[str, Any]) -> list[str]:
    """One answer for a person."""
    out = []
    for channel in ("reasoning", "content"):
        if found[channel]:
            out += [f"-- {channel} --", found[channel].strip("\n")]
    out.append(f"-- {found['model']} at {found['url']} --")
    if found["completion_tokens"] is not None:
        tokens = f"{found['completion_tokens']} tokens"
    else:
        tokens = f"about {found['clock_tokens']} tokens (an estimate: the server does not say)"
    ended = found["error"] or found["finish_reason"] or "no finish_reason"
    out.append(f"{tokens}, {ended}; first token {_shown(found['ttft_ms'])}, per token {_shown(found['tpot_ms'])}, attempts {found['attempts']}")
    return out


def _shown(ms: float | None) -> str:
    return "-" if ms is None else f"{ms:.3g} ms" if ms < 100 else f"{ms:.0f} ms"


def _probe_keys() -> dict[str, Any]:
    return {
        "reachable": False,
        "connect_ms": None,
        "ttft_ms": None,
        "tpot_ms": None,
        "tokens_per_s": None,
        "reasoning_field": None,
        "usage_in_stream": None,
        "usage_stepwise": None,
        "estimate_ratio": None,
        "prefix_continuation": None,
        "concurrent_streams": None,
        "context_tokens": None,
        "listed": None,
        "changed": [],
        "attempts": 0,
        "error": None,
        "message": None,
    }


def probe(backend: Backend) -> dict[str, Any]:
    """Ask an endpoint a few short things; return what it does. An error of the first question ends it."""
    from workers.backends.openai.heard import hear

    out = _probe_keys()
    began = time.perf_counter()
    try:
        backend.check("", "")
    except BackendError as error:
        return {**out, "error": error.kind, "message": str(error)}
    out |= {"reachable": True, "connect_ms": _ms(time.perf_counter() - began)}
    stream = backend.ask(COUNT, max_tokens=PROBE_TOKENS)
    heard = hear(stream)
    out |= {name: value for name, value in _answer_keys(heard).items() if name in out}
    if heard.error is not None:
        return out
    out["changed"] = stream.changed
    out["usage_in_stream"] = heard.completion_tokens is not None
    out["usage_stepwise"] = stream.stepwise
    if heard.completion_tokens:
        out["estimate_ratio"] = round(heard.counted / heard.completion_tokens, 3)
    out |= backend.describe()
    out["prefix_continuation"] = _continues(backend)
    if heard.meas.get("generation_s", 0.0) >= SHORTEST_S:
        out["concurrent_streams"] = _together(backend)
    return out


def _continues(backend: Backend) -> bool | None:
    """Whether an answer begun by us is gone on with; None if that cannot be told."""
    if backend.endpoint.profile.prefix_mode == "none":
        return False
    heard = _ask(backend, COUNT, max_tokens=PREFIX_TOKENS, prefix=BEGUN)
    if heard.error is not None:
        return False if heard.error.kind in ("http_status", "provider_error") else None
    text = (heard.content or heard.reasoning).strip()
    if text.startswith("5"):
        return True
    return False if text.startswith("1") else None


def _together(backend: Backend) -> bool | None:
    """Whether two answers come at the same time, or one after the other."""
    from workers.backends.base import Chunk
    from workers.errors import WorkerError

    times: list[tuple[float, float]] = []

    def read() -> None:
        first = last = 0.0
        try:
            for item in backend.ask(COUNT, max_tokens=PROBE_TOKENS):
                if isinstance(item, Chunk) and item.lens:
                    last = time.monotonic()
                    first = first or last
        except WorkerError:
            return
        if first:
            times.append((first, last))

    threads = [threading.Thread(target=read) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if len(times) < 2:
        return None
    return max(first for first, _ in times) < min(last for _, last in times)


def probe_lines(found: dict[str, Any]) -> list[str]:
    """What was found, for a person."""
    words = {True: "yes", False: "no", None: "cannot tell"}
    usage = {True: "with every delta" if found["usage_stepwise"] else "at the end", False: "no: counts are estimates", None: "cannot tell"}
    rows = [
        ("model", f"{found['model']} at {found['url']} (profile {found['profile']})"),
        ("reachable", words[found["reachable"]] + (f", connected in {_shown(found['connect_ms'])}" if found["reachable"] else "")),
    ]
    if found["error"] is None:
        rate = f", {found['tokens_per_s']:.0f} tokens/s" if found["tokens_per_s"] else ""
        rows += [
            ("first token", _shown(found["ttft_ms"])),
            ("per token", _shown(found["tpot_ms"]) + rate),
            ("reasoning", found["reasoning_field"] or "none seen"),
            ("usage", usage[found["usage_in_stream"]]),
            ("continues", words[found["prefix_continuation"]] + " (an answer begun by rtdesk: --force-answer, --steer)"),
            ("two at once", words[found["concurrent_streams"]] + " (planner and reactor on one server)"),
            ("context", f"{found['context_tokens']} tokens" if found["context_tokens"] else "the server does not say"),
        ]
        if found["listed"] is False:
            rows.append(("note", f"the server does not list {found['model']!r} among its models"))
        rows += [("note", change) for change in found["changed"]]
    return [f"{name:12} {value}" for name, value in rows]
