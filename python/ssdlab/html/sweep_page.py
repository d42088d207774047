"""The page of a sweep."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape

from ssdlab.display.form import Column
from ssdlab.html.page import Section, document, figure, figures, number, table, warnings_box
from ssdlab.html.plot import Figure
from ssdlab.html.points_plots import metric_figures, pareto, weighed
from ssdlab.results.points import Points
from ssdlab.results.sweep import CSV, Sweep, named

MOST_ROWS = 100
"""Points in a table."""
MOST_METRICS = 12
MOST_FIGURES = 48
"""Of all metrics together: what bounds the size of the page."""
MOST_FAILURES = 50


def sweep_page(done: Sweep) -> str:
    """The page of a sweep."""
    points = done.points
    sections = [
        Section("numbers", "Numbers", _first(done) + _numbers(done)),
        Section("plots", "Plots", metric_plots(points)),
        Section("front", "Pareto front", _front(points)),
        Section("warnings", "Warnings", _warnings(done)),
        Section("failures", "Failed runs", _failures(done)),
        Section("sweep", "Sweep", _identity(done)),
    ]
    count = len(points.labels)
    seeds = done.identity.get("seeds")
    each = f", {len(seeds)} seeds each" if seeds else ""
    state = "" if done.completed else ' · <strong class="bad">not completed</strong>'
    keys = escape(", ".join(done.keys))
    lead = f'<p class="lead">{count:,} points{each} over {keys}{state} · all of them in {CSV}</p>'
    return document(f"{done.name}, swept", lead, [one for one in sections if one.body])


def _first(done: Sweep) -> str:
    lines = done.first_lines()
    return warnings_box(lines) if lines else ""


def _numbers(done: Sweep) -> str:
    """The points with the lowest value of the first metric."""
    points = done.points
    metrics = [one for one in points.metrics.values() if one.paged]
    if not metrics:
        return "<p>No run completed.</p>"
    first = metrics[0]
    ranked = sorted(
        (known.mean, i)
        for i in range(len(points.labels))
        if (known := points.summary(i, first.name)) is not None
    )
    rows = [(points.labels[i], _cells(points, i, metrics)) for _, i in ranked[:MOST_ROWS]]
    left = len(ranked) - len(rows)
    caption = f"Points by {first.title}, the lowest first"
    caption += f": {len(rows)} of {len(ranked):,}" if left else ""
    return table(["point", *(one.short for one in metrics)], rows, caption, "points-table")


def _cells(points: Points, point: int, metrics: Sequence[Column]) -> list[str]:
    cells = []
    for one in metrics:
        known = points.summary(point, one.name)
        if known is None:
            cells.append("–")
            continue
        rows = points.runs[point]
        # One run: the number as it stands in the table of all.
        mean = rows[0][one.name] if len(rows) == 1 else known.mean
        text = number(f"points.{points.labels[point]}.{one.name}", mean, one.name)
        if known.high > known.low:
            place = f"ci95.{points.labels[point]}.{one.name}"
            width = number(place, known.high - known.mean, one.name)
            text += f" ±\u00a0{width}"
        if one.name == "policy_share" and points.reserve_decided(point):
            text += ' <strong class="bad">reserve</strong>'
        cells.append(text)
    return cells


def metric_plots(points: Points) -> str:
    """The plots of every metric, of which the page shows one at a time."""
    metrics = [one for one in points.metrics.values() if one.paged][:MOST_METRICS]
    if not metrics or not points.numeric:
        why = "A plot needs a key with several numbers, and a point that completed."
        return f'<p class="note">{why}</p>'
    each = max(2, MOST_FIGURES // len(metrics))
    parts = []
    for one in metrics:
        found: list[Figure] = metric_figures(points, one)[:each]
        parts.append(f'<div data-metric="{one.name}">{figures(found)}</div>')
    options = "".join(
        f'<option value="{one.name}">{escape(one.title or one.name)}</option>' for one in metrics
    )
    choice = f'<p class="tools"><label>Metric <select id="metric">{options}</select></label></p>'
    return choice + "".join(parts)


def _front(points: Points) -> str:
    both = weighed(points)
    if both is None:
        return ""
    drawn, front = pareto(points, *both)
    rows = [(points.labels[i], _cells(points, i, both)) for i in front[:MOST_ROWS]]
    heads = ["point", *(one.short for one in both)]
    names = table(heads, rows, "Points of the front") if rows else ""
    return f'<div class="figures">{figure(drawn)}<div>{names}</div></div>'


def _warnings(done: Sweep) -> str:
    texts = [f"{named(labels)}: {text}" for text, labels in done.warnings().items()]
    return warnings_box(texts) if texts else ""


def _failures(done: Sweep) -> str:
    failed = done.failed()
    texts = [f"{named(titles)}: {why}" for why, titles in [*failed.items()][:MOST_FAILURES]]
    return warnings_box(texts) if texts else ""


def _identity(done: Sweep) -> str:
    """What was swept."""
    rows = []
    for key in done.points.keys:
        values = [str(one) for one in key.values]
        most = 12
        text = ", ".join(values[:most]) + (f", ... {values[-1]}" if len(values) > most else "")
        rows.append((key.column, [f"{len(values):,}", escape(text)]))
    held = {key: one for key, one in done.identity.items() if key not in ("keys", "file") and one}
    text = "\n".join(f"{key}: {json.dumps(one, ensure_ascii=False)}" for key, one in held.items())
    file = done.identity.get("file")
    config = ""
    if file:
        body = f'<pre tabindex="0">{escape(file[1])}</pre>'
        config = f"<details><summary>{escape(file[0])}</summary>{body}</details>"
    keys = table(["key", "values", ""], rows, "Keys")
    return f'{keys}<pre tabindex="0">{escape(text)}</pre>{config}'
