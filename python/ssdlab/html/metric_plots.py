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
    metrics = [one for one in points.metrics.values() if is_drawn(one)][:MOST_METRICS]
    if not metrics or not points.numeric:
        return {}
    each = max(2, MOST_FIGURES // len(metrics))
    return {one.name: metric_figures(points, one)[:each] for one in metrics}


def metric_plots(points: Points) -> str:
    """The plots of every metric, of which the page shows one at a time."""
    found = all_figures(points)
    if not found:
        why = "A plot needs a key with several numbers, and a point that completed."
        return f'<p class="note">{why}</p>'
    titles = {name: metric_axis(points.metrics[name]).label for name in found}
    options = "".join(
        f'<option value="{name}">{escape(title)}</option>' for name, title in titles.items()
    )
    parts = [
        f'<div data-metric="{name}">{figures(several)}</div>' for name, several in found.items()
    ]
    choice = f'<p class="tools"><label>Metric <select id="metric">{options}</select></label></p>'
    return choice + "".join(parts)
