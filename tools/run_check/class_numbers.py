"""Numbers of classes of pages, and of reclaim units with their handles."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from .checks import Checks
from .inputs import CAUSES, numbers, rows
from .operations import Operations
from .requests import Requests

UNITS = "units.csv.zst"
UNIT_COLUMNS = (*("event", "at", "handle", "data", "channel", "chip", "plane", "block", "pages"),)
EVENTS = {"opened": "opened", "collected": "collected"}


class ClassNumbers:
    """What the logs say about `separation`."""

    def __init__(self, checks: Checks, requests: Requests, operations: Operations) -> None:
        """Take what was read."""
        self.checks, self.requests, self.operations = checks, requests, operations
        self.report = checks.report
        self.since = self.report.whole("time.measured_from")

    def check(self, folder: Path) -> None:
        """Compare all of them."""
        if self.report.get("separation") is None:
            return
        checks = self.checks
        classes = checks.number("separation.classes")
        checks.within("separation", "separation.host_classes", 0, classes)
        checks.within("separation", "separation.classes", 1, 2**16)
        physical, user = (checks.number(f"device.{key}_pages") for key in ("physical", "user"))
        share = float(checks.number("separation.open_pages") / (physical - user))
        checks.exactly("separation", "separation.open_share_of_spare", share)
        is_plain = not (self.operations.power.cuts or checks.number("device.bad_blocks"))
        is_plain = is_plain and self.operations.history.units.planes == 1
        if is_plain and self.requests.complete and not self.operations.failures.all:
            self._open_pages()
        if self.report.get("separation.fdp") is not None and (folder / UNITS).exists():
            self._units(folder / UNITS)

    def _open_pages(self) -> None:
        """Blocks are open from their first program to their last."""
        history, pages = self.operations.history, self.operations.geometry.pages
        free_pages: Counter[int] = Counter()
        for block, filled in enumerate(history.filled):
            unit = history.units.of(block)
            free_pages[unit] += pages - filled
        size = history.units.planes * pages
        total = sum(n for n in free_pages.values() if 0 < n < size)
        # Blocks in which collection has not put its first page are open without a line here.
        self.checks.within(
            "separation", "separation.open_pages", total, total + size * len(free_pages)
        )

    def _units(self, path: Path) -> None:
        counts: Counter[tuple[str, str]] = Counter()
        for line, fields in rows(path, UNIT_COLUMNS):
            (time,) = numbers(UNITS, line, [fields[1]])
            if time >= self.since:
                counts[fields[0], fields[2]] += 1
        checks, report = self.checks, self.report
        fdp = "separation.fdp"
        handles = report.get(f"{fdp}.handles")
        names = {**{str(n): f"handles.{n}" for n in range(len(handles))}, "": "shared"}
        for handle, name in names.items():
            for event, key in EVENTS.items():
                checks.exactly("units", f"{fdp}.{name}.{key}", counts[event, handle])
        for event, key in EVENTS.items():
            total = sum(n for (kind, _), n in counts.items() if kind == event)
            checks.exactly("units", f"{fdp}.units_{key}", total)
        if not self.requests.complete:
            return
        page = checks.number("device.page_bytes")
        programs = {cause: self.operations.counts["program", cause] for cause in CAUSES}
        erases = sum(self.operations.counts["erase", cause] for cause in CAUSES)
        block = page * self.operations.geometry.pages
        checks.exactly("units", f"{fdp}.media_bytes_written", sum(programs.values()) * page)
        checks.exactly("units", f"{fdp}.media_bytes_erased", erases * block)
        self._bytes(fdp, [*names.values()], page, programs)

    def _bytes(self, fdp: str, names: list[str], page: int, programs: dict[str, int]) -> None:
        """What all handles were given, and what was copied to and from their units."""
        checks, report = self.checks, self.report
        host = (programs["host"] + programs["remap"]) * page
        copied_bytes = (programs["gc"] + programs["wear"]) * page
        checks.exactly("units", f"{fdp}.host_bytes_written", host)
        for key, total in (("host_bytes", host), ("copied_bytes", copied_bytes)):
            for name in names:
                remaining = sum(report.whole(f"{fdp}.{n}.{key}") for n in names if n != name)
                checks.exactly("units", f"{fdp}.{name}.{key}", total - remaining)
        reads = sum(self.operations.counts["read", cause] for cause in ("gc", "wear")) * page
        for name in names:
            remaining = sum(report.whole(f"{fdp}.{n}.moved_bytes") for n in names if n != name)
            low = max(0, copied_bytes - remaining)
            checks.within("units", f"{fdp}.{name}.moved_bytes", low, max(low, reads - remaining))
