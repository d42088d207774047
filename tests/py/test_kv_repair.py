"""Repair beside LevelDB's own, on the same damaged stores; and what failed writes say."""

import pickle
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from running import ssdlab_command
from ssdlab import kv
from ssdlab.kv import plyvel as kv_plyvel

plyvel = pytest.importorskip("plyvel", reason="plyvel has no wheels for this Python")

Pairs = dict[bytes, bytes]
Damage = tuple[str, int, int, Callable[[bytearray], None]]
BLOCK, HEADER = 32 << 10, 7


def _written(folder: Path, *, compacted: bool) -> Pairs:
    """LevelDB's store of pairs that all differ, some as long as blocks of a log."""
    rng, pairs = random.Random(3), Pairs()
    with plyvel.DB(str(folder), create_if_missing=True, compression=None) as db:
        for i in range(700):
            with db.write_batch() as batch:
                for n in range(i % 3 + 1):
                    length = 40_000 if i % 90 == 9 else rng.randrange(120)
                    key, value = b"%05d.%d" % (i, n), bytes(rng.choices(b"abcdef", k=length))
                    batch.put(key, value)
                    pairs[key] = value
        if compacted:
            db.compact_range()
    return pairs


def _records(log: bytes) -> list[tuple[int, int, set[bytes]]]:
    """Where the records of a whole log lie, and the keys in them."""
    found, at, start, payload = [], 0, 0, b""
    while at < len(log):
        if BLOCK - at % BLOCK < HEADER:
            at += BLOCK - at % BLOCK
            continue
        length, kind = int.from_bytes(log[at + 4 : at + 6], "little"), log[at + 6]
        if kind in (1, 2):
            start, payload = at, b""
        payload += log[at + HEADER : at + HEADER + length]
        at += HEADER + length
        if kind in (1, 4):
            keys = set(re.findall(rb"\x01\x07(\d{5}\.\d)", payload))
            assert len(keys) == int.from_bytes(payload[8:12], "little")
            found.append((start, at, keys))
    return found


def _blocks(table: Path) -> list[tuple[int, int, set[bytes]]]:
    """Where the data blocks of a whole table lie, with their trailers, and the keys in them."""
    found: list[tuple[int, int, set[bytes]]] = []

    def line(text: str) -> None:
        if block := re.match(r"--- block at (\d+) of (\d+)", text):
            at, size = map(int, block.groups())
            found.append((at, at + size + 5, set()))
        elif key := re.match(r"'(\d{5}\.\d)'", text):
            found[-1][2].add(key[1].encode())

    kv.dump(table, line)
    return found


def _flip(at: int, bit: int) -> Damage:
    def change(data: bytearray) -> None:
        data[at] ^= bit

    return f"bit {bit} of byte {at}", at, at + 1, change


def _fill(at: int, length: int, byte: int | None, rng: random.Random) -> Damage:
    filling = rng.randbytes(length) if byte is None else bytes([byte]) * length

    def change(data: bytearray) -> None:
        data[at : at + length] = filling

    return f"{length} bytes at {at} filled with {byte}", at, at + length, change


def _cut(at: int, end: int) -> Damage:
    def change(data: bytearray) -> None:
        del data[at:]

    return f"cut at {at}", at, end, change


def _damages(size: int, heads: list[int], count: int, rng: random.Random) -> Iterator[Damage]:
    """Of a file of `size` bytes, half of them at one of the `heads`."""
    for i in range(count):
        at = rng.choice(heads) + rng.randrange(24) if i % 2 else rng.randrange(size)
        at = min(at, size - 1)
        length = min(rng.choice((2, 7, 16, 100, 512, 4096)), size - at)
        kind = rng.randrange(10)
        if kind < 6:
            yield _flip(at, 1 << rng.randrange(8))
        elif kind < 8:
            yield _fill(at, length, rng.choice((0, 255)), rng)
        elif kind < 9:
            yield _fill(at, length, None, rng)
        else:
            yield _cut(at, size)


THEIRS = """
import pickle, sys
from contextlib import suppress
import plyvel

for folder in sys.stdin:
    found = {}
    plyvel.repair_db(folder.strip())
    with suppress(plyvel.Error), plyvel.DB(folder.strip()) as db:
        for reverse in (False, True):
            with suppress(plyvel.Error):
                for key, value in db.iterator(reverse=reverse):
                    found[key] = value
    sys.stdout.buffer.write(pickle.dumps(found))
    sys.stdout.flush()
"""


class _LevelDB:
    """Repairs stores in a process of its own: some damaged ones end it by a failed assertion."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def repaired(self, folder: Path) -> Pairs:
        """What can be read of a store after its repair; nothing if that ends the process."""
        if self._process is None:
            command = [sys.executable, "-c", THEIRS]
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(str(folder).encode() + b"\n")
        process.stdin.flush()
        try:
            found: Pairs = pickle.load(process.stdout)
        except EOFError:
            self.close()
            assert process.returncode < 0, "its end is a signal, not an exception of the program"
            return {}
        return found

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.communicate()
            self._process = None


def _damaged(sound: Path, file: Path, damage: Damage, folder: Path) -> Path:
    """A copy of a store with one damaged file."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(sound, folder)
    data = bytearray(file.read_bytes())
    damage[3](data)
    (folder / file.name).write_bytes(data)
    return folder


