"""The points of a sweep or a comparison: values of the keys that vary, and the numbers of each."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeAlias

from ssdlab.config.quantity import KeyUnit, quantity
from ssdlab.display.form import Column, columns
from ssdlab.display.numbers import Value
from ssdlab.results.intervals import estimate

Row: TypeAlias = "dict[str, Value]"
"""Numbers of one run, by column."""


SIMULATED = "time.simulated"
"""Key of the report with the simulated time, which is 0 in functional mode."""


@dataclass(frozen=True)
class Key:
    """A key that varies."""

    name: str
    values: tuple[Value, ...]
    """Its distinct values: numbers in ascending order, or texts in the given order."""
    unit: KeyUnit = ""
    log: bool = False
    """Whether its values are spaced by factors, so that plots have a logarithmic axis."""

    @cached_property
    def numeric(self) -> bool:
        """Its values are numbers."""
        return all(isinstance(value, int | float) for value in self.values)

    @property
    def column(self) -> str:
        """Its name in tables, which ends with the unit."""
        return f"{self.name}_{self.unit}" if self.unit else self.name


def key_of(name: str, values: Iterable[Value], log: bool = False) -> tuple[Key, list[Value]]:
    """A key, with `values` as in its column: as numbers if all of them are."""
    items = list(values)
    by_value = {value: quantity(value) for value in dict.fromkeys(items)}
    quantities = [pair for pair in by_value.values() if pair is not None]
    units = {unit for _, unit in quantities}
    if not by_value or len(quantities) < len(by_value) or len(units) > 1:
        return Key(name, tuple(dict.fromkeys(items))), items
    numbers = {text: pair[0] for text, pair in by_value.items() if pair is not None}
    ascending = tuple(sorted(set(numbers.values())))
    key = Key(name, ascending, units.pop(), log or _geometric(ascending))
    return key, [numbers[value] for value in items]


def _geometric(values: Sequence[float]) -> bool:
    """Whether each value is about the same multiple of the one before it."""
    if len(values) < 3 or values[0] <= 0 or values[-1] < 4 * values[0]:
        return False
    steps = [math.log(b / a) for a, b in itertools.pairwise(values)]
    return max(steps) < 1.8 * min(steps)


@dataclass(frozen=True)
class Summary:
    """A number at one point."""

    mean: float
    """Over the seeds."""
    low: float
    """The lower end of the 95 % confidence interval of the mean."""
    high: float
    """The upper end; `low` with one seed, or without any spread."""


@dataclass(frozen=True)
class Points:
    """The runs and their values; `labels`, `settings` and `runs` have the same order."""

    keys: tuple[Key, ...]
    labels: tuple[str, ...]
    settings: tuple[tuple[Value, ...], ...]
    """The value of each key at each point."""
    runs: tuple[tuple[Row, ...], ...]
    """The numbers of the completed runs at each point, one for each seed."""
    why_invalid: tuple[str, ...] = ()
    """A warning that invalidates half of the seeds of each point, or nothing; empty if all are
    valid.
    """
    partly_invalid: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """For points with fewer invalid seeds, the warning of each seed, or nothing."""

    @staticmethod
    def of(
        labels: Sequence[str],
        columns: Mapping[str, Sequence[Value]],
        runs: Iterable[Sequence[Row]],
        log: Iterable[str] = (),
    ) -> Points:
        """Points with the values of each key; `log` names the keys varied by factors."""
        log = set(log)
        pairs = [key_of(name, column, name in log) for name, column in columns.items()]
        settings = zip(*(values for _, values in pairs), strict=True) if pairs else ()
        keys = tuple(key for key, _ in pairs)
        return Points(keys, tuple(labels), tuple(settings), tuple(map(tuple, runs)))

    @cached_property
    def invalid(self) -> dict[str, str]:
        """The points with half of the seeds or more invalidated by a warning, with the warning."""
        pairs = zip(self.labels, self.why_invalid, strict=False)
        return {label: warning for label, warning in pairs if warning}

    def is_invalid(self, point: int) -> bool:
        """Whether a warning invalidates half of the seeds of the point or more."""
        return bool(self.why_invalid and self.why_invalid[point])

    @cached_property
    def valid(self) -> Points:
        """These points without those that `invalid` lists."""
        valid = [i for i, label in enumerate(self.labels) if label not in self.invalid]
        return replace(
            self,
            labels=tuple(self.labels[i] for i in valid),
            settings=tuple(self.settings[i] for i in valid),
            runs=tuple(self.runs[i] for i in valid),
            why_invalid=(),
        )

    @property
    def numeric(self) -> list[Key]:
        """The keys with at least two different numbers."""
        return [key for key in self.keys if key.numeric and len(key.values) > 1]

    @property
    def named(self) -> list[Key]:
        """The keys with several values that are not numbers."""
        return [key for key in self.keys if not key.numeric and len(key.values) > 1]

    def key(self, name: str) -> Key | None:
        """The key called `name`, or with that column."""
        return next((key for key in self.keys if name in (key.name, key.column)), None)

    def column(self, key: Key) -> list[Value]:
        """The value of a key at every point."""
        index = self.keys.index(key)
        return [setting[index] for setting in self.settings]

    @cached_property
    def metrics(self) -> dict[str, Column]:
        """The columns in which some point has a number, by name.

        Without the simulated time, if the runs have none.
        """
        all_rows = [row for rows in self.runs for row in rows]
        return {
            column.name: column
            for column in columns()
            if column.measured
            and any(isinstance(row.get(column.name), int | float) for row in all_rows)
            and (column.key != SIMULATED or any(row.get(column.name) for row in all_rows))
        }

    @cached_property
    def _summaries(self) -> dict[str, list[Summary | None]]:
        return {}

    def summary(self, point: int, metric: str) -> Summary | None:
        """A column at a point; None if one of its runs has no number."""
        if metric not in self._summaries:
            summaries = [self._summary(i, metric) for i in range(len(self.labels))]
            self._summaries[metric] = summaries
        return self._summaries[metric][point]

    def _summary(self, point: int, metric: str) -> Summary | None:
        values = [row.get(metric) for row in self.runs[point]]
        numbers = [float(value) for value in values if isinstance(value, int | float)]
        if not numbers or len(numbers) < len(values):
            return None
        if len(numbers) == 1:
            return Summary(numbers[0], numbers[0], numbers[0])
        statistic = estimate(numbers)
        width = statistic.ci95 or 0.0
        return Summary(statistic.mean, statistic.mean - width, statistic.mean + width)

    @cached_property
    def _reserve(self) -> list[bool]:
        return [any(row.get("decided_by") == "reserve" for row in rows) for rows in self.runs]

    def reserve_decided(self, point: int) -> bool:
        """Whether the reserve, not the victim policy, decided in a run of the point."""
        return self._reserve[point]
