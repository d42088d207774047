"""An open store, its snapshots and batches; repair and removal of stores."""

from __future__ import annotations

import json
from collections.abc import Callable
from collections.abc import Iterator as Pairs
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Literal, cast, overload

from ssdlab import _core
from ssdlab.kv.closing import Closing
from ssdlab.kv.iterator import Iterator, RawIterator, bounds

if TYPE_CHECKING:
    from typing_extensions import Self

_DEFAULTS: dict[str, object] = json.loads(_core.kv_defaults())


# Options by plyvel's names, where those of the engine are others.
_ENGINE_NAMES = {
    "max_open_files": "max_open_tables",
    "lru_cache_size": "block_cache_size",
    "bloom_filter_bits": "bloom_bits_per_key",
}
# The engine has closer bounds for most; its numbers have 64 bits.
_MOST = {"pages_per_block": 1024}


def _settings(**said: object) -> dict[str, object]:
    """All settings of the engine: what was said, defaults for what is None."""
    settings = dict(_DEFAULTS)
    for name, words, key in (
        ("compression", ("snappy", None), "snappy"),
        ("background", ("eager", "steps"), "eager"),
    ):
        value = said.pop(name, words[0])
        if value not in words:
            raise _core.KvError(f"{name} = {value!r}: expected {words[0]!r} or {words[1]!r}")
        settings[key] = value == words[0]
    for name, value in said.items():
        key = _ENGINE_NAMES.get(name, name)
        if value is None:
            continue
        if isinstance(settings[key], bool):
            settings[key] = bool(value)
            continue
        most = _MOST.get(name, 1 << 60)
        if not isinstance(value, int) or not 0 <= value <= most:
            expected = f"a whole number from 0 to {most}"
            raise _core.KvError(f"{name} = {value!r}: expected {expected}")
        settings[key] = value
    return settings


def _opened(path: str, settings: dict[str, object]) -> _core.Store:
    """The store of the engine; what it says of an option names it as plyvel does."""
    try:
        return _core.Store(path, settings)
    except _core.KvError as error:
        name, equals, rest = str(error).partition(" = ")
        for ours, engines in _ENGINE_NAMES.items():
            if equals and name == engines:
                raise _core.KvError(ours + equals + rest) from None
        raise


def open(
    path: str | PathLike[str],
    *,
    create_if_missing: bool = False,
    error_if_exists: bool = False,
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
    pages_per_block: int = 0,
) -> DB:
    """Open the store in a folder, LevelDB's or ours.

    Sizes are bytes; None is the default of the engine, which is LevelDB's. `bloom_filter_bits` are
    bits per key, 0 for no filters. With `background="steps"`, compaction runs in `DB.step`. With
    `pages_per_block`, data blocks begin at pages of 4 KiB and fill at most so many of them.

    Raises `Error` and its subclasses: `LockedError` if the store is open elsewhere,
    `CorruptionError` if a file is damaged, `IoError` if one cannot be used.
    """
    settings = _settings(
        create_if_missing=create_if_missing,
        error_if_exists=error_if_exists,
        paranoid_checks=paranoid_checks,
        write_buffer_size=write_buffer_size,
        max_open_files=max_open_files,
        lru_cache_size=lru_cache_size,
        block_size=block_size,
        block_restart_interval=block_restart_interval,
        max_file_size=max_file_size,
        compression=compression,
        bloom_filter_bits=bloom_filter_bits,
        background=background,
        pages_per_block=pages_per_block,
    )
    return DB(fspath(path), _opened(fspath(path), settings))


@dataclass(frozen=True)
class LevelStats:
    """A level: its tables now, and the work done for it since the store was opened."""

    tables: int
    """Tables."""
    compactions: int
    """Compactions that wrote to it."""
    bytes_read: int
    """Bytes of tables that they read."""
    bytes_written: int
    """Bytes of tables written to it."""


