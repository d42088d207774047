"""The operation log: rules of single lines and totals by cause."""

from __future__ import annotations

import math
from array import array
from collections import Counter
from pathlib import Path

from .crossing import Crossing
from .failure import Failures
from .flash import SECTIONS, Flash
from .history import History
from .inputs import (
    CAUSES,
    COPIES,
    OP_COLUMNS,
    OP_KINDS,
    OPS,
    REPORT,
    REQUEST_KINDS,
    REQUESTS,
    STATE,
    Findings,
    Geometry,
    Op,
    Report,
    UnreadableError,
    numbers,
    rows,
)
from .occupancy import Occupancy
from .owners import Owners
from .page_types import PageTypes
from .parity import Parity
from .phases import Phases
from .power import Power
from .requests import Requests
from .slc import SlcBlocks, copied_back
from .suspensions import Suspensions
from .work import Work
from .zones import Zones

OUTCOMES = ("", "ended", "cut")
OF_GROUPS = ("host", "parity", "remap")
"""Causes of the programs of updates."""


class Operations:
    """One pass over ops.csv: rules of single lines, totals by cause, and the other checkers."""

    def __init__(
        self,
        geometry: Geometry,
        report: Report,
        requests: Requests,
        findings: Findings,
        power: Power,
        owners: Owners | None = None,
    ) -> None:
        """Start before the first line."""
        self.power = power
        self.geometry = geometry
        self.report = report
        self.requests = requests
        self.findings = findings
        self.measured_from = report.whole("time.measured_from", 0)
        self.measured_to = self.measured_from + report.whole("time.simulated", 0)
        interval = (self.measured_from, self.measured_to)
        self.suspensions = Suspensions(report, requests, self.measured_from, findings)
        self.occupancy = Occupancy(geometry, interval, findings, self.suspensions)
        self.failures = Failures(geometry, report, findings)
        self.parity = Parity(geometry, report, findings, self.failures, requests)
        for number, _, kind, lpn, _, sources in owners.requests if owners is not None else ():
            if kind == "copy" and self.parity.group > 0:
                self.parity.expect_copy(number, lpn, sources)
        self.history = History(geometry, report)
        self.flash = Flash(
            geometry, requests, findings, self.parity, self.failures, owners, self.history
        )
        self.crossing = Crossing(geometry, report, findings, power)
        self.phases = Phases(geometry, report, requests, findings)
        self.counts: Counter[tuple[str, str]] = Counter()
        self.erases_within = array("q", [0]) * geometry.all_blocks
        self.erases_touching = array("q", [0]) * geometry.all_blocks
        self.unsure: Counter[tuple[str, str]] = Counter()
        """Operations that start in the instant in which the measurement does, after a warm-up."""
        self.ended_last = 0
        self.pages_fetched = 0
        """Pages of reads of the host that were read from flash."""
        self.programmed: set[tuple[int, int]] = set()
        """Request and LPN of each program of data of the host."""
        self.away = 0
        """Programs of data of the host on another chip than that of their group."""
        self.busy_until: dict[int, int] = {}
        """When what ran on a failed chip had ended."""
        self.torn: dict[int, list[tuple[int, int, int, int]]] = {}
        """The blocks of programs that each cut has ended, by its time."""
        self.programs_of_host = 0
        """Programs of data of the host, those of the warm-up included."""
        self.copies_end: dict[str, array[int]] = {cause: array("q") for cause in COPIES}
        """When programs of copies ended."""
        self.types = PageTypes(report)
        self.work = Work(report, requests, self.measured_from)
        self.retries: Counter[str] = Counter()
        """Retries of whole reads, by how much longer than one read of the array they took."""
        self.cut_reads: Counter[str] = Counter()
        """Reads of the array that a power cut ended, by cause."""
        self.copied_back = copied_back(report)
        self.slc = SlcBlocks(report, geometry, findings)
        self.zones = Zones(report, geometry, requests, findings)
        self.last_read: dict[tuple[int, int, int], Op] = {}
        self.last_start = 0
        self.lines = 0

    def read(self, folder: Path) -> None:
        """Check all lines."""
        if (folder / STATE).exists():
            self.flash.load(folder / STATE)
        self.flash.expect_cuts(self.report, self.power)
        self.slc.scan(folder)
        self.zones.load(folder)
        for user in (self, self.work, self.phases, self.suspensions, self.crossing.times):
            types = getattr(user, "types", None)
            if types is not None:
                types.slc = self.slc
        for line, fields in rows(folder / OPS, OP_COLUMNS, "outcome"):
            self.lines += 1
            values_of_fields = numbers(OPS, line, fields[2:-1])
            if fields[-1] not in OUTCOMES:
                message = f"{OPS}:{line}: outcome {fields[-1]!r}"
                raise UnreadableError(message)
            values = (line, fields[0], fields[1], *values_of_fields, fields[-1] == "cut")
            op = Op._make(values)
            if self._sound(op):
                self._take(op)

    def _sound(self, op: Op) -> bool:
        """Check what a line must be before anything else can look at it."""
        page = 0 if op.kind == "erase" else op.page
        if op.kind not in OP_KINDS or op.cause not in CAUSES:
            place = f"{OPS}:{op.line}"
            expected = f"op of {OP_KINDS}, cause of {CAUSES}"
            self.findings.add("operation-fields", place, expected, (op.kind, op.cause))
            return False
        if (op.kind == "erase") != (op.page < 0):
            place = f"{OPS}:{op.line}"
            self.findings.add("operation-fields", place, "a page unless erase", op.page)
            return False
        if op.kind == "program" and op.lpn >= 0 and op.sequence < 0:
            place = f"{OPS}:{op.line}"
            self.findings.add("operation-fields", place, "a sequence with the LPN", "none")
            return False
        # Checkpoints have blocks of their own.
        block = 0 if op.cause == "metadata" else op.block
        if not self.geometry.holds(op.channel, op.chip, op.plane, block, page):
            place = f"{OPS}:{op.line}"
            self.findings.add("geometry", place, "a page of the device", op[3:8])
            return False
        return True

    def _take(self, op: Op) -> None:
        self._check_times(op)
        if op.request >= 0:
            self._check_request(op)
        self.power.take(op)
        time = self._counted_at(op)
        if time >= self.measured_from:
            self.counts[op.kind, op.cause] += 1
            if time == self.measured_from > 0:
                self.unsure[op.kind, op.cause] += 1
            if op.kind == "read" and op.array_start >= 0:
                if op.cut:
                    self.cut_reads[op.cause] += 1
                else:
                    extra = op.array_end - op.array_start - self.types.array_ns(op)
                    retry = self.types.retry_ns(op)
                    self.retries[op.cause] += extra // retry if retry else 0
        if self.flash.cuts is not None:
            self.flash.cuts.heed(op)
        self.history.take(op, time)
        self.work.take(op, time)
        self._serve(op)
        self.occupancy.take(op)
        self.crossing.take(op)
        self.phases.take(op)
        if op.cause == "metadata":
            if self.flash.cuts is not None:
                self.flash.cuts.checkpoints.take(op)
            return
        if op.kind == "erase" and not op.cut:
            self._count_erase(op)
        self.failures.take(op)
        self.parity.take(op)
        self.flash.take(op)
        self.slc.take(op, time, self.measured_from)
        self.zones.take(op)

    def _check_times(self, op: Op) -> None:
        """Check that the times of an operation are in order."""
        start, end = op.start, op.end
        if start < self.last_start:
            expected = f"a start at or after {self.last_start}"
            self.findings.add("start-order", f"{OPS}:{op.line}", expected, start)
        else:
            self.last_start = start
        if not 0 <= op.queued <= start <= end:
            times = (op.queued, start, end)
            place = f"{OPS}:{op.line}"
            self.findings.add("operation-times", place, "queued <= start <= end", times)
        for first, last in ((op.bus_start, op.bus_end), (op.array_start, op.array_end)):
            if not (start <= first <= last <= end or first == last == -1):
                expected = f"a part of {start}..{end}"
                self.findings.add("operation-times", f"{OPS}:{op.line}", expected, (first, last))

    def _serve(self, op: Op) -> None:
        """Note what an operation does for the pages of a request."""
        self.ended_last = max(self.ended_last, op.end)
        chip = op.channel * self.geometry.chips + op.chip
        if op.kind == "program" and op.cause in OF_GROUPS and self.parity.group > 0:
            self.away += not op.cut and chip != self.parity.home(op.lpn)
        if op.kind == "program" and op.cause in ("host", "rmw", "remap") and not op.cut:
            self.programmed.add((op.request, op.lpn))
            self.programs_of_host += 1
        for failure in self.failures.all:
            if chip == failure.chip and op.start <= failure.failed < op.end:
                self.busy_until[chip] = max(self.busy_until.get(chip, 0), op.end)
        if op.kind == "program" and op.cut and op.cause != "metadata":
            block = (op.channel, op.chip, op.plane, op.block)
            self.torn.setdefault(op.end, []).append(block)
        if op.kind == "program" and op.cause in COPIES:
            self.copies_end[op.cause].append(op.end)
        if op.kind == "read" and self.requests.known(op.request):
            kind = REQUEST_KINDS[self.requests.table["kind"][op.request]]
            self.pages_fetched += kind == "read" and op.cause in ("host", "rmw")

    def running(self, cause: str, time: int) -> int:
        """Count the programs of copies for `cause` that end at `time` or later."""
        return sum(end >= time for end in self.copies_end[cause])

    def _count_erase(self, op: Op) -> None:
        """Count an erase, of the run or of a mount, that ends."""
        if op.end < self.measured_from:
            return
        block = self.geometry.block_number(op.channel, op.chip, op.plane, op.block)
        self.erases_touching[block] += 1
        if op.start >= self.measured_from and op.end <= self.measured_to:
            self.erases_within[block] += 1

    def _counted_at(self, op: Op) -> int:
        """Return when the report counts an operation: the program of a copy-back with its read."""
        plane = (op.channel, op.chip, op.plane)
        if op.cause not in self.copied_back:
            return op.start
        if op.kind == "read":
            self.last_read[plane] = op
            return op.start
        read = self.last_read.get(plane)
        if read is None or op.kind != "program":
            return op.start
        # Not by the data: if the owner that the read names has left, the copy carries another one.
        is_of_read = (read.end, read.queued) == (op.start, op.queued)
        return read.start if is_of_read else op.start

    def _check_request(self, op: Op) -> None:
        """Check that an operation lies within the time and the pages of its request."""
        if not self.requests.known(op.request):
            if self.requests.complete:
                expected = f"request {op.request} in {REQUESTS}"
                self.findings.add("request-window", f"{OPS}:{op.line}", expected, "none")
            return
        table = self.requests.table
        first = table["lpn"][op.request]
        last = first + table["pages"][op.request] - 1
        is_inside = first <= op.lpn <= last or op.lpn < 0
        if not is_inside and not self.parity.belongs(op, first, last):
            expected = f"an LPN of {first}..{last}"
            self.findings.add("request-window", f"{OPS}:{op.line}", expected, op.lpn)
        arrival, completion = table["arrival"][op.request], table["completion"][op.request]
        is_late = completion >= 0 and op.end > completion
        # With a write buffer a page goes to flash, and its rest is read, after its write completed.
        is_evicted = self.requests.buffered and (op.kind == "program" or op.cause == "rmw")
        if op.queued < arrival or (is_late and not is_evicted):
            expected = f"within {arrival}..{completion} of request {op.request}"
            times = (op.queued, op.end)
            self.findings.add("request-window", f"{OPS}:{op.line}", expected, times)

    def finish(self) -> None:
        """Compare totals with the report."""
        for mount in self.power.mounts:
            for op in mount.erases:
                self._count_erase(op)
        self.phases.finish()
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
            difference = self.counts[kind, cause] - claimed.get(cause, 0)
            if not 0 <= difference <= self.unsure[kind, cause]:
                self.findings.add(
                    "flash-count", place, self.counts[kind, cause], claimed.get(cause)
                )

    def _compare_erases(self) -> None:
        total = sum(self.counts["erase", cause] for cause in CAUSES)
        claimed = self.report.get("flash.erases")
        if isinstance(claimed, dict):
            self._compare_counts("erases", "erase")
        elif claimed not in range(total - self._unsure_erases(), total + 1):
            self.findings.add("flash-count", f"{REPORT}:flash.erases", total, claimed)
        low_counts, high_counts = self.erases_within, self.erases_touching
        if self.report.get("config.alloc.erase_unit") == "superblock":
            # Its erase counts when that of its last block has ended.
            blocks = self.geometry.blocks
            open_ = {i % blocks for i, count in enumerate(low_counts) if count < high_counts[i]}
            low_counts = array("q", (n - (i % blocks in open_) for i, n in enumerate(high_counts)))
        expected = {
            "min": (min(low_counts), min(high_counts)),
            "max": (max(low_counts), max(high_counts)),
            "mean": (sum(low_counts) / len(low_counts), sum(high_counts) / len(high_counts)),
        }
        for key, (low, high) in expected.items():
            path = f"device.erase_{key}"
            actual = self.report.number(path)
            if actual is not None and not low - 1e-6 <= actual <= high + 1e-6:
                text = low if low == high else f"{low} to {high}"
                self.findings.add("erase-count", f"{REPORT}:{path}", text, actual)

    def _unsure_erases(self) -> int:
        return sum(self.unsure["erase", cause] for cause in CAUSES)

    def _compare_waf(self) -> None:
        pages_written = self.requests.totals["write"].pages
        if not self.requests.complete or self.power.cuts:
            pages_written = self.report.whole("host.pages_written", 0)
        if pages_written == 0:
            return
        # The programs have been compared: those at the start of the measurement may count or not.
        programs = self.report.get("flash.programs") or {}
        ratios = {cause: programs.get(cause, 0) / pages_written for cause in CAUSES}
        ratios["total"] = math.fsum(ratios.values())
        for key, value in ratios.items():
            actual = self.report.number(f"waf.{key}")
            if actual is None and value == 0.0:
                continue
            if actual is None or not math.isclose(actual, value, rel_tol=1e-6, abs_tol=1e-9):
                self.findings.add("waf", f"{REPORT}:waf.{key}", value, actual)

    def _compare_drops(self) -> None:
        """Copies read = programmed + dropped; reads before the measurement may count or not."""
        if not self.requests.complete:
            return
        unprogrammed = [start for sources in self.flash.copies.values() for _, start in sources]
        unprogrammed += self.flash.copies_lost
        minimum = sum(1 for start in unprogrammed if start >= self.measured_from)
        sections = SECTIONS.values()
        fields = [f"{name}.pages_{fate}" for name in sections for fate in ("dropped", "in_flight")]
        dropped_pages = sum(self.report.whole(field, 0) for field in fields)
        dropped_pages += self.report.whole("power.copies_lost", 0)
        if not minimum <= dropped_pages <= len(unprogrammed):
            expected = f"{minimum} to {len(unprogrammed)} copies that were read and not programmed"
            self.findings.add("gc-balance", f"{REPORT}:gc.pages_dropped", expected, dropped_pages)
