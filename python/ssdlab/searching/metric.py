"""The metrics of a search: columns of comparisons, numbers of the report by dotted name, keys."""

from __future__ import annotations

import math
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from typing import Any

from ssdlab.config.resolve import raw_pages
from ssdlab.display.form import ROOT, Column, Unit, columns, sections, unit
from ssdlab.errors import ConfigError
from ssdlab.results.report import Report

NUMBERS = {"count", "number"}
"""Kinds of fields that are numbers."""
WALL = ("speed.", "time.wall", "time.cpu")
"""Fields that measure the computer, not the drive: they differ in every run."""


@cache
def known_metrics() -> dict[str, Column]:
    """Every metric by name: columns, then fields of the report."""
    metrics = {column.name: column for column in columns() if column.measured}
    by_key = {column.key: column for column in columns() if column.measured and column.of is None}
    kinds = {section["name"]: section["fields"] for section in sections()}
    for key in _fields(kinds, ROOT, ""):
        name = key.rpartition(".")[2]
        metric = Column(key, key, None, unit(key), key, name, True, False, False, False)
        metrics[key] = by_key.get(key, metric)
    return {name: column for name, column in metrics.items() if not column.key.startswith(WALL)}


def _fields(kinds: dict[str, list[dict[str, Any]]], section: str, prefix: str) -> list[str]:
    names = []
    for field in kinds[section]:
        kind = field["kind"]
        while kind[0] == "nullable":
            kind = kind[1]
        if kind[0] == "section":
            names += _fields(kinds, kind[1], f"{prefix}{field['name']}.")
        elif kind[0] in NUMBERS:
            names.append(f"{prefix}{field['name']}")
    return names


@dataclass(frozen=True)
class KeyColumn(Column):
    """A key of the configuration as a metric."""

    def of_report(self, report: object) -> Any:  # noqa: ANN401 - as `Column`
        """The value of the run, in ns or bytes if it has a unit; None if the run lacks the key."""
        assert isinstance(report, Report)
        values = report.config.values
        if self.key == "device.over_provisioning":
            return raw_pages(values["device"]) / values["device"]["user_pages"] - 1
        value: Any = values
        for part in self.key.split("."):
            nodes = value if isinstance(value, list) else [value]
            matches = (
                node[name]
                for node in nodes
                if isinstance(node, dict)
                for name in (part, f"{part}_ns", f"{part}_bytes")
                if name in node
            )
            value = next(matches, None)
        return value


@dataclass(frozen=True)
class Metric:
    """A number of a run."""

    name: str
    """As the user called it."""
    column: Column

    @property
    def title(self) -> str:
        """Its name in sentences."""
        return self.column.title or self.name

    @property
    def is_key(self) -> bool:
        """Whether it is a key of the configuration, equal in all runs of a point."""
        return isinstance(self.column, KeyColumn)

    def of(self, report: Report) -> float | None:
        """Its value; None if the run has none, such as a percentile of too few requests."""
        value = self.column.of_report(report)
        if not isinstance(value, int | float) or isinstance(value, bool):
            return None
        return float(value) if math.isfinite(value) else None


def metric_of(place: str, name: str) -> Metric:
    """The metric called `name`. Raises `ConfigError` about `place`, with the nearest name."""
    column = known_metrics().get(name)
    if column is not None:
        return Metric(name, column)
    matches = get_close_matches(name, known_metrics(), 1, 0.5)
    nested = [candidate for candidate in known_metrics() if candidate.startswith(f"{name}.")]
    hint = f"; did you mean {matches[0]}?" if matches else ""
    if nested:
        hint = f"; it has {', '.join(nested[:4])}{' and more' if len(nested) > 4 else ''}"
    message = f"{place}: no number of a report, and no column of comparisons{hint}"
    raise ConfigError([message])


def key_metric(key: str, unit_: str) -> Metric:
    """The value of a key, which is a time, a size or a pure number."""
    kind: Unit = {"ns": "duration", "bytes": "size"}.get(unit_, "number")  # type: ignore[assignment]
    name = f"{key}_{unit_}" if unit_ else key
    return Metric(key, KeyColumn(name, key, None, kind, key, key, True, False, False, False))
