"""Stores of others: Chrome's IndexedDB is read, those of other engines are left alone."""

from __future__ import annotations

import bisect
import functools
import random
import shutil
import struct
from pathlib import Path
from typing import TypeAlias, Union

import pytest

from running import refused, ssdlab_command
from ssdlab import kv

RANKS = {5: 0, 3: 1, 2: 2, 1: 3, 6: 4, 4: 5}
"""The kinds of keys of IndexedDB, as they are named and as they are ordered."""


Value: TypeAlias = Union[float, str, bytes, "list[Value]"]


def varint(value: int) -> bytes:
    out = bytearray()
    while value >= 128:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def encoded(value: Value) -> bytes:
    """A key of IndexedDB as it is stored."""
    if isinstance(value, float):
        return b"\x03" + struct.pack("<d", value)
    if isinstance(value, str):
        return b"\x01" + varint(len(value)) + value.encode("utf-16-be")
    if isinstance(value, bytes):
        return b"\x06" + varint(len(value)) + value
    return b"\x04" + varint(len(value)) + b"".join(map(encoded, value))


def taken_varint(data: bytes) -> tuple[int, bytes]:
    value = shift = 0
    for at, byte in enumerate(data):
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, data[at + 1 :]
    raise AssertionError(data)


def decoded(data: bytes) -> tuple[tuple[object, ...], bytes]:
    """What sorts as a key of IndexedDB does, and what follows it."""
    kind, data = data[0], data[1:]
    if kind == 3:
        return (RANKS[kind], struct.unpack("<d", data[:8])[0]), data[8:]
    length, data = taken_varint(data)
    if kind == 4:
        values = []
        for _ in range(length):
            value, data = decoded(data)
            values.append(value)
        return (RANKS[kind], values), data
    size = 2 * length if kind == 1 else length
    return (RANKS[kind], data[:size]), data[size:]


def place(key: bytes) -> tuple[object, ...]:
    """The fields of a key of the store, in the order in which `idb_cmp1` compares them."""
    widths = [(key[0] >> 5) + 1, (key[0] >> 2 & 7) + 1, (key[0] & 3) + 1]
    rest, ids = key[1:], []
    for width in widths:
        ids.append(int.from_bytes(rest[:width], "little"))
        rest = rest[width:]
    if ids[2] < 30:
        return (*ids, decoded(rest)[0])
    value, rest = decoded(rest)
    sequence, rest = taken_varint(rest)
    return (*ids, value, decoded(rest)[0], sequence)


def compare(a: bytes, b: bytes) -> int:
    """Negative, 0 or positive, as LevelDB asks."""
    if not (a and b):  # LevelDB compares the ends of what it compacts with no key, too.
        return len(a) - len(b)
    return (place(a) > place(b)) - (place(a) < place(b))


def drawn(draws: random.Random, depth: int = 2) -> Value:
    kind = draws.randrange(4 if depth else 3)
    if kind == 0:
        return draws.choice([0.0, -1.5, 1e300, -1e-300, float(draws.randrange(-999, 999))])
    if kind == 1:
        return "".join(draws.choice("a\0\xffb\u0100z") for _ in range(draws.randrange(5)))
    if kind == 2:
        return bytes(draws.choice([0, 1, 255]) for _ in range(draws.randrange(5)))
    return [drawn(draws, depth - 1) for _ in range(draws.randrange(3))]


def key_of(draws: random.Random) -> bytes:
    store = draws.choice([1, 2, 300])
    width = 1 if store < 256 else 2
    head = bytes([(width - 1) << 2, 1]) + store.to_bytes(width, "little")
    if draws.random() < 0.7:
        return head + b"\x01" + encoded(drawn(draws))
    rest = encoded(drawn(draws)) + varint(draws.randrange(300)) + encoded(drawn(draws))
    return head + bytes([draws.choice([30, 31])]) + rest


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[bytes, bytes]]:
    """A store that LevelDB wrote in the order `idb_cmp1`: several tables, and a log."""
    plyvel = pytest.importorskip("plyvel")
    folder = tmp_path_factory.mktemp("chrome") / "https_example.indexeddb.leveldb"
    draws, model = random.Random(5), {}
    theirs = plyvel.DB(
        str(folder),
        create_if_missing=True,
        comparator=compare,
        comparator_name=b"idb_cmp1",
        write_buffer_size=32 << 10,
        bloom_filter_bits=10,
    )
    for round_ in range(3):
        for _ in range(900):
            key, value = key_of(draws), draws.randbytes(draws.randrange(120))
            theirs.put(key, value)
            model[key] = value
        for key in draws.sample(sorted(model), 100):
            theirs.delete(key)
            del model[key]
        if round_ == 1:
            theirs.compact_range()
    theirs.close()
    return folder, model