def _ours(folder: Path) -> tuple[Pairs, kv.Repaired]:
    """What our repair keeps, after all of it is checked."""
    found = kv.repair(folder)
    with kv.open(folder, paranoid_checks=True) as db:
        db.verify()
        return dict(db), found


def _compare(tmp_path: Path, kind: str, count: int, seed: int) -> None:
    """Ours keeps what LevelDB's keeps outside the damage, and nothing that was never written."""
    pairs = _written(tmp_path / "sound", compacted=kind == "ldb")
    files = sorted((tmp_path / "sound").glob(f"*.{kind}"), key=lambda file: file.stat().st_size)
    file = files[-1]
    parts = _blocks(file) if kind == "ldb" else _records(file.read_bytes())
    rng = random.Random(seed)
    better, leveldb = 0, _LevelDB()
    for damage in _damages(file.stat().st_size, [start for start, _, _ in parts], count, rng):
        what, start, end, _ = damage
        hit = {key for a, b, keys in parts if a < end and start < b for key in keys}
        copies = [_damaged(tmp_path / "sound", file, damage, tmp_path / side) for side in "ab"]
        theirs, (ours, found) = leveldb.repaired(copies[0]), _ours(copies[1])
        assert ours.items() <= pairs.items(), f"{what}: a pair that was never written"
        lost = {k for k, v in theirs.items() if pairs.get(k) == v and k not in hit} - ours.keys()
        assert not lost, f"{what}: LevelDB keeps {len(lost)} more, such as {min(lost)!r}"
        # A log that is cut between two records looks like one that ends there.
        is_clean = what.startswith("cut") and not any(a < start < b for a, b, _ in parts)
        assert ours == pairs or found.lost or is_clean, f"{what}: lost without a word"
        better += len(ours) > len(theirs.items() & pairs.items())
    leveldb.close()
    assert better > 0, "ours never keeps more"


@pytest.mark.parametrize("kind", ["log", "ldb"])
def test_repair_keeps_what_leveldb_keeps(tmp_path: Path, kind: str) -> None:
    _compare(tmp_path, kind, 40, 1)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["log", "ldb"])
@pytest.mark.parametrize("seed", range(2, 6))
def test_repair_keeps_what_leveldb_keeps_at_length(tmp_path: Path, kind: str, seed: int) -> None:
    _compare(tmp_path, kind, 400, seed)


def test_one_bad_record_costs_no_other(tmp_path: Path) -> None:
    """Of a log of one block; LevelDB's own opening loses what is behind the bad record."""
    with plyvel.DB(str(tmp_path / "s"), create_if_missing=True) as db:
        for i in range(320):
            db.put(b"%06d" % i, b"v" * 60)
    log = next((tmp_path / "s").glob("*.log"))
    data = bytearray(log.read_bytes())
    data[10 * 88 + 50] ^= 1
    log.write_bytes(data)
    shutil.copytree(tmp_path / "s", tmp_path / "opened")
    shutil.copytree(tmp_path / "s", tmp_path / "repaired")
    with plyvel.DB(str(tmp_path / "opened")) as db:
        assert len(list(db)) == 10
    done = ssdlab_command("kv", "repair", "repaired", cwd=tmp_path)
    assert done.returncode == 1, "something is lost"
    assert "repaired: 319 pairs in 1 tables" in done.stdout
    assert f"{log.name}: damaged at offset 880: checksum mismatch" in done.stderr
    with pytest.warns(UserWarning, match="left out"), kv.open(tmp_path / "s") as db:
        assert len(list(db)) == 319
    done = ssdlab_command("kv", "repair", "s", cwd=tmp_path)
    assert (done.returncode, "lost" in done.stderr) == (0, False), "all is kept"


def test_a_store_whose_gets_and_iterators_differ(tmp_path: Path) -> None:
    """LevelDB's repair trusts the numbers of tables to tell old from new."""
    folder = tmp_path / "s"
    with kv.open(folder, create_if_missing=True, background="steps") as db:
        for value in (b"old", b"new"):
            db.put(b"key", value)
            db.put(b"other", value)
            db.compact_range(start=b"z")
    tables = sorted(folder.glob("*.ldb"))
    assert len(tables) == 2
    # The older one gets the higher number.
    tables[0].rename(folder / "000090.ldb")
    for left in ("MANIFEST*", "CURRENT"):
        for path in folder.glob(left):
            path.unlink()
    plyvel.repair_db(str(folder))
    with plyvel.DB(str(folder)) as db:
        assert db.get(b"key") != dict(db)[b"key"] == b"new", "LevelDB finds both"
    done = ssdlab_command("kv", "verify", "s", cwd=tmp_path)
    assert done.returncode == 2
    said = "it hides a newer entry of 'key' in table"
    assert said in done.stderr
    assert "gets and iterators find different values" in done.stderr
    assert ssdlab_command("kv", "repair", "s", cwd=tmp_path).returncode == 0
    with kv.open(folder) as db:
        db.verify()
        assert db.get(b"key") == dict(db)[b"key"] == b"new"


