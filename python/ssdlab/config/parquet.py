"""Parquet files as tables of text, for the reader of traces."""

from __future__ import annotations

import hashlib
import os
import tempfile
from decimal import Decimal
from pathlib import Path

from ssdlab.errors import ConfigError, OutputError, WorkloadError, register_table
from ssdlab.versions import install

MAGIC = b"PAR1"
"""The first bytes of a Parquet file."""
_LAYOUT = 3
"""Increased when the text of the tables changes, so that cached ones are written again."""


def cache_folder(kind: str) -> Path:
    """The default folder of files derived from traces: `parquet` or `volumes`."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "ssdlab" / kind


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
    identity = f"{_LAYOUT}\n{path.resolve()}\n{state.st_size}\n{state.st_mtime_ns}"
    folder = cache_folder("parquet") / hashlib.sha256(identity.encode()).hexdigest()[:16]
    table = folder / f"{path.name}.csv.zst"
    if not table.exists():
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=folder) as temporary:
                draft_table = Path(temporary) / table.name
                _write(path, draft_table)
                draft_table.replace(table)
        except OSError as error:
            raise OutputError(f"{folder}: cannot store the table of {path}: {error}") from None
    register_table(table, path)
    return table


def _write(path: Path, table: Path) -> None:
    try:
        import pyarrow as pa
        from pyarrow import compute, csv, parquet, types
    except ImportError:
        message = f"{path}: reading Parquet needs pyarrow: {install('pyarrow')}"
        raise ConfigError([message]) from None
    try:
        file = parquet.ParquetFile(path)
    except (pa.ArrowException, OSError) as error:
        raise _damage_error(path, error) from None
    decimals = pa.decimal128(38, 9)  # A float would be written as 4.74471424e+10.

    def format_floats(column: pa.Array) -> pa.Array:
        if not types.is_floating(column.type):
            return column
        finite = compute.if_else(compute.is_finite(column), column, None)
        try:
            digits = finite.cast(pa.float64()).cast(decimals).cast(pa.string())
        except pa.ArrowInvalid:
            raise WorkloadError(f"{path}: it has numbers of 30 digits and more") from None
        # A decimal below 0.000001 has an exponent, too, as in 0E-9.
        has_exponent = compute.fill_null(compute.match_substring(digits, "E"), False)
        texts = [f"{Decimal(number.as_py()):f}" for number in digits.filter(has_exponent)]
        return compute.replace_with_mask(digits, has_exponent, pa.array(texts, pa.string()))

    with file, pa.CompressedOutputStream(table, "zstd") as out:
        names = [field.name for field in file.schema_arrow if not types.is_nested(field.type)]
        fields = file.read_row_groups([], columns=names).schema
        schema = pa.schema(
            [
                field.with_type(pa.string()) if types.is_floating(field.type) else field
                for field in fields
            ]
        )
        batches = file.iter_batches(columns=names)
        with csv.CSVWriter(out, schema) as writer:
            while True:
                # An error of the file, unlike one of the output.
                try:
                    batch = next(batches, None)
                except (pa.ArrowException, OSError) as error:
                    raise _damage_error(path, error) from None
                if batch is None:
                    break
                columns = [format_floats(column) for column in batch.columns]
                writer.write_batch(pa.record_batch(columns, schema=schema))


def _damage_error(path: Path, error: Exception) -> WorkloadError:
    """The error of a file that is not whole, in one line."""
    return WorkloadError(f"{path}: not a whole Parquet file: {' '.join(str(error).split())}")
