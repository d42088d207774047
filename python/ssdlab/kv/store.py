"""An open store, its snapshots and batches; repair and removal of stores."""

from __future__ import annotations

import json
import os.path
import warnings
from abc import abstractmethod
from collections.abc import Callable
from os import PathLike, fspath
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeAlias, TypedDict, overload

from ssdlab import _core
from ssdlab._core import KvIter as Iterator
from ssdlab.kv.closing import Closing
from ssdlab.kv.findings import LevelStats, Repaired, ReuseStats, Stats, TableStats, Verified
from ssdlab.kv.iterator import RawIterator

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

Bytes: TypeAlias = bytes | bytearray | memoryview

_DEFAULTS: dict[str, object] = json.loads(_core.kv_defaults())


# Options by plyvel's names, if those of the engine differ.
_ENGINE_NAMES = {
    "max_open_files": "max_open_tables",
    "lru_cache_size": "block_cache_size",
    "bloom_filter_bits": "bloom_bits_per_key",
    "compression": "snappy",
    "background": "eager",
    "share": "reflink",
}
_WORDS = {
    "compression": ("snappy", None),
    "background": ("eager", "steps"),
    "share": ("reflink", "copy"),
}
_REUSE = ("off", "base", "retention")


def _ranges() -> dict[str, tuple[int, int]]:
    """Least and greatest values of whole numbers, by the engine's names."""
    ranges: dict[str, tuple[int, int]] = {
        "block_cache_size": (0, 1 << 60),
        "pages_per_block": (0, 1024),
        "least_fill": (0, 1 << 22),
        "space_budget": (0, 100),
        **json.loads(_core.kv_ranges()),
    }
    # 0 means none in Python.
    return ranges | {"bloom_bits_per_key": (0, ranges["bloom_bits_per_key"][1])}


_RANGES = _ranges()


def _setting(name: str, value: object) -> object:
    """The value that the engine gets for an option. Raises `Error` for an invalid value."""
    key = _ENGINE_NAMES.get(name, name)
    if name in _WORDS:
        default, alternative = _WORDS[name]
        if value in (default, alternative):
            return value == default
        expected = f"{default!r} or {alternative!r}"
    elif name == "reuse":
        if value in _REUSE:
            return value
        expected = "'off', 'base', 'retention' or 'reflink'"
    elif key in _RANGES:
        low, high = _RANGES[key]
        if isinstance(value, int) and not isinstance(value, bool) and low <= value <= high:
            return value
        expected = f"a whole number from {low} to {high}"
    else:
        if isinstance(value, bool):
            return value
        expected = "True or False"
    raise _core.KvError(f"{name} = {value!r}: expected {expected}")


def limits(option: str) -> tuple[int, int]:
    """Least and greatest value of an option that is a whole number."""
    return _RANGES[_ENGINE_NAMES.get(option, option)]


def settings(**options: object) -> dict[str, object]:
    """All settings of the engine: the given ones, and defaults for None."""
    engine_settings = dict(_DEFAULTS)
    for name, value in options.items():
        if value is not None or name in _WORDS:
            engine_settings[_ENGINE_NAMES.get(name, name)] = _setting(name, value)
    return engine_settings


def _folder(path: str | PathLike[str]) -> str:
    """The path of a store as text."""
    folder = fspath(path)
    if not folder:
        raise _core.KvError("the path of the store is empty: expected a folder")
    return folder


