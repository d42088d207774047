"""Rows as CSV and Parquet, and as pandas and Polars tables."""

from __future__ import annotations

import csv
import io
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from types import ModuleType
from typing import Any, BinaryIO, ClassVar

from ssdlab.display.numbers import Value
from ssdlab.errors import OutputError
from ssdlab.versions import install


class Table(ABC):
    """Results that are rows: as CSV, and as pandas and Polars tables."""

    TEXTS: ClassVar[tuple[str, ...]] = ()
    """Columns that are not numeric, even if they have no values."""

    @property
    @abstractmethod
    def rows(self) -> Sequence[Mapping[str, Value]]:
        """Rows with the same columns."""

    def to_csv(self) -> str:
        """`rows` as CSV, with a header."""
        return to_csv(self.rows)

    def to_pandas(self) -> Any:  # noqa: ANN401 - of a library
        """`rows` as a `pandas.DataFrame`. Raises `OutputError` without pandas."""
        return to_pandas(self.rows, self.TEXTS)

    def to_polars(self) -> Any:  # noqa: ANN401 - of a library
        """`rows` as a `polars.DataFrame`. Raises `OutputError` without Polars."""
        return to_polars(self.rows, self.TEXTS)


def by_column(rows: Sequence[Mapping[str, Value]]) -> dict[str, list[Value]]:
    """The values of each column; if any is fractional, all its numbers are floating point."""
    columns = {name: [row.get(name) for row in rows] for name in (rows[0] if rows else ())}
    return {name: _of_one_type(column) for name, column in columns.items()}


def _of_one_type(column: list[Value]) -> list[Value]:
    """Numbers, booleans or texts: what other libraries consider the type of a column."""
    types = {type(value) for value in column if value is not None}
    if types == {int, float}:
        return [None if value is None else float(value) for value in column]
    if len(types) > 1:
        return [None if value is None else str(value) for value in column]
    return column


def _without_values(columns: Mapping[str, Sequence[Value]], texts: Sequence[str]) -> set[str]:
    """Numeric columns without a value, which are floating point, too."""
    return {
        name
        for name, column in columns.items()
        if name not in texts and all(value is None for value in column)
    }


def to_pandas(rows: Sequence[Mapping[str, Value]], texts: Sequence[str] = ()) -> Any:  # noqa: ANN401
    """A `pandas.DataFrame`; the columns `texts` are not numeric. Raises `OutputError`."""
    pandas, columns = library("pandas", "to_pandas()"), by_column(rows)
    empty = dict.fromkeys(_without_values(columns, texts), math.nan)
    return pandas.DataFrame(
        {**columns, **{name: [value] * len(rows) for name, value in empty.items()}}
    )


def to_polars(rows: Sequence[Mapping[str, Value]], texts: Sequence[str] = ()) -> Any:  # noqa: ANN401
    """A `polars.DataFrame`; the columns `texts` are not numeric. Raises `OutputError`."""
    polars, columns = library("polars", "to_polars()"), by_column(rows)
    kinds = dict.fromkeys(_without_values(columns, texts), polars.Float64)
    kinds |= dict.fromkeys((name for name in texts if name in columns), polars.String)
    return polars.DataFrame(columns, schema_overrides=kinds)


def write_parquet(
    rows: Sequence[Mapping[str, Value]], out: BinaryIO, texts: Sequence[str] = ()
) -> None:
    """Write rows as Parquet; the columns `texts` are not numeric. Raises `OutputError`."""
    arrow = library("pyarrow", "Parquet")
    parquet, columns = import_module("pyarrow.parquet"), by_column(rows)
    kinds = dict.fromkeys(_without_values(columns, texts), arrow.float64())
    kinds |= dict.fromkeys(texts, arrow.string())
    arrays = {name: arrow.array(column, kinds.get(name)) for name, column in columns.items()}
    parquet.write_table(arrow.table(arrays), out, compression="zstd")


def has_parquet() -> bool:
    """Whether `write_parquet` can be called."""
    try:
        import_module("pyarrow.parquet")
    except ImportError:
        return False
    return True


def library(name: str, feature: str) -> ModuleType:
    """A library that `feature` needs. Raises `OutputError` without it."""
    try:
        return import_module(name)
    except ImportError as error:
        message = f"{feature} needs {name}: {install(name)}"
        raise OutputError(message) from error


def to_csv(rows: Iterable[Mapping[str, Value]]) -> str:
    """A header and a line for each row; missing values are empty fields."""
    out = io.StringIO()
    writer = None
    for row in rows:
        if writer is None:
            writer = csv.DictWriter(out, list(row), lineterminator="\n")
            writer.writeheader()
        writer.writerow(row)
    return out.getvalue()
