"""The page of a fleet."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import partial
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from ssdlab import _core
from ssdlab.config.resolve import changed_keys, flatten, set_text
from ssdlab.display.form import unit as unit_of
from ssdlab.display.numbers import on_page
from ssdlab.fleets.answer import Row, ranks, rows_with, tables_of, text_of
from ssdlab.fleets.findings import cumulative_shares
from ssdlab.fleets.fleet import MEASURED, TITLES, UNSTEADY, Fleet, numbers
from ssdlab.fleets.volumes import FIT_KEYS, STATISTICS_OF, drive_keys
from ssdlab.html.answer import answer_list, paragraph
from ssdlab.html.page import Section, document, figures, table, warnings_box
from ssdlab.html.plot import TONES, Axis, Curve, Figure, Plot, Unit
from ssdlab.html.write import Picture, page_and_plots
from ssdlab.results import stored
from ssdlab.results.names import FLEET
from ssdlab.results.text import EXAMPLES, named

MOST_STEPS = 160
"""Points of a distribution that are drawn."""
MOST_MARKS = 1500
"""Volumes of a scatter plot that are drawn, over all drives."""
SHARES = ("gc_share", "write_share", "rewrite_share", "hot_write_share", "sequential_share")
POLICIES = {
    "victim": "gc.victim.policy",
    "separation": "alloc.separation.policy",
    "placement": "alloc.placement.policy",
    "order": "sched.order.policy",
}
"""The keys of a drive that name its policies, beside its triggers."""
LOG_FROM = 20.0
"""Largest over smallest value from which an axis is logarithmic."""


def report_fleet(
    folder: Path, *, out: Path | None, plots: Path | None, picture: Picture, force: bool
) -> list[Path]:
    """Write the page or the plots of the fleet in `folder`, as `report_folder` does; the files.

    Raises `OutputError`.
    """
    with stored.readable(folder / FLEET["json"]):
        fleet = Fleet.read(folder)
        figures_ = [*distributions(fleet), *scatters(fleet)]
        page = partial(fleet_page, fleet)
        return page_and_plots(
            folder, figures_, page, out=out, plots=plots, picture=picture, force=force
        )


def fleet_page(fleet: Fleet) -> str:
    """The page of a fleet."""
    tables = [*tables_of(fleet)]
    caveats = fleet.first_lines()
    sections = [
        Section(
            "answer",
            "Answer",
            (warnings_box(caveats) if caveats else "") + paragraph(text_of(fleet)),
        ),
        Section("distributions", "Distributions", figures(distributions(fleet))),
        Section("scatter", "Volume by volume", figures(scatters(fleet))),
        Section("tables", "Tables", "".join(_table(*table_) for table_ in tables)),
        Section("fleet", "Fleet", _identity(fleet)),
    ]
    state = "" if fleet.completed else ' · <strong class="bad">not completed</strong>'
    drives = escape(", ".join(fleet.drives))
    lead = (
        f'<p class="lead">{len(fleet.volumes):,} volumes on {drives}{state}'
        f" · all of them in {FLEET['csv']}</p>"
    )
    return document(fleet.name, lead + answer_list(what_ran(fleet)), sections)


def what_ran(fleet: Fleet) -> Iterator[tuple[str, str]]:
    """What was run, as titles and texts: the volumes, each drive, and the keys that were set."""
    identity = fleet.identity
    if not identity:
        return
    sets, stand_in = identity["set"], identity["stand_in"]
    if stand_in:
        name, count, seed = stand_in
        yield "volumes", f"{count:,} with the published statistics of {name}, seed {seed}"
    else:
        names = [Path(trace).name for trace, _ in identity["traces"]]
        traces = ", ".join(names) if len(names) <= EXAMPLES else named(names, "trace")
        size = "as configured" if identity["size"] == "drive" else "as large as its volume"
        sized = "" if any(key in sets for key in FIT_KEYS) else f"; each drive is {size}"
        yield "volumes", f"{len(fleet.volumes):,} of {traces}{sized}"
    for name, preset, file in identity["drives"]:
        values = _resolved(preset, file, drive_keys(sets))
        base = str(values.get("preset", preset) or "")
        sources = [file[0] if file else "", base and f"preset {base}"]
        flat_values = flatten(values)
        policies = [
            f"{what} {flat_values[key]}" for what, key in POLICIES.items() if key in flat_values
        ]
        triggers = [str(trigger["policy"]) for trigger in values["gc"]["trigger"]] if values else []
        policies += [f"trigger {' and '.join(triggers)}"] if triggers else []
        own = _resolved(preset, file, {})
        changed = changed_keys(own) if own else {}
        other = [f"{key} = {value}" for key, value in changed.items() if not _names_policy(key)]
        parts = (", ".join(filter(None, words)) for words in (sources, policies, other))
        yield name, "; ".join(filter(None, parts))
    given = {**sets, **({} if identity["seed"] is None else {"run.seed": identity["seed"]})}
    yield "settings", ", ".join(f"{key} = {value}" for key, value in given.items())


def _names_policy(key: str) -> bool:
    """Whether a key of a file is among the policies that are named."""
    keys = (*POLICIES.values(), "gc.trigger.policy")
    return key in keys or f"{key}.policy" in keys


def _resolved(
    preset: str | None, file: list[str] | None, keys: Mapping[str, object]
) -> dict[str, Any]:
    """The configuration of a drive; empty if it needs a key that is set, or a file that is gone."""
    texts = [(key, set_text(value)) for key, value in keys.items()]
    try:
        text = _core.load(preset, None if file is None else (file[0], file[1]), texts)
    except _core.ConfigError:
        return {}
    values: dict[str, Any] = json.loads(text)
    return values


def _table(title: str, heads: list[str], rows: list[list[str]]) -> str:
    cells = [(row[0], [escape(on_page(cell)) for cell in row[1:]]) for row in rows]
    return table(["", *heads], cells, title[0].upper() + title[1:])


def distributions(fleet: Fleet) -> list[Figure]:
    """The distribution of each outcome over the volumes, a curve for each drive."""
    figures_: list[Figure] = []
    for metric in fleet.metrics:
        curves = [*_curves(fleet, metric)]
        if curves:
            caption = (
                "Share of the volumes at or below a value. By bytes written: a volume counts as"
                " much as it writes. Volumes that are not steady have a curve of their own."
            )
            values = np.concatenate([curve.x for curve in curves])
            y = Axis("share of volumes", "share", low=0.0, high=1.0)
            title = TITLES[metric][0].upper() + TITLES[metric][1:]
            x = _axis(metric, values)
            figures_.append(Plot(f"cdf-{metric}", title, caption, x, y, tuple(curves)))
    return figures_


def _curves(fleet: Fleet, metric: str) -> Iterator[Curve]:
    for i, drive in enumerate(fleet.drives):
        tone = i % TONES
        # Dashed: the colour of the drive again, and one that no other drive of a few has.
        groups = [
            ("", MEASURED, False, tone),
            (", by bytes written", MEASURED, True, TONES + tone),
            (", not steady", UNSTEADY, False, 2 * TONES - 1 - tone),
        ]
        for suffix, group, is_weighted, colour in groups:
            rows = rows_with(fleet.of(drive, group), metric)
            if len(rows) > 1:
                weights = (
                    numbers(rows, "volume_bytes_written") if is_weighted else [1.0] * len(rows)
                )
                x, y = _steps(numbers(rows, metric), weights)
                yield Curve(f"{drive}{suffix}", x, y, colour, step=True)


def _steps(values: list[float], weights: list[float]) -> tuple[np.ndarray, np.ndarray]:
    order = np.argsort(values, kind="stable")
    x = np.asarray(values, float)[order]
    y = cumulative_shares(np.asarray(weights, float)[order])
    indices = np.linspace(0, len(x) - 1, min(MOST_STEPS, len(x))).astype(int)
    return x[indices], y[indices]


def _axis(name: str, values: np.ndarray) -> Axis:
    title = TITLES.get(name) or STATISTICS_OF[name]
    positive = values[values > 0]
    is_log = len(positive) == len(values) and positive.max() > LOG_FROM * positive.min()
    return Axis(title, _unit(name), log=bool(is_log))


def _unit(name: str) -> Unit:
    if name in SHARES:
        return "share"
    if name.endswith("_ns"):
        return "ns"
    if "bytes" in name:
        return "bytes"
    return "ratio" if unit_of(name) == "ratio" else "count"


def scatters(fleet: Fleet) -> list[Figure]:
    """Outcomes against each other, and against the statistic with the highest correlation."""
    axes = [("waf", "write_p99_9_ns"), ("waf", "gc_share"), ("write_p99_9_ns", "read_p99_9_ns")]
    for metric in ("waf", "write_p99_9_ns", "lifetime_days"):
        axes += [
            (correlation.statistic, metric)
            for correlation in ranks(fleet, fleet.drives[0], metric)[:2]
        ]
    figures_: list[Figure] = []
    for x, y in axes:
        curves = []
        for i, drive in enumerate(fleet.drives):
            rows = rows_with(rows_with(fleet.of(drive), x), y)
            if rows:
                curves.append(_marks(drive, rows, x, y, i, len(fleet.drives)))
        if curves:
            figures_.append(_scatter(x, y, curves))
    return figures_


def _marks(drive: str, rows: list[Row], x: str, y: str, tone: int, drives: int) -> Curve:
    x_values, y_values = np.asarray(numbers(rows, x), float), np.asarray(numbers(rows, y), float)
    # Every k-th in the order of the fleet, which is not that of any outcome.
    step = -(-len(rows) * drives // MOST_MARKS)
    x_values, y_values = x_values[::step], y_values[::step]
    order = np.argsort(x_values, kind="stable")
    hollow = np.zeros(len(order), bool)
    return Curve(drive, x_values[order], y_values[order], tone % TONES, line=False, dots=hollow)


def _scatter(x: str, y: str, curves: list[Curve]) -> Plot:
    titles = [TITLES.get(name) or STATISTICS_OF[name] for name in (x, y)]
    x_axis = _axis(x, np.concatenate([curve.x for curve in curves]))
    y_axis = _axis(y, np.concatenate([curve.y for curve in curves]))
    title = f"{titles[1][0].upper()}{titles[1][1:]} and {titles[0]}"
    marks = sum(len(curve.x) for curve in curves)
    caption = f"A mark for each volume and drive; {marks:,} marks."
    return Plot(f"scatter-{x}-{y}", title, caption, x_axis, y_axis, tuple(curves))


def _identity(fleet: Fleet) -> str:
    """What was run."""
    drives = "".join(
        f"<details><summary>{escape(name)}</summary>"
        f'<pre tabindex="0">{escape(file[1] if file else f"preset {preset}")}</pre></details>'
        for name, preset, file in fleet.identity["drives"]
    )
    excluded = ("columns", "drives")
    fields = {key: value for key, value in fleet.identity.items() if key not in excluded and value}
    text = "\n".join(
        f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in fields.items()
    )
    return f'{drives}<pre tabindex="0">{escape(text)}</pre>'
