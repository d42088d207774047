"""The store from Python: API, command line, errors."""

import threading
from pathlib import Path

import pytest

from running import refused, ssdlab_command
from ssdlab import kv


@pytest.fixture
def db(tmp_path: Path) -> kv.DB:
    return kv.open(tmp_path / "store", create_if_missing=True)


def test_read_what_was_written(db: kv.DB) -> None:
    db.put(b"a", b"1")
    db.put(b"b", b"2", sync=True)
    db.delete(b"a")
    assert db.get(b"a") is None
    assert db.get(b"a", b"nothing") == b"nothing"
    assert db.get(b"b", verify_checksums=True) == b"2"
    assert list(db) == [(b"b", b"2")]


def test_batches(db: kv.DB) -> None:
    with db.write_batch(sync=True) as batch:
        batch.put(b"a", b"1")
        batch.put(b"b", b"2")
        batch.delete(b"a")
        assert len(batch) == 3
        assert not list(db)
    assert list(db) == [(b"b", b"2")]


@pytest.mark.parametrize("transaction", [True, False])
def test_a_batch_that_ends_by_an_exception(db: kv.DB, transaction: bool) -> None:
    def interrupted() -> None:
        with db.write_batch(transaction=transaction) as batch:
            batch.put(b"c", b"3")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        interrupted()
    assert db.get(b"c") == (None if transaction else b"3")


def test_iterators(db: kv.DB) -> None:
    keys = [b"a", b"b", b"b\xff", b"ba", b"c"]
    for key in keys:
        db.put(key, key * 2)
    assert list(db.iterator(include_value=False)) == sorted(keys)
    assert list(db.iterator(include_key=False, reverse=True)) == [
        k * 2 for k in sorted(keys, reverse=True)
    ]
    assert list(db.iterator(prefix=b"b", include_value=False)) == [b"b", b"ba", b"b\xff"]
    assert list(db.iterator(start=b"b", stop=b"c", include_value=False)) == [b"b", b"ba", b"b\xff"]
    span = db.iterator(
        start=b"b", stop=b"c", include_start=False, include_stop=True, include_value=False
    )
    assert list(span) == [b"ba", b"b\xff", b"c"]
    with db.iterator(start=b"b", stop=b"c", include_value=False) as walk:
        assert next(walk) == b"b"
        assert next(walk) == b"ba"
        assert walk.prev() == b"ba"
        assert walk.prev() == b"b"
        with pytest.raises(StopIteration):
            walk.prev()
        assert next(walk) == b"b"
        walk.seek(b"zzz")
        with pytest.raises(StopIteration):
            next(walk)
        assert walk.prev() == b"b\xff"
        walk.seek(b"a")
        assert next(walk) == b"b"
    with pytest.raises(kv.Error, match="the iterator is closed"):
        next(walk)
    with pytest.raises(TypeError, match="not both"):
        db.iterator(prefix=b"a", start=b"b")


def test_snapshots(db: kv.DB) -> None:
    db.put(b"a", b"1")
    with db.snapshot() as before:
        db.put(b"a", b"2")
        db.put(b"b", b"3")
        db.compact_range()
        assert before.get(b"a") == b"1"
        assert list(before) == [(b"a", b"1")]
    with pytest.raises(kv.Error, match="the snapshot is closed"):
        before.get(b"a")


def test_after_closing(db: kv.DB) -> None:
    db.put(b"a", b"1")
    walk = db.iterator()
    db.close()
    db.close()
    assert db.closed
    for use in (
        lambda: db.get(b"a"),
        lambda: db.put(b"a", b"1"),
        lambda: next(walk),
        db.iterator,
        db.snapshot,
        db.verify,
        db.compact_range,
    ):
        with pytest.raises(kv.Error, match="the store is closed"):
            use()


