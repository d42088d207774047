"""Figures of runs over time, a curve for each scheme."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ssdlab.html.curves import Series
from ssdlab.html.plot import Axis, Figure, Floats, MissingPlot, Plot
from ssdlab.html.run_plots import TIME
from ssdlab.results.report import Report
from ssdlab_lab.reproduce.matrix import Results, Source

POINTS = 160
"""Points of a curve: a page has many curves."""

Column = Callable[[Series], Floats]


def gauge(name: str) -> Column:
    """A column as it stands."""
    return lambda series: series[name]


def rise(name: str) -> Column:
    """How much a counter rose in each sample period."""
    return lambda series: series.rise(name)


def rise_of(*names: str) -> Column:
    """How much the sum of counters rose in each sample period."""
    return lambda series: np.sum([series.rise(name) for name in names], axis=0)


def over_time(
    results: Results,
    key: str,
    title: str,
    caption: str,
    axis: Axis,
    workload: str,
    source: Source,
    curves: Sequence[tuple[str, str, Column]],
) -> Figure:
    """A figure of one workload; `curves` are name, scheme and column of each."""
    drawn = []
    for tone, (name, scheme, column) in enumerate(curves):
        report = results.get(workload, source, scheme)
        series = None if report is None else Series(report, POINTS)
        if series is not None and len(series):
            drawn.append(series.mean(name, tone, column(series)))
    place = f"{key}-{workload.lower()}-{source}"
    heading = f"{title}: {workload}, {source}"
    if not drawn:
        return MissingPlot(place, heading, "None of its runs has a result.")
    return Plot(place, heading, caption, TIME, axis, tuple(drawn))


def largest_drop(values: Floats) -> float:
    """The largest fall from one value to the next."""
    return float(np.max(-np.diff(values), initial=0.0))


def peak_to_mean(series: Series, counter: str, bin_s: float) -> float | None:
    """Largest over mean increase of a counter in bins of `bin_s` seconds: how irregular it is.

    Intervals of series differ from run to run: between samples the counter is interpolated
    linearly.
    """
    time = np.concatenate(([series.start], series.time)) / 1e9
    count = np.concatenate(([0.0], series[counter]))
    rises = np.diff(np.interp(np.arange(time[0], time[-1], bin_s), time, count))
    mean = float(rises.mean()) if len(rises) else 0.0
    return float(rises.max()) / mean if mean > 0 else None


def series_of(report: Report | None) -> Series | None:
    """The series of a report, if there is one."""
    if report is None:
        return None
    series = Series(report)
    return series if len(series) else None
