"""The measures of SSDs with chip-level RAID-5, and their published numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ssdlab.results.report import Report
from ssdlab_lab.reproduce.paper import published
from ssdlab_lab.reproduce.tables import Measure, Number

NAME = "deferred-gc-raid"


def _counts(report: Report) -> list[tuple[str, int]]:
    counts = [(op, getattr(report.latency, op).count) for op in ("read", "write")]
    return [(op, count) for op, count in counts if count]


def mean_ms(op: str) -> Measure:
    """Mean response time of reads, writes or both, milliseconds."""

    def of(report: Report) -> Number:
        counts = [(kind, n) for kind, n in _counts(report) if op in ("all", kind)]
        total = sum(n for _, n in counts)
        return (
            sum(getattr(report.latency, kind).mean * n for kind, n in counts) / total / 1e6
            if (total)
            else None
        )

    return of


def p99_ms(op: str) -> Measure:
    """99th percentile of the response time, milliseconds; of both from their histograms."""

    def of(report: Report) -> Number:
        if op != "all":
            value = getattr(report.latency, op).p99
            return None if value is None else value / 1e6
        return percentile_ms(report, [kind for kind, _ in _counts(report)], 0.99)

    return of


def percentile_ms(report: Report, ops: Sequence[str], share: float) -> Number:
    """Percentile over several operations: the middle of the class that it lies in."""
    names = [f"latency_{op}" for op in ops]
    rows = [report.distributions[name] for name in names if name in report.distributions]
    if not rows or len(rows) < len(names):
        return None
    table = np.concatenate(rows)
    table = table[np.argsort(table[:, 0], kind="stable")]
    counts = np.cumsum(table[:, 2])
    index = int(np.searchsorted(counts, np.ceil(share * counts[-1])))
    return float(table[index, 0] + table[index, 1]) / 2e6


MEASURES: Mapping[str, Callable[[str], Measure]] = {"mean": mean_ms, "p99": p99_ms}


def part(*parts: str) -> Measure:
    """Share of some parts of the response time of reads and writes, percent."""

    def of(report: Report) -> Number:
        part_sum = total = 0.0
        for op, count in _counts(report):
            means = getattr(report.latency_parts, op)
            if means is None:
                return None
            part_sum += count * sum(getattr(means, name) for name in parts)
            total += count * getattr(report.latency, op).mean
        return 100 * part_sum / total if total else None

    return of


PARTS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("T_chip", ("chip", "transfer")),
    ("T_meta", ("metadata",)),
    ("T_GC", ("gc_wait",)),
    ("T_wait", ("queue",)),
)
WAITING = part("gc_wait", "queue")


def raid(field: str) -> Measure:
    """A count of the section `raid` of the report."""
    return lambda report: None if report.raid is None else float(getattr(report.raid, field))


def host_programs(report: Report) -> Number:
    """Programs of host pages and of their parity."""
    return float(report.flash.programs.host + report.flash.programs.parity)


def gc_programs(report: Report) -> Number:
    """Programs of pages that collection moved."""
    return float(report.flash.programs.gc)


def copies_per_call(report: Report) -> Number:
    """Valid pages moved for each block collected."""
    return report.gc.pages_moved / report.gc.calls if report.gc.calls else None


@dataclass(frozen=True)
class Reduction:
    """Published reduction of a response time, percent."""

    average: float
    best: float
    best_trace: str
    worst: float
    worst_trace: str

    def row(self, names: Sequence[str]) -> tuple[Number, ...]:
        """For each trace; None if none is printed."""
        known = {self.best_trace: self.best, self.worst_trace: self.worst}
        return tuple(known.get(name) for name in names)


def reduction(kind: str, op: str) -> Reduction:
    """The published reduction for a kind ("mean" or "p99") and an operation."""
    return Reduction(**published(NAME).values["reduction_percent"][f"{kind}_response"][op])


def value(table: str, key: str) -> float:
    """A single published number."""
    return float(published(NAME).values[table][key])


def mapping_overhead(capacity_bytes: int, chips: int, page_bytes: int) -> tuple[int, int, int]:
    """Section 4.4: bits added to an entry; bytes of the map without them and of them alone."""
    pages = capacity_bytes // page_bytes
    bits = 1 + (chips - 1).bit_length()
    base = int(value("mapping_overhead", "base_entry_bytes"))
    return bits, pages * base, pages * bits // 8
