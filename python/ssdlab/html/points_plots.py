"""Plots over keys that vary: a metric over one key, over two, and all of them together."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from ssdlab.config.quantity import KeyUnit
from ssdlab.display.form import Column
from ssdlab.display.form import Unit as Quantity
from ssdlab.display.numbers import Value, on_page, shown
from ssdlab.html.plot import (
    TONES,
    Axis,
    Curve,
    Figure,
    Floats,
    Heat,
    Missing,
    Parallel,
    Plot,
    Stacked,
    Unit,
    Upright,
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
    large = max(abs(float(one)) for one in key.values if one is not None) >= 10
    plain: Unit = "count" if large else "ratio"
    return Axis(key.name, KEY_UNITS.get(key.unit, plain), log=key.log)


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
    known = [
        (points.labels[i] + " (invalid)" * points.is_invalid(i), one)
        for i in range(len(points.labels))
        if (one := points.summary(i, column.name)) is not None
    ]
    title = column.title or column.short or column.name
    key, head = place(column.name, "bars"), title[0].upper() + title[1:]
    if not known or len(known) > MOST_BARS:
        why = f"Bars are drawn of 1 to {MOST_BARS} points; here are {len(known)}."
        return Missing(key, head, why)
    repeated = any(one.high > one.low for _, one in known)
    text = f"{head} of each configuration."
    text += " Lines: 95 % confidence intervals over the seeds." if repeated else ""
    ends = tuple((one.low, one.high) if one.high > one.low else None for _, one in known)
    rows = tuple((label, (one.mean,)) for label, one in known)
    return Stacked(key, head, text, (title,), rows, column.unit, ends)


def is_hollow(points: Points, point: int) -> bool:
    """Whether a point is drawn hollow: it is invalid, or the reserve decided."""
    return points.is_invalid(point) or points.reserve_decided(point)


def _why_hollow(points: Points) -> str:
    """What hollow points are."""
    every = range(len(points.labels))
    return " or ".join(
        text
        for text, of in ((INVALID, points.is_invalid), (RESERVE, points.reserve_decided))
        if any(map(of, every))
    )


@dataclass(frozen=True)
class Group:
    """Points that share the values of some keys."""

    name: str
    points: tuple[int, ...]


def groups(points: Points, keys: Sequence[Key], most: int = MOST_LINES) -> list[Group]:
    """The points by their values of `keys`, in the order of these, the first `most`."""
    found: dict[tuple[Value, ...], list[int]] = {}
    columns = [points.column(key) for key in keys]
    for i in range(len(points.labels)):
        found.setdefault(tuple(column[i] for column in columns), []).append(i)
    several = [*found.items()][:most]
    # Values that are not numbers stand for themselves.
    names = [
        ", ".join(
            f"{key.name.rpartition('.')[2]} {key_text(key, value)}" if key.numeric else str(value)
            for key, value in zip(keys, values, strict=True)
        )
        for values, _ in several
    ]
    return [Group(name, tuple(at)) for name, (_, at) in zip(names, several, strict=True)]


def _rows(points: Points, group: Group, x: Key, metric: str) -> Rows:
    column = points.column(x)
    found = [
        (float(column[i] or 0), known, is_hollow(points, i))
        for i in group.points
        if (known := points.summary(i, metric)) is not None
    ]
    return sorted(found, key=lambda row: row[0])


def over_key(points: Points, metric: Column, x: Key) -> Figure:
    """A metric over a key: a line for each combination of the other keys, if there are few.

    Otherwise over all others: their mean, or medians of drawn points.
    """
    key, title = place(metric.name, x.name), f"{_title(metric)} over {x.name}"
    others = [one for one in points.numeric if one is not x]
    fine = groups(points, [*points.named, *others], MOST_LINES + 1)
    lines = len(fine) <= MOST_LINES and len({*points.column(x)}) > 1
    several = groups(points, [*points.named, *others] if lines else points.named)
    notes: list[str] = []
    curves = []
    for tone, group in enumerate(several):
        rows = _rows(points, group, x, metric.name)
        if not rows:
            continue
        each = len({value for value, *_ in rows})
        if each == len(rows) and (lines or not others) and each <= MOST_DOTS:
            curves.append(_line(group.name, rows, tone))
            if any(one.low < one.high for _, one, _ in rows):
                notes.append("The bands are 95 % confidence intervals of the means over the seeds.")
        elif each < len(rows) and each <= 4 * BINS:
            curves.append(_merged(group.name, _by_value(rows), tone))
            notes.append("Means over all other keys; the bands span all points.")
        elif len(points.labels) <= MOST_DOTS:
            curves.append(_scattered(group.name, rows, tone))
        else:
            curves.append(_merged(group.name, _by_bins(rows, x), tone, 10))
            notes.append("Medians of the points drawn; the bands span 80 % of them.")
    if not curves:
        return Missing(key, title, "No point has this number.")
    hollow = any(curve.dots is not None and bool(curve.dots.any()) for curve in curves)
    text = " ".join([f"{_title(metric)} over {x.name}.", *dict.fromkeys(notes)])
    text += f" Hollow: {_why_hollow(points)}." if hollow else ""
    axes = (padded(key_axis(x), (c.x for c in curves)), _up(metric_axis(metric), curves))
    return Plot(key, title, text, *axes, tuple(curves))


def _up(axis: Axis, curves: Sequence[Curve]) -> Axis:
    bands = [band for c in curves for band in (c.low, c.high) if band is not None]
    return padded(axis, [*(c.y for c in curves), *bands])


def padded(axis: Axis, values: Iterable[Floats]) -> Axis:
    """An axis with room for the marks at its ends."""
    every = np.concatenate([*values])
    low, high = float(np.nanmin(every)), float(np.nanmax(every))
    if axis.log or high <= low:
        return axis
    room = PADDING * (high - low)
    lowest = low - room if low < 0 or low > room else 0.0
    return replace(axis, low=lowest, high=high + room)


def _title(metric: Column) -> str:
    title = metric.title or metric.short or metric.name
    return title if title.startswith("p9") else title[:1].upper() + title[1:]


def _line(name: str, rows: Rows, tone: int) -> Curve:
    low, high = [one.low for _, one, _ in rows], [one.high for _, one, _ in rows]
    banded = low != high
    return Curve(
        name,
        np.array([value for value, *_ in rows]),
        np.array([one.mean for _, one, _ in rows]),
        tone,
        np.array(low) if banded else None,
        np.array(high) if banded else None,
        dots=np.array([reserve for *_, reserve in rows]),
    )


def _scattered(name: str, rows: Rows, tone: int) -> Curve:
    curve = _line(name, rows, tone)
    return Curve(name, curve.x, curve.y, tone, line=False, dots=curve.dots)


def _by_value(rows: Rows) -> list[Rows]:
    return [list(one) for _, one in itertools.groupby(rows, key=lambda row: row[0])]


def _by_bins(rows: Rows, x: Key) -> list[Rows]:
    """Rows in equal parts of the axis."""
    edges = _edges(x, BINS)
    found: list[Rows] = [[] for _ in range(BINS)]
    for row in rows:
        found[_bin(edges, row[0])].append(row)
    return [one for one in found if one]


def _edges(key: Key, count: int) -> Floats:
    low, high = float(key.values[0] or 0), float(key.values[-1] or 0)
    if key.log and low > 0:
        return np.geomspace(low, high, count + 1)
    return np.linspace(low, high, count + 1)


def _bin(edges: Floats, value: float) -> int:
    at = int(np.searchsorted(edges, value, side="right")) - 1
    return min(max(at, 0), len(edges) - 2)


def _merged(name: str, several: list[Rows], tone: int, percent: float = 0.0) -> Curve:
    """A point for each of several groups of rows: mean and range, or median and percentiles."""
    values = [np.array([one.mean for _, one, _ in rows]) for rows in several]
    middle = np.median if percent else np.mean
    across = [float(np.mean([value for value, *_ in rows])) for rows in several]
    return Curve(
        name,
        np.array(across),
        np.array([float(middle(one)) for one in values]),
        tone,
        np.array([float(np.percentile(one, percent)) for one in values]),
        np.array([float(np.percentile(one, 100 - percent)) for one in values]),
        dots=np.array([2 * sum(reserve for *_, reserve in rows) > len(rows) for rows in several]),
    )


def heat(points: Points, metric: Column, x: Key, y: Key, group: Group | None = None) -> Figure:
    """A metric over two keys, of all points or of those in a group."""
    name = group.name if group else ""
    key = place(metric.name, x.name, y.name, *([name] if name else []))
    title = f"{_title(metric)} over {x.name} and {y.name}" + (f": {name}" if name else "")
    (across, columns), (up, rows) = _cells_of(points, x), _cells_of(points, y)
    total, count = np.zeros((len(up), len(across))), np.zeros((len(up), len(across)))
    marked = np.zeros((len(up), len(across)), dtype=bool)
    for i in group.points if group else range(len(points.labels)):
        known = points.summary(i, metric.name)
        if known is not None:
            at = rows[i], columns[i]
            total[at] += known.mean
            count[at] += 1
            marked[at] |= is_hollow(points, i)
    if not count.any():
        return Missing(key, title, "No point has this number.")
    cells = np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0)
    text = f"{_title(metric)} by colour." if count.max() == 1 else "Means of the points in a cell."
    text += (
        f" A circle marks a cell with a point where {_why_hollow(points)}." if marked.any() else ""
    )
    named = x.name, y.name
    return Heat(key, title, text, across, up, *named, cells, metric.name, marked)


def _cells_of(points: Points, key: Key) -> tuple[tuple[str, ...], list[int]]:
    """The names of the columns (or rows) of a heat map, and that of each point."""
    column = [float(one or 0) for one in points.column(key)]
    if len(key.values) <= MOST_CELLS:
        places = {float(value or 0): i for i, value in enumerate(key.values)}
        return tuple(key_text(key, one) for one in key.values), [places[one] for one in column]
    edges = _edges(key, 12)
    middles = np.sqrt(edges[1:] * edges[:-1]) if key.log else (edges[1:] + edges[:-1]) / 2
    names = tuple(key_text(key, float(f"{one:.3g}")) for one in middles.tolist())
    return names, [_bin(edges, one) for one in column]


def parallel(points: Points, metric: Column, more: Sequence[Column] = ()) -> Figure:
    """All keys and some metrics side by side, with the lowest points by `metric` highlighted."""
    title = f"All keys: the lowest {metric.title}"
    keys = [*points.numeric, *points.named][:MOST_AXES]
    known = [
        (one.mean, i)
        for i in range(len(points.labels))
        if (one := points.summary(i, metric.name)) is not None
    ]
    key = place(metric.name, "parallel")
    if not known:
        return Missing(key, title, "No point has this number.")
    numbers = {i: value for value, i in known}
    ranked = [i for _, i in sorted(known)]
    most = min(max(1, round(BEST * len(ranked))), MOST_PARALLEL // 2)
    best = [i for i in ranked if not points.is_invalid(i)][:most]
    rest = [i for i in ranked if i not in best]
    every = max(1, -(-len(rest) // (MOST_PARALLEL - len(best))))
    drawn = [*rest[::every][::-1], *best[::-1]]
    axes, places = [], []
    for named in keys:
        axis, at = _key_upright(points, named)
        axes.append(axis)
        places.append(at)
    for column in (metric, *(one for one in more if one.name != metric.name)):
        axis, at = _metric_upright(points, column)
        axes.append(axis)
        places.append(at)
    lines = tuple(
        (
            f"{points.labels[i]}: {on_page(shown(metric.name, numbers[i]))}"
            + " (invalid)" * points.is_invalid(i),
            tuple(at[i] for at in places),
            0 if i in best else TONES - 1,
        )
        for i in drawn
        if all(math.isfinite(at[i]) for at in places)
    )
    left = len(ranked) - len(lines)
    text = f"Each line is a point. Coloured: the {len(best)} with the lowest {metric.title}."
    text += f" {left:,} of the others are left out." if left else ""
    return Parallel(key, title, text, tuple(axes), lines)


def _key_upright(points: Points, key: Key) -> tuple[Upright, list[float]]:
    column = points.column(key)
    if not key.numeric:
        step = max(1, len(key.values) - 1)
        at = {value: i / step for i, value in enumerate(key.values)}
        ticks = tuple((place, str(value)) for value, place in at.items())
        return Upright(key.name, ticks[:: max(1, len(ticks) // 12)]), [at[one] for one in column]
    numbers = np.array([float(one or 0) for one in column])
    unit = KEY_UNITS.get(key.unit, "ratio")
    return _upright(key.name, numbers, key.log, lambda value: short(unit, _rounded(value)))


def _rounded(value: float) -> float:
    return float(f"{value:.3g}")


def _metric_upright(points: Points, metric: Column) -> tuple[Upright, list[float]]:
    summaries = [points.summary(i, metric.name) for i in range(len(points.labels))]
    values = np.array([math.nan if one is None else one.mean for one in summaries])
    known = values[np.isfinite(values)]
    log = bool(known.size and known.min() > 0 and known.max() > 20 * known.min())
    name = metric.short or metric.name
    return _upright(name, values, log, lambda value: on_page(shown(metric.name, value)))


def _upright(
    name: str, values: Floats, log: bool, text: Callable[[float], str]
) -> tuple[Upright, list[float]]:
    known = values[np.isfinite(values)]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
    shares = [0.0, 0.25, 0.5, 0.75, 1.0]
    if high <= low:
        return Upright(name, ((0.5, text(low)),)), [0.5 if v == v else v for v in values.tolist()]
    if log:
        at = np.log(values / low) / math.log(high / low)
        ticks = tuple((share, text(low * (high / low) ** share)) for share in shares)
    else:
        at = (values - low) / (high - low)
        ticks = tuple((share, text(low + share * (high - low))) for share in shares)
    return Upright(name, ticks), at.tolist()


def pareto(points: Points, across: Column, up: Column) -> tuple[Figure, list[int]]:
    """Points by two metrics to be minimised, and the front: those that no other beats in both.

    Invalid points are drawn, but are not part of the front.

    The second return value is the front, ordered by the first metric.
    """
    title = f"{_title(up)} against {across.title}"
    key = place("front", across.name, up.name)
    known = []
    for i in range(len(points.labels)):
        a, b = points.summary(i, across.name), points.summary(i, up.name)
        if a is not None and b is not None:
            known.append((a.mean, b.mean, i))
    front: list[tuple[float, float, int]] = []
    for row in sorted(row for row in known if not points.is_invalid(row[2])):
        if not front or row[1] < front[-1][1]:
            front.append(row)
    if len(known) < 2:
        return Missing(key, title, "Fewer than two points have both numbers."), []
    left = len(known) - FRONT_DOTS
    kept = {row[2] for row in known[:: max(1, -(-len(known) // FRONT_DOTS))]}
    curves = [
        Curve(
            "front",
            np.array([row[0] for row in front]),
            np.array([row[1] for row in front]),
            TONES - 1,
            step=True,
        )
    ] * bool(front)
    for tone, group in enumerate(groups(points, points.named, TONES - 1)):
        inside = {*group.points}
        rows = [row for row in sorted(known) if row[2] in inside and row[2] in kept]
        if rows:
            curves.append(_cloud(points, group.name or "points", rows, tone))
    text = (
        "Each mark is a point; less is better in both. No valid point is lower in both than those"
        " on the line."
    )
    text += " Only some of the others are drawn." if left > 0 else ""
    hollow = any(curve.dots is not None and bool(curve.dots.any()) for curve in curves)
    text += f" Hollow: {_why_hollow(points)}." if hollow else ""
    x = padded(_spread_axis(across, known, 0), (curve.x for curve in curves))
    y = _up(_spread_axis(up, known, 1), curves)
    return Plot(key, title, text, x, y, tuple(curves)), [row[2] for row in front]


def _cloud(points: Points, name: str, rows: Sequence[tuple[float, float, int]], tone: int) -> Curve:
    x, y = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
    dots = np.array([is_hollow(points, row[2]) for row in rows])
    return Curve(name, x, y, tone, line=False, dots=dots)


def _spread_axis(column: Column, known: Sequence[tuple[float, float, int]], at: int) -> Axis:
    """The axis of a metric: logarithmic if its values are far apart."""
    values = [row[at] for row in known]
    axis = metric_axis(column)
    log = min(values) > 0 and max(values) > 20 * min(values)
    return Axis(axis.label, axis.unit, log=log)


def weighed(points: Points) -> tuple[Column, Column] | None:
    """Write amplification and the tail latency that it is plotted against, if both exist."""
    up = next((points.metrics[name] for name in PERCENTILES if name in points.metrics), None)
    across = points.metrics.get("waf")
    return None if across is None or up is None else (across, up)


def metric_figures(points: Points, metric: Column, most_maps: int = 3) -> list[Figure]:
    """Every plot of a metric: over each key with numbers, and over two of them."""
    numeric = points.numeric
    found = [over_key(points, metric, key) for key in numeric[:6]]
    pairs = [*itertools.combinations(numeric[:3], 2)]
    several = groups(points, points.named)
    if len(pairs) == 1 and 1 < len(several) <= most_maps:
        found += [heat(points, metric, *pairs[0], group) for group in several]
    else:
        found += [heat(points, metric, *pair) for pair in pairs[:most_maps]]
    return found
