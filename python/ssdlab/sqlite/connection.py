"""Connections of apsw to databases on a simulated drive."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from contextlib import contextmanager
from errno import EBUSY, EINVAL, ENOENT, ENOSPC
from typing import TYPE_CHECKING, Any, cast

from ssdlab.config.given import typed
from ssdlab.errors import RunError
from ssdlab.sqlite.drive import Drive
from ssdlab.sqlite.files import File, Files
from ssdlab.versions import install

try:
    import apsw
except ImportError as error:
    message = f"ssdlab.sqlite needs apsw, the extra `sqlite`: {install('apsw')}"
    raise ImportError(message) from error

if TYPE_CHECKING:
    from ssdlab.config.resolve import ConfigLike
    from ssdlab.running.device import Device

_numbers = itertools.count(1)
MILLISECONDS_OF_2000 = 211_813_444_800_000
"""The Julian day of 2000-01-01 in milliseconds. Simulated time begins on that day."""
CODES = {
    EBUSY: apsw.SQLITE_BUSY,
    EINVAL: apsw.SQLITE_CANTOPEN,
    ENOENT: apsw.SQLITE_IOERR_DELETE_NOENT,
    ENOSPC: apsw.SQLITE_FULL,
}
EXCLUSIVE = "PRAGMA locking_mode = EXCLUSIVE"


class Connection(apsw.Connection):
    """An `apsw.Connection` to a database on a simulated drive, created by `connect`.

    Every read, write, sync, truncation and removal of a file takes the simulated time of its
    requests, and nothing else takes any. SQL sees simulated time, which begins with the year 2000.
    `random()` and `randomblob()` draw from the seed of the configuration. Two connections cannot
    have a database open at the same time. A full drive raises `apsw.FullError`. A drive that cannot
    continue, or whose power was cut, raises `apsw.IOError`.
    """

    drive: Drive
    """The drive with the files of the database."""

    def __init__(self, name: str, drive: Drive) -> None:
        self.drive = drive
        self._vfs = _Vfs(drive.files)
        super().__init__(name, vfs=self._vfs.name)
        if _is_in_wal_mode(drive.files, name):
            self.execute(EXCLUSIVE)
        random_ = random.Random(drive.device.config["run.seed"])

        def number(*_: object) -> int:
            return random_.getrandbits(64) - (1 << 63)

        def blob(*size: Any) -> bytes:  # noqa: ANN401
            return random_.randbytes(max(1, int(size[0] or 0)))

        self.create_scalar_function("random", number, 0)
        self.create_scalar_function("randomblob", blob, 1)


@typed
def connect(name: str, device: Drive | Device | ConfigLike) -> Connection:
    """Open the database `name`, created if it does not exist, on a simulated drive.

    `device` is a `Drive`, such as that of another connection (`connection.drive`), or an argument
    for a new `Drive`: a preset, a file, a `Config` or a `Device`. WAL mode needs `PRAGMA
    locking_mode = EXCLUSIVE` first, because the files of a simulated drive have no shared memory.
    Raises `ConfigError`, and `apsw.Error` if the database cannot be opened.
    """
    return Connection(name, device if isinstance(device, Drive) else Drive(device))


def _is_in_wal_mode(files: Files, name: str) -> bool:
    """Whether the header of the database indicates WAL; reading it takes no time."""
    if not files.exists(name):
        return False
    file = files.open(name)
    header = file.page_data(0)[:20]
    file.close()
    return header[18:] == b"\2\2"


@contextmanager
def _translate_errors(code: int) -> Iterator[None]:
    """Translate errors of the drive to those of SQLite; `code` is for errors without their own."""
    try:
        yield
    except (OSError, RunError) as error:
        sqlite_error = apsw.exception_for(CODES.get(getattr(error, "errno", None) or 0, code))
        sqlite_error.args = (str(error),)
        raise sqlite_error from error


class _QuietErrors:
    """Keeps apsw from printing errors that SQLite reports by their codes."""

    def excepthook(self, _type: object, error: object, _traceback: object) -> bool:
        """Called if no statement raises the error, for example when a connection ends."""
        return isinstance(error, apsw.Error)


class _Vfs(_QuietErrors, apsw.VFS):
    """The file layer of one connection."""

    def __init__(self, files: Files) -> None:
        self.files = files
        self.name = f"ssdlab-{next(_numbers)}"
        self.is_exclusive = False
        super().__init__(self.name, base=None, iVersion=2)

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:
        shared = not flags[0] & apsw.SQLITE_OPEN_MAIN_DB
        with _translate_errors(apsw.SQLITE_CANTOPEN):
            text = name.filename() if isinstance(name, apsw.URIFilename) else name
            handle = _Handle(self, self.files.open(text, shared=shared))
        return cast("apsw.VFSFile", handle)

    def xAccess(self, pathname: str, _flags: int) -> bool:
        return self.files.exists(pathname)

    def xDelete(self, filename: str, _syncdir: bool) -> None:
        with _translate_errors(apsw.SQLITE_IOERR_DELETE):
            self.files.remove(filename)

    def xFullPathname(self, name: str) -> str:
        return name

    def xRandomness(self, numbytes: int) -> bytes:
        return bytes(numbytes)

    def xSleep(self, microseconds: int) -> int:
        with _translate_errors(apsw.SQLITE_IOERR):
            self.files.idle(1000 * microseconds)
        return microseconds

    def xCurrentTimeInt64(self) -> int:
        return MILLISECONDS_OF_2000 + self.files.device.now_ns // 1_000_000

    def xCurrentTime(self) -> float:
        return self.xCurrentTimeInt64() / 86_400_000

    def xGetLastError(self) -> tuple[int, str]:
        return 0, ""


class _Handle(_QuietErrors):
    """An open file, with the methods that SQLite calls."""

    def __init__(self, vfs: _Vfs, file: File) -> None:
        self.vfs = vfs
        self.file = file

    def xRead(self, amount: int, offset: int) -> bytes:
        with _translate_errors(apsw.SQLITE_IOERR_READ):
            return self.file.read(amount, offset)

    def xWrite(self, data: bytes, offset: int) -> None:
        with _translate_errors(apsw.SQLITE_IOERR_WRITE):
            self.file.write(data, offset)

    def xTruncate(self, newsize: int) -> None:
        with _translate_errors(apsw.SQLITE_IOERR_TRUNCATE):
            self.file.truncate(newsize)

    def xSync(self, _flags: int) -> None:
        with _translate_errors(apsw.SQLITE_IOERR_FSYNC):
            self.file.sync()

    def xFileSize(self) -> int:
        return self.file.size

    def xClose(self) -> None:
        with _translate_errors(apsw.SQLITE_IOERR_CLOSE):
            self.file.close()

    def xLock(self, _level: int) -> None:
        """Do nothing: no other connection has the file open."""

    def xUnlock(self, _level: int) -> None:
        """See `xLock`."""

    def xCheckReservedLock(self) -> bool:
        return False

    def xSectorSize(self) -> int:
        return 4096

    def xDeviceCharacteristics(self) -> int:
        return apsw.SQLITE_IOCAP_POWERSAFE_OVERWRITE

    def xFileControl(self, op: int, ptr: int) -> bool:
        """Refuse WAL without exclusive access: SQLite would silently keep the previous mode."""
        if op == apsw.SQLITE_FCNTL_PRAGMA:
            pragma = apsw.VFSFcntlPragma(ptr)
            name, value = pragma.name.lower(), (pragma.value or "").lower()
            if name == "locking_mode" and value:
                self.vfs.is_exclusive = value == "exclusive"
            if name == "journal_mode" and value == "wal" and not self.vfs.is_exclusive:
                message = "WAL mode needs exclusive access on a simulated drive: first execute"
                raise apsw.SQLError(f"{message} {EXCLUSIVE}")
        return False
