"""Plots over keys that vary: a metric over one key, over two, and all of them together."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from ssdlab.config.quantity import KeyUnit
from ssdlab.display.form import Column
from ssdlab.display.form import Unit as Quantity
from ssdlab.display.numbers import Value, format_value, on_page
from ssdlab.html.plot import (
    TONES,
    Axis,
    Curve,
    Figure,
    Floats,
    Heatmap,
    MissingPlot,
    ParallelAxis,
    ParallelCoordinates,
    Plot,
    StackedBars,
    Unit,
)
from ssdlab.html.scale import short
from ssdlab.results.points import Key, Points, Summary

MOST_LINES = 14
"""Lines in one plot: two rounds of colours."""
MOST_DOTS = 300
"""Points of a plot that are drawn individually; if there are more, medians are drawn."""
BINS = 24
"""Parts of a numeric axis when there are more points than can be drawn."""
MOST_CELLS = 20
"""Columns, and rows, of a heat map; more values share cells."""
MOST_PARALLEL = 300
"""Lines between parallel axes."""
MOST_AXES = 8
MOST_BARS = 30
"""Points for which bars are drawn."""
FRONT_DOTS = 800
"""Points behind a front."""
PADDING = 0.03
"""Room at both ends of an axis with marks, as a share of it."""
BEST = 0.1
"""Share of the points that are highlighted among parallel axes."""

INVALID, RESERVE = "a warning invalidates the numbers", "the reserve decided, not the victim policy"
PERCENTILES = ("write_p99_9_ns", "read_p99_9_ns", "write_p99_ns", "read_p99_ns", "write_mean_ns")
"""What write amplification is weighed against, the first that there is."""
UNITS: dict[Quantity, Unit] = {
    "duration": "ns",
    "size": "bytes",
    "bandwidth": "bytes",
    "percent": "share",
    "ratio": "ratio",
}
KEY_UNITS: dict[KeyUnit, Unit] = {"ns": "ns", "bytes": "bytes"}
Rows: TypeAlias = "list[tuple[float, Summary, bool]]"
"""Value of the key on the x axis, summary, and whether the point is drawn hollow."""


def metric_axis(column: Column) -> Axis:
    """The axis of a column of comparisons."""
    return Axis(column.title or column.short or column.name, UNITS.get(column.unit, "count"))


def key_axis(key: Key) -> Axis:
    """The axis of a key with numbers."""
    is_large = max(abs(float(value)) for value in key.values if value is not None) >= 10
    unit: Unit = "count" if is_large else "ratio"
    return Axis(key.name, KEY_UNITS.get(key.unit, unit), log=key.log)


def key_text(key: Key, value: Value) -> str:
    """A value of a key as text."""
    if isinstance(value, str) or value is None or isinstance(value, bool):
        return str(value)
    return short(KEY_UNITS.get(key.unit, "ratio"), float(value))


def place(*parts: str) -> str:
    """A name for a figure, as an element of a page and as a file."""
    return "-".join(re.sub(r"[^\w-]+", "-", part).strip("-") for part in parts)


def bars(points: Points, column: Column) -> Figure:
    """A metric at each of a few points, in whatever they differ."""
    summaries = [
        (points.labels[i] + " (invalid)" * points.is_invalid(i), summary)
        for i in range(len(points.labels))
        if (summary := points.summary(i, column.name)) is not None
    ]
    title = column.title or column.short or column.name
    key, head = place(column.name, "bars"), title[0].upper() + title[1:]
    if not summaries or len(summaries) > MOST_BARS:
        reason = f"Bars are drawn of 1 to {MOST_BARS} points; here are {len(summaries)}."
        return MissingPlot(key, head, reason)
    is_repeated = any(summary.high > summary.low for _, summary in summaries)
    text = f"{head} of each configuration."
    text += " Lines: 95 % confidence intervals over the seeds." if is_repeated else ""
    ends = tuple(
        (summary.low, summary.high) if summary.high > summary.low else None
        for _, summary in summaries
    )
    rows = tuple((label, (summary.mean,)) for label, summary in summaries)
    return StackedBars(key, head, text, (title,), rows, column.unit, ends)


def is_hollow(points: Points, point: int) -> bool:
    """Whether a point is drawn hollow: it is invalid, or the reserve decided."""
    return points.is_invalid(point) or points.reserve_decided(point)


def _why_hollow(points: Points, drawn: Collection[int]) -> str:
    """What the hollow ones of the points `drawn` are; empty if none is hollow."""
    return " or ".join(
        text
        for text, of in ((INVALID, points.is_invalid), (RESERVE, points.reserve_decided))
        if any(map(of, drawn))
    )


@dataclass(frozen=True)
class Group:
    """Points that share the values of some keys."""

    name: str
    points: tuple[int, ...]


def groups(points: Points, keys: Sequence[Key], most_groups: int = MOST_LINES) -> list[Group]:
    """The points by their values of `keys`, in the order of these, the first `most_groups`."""
    members: dict[tuple[Value, ...], list[int]] = {}
    columns = [points.column(key) for key in keys]
    for i in range(len(points.labels)):
        members.setdefault(tuple(column[i] for column in columns), []).append(i)
    items = [*members.items()][:most_groups]
    # Values that are not numbers stand for themselves.
    names = [
        ", ".join(
            f"{key.name.rpartition('.')[2]} {key_text(key, value)}" if key.numeric else str(value)
            for key, value in zip(keys, values, strict=True)
        )
        for values, _ in items
    ]
    return [Group(name, tuple(indices)) for name, (_, indices) in zip(names, items, strict=True)]


def _rows(points: Points, group: Group, x: Key, metric: str) -> Rows:
    column = points.column(x)
    rows = [
        (float(column[i] or 0), summary, is_hollow(points, i))
        for i in group.points
        if (summary := points.summary(i, metric)) is not None
    ]
    return sorted(rows, key=lambda row: row[0])


def over_key(points: Points, metric: Column, x: Key) -> Figure:
    """A metric over a key: a line for each combination of the other keys, if there are few.

    Otherwise over all others: their mean, or medians of drawn points.
    """
    key, title = place(metric.name, x.name), f"{_title(metric)} over {x.name}"
    other_keys = [key_ for key_ in points.numeric if key_ is not x]
    split = groups(points, [*points.named, *other_keys], MOST_LINES + 1)
    is_split = len(split) <= MOST_LINES and len({*points.column(x)}) > 1
    groups_ = groups(points, [*points.named, *other_keys] if is_split else points.named)
    notes: list[str] = []
    curves = []
    for tone, group in enumerate(groups_):
        rows = _rows(points, group, x, metric.name)
        if not rows:
            continue
        count = len({value for value, *_ in rows})
        if count == len(rows) and (is_split or not other_keys) and count <= MOST_DOTS:
            curves.append(_line(group.name, rows, tone))
            if any(summary.low < summary.high for _, summary, _ in rows):
                notes.append("The bands are 95 % confidence intervals of the means over the seeds.")
        elif count < len(rows) and count <= 4 * BINS:
            curves.append(_summary_curve(group.name, _by_value(rows), tone))
            notes.append("Means over all other keys; the bands span all points.")
        elif len(points.labels) <= MOST_DOTS:
            curves.append(_scatter(group.name, rows, tone))
        else:
            curves.append(_summary_curve(group.name, _by_bins(rows, x), tone, 10))
            notes.append("Medians of the points drawn; the bands span 80 % of them.")
    if not curves:
        return MissingPlot(key, title, "No point has this number.")
    has_hollow = any(curve.dots is not None and bool(curve.dots.any()) for curve in curves)
    text = " ".join([f"{_title(metric)} over {x.name}.", *dict.fromkeys(notes)])
    drawn = [
        i for group in groups_ for i in group.points if points.summary(i, metric.name) is not None
    ]
    text += f" Hollow: {_why_hollow(points, drawn)}." if has_hollow else ""
    axes = (pad(key_axis(x), (curve.x for curve in curves)), _pad_y(metric_axis(metric), curves))
    return Plot(key, title, text, *axes, tuple(curves))


def _pad_y(axis: Axis, curves: Sequence[Curve]) -> Axis:
    bands = [band for curve in curves for band in (curve.low, curve.high) if band is not None]
    return pad(axis, [*(curve.y for curve in curves), *bands])


def pad(axis: Axis, values: Iterable[Floats]) -> Axis:
    """An axis with room for the marks at its ends."""
    joined = np.concatenate([*values])
    low, high = float(np.nanmin(joined)), float(np.nanmax(joined))
    if axis.log or high <= low:
        return axis
    room = PADDING * (high - low)
    lowest = low - room if low < 0 or low > room else 0.0
    return replace(axis, low=lowest, high=high + room)


def _title(metric: Column) -> str:
    title = metric.title or metric.short or metric.name
    return title if title.startswith("p9") else title[:1].upper() + title[1:]


def _line(name: str, rows: Rows, tone: int) -> Curve:
    low, high = [summary.low for _, summary, _ in rows], [summary.high for _, summary, _ in rows]
    has_band = low != high
    return Curve(
        name,
        np.array([value for value, *_ in rows]),
        np.array([summary.mean for _, summary, _ in rows]),
        tone,
        np.array(low) if has_band else None,
        np.array(high) if has_band else None,
        dots=np.array([hollow for *_, hollow in rows]),
    )


def _scatter(name: str, rows: Rows, tone: int) -> Curve:
    curve = _line(name, rows, tone)
    return Curve(name, curve.x, curve.y, tone, line=False, dots=curve.dots)


def _by_value(rows: Rows) -> list[Rows]:
    return [list(equal_rows) for _, equal_rows in itertools.groupby(rows, key=lambda row: row[0])]


def _by_bins(rows: Rows, x: Key) -> list[Rows]:
    """Rows in equal parts of the axis."""
    edges = _edges(x, BINS)
    bins: list[Rows] = [[] for _ in range(BINS)]
    for row in rows:
        bins[_bin(edges, row[0])].append(row)
    return [bin_rows for bin_rows in bins if bin_rows]


def _edges(key: Key, count: int) -> Floats:
    low, high = float(key.values[0] or 0), float(key.values[-1] or 0)
    if key.log and low > 0:
        return np.geomspace(low, high, count + 1)
    return np.linspace(low, high, count + 1)


def _bin(edges: Floats, value: float) -> int:
    index = int(np.searchsorted(edges, value, side="right")) - 1
    return min(max(index, 0), len(edges) - 2)


def _summary_curve(name: str, row_groups: list[Rows], tone: int, percent: float = 0.0) -> Curve:
    """A point for each of several groups of rows: mean and range, or median and percentiles."""
    values = [np.array([summary.mean for _, summary, _ in rows]) for rows in row_groups]
    average = np.median if percent else np.mean
    x = [float(np.mean([value for value, *_ in rows])) for rows in row_groups]
    return Curve(
        name,
        np.array(x),
        np.array([float(average(group)) for group in values]),
        tone,
        np.array([float(np.percentile(group, percent)) for group in values]),
        np.array([float(np.percentile(group, 100 - percent)) for group in values]),
        dots=np.array([2 * sum(hollow for *_, hollow in rows) > len(rows) for rows in row_groups]),
    )


def heat(points: Points, metric: Column, x: Key, y: Key, group: Group | None = None) -> Figure:
    """A metric over two keys, of all points or of those in a group."""
    name = group.name if group else ""
    key = place(metric.name, x.name, y.name, *([name] if name else []))
    title = f"{_title(metric)} over {x.name} and {y.name}" + (f": {name}" if name else "")
    (x_names, columns), (y_names, rows) = _cells_of(points, x), _cells_of(points, y)
    total, count = np.zeros((len(y_names), len(x_names))), np.zeros((len(y_names), len(x_names)))
    marked = np.zeros((len(y_names), len(x_names)), dtype=bool)
    hollow: list[int] = []
    for i in group.points if group else range(len(points.labels)):
        summary = points.summary(i, metric.name)
        if summary is not None:
            cell = rows[i], columns[i]
            total[cell] += summary.mean
            count[cell] += 1
            marked[cell] |= is_hollow(points, i)
            hollow += [i] * is_hollow(points, i)
    if not count.any():
        return MissingPlot(key, title, "No point has this number.")
    cells = np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0)
    text = f"{_title(metric)} by colour." if count.max() == 1 else "Means of the points in a cell."
    if hollow:
        text += f" A circle marks a cell with a point where {_why_hollow(points, hollow)}."
    labels = x.name, y.name
    return Heatmap(key, title, text, x_names, y_names, *labels, cells, metric.name, marked)


def _cells_of(points: Points, key: Key) -> tuple[tuple[str, ...], list[int]]:
    """The names of the columns (or rows) of a heat map, and that of each point."""
    column = [float(value or 0) for value in points.column(key)]
    if len(key.values) <= MOST_CELLS:
        places = {float(value or 0): i for i, value in enumerate(key.values)}
        return tuple(key_text(key, value) for value in key.values), [
            places[value] for value in column
        ]
    edges = _edges(key, 12)
    middles = np.sqrt(edges[1:] * edges[:-1]) if key.log else (edges[1:] + edges[:-1]) / 2
    names = tuple(key_text(key, float(f"{middle:.3g}")) for middle in middles.tolist())
    return names, [_bin(edges, value) for value in column]


def parallel(points: Points, metric: Column, extra_metrics: Sequence[Column] = ()) -> Figure:
    """All keys and some metrics side by side, the lowest valid points by `metric` coloured."""
    title = f"All keys: the lowest {metric.title}"
    keys = [*points.numeric, *points.named][:MOST_AXES]
    ranked_values = [
        (summary.mean, i)
        for i in range(len(points.labels))
        if (summary := points.summary(i, metric.name)) is not None
    ]
    key = place(metric.name, "parallel")
    if not ranked_values:
        return MissingPlot(key, title, "No point has this number.")
    numbers = {i: value for value, i in ranked_values}
    ranking = [i for _, i in sorted(ranked_values)]
    most = min(max(1, round(BEST * len(ranking))), MOST_PARALLEL // 2)
    best = [i for i in ranking if not points.is_invalid(i)][:most]
    remaining = [i for i in ranking if i not in best]
    stride = max(1, -(-len(remaining) // (MOST_PARALLEL - len(best))))
    drawn_points = [*remaining[::stride][::-1], *best[::-1]]
    axes, positions_by_axis = [], []
    for key_ in keys:
        axis, positions = _key_upright(points, key_)
        axes.append(axis)
        positions_by_axis.append(positions)
    for column in (
        metric,
        *(extra_metric for extra_metric in extra_metrics if extra_metric.name != metric.name),
    ):
        axis, positions = _metric_upright(points, column)
        axes.append(axis)
        positions_by_axis.append(positions)
    lines = tuple(
        (
            f"{points.labels[i]}: {on_page(format_value(metric.name, numbers[i]))}"
            + " (invalid)" * points.is_invalid(i),
            tuple(positions[i] for positions in positions_by_axis),
            0 if i in best else TONES - 1,
        )
        for i in drawn_points
        if all(math.isfinite(positions[i]) for positions in positions_by_axis)
    )
    omitted = len(ranking) - len(lines)
    valid = f" valid one{'s' * (len(best) != 1)}" if any(map(points.is_invalid, ranking)) else ""
    text = "Each line is a point."
    text += f" Coloured: the {len(best)}{valid} with the lowest {metric.title}." if best else ""
    text += f" {omitted:,} of the others are left out." if omitted else ""
    return ParallelCoordinates(key, title, text, tuple(axes), lines)


def _key_upright(points: Points, key: Key) -> tuple[ParallelAxis, list[float]]:
    column = points.column(key)
    if not key.numeric:
        step = max(1, len(key.values) - 1)
        positions = {value: i / step for i, value in enumerate(key.values)}
        ticks = tuple((place, str(value)) for value, place in positions.items())
        return ParallelAxis(key.name, ticks[:: max(1, len(ticks) // 12)]), [
            positions[value] for value in column
        ]
    numbers = np.array([float(value or 0) for value in column])
    unit = KEY_UNITS.get(key.unit, "ratio")
    return _upright(key.name, numbers, key.log, lambda value: short(unit, _round(value)))


def _round(value: float) -> float:
    return float(f"{value:.3g}")


def _metric_upright(points: Points, metric: Column) -> tuple[ParallelAxis, list[float]]:
    summaries = [points.summary(i, metric.name) for i in range(len(points.labels))]
    values = np.array([math.nan if summary is None else summary.mean for summary in summaries])
    finite = values[np.isfinite(values)]
    log = bool(finite.size and finite.min() > 0 and finite.max() > 20 * finite.min())
    name = metric.short or metric.name
    return _upright(name, values, log, lambda value: on_page(format_value(metric.name, value)))


def _upright(
    name: str, values: Floats, log: bool, text: Callable[[float], str]
) -> tuple[ParallelAxis, list[float]]:
    finite = values[np.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
    shares = [0.0, 0.25, 0.5, 0.75, 1.0]
    if high <= low:
        return ParallelAxis(name, ((0.5, text(low)),)), [
            0.5 if value == value else value for value in values.tolist()
        ]
    if log:
        positions = np.log(values / low) / math.log(high / low)
        ticks = tuple((share, text(low * (high / low) ** share)) for share in shares)
    else:
        positions = (values - low) / (high - low)
        ticks = tuple((share, text(low + share * (high - low))) for share in shares)
    return ParallelAxis(name, ticks), positions.tolist()


def pareto(points: Points, x_column: Column, y_column: Column) -> tuple[Figure, list[int]]:
    """Points by two metrics to be minimised, and the front: those that no other beats in both.

    Invalid points are drawn, but are not part of the front.

    The second return value is the front, ordered by the first metric.
    """
    title = f"{_title(y_column)} against {x_column.title}"
    key = place("front", x_column.name, y_column.name)
    pairs = []
    for i in range(len(points.labels)):
        x_summary, y_summary = points.summary(i, x_column.name), points.summary(i, y_column.name)
        if x_summary is not None and y_summary is not None:
            pairs.append((x_summary.mean, y_summary.mean, i))
    front: list[tuple[float, float, int]] = []
    for row in sorted(row for row in pairs if not points.is_invalid(row[2])):
        if not front or row[1] < front[-1][1]:
            front.append(row)
    if len(pairs) < 2:
        return MissingPlot(key, title, "Fewer than two points have both numbers."), []
    omitted = len(pairs) - FRONT_DOTS
    drawn_points = {row[2] for row in pairs[:: max(1, -(-len(pairs) // FRONT_DOTS))]}
    curves = [
        Curve(
            "front",
            np.array([row[0] for row in front]),
            np.array([row[1] for row in front]),
            TONES - 1,
            step=True,
        )
    ] * bool(front)
    in_clouds: list[int] = []
    for tone, group in enumerate(groups(points, points.named, TONES - 1)):
        members = {*group.points}
        rows = [row for row in sorted(pairs) if row[2] in members and row[2] in drawn_points]
        if rows:
            curves.append(_cloud(points, group.name or "points", rows, tone))
            in_clouds += [row[2] for row in rows]
    text = "Each mark is a point; less is better in both."
    text += " No valid point is lower in both than those on the line." if front else ""
    text += " Only some of the others are drawn." if omitted > 0 else ""
    hollow = _why_hollow(points, in_clouds)
    text += f" Hollow: {hollow}." if hollow else ""
    x = pad(_spread_axis(x_column, pairs, 0), (curve.x for curve in curves))
    y = _pad_y(_spread_axis(y_column, pairs, 1), curves)
    return Plot(key, title, text, x, y, tuple(curves)), [row[2] for row in front]


def _cloud(points: Points, name: str, rows: Sequence[tuple[float, float, int]], tone: int) -> Curve:
    x, y = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
    dots = np.array([is_hollow(points, row[2]) for row in rows])
    return Curve(name, x, y, tone, line=False, dots=dots)


def _spread_axis(column: Column, pairs: Sequence[tuple[float, float, int]], index: int) -> Axis:
    """The axis of a metric: logarithmic if its values are far apart."""
    values = [row[index] for row in pairs]
    axis = metric_axis(column)
    log = min(values) > 0 and max(values) > 20 * min(values)
    return Axis(axis.label, axis.unit, log=log)


def trade_off(points: Points) -> tuple[Column, Column] | None:
    """Write amplification and the tail latency that it is plotted against, if both exist."""
    latency = next((points.metrics[name] for name in PERCENTILES if name in points.metrics), None)
    waf = points.metrics.get("waf")
    return None if waf is None or latency is None else (waf, latency)


def metric_figures(points: Points, metric: Column, most_maps: int = 3) -> list[Figure]:
    """Every plot of a metric: over each key with numbers, and over two of them."""
    numeric = points.numeric
    figures = [over_key(points, metric, key) for key in numeric[:6]]
    pairs = [*itertools.combinations(numeric[:3], 2)]
    groups_ = groups(points, points.named)
    if len(pairs) == 1 and 1 < len(groups_) <= most_maps:
        figures += [heat(points, metric, *pairs[0], group) for group in groups_]
    else:
        figures += [heat(points, metric, *pair) for pair in pairs[:most_maps]]
    return figures
