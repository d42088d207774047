"""The operation log: rules of single lines and totals by cause."""

from __future__ import annotations

import math
from array import array
from collections import Counter
from pathlib import Path

from .crossing import Crossing
from .failure import Failures
from .flash import COPIES, Flash
from .inputs import (
    CAUSES,
    OP_COLUMNS,
    OP_KINDS,
    OPS,
    REPORT,
    REQUESTS,
    STATE,
    Findings,
    Geometry,
    Op,
    Report,
    numbers,
    rows,
)
from .occupancy import Occupancy
from .owners import Owners
from .parity import Parity
from .requests import Requests


class Operations:
    """One pass over ops.csv: rules of single lines, totals by cause, and the other checkers."""

    def __init__(
        self,
        geometry: Geometry,
        report: Report,
        requests: Requests,
        findings: Findings,
        owners: Owners | None = None,
    ) -> None:
        """Start before the first line."""
        self.geometry = geometry
        self.report = report
        self.requests = requests
        self.findings = findings
        self.measured_from = report.whole("time.measured_from", 0)
        self.measured_to = self.measured_from + report.whole("time.simulated", 0)
        interval = (self.measured_from, self.measured_to)
        self.occupancy = Occupancy(geometry, interval, findings)
        self.failures = Failures(geometry, report, findings)
        self.parity = Parity(geometry, report, findings, self.failures)
        self.flash = Flash(geometry, requests, findings, self.parity, self.failures, owners)
        self.crossing = Crossing(geometry, report, findings)
        self.counts: Counter[tuple[str, str]] = Counter()
        self.erases_within = array("q", [0]) * geometry.all_blocks
        self.erases_touching = array("q", [0]) * geometry.all_blocks
        self.last_start = 0
        self.lines = 0

    def read(self, folder: Path) -> None:
        """Check all lines."""
        if (folder / STATE).exists():
            self.flash.load(folder / STATE)
        for line, fields in rows(folder / OPS, OP_COLUMNS):
            self.lines += 1
            op = Op(line, fields[0], fields[1], *numbers(OPS, line, fields[2:]))
            if self._sound(op):
                self._take(op)

    def _sound(self, op: Op) -> bool:
        """Check what a line must be before anything else can look at it."""
        place = f"{OPS}:{op.line}"
        page = 0 if op.kind == "erase" else op.page
        if op.kind not in OP_KINDS or op.cause not in CAUSES:
            expected = f"op of {OP_KINDS}, cause of {CAUSES}"
            self.findings.add("operation-fields", place, expected, (op.kind, op.cause))
            return False
        if (op.kind == "erase") != (op.page < 0):
            self.findings.add("operation-fields", place, "a page unless erase", op.page)
            return False
        if op.kind == "program" and op.lpn >= 0 and op.sequence < 0:
            self.findings.add("operation-fields", place, "a sequence with the LPN", "none")
            return False
        if not self.geometry.holds(op.channel, op.chip, op.plane, op.block, page):
            self.findings.add("geometry", place, "a page of the device", op[3:8])
            return False
        return True

    def _take(self, op: Op) -> None:
        place = f"{OPS}:{op.line}"
        if op.start < self.last_start:
            expected = f"a start at or after {self.last_start}"
            self.findings.add("start-order", place, expected, op.start)
        self.last_start = max(self.last_start, op.start)
        if not 0 <= op.queued <= op.start <= op.end:
            found = (op.queued, op.start, op.end)
            self.findings.add("operation-times", place, "queued <= start <= end", found)
        for first, last in ((op.bus_start, op.bus_end), (op.array_start, op.array_end)):
            if (first, last) != (-1, -1) and not op.start <= first <= last <= op.end:
                expected = f"a part of {op.start}..{op.end}"
                self.findings.add("operation-times", place, expected, (first, last))
        if op.request >= 0:
            self._check_request(op, place)
        if op.start >= self.measured_from:
            self.counts[op.kind, op.cause] += 1
        if op.kind == "erase" and op.end >= self.measured_from:
            block = self.geometry.block_number(op.channel, op.chip, op.plane, op.block)
            self.erases_touching[block] += 1
            if op.start >= self.measured_from and op.end <= self.measured_to:
                self.erases_within[block] += 1
        self.occupancy.take(op)
        self.failures.take(op)
        self.parity.take(op)
        self.flash.take(op)
        self.crossing.take(op)

    def _check_request(self, op: Op, place: str) -> None:
        """Check that an operation lies within the time and the pages of its request."""
        if not self.requests.known(op.request):
            if not self.requests.complete:
                return
            self.findings.add(
                "request-window", place, f"request {op.request} in {REQUESTS}", "none"
            )
            return
        table = self.requests.table
        first = table["lpn"][op.request]
        last = first + table["pages"][op.request] - 1
        inside = first <= op.lpn <= last or self.parity.belongs(op, first, last)
        if op.lpn >= 0 and not inside:
            self.findings.add("request-window", place, f"an LPN of {first}..{last}", op.lpn)
        arrival, completion = table["arrival"][op.request], table["completion"][op.request]
        late = completion >= 0 and op.end > completion
        # With a write buffer a page goes to flash, and its rest is read, after its write completed.
        evicted = self.requests.buffered and (op.kind == "program" or op.cause == "rmw")
        if op.queued < arrival or (late and not evicted):
            expected = f"within {arrival}..{completion} of request {op.request}"
            self.findings.add("request-window", place, expected, (op.queued, op.end))

    def finish(self) -> None:
        """Compare totals with the report."""
        self.flash.finish(self.report)
        self.parity.finish(self.requests)
        if (
            self.report.whole("requests.warmup", 0)
            and self.report.get("time.measured_from") is None
        ):
            print("note: warm-up without time.measured_from, totals of operations not checked")
            self.occupancy.finish(Report({}))
            return
        self.occupancy.finish(self.report)
        self.crossing.finish()
        self._compare_counts("reads", "read")
        self._compare_counts("programs", "program")
        self._compare_erases()
        self._compare_waf()
        self._compare_drops()

    def _compare_counts(self, key: str, kind: str) -> None:
        claimed = self.report.get(f"flash.{key}")
        if not isinstance(claimed, dict):
            self.findings.add("flash-count", f"{REPORT}:flash.{key}", "counts by cause", claimed)
            return
        for cause in sorted({*CAUSES, *claimed} - {"total"}):
            place = f"{REPORT}:flash.{key}.{cause}"
            if claimed.get(cause, 0) != self.counts[kind, cause]:
                self.findings.add(
                    "flash-count", place, self.counts[kind, cause], claimed.get(cause)
                )

    def _compare_erases(self) -> None:
        total = sum(self.counts["erase", cause] for cause in CAUSES)
        claimed = self.report.get("flash.erases")
        if isinstance(claimed, dict):
            self._compare_counts("erases", "erase")
        elif claimed != total:
            self.findings.add("flash-count", f"{REPORT}:flash.erases", total, claimed)
        least, most = self.erases_within, self.erases_touching
        if self.report.get("config.alloc.erase_unit") == "superblock":
            # Its erase counts when that of its last block has ended.
            blocks = self.geometry.blocks
            open_ = {i % blocks for i, count in enumerate(least) if count < most[i]}
            least = array("q", (n - (i % blocks in open_) for i, n in enumerate(most)))
        expected = {
            "min": (min(least), min(most)),
            "max": (max(least), max(most)),
            "mean": (sum(least) / len(least), sum(most) / len(most)),
        }
        for key, (low, high) in expected.items():
            path = f"device.erase_{key}"
            found = self.report.number(path)
            if found is not None and not low - 1e-6 <= found <= high + 1e-6:
                text = low if low == high else f"{low} to {high}"
                self.findings.add("erase-count", f"{REPORT}:{path}", text, found)

    def _compare_waf(self) -> None:
        written = self.requests.totals["write"].pages
        if not self.requests.complete:
            written = self.report.whole("host.pages_written", 0)
        if written == 0:
            return
        ratios = {cause: self.counts["program", cause] / written for cause in CAUSES}
        ratios["total"] = math.fsum(ratios.values())
        for key, value in ratios.items():
            found = self.report.number(f"waf.{key}")
            if found is None and value == 0.0:
                continue
            if found is None or not math.isclose(found, value, rel_tol=1e-6, abs_tol=1e-9):
                self.findings.add("waf", f"{REPORT}:waf.{key}", value, found)

    def _compare_drops(self) -> None:
        """Copies read = programmed + dropped; reads before the measurement may count or not."""
        if not self.requests.complete:
            return
        left = [start for sources in self.flash.copies.values() for _, start in sources]
        least = sum(1 for start in left if start >= self.measured_from)
        fields = [f"{of}.pages_{fate}" for of in COPIES for fate in ("dropped", "in_flight")]
        dropped = sum(self.report.whole(field, 0) for field in fields)
        if not least <= dropped <= len(left):
            expected = f"{least} to {len(left)} copies that were read and not programmed"
            self.findings.add("gc-balance", f"{REPORT}:gc.pages_dropped", expected, dropped)
