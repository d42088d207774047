"""Zones: write pointers, which zone a superblock belongs to, and when it is erased."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from .checks import Checks, ratio
from .history import Units
from .inputs import (
    REQUEST_KINDS,
    REQUESTS,
    STATE,
    STATE_COLUMNS,
    Findings,
    Geometry,
    Op,
    Report,
    numbers,
    rows,
)
from .requests import Requests


@dataclass
class Zones:
    """What the logs of a drive with zones must show.

    Its requests are those that the host sends it: appends are writes at a write pointer, resets are
    TRIMs of whole zones.
    """

    report: Report
    geometry: Geometry
    requests: Requests
    findings: Findings
    owners: dict[int, int] = field(default_factory=dict)
    """The zone of each erase unit that is not erased."""
    resets: dict[int, list[int]] = field(default_factory=dict)
    """When each zone was reset, in order."""

    def __post_init__(self) -> None:
        """Take what the configuration says."""
        self.is_on = self.report.get("config.host.interface") == "zns"
        self.pages = 0
        if not self.is_on:
            return
        self.units = Units(self.geometry, self.report)
        blocks = self.geometry.all_blocks
        units = {self.units.of(block) for block in range(blocks)}
        per_block = self.geometry.blocks
        pools = len(units) // per_block
        # As many superblocks in each pool as flash blocks in a plane: a zone has some of each.
        of_zone = self.report.whole("config.zns.units", 1)
        self.size = of_zone * pools * self.geometry.pages * (blocks // len(units))
        self.zones = (per_block - self.report.whole("config.gc.reserve") - 1) // of_zone
        self.pages = self.zones * self.size
        self._replay()

    def _replay(self) -> None:
        """Check that every write is at the pointer of its zone, and every TRIM of a whole zone.

        What the zones hold at the start is not logged: the first write of a zone tells its pointer.
        """
        table = self.requests.table
        pointers: dict[int, int] = {}
        for number in range(table.size):
            code = table["kind"][number]
            kind = REQUEST_KINDS[code] if code >= 0 else ""
            lpn, pages = table["lpn"][number], table["pages"][number]
            zone, offset = divmod(lpn, self.size)
            place = f"{REQUESTS}:id {number}"
            if kind == "trim":
                if (offset, pages) != (0, self.size):
                    expected = f"a zone of {self.size} pages"
                    self.findings.add("zone-reset", place, expected, (lpn, pages))
                pointers[zone] = 0
                self.resets.setdefault(zone, []).append(table["arrival"][number])
            elif kind == "write":
                if pointers.setdefault(zone, offset) != offset or offset + pages > self.size:
                    expected = f"a write at page {pointers[zone]} of zone {zone}"
                    self.findings.add("zone-pointer", place, expected, (offset, pages))
                pointers[zone] = offset + pages

    def load(self, folder: Path) -> None:
        """Take over which zone each superblock has pages of when the log begins."""
        if not self.is_on or not (folder / STATE).exists():
            return
        for line, fields in rows(folder / STATE, (*STATE_COLUMNS[:4], "lpn")):
            *place, lpn = numbers(STATE, line, fields)
            unit = self.units.of(self.geometry.block_number(*place))
            zone = lpn // self.size
            if self.owners.setdefault(unit, zone) != zone:
                expected = f"a page of zone {self.owners[unit]}"
                self.findings.add("zone-of-unit", f"{STATE}:{line}", expected, f"zone {zone}")

    def take(self, op: Op) -> None:
        """Check an operation, in order of start."""
        if not self.is_on:
            return
        place = (op.channel, op.chip, op.plane, op.block)
        unit = self.units.of(self.geometry.block_number(*place))
        if op.kind == "program":
            zone = op.lpn // self.size
            if op.cause != "host":
                self.findings.add("zone-copies", op.place, "programs of the host only", op.cause)
            if self.owners.setdefault(unit, zone) != zone:
                expected = f"a page of zone {self.owners[unit]}"
                self.findings.add("zone-of-unit", op.place, expected, f"one of zone {zone}")
        elif op.kind == "erase":
            # The erases of the other blocks of the superblock follow.
            zone = self.owners.pop(unit, -1)
            if zone >= 0 and not any(at <= op.queued for at in self.resets.get(zone, [])):
                expected = f"a reset of zone {zone} before"
                self.findings.add("zone-erase", op.place, expected, "none")

    def check(self, checks: Checks) -> None:
        """Compare what the report counts with the logs."""
        if not self.is_on or self.report.get("zones") is None:
            return
        checks.exactly("zones", "zones.zones", self.zones)
        since = self.report.whole("time.measured_from", 0)
        resets = [at for times in self.resets.values() for at in times]
        low = sum(at > since for at in resets)
        checks.within("zones", "zones.resets", low, sum(at >= since for at in resets))
        written = checks.number("host.pages_written")
        host, copied = (checks.number(f"zones.{key}_pages") for key in ("host", "copied"))
        checks.exactly("zones", "zones.host_pages", written - copied)
        checks.exactly("zones", "zones.copied_pages", written - host)
        checks.exactly("zones", "zones.host_waf", ratio(written, host))
        checks.exactly("zones", "waf.total", 1.0)
