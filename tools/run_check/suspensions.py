"""Suspended operations: the reads inside a program or an erase, and how long it takes."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from .inputs import OPS, Findings, Op, Report

ALLOWED = {
    "none": (),
    "erase": ("erase",),
    "program": ("program",),
    "both": ("program", "erase"),
}
COLLECTION = ("gc", "wear", "metadata")


@dataclass
class Suspended:
    """A program or erase, those that run with it, and the reads inside."""

    ops: list[Op]
    reads: list[Op] = field(default_factory=list)

    def groups(self) -> list[list[Op]]:
        """Return the reads of each suspension: those that follow each other at once."""
        groups: list[list[Op]] = []
        for read in self.reads:
            if groups and groups[-1][-1].end == read.start:
                groups[-1].append(read)
            else:
                groups.append([read])
        return groups


class Suspensions:
    """Reads inside other operations; each of these takes its time and that of suspensions."""

    def __init__(self, report: Report, measured_from: int, findings: Findings) -> None:
        """Start before the first operation."""
        self.findings = findings
        self.measured_from = measured_from
        self.kinds = ALLOWED[str(report.get("config.timing.suspend") or "none")]
        self.suspend_ns = report.whole("config.timing.suspend_ns", 0)
        self.resume_ns = report.whole("config.timing.resume_ns", 0)
        self.limit = report.whole("config.timing.suspend_limit", 0)
        self.array_ns = {
            "program": report.whole("config.timing.program_ns", 0),
            "erase": report.whole("config.timing.erase_ns", 0),
        }
        self.units: dict[Any, Suspended] = {}
        self.counts: Counter[str] = Counter()
        """Suspensions in the measurement, by the cause of the operation."""
        self.unsure: Counter[str] = Counter()
        """Of these, the ones at its first instant, and all that a power cut has ended."""

    def take(self, op: Op, key: object) -> bool:
        """Account an operation of the unit `key`; return whether it runs inside another.

        Operations come in order of start.
        """
        if not self.kinds:
            return False
        outer = self.units.get(key)
        if outer is not None and op.start < outer.ops[0].end:
            first = outer.ops[0]
            if op.kind == "read" and op.cause not in COLLECTION:
                outer.reads.append(op)
                return True
            if (op.kind, op.start, op.end) == (first.kind, first.start, first.end):
                outer.ops.append(op)
            return False
        if outer is not None:
            self._check(self.units.pop(key))
        if op.kind in self.kinds and op.array_start >= 0:
            self.units[key] = Suspended([op])
        return False

    def finish(self) -> None:
        """Check the operations that no other has followed."""
        while self.units:
            self._check(self.units.popitem()[1])

    def _check(self, outer: Suspended) -> None:
        first, groups = outer.ops[0], outer.groups()
        place = f"{OPS}:{first.line}"
        free_at = first.array_start
        for group in groups:
            earliest = free_at + self.suspend_ns
            if group[0].start < earliest or group[0].queued > group[0].start - self.suspend_ns:
                expected = f"a read that was queued {self.suspend_ns} ns before, from {earliest} on"
                found = (group[0].queued, group[0].start)
                self.findings.add("suspension", f"{OPS}:{group[0].line}", expected, found)
            free_at = group[-1].end + self.resume_ns
            for op in outer.ops:
                at = group[0].start - self.suspend_ns
                self.counts[op.cause] += at >= self.measured_from
                self.unsure[op.cause] += at == self.measured_from > 0
        if first.cut:
            for op in outer.ops:
                self.unsure[op.cause] += len(groups)
                # One may have begun, without a read so far.
                self.counts[op.cause] += 1
                self.unsure[op.cause] += 1
            return
        inside = sum(group[-1].end - group[0].start for group in groups)
        once = self.suspend_ns + self.resume_ns
        took = first.array_end - first.array_start
        whole = self.array_ns[first.kind] + inside + len(groups) * once
        # The page of a read may have moved to another unit by the time that this one is free.
        empty = max(0, took - whole) // once if once else 0
        for op in outer.ops:
            self.counts[op.cause] += empty
            self.unsure[op.cause] += empty if first.start < self.measured_from else 0
        if took != whole + empty * once:
            self.findings.add("suspension", place, f"{whole} ns of the array", took)
        if len(groups) + empty > self.limit:
            message = f"at most {self.limit} suspensions"
            self.findings.add("suspension", place, message, len(groups) + empty)
