"""Curves from the series and the distributions of a report, thinned without hiding extremes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ssdlab.html.plot import Curve, Floats
from ssdlab.results.report import Report

MOST = 700
"""Points of a curve: more than its pixels can show."""
MOST_TOGETHER = 4200
"""Points of all curves of a plot, which bound the size of a page of many runs."""


MOST_IN_PANEL = 360
"""Points of a curve in a panel as wide as the plot; proportionally fewer in narrower ones."""


def points_in_panel(columns: int) -> int:
    """Points of a curve in a panel, with this many panels side by side."""
    return MOST_IN_PANEL // columns


def points(curves: int) -> int:
    """Points of each of this many curves in one plot."""
    return max(100, min(MOST, MOST_TOGETHER // max(1, curves)))


class Series:
    """The rows of series.csv as floating point, with the periods between them.

    Curves built from them have at most `most` points.
    """

    def __init__(self, report: Report, most: int = MOST) -> None:
        self.most = most
        self.columns = {name: rows.astype(float) for name, rows in report.series.items()}
        self.time = self.columns.get("time_ns", np.empty(0))
        """End of each sample period, nanoseconds of simulated time."""
        self.start = float(report.time.measured_from)
        self.seconds = self.steps(self.time, self.start) / 1e9
        """Length of each sample period."""

    def __len__(self) -> int:
        return len(self.time)

    def __getitem__(self, name: str) -> Floats:
        """A column as it stands."""
        return self.columns[name]

    def rise(self, name: str) -> Floats:
        """How much a counter rose within each sample period."""
        return self.steps(self.columns[name], 0.0)

    @staticmethod
    def steps(values: Floats, first: float) -> Floats:
        """Differences between neighbours; the first counts from `first`."""
        return np.diff(values, prepend=first)

    @property
    def periods_per_point(self) -> int:
        """Sample periods per point of a curve."""
        return -(-len(self) // self.most)

    @property
    def note(self) -> str:
        """What the caption must say about thinning; empty without thinning."""
        if self.periods_per_point < 2:
            return ""
        return (
            f" Each point represents {self.periods_per_point} sample periods: the line is their"
            " mean, the band spans their minimum and maximum."
        )

    def mean(self, name: str, tone: int, top: Floats, bottom: Floats | None = None) -> Curve:
        """Sums of `top` over sums of `bottom` (default: the mean); a gap where the latter is 0."""
        bottom = np.ones_like(top) if bottom is None else bottom
        values = _quotients(top, bottom)
        if self.periods_per_point < 2:
            return Curve(name, self.time, values, tone)
        firsts = self._firsts()
        y = _quotients(np.add.reduceat(top, firsts), np.add.reduceat(bottom, firsts))
        low, high = _minima(values, firsts), -_minima(-values, firsts)
        return Curve(name, self._ends(firsts), y, tone, low, high)

    def highest(self, name: str, tone: int, values: Floats) -> Curve:
        """The largest of `values`, in which zero means that there was no value."""
        values = np.where(values > 0, values, np.nan)
        if self.periods_per_point < 2:
            return Curve(name, self.time, values, tone)
        firsts = self._firsts()
        return Curve(name, self._ends(firsts), -_minima(-values, firsts), tone)

    def _firsts(self) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        return np.arange(0, len(self), self.periods_per_point, dtype=np.int64)

    def _ends(self, firsts: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Floats:
        ends: Floats = self.time[np.append(firsts[1:], len(self)) - 1]
        return ends


def merge_runs(
    name: str, tone: int, most: int, runs: Sequence[tuple[Floats, Floats, Floats]]
) -> Curve:
    """Runs of one configuration as one curve.

    `runs` has, for each run, the times, tops and bottoms of its sample periods. The time of all
    runs is cut into at most `most` equal parts. The line is the sum of the tops over the sum of the
    bottoms of the sample periods that end in a part, the band spans the lowest and the highest of
    these periods. Parts in which none ends are left out.
    """
    start, end = (float(pick([time[index] for time, *_ in runs])) for pick, index in ENDS)
    count = min(most, max(len(time) for time, *_ in runs))
    tops, bottoms = np.zeros(count), np.zeros(count)
    low, high = np.full(count, np.inf), np.full(count, -np.inf)
    for time, top, bottom in runs:
        bins = np.rint((time - start) / ((end - start) or 1.0) * (count - 1)).astype(np.int64)
        np.add.at(tops, bins, top)
        np.add.at(bottoms, bins, bottom)
        values = _quotients(top, bottom)
        is_finite = np.isfinite(values)
        np.minimum.at(low, bins[is_finite], values[is_finite])
        np.maximum.at(high, bins[is_finite], values[is_finite])
    is_filled = bottoms > 0
    x = np.linspace(start, end, count)[is_filled]
    return Curve(
        name, x, tops[is_filled] / bottoms[is_filled], tone, low[is_filled], high[is_filled]
    )


ENDS = ((min, 0), (max, -1))
"""How the first and the last time of several runs are found."""


def _quotients(top: Floats, bottom: Floats) -> Floats:
    shares: Floats = np.divide(top, bottom, out=np.full(len(top), np.nan), where=bottom > 0)
    return shares


def _minima(values: Floats, firsts: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Floats:
    """The smallest of each group; NaN for a group of gaps."""
    minima = np.minimum.reduceat(np.where(np.isnan(values), np.inf, values), firsts)
    gapped: Floats = np.where(np.isinf(minima), np.nan, minima)
    return gapped


def cumulative(report: Report, distribution: str) -> tuple[Floats, Floats, Floats] | None:
    """Largest value of each bucket, and the shares at or below and above it; None without values.

    It begins with the lower end of the first bucket, and ends at the largest value if that is
    known.
    """
    rows = report.distributions.get(distribution)
    if rows is None:
        return None
    counts = rows[:, 2].cumsum().astype(float)
    x = np.concatenate([rows[:1, 0], rows[:, 1]]).astype(float)
    below = np.concatenate([[0.0], counts / counts[-1]])
    above = np.concatenate([[1.0], (counts[-1] - counts) / counts[-1]])
    return x, below, above


def thin(most: int, x: Floats, *columns: Floats) -> tuple[Floats, ...]:
    """At most `most` evenly spaced rows of a rising curve, including the first and the last."""
    if len(x) <= most:
        return (x, *columns)
    indices = np.unique(np.linspace(0, len(x) - 1, most).round().astype(int))
    return tuple(column[indices] for column in (x, *columns))
