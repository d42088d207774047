"""Parquet files as tables of text, which the reader of traces takes."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ssdlab.errors import ConfigError, WorkloadError
from ssdlab.versions import install

MAGIC = b"PAR1"
"""The first bytes of such a file."""


def is_parquet(path: str | Path) -> bool:
    """Whether there is a Parquet file at `path`."""
    try:
        with Path(path).open("rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


@contextmanager
def as_table(path: str | Path) -> Iterator[Path]:
    """A temporary CSV file with the columns of the Parquet file at `path` that are not nested.

    Its messages name the Parquet file.
    """
    try:
        from pyarrow import ArrowException, csv, parquet, types
    except ImportError:
        message = f"{path}: reading Parquet needs pyarrow: {install('pyarrow')}"
        raise ConfigError([message]) from None
    with tempfile.TemporaryDirectory(prefix="ssdlab-") as folder:
        table = Path(folder) / f"{Path(path).name}.csv"
        try:
            with parquet.ParquetFile(path) as file:
                names = [one.name for one in file.schema_arrow if not types.is_nested(one.type)]
                schema = file.read_row_groups([], columns=names).schema
                with csv.CSVWriter(table, schema) as out:
                    for batch in file.iter_batches(columns=names):
                        out.write_batch(batch)
        except (ArrowException, OSError) as error:
            raise WorkloadError(f"{path}: not a whole Parquet file: {error}") from None
        try:
            yield table
        except WorkloadError as error:
            raise WorkloadError(str(error).replace(str(table), str(path))) from None