def test_threads_take_turns(db: kv.DB) -> None:
    def fill(worker: int) -> None:
        for i in range(500):
            db.put(b"%d-%d" % (worker, i), b"x" * 100)
            assert db.get(b"%d-%d" % (worker, i)) == b"x" * 100

    workers = [threading.Thread(target=fill, args=(worker,)) for worker in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(list(db)) == 2000


def test_properties(db: kv.DB) -> None:
    for i in range(2000):
        db.put(b"%05d" % i, b"v" * 100)
    db.compact_range()
    assert db.get_property("leveldb.num-files-at-level0") == "0"
    assert "Compactions" in (db.get_property("leveldb.stats") or "")
    assert db.get_property("other") is None
    assert 0 < db.approximate_size(b"00000", b"01000") < db.approximate_size(b"0", b"9")
    assert db.verify() == kv.Verified(1, 2000, db.verify().bytes)
    assert sum(level.tables for level in db.stats().levels) == 1


def test_background_in_steps(tmp_path: Path) -> None:
    size = 64 << 10
    with kv.open(
        tmp_path, create_if_missing=True, background="steps", write_buffer_size=size
    ) as db:
        for i in range(3000):
            db.put(b"%05d" % (i * 7919 % 3000), b"v" * 100)
        steps = 0
        while db.step():
            steps += 1
        assert steps > 0
        assert not db.step()


def test_refusals(tmp_path: Path) -> None:
    with pytest.raises(kv.Error, match="no store here"):
        kv.open(tmp_path / "none")
    with pytest.raises(kv.Error, match="block_size = 5: expected 1024 to 4194304"):
        kv.open(tmp_path / "none", create_if_missing=True, block_size=5)
    with pytest.raises(kv.Error, match="compression = 'zip': expected 'snappy' or None"):
        kv.open(tmp_path, compression="zip")  # type: ignore[arg-type]
    with kv.open(tmp_path / "one", create_if_missing=True) as db:
        with pytest.raises(kv.LockedError, match="another open store holds its lock"):
            kv.open(tmp_path / "one")
        with pytest.raises(TypeError):
            db.put("text", b"")  # type: ignore[arg-type]
        db.put(b"k", b"v")
        db.compact_range()
    table = next((tmp_path / "one").glob("*.ldb"))
    table.write_bytes(table.read_bytes()[:-1])
    with (
        kv.open(tmp_path / "one") as db,
        pytest.raises(kv.CorruptionError, match=r"ldb: damaged at offset \d+: a table of"),
    ):
        db.get(b"k")


def test_commands(tmp_path: Path) -> None:
    with kv.open(tmp_path / "s", create_if_missing=True) as db:
        db.put(b"key\n", b"value")
        db.compact_range()
        db.delete(b"key\n")
    files = {path.suffix or path.name.split("-")[0]: path for path in (tmp_path / "s").iterdir()}

    def ran(*arguments: str | Path) -> str:
        done = ssdlab_command("kv", *arguments, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert ran("dump", files[".log"]) == "--- offset 0\n2: del 'key\\x0a'\n"
    assert "'key\\x0a' @ 1 : 1 => 'value'" in ran("dump", files[".ldb"])
    assert "comparator leveldb.BytewiseComparator" in ran("dump", files["MANIFEST"])
    assert "s: 2 tables, 2 entries" in ran("verify", "s")
    assert "--- level 2 ---" in ran("stats", "s")
    files["MANIFEST"].unlink(missing_ok=True)
    (tmp_path / "s" / "CURRENT").write_text("nothing")
    refused(ssdlab_command("kv", "verify", "s", cwd=tmp_path), 2, "CURRENT: damaged at offset 0")
    repaired = ran("repair", "s")
    assert "s: 0 pairs in 0 tables\nold files are kept: " in repaired
    assert "s: 0 tables, 0 entries" in ran("verify", "s")
    refused(ssdlab_command("kv", "stats", "no", cwd=tmp_path), 2, "no: there is no store here")
    refused(ssdlab_command("kv", "dump", "s/LOCK", cwd=tmp_path), 2, "LOCK: expected a log")


def test_bench(tmp_path: Path) -> None:
    done = ssdlab_command(
        "kv", "bench", "--value", "100", "--size", "1", "--record", "lines", cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert [line.split()[0] for line in lines[1:9]] == [
        "fillseq",
        "fillrandom",
        "overwrite",
        "readrandom",
        "readseq",
        "readmissing",
        "seekrandom",
        "deleterandom",
    ]
    assert len((tmp_path / "lines").read_text().splitlines()) == 8 + 2
