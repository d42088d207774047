"""Figures of the reproduction of deferred GC: response over time, and its distribution."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ssdlab.html.curves import Series, cumulative
from ssdlab.html.plot import Axis, Curve, Figure, MissingPlot, Plot
from ssdlab.html.run_plots import TIME
from ssdlab_lab.reproduce.curves import POINTS
from ssdlab_lab.reproduce.matrix import Results, Source

NONE = "None of its runs has a result."


def response(
    results: Results, workload: str, source: Source, schemes: Sequence[str], threshold: str
) -> Figure:
    """Mean response of all requests over time."""
    curves = []
    for tone, scheme in enumerate(schemes):
        report = results.get(workload, source, scheme)
        series = None if report is None else Series(report, POINTS)
        if series is not None and len(series):
            durations = series["interval_read_sum_ns"] + series["interval_write_sum_ns"]
            count = series["interval_reads"] + series["interval_writes"]
            curves.append(series.mean(scheme, tone, durations, count))
    text = f"Mean response of the requests that ended in each sample period. {threshold}"
    axis = Axis("mean response", "ns")
    return _figure("response", "Response over time", text, (TIME, axis), (workload, source), curves)


def tail(results: Results, workload: str, source: Source, schemes: Sequence[str]) -> Figure:
    """Share of the writes that take longer than a time."""
    curves = []
    for tone, scheme in enumerate(schemes):
        report = results.get(workload, source, scheme)
        distribution = None if report is None else cumulative(report, "latency_write")
        if distribution is not None:
            x, _, share_above = distribution
            positive = np.where(share_above > 0, share_above, np.nan)
            curves.append(Curve(scheme, x, positive, tone, step=True))
    text = "Share of the writes that take longer; figure 9 shows where it is 1 %."
    axes = (Axis("response", "ns", log=True), Axis("share above", "share", log=True, high=1.0))
    return _figure("tail", "Response of writes", text, axes, (workload, source), curves)


def _figure(
    key: str,
    title: str,
    text: str,
    axes: tuple[Axis, Axis],
    workload_and_source: tuple[str, Source],
    curves: Sequence[Curve],
) -> Figure:
    workload, source = workload_and_source
    place, heading = f"{key}-{workload}-{source}", f"{title}: {workload}, {source}"
    if not curves:
        return MissingPlot(place, heading, NONE)
    return Plot(place, heading, text, axes[0], axes[1], tuple(curves))
