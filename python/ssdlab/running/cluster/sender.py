"""The client's side of files that workers lack. Each is sent once; then workers pass it on."""

from __future__ import annotations

import threading
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

from distributed import Client

from ssdlab.running.cluster import arrivals
from ssdlab.running.job import InputFile

AT_ONCE = 4
"""The number of workers to which files are sent at a time."""


class Sender:
    """Sends files to the workers that request them, while the context lasts."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.topic = f"ssdlab-{client.id}"
        """The topic of the events in which workers request files."""
        self.files: dict[str, InputFile] = {}
        """By digest."""
        self.holders: defaultdict[str, list[str]] = defaultdict(list)
        """Workers to which a file has been sent, by digest."""
        self.first: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
        """Held while a file that no worker has is sent; others wait, to get it from that worker."""
        self.going: set[tuple[str, str]] = set()
        self.sent_bytes = 0
        """From this process."""
        self.lock = threading.Lock()
        self.threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="send")
        client.subscribe_topic(self.topic, self._asked)

    def close(self) -> None:
        """Send no more."""
        self.threads.shutdown(wait=False, cancel_futures=True)

    def offer(self, inputs: tuple[InputFile, ...]) -> None:
        """Note that a run that reads these files is about to be sent."""
        for one in inputs:
            self.files[one.digest] = one

    def _asked(self, event: tuple[float, dict[str, Any]]) -> None:
        worker, digest = event[1]["worker"], event[1]["digest"]
        with self.lock:
            if (worker, digest) in self.going or digest not in self.files:
                return
            self.going.add((worker, digest))
        with suppress(RuntimeError):  # It has been closed.
            self.threads.submit(self._send, worker, self.files[digest])

    def _send(self, worker: str, one: InputFile) -> None:
        try:
            with self.first[one.digest]:
                if not self.holders[one.digest]:
                    self._from_here(worker, one)
                    return
            if not self._from_another(worker, one):
                self._from_here(worker, one)
        except OSError as error:  # of the worker, too: it has gone, or will ask again
            with suppress(Exception):
                why = f"{one.path}: cannot be sent: {error.strerror or error}"
                self._call(worker, arrivals.fail, one.digest, why)
        finally:
            with self.lock:
                self.going.discard((worker, one.digest))

    def _from_another(self, worker: str, one: InputFile) -> bool:
        with self.lock:
            holders = [each for each in self.holders[one.digest] if each != worker]
        for holder in reversed(holders):
            with suppress(Exception):
                if self._call(worker, arrivals.fetch, one.digest, holder):
                    self.holders[one.digest].append(worker)
                    return True
            with self.lock, suppress(ValueError):
                self.holders[one.digest].remove(holder)
        return False

    def _from_here(self, worker: str, one: InputFile) -> None:
        offset, wanted = 0, True
        with Path(one.file).open("rb") as file:
            while wanted and (part := file.read(arrivals.PART_BYTES)):
                wanted = self._call(worker, arrivals.take, one.digest, offset, part)
                offset += len(part)
                self.sent_bytes += len(part)
        if wanted:
            why = f"{one.path}: has become shorter since the run was planned"
            self._call(worker, arrivals.fail, one.digest, why)
        elif offset >= one.bytes:
            self.holders[one.digest].append(worker)

    def _call(self, worker: str, function: Any, *arguments: object) -> Any:  # noqa: ANN401
        return self.client.run(function, *arguments, workers=[worker])[worker]
