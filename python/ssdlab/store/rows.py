"""The rows of a store: their columns, and how reports are rebuilt from them."""

from __future__ import annotations

import json
import types
import typing
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from importlib import import_module
from pathlib import PurePath
from typing import Any, BinaryIO

from ssdlab import _core
from ssdlab.config.files import FILES
from ssdlab.config.resolve import Config
from ssdlab.display.form import Column, columns
from ssdlab.errors import OutputError
from ssdlab.results import measures
from ssdlab.results.decoding import field_types
from ssdlab.results.report import Report
from ssdlab.versions import install

GROUP = 64
"""Rows of a row group, which is read and decompressed as a whole for one report."""
HEADS = {
    "key": "string",
    "created": "time",
    "ssdlab": "string",
    "results": "int64",
    "commit": "string",
    "name": "string",
    "preset": "string",
    "trace": "string",
    "trace_digest": "string",
    "inputs": "files",
    "policies": "policies",
    "policies_digest": "string",
    "why": "string",
}
"""The columns before the numbers, and their types."""
TEXTS = {
    "config": "string",
    "job": "string",
    "report": "string",
    "trace_facts": "string",
    "series": "string",
    "distributions": "string",
}
"""The columns after the numbers: long texts."""
REPORT_TEXTS = ("why", "report", "trace_facts", "series", "distributions")
"""The texts from which a report is rebuilt."""


def arrow() -> Any:  # noqa: ANN401 - of a library
    """The module `pyarrow`. Raises `OutputError` without it."""
    try:
        return import_module("pyarrow")
    except ImportError as error:
        message = f"a store of results needs pyarrow: {install('pyarrow')}"
        raise OutputError(message) from error


def parquet() -> Any:  # noqa: ANN401 - of a library
    """The module `pyarrow.parquet`. Raises `OutputError` without it."""
    arrow()
    return import_module("pyarrow.parquet")


@cache
def kinds() -> dict[str, str]:
    """The columns of a row in order, each with the name of its type."""
    numbers = {column.name: _kind(column) for column in columns()}
    return {**HEADS, **numbers, "warnings": "int64", **TEXTS}


def _kind(column: Column) -> str:
    """The type of a column of comparisons."""
    if column.of is not None:
        return "float64"
    kind: Any = measures.Parts
    for name in column.key.split("."):
        kind = field_types(kind)[name]
        if isinstance(kind, types.UnionType):
            kind = typing.get_args(kind)[0]
    return {bool: "bool", int: "int64", float: "float64"}.get(kind, "string")


@cache
def schema() -> Any:  # noqa: ANN401 - of a library
    """The columns of a part, as Parquet has them."""
    pa = arrow()
    text = pa.string()
    arrow_types = {
        "string": text,
        "int64": pa.int64(),
        "float64": pa.float64(),
        "bool": pa.bool_(),
        "time": pa.timestamp("us", tz="UTC"),
        "policies": pa.map_(text, text),
        "files": pa.list_(pa.struct([("key", text), ("name", text), ("digest", text)])),
    }
    return pa.schema([(name, arrow_types[kind]) for name, kind in kinds().items()])


@dataclass(frozen=True)
class ExecutedRun:
    """An executed run: what is stored of it."""

    key: str
    job: str
    """The text whose digest is the key."""
    report: Report
    policies: Mapping[str, str]
    """Labels of the policies in Python, by key."""
    why: str
    """Why it could not finish; empty if it did."""
    created: datetime

    def row(self) -> dict[str, Any]:
        """Its row."""
        report, (_, job_config, sources) = self.report, json.loads(self.job)
        config, provenance = report.json["config"], report.provenance
        inputs = [
            {"key": f"{part}.{name}", "name": PurePath(config[part][name]).name, "digest": digest}
            for part, name in FILES
            if (digest := job_config.get(part, {}).get(name)) is not None
        ]
        traces = (entry for entry in inputs if entry["key"].startswith("workload."))
        trace: dict[str, str] = next(traces, {})
        # The contents of a folder depend on who requests them.
        plain = {**report.json, "series": {}}
        return {
            "key": self.key,
            "created": self.created,
            "ssdlab": provenance.ssdlab,
            "results": provenance.results,
            "commit": provenance.commit,
            "name": report.name,
            "preset": config.get("preset"),
            "trace": trace.get("name"),
            "trace_digest": trace.get("digest"),
            "inputs": inputs,
            "policies": list(self.policies.items()),
            "policies_digest": sources or None,
            "why": self.why or None,
            **{column.name: column.of_report(report) for column in columns()},
            "warnings": len(report.warnings),
            "config": _text(config),
            "job": self.job,
            "report": _text(plain),
            "trace_facts": None if report.trace is None else _text(report.trace),
            "series": report.series_csv,
            "distributions": report.distributions_csv,
        }


