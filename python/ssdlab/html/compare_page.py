"""The page of a comparison."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from html import escape
from itertools import islice
from typing import TypeAlias

from ssdlab.display import form
from ssdlab.display.numbers import ratio, size
from ssdlab.html.answer import answer_html
from ssdlab.html.compare_plots import run_figures
from ssdlab.html.metric_plots import metric_plots
from ssdlab.html.page import (
    Section,
    document,
    figures,
    flatten,
    invalidating_warnings,
    loss_banner,
    notes,
    number,
    table,
    warnings_box,
)
from ssdlab.html.repeated import (
    OF_SEEDS,
    RATIO_NOTE,
    mark_undecided,
    quantiles,
    ratio_cells,
    values_table,
)
from ssdlab.results.comparison import Comparison, run_folder
from ssdlab.results.intervals import UNDECIDED, order
from ssdlab.results.report import Report
from ssdlab.results.text import by_reason

TIME = "simulated_ns"
COLUMNS = {column.name: column.short for column in form.columns() if column.paged}
"""Columns of compare.json that are shown, and their names."""
RATIOS = [column.name for column in form.columns() if column.paged and column.unit != "percent"]
MOST_LISTED = 300
"""Runs in the tables."""
MOST_KEYS = 12
"""Keys in which runs differ that are listed."""


def comparison_page(comparison: Comparison, baseline: str | None = None) -> str:
    """The page of a comparison; `baseline` is the label of the run that ratios refer to."""
    full, comparison = comparison, _first_runs(comparison, baseline)
    # Where the listed values are in compare.json, which holds all of them.
    runs = [(label, report.provenance.seed) for label, report in full.runs]
    places = {run: i for i, run in enumerate(runs)}
    labels = list(comparison.repetitions or comparison.reports)
    base = labels.index(baseline) if baseline in labels else 0
    columns = _columns(comparison)
    answer_body = (
        _caveats(comparison)
        + invalidating_warnings(comparison.warning_groups())
        + answer_html(comparison)
    )
    seeds_note = f'<p class="note">{OF_SEEDS}</p>' if comparison.repetitions else ""
    sections = [
        *([Section("answer", "Answer", answer_body)] if answer_body else []),
        Section("numbers", "Numbers", _values(comparison, columns, places)),
        Section("ratios", "Ratios to a baseline", _ratios(comparison, columns, base)),
        Section("plots", "Plots", seeds_note + figures(run_figures(comparison))),
        Section("warnings", "Notes", notes(comparison.warning_groups()) or warnings_box([])),
        Section("config", "Configurations", _configs(comparison)),
        Section("provenance", "Provenance", _provenance(comparison, places)),
    ]
    if full.points.numeric:
        sections.insert(2, Section("keys", "Over the keys", metric_plots(full.points)))
    first = comparison.runs[0][1].name if labels else "comparison"
    state = "" if comparison.completed else ' · <strong class="bad">not completed</strong>'
    names = f": {escape(', '.join(labels))}" if len(labels) <= 6 else ""
    count = len(full.repetitions or full.reports)
    noun = "run" if count == 1 else "runs"
    seeds = max((len(by_seed) for by_seed in comparison.repetitions.values()), default=0)
    if seeds:
        noun = "configuration" if count == 1 else "configurations"
    seeds_text = f", {seeds} seeds each" if seeds else ""
    omitted = count - len(labels)
    omitted_note = (
        f" · the tables contain {len(labels)} of them, compare.csv all" if omitted else ""
    )
    loss = loss_banner(report.loss for _, report in full.runs)
    drives = "".join(f'<p class="lead">{escape(drive)}</p>' for drive in full.drives)
    lead = f'<p class="lead">{count} {noun}{seeds_text}{names}{state}{omitted_note}</p>'
    lead = f"{loss}{lead}{_work(comparison)}{drives}"
    return document(f"{first}, compared", lead, sections)


def _columns(comparison: Comparison) -> list[str]:
    """Columns in which some run has a number; the simulated time only if it distinguishes runs."""
    keys = [key for key in COLUMNS if any(row[key] is not None for row in comparison.rows)]
    is_same_time = len({row[TIME] for row in comparison.rows}) == 1
    return [key for key in keys if key != TIME or not is_same_time]


def _work(comparison: Comparison) -> str:
    """What the runs have executed, and on what: that of the first run, if all have the same."""
    descriptions: dict[str, None] = {}
    for _, report in comparison.runs:
        workload, device = report.json["config"]["workload"], report.json["config"]["device"]
        name = str(workload["trace"] or workload["kind"]).rpartition("/")[2]
        chips = device["channels"] * device["chips_per_channel"]
        descriptions[
            f"{name}, {report.requests.submitted:,} requests, on {chips} chips,"
            f" {size(device['user_pages'] * device['page_bytes'])} for the user"
        ] = None
    return (
        f'<p class="lead">{escape(next(iter(descriptions)))}</p>' if len(descriptions) == 1 else ""
    )


def _first_runs(comparison: Comparison, baseline: str | None) -> Comparison:
    """The first runs, and the baseline, because a page of all may be too large to open."""
    labels = list(islice(comparison.repetitions or comparison.reports, MOST_LISTED))
    if baseline in comparison.reports and baseline not in labels:
        labels.append(baseline)
    reports = {label: comparison.reports[label] for label in labels if label in comparison.reports}
    repetitions = {
        label: comparison.repetitions[label] for label in labels if comparison.repetitions
    }
    return replace(comparison, reports=reports, repetitions=repetitions)


def _caveats(comparison: Comparison) -> str:
    """What a reader has to know before any number."""
    sentence = comparison.reserve_sentence()
    texts = [sentence] if sentence else []
    texts += [
        f"{label} could not finish: {reason}"
        for label, reason in by_reason(comparison.failures).items()
    ]
    if comparison.interrupted:
        texts.append("Interrupted: runs are missing or incomplete.")
    if comparison.not_run:
        texts.append(f"Not run: {', '.join(comparison.not_run)}.")
    return warnings_box(texts) if texts else ""


Places: TypeAlias = "dict[tuple[str, int], int]"
"""The index of each run, by label and seed, in compare.json."""


def numbers_table(comparison: Comparison) -> str:
    """The numbers of all runs, or their means over the seeds."""
    shown_runs = _first_runs(comparison, None)
    columns = _columns(shown_runs)
    runs = [(label, report.provenance.seed) for label, report in shown_runs.runs]
    return _values(shown_runs, columns, {run: i for i, run in enumerate(runs)})


def _values(comparison: Comparison, columns: list[str], places: Places) -> str:
    if comparison.repetitions:
        labels = dict.fromkeys(label for label, _ in places)
        indices = {label: i for i, label in enumerate(labels)}
        return values_table(comparison, {key: COLUMNS[key] for key in columns}, indices)
    body = []
    for row, (label, report) in zip(comparison.rows, comparison.runs, strict=True):
        i = places[label, report.provenance.seed]
        cells = [number(f"runs.{i}.{key}", row[key], key) for key in columns]
        if row["decided_by"] == "reserve":
            cells[columns.index("policy_share")] += ' <strong class="bad">reserve</strong>'
        body.append((label, cells))
    return table(["run", *(COLUMNS[key] for key in columns)], body, "Results of the runs")


def half_width(report: Report, key: str) -> float | None:
    """Half width of the 95 % confidence interval of a column, if there is one. Nanoseconds."""
    stats = {"write_mean_ns": report.latency.write, "read_mean_ns": report.latency.read}.get(key)
    return None if stats is None else stats.ci95


def ratio_interval(
    value: float, half: float | None, base: float, base_half: float | None
) -> float | None:
    """Half width of the 95 % interval of `value / base`, both estimated independently.

    First order: relative errors add in squares. If runs of the same work vary together, the true
    interval is narrower.
    """
    if half is None or base_half is None or not value or not base:
        return None
    return value / base * math.hypot(half / value, base_half / base)


def _ratio(
    value: object, half: float | None, base: object, base_half: float | None, is_baseline: bool
) -> str:
    if not isinstance(value, int | float) or not isinstance(base, int | float) or not base:
        return "–"
    quotient = value / base
    # A number has no uncertainty relative to itself.
    width = None if is_baseline else ratio_interval(value, half, base, base_half)
    if width is None:
        return ratio(quotient)
    text = f"{ratio(quotient)} ±\u00a0{ratio(width)}"
    is_undecided = order(quotient, quotient - width, quotient + width) == UNDECIDED
    return mark_undecided(f"{text} {UNDECIDED}") if is_undecided else text


def _ratios(comparison: Comparison, columns: list[str], base: int) -> str:
    if not comparison.rows:
        return "<p>No run has results.</p>"
    base_label = list(comparison.repetitions or comparison.reports)[base]
    sentence = comparison.reserve_sentence() if comparison.not_compared else ""
    comparison = comparison.without(comparison.not_compared)
    labels = list(comparison.repetitions or comparison.reports)
    if len(labels) < 2 and sentence:
        return f"<p>{escape(sentence)} There are no ratios.</p>"
    base = labels.index(base_label) if base_label in labels else 0
    keys = [key for key in RATIOS if key in columns]
    if comparison.repetitions:
        rows = [(label, ratio_cells(comparison, label, labels[base], keys)) for label in labels]
        note, t_values = RATIO_NOTE, f' data-t="{quantiles(comparison)}"'
    else:
        rows, note, t_values = _ratio_rows(comparison, keys, base), NOTE, ""
    options = "".join(
        f'<option value="{index}"{" selected" if index == base else ""}>{escape(label)}</option>'
        for index, label in enumerate(labels)
    )
    choice = f'<p><label>Baseline <select id="baseline"{t_values}>{options}</select></label></p>'
    heads = ["run", *(COLUMNS[key] for key in keys)]
    note = f"{escape(sentence)} {note}" if sentence else note
    ratios = table(heads, rows, "Ratios", "ratio-table")
    return f'{choice}{ratios}<p class="note">{note}</p>'


NOTE = (
    "Value divided by that of the baseline; grey: not distinguishable. The ± of mean latencies is"
    " half the width of the 95 % interval of the two single runs (batch means, relative half widths"
    " added in quadrature). It treats the runs as independent, so it is too wide where runs of the"
    " same work vary together; repeat them with several seeds to pair them. The other numbers are"
    " exact for this run and say nothing about other seeds."
)
"""The meaning of the table of ratios of single runs."""


def _ratio_rows(comparison: Comparison, keys: list[str], base: int) -> list[tuple[str, list[str]]]:
    reports, rows = list(comparison.reports.values()), comparison.rows
    body = []
    for row, report in zip(rows, reports, strict=True):
        cells = []
        for key in keys:
            half, base_half = half_width(report, key), half_width(reports[base], key)
            text = _ratio(row[key], half, rows[base][key], base_half, row is rows[base])
            raw, width = json.dumps(row[key]), json.dumps(half)
            cells.append(f'<span class="ratio" data-raw="{raw}" data-half="{width}">{text}</span>')
        body.append((str(row["label"]), cells))
    return body


def _differences(comparison: Comparison) -> str:
    """A table of the keys that the runs do not share."""
    configs = {
        label: {key: json.dumps(value) for key, value in flatten(report.json["config"])}
        for label, report in comparison.reports.items()
    }
    keys = dict.fromkeys(key for config in configs.values() for key in config)
    differing = [key for key in keys if len({config.get(key) for config in configs.values()}) > 1]
    if not differing:
        return ""
    rows = [
        (label, [escape(config.get(key, "–").strip('"')) for key in differing[:MOST_KEYS]])
        for label, config in configs.items()
    ]
    title = "Keys in which the runs differ"
    if len(differing) > MOST_KEYS:
        title += f": the first {MOST_KEYS} of {len(differing)}"
    return table(["run", *differing[:MOST_KEYS]], rows, title)


def _configs(comparison: Comparison) -> str:
    return _differences(comparison) + "".join(
        f"<details><summary>{escape(label)}: the resolved configuration</summary>"
        f'<pre tabindex="0">{escape(report.config.toml())}</pre></details>'
        for label, report in comparison.reports.items()
    )


def _provenance(comparison: Comparison, places: Places) -> str:
    keys = ("config_digest", "event_digest", "wall_ns", "requests_per_s")
    rows, results = [], comparison.rows
    for row, (label, report) in zip(results, comparison.runs, strict=True):
        provenance = report.provenance
        i = places[label, provenance.seed]
        cells = [number(f"runs.{i}.{key}", row[key], key) for key in keys]
        cells += [escape(f"{provenance.ssdlab} {provenance.commit or ''}"), str(provenance.seed)]
        folder = run_folder(label, provenance.seed if comparison.repetitions else None)
        rows.append((label, [*cells, escape(folder.as_posix())]))
    heads = [
        "run",
        "configuration",
        "events",
        "wall time",
        "requests/s",
        "ssdlab",
        "seed",
        "folder",
    ]
    return table(heads, rows, "Provenance of the runs")
