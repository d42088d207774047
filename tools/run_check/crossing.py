"""Flash controllers and host side: service times, buffers, traversals, the selective path."""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

from .inputs import COPIES, OPS, REPORT, Findings, Geometry, Op, Report
from .page_types import PageTypes
from .power import Power
from .slc import copied_back

WITH_HOST = ("host", "rmw", "parity", "remap", "reconstruct", "rebuild")
"""Causes whose pages cross as those of the host do."""


class CopyRead(NamedTuple):
    """The read of a copy."""

    channel: int
    unit: tuple[int, ...]
    start: int
    end: int


class Times:
    """What operations of the serial model take where a traversal always takes the same time."""

    def __init__(self, report: Report) -> None:
        """Compute them from the resolved config, without the array."""
        self.types = PageTypes(report)
        self.erase = report.whole("config.timing.erase_ns")
        sram = report.whole("config.timing.sram_ns")
        bus = report.whole("config.timing.transfer_ns")
        crossing = self.traversal(report)
        hosts = report.whole("config.controller.traversals_host", 0)
        self.host = bus + 2 * sram + crossing * hosts
        selective = report.get("config.gc.path") == "selective"
        verdict = report.whole("config.controller.ecc_ns", 0) if selective else 0
        self.local = sram + bus
        self.copy = {"read": self.local + crossing + verdict, "program": self.local + crossing}

    @staticmethod
    def traversal(report: Report) -> int:
        """Return the time of a traversal by the formula (0 without an interconnect), ns."""
        if report.get("config.interconnect.model") != "formula":
            return 0
        page = 8 * report.whole("config.device.page_bytes")
        flits = -(-page // report.whole("config.interconnect.flit_bits"))
        path = report.number("config.interconnect.mean_path") or 0.0
        slice_ns = report.whole("config.interconnect.slice_ns")
        rounding = report.whole("config.interconnect.rounding_ns")
        return int((flits + path - 1) * slice_ns / rounding + 0.5) * rounding

    def allowed(self, op: Op) -> set[int]:
        """Return what `op` may take, ns."""
        if op.kind == "erase":
            return {self.erase}
        array = self.types.array_ns(op)
        if op.cause == "metadata":
            return {array + self.local}
        if op.cause in COPIES and op.kind == "program":
            return {array + self.copy["program"], array + self.local}
        return {array + (self.copy["read"] if op.cause in COPIES else self.host)}


class Crossing:
    """Follow the pages that are read to be moved, and compare what crosses with the report."""

    def __init__(
        self, geometry: Geometry, report: Report, findings: Findings, power: Power
    ) -> None:
        """Start before the first line."""
        self.cuts = list(reversed(power.cuts))
        self.geometry, self.report, self.findings = geometry, report, findings
        self.since = report.whole("time.measured_from", 0)
        self.path = "copyback" if copied_back(report) else report.get("config.gc.path")
        self.shares = report.get("config.remap.mode") == "share"
        fixed = report.get("config.interconnect.model") in ("none", "formula")
        retries = ("retry_probability", "retry_growth")
        has_no_retries = not any(report.number(f"config.controller.{key}") for key in retries)
        serial = report.get("config.timing.model") == "serial"
        is_computable = fixed and has_no_retries and serial and self.path != "copyback"
        self.times = Times(report) if is_computable else None
        self.slots = report.get("config.controller.buffers") if self.path != "copyback" else None
        self.reads: dict[tuple[int, int], list[CopyRead]] = defaultdict(list)
        self.held: dict[int, list[tuple[int, int]]] = defaultdict(list)
        self.counts: dict[str, int] = defaultdict(int)
        self.local = 0

    def take(self, op: Op) -> None:
        """Account one operation, in order of start."""
        duration = op.end - op.start
        while self.cuts and self.cuts[-1] < op.end:
            self.cuts.pop()
            self._lose_pages()
        if self.times is not None and not op.cut and duration not in self.times.allowed(op):
            expected = f"{' or '.join(str(ns) for ns in sorted(self.times.allowed(op)))} ns"
            self.findings.add("service-time", f"{OPS}:{op.line}", expected, duration)
        if op.kind == "erase":
            return
        if op.start >= self.since:
            self.counts[op.cause] += 1
        if op.cause not in COPIES:
            return
        unit = op.unit(self.geometry.unit_depth)
        # Of a page with several owners a copy may name another one.
        sources = self.reads[-1 if self.shares else op.lpn, op.sequence]
        if op.kind == "read":
            sources.append(CopyRead(op.channel, unit, op.start, op.end))
        elif sources:
            self._program(op, unit, sources.pop(0))

    def _program(self, op: Op, unit: tuple[int, ...], read: CopyRead) -> None:
        """Look at the program of a copy that was read by `read`."""
        if self.slots is not None:
            self.held[read.channel] += [(read.start, 1), (op.end, -1)]
        times = self.times
        if self.path != "selective" or times is None or times.local == times.copy["program"]:
            return
        if op.end - op.start != times.types.array_ns(op) + times.local:
            return
        self.local += op.start >= self.since
        if op.channel != read.channel:
            ns = times.types.array_ns(op) + times.copy["program"]
            expected = f"a program of {ns} ns: it crosses to another channel"
            self.findings.add("selective-path", f"{OPS}:{op.line}", expected, "a local one")
        elif unit == read.unit and op.start != read.end:
            expected = f"a start at {read.end}, when the verdict is known"
            self.findings.add("selective-path", f"{OPS}:{op.line}", expected, op.start)

    def finish(self) -> None:
        """Compare the totals with the report."""
        self._compare_slots()
        if self.report.get("controller") is None:
            return
        host = self.report.whole("config.controller.traversals_host", 0)
        local = self.report.whole("controller.pages_from_buffer")
        if self.report.get("config.interconnect.model") == "none":
            host = local = 0
            self.counts.clear()
        for cause in WITH_HOST:
            self._compare(f"traversals.{cause}", host * self.counts[cause])
        if self.path != "copyback":
            expected = sum(self.counts[cause] for cause in COPIES) - local
            for cause in COPIES:
                self.findings.look(f"controller.traversals.{cause}")
            traversals = [f"controller.traversals.{cause}" for cause in COPIES]
            actual = sum(self.report.whole(path, 0) for path in traversals)
            if expected != actual:
                place = f"{REPORT}:controller.traversals"
                self.findings.add("traversals", place, f"{expected} of {', '.join(COPIES)}", actual)
        times = self.times
        if times is not None and times.local != times.copy["program"]:
            self._compare("pages_from_buffer", self.local)

    def _compare(self, key: str, expected: int) -> None:
        self.findings.look(f"controller.{key}")
        actual = self.report.whole(f"controller.{key}", 0)
        if actual != expected:
            self.findings.add("traversals", f"{REPORT}:controller.{key}", expected, actual)

    def _lose_pages(self) -> None:
        """Pages that have been read, and not programmed, are in no buffer any more."""
        for remaining in self.reads.values():
            for read in remaining:
                self.held[read.channel] += [(read.start, 1), (read.end, -1)]
        self.reads.clear()

    def _compare_slots(self) -> None:
        """Pages held at once on a channel, from their read to the end of their program."""
        if self.slots is None:
            return
        self._lose_pages()
        for channel, changes in sorted(self.held.items()):
            occupied = peak = 0
            for _, change in sorted(changes):
                occupied += change
                peak = max(peak, occupied)
            if peak > self.slots:
                expected = f"at most {self.slots} pages in the buffers of channel {channel}"
                self.findings.add("buffers", OPS, expected, peak)
