"""Specs, providers, keys and what is sent: nothing of a key in any text, and every mistake one sentence."""

from __future__ import annotations

import json
import logging
import pickle
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from model_kit import ModelServer, Say, delta, sse, usage

from replays import events as ev
from workers import backends
from workers.backends.openai import Backend
from workers.backends.openai.heard import hear
from workers.backends.openai.profiles import PREFIX_MODES, PROFILES
from workers.backends.openai.request import body, chat_url, is_loopback, models_url
from workers.backends.openai.retry import Habits
from workers.backends.openai.secret import Secret
from workers.backends.openai.settings import Endpoint, Places, resolve
from workers.backends.openai.yamlfile import read_yaml
from workers.errors import ConfigError

KEY = "sk-live-Zq7vX2mKp9wTr4Lc"


def places(tmp_path: Path, environ: dict[str, str] | None = None, *, dotenv: str = "", config: str = "") -> Places:
    (tmp_path / ".env").write_bytes(dotenv.encode())
    (tmp_path / "config.toml").write_text(config)
    return Places(environ=environ or {}, folder=tmp_path, config=tmp_path / "config.toml")


def key_of(endpoint: Endpoint) -> str | None:
    return None if endpoint.key is None else endpoint.key.reveal()


@pytest.mark.parametrize("name", PROFILES)
def test_provider_gives_url_and_key(name: str, tmp_path: Path) -> None:
    profile = PROFILES[name]
    found = resolve(f"{name}/some/model:free", places=places(tmp_path, {profile.key_env[0]: KEY}))
    assert found.model == "some/model:free"
    assert found.url == chat_url(profile.url)
    assert key_of(found) == KEY
    assert profile.prefix_mode in PREFIX_MODES
    if profile.needs_key:
        with pytest.raises(ConfigError, match=profile.key_env[0]):
            resolve(f"{name}/m", places=places(tmp_path))
    else:
        assert resolve(f"{name}/m", places=places(tmp_path)).key is None


@pytest.mark.parametrize("name", PROFILES)
def test_page_of_models_says_what_the_profile_says(name: str) -> None:
    page = (Path(__file__).parents[2] / "docs" / "models.md").read_text(encoding="utf-8")
    profile = PROFILES[name]
    row = next(line for line in page.splitlines() if line.startswith(f"| `{name}` |"))
    for word in (profile.url, profile.url_env, *profile.key_env, profile.reasoning, profile.length_field, profile.prefix_mode):
        assert word in row
    assert ("if any" in row) is not profile.needs_key
    assert ("hidden" in row) is (profile.reasoning == "")


def test_second_variable_counts_where_the_first_is_blank(tmp_path: Path) -> None:
    found = resolve("gemini/gemini-2.5-pro", places=places(tmp_path, {"GEMINI_API_KEY": "  ", "GOOGLE_API_KEY": KEY}))
    assert key_of(found) == KEY


@pytest.mark.parametrize("line", [f"DEEPSEEK_API_KEY={KEY}", f'export DEEPSEEK_API_KEY = "{KEY}"  # mine', f"\ufeffX=1\r\nDEEPSEEK_API_KEY='{KEY}'\r\n", f"DEEPSEEK_API_KEY={KEY} # mine"])
def test_key_comes_from_a_dotenv_and_the_environment_goes_first(line: str, tmp_path: Path) -> None:
    assert key_of(resolve("deepseek/m", places=places(tmp_path, dotenv=line))) == KEY
    assert key_of(resolve("deepseek/m", places=places(tmp_path, {"DEEPSEEK_API_KEY": "sk-other-one"}, dotenv=line))) == "sk-other-one"


def test_config_file_holds_keys_and_providers_of_ones_own(tmp_path: Path) -> None:
    config = f"""
[providers.deepseek]
key = "{KEY}"
parameters = {{ temperature = 0.6 }}
[providers.mylab]
url = "http://lab.example:8000/v1/"
profile = "vllm"
key_env = "LAB_KEY"
reasoning_hidden = true
prefix_mode = "none"
"""
    found = resolve("deepseek/m", places=places(tmp_path, config=config))
    assert (key_of(found), found.parameters) == (KEY, {"temperature": 0.6})
    mine = resolve("mylab/qwen3", places=places(tmp_path, {"LAB_KEY": "sk-lab-key"}, config=config))
    assert (mine.url, key_of(mine), mine.hides) == ("http://lab.example:8000/v1/chat/completions", "sk-lab-key", True)
    assert (mine.profile.stepwise_usage, mine.profile.prefix_mode) == (True, "none")
    with pytest.raises(ConfigError, match="LAB_KEY"):
        resolve("mylab/qwen3", places=places(tmp_path, config=config))


