"""Failed chips: what may start on them, and which pages only the rest of their group holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from .inputs import OPS, Findings, Geometry, Op, Report

# What a chip still does for a job of collection that its failure has met.
WINDS_UP = ("gc", "wear")


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

    def chip_of(self, address: int) -> int:
        """Return the chip of a page, counted over the device."""
        geometry = self.geometry
        return address // (geometry.pages * geometry.blocks * geometry.planes)

    def is_missing(self, chip: int, since: int, until: int) -> bool:
        """Tell whether `chip` was missing at some time from `since` to `until`."""
        return any(each.chip == chip and each.misses(since, until) for each in self.all)

    def take(self, op: Op) -> None:
        """Nothing starts on a missing chip, except what ends a job of collection."""
        if not self.all or op.cause in WINDS_UP:
            return
        chip = op.channel * self.geometry.chips + op.chip
        if any(
            each.chip == chip
            and each.failed < op.start
            and (each.replaced is None or each.replaced > op.start)
            for each in self.all
        ):
            place = f"{OPS}:{op.line}"
            self.findings.add("failed-chip", place, f"nothing on chip {chip}", op.kind)
