"""Published numbers next to ours, and how far apart they are."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from ssdlab.results.report import Report
from ssdlab_lab.reproduce.matrix import Results, Source

Number: TypeAlias = "float | None"


@dataclass(frozen=True)
class Row:
    """A line of a table with a value for each of its columns; None for a missing value."""

    label: str
    published: tuple[Number, ...]
    ours: Mapping[Source, tuple[Number, ...]]
    neutral: float | None = None
    """For improvements: the value that means none (0 for percent, 1 for factors)."""


@dataclass(frozen=True)
class Table:
    """A table or a figure of bars of the paper."""

    key: str
    title: str
    """The title, with its number in the paper."""
    unit: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    note: str = ""
    kind: Literal["", "mean", "longest"] = ""
    """Of latencies by scheme, which are scored."""


Measure: TypeAlias = "Callable[[Report], Number]"


Measures: TypeAlias = "Callable[[str], Measure]"
"""A measure for each operation."""


def mean_ms(op: str) -> Measure:
    """Mean latency of an operation in milliseconds."""
    return lambda report: _ms(getattr(report.latency, op).mean)


def max_ms(op: str) -> Measure:
    """Longest latency of an operation in milliseconds."""
    return lambda report: _ms(getattr(report.latency, op).max)


KINDS: Mapping[Measures, Literal["mean", "longest"]] = {mean_ms: "mean", max_ms: "longest"}
"""`Table.kind` of their tables."""


def _ms(value_ns: Number) -> Number:
    return None if value_ns is None else value_ns / 1e6


def number(value: Number) -> str:
    """A number of a table as text."""
    if value is None:
        return "–"
    size = abs(value)
    digits = 0 if size >= 1000 else 1 if size >= 100 else 2 if size >= 10 else 3
    return f"{value:,.{digits}f}".replace("-", "−")


def percent_better(value: Number, base: Number) -> Number:
    """Improvement of `value` over `base` in percent of `base`, as in the papers."""
    return None if value is None or not base else 100.0 * (base - value) / base


def times_better(value: Number, base: Number) -> Number:
    """How many times `value` is better (smaller) than `base`."""
    return None if base is None or not value else base / value


HALF_WIDTH = "half the 95 % interval over seeds"
"""Label of such a row."""
STUDENT = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)
"""97.5 % quantiles of Student's distribution with 1, 2, ... degrees of freedom."""


def mean_of(values: Sequence[Number]) -> Number:
    """Arithmetic mean of the existing values; None if there are none."""
    available = [value for value in values if value is not None]
    return math.fsum(available) / len(available) if available else None


def half_width(values: Sequence[Number]) -> Number:
    """Half the 95 % interval of the mean; None with fewer than two values."""
    available = [value for value in values if value is not None]
    if not 2 <= len(available) <= len(STUDENT) + 1:
        return None
    return STUDENT[len(available) - 2] * statistics.stdev(available) / math.sqrt(len(available))


def geometric_mean(values: Sequence[Number]) -> Number:
    """Geometric mean of the positive `values`; None if there are none."""
    logs = [math.log(value) for value in values if value is not None and value > 0]
    return math.exp(sum(logs) / len(logs)) if logs else None


class MeasuredValues:
    """Values of one measure for all workloads, from which rows are built."""

    def __init__(self, results: Results, workloads: Sequence[str]) -> None:
        self.results = results
        self.workloads = tuple(workloads)

    def of(self, scheme: str, measure: Measure) -> dict[Source, tuple[Number, ...]]:
        """For every source, a value for each workload: the mean over the seeds."""
        return {
            source: tuple(
                mean_of([measure(report) for report in self.results.seeds(name, source, scheme)])
                for name in self.workloads
            )
            for source in self.results.sources
        }

    def row(
        self, label: str, scheme: str, measure: Measure, published: Sequence[Number] = ()
    ) -> Row:
        """A row of one scheme."""
        return Row(label, self._padded(published), self.of(scheme, measure))

    def better(
        self,
        label: str,
        scheme: str,
        bases: Sequence[str],
        measure: Measure,
        published: Sequence[Number] = (),
        improvement: Callable[[Number, Number], Number] = percent_better,
    ) -> Row:
        """The improvement of `scheme` over the best of `bases` in each column."""
        own_values, base_values = (
            self.of(scheme, measure),
            [self.of(base, measure) for base in bases],
        )
        ours = {
            source: tuple(
                improvement(value, _least([base[source][i] for base in base_values]))
                for i, value in enumerate(values)
            )
            for source, values in own_values.items()
        }
        return Row(label, self._padded(published), ours, improvement(1.0, 1.0))

    def half_width(
        self,
        label: str,
        scheme: str,
        bases: Sequence[str],
        measure: Measure,
        improvement: Callable[[Number, Number], Number] = percent_better,
    ) -> Row:
        """Half the 95 % interval, over the seeds, of the result of `better`."""
        ours: dict[Source, tuple[Number, ...]] = {}
        for source in self.results.sources:
            improvements_of_seeds = [
                improvements(
                    self.results.only(seed),
                    source,
                    self.workloads,
                    scheme,
                    bases,
                    measure,
                    improvement,
                )
                for seed in self.results.numbers(source)
            ]
            ours[source] = tuple(
                half_width(column) for column in zip(*improvements_of_seeds, strict=True)
            )
        return Row(label, self._padded(()), ours)

    def _padded(self, published: Sequence[Number]) -> tuple[Number, ...]:
        return tuple(published) or (None,) * len(self.workloads)


def _least(values: Sequence[Number]) -> Number:
    available = [value for value in values if value is not None]
    return min(available) if available else None


def improvements(
    results: Results,
    source: Source,
    names: Sequence[str],
    scheme: str,
    bases: Sequence[str],
    measure: Measure,
    improvement: Callable[[Number, Number], Number] = percent_better,
) -> list[Number]:
    """The result of `MeasuredValues.better` for the workloads `names` from one source."""
    row = MeasuredValues(results, names).better("", scheme, bases, measure, improvement=improvement)
    return list(row.ours.get(source, ()))