def test_missing_files_are_reported(tmp_path: Path) -> None:
    pairs = _written(tmp_path / "s", compacted=True)
    tables = sorted((tmp_path / "s").glob("*.ldb"))
    tables[0].unlink()
    done = ssdlab_command("kv", "verify", "s", cwd=tmp_path)
    assert done.returncode == 2
    said = f"{tables[0].name}: damaged at offset 0: the manifest names this file, but it is missing"
    assert said in done.stderr
    done = ssdlab_command("kv", "repair", "s", cwd=tmp_path)
    assert done.returncode == 1
    assert said in done.stderr
    with kv.open(tmp_path / "s") as db:
        assert dict(db).items() < pairs.items()


def _with_damaged_tables(folder: Path, open_: Callable[..., Any]) -> None:
    """A store whose next compactions fail."""
    with open_(str(folder), create_if_missing=True, write_buffer_size=64 << 10) as db:
        for i in range(2000):
            db.put(b"%05d" % (i * 7919 % 1000), random.Random(i).randbytes(100))
    tables = list(folder.glob("*.ldb"))
    assert tables
    for table in tables:
        data = bytearray(table.read_bytes())
        data[len(data) // 2] ^= 255
        table.write_bytes(data)


@pytest.mark.parametrize("batched", [False, True])
def test_a_write_that_is_made_says_so_though_a_compaction_fails(
    tmp_path: Path, batched: bool
) -> None:
    _with_damaged_tables(tmp_path, kv.open)
    with kv.open(tmp_path, write_buffer_size=64 << 10) as db:
        made: list[bytes] = []
        batch = db.write_batch()

        def put_until_it_fails() -> None:
            for i in range(100_000):
                made.append(b"%05d" % (i % 1000))
                (batch if batched else db).put(made[-1], b"%08d" % i * 20)
                batch.write()

        with pytest.raises(kv.AppliedError, match="background work failed") as failed:
            put_until_it_fails()
        assert isinstance(failed.value.__cause__, kv.CorruptionError)
        assert len(batch) == 0, "its changes are made"
        value = b"%08d" % (len(made) - 1) * 20
        assert db.get(made[-1]) == value, "it is there"
        batch.put(b"refused", b"")
        with pytest.raises(kv.CorruptionError, match="takes no more writes"):
            db.put(b"refused", b"")
        with pytest.raises(kv.CorruptionError, match="takes no more writes"):
            batch.write()
        assert db.get(b"refused") is None
        assert len(batch) == 1, "its changes are not made"
    with kv.open(tmp_path) as db:
        assert db.get(made[-1]) == value, "it is in the log"


@pytest.mark.parametrize("module", [kv_plyvel, plyvel])
def test_a_program_of_plyvel_meets_a_failed_compaction_with_the_next_write(
    tmp_path: Path, module: ModuleType
) -> None:
    _with_damaged_tables(tmp_path, module.DB)
    name, options = str(tmp_path), {"write_buffer_size": 64 << 10, "paranoid_checks": True}
    with module.DB(name, **options) as db:
        begun: list[bytes] = []

        def write(i: int) -> None:
            begun.append(b"~%d" % i)
            with db.write_batch() as batch:
                batch.put(begun[-1], b"")  # In no damaged table.
                batch.put(b"%05d.%d" % (i * 7919 % 1000, i), random.Random(i).randbytes(100))

        def write_until_it_fails() -> None:
            for i in range(100_000):
                write(i)

        with pytest.raises(module.CorruptionError):
            write_until_it_fails()
        assert db.get(begun[-1]) is None, "the write that fails is not made"
        assert all(db.get(key) == b"" for key in begun[:-1]), "all others are"
        with pytest.raises(module.CorruptionError):
            write(len(begun))
        assert db.get(begun[-1]) is None


FULL = """
import importlib
import resource
import sys

module = importlib.import_module(sys.argv[1])
db = module.DB(sys.argv[2], create_if_missing=True)
db.put(b"first", b"")
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
batch = db.write_batch()
batch.put(b"second", bytes(100_000))
for write in (batch.write, lambda: db.put(b"third", b"")):
    try:
        write()
    except module.IOError as error:
        print(f"{type(error).__name__} by {type(error.__cause__).__name__}: {error}")
assert db.get(b"first") == b"" and db.get(b"second") is None and db.get(b"third") is None
"""


@pytest.mark.parametrize("module", ["ssdlab.kv.plyvel", "plyvel"])
def test_a_write_that_the_log_did_not_take(tmp_path: Path, module: str) -> None:
    """It is an IOError, as are the writes after it."""
    command = [sys.executable, "-c", FULL, module, str(tmp_path / "s")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    first, second = done.stdout.splitlines()
    if module == "ssdlab.kv.plyvel":
        said = "the write may be found when the store is opened again, or not at all: "
        assert first.startswith(f"KvUncertainError by KvIoError: {said}")
        assert second.startswith("KvIoError by NoneType: the store takes no more writes: ")
