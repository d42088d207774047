"""The store against real LevelDB: each reads, writes and compacts what the other wrote."""

import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ssdlab import kv
from ssdlab_lab.kv import bench

plyvel = pytest.importorskip("plyvel", reason="plyvel has no wheels for this Python")

Model = dict[bytes, bytes]
TABLE_MAGIC = (0xDB4775248B80FB57).to_bytes(8, "little")
"""Ends every table that is whole."""
OPTIONS: list[dict[str, Any]] = [
    {"compression": None},
    {"compression": "snappy", "bloom_filter_bits": 10},
    {"compression": None, "bloom_filter_bits": 4, "block_size": 1024, "block_restart_interval": 1},
    {"compression": "snappy", "block_size": 65536, "block_restart_interval": 64},
    {"compression": None, "bloom_filter_bits": 10, "pages_per_block": 1},
    {"compression": "snappy", "bloom_filter_bits": 10, "pages_per_block": 4},
]
SMALL: dict[str, Any] = {"write_buffer_size": 64 << 10, "max_file_size": 1 << 20}


def _ours(folder: Path, options: dict[str, Any]) -> kv.DB:
    return kv.open(folder, create_if_missing=True, paranoid_checks=True, **SMALL, **options)


def _theirs(folder: Path, options: dict[str, Any]) -> Any:  # noqa: ANN401 - plyvel has no types
    known = {name: value for name, value in options.items() if name != "pages_per_block"}
    return plyvel.DB(str(folder), create_if_missing=True, paranoid_checks=True, **SMALL, **known)


def _change(db: Any, model: Model, rng: random.Random, count: int) -> None:  # noqa: ANN401
    """Random puts, deletions and batches on a store, either one, and on a model."""
    for _ in range(count):
        with db.write_batch(sync=rng.random() < 0.02) as batch:
            for _ in range(rng.choice((1, 1, 1, 5))):
                key = b"%0*d" % (rng.choice((3, 8, 20)), rng.randrange(900))
                if rng.random() < 0.2:
                    batch.delete(key)
                    model.pop(key, None)
                else:
                    value = rng.randbytes(rng.choice((0, 20, 100, 900))) + b"x" * rng.randrange(200)
                    batch.put(key, value)
                    model[key] = value
        if rng.random() < 0.002:
            start, stop = sorted(b"%08d" % rng.randrange(900) for _ in range(2))
            db.compact_range(start=start, stop=stop)


def _check(db: Any, model: Model) -> None:  # noqa: ANN401
    """Everything is there, forwards, backwards and by key; nothing else is."""
    pairs = sorted(model.items())
    assert list(db.iterator(verify_checksums=True)) == pairs
    assert list(db.iterator(verify_checksums=True, reverse=True)) == pairs[::-1]
    for key, value in pairs:
        assert db.get(key, verify_checksums=True) == value
    for i in range(900):
        assert db.get(b"%05d" % i, verify_checksums=True) is None


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("seed", range(2))
def test_in_turns(tmp_path: Path, options: dict[str, Any], seed: int) -> None:
    """Both write to one store in turns; each checks what the other left, and compacts it."""
    rng, model = random.Random(seed), Model()
    opened: list[Callable[[Path, dict[str, Any]], Any]] = [_ours, _theirs]
    for turn in range(8):
        db = opened[(turn + seed) % 2](tmp_path, options)
        _check(db, model)
        _change(db, model, rng, 400)
        _check(db, model)
        if turn % 3 == 2:
            db.compact_range()
            _check(db, model)
        db.close()
    with _ours(tmp_path, options) as ours:
        assert ours.verify().tables > 0


def test_the_kinds_of_options_do_not_matter_to_readers(tmp_path: Path) -> None:
    """One store, opened with other options each time."""
    rng, model = random.Random(5), Model()
    for turn, options in enumerate(OPTIONS * 2):
        db = (_ours if turn % 2 else _theirs)(tmp_path, options)
        _check(db, model)
        _change(db, model, rng, 300)
        db.close()
    with _theirs(tmp_path, OPTIONS[1]) as theirs:
        theirs.compact_range()
        _check(theirs, model)


