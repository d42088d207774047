"""The plots of a comparison: the runs' curves on shared axes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ssdlab.html.curves import Series, cumulative, fewer, points
from ssdlab.html.metric_plots import all_figures
from ssdlab.html.plot import Axis, Curve, Figure, Missing, Plot
from ssdlab.html.run_plots import (
    TIME,
    WAF_AXIS,
    distribution_figures,
    no_distributions,
    no_series,
    parts_figure,
    waf_curve,
)
from ssdlab.results.comparison import Comparison
from ssdlab.results.report import Report

MOST_RUNS = 14
"""Runs that are drawn: two rounds of colours."""

OPS = ("write", "read")
"""Operations whose latencies are compared."""

Make = Callable[[Series, str, int], Curve]


def comparison_figures(done: Comparison) -> list[Figure]:
    """Every plot of a comparison."""
    over_keys = all_figures(done.points).values()
    return [*(one for several in over_keys for one in several), *run_figures(done)]


def run_figures(done: Comparison) -> list[Figure]:
    """The plots in which each run has a curve."""
    reports = dict(list(done.reports.items())[:MOST_RUNS])
    left = len(done.reports) - len(reports)
    note = f" Only the first {MOST_RUNS} runs; the tables include the other {left}." if left else ""
    found = _by_seed(done)
    ops = [op for op in OPS if any(getattr(r.latency, op).count for r in reports.values())]
    for op in ops:
        found += distribution_figures(reports, [op], f"-{op}", f"{op.capitalize()} latency")
    found += [parts_figure(reports, (op,), f"-{op}") for op in ops]
    found += [
        _over_time(reports, key, title, text, axis, make) for key, title, text, axis, make in _KINDS
    ]
    found += [_distribution(reports, *kind) for kind in _DISTRIBUTIONS]
    return [
        one if isinstance(one, Missing) else replace(one, caption=one.caption + note)
        for one in found
    ]


def _by_seed(done: Comparison) -> list[Figure]:
    """Numbers of the repetitions, with the intervals of their means as bands."""
    found: list[Figure] = []
    for key, (title, axis) in _BY_SEED.items():
        curves = []
        for tone, label in enumerate(list(done.repetitions)[:MOST_RUNS]):
            one, values = done.estimates(label).get(key), done.values(label, key)
            if one is None:
                continue
            seeds, low, high = np.array([*values], float), None, None
            if one.ci95 is not None:
                low = np.full(len(seeds), one.mean - one.ci95)
                high = np.full(len(seeds), one.mean + one.ci95)
            curves.append(Curve(label, seeds, np.array([*values.values()]), tone, low, high))
        if curves:
            text = f"{title} of each run; the bands are the 95 % confidence intervals of the means."
            plot = Plot(f"{key}-seed", f"{title} by seed", text, SEED, axis, tuple(curves))
            found.append(plot)
    return found


SEED = Axis("seed", "count")
_BY_SEED = {
    "waf": ("Write amplification", Axis("write amplification", "ratio")),
    "write_mean_ns": ("Mean write latency", Axis("latency", "ns")),
    "write_p99_ns": ("p99 write latency", Axis("latency", "ns")),
    "read_mean_ns": ("Mean read latency", Axis("latency", "ns")),
    "read_p99_ns": ("p99 read latency", Axis("latency", "ns")),
}
"""Columns that are drawn by seed: title and axis."""


def _latency(op: str) -> Make:
    def make(s: Series, name: str, tone: int) -> Curve:
        return s.mean(name, tone, s[f"interval_{op}_sum_ns"], s[f"interval_{op}s"])

    return make


def _gauge(column: str) -> Make:
    def make(s: Series, name: str, tone: int) -> Curve:
        return s.mean(name, tone, s[column])

    return make


_KINDS: list[tuple[str, str, str, Axis, Make]] = [
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
        waf_curve,
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
        found = cumulative(report, name)
        if found is not None:
            at, below, _ = fewer(points(len(reports)), *found)
            curves.append(Curve(label, at, below, tone, step=True))
    if not curves:
        whys = [no_distributions(report) for report in reports.values()]
        return Missing(
            key, title, next(filter(None, whys), "Garbage collection collected no block.")
        )
    return Plot(key, title, text, x, y, tuple(curves))


def _over_time(
    reports: dict[str, Report], key: str, title: str, text: str, axis: Axis, make: Make
) -> Figure:
    curves, longest = [], 1
    whys = []
    for tone, (label, report) in enumerate(reports.items()):
        why = no_series(report)
        if why:
            whys.append(why)
            continue
        s = Series(report, points(len(reports)))
        curve = make(s, label, tone)
        if (curve.y == curve.y).any():
            # Bands of several runs would cover each other.
            curves.append(replace(curve, low=None, high=None))
            longest = max(longest, s.thinned)
    if not curves:
        return Missing(key, title, whys[0] if whys else "No run completed a request of this kind.")
    if longest > 1:
        text += (
            f" Each point is the mean of up to {longest} sample periods; the runs' pages show the"
            " extremes."
        )
    if whys:
        text += f" {len(whys)} runs have no time series."
    return Plot(key, title, text, TIME, axis, tuple(curves), linked=True)
