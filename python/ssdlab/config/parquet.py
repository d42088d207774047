"""Parquet files as tables of text, which the reader of traces takes."""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path

from ssdlab.errors import ConfigError, OutputError, WorkloadError, stands_for
from ssdlab.versions import install

MAGIC = b"PAR1"
"""The first bytes of a Parquet file."""


def cache_folder(what: str) -> Path:
    """The default folder of files derived from traces: `parquet` or `volumes`."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "ssdlab" / what


def is_parquet(path: str | Path) -> bool:
    """Whether `path` is a Parquet file. A pipe is not read, because that would consume its data."""
    if not Path(path).is_file():
        return False
    try:
        with Path(path).open("rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def as_table(path: str | Path) -> Path:
    """A compressed CSV file with the columns of the Parquet file at `path` that are not nested.

    It stays in the cache and is rewritten when the Parquet file has changed. Raises `ConfigError`,
    `OutputError` and `WorkloadError`.
    """
    path = Path(path)
    state = path.stat()
    said = f"{path.resolve()}\n{state.st_size}\n{state.st_mtime_ns}"
    folder = cache_folder("parquet") / hashlib.sha256(said.encode()).hexdigest()[:16]
    table = folder / f"{path.name}.csv.zst"
    if not table.exists():
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=folder) as draft:
                made = Path(draft) / table.name
                _write(path, made)
                made.replace(table)
        except OSError as error:
            raise OutputError(f"{folder}: cannot store the table of {path}: {error}") from None
    stands_for(table, path)
    return table


def _write(path: Path, table: Path) -> None:
    try:
        from pyarrow import ArrowException, CompressedOutputStream, csv, parquet, types
    except ImportError:
        message = f"{path}: reading Parquet needs pyarrow: {install('pyarrow')}"
        raise ConfigError([message]) from None
    try:
        file = parquet.ParquetFile(path)
    except (ArrowException, OSError) as error:
        raise WorkloadError(f"{path}: not a whole Parquet file: {error}") from None
    with file, CompressedOutputStream(table, "zstd") as out:
        names = [one.name for one in file.schema_arrow if not types.is_nested(one.type)]
        schema = file.read_row_groups([], columns=names).schema
        with csv.CSVWriter(out, schema) as writer:
            try:
                for batch in file.iter_batches(columns=names):
                    writer.write_batch(batch)
            except ArrowException as error:
                raise WorkloadError(f"{path}: not a whole Parquet file: {error}") from None
