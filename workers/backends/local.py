"""A model in a GGUF file as a thinker: `local:FILE.gguf` starts a llama.cpp server in a child process and speaks to it like to any other.

Needs the extra `local` (xllamacpp). Behind the file's name may stand how to run it: `local:FILE.gguf?threads=8&context=8192&layers=99`. The
server listens on 127.0.0.1 at a port of its own, and ends with the process that started it, whatever ends that.

The one thing that surprises: planner and reactor are two processes, and a model is loaded once. So whoever runs an episode starts the
server (`host`) and leaves its address in the environment, where its children look first; a backend that finds none starts its own.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import json
import os
import selectors
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import msgspec

from replays import events as ev
from workers.backends.openai import Backend as Speaker
from workers.backends.openai.settings import Endpoint, Places, resolve
from workers.errors import ConfigError, WorkerError
from workers.plugins import unknown

__all__ = ["Backend", "Host", "Model", "host"]

READY_S = 600.0
"""How long loading may take: a large file comes from a slow disk."""
ENDS_S = 2.0
_MAGIC = b"GGUF"
_CHILD = Path(__file__).with_name("_llama.py")
_NOWHERE = Places(environ={}, folder=Path(os.devnull))
_LAST_WORDS = 2000


class Model(msgspec.Struct, frozen=True, kw_only=True):
    """A file and how to run it."""

    path: str
    context: int = 4096
    """Tokens each stream may read and write."""
    slots: int = 2
    """Streams at a time: planner and reactor."""
    threads: int = 1
    """More are faster only where nobody else computes: on a shared machine two were far slower than one."""
    layers: int = 0
    """Layers that go to a GPU."""

    @property
    def name(self) -> str:
        return Path(self.path).name

    @property
    def variable(self) -> str:
        """The environment variable a running server's address is left in."""
        return f"RTDESK_LOCAL_{hashlib.sha256(repr(self).encode()).hexdigest()[:16].upper()}"


_LIMITS = {"context": (256, 1 << 22), "slots": (1, 64), "threads": (1, 1024), "layers": (0, 10_000)}


def read_spec(rest: str) -> Model:
    """Return what `local:` is followed by. Raises ConfigError, one sentence, for what is no file or no setting."""
    path, _, query = rest.partition("?")
    if not path:
        raise ConfigError("local needs a model; give local:FILE.gguf")
    settings: dict[str, int] = {}
    for name, value in parse_qsl(query, keep_blank_values=True):
        if name not in _LIMITS:
            raise unknown("setting of a local model", name, list(_LIMITS))
        low, high = _LIMITS[name]
        if not value.isascii() or not value.isdigit() or not low <= int(value) <= high:
            raise ConfigError(f"{name}={value!r} of local:{Path(path).name} is out of range; give a whole number from {low} to {high}")
        settings[name] = int(value)
    file = Path(path).expanduser()
    try:
        with open(file, "rb") as source:
            magic = source.read(len(_MAGIC))
    except OSError as error:
        raise ConfigError(f"model file {path!r} cannot be read ({error.strerror}); give local:FILE.gguf") from None
    if magic != _MAGIC:
        raise ConfigError(f"model file {path!r} is no GGUF file; llama.cpp reads models of that format alone")
    return Model(path=str(file.resolve()), **settings)


def check_installed() -> None:
    """Raise ConfigError without the extra."""
    if importlib.util.find_spec("xllamacpp") is None:
        raise ConfigError("local models need xllamacpp; install it with: pip install 'rtdesk[local]'")


