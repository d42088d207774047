"""Repetitions of a comparison as text: means and paired ratios with their intervals."""

from __future__ import annotations

from collections.abc import Iterator

from ssdlab import _core
from ssdlab.comparison import Comparison, table
from ssdlab.intervals import Estimate, Ratio

SHOWN = {
    "waf": "write amplification",
    "write_mean_ns": "mean write latency",
    "write_p99_ns": "p99 write latency",
    "write_p99_9_ns": "p99.9 write latency",
    "read_mean_ns": "mean read latency",
    "read_p99_ns": "p99 read latency",
    "read_p99_9_ns": "p99.9 read latency",
    "gc_calls": "GC calls",
    "gc_pages_moved": "pages moved",
    "erases": "erases",
    "simulated_ns": "simulated time",
}
"""Columns that are shown, and how they are called."""


def told(key: str, value: float | None) -> str:
    """A value of a column with its unit."""
    if value is None:
        return "-"
    if key.endswith("_ns"):
        return _core.duration(value)
    return f"{value:,.1f}" if value >= 100 else f"{value:.4g}"


def ratio_text(ratio: Ratio | None) -> str:
    """A ratio with its interval, where there are such."""
    if ratio is None:
        return "-"
    if ratio.low is None or ratio.high is None:
        return f"{ratio.ratio:.3f} in all pairs"
    return f"{ratio.ratio:.3f} [{ratio.low:.3f}, {ratio.high:.3f}]"


def tables(done: Comparison) -> list[str]:
    """Lines: what was repeated, then a table of all columns shown and all configurations."""
    labels = list(done.repetitions)
    lines = [*_head(done), *done.first_lines(), ""]
    estimates = {label: done.estimates(label) for label in labels}
    if not any(estimates.values()):
        return [*lines, "Fewer than two repetitions completed: there are no means."]
    left = labels if labels[0] in done.not_compared else done.not_compared
    ratios = {label: done.ratios(label) for label in labels[1:] if label not in left}
    several = len(labels) > 1
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
                cells.append("" if label == labels[0] else ratio_text(known))
            rows.append([f"  {label}", *cells])
    return lines + table(head, rows) + _notes(done, estimates)


def _cells(key: str, one: Estimate | None) -> list[str]:
    if one is None:
        return ["-"] * 3
    spread = "-" if one.ci95 is None else told(key, one.stddev)
    return [told(key, one.mean), told(key, one.ci95), spread]


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
    if len(done.repetitions) > 1:
        lines.append("Ratios are paired by seed (geometric mean, interval of the logarithms).")
    for label, found in estimates.items():
        n = max((one.n for one in found.values()), default=0)
        if n < len(_seeds(done)):
            lines.append(f"Of {label} only {n} repetitions completed, and count.")
    if done.without_spread:
        equal = ", ".join(done.without_spread)
        lines.append(f"All repetitions are equal, nothing depends on the seed, in: {equal}.")
        lines.append("Where nothing varies there is no interval: more seeds tell nothing new.")
    return lines
