"""Repetitions of a comparison as text: means and paired ratios with their intervals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ssdlab.display.form import columns
from ssdlab.display.numbers import ABSENT, format_value, ratio
from ssdlab.results.comparison import Comparison
from ssdlab.results.intervals import UNDECIDED, Estimate, Ratio
from ssdlab.results.text import table

SHOWN = {one.name: one.title for one in columns() if one.shown}
"""Columns that are shown, and their names."""
WIDE = "undecided"
"""Printed in place of an interval that is wider than its number."""
OPEN = "?"
"""Marks a ratio that may as well be 1, if there is little room."""


def ratio_text(known: Ratio | None) -> str:
    """A ratio with its interval, and whether that decides, if there are both."""
    if known is None:
        return ABSENT
    if known.low is None or known.high is None:
        text = f"{ratio(known.ratio)} in all pairs"
    else:
        text = f"{ratio(known.ratio)} [{ratio(known.low)}, {ratio(known.high)}]"
    return f"{text} {UNDECIDED}" if known.order == UNDECIDED else text


def tables(done: Comparison) -> list[str]:
    """Lines: what was repeated, then a table of all columns shown and all configurations."""
    labels = list(done.repetitions)
    lines = [*_head(done), *done.first_lines(), *done.answer_lines(), ""]
    estimates = {label: done.estimates(label) for label in labels}
    if not any(estimates.values()):
        return [*lines, "Fewer than two repetitions completed: no means."]
    left = labels if labels[0] in done.not_compared else done.not_compared
    ratios = {label: done.ratios(label) for label in labels[1:] if label not in left}
    several = len(labels) > 1
    lowest = done.lowest_of_all
    head = ["", "mean", "95 % +-", "stddev", *([f"ratio to {labels[0]}"] if several else [])]
    rows: list[list[str]] = []
    for key, words in SHOWN.items():
        if not any(key in found for found in estimates.values()):
            continue
        rows.append([words, *[""] * (len(head) - 1)])
        for label in labels:
            cells = _cells(key, estimates[label].get(key))
            if several:
                known = ratios[label].get(key) if label in ratios else None
                said = ratio_text(known).replace(UNDECIDED, OPEN)
                said = WIDE if known is not None and known.is_wide else said
                cells.append("" if label == labels[0] else said)
            rows.append([f"  {label}{_mark(label, lowest.get(key))}", *cells])
    return lines + table(head, rows) + _notes(done, estimates)


def _mark(label: str, best: Sequence[tuple[str, ...]] | None) -> str:
    """Whether a configuration is the lowest, or as good as that."""
    for group in best or ():
        if label in group:
            return " *" if label == group[0] else " ="
    return ""


def _cells(key: str, one: Estimate | None) -> list[str]:
    if one is None:
        return ["-"] * 3
    spread = "-" if one.ci95 is None else format_value(key, one.stddev)
    return [
        format_value(key, one.mean),
        WIDE if one.is_wide else format_value(key, one.ci95),
        spread,
    ]


def _seeds(done: Comparison) -> list[int]:
    return sorted({seed for by_seed in done.repetitions.values() for seed in by_seed})


def _head(done: Comparison) -> Iterator[str]:
    seeds = _seeds(done)
    first = next(iter(next(iter(done.repetitions.values())).values()))
    count = len(done.repetitions)
    runs = f"{count} configurations" if count > 1 else "one configuration"
    mark = "" if done.completed else ", NOT COMPLETED"
    yield f"{first.name}: {runs}, seeds {seeds[0]} to {seeds[-1]}{mark}"


def _notes(done: Comparison, estimates: dict[str, dict[str, Estimate]]) -> list[str]:
    lines = ["", "Means over the seeds with 95 % confidence intervals (Student's t)."]
    if done.lowest_of_all:
        lines.append("* lowest; = equal to the lowest, or cannot be distinguished from it.")
    if len(done.repetitions) > 1:
        lines.append("Ratios are paired by seed (geometric mean, interval of the logarithms).")
        ratios = (done.ratios(label) for label in [*done.repetitions][1:])
        if any(one.order == UNDECIDED for found in ratios for one in found.values()):
            lines.append(f"{OPEN} the interval contains 1: {UNDECIDED}.")
    every = [one for found in estimates.values() for one in found.values()]
    if any(one.is_wide for one in every):
        lines.append(f"{WIDE}: the interval is wider than the number, so the seeds decide nothing.")
    for label, found in estimates.items():
        n = max((one.n for one in found.values()), default=0)
        if n < len(_seeds(done)):
            lines.append(f"Only {n} repetitions of {label} completed; the others are excluded.")
    if done.without_spread:
        equal = ", ".join(done.without_spread)
        lines.append(f"Nothing depends on the seed, so all repetitions are equal, in: {equal}.")
        lines.append("Where nothing varies there is no interval, and more seeds add nothing.")
    return lines