@dataclass(frozen=True)
class Stats:
    """Work done since the store was opened."""

    levels: tuple[LevelStats, ...]
    """By level, from 0 on."""
    moved: int
    """Tables that went to the next level as they were."""
    slowed: int
    """Writes that were slowed down by a step."""
    stalled_steps: int
    """Steps for which writes waited."""
    damaged_log_records: int
    """Records of logs left out while opening."""


@dataclass(frozen=True)
class Verified:
    """What was read and found right."""

    tables: int
    """Tables."""
    entries: int
    """Entries, hidden ones too."""
    bytes: int
    """Bytes of tables."""


@dataclass(frozen=True)
class Repaired:
    """What a repair found."""

    pairs: int
    """Pairs of the repaired store."""
    tables: int
    """Its tables."""
    lost: tuple[str, ...]
    """What could not be read."""
    kept: tuple[str, ...]
    """What the old files are called now; they can be removed."""


class Reader(Closing):
    """What can be read from: a store, a part of one, or a snapshot."""

    _store: _core.Store
    _under: bytes = b""

    def _snapshot(self) -> _core.KvSnapshot | None:
        return None

    def get(
        self,
        key: bytes,
        default: bytes | None = None,
        *,
        verify_checksums: bool = False,
        fill_cache: bool = True,
    ) -> bytes | None:
        """Value of `key`, or `default`."""
        options = (verify_checksums, fill_cache)
        found = self._store.get(self._under + key, options, self._snapshot())
        return default if found is None else found

    def iterator(
        self,
        *,
        reverse: bool = False,
        start: bytes | None = None,
        stop: bytes | None = None,
        include_start: bool = True,
        include_stop: bool = False,
        prefix: bytes | None = None,
        include_key: bool = True,
        include_value: bool = True,
        verify_checksums: bool = False,
        fill_cache: bool = True,
    ) -> Iterator:
        """Walk through the keys from `start` to `stop`, or those that begin with `prefix`."""
        raw = self._store.iter((verify_checksums, fill_cache), self._snapshot())
        span = bounds(
            start,
            stop,
            include_start=include_start,
            include_stop=include_stop,
            prefix=prefix,
            under=self._under,
        )
        return Iterator(
            raw,
            span,
            reverse=reverse,
            include_key=include_key,
            include_value=include_value,
            under=self._under,
        )

    def raw_iterator(
        self, *, verify_checksums: bool = False, fill_cache: bool = True
    ) -> RawIterator:
        """Walk through all keys as with LevelDB's own iterators."""
        return RawIterator(self.iterator(verify_checksums=verify_checksums, fill_cache=fill_cache))

    def __iter__(self) -> Pairs[tuple[bytes, bytes]]:
        return cast("Pairs[tuple[bytes, bytes]]", iter(self.iterator()))


class Writer(Reader):
    """What can be read from and written to: a store, or a part of one."""

    def put(self, key: bytes, value: bytes, *, sync: bool = False) -> None:
        """Give `key` a value; with `sync`, it is durable afterwards, as is all before."""
        self._store.put(self._under + key, value, sync)

    def delete(self, key: bytes, *, sync: bool = False) -> None:
        """Take the value of `key` away, if it has one."""
        self._store.delete(self._under + key, sync)

    def write_batch(self, *, transaction: bool = False, sync: bool = False) -> WriteBatch:
        """Begin changes that are made together: when a `with` block ends, or by `write`.

        With `transaction`, they are not made if the block ends by an exception.
        """
        return WriteBatch(self._store, self._under, transaction=transaction, sync=sync)

    def snapshot(self) -> Snapshot:
        """Hold on to the state of now."""
        return Snapshot(self._store, self._under, self._store.snapshot())

    def prefixed_db(self, prefix: bytes) -> PrefixedDB:
        """The part whose keys begin with `prefix`, shown and named without it."""
        return PrefixedDB(self, prefix)


class PrefixedDB(Writer):
    """The part of a store whose keys begin with `prefix`; closing it leaves the store open."""

    def __init__(self, db: Writer, prefix: bytes) -> None:
        self.db = db
        self.prefix = prefix
        self._store = db._store
        self._under = db._under + prefix

    def close(self) -> None:
        """Do nothing: the store is closed by itself."""


