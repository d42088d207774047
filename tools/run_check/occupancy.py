"""Busy units and buses: nothing overlaps, and how long each was busy."""

from __future__ import annotations

import heapq
import sys
from dataclasses import dataclass
from typing import Any

from .inputs import OPS, REPORT, Findings, Geometry, Op, Report
from .suspensions import Suspensions


class Union:
    """Length of a union of intervals that arrive in order of their start, cut to a window."""

    def __init__(self, window: tuple[int, int]) -> None:
        """Start empty, for the window [first, last) in ns."""
        self.first, self.last = window
        self.reached = 0
        self.length = 0

    def add(self, start: int, end: int) -> None:
        """Add [start, end), ns."""
        if end <= self.reached:
            return
        start = max(start, self.reached, self.first)
        self.reached = end
        end = min(end, self.last)
        if end > start:
            self.length += end - start


@dataclass
class Holder:
    """The latest operation on a busy unit or bus, all planes of it."""

    chip: int
    interval: tuple[str | int, ...]
    end: int
    planes: set[int]
    line: int


def overlaps(holders: dict[Any, Holder], key: object, holder: Holder, start: int) -> int:
    """Put `holder` on its resource; return the line of a holder it collides with, 0 if none.

    Equal times on another plane of the same chip are one multi-plane operation.
    """
    old = holders.get(key)
    if old is None or start >= old.end:
        holders[key] = holder
        return 0
    if (
        old.chip == holder.chip
        and old.interval == holder.interval
        and not old.planes & holder.planes
    ):
        old.planes |= holder.planes
        return 0
    if holder.end > old.end:
        holders[key] = holder
    return old.line


class Occupancy:
    """Busy units and buses: nothing overlaps, and how long each was busy."""

    def __init__(
        self,
        geometry: Geometry,
        window: tuple[int, int],
        findings: Findings,
        suspensions: Suspensions,
    ) -> None:
        """Start with everything idle."""
        self.geometry = geometry
        self.suspensions = suspensions
        self.findings = findings
        self.units: dict[Any, Holder] = {}
        self.inside: dict[Any, Holder] = {}
        """Reads inside suspended operations."""
        self.buses: dict[Any, Holder] = {}
        self.waiting: list[list[tuple[int, ...]]] = [[] for _ in range(geometry.channels)]
        self.chips = [Union(window) for _ in range(geometry.channels * geometry.chips)]
        self.channels = [Union(window) for _ in range(geometry.channels)]
        self.transfers = [Union(window) for _ in range(geometry.channels)]
        self.operations = [0] * geometry.channels

    def take(self, op: Op) -> None:
        """Account one operation, in order of start."""
        geometry = self.geometry
        key = op.unit(geometry.unit_depth)
        holder = Holder(op.chip, (op.kind, op.start, op.end), op.end, {op.plane}, op.line)
        is_inside = self.suspensions.take(op, key)
        line = overlaps(self.inside if is_inside else self.units, key, holder, op.start)
        if line:
            expected = f"{geometry.busy_unit} {key} free at {op.start}"
            self.findings.add("unit-overlap", f"{OPS}:{op.line}", expected, f"line {line} on it")
        self.chips[op.channel * geometry.chips + op.chip].add(op.start, op.end)
        self.channels[op.channel].add(op.start, op.end)
        self.operations[op.channel] += 1
        if op.bus_start >= 0:
            self._flush(op.channel, op.start)
            entry = (op.bus_start, op.bus_end, op.chip, op.start, op.end, op.plane, op.line)
            heapq.heappush(self.waiting[op.channel], entry)

    def _flush(self, channel: int, limit: int) -> None:
        """Check the bus intervals that start before `limit`: no later line can precede them."""
        queue = self.waiting[channel]
        while queue and queue[0][0] < limit:
            bus_start, bus_end, chip, start, end, plane, line = heapq.heappop(queue)
            holder = Holder(chip, (start, end, bus_start, bus_end), bus_end, {plane}, line)
            other_line = overlaps(self.buses, channel, holder, bus_start)
            if other_line:
                expected = f"bus of channel {channel} free at {bus_start}"
                self.findings.add(
                    "bus-overlap", f"{OPS}:{line}", expected, f"line {other_line} on it"
                )
            self.transfers[channel].add(bus_start, bus_end)

    def finish(self, report: Report) -> None:
        """Check what is left and compare the utilisation with the report."""
        self.suspensions.finish()
        for channel in range(self.geometry.channels):
            self._flush(channel, sys.maxsize)
        length = report.number("time.simulated")
        if not length:
            return
        command = report.duration("config.timing.command_ns")
        for index, chip in enumerate(self.chips):
            self._compare(report, "chip", index, chip.length / length, 0.0)
        # Pipelined, an operation holds its channel for the bus alone, which may take no time.
        pipelined = report.get("config.timing.model") == "pipelined"
        on_bus = pipelined or any(transfer.reached > 0 for transfer in self.transfers)
        for index, transfer in enumerate(self.transfers):
            busy = transfer if on_bus else self.channels[index]
            slack = command * self.operations[index] / length if on_bus else 0.0
            self._compare(report, "channel", index, busy.length / length, slack)

    def _compare(self, report: Report, kind: str, index: int, busy: float, slack: float) -> None:
        path = f"device.utilisation.{kind}"
        if report.get(path) is None:
            return
        self.findings.look(f"{path}.{index}")
        actual = report.number(f"{path}.{index}")
        if actual is None or not busy - 1e-6 <= actual <= busy + slack + 1e-6:
            self.findings.add("utilisation", f"{REPORT}:{path}[{index}]", f"{busy:.9f}", actual)
