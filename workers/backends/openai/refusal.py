"""A refusal read for a person: what the server says, and what to try. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from workers.backends.openai.deltas import one_line, parse, trouble_of
from workers.backends.openai.settings import Endpoint

__all__ = ["hint", "told"]


def told(text: str) -> tuple[dict[str, Any], str]:
    """Return (error object, sentence) of a refusal's body: JSON in any form, a page, or text."""
    try:
        value = parse(text.strip().encode("utf-8", "replace"))
    except ValueError:
        return {}, _page(text)
    if isinstance(value, list) and value:
        value = value[0]
    if not isinstance(value, dict):
        return {}, one_line(text)
    error = value.get("error")
    trouble = trouble_of(value, b"error")
    return (error if isinstance(error, dict) else value), trouble.message if trouble is not None else ""


def _page(text: str) -> str:
    """What a page in place of an answer says, in a few words."""
    if title := re.search(r"<title[^>]*>(.*?)</title>", text, re.I | re.S):
        return one_line(title[1], 120)
    return one_line(re.sub(r"<[^>]*>", " ", text), 120)


def hint(status: int, headers: Mapping[str, str], endpoint: Endpoint) -> str:
    """Return what to try next, in brackets, or ""."""
    if status in (401, 403):
        names = endpoint.profile.key_env
        return f" (the key in {names[0]} was not accepted)" if endpoint.key is not None and names else " (it wants a key; see docs/models.md)"
    if status == 404:
        return f" (is there a model {endpoint.model!r}, and is the URL right?)"
    if 300 <= status < 400:
        return f" (it points to {one_line(headers.get('location', 'nowhere').partition('?')[0], 100)}; give that URL)"
    return ""
