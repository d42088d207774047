"""Iterators of the store: against a list, in the middle of damage, and when all is closed."""

import random
import threading
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ssdlab import kv
from ssdlab_lab.kv import iterate


def _pairs(count: int) -> dict[bytes, bytes]:
    return {b"k%04d" % i: b"%d" % i * (i % 9) for i in range(count)}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> kv.DB:
    """Pairs in tables of several levels and in memory, some deleted, some overwritten."""
    folder = tmp_path_factory.mktemp("walks") / "s"
    db = kv.open(folder, create_if_missing=True, block_size=1024)
    pairs = _pairs(600)
    for turn in range(3):
        for i, key in enumerate(pairs):
            if i % 3 == turn:
                db.put(key, b"old")
        db.compact_range()
    for key, value in pairs.items():
        db.put(key, value)
    for i in range(600, 900):
        db.put(b"k%04d" % i, b"x")
    db.compact_range(start=b"k0300", stop=b"k0400")
    for i in range(600, 900):
        db.delete(b"k%04d" % i)
    return db


class _Model:
    """A place in a list, which goes as an iterator should."""

    def __init__(self, keys: list[bytes], reverse: bool) -> None:
        self.keys = keys
        self.reverse = reverse
        self.at = len(keys) if reverse else 0

    def _step(self, forward: bool) -> bytes | None:
        self.at += 1 if forward else -1
        if not 0 <= self.at <= len(self.keys):
            self.at -= 1 if forward else -1
            return None
        return self.keys[self.at - 1 if forward else self.at]

    def next(self) -> bytes | None:
        return self._step(not self.reverse)

    def prev(self) -> bytes | None:
        return self._step(self.reverse)

    def seek(self, target: bytes) -> None:
        self.at = sum(key < target for key in self.keys)


@pytest.mark.parametrize("seed", range(60))
def test_walks_as_through_a_list(store: kv.DB, seed: int) -> None:
    """Whatever is read ahead, the place is where it was left."""
    draw = random.Random(seed)
    keys = sorted(_pairs(600))
    span: dict[str, Any] = {"reverse": draw.random() < 0.5, "include_value": draw.random() < 0.5}
    if draw.random() < 0.3:
        prefix = draw.choice([b"", b"k", b"k01", b"k0299", b"x"])
        span["prefix"] = prefix
        inside = [key for key in keys if key.startswith(prefix)]
    else:
        span["start"], span["stop"] = (b"k%04d" % draw.randrange(700) for _ in range(2))
        span["include_start"], span["include_stop"] = draw.random() < 0.5, draw.random() < 0.5
        inside = [key for key in keys if _inside(key, span)]
    walk, model = store.iterator(**span), _Model(inside, span["reverse"])

    def key_of(given: object) -> object:
        return given[0] if isinstance(given, tuple) else given

    for _ in range(60):
        what = draw.randrange(6)
        if what < 3:
            for _ in range(draw.choice([1, 2, 5, 40, 300])):
                expected = model.next()
                assert key_of(next(walk, None)) == expected
        elif what < 5:
            for _ in range(draw.choice([1, 2, 5, 40, 300])):
                before = model.prev()
                if before is None:
                    with pytest.raises(StopIteration):
                        walk.prev()
                else:
                    assert key_of(walk.prev()) == before
        else:
            target = b"k%04d" % draw.randrange(-1, 700)
            walk.seek(target)
            model.seek(target)
            where = draw.randrange(8)
            if where == 0:
                walk.seek_to_start()
                model.at = 0
            elif where == 1:
                walk.seek_to_stop()
                model.at = len(inside)


def _inside(key: bytes, span: dict[str, Any]) -> bool:
    start, stop = span["start"], span["stop"]
    return bool(
        (start < key or (span["include_start"] and key == start))
        and (key < stop or (span["include_stop"] and key == stop))
    )


def test_values_go_with_their_keys(store: kv.DB) -> None:
    pairs = _pairs(600)
    for reverse in (False, True):
        keys = sorted(pairs, reverse=reverse)
        assert list(store.iterator(reverse=reverse)) == [(key, pairs[key]) for key in keys]
        assert list(store.iterator(reverse=reverse, include_key=False)) == [pairs[k] for k in keys]
        assert list(store.iterator(reverse=reverse, include_value=False)) == keys
        none = store.iterator(reverse=reverse, include_key=False, include_value=False)
        assert list(none) == [None] * 600


