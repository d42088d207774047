"""The store under plyvel's names: what plyvel documents, tried on both."""

import importlib
import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias

import pytest

from running import ROOT
from ssdlab import kv
from ssdlab.kv import plyvel as ours

THEIRS = importlib.util.find_spec("plyvel")
BOTH = ["ssdlab.kv.plyvel", "plyvel"] if THEIRS else ["ssdlab.kv.plyvel"]
Db: TypeAlias = Any  # A store of either module.
KEYS = [b"a", b"b", b"ba", b"b\xff", b"c"]


@pytest.fixture(params=BOTH)
def module(request: pytest.FixtureRequest) -> ModuleType:
    return importlib.import_module(request.param)


@pytest.fixture
def db(module: ModuleType, tmp_path: Path) -> Iterator[Db]:
    with module.DB(str(tmp_path / "s"), create_if_missing=True) as db:
        for key in KEYS:
            db.put(key, key * 2)
        yield db


def test_names(module: ModuleType) -> None:
    names = {
        "DB",
        "CorruptionError",
        "Error",
        "IOError",
        "IteratorInvalidError",
        "__leveldb_version__",
        "__version__",
        "destroy_db",
        "repair_db",
    }
    assert [name for name in sorted(names) if not hasattr(module, name)] == []
    assert module.__leveldb_version__.startswith("1.")
    for kind in (module.IOError, module.CorruptionError, module.IteratorInvalidError):
        assert issubclass(kind, module.Error)
    assert issubclass(module.IOError, OSError)


def test_names_of_objects(db: Db) -> None:
    """Whatever can be asked of plyvel's objects can be asked of ours."""
    if THEIRS is None:
        pytest.skip("plyvel is not installed")
    theirs = importlib.import_module("plyvel")
    part = db.prefixed_db(b"b")
    with theirs.DB(str(Path(db.name) / "other"), create_if_missing=True) as other:
        for mine, its in (
            (db, other),
            (part, other.prefixed_db(b"b")),
            (db.snapshot(), other.snapshot()),
            (db.iterator(), other.iterator()),
            (db.raw_iterator(), other.raw_iterator()),
            (db.write_batch(), other.write_batch()),
        ):
            names = {name for name in dir(its) if not name.startswith("_")}
            assert sorted(names - set(dir(mine))) == []


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        (TypeError, {"write_buffer_size": "4 MiB"}),
        (TypeError, {"lru_cache_size": "none"}),
        (TypeError, {"compression": 5}),
        (ValueError, {"compression": "zip"}),
        (TypeError, {"bloom_filter_bits": None}),
        (TypeError, {"create_if_missing": 1}),
        (ValueError, {"comparator": None, "comparator_name": b"one"}),
        (ValueError, {"comparator": min}),
        (TypeError, {"comparator": min, "comparator_name": "text"}),
        (TypeError, {"comparator": 5, "comparator_name": b"one"}),
        (TypeError, {"unknown": 1}),
    ],
)
def test_wrong_options(
    module: ModuleType, tmp_path: Path, kind: type[Exception], options: dict[str, Any]
) -> None:
    with pytest.raises(kind):
        module.DB(str(tmp_path / "s"), **{"create_if_missing": True, **options})
    assert not (tmp_path / "s").exists()


@pytest.mark.parametrize(
    "options",
    [
        {"compression": None},
        {"compression": b"snappy"},
        {"paranoid_checks": None, "error_if_exists": None, "write_buffer_size": None},
        {"write_buffer_size": 1, "max_file_size": 1 << 40, "block_size": 1, "max_open_files": 1},
        {"bloom_filter_bits": -1, "block_restart_interval": 2},
        {"lru_cache_size": 2 << 30, "paranoid_checks": 1},
    ],
)
def test_options_are_clipped_and_may_be_none(
    module: ModuleType, tmp_path: Path, options: dict[str, Any]
) -> None:
    with module.DB(str(tmp_path / "s").encode(), create_if_missing=True, **options) as db:
        db.put(b"k", b"v" * 5000)
        db.compact_range()
        assert db.get(b"k") == b"v" * 5000
    with pytest.raises(module.Error):
        module.DB(str(tmp_path / "s"), error_if_exists=True)


