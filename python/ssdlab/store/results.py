"""`ssdlab.results`: the contents of a store, for users."""

from __future__ import annotations

import os
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

from ssdlab import versions
from ssdlab.config.given import typed
from ssdlab.display.argument import argument
from ssdlab.errors import ConfigError, OutputError
from ssdlab.results import frames
from ssdlab.results.report import Report
from ssdlab.results.text import counted
from ssdlab.store import query, rows
from ssdlab.store.files import Files
from ssdlab.store.query import Answer
from ssdlab.store.read import Reader

VARIABLE = "SSDLAB_STORE"
"""The environment variable that names a store."""
LISTED = {
    "key": "key[:12] as key",
    "created": "date_trunc('second', results.created) as created",
    **{name: name for name in ("name", "trace", "gc_victim", "seed", "completed", "waf")},
}
"""Columns of lists, and the SQL for them."""
HEX = frozenset("0123456789abcdef")


@typed
def results(folder: str | Path | None = None, *, version: int = versions.RESULTS) -> Results:
    """The results in a store: `ssdlab.results("DIR").query("select ...")`.

    `folder` is the store; default: the one that the environment variable SSDLAB_STORE names.
    `version`: results of another version. Raises `OutputError`, and `ConfigError` without a folder.
    """
    return Results(store_folder(folder), version)


def store_folder(folder: str | Path | None) -> Path:
    """The folder of a store: `folder`, or that in the environment. Raises `ConfigError`."""
    location = folder or os.environ.get(VARIABLE)
    if not location:
        hint = f"name its folder ({argument(folder='DIR')}), or set {VARIABLE}"
        raise ConfigError([f"no store: {hint}"])
    return Path(location)


class Results:
    """The results of one version in the folder of a store. Every call sees the present contents."""

    def __init__(self, folder: str | Path, version: int = versions.RESULTS) -> None:
        self._reader = Reader(Files(Path(folder), version, write=False))
        self.folder = Path(folder)
        self.version = version
        """The version of the results."""

    def query(self, sql: str, *, allow_files: bool = False) -> Answer:
        """The answer of DuckDB over the view `results`, which has a row for each run.

        Its columns are those of comparisons (`waf`, `write_p99_ns`), the keys of the configuration
        (`gc_victim`, `device_channels`), and `key`, `created`, `trace`, `policies` and so on:
        `columns`. `config` and `report` are JSON. A query reads only the parts of the store and
        changes nothing; with `allow_files` it may read and write files and use all of DuckDB.
        Raises `ConfigError` for an invalid query.
        """
        return query.ask(self._reader.files, sql, allow_files=allow_files)

    @property
    def columns(self) -> list[str]:
        """The columns of the view `results`."""
        return query.columns(self._reader.files.entries())

    @property
    def keys(self) -> list[str]:
        """The keys of all runs."""
        return self._reader.keys()

    @property
    def parts(self) -> list[Path]:
        """The Parquet files, for other tools. `ssdlab results gc` merges them."""
        files = self._reader.files
        return [files.part(name) for name in sorted(files.entries())]

    def report(self, key: str) -> Report:
        """The report of a run, as returned by the run. The first letters of the key suffice.

        Raises `ConfigError` if no run, or several, have such a key.
        """
        return self._reader.read(self._reader.find([self.full(key)])[self.full(key)])[0]

    def full(self, key: str) -> str:
        """The whole key, given its first letters. Raises `ConfigError`."""
        matches = (
            [candidate for candidate in self.keys if candidate.startswith(key)]
            if HEX.issuperset(key)
            else []
        )
        if len(matches) == 1:
            return matches[0]
        if not matches or not key:
            raise ConfigError([f"{self.folder}: no run with the key {key!r}"])
        examples = ", ".join(candidate[:16] for candidate in sorted(matches)[:4])
        raise ConfigError([f"{key}: the keys of {len(matches):,} runs begin so: {examples}, ..."])

    def listed(self, most: int) -> Answer:
        """The last runs, the newest first, in a few columns; the first letters of their keys."""
        columns = self.columns
        selection = ", ".join(LISTED.get(name, name) for name in LISTED if name in columns)
        order = "order by results.created desc, results.key"
        return self.query(f"select {selection} from results {order} limit {most}")

    def table(self) -> Answer:
        """All runs, in all columns except long texts."""
        return self.query(self._all())

    def _all(self) -> str:
        excluded = ", ".join(name for name in rows.TEXTS)
        return f"select * exclude ({excluded}) from {query.WHOLE} order by created, key"

    def to_pandas(self) -> Any:  # noqa: ANN401 - of a library
        """All columns except long texts as a `pandas.DataFrame`. Raises `OutputError`."""
        frames.library("pandas", "to_pandas()")
        return query.query_view(self._reader.files, lambda base: base.sql(self._all()).df())

    def to_polars(self) -> Any:  # noqa: ANN401 - of a library
        """All columns except long texts as a `polars.DataFrame`. Raises `OutputError`."""
        polars = frames.library("polars", "to_polars()")
        files, sql = self._reader.files, self._all()
        return polars.from_arrow(
            query.query_view(files, lambda base: base.sql(sql).to_arrow_table())
        )

    def __len__(self) -> int:
        return len(self.keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys)

    def __repr__(self) -> str:
        return f"<Results of {counted(len(self), 'run')} in {self.folder}, version {self.version}>"

    def _repr_html_(self) -> str:
        """How many there are, and the last ones, for notebooks."""
        head = f"<p>{escape(repr(self)[1:-1])}</p>"
        try:
            return head + self.listed(10)._repr_html_()
        except OutputError:
            return head
