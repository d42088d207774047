"""Failed chips: what may start on them, and which pages only the rest of their group holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from .inputs import OPS, Findings, Geometry, Op, Report
from .slc import copied_back


@dataclass
class Failure:
    """One failed chip, counted over the device."""

    chip: int
    failed: int
    # None: never.
    replaced: int | None
    is_over: bool = False
    has_come: bool = False

    def misses(self, since: int, until: int) -> bool:
        """Tell whether the chip was missing at some time from `since` to `until`."""
        return self.failed <= until and (self.replaced is None or self.replaced >= since)


class Failures:
    """The chips that have failed, from `raid.failure` of the report."""

    def __init__(self, geometry: Geometry, report: Report, findings: Findings) -> None:
        """Read when they failed and when spares took their places."""
        self.geometry = geometry
        self.findings = findings
        columns = [
            cast("list[int]", report.get(f"raid.failure.{name}") or [])
            for name in ("chips", "failed_at", "replaced_at")
        ]
        self.all = [Failure(*row) for row in zip(*columns, strict=True)]
        self.copied_back = copied_back(report)
        # Start of the reads of copy-backs that end at this time on this chip.
        self.reads: dict[tuple[int, int], int] = {}

    def chip_of(self, address: int) -> int:
        """Return the chip of a page, counted over the device."""
        geometry = self.geometry
        return address // (geometry.pages * geometry.blocks * geometry.planes)

    def is_missing(self, chip: int, since: int, until: int) -> bool:
        """Tell whether `chip` was missing at some time from `since` to `until`."""
        return any(failure.chip == chip and failure.misses(since, until) for failure in self.all)

    def take(self, op: Op) -> None:
        """Nothing starts on a missing chip; a copy-back that has begun is two lines."""
        if not self.all:
            return
        chip = op.channel * self.geometry.chips + op.chip
        start = op.start
        if op.cause in self.copied_back and op.kind == "read":
            self.reads[chip, op.end] = op.start
        elif op.cause in self.copied_back and op.kind == "program":
            start = self.reads.get((chip, op.start), op.start)
        if any(
            failure.chip == chip
            and failure.failed < start
            and (failure.replaced is None or failure.replaced > start)
            for failure in self.all
        ):
            place = f"{OPS}:{op.line}"
            self.findings.add("failed-chip", place, f"nothing on chip {chip}", op.kind)
