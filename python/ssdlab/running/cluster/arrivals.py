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

    def __init__(self, one: InputFile, cache: Cache) -> None:
        self.one = one
        self.cache = cache
        self.file: IO[bytes] = cache.draft(one).open("wb", buffering=0)
        self.hash = hashlib.sha256()
        self.bytes = 0
        self.last = time.monotonic()
        self.over = threading.Event()
        self.why_not = ""

    def take(self, offset: int, part: bytes) -> None:
        """Write the next part; one that is already here is ignored. Raises `OSError`."""
        self.last = time.monotonic()
        if offset != self.bytes:
            return
        left = memoryview(part)
        while left:
            left = left[self.file.write(left) :]
        self.hash.update(part)
        self.bytes += len(part)
        if self.bytes >= self.one.bytes:
            self._whole()

    def _whole(self) -> None:
        self.file.close()
        if self.hash.hexdigest() == self.one.digest:
            os.utime(self.file.name, (0, 0))  # It does not change any more, however new it is.
            self.cache.settle(self.one)
        else:
            self.why_not = f"{self.one.path}: its contents have changed since the run was planned"
        self.over.set()

    def fail(self, why: str) -> None:
        """It will not arrive."""
        self.why_not = why
        self.over.set()

    def end(self) -> None:
        """Leave nothing unfinished behind."""
        with suppress(OSError):
            self.file.close()
        self.cache.drop(self.one)


_arriving: dict[str, _Arrival] = {}
"""By digest, of this process."""


@contextmanager
def brought(
    one: InputFile, cache: Cache, topic: str, unwanted: Callable[[], bool]
) -> Iterator[Path]:
    """The path of a file, which is fetched if it is not here.

    Raises `Elsewhere` if that fails, and `KeyboardInterrupt` when the run is `unwanted`.
    """
    while True:
        with cache.using(one) as found:
            if found is not None:
                yield found
                return
        if unwanted():
            raise KeyboardInterrupt
        try:
            with cache.bringing(one) as mine:
                if mine and not cache.path(one).parent.exists():
                    _bring(one, cache, topic, unwanted)
                elif not mine:
                    time.sleep(LOOK_S)
        except OSError as error:
            raise Elsewhere(_reason(error, cache.folder)) from error


def _reason(error: OSError, folder: Path) -> str:
    if isinstance(error, OutputError):
        return str(error)
    return f"{error.filename or folder}: cannot be written: {error.strerror or error}"


def _bring(one: InputFile, cache: Cache, topic: str, unwanted: Callable[[], bool]) -> None:
    worker = get_worker()
    asked = 0.0
    _arriving[one.digest] = arrival = _Arrival(one, cache)
    try:
        if one.bytes == 0:
            arrival.take(0, b"")
        while not arrival.over.wait(LOOK_S):
            quiet_s = time.monotonic() - arrival.last
            if unwanted():
                raise KeyboardInterrupt
            if quiet_s > GIVE_UP_S:
                message = f"{one.path}: did not arrive from the client within {GIVE_UP_S:.0f} s"
                raise Elsewhere(message)
            if time.monotonic() - asked > ASK_AGAIN_S < quiet_s or not asked:
                asked = time.monotonic()
                needs = {"worker": worker.address, "digest": one.digest, "from": arrival.bytes}
                worker.log_event(topic, needs)
        if arrival.why_not:
            raise Elsewhere(arrival.why_not)
    finally:
        del _arriving[one.digest]
        arrival.end()


# Functions called by the client and other workers, in the event loop of the worker.


async def take(digest: str, offset: int, part: bytes) -> bool:
    """Take the next part of a file. Returns whether more of it is wanted."""
    arrival = _arriving.get(digest)
    if arrival is None:
        return False
    try:
        await asyncio.to_thread(arrival.take, offset, part)
    except OSError as error:
        arrival.fail(_reason(error, arrival.cache.folder))
    return not arrival.over.is_set()


async def fail(digest: str, why: str) -> None:
    """A file cannot be sent."""
    if digest in _arriving:
        _arriving[digest].fail(why)


async def fetch(digest: str, peer: str, dask_worker: Worker) -> bool:
    """Get a file from another worker. Returns whether it is here now."""
    arrival = _arriving.get(digest)
    if arrival is None:
        return True
    name = Path(arrival.one.file).name
    while not arrival.over.is_set():
        ask = getattr(dask_worker.rpc(peer), READ)
        part = await ask(digest=digest, name=name, offset=arrival.bytes)
        if not part or not await take(digest, arrival.bytes, part):
            break
    return arrival.over.is_set()


async def read(digest: str, name: str, offset: int) -> bytes:
    """A part of a file for another worker; empty if the file is not here."""
    place = Cache.of_environment().folder / digest

    def part() -> bytes:
        with suppress(OSError):
            other = next(place.iterdir(), place / name)
            with other.open("rb") as file:
                file.seek(offset)
                return file.read(PART_BYTES)
        return b""

    return await asyncio.to_thread(part)


def serve(dask_worker: Worker) -> None:
    """Let other workers read the files that are here."""
    dask_worker.handlers[READ] = read
