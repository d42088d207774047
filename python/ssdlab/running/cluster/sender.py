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
        self.locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
        """Held while a file that no worker has is sent; others wait, to get it from that worker."""
        self.transfers: set[tuple[str, str]] = set()
        self.sent_bytes = 0
        """From this process."""
        self.lock = threading.Lock()
        self.threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="send")
        client.subscribe_topic(self.topic, self._handle_request)

    def close(self) -> None:
        """Send no more."""
        self.threads.shutdown(wait=False, cancel_futures=True)

    def offer(self, inputs: tuple[InputFile, ...]) -> None:
        """Note that a run that reads these files is about to be sent."""
        for source in inputs:
            self.files[source.digest] = source

    def _handle_request(self, event: tuple[float, dict[str, Any]]) -> None:
        worker, digest = event[1]["worker"], event[1]["digest"]
        with self.lock:
            if (worker, digest) in self.transfers or digest not in self.files:
                return
            self.transfers.add((worker, digest))
        with suppress(RuntimeError):  # It has been closed.
            self.threads.submit(self._send, worker, self.files[digest])

    def _send(self, worker: str, source: InputFile) -> None:
        try:
            with self.locks[source.digest]:
                if not self.holders[source.digest]:
                    self._upload(worker, source)
                    return
            if not self._relay(worker, source):
                self._upload(worker, source)
        except OSError as error:  # of the worker, too: it has gone, or will ask again
            with suppress(Exception):
                reason = f"{source.path}: cannot be sent: {error.strerror or error}"
                self._call(worker, arrivals.fail, source.digest, reason)
        finally:
            with self.lock:
                self.transfers.discard((worker, source.digest))

    def _relay(self, worker: str, source: InputFile) -> bool:
        with self.lock:
            holders = [holder for holder in self.holders[source.digest] if holder != worker]
        for holder in reversed(holders):
            with suppress(Exception):
                if self._call(worker, arrivals.fetch, source.digest, holder):
                    self.holders[source.digest].append(worker)
                    return True
            with self.lock, suppress(ValueError):
                self.holders[source.digest].remove(holder)
        return False

    def _upload(self, worker: str, source: InputFile) -> None:
        offset, is_wanted = 0, True
        with Path(source.file).open("rb") as file:
            while is_wanted and (part := file.read(arrivals.PART_BYTES)):
                is_wanted = self._call(worker, arrivals.take, source.digest, offset, part)
                offset += len(part)
                self.sent_bytes += len(part)
        if is_wanted:
            reason = f"{source.path}: has become shorter since the run was planned"
            self._call(worker, arrivals.fail, source.digest, reason)
        elif offset >= source.bytes:
            self.holders[source.digest].append(worker)

    def _call(self, worker: str, function: Any, *arguments: object) -> Any:  # noqa: ANN401
        return self.client.run(function, *arguments, workers=[worker])[worker]
