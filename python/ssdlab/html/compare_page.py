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
    flattened,
    invalidating,
    loss_banner,
    notes,
    number,
    table,
    warnings_box,
)
from ssdlab.html.repeated import (
    OF_SEEDS,
    RATIO_NOTE,
    marked,
    quantiles,
    ratio_cells,
    values_table,
)
from ssdlab.results.comparison import Comparison, run_folder
from ssdlab.results.intervals import UNDECIDED, order
from ssdlab.results.report import Report
from ssdlab.results.text import by_reason

TIME = "simulated_ns"
COLUMNS = {one.name: one.short for one in form.columns() if one.paged}
"""Columns of compare.json that are shown, and their names."""
RATIOS = [one.name for one in form.columns() if one.paged and one.unit != "percent"]
MOST_LISTED = 300
"""Runs in the tables."""
MOST_KEYS = 12
"""Keys in which runs differ that are listed."""


def comparison_page(done: Comparison, baseline: str | None = None) -> str:
    """The page of a comparison; `baseline` is the label of the run that ratios refer to."""
    everything, done = done, _listed(done, baseline)
    # Where the listed values are in compare.json, which holds all of them.
    runs = [(label, report.provenance.seed) for label, report in everything.runs]
    places = {run: i for i, run in enumerate(runs)}
    labels = list(done.repetitions or done.reports)
    base = labels.index(baseline) if baseline in labels else 0
    columns = _columns(done)
    told = _first(done) + invalidating(done.warning_groups()) + answer_html(done)
    of_seeds = f'<p class="note">{OF_SEEDS}</p>' if done.repetitions else ""
    sections = [
        *([Section("answer", "Answer", told)] if told else []),
        Section("numbers", "Numbers", _values(done, columns, places)),
        Section("ratios", "Ratios to a baseline", _ratios(done, columns, base)),
        Section("plots", "Plots", of_seeds + figures(run_figures(done))),
        Section("warnings", "Notes", notes(done.warning_groups()) or warnings_box([])),
        Section("config", "Configurations", _configs(done)),
        Section("provenance", "Provenance", _provenance(done, places)),
    ]
    if everything.points.numeric:
        sections.insert(2, Section("keys", "Over the keys", metric_plots(everything.points)))
    first = done.runs[0][1].name if labels else "comparison"
    state = "" if done.completed else ' · <strong class="bad">not completed</strong>'
    names = f": {escape(', '.join(labels))}" if len(labels) <= 6 else ""
    count = len(everything.repetitions or everything.reports)
    what = "run" if count == 1 else "runs"
    seeds = max((len(by_seed) for by_seed in done.repetitions.values()), default=0)
    if seeds:
        what = "configuration" if count == 1 else "configurations"
    each = f", {seeds} seeds each" if seeds else ""
    left = count - len(labels)
    more = f" · the tables contain {len(labels)} of them, compare.csv all" if left else ""
    lost = loss_banner(report.loss for _, report in everything.runs)
    drive = "".join(f'<p class="lead">{escape(one)}</p>' for one in everything.drives)
    lead = f'{lost}<p class="lead">{count} {what}{each}{names}{state}{more}</p>{_work(done)}{drive}'
    return document(f"{first}, compared", lead, sections)


def _columns(done: Comparison) -> list[str]:
    """Columns in which some run has a number; the simulated time only if it distinguishes runs."""
    found = [key for key in COLUMNS if any(row[key] is not None for row in done.rows)]
    alike = len({row[TIME] for row in done.rows}) == 1
    return [key for key in found if key != TIME or not alike]


def _work(done: Comparison) -> str:
    """What the runs have executed, and on what: that of the first run, if all have the same."""
    told: dict[str, None] = {}
    for _, report in done.runs:
        workload, device = report.json["config"]["workload"], report.json["config"]["device"]
        name = str(workload["trace"] or workload["kind"]).rpartition("/")[2]
        chips = device["channels"] * device["chips_per_channel"]
        told[
            f"{name}, {report.requests.submitted:,} requests, on {chips} chips,"
            f" {size(device['user_pages'] * device['page_bytes'])} for the user"
        ] = None
    return f'<p class="lead">{escape(next(iter(told)))}</p>' if len(told) == 1 else ""


def _listed(done: Comparison, baseline: str | None) -> Comparison:
    """The first runs, and the baseline, because a page of all may be too large to open."""
    labels = list(islice(done.repetitions or done.reports, MOST_LISTED))
    if baseline in done.reports and baseline not in labels:
        labels.append(baseline)
    reports = {label: done.reports[label] for label in labels if label in done.reports}
    repetitions = {label: done.repetitions[label] for label in labels if done.repetitions}
    return replace(done, reports=reports, repetitions=repetitions)


