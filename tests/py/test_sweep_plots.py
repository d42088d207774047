"""Plots over made-up points: heat maps, fronts, invalid points, and how large they are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

from ssdlab.html.plot import Heatmap, ParallelCoordinates, Plot, StackedBars
from ssdlab.html.points_plots import (
    bars,
    groups,
    heat,
    metric_figures,
    over_key,
    parallel,
    pareto,
)
from ssdlab.html.svg import draw as draw_svg
from ssdlab.results.points import Points


def table_of(count: int, more: Callable[[int], dict[str, Any]]) -> Points:
    """Points of a made-up sweep: two keys with numbers, one with words."""
    settings = [more(i) for i in range(count)]
    names = ("x", "y", "policy")
    runs = [
        [
            {
                "waf": one["x"] + one["y"],
                "write_p99_9_ns": 1e6 * (3 - one["x"]),
                "decided_by": "policy",
            }
        ]
        for one in settings
    ]
    columns = {name: [one[name] for one in settings] for name in names}
    return Points.of([str(i) for i in range(count)], columns, runs)


def test_two_keys_make_heat_maps() -> None:
    points = table_of(
        24, lambda i: {"x": 1.0 + i % 4, "y": 1.0 + i // 4 % 3, "policy": "ab"[i // 12]}
    )
    x, y = points.numeric
    several = groups(points, points.named)
    assert [one.name for one in several] == ["a", "b"]
    one = heat(points, points.metrics["waf"], x, y, several[0])
    assert isinstance(one, Heatmap)
    assert one.cells.tolist() == [[2, 3, 4, 5], [3, 4, 5, 6], [4, 5, 6, 7]]
    assert draw_svg(one).count("<title>") == 12
    found = metric_figures(points, points.metrics["waf"])
    assert [type(figure).__name__ for figure in found] == ["Plot", "Plot", "Heatmap", "Heatmap"]


def test_the_front_has_what_nothing_beats() -> None:
    points = table_of(
        3, lambda i: {"x": [1.0, 2.0, 1.5][i], "y": [1.0, 1.0, 3.0][i], "policy": "a"}
    )
    plot, front = pareto(points, points.metrics["waf"], points.metrics["write_p99_9_ns"])
    assert isinstance(plot, Plot)
    assert front == [0, 1], "the third point has more of both than the second, or than the first"


def test_invalid_points_are_hollow_and_not_the_lowest() -> None:
    settings = [(1.0, 1.0), (2.0, 1.0), (3.0, 1.0), (1.0, 2.0), (2.0, 2.0), (3.0, 2.0)]
    plain = table_of(6, lambda i: {"x": settings[i][0], "y": settings[i][1], "policy": "a"})
    why = "not in steady state: write more"
    points = replace(plain, why_invalid=(why, *5 * [""]))
    waf, x, y = points.metrics["waf"], *points.numeric
    for metric in (waf, points.metrics["write_p99_9_ns"]):
        plot = over_key(points, metric, x)
        assert isinstance(plot, Plot)
        first, second = plot.curves
        assert [list(cast("Any", curve.dots)) for curve in (first, second)] == [
            [True, False, False],
            3 * [False],
        ]
        assert plot.caption.endswith(" Hollow: a warning invalidates the numbers.")
        assert draw_svg(plot).count('class="hollow"') == 1
    one = heat(points, waf, x, y)
    assert isinstance(one, Heatmap)
    assert one.marked.tolist() == [[True, False, False], 3 * [False]]
    assert "A circle marks a cell with a point where a warning invalidates" in one.caption
    front, kept = pareto(points, waf, points.metrics["write_p99_9_ns"])
    assert isinstance(front, Plot)
    assert pareto(plain, waf, points.metrics["write_p99_9_ns"])[1][0] == 0
    assert kept[0] != 0
    assert "Hollow" in front.caption
    lines = parallel(points, waf)
    assert isinstance(lines, ParallelCoordinates)
    best = [name for name, _, tone in lines.lines if tone == 0]
    assert len(best) == 1
    assert not best[0].startswith("0: ")
    assert [name for name, *_ in lines.lines if "(invalid)" in name] == ["0: 2.000 (invalid)"]
    drawn = bars(points, waf)
    assert isinstance(drawn, StackedBars)
    assert [label for label, _ in drawn.rows] == ["0 (invalid)", *"12345"]
    assert "Coloured: the 1 valid one with the lowest" in lines.caption
    none = replace(points, why_invalid=tuple(6 * [why]))
    assert "Coloured" not in cast("Plot", parallel(none, waf)).caption
    front, _ = pareto(none, waf, points.metrics["write_p99_9_ns"])
    assert "line" not in cast("Plot", front).caption
    # Without warnings nothing is.
    for figure in (over_key(plain, waf, x), heat(plain, waf, x, y)):
        assert "invalidates" not in cast("Plot", figure).caption


def test_hollow_points_are_explained_by_those_that_are_drawn() -> None:
    runs: list[list[dict[str, Any]]] = [
        [{"waf": 2.0, "write_p99_9_ns": 1e6, "decided_by": "policy"}],
        [{"waf": 3.0, "write_p99_9_ns": 2e6, "decided_by": "policy"}],
        [{"waf": 4.0, "write_p99_9_ns": None, "decided_by": "reserve"}],
    ]
    plain = Points.of(["0", "1", "2"], {"x": [1.0, 2.0, 3.0]}, runs)
    points = replace(plain, why_invalid=("write more", "", ""))
    waf, latency = points.metrics["waf"], points.metrics["write_p99_9_ns"]
    invalid = "a warning invalidates the numbers"
    front, _ = pareto(points, waf, latency)
    assert cast("Plot", front).caption.endswith(f" Hollow: {invalid}.")
    over = over_key(points, latency, points.numeric[0])
    assert cast("Plot", over).caption.endswith(f" Hollow: {invalid}.")
    both = cast("Plot", over_key(points, waf, points.numeric[0])).caption
    assert both.endswith(f" Hollow: {invalid} or the reserve decided, not the victim policy.")


def test_many_points_stay_small() -> None:
    points = table_of(
        10_000,
        lambda i: {"x": 1 + i * 7919 % 10_000 / 9999, "y": 1 + i / 9999, "policy": "abc"[i % 3]},
    )
    for figure in metric_figures(points, points.metrics["waf"]):
        assert not isinstance(figure, str)
        assert len(draw_svg(figure)) < 60_000  # type: ignore[arg-type]
    plot, _ = pareto(points, points.metrics["waf"], points.metrics["write_p99_9_ns"])
    assert len(draw_svg(plot)) < 120_000  # type: ignore[arg-type]
