"""What runs in a guest: programs on its drive, and what of their work has to outlive the drive.

The first process of the guest. It reads calls from a serial line, one JSON array per line with the
name of a function and its arguments, and answers with what the function has returned.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import json
import mmap
import os
import random
import re
import signal
import sqlite3
import struct
import subprocess
import sys
import termios
import threading
import time
import traceback
import tty
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO

DRIVES = {"/dev/nvme0n1": "p", "/dev/vda": ""}
"""What the drive may be called, and what comes before the number of a partition."""
MARKS = 50
"""Pages before the first partition that are marks of a file system: one of each of its files."""
BLKPG = 0x1269
"""The request to have a partition."""
WAIT_S = 600
USERS = "root:x:0:0::/:/bin/sh\npostgres:x:70:70::/tmp:/bin/sh\n"
MAKE = {
    "ext4": ["mkfs.ext4", "-q", "-F", "-E", "nodiscard"],
    "xfs": ["mkfs.xfs", "-q", "-f", "-K"],
    "btrfs": ["mkfs.btrfs", "-q", "-f", "-K"],
}
"""How to make them, without discards: the recorder would look at every block that is discarded."""
CHECK = {
    "ext4": ["e2fsck", "-fn"],
    "xfs": ["xfs_repair", "-n"],
    "btrfs": ["btrfs", "check", "--check-data-csum"],
}
JOURNAL = {"ext4": ("wal", "full"), "xfs": ("delete", "extra"), "btrfs": ("wal", "full")}
"""How SQLite keeps its journal on each file system, and how it synchronises: without `extra`, the
end of a commit by deletion may be lost."""
MOST_OF_ROW = 6_000
"""Bytes of a row at most: enough for pages of overflow, and a thousand kills fit."""
LIBC = ctypes.CDLL(None, use_errno=True)


def run(*words: str, **options: object) -> str:
    """What a program prints that succeeds."""
    done = subprocess.run(words, capture_output=True, text=True, check=False, **options)  # type: ignore[call-overload]
    assert done.returncode == 0, f"{words}: {done.returncode}\n{done.stdout}{done.stderr}"
    return str(done.stdout)


def mount(source: str, target: str, kind: str) -> None:
    """Mount a file system."""
    Path(target).mkdir(parents=True, exist_ok=True)
    if LIBC.mount(source.encode(), target.encode(), kind.encode(), 0, None):
        raise OSError(ctypes.get_errno(), f"mount {source}")


def unmount(target: str) -> None:
    """Unmount it."""
    if LIBC.umount2(target.encode(), 0):
        raise OSError(ctypes.get_errno(), f"umount {target}")


def synchronise(path: Path) -> None:
    """Force a file or folder to the drive."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def contents(version: int) -> bytes:
    """The contents of a file, or of a row, of this version."""
    draw = random.Random(version)
    return draw.randbytes(draw.choice((100, 3_000, 5_000, 70_000)))


def drive() -> str:
    """What the drive is called."""
    return next(name for name in DRIVES if Path(name).exists())


def is_there(page: int = 0) -> bool:
    """Whether the drive answers, and not the memory of this machine.

    The page is one before the first partition, and a mark in the recording.
    """
    descriptor = os.open(drive(), os.O_RDONLY | os.O_DIRECT)
    try:
        with mmap.mmap(-1, mmap.PAGESIZE) as room:
            os.preadv(descriptor, [room], page * mmap.PAGESIZE)
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True