def test_opening(module: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(TypeError):
        module.DB(5)
    with pytest.raises(module.Error):
        module.DB(str(tmp_path / "none"))
    db = module.DB(str(tmp_path / "s"), create_if_missing=True)
    assert (db.name, db.closed) == (str(tmp_path / "s"), False)
    with pytest.raises(AttributeError):
        db.name = "other"
    with pytest.raises(module.IOError):
        module.DB(str(tmp_path / "s"))
    db.close()
    db.close()
    assert db.closed


def test_values_and_flags(module: ModuleType, db: Db) -> None:
    db.put(b"k", bytearray(b"1"), sync=None)
    db.put(b"l", memoryview(b"2"), sync=True)
    assert db.get(b"k", verify_checksums=None, fill_cache=None) == b"1"
    assert (db.get(b"none"), db.get(b"none", 5), db.get(b"none", default=b"d")) == (None, 5, b"d")
    db.delete(b"k", sync=None)
    assert db.get(b"k") is None
    for wrong in (
        lambda: db.put(b"k", 5),
        lambda: db.put("k", b""),
        lambda: db.put(None, b""),
        lambda: db.put(b"k", None),
        lambda: db.get("k"),
        lambda: db.get(b"k", b"", True),
        lambda: db.get(b"k", verify_checksums=1),
        lambda: db.delete(5),
        lambda: db.write_batch().put("k", b""),
        lambda: db.write_batch().append(None),
        lambda: db.iterator(start="a"),
        lambda: db.iterator(reverse=1),
        lambda: db.iterator(include_stop=0),
        lambda: db.iterator().seek("a"),
        lambda: db.iterator(prefix=b"a", start=b"b"),
        lambda: db.iterator(prefix=b"a", stop=b"b"),
        lambda: db.get_property(5),
        lambda: db.approximate_size(1, 2),
        lambda: db.approximate_sizes((1, 2)),
        lambda: db.approximate_sizes(None),
        lambda: db.prefixed_db("a"),
        lambda: db.compact_range(start="a"),
    ):
        with pytest.raises(TypeError):
            wrong()  # type: ignore[no-untyped-call]
    assert db.get_property(b"leveldb.nothing") is None
    assert isinstance(db.get_property(b"leveldb.stats"), bytes)
    assert db.approximate_sizes() == []
    del module


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"reverse": True},
        {"reverse": None, "include_key": None},
        {"include_value": None, "prefix": b""},
        {"include_key": False, "include_value": False},
        {"start": b"b", "include_start": False, "stop": b"b\xff", "include_stop": True},
        {"prefix": b"b", "include_start": False, "include_stop": True, "reverse": True},
        {"start": b"c", "stop": b"a"},
    ],
)
def test_iterators(db: Db, options: dict[str, Any]) -> None:
    """Against a list, so that both are held to the same."""
    start = options.get("prefix", options.get("start", b""))
    stop = b"bz\xff\xff" if options.get("prefix") else options.get("stop", b"\xff")
    keys = [k for k in KEYS if start <= k < stop or (k == stop and options.get("include_stop"))]
    if options.get("prefix"):
        keys = [k for k in KEYS if k.startswith(b"b")]
    elif not options.get("include_start", True):
        keys.remove(start)
    if options.get("reverse"):
        keys.reverse()

    def shown(key: bytes) -> object:
        parts = []
        if options.get("include_key", True):
            parts.append(key)
        if options.get("include_value", True):
            parts.append(key * 2)
        return tuple(parts) if len(parts) == 2 else parts[0] if parts else None

    walk = db.iterator(**options)
    assert iter(walk) is walk
    assert list(walk) == list(map(shown, keys))
    assert [walk.prev() for _ in keys] == list(map(shown, reversed(keys)))
    for end in (walk.prev, walk.prev):
        with pytest.raises(StopIteration):
            end()
    assert list(walk) == list(map(shown, keys))


def test_seeks(module: ModuleType, db: Db) -> None:
    walk = db.iterator(include_value=False, start=b"b", stop=b"c")
    for target, after, before in [
        (b"a", b"b", None),
        (b"b", b"b", None),
        (b"b\x00", b"ba", b"b"),
        (b"bz", b"b\xff", b"ba"),
        (b"c", None, b"b\xff"),
        (b"z", None, b"b\xff"),
    ]:
        walk.seek(target)
        assert next(walk, None) == after
        walk.seek(target)
        if before is not None:
            assert walk.prev() == before
        elif module is ours:  # plyvel gives a key that is not in the range.
            with pytest.raises(StopIteration):
                walk.prev()
    walk.seek_to_stop()
    assert (next(walk, None), walk.prev()) == (None, b"b\xff")
    walk.seek_to_start()
    assert next(walk) == b"b"


def test_raw_iterators(module: ModuleType, db: Db) -> None:
    walk = db.raw_iterator()
    assert not walk.valid()
    for ask in (walk.key, walk.value, walk.item, walk.next, walk.prev):
        with pytest.raises(module.IteratorInvalidError):
            ask()
    walk.seek_to_first()
    assert (walk.valid(), walk.item()) == (True, (b"a", b"aa"))
    walk.next()
    walk.seek(b"bb")
    assert (walk.key(), walk.value()) == (b"b\xff", b"b\xff" * 2)
    walk.prev()
    assert walk.key() == b"ba"
    walk.seek_to_last()
    walk.next()
    assert not walk.valid()
    with db.snapshot().raw_iterator() as walk:
        walk.seek_to_last()
        assert walk.key() == b"c"
    with pytest.raises(RuntimeError):
        walk.valid()


