"""The files of SQLite on an NBD drive: a file layer without a kernel.

A drive has three files, each in a part of its own, with a page for its size in front. Like a
kernel it keeps what is written in memory and writes some of it early. To synchronise a file is to
write its pages, flush the drive, and write the size with FUA; so a size never promises pages that
are not there.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import cast

import apsw

from nbd_client import FLUSH, FUA, WRITE, Client

PAGE = 4096
PLACES = {"": 0, "-journal": 1, "-wal": 2}
GONE = 0
"""In place of one more than the size: there is no file."""
NAME = "rows.db"


class File:
    """A file, as it is in memory; `written` are the pages that the drive has not been given."""

    def __init__(self, client: Client, number: int) -> None:
        share = client.bytes // len(PLACES) // PAGE * PAGE
        self.client, self.start, self.most = client, number * share, share - PAGE
        size = struct.unpack_from("<Q", client.read(self.start, PAGE))[0]
        self.is_there, self.data = size != GONE, bytearray()
        if size > 1:
            pages = -(-(size - 1) // PAGE)
            self.data = bytearray(client.read(self.start + PAGE, pages * PAGE)[: size - 1])
        self.written: set[int] = set()
        self.known_size = size

    def write(self, offset: int, data: bytes) -> None:
        """Write into memory."""
        end = offset + len(data)
        assert end <= self.most, "the file is full"
        self.data.extend(bytes(max(end - len(self.data), 0)))
        self.data[offset:end] = data
        self.written.update(range(offset // PAGE, -(-end // PAGE)))

    def truncate(self, size: int) -> None:
        """Set the size."""
        assert size <= len(self.data), "it would grow"
        del self.data[size:]
        self.written = {page for page in self.written if page * PAGE < size}

    def give(self, pages: set[int]) -> None:
        """Give pages to the drive, all at once."""
        for page in sorted(pages):
            data = bytes(self.data[page * PAGE : (page + 1) * PAGE]).ljust(PAGE, b"\0")
            self.client.send(WRITE, self.start + (page + 1) * PAGE, PAGE, data)
        for _ in pages:
            self.client.answer()
        self.written -= pages

    def synchronise(self) -> None:
        """Force it to the drive."""
        self.give(self.written.copy())
        self.client.ask(FLUSH)
        self.keep_size()

    def keep_size(self) -> None:
        """Force the size to the drive, if it is another one."""
        size = len(self.data) + 1 if self.is_there else GONE
        if size != self.known_size:
            self.client.write(self.start, struct.pack("<Q", size).ljust(PAGE, b"\0"), FUA)
            self.known_size = size

    def remove(self) -> None:
        """Remove it, and force that to the drive."""
        self.is_there = False
        self.truncate(0)
        self.keep_size()


@contextmanager
def as_sqlite() -> Iterator[None]:
    """A drive that is gone, as an error of SQLite."""
    try:
        yield
    except (OSError, EOFError) as error:
        raise apsw.IOError(str(error)) from error


class Handle:
    """A file as SQLite has it open."""

    def __init__(self, file: File, draw: random.Random) -> None:
        self.file, self.draw = file, draw

    def excepthook(self, *_: object) -> bool:
        """The statement raises it."""
        return True

    def xRead(self, amount: int, offset: int) -> bytes:
        return bytes(self.file.data[offset : offset + amount])

    def xWrite(self, data: bytes, offset: int) -> None:
        with as_sqlite():
            self.file.write(offset, data)
            if self.draw.random() < 0.05:
                self.file.give({page for page in self.file.written if self.draw.random() < 0.5})

    def xTruncate(self, size: int) -> None:
        self.file.truncate(size)

    def xSync(self, _flags: int) -> None:
        with as_sqlite():
            self.file.synchronise()

    def xFileSize(self) -> int:
        return len(self.file.data)

    def xClose(self) -> None:
        pass

    def xLock(self, _level: int) -> None:
        pass

    def xUnlock(self, _level: int) -> None:
        pass

    def xCheckReservedLock(self) -> bool:
        return False

    def xSectorSize(self) -> int:
        return PAGE

    def xDeviceCharacteristics(self) -> int:
        return 0

    def xFileControl(self, _op: int, _ptr: int) -> bool:
        return False


class Layer(apsw.VFS):
    """The files of one database on the drive of `client`."""

    def __init__(self, client: Client, draw: random.Random) -> None:
        self.draw = draw
        self.files = {end: File(client, number) for end, number in PLACES.items()}
        super().__init__(f"nbd-{id(self)}", base="", iVersion=2)
        self.name = f"nbd-{id(self)}"

    def file(self, name: str) -> File:
        """The file of this name."""
        return self.files[name.rpartition(NAME)[2]]

    def excepthook(self, *_: object) -> bool:
        """The statement raises it."""
        return True

    def xOpen(self, name: str | apsw.URIFilename | None, _flags: list[int]) -> apsw.VFSFile:
        file = self.file(name.filename() if isinstance(name, apsw.URIFilename) else str(name))
        file.is_there = True
        return cast("apsw.VFSFile", Handle(file, self.draw))

    def xAccess(self, pathname: str, _flags: int) -> bool:
        return bool(self.file(pathname).is_there)

    def xDelete(self, filename: str, _syncdir: bool) -> None:
        with as_sqlite():
            self.file(filename).remove()

    def xFullPathname(self, name: str) -> str:
        return name

    def connection(self) -> apsw.Connection:
        """A connection, the only one."""
        connection = apsw.Connection(NAME, vfs=self.name)
        connection.execute("pragma locking_mode=exclusive")
        connection.execute("pragma temp_store=memory")
        return connection
