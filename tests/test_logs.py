"""One log file for all processes."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

import rtdesk.logs
from rtdesk.logs import Log


def test_log_file_holds_what_every_process_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "deep" / "rtdesk.log"
    monkeypatch.setattr(rtdesk.logs, "log_file", lambda: path)
    kept = logging.lastResort, logging.raiseExceptions, logging.getLogger().level
    log = Log()
    try:
        logging.getLogger("here").warning("a %s word", "plain")
        log.queue.put_nowait(logging.LogRecord("there", logging.INFO, "file.py", 1, "from a child", None, None))
    finally:
        log.close()
        logging.lastResort, logging.raiseExceptions, level = kept
        logging.getLogger().setLevel(level)
    text = path.read_text()
    assert "WARNING here: a plain word" in text
    assert "from a child" in text
