"""From a spec to an endpoint: which URL, which model, which key, which parameters, and where each was found.

A spec is `provider/model`, `URL#model`, or the path of a YAML model file. A variable is looked up in the environment, then in
`.env` in the working directory; a key may also stand in the configuration file. Nothing found there is handed on to another
process: each one looks for itself, so a key is in no argument, no pickle and no header of a replay.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from workers.backends.openai.profiles import COMPATIBLE, PREFIX_MODES, PROFILES, Profile, by_url
from workers.backends.openai.request import RESERVED, chat_url, check_url, is_loopback, shown_url
from workers.backends.openai.secret import Secret
from workers.backends.openai.yamlfile import read_yaml
from workers.errors import ConfigError
from workers.plugins import unknown

__all__ = ["Endpoint", "Places", "config_file", "resolve"]

_MAX_FILE = 1 << 20
_VARIABLE = re.compile(r"\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*?)\s*")
_PROVIDER_KEYS = ("url", "profile", "key", "key_env", "parameters", "reasoning_hidden", "prefix_mode")


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    """Where a model is, and how to ask it."""

    spec: str
    """What the user asked for, fit to be shown."""
    model: str
    profile: Profile
    url: str
    """The chat endpoint."""
    prefix_url: str
    """The endpoint for continued answers."""
    key: Any = None
    """A Secret, or None."""
    parameters: dict[str, Any] = {}
    """More body fields."""
    hides: bool | None = None
    """Whether it hides its reasoning; None if the configuration does not say."""

    @property
    def shown(self) -> str:
        """The URL as messages show it."""
        return shown_url(self.url)


def config_file() -> Path:
    """The file of a user's settings."""
    import platformdirs

    return Path(platformdirs.user_config_dir("rtdesk", appauthor=False)) / "config.toml"


class Places:
    """Where variables and settings are looked up."""

    def __init__(self, *, environ: Mapping[str, str] | None = None, folder: Path | None = None, config: Path | None = None) -> None:
        self._environ = os.environ if environ is None else environ
        self._folder = folder
        self._config = config
        self._dotenv: dict[str, str] | None = None

    def variable(self, name: str) -> tuple[str, str] | None:
        """Return (value, where it was found) of a variable that is set to more than blanks, or None."""
        if value := self._environ.get(name, "").strip():
            return value, name
        if self._dotenv is None:
            self._dotenv = _read_dotenv((self._folder or Path()) / ".env")
        if value := self._dotenv.get(name, "").strip():
            return value, f"{name} of .env"
        return None

    def providers(self) -> dict[str, dict[str, Any]]:
        """Return the `[providers.NAME]` tables of the configuration file. Raises ConfigError if it cannot be read or understood."""
        path = self._config or config_file()
        try:
            text = _read_small(path)
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise ConfigError(f"{path}: cannot be read ({error.strerror}); check its permissions") from error
        try:
            tables = tomllib.loads(text).get("providers", {})
        except tomllib.TOMLDecodeError as error:
            # The parser's text may quote the line, and the line may hold a key.
            place = re.search(r"at line \d+, column \d+", str(error))
            raise ConfigError(f"{path}: no TOML{' ' + place[0] if place else ''}; see docs/models.md for an example") from None
        if not isinstance(tables, dict) or not all(isinstance(table, dict) for table in tables.values()):
            raise ConfigError(f"{path}: 'providers' holds tables, such as [providers.mylab]; see docs/models.md")
        for name, table in tables.items():
            for field, value in table.items():
                if field not in _PROVIDER_KEYS:
                    raise unknown(f"field of [providers.{name}] in {path}", field, list(_PROVIDER_KEYS))
                wanted = {"parameters": dict, "reasoning_hidden": bool}.get(field, str)
                if not isinstance(value, wanted):
                    raise ConfigError(f"{path}: {field} of [providers.{name}] is a {type(value).__name__}, expected {wanted.__name__}; see docs/models.md for an example")
        return tables


def _read_small(path: Path) -> str:
    with open(path, "rb") as source:
        data = source.read(_MAX_FILE + 1)
    if len(data) > _MAX_FILE:
        raise ConfigError(f"{path}: has more than {_MAX_FILE} bytes, which no settings file needs; give another")
    return data.decode("utf-8-sig", "replace").replace("\r\n", "\n")


def _read_dotenv(path: Path) -> dict[str, str]:
    """Return the variables of a .env file; lines that are no assignment are passed over. No file, no variables."""
    try:
        text = _read_small(path)
    except (OSError, ConfigError):
        return {}
    found: dict[str, str] = {}
    for line in text.splitlines():
        if match := _VARIABLE.fullmatch(line):
            name, value = match.groups()
            if value[:1] in ('"', "'") and (end := value.find(value[0], 1)) > 0:
                value = value[1:end]
            else:
                value = re.split(r"\s#", value, maxsplit=1)[0]
            found[name] = value
    return found