def test_aligned_tables_with_filters_are_read_by_leveldb(tmp_path: Path) -> None:
    """Padding comes before the next filter begins: no key is denied."""
    value = random.Random(1).randbytes(992)
    with kv.open(
        tmp_path, create_if_missing=True, compression=None, bloom_filter_bits=10, pages_per_block=1
    ) as ours:
        for i in range(8000):
            ours.put(b"%016d" % (i * 7919 % 8000), value)
        ours.compact_range()
    theirs = plyvel.DB(str(tmp_path), paranoid_checks=True, bloom_filter_bits=10, compression=None)
    assert all(theirs.get(b"%016d" % i, verify_checksums=True) == value for i in range(8000)), (
        "LevelDB finds every key"
    )
    theirs.compact_range()
    assert sum(1 for _ in theirs) == 8000
    theirs.close()


def test_repair_of_the_other_ones_store(tmp_path: Path) -> None:
    """LevelDB repairs ours, ours repairs LevelDB's."""
    rng, model = random.Random(9), Model()
    ours = _ours(tmp_path / "ours", OPTIONS[1])
    _change(ours, model, rng, 1500)
    ours.close()
    for path in (tmp_path / "ours").glob("MANIFEST*"):
        path.unlink()
    plyvel.repair_db(str(tmp_path / "ours"))
    with plyvel.DB(str(tmp_path / "ours")) as theirs:
        assert {key for key, _ in theirs} >= set(model)

    model = Model()
    theirs = _theirs(tmp_path / "theirs", OPTIONS[1])
    _change(theirs, model, rng, 1500)
    # LevelDB abandons a compaction when it is closed, and leaves half a table: the next open
    # deletes it, and may begin another one.
    theirs.compact_range()
    theirs.close()
    for _ in range(100):
        tables = (tmp_path / "theirs").glob("*.ldb")
        if all(table.read_bytes().endswith(TABLE_MAGIC) for table in tables):
            break
        _theirs(tmp_path / "theirs", OPTIONS[1]).close()
    (tmp_path / "theirs" / "CURRENT").unlink()
    assert not kv.repair(tmp_path / "theirs").lost
    for opened in (_ours, _theirs):
        db = opened(tmp_path / "theirs", OPTIONS[1])
        _check(db, model)
        db.close()


def test_the_lock_holds_against_leveldb(tmp_path: Path) -> None:
    """The lock is LevelDB's, between processes."""
    with _ours(tmp_path, {}):
        program = f"import plyvel; plyvel.DB({str(tmp_path)!r})"
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        assert "IOError" in done.stderr
        assert "lock" in done.stderr


def test_properties_are_those_of_leveldb(tmp_path: Path) -> None:
    """Same operations, drained: the same tables on the same levels."""
    texts: list[Any] = []
    name: Any
    for name, opened in (("leveldb.sstables", _ours), (b"leveldb.sstables", _theirs)):
        db: Any = opened(tmp_path / opened.__name__, {"compression": None})
        for i in range(400):
            db.put(b"%06d" % i, b"v" * 100)
        db.compact_range()
        texts.append(db.get_property(name))
        db.close()
    assert texts[0].encode() == texts[1]


@pytest.mark.parametrize("size", [100, 2000])
def test_bytes_are_those_of_leveldb(tmp_path: Path, size: int) -> None:
    """With LevelDB's background work inline, equal operations leave equal files."""
    program = bench.compiled(tmp_path)
    if program is None:
        pytest.skip("no C++ compiler, or no headers of LevelDB")
    names, n = ["fillrandom", "overwrite", "readrandom", "deleterandom", "readmissing"], 60_000
    both = {}
    command = [
        str(program),
        str(tmp_path / "a"),
        "inline",
        str(size),
        str(n),
        "10",
        ",".join(names),
    ]
    subprocess.run(command, check=True, capture_output=True)
    list(bench.own(str(tmp_path / "b"), names, n, size, 10))
    for side in ("a", "b"):
        files = (tmp_path / side).iterdir()
        both[side] = {f.name: f.read_bytes() for f in files if not f.name.startswith("LO")}
    assert both["a"].keys() == both["b"].keys()
    assert [name for name in both["a"] if both["a"][name] != both["b"][name]] == []
    assert sum(name.endswith(".ldb") for name in both["a"]) > 2
