"""Write docs/commands.md from the command line's own help: `python docs/make_commands.py`; a test holds the two together."""

from __future__ import annotations

from pathlib import Path

import click

from rtdesk.cli import cli

PAGE = Path(__file__).with_name("commands.md")
INTRO = """# Commands

Made from the command line's own help by `python docs/make_commands.py`. Exit codes: 0 done; 1 the run failed (the message names the
part); 2 bad usage or bad input; 130 interrupted. Every error is one line: what was given, what was expected, what to try. `--json`
prints exactly one JSON object on stdout and nothing else.
"""


def sections(command: click.Command, words: tuple[str, ...], parent: click.Context | None = None) -> list[str]:
    """Help of a command, and of each below it."""
    context = click.Context(command, info_name=words[-1], parent=parent, help_option_names=["-h", "--help"], max_content_width=100, terminal_width=100)
    text = "\n".join(line.rstrip() for line in command.get_help(context).splitlines())
    out = [f"## {' '.join(words)}\n\n```text\n{text}\n```\n"]
    for name, below in getattr(command, "commands", {}).items():
        out += sections(below, (*words, name), context)
    return out


def page() -> str:
    """The whole page."""
    return "\n".join([INTRO, *sections(cli, ("rtdesk",))])


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
