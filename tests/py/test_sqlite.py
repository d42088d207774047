"""SQLite on a simulated drive: the contents of plain SQLite, the same digest at every run."""

from __future__ import annotations

import contextlib
import importlib
import random
import sqlite3
import sys
from collections import ChainMap
from collections.abc import Iterator, Mapping
from pathlib import Path

import apsw
import pytest

import ssdlab
import ssdlab.sqlite
from running import SMALL
from ssdlab.sqlite import Connection, Drive, connect
from ssdlab.sqlite.connection import EXCLUSIVE

KEYS: dict[str, object] = {
    "device.channels": 2,
    "device.chips_per_channel": 2,
    "device.planes_per_chip": 1,
    "device.blocks_per_plane": 64,
    "device.pages_per_block": 32,
    "device.page_size": "4 KiB",
    "device.over_provisioning": 0.25,
}
CUTS: dict[str, object] = {**KEYS, "power.cut": "on-request", "run.data": "digest"}
BUFFERS: dict[str, dict[str, object]] = {
    "none": {},
    "volatile": {"host.write_buffer_pages": 32},
    "protected": {"host.write_buffer_pages": 32, "power.buffer": "protected"},
}
MODES = ("delete", "truncate", "persist", "wal")


def drive(*keys: Mapping[str, object]) -> Drive:
    return Drive(ssdlab.Device(set=dict(ChainMap(*map(dict, keys), KEYS))))


def opened(on: Drive, mode: str = "delete", name: str = "a.db") -> Connection:
    connection = connect(name, on)
    if mode == "wal":
        connection.execute(EXCLUSIVE)
    assert connection.execute(f"PRAGMA journal_mode = {mode}").get == mode
    return connection


def rows(connection: apsw.Connection, query: str = "SELECT * FROM t ORDER BY k") -> list[object]:
    return [*connection.execute(query)]


def statements(seed: int, count: int) -> Iterator[str]:
    """Random statements that any SQLite answers alike."""
    draw = random.Random(seed)
    yield "CREATE TABLE t (k INTEGER PRIMARY KEY, v BLOB)"
    yield "CREATE INDEX i ON t (v)"
    inside = False
    for _ in range(count):
        key, size = draw.randrange(100), draw.choice((10, 300, 3000))
        match draw.randrange(12):
            case 0 | 1:
                inside = not inside
                ended = draw.choice(("COMMIT", "COMMIT", "ROLLBACK"))
                yield "BEGIN" if inside else ended
            case 2:
                yield f"DELETE FROM t WHERE k BETWEEN {key} AND {key + 9}"
            case 3:
                yield f"UPDATE t SET v = zeroblob({size} + k) WHERE k % 7 = {key % 7}"
            case 4 if not inside:
                yield draw.choice(("VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)", "REINDEX"))
            case 5:
                yield f"SAVEPOINT s; DELETE FROM t WHERE k > {key}; ROLLBACK TO s; RELEASE s"
            case _:
                yield f"INSERT OR REPLACE INTO t VALUES ({key}, zeroblob({size}) || 'x{key}')"
    if inside:
        yield "COMMIT"


# ---------------------------------------------------------------- a twin


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("page", "cached"), [("4 KiB", 4096), ("16 KiB", 3), ("4 KiB", 0)])
def test_contents_are_those_of_plain_sqlite(mode: str, page: str, cached: int) -> None:
    device = ssdlab.Device(set={**KEYS, "device.page_size": page})
    ours = connect("a.db", Drive(device, cache_pages=cached))
    plain = apsw.Connection(":memory:")
    if mode == "wal":
        ours.execute(EXCLUSIVE)
    for connection in (ours, plain):
        connection.execute("PRAGMA page_size = 1024; PRAGMA cache_size = 20")
        connection.execute(f"PRAGMA journal_mode = {mode}")
    for statement in statements(seed=cached, count=120):
        for connection in (ours, plain):
            connection.execute(statement)
        assert ours.changes() == plain.changes()
    query = "SELECT k, hex(v) FROM t ORDER BY v, k"  # It sorts in temporary files.
    assert rows(ours, query) == rows(plain, query)
    assert len(rows(ours)) > 20
    assert rows(ours, "PRAGMA integrity_check") == [("ok",)]
    ours.close()
    again = connect("a.db", ours.drive)
    assert rows(again, query) == rows(plain, query)
    device.audit()