def open(
    path: str | PathLike[str],
    *,
    create_if_missing: bool = False,
    error_if_exists: bool = False,
    read_only: bool = False,
    paranoid_checks: bool = False,
    write_buffer_size: int | None = None,
    max_open_files: int | None = None,
    lru_cache_size: int | None = None,
    block_size: int | None = None,
    block_restart_interval: int | None = None,
    max_file_size: int | None = None,
    compression: Literal["snappy"] | None = "snappy",
    bloom_filter_bits: int = 0,
    background: Literal["eager", "steps"] = "eager",
    sync_logs: bool = True,
    pages_per_block: int = 0,
    reuse: Literal["off", "base", "retention", "reflink"] = "off",
    share: Literal["copy", "reflink"] = "copy",
    least_fill: int = 0,
    space_budget: int | None = None,
) -> DB:
    """Open the store in a folder, LevelDB's or ours.

    Sizes are bytes; None is the default of the engine, which is LevelDB's. `bloom_filter_bits` are
    bits per key up to 100, 0 for no filters. With `background="steps"`, compaction runs in
    `DB.step`. With `sync_logs`, a full log is synced before the next one is begun; without, as in
    LevelDB, most logs never reach the medium, and a crash of the machine may leave a gap among
    writes that were not synced. With `pages_per_block`, data blocks begin at pages of 4 KiB and
    fill at most this many of them, up to 1024. Ranges: `write_buffer_size` 64 KiB to 1 GiB,
    `max_open_files` 10 to 50000, `block_size` 1 KiB to 4 MiB, `block_restart_interval` 1 to
    1048576, `max_file_size` 1 MiB to 1 GiB.

    With `reuse`, compactions reuse data blocks that they do not change: `"base"` if the tables do
    not depend on it, `"retention"` also by ending the open block early, unless it has less than
    `least_fill` bytes, or the zeros that this costs exceed `space_budget` percent of the bytes
    written. `share` says how: `"copy"` writes the block again, `"reflink"` lets both tables share
    it if the file system can (XFS, btrfs); otherwise blocks are copied, and `DB.stats` says why.
    `reuse="reflink"` is `"retention"` by reflinks. With `reuse`, blocks are page-aligned
    (`pages_per_block` 1 if it is 0) and not compressed.

    With `read_only`, nothing in the folder changes: no file is written, created, renamed or
    removed, and writes raise `Error`. What the logs hold is read into memory. Several such stores
    may be open on a folder at a time, but none beside one that is open for writing. The IndexedDB
    of a browser, whose keys are in the order `idb_cmp1`, can be opened this way only. Stores of
    other engines (RocksDB and others) are refused.

    With `paranoid_checks`, a damaged log is an error, as is a damaged index or filter of a table.
    Without, what is damaged in a log is left out with a warning, and the log is kept as `.lost`.
    A torn record or zeros at the end of a log are ignored in both cases, with a warning: a crash
    leaves them if the last writes were not synced.

    Raises `Error` and its subclasses: `LockedError` if the store is open elsewhere,
    `CorruptionError` if a file is damaged, `IoError` if one cannot be used.
    """
    options: dict[str, object] = dict(locals())
    del options["path"]
    if reuse == "reflink":
        options.update(reuse="retention", share="reflink")
    if reuse != "off":
        options.update(compression=None, pages_per_block=pages_per_block or 1)
    return DB(fspath(path), open_core(_folder(path), settings(**options)))


def open_core(
    folder: str, engine_settings: dict[str, object], *, defers: bool = False
) -> _core.Store:
    """The store in a folder, with a warning if part of it was lost.

    With `defers`, the next write raises an error of background work after a write. The warning
    refers to the line that called the caller of this function.
    """
    store = _core.Store(folder, engine_settings, defers)
    stats = json.loads(store.stats())
    if stats["damaged_logs"]:
        warnings.warn(
            f"{', '.join(stats['damaged_logs'])}: kept, because what was damaged in "
            f"{stats['damaged_log_records']} places of it was left out of the store; "
            "paranoid_checks=True refuses such a store, for ssdlab.kv.repair to mend it",
            stacklevel=3,
        )
    for tail in stats["tails"]:
        warnings.warn(
            f"{tail}; a crash leaves this if writes were not synced; all before it has been read",
            stacklevel=3,
        )
    return store


class Span(TypedDict, total=False):
    """The arguments of `iterator` besides the parts of a pair."""

    reverse: bool
    start: Bytes | None
    stop: Bytes | None
    include_start: bool
    include_stop: bool
    prefix: Bytes | None
    verify_checksums: bool
    fill_cache: bool


