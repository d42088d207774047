"""The worker's side of files that are sent to it, by the client or by another worker.

A run that lacks a file reports that to the client in an event (`needs`), and waits. The client then
calls `take` with one part after the other, or `fetch` with the address of a worker that has it.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from distributed import Worker, get_worker

from ssdlab.errors import OutputError
from ssdlab.running.cluster.cache import Cache
from ssdlab.running.job import InputFile

PART_BYTES = 4 << 20
LOOK_S = 0.1
ASK_AGAIN_S = 20.0
GIVE_UP_S = 90.0
"""Without any part arriving."""
READ = "ssdlab_read"
"""The request of another worker that wants a file."""


class Elsewhere(Exception):
    """The run cannot be executed on this worker, but perhaps on another one."""


class _Arrival:
    """A file that is being sent here."""

    def __init__(self, source: InputFile, cache: Cache) -> None:
        self.source = source
        self.cache = cache
        self.file: IO[bytes] = cache.draft(source).open("wb", buffering=0)
        self.hash = hashlib.sha256()
        self.bytes = 0
        self.last_time = time.monotonic()
        self.finished = threading.Event()
        self.failure = ""

    def take(self, offset: int, part: bytes) -> None:
        """Write the next part; one that is already here is ignored. Raises `OSError`."""
        self.last_time = time.monotonic()
        if offset != self.bytes:
            return
        unwritten = memoryview(part)
        while unwritten:
            unwritten = unwritten[self.file.write(unwritten) :]
        self.hash.update(part)
        self.bytes += len(part)
        if self.bytes >= self.source.bytes:
            self._complete()

    def _complete(self) -> None:
        self.file.close()
        if self.hash.hexdigest() == self.source.digest:
            os.utime(self.file.name, (0, 0))  # It does not change any more, however new it is.
            self.cache.settle(self.source)
        else:
            self.failure = (
                f"{self.source.path}: its contents have changed since the run was planned"
            )
        self.finished.set()

    def fail(self, reason: str) -> None:
        """It will not arrive."""
        self.failure = reason
        self.finished.set()

    def end(self) -> None:
        """Leave nothing unfinished behind."""
        with suppress(OSError):
            self.file.close()
        self.cache.drop(self.source)


_arrivals: dict[str, _Arrival] = {}
"""By digest, of this process."""


@contextmanager
def local_file(
    source: InputFile, cache: Cache, topic: str, is_cancelled: Callable[[], bool]
) -> Iterator[Path]:
    """The path of a file, which is fetched if it is not here.

    Raises `Elsewhere` if that fails, and `KeyboardInterrupt` when `is_cancelled` returns true.
    """
    while True:
        with cache.using(source) as path:
            if path is not None:
                yield path
                return
        if is_cancelled():
            raise KeyboardInterrupt
        try:
            with cache.claim(source) as is_ours:
                if is_ours and not cache.path(source).parent.exists():
                    _receive(source, cache, topic, is_cancelled)
                elif not is_ours:
                    time.sleep(LOOK_S)
        except OSError as error:
            raise Elsewhere(_reason(error, cache.folder)) from error


def _reason(error: OSError, folder: Path) -> str:
    if isinstance(error, OutputError):
        return str(error)
    return f"{error.filename or folder}: cannot be written: {error.strerror or error}"


def _receive(source: InputFile, cache: Cache, topic: str, is_cancelled: Callable[[], bool]) -> None:
    worker = get_worker()
    request_s = 0.0
    _arrivals[source.digest] = arrival = _Arrival(source, cache)
    try:
        if source.bytes == 0:
            arrival.take(0, b"")
        while not arrival.finished.wait(LOOK_S):
            quiet_s = time.monotonic() - arrival.last_time
            if is_cancelled():
                raise KeyboardInterrupt
            if quiet_s > GIVE_UP_S:
                message = f"{source.path}: did not arrive from the client within {GIVE_UP_S:.0f} s"
                raise Elsewhere(message)
            if time.monotonic() - request_s > ASK_AGAIN_S < quiet_s or not request_s:
                request_s = time.monotonic()
                needs = {"worker": worker.address, "digest": source.digest, "from": arrival.bytes}
                worker.log_event(topic, needs)
        if arrival.failure:
            raise Elsewhere(arrival.failure)
    finally:
        del _arrivals[source.digest]
        arrival.end()


# Functions called by the client and other workers, in the event loop of the worker.


async def take(digest: str, offset: int, part: bytes) -> bool:
    """Take the next part of a file. Returns whether more of it is wanted."""
    arrival = _arrivals.get(digest)
    if arrival is None:
        return False
    try:
        await asyncio.to_thread(arrival.take, offset, part)
    except OSError as error:
        arrival.fail(_reason(error, arrival.cache.folder))
    return not arrival.finished.is_set()


async def fail(digest: str, reason: str) -> None:
    """A file cannot be sent."""
    if digest in _arrivals:
        _arrivals[digest].fail(reason)


async def fetch(digest: str, peer: str, dask_worker: Worker) -> bool:
    """Get a file from another worker. Returns whether it is here now."""
    arrival = _arrivals.get(digest)
    if arrival is None:
        return True
    name = Path(arrival.source.file).name
    while not arrival.finished.is_set():
        read_remote = getattr(dask_worker.rpc(peer), READ)
        part = await read_remote(digest=digest, name=name, offset=arrival.bytes)
        if not part or not await take(digest, arrival.bytes, part):
            break
    return arrival.finished.is_set()


async def read(digest: str, name: str, offset: int) -> bytes:
    """A part of a file for another worker; empty if the file is not here."""
    entry = Cache.of_environment().folder / digest

    def part() -> bytes:
        with suppress(OSError):
            path = next(entry.iterdir(), entry / name)
            with path.open("rb") as file:
                file.seek(offset)
                return file.read(PART_BYTES)
        return b""

    return await asyncio.to_thread(part)


def serve(dask_worker: Worker) -> None:
    """Let other workers read the files that are here."""
    dask_worker.handlers[READ] = read
