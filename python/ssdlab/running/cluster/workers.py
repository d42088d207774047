"""The workers of a cluster: which of them may execute our runs, and what they have."""

from __future__ import annotations

import threading
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import cloudpickle  # type: ignore[import-untyped]
from distributed import Client

from ssdlab import versions
from ssdlab.display.progress import warn_before_run
from ssdlab.running.cluster import arrivals, check

LOOK_S = 0.5
MEMORY = "ssdlab-memory"
"""The resource of Dask that runs take: bytes."""
FIELDS = "threads", "memory_bytes", "traces_bytes"

cloudpickle.register_pickle_by_value(check)


@dataclass(frozen=True)
class UsableWorker:
    """A worker with our version of ssdlab."""

    address: str
    threads: int
    memory_bytes: int
    """For runs."""
    traces_bytes: int
    """Memory for the traces that they share."""


class Workers:
    """Watches the workers that join and leave, in a thread, until it is closed."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.version = versions.described()
        self.able: dict[str, UsableWorker] = {}
        """Workers that get runs, by address."""
        self.refused: dict[str, str] = {}
        """Why others get none, by address."""
        self.reported: set[str] = set()
        """Those of them that have been reported to the user."""
        self.changed = threading.Event()
        self.closed = threading.Event()
        self.look()
        self.thread = threading.Thread(target=self._watch, name="workers", daemon=True)
        self.thread.start()

    def close(self) -> None:
        """Look no more."""
        self.closed.set()

    def _watch(self) -> None:
        while not self.closed.wait(LOOK_S):
            with suppress(Exception):  # The connection has gone: whoever waits for runs learns it.
                self.look()
                self.tell()

    def look(self) -> None:
        """Ask those that are new."""
        addresses = [*self.client.nthreads()]
        new = [
            address
            for address in addresses
            if address not in self.able and address not in self.refused
        ]
        answers = self._inspect(new) if new else {}
        able = {address: worker for address, worker in self.able.items() if address in addresses}
        for address, answer in answers.items():
            if isinstance(answer, BaseException):
                if not isinstance(answer, OSError):  # else it has gone again
                    self.refused[address] = f"cannot be asked for its version: {answer}"
            elif answer["has"] == self.version:
                able[address] = UsableWorker(address, *(answer[name] for name in FIELDS))
            elif answer["has"]:
                self.refused[address] = f"has ssdlab {answer['has']}"
            else:
                self.refused[address] = f"has no ssdlab ({answer['why']})"
        if able != self.able or new:
            self.able = able
            self.changed.set()

    def tell(self) -> None:
        """Report which workers get no runs, each once."""
        new = [address for address in self.refused if address not in self.reported]
        self.reported.update(new)
        warn_before_run(
            f"worker {address} gets no runs: it {self.refused[address]}; this is {self.version}"
            for address in new
        )

    def _inspect(self, new: list[str]) -> dict[str, Any]:
        answers: dict[str, Any] = self.client.run(
            check.inspect, self.version, MEMORY, workers=new, on_error="return"
        )
        matching = [
            address
            for address, answer in answers.items()
            if isinstance(answer, dict) and answer["has"] == self.version
        ]
        if matching:
            self.client.run(arrivals.serve, workers=matching, on_error="ignore")
        return answers

    @property
    def shared_bytes(self) -> int:
        """A trace of at most this size is shared by the runs of any worker.

        Each of its threads may replay another one.
        """
        return min(
            (worker.traces_bytes // worker.threads for worker in self.able.values()), default=0
        )

    @property
    def threads(self) -> int:
        """How many runs the workers execute at a time, if their memory suffices."""
        return sum(worker.threads for worker in self.able.values())
