"""The plots of a comparison: the runs' curves on shared axes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ssdlab.html.curves import Series, cumulative, merge_runs, points, points_in_panel, thin
from ssdlab.html.metric_plots import all_figures
from ssdlab.html.panels import columns_of, overlay, side_by_side
from ssdlab.html.plot import Axis, Curve, Figure, Floats, MissingPlot
from ssdlab.html.recorded import recorded_figures
from ssdlab.html.run_plots import (
    TIME,
    WAF_AXIS,
    distribution_figures,
    no_distributions,
    no_series,
    parts_figure,
)
from ssdlab.results.comparison import Comparison
from ssdlab.results.report import Report

MOST_PANELS = 30
"""Runs that are drawn."""

OPS = ("write", "read")
"""Operations whose latencies are compared."""

CurveFunction = Callable[[Series], tuple[Floats, Floats]]
"""The value in a sample period: the first number over the second."""


def comparison_figures(comparison: Comparison) -> list[Figure]:
    """Every plot of a comparison."""
    over_keys = all_figures(comparison.points).values()
    return [*(figure for figures in over_keys for figure in figures), *run_figures(comparison)]


def run_figures(comparison: Comparison) -> list[Figure]:
    """The plots in which each run has a curve."""
    reports = dict(list(comparison.reports.items())[:MOST_PANELS])
    omitted = len(comparison.reports) - len(reports)
    omitted_note = f" Only the first {MOST_PANELS} runs; the tables include the other {omitted}."
    note = omitted_note if omitted else ""
    figures: list[Figure] = []
    ops = [op for op in OPS if any(getattr(r.latency, op).count for r in reports.values())]
    for op in ops:
        figures += distribution_figures(reports, [op], f"-{op}", f"{op.capitalize()} latency")
    figures += [parts_figure(reports, (op,), f"-{op}") for op in ops]
    figures += [_distribution(reports, *kind) for kind in _DISTRIBUTIONS]
    figures = [
        figure
        if isinstance(figure, MissingPlot)
        else replace(figure, caption=figure.caption + note)
        for figure in figures
    ]
    over_time = [_over_time(comparison, *kind) for kind in _KINDS]
    return [*figures, *_by_seed(comparison), *over_time, *_trace_figures(comparison)]


def _trace_figures(comparison: Comparison) -> list[Figure]:
    """The trace, if all runs replay the same one in the same way."""
    workloads = [report.json["config"]["workload"] for report in comparison.reports.values()]
    if not workloads or any(workload != workloads[0] for workload in workloads):
        return []
    return recorded_figures(next(iter(comparison.reports.values())))


def _by_seed(comparison: Comparison) -> list[Figure]:
    """Numbers of the repetitions, with the intervals of their means as bands."""
    figures: list[Figure] = []
    for key, (title, axis) in _BY_SEED.items():
        curves = []
        for tone, label in enumerate(list(comparison.repetitions)[:MOST_PANELS]):
            estimate, values = comparison.estimates(label).get(key), comparison.values(label, key)
            if estimate is None:
                continue
            seeds, low, high = np.array([*values], float), None, None
            if estimate.ci95 is not None:
                low = np.full(len(seeds), estimate.mean - estimate.ci95)
                high = np.full(len(seeds), estimate.mean + estimate.ci95)
            dots = np.zeros(len(seeds), bool)
            y = np.array([*values.values()])
            curves.append(Curve(label, seeds, y, tone, low, high, line=False, dots=dots))
        if curves:
            text = f"{title} of each run; the bands are the 95 % confidence intervals of the means."
            figures.append(
                side_by_side(f"{key}-seed", f"{title} by seed", text, SEED, axis, curves)
            )
    return figures


SEED = Axis("seed", "count")
_BY_SEED = {
    "waf": ("Write amplification", Axis("write amplification", "ratio")),
    "write_mean_ns": ("Mean write latency", Axis("latency", "ns")),
    "write_p99_ns": ("p99 write latency", Axis("latency", "ns")),
    "read_mean_ns": ("Mean read latency", Axis("latency", "ns")),
    "read_p99_ns": ("p99 read latency", Axis("latency", "ns")),
}
"""Columns that are drawn by seed: title and axis."""


def _latency(op: str) -> CurveFunction:
    def make(s: Series) -> tuple[Floats, Floats]:
        return s[f"interval_{op}_sum_ns"], s[f"interval_{op}s"]

    return make


def _waf(s: Series) -> tuple[Floats, Floats]:
    return s.rise("all_programs"), s.rise("host_pages_written")


def _gauge(column: str) -> CurveFunction:
    def make(s: Series) -> tuple[Floats, Floats]:
        return s[column], np.ones(len(s))

    return make


_KINDS: list[tuple[str, str, str, Axis, CurveFunction]] = [
    (
        "write-time",
        "Mean write latency over time",
        "Mean latency of the writes that completed within each sample period.",
        Axis("latency", "ns", log=True),
        _latency("write"),
    ),
    (
        "read-time",
        "Mean read latency over time",
        "Mean latency of the reads that completed within each sample period.",
        Axis("latency", "ns", log=True),
        _latency("read"),
    ),
    (
        "waf-time",
        "Write amplification over time",
        "Pages programmed over pages written by the host, within each sample period.",
        WAF_AXIS,
        _waf,
    ),
    (
        "free-time",
        "Free blocks",
        "Erased blocks at the end of each sample period.",
        Axis("erased blocks", "count", low=0.0),
        _gauge("free_blocks"),
    ),
    (
        "used-time",
        "Used pages",
        "Pages that are not erased, at the end of each sample period.",
        Axis("pages", "count"),
        _gauge("used_pages"),
    ),
    (
        "collecting-time",
        "Pools being collected",
        "Pools that are being collected at the end of each sample period.",
        Axis("pools", "count", low=0.0),
        _gauge("gc_active_pools"),
    ),
    (
        "pending-time",
        "Pending requests",
        "Requests submitted and not completed, at the end of each sample period.",
        Axis("requests", "count", low=0.0),
        _gauge("pending_requests"),
    ),
]


_DISTRIBUTIONS = [
    (
        "victims",
        "victim_invalid",
        "Invalid pages of the victims: CDF",
        "Share of the victims with at most this many invalid pages when they were chosen. Invalid"
        " pages need no copy: further right is cheaper.",
        Axis("invalid pages of the victim", "count", low=0.0),
        Axis("share of victims", "share", low=0.0, high=1.0),
    ),
    (
        "erases",
        "erases",
        "Erases of blocks: CDF",
        "Share of the blocks with at most this many erases during the measurement: steeper is"
        " more even.",
        Axis("erases of a block", "count"),
        Axis("share of blocks", "share", low=0.0, high=1.0),
    ),
]


def _distribution(
    reports: dict[str, Report], key: str, name: str, title: str, text: str, x: Axis, y: Axis
) -> Figure:
    curves = []
    for tone, (label, report) in enumerate(reports.items()):
        distribution = cumulative(report, name)
        if distribution is not None:
            x_values, below, _ = thin(points(len(reports)), *distribution)
            curves.append(Curve(label, x_values, below, tone, step=True))
    if not curves:
        reasons = [no_distributions(report) for report in reports.values()]
        return MissingPlot(
            key, title, next(filter(None, reasons), "Garbage collection collected no block.")
        )
    return overlay(key, title, text, x, y, curves)


def _over_time(
    comparison: Comparison, key: str, title: str, text: str, axis: Axis, make: CurveFunction
) -> Figure:
    """A panel for each configuration, on one scale.

    These curves are noisy: if they overlapped, the last one drawn would hide the others, and so
    would their bands. In its own panel a curve can be thinned with its extremes, and the
    repetitions of a configuration become one curve with their range.
    """
    runs = [
        *(
            comparison.repetitions
            or {label: {0: report} for label, report in comparison.reports.items()}
        ).items()
    ]
    most = points_in_panel(columns_of(min(len(runs), MOST_PANELS)))
    curves, reasons, most_periods, seeds = [], [], 1, 1
    for tone, (label, by_seed) in enumerate(runs[:MOST_PANELS]):
        reports = [*by_seed.values()]
        missing = [reason for reason in map(no_series, reports) if reason]
        if missing or not reports:
            reasons += missing[:1]
            continue
        series = [Series(report, most) for report in reports]
        periods = [(run.time, *make(run)) for run in series]
        if len(periods) == 1:
            curve = series[0].mean(label, tone, *periods[0][1:])
        else:
            curve = merge_runs(label, tone, most, periods)
        if np.isfinite(curve.y).any():
            curves.append(curve)
            most_periods = max(most_periods, *(run.periods_per_point for run in series))
            seeds = max(seeds, len(periods))
    if not curves:
        return MissingPlot(
            key, title, reasons[0] if reasons else "No run completed a request of this kind."
        )
    text += _note(most_periods, seeds)
    if reasons:
        text += f" {len(reasons)} runs have no time series."
    omitted = len(runs) - MOST_PANELS
    if omitted > 0:
        text += f" Only the first {MOST_PANELS} runs; the tables include the other {omitted}."
    return side_by_side(key, title, text, TIME, axis, curves, linked=True)


def _note(most_periods: int, seeds: int) -> str:
    """What the reader must know of points that stand for several sample periods."""
    if most_periods < 2 and seeds < 2:
        return ""
    periods = f"up to {most_periods} sample periods" if most_periods > 1 else "a sample period"
    span = f"{periods} of all {seeds} seeds" if seeds > 1 else periods
    return (
        f" Each point stands for {span}: the line is their mean, the band spans their minimum and"
        " maximum."
    )
