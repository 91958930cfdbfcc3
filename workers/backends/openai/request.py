"""What is sent: the URL, the headers, the body. Pure."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from workers.backends.openai.profiles import Profile
from workers.backends.openai.retry import Habits
from workers.errors import ConfigError

__all__ = ["RESERVED", "body", "chat_url", "check_url", "headers", "is_loopback", "models_url", "shown_url"]

RESERVED = ("messages", "model", "n", "stream", "stream_options")
"""Body fields that are ours; parameters of a configuration may not set them."""
_ENDPOINT = "/chat/completions"
_SECRETS = ("key", "api_key", "api-key", "apikey", "token", "access_token", "secret", "password")


def check_url(url: str, *, given: str) -> str:
    """Return a base URL without blanks around it. Raises ConfigError for one that cannot be used or that carries a secret.

    `given` is how the message calls it; a secret in the URL is not repeated there.
    """
    url = url.strip().strip("\ufeff").strip()
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise ConfigError(f"{given} is no URL ({error}); give one such as http://127.0.0.1:8000/v1") from None
    if parts.username is not None or parts.password is not None:
        raise ConfigError(f"{given} has a user name or password in it, which would be recorded; put the key into its variable, see docs/models.md")
    if any(field.partition("=")[0].lower() in _SECRETS for field in parts.query.split("&")):
        raise ConfigError(f"{given} has a key in its query, which would be recorded; put the key into its variable, see docs/models.md")
    if parts.scheme not in ("http", "https") or not host or any(letter.isspace() or not letter.isprintable() for letter in url):
        raise ConfigError(f"{given} {url!r} is no http URL; give one such as http://127.0.0.1:8000/v1")
    if port == 0:
        raise ConfigError(f"{given} {url!r} has port 0; give the port the server listens at")
    return url


def chat_url(base: str) -> str:
    """Return the endpoint a base URL means: a full endpoint is kept, a bare host gets /v1, any other path is kept. Source: case X04."""
    parts = urlsplit(base.strip())
    path = parts.path.rstrip("/")
    while "//" in path:
        path = path.replace("//", "/")
    if not path.endswith(_ENDPOINT):
        path = (path or "/v1") + _ENDPOINT
    return urlunsplit((parts.scheme, parts.netloc, path, parts.query, ""))


def models_url(endpoint: str) -> str:
    """Return where the server that answers at `endpoint` lists its models."""
    parts = urlsplit(endpoint)
    return urlunsplit((parts.scheme, parts.netloc, parts.path.removesuffix(_ENDPOINT) + "/models", parts.query, ""))


def shown_url(url: str) -> str:
    """Return a URL as messages and replays show it: no user, no query."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    host = f"[{host}]" if ":" in host else host
    return urlunsplit((parts.scheme, f"{host}:{parts.port}" if parts.port else host, parts.path, "", ""))


def is_loopback(url: str) -> bool:
    """Whether a URL's host is this machine; such a request never goes through a proxy. Source: case X10."""
    host = (urlsplit(url).hostname or "").rstrip(".").lower()
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    address = mapped or address
    return address.is_loopback or address.is_unspecified


def headers(key: str | None, *, version: str) -> dict[str, str]:
    """Return the request's headers; the body is asked for unpacked, because a packed stream comes in lumps."""
    out = {
        "accept": "text/event-stream, application/json",
        "accept-encoding": "identity",
        "content-type": "application/json",
        "user-agent": f"rtdesk/{version}",
    }
    if key is not None:
        out["authorization"] = f"Bearer {key}"
    return out


def body(
    profile: Profile,
    habits: Habits,
    *,
    model: str,
    prompt: str,
    parameters: Mapping[str, Any],
    max_tokens: int | None = None,
    prefix: str = "",
    stop: Sequence[str] = (),
) -> dict[str, Any]:
    """Return the request's body. `max_tokens` and a limit in `parameters` both count: the smaller one is sent.

    Raises ConfigError if an answer is to be continued from `prefix` and the profile says that cannot be.
    """
    out: dict[str, Any] = {name: value for name, value in parameters.items() if name not in (*RESERVED, "max_tokens", "max_completion_tokens")}
    messages: list[dict[str, Any]] = [{"role": "user", "content": prompt}]
    out |= {"model": model, "messages": messages, "stream": True}
    if habits.stream_usage:
        out["stream_options"] = {"include_usage": True, **({"continuous_usage_stats": True} if habits.stepwise_usage else {})}
    limits = [parameters.get("max_tokens"), parameters.get("max_completion_tokens"), max_tokens]
    known = [limit for limit in limits if isinstance(limit, int)]
    if known:
        out[habits.length_field] = min(known)
    if stop:
        out["stop"] = list(stop)
    if prefix:
        if profile.prefix_mode == "none":
            raise ConfigError(f"a {profile.name} server cannot go on from a given beginning of an answer; use one that can, see docs/models.md")
        messages.append({"role": "assistant", "content": prefix, **({"prefix": True} if profile.prefix_mode == "prefix" else {})})
        if profile.prefix_mode == "continue_final_message":
            out |= {"continue_final_message": True, "add_generation_prompt": False}
    return out
