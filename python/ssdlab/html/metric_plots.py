"""The plots of every metric over the keys that vary, with a choice of the metric."""

from __future__ import annotations

from html import escape

from ssdlab.display.form import Column
from ssdlab.html.page import figures
from ssdlab.html.plot import Figure
from ssdlab.html.points_plots import metric_axis, metric_figures
from ssdlab.results.points import Points

MOST_METRICS = 14
MOST_FIGURES = 72
"""Plots of all metrics together, which bound the size of the page."""


def is_drawn(column: Column) -> bool:
    """Whether a column is worth plots: those in the tables of pages, and throughput."""
    return column.paged or column.unit == "bandwidth"


def all_figures(points: Points) -> dict[str, list[Figure]]:
    """The plots of each metric, by its name."""
    metrics = [column for column in points.metrics.values() if is_drawn(column)][:MOST_METRICS]
    if not metrics or not points.numeric:
        return {}
    most_figures = max(2, MOST_FIGURES // len(metrics))
    return {column.name: metric_figures(points, column)[:most_figures] for column in metrics}


def metric_plots(points: Points) -> str:
    """The plots of every metric, of which the page shows one at a time."""
    figures_by_metric = all_figures(points)
    if not figures_by_metric:
        reason = "A plot needs a key with several numbers, and a point that completed."
        return f'<p class="note">{reason}</p>'
    titles = {name: metric_axis(points.metrics[name]).label for name in figures_by_metric}
    options = "".join(
        f'<option value="{name}">{escape(title)}</option>' for name, title in titles.items()
    )
    parts = [
        f'<div data-metric="{name}">{figures(metric_figures_)}</div>'
        for name, metric_figures_ in figures_by_metric.items()
    ]
    choice = f'<p class="tools"><label>Metric <select id="metric">{options}</select></label></p>'
    return choice + "".join(parts)
