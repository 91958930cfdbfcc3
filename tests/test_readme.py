"""What the README and the docs say, held to what is there."""

from __future__ import annotations

import doctest
import importlib.util
import re
import shlex
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def test_readme_examples_run_as_doctests() -> None:
    results = doctest.testfile(str(ROOT / "README.md"), module_relative=False)
    assert results.attempted >= 5
    assert results.failed == 0


def test_commands_page_is_the_command_lines_own_help() -> None:
    spec = importlib.util.spec_from_file_location("make_commands", ROOT / "docs" / "make_commands.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    # Words, not layout: releases of click wrap help in different places.
    assert (ROOT / "docs" / "commands.md").read_text(encoding="utf-8").split() == module.page().split(), "run: python docs/make_commands.py"


def commands() -> list[str]:
    """Every `rtdesk ...` line of the README and the docs that stands in an indented block."""
    found = []
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        for line in page.read_text(encoding="utf-8").splitlines():
            match = re.match(r" {4}(rtdesk .*?)(?:\s+#.*)?$", line)
            if match:
                found.append(match[1])
    return found


@pytest.mark.parametrize("line", sorted(set(commands())))
def test_every_command_shown_is_one_the_command_line_takes(line: str) -> None:
    from rtdesk.cli import cli

    words = shlex.split(line)[1:]
    command = cli.commands.get(words[0])
    assert command is not None, line
    context = command.make_context(words[0], words[1:], resilient_parsing=False)
    assert context.command is command


@pytest.mark.parametrize("page", ["README.md", *(f"docs/{page.name}" for page in sorted((ROOT / "docs").glob("*.md")))])
def test_links_lead_somewhere(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)", text):
        if "://" not in target:
            assert ((ROOT / page).parent / target).exists(), f"{page} links to {target}"


def test_the_code_refers_to_pages_and_headings_that_are_there() -> None:
    headings = {page.name: re.findall(r"^#+ (.*)$|^\*\*([\w ]+)[.*]", page.read_text(encoding="utf-8"), re.MULTILINE) for page in (ROOT / "docs").glob("*.md")}
    missing, seen = [], 0
    for path in (file for package in ("games", "replays", "workers", "rtdesk", "benchmarks", "tests") for file in sorted((ROOT / package).rglob("*.py"))):
        for name, heading in re.findall(r"docs/([a-z-]+\.md)(?:, ([A-Z][a-z]+(?: [a-z]+)*))?", path.read_text(encoding="utf-8")):
            seen += bool(heading)
            known = " ".join(" ".join(pair) for pair in headings.get(name, []))
            if name not in headings or heading not in known:
                missing.append(f"{path.relative_to(ROOT)}: docs/{name}, {heading}".rstrip(", "))
    assert missing == []
    assert seen > 10
