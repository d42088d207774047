"""The page of a sweep."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from ssdlab.display.form import Column
from ssdlab.html.answer import identity_html, identity_lead, paragraph
from ssdlab.html.metric_plots import all_figures, metric_plots
from ssdlab.html.page import (
    Section,
    document,
    figures,
    invalidating_warnings,
    notes,
    number,
    table,
    warnings_box,
)
from ssdlab.html.plot import Figure
from ssdlab.html.points_plots import key_text, parallel, pareto, trade_off
from ssdlab.results.names import SWEEP_CSV
from ssdlab.results.points import Points
from ssdlab.results.sweep import Sweep
from ssdlab.results.text import named

LONG = ("keys", "file", "columns")
"""Parts of the identity of a sweep that are shown separately, or not at all."""
MOST_ROWS = 100
"""Points in a table."""
MOST_FAILURES = 50
RELOAD_S = 15
"""Seconds between reloads of the page of a sweep that continues."""


def sweep_page(sweep: Sweep) -> str:
    """The page of a sweep."""
    points = sweep.points
    sections = [
        Section(
            "answer",
            "Answer",
            _caveats(sweep) + invalidating_warnings(sweep.warning_groups()) + _answer(sweep),
        ),
        Section("plots", "Plots", metric_plots(points)),
        Section("front", "All keys", _all_keys(sweep)),
        Section("numbers", "Numbers", numbers_table(sweep)),
        Section("warnings", "Notes", notes(sweep.warning_groups())),
        Section("failures", "Failed runs", _failures(sweep)),
        Section("sweep", "Sweep", _identity(sweep)),
    ]
    count = len(points.labels)
    seeds = sweep.identity.get("seeds")
    seeds_text = f", {len(seeds)} seeds each" if seeds else ""
    state = "" if sweep.completed else ' · <strong class="bad">not completed</strong>'
    keys = escape(", ".join(sweep.keys))
    lead = (
        f'<p class="lead">{count:,} points{seeds_text} over {keys}{state} · all of them in'
        f" {SWEEP_CSV}</p>"
    )
    lead += identity_lead(sweep.identity)
    lead += f'<p class="lead">{escape(sweep.drive)}</p>' if sweep.drive else ""
    title, filled = f"{sweep.name}, swept", [section for section in sections if section.body]
    return document(title, lead, filled, reload_s=RELOAD_S if sweep.running else None)


def _answer(sweep: Sweep) -> str:
    influences = (f"What decides: {text}." for text in sweep.decided)
    return "".join(paragraph(text) for text in (sweep.answer, *influences) if text)


def _caveats(sweep: Sweep) -> str:
    lines = sweep.first_lines()
    return warnings_box(lines) if lines else ""


def numbers_table(sweep: Sweep, most_rows: int = MOST_ROWS) -> str:
    """The points with the lowest value of the first metric."""
    points = sweep.points
    metrics = [metric for metric in points.metrics.values() if metric.paged]
    if not metrics:
        return "<p>No run completed.</p>"
    main_metric = metrics[0]
    ranking = sweep.ranked(main_metric.name)
    rows = [_row(sweep, point, metrics) for point in ranking[:most_rows]]
    omitted = len(ranking) - len(rows)
    caption = "Runs" if sweep.seed_keys else f"Points by {main_metric.title}, the lowest first"
    caption += ", then those that are not valid" if points.invalid else ""
    caption += f": {len(rows)} of {len(ranking):,}" if omitted else ""
    return table(_heads(points, metrics), rows, caption, "points-table")


def _heads(points: Points, metrics: Sequence[Column]) -> list[str]:
    return ["point", *(key.name for key in points.keys), *(metric.short for metric in metrics)]


def _row(sweep: Sweep, point: int, metrics: Sequence[Column]) -> tuple[str, list[str]]:
    """The number of a point in sweep.csv, its values, and its numbers."""
    points = sweep.points
    settings = zip(points.keys, points.settings[point], strict=True)
    values = [escape(key_text(key, value)) for key, value in settings]
    return str(sweep.numbers[point]), values + _cells(sweep, point, metrics)


def _cells(sweep: Sweep, point: int, metrics: Sequence[Column]) -> list[str]:
    points, name = sweep.points, sweep.numbers[point]
    cells = []
    for metric in metrics:
        summary = points.summary(point, metric.name)
        if summary is None:
            cells.append("–")
            continue
        rows = points.runs[point]
        # One run: the number as in the table of all.
        mean = rows[0][metric.name] if len(rows) == 1 else summary.mean
        text = number(f"points.{name}.{metric.name}", mean, metric.name)
        if summary.high > summary.low:
            path = f"ci95.{name}.{metric.name}"
            width = number(path, summary.high - summary.mean, metric.name)
            text += f" ±\u00a0{width}"
        if metric.name == "policy_share" and points.reserve_decided(point):
            text += ' <strong class="bad">reserve</strong>'
        elif metric is metrics[0] and points.labels[point] in points.invalid:
            text += ' <strong class="bad">invalid</strong>'
        cells.append(text)
    return cells


def _all_keys(sweep: Sweep) -> str:
    """The two metrics of the trade-off: the front, and parallel axes."""
    points = sweep.points
    metrics = trade_off(points)
    if metrics is None:
        return ""
    plot, front = pareto(points, *metrics)
    rows = [_row(sweep, point, metrics) for point in front[:MOST_ROWS]]
    names = table(_heads(points, metrics), rows, "Points of the front") if rows else ""
    return figures([plot, *_parallel(points)]) + names


def _parallel(points: Points) -> list[Figure]:
    """Parallel axes, if there are more keys than other plots show."""
    metrics = trade_off(points)
    if metrics is None or len([*points.numeric, *points.named]) < 3:
        return []
    return [parallel(points, metrics[0], metrics)]


def sweep_figures(sweep: Sweep) -> list[Figure]:
    """Every plot of a sweep."""
    points = sweep.points
    figures_ = [
        figure for metric_figures_ in all_figures(points).values() for figure in metric_figures_
    ]
    metrics = trade_off(points)
    if metrics is not None:
        figures_ += [pareto(points, *metrics)[0], *_parallel(points)]
    return figures_


def _failures(sweep: Sweep) -> str:
    failures = sweep.failed()
    texts = [f"{named(titles)}: {reason}" for reason, titles in [*failures.items()][:MOST_FAILURES]]
    return warnings_box(texts) if texts else ""


def _identity(sweep: Sweep) -> str:
    """What was swept."""
    rows = []
    for key in sweep.points.keys:
        values = [str(value) for value in key.values]
        most_values = 12
        text = ", ".join(values[:most_values]) + (
            f", ... {values[-1]}" if len(values) > most_values else ""
        )
        rows.append((key.column, [f"{len(values):,}", escape(text)]))
    return table(["key", "values", ""], rows, "Keys") + identity_html(sweep.identity, LONG)
