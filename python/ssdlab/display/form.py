"""The structure of a report, as the simulator declares it (`ssd-core`, `metrics/report`).

Its sections and fields with their definitions and units, and the columns of comparisons.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, Literal, TypeAlias

from ssdlab import _core

Unit: TypeAlias = Literal["duration", "size", "bandwidth", "rate", "percent", "ratio", "number"]
"""The unit of a number: a quantity of `_core.number_text`."""
ROOT = "Report"
"""Name of the section that stands for the whole report."""


@dataclass(frozen=True)
class Column:
    """A column of comparisons."""

    name: str
    """Name in compare.json."""
    key: str
    """Dotted key of report.json."""
    of: str | None
    """Dotted key of the divisor of the value."""
    unit: Unit
    """What it is measured in."""
    title: str
    """Title in tables; empty if it is in no table."""
    short: str
    """Title if there is little room."""
    measured: bool
    """Whether it is simulated, so that repetitions have means, intervals and ratios."""
    paged: bool
    """In the tables of pages."""
    shown: bool
    """Whether it is in the tables of text as well."""
    ranked: bool
    """Whether configurations are ranked by it; lower is better."""

    @property
    def lower_is_better(self) -> bool:
        """Whether tables mark the lowest value: a latency, or work of the flash."""
        costs = ("gc.pages_moved", "flash.erases")
        return self.ranked or self.key.startswith("latency.") or self.key in costs

    def of_report(self, report: object) -> Any:  # noqa: ANN401 - what the report says
        """The value of a report."""
        value = _attribute(report, self.key)
        if self.of is None:
            return value
        divisor = _attribute(report, self.of)
        return value / divisor if divisor else None


def _attribute(value: Any, key: str) -> Any:  # noqa: ANN401
    for name in key.split("."):
        if value is None:
            return None
        value = getattr(value, name)
    return value


@cache
def _form() -> dict[str, Any]:
    form_: dict[str, Any] = json.loads(_core.report_form())
    return form_


def sections() -> list[dict[str, Any]]:
    """Name, definition and fields of every section, each after the section that contains it."""
    sections_: list[dict[str, Any]] = _form()["sections"]
    return sections_


@cache
def columns() -> tuple[Column, ...]:
    """The columns of comparisons, in the order of tables."""
    return tuple(Column(**column) for column in _form()["columns"])


@cache
def _units() -> tuple[dict[str, Unit], dict[str, dict[str, tuple[list[Any], Unit]]]]:
    """The units of columns; the kind and the unit of the fields of each section."""
    fields = {
        section["name"]: {
            field["name"]: (field["kind"], field["unit"]) for field in section["fields"]
        }
        for section in sections()
    }
    return {column.name: column.unit for column in columns()}, fields


@lru_cache(maxsize=4096)
def unit(key: str) -> Unit:
    """The unit of a dotted key of report.json, or of a column; `number` if it is neither.

    A column of a key of the configuration ends with the unit of the key.
    """
    column_units, fields = _units()
    if key in column_units:
        return column_units[key]
    kind: list[Any] = ["section", ROOT]
    unit_: Unit = "number"
    for name in key.split("."):
        while kind[0] == "nullable":
            kind = kind[1]
        if kind[0] == "section":
            kind, unit_ = fields[kind[1]].get(name, (["free"], "number"))
        else:
            kind = kind[1] if kind[0] in ("list", "map") else ["free"]
    if unit_ == "number":
        # A key of the configuration, whose column ends with its unit.
        unit_ = {"ns": "duration", "bytes": "size"}.get(key.rpartition("_")[2], unit_)  # type: ignore[assignment]
    return unit_
