"""Play the recordings of docs/case-study.md again, and draw docs/desk.svg and docs/desk.gif from one of them: `python docs/make_recordings.py`.

To be run when a builtin thinker, an agent or a prompt has changed; tests/test_case_study.py says when the files or the page are behind.
"""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from rtdesk.cli import run

DOCS = Path(__file__).parent
AGENTS = ("reactive", "planning", "agile")
PLAY = "play snake --load hard --seed 15 --ticks 30 --agent {agent} --headless --record {path}"
PICTURES = (
    "export {docs}/recordings/trap-agile.rtr --to svg --tick 19.95 --size 120x36 -o {docs}/desk.svg",
    "export {docs}/recordings/trap-agile.rtr --to gif --ticks 17-23 --fps 4 -o {docs}/desk.gif",
)


def main() -> int:
    """Make everything anew. Returns the first exit code that is not 0."""
    commands = [(DOCS / "recordings" / f"trap-{agent}.rtr", PLAY.format(agent=agent, path=DOCS / "recordings" / f"trap-{agent}.rtr")) for agent in AGENTS]
    commands += [(DOCS / f"desk.{ending}", text.format(docs=DOCS)) for ending, text in zip(("svg", "gif"), PICTURES)]
    for target, command in commands:
        target.unlink(missing_ok=True)
        code = run(shlex.split(command))
        if code:
            return code
    return 0


if __name__ == "__main__":
    sys.exit(main())
