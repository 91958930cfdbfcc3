"""The dask engine (extra `cluster`): the same episodes on workers of `distributed`, here or on other machines.

Without an address it starts a scheduler and workers of its own, all of them on 127.0.0.1 and without a dashboard. Replays come back with the
rows, so no disk has to be shared. The one thing that surprises: workers at an address run what is sent to them, and read games and agents
from paths of their own; so paths must be whole there, and rtdesk has to be installed beside them in the same version.
"""

from __future__ import annotations

import importlib.util
import logging
import os
import queue
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from rtdesk.bench.episode import play
from rtdesk.bench.folder import write_whole
from rtdesk.bench.grid import Cell, Job
from rtdesk.bench.rows import Row, failed
from rtdesk.leave import Exit
from workers.episode import rtdesk_version
from workers.errors import ConfigError
from workers.live.parts import held_back

if TYPE_CHECKING:
    from distributed import Future

__all__ = ["DaskEngine", "check_dask"]

REACHED_S = 10.0
ATTEMPTS = 3
"""A worker that dies takes with it what waited there as well, and only who was there every time is to blame."""


def check_dask(address: str, cells: Sequence[Cell], *, limited: bool) -> None:
    """Raise ConfigError for what cannot be played there."""
    if importlib.util.find_spec("distributed") is None:
        raise ConfigError("engine dask needs distributed, which is not installed; pip install 'rtdesk[cluster]', or use --engine local")
    if limited:
        raise ConfigError("--time-limit is the local engine's: a worker of dask cannot be ended for one episode; leave it out")
    if not address:
        return
    for cell in cells:
        for name in (cell.game, cell.agent, *cell.thinkers.values()):
            bare = name.partition("+")[0]
            if bare.endswith(".py") and not os.path.isabs(bare):
                raise ConfigError(f"{bare!r} is a path from here, and workers at {address} stand elsewhere; give it whole, and see that it is there")


class DaskEngine:
    """Plays on workers of dask. Raises Exit (1) if no scheduler or no worker of this version can be reached."""

    def __init__(self, address: str, slots: int, *, folder: Path, asked: int | None = None) -> None:
        import dask
        from distributed import Client, LocalCluster

        logging.getLogger("distributed").setLevel(logging.CRITICAL)
        self._folder = folder
        self._deaths: Counter[str] = Counter()
        self._over: queue.SimpleQueue[tuple[Job, Future[Any]]] = queue.SimpleQueue()
        self._cluster: Any = None
        self._scratch: tempfile.TemporaryDirectory[str] | None = None
        # An episode that kills its worker has failed, and is not to kill the others; nothing but loopback is listened at.
        own: dict[str, Any] = {
            "distributed.scheduler.allowed-failures": 0,
            "distributed.admin.low-level-log-length": 0,
            "distributed.comm.timeouts.connect": f"{REACHED_S:g}s",
            "distributed.worker.daemon": True,
        }
        if not address:
            self._scratch = tempfile.TemporaryDirectory(prefix="rtdesk-dask-")
            own["temporary-directory"] = self._scratch.name
        try:
            # The terminal's Ctrl-C is ours alone; what is started from here inherits the mask.
            with held_back(), dask.config.set(own):
                if self._scratch is not None:
                    with _silent():
                        self._cluster = LocalCluster(
                            n_workers=slots,
                            threads_per_worker=1,
                            processes=True,
                            host="127.0.0.1",
                            scheduler_port=0,
                            dashboard_address="127.0.0.1:0",
                            worker_dashboard_address="127.0.0.1:0",
                            scheduler_kwargs={"dashboard": False},
                            preload=__name__,
                            silence_logs=logging.CRITICAL,
                            local_directory=self._scratch.name,
                        )
                self._client: Any = Client(self._cluster or address, timeout=f"{REACHED_S:g}s", set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            self.close()
            raise Exit(1, f"no dask scheduler at {address or '127.0.0.1'}: {' '.join(str(error).split())[:200]}; is it running?") from None
        try:
            self.slots = self._look_at_workers(address, asked)
        except BaseException:
            self.close()
            raise

    def _look_at_workers(self, address: str, asked: int | None) -> int:
        """Return how many episodes they can play at a time."""
        try:
            versions = self._client.run(rtdesk_version)
        except ModuleNotFoundError as error:
            raise Exit(1, f"the workers at {address} cannot import {error.name}; install rtdesk {rtdesk_version()} there") from None
        if not versions:
            raise Exit(1, f"the scheduler at {address} has no workers; start some with: dask worker {address}")
        other = sorted({version for version in versions.values() if version != rtdesk_version()})
        if other:
            raise Exit(1, f"workers at {address} have rtdesk {other[0]}, and this is {rtdesk_version()}; install the same version there")
        threads = sum(self._client.nthreads().values())
        return threads if asked is None else min(asked, threads)

    def start(self, job: Job) -> None:
        future = self._client.submit(_play_far, job, None if self._scratch is None else self._scratch.name, key=f"{job.key}-{os.urandom(4).hex()}", pure=False, retries=0)
        future.add_done_callback(lambda over: self._over.put((job, over)))

    def wait(self, timeout: float) -> list[tuple[Job, Row]]:
        try:
            job, future = self._over.get(timeout=timeout)
        except queue.Empty:
            return []
        row = self._row(job, future)
        return [] if row is None else [(job, row)]

    def _row(self, job: Job, future: Future[Any]) -> Row | None:
        """Return the row of an episode that is over; None if it is played again."""
        from distributed import KilledWorker

        if future.status != "finished":
            error = future.exception() if future.status == "error" else None
            if isinstance(error, KilledWorker):
                self._deaths[job.key] += 1
                if self._deaths[job.key] < ATTEMPTS:
                    self.start(job)
                    return None
                return failed(job.row, f"its worker died while it was played, {ATTEMPTS} times")
            why = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}" if error is not None else f"the episode was {future.status}"
            return failed(job.row, f"its worker failed: {why}")
        row, replay = future.result()
        future.release()
        if row.replay is not None:
            name = Path(row.replay).name
            write_whole(self._folder / name, replay)
            row = msgspec.structs.replace(row, replay=f"{self._folder.name}/{name}")
        return row

    def close(self) -> None:
        """Let go of everything; workers of our own end."""
        client = getattr(self, "_client", None)
        for part in (client, self._cluster):
            if part is not None:
                part.close(timeout=5)
        if self._scratch is not None:
            self._scratch.cleanup()


def _play_far(job: Job, scratch: str | None) -> tuple[Row, bytes]:
    """Play an episode on a worker; return its row and its replay. A worker of our own, which may be ended at any time, writes into `scratch`."""
    with tempfile.TemporaryDirectory(prefix="rtdesk-bench-", dir=scratch) as folder:
        row = play(job, folder)
        data = b"" if row.replay is None else (Path(folder) / Path(row.replay).name).read_bytes()
    return row, data


def dask_setup(worker: object) -> None:
    """What a worker of our own does when it starts: it has our terminal, and what a game prints is to go nowhere near the object on stdout."""
    _hush()


def _hush() -> None:
    with open(os.devnull, "w") as nowhere:
        for stream in (1, 2):
            os.dup2(nowhere.fileno(), stream)


@contextmanager
def _silent() -> Iterator[None]:
    """Say nothing meanwhile; processes that are started now never will, until they are started again."""
    kept = [os.dup(stream) for stream in (1, 2)]
    try:
        _hush()
        yield
    finally:
        for stream, copy in zip((1, 2), kept):
            os.dup2(copy, stream)
            os.close(copy)