def test_variable_overrides_a_providers_url(tmp_path: Path) -> None:
    assert resolve("vllm/m", places=places(tmp_path, {"VLLM_BASE_URL": "http://gpu:9000"})).url == "http://gpu:9000/v1/chat/completions"
    assert resolve("ollama/m", places=places(tmp_path, {"OLLAMA_HOST": "gpu"})).url == "http://gpu:11434/v1/chat/completions"
    assert resolve("ollama/m", places=places(tmp_path, {"OLLAMA_HOST": "gpu:99"})).url == "http://gpu:99/v1/chat/completions"
    # A server of one's own in the place of a provider needs no key.
    assert resolve("openai/m", places=places(tmp_path, {"OPENAI_BASE_URL": "http://127.0.0.1:1/v1"})).key is None


def test_url_of_a_known_provider_is_that_provider(tmp_path: Path) -> None:
    found = resolve("https://api.deepseek.com#deepseek-chat", places=places(tmp_path, {"DEEPSEEK_API_KEY": KEY, "OPENAI_API_KEY": "sk-wrong-one"}))
    assert (found.profile.name, key_of(found)) == ("deepseek", KEY)
    assert found.prefix_url == "https://api.deepseek.com/beta/chat/completions"


def test_key_of_one_provider_goes_to_no_other_machine(tmp_path: Path) -> None:
    environ = {"OPENAI_API_KEY": KEY}
    assert resolve("https://models.example/v1#m", places=places(tmp_path, environ)).key is None
    assert key_of(resolve("http://localhost:8000#m", places=places(tmp_path, environ))) == KEY
    assert key_of(resolve("https://models.example/v1#m", places=places(tmp_path, {"RTDESK_API_KEY": KEY}))) == KEY


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("depseek/m", "did you mean 'deepseek'"),
        ("deepseek/", "names no model"),
        ("http://127.0.0.1:8000/v1", "URL#model"),
        ("http://127.0.0.1:8000/v1#", "URL#model"),
        ("127.0.0.1:8000#m", "no http URL"),
        ("ftp://h/v1#m", "no http URL"),
        ("http://#m", "no http URL"),
        ("http://h:99999/v1#m", "no URL"),
        ("http://h:0/v1#m", "port 0"),
        ("http://h/a b#m", "no http URL"),
        ("http://[::1/v1#m", "no URL"),
        (f"http://me:{KEY}@h/v1#m", "user name or password"),
        (f"http://h/v1?api_key={KEY}#m", "key in its query"),
        ("http://h/v1#a\x1b[31mb", "cannot be printed"),
        ("missing.yaml", "cannot be read"),
        ("openai", "needs a model"),
    ],
)
def test_malformed_spec_is_one_sentence_without_a_secret(spec: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    with pytest.raises(ConfigError) as caught:
        backends.make(spec)
    assert says in str(caught.value)
    assert KEY not in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("config", "says"),
    [
        (f'[providers.x]\nkey = "{KEY}\n', "no TOML"),
        ("[providers.x]\nkye = 1\n", "did you mean 'key'"),
        ("[providers.x]\nkey = 1\n", "expected str"),
        ("providers = 3\n", "holds tables"),
        ('[providers.x]\nprofile = "vlm"\nurl = "http://h"\n', "did you mean 'vllm'"),
        ('[providers.x]\nprefix_mode = "yes"\nurl = "http://h"\n', "prefix_mode"),
        ("[providers.x]\n", "has no url"),
        ('[providers.x]\nurl = "http://h"\nparameters = { stream = false }\n', "set by rtdesk itself"),
    ],
)
def test_mistake_in_the_config_file_is_one_sentence_without_a_secret(config: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        resolve("x/m", places=places(tmp_path, config=config))
    assert says in str(caught.value)
    assert KEY[:8] not in str(caught.value)


MODEL_FILE = """# a model
model: deepseek-reasoner
url: "https://api.deepseek.com"   # base
api_key: ${DEEPSEEK_API_KEY}
inference_parameters:
  temperature: 0.6
  max_tokens: 32768
  stop: ["END"]
  extra_body:
    top_k: 20
"""


def test_model_file_of_the_reference_package_is_read(tmp_path: Path) -> None:
    (tmp_path / "slow.yaml").write_text(MODEL_FILE)
    found = resolve(str(tmp_path / "slow.yaml"), places=places(tmp_path, {"DEEPSEEK_API_KEY": KEY}))
    assert (found.spec, found.model, found.profile.name, key_of(found)) == ("slow.yaml", "deepseek-reasoner", "deepseek", KEY)
    assert found.parameters == {"temperature": 0.6, "max_tokens": 32768, "stop": ["END"], "top_k": 20}
    with pytest.raises(ConfigError, match="DEEPSEEK_API_KEY"):
        resolve(str(tmp_path / "slow.yaml"), places=places(tmp_path))


def test_yaml_beyond_what_model_files_need_is_refused_by_its_line() -> None:
    assert read_yaml("a: 1\nb:\n  c: true\n  d: 'x: y'\ne: null\n", name="f") == {"a": 1, "b": {"c": True, "d": "x: y"}, "e": None}
    for text in ("a: 1\n- b\n", "a: &x 1\n", "a: |\n  text\n", f"api_key\n  {KEY}\n", "a:\n    b: 1\n  c: 2\n", "a: [1\n", "\ta: 1\n"):
        with pytest.raises(ConfigError, match=r"f: .*line \d") as caught:
            read_yaml(text, name="f")
        assert KEY not in str(caught.value)


# What is sent.


def sent(profile: str, **options: Any) -> dict[str, Any]:
    kept = PROFILES[profile]
    habits = Habits(length_field=kept.length_field, stream_usage=kept.stream_usage, stepwise_usage=kept.stepwise_usage)
    return body(kept, habits, **{"model": "m", "prompt": "Which way?", "parameters": {}, **options})


def test_body_is_what_the_profile_takes() -> None:
    assert sent("deepseek", max_tokens=9) == {
        "model": "m",
        "messages": [{"role": "user", "content": "Which way?"}],
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_tokens": 9,
    }
    assert sent("openai", max_tokens=9)["max_completion_tokens"] == 9
    assert sent("vllm")["stream_options"] == {"include_usage": True, "continuous_usage_stats": True}
    assert "max_tokens" not in sent("vllm")
    both = sent("openai", max_tokens=9, parameters={"max_tokens": 5, "temperature": 0.1, "model": "x", "stream": False}, stop=("END",))
    assert both["max_completion_tokens"] == 5
    assert (both["temperature"], both["model"], both["stream"], both["stop"]) == (0.1, "m", True, ["END"])


def test_answer_begun_by_us_is_continued_as_the_profile_does_it() -> None:
    begun = {"role": "assistant", "content": "1\n"}
    assert sent("llamacpp", prefix="1\n")["messages"][-1] == begun
    assert sent("deepseek", prefix="1\n")["messages"][-1] == {**begun, "prefix": True}
    assert sent("vllm", prefix="1\n")["continue_final_message"] is True
    assert sent("vllm", prefix="1\n")["add_generation_prompt"] is False
    with pytest.raises(ConfigError, match="cannot go on"):
        sent("openai", prefix="1\n")


def refusal(message: str, **error: Any) -> dict[str, Any]:
    return {"error": {"message": message, "type": "invalid_request_error", **error}}


def test_only_a_refused_parameter_we_can_do_without_is_changed_and_only_once() -> None:
    def fresh() -> Habits:
        return Habits(length_field="max_tokens", stream_usage=True, stepwise_usage=True)

    def change(habits: Habits, message: str, status: int = 400, **error: Any) -> str | None:
        return habits.change(status, {"message": message, **error}, message)

    habits = fresh()
    assert change(habits, "continuous_usage_stats: Extra inputs are not permitted") is not None
    assert (habits.stepwise_usage, habits.stream_usage) == (False, True)
    assert change(habits, "Unrecognized request argument supplied: stream_options", 422) is not None
    assert change(habits, "Unrecognized request argument supplied: stream_options") is None
    assert change(habits, "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.") is not None
    assert habits.length_field == "max_completion_tokens"
    assert change(habits, "max_completion_tokens: unknown field") is not None
    assert habits.length_field == "max_tokens"
    # No way back and forth for ever.
    assert change(habits, "max_tokens is not supported") is None
    for message in ("max_tokens is too large: 9000. This model supports at most 4096", "temperature is not supported", "bad request"):
        assert change(fresh(), message) is None
    assert change(fresh(), "stream_options is not supported", 500) is None
    assert change(fresh(), "nope", param="max_tokens", code="unsupported_parameter") is not None


def test_endpoints() -> None:
    assert models_url("http://h/v1/chat/completions?api-version=1") == "http://h/v1/models?api-version=1"
    assert chat_url("http://h/v1?api-version=1") == "http://h/v1/chat/completions?api-version=1"
    for host in ("localhost", "127.0.0.1", "127.9.9.9", "[::1]", "x.localhost", "LOCALHOST.", "0.0.0.0", "[::ffff:127.0.0.1]"):
        assert is_loopback(f"http://{host}:80/v1"), host
    for host in ("128.0.0.1", "example.com", "localhost.example.com", "10.0.0.1", "127.0.0.1.example.com"):
        assert not is_loopback(f"http://{host}:80/v1"), host


# Secrets.


def leaks(text: str, key: str = KEY) -> bool:
    return any(key[at : at + 6] in text for at in range(len(key) - 5))


def test_key_is_in_no_text_and_travels_nowhere(tmp_path: Path) -> None:
    secret = Secret(KEY, where="X")
    assert not leaks(f"{secret} {secret!r} {[secret]} {vars(type(secret))}")
    with pytest.raises(TypeError):
        pickle.dumps(secret)
    endpoint = resolve("deepseek/m", places=places(tmp_path, {"DEEPSEEK_API_KEY": KEY}))
    assert not leaks(repr(endpoint))
    backend = Backend("deepseek/m", places=places(tmp_path, {"DEEPSEEK_API_KEY": KEY}))
    assert not leaks(repr(backend) + repr(backend.info) + repr(backend.ask("?")))
    header = ev.Episode(tick=0, game="snake", load="easy", seed=0, agent="agile", backends={"planner": backend.info})
    assert not leaks(repr(ev.encode(header)))
    backend.close()


@pytest.mark.parametrize("key", ["one two", "line\nbreak", "ключ", "a\x00b"])
def test_key_no_header_can_carry_is_refused_without_being_told(key: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Secret(key, where="MY_KEY")
    assert "MY_KEY" in str(caught.value)
    assert key not in str(caught.value)


def test_key_a_server_repeats_is_taken_out_of_the_message(caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    caplog.set_level(logging.DEBUG)
    said = [f"Incorrect API key provided: {KEY}", f"bad key {KEY[:12]}*****", f"header 'Authorization: Bearer {KEY}' is wrong"]
    for text in said:
        for say in (Say(json.dumps(refusal(text)).encode(), status=401, headers={}, writes="one"), Say(sse(refusal(text)))):
            with ModelServer(say) as server:
                backend = Backend(server.spec, places=places(tmp_path, {"RTDESK_API_KEY": KEY}))
                heard = hear(backend.ask("?"))
                backend.close()
                assert server.asked[0].headers["authorization"] == f"Bearer {KEY}"
            assert heard.error is not None
            assert not leaks(str(heard.error)), str(heard.error)
            assert "***" in str(heard.error)
    assert not leaks(caplog.text)
    assert Secret("abc", where="X").hide("abc abcd (abc)") == "*** abcd (***)"


def test_nothing_heavy_is_loaded_before_the_first_stream() -> None:
    code = (
        "import sys; from workers import backends; backend = backends.make('http://127.0.0.1:9/v1#m'); backend.info;"
        "print([name for name in ('requests', 'urllib3', 'numpy', 'textual') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_request_carries_the_reactors_budget_and_says_who_asks(tmp_path: Path) -> None:
    with ModelServer(Say(sse(delta("\\boxed{U}"), delta(finish="stop"), usage(3)))) as server:
        backend = Backend(server.spec, places=places(tmp_path))
        request = backends.Request(
            stream="reactor", mode="act", game="snake", load="easy", tick=0, max_ticks=9, letters=(("U", "up"),), view={}, prompt="Which way?", budget_tokens=55
        )
        assert hear(backend.stream(request)).error is None
        backend.close()
    asked = server.asked[0]
    assert (asked.path, asked.body["max_tokens"], asked.body["model"]) == ("/v1/chat/completions", 55, "m-test")
    assert asked.body["messages"] == [{"role": "user", "content": "Which way?"}]
    assert re.fullmatch(r"rtdesk/\S+", asked.headers["user-agent"])
    assert "authorization" not in asked.headers
