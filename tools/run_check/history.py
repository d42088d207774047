"""What has happened by when: programs, erases, space and jobs of collection over time."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import Counter
from itertools import accumulate

from .inputs import COPIES, Geometry, Op, Report


class Steps:
    """A quantity that changes at instants, which may come in any order."""

    def __init__(self) -> None:
        """Start without a change."""
        self.changes: Counter[int] = Counter()

    def add(self, time: int, change: int) -> None:
        """Change by so much at `time` (ns)."""
        self.changes[time] += change

    def sums(self) -> tuple[list[int], list[int]]:
        """Return the instants in order, and the sum of the changes up to and including each."""
        times = sorted(self.changes)
        return times, [0, *accumulate(self.changes[time] for time in times)]


class PrefixSums:
    """Answers what a `Steps` had added up to before an instant."""

    def __init__(self, steps: Steps) -> None:
        """Sort its changes."""
        self.times, self.totals = steps.sums()

    def at(self, time: int) -> int:
        """Return the sum of the changes before `time` (ns)."""
        return self.totals[bisect_left(self.times, time)]

    def least(self, since: int, until: int) -> int:
        """Return the smallest sum in [since, until] once each instant was over."""
        first, last = bisect_left(self.times, since), bisect_left(self.times, until + 1)
        return min(self.totals[first : last + 1])


class Units:
    """Erase units: blocks, or superblocks of one block on every plane of a pool."""

    def __init__(self, geometry: Geometry, report: Report) -> None:
        """Take their size from the resolved config."""
        self.blocks = geometry.blocks
        self.planes = 1
        if report.get("config.alloc.erase_unit") == "superblock":
            planes = {"chip": geometry.planes, "channel": geometry.chips * geometry.planes}
            unit_count = geometry.channels * geometry.chips * geometry.planes
            self.planes = planes.get(str(report.get("config.alloc.pool")), unit_count)
            if report.get("config.alloc.pool") == "plane":
                self.planes = 1

    def of(self, block: int) -> int:
        """Return the unit of a block counted over the device."""
        plane, place = divmod(block, self.blocks)
        return plane // self.planes * self.blocks + place


class History:
    """Follows the operations of the pools; those of checkpoints are beside them.

    A page is used from the start of its program to the end of the erase of its block. A unit is
    erased, and free, until the first program in it starts.
    """

    def __init__(self, geometry: Geometry, report: Report) -> None:
        """Start with erased blocks."""
        self.geometry, self.units = geometry, Units(geometry, report)
        self.since = report.whole("time.measured_from", 0)
        self.filled = array("q", [0]) * geometry.all_blocks
        self.touched = array("b", [0]) * geometry.all_blocks
        """Whether a block was ever programmed or erased."""
        self.begun: Counter[int] = Counter()
        """Blocks with programmed pages, by their unit."""
        self.waiting: Counter[int] = Counter()
        """Pages erased of a unit of which other blocks are not erased yet."""
        self.erases: Counter[int] = Counter()
        """Blocks of a unit erased since it was opened, including those without a page."""
        self.programmed_at_first = 0
        self.counted: dict[str, Steps] = {key: Steps() for key in ("all", "gc", "erases")}
        self.used, self.free = Steps(), Steps()
        self.erased: list[tuple[int, int]] = []
        """When each erase ended, and of which block."""
        self.jobs: dict[int, int] = {}
        """When the collection of a block was begun."""
        self.ended: list[tuple[int, int, int, int, str]] = []
        """Of each job: start and end of its erase, when it was begun, its block, its cause."""

    def holds(self, block: int, page: int) -> None:
        """Take a page that is programmed when the log begins."""
        if self.filled[block] == 0:
            self._open(block, -1)
        self.filled[block] = max(self.filled[block], page + 1)
        self.programmed_at_first += 1

    def _open(self, block: int, time: int) -> None:
        unit = self.units.of(block)
        if self.begun[unit] == 0:
            self.free.add(time, -1)
            self.erases[unit] = 0
        self.begun[unit] += 1
        self.touched[block] = 1

    def take(self, op: Op, time: int) -> None:
        """Account one operation, in order of start, which the report counts at `time`."""
        if time >= self.since and op.kind != "read":
            self.counted["erases" if op.kind == "erase" else "all"].add(time, 1)
            if (op.kind, op.cause) == ("program", "gc"):
                self.counted["gc"].add(time, 1)
        if op.cause == "metadata":
            return
        block = self.geometry.block_number(op.channel, op.chip, op.plane, op.block)
        if op.kind == "program":
            # The page of a copy-back is bound when its read starts.
            if self.filled[block] == 0:
                self._open(block, time)
            self.filled[block] = op.page + 1
            self.used.add(time, 1)
        elif op.kind == "read" and op.cause in COPIES:
            self.jobs[block] = min(self.jobs.get(block, op.queued), op.queued)
        elif op.kind == "erase":
            self.erase(op, block)

    def erase(self, op: Op, block: int) -> None:
        """Account an erase, of the run or of a mount."""
        if op.cut:
            return
        self.touched[block] = 1
        self.erased.append((op.end, block))
        unit = self.units.of(block)
        if self.filled[block] > 0:
            self.begun[unit] -= 1
            self.waiting[unit] += self.filled[block]
        self.filled[block] = 0
        self.erases[unit] += 1
        if self.erases[unit] >= self.units.planes or op.cause not in COPIES:
            self._is_erased(unit, op.end)
        start = min(self.jobs.pop(block, op.queued), op.queued)
        if op.cause in COPIES:
            self.ended.append((op.start, op.end, start, block, op.cause))

    def _is_erased(self, unit: int, time: int) -> None:
        """Record the last erase of a unit, unless it still has pages."""
        if self.begun[unit] == 0 and unit in self.waiting:
            self.free.add(time, 1)
            self.used.add(time, -self.waiting.pop(unit))

    def lose_power(self, time: int) -> None:
        """Record a cut: no more blocks of a unit without pages are erased."""
        for unit in [*self.waiting]:
            self._is_erased(unit, time)
