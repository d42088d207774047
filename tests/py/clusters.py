"""Schedulers and workers of Dask as a user would start them, on the loopback."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from running import HANG_S

SCHEDULER = "from distributed.cli.dask_scheduler import main; main()"
WORKER = "from distributed.cli.dask_worker import main; main()"
BLIND = "from ssdlab.running.cluster import task; task._is_in_place = lambda one: False\n"
"""A worker on another machine: it sees none of the files here."""
OTHER = "from ssdlab import versions; versions.described = lambda: '0.0.9, results 0'\n"
"""A worker with another version of ssdlab."""
WITHOUT = "import sys; sys.modules['ssdlab'] = None\n"
"""A worker without ssdlab."""


class Dask:
    """A scheduler and its workers, which end with the context."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self.folder = folder
        paths = [str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
        self.environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), **environment}
        self.port = free_port()
        self.address = f"tcp://127.0.0.1:{self.port}"
        self.processes: list[subprocess.Popen[bytes]] = []
        self.scheduler = self.schedule()

    def schedule(self) -> subprocess.Popen[bytes]:
        """Start the scheduler, also once more at the same address."""
        options = ["--host", "127.0.0.1", "--port", str(self.port)]
        self.scheduler = self._started(
            SCHEDULER, *options, "--dashboard-address", "127.0.0.1:0", "--no-show"
        )
        return self.scheduler

    def work(
        self,
        prefix: str = "",
        *options: str,
        limit: Callable[[], None] | None = None,
        cwd: Path | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> subprocess.Popen[bytes]:
        """Start a worker, which runs the program `prefix` first."""
        local = self.folder / f"worker-{len(self.processes)}"
        local.mkdir()
        environment = {"SSDLAB_CACHE": str(local / "cache"), **(environment or {})}
        words = [self.address, "--nthreads", "1", "--no-nanny"]
        words += ["--dashboard-address", "127.0.0.1:0"]
        words += ["--host", "127.0.0.1", "--local-directory", str(local), *options]
        return self._started(prefix + WORKER, *words, limit=limit, cwd=cwd, environment=environment)

    def _started(
        self,
        program: str,
        *words: str,
        limit: Callable[[], None] | None = None,
        cwd: Path | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> subprocess.Popen[bytes]:
        with (self.folder / f"log-{len(self.processes)}").open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-c", program, *words],
                stdout=log,
                stderr=log,
                env={**self.environment, **(environment or {})},
                cwd=cwd or self.folder,
                preexec_fn=limit,
            )
        self.processes.append(process)
        return process

    def wait_for(self, workers: int) -> None:
        """Wait until so many workers have joined."""
        from distributed import Client

        with Client(self.address, timeout=HANG_S, set_as_default=False) as client:
            client.wait_for_workers(workers, timeout=HANG_S)

    def close(self) -> None:
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.wait(HANG_S)


@contextmanager
def dask(folder: Path, environment: Mapping[str, str] | None = None) -> Iterator[Dask]:
    """A scheduler without workers."""
    cluster = Dask(folder, environment or {})
    try:
        yield cluster
    finally:
        cluster.close()


def until(condition: Callable[[], bool]) -> None:
    """Wait until something holds."""
    end = time.monotonic() + HANG_S
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def free_port() -> int:
    """A port of the loopback that nobody uses now."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
    return port
