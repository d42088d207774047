"""Suspended operations: the reads inside a program or an erase, and how long it takes."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from .inputs import OPS, Findings, Op, Report
from .page_types import PageTypes
from .requests import Requests

ALLOWED = {
    "none": (),
    "erase": ("erase",),
    "program": ("program",),
    "both": ("program", "erase"),
}
COLLECTION = ("gc", "wear", "fold", "metadata")


@dataclass
class SuspendedOp:
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

    def __init__(
        self, report: Report, requests: Requests, measured_from: int, findings: Findings
    ) -> None:
        """Start before the first operation."""
        self.findings = findings
        self.requests = requests
        self.measured_from = measured_from
        self.kinds = ALLOWED[str(report.get("config.timing.suspend") or "none")]
        self.suspend_ns = report.whole("config.timing.suspend_ns", 0)
        self.resume_ns = report.whole("config.timing.resume_ns", 0)
        self.limit = report.whole("config.timing.suspend_limit", 0)
        self.types = PageTypes(report)
        self.erase_ns = report.whole("config.timing.erase_ns", 0)
        self.units: dict[Any, SuspendedOp] = {}
        self.counts: Counter[str] = Counter()
        """Suspensions in the measurement, by the cause of the operation."""
        self.unsure: Counter[str] = Counter()
        """Of these, the ones at its first instant, and those that may have been without a read."""

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
        # A cut in the instant in which the array begins leaves no array time in the log.
        if op.kind in self.kinds and (op.array_start >= 0 or op.cut):
            self.units[key] = SuspendedOp([op])
        return False

    def finish(self) -> None:
        """Check the operations that no other has followed."""
        while self.units:
            self._check(self.units.popitem()[1])

    def _check(self, outer: SuspendedOp) -> None:
        first, groups = outer.ops[0], outer.groups()
        place = f"{OPS}:{first.line}"
        free_at = start = first.array_start if first.array_start >= 0 else first.end
        work_times: list[int] = []
        for group in groups:
            suspension = group[0].start - self.suspend_ns
            if suspension < free_at or (
                group[0].queued > suspension and not self._may_wait(outer, suspension)
            ):
                expected = (
                    f"a read that was queued {self.suspend_ns} ns before, at {free_at} or later"
                )
                actual = (group[0].queued, group[0].start)
                self.findings.add("suspension", f"{OPS}:{group[0].line}", expected, actual)
            work_times.append(max(0, suspension - free_at))
            free_at = group[-1].end + self.resume_ns
            self._count(
                outer, suspension >= self.measured_from, suspension == self.measured_from > 0
            )
        # By the time that the unit is free, a read may have moved, or need no flash.
        overhead = self.suspend_ns + self.resume_ns
        remaining = max(0, self.limit - len(groups))
        if first.cut or not overhead:
            # The log does not say how long the array worked before a cut. If suspending takes no
            # time, the reads do not show it either.
            work_times.append(max(0, first.end - free_at))
            maximum = (
                sum(ns // overhead for ns in work_times) + (free_at <= first.end)
                if overhead
                else remaining
            )
            maximum = min(maximum, remaining) if first.end >= self.measured_from else 0
            self._count(outer, maximum, maximum)
            if first.cut:
                return
        duration = first.array_end - start
        inside_ns = sum(group[-1].end - group[0].start for group in groups)
        array_ns = self._array_ns(outer)
        expected_ns = array_ns + inside_ns + len(groups) * overhead
        empty = max(0, duration - expected_ns) // overhead if overhead else 0
        self._count(outer, empty, empty if first.start <= self.measured_from > 0 else 0)
        if duration != expected_ns + empty * overhead:
            self.findings.add("suspension", place, f"{expected_ns} ns of the array", duration)
        remaining_ns = array_ns - sum(work_times)
        if groups and overhead and not empty and remaining_ns <= self.suspend_ns:
            expected = f"more than {self.suspend_ns} ns left when it is suspended"
            self.findings.add("suspension", place, expected, remaining_ns)
        if len(groups) + empty > self.limit:
            message = f"at most {self.limit} suspensions"
            self.findings.add("suspension", place, message, len(groups) + empty)

    def _array_ns(self, outer: SuspendedOp) -> int:
        """Return how long the array works: for pages together, as for the slowest."""
        if outer.ops[0].kind == "erase":
            return self.erase_ns
        return max(self.types.array_ns(op) for op in outer.ops)

    def _may_wait(self, outer: SuspendedOp, time: int) -> bool:
        """Tell whether a read may have suspended an operation at `time` and be gone."""
        return self.requests.are_under_way(time, {op.request for op in outer.ops})

    def _count(self, outer: SuspendedOp, count: int, uncertain: int) -> None:
        """Count suspensions of an operation and of those that run with it."""
        for op in outer.ops:
            self.counts[op.cause] += count
            self.unsure[op.cause] += uncertain
