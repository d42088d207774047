"""Files on a device: page cache, extents, and recovery after a power cut."""

from __future__ import annotations

import io
import os
from collections.abc import Iterable
from errno import EBUSY, EINVAL, EIO, ENOENT, ENOSPC
from heapq import heappop, heappush
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO
from weakref import finalize

from ssdlab.errors import WorkloadError

if TYPE_CHECKING:
    from ssdlab.results.measures import Recovery
    from ssdlab.running.device import Device

EXTENT = 64
"""Pages of an extent, the unit in which files get space on the drive."""
UNDER_WAY = -1
"""Stands for the digest of a page whose write has not completed."""


class File:
    """A file on a drive. Its calls take the simulated time of their requests.

    They raise `OSError` (ENOSPC if the drive has no space, EIO if its power was cut since the file
    was opened), and the errors of `Device`.
    """

    def __init__(self, host: Files, data: BinaryIO, extents: Iterable[int] = ()) -> None:
        self.host = host
        self.data = data
        """The contents that programs read; after a power cut, `Files.mount` reverts lost writes."""
        self.size = data.seek(0, io.SEEK_END)
        """Bytes."""
        self.extents = [*extents]
        self.opens = 0
        self.is_lost = False
        """Whether the power was cut since it was opened."""
        self.dirty: set[int] = set()
        """Pages whose newest data have not been written to the drive."""
        self.versions: dict[int, list[tuple[int | None, bytes]]] = {}
        """The possible contents of a page after a power cut, oldest first: digests and data."""

    def lpn(self, page: int) -> int:
        """The address of a page on the drive."""
        return self.extents[page // EXTENT] * EXTENT + page % EXTENT

    def page_data(self, page: int) -> bytes:
        """The data of a page; those of the last page may be shorter."""
        self.data.seek(page * self.host.page_bytes)
        return self.data.read(self.host.page_bytes)

    def read(self, size: int, offset: int) -> bytes:
        """At most `size` bytes from `offset` on; pages that are not cached are read first."""
        pages = self.host.pages(offset, min(size, self.size - offset))
        self.host.fetch(self, pages)
        self.data.seek(offset)
        return self.data.read(size)

    def write(self, data: bytes, offset: int) -> None:
        """Write into the cache; parts of pages that are not cached are read first."""
        host, end = self.host, offset + len(data)
        pages, old_pages = host.pages(offset, len(data)), len(host.pages(0, self.size))
        edges = {offset // host.page_bytes} if offset % host.page_bytes else set()
        if end % host.page_bytes and end < self.size:
            edges.add(end // host.page_bytes)
        host.fetch(self, [page for page in sorted(edges) if page < old_pages])
        host.grow(self, end)
        if host.keeps_versions:
            for page in pages:
                if page not in self.versions:
                    # A page that is new to the file reads as zeros, whatever the drive has there.
                    old_data = self.page_data(page) if page < old_pages else b""
                    self.versions[page] = [(host.device.digest(self.lpn(page)), old_data)]
        self.data.seek(offset)
        self.data.write(data)
        self.size = max(self.size, end)
        self.dirty.update(pages)
        host.touch(self, pages)

    def truncate(self, size: int) -> None:
        """Set the size. Pages beyond it are trimmed, and their extents become free."""
        if size > self.size:
            self.write(b"\0", size - 1)
        elif size < self.size:
            self.data.truncate(size)
            self.host.discard(self, size)

    def sync(self) -> None:
        """Write the dirty pages of the file, wait for them, and flush the drive."""
        self.host.write_back(self)
        self.host.flush()

    def close(self) -> None:
        """Close the file; each call of `Files.open` needs one call of this."""
        self.opens -= 1
        if not self.opens and not self.is_lost:
            self.host.release(self)


class Files:
    """The files on a device, in memory or in `folder`, behind a page cache of `cache_pages`."""

    def __init__(self, device: Device, folder: Path | None, cache_pages: int) -> None:
        config = device.config
        cut = config.values.get("power", {}).get("cut", "never")
        is_volatile = cut == "never" or config["power.buffer"] == "volatile"
        self.device = device
        self.page_bytes: int = config["device.page_bytes"]
        self.keeps_versions: bool = cut != "never" and config["run.data"] != "none"
        # Like Linux, the host sends no flush to a drive without a volatile buffer.
        self._flushes = is_volatile and config["host.write_buffer_pages"] > 0
        self._folder = folder
        if folder:
            folder.mkdir(parents=True, exist_ok=True)
        self._cache_pages = cache_pages
        self._cache: dict[tuple[File, int], None] = {}
        self._files: dict[str, File] = {}
        self._temporary: list[File] = []
        self._free = [*range(config["device.user_pages"] // EXTENT)]
        self._cut_ns: int | None = None
        self._is_off = False

    def exists(self, name: str) -> bool:
        """Whether a file of this name exists."""
        return name in self._files or bool(self._folder and (self._folder / name).is_file())

    def open(self, name: str | None, *, shared: bool = True) -> File:
        """Open the file `name`, created if it does not exist; `None`: a temporary file.

        Raises `OSError` (EBUSY) if the file is open and `shared` is false.
        """
        self._check_power()
        if name is None:
            file = File(self, io.BytesIO())
            self._temporary.append(file)
        elif name in self._files:
            file = self._files[name]
            if file.opens and not shared:
                raise OSError(EBUSY, "the file is open in another connection", name)
        else:
            file = self._load(name)
            self.grow(file, file.size, name)
            file.dirty.update(self.pages(0, file.size))
            if file.size:
                file.sync()
            self._files[name] = file
        file.opens += 1
        return file

    def _load(self, name: str, extents: Iterable[int] = ()) -> File:
        """The file `name` of the folder; without a folder, an empty one."""
        if not name or name != Path(name).name:
            raise OSError(EINVAL, "expected a name without folders", name)
        if not self._folder:
            return File(self, io.BytesIO())
        path = self._folder / name
        path.touch()
        file = File(self, path.open("r+b", buffering=0), extents)
        finalize(file, file.data.close)
        return file

    def release(self, file: File) -> None:
        """Remove the file if it is temporary: it is no longer open."""
        if file in self._temporary and not self._is_off:
            self._temporary.remove(file)
            self.discard(file)

    def remove(self, name: str) -> None:
        """Remove a file and trim its pages. Raises `OSError` (ENOENT, EIO)."""
        self._check_power()
        if not self.exists(name):
            raise OSError(ENOENT, os.strerror(ENOENT), name)
        file = self._files.pop(name, None)
        if self._folder:
            (self._folder / name).unlink()
        if file:
            self.discard(file)

    def idle(self, time_ns: int) -> None:
        """Let simulated time pass while the host does nothing."""
        self._check_power()
        end_ns = self.device.now_ns + time_ns
        self.device.run_until(end_ns if self._cut_ns is None else min(end_ns, self._cut_ns))

    def power_cut(self, at_ns: int | None) -> None:
        """See `Drive.power_cut`."""
        if not self.keeps_versions:
            message = 'a power cut needs power.cut = "on-request" and run.data = "digest"'
            raise WorkloadError(message)
        if at_ns is not None and at_ns < self.device.now_ns:
            message = f"a power cut at {at_ns} ns is in the past: give a time from now on"
            raise WorkloadError(message)
        self._check_power()
        if at_ns is None or at_ns == self.device.now_ns:
            self._lose_power()
        else:
            self._cut_ns = at_ns

    def mount(self) -> Recovery:
        """See `Drive.mount`."""
        recovery = self.device.mount()
        self._is_off = False
        self._cache.clear()
        for file in self._temporary:
            self.discard(file)
            file.is_lost = True
        self._temporary.clear()
        for name, file in self._files.items():
            if file.opens or file.versions:
                self._files[name] = self._survivor(name, file)
        return recovery

    def _survivor(self, name: str, file: File) -> File:
        """The file with the data that the drive has after a power cut."""
        for page, versions in file.versions.items():
            offset = page * self.page_bytes
            length = min(self.page_bytes, file.size - offset)
            surviving_data = _surviving_data(self.device.digest(file.lpn(page)), versions)
            file.data.seek(offset)
            file.data.write(surviving_data[:length].ljust(length, b"\0"))
        file.is_lost = True
        if self._folder:
            return self._load(name, file.extents)
        return File(self, file.data, file.extents)

    # The methods below are called by `File`.

    def pages(self, offset: int, size: int) -> range:
        """The pages of a file that hold `size` bytes from `offset` on."""
        if size <= 0:
            return range(0)
        return range(offset // self.page_bytes, (offset + size - 1) // self.page_bytes + 1)

    def grow(self, file: File, size: int, name: str = "") -> None:
        """Allocate extents for `size` bytes of a file, or none: `OSError` (ENOSPC)."""
        missing = -(-len(self.pages(0, size)) // EXTENT) - len(file.extents)
        if missing > len(self._free):
            extent = EXTENT * self.page_bytes >> 10
            message = f"the drive is full: {missing} extents of {extent} KiB needed"
            raise OSError(ENOSPC, f"{message}, {len(self._free)} free", *[name] * bool(name))
        file.extents += [heappop(self._free) for _ in range(missing)]

    def discard(self, file: File, size: int = 0) -> None:
        """Drop the data of a file beyond `size`, free their extents, and trim their pages."""
        pages = range(len(self.pages(0, size)), len(self.pages(0, file.size)))
        lpns = [file.lpn(page) for page in pages]
        for page in pages:
            self._cache.pop((file, page), None)
            file.dirty.discard(page)
            file.versions.pop(page, None)
        kept_extents = -(-pages.start // EXTENT)
        for extent in file.extents[kept_extents:]:
            heappush(self._free, extent)
        del file.extents[kept_extents:]
        file.size = size
        if lpns:
            self._complete("trim", lpns)

    def fetch(self, file: File, pages: Iterable[int]) -> None:
        """Read the pages that are not in the cache."""
        self._check_power(file)
        pages = [*pages]
        missing = [page for page in pages if (file, page) not in self._cache]
        if missing:
            self._complete("read", [file.lpn(page) for page in missing])
        self.touch(file, pages)

    def touch(self, file: File, pages: Iterable[int]) -> None:
        """Make pages the most recently used ones of the cache, and evict the oldest ones."""
        for page in pages:
            self._cache.pop((file, page), None)
            self._cache[file, page] = None
        while len(self._cache) > self._cache_pages:
            oldest, page = next(iter(self._cache))
            if page in oldest.dirty:
                self.write_back(oldest)
            del self._cache[oldest, page]

    def write_back(self, file: File) -> None:
        """Write all dirty pages of a file at the same time, and wait for them."""
        self._check_power(file)
        pages = sorted(file.dirty)
        if not pages:
            return
        if self.keeps_versions:
            for page in pages:
                data = file.page_data(page)
                file.versions.setdefault(page, []).append((UNDER_WAY, data))
        self._complete("write", [file.lpn(page) for page in pages])
        file.dirty.clear()
        for page in pages if self.keeps_versions else ():
            _, data = file.versions[page][-1]
            file.versions[page][-1] = (self.device.digest(file.lpn(page)), data)
        if not self._flushes:
            self._mark_durable()

    def flush(self) -> None:
        """Flush the buffer of the drive, if it is volatile, and wait for it."""
        if self._flushes:
            self._wait({self.device.flush()})
            self._mark_durable()

    def _mark_durable(self) -> None:
        """Note that the last version of every written page survives a power cut."""
        for file in [*self._files.values(), *self._temporary]:
            dirty = file.versions.keys() & file.dirty
            file.versions = {page: file.versions[page][-1:] for page in sorted(dirty)}

    def _complete(self, op: str, lpns: Iterable[int]) -> None:
        """Submit a request for each run of pages within an extent; wait until all completed."""
        self._check_power()
        starts: list[int] = []
        counts: list[int] = []
        for lpn in lpns:
            if starts and lpn == starts[-1] + counts[-1] and lpn % EXTENT:
                counts[-1] += 1
            else:
                starts.append(lpn)
                counts.append(1)
        self._wait({*self.device.submit(op, starts, counts).tolist()})

    def _wait(self, requests: set[int]) -> None:
        """Run until the requests have completed, and no longer."""
        while requests:
            completions = self.device.run_until_completion(self._cut_ns)
            requests.difference_update(completions.id.tolist())
            if requests and not len(completions):
                self._check_power()

    def _lose_power(self) -> None:
        self._cut_ns = None
        self._is_off = True
        self.device.power_cut()

    def _check_power(self, file: File | None = None) -> None:
        if self._cut_ns == self.device.now_ns:
            self._lose_power()
        if self._is_off or (file and file.is_lost):
            raise OSError(EIO, "the power of the drive was cut: mount it, and open the file again")


def _surviving_data(digest: int | None, versions: list[tuple[int | None, bytes]]) -> bytes:
    """The data of a page that has this digest after a power cut."""
    last_data = versions[-1][1]
    return next((data for version, data in reversed(versions) if version == digest), last_data)