class Reader(Closing):
    """A readable view: a store, a part of one, or a snapshot."""

    _store: _core.Store
    _snapshot: _core.KvSnapshot | None
    """The snapshot that is read, or None for the current state."""

    def get(
        self,
        key: Bytes,
        default: bytes | None = None,
        *,
        verify_checksums: bool = False,
        fill_cache: bool = True,
    ) -> bytes | None:
        """Value of `key`, or `default`."""
        return self._store.get(
            key,
            default,
            verify_checksums=verify_checksums,
            fill_cache=fill_cache,
            snapshot=self._snapshot,
        )

    def __contains__(self, key: Bytes) -> bool:
        return self.get(key) is not None

    @overload
    def iterator(self, **span: Unpack[Span]) -> Iterator[tuple[bytes, bytes]]: ...
    @overload
    def iterator(
        self, *, include_value: Literal[False], **span: Unpack[Span]
    ) -> Iterator[bytes]: ...
    @overload
    def iterator(self, *, include_key: Literal[False], **span: Unpack[Span]) -> Iterator[bytes]: ...
    @overload
    def iterator(
        self, *, include_key: bool, include_value: bool, **span: Unpack[Span]
    ) -> Iterator[Any]: ...
    def iterator(
        self,
        *,
        reverse: bool = False,
        start: Bytes | None = None,
        stop: Bytes | None = None,
        include_start: bool = True,
        include_stop: bool = False,
        prefix: Bytes | None = None,
        include_key: bool = True,
        include_value: bool = True,
        verify_checksums: bool = False,
        fill_cache: bool = True,
    ) -> Iterator[Any]:
        """Iterate over the keys from `start` to `stop`, or those that begin with `prefix`.

        It yields pairs, or keys only, or values only; without either, None for each pair.
        """
        read_options, span = (
            (verify_checksums, fill_cache),
            (start, stop, include_start, include_stop, prefix),
        )
        view = (reverse, include_key, include_value)
        return Iterator(self._store, read_options, self._snapshot, span, view)

    def raw_iterator(
        self, *, verify_checksums: bool = False, fill_cache: bool = True
    ) -> RawIterator:
        """Iterate over all keys as LevelDB's own iterators do."""
        return RawIterator(self.iterator(verify_checksums=verify_checksums, fill_cache=fill_cache))

    def __iter__(self) -> Iterator[tuple[bytes, bytes]]:
        return self.iterator()


class Writer(Reader):
    """A readable and writable view: a store, or a part of one."""

    def __init__(self, store: _core.Store) -> None:
        self._store = store
        self._snapshot = None
        if type(self).get is Reader.get:
            # A method in Python costs a fifth of a `get` from memory.
            self.get = store.get  # type: ignore[method-assign]

    def put(self, key: Bytes, value: Bytes, *, sync: bool = False) -> None:
        """Give `key` a value; with `sync`, this and everything before are durable afterwards."""
        self._store.put(key, value, sync)

    def delete(self, key: Bytes, *, sync: bool = False) -> None:
        """Delete the value of `key`, if it has one."""
        self._store.delete(key, sync)

    def write_batch(self, *, transaction: bool = False, sync: bool = False) -> WriteBatch:
        """Begin changes that are applied together: when a `with` block ends, or by `write`.

        With `transaction`, they are not applied if the block ends with an exception.
        """
        return WriteBatch(self._store, transaction=transaction, sync=sync)

    def snapshot(self) -> Snapshot:
        """Keep the present state readable."""
        return Snapshot(self._store, self._store.snapshot())

    @abstractmethod
    def prefixed_db(self, prefix: Bytes) -> PrefixedDB:
        """The part whose keys begin with `prefix`, shown and named without it."""


class PrefixedDB(Writer):
    """The part of a store whose keys begin with `prefix`; closing it leaves the store open.

    `db` is the whole store and `prefix` the whole prefix, also for a part of a part.
    """

    def __init__(self, db: DB, store: _core.Store) -> None:
        super().__init__(store)
        self._db = db

    def __repr__(self) -> str:
        return f"<PrefixedDB {self.prefix!r} of {self.db!r}>"

    @property
    def db(self) -> DB:
        """The whole store."""
        return self._db

    @property
    def prefix(self) -> bytes:
        """What all keys begin with."""
        return self._store.under()

    def prefixed_db(self, prefix: Bytes) -> PrefixedDB:
        """The part of this part whose keys begin with `prefix`, shown and named without it."""
        return PrefixedDB(self.db, self._store.part(prefix))

    def close(self) -> None:
        """Do nothing: the store is closed by itself."""