class Host:
    """A running server. Raises WorkerError, with its own reason, if the model does not load."""

    def __init__(self, model: Model) -> None:
        check_installed()
        self.model = model
        numbers = (model.context, model.slots, model.threads, model.layers)
        # What llama.cpp says goes to a file, for nobody may have the time to read it; closed with the server.
        self._words = tempfile.TemporaryFile()  # noqa: SIM115
        self._process = subprocess.Popen(
            [sys.executable, "-I", str(_CHILD), model.path, *map(str, numbers)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._words,
            # Ctrl-C in the terminal is for the desk alone.
            start_new_session=True,
        )
        try:
            self.url = self._address()
        except BaseException:
            self.close()
            raise

    @property
    def pid(self) -> int:
        return self._process.pid

    def _address(self) -> str:
        assert self._process.stdout is not None
        deadline = time.monotonic() + READY_S
        line = b""
        with selectors.DefaultSelector() as ready:
            ready.register(self._process.stdout, selectors.EVENT_READ)
            while not line.endswith(b"\n"):
                if not ready.select(max(0.0, deadline - time.monotonic())):
                    raise WorkerError(f"local:{self.model.name} was not ready within {READY_S:g} s; give a smaller model, or see that the machine is not busy")
                data = os.read(self._process.stdout.fileno(), 65536)
                if not data:
                    code = self._process.wait()
                    raise WorkerError(f"local:{self.model.name} does not load: the server ended with exit code {code}{self._told()}")
                line += data
        said: dict[str, str] = json.loads(line)
        if "url" not in said:
            raise WorkerError(f"local:{self.model.name} does not load: {said.get('error', 'no reason given')}{self._told()}")
        return said["url"]

    def _told(self) -> str:
        """The last thing llama.cpp said that sounds like an error."""
        self._words.seek(max(0, self._words.seek(0, os.SEEK_END) - _LAST_WORDS))
        lines = self._words.read().decode("utf-8", "replace").splitlines()
        wrong = [line for line in lines if "error" in line.lower() or "fail" in line.lower()]
        return f" ({' '.join(wrong[-1].split())[:200]})" if wrong else ""

    def close(self) -> None:
        """End the server; safe to call twice."""
        process = self._process
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                # Its input's end is what it waits for.
                with contextlib.suppress(OSError):
                    pipe.close()
        try:
            process.wait(ENDS_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        self._words.close()


class Hosted:
    """A server with its address in the environment, for the children of this process."""

    def __init__(self, model: Model) -> None:
        self._host = Host(model)
        os.environ[model.variable] = self._host.url

    def close(self) -> None:
        os.environ.pop(self._host.model.variable, None)
        self._host.close()


def host(rest: str) -> Hosted | None:
    """Start the server that a spec `local:REST` needs and leave its address to children; None if it runs already."""
    model = read_spec(rest)
    return None if model.variable in os.environ else Hosted(model)


class Backend(Speaker):
    """Speaks to the server of one model. The server is looked for, or started, when its address is first needed."""

    def __init__(self, rest: str = "") -> None:
        self._model = read_spec(rest)
        self._own: Host | None = None
        self._endpoint: Endpoint | None = None
        # It is told an address nobody listens at: what it makes of a spec does not depend on it.
        super().__init__(f"http://127.0.0.1:1/v1#{self._model.name}", places=_NOWHERE)
        settings = {name: getattr(self._model, name) for name in _LIMITS}
        self.info = ev.Backend(spec=f"local:{self._model.name}", title=self._model.name.removesuffix(".gguf"), exact=False, deterministic=False, params=settings)
        self._endpoint = None

    @property
    def endpoint(self) -> Endpoint:
        """Where the server is; starts it if nobody has."""
        if self._endpoint is None:
            url = os.environ.get(self._model.variable)
            if url is None:
                self._own = self._own or Host(self._model)
                url = self._own.url
            self._endpoint = resolve(f"{url}/v1#{self._model.name}", places=_NOWHERE)
        return self._endpoint

    @endpoint.setter
    def endpoint(self, given: Endpoint) -> None:
        self._endpoint = given

    @property
    def continues(self) -> bool:
        """llama.cpp goes on from the assistant's last message."""
        return True

    def check(self, game: str, stream: str) -> None:
        """Raise ConfigError if the server could not even be started."""
        check_installed()

    def describe(self) -> dict[str, Any]:
        """What is known without asking: the context is ours to set."""
        return {"context_tokens": self._model.context, "listed": True}

    def close(self) -> None:
        super().close()
        if self._own is not None:
            self._own.close()
            self._own = None
            self._endpoint = None
