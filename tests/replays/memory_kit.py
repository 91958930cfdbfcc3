"""The most memory a piece of work had at once. `ru_maxrss` will not do: it starts with the peak of whoever ran before, across exec too."""

from __future__ import annotations

import re
from pathlib import Path

STATUS = Path("/proc/self/status")


class Peak:
    """Counts from when it is made. KiB; Linux."""

    def __init__(self) -> None:
        # Sets the kernel's high-water mark of this process back to what it has now.
        Path("/proc/self/clear_refs").write_text("5")
        self._before = self._mark()

    def kib(self) -> int:
        return self._mark() - self._before

    @staticmethod
    def _mark() -> int:
        found = re.search(r"VmHWM:\s*(\d+) kB", STATUS.read_text())
        assert found is not None
        return int(found[1])
