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

    def path(self, source: InputFile) -> Path:
        """The path of a file, if it is here."""
        return self.folder / source.digest / Path(source.file).name

    @contextmanager
    def using(self, source: InputFile) -> Iterator[Path | None]:
        """The path of a file, which is not removed meanwhile; None if it is not here."""
        path = self.path(source)
        try:
            entry = os.open(path.parent, os.O_RDONLY)
        except OSError:
            yield None
            return
        try:
            _lock(entry, exclusive=False)
            yield path if self._is_present(path) else None
        finally:
            os.close(entry)

    def _is_present(self, path: Path) -> bool:
        """Whether the file exists, under this name or, until now, under another one."""
        with suppress(OSError):
            os.utime(path.parent)  # The order in which entries are removed.
            if path.exists():
                return True
            existing = next(path.parent.iterdir(), None)
            if existing is not None:
                with suppress(FileExistsError):
                    os.link(existing, path)
                return True
        return False

    @contextmanager
    def claim(self, source: InputFile) -> Iterator[bool]:
        """Whether this thread, and not another one, is to fetch a file now."""
        self.folder.mkdir(parents=True, exist_ok=True)
        lock = os.open(self.folder / f".{source.digest}.lock", os.O_RDWR | os.O_CREAT, 0o666)
        try:
            yield _lock(lock, exclusive=True, wait=False)
        finally:
            os.close(lock)

    def draft(self, source: InputFile) -> Path:
        """The path for writing a file, with room made for it. Raises `OSError`."""
        if source.bytes > self.bound_bytes:
            message = (
                f"{self.folder}: {size(source.bytes)} of {source.path} are more than the"
                f" {size(self.bound_bytes)} that are kept ({BOUND})"
            )
            raise OutputError(message)
        self._make_room(source.bytes)
        entry = self._unfinished(source)
        shutil.rmtree(entry, ignore_errors=True)  # of a process that was ended
        entry.mkdir()
        return entry / Path(source.file).name

    def settle(self, source: InputFile) -> None:
        """Move the draft, which is whole, to its place."""
        self._unfinished(source).replace(self.path(source).parent)

    def drop(self, source: InputFile) -> None:
        """Give up the draft."""
        shutil.rmtree(self._unfinished(source), ignore_errors=True)

    def _unfinished(self, source: InputFile) -> Path:
        return self.folder / f".{source.digest}.unfinished"

    def _make_room(self, more_bytes: int) -> None:
        """Remove the entries that have been unused for longest, except those in use."""
        entries = []
        for entry in self.folder.iterdir():
            with suppress(OSError):
                size_bytes = sum(
                    {f.stat().st_ino: f.stat().st_size for f in _files(entry)}.values()
                )
                entries.append((entry.stat().st_mtime_ns, entry, size_bytes))
        excess_bytes = (
            sum(size_bytes for _, _, size_bytes in entries) + more_bytes - self.bound_bytes
        )
        for _, entry, size_bytes in sorted(entries):
            if excess_bytes <= 0:
                return
            if not entry.name.startswith(".") and _remove(entry):
                excess_bytes -= size_bytes


def bound_bytes() -> int:
    """The size of the cache according to the environment."""
    text = os.environ.get(BOUND)
    if not text:
        return BOUND_BYTES
    try:
        return int(parse_bytes(text))
    except ValueError:
        message = f"{BOUND}: {text}: expected a size, such as 20GiB"
        raise OutputError(message) from None


def _files(entry: Path) -> Iterator[Path]:
    yield from entry.iterdir() if entry.is_dir() else [entry]


def _remove(entry: Path) -> bool:
    """Remove an entry, unless a run uses it."""
    with suppress(OSError):
        lock = os.open(entry, os.O_RDONLY)
        try:
            if _lock(lock, exclusive=True, wait=False):
                shutil.rmtree(entry)
                return True
        finally:
            os.close(lock)
    return False


def _lock(file: int, *, exclusive: bool, wait: bool = True) -> bool:
    """Lock an open file until it is closed, exclusively or shared."""
    try:
        import fcntl
    except ImportError:  # Windows: nothing keeps two processes apart there.
        return True
    flags = fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH
    try:
        fcntl.flock(file, flags if wait else flags | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
