"""The store from Python: API, command line, errors."""

import json
import os
import pickle
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from inspect import isbuiltin
from pathlib import Path

import pytest

from running import COMMAND, HANG_S, nothing_left, refused, ssdlab_command
from ssdlab import _core, kv
from ssdlab_lab.kv import bench


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


def test_a_lookup_runs_no_python(db: kv.DB) -> None:
    part, snapshot = db.prefixed_db(b"p"), db.snapshot()
    db.put(b"pa", b"1")
    assert [isbuiltin(view.get) for view in (db, part, snapshot)] == [True, True, False]
    assert (part.get(b"a"), snapshot.get(b"pa", b"none", fill_cache=False)) == (b"1", b"none")


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


def test_a_prefix_may_end_in_the_highest_byte(tmp_path: Path) -> None:
    keys = [b"a", b"a\xff", b"a\xff\x01", b"b", b"\xfe", b"\xff", b"\xff\x01", b"\xff\xff\xff"]
    with kv.open(tmp_path / "db", create_if_missing=True) as db:
        for key in keys:
            db.put(key, b"1")
        for prefix in (b"a\xff", b"\xff", b"\xff\xff"):
            found = [key for key in keys if key.startswith(prefix)]
            assert list(db.iterator(prefix=prefix, include_value=False)) == found
            part = db.prefixed_db(prefix)
            assert [prefix + key for key in part.iterator(include_value=False)] == found


def test_raw_iterators(db: kv.DB) -> None:
    for key in (b"a", b"b", b"c"):
        db.put(key, key * 2)
    with db.raw_iterator() as raw:
        assert not raw.valid()
        raw.seek_to_first()
        assert raw.item() == (b"a", b"aa")
        raw.next()
        raw.prev()
        raw.prev()
        assert not raw.valid()
        raw.seek_to_last()
        assert (raw.key(), raw.value()) == (b"c", b"cc")
        raw.prev()
        assert raw.key() == b"b"
        raw.seek(b"bb")
        assert raw.key() == b"c"
        raw.next()
        with pytest.raises(kv.Error, match="the iterator stands at no pair"):
            raw.next()


def test_a_part_of_a_store(db: kv.DB) -> None:
    db.put(b"w", b"below")
    db.put(b"y", b"above")
    part = db.prefixed_db(b"x")
    with part.write_batch() as batch:
        batch.put(b"", b"0")
        batch.put(b"b", b"2")
        batch.delete(b"b")
    part.put(b"a\xff", b"1")
    part.prefixed_db(b"a").put(b"b", b"3")
    before = part.snapshot()
    part.delete(b"")
    assert list(db) == [(b"w", b"below"), (b"xab", b"3"), (b"xa\xff", b"1"), (b"y", b"above")]
    assert list(part) == [(b"ab", b"3"), (b"a\xff", b"1")]
    assert list(part.iterator(reverse=True, include_value=False)) == [b"a\xff", b"ab"]
    assert list(part.iterator(start=b"ab", include_start=False, include_key=False)) == [b"1"]
    assert list(part.iterator(prefix=b"ab", stop=None)) == [(b"ab", b"3")]
    assert (before.get(b""), part.get(b""), part.get(b"a\xff")) == (b"0", None, b"1")
    walk = part.iterator(include_value=False)
    walk.seek(b"b")
    assert walk.prev() == b"a\xff"
    raw = part.raw_iterator()
    raw.seek_to_last()
    assert raw.key() == b"a\xff"
    part.close()
    assert not db.closed


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


def test_batches_as_those_of_plyvel(db: kv.DB) -> None:
    batch = db.write_batch()
    assert batch.approximate_size() == 12
    batch.put(b"a", memoryview(b"xbbx")[1:3])
    batch.delete(bytearray(b"c"))
    assert batch.approximate_size() == 12 + 6 + 3
    batch.append(batch)
    assert (len(batch), batch.approximate_size()) == (4, 12 + 2 * 9)
    batch.write()
    db.put(memoryview(b"d"), bytearray(b"4"))
    assert list(db) == [(b"a", b"bb"), (b"d", b"4")]
    assert db.get(memoryview(b"d")) == b"4"
    for wrong in ("text", 5, None):
        with pytest.raises(TypeError):
            db.put(b"e", wrong)  # type: ignore[arg-type]