def _first(done: Comparison) -> str:
    """What a reader has to know before any number."""
    sentence = done.reserve_sentence()
    texts = [sentence] if sentence else []
    texts += [
        f"{label} could not finish: {reason}" for label, reason in by_reason(done.failures).items()
    ]
    if done.interrupted:
        texts.append("Interrupted: runs are missing or incomplete.")
    if done.not_run:
        texts.append(f"Not run: {', '.join(done.not_run)}.")
    return warnings_box(texts) if texts else ""


Places: TypeAlias = "dict[tuple[str, int], int]"
"""The index of each run, by label and seed, in compare.json."""


def numbers_table(done: Comparison) -> str:
    """The numbers of all runs, or their means over the seeds."""
    listed = _listed(done, None)
    columns = _columns(listed)
    runs = [(label, report.provenance.seed) for label, report in listed.runs]
    return _values(listed, columns, {run: i for i, run in enumerate(runs)})


def _values(done: Comparison, columns: list[str], places: Places) -> str:
    if done.repetitions:
        kept = dict.fromkeys(label for label, _ in places)
        indices = {label: i for i, label in enumerate(kept)}
        return values_table(done, {key: COLUMNS[key] for key in columns}, indices)
    body = []
    for row, (label, report) in zip(done.rows, done.runs, strict=True):
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
    value: object, half: float | None, base: object, base_half: float | None, itself: bool
) -> str:
    if not isinstance(value, int | float) or not isinstance(base, int | float) or not base:
        return "–"
    quotient = value / base
    # A number has no uncertainty relative to itself.
    width = None if itself else ratio_interval(value, half, base, base_half)
    if width is None:
        return ratio(quotient)
    text = f"{ratio(quotient)} ±\u00a0{ratio(width)}"
    open_ = order(quotient, quotient - width, quotient + width) == UNDECIDED
    return marked(f"{text} {UNDECIDED}") if open_ else text


def _ratios(done: Comparison, columns: list[str], base: int) -> str:
    if not done.rows:
        return "<p>No run has results.</p>"
    wanted = list(done.repetitions or done.reports)[base]
    sentence = done.reserve_sentence() if done.not_compared else ""
    done = done.without(done.not_compared)
    labels = list(done.repetitions or done.reports)
    if len(labels) < 2 and sentence:
        return f"<p>{escape(sentence)} There are no ratios.</p>"
    base = labels.index(wanted) if wanted in labels else 0
    keys = [key for key in RATIOS if key in columns]
    if done.repetitions:
        rows = [(label, ratio_cells(done, label, labels[base], keys)) for label in labels]
        note, known = RATIO_NOTE, f' data-t="{quantiles(done)}"'
    else:
        rows, note, known = _ratio_rows(done, keys, base), NOTE, ""
    options = "".join(
        f'<option value="{i}"{" selected" if i == base else ""}>{escape(label)}</option>'
        for i, label in enumerate(labels)
    )
    choice = f'<p><label>Baseline <select id="baseline"{known}>{options}</select></label></p>'
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


def _ratio_rows(done: Comparison, keys: list[str], base: int) -> list[tuple[str, list[str]]]:
    reports, rows = list(done.reports.values()), done.rows
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


def _differences(done: Comparison) -> str:
    """A table of the keys that the runs do not share."""
    configs = {
        label: {key: json.dumps(value) for key, value in flattened(report.json["config"])}
        for label, report in done.reports.items()
    }
    keys = dict.fromkeys(key for config in configs.values() for key in config)
    apart = [key for key in keys if len({config.get(key) for config in configs.values()}) > 1]
    if not apart:
        return ""
    rows = [
        (label, [escape(config.get(key, "–").strip('"')) for key in apart[:MOST_KEYS]])
        for label, config in configs.items()
    ]
    title = "Keys in which the runs differ"
    if len(apart) > MOST_KEYS:
        title += f": the first {MOST_KEYS} of {len(apart)}"
    return table(["run", *apart[:MOST_KEYS]], rows, title)


def _configs(done: Comparison) -> str:
    return _differences(done) + "".join(
        f"<details><summary>{escape(label)}: the resolved configuration</summary>"
        f'<pre tabindex="0">{escape(report.config.toml())}</pre></details>'
        for label, report in done.reports.items()
    )


def _provenance(done: Comparison, places: Places) -> str:
    keys = ("config_digest", "event_digest", "wall_ns", "requests_per_s")
    rows, values = [], done.rows
    for value, (label, report) in zip(values, done.runs, strict=True):
        known = report.provenance
        i = places[label, known.seed]
        cells = [number(f"runs.{i}.{key}", value[key], key) for key in keys]
        cells += [escape(f"{known.ssdlab} {known.commit or ''}"), str(known.seed)]
        folder = run_folder(label, known.seed if done.repetitions else None)
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
