"""rtdesk: a desk for watching machines think against the clock.

A script needs few names, and they are loaded when they are used:

    make(name, load=..., seed=...)      a game
    simulate(name, agent=..., ...)      one episode in this process; takes the options of `rtdesk play` by name
    realtime(name, tick_budget="6s")    a game that does not wait, for an agent of your own
    open_replay(path)                   a recording
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from games import make
    from replays.reader import open_replay
    from rtdesk.world import realtime
    from workers.simulator import simulate

__all__ = ["make", "open_replay", "realtime", "simulate"]

_HOMES = {"make": "games", "open_replay": "replays.reader", "realtime": "rtdesk.world", "simulate": "workers.simulator"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'rtdesk' has no attribute {name!r}; it offers {', '.join(__all__)}")
    import importlib

    return getattr(importlib.import_module(_HOMES[name]), name)