def test_a_part_of_a_part_names_the_store(db: kv.DB) -> None:
    part = db.prefixed_db(b"p-").prefixed_db(b"q-")
    part.put(b"k", b"v")
    assert (part.prefix, part.db) == (b"p-q-", db)
    assert (list(part), list(db)) == ([(b"k", b"v")], [(b"p-q-k", b"v")])
    held = part.snapshot()
    held.release()
    with pytest.raises(kv.Error, match="the snapshot is closed"):
        held.get(b"k")


def test_threads_share_iterators_and_batches(db: kv.DB) -> None:
    """Each takes turns, and nothing that one thread adds is lost while another one writes."""
    for i in range(2000):
        db.put(b"%05d" % i, b"v")
    walk, batch = db.iterator(include_value=False), db.write_batch()
    seen: list[object] = []
    failed: list[BaseException] = []

    def use(worker: int) -> None:
        try:
            for i in range(200):
                batch.put(b"k%d-%d" % (worker, i), b"v" * 20_000)
                batch.write()
                seen.extend(next(walk) for _ in range(2))
        except BaseException as error:
            failed.append(error)

    workers = [threading.Thread(target=use, args=(worker,)) for worker in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert failed == []
    assert sorted(map(str, seen)) == [str(b"%05d" % i) for i in range(1600)]
    assert sum(1 for _ in db.iterator(prefix=b"k")) == 800


def _refusal(use: Callable[[], object]) -> str:
    with pytest.raises(kv.Error) as refusal:
        use()
    return f"{refusal.value}\n"


def test_a_fork_is_refused(db: kv.DB, tmp_path: Path) -> None:
    """Both would write to the same log: the child gets an error, the parent loses nothing."""
    db.put(b"a", b"1")
    walk = db.iterator()
    said = tmp_path / "said"
    child = os.fork()
    if child == 0:
        with said.open("w") as lines:
            lines.write(_refusal(lambda: db.put(b"b", b"2")))
            lines.write(_refusal(lambda: db.get(b"a")))
            lines.write(_refusal(lambda: next(walk)))
            lines.write(f"{db!r}\n")
            db.close()
            lines.write(f"{db!r}\n")
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    why = f"the store was opened by process {os.getpid()} and is of no use in its fork"
    *refusals, shown, shown_closed = said.read_text().splitlines()
    assert [why in line for line in refusals] == [True] * 3
    assert shown.endswith("(closed)>"), "it is closed in a fork"
    assert shown_closed == shown
    db.put(b"c", b"3", sync=True)
    db.close()
    with kv.open(tmp_path / "store", paranoid_checks=True) as again:
        assert list(again) == [(b"a", b"1"), (b"c", b"3")]


def _with_a_damaged_log(folder: Path) -> Path:
    """A store whose log has a wrong byte in the first of its records."""
    with kv.open(folder, create_if_missing=True) as db:
        for i in range(2000):
            db.put(b"%05d" % i, b"v" * 100)
    log = next(folder.glob("*.log"))
    data = bytearray(log.read_bytes())
    data[20] ^= 1
    log.write_bytes(data)
    return log


def test_a_damaged_log_is_told_and_kept(tmp_path: Path) -> None:
    log = _with_a_damaged_log(tmp_path / "s")
    damaged = log.read_bytes()
    kept = tmp_path / "s" / f"{log.name}.lost"
    refused(ssdlab_command("kv", "stats", "s", cwd=tmp_path), 2, f"{log.name}: damaged at offset")
    assert log.read_bytes() == damaged
    with pytest.warns(UserWarning, match=r"000003.log.lost: kept, .* in 1 places"):
        db = kv.open(tmp_path / "s")
    with db:
        assert db.stats().damaged_logs == (str(kept),)
        assert db.stats().damaged_log_records > 0
    assert kept.read_bytes() == damaged
    with kv.open(tmp_path / "s", paranoid_checks=True) as db:
        assert db.stats().damaged_logs == ()


def test_exceptions_know_their_module() -> None:
    """They can be pickled, as between processes."""
    exceptions = [
        kind
        for kind in vars(_core).values()
        if isinstance(kind, type) and issubclass(kind, Exception)
    ]
    assert len(exceptions) == 10
    for kind in exceptions:
        assert kind.__module__ == "ssdlab._core"
        back = pickle.loads(pickle.dumps(kind("why")))
        assert (type(back), back.args) == (kind, ("why",))


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


def test_a_walk_beside_long_work(db: kv.DB) -> None:
    """Long work holds the store and asks Python now and then; a walk waits without blocking it."""
    for i in range(3000):
        db.put(b"%06d" % i, b"x" * 1000)
    db.compact_range()
    checked: list[kv.Verified] = []
    worker = threading.Thread(target=lambda: checked.extend(db.verify() for _ in range(20)))
    worker.start()
    while worker.is_alive():
        assert sum(1 for _ in db) == 3000
    assert [found.entries for found in checked] == [3000] * 20


def test_properties(db: kv.DB) -> None:
    for i in range(2000):
        db.put(b"%05d" % i, b"v" * 100)
    db.compact_range()
    assert db.get_property("leveldb.num-files-at-level0") == "0"
    assert "Compactions" in (db.get_property("leveldb.stats") or "")
    assert (db.get_property(b"leveldb.stats") or b"").decode() == db.get_property("leveldb.stats")
    assert (db.get_property("other"), db.get_property(b"\xff")) == (None, None)
    assert 0 < db.approximate_size(b"00000", b"01000") < db.approximate_size(b"0", b"9")
    assert db.approximate_sizes((b"0", b"9"), (b"a", b"b")) == [db.approximate_size(b"0", b"9"), 0]
    assert db.verify() == kv.Verified(1, 2000, db.verify().bytes)
    assert sum(level.tables for level in db.stats().levels) == 1


def test_what_a_store_is_made_of(db: kv.DB) -> None:
    db.put(b"a", b"1")
    db.put(b"b", b"2")
    db.compact_range()
    found = db.stats()
    (table,) = found.tables
    level = found.levels[table.level]
    assert (level.tables, level.bytes) == (1, table.bytes)
    assert (table.smallest, table.largest) == ("'a' @ 1 : 1", "'b' @ 2 : 1")
    text = f" {table.number}:{table.bytes}['a' @ 1 : 1 .. 'b' @ 2 : 1]"
    assert text in (db.get_property("leveldb.sstables") or "").splitlines()
    for digits, known in {"2": True, "+2": False, "": False, "7": False}.items():
        assert (db.get_property(f"leveldb.num-files-at-level{digits}") is not None) == known


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
    with pytest.raises(kv.Error, match="block_size = 5: expected a whole number from 1024 to"):
        kv.open(tmp_path / "none", create_if_missing=True, block_size=5)
    with pytest.raises(kv.Error, match="compression = 'zip': expected 'snappy' or None"):
        kv.open(tmp_path, compression="zip")  # type: ignore[arg-type]
    for option, said in {
        "background": "background = 'later': expected 'eager' or 'steps'",
        "max_open_files": "max_open_files = 5: expected a whole number from 10 to 50000",
        "bloom_filter_bits": "bloom_filter_bits = 101: expected a whole number from 0 to 100",
        "write_buffer_size": "write_buffer_size = -1: expected a whole number from 65536 to",
        "block_size": "block_size = '4k': expected a whole number from 1024 to",
        "pages_per_block": "pages_per_block = 9999: expected a whole number from 0 to 1024",
        "create_if_missing": "create_if_missing = 'no': expected True or False",
    }.items():
        value = said.split(" = ")[1].split(":")[0].strip("'")
        wrong = {option: int(value) if value.lstrip("-").isdigit() else value}
        with pytest.raises(kv.Error, match=said):
            kv.open(tmp_path / "none", **{"create_if_missing": True, **wrong})  # type: ignore[arg-type]
    for bits in (-1, True):
        with pytest.raises(kv.Error, match=f"bloom_filter_bits = {bits}: .* from 0 to 100"):
            kv.open(tmp_path / "none", create_if_missing=True, bloom_filter_bits=bits)
    for use in (kv.open, kv.repair, kv.destroy):
        with pytest.raises(kv.Error, match="the path of the store is empty"):
            use("")
    assert not (tmp_path / "none").exists()
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
    assert re.fullmatch(
        r"s: 1 tables, 1 entries, \d+ bytes, 1 changes in logs: whole\n", ran("verify", "s")
    )
    stats = ran("stats", "s")
    assert "--- level 2 ---" in stats
    assert stats.endswith("\nchanges in logs, in no table yet: 1\n")
    stats = json.loads(ran("stats", "s", "--json"))
    assert ([table["level"] for table in stats["tables"]], stats["logged"]) == ([2], 1)
    files["MANIFEST"].unlink(missing_ok=True)
    (tmp_path / "s" / "CURRENT").write_text("nothing")
    refused(ssdlab_command("kv", "verify", "s", cwd=tmp_path), 2, "CURRENT: damaged at offset 0")
    repaired = ran("repair", "s")
    assert "s: 0 pairs in 0 tables\nold files are kept: " in repaired
    assert "s: 0 tables, 0 entries" in ran("verify", "s")
    refused(ssdlab_command("kv", "stats", "no", cwd=tmp_path), 2, "no: there is no store here")
    refused(ssdlab_command("kv", "dump", "s/LOCK", cwd=tmp_path), 2, "LOCK: expected a log")
    refused(ssdlab_command("kv", "dump", "x", cwd=tmp_path), 2, "error: x: expected a log")


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
    records = (tmp_path / "lines").read_text().splitlines()
    assert len(records) == 8 + 2
    label = json.loads(records[0])["leveldb_build"]
    if "left out" not in done.stderr:
        assert re.fullmatch(r"LevelDB 1\.\d+, (built with assertions|a release build), .*", label)
        assert lines[9] == label


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--bloom 101", "0<=x<=100"),
        ("--value 2000000", "1<=x<=1048575"),
        ("--record .", "'--record'"),
        ("--record file/lines", "file: expected a folder"),
        ("--leveldb .", "expected a folder made by tools/leveldb_release.sh"),
    ],
)
def test_a_bench_that_cannot_be(tmp_path: Path, words: str, said: str) -> None:
    (tmp_path / "file").touch()
    refused(ssdlab_command("kv", "bench", *words.split(), cwd=tmp_path), 2, said)
    nothing_left(tmp_path, "file")