def test_databases_that_are_attached_are_on_the_drive() -> None:
    connection = opened(drive())
    connection.execute("ATTACH 'b.db' AS b; CREATE TABLE t (k, v); CREATE TABLE b.t (k, v)")
    with connection:
        connection.execute("INSERT INTO t VALUES (1, 2); INSERT INTO b.t VALUES (3, 4)")
    connection.close()
    assert rows(connect("b.db", connection.drive)) == [(3, 4)]


# ---------------------------------------------------------------- time


@pytest.mark.parametrize("mode", MODES)
def test_the_same_program_has_the_same_digest(mode: str) -> None:
    seen = []
    for _ in range(2):
        connection = opened(drive(), mode)
        connection.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, v BLOB, at TEXT)")
        for key in range(40):
            connection.execute(
                "INSERT INTO t VALUES (?, randomblob(abs(random() % 5000)), strftime('%f', 'now'))",
                (key,),
            )
        contents = rows(connection)
        connection.close()
        device = connection.drive.device
        seen.append((device.now_ns, device.report().provenance.event_digest, contents))
    assert seen[0] == seen[1]
    assert len({str(row)[-10:] for row in seen[0][2]}) > 10, "SQL has the simulated clock"


def test_sql_sees_the_time_of_the_drive() -> None:
    on = drive()
    connection = opened(on)
    on.files.idle(90_061_250_000_000 - on.device.now_ns)
    # One day, one hour, one minute, one second and a quarter after the year 2000 began.
    now = rows(connection, "SELECT strftime('%Y-%m-%d %H:%M:%f', 'now')")
    assert now == [("2000-01-02 01:01:01.250",)]


def test_only_requests_take_time() -> None:
    """Without a write buffer a synced write takes a program, and what is cached takes nothing."""
    device = ssdlab.Device(set=KEYS)
    file = Drive(device, cache_pages=8).files.open("a")
    file.write(b"x" * 4096 * 8, 0)
    assert device.now_ns == 0
    file.sync()
    written = device.now_ns
    assert 0 < written < 2 * device.config["timing.program_ns"] * 2
    file.read(100, 0)
    file.sync()
    assert device.now_ns == written
    assert device.report().requests.write == 1
    file.write(b"y", 8 * 4096)  # Page 1 is the least recently used one.
    file.read(1, 4096)
    assert device.now_ns > written
    assert device.report().requests.read == 1


def test_parts_of_pages_are_read_before_they_are_written() -> None:
    device = ssdlab.Device(set=KEYS)
    file = Drive(device, cache_pages=0).files.open("a")
    file.write(b"x" * 10_000, 0)
    assert device.report().requests.read == 0
    file.write(b"y" * 4096, 100)
    assert device.report().requests.read == 1, "two pages in a row"
    file.write(b"z" * 4096, 4096)
    file.write(b"z" * 2000, 8192)
    assert device.report().requests.read == 1, "whole pages, and one up to the end of the file"
    assert file.read(20_000, 0) == b"x" * 100 + b"y" * 3996 + b"z" * 6096


def test_what_is_removed_is_discarded() -> None:
    on = drive()
    connection = opened(on)
    connection.execute("CREATE TABLE t (k, v); INSERT INTO t VALUES (1, zeroblob(100000))")
    used = (on.device.mapping >= 0).sum()
    assert used > 25
    connection.execute("PRAGMA auto_vacuum = NONE; DELETE FROM t; VACUUM")
    assert (on.device.mapping >= 0).sum() == 2, "the database; its journal is gone"


def test_sleeping_and_writing_through_a_buffer() -> None:
    on = drive(CUTS, BUFFERS["volatile"])
    on.files.idle(1_000_000)
    assert on.device.now_ns == 1_000_000
    file = on.files.open("b")
    file.write(b"x", 0)
    file.sync()
    assert on.device.buffered_pages == 0
    protected = drive(CUTS, BUFFERS["protected"])
    file = protected.files.open("b")
    file.write(b"x", 0)
    file.sync()
    assert protected.device.buffered_pages == 1, "its buffer survives: nothing is flushed"


# ---------------------------------------------------------------- errors


@pytest.mark.parametrize("mode", MODES)
def test_a_full_drive_is_sqlite_full(mode: str) -> None:
    connection = opened(drive({"device.blocks_per_plane": 16}), mode)
    connection.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, v BLOB)")
    keys = iter(range(1000))
    with pytest.raises(apsw.FullError, match=r"the drive is full: .* 0 free"):
        connection.executemany("INSERT INTO t VALUES (?, zeroblob(20000))", ((k,) for k in keys))
    made = next(keys) - 1
    assert made > 50
    [(there,)] = connection.execute("SELECT count(*) FROM t")
    # With WAL the checkpoint after a commit may be what found no room.
    assert there - made in ((0, 1) if mode == "wal" else (0,))
    assert rows(connection, "PRAGMA integrity_check") == [("ok",)]
    with contextlib.suppress(apsw.FullError):
        connection.close()


