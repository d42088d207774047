"""Our own cluster, on this machine or by SLURM, in a separate process.

So Ctrl-C reaches only this process, workers inherit nothing of it except where modules are, and a
script needs no `if __name__ == "__main__"`. The cluster's process ends with this one, however that
ends: at the end of its standard input it closes the cluster.
"""

from __future__ import annotations

import logging
import os
import pickle
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from ssdlab.display.argument import argument
from ssdlab.errors import ConfigError
from ssdlab.running import child

LOOPBACK = "127.0.0.1"
CLOSE_S = 20.0


@dataclass(frozen=True)
class Settings:
    """Settings of our own cluster."""

    what: str
    """Its name in messages and in `on`: `local:2`."""
    of: str
    """Its class, in `dask.distributed` or `dask_jobqueue`."""
    options: dict[str, Any]
    """The arguments of the class."""
    least: int | None = None
    most: int = 1
    """How many workers, or jobs; with `least` the number follows the amount of work."""


def local(workers: int) -> Settings:
    """Worker processes on this machine, which nobody else can reach."""
    from distributed.system import MEMORY_LIMIT

    options = {
        "n_workers": workers,
        "threads_per_worker": 1,
        "memory_limit": MEMORY_LIMIT // workers,
        "host": LOOPBACK,
        "dashboard_address": f"{LOOPBACK}:0",
        "worker_dashboard_address": f"{LOOPBACK}:0",
    }
    return Settings(f"local:{workers}", "LocalCluster", options, most=workers)


class HostedCluster:
    """Our own cluster, until it is closed. Raises `ConfigError` if it does not start."""

    def __init__(self, settings: Settings) -> None:
        self.process = subprocess.Popen(
            child.command(__name__),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        assert self.process.stdin
        assert self.process.stdout
        try:
            pickle.dump(sys.path, self.process.stdin)
            pickle.dump(settings, self.process.stdin)
            self.process.stdin.flush()
            address, reason = pickle.load(self.process.stdout)
        except (EOFError, OSError, pickle.UnpicklingError):
            address, reason = None, "its process ended before it had begun"
        except BaseException:
            self.close()
            raise
        if address is None:
            self.close()
            option = argument(on=settings.what)
            raise ConfigError([f"{option}: the cluster does not start: {reason}"])
        self.address = str(address)

    def close(self) -> None:
        """End the cluster and its workers."""
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                with suppress(OSError):
                    stream.close()
        try:
            self.process.wait(CLOSE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


# The other side.


def main() -> None:
    """Host the cluster that standard input describes, until that ends."""
    messages = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    settings = pickle.load(sys.stdin.buffer)
    try:
        cluster = _start(settings)
    except Exception as error:
        pickle.dump((None, str(error) or type(error).__name__), messages)
        messages.flush()
        return
    pickle.dump((cluster.scheduler_address, ""), messages)
    messages.flush()
    sys.stdin.buffer.read()
    with suppress(Exception):
        cluster.close(timeout=CLOSE_S / 2)


def _start(settings: Settings) -> Any:  # noqa: ANN401 - of a library
    from importlib import import_module

    # The process that requested runs reports their fate.
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    module = "dask.distributed" if settings.of == "LocalCluster" else "dask_jobqueue"
    import dask

    # Sampling the activity of workers would cost more than the rest of a short run on them.
    dask.config.set({"distributed.worker.profile.enabled": False})
    kind = getattr(import_module(module), settings.of)
    cluster = kind(**settings.options, silence_logs=logging.CRITICAL)
    if settings.least is not None:
        cluster.adapt(minimum_jobs=settings.least, maximum_jobs=settings.most)
    elif settings.of != "LocalCluster":
        cluster.scale(jobs=settings.most)
    return cluster