def resolve(spec: str, *, places: Places | None = None) -> Endpoint:
    """Return the endpoint a spec means. Raises ConfigError: malformed spec, unknown provider, bad URL, missing key (named by its variable)."""
    places = places or Places()
    spec = spec.strip()
    if spec.endswith((".yaml", ".yml")):
        return _from_yaml(spec, places)
    if "#" in spec or "://" in spec:
        url, _, model = spec.rpartition("#")
        if not url or not model.strip():
            url, model = url or spec, model if url else ""
            shown = check_url(url.rstrip("#"), given="the URL of a model")
            raise ConfigError(f"{shown_url(shown)} does not say which model; write URL#model, such as http://127.0.0.1:8000/v1#qwen3")
        url = check_url(url, given="the URL of a model")
        profile = by_url(url)
        key = _key_of(profile.name, profile, {}, places, url)
        return _endpoint(f"{shown_url(url)}#{model.strip()}", model.strip(), profile, url, key, {})
    name, _, model = spec.partition("/")
    tables = places.providers()
    if name not in PROFILES and name not in tables:
        raise unknown("provider", name, [*PROFILES, *tables])
    if not model.strip():
        raise ConfigError(f"spec {spec!r} names no model; write {name}/MODEL, such as {name}/qwen3-8b")
    table = tables.get(name, {})
    profile = _profile(name, table)
    url = table.get("url") or _url_variable(profile, places) or profile.url
    if not url:
        raise ConfigError(f"provider {name!r} has no url; add url = \"http://...\" to [providers.{name}] in {config_file()}")
    url = check_url(url, given=f"the URL of {name}")
    return _endpoint(spec, model.strip(), profile, url, _key_of(name, profile, table, places, url), table)


def _profile(name: str, table: Mapping[str, Any]) -> Profile:
    kind = table.get("profile", name if name in PROFILES else COMPATIBLE.name)
    if kind != COMPATIBLE.name and kind not in PROFILES:
        raise unknown(f"profile of [providers.{name}]", kind, [*PROFILES, COMPATIBLE.name])
    profile = PROFILES.get(kind, COMPATIBLE)
    if name not in PROFILES:
        # A provider of the user's own shares a profile's ways, not its address or its key.
        profile = msgspec.structs.replace(profile, url="", url_env="", key_env=(), needs_key=False, prefix_url="")
    if mode := table.get("prefix_mode"):
        if mode not in PREFIX_MODES:
            raise unknown(f"prefix_mode of [providers.{name}]", mode, list(PREFIX_MODES))
        profile = msgspec.structs.replace(profile, prefix_mode=mode)
    return profile


def _url_variable(profile: Profile, places: Places) -> str | None:
    found = places.variable(profile.url_env) if profile.url_env else None
    if found is None:
        return None
    url = found[0]
    if "://" not in url:
        # OLLAMA_HOST is a host and perhaps a port.
        bare = url.rstrip("/")
        url = f"http://{bare}" if re.search(r":\d+$", bare) else f"http://{bare}:11434"
    return url


def _key_of(who: str, profile: Profile, table: Mapping[str, Any], places: Places, url: str) -> Secret | None:
    names = (table["key_env"],) if "key_env" in table else profile.key_env
    if not table and profile is COMPATIBLE and is_loopback(url):
        # Every client of such servers sends this one, and a server of one's own may ask for it. It goes to no other machine.
        names = (*names, "OPENAI_API_KEY")
    for name in names:
        if (found := places.variable(name)) and (key := Secret(found[0], where=found[1])):
            return key
    if "key" in table and (key := Secret(table["key"], where="the configuration file")):
        return key
    if names and ("key_env" in table or (profile.needs_key and not is_loopback(url))):
        raise ConfigError(f"no key for {who} at {shown_url(url)}; set {names[0]} in the environment or in .env, or key in {config_file()}")
    return None


def urlhost(url: str) -> str:
    return shown_url(url).partition("://")[2].partition("/")[0]


def _endpoint(spec: str, model: str, profile: Profile, url: str, key: Secret | None, table: Mapping[str, Any]) -> Endpoint:
    if any(not letter.isprintable() for letter in model):
        raise ConfigError(f"model name {model!r} has letters that cannot be printed; give the name as the server lists it")
    parameters = dict(table.get("parameters", {}))
    if wrong := [name for name in parameters if name in RESERVED]:
        raise ConfigError(f"parameter {wrong[0]!r} is set by rtdesk itself; leave it out of the configuration")
    chat = chat_url(url)
    # Another place for continued answers is the provider's own, so it is used only with the provider's own address.
    prefix = chat_url(profile.prefix_url) if profile.prefix_url and urlhost(profile.url) == urlhost(url) else chat
    return Endpoint(
        spec=spec, model=model, profile=profile, url=chat, prefix_url=prefix, key=key, parameters=parameters, hides=table.get("reasoning_hidden")
    )


def _from_yaml(spec: str, places: Places) -> Endpoint:
    """The reference package's model files: model, url, api_key: ${VAR}, inference_parameters."""
    path = Path(spec)
    try:
        text = _read_small(path)
    except OSError as error:
        raise ConfigError(f"model file {spec!r} cannot be read ({error.strerror}); give provider/model, URL#model or a YAML model file") from error
    data = read_yaml(text, name=spec)
    model, url = data.get("model"), data.get("url")
    if not isinstance(model, str) or not model:
        raise ConfigError(f"{spec}: has no model; expected the fields model, url, api_key and inference_parameters")
    profile = by_url(str(url)) if url else PROFILES["openai"]
    url = check_url(str(url or profile.url), given=f"the url of {spec}")
    raw = data.get("api_key")
    table: dict[str, Any] = {}
    if isinstance(raw, str) and (match := re.fullmatch(r"\$\{?([A-Za-z_][A-Za-z0-9_]*)\}?", raw.strip())):
        table["key_env"] = match[1]
    elif raw is not None:
        table["key"] = str(raw)
    parameters = data.get("inference_parameters") or {}
    if not isinstance(parameters, dict):
        raise ConfigError(f"{spec}: inference_parameters is a {type(parameters).__name__}, expected a table of names and values; see docs/models.md for an example")
    extra = parameters.pop("extra_body", None)
    table["parameters"] = {**parameters, **(extra if isinstance(extra, dict) else {})}
    key = _key_of(spec, profile, table, places, url)
    return _endpoint(path.name, model, profile, url, key, table)