class DB(Writer):
    """An open store; `ssdlab.kv.open` opens it, and leaving a `with` block closes it."""

    def __init__(self, name: str, store: _core.Store) -> None:
        super().__init__(store)
        self._name = name

    @property
    def name(self) -> str:
        """Its folder, as specified."""
        return self._name

    def __repr__(self) -> str:
        return f"<DB {self.name!r}{' (closed)' if self.closed else ''}>"

    @property
    def closed(self) -> bool:
        """Whether it is closed."""
        return self._store.closed()

    def close(self) -> None:
        """Close it; what was written is in its files. Closing it twice does nothing."""
        self._store.close()

    def prefixed_db(self, prefix: Bytes) -> PrefixedDB:
        """The part whose keys begin with `prefix`, shown and named without it."""
        return PrefixedDB(self, self._store.part(prefix))

    @overload
    def get_property(self, name: str) -> str | None: ...
    @overload
    def get_property(self, name: bytes) -> bytes | None: ...
    def get_property(self, name: str | bytes) -> str | bytes | None:
        """LevelDB's property of this name, such as `leveldb.stats`; None if there is none.

        Text for a name that is text, bytes for bytes.
        """
        if isinstance(name, str):
            return self._store.property(name)
        if not isinstance(name, bytes):
            raise TypeError(f"name: expected str or bytes, not {type(name).__name__}")
        value = self._store.property(name.decode(errors="replace"))
        return None if value is None else value.encode()

    def compact_range(self, *, start: Bytes | None = None, stop: Bytes | None = None) -> None:
        """Compact everything from `start` to `stop`, both included; None for no bound."""
        self._store.compact_range(start, stop)

    def approximate_size(self, start: Bytes, stop: Bytes) -> int:
        """The approximate bytes in files of the keys from `start` on and below `stop`."""
        return self._store.approximate_size(start, stop)

    def approximate_sizes(self, *ranges: tuple[Bytes, Bytes]) -> list[int]:
        """As `approximate_size`, for several ranges."""
        return [self.approximate_size(start, stop) for start, stop in ranges]

    def step(self) -> bool:
        """Do one piece of background work; False if nothing is due."""
        return self._store.step()

    def verify(self) -> Verified:
        """Read and check everything. Raises `CorruptionError` at the first error."""
        return Verified(*self._store.verify())

    def stats(self) -> Stats:
        """Its contents, and the work done since it was opened."""
        stats = json.loads(self._store.stats())
        levels = tuple(LevelStats(**level) for level in stats.pop("levels"))
        tables = tuple(TableStats(**table) for table in stats.pop("tables"))
        reuse = tuple(ReuseStats(**level) for level in stats.pop("reuse"))
        logs, tails = tuple(stats.pop("damaged_logs")), tuple(stats.pop("tails"))
        return Stats(
            levels=levels, reuse=reuse, tables=tables, damaged_logs=logs, tails=tails, **stats
        )


class Snapshot(Reader):
    """The state of a store at one time. Closing it lets compactions drop what only it needs."""

    def __init__(self, store: _core.Store, snapshot: _core.KvSnapshot) -> None:
        self._store = store
        self._snapshot = snapshot

    def __getattr__(self, name: str) -> NoReturn:
        if name == "_snapshot":
            raise _core.KvClosedError("the snapshot is closed")
        raise AttributeError(name, name=name, obj=self)

    def close(self) -> None:
        """Let go of the state."""
        self.__dict__.pop("_snapshot", None)

    def release(self) -> None:
        """As `close`, for plyvel."""
        self.close()


class WriteBatch:
    """Changes that are applied together or not at all."""

    def __init__(self, store: _core.Store, *, transaction: bool, sync: bool) -> None:
        self._batch = _core.KvBatch(store)
        self._transaction = transaction
        self._sync = sync

    def __len__(self) -> int:
        return len(self._batch)

    def put(self, key: Bytes, value: Bytes) -> None:
        """Give `key` a value."""
        self._batch.put(key, value)

    def delete(self, key: Bytes) -> None:
        """Delete the value of `key`."""
        self._batch.delete(key)

    def append(self, other: WriteBatch) -> None:
        """Add the changes of another batch, or its own again."""
        if not isinstance(other, WriteBatch):
            raise TypeError(f"other: expected a WriteBatch, not {type(other).__name__}")
        self._batch.append(other._batch)

    def approximate_size(self) -> int:
        """Bytes that it takes in the log."""
        return self._batch.size()

    def clear(self) -> None:
        """Forget all changes."""
        self._batch.clear()

    def write(self) -> None:
        """Apply the changes, and start an empty batch."""
        self._batch.write(self._sync)

    def __enter__(self) -> Self:
        len(self)  # Raises if the store is closed.
        return self

    def __exit__(
        self,
        _type: type[BaseException] | None,
        error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        if error is not None and self._transaction:
            self.clear()
        else:
            self.write()


def destroy(path: str | PathLike[str]) -> None:
    """Remove the store in a folder, and the folder if nothing else is in it."""
    _core.kv_destroy(_folder(path))


def repair(path: str | PathLike[str]) -> Repaired:
    """Rebuild a store from whatever can still be read. Old files are renamed, none is removed."""
    pairs, tables, lost, kept = _core.kv_repair(_folder(path), settings())
    return Repaired(pairs, tables, tuple(lost), tuple(kept))


def dump(file: str | PathLike[str], line: Callable[[str], object]) -> None:
    """Pass the records of a log, manifest or table as lines of text to `line`."""
    folder, name = os.path.split(fspath(file))
    _core.kv_dump(folder, name, line)