def contents(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {one.name: (one.read_bytes(), one.stat().st_mtime_ns) for one in folder.iterdir()}


def test_the_indexeddb_of_a_browser_is_read_in_its_order(
    indexed: tuple[Path, dict[bytes, bytes]],
) -> None:
    folder, model = indexed
    keys = sorted(model, key=functools.cmp_to_key(compare))
    assert keys != sorted(keys)
    places = [place(key) for key in keys]
    before = contents(folder)
    with kv.open(folder, read_only=True, paranoid_checks=True) as db:
        assert list(db.iterator()) == [(key, model[key]) for key in keys]
        assert list(db.iterator(include_value=False)) == keys
        assert list(db.iterator(reverse=True, include_key=False)) == [model[k] for k in keys[::-1]]
        assert all(db.get(key, verify_checksums=True) == model[key] for key in keys)
        draws = random.Random(6)
        for _ in range(100):
            key, (low, high) = key_of(draws), sorted(draws.choices(range(len(keys)), k=2))
            assert db.get(key) == model.get(key)
            behind = keys[bisect.bisect_left(places, place(key)) :][:1]
            assert next(db.iterator(start=key, include_value=False), None) == next(
                iter(behind), None
            )
            found = db.iterator(start=keys[low], stop=keys[high], include_value=False)
            assert list(found) == keys[low:high]
            with db.iterator(
                start=keys[low], stop=keys[high], include_start=False, include_stop=True,
                reverse=True, include_value=False,
            ) as back:  # fmt: skip
                assert list(back) == keys[low + 1 : high + 1][::-1]
            with db.raw_iterator() as raw:
                raw.seek(key)
                assert raw.valid() == bool(behind)
                assert not behind or raw.item() == (behind[0], model[behind[0]])
        assert db.verify().tables == len(db.stats().tables) > 1
        assert db.stats().logged > 0
        assert db.approximate_size(keys[0], keys[-1]) > 0
        with db.snapshot() as held:
            assert held.get(keys[3]) == model[keys[3]]
    assert contents(folder) == before
    done = ssdlab_command("kv", "verify", folder, cwd=folder.parent)
    assert (done.returncode, done.stdout.strip().endswith("whole")) == (0, True), done.stderr


def test_the_indexeddb_of_a_browser_is_not_written(
    indexed: tuple[Path, dict[bytes, bytes]], tmp_path: Path
) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(indexed[0], folder)
    (folder / "LOCK").unlink()
    before = contents(folder)
    with pytest.raises(kv.Error, match=r"IndexedDB of a browser .* can be read, but not"):
        kv.open(folder)
    with pytest.raises(kv.Error, match="not written or repaired; nothing was changed"):
        kv.repair(folder)
    refused(ssdlab_command("kv", "repair", folder, cwd=tmp_path), 2, "the IndexedDB of a browser")
    with kv.open(folder, read_only=True) as db:
        key = next(db.iterator(include_value=False))
        with pytest.raises(kv.Error, match="reading only"):
            db.put(key, b"")
        with pytest.raises(kv.Error, match="are not neighbours in the order"):
            db.iterator(prefix=b"\0")
        with pytest.raises(kv.Error, match="are not neighbours in the order"):
            db.prefixed_db(b"\0")
        for bad in (b"", b"\0\1\1\1\7", b"no key"):
            with pytest.raises(kv.Error, match="a key that idb_cmp1 does not order"):
                db.get(bad)
    assert contents(folder) == before


def test_a_store_of_rocksdb_is_left_alone(tmp_path: Path) -> None:
    with kv.open(tmp_path / "db", create_if_missing=True) as db:
        db.put(b"key", b"value")
    (tmp_path / "db" / "IDENTITY").write_text("5d9ab2c4")
    before = contents(tmp_path / "db")
    for verb in ("verify", "stats", "repair"):
        done = ssdlab_command("kv", verb, "db", cwd=tmp_path)
        refused(done, 2, "a store of RocksDB (IDENTITY is there), and not of LevelDB")
    with pytest.raises(kv.Error, match="a store of RocksDB"):
        kv.open(tmp_path / "db", create_if_missing=True)
    with pytest.raises(kv.Error, match="a store of RocksDB"):
        kv.destroy(tmp_path / "db")
    assert contents(tmp_path / "db") == before


def test_verify_repair_and_open_say_the_same_of_a_tail(tmp_path: Path) -> None:
    folder = tmp_path / "db"
    with kv.open(folder, create_if_missing=True) as db:
        for number in range(10):
            db.put(b"key%d" % number, b"value%d" % number, sync=True)
    log = next(folder.glob("*.log"))
    whole = log.read_bytes()
    said = f"db/{log.name}: damaged at offset 160: 160 zeros end the file: lost records"
    log.write_bytes(whole[:160] + bytes(160))
    verified = ssdlab_command("kv", "verify", "db", cwd=tmp_path)
    assert verified.returncode == 2
    assert said in verified.stderr
    assert said in ssdlab_command("kv", "stats", "db", cwd=tmp_path).stdout
    assert "offset 160: 160 zeros" in ssdlab_command("kv", "dump", log, cwd=tmp_path).stdout
    with pytest.warns(UserWarning, match="160 zeros end the file"):
        db = kv.open(folder, read_only=True, paranoid_checks=True)
    with db:
        assert len(list(db.iterator())) == 5
        with pytest.raises(kv.CorruptionError, match="160 zeros end the file"):
            db.verify()
    repaired = ssdlab_command("kv", "repair", "db", cwd=tmp_path)
    assert repaired.returncode == 1
    assert said in repaired.stderr