def test_what_a_failed_side_of_a_bench_said_is_shown(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "import sys; sys.exit('disk full')"]
    with pytest.raises(kv.Error, match="disk full"):
        bench._run(command, tmp_path)


PAIRS = 400_000


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store that is a long log: each look at it takes some time."""
    folder = tmp_path_factory.mktemp("large")
    with kv.open(folder / "s", create_if_missing=True, write_buffer_size=1 << 28) as db:
        for i in range(0, PAIRS, 10_000):
            with db.write_batch() as batch:
                for k in range(i, i + 10_000):
                    batch.put(b"%d" % (k * 7919 % PAIRS), b"")
    return folder


def _at_work(running: subprocess.Popen[bytes], folder: Path, words: list[str]) -> bool:
    """Whether the command has opened files of its store."""
    if words[0] == "dump":
        # It cannot end before somebody reads what it writes.
        assert running.stdout
        return bool(running.stdout.read(1))
    if words[0] == "bench":
        return any(folder.glob("ssdlab-kv-*/store/CURRENT"))
    for descriptor in Path(f"/proc/{running.pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # It may be closed meanwhile.
            if str(descriptor.readlink()).startswith(str(folder / "s")):
                return True
    return False


@pytest.mark.parametrize("words", ["verify s", "stats s", "dump LOG", "repair s", "bench --dir ."])
def test_interrupts(large: Path, words: str) -> None:
    """Ctrl-C ends each command, and nothing is left half done."""
    log = next((large / "s").glob("*.log"))
    command = words.replace("LOG", str(log)).split()
    with subprocess.Popen(
        [*COMMAND, "kv", *command], cwd=large, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as running:
        while not _at_work(running, large, command):
            assert running.poll() is None
        running.send_signal(signal.SIGINT)
        _, errors = running.communicate(timeout=HANG_S)
        assert (running.returncode, errors.splitlines()[-1:]) == (130, [b"interrupted"])
    assert [path.name for path in large.iterdir()] == ["s"]


def test_after_interrupts_a_repair_finds_all(large: Path) -> None:
    found = kv.repair(large / "s")
    assert (found.pairs, found.lost) == (PAIRS, ())
    with kv.open(large / "s") as db:
        assert db.verify().entries == PAIRS