def _text(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def write_table(table: Any, out: BinaryIO) -> None:  # noqa: ANN401 - of a library
    """Write a table of rows as Parquet."""
    with writer(out, table.schema) as sink:
        sink.write_table(table, row_group_size=GROUP)


def writer(out: BinaryIO, columns: Any) -> Any:  # noqa: ANN401 - of a library
    """A writer of row groups of these columns as Parquet."""
    dictionary_columns = [name for name in columns.names if name not in TEXTS]
    return parquet().ParquetWriter(
        out,
        columns,
        compression="zstd",
        use_dictionary=dictionary_columns,
        write_statistics=["key", "created"],
    )


def table_of(rows: Sequence[Mapping[str, Any]]) -> Any:  # noqa: ANN401 - of a library
    """Rows as a table."""
    pa = arrow()
    arrays = [pa.array([row[field.name] for row in rows], field.type) for field in schema()]
    return pa.table(arrays, schema=schema())


def leaves(config: Mapping[str, Any]) -> dict[str, str]:
    """The keys of a configuration, each with the type of its value in SQL.

    A policy is its name; its parameters are separate keys. Lists are JSON.
    """
    sql_types: dict[str, str] = {}

    def visit(key: str, value: object) -> None:
        if isinstance(value, Mapping):
            for name, inner in value.items():
                visit(f"{key}.{name}" if key else name, inner)
        elif value is not None:
            types_ = {bool: "BOOLEAN", int: "BIGINT", float: "DOUBLE", list: "JSON"}
            sql_types[key] = types_.get(type(value), "VARCHAR")

    visit("", {part: inner for part, inner in config.items() if part != "preset"})
    return sql_types


def wider(current: str | None, new: str) -> str:
    """A SQL type that holds the values of both."""
    if current is None or current == new:
        return new
    return "DOUBLE" if {current, new} == {"BIGINT", "DOUBLE"} else "VARCHAR"


def all_leaves(configs: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """The keys of several configurations, with types that hold the values of all."""
    sql_types: dict[str, str] = {}
    for config in configs:
        for key, kind in config.items():
            sql_types[key] = wider(sql_types.get(key), kind)
    return dict(sorted(sql_types.items()))


def report_of(row: Mapping[str, Any], config: Config | None = None) -> Report:
    """The report of a row, as returned by the stored run.

    With `config`, which has the same key, as its own run would have reported it: they may differ in
    the names of the run, of the preset and of files, and in where these are.
    """
    values = json.loads(row["report"])
    trace = json.loads(row["trace_facts"]) if row["trace_facts"] else None
    tables = row["series"], row["distributions"]
    if config is not None and _rename(values["config"], config.values):
        words = _words(row, config)
        values["provenance"]["config_digest"] = _core.config_digest(_text(values["config"]))
        values["warnings"] = [_rename_files(warning, words) for warning in values["warnings"]]
        lines = values.get("trace_lines")
        if lines and lines.get("loss"):
            lines["loss"] = _rename_files(lines["loss"], words)
        if trace is not None:
            texts = {name: trace[name] for name in ("file", "first_skipped") if trace[name]}
            trace |= {name: _rename_files(text, words) for name, text in texts.items()}
    return Report.of_values(values, *tables, trace=trace)


def why_of(row: Mapping[str, Any], config: Config | None = None) -> str:
    """Why the run of a row could not finish, in the words of that of `config`."""
    return _rename_files(row["why"], _words(row, config)) if row["why"] else ""


def _rename(ours: dict[str, Any], theirs: Mapping[str, Any]) -> bool:
    """Give a configuration the names of another one. False if it had them."""
    previous = _text(ours)
    for name in ("name", "drive"):
        ours["run"][name] = theirs["run"][name]
    if "preset" in theirs:
        ours["preset"] = theirs["preset"]
    for part, name in FILES:
        if name in ours.get(part, {}):
            ours[part][name] = theirs[part][name]
    return _text(ours) != previous


def _words(row: Mapping[str, Any], config: Config | None) -> dict[str, str]:
    """Names of files in texts of a row, each with its name in `config`."""
    if config is None:
        return {}
    ours = json.loads(row["report"])["config"]
    pairs = [(ours.get(part, {}).get(n), config.values.get(part, {}).get(n)) for part, n in FILES]
    return {old: new for old, new in pairs if old and new and old != new}


def _rename_files(text: str, words: Mapping[str, str]) -> str:
    """A text with other names of files."""
    for old, new in words.items():
        text = text.replace(old, new)
    return text
