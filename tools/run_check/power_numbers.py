"""Numbers of power cuts: what every mount found, and how long it took."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter

from .checks import Checks
from .inputs import REQUEST_KINDS
from .operations import Operations
from .power import Mount, Plane
from .requests import Requests

LINE, TRIM_RECORD, OWNER_RECORD = 64, 16, 32
"""Bytes of the NVRAM, docs/model.md."""


class PowerNumbers:
    """What the logs say about `power` beside the order of cuts and mounts."""

    def __init__(self, checks: Checks, requests: Requests, operations: Operations) -> None:
        """Take what was read."""
        self.checks, self.requests, self.operations = checks, requests, operations
        self.report, self.geometry = checks.report, operations.geometry
        self.since = self.report.whole("time.measured_from")
        self.waits_outside = bool(self.report.number("config.host.max_outstanding"))
        mounts = operations.power.mounts
        self.mounts = [mount for mount in mounts if mount.cut >= self.since and mount.end >= 0]

    def check(self) -> None:
        """Compare all of them."""
        if self.report.get("power") is None:
            return
        recoveries = self.report.get("power.recoveries")
        if len(recoveries) != len(self.mounts) or not self.requests.complete:
            return
        for number, mount in enumerate(self.mounts):
            self._mount(f"power.recoveries.{number}", mount)
        self._totals()

    def _mount(self, path: str, mount: Mount) -> None:
        checks = self.checks
        checks.exactly("mounts", f"{path}.cut_at", mount.cut)
        checks.exactly("mounts", f"{path}.interrupted", mount.interrupted)
        reads = mount.total("scan") + mount.total("compare")
        if not mount.interrupted:
            checks.exactly("mounts", f"{path}.reads", reads)
            checks.exactly("mounts", f"{path}.checkpoint_pages", mount.total("checkpoint"))
            checks.exactly("mounts", f"{path}.erases", len(mount.erases))
        self._time(path, mount)
        requests_inside = self._inside(mount.cut)
        checks.within("mounts", f"{path}.requests", *(len(numbers) for numbers in requests_inside))
        torn_blocks = self.operations.torn.get(mount.cut, [])
        # What the mount erases it does not count.
        erased_blocks = {(op.channel, op.chip, op.plane, op.block) for op in mount.erases}
        remaining = sum(block not in erased_blocks for block in torn_blocks)
        if torn_blocks or not self._is_second(mount):
            # Those on a missing chip are not found.
            low = 0 if self.operations.failures.all else remaining
            checks.within("mounts", f"{path}.torn_pages", low, len(torn_blocks))
        trims = sum(
            self.requests.table["kind"][number] == REQUEST_KINDS.index("trim")
            for number in range(self.requests.table.size)
            if 0 <= self.requests.table["arrival"][number] <= mount.cut
        )
        if not self.requests.copies and not self.report.number("config.raid.group"):
            # (A trim has a record for each parity group.)
            checks.within("mounts", f"{path}.records", 0, trims)
        protected = self.report.get("config.power.buffer") == "protected"
        pages = self.checks.number("config.host.write_buffer_pages")
        # Pages that wait for room are saved, too.
        pages += sum(self.requests.table["pages"][number] for number in requests_inside[1])
        checks.within("mounts", f"{path}.saved_pages", 0, pages if protected else 0)
        user = self.checks.number("device.user_pages")
        checks.within("mounts", f"{path}.mapped_pages", *self._mapped(mount, user))

    def _is_second(self, mount: Mount) -> bool:
        """Whether the cut of this mount interrupted another mount."""
        return any(mount_.interrupted and mount_.end == mount.cut for mount_ in self.mounts)

    def _time(self, path: str, mount: Mount) -> None:
        """Check the time of a mount: records, checkpoint, scan, comparisons and erases in turn.

        Older logs do not say of which types the pages are that a mount scans and compares.
        """
        if mount.interrupted:
            self.checks.exactly("mount-time", f"{path}.time", mount.end - mount.cut)
            return
        records = self.report.whole(f"{path}.records")
        saved_pages = self.report.whole(f"{path}.saved_pages")
        line = self.report.whole("config.power.nvram_ns")
        planes = self.geometry.channels * self.geometry.chips * self.geometry.planes
        evenly = -(-saved_pages // planes)
        saved = Counter(dict.fromkeys(self._planes(), evenly))
        checkpoint = mount.reads.get("checkpoint", Counter())
        exact = self._erases(mount) + sum(
            self._reads({plane: self._first(count) for plane, count in pages.items()})
            for pages in (checkpoint, saved)
        )
        times = self.operations.types.times["read"]
        shortest, longest = (
            exact
            + sum(self._reads(self._types_of(mount, event, kind)) for event in ("scan", "compare"))
            for kind in (times.index(min(times)), times.index(max(times)))
        )
        low = -(-records * TRIM_RECORD // LINE) * line
        high = -(-records * OWNER_RECORD // LINE) * line if self.requests.copies else low
        if self.checks.number("config.raid.group"):
            # It also writes a checkpoint, after erases that no log has.
            high = 2**62
        self.checks.within("mount-time", f"{path}.time", shortest + low, longest + high)

    def _planes(self) -> list[Plane]:
        geometry = self.geometry
        return [
            (channel, chip, plane)
            for channel in range(geometry.channels)
            for chip in range(geometry.chips)
            for plane in range(geometry.planes)
        ]

    def _unit(self, plane: Plane) -> Plane:
        depth = {"channel": 1, "chip": 2, "plane": 3}[self.geometry.busy_unit]
        channel, chip, inner = plane
        return (channel, chip if depth > 1 else 0, inner if depth > 2 else 0)

    def _first(self, count: int) -> list[int]:
        return self.operations.types.of_first(count, self.geometry.pages)

    def _types_of(self, mount: Mount, event: str, kind: int) -> dict[Plane, list[int]]:
        """Pages of each type that a mount reads; without types in the log, all of type `kind`."""
        bits = self.operations.types.bits
        return {
            plane: mount.types.get(event, {}).get(plane)
            or [count * (i == kind) for i in range(bits)]
            for plane, count in mount.reads.get(event, Counter()).items()
        }

    def _reads(self, pages: dict[Plane, list[int]]) -> int:
        """All units side by side; in the pipelined model the pages of a channel share its bus.

        `pages`: of each type, by plane.
        """
        report = self.report
        bus = report.whole("config.timing.transfer_ns") + report.whole("config.timing.sram_ns")
        serial = report.get("config.timing.model") == "serial"
        if not serial:
            bus += report.whole("config.timing.command_ns")
        times = self.operations.types.times["read"]
        units: Counter[Plane] = Counter()
        channels: dict[int, list[int]] = {}
        for plane, counts in pages.items():
            reads = [read for read, count in zip(times, counts, strict=True) for _ in range(count)]
            units[self._unit(plane)] += sum(reads) + len(reads) * bus
            channels.setdefault(plane[0], []).extend(reads)
        longest_ns = max(units.values(), default=0)
        if serial:
            return longest_ns
        # The first page is read before the bus is used.
        bus_ns = max(
            (min(reads) + len(reads) * bus for reads in channels.values() if reads), default=0
        )
        return max(longest_ns, bus_ns)

    def _erases(self, mount: Mount) -> int:
        units: Counter[Plane] = Counter()
        for op in mount.erases:
            units[self._unit((op.channel, op.chip, op.plane))] += 1
        return max(units.values(), default=0) * self.report.whole("config.timing.erase_ns")

    def _inside(self, cut: int) -> tuple[list[int], list[int]]:
        """The requests that were in the device at a cut for certain, and those that may have been.

        What arrives, or completes, in the instant of the cut may count or not.
        """
        table = self.requests.table
        certain, possible = [], []
        for number in range(table.size):
            arrival, completion = table["arrival"][number], table["completion"][number]
            if arrival < 0 or arrival > cut or 0 <= completion < cut:
                continue
            possible.append(number)
            # With a limit some of them wait outside the device.
            if arrival < cut < completion and not self.waits_outside:
                certain.append(number)
        return certain, possible

    def _mapped(self, mount: Mount, user: int) -> tuple[int, int]:
        """Bounds of the LPNs with data: those whose fate the cut leaves open count or not."""
        if self.requests.copies:
            return 0, user
        group = self.checks.number("config.raid.group")
        if group:
            # Trims take effect with their updates, and may come again after later writes.
            return 0, user + user // (group - 1)
        mapped_pages = set(self.operations.flash.mapped_at_first)
        uncertain: set[int] = set()
        table, cuts = self.requests.table, self.operations.power.cuts
        for number in range(table.size):
            arrival, completion = table["arrival"][number], table["completion"][number]
            kind = REQUEST_KINDS[table["kind"][number]]
            if not 0 <= arrival <= mount.cut or kind not in ("write", "trim"):
                continue
            first = table["lpn"][number]
            pages = range(first, first + table["pages"][number])
            # What a cut meets is submitted again, after requests that follow it here.
            is_cut = bisect_left(cuts, arrival) < bisect_right(cuts, completion)
            if is_cut or completion < 0 or self.requests.buffered:
                uncertain.update(pages)
            (mapped_pages.update if kind == "write" else mapped_pages.difference_update)(pages)
        return len(mapped_pages - uncertain), len(mapped_pages | uncertain)

    def _totals(self) -> None:
        checks, table = self.checks, self.requests.table
        checks.exactly("mounts", "power.cuts", sum(m.cut >= self.since for m in self.mounts))
        count = len(self.mounts)
        requests_of_mounts = [
            self.report.whole(f"power.recoveries.{n}.requests") for n in range(count)
        ]
        pairs = zip(requests_of_mounts, self.mounts, strict=True)
        repetitions = sum(number for number, mount in pairs if not mount.interrupted)
        checks.within("mounts", "power.requests_repeated", repetitions, sum(requests_of_mounts))
        kinds = (REQUEST_KINDS.index("read"), REQUEST_KINDS.index("write"))
        pages = []
        for side in (0, 1):
            cuts = [mount for mount in self.mounts if side or not mount.interrupted]
            numbers = [number for mount in cuts for number in self._inside(mount.cut)[side]]
            pages.append(sum(table["pages"][n] for n in numbers if table["kind"][n] in kinds))
        checks.within("mounts", "power.pages_repeated", *pages)
        trims = self.requests.totals["trim"].count
        # A page of a copy whose source holds no data is unmapped, too.
        maximum = trims + sum(requests_of_mounts) + self.requests.totals["copy"].pages * (1 + count)
        checks.within("records", "power.trim_records", 0, maximum)
        checks.within("records", "power.trims_waited", 0, maximum)
        nvram = self.checks.number("config.power.nvram_bytes")
        checks.within("records", "power.nvram_peak", 0, nvram or 2**63)
        self._records()
        lost_copies = [time for time in self.operations.flash.copies_lost if time >= self.since]
        if not self.requests.copies and self.mounts:
            checks.within("moves", "power.copies_lost", 0, len(lost_copies))
        bounds = self._checkpoints()
        checks.within("checkpoints", "power.checkpoints", *bounds)

    def _records(self) -> None:
        """Records of TRIMs have 16 bytes each, those of owners 32."""
        for kind in ("live", "stale"):
            count = self.checks.number(f"power.{kind}_records")
            largest = OWNER_RECORD if self.requests.copies else TRIM_RECORD
            path = f"power.{kind}_record_bytes"
            self.checks.within("records", path, count * TRIM_RECORD, count * largest)

    def _checkpoints(self) -> tuple[int, int]:
        """A checkpoint ends once begun, unless a cut comes; the last may be under way."""
        cuts = self.operations.flash.cuts
        if cuts is None:
            programs = self.operations.counts["program", "metadata"]
            return (0, programs) if programs else (0, 0)
        all_checkpoints = cuts.checkpoints.all
        ended_by_cuts = len(self.mounts) + 1
        return max(0, len(all_checkpoints) - ended_by_cuts), len(all_checkpoints)
