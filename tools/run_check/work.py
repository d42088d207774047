"""Energy of a run, and programs by the volume and stream that has written the page."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from typing import TypeAlias

from .checks import Checks, ratio
from .inputs import COPIES, REQUEST_KINDS, Op, Report
from .page_types import PageTypes
from .requests import Requests

Group: TypeAlias = tuple[str, int]
"""`by_volume` or `by_stream`, and a number."""
KINDS = {"read": "read", "program": "program", "erase": "erase", "bus": "bus"}


class Work:
    """Array and bus times, and programs by writer, of the operations that start in a measurement.

    Where the log leaves something open the numbers have bounds: which of the operations in the
    first instant count, how often a read of the serial model was repeated, or of one that a cut has
    ended, which copies of the serial model crossed the bus, and who writes first after a cut.
    """

    def __init__(self, report: Report, requests: Requests, since: int) -> None:
        """Start before the first line."""
        self.report, self.requests, self.since = report, requests, since
        self.types = PageTypes(report)
        self.has_energy = report.get("energy") is not None
        self.has_tenants = report.get("tenants") is not None
        timing = "config.timing"
        self.is_serial = report.get(f"{timing}.model") == "serial"
        self.erase_ns = report.whole(f"{timing}.erase_ns", 0)
        self.transfer = report.whole(f"{timing}.transfer_ns", 0)
        self.sectors = report.whole("config.device.page_bytes", 512) // 512
        self.partial = report.get(f"{timing}.partial") is True
        self.copies_back = report.get("config.gc.path") == "copyback"
        keys = ("retry_probability", "retry_growth")
        has_retries = any(report.number(f"config.controller.{key}") for key in keys)
        retries = int(report.number("config.controller.retry_limit") or 0) if has_retries else 0
        self.most_retries = retries
        self.low: Counter[str] = Counter()
        self.high: Counter[str] = Counter()
        self.programs: Counter[tuple[Group, str]] = Counter()
        self.unsure: Counter[tuple[Group, str]] = Counter()
        self.writers: dict[int, list[tuple[int, int]]] = {}
        if self.has_tenants:
            self._read_writers()

    def _read_writers(self) -> None:
        """Note when which request writes, or copies to, each LPN."""
        table = self.requests.table
        kinds = {REQUEST_KINDS.index(kind) for kind in ("write", "copy")}
        for number in range(table.size):
            if table["arrival"][number] >= 0 and table["kind"][number] in kinds:
                first = table["lpn"][number]
                for lpn in range(first, first + table["pages"][number]):
                    self.writers.setdefault(lpn, []).append((table["arrival"][number], number))
        for writes in self.writers.values():
            writes.sort()

    def take(self, op: Op, time: int) -> None:
        """Account one operation, which counts at `time`."""
        if time < self.since:
            return
        is_sure = time > self.since or self.since == 0
        if self.has_energy:
            self._take_times(op, is_sure=is_sure)
        if self.has_tenants and op.kind == "program":
            what = "copies" if op.cause in COPIES else "programs"
            for kind in ("volume", "stream"):
                groups = self._groups_of(op, time, kind)
                for group in groups:
                    self.programs[group, what] += 1
                    self.unsure[group, what] += not is_sure or len(groups) > 1

    def _groups_of(self, op: Op, time: int, kind: str) -> set[Group]:
        """Return the groups that may have written a page last when it is programmed.

        In the instant of a completion the next request arrives before or after the program starts.
        """
        writes = self.writers.get(op.lpn, [])
        first = bisect_right(writes, (time - 1, self.requests.table.size))
        last = bisect_right(writes, (time, self.requests.table.size))
        column = self.requests.table[kind]
        groups = {(f"by_{kind}", column[number]) for _, number in writes[max(first - 1, 0) : last]}
        return groups | (set() if first else {(f"others by_{kind}", 0)})

    def _take_times(self, op: Op, *, is_sure: bool) -> None:
        if op.kind == "erase":
            self._add("erase", self.erase_ns, self.erase_ns, is_sure=is_sure)
            return
        page = self.types.array_ns(op)
        longest = page
        if op.kind == "read" and self.most_retries:
            longest += self.most_retries * self.types.retry_ns(op)
            if not (self.is_serial or op.cut) and op.array_start >= 0:
                page = longest = op.array_end - op.array_start
        self._add(op.kind, page, longest, is_sure=is_sure)
        least, most = self._crossing(op)
        self._add("bus", least, most, is_sure=is_sure)

    def _crossing(self, op: Op) -> tuple[int, int]:
        """Return how long the page is on the bus, at least and at most."""
        if self.copies_back and op.cause in COPIES and (self.is_serial or op.cut):
            return 0, self.transfer
        if self.copies_back and op.cause in COPIES and op.bus_start < 0 < self.transfer:
            return 0, 0
        if not self.partial or op.kind != "read" or op.cause not in ("host", "rmw"):
            return self.transfer, self.transfer
        if not self.requests.known(op.request):
            return 0, self.transfer
        if REQUEST_KINDS[self.requests.table["kind"][op.request]] != "read":
            return self.transfer, self.transfer
        asked = self.requests.sectors_of(op.request, op.lpn, self.sectors)
        if asked < 0:
            return 0, self.transfer
        part = (self.transfer * asked + self.sectors // 2) // self.sectors
        return part, part

    def _add(self, kind: str, least: int, most: int, *, is_sure: bool) -> None:
        self.low[kind] += least if is_sure else 0
        self.high[kind] += most

    def check(self, checks: Checks) -> None:
        """Compare with the report."""
        if self.has_energy:
            self._check_energy(checks)
        if self.has_tenants:
            self._check_tenants(checks)

    def _check_energy(self, checks: Checks) -> None:
        times = {"idle": self.report.whole("time.simulated")}
        for kind in KINDS:
            path = f"energy.{kind}_time"
            checks.within("energy", path, self.low[kind], self.high[kind])
            times[kind] = checks.number(path)
        total = 0
        for kind, time in times.items():
            power = self.report.whole(f"config.energy.{kind}_uw", 0)
            energy = min((power * time + 500) // 1000, 2**64 - 1)
            checks.exactly("energy", f"energy.{kind}", energy)
            total = min(total + energy, 2**64 - 1)
        checks.exactly("energy", "energy.total", total)
        pages = checks.number("host.pages_read") + checks.number("host.pages_written")
        each = ratio(total, pages * checks.number("device.page_bytes"))
        checks.exactly("energy", "energy.per_host_byte", each)

    def _check_tenants(self, checks: Checks) -> None:
        all_copies = sum(checks.number(f"flash.programs.{cause}") for cause in COPIES)
        pages = self._pages_written()
        sums: Counter[tuple[str, str]] = Counter()
        places = [
            *(("by_volume", number) for number in self.report.get("tenants.by_volume") or {}),
            *(("by_stream", number) for number in self.report.get("tenants.by_stream") or {}),
            ("others", ""),
        ]
        # After a cut requests come again, and a limit of the host lets them in later.
        is_open = (
            self.report.get("config.power.cut") not in (None, "never")
            or self.report.get("config.host.max_outstanding") is not None
            or not self.requests.complete
        )
        for kind, number in places:
            path = f"tenants.{kind}.{number}".rstrip(".")
            group = (kind, int(number or 0)) if number else ("others by_volume", 0)
            written, programs, copies = (
                checks.number(f"{path}.{key}") for key in ("pages_written", "programs", "copies")
            )
            if not is_open:
                checks.exactly("tenants", f"{path}.pages_written", pages[group])
                copied = self.programs[group, "copies"]
                unsure = self.unsure[group, "copies"]
                checks.within("tenants", f"{path}.copies", copied - unsure, copied)
                every = copied + self.programs[group, "programs"]
                unsure += self.unsure[group, "programs"]
                checks.within("tenants", f"{path}.programs", every - unsure, every)
            checks.exactly("tenants", f"{path}.waf", ratio(programs, written))
            checks.exactly("tenants", f"{path}.share_of_copies", ratio(copies, all_copies))
            sums.update({(kind, "pages"): written, (kind, "copies"): copies})
            sums[kind, "programs"] += programs
        totals = {
            "pages": checks.number("host.pages_written"),
            "copies": all_copies,
            "programs": sum((self.report.get("flash.programs") or {}).values()),
        }
        for kind in ("by_volume", "by_stream"):
            for what, total in totals.items():
                found = sums[kind, what] + sums["others", what]
                if found != total:
                    place = f"report.json:tenants.{kind}"
                    checks.findings.add("tenants", place, f"{total} {what} in all", found)

    def _pages_written(self) -> Counter[Group]:
        """Return the pages that the measured requests of each group have written."""
        table, pages = self.requests.table, Counter[Group]()
        write = REQUEST_KINDS.index("write")
        for number in range(self.requests.first_measured, table.size):
            if table["arrival"][number] >= 0 and table["kind"][number] == write:
                for group in ("volume", "stream"):
                    pages[f"by_{group}", table[group][number]] += table["pages"][number]
        return pages
