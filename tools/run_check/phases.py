"""Phases of the pipelined model: how long each operation is on the bus, and in its array."""

from __future__ import annotations

from typing import Any

from .inputs import OPS, REQUEST_KINDS, Findings, Geometry, Op, Report
from .page_types import PageTypes
from .requests import Requests
from .slc import copied_back

SECTOR = 512
BY_THE_DEVICE = ("gc", "wear", "fold", "metadata")
"""Causes whose pages cross the SRAM once."""


class Phases:
    """Compare the bus and array phases of every operation with the resolved config.

    Of reads of the host with `timing.partial` older logs do not say which sectors of the first and
    the last page they ask for: there any number of sectors may cross.
    """

    def __init__(
        self, geometry: Geometry, report: Report, requests: Requests, findings: Findings
    ) -> None:
        """Start before the first line."""
        self.geometry, self.requests, self.findings = geometry, requests, findings
        self.is_on = report.get("config.timing.model") == "pipelined"
        if not self.is_on:
            return
        timing = {
            name: report.whole(f"config.timing.{name}_ns", 0)
            for name in ("read", "program", "erase", "transfer", "sram")
        }
        self.types = PageTypes(report)
        self.erase_ns = timing["erase"]
        self.transfer, self.sram = timing["transfer"], timing["sram"]
        self.sectors = report.whole("config.device.page_bytes") // SECTOR
        self.partial = report.get("config.timing.partial") is True
        self.copied_back = copied_back(report)
        suspend = report.get("config.timing.suspend") or "none"
        self.suspended = ("program", "erase") if suspend == "both" else (suspend,)
        keys = ("retry_probability", "retry_growth")
        self.most_retries = report.number("config.controller.retry_limit") or 0
        self.has_retries = any(report.number(f"config.controller.{key}") for key in keys)
        self.units: dict[Any, list[Op]] = {}
        """The operations that run together on a unit."""

    def take(self, op: Op) -> None:
        """Account one operation, in order of start."""
        if not self.is_on:
            return
        key = op.unit(self.geometry.unit_depth)
        together = self.units.get(key)
        if together is not None:
            first = together[0]
            times = (op.kind, op.start, op.end, op.bus_start, op.array_start)
            # Two reads that take no time are two operations.
            if op.kind == "program" and times == (
                *(first.kind, first.start, first.end, first.bus_start, first.array_start),
            ):
                together.append(op)
                return
            self._check(together)
        self.units[key] = [op]

    def finish(self) -> None:
        """Check the operations that no other has followed."""
        if self.is_on:
            for together in self.units.values():
                self._check(together)
            self.units.clear()

    def _check(self, together: list[Op]) -> None:
        first = together[0]
        if first.cut:
            return
        on_bus = first.bus_end - first.bus_start
        allowed = self._on_bus(first, len(together))
        if on_bus not in allowed:
            self._differs(first, "bus", sorted(allowed), on_bus)
        if first.kind in self.suspended:
            return
        in_array = first.array_end - first.array_start
        expected = self.erase_ns
        if first.kind != "erase":
            expected = max(self.types.array_ns(op) for op in together)
        extra = in_array - expected
        if first.kind == "read" and self.has_retries and expected:
            retry_ns = self.types.retry_ns(first)
            if 0 < extra <= self.most_retries * retry_ns:
                extra %= retry_ns
        if extra:
            self._differs(first, "array", [expected], in_array)

    def _differs(self, op: Op, phase: str, expected: list[int], actual: int) -> None:
        """Report a phase of another length."""
        words = " or ".join(str(ns) for ns in expected[:3]) + " ns on the " + phase
        self.findings.add("phase", f"{OPS}:{op.line}", words, actual)

    def _on_bus(self, op: Op, count: int) -> set[int]:
        """Return how long the data of `count` operations together may be on the bus, ns."""
        if op.kind == "erase":
            return {0}
        of_device = op.cause in BY_THE_DEVICE
        page = self.transfer + self.sram * (1 if of_device else 2)
        if op.cause in self.copied_back:
            return {0, page * count}
        if not (self.partial and self._is_read_of_host(op)):
            return {page * count}
        asked = self.requests.sectors_of(op.request, op.lpn, self.sectors)
        if asked < 0 and self._is_inside(op):
            asked = self.sectors
        numbers = range(1, self.sectors + 1) if asked < 0 else [asked]
        half = self.sectors // 2
        return {
            2 * self.sram + (self.transfer * number + half) // self.sectors for number in numbers
        }

    def _is_read_of_host(self, op: Op) -> bool:
        """Tell whether a request reads, rather than writes a part of the page."""
        if op.kind != "read" or op.cause not in ("host", "rmw"):
            return False
        if not self.requests.known(op.request):
            return True
        return REQUEST_KINDS[self.requests.table["kind"][op.request]] == "read"

    def _is_inside(self, op: Op) -> bool:
        """Tell whether the request asks for the whole page, as it goes on before and after it."""
        if not self.requests.known(op.request):
            return False
        first = self.requests.table["lpn"][op.request]
        return first < op.lpn < first + self.requests.table["pages"][op.request] - 1