def test_a_drive_that_cannot_go_on_is_an_io_error() -> None:
    worn = {"wear.endurance": 3, "device.blocks_per_plane": 16}
    connection = opened(drive(worn))
    connection.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, v BLOB)")
    statement = "REPLACE INTO t VALUES (1, zeroblob(400000))"
    with pytest.raises(apsw.IOError) as raised:
        connection.executemany(statement, [()] * 5000)
    assert isinstance(raised.value.__cause__, ssdlab.RunError)
    assert raised.value.__cause__.report.flash.erases > 0
    with contextlib.suppress(apsw.IOError):
        connection.close()


def test_a_database_has_one_connection() -> None:
    connection = opened(drive())
    connection.execute("CREATE TABLE t (k)")
    with pytest.raises(apsw.BusyError, match=r"open in another connection: 'a\.db'"):
        connect("a.db", connection.drive)
    connection.close()
    assert rows(connect("a.db", connection.drive), "SELECT * FROM t") == []


def test_wal_says_what_it_needs_and_a_database_in_it_opens_again() -> None:
    connection = connect("a.db", drive())
    with pytest.raises(apsw.SQLError, match=f"first execute {EXCLUSIVE}"):
        connection.execute("PRAGMA journal_mode = wal")
    assert rows(connection, "PRAGMA journal_mode") == [("delete",)]
    connection.close()
    connection = opened(connection.drive, "wal")
    connection.execute("CREATE TABLE t (k); INSERT INTO t VALUES (7)")
    connection.close()
    again = connect("a.db", connection.drive)
    assert rows(again, "SELECT * FROM t") == [(7,)]
    assert rows(again, "PRAGMA journal_mode") == [("wal",)]


def test_wrong_arguments_are_refused() -> None:
    device = ssdlab.Device(set=KEYS)
    assert Drive(device).device is device
    with pytest.raises(ssdlab.ConfigError, match="another Drive uses this device"):
        connect("a.db", device)
    with pytest.raises(ssdlab.ConfigError, match="cache_pages: found -1; expected 0 or more"):
        Drive(ssdlab.Device(set=KEYS), cache_pages=-1)
    with pytest.raises(ssdlab.ConfigError, match='set "on-request"'):
        drive({"power.cut": {"every": "1 s"}})
    with pytest.raises(ssdlab.ConfigError, match="greedy-8hc"):
        connect("a.db", "greedy-8hc")
    with pytest.raises(apsw.CantOpenError, match="without folders"):
        connect("some/a.db", drive())
    with pytest.raises(ssdlab.WorkloadError, match=r'run\.data = "digest"'):
        drive().power_cut()
    with pytest.raises(ssdlab.WorkloadError, match="in the past"):
        drive(CUTS).power_cut(-1)


def test_without_apsw_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "apsw", None)
    monkeypatch.delitem(sys.modules, "ssdlab.sqlite.connection")
    with pytest.raises(ImportError, match=r"the extra `sqlite`: .*pip install '?apsw"):
        importlib.import_module("ssdlab.sqlite.connection")


# ---------------------------------------------------------------- folders and drives


def test_a_folder_has_the_databases_of_any_program(tmp_path: Path) -> None:
    first = connect("a.db", Drive(ssdlab.Device(set=KEYS), folder=tmp_path / "data"))
    first.execute("CREATE TABLE t (k, v); INSERT INTO t VALUES (1, zeroblob(300000))")
    first.close()
    with sqlite3.connect(tmp_path / "data/a.db") as plain:
        assert plain.execute("SELECT k, length(v) FROM t").fetchall() == [(1, 300_000)]
        plain.execute("INSERT INTO t VALUES (2, 'two')")
    plain.close()
    second = connect("a.db", Drive(ssdlab.Device(set=KEYS), folder=tmp_path / "data"))
    report = second.drive.device.report()
    assert report.requests.write > 0, "it is written to the new drive"
    assert second.drive.device.now_ns > 0
    assert rows(second, "SELECT k FROM t") == [(1,), (2,)]
    second.execute("DELETE FROM t WHERE k = 1; VACUUM")
    second.close()
    third = connect("a.db", second.drive)
    assert rows(third, "SELECT * FROM t") == [(2, "two")]
    third.close()
    assert [file.name for file in (tmp_path / "data").iterdir()] == ["a.db"]