def test_batches(module: ModuleType, db: Db) -> None:
    with db.write_batch(transaction=True, sync=None) as batch:
        batch.put(b"x", memoryview(b"1"))
        batch.delete(b"a")
    assert (db.get(b"x"), db.get(b"a")) == (b"1", None)
    other = db.write_batch()
    other.put(b"y", b"2")
    assert other.approximate_size() > db.write_batch().approximate_size()
    batch.append(other)
    other.clear()
    batch.write()
    assert db.get(b"y") == b"2"
    del module


def test_parts(module: ModuleType, db: Db) -> None:
    part = db.prefixed_db(b"b")
    assert part.db is db
    assert (part.prefix, part.prefixed_db(b"a").prefix) == (b"b", b"ba")
    assert [key for key, _ in part] == [b"", b"a", b"\xff"]
    assert list(part.iterator(start=b"a", include_value=False)) == [b"a", b"\xff"]
    held = part.snapshot()
    part.delete(b"a")
    assert (held.get(b"a"), part.get(b"a")) == (b"ba" * 2, None)
    with held:
        assert [key for key, _ in held] == [b"", b"a", b"\xff"]
    held.release()
    del module


def test_after_closing(module: ModuleType, db: Db) -> None:
    held, batch, walk, raw = db.snapshot(), db.write_batch(), db.iterator(), db.raw_iterator()
    part, seen = db.prefixed_db(b"b"), held.iterator()
    next(seen)
    db.close()
    uses: list[Any] = [
        lambda: db.get(b"k"),
        lambda: db.put(b"k", b"v"),
        lambda: db.delete(b"k"),
        lambda: db.get_property(b"leveldb.stats"),
        lambda: db.approximate_size(b"a", b"b"),
        lambda: part.get(b"k"),
        lambda: part.put(b"k", b"v"),
        lambda: held.get(b"k"),
        lambda: batch.put(b"k", b"v"),
        lambda: batch.delete(b"k"),
        lambda: next(walk),
        lambda: next(seen),
        lambda: walk.seek(b"a"),
        *(db.write_batch, db.iterator, db.raw_iterator, db.snapshot, db.compact_range),
        *(part.iterator, part.snapshot, held.iterator, held.raw_iterator),
        *(batch.write, batch.clear, batch.approximate_size, batch.__enter__),
        *(walk.prev, walk.seek_to_start, walk.seek_to_stop, raw.valid, raw.seek_to_first, raw.next),
    ]
    for use in uses:
        with pytest.raises(RuntimeError):
            use()
    for closed in (held, walk, raw):
        closed.close()
    del module


def test_repair_and_destroy(module: ModuleType, tmp_path: Path) -> None:
    folder = str(tmp_path / "s")
    with module.DB(folder, create_if_missing=True) as db:
        db.put(b"k", b"v")
    (tmp_path / "s" / "CURRENT").unlink()
    module.repair_db(folder, compression=None, bloom_filter_bits=10)
    with module.DB(folder) as db:
        assert db.get(b"k") == b"v"
    module.destroy_db(folder.encode())
    with pytest.raises(module.Error):
        module.DB(folder)


def test_our_errors_are_also_those_of_the_store(tmp_path: Path) -> None:
    assert (ours.Error, ours.IOError, ours.CorruptionError) == (
        kv.Error,
        kv.IoError,
        kv.CorruptionError,
    )
    with pytest.raises(kv.Error, match="bytewise order, there is no other"):
        ours.DB(tmp_path / "s", comparator=lambda a, b: (a > b) - (a < b), comparator_name=b"x")


NOT_OURS = "not (test_comparator or test_open_read_only_dir)"


def test_plyvels_own_tests(tmp_path: Path) -> None:
    """Its test file is no part of its wheels: fetch its source and say where it is.

    Left out: an order of keys that is not bytewise, and a folder without permissions, which bind
    not everybody.
    """
    file = os.environ.get("PLYVEL_TESTS")
    if file is None:
        pytest.skip("PLYVEL_TESTS does not name test_plyvel.py of plyvel's source")
    (tmp_path / "plyvel.py").write_text("from ssdlab.kv.plyvel import *\n")
    tests = (tmp_path / "test_plyvel.py", Path(ROOT, file).read_text(encoding="utf-8"))
    tests[0].write_text(tests[1], encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-k", NOT_OURS, "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, str(tests[0])], check=False, cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout
