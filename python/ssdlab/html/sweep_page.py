"""The page of a sweep."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from ssdlab.display.form import Column
from ssdlab.html.answer import identity_html, paragraph, what_ran
from ssdlab.html.metric_plots import all_figures, metric_plots
from ssdlab.html.page import (
    Section,
    document,
    figures,
    invalidating,
    notes,
    number,
    table,
    warnings_box,
)
from ssdlab.html.plot import Figure
from ssdlab.html.points_plots import key_text, parallel, pareto, weighed
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


def sweep_page(done: Sweep) -> str:
    """The page of a sweep."""
    points = done.points
    sections = [
        Section(
            "answer", "Answer", _first(done) + invalidating(done.warning_groups()) + _answer(done)
        ),
        Section("plots", "Plots", metric_plots(points)),
        Section("front", "All keys", _all_keys(done)),
        Section("numbers", "Numbers", numbers_table(done)),
        Section("warnings", "Notes", notes(done.warning_groups())),
        Section("failures", "Failed runs", _failures(done)),
        Section("sweep", "Sweep", _identity(done)),
    ]
    count = len(points.labels)
    seeds = done.identity.get("seeds")
    each = f", {len(seeds)} seeds each" if seeds else ""
    state = "" if done.completed else ' · <strong class="bad">not completed</strong>'
    keys = escape(", ".join(done.keys))
    lead = (
        f'<p class="lead">{count:,} points{each} over {keys}{state} · all of them in'
        f" {SWEEP_CSV}</p>"
    )
    lead += what_ran(done.identity)
    lead += f'<p class="lead">{escape(done.drive)}</p>' if done.drive else ""
    title, kept = f"{done.name}, swept", [one for one in sections if one.body]
    return document(title, lead, kept, reload_s=RELOAD_S if done.running else None)


def _answer(done: Sweep) -> str:
    decided = (f"What decides: {text}." for text in done.decided)
    return "".join(paragraph(text) for text in (done.answer, *decided) if text)


def _first(done: Sweep) -> str:
    lines = done.first_lines()
    return warnings_box(lines) if lines else ""


def numbers_table(done: Sweep, most: int = MOST_ROWS) -> str:
    """The points with the lowest value of the first metric."""
    points = done.points
    metrics = [one for one in points.metrics.values() if one.paged]
    if not metrics:
        return "<p>No run completed.</p>"
    first = metrics[0]
    ranked = done.ranked(first.name)
    rows = [_row(done, i, metrics) for i in ranked[:most]]
    left = len(ranked) - len(rows)
    caption = "Runs" if done.seed_keys else f"Points by {first.title}, the lowest first"
    caption += ", then those that are not valid" if points.invalid else ""
    caption += f": {len(rows)} of {len(ranked):,}" if left else ""
    return table(_heads(points, metrics), rows, caption, "points-table")


def _heads(points: Points, metrics: Sequence[Column]) -> list[str]:
    return ["point", *(key.name for key in points.keys), *(one.short for one in metrics)]


def _row(done: Sweep, i: int, metrics: Sequence[Column]) -> tuple[str, list[str]]:
    """The number of a point in sweep.csv, its values, and its numbers."""
    points = done.points
    settings = zip(points.keys, points.settings[i], strict=True)
    values = [escape(key_text(key, value)) for key, value in settings]
    return str(done.numbers[i]), values + _cells(done, i, metrics)


def _cells(done: Sweep, point: int, metrics: Sequence[Column]) -> list[str]:
    points, name = done.points, done.numbers[point]
    cells = []
    for one in metrics:
        known = points.summary(point, one.name)
        if known is None:
            cells.append("–")
            continue
        rows = points.runs[point]
        # One run: the number as in the table of all.
        mean = rows[0][one.name] if len(rows) == 1 else known.mean
        text = number(f"points.{name}.{one.name}", mean, one.name)
        if known.high > known.low:
            place = f"ci95.{name}.{one.name}"
            width = number(place, known.high - known.mean, one.name)
            text += f" ±\u00a0{width}"
        if one.name == "policy_share" and points.reserve_decided(point):
            text += ' <strong class="bad">reserve</strong>'
        elif one is metrics[0] and points.labels[point] in points.invalid:
            text += ' <strong class="bad">invalid</strong>'
        cells.append(text)
    return cells


def _all_keys(done: Sweep) -> str:
    """The two metrics of the trade-off: the front, and parallel axes."""
    points = done.points
    both = weighed(points)
    if both is None:
        return ""
    drawn, front = pareto(points, *both)
    rows = [_row(done, i, both) for i in front[:MOST_ROWS]]
    names = table(_heads(points, both), rows, "Points of the front") if rows else ""
    return figures([drawn, *_parallel(points)]) + names


def _parallel(points: Points) -> list[Figure]:
    """Parallel axes, if there are more keys than other plots show."""
    both = weighed(points)
    if both is None or len([*points.numeric, *points.named]) < 3:
        return []
    return [parallel(points, both[0], both)]


def sweep_figures(done: Sweep) -> list[Figure]:
    """Every plot of a sweep."""
    points = done.points
    found = [one for several in all_figures(points).values() for one in several]
    both = weighed(points)
    if both is not None:
        found += [pareto(points, *both)[0], *_parallel(points)]
    return found


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
    return table(["key", "values", ""], rows, "Keys") + identity_html(done.identity, LONG)
