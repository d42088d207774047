"""The tables of a comparison whose runs were repeated with several seeds."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from html import escape

from ssdlab import _core
from ssdlab.display.numbers import on_page
from ssdlab.html.page import number, table
from ssdlab.results.comparison import Comparison
from ssdlab.results.intervals import UNDECIDED, Estimate
from ssdlab.results.repeated_text import WIDE, ratio_text


def _cell(path: str, column: str, estimate: Estimate | None) -> str:
    if estimate is None:
        return "–"
    mean = number(f"{path}.mean", estimate.mean, column)
    if estimate.ci95 is None:
        return mean
    if estimate.is_wide:
        return f'{mean} <span class="open">{WIDE}</span>'
    return f"{mean} ±\u00a0{number(f'{path}.ci95', estimate.ci95, column)}"


def _standing(cell: str, label: str, ranking: Sequence[tuple[str, ...]] | None) -> str:
    """A cell marked as the lowest, or as not distinguishable from it."""
    for group in ranking or ():
        if label in group:
            kind = "lowest" if label == group[0] else "tie"
            return f'<span class="{kind}">{cell}</span>'
    return cell


def values_table(
    comparison: Comparison, columns: Mapping[str, str], places: Mapping[str, int]
) -> str:
    """Means over the seeds with their intervals; `places`: the index of each in compare.json."""
    body, lowest = [], comparison.lowest_of_all
    for label in comparison.repetitions:
        i, estimates = places[label], comparison.estimates(label)
        cells = [
            _standing(
                _cell(f"statistics.{i}.{key}", key, estimates.get(key)), label, lowest.get(key)
            )
            for key in columns
        ]
        body.append((label, cells))
    table_ = table(["run", *columns.values()], body, "Means of the repetitions")
    notes = [
        "Means over the seeds ± half the width of their 95 % confidence interval (Student's t);"
        f" {WIDE}: that is more than the mean."
    ]
    if lowest:
        notes.append("Bold: the lowest; grey: equal to it, or cannot be distinguished from it.")
    if comparison.without_spread:
        equal = ", ".join(comparison.without_spread)
        notes.append(
            f"All repetitions are equal in {equal}: nothing there depends on the seed, so there is"
            " no interval."
        )
    return table_ + f'<p class="note">{escape(" ".join(notes))}</p>'


def ratio_cells(
    comparison: Comparison, label: str, baseline: str, columns: Sequence[str]
) -> list[str]:
    """Paired ratios to `baseline`, with what the page needs to switch to another one."""
    ratios = comparison.ratios(label, baseline)
    cells = []
    for key in columns:
        by_seed = json.dumps(comparison.values(label, key))
        text = "1" if label == baseline else mark_undecided(on_page(ratio_text(ratios.get(key))))
        cells.append(f'<span class="ratio" data-by-seed="{escape(by_seed)}">{text}</span>')
    return cells


def mark_undecided(text: str) -> str:
    """A ratio as HTML, grey if it is inconclusive."""
    ratio, words, _ = text.partition(f" {UNDECIDED}")
    return f'<span class="open" title="{UNDECIDED}">{ratio}</span>' if words else text


def quantiles(comparison: Comparison) -> str:
    """Student's t for 1, 2, ... degrees of freedom, as many as there may be, as JSON."""
    most_seeds = max(len(by_seed) for by_seed in comparison.repetitions.values())
    return json.dumps([_core.student_t_95(freedom) for freedom in range(1, most_seeds)])


OF_SEEDS = (
    "Plots over time and by seed show all seeds; warnings, configurations and all other plots are"
    " those of the first one."
)
"""Explains the sections below the tables."""
RATIO_NOTE = (
    "Value divided by that of the baseline under the same seed: geometric mean over the pairs,"
    " with the 95 % confidence interval of Student's t for the logarithms. If it contains 1, the"
    " two are not distinguishable: those are grey. About one in twenty intervals misses the true"
    " value, so with many columns some do."
)
"""Explains the table of ratios."""
