"""The store: a key-value engine on LevelDB's files, with an interface like plyvel's.

    from ssdlab import kv
    with kv.open("folder", create_if_missing=True) as db:
        db.put(b"key", b"value")
        db.get(b"key")
        for key, value in db.iterator(prefix=b"k"):
            ...

Keys and values are bytes; as arguments also a bytearray or a memoryview (`Bytes`). A store, its
iterators and batches can be used from several threads, one at a time. None of them can be used in a
fork of the process that opened the store.
"""

from ssdlab._core import KvAppliedError as AppliedError
from ssdlab._core import KvClosedError as ClosedError
from ssdlab._core import KvCorruptionError as CorruptionError
from ssdlab._core import KvError as Error
from ssdlab._core import KvIoError as IoError
from ssdlab._core import KvIter as Iterator
from ssdlab._core import KvLockedError as LockedError
from ssdlab._core import KvUncertainError as UncertainError
from ssdlab.kv.comparison import Compared, compare
from ssdlab.kv.findings import LevelStats, Repaired, ReuseStats, Stats, TableStats, Verified
from ssdlab.kv.iterator import IteratorInvalidError, RawIterator
from ssdlab.kv.simulation import Simulated, simulate
from ssdlab.kv.store import (
    DB,
    PrefixedDB,
    Reader,
    Snapshot,
    WriteBatch,
    Writer,
    destroy,
    dump,
    open,
    repair,
)

__all__ = [
    "DB",
    "AppliedError",
    "ClosedError",
    "Compared",
    "CorruptionError",
    "Error",
    "IoError",
    "Iterator",
    "IteratorInvalidError",
    "LevelStats",
    "LockedError",
    "PrefixedDB",
    "RawIterator",
    "Reader",
    "Repaired",
    "ReuseStats",
    "Simulated",
    "Snapshot",
    "Stats",
    "TableStats",
    "UncertainError",
    "Verified",
    "WriteBatch",
    "Writer",
    "compare",
    "destroy",
    "dump",
    "open",
    "repair",
    "simulate",
]