def test_read_ahead_after_a_seek(tmp_path: Path) -> None:
    """As many pairs as both of the last two seeks were followed by, up to 16 KiB; else one."""
    with kv.open(tmp_path / "s", create_if_missing=True) as db:
        for i in range(100):
            db.put(b"%02d" % i, b"v" * 4096)

        def ahead(taken: list[int]) -> int:
            """Values in memory after a seek and one pair, once so many were taken after seeks."""
            walk = db.iterator(include_key=False)
            for count in taken:
                walk.seek(b"10")
                for _ in range(count):
                    next(walk)
            walk.seek(b"40")
            tracemalloc.start()
            next(walk)
            held = tracemalloc.get_traced_memory()[0]
            tracemalloc.stop()
            return held // 4096

        assert [ahead(taken) for taken in ([], [10], [10, 1], [1, 10])] == [0, 0, 0, 0]
        assert [ahead(taken) for taken in ([2, 10], [10, 3], [10, 10], [1, 40, 30])] == [1, 2, 3, 3]


def _with_a_damaged_block(folder: Path) -> kv.DB:
    with kv.open(folder, create_if_missing=True, compression=None) as db:
        for i in range(600):
            db.put(b"%04d" % i, b"v" * 20)
        db.compact_range()
    table = next(folder.glob("*.ldb"))
    data = bytearray(table.read_bytes())
    data[len(data) // 2] ^= 1
    table.write_bytes(data)
    return kv.open(folder)


def test_pairs_before_damage_are_given(tmp_path: Path) -> None:
    """Damage found while reading ahead is reported when its position is reached, not before."""
    with _with_a_damaged_block(tmp_path / "s") as db:
        for reverse in (False, True):
            walk = db.iterator(reverse=reverse, include_value=False, verify_checksums=True)
            with pytest.raises(kv.CorruptionError, match="block checksum mismatch"):
                list(walk)
            with pytest.raises(kv.CorruptionError):
                next(walk)
            with pytest.raises(kv.CorruptionError):
                walk.prev()

            one_by_one: list[bytes] = []
            single = db.iterator(reverse=reverse, include_value=False, verify_checksums=True)

            def step(single: kv.Iterator[bytes] = single, seen: list[bytes] = one_by_one) -> bytes:
                """A pair, gone back over and forth, so that none is read ahead."""
                key = next(single)
                assert (single.prev(), next(single)) == (key, key)
                seen.append(key)
                return key

            with pytest.raises(kv.CorruptionError):
                list(iter(step, None))
            assert 100 < len(one_by_one) < 400

            again = db.iterator(reverse=reverse, include_value=False, verify_checksums=True)
            counted = [next(again) for _ in one_by_one]
            assert counted == one_by_one
            assert [again.prev() for _ in counted] == one_by_one[::-1]
            assert [next(again) for _ in counted] == one_by_one
            with pytest.raises(kv.CorruptionError):
                next(again)
            again.seek(one_by_one[5])
            if reverse:
                next(again)
            else:
                assert next(again) == one_by_one[5]


def test_nothing_is_given_after_closing(tmp_path: Path) -> None:
    """Not even what was read ahead."""
    db = kv.open(tmp_path / "s", create_if_missing=True)
    for i in range(200):
        db.put(b"%d" % i, b"")
    held, batch, part, raw = (
        db.snapshot(),
        db.write_batch(),
        db.prefixed_db(b"1"),
        db.raw_iterator(),
    )
    walks = [db.iterator(), held.iterator(), part.iterator(reverse=True)]
    for walk in walks:
        for _ in range(50):
            next(walk)
    raw.seek_to_first()
    walks[0].close()
    with pytest.raises(kv.ClosedError, match="the iterator is closed"):
        next(walks[0])
    held.close()
    with pytest.raises(kv.ClosedError, match="the snapshot is closed"):
        held.get(b"1")
    db.close()
    uses: list[Callable[[], object]] = [
        *(walk.__next__ for walk in walks),
        *(walk.prev for walk in walks),
        *(walk.seek_to_start for walk in walks),
        *(raw.valid, raw.item, raw.next, raw.prev, raw.seek_to_first, raw.seek_to_last),
        *(batch.write, batch.clear, batch.approximate_size, batch.__enter__, batch.__len__),
        *(db.iterator, db.raw_iterator, db.snapshot, db.write_batch, db.verify, db.stats, db.step),
        *(part.iterator, part.snapshot, part.write_batch, part.raw_iterator, db.compact_range),
        lambda: db.get(b"1"),
        lambda: b"1" in db,
        lambda: list(db),
        lambda: part.put(b"1", b""),
        lambda: batch.put(b"1", b""),
        lambda: batch.delete(b"1"),
        lambda: batch.append(batch),
        lambda: db.get_property("leveldb.stats"),
        lambda: db.approximate_sizes((b"a", b"b")),
    ]
    for use in uses:
        with pytest.raises(kv.ClosedError, match=r"^the store is closed$"):
            use()
    closable: list[Any] = [*walks, raw, held, part, db]
    for closed in closable:
        closed.close()


def test_keys_are_in_a_store_or_not(tmp_path: Path) -> None:
    with kv.open(tmp_path / "s", create_if_missing=True) as db:
        db.put(b"a", b"")
        held = db.snapshot()
        db.put(b"ab", b"2")
        assert [b"a" in db, b"b" in db, b"ab" in held, b"a" in held] == [True, False, False, True]
        assert bytearray(b"b") in db.prefixed_db(b"a")
        with pytest.raises(TypeError, match=r"^key: expected bytes, .*, not tuple$"):
            assert (b"a", b"") in db


@pytest.mark.parametrize(
    ("name", "use"),
    [
        ("key", lambda db: db.get("text")),
        ("key", lambda db: db.put("text", b"")),
        ("value", lambda db: db.put(b"k", "text")),
        ("key", lambda db: db.delete("text")),
        ("key", lambda db: db.prefixed_db(b"p").put("text", b"")),
        ("key", lambda db: db.snapshot().get("text")),
        ("key", lambda db: db.write_batch().put("text", b"")),
        ("value", lambda db: db.write_batch().put(b"", "text")),
        ("key", lambda db: db.write_batch().delete("text")),
        ("start", lambda db: db.iterator(start="text")),
        ("stop", lambda db: db.iterator(stop="text")),
        ("prefix", lambda db: db.iterator(prefix="text")),
        ("target", lambda db: db.iterator().seek("text")),
        ("target", lambda db: db.raw_iterator().seek("text")),
        ("prefix", lambda db: db.prefixed_db("text")),
        ("start", lambda db: db.compact_range(start="text")),
        ("stop", lambda db: db.approximate_size(b"", "text")),
    ],
)
def test_arguments_of_another_kind_are_named(
    store: kv.DB, name: str, use: Callable[[kv.DB], object]
) -> None:
    expected = f"^{name}: expected bytes, a bytearray or a memoryview, not str$"
    with pytest.raises(TypeError, match=expected):
        use(store)
    with pytest.raises(TypeError, match=r"^sync: expected True or False, not int$"):
        store.put(b"k", b"v", sync=1)  # type: ignore[arg-type]


def test_walks_of_threads_beside_writes(tmp_path: Path) -> None:
    """Each walk shows its state, whatever is written, compacted and closed meanwhile."""
    with kv.open(tmp_path / "s", create_if_missing=True, write_buffer_size=1 << 16) as db:
        for i in range(1000):
            db.put(b"%04d" % i, b"0")
        failed: list[BaseException] = []
        done = threading.Event()

        def read(reverse: bool) -> None:
            try:
                while not done.is_set():
                    held = db.snapshot()
                    before = list(held.iterator(reverse=reverse))
                    assert list(held.iterator(reverse=not reverse)) == before[::-1]
                    assert len(before) == 1000
            except BaseException as error:
                failed.append(error)

        readers = [threading.Thread(target=read, args=(reverse,)) for reverse in (False, True)]
        for reader in readers:
            reader.start()
        for turn in range(5000):
            db.put(b"%04d" % (turn * 7 % 1000), b"%d" % turn * 20)
        done.set()
        for reader in readers:
            reader.join()
        assert failed == []


def test_the_bench_of_walks(tmp_path: Path) -> None:
    """Both sides read the same in every cell, or it fails."""
    said: list[str] = []
    cells = list(iterate.measure([(16, 10)], tmp_path, said.append, pairs=400, turns=1))
    assert len(cells) == 2 * 4 * 2 * 3
    assert len(iterate.table(cells).splitlines()) == 1 + 48 + 2 * (cells[0].ratio is not None)
    assert list(tmp_path.iterdir()) == []


def test_the_bench_of_walks_is_fair(monkeypatch: pytest.MonkeyPatch) -> None:
    """A side is faster right after itself: its pairs are in the cache. Equal sides are equal."""
    before: list[object] = []

    def spent(read: object, _times: int) -> float:
        before.append(read)
        return 1.0 if before[-2:] == [read, read] else 2.0

    monkeypatch.setattr(iterate, "_spent", spent)
    monkeypatch.setattr(iterate, "_reader", lambda db, *_: lambda take: take([db]))
    way = ("seek", "forward", "both")
    for turns in range(1, 6):
        before.clear()
        mine, other, ratio = iterate._cell(["pairs", "pairs"], [b"k"], way, turns)
        assert (mine, other, ratio) == (1.5e9, 1.5e9, 1.0), turns
