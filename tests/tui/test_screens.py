"""Pictures of the screen, from one fixed episode, with no clock. Renew with `pytest tests/tui/test_screens.py --snapshot-update` and look."""

from collections.abc import Callable
from typing import Any

import pytest
from material import BUDGET, episode, upto
from textual.pilot import Pilot

from rtdesk.tui.app import DeskApp
from rtdesk.tui.player import ListSource
from rtdesk.tui.scrubber import ScrubApp
from rtdesk.tui.views import Status


class Still:
    """A source that gives its events at once and then stands still."""

    overview = None

    def __init__(self, tick: int, share: float) -> None:
        self.events = upto(episode(), tick, share)
        self.status = Status(rate=1.0, at=(tick + share) * BUDGET)

    def poll(self, now_ns: int) -> list[Any]:
        out, self.events = self.events, []
        return out

    def command(self, what: str, value: str = "") -> str:
        return ""

    def log_lines(self) -> list[str]:
        return []

    def close(self) -> None:
        return None


async def settle(pilot: Pilot[None]) -> None:
    app: Any = pilot.app
    await pilot.pause()
    for _ in range(40):
        app._poll(1)
    app.draw(force=True)
    await pilot.pause()


@pytest.mark.parametrize(
    ("size", "look", "tick", "share"),
    [
        ((80, 24), "dark", 12, 0.95), ((120, 36), "dark", 15, 0.4), ((200, 60), "dark", 21, 0.93), ((120, 36), "light", 10, 0.1), ((80, 24), "mono", 9, 0.9), ((60, 20), "dark", 12, 0.95)
    ],
    ids=["80x24", "120x36-stale-plan", "200x60", "120x36-light-alarm", "80x24-mono", "60x20"],
)
def test_live_screen(snap_compare: Callable[..., bool], monkeypatch: pytest.MonkeyPatch, size: tuple[int, int], look: str, tick: int, share: float) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    app = DeskApp(Still(tick, share), look=look, ascii=False, timer=False, clock=lambda: 1)
    assert snap_compare(app, terminal_size=size, run_before=settle)


def test_replay_screen_with_its_timeline(snap_compare: Callable[..., bool], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    source = ListSource(episode(), mode="replay", playing=False)
    source.poll(1)
    source.command("jump", "8")
    app = ScrubApp(source, look="dark", ascii=False, timer=False, clock=lambda: 1)
    assert snap_compare(app, terminal_size=(120, 36), run_before=settle)


def test_result_card(snap_compare: Callable[..., bool], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    source = Still(0, 0.0)
    source.events = list(episode())
    app = DeskApp(source, look="dark", ascii=False, timer=False, clock=lambda: 1, earlier=lambda state: [0.21, 0.375])
    assert snap_compare(app, terminal_size=(120, 36), run_before=settle)
