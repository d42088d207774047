"""Workloads of a key-value store: YCSB, db_bench, mixgraph, as streams of operations on keys."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ssdlab import _core
from ssdlab.errors import ConfigError, translate_errors

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

BATCH = 1 << 16
"""Operations of a batch."""


@dataclass(frozen=True)
class KeyBatch:
    """Some operations in order: arrays of equal length."""

    op: npt.NDArray[np.uint8]
    """The operation, an index into `OPS`."""
    key: npt.NDArray[np.uint64]
    """Numbers of keys."""
    value_bytes: npt.NDArray[np.uint32]
    """Bytes of the value written; 0 if none is."""
    scan: npt.NDArray[np.uint32]
    """Keys read by a scan; 0 otherwise."""

    OPS = ("read", "insert", "update", "read-modify-write", "scan", "delete")

    def __len__(self) -> int:
        return len(self.op)


def key_stream(
    name: str,
    *,
    records: int,
    operations: int | None = None,
    value_bytes: int | None = None,
    keys: str | None = None,
    seed: int = 1,
    batch: int = BATCH,
) -> Iterator[KeyBatch]:
    """Yield the operations of a workload of a key-value store, `batch` at a time.

    `name`: "ycsb:load", "ycsb:a" to "ycsb:f", "db_bench:fillrandom" (and its other benchmarks), or
    "mixgraph". `records`: keys in the store; `operations`: how many, by default as many as records
    ("ycsb:load" always has those). `value_bytes`: 1000 for YCSB and 100 for db_bench by default;
    mixgraph draws its own. `keys`: how YCSB chooses them, "zipfian", "latest" or "uniform", if not
    as its workload does. The same arguments yield the same operations. Raises `ConfigError` for
    numbers out of range and `WorkloadError` for an unknown workload, before the first batch.
    """
    operation_count = records if operations is None else operations
    limits = [
        ("records", records, 2**63),
        ("operations", operation_count, 2**63),
        ("value_bytes", value_bytes or 0, 2**32),
        ("seed", seed, 2**64),
    ]
    messages = [
        f"{argument} {value}: expected 0 to {limit - 1}"
        for argument, value, limit in limits
        if not 0 <= value < limit
    ]
    if not 0 < batch < 2**32:
        messages.append(f"batch {batch}: expected 1 to {2**32 - 1}")
    if messages:
        raise ConfigError(messages)
    with translate_errors():
        stream = _core.KeyStream(
            name,
            records=records,
            operations=operation_count,
            value_bytes=value_bytes,
            keys=keys,
            seed=seed,
        )
    return _batches(stream, batch)


def _batches(stream: _core.KeyStream, batch: int) -> Iterator[KeyBatch]:
    while len(keys := KeyBatch(*stream.next_batch(batch))):
        yield keys
