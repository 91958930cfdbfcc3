"""Any OpenAI-compatible server as a thinker: DeepSeek, OpenAI, OpenRouter, Gemini, vLLM, SGLang, llama.cpp, Ollama, LM Studio.

A spec is `provider/model`, `URL#model`, or a YAML model file. The package is pure but for `wire` (the socket) and `stream` (one
request); `requests` is imported when the first stream is asked for, so a process that only looks at the spec stays light.
"""

from __future__ import annotations

import contextlib
import importlib
import socket
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import msgspec

from replays import events as ev
from workers.backends.base import Request
from workers.backends.openai.profiles import hides_reasoning
from workers.backends.openai.request import headers, is_loopback, models_url
from workers.backends.openai.retry import Habits
from workers.backends.openai.settings import Endpoint, Places, resolve
from workers.errors import BackendError

if TYPE_CHECKING:
    from workers.backends.openai.stream import Stream
    from workers.backends.openai.wire import Line

__all__ = ["Backend"]

_CHECK_S = 2.0
_DESCRIBE_S = 5.0
_CONTEXT_KEYS = ("max_model_len", "n_ctx", "context_length", "context_window", "max_context_length", "n_ctx_train")


class Backend:
    """One endpoint. What is learned of it (`habits`) counts for all its streams, so for a run."""

    blocking = True

    def __init__(
        self,
        spec: str,
        *,
        idle_timeout_s: float = 120.0,
        connect_timeout_s: float = 5.0,
        total_timeout_s: float = 3600.0,
        attempts: int | None = None,
        places: Places | None = None,
        clock: Callable[[], float] = time.monotonic,
        wait: Callable[[float], object] | None = None,
    ) -> None:
        """Raises ConfigError for a spec that is none, an unknown provider, a missing key (named by its variable)."""
        self.endpoint: Endpoint = resolve(spec, places=places)
        profile = self.endpoint.profile
        self.idle_timeout_s = idle_timeout_s
        """Silence after which a stream counts as stalled; may be set until a stream is asked for."""
        self._connect_s = connect_timeout_s
        self._total_s = total_timeout_s
        self._attempts = attempts
        self._clock = clock
        self._wait = wait
        self.habits = Habits(length_field=profile.length_field, stream_usage=profile.stream_usage, stepwise_usage=profile.stepwise_usage)
        self.habits.hides = hides_reasoning(profile, self.endpoint.model) if self.endpoint.hides is None else self.endpoint.hides
        self._line: Line | None = None
        self._streams: list[Stream] = []
        plain = {name: value for name, value in self.endpoint.parameters.items() if isinstance(value, str | int | float | bool) or value is None}
        # An array or a table among the parameters is told by its name; the header holds plain values.
        odd = {name: "(set)" for name in self.endpoint.parameters if name not in plain}
        self.info = ev.Backend(
            spec=self.endpoint.spec,
            title=self.endpoint.model,
            exact=False,
            deterministic=False,
            params={"url": self.endpoint.shown, "profile": profile.name, **plain, **odd},
        )

    def vary(self, sample: int) -> None:
        """Make requests from here on those of another sample: with a seed of their own, which a server that knows none turns down once.

        A seed that the configuration sets is where samples count from.
        """
        endpoint = self.endpoint
        base = endpoint.parameters.get("seed")
        seed = sample + (base if isinstance(base, int) else 0)
        self.endpoint = msgspec.structs.replace(endpoint, parameters={**endpoint.parameters, "seed": seed})
        self.info = msgspec.structs.replace(self.info, params={**self.info.params, "seed": seed})

    @property
    def continues(self) -> bool:
        """Whether it is thought to go on from the beginning of an answer."""
        return self.endpoint.profile.prefix_mode != "none"

    @property
    def hides(self) -> bool:
        """Whether it is known to charge for reasoning it does not show."""
        return self.habits.hides

    def check(self, game: str, stream: str) -> None:
        """Raise BackendError, with the URL, if nobody listens there: one connection and nothing sent, two seconds at most."""
        host, port, shown = self._first_hop()
        try:
            socket.create_connection((host, port), timeout=_CHECK_S).close()
        except TimeoutError:
            raise BackendError(f"{shown}: no connection within {_CHECK_S:g} s; is the server running and reachable?", kind="connection") from None
        except socket.gaierror:
            raise BackendError(f"{shown}: host not found; check the URL", kind="connection") from None
        except OSError as error:
            raise BackendError(f"{shown}: cannot be reached ({error.strerror or error}); is the server running?", kind="connection") from None

    def _first_hop(self) -> tuple[str, int, str]:
        """(host, port, what to call it): the server, or the proxy in front of it."""
        url, shown = self.endpoint.url, self.endpoint.shown
        if not is_loopback(url):
            from urllib.request import getproxies, proxy_bypass

            parts = urlsplit(url)
            proxy = getproxies().get(parts.scheme) or getproxies().get("all")
            if proxy and not proxy_bypass(parts.hostname or ""):
                url = proxy if "://" in proxy else f"http://{proxy}"
                shown = f"{shown} (through the proxy of the environment)"
        parts = urlsplit(url)
        return parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80), shown

    def prepare(self) -> None:
        """Load what streams need, so that the first one does not wait for it: for a process that is going to think."""
        importlib.import_module("workers.backends.openai.stream")
        self._open_line()

    def stream(self, request: Request) -> Stream:
        """Begin an answer to the request's prompt; the request goes out with the first `next`."""
        return self.ask(
            str(request.prompt),
            max_tokens=request.budget_tokens,
            prefix=getattr(request, "prefix", ""),
            stop=getattr(request, "stop", ()),
        )

    def ask(self, prompt: str, *, max_tokens: int | None = None, prefix: str = "", stop: tuple[str, ...] = ()) -> Stream:
        """Begin an answer to any prompt, of at most `max_tokens`, going on from `prefix`, ended by any of `stop`.

        Raises ConfigError if the profile cannot go on from a prefix.
        """
        from workers.backends.openai.stream import Limits, Stream

        limits = Limits(connect_s=self._connect_s, idle_s=self.idle_timeout_s, total_s=self._total_s)
        if self._attempts is not None:
            limits = Limits(connect_s=self._connect_s, idle_s=self.idle_timeout_s, total_s=self._total_s, attempts=self._attempts)
        stream = Stream(
            self._open_line(),
            self.endpoint,
            self.habits,
            limits=limits,
            prompt=prompt,
            max_tokens=max_tokens,
            prefix=prefix,
            stop=stop,
            version=_version(),
            clock=self._clock,
            wait=self._wait,
        )
        self._streams = [*(one for one in self._streams if not one.over), stream]
        return stream

    def describe(self) -> dict[str, Any]:
        """Return `context_tokens` (None if the server does not say) and `listed`, whether it lists this model. One quick request; never raises."""
        from workers.backends.openai.deltas import parse
        from workers.backends.openai.wire import Broken, Hold

        key = self.endpoint.key
        asked = headers(None if key is None else key.reveal(), version=_version())
        out: dict[str, Any] = {"context_tokens": None, "listed": None}
        try:
            reply = self._open_line().send(
                "GET",
                models_url(self.endpoint.url),
                headers=asked,
                body=None,
                idle_s=min(self.idle_timeout_s, _DESCRIBE_S),
                hold=Hold(),
                within_s=_DESCRIBE_S,
            )
            text = reply.text(limit=1 << 22, timeout_s=_DESCRIBE_S)
            reply.finish()
            listed = parse(text.encode()) if reply.status == 200 else None
        except (Broken, ValueError):
            return out
        models = listed.get("data") if isinstance(listed, dict) else listed
        if not isinstance(models, list):
            return out
        models = [model for model in models if isinstance(model, dict)]
        mine = [model for model in models if str(model.get("id", "")).removeprefix("models/") == self.endpoint.model]
        out["listed"] = bool(mine) if models else None
        for model in mine or (models if len(models) == 1 else []):
            meta = model.get("meta")
            for place in (model, meta if isinstance(meta, dict) else {}):
                sizes = [place.get(name) for name in _CONTEXT_KEYS]
                out["context_tokens"] = out["context_tokens"] or next((size for size in sizes if isinstance(size, int) and size > 0), None)
        return out

    def _open_line(self) -> Line:
        from workers.backends.openai.wire import Line

        if self._line is None:
            self._line = Line(connect_s=self._connect_s)
        return self._line

    def close(self) -> None:
        """Cancel what runs and close the connections."""
        streams, self._streams = self._streams, []
        for stream in streams:
            with contextlib.suppress(OSError):
                stream.cancel()
        if self._line is not None:
            self._line.close()
            self._line = None


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("rtdesk")
    except PackageNotFoundError:
        return "0"
