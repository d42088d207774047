"""Files read by runs on this machine, kept by their contents for later runs, up to a bound.

A file is whole or absent: it is written under another name, compared with its digest and renamed.
All workers of a machine share the folder, and locks on its entries keep files in use from being
removed.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from dask.utils import parse_bytes

from ssdlab.display.numbers import size
from ssdlab.errors import OutputError
from ssdlab.running.job import InputFile

FOLDER, BOUND = "SSDLAB_CACHE", "SSDLAB_CACHE_SIZE"
"""Environment variables of a worker: the folder of the files, and their total size."""
BOUND_BYTES = 20 << 30


@dataclass(frozen=True)
class Cache:
    """A folder with an entry for each digest, which contains the file under its names."""

    folder: Path
    bound_bytes: int

    @staticmethod
    def of_environment() -> Cache:
        """The cache that the environment defines. Raises `OutputError` for an invalid size."""
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        folder = os.environ.get(FOLDER) or Path(base) / "ssdlab" / "inputs"
        return Cache(Path(folder).absolute(), bound_bytes())

    def path(self, one: InputFile) -> Path:
        """The path of a file, if it is here."""
        return self.folder / one.digest / Path(one.file).name

    @contextmanager
    def using(self, one: InputFile) -> Iterator[Path | None]:
        """The path of a file, which is not removed meanwhile; None if it is not here."""
        place = self.path(one)
        try:
            entry = os.open(place.parent, os.O_RDONLY)
        except OSError:
            yield None
            return
        try:
            _lock(entry, alone=False)
            yield place if self._named(place) else None
        finally:
            os.close(entry)

    def _named(self, place: Path) -> bool:
        """Whether the file exists, under this name or, until now, under another one."""
        with suppress(OSError):
            os.utime(place.parent)  # The order in which entries are removed.
            if place.exists():
                return True
            other = next(place.parent.iterdir(), None)
            if other is not None:
                with suppress(FileExistsError):
                    os.link(other, place)
                return True
        return False

    @contextmanager
    def bringing(self, one: InputFile) -> Iterator[bool]:
        """Whether this thread, and not another one, is to fetch a file now."""
        self.folder.mkdir(parents=True, exist_ok=True)
        lock = os.open(self.folder / f".{one.digest}.lock", os.O_RDWR | os.O_CREAT, 0o666)
        try:
            yield _lock(lock, alone=True, wait=False)
        finally:
            os.close(lock)

    def draft(self, one: InputFile) -> Path:
        """The path for writing a file, with room made for it. Raises `OSError`."""
        if one.bytes > self.bound_bytes:
            message = (
                f"{self.folder}: {size(one.bytes)} of {one.path} are more than the"
                f" {size(self.bound_bytes)} that are kept ({BOUND})"
            )
            raise OutputError(message)
        self._make_room(one.bytes)
        entry = self._unfinished(one)
        shutil.rmtree(entry, ignore_errors=True)  # of a process that was ended
        entry.mkdir()
        return entry / Path(one.file).name

    def settle(self, one: InputFile) -> None:
        """Move the draft, which is whole, to its place."""
        self._unfinished(one).replace(self.path(one).parent)

    def drop(self, one: InputFile) -> None:
        """Give up the draft."""
        shutil.rmtree(self._unfinished(one), ignore_errors=True)

    def _unfinished(self, one: InputFile) -> Path:
        return self.folder / f".{one.digest}.unfinished"

    def _make_room(self, more_bytes: int) -> None:
        """Remove the entries that have been unused for longest, except those in use."""
        found = []
        for entry in self.folder.iterdir():
            with suppress(OSError):
                taken = sum({f.stat().st_ino: f.stat().st_size for f in _files(entry)}.values())
                found.append((entry.stat().st_mtime_ns, entry, taken))
        left = sum(taken for _, _, taken in found) + more_bytes - self.bound_bytes
        for _, entry, taken in sorted(found):
            if left <= 0:
                return
            if not entry.name.startswith(".") and _removed(entry):
                left -= taken


def bound_bytes() -> int:
    """The size of the cache according to the environment."""
    given = os.environ.get(BOUND)
    if not given:
        return BOUND_BYTES
    try:
        return int(parse_bytes(given))
    except ValueError:
        message = f"{BOUND}: {given}: expected a size, such as 20GiB"
        raise OutputError(message) from None


def _files(entry: Path) -> Iterator[Path]:
    yield from entry.iterdir() if entry.is_dir() else [entry]


def _removed(entry: Path) -> bool:
    """Remove an entry, unless a run uses it."""
    with suppress(OSError):
        lock = os.open(entry, os.O_RDONLY)
        try:
            if _lock(lock, alone=True, wait=False):
                shutil.rmtree(entry)
                return True
        finally:
            os.close(lock)
    return False


def _lock(file: int, *, alone: bool, wait: bool = True) -> bool:
    """Lock an open file until it is closed, exclusively or shared."""
    try:
        import fcntl
    except ImportError:  # Windows: nothing keeps two processes apart there.
        return True
    how = fcntl.LOCK_EX if alone else fcntl.LOCK_SH
    try:
        fcntl.flock(file, how if wait else how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
