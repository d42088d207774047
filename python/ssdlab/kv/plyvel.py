"""The store under the names of plyvel: `from ssdlab.kv import plyvel`.

What a program that was written for plyvel finds: its classes, functions, exceptions and options,
None where plyvel takes it for false, and sizes that LevelDB would clip to its limits are clipped.
docs/plyvel.md says what is equal and what is not.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, TypedDict

from ssdlab import _core
from ssdlab._core import KvCorruptionError as CorruptionError
from ssdlab._core import KvError as Error
from ssdlab._core import KvIoError as IOError
from ssdlab._core import __version__
from ssdlab.kv import store
from ssdlab.kv.iterator import IteratorInvalidError

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = [
    "DB",
    "CorruptionError",
    "Error",
    "IOError",
    "IteratorInvalidError",
    "__leveldb_version__",
    "__version__",
    "destroy_db",
    "repair_db",
]

Name: TypeAlias = str | bytes | PathLike[str]
Comparator: TypeAlias = Callable[[bytes, bytes], int]

__leveldb_version__ = "1.23"
"""The LevelDB whose files are read and written."""


class Options(TypedDict, total=False):
    """The options of `DB` and `repair_db`, which are plyvel's."""

    create_if_missing: bool | None
    error_if_exists: bool | None
    paranoid_checks: bool | None
    write_buffer_size: int | None
    max_open_files: int | None
    lru_cache_size: int | None
    block_size: int | None
    block_restart_interval: int | None
    max_file_size: int | None
    compression: str | bytes | None
    bloom_filter_bits: int
    comparator: Comparator | None
    comparator_name: bytes | None


def _clipped(option: str, value: int | None) -> int | None:
    """The size that the engine takes next to it; None for its default."""
    if value is None:
        return None
    if not isinstance(value, int):
        raise TypeError(f"{option}: expected a whole number, not {type(value).__name__}")
    least, most = store.limits(option)
    return min(max(value, least), most)


def _flag(option: str, value: bool | None) -> bool:
    if value is None or isinstance(value, bool):
        return bool(value)
    raise TypeError(f"{option}: expected True or False, not {type(value).__name__}")


def _compression(value: str | bytes | None) -> str | None:
    word = value.decode(errors="replace") if isinstance(value, bytes) else value
    if word is not None and not isinstance(word, str):
        raise TypeError(f"compression: expected 'snappy' or None, not {type(value).__name__}")
    if word not in ("snappy", None):
        raise ValueError(f"compression = {value!r}: expected 'snappy' or None")
    return word


def _check_order(comparator: Comparator | None, name: bytes | None) -> None:
    """Fail for any order but that of bytes."""
    if name is not None and not isinstance(name, bytes):
        raise TypeError(f"comparator_name: expected bytes, not {type(name).__name__}")
    if (comparator is None) != (name is None):
        raise ValueError("comparator and comparator_name are given together, or neither is")
    if comparator is None:
        return
    if not callable(comparator):
        raise TypeError(f"comparator: expected a function, not {type(comparator).__name__}")
    raise Error("comparator: the keys of a store are in bytewise order, there is no other")


def _settings(
    *,
    create_if_missing: bool | None = False,
    error_if_exists: bool | None = False,
    paranoid_checks: bool | None = None,
    write_buffer_size: int | None = None,
    max_open_files: int | None = None,
    lru_cache_size: int | None = None,
    block_size: int | None = None,
    block_restart_interval: int | None = None,
    max_file_size: int | None = None,
    compression: str | bytes | None = "snappy",
    bloom_filter_bits: int = 0,
    comparator: Comparator | None = None,
    comparator_name: bytes | None = None,
) -> dict[str, object]:
    """The settings of the engine for plyvel's options."""
    _check_order(comparator, comparator_name)
    if bloom_filter_bits is None:
        raise TypeError("bloom_filter_bits: expected a whole number, not NoneType")
    sizes = {
        "write_buffer_size": write_buffer_size,
        "max_open_files": max_open_files,
        "lru_cache_size": lru_cache_size,
        "block_size": block_size,
        "block_restart_interval": block_restart_interval,
        "max_file_size": max_file_size,
        "bloom_filter_bits": bloom_filter_bits,
    }
    return store.settings(
        create_if_missing=_flag("create_if_missing", create_if_missing),
        error_if_exists=_flag("error_if_exists", error_if_exists),
        paranoid_checks=bool(paranoid_checks),
        compression=_compression(compression),
        **{option: _clipped(option, value) for option, value in sizes.items()},
    )


class DB(store.DB):
    """A store, opened by its folder; closed when a `with` block ends, or when nobody refers to it.

    Takes the options of `plyvel.DB`. Raises `Error` for a custom order of keys.
    """

    def __init__(self, name: Name, **options: Unpack[Options]) -> None:
        folder = os.fsdecode(name)
        if Path(folder).is_dir() and not os.access(folder, os.W_OK):
            raise IOError(f"{folder}: no permission to write, which opening a store does")
        super().__init__(folder, store.opened(folder, _settings(**options)))


def repair_db(name: Name, **options: Unpack[Options]) -> None:
    """Rebuild a store from whatever can still be read; the old files are renamed and kept."""
    _core.kv_repair(os.fsdecode(name), _settings(**options))


def destroy_db(name: Name) -> None:
    """Remove the store in a folder, and the folder if nothing else is in it."""
    store.destroy(os.fsdecode(name))
