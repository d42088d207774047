"""Power cuts and mounts: the log of power, and what it says about single operations."""

from __future__ import annotations

import bisect
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from .inputs import (
    OPS,
    POWER,
    POWER_COLUMNS,
    REPORT,
    Findings,
    Geometry,
    Op,
    Report,
    UnreadableError,
    numbers,
    rows,
)

Plane: TypeAlias = tuple[int, int, int]
EVENTS = ("cut", "checkpoint", "scan", "compare", "erase", "mount")


@dataclass
class Mount:
    """A cut and the mount after it."""

    cut: int
    end: int = -1
    line: int = 0
    interrupted: bool = False
    reads: dict[str, Counter[Plane]] = field(default_factory=dict)
    types: dict[str, dict[Plane, list[int]]] = field(default_factory=dict)
    """Pages of each type that are read."""
    erases: list[Op] = field(default_factory=list)

    def total(self, event: str) -> int:
        """Return the pages read of one kind."""
        return sum(self.reads.get(event, Counter()).values())


class Power:
    """The cuts of a run, in order; without a log of power there are none."""

    def __init__(
        self, folder: Path, report: Report, geometry: Geometry, findings: Findings
    ) -> None:
        """Read the log of power."""
        self.report, self.geometry, self.findings = report, geometry, findings
        self.mounts: list[Mount] = []
        self.records = 0
        path = folder / POWER
        if path.exists():
            for line, (event, *fields, outcome, types) in rows(path, POWER_COLUMNS, "types"):
                pages = numbers(POWER, line, types.split(";")) if types else []
                self._take_line(line, event, numbers(POWER, line, fields), outcome, pages)
            self.compare()
        self.cuts = [mount.cut for mount in self.mounts]
        # Also without a cut: then data are where a cut would find them.
        self.is_on = report.get("config.power.cut") not in (None, "never")

    def _take_line(
        self, line: int, event: str, values: list[int], outcome: str, types: list[int]
    ) -> None:
        place = f"{POWER}:{line}"
        start, end, channel, chip, plane, block, pages = values
        if event not in EVENTS or outcome not in ("ended", "cut") or not 0 <= start <= end:
            message = f"{place}: {event}, {start} to {end}, {outcome}"
            raise UnreadableError(message)
        last = self.mounts[-1] if self.mounts else None
        if event == "cut":
            if last is not None and (last.end < 0 or last.end > start or last.interrupted):
                self.findings.add("cut-order", place, "a mount before the next cut", start)
            self.mounts.append(Mount(start))
            return
        if last is not None and last.interrupted and start == last.end:
            last = Mount(start)
            self.mounts.append(last)
        if last is None or last.end >= 0 or last.cut != start:
            self.findings.add("cut-order", place, "a cut before its mount", f"{event} at {start}")
            return
        if event == "mount":
            last.end, last.line, last.interrupted = end, line, outcome == "cut"
        elif not self.geometry.holds(channel, chip, plane, max(block, 0), 0):
            self.findings.add("geometry", place, "a plane of the device", values)
        elif event == "erase":
            position = (channel, chip, plane, block)
            times = (start, start, end, -1, -1, -1, -1)
            last.erases.append(Op(line, "erase", "mount", *position, -1, -1, -1, -1, *times))
        else:
            last.reads.setdefault(event, Counter())[channel, chip, plane] += pages
            bits = self.report.whole("config.device.bits", 1)
            if types and (len(types), sum(types)) != (bits, pages):
                self.findings.add("mount-types", place, f"{pages} pages of {bits} types", types)
            elif types:
                last.types.setdefault(event, {})[channel, chip, plane] = types

    def take(self, op: Op) -> None:
        """Check that an operation runs where there is power, and ends at a cut if that ends it."""
        if not self.cuts:
            if op.cut:
                self.findings.add(
                    "cut-off", f"{OPS}:{op.line}", "a cut in the log of power", "none"
                )
            return
        index = bisect.bisect_left(self.cuts, op.start + (not op.cut)) - 1
        if index >= 0 and op.start < self.mounts[index].end:
            mount = self.mounts[index]
            expected = f"nothing from the cut at {mount.cut} until {mount.end}"
            actual = f"{op.kind} at {op.start}"
            self.findings.add("power-off", f"{OPS}:{op.line}", expected, actual)
        next_index = index + 1
        cut = self.cuts[next_index] if next_index < len(self.cuts) else None
        if op.cut and op.end != cut:
            expected = f"its end at the cut at {cut}"
            self.findings.add("cut-off", f"{OPS}:{op.line}", expected, op.end)
        elif cut is not None and not op.cut and op.end > cut:
            expected = f"cut off at {cut}"
            self.findings.add("cut-off", f"{OPS}:{op.line}", expected, f"an end at {op.end}")

    def compare(self) -> None:
        """Compare cuts and mounts with the report."""
        since = self.report.whole("time.measured_from", 0)
        logged_mounts = [mount for mount in self.mounts if mount.cut >= since and mount.end >= 0]
        recoveries = self.report.get("power.recoveries") or []
        if len(logged_mounts) != len(recoveries):
            place = f"{REPORT}:power.recoveries"
            self.findings.add("mounts", place, f"{len(logged_mounts)} mounts", len(recoveries))
        for number, (mount, recovery) in enumerate(zip(logged_mounts, recoveries, strict=False)):
            expected = {
                "cut_at": mount.cut,
                "time": mount.end - mount.cut,
                "interrupted": mount.interrupted,
                "reads": mount.total("scan") + mount.total("compare"),
                "checkpoint_pages": mount.total("checkpoint"),
                "erases": len(mount.erases),
            }
            for key, value in expected.items():
                if recovery.get(key) != value:
                    place = f"{REPORT}:power.recoveries.{number}.{key}"
                    self.findings.add("mounts", place, value, recovery.get(key))
        cuts = sum(mount.cut >= since for mount in self.mounts)
        actual = self.report.number("power.cuts")
        if actual != cuts:
            self.findings.add("mounts", f"{REPORT}:power.cuts", cuts, actual)
