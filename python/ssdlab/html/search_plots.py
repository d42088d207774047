"""The plots of the page of a search: its history, its front, and all keys side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ssdlab.display.form import Column
from ssdlab.html.plot import Axis, Curve, Figure, Floats, Missing, Plot
from ssdlab.html.points_plots import metric_axis, padded, parallel, place, weighed
from ssdlab.results.points import Points
from ssdlab.results.search import Goal, Search, Tried

FAR_APART = 20
"""Factor between values above which an axis is logarithmic."""


def search_figures(done: Search) -> list[Figure]:
    """All plots of a search."""
    histories = [history(done, i) for i in range(len(done.goals))]
    return [*histories, *fronts(done), *all_keys(done)]


def history(done: Search, at: int) -> Figure:
    """An objective over the trials, and the best so far of those that meet the constraints."""
    goal = done.goals[at]
    key, title = place("history", goal.column.name), f"{_begun(goal.title)} over the trials"
    ran = [one for one in done.trials if one.state == "completed"]
    if not ran:
        return Missing(key, title, done.nothing)
    curves = []
    allowed = [one for one in ran if one.allowed]
    best: list[float] = []
    for one in allowed:
        value = _value(one, at)
        best.append(value if not best or goal.better(value, best[-1]) else best[-1])
    if allowed:
        numbers = [float(one.number) for one in allowed]
        last = float(done.trials[-1].number)
        x, y = np.array([*numbers, last]), np.array([*best, best[-1]])
        curves.append(Curve(f"{goal.best} so far", x, y, 0, step=True))
    groups = {"meet the constraints" if done.constraints else "points": allowed}
    groups["miss a constraint"] = [one for one in ran if not one.allowed]
    for tone, (name, several) in enumerate(groups.items(), 1):
        if several:
            curves.append(_cloud(name, [(float(o.number), _value(o, at)) for o in several], tone))
    given_up = sum(one.state == "given up" for one in done.trials)
    text = "Each mark is a point that ran to its end."
    text += f" {given_up:,} were given up early and are not drawn." if given_up else ""
    trial = padded(Axis("trial", "count"), _xs(curves))
    return Plot(key, title, text, trial, spread(_axis(done, goal), _ys(curves)), tuple(curves))


def fronts(done: Search) -> list[Figure]:
    """The objectives against each other, or against a trade-off: the front of allowed points."""
    pair = _pair(done)
    if pair is None:
        return []
    (across, high_x), (up, high_y) = pair
    key, title = place("front", across.name, up.name), f"{_begun(up.title)} against {across.title}"
    ran = [
        (x, y, one)
        for one in done.trials
        if one.state == "completed"
        and (x := _number(one, across)) is not None
        and (y := _number(one, up)) is not None
    ]
    if len(ran) < 2:
        return [Missing(key, title, "Fewer than two points have both numbers.")]
    allowed = [(x, y) for x, y, one in ran if one.allowed]
    line: list[tuple[float, float]] = []
    for x, y in sorted(
        allowed, key=lambda p: (-p[0] if high_x else p[0], -p[1] if high_y else p[1])
    ):
        if not line or (y > line[-1][1] if high_y else y < line[-1][1]):
            line.append((x, y))
    curves = []
    if line:
        x_, y_ = (np.array([p[i] for p in sorted(line)]) for i in (0, 1))
        curves.append(Curve("front", x_, y_, 0, dots=np.zeros(len(line), dtype=bool)))
    rest = {"meet the constraints" if done.constraints else "points": allowed}
    rest["miss a constraint"] = [(x, y) for x, y, one in ran if not one.allowed]
    for tone, (name, several) in enumerate(rest.items(), 1):
        if several:
            curves.append(_cloud(name, several, tone))
    text = "Each mark is a point. No point that meets the constraints beats those of the front."
    axes = spread(metric_axis(across), _xs(curves)), spread(metric_axis(up), _ys(curves))
    return [Plot(key, title, text, *axes, tuple(curves))]


def all_keys(done: Search) -> list[Figure]:
    """Parallel axes of the keys that every point has."""
    points = done.points
    kept = [key.name for key in points.keys if "-" not in points.column(key)]
    ran = [one for one in done.trials if one.state == "completed"]
    given = {name: [one.point[name] for one in ran] for name in kept if ran}
    order = [*(one.key for several in done.effects for one in several), *kept]
    names = sorted(given, key=order.index)
    chosen = Points.of(
        [done.called(one) for one in ran],
        {name: given[name] for name in names},
        [[one.numbers] for one in ran],
    )
    column = done.goals[0].column
    if not names or (column.name not in chosen.metrics and not _has(chosen, column)):
        return []
    more = [one for one in (weighed(chosen) or ()) if one.name != column.name]
    return [parallel(chosen, column, more)]


def _has(points: Points, column: Column) -> bool:
    return any(points.summary(i, column.name) is not None for i in range(len(points.labels)))


def _pair(done: Search) -> tuple[tuple[Column, bool], tuple[Column, bool]] | None:
    """The trade-off: two objectives, or else the objective and write amplification or a latency."""
    if len(done.goals) > 1:
        first, second = done.goals[:2]
        return (second.column, second.maximize), (first.column, first.maximize)
    goal, both = done.goals[0], weighed(done.points)
    other = next((one for one in both or () if one.name != goal.column.name), None)
    return None if other is None else ((other, False), (goal.column, goal.maximize))


def _number(one: Tried, column: Column) -> float | None:
    value = one.numbers.get(column.name)
    return float(value) if isinstance(value, int | float) else None


def _value(one: Tried, at: int) -> float:
    assert one.values is not None, "a completed point has values"
    return one.values[at]


def _cloud(name: str, several: Sequence[tuple[float, float]], tone: int) -> Curve:
    x, y = (np.array([pair[i] for pair in several]) for i in (0, 1))
    return Curve(name, x, y, tone, line=False, dots=np.zeros(len(several), dtype=bool))


def _axis(done: Search, goal: Goal) -> Axis:
    """The axis of an objective; with several traces, of its ratio to the baseline."""
    if done.in_ratios:
        return Axis(f"{goal.title} over that of baseline", "ratio")
    return metric_axis(goal.column)


def _xs(curves: Sequence[Curve]) -> list[Floats]:
    return [one.x for one in curves]


def _ys(curves: Sequence[Curve]) -> list[Floats]:
    return [one.y for one in curves]


def spread(axis: Axis, values: Sequence[Floats]) -> Axis:
    """An axis with room at its ends: logarithmic if the values are far apart."""
    every = np.concatenate(values)
    if every.min() > 0 and every.max() > FAR_APART * every.min():
        return replace(axis, log=True)
    return padded(axis, values)


def _begun(title: str) -> str:
    return title if title.startswith("p9") else title[:1].upper() + title[1:]