def test_a_configuration_makes_a_drive_that_is_preconditioned() -> None:
    config = ssdlab.load_config(set=SMALL)
    connection = connect("a.db", config)
    assert (connection.drive.device.mapping >= 0).all()
    assert connection.drive.device.config == config


# ---------------------------------------------------------------- power


def cut_in_a_random_moment(on: Drive, mode: str, seed: int, synchronous: str) -> tuple[int, int]:
    """Committed transactions before a cut, and those that are there after it."""
    connection = opened(on, mode)
    connection.execute(f"PRAGMA synchronous = {synchronous}; PRAGMA wal_autocheckpoint = 20")
    connection.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, v BLOB)")
    connection.execute("CREATE TABLE n (n); INSERT INTO n VALUES (0)")
    draw = random.Random(seed)
    on.power_cut(on.device.now_ns + draw.randrange(1, 60_000_000))
    committed = 0
    with contextlib.suppress(apsw.IOError, apsw.CantOpenError):
        while True:
            with connection:
                key, size = draw.randrange(40), draw.randrange(6000)
                connection.execute("REPLACE INTO t VALUES (?, zeroblob(?))", (key, size))
                connection.execute("UPDATE n SET n = n + 1")
            committed += 1
    on.mount()
    with pytest.raises(apsw.IOError, match="the power of the drive was cut"):
        connection.execute("UPDATE n SET n = -1")
    with contextlib.suppress(apsw.IOError):
        connection.close()
    again = connect("a.db", on)
    assert rows(again, "PRAGMA integrity_check") == [("ok",)]
    [(there,)] = again.execute("SELECT n FROM n")
    twin = random.Random(seed)
    twin.randrange(1, 60_000_000)
    expected = {}
    for _ in range(there):
        key, size = twin.randrange(40), twin.randrange(6000)
        expected[key] = size
    assert dict(again.execute("SELECT k, length(v) FROM t")) == expected
    again.close()
    on.device.audit()
    return committed, there


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("buffer", BUFFERS)
def test_a_power_cut_loses_nothing_that_was_committed(mode: str, buffer: str) -> None:
    for seed in range(6):
        on = drive(CUTS, BUFFERS[buffer])
        committed, there = cut_in_a_random_moment(on, mode, seed, "FULL")
        assert committed <= there <= committed + 1


def test_a_power_cut_takes_what_was_not_synced() -> None:
    """The test above would notice a drive that forgets nothing."""
    lost = 0
    for seed in range(6):
        on = drive(CUTS, BUFFERS["volatile"])
        committed, there = cut_in_a_random_moment(on, "wal", seed, "NORMAL")
        lost += committed - there
    assert lost > 0


def test_a_folder_takes_as_long_as_memory(tmp_path: Path) -> None:
    """Even where pages are written to the drive after their file was closed."""
    seen = []
    for folder in (None, tmp_path):
        device = ssdlab.Device(set={**CUTS, **BUFFERS["volatile"]})
        connection = opened(Drive(device, folder=folder, cache_pages=20), "persist")
        connection.execute("PRAGMA synchronous = OFF; CREATE TABLE t (k INTEGER PRIMARY KEY, v)")
        for key in range(60):
            connection.execute("REPLACE INTO t VALUES (?, randomblob(9000))", (key % 17,))
        connection.close()
        other = connection.drive.files.open("b")
        other.write(b"b" * 100_000, 0)
        other.close()
        seen.append(device.report().provenance.event_digest)
    assert seen[0] == seen[1]


def test_pages_that_no_sync_covers_are_those_before(tmp_path: Path) -> None:
    for folder in (None, tmp_path):
        on = Drive(ssdlab.Device(set={**CUTS, **BUFFERS["volatile"]}), folder=folder)
        file = on.files.open("a")
        file.write(b"a" * 8192, 0)
        file.sync()
        file.write(b"b" * 100, 50)
        on.files.write_back(file)
        file.write(b"c" * 5000, 8192)
        on.power_cut()
        with pytest.raises(OSError, match="the power of the drive was cut"):
            file.read(1, 0)
        on.mount()
        with pytest.raises(OSError, match="the power of the drive was cut"):
            file.sync()
        file.close()
        again = on.files.open("a")
        assert again.read(20_000, 0) == b"a" * 8192 + b"\0" * 5000
        again.close()
