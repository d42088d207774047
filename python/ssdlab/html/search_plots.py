"""The plots of the page of a search: its history, its front, and all keys side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ssdlab.display.form import Column
from ssdlab.html.plot import Axis, Curve, Figure, Floats, MissingPlot, Plot
from ssdlab.html.points_plots import metric_axis, pad, parallel, place, trade_off
from ssdlab.results.points import Points
from ssdlab.results.search import Goal, Search, Tried

FAR_APART = 20
"""Factor between values above which an axis is logarithmic."""


def search_figures(search: Search) -> list[Figure]:
    """All plots of a search."""
    histories = [history(search, i) for i in range(len(search.goals))]
    return [*histories, *fronts(search), *all_keys(search)]


def history(search: Search, goal_index: int) -> Figure:
    """An objective over the trials, and the best so far of those that meet the constraints."""
    goal = search.goals[goal_index]
    key, title = place("history", goal.column.name), f"{_capitalize(goal.title)} over the trials"
    completed = [trial for trial in search.trials if trial.state == "completed"]
    if not completed:
        return MissingPlot(key, title, search.nothing)
    curves = []
    allowed = [trial for trial in completed if trial.allowed]
    best: list[float] = []
    for trial in allowed:
        value = _value(trial, goal_index)
        best.append(value if not best or goal.better(value, best[-1]) else best[-1])
    if allowed:
        numbers = [float(trial.number) for trial in allowed]
        last = float(search.trials[-1].number)
        x, y = np.array([*numbers, last]), np.array([*best, best[-1]])
        curves.append(Curve(f"{goal.best} so far", x, y, 0, step=True))
    groups = {"meet the constraints" if search.constraints else "points": allowed}
    groups["miss a constraint"] = [trial for trial in completed if not trial.allowed]
    for tone, (name, members) in enumerate(groups.items(), 1):
        if members:
            curves.append(
                _cloud(
                    name,
                    [(float(member.number), _value(member, goal_index)) for member in members],
                    tone,
                )
            )
    abandoned = sum(trial.state == "given up" for trial in search.trials)
    text = "Each mark is a point that ran to its end."
    text += f" {abandoned:,} were given up early and are not drawn." if abandoned else ""
    x_axis = pad(Axis("trial", "count"), _xs(curves))
    return Plot(key, title, text, x_axis, spread(_axis(search, goal), _ys(curves)), tuple(curves))


def fronts(search: Search) -> list[Figure]:
    """The objectives against each other, or against a trade-off: the front of allowed points."""
    pair = _pair(search)
    if pair is None:
        return []
    (x_column, high_x), (y_column, high_y) = pair
    key, title = (
        place("front", x_column.name, y_column.name),
        f"{_capitalize(y_column.title)} against {x_column.title}",
    )
    completed = [
        (x, y, trial)
        for trial in search.trials
        if trial.state == "completed"
        and (x := _number(trial, x_column)) is not None
        and (y := _number(trial, y_column)) is not None
    ]
    if len(completed) < 2:
        return [MissingPlot(key, title, "Fewer than two points have both numbers.")]
    allowed = [(x, y) for x, y, trial in completed if trial.allowed]
    line: list[tuple[float, float]] = []
    for x, y in sorted(
        allowed,
        key=lambda point: (-point[0] if high_x else point[0], -point[1] if high_y else point[1]),
    ):
        if not line or (y > line[-1][1] if high_y else y < line[-1][1]):
            line.append((x, y))
    curves = []
    if line:
        x_, y_ = (np.array([point[i] for point in sorted(line)]) for i in (0, 1))
        curves.append(Curve("front", x_, y_, 0, dots=np.zeros(len(line), dtype=bool)))
    groups = {"meet the constraints" if search.constraints else "points": allowed}
    groups["miss a constraint"] = [(x, y) for x, y, trial in completed if not trial.allowed]
    for tone, (name, members) in enumerate(groups.items(), 1):
        if members:
            curves.append(_cloud(name, members, tone))
    text = "Each mark is a point. No point that meets the constraints beats those of the front."
    axes = spread(metric_axis(x_column), _xs(curves)), spread(metric_axis(y_column), _ys(curves))
    return [Plot(key, title, text, *axes, tuple(curves))]


def all_keys(search: Search) -> list[Figure]:
    """Parallel axes of the keys that every point has."""
    points = search.points
    shared_keys = [key.name for key in points.keys if "-" not in points.column(key)]
    completed = [trial for trial in search.trials if trial.state == "completed"]
    values = {name: [trial.point[name] for trial in completed] for name in shared_keys if completed}
    order = [*(effect.key for effects in search.effects for effect in effects), *shared_keys]
    names = sorted(values, key=order.index)
    selection = Points.of(
        [search.called(trial) for trial in completed],
        {name: values[name] for name in names},
        [[trial.numbers] for trial in completed],
    )
    column = search.goals[0].column
    if not names or (column.name not in selection.metrics and not _has_values(selection, column)):
        return []
    other_metrics = [
        metric for metric in (trade_off(selection) or ()) if metric.name != column.name
    ]
    return [parallel(selection, column, other_metrics)]


def _has_values(points: Points, column: Column) -> bool:
    return any(points.summary(i, column.name) is not None for i in range(len(points.labels)))


def _pair(search: Search) -> tuple[tuple[Column, bool], tuple[Column, bool]] | None:
    """The trade-off: two objectives, or else the objective and write amplification or a latency."""
    if len(search.goals) > 1:
        first, second = search.goals[:2]
        return (second.column, second.maximize), (first.column, first.maximize)
    goal, metrics = search.goals[0], trade_off(search.points)
    metric = next((column for column in metrics or () if column.name != goal.column.name), None)
    return None if metric is None else ((metric, False), (goal.column, goal.maximize))


def _number(trial: Tried, column: Column) -> float | None:
    value = trial.numbers.get(column.name)
    return float(value) if isinstance(value, int | float) else None


def _value(trial: Tried, goal_index: int) -> float:
    assert trial.values is not None, "a completed point has values"
    return trial.values[goal_index]


def _cloud(name: str, coordinates: Sequence[tuple[float, float]], tone: int) -> Curve:
    x, y = (np.array([pair[i] for pair in coordinates]) for i in (0, 1))
    return Curve(name, x, y, tone, line=False, dots=np.zeros(len(coordinates), dtype=bool))


def _axis(search: Search, goal: Goal) -> Axis:
    """The axis of an objective; with several traces, of its ratio to the baseline."""
    if search.in_ratios:
        return Axis(f"{goal.title} over that of baseline", "ratio")
    return metric_axis(goal.column)


def _xs(curves: Sequence[Curve]) -> list[Floats]:
    return [curve.x for curve in curves]


def _ys(curves: Sequence[Curve]) -> list[Floats]:
    return [curve.y for curve in curves]


def spread(axis: Axis, values: Sequence[Floats]) -> Axis:
    """An axis with room at its ends: logarithmic if the values are far apart."""
    joined = np.concatenate(values)
    if joined.min() > 0 and joined.max() > FAR_APART * joined.min():
        return replace(axis, log=True)
    return pad(axis, values)


def _capitalize(title: str) -> str:
    return title if title.startswith("p9") else title[:1].upper() + title[1:]