class Files:
    """Files that change; what was forced to the drive has to be there."""

    def __init__(self, folder: Path, first_mark: int) -> None:
        self.folder, self.version, self.draw = folder, 0, random.Random(folder.name)
        self.first_mark = first_mark
        self.possible: dict[str, list[int]] = {}
        """The versions that a file may have: the one that is durable, and later ones. 0: none."""
        self.unheard: set[str] = set()
        """Files of which the drive had gone when the file system said that they were durable."""

    def step(self) -> None:
        """Change a file and force that to the drive."""
        number, self.version = self.draw.randrange(40), self.version + 1
        name = f"file-{number}"
        path, temporary = self.folder / name, self.folder / f"{name}.new"
        is_removal = self.draw.random() < 0.2
        version = 0 if is_removal else self.version
        self.possible.setdefault(name, [0]).append(version)
        if is_removal:
            path.unlink(missing_ok=True)
        elif self.draw.random() < 0.5:
            temporary.write_bytes(contents(version))
            synchronise(temporary)
            temporary.rename(path)
        else:
            path.unlink(missing_ok=True)
            # Between these two there is no file, or a part of it.
            self.possible[name].append(-1)
            path.write_bytes(contents(version))
            synchronise(path)
        synchronise(self.folder)
        self.possible[name] = [version]
        if not is_there(self.first_mark + number):
            self.unheard.add(name)

    def version_of(self, data: bytes | None) -> str:
        """The version that a file has whose versions are others."""
        if data is None:
            return "absent"
        versions = range(self.version, 0, -1)
        version = next((number for number in versions if contents(number) == data), None)
        return f"{len(data)} bytes of none" if version is None else f"version {version}"

    def check(self) -> int:
        """Whether everything is as it may be; how many files there are."""
        for name, possible in self.possible.items():
            path = self.folder / name
            data = path.read_bytes() if path.exists() else None
            candidates = [None if version <= 0 else contents(version) for version in possible]
            index = max(
                (i for i, version in enumerate(candidates) if version == data), default=None
            )
            assert index is not None or -1 in possible, (
                f"{path}: it is none of {possible}, but {self.version_of(data)}; the drive"
                f" {'had gone' if name in self.unheard else 'was there'} when it was forced to it"
            )
            if index is None:
                # A part of a file that was never forced to the drive.
                path.unlink()
                index = possible.index(-1)
            synchronise(self.folder)
            self.possible[name] = [max(possible[index], 0)]
        self.unheard.clear()
        return sum(1 for _ in self.folder.glob("file-*"))


class Rows:
    """Rows of a database of SQLite; what was committed has to be there."""

    def __init__(self, folder: Path, journal: tuple[str, str]) -> None:
        self.path, self.journal, self.committed = folder / "rows.db", journal, 0
        self.database: sqlite3.Connection | None = None

    def open(self) -> sqlite3.Connection:
        """The database."""
        if self.database is None:
            self.database = sqlite3.connect(
                self.path, isolation_level=None, check_same_thread=False
            )
            mode, synchronous = self.journal
            self.database.execute(f"pragma journal_mode={mode}")
            self.database.execute(f"pragma synchronous={synchronous}")
            self.database.execute("create table if not exists t (k integer primary key, v blob)")
        return self.database

    def step(self) -> None:
        """Commit a row."""
        row = self.committed + 1
        self.open().execute("insert into t values (?, ?)", (row, contents(row)[:MOST_OF_ROW]))
        self.committed = row

    def check(self) -> int:
        """Whether every row is there that was committed; how many they are."""
        database = self.open()
        assert database.execute("pragma integrity_check").fetchall() == [("ok",)]
        rows = 0
        for key, value in database.execute("select k, v from t order by k"):
            rows += 1
            assert (key, value) == (rows, contents(rows)[:MOST_OF_ROW]), (
                f"{self.path}: row {rows} is {key}"
            )
        # The last one may be there although the program never heard of it.
        assert rows - self.committed in (0, 1), f"{self.path}: {rows} rows of {self.committed}"
        self.committed = rows
        self.close()
        return rows

    def close(self) -> None:
        """Close the database, which fails if its drive does."""
        if self.database is not None:
            with suppress(sqlite3.Error):
                self.database.close()
            self.database = None


class FileSystem:
    """A file system in a partition, with files and a database."""

    def __init__(self, number: int, kind: str) -> None:
        self.kind, self.folder = kind, f"/mnt/{kind}"
        self.partition = f"{drive()}{DRIVES[drive()]}{number}"
        self.files = Files(Path(self.folder), MARKS * number)
        self.rows = Rows(Path(self.folder), JOURNAL[kind])
        run(*MAKE[kind], self.partition)

    def mount(self) -> None:
        """Mount it, which recovers it after a cut."""
        mount(self.partition, self.folder, self.kind)

    def check(self) -> None:
        """Check it without changing it."""
        run(*CHECK[self.kind], self.partition)


