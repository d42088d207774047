"""SLC blocks: which blocks hold one bit a cell, by what the log programs in them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from .checks import Checks, ratio
from .history import Units
from .inputs import (
    OP_COLUMNS,
    OPS,
    STATE,
    STATE_COLUMNS,
    Findings,
    Geometry,
    Op,
    Report,
    numbers,
    rows,
)

OF_THE_HOST = ("host", "remap")


def copied_back(report: Report) -> set[str]:
    """Return the causes of copies that stay inside their plane."""
    causes = set()
    if report.get("config.gc.path") == "copyback":
        causes |= {"gc", "wear"}
    if report.get("config.slc.path") == "copyback":
        causes.add("fold")
    return causes


@dataclass
class Cycle:
    """A block from one erase to the next."""

    pages: int = 0
    """Pages up to the last one that the log or the first state names."""
    copies: bool = False
    """Whether a copy was programmed in it."""
    is_fast: bool = False
    """Whether a program took less than one with all bits takes."""
    is_erased: bool = False


@dataclass
class SlcBlocks:
    """Tell SLC blocks from others.

    The log names no kinds of blocks. Between two erases an SLC block has 1 / bits of its pages,
    another one has all. What was not erased by the end of the log is told by the copies in it,
    which go to no SLC block, or by the shortest of its programs.
    """

    report: Report
    geometry: Geometry
    findings: Findings
    cycles: dict[int, list[Cycle]] = field(default_factory=dict)
    current: Counter[int] = field(default_factory=Counter)
    host_pages: Counter[str] = field(default_factory=Counter)
    """Programs for the host in SLC blocks in the measurement, and those at its first instant."""

    erased: list[tuple[int, int, bool]] = field(default_factory=list)
    """When each erase ended, of which block, and whether it was an SLC block."""

    def __post_init__(self) -> None:
        """Take what the configuration says."""
        bits = self.report.whole("config.device.bits", 1)
        self.is_on = self.report.get("config.slc.mode") not in (None, "off")
        self.most = self.geometry.pages // bits
        self.units = Units(self.geometry, self.report)
        times = self.report.get("config.timing.program_types_ns")
        self.fastest = min(times or [self.report.whole("config.timing.program_ns", 0)])

    def scan(self, folder: Path) -> None:
        """Read the whole log."""
        if not self.is_on:
            return
        if (folder / STATE).exists():
            for line, fields in rows(folder / STATE, STATE_COLUMNS):
                channel, chip, plane, block, page = numbers(STATE, line, fields)[:5]
                if self.geometry.holds(channel, chip, plane, block, page):
                    number = self.geometry.block_number(channel, chip, plane, block)
                    cycle = self._cycle(number)
                    cycle.pages = max(cycle.pages, page + 1)
        for line, fields in rows(folder / OPS, OP_COLUMNS, "outcome"):
            values = numbers(OPS, line, fields[2:-1])
            self._learn(Op._make((line, fields[0], fields[1], *values, fields[-1] == "cut")))

    def _cycle(self, block: int) -> Cycle:
        """Return the last cycle of a block so far."""
        return self.cycles.setdefault(block, [Cycle()])[-1]

    def _learn(self, op: Op) -> None:
        place = (op.channel, op.chip, op.plane, op.block)
        if op.cause == "metadata" or not self.geometry.holds(*place, max(op.page, 0)):
            return
        block = self.geometry.block_number(*place)
        cycle = self._cycle(block)
        if op.kind == "erase":
            cycle.is_erased = True
            self.cycles[block].append(Cycle())
            return
        cycle.pages = max(cycle.pages, op.page + 1)
        if op.kind == "program":
            cycle.copies |= op.cause not in OF_THE_HOST
            in_array = op.array_end - op.array_start if op.array_start >= 0 else op.end - op.start
            cycle.is_fast |= in_array < self.fastest

    def is_slc(self, op: Op) -> bool:
        """Tell whether the block of `op` is an SLC block."""
        if not self.is_on or op.cause == "metadata":
            return False
        block = self.geometry.block_number(op.channel, op.chip, op.plane, op.block)
        cycles = self.cycles.get(block)
        if cycles is None:
            return False
        cycle = cycles[min(self.current[block], len(cycles) - 1)]
        if cycle.copies or cycle.pages > self.most:
            return False
        return cycle.is_erased or cycle.is_fast

    def take(self, op: Op, time: int, measured_from: int) -> None:
        """Account an operation, in order of start, which the report counts at `time`."""
        if not self.is_on:
            return
        is_slc = self.is_slc(op)
        if op.kind == "program" and op.cause in OF_THE_HOST and is_slc and time >= measured_from:
            self.host_pages["counted"] += 1
            self.host_pages["unsure"] += time == measured_from > 0
        if op.kind != "erase":
            return
        block = self.geometry.block_number(op.channel, op.chip, op.plane, op.block)
        cycle = self.cycles[block][self.current[block]]
        self.current[block] += 1
        self.erased.append((op.end, block, is_slc))
        expected = self.most if is_slc else self.geometry.pages
        if cycle.pages != expected:
            kind = "an SLC block" if is_slc else "a block"
            message = f"{expected} pages of {kind} before its erase"
            self.findings.add("slc-pages", op.place, message, cycle.pages)
        if op.cause in ("gc", "fold") and (op.cause == "fold") != is_slc:
            cause = "fold" if is_slc else "gc"
            self.findings.add("slc-cause", op.place, f"cause {cause}", op.cause)

    def worn_out(self, end: int) -> tuple[int, int]:
        """Count the blocks that had reached their endurance before `end` (ns), and by then."""
        endurance = self.report.whole("config.wear.endurance")
        of_slc = self.report.whole("config.slc.endurance")
        counts = []
        for until in (end, end + 1):
            worn: Counter[int] = Counter()
            for time, block, is_slc in self.erased:
                worn[block] += (endurance if is_slc else of_slc) * (time < until)
            counts.append(sum(n >= endurance * of_slc for n in worn.values()))
        return counts[0], counts[1]

    def check(self, checks: Checks) -> None:
        """Compare what the report counts with the log."""
        report = self.report
        # Where every other page is slower, the kinds of all blocks are known.
        is_sure = report.whole("config.slc.program_ns", 0) < self.fastest
        is_timed = report.get("config.timing.model") == "pipelined"
        is_suspended = report.get("config.timing.suspend") not in (None, "none")
        if not self.is_on or not is_sure or not is_timed or is_suspended:
            return
        pages = self.host_pages["counted"]
        checks.within("slc", "slc.host_pages", pages - self.host_pages["unsure"], pages)
        programs = sum(checks.number(f"flash.programs.{cause}") for cause in OF_THE_HOST)
        share = ratio(checks.number("slc.host_pages"), programs)
        checks.exactly("slc", "slc.host_share", share)
        last = [(cycles[-1], block) for block, cycles in self.cycles.items()]
        used = {block for cycle, block in last if cycle.is_fast and not cycle.copies}
        units = len({self.units.of(block) for block in used})
        # What runs when the run ends is in the log.
        slack = report.whole("config.device.channels") * self.geometry.chips * self.geometry.planes
        checks.within("slc", "slc.blocks", units - slack, units + slack)
