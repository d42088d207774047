"""Tables of a run as CSV, NumPy arrays and Parquet."""

from __future__ import annotations

import io
import shutil
from functools import partial
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from ssdlab.display.argument import argument
from ssdlab.errors import OutputError
from ssdlab.export.logs import tables
from ssdlab.results.outputs import Write
from ssdlab.results.report import Report
from ssdlab.versions import install

TEXTS = (
    *("op", "cause", "digest", "distribution"),
    *("sources", "owners", "outcome", "durability", "event", "types"),
)
"""Columns that are not integers."""


def csv(report: Report) -> dict[str, Write]:
    """Every table and log, unchanged."""
    return {
        f"{name}.csv": partial(shutil.copyfileobj, stream)
        for name, stream in tables(report).items()
    }


def npz(report: Report) -> dict[str, Write]:
    """Columns of the series, and the rows of low, high, count of each distribution."""
    groups = {"series.npz": report.series, "distributions.npz": report.distributions}
    return {name: partial(_npz, arrays) for name, arrays in groups.items() if arrays}


def _npz(arrays: dict[str, npt.NDArray[np.int64]], out: BinaryIO) -> None:
    np.savez_compressed(out, allow_pickle=False, **arrays)


def parquet(report: Report) -> dict[str, Write]:
    """Every table and log; 64-bit integers and texts, null where the CSV is empty."""
    try:
        import pyarrow.csv
        import pyarrow.parquet  # noqa: F401
    except ImportError as error:
        message = f"Parquet needs pyarrow: {install('pyarrow')}"
        raise OutputError(f"{argument(to='parquet')}: {message}") from error
    return {f"{name}.parquet": partial(_parquet, stream) for name, stream in tables(report).items()}


def _parquet(stream: io.BufferedReader, out: BinaryIO) -> None:
    """Copy CSV to Parquet, some ten thousand rows at a time."""
    from pyarrow import csv, int64, parquet, schema, string

    head = stream.readline()
    names = head.decode().strip().split(",")
    kinds = {name: string() if name in TEXTS else int64() for name in names}
    if not stream.peek(1):
        # A run that ends at once has tables without rows, which the CSV reader refuses.
        parquet.write_table(schema([*kinds.items()]).empty_table(), out, compression="zstd")
        return
    with (
        csv.open_csv(
            stream,
            read_options=csv.ReadOptions(column_names=names, block_size=4 << 20),
            convert_options=csv.ConvertOptions(
                column_types=kinds, null_values=[""], strings_can_be_null=True
            ),
        ) as batches,
        parquet.ParquetWriter(out, batches.schema, compression="zstd") as writer,
    ):
        for batch in batches:
            writer.write_batch(batch)
