"""Repetitions of a comparison as text: means and paired ratios with their intervals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ssdlab.display.form import columns
from ssdlab.display.numbers import ABSENT, format_value, ratio
from ssdlab.results.comparison import Comparison
from ssdlab.results.intervals import UNDECIDED, Estimate, Ratio
from ssdlab.results.text import table

SHOWN = {column.name: column.title for column in columns() if column.shown}
"""Columns that are shown, and their names."""
WIDE = "undecided"
"""Printed in place of an interval that is wider than its number."""
OPEN = "?"
"""Marks a ratio that may as well be 1, if there is little room."""


def ratio_text(value: Ratio | None) -> str:
    """A ratio with its interval, and whether that decides, if there are both."""
    if value is None:
        return ABSENT
    if value.low is None or value.high is None:
        text = f"{ratio(value.ratio)} in all pairs"
    else:
        text = f"{ratio(value.ratio)} [{ratio(value.low)}, {ratio(value.high)}]"
    return f"{text} {UNDECIDED}" if value.order == UNDECIDED else text


def tables(comparison: Comparison) -> list[str]:
    """Lines: what was repeated, then a table of all columns shown and all configurations."""
    labels = list(comparison.repetitions)
    lines = [*_head(comparison), *comparison.first_lines(), *comparison.answer_lines(), ""]
    estimates = {label: comparison.estimates(label) for label in labels}
    if not any(estimates.values()):
        return [*lines, "Fewer than two repetitions completed: no means."]
    excluded = labels if labels[0] in comparison.not_compared else comparison.not_compared
    ratios = {label: comparison.ratios(label) for label in labels[1:] if label not in excluded}
    several = len(labels) > 1
    lowest = comparison.lowest_of_all
    head = ["", "mean", "95 % +-", "stddev", *([f"ratio to {labels[0]}"] if several else [])]
    rows: list[list[str]] = []
    for key, words in SHOWN.items():
        if not any(key in by_key for by_key in estimates.values()):
            continue
        rows.append([words, *[""] * (len(head) - 1)])
        for label in labels:
            cells = _cells(key, estimates[label].get(key))
            if several:
                value = ratios[label].get(key) if label in ratios else None
                text = ratio_text(value).replace(UNDECIDED, OPEN)
                text = WIDE if value is not None and value.is_wide else text
                cells.append("" if label == labels[0] else text)
            rows.append([f"  {label}{_mark(label, lowest.get(key))}", *cells])
    return lines + table(head, rows) + _notes(comparison, estimates)


def _mark(label: str, best: Sequence[tuple[str, ...]] | None) -> str:
    """Whether a configuration is the lowest, or as good as that."""
    for group in best or ():
        if label in group:
            return " *" if label == group[0] else " ="
    return ""


def _cells(key: str, estimate: Estimate | None) -> list[str]:
    if estimate is None:
        return ["-"] * 3
    spread = "-" if estimate.ci95 is None else format_value(key, estimate.stddev)
    return [
        format_value(key, estimate.mean),
        WIDE if estimate.is_wide else format_value(key, estimate.ci95),
        spread,
    ]


def _seeds(comparison: Comparison) -> list[int]:
    return sorted({seed for by_seed in comparison.repetitions.values() for seed in by_seed})


def _head(comparison: Comparison) -> Iterator[str]:
    seeds = _seeds(comparison)
    first = next(iter(next(iter(comparison.repetitions.values())).values()))
    count = len(comparison.repetitions)
    runs = f"{count} configurations" if count > 1 else "one configuration"
    mark = "" if comparison.completed else ", NOT COMPLETED"
    yield f"{first.name}: {runs}, seeds {seeds[0]} to {seeds[-1]}{mark}"


def _notes(comparison: Comparison, estimates: dict[str, dict[str, Estimate]]) -> list[str]:
    lines = ["", "Means over the seeds with 95 % confidence intervals (Student's t)."]
    if comparison.lowest_of_all:
        lines.append("* lowest; = equal to the lowest, or cannot be distinguished from it.")
    if len(comparison.repetitions) > 1:
        lines.append("Ratios are paired by seed (geometric mean, interval of the logarithms).")
        ratios = (comparison.ratios(label) for label in [*comparison.repetitions][1:])
        if any(estimate.order == UNDECIDED for by_key in ratios for estimate in by_key.values()):
            lines.append(f"{OPEN} the interval contains 1: {UNDECIDED}.")
    all_estimates = [estimate for by_key in estimates.values() for estimate in by_key.values()]
    if any(estimate.is_wide for estimate in all_estimates):
        lines.append(f"{WIDE}: the interval is wider than the number, so the seeds decide nothing.")
    for label, by_key in estimates.items():
        n = max((estimate.n for estimate in by_key.values()), default=0)
        if n < len(_seeds(comparison)):
            lines.append(f"Only {n} repetitions of {label} completed; the others are excluded.")
    if comparison.without_spread:
        equal = ", ".join(comparison.without_spread)
        lines.append(f"Nothing depends on the seed, so all repetitions are equal, in: {equal}.")
        lines.append("Where nothing varies there is no interval, and more seeds add nothing.")
    return lines
