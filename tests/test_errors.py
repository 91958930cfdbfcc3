"""Every sentence about bad input ends with what to try, read from the source: given and expected; then what to do instead."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

REPOSITORY = Path(__file__).parent.parent
PACKAGES = ("games", "replays", "workers", "rtdesk")
SENTENCES = {"ConfigError", "Exit", "GameError", "ReplayError", "UsageError"}
"""Errors a person meets as one line; a run that failed (WorkerError, exit code 1) says what happened, and there may be nothing to try."""


def words(node: ast.expr) -> str:
    """The literal text of a message, with `{}` where a value stands."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        return "".join(words(part) if isinstance(part, ast.Constant) else "{}" for part in node.values)
    return words(node.left) + words(node.right) if isinstance(node, ast.BinOp) else ""


def sentences() -> Iterator[tuple[str, str]]:
    for path in (file for package in PACKAGES for file in sorted((REPOSITORY / package).rglob("*.py"))):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                text = max((words(argument) for argument in node.args), key=len, default="")
                failed = name == "Exit" and ast.unparse(node.args[0]) != "2"
                # What only hands on another's sentence has none of its own.
                if name in SENTENCES and not failed and any(letter.isalpha() for letter in text.replace("{}", "")):
                    yield f"{path.relative_to(REPOSITORY)}:{node.lineno}", text


def test_every_sentence_about_bad_input_says_what_to_try() -> None:
    found = dict(sentences())
    assert len(found) > 150
    assert {where: text for where, text in found.items() if ";" not in text and "(available: " not in text} == {}


def test_no_sentence_ends_with_a_stop_or_begins_with_a_capital() -> None:
    """They stand behind `rtdesk: ` and may be followed by another's."""
    found = dict(sentences())
    assert {where: text for where, text in found.items() if text.endswith(".") or text[:1].isupper()} == {}
