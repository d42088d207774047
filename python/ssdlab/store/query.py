"""SQL over a store, by DuckDB: a view `results` with a row for each run."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

from ssdlab.display.argument import argument
from ssdlab.errors import ConfigError, OutputError
from ssdlab.results import frames
from ssdlab.results.text import table, wrapped
from ssdlab.store import rows
from ssdlab.store.files import CHECKS, Entry, Files, first_places
from ssdlab.versions import install

T = TypeVar("T")
SETTINGS = {
    "autoinstall_known_extensions": "false",
    "python_enable_replacements": "false",
    "TimeZone": "UTC",
}
TRIES = 20
"""Attempts at a query while other processes replace the parts that it reads."""
WHOLE = "whole_results"
"""The view from which all columns are taken."""
MOST_SHOWN = 40
"""Rows of an answer in texts."""
MOST_LETTERS = 60
"""Characters of a value in texts."""


def duckdb() -> Any:  # noqa: ANN401 - of a library
    """The module `duckdb`. Raises `OutputError` without it."""
    try:
        return import_module("duckdb")
    except ImportError as error:
        message = f"queries need duckdb: {install('duckdb')}"
        raise OutputError(message) from error


@dataclass(frozen=True, repr=False)
class Answer:
    """What a query gave."""

    columns: tuple[str, ...]
    values: tuple[tuple[Any, ...], ...]
    """A tuple for each row."""

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        """The rows by column; times as text (ISO 8601)."""
        return [dict(zip(self.columns, map(_plain, row), strict=True)) for row in self.values]

    def to_json(self) -> str:
        """A list of the rows."""
        return json.dumps(self.rows, indent=2, ensure_ascii=False) + "\n"

    def to_csv(self) -> str:
        """A header and a line for each row; lists and structures as JSON."""
        flat = [{name: _flat(value) for name, value in row.items()} for row in self.rows]
        return frames.to_csv(flat) or ",".join(self.columns) + "\n"

    @cached_property
    def flat(self) -> list[dict[str, Any]]:
        """The rows by column; lists and structures as JSON, times unchanged."""
        return [
            {name: _flat(value) for name, value in zip(self.columns, row, strict=True)}
            for row in self.values
        ]

    def to_pandas(self) -> Any:  # noqa: ANN401 - of a library
        """A `pandas.DataFrame`. Raises `OutputError` without pandas."""
        return frames.to_pandas(self.flat)

    def to_polars(self) -> Any:  # noqa: ANN401 - of a library
        """A `polars.DataFrame`. Raises `OutputError` without Polars."""
        return frames.to_polars(self.flat)

    def summary(self) -> str:
        """The first rows as a table."""
        head, first_rows = list(self.columns), self.rows[:MOST_SHOWN]
        cells = [[_cell(row[name]) for name in head] for row in first_rows]
        lines = [*table(head, cells)] if head else []
        remaining = len(self.values) - len(first_rows)
        lines += [f"and {remaining:,} more rows"] if remaining else []
        return "\n".join([*lines, ""])

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        """The first rows as a table, for notebooks."""
        from html import escape

        head = "".join(f"<th>{escape(name)}</th>" for name in self.columns)
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(_cell(value))}</td>" for value in row.values()) + "</tr>"
            for row in self.rows[:MOST_SHOWN]
        )
        remaining = len(self.values) - MOST_SHOWN
        note = f"<p>and {remaining:,} more rows</p>" if remaining > 0 else ""
        return f"<table><tr>{head}</tr>{body}</table>{note}"


def _plain(value: object) -> Any:  # noqa: ANN401 - whatever a query gives
    """A value in the form of JSON."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    iso = getattr(value, "isoformat", None)
    return iso() if iso else float(value) if hasattr(value, "as_tuple") else str(value)  # type: ignore[arg-type]


def _flat(value: Any) -> Any:  # noqa: ANN401
    """A value as a cell of a table."""
    if isinstance(value, dict | list | tuple):
        return json.dumps(_plain(value), ensure_ascii=False)
    return value


def _cell(value: Any) -> str:  # noqa: ANN401
    """A plain value in texts."""
    if value is None:
        return ""
    text = f"{value:.6g}" if isinstance(value, float) else str(_flat(value))
    text = " ".join(text.split())
    return text if len(text) <= MOST_LETTERS else text[: MOST_LETTERS - 1] + "…"


def ask(files: Files, sql: str, *, allow_files: bool = False) -> Answer:
    """The result of `sql` over the view `results`; with `allow_files` it may use all of DuckDB.

    Raises `ConfigError` for an invalid query, `OutputError` without DuckDB or if parts cannot be
    read.
    """

    def fetch(base: Any) -> Answer:  # noqa: ANN401 - of a library
        if not allow_files:
            _check_reads(base.extract_statements(sql))
        result = base.execute(sql)
        columns = tuple(field[0] for field in result.description or ())
        return Answer(columns, tuple(result.fetchall()) if columns else ())

    return query_view(files, fetch, allow_files=allow_files)


def _check_reads(statements: list[Any]) -> None:
    """Raise `ConfigError` for statements that do more than read: they could write to the store."""
    for statement in statements:
        kind, sql = statement.type.name, statement.query.strip()
        # PIVOT becomes several statements, and so does a COPY that contains one.
        is_pivot = kind == "MULTI" and sql[:5].lower() in ("pivot", "from ", "with ")
        if kind != "SELECT" and not is_pivot:
            raise ConfigError(
                [f"query: {sql}: expected SELECT, FROM or PIVOT; {_confinement_hint()}"]
            )


