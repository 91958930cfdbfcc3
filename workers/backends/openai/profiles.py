"""What differs from provider to provider: base URL, key variable, where reasoning comes, what is accepted, how an answer is continued.

A profile is a starting point: a parameter a server turns down is dropped for the run (`retry.Habits`), and `rtdesk model SPEC`
says what an endpoint really does.
"""

from __future__ import annotations

import re
from urllib.parse import urlsplit

import msgspec

__all__ = ["COMPATIBLE", "PREFIX_MODES", "PROFILES", "Profile", "by_url", "hides_reasoning"]

PREFIX_MODES = ("continue_final_message", "prefix", "assistant_last", "none")
"""How an answer begun by us is continued: by a flag of vLLM and SGLang; by a flag on the message (DeepSeek); because the last
message is the assistant's; not at all."""


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of server."""

    name: str
    url: str = ""
    """Base URL; empty where the user gives it."""
    url_env: str = ""
    """Variable that overrides it."""
    key_env: tuple[str, ...] = ()
    """Variables that hold the key, the first that is set counts."""
    needs_key: bool = False
    reasoning: str = "reasoning_content"
    """Field of a delta in which reasoning usually comes; all are read."""
    length_field: str = "max_tokens"
    stream_usage: bool = True
    """Whether `stream_options.include_usage` is asked for."""
    stepwise_usage: bool = False
    """Whether it reports its count with every delta when asked."""
    prefix_mode: str = "none"
    prefix_url: str = ""
    """Base URL for continued answers, where it is another."""
    hides: str = ""
    """Pattern of model names that charge for reasoning they do not show."""


COMPATIBLE = Profile(name="compatible", key_env=("RTDESK_API_KEY",), prefix_mode="assistant_last")
"""Any URL we know nothing about."""

PROFILES = {
    profile.name: profile
    for profile in (
        Profile(
            name="deepseek",
            url="https://api.deepseek.com/v1",
            url_env="DEEPSEEK_BASE_URL",
            key_env=("DEEPSEEK_API_KEY",),
            needs_key=True,
            prefix_mode="prefix",
            prefix_url="https://api.deepseek.com/beta",
        ),
        Profile(
            name="openai",
            url="https://api.openai.com/v1",
            url_env="OPENAI_BASE_URL",
            key_env=("OPENAI_API_KEY",),
            needs_key=True,
            reasoning="",
            length_field="max_completion_tokens",
            hides=r"^(o[0-9]|gpt-5)",
        ),
        Profile(
            name="openrouter",
            url="https://openrouter.ai/api/v1",
            url_env="OPENROUTER_BASE_URL",
            key_env=("OPENROUTER_API_KEY",),
            needs_key=True,
            reasoning="reasoning",
            prefix_mode="assistant_last",
            hides=r"^openai/(o[0-9]|gpt-5)",
        ),
        Profile(
            name="gemini",
            url="https://generativelanguage.googleapis.com/v1beta/openai",
            url_env="GEMINI_BASE_URL",
            key_env=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
            needs_key=True,
            reasoning="",
            hides=r"gemini-(2\.5|[3-9])",
        ),
        Profile(
            name="vllm",
            url="http://127.0.0.1:8000/v1",
            url_env="VLLM_BASE_URL",
            key_env=("VLLM_API_KEY",),
            reasoning="reasoning",
            stepwise_usage=True,
            prefix_mode="continue_final_message",
        ),
        Profile(
            name="sglang",
            url="http://127.0.0.1:30000/v1",
            url_env="SGLANG_BASE_URL",
            key_env=("SGLANG_API_KEY",),
            stepwise_usage=True,
            prefix_mode="continue_final_message",
        ),
        Profile(
            name="llamacpp", url="http://127.0.0.1:8080/v1", url_env="LLAMACPP_BASE_URL", key_env=("LLAMA_API_KEY",), prefix_mode="assistant_last"
        ),
        Profile(
            name="ollama",
            url="http://127.0.0.1:11434/v1",
            url_env="OLLAMA_HOST",
            key_env=("OLLAMA_API_KEY",),
            reasoning="reasoning",
            prefix_mode="assistant_last",
        ),
        Profile(name="lmstudio", url="http://127.0.0.1:1234/v1", url_env="LMSTUDIO_BASE_URL", key_env=("LMSTUDIO_API_KEY",)),
    )
}


def by_url(url: str) -> Profile:
    """Return the profile of a hosted provider by its URL's host, else COMPATIBLE."""
    host = (urlsplit(url).hostname or "").lower()
    for profile in PROFILES.values():
        if profile.needs_key and urlsplit(profile.url).hostname == host:
            return profile
    return COMPATIBLE


def hides_reasoning(profile: Profile, model: str) -> bool:
    """Whether this model is known to charge for reasoning it does not show."""
    return bool(profile.hides) and re.search(profile.hides, model, re.I) is not None
