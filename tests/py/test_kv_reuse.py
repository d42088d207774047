"""Reuse of blocks: LevelDB reads it, an independent count agrees, reflinks save bytes."""

from __future__ import annotations

import importlib.util
import itertools
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, BinaryIO

import pytest

from running import ssdlab_command
from ssdlab import kv
from ssdlab_lab.kv import reuse

ROOT = Path(__file__).resolve().parents[2]
SMALL: dict[str, Any] = {"write_buffer_size": 64 << 10, "max_file_size": 1 << 20}
MODES: dict[str, dict[str, Any]] = {
    "aligned": {"pages_per_block": 1, "compression": None},
    "base": {"reuse": "base"},
    "retention": {"reuse": "retention"},
    "least fill": {"reuse": "retention", "least_fill": 2048, "pages_per_block": 2},
    "space budget": {"reuse": "retention", "space_budget": 5},
    "reflink": {"reuse": "reflink"},
}
VALUES = (100, 256, 992, 1024, 4000, 4096)
Model = dict[bytes, bytes]


def _tool(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


recount, reflink = _tool("recount"), _tool("reflink")


def _ours(folder: Path, **options: Any) -> kv.DB:  # noqa: ANN401 - options of `open`
    return kv.open(folder, create_if_missing=True, paranoid_checks=True, **SMALL, **options)


def _write(db: Any, model: Model, seed: int, value: int) -> None:  # noqa: ANN401 - plyvel has no types
    rng = random.Random(seed)
    keys = 600_000 // value
    for _ in range(keys // 2):
        key = b"%016d" % rng.randrange(keys)
        if rng.random() < 0.03:
            db.delete(key)
            model.pop(key, None)
        else:
            model[key] = rng.randbytes(value)
            db.put(key, model[key])


def _check(db: Any, model: Model) -> None:  # noqa: ANN401
    assert list(db.iterator(verify_checksums=True)) == sorted(model.items())
    assert all(db.get(key, verify_checksums=True) == value for key, value in model.items())


@pytest.mark.parametrize("bloom", [0, 10])
@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("mode", MODES)
def test_real_leveldb(tmp_path: Path, mode: str, value: int, bloom: int) -> None:
    """It opens what we wrote, reads and compacts it; then ours goes on."""
    plyvel = pytest.importorskip("plyvel", reason="plyvel has no wheels for this Python")
    options = {**MODES[mode], "bloom_filter_bits": bloom}
    model = Model()
    with _ours(tmp_path, **options) as db:
        for seed in range(3):
            _write(db, model, seed, value)
            db.compact_range()
        _write(db, model, 3, value)
        reused = sum(level.reused_blocks for level in db.stats().reuse)
        assert reused > 0 or value < 900 or "reuse" not in options
    theirs = plyvel.DB(
        str(tmp_path), paranoid_checks=True, bloom_filter_bits=bloom, compression=None, **SMALL
    )
    _check(theirs, model)
    _write(theirs, model, 4, value)
    theirs.compact_range()
    _check(theirs, model)
    theirs.close()
    with _ours(tmp_path, **options) as db:
        _check(db, model)
        _write(db, model, 5, value)
        db.compact_range()
        _check(db, model)
        db.verify()


@pytest.mark.parametrize("value", [256, 992, 1024, 4000])
@pytest.mark.parametrize("mode", ["base", "retention", "least fill", "space budget"])
def test_an_independent_count(tmp_path: Path, mode: str, value: int) -> None:
    """All inputs and outputs are kept, and their blocks counted by a parser of its own."""
    store, kept = tmp_path / "store", tmp_path / "kept"
    kept.mkdir()
    with _ours(store, background="steps", **MODES[mode]) as db:
        rng, keys = random.Random(value), 1_000_000 // value
        for i in range(3 * keys):
            db.put(b"%016d" % rng.randrange(keys), rng.randbytes(value))
            while i % 8 == 0 and db.step():
                recount.kept_tables(store, kept)
        while db.step():
            recount.kept_tables(store, kept)
        found = db.stats().reuse
    counted = recount.recount(kept)
    assert counted
    for level, mine in counted.items():
        stats = found[level]
        assert (stats.input_blocks, stats.output_blocks) == (mine.input_blocks, mine.output_blocks)
        # What a table cut is changed, whatever its pairs say.
        assert mine.unchanged_blocks - stats.lost_cut <= stats.unchanged_blocks
        assert stats.unchanged_blocks <= mine.unchanged_blocks
        assert mine.reused_blocks - stats.lost_cut <= stats.reused_blocks <= mine.reused_blocks
        assert stats.bytes_copied <= mine.reused_bytes
    assert sum(stats.reused_blocks for stats in found) > 0


def test_words_that_are_none(tmp_path: Path) -> None:
    for name, value in {
        "reuse": "all",
        "share": "clone",
        "least_fill": -1,
        "space_budget": 101,
    }.items():
        with pytest.raises(kv.Error, match=name):
            _ours(tmp_path / "store", **{"reuse": "base", name: value})
    assert not (tmp_path / "store").exists()


def _has_reflinks(folder: Path) -> bool:
    one, other = folder / "one", folder / "other"
    one.write_bytes(bytes(4096))
    done = subprocess.run(["cp", "--reflink=always", one, other], check=False, capture_output=True)
    return done.returncode == 0


def test_without_reflinks_blocks_are_copied_with_a_note(tmp_path: Path) -> None:
    if _has_reflinks(tmp_path):
        pytest.skip("this file system has reflinks")
    files = {}
    for mode in ("retention", "reflink"):
        model = Model()
        with _ours(tmp_path / mode, reuse=mode) as db:
            for seed in range(3):
                _write(db, model, seed, 1000)
                db.compact_range()
            _check(db, model)
            stats = db.stats()
        assert sum(level.bytes_shared for level in stats.reuse) == 0
        assert sum(level.bytes_copied for level in stats.reuse) > 0
        expected = "the file system has no reflinks" if mode == "reflink" else "None"
        assert expected in str(stats.why_copied)
        folder = tmp_path / mode
        files[mode] = {f.name: f.read_bytes() for f in folder.iterdir() if f.name != "LOCK"}
    assert files["retention"] == files["reflink"]


@pytest.fixture(params=["xfs", "btrfs"])
def reflinking(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """A file system with reflinks on a loop device."""
    if (why := reflink.missing(request.param)) is not None:
        pytest.skip(why)
    try:
        with reflink.mounted(request.param, 1024, tmp_path) as mount:
            yield mount
    except subprocess.CalledProcessError as error:
        pytest.skip(f"no loop mounts here: {error}")


def test_reflinks_save_bytes_of_the_device(reflinking: Path) -> None:
    """At least 30 percent of what the same layout writes without; and LevelDB's database.

    `tools/reflink.py` compares with LevelDB, which needs stores of more levels.
    """
    pytest.importorskip("plyvel", reason="plyvel has no wheels for this Python")
    rows = {
        row.name: row
        for row in reuse.measure([4096], 24, 10, "reflink", 1, reflinking, lambda _: None)
    }
    assert len({row.digest for row in rows.values()}) == 1
    for name in ("base", "retention"):
        row, plain = rows[name], rows["aligned"]
        assert (row.note, row.copied_bytes) == (None, 0)
        assert row.shared_bytes > 0
        assert row.device_bytes is not None
        assert plain.device_bytes is not None
        assert row.device_bytes < 0.7 * plain.device_bytes


def test_files_shared_by_reflinks_are_those_of_copies(reflinking: Path) -> None:
    """Byte by byte; and real LevelDB compacts the store."""
    plyvel = pytest.importorskip("plyvel", reason="plyvel has no wheels for this Python")
    files, model = {}, Model()
    for share in ("copy", "reflink"):
        folder = reflinking / share
        with _ours(folder, reuse="retention", share=share, bloom_filter_bits=10) as db:
            for seed in range(4):
                _write(db, model, seed, 1000)
                db.compact_range()
            shared = sum(level.bytes_shared for level in db.stats().reuse)
            assert (shared > 0) == (share == "reflink")
        files[share] = {f.name: f.read_bytes() for f in folder.iterdir() if f.name != "LOCK"}
    assert files["copy"] == files["reflink"]
    with plyvel.DB(str(reflinking / "reflink"), paranoid_checks=True, bloom_filter_bits=10) as db:
        _check(db, model)
        db.compact_range()
        _check(db, model)
    with _ours(reflinking / "reflink", reuse="reflink", bloom_filter_bits=10) as db:
        _check(db, model)


def _fill(file: BinaryIO) -> None:
    while True:
        file.write(bytes(1 << 20))
        file.flush()


def _write_for_ever(db: kv.DB) -> None:
    for seed in itertools.count(1):
        _write(db, {}, seed, 4096)
        db.compact_range()


def test_a_file_system_that_is_full_loses_nothing(reflinking: Path) -> None:
    """It fills up in the middle of the work: an error; all is there when there is room again."""
    ballast = reflinking / "ballast"
    db = _ours(reflinking / "store", reuse="reflink")
    _write(db, {}, 0, 4096)
    db.put(b"durable", b"1", sync=True)
    with ballast.open("wb") as file, pytest.raises(OSError, match="No space"):
        _fill(file)
    with pytest.raises(kv.Error, match="No space"):
        _write_for_ever(db)
    found = dict(db)
    db.close()
    ballast.unlink()
    with _ours(reflinking / "store", reuse="reflink") as db:
        after = dict(db)
        # The write that failed may be there.
        assert len(after.items() ^ found.items()) <= 2
        assert after[b"durable"] == b"1"
        db.put(b"after", b"all", sync=True)
        db.compact_range()
        db.verify()


def test_the_bench(tmp_path: Path) -> None:
    done = ssdlab_command(
        "kv", "bench", "--reuse", "reflink", "--value", "1000", "--size", "1", cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    stores = [line.split()[1] for line in lines if line.strip().startswith("1000")]
    assert [s for s in ("stock", "aligned", "base", "retention") if s in stores] == [
        "stock",
        "aligned",
        "base",
        "retention",
    ]
    assert "differ" not in done.stdout