SYSTEMS: list[FileSystem] = []


def partition(kinds: list[str], megabytes: list[int]) -> None:
    """Write a table of partitions, and make file systems of these kinds and sizes."""
    table, start = b"", 2048
    for size in megabytes:
        sectors = size << 11
        table += struct.pack("<B3xB3xII", 0, 0x83, start, sectors)
        start += sectors
    with Path(drive()).open("r+b") as device:
        device.write(bytes(446) + table.ljust(64, b"\0") + b"\x55\xaa")
        device.flush()
        os.fsync(device.fileno())
    add_partitions()
    SYSTEMS[:] = [FileSystem(number, kind) for number, kind in enumerate(kinds, 1)]


def repeat_until_failure(step: Callable[[], None], steps: list[int]) -> None:
    """Repeat a step until the drive fails."""
    count = 0
    try:
        while True:
            step()
            count += 1
    except (OSError, sqlite3.Error) as error:
        is_full = "full" in str(error) or getattr(error, "errno", None) == errno.ENOSPC
        if not is_full:
            steps.append(count)


def work() -> list[int]:
    """Work on all file systems at once until the drive is gone: the steps that were completed."""
    steps: list[int] = []
    mounted = []
    with suppress(OSError):
        for system in SYSTEMS:
            system.mount()
            mounted.append(system)
    parts = [part.step for system in mounted for part in (system.files, system.rows)]
    threads = [threading.Thread(target=repeat_until_failure, args=(part, steps)) for part in parts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(steps) == len(parts), "a step failed although the drive had not: it is full"
    for system in mounted:
        system.rows.close()
        unmount(system.folder)
    return steps


def add_partitions() -> None:
    """Have the partitions of the drive, also with a kernel that cannot read tables of them."""
    with Path(drive()).open("rb") as device:
        device.seek(446)
        table = device.read(64)
        for number, (start, sectors) in enumerate(struct.iter_unpack("<8xII", table), 1):
            if sectors and not Path(f"{drive()}{DRIVES[drive()]}{number}").exists():
                description = struct.pack("qqi132x", start * 512, sectors * 512, number)
                room = ctypes.create_string_buffer(description)
                add = struct.pack("iiiP", 1, 0, len(description), ctypes.addressof(room))
                fcntl.ioctl(device, BLKPG, add)


def wait_for_drive() -> None:
    """Wait until the drive answers again."""
    deadline = time.monotonic() + WAIT_S
    while not is_there():
        assert time.monotonic() < deadline, "the drive does not come back"
        time.sleep(0.05)
    add_partitions()


def check() -> list[int]:
    """Recover all file systems, and check them and what is in them: files and rows of each."""
    wait_for_drive()
    counts = []
    for system in SYSTEMS:
        system.mount()
        counts += [system.files.check(), system.rows.check()]
        unmount(system.folder)
        system.check()
    return counts


class Postgres:
    """A database of PostgreSQL on the first file system."""

    folder = "/mnt/ext4/postgres"
    transactions = 0

    def run(self, *words: str) -> str:
        """What one of its programs prints."""
        return run(*words, user=70, group=70, cwd="/tmp")

    def query(self, text: str) -> str:
        """The answer to a query."""
        return self.run("psql", "-h", "/tmp", "-AtXc", text, "postgres").strip()

    def start(self) -> None:
        """Start it, which recovers it after a cut."""
        options = "-k /tmp -c listen_addresses= -c shared_buffers=16MB -c max_wal_size=64MB"
        self.run(
            "pg_ctl", "-D", self.folder, "-o", options, "-l", "/tmp/log", "-t", str(WAIT_S), "start"
        )

    def stop(self) -> None:
        """Stop it, and wait for the last of its processes."""
        self.run("pg_ctl", "-D", self.folder, "-t", str(WAIT_S), "stop")
        kill_all()


POSTGRES = Postgres()


def make_postgres(scale: int) -> None:
    """Make a database."""
    SYSTEMS[0].mount()
    Path(POSTGRES.folder).mkdir()
    os.chown(POSTGRES.folder, 70, 70)
    POSTGRES.run("initdb", "-D", POSTGRES.folder, "--wal-segsize=1", "-U", "postgres")
    POSTGRES.start()
    POSTGRES.run("pgbench", "-h", "/tmp", "-U", "postgres", "-i", "-s", str(scale), "postgres")
    POSTGRES.query("create extension amcheck")
    POSTGRES.stop()
    unmount(SYSTEMS[0].folder)


def run_postgres(clients: int) -> int:
    """Run transactions until the drive is gone: how many were acknowledged."""
    words = ["pgbench", "-h", "/tmp", "-U", "postgres", "-n", "-c", str(clients), "-T", "3600"]
    try:
        SYSTEMS[0].mount()
    except OSError:
        return 0
    with suppress(AssertionError):  # The drive may be gone before it has started.
        POSTGRES.start()
    process = subprocess.run(
        [*words, "postgres"], user=70, group=70, capture_output=True, text=True, check=False
    )
    count = re.search(r"transactions actually processed: (\d+)", process.stdout)
    acknowledged = int(count[1]) if count else 0
    POSTGRES.transactions += acknowledged
    kill_all()
    unmount(SYSTEMS[0].folder)
    return acknowledged


def kill_all() -> None:
    """Kill all other processes."""
    with suppress(ProcessLookupError):
        os.kill(-1, signal.SIGKILL)
    with suppress(ChildProcessError):
        while True:
            os.wait()


def check_postgres() -> list[int]:
    """Recover the database and check it: transactions that are there, and acknowledged ones."""
    wait_for_drive()
    SYSTEMS[0].mount()
    POSTGRES.start()
    output = POSTGRES.run(
        "pg_amcheck", "-h", "/tmp", "-U", "postgres", "--heapallindexed", "postgres"
    )
    assert not output, output
    tables = ("accounts", "tellers", "branches")
    sums = [
        POSTGRES.query(f"select sum({table[0]}balance) from pgbench_{table}") for table in tables
    ]
    sums.append(POSTGRES.query("select coalesce(sum(delta), 0) from pgbench_history"))
    assert len({*sums}) == 1, sums
    stored = int(POSTGRES.query("select count(*) from pgbench_history"))
    acknowledged = POSTGRES.transactions
    assert stored >= acknowledged, f"{stored} transactions of {acknowledged}"
    POSTGRES.transactions = stored
    POSTGRES.stop()
    unmount(SYSTEMS[0].folder)
    SYSTEMS[0].check()
    return [stored, acknowledged]


def use(device: str, before_number: str) -> None:
    """Use a drive of this name, and of its partitions."""
    DRIVES.clear()
    DRIVES[device] = before_number


def answer_calls(calls: IO[str], line: int) -> None:
    """Answer calls to a line."""
    for call in calls:
        name, *values = json.loads(call)
        try:
            answer = {"value": globals()[name](*values)}
        except Exception:
            answer = {"error": traceback.format_exc()}
        text = json.dumps(answer).encode() + b"\n"
        while text:
            text = text[os.write(line, text) :]


def main_mounted() -> None:
    """Begin beside other programs, in namespaces of its own."""
    for folder in ("/mnt", "/tmp"):
        mount("tmpfs", folder, "tmpfs")
    Path("/tmp").chmod(0o1777)
    Path("/mnt/passwd").write_text(USERS)
    bind = 4096
    assert not LIBC.mount(b"/mnt/passwd", b"/etc/passwd", None, bind, None)
    answer_calls(sys.stdin, sys.stdout.fileno())


def main() -> None:
    """Begin as the first process of a machine."""
    for file_system, folder in (("proc", "/proc"), ("sysfs", "/sys"), ("devtmpfs", "/dev")):
        mount(file_system, folder, file_system)
    for module in sorted(Path("/modules").iterdir()):
        with module.open("rb") as file:
            finit_module = 313
            assert not LIBC.syscall(finit_module, file.fileno(), b"", 0), module
    Path("/etc/passwd").write_text(USERS)
    line = os.open("/dev/ttyS1", os.O_RDWR | os.O_NOCTTY)
    tty.setraw(line)
    termios.tcflush(line, termios.TCIFLUSH)
    with os.fdopen(line, "r", closefd=False) as calls:
        os.write(line, b'\n{"value": null}\n')
        answer_calls(calls, line)