class DB(Writer):
    """An open store; `ssdlab.kv.open` opens it, leaving a `with` block closes it."""

    def __init__(self, name: str, store: _core.Store) -> None:
        self.name = name
        self._store = store

    def __repr__(self) -> str:
        return f"<DB {self.name!r}{' (closed)' if self.closed else ''}>"

    @property
    def closed(self) -> bool:
        """Whether it is closed."""
        return self._store.closed()

    def close(self) -> None:
        """Close it; what was written is in its files. Closing it twice does nothing."""
        self._store.close()

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
        found = self._store.property(name.decode(errors="replace"))
        return None if found is None else found.encode()

    def compact_range(self, *, start: bytes | None = None, stop: bytes | None = None) -> None:
        """Compact all from `start` to `stop`, both included; None for no bound."""
        self._store.compact_range(start, stop)

    def approximate_size(self, start: bytes, stop: bytes) -> int:
        """About how many bytes of files the keys from `start` on and below `stop` take."""
        return self._store.approximate_size(start, stop)

    def approximate_sizes(self, *ranges: tuple[bytes, bytes]) -> list[int]:
        """The same for several ranges."""
        return [self.approximate_size(start, stop) for start, stop in ranges]

    def step(self) -> bool:
        """Do one piece of background work; False if nothing is due."""
        return self._store.step()

    def verify(self) -> Verified:
        """Read and check everything. Raises `CorruptionError` at the first thing found wrong."""
        return Verified(*self._store.verify())

    def stats(self) -> Stats:
        """Work done since it was opened."""
        found = json.loads(self._store.stats())
        levels = tuple(LevelStats(**level) for level in found.pop("levels"))
        return Stats(levels=levels, **found)


class Snapshot(Reader):
    """The state of a store at one time. Closing it lets compactions drop what only it needs."""

    def __init__(self, store: _core.Store, under: bytes, held: _core.KvSnapshot) -> None:
        self._store = store
        self._under = under
        self._held: _core.KvSnapshot | None = held

    def _snapshot(self) -> _core.KvSnapshot:
        if self._held is None:
            raise _core.KvError("the snapshot is closed")
        return self._held

    def close(self) -> None:
        """Let go of the state."""
        self._held = None


class WriteBatch:
    """Changes that are made together or not at all."""

    def __init__(self, store: _core.Store, under: bytes, *, transaction: bool, sync: bool) -> None:
        self._store = store
        self._under = under
        self._batch = _core.KvBatch()
        self._transaction = transaction
        self._sync = sync

    def __len__(self) -> int:
        return len(self._batch)

    def put(self, key: bytes, value: bytes) -> None:
        """Give `key` a value."""
        self._batch.put(self._under + key, value)

    def delete(self, key: bytes) -> None:
        """Take the value of `key` away."""
        self._batch.delete(self._under + key)

    def append(self, other: WriteBatch) -> None:
        """Add the changes of another batch."""
        self._batch.extend(other._batch)

    def clear(self) -> None:
        """Forget all changes."""
        self._batch.clear()

    def write(self) -> None:
        """Make the changes, and begin anew."""
        self._store.write(self._batch, self._sync)
        self._batch.clear()

    def __enter__(self) -> Self:
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
    _core.kv_destroy(fspath(path))


def repair(path: str | PathLike[str]) -> Repaired:
    """Rebuild a store from whatever can still be read. Old files are renamed, none is removed."""
    pairs, tables, lost, kept = _core.kv_repair(fspath(path), _settings())
    return Repaired(pairs, tables, tuple(lost), tuple(kept))


def dump(file: str | PathLike[str], line: Callable[[str], object]) -> None:
    """Give the records of a log, manifest or table as lines of text to `line`."""
    path = Path(file)
    _core.kv_dump(fspath(path.parent), path.name, line)
