"""The store under the names of plyvel: `from ssdlab.kv import plyvel`.

What a program written for plyvel expects: its classes, functions, exceptions and options. None
counts as false where it does in plyvel, and sizes are clipped to LevelDB's limits. docs/plyvel.md
says what is equal and what is not.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict

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
"""The version of LevelDB whose files are read and written."""


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


def _clip(option: str, value: int | None) -> int | None:
    """The nearest size that the engine accepts; None for its default."""
    if value is None:
        return None
    if not isinstance(value, int):
        raise TypeError(f"{option}: expected a whole number, not {type(value).__name__}")
    low, high = store.limits(option)
    return min(max(value, low), high)


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
    """Fail for any order except the bytewise one."""
    if name is not None and not isinstance(name, bytes):
        raise TypeError(f"comparator_name: expected bytes, not {type(name).__name__}")
    if (comparator is None) != (name is None):
        raise ValueError("comparator and comparator_name are given together, or neither is")
    if comparator is None:
        return
    if not callable(comparator):
        raise TypeError(f"comparator: expected a function, not {type(comparator).__name__}")
    raise Error("comparator: the keys of a store are in bytewise order, there is no other")


def _settings(**options: Unpack[Options]) -> dict[str, object]:
    """The settings of the engine for plyvel's options."""
    settings: dict[str, Any] = {"compression": "snappy", **options}
    for option in settings:
        if option not in Options.__annotations__:
            raise TypeError(f"{option}: there is no such option")
    if settings.get("bloom_filter_bits", 0) is None:
        raise TypeError("bloom_filter_bits: expected a whole number, not NoneType")
    _check_order(settings.pop("comparator", None), settings.pop("comparator_name", None))
    return store.settings(
        create_if_missing=_flag("create_if_missing", settings.pop("create_if_missing", None)),
        error_if_exists=_flag("error_if_exists", settings.pop("error_if_exists", None)),
        paranoid_checks=bool(settings.pop("paranoid_checks", None)),
        compression=_compression(settings.pop("compression")),
        **{option: _clip(option, value) for option, value in settings.items()},
    )


class DB(store.DB):
    """A store, opened by its folder; closed when a `with` block ends or it is collected.

    Takes the options of `plyvel.DB`. Raises `Error` for a custom order of keys.
    """

    def __init__(self, name: Name, **options: Unpack[Options]) -> None:
        folder = os.fsdecode(name)
        if Path(folder).is_dir() and not os.access(folder, os.W_OK):
            raise IOError(f"{folder}: no permission to write, which opening a store does")
        super().__init__(folder, store.open_core(folder, _settings(**options), defers=True))


def repair_db(name: Name, **options: Unpack[Options]) -> None:
    """Rebuild a store from whatever can still be read; the old files are renamed and kept."""
    _core.kv_repair(os.fsdecode(name), _settings(**options))


def destroy_db(name: Name) -> None:
    """Remove the store in a folder, and the folder if nothing else is in it."""
    store.destroy(os.fsdecode(name))
