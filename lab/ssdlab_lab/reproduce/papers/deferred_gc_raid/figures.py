"""Figures of the reproduction of deferred GC: response over time, and its distribution."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ssdlab.html.curves import Series, cumulative
from ssdlab.html.plot import Axis, Curve, Figure, Missing, Plot
from ssdlab.html.run_plots import TIME
from ssdlab_lab.reproduce.curves import POINTS
from ssdlab_lab.reproduce.matrix import Results, Source

NONE = "None of its runs has a result."


def response(
    results: Results, workload: str, source: Source, schemes: Sequence[str], threshold: str
) -> Figure:
    """Mean response of all requests over time."""
    drawn = []
    for tone, scheme in enumerate(schemes):
        report = results.get(workload, source, scheme)
        series = None if report is None else Series(report, POINTS)
        if series is not None and len(series):
            took = series["interval_read_sum_ns"] + series["interval_write_sum_ns"]
            count = series["interval_reads"] + series["interval_writes"]
            drawn.append(series.mean(scheme, tone, took, count))
    text = f"Mean response of the requests that ended in each sample period. {threshold}"
    axis = Axis("mean response", "ns")
    return _figure("response", "Response over time", text, (TIME, axis), (workload, source), drawn)


def tail(results: Results, workload: str, source: Source, schemes: Sequence[str]) -> Figure:
    """Share of the writes that take longer than a time."""
    drawn = []
    for tone, scheme in enumerate(schemes):
        report = results.get(workload, source, scheme)
        known = None if report is None else cumulative(report, "latency_write")
        if known is not None:
            x, _, above = known
            shown = np.where(above > 0, above, np.nan)
            drawn.append(Curve(scheme, x, shown, tone, step=True))
    text = "Share of the writes that take longer; figure 9 shows where it is 1 %."
    axes = (Axis("response", "ns", log=True), Axis("share above", "share", log=True, high=1.0))
    return _figure("tail", "Response of writes", text, axes, (workload, source), drawn)


def _figure(
    key: str,
    title: str,
    text: str,
    axes: tuple[Axis, Axis],
    of: tuple[str, Source],
    drawn: Sequence[Curve],
) -> Figure:
    workload, source = of
    place, heading = f"{key}-{workload}-{source}", f"{title}: {workload}, {source}"
    if not drawn:
        return Missing(place, heading, NONE)
    return Plot(place, heading, text, axes[0], axes[1], tuple(drawn))