def _confinement_hint() -> str:
    return f"{argument(allow_files=True)} lets a query read and write files"


def _confine(base: Any, parts: list[str]) -> None:  # noqa: ANN401 - of a library
    """Permanently confine the connection to the files `parts`."""
    base.execute(f"set allowed_paths = [{', '.join(map(_quote, parts))}]")
    base.execute("set enable_external_access = false")
    base.execute("set lock_configuration = true")


def query_view(files: Files, fetch: Callable[[Any], T], *, allow_files: bool = False) -> T:
    """The value that `fetch` reads from a DuckDB connection with the view. Raises as `ask`.

    Unless `allow_files` is set, the connection can access only the parts and the files to which
    DuckDB moves data that exceed memory.
    """
    library = duckdb()
    for remaining in reversed(range(TRIES)):
        entries = files.entries()
        try:
            parts = [str(files.checked_part(name)) for name in sorted(entries)]
        except FileNotFoundError:
            continue  # another process has replaced it
        with (
            TemporaryDirectory(prefix="ssdlab-") as spill_folder,
            library.connect(
                ":memory:", config={**SETTINGS, "temp_directory": spill_folder}
            ) as base,
        ):
            try:
                _view(base, files, entries)
                if not allow_files:
                    _confine(base, parts)
                return fetch(base)
            except library.Error as error:
                text = str(error).strip()
                is_of_parts = str(files.parts) in text
                # Another process may have replaced the part meanwhile.
                if is_of_parts and remaining and not all(map(os.path.exists, parts)):
                    continue
                if isinstance(error, library.PermissionException):
                    raise ConfigError([f"query: {text}; {_confinement_hint()}"]) from None
                if is_of_parts:
                    reason = text.partition("\n")[0]
                    raise OutputError(f"{files.folder}: {reason}; {CHECKS}") from error
                raise ConfigError([_explain(text, entries)]) from None
    raise OutputError(f"{files.folder}: other processes keep replacing its parts; {CHECKS}")


def _explain(text: str, entries: Mapping[str, Entry]) -> str:
    """The message of DuckDB, and the columns that exist."""
    names = ", ".join(columns(entries))
    listing = "\n".join(wrapped("  ", f"columns of results: {names}"))
    return f"query: {text}\n{listing}"


def keys_of(entries: Mapping[str, Entry]) -> dict[str, tuple[str, str]]:
    """The columns of the view that are keys of configurations: key, and type in SQL."""
    leaves = rows.all_leaves(entry.config for entry in entries.values())
    keys = {}
    for key, kind in leaves.items():
        short = key.removesuffix(".policy") if f"{key}".count(".") > 1 else key
        name = short.replace(".", "_")
        if name not in rows.kinds():
            keys[name] = (key, kind)
    return keys


def columns(entries: Mapping[str, Entry]) -> list[str]:
    """The columns of the view: those of the parts, then the keys of configurations."""
    return [*rows.kinds(), *keys_of(entries)]


def _view(base: Any, files: Files, entries: Mapping[str, Entry]) -> None:  # noqa: ANN401
    """The view `results` over the rows that count, and `WHOLE`, which has the same rows.

    If all columns are wanted, extracting the keys of a configuration together is six times as fast
    as one by one; if one is wanted, it is slower.
    """
    if not entries:
        empty = rows.schema().empty_table()
        base.register("rows_of_parts", empty)
        for view in ("results", WHOLE):
            base.execute(f"create view {view} as select * from rows_of_parts")
        return
    paths = ", ".join(_quote(str(files.part(name))) for name in sorted(entries))
    options = "union_by_name = true, filename = true, file_row_number = true"
    join = ""
    needless = _needless(files, entries)
    if needless:
        base.execute("create table needless (part varchar, number bigint)")
        base.executemany("insert into needless values (?, ?)", needless)
        condition = "rows.filename = n.part and rows.file_row_number = n.number"
        join = f" anti join needless n on {condition}"
    keys = keys_of(entries)
    texts = ", ".join(f"{name}::json as {name}" for name in ("config", "report"))
    head = f"select * exclude (filename, file_row_number) replace ({texts})"
    tail = f" from read_parquet([{paths}], {options}) as rows{join}"
    extra = "".join(
        f", try_cast(json_extract_string(config, {_path(key)}) as {kind}) as {_quote_name(name)}"
        for name, (key, kind) in keys.items()
    )
    base.execute(f"create view results as {head}{extra}{tail}")
    leaf_paths = ", ".join(_path(key) for key, _ in keys.values())
    extra = "".join(
        f", try_cast(leaves[{index}] as {kind}) as {_quote_name(name)}"
        for index, (name, (_, kind)) in enumerate(keys.items(), 1)
    )
    inner = f"{head}, json_extract_string(config, [{leaf_paths}]) as leaves{tail}"
    base.execute(f"create view {WHOLE} as select * exclude (leaves){extra} from ({inner})")


def _needless(files: Files, entries: Mapping[str, Entry]) -> list[tuple[str, int]]:
    """Redundant rows, whose key an earlier row has, by file and number."""
    first = first_places(entries)
    if len(first) == sum(len(entry.rows) for entry in entries.values()):
        return []
    return [
        (str(files.part(name)), number)
        for name, entry in entries.items()
        for number, (key, _) in enumerate(entry.rows)
        if first[key][1:] != (name, number)
    ]


def _quote(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _path(key: str) -> str:
    """The JSON path of a key in a configuration, as SQL."""
    return _quote(f"$.{key}")


def _quote_name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
