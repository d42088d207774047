"""Owners of pages, replayed from the logs: what every LPN holds, by copies as well as by writes.

A *version* is one write of one page. Which version is the newest of an LPN follows from the request
log alone: a copy gives the destination the version of its source when it arrives, and requests are
admitted in the order of their ids. Where versions are follows from the operation log, by admission
numbers. With `remap.mode = "copy"` the destination has a version of its own; until that is on
flash, reads may return the one of its source. In parity groups a device that shares may copy a page
instead: the operation log says which.
"""

from __future__ import annotations

import bisect
import sys
from collections import Counter
from pathlib import Path
from typing import TypeAlias

from .inputs import (
    OPS,
    PLACE_COLUMNS,
    REPORT,
    REQUESTS,
    STATE,
    Findings,
    Op,
    Report,
    UnreadableError,
    numbers,
    rows,
)
from .parity import Parity

Version: TypeAlias = tuple[int, int]
"""Request and LPN of the write; of what the log starts with, -1 and its admission number."""


class Owners:
    """Which version every LPN holds, and where it is."""

    def __init__(self, folder: Path, report: Report, findings: Findings) -> None:
        """Read the requests, and the state that the logs start with."""
        self.findings = findings
        self.complete = report.get("completed") is not False
        """Whether the log has every request that was admitted; else what holds a page is open."""
        self.copies_pages = report.get("config.remap.mode") == "copy"
        self.parity_from = sys.maxsize
        """The first LPN of parity, which has no version."""
        self.programmed: set[Version] = set()
        """Pages of copies, by request, that a device with parity groups has programmed."""
        if report.whole("config.raid.group", 0) > 0:
            self.parity_from = report.whole("device.user_pages")
            self.programmed = _programmed_for_copies(folder)
        self.fails = report.get("raid.failure") is not None
        """Whether chips have failed: then not every version is on flash, or it is there twice."""
        self.own = 0
        """Pages of copies with a version of their own."""
        self.newest: dict[int, Version] = {}
        self.times: dict[int, list[int]] = {}
        self.versions: dict[int, list[Version | None]] = {}
        self.setters: dict[int, list[int]] = {}
        """The requests by which an LPN got these versions, -1 at first."""
        self.admitted = -1
        self.holders: Counter[Version] = Counter()
        self.source: dict[Version, Version] = {}
        self.of_sequence: dict[int, Version] = {}
        self.places: dict[Version, set[int]] = {}
        self.copied = 0
        self.commands = 0
        self.requests: list[tuple[int, int, str, int, int, list[int]]] = []
        self.next = 0
        columns = ("op", "id", "lpn", "pages", "arrival", "completion", "sources")
        ends: dict[int, int] = {}
        for line, (kind, *fields, sources) in rows(folder / REQUESTS, columns):
            number, lpn, pages, arrival, ends[number] = numbers(REQUESTS, line, fields)
            pages_from = _pages_of(sources, line)
            if kind == "copy" and len(pages_from) != pages:
                place = f"{REQUESTS}:{line}"
                findings.add("copy-sources", place, f"{pages} pages", len(pages_from))
                continue
            self.requests.append((number, arrival, kind, lpn, pages, pages_from))
        self.requests.sort()
        self.ends = ends
        self.warmup = report.whole("requests.warmup", 0)
        self.since = report.whole("time.measured_from", 0)
        self.late = 0
        """Pages of copies of the warm-up that may have been answered after it."""

    def load(self, path: Path, address_of: dict[int, int]) -> None:
        """Start from state.csv; `address_of`: address by line."""
        for line, fields in rows(path, (*PLACE_COLUMNS, "lpn", "sequence", "valid", "owners")):
            *numeric_fields, owners = fields
            *_, lpn, sequence, valid = numbers(STATE, line, numeric_fields)
            if line not in address_of or lpn >= self.parity_from:
                continue
            version = (-1, sequence)
            self.of_sequence[sequence] = version
            self.places.setdefault(version, set()).add(address_of[line])
            if valid == 1:
                for owner in [int(text) for text in owners.split(";")] if owners else [lpn]:
                    if owner in self.newest:
                        place = f"{STATE}:{line}"
                        self.findings.add("state", place, f"one page of LPN {owner}", "another")
                    self._set(owner, version, -1)

    def _set(self, lpn: int, version: Version | None, time: int) -> None:
        previous = self.newest.pop(lpn, None)
        if previous is not None:
            self.holders[previous] -= 1
        if version is not None:
            self.newest[lpn] = version
            self.holders[version] += 1
        self.times.setdefault(lpn, []).append(time)
        self.versions.setdefault(lpn, []).append(version)
        self.setters.setdefault(lpn, []).append(self.admitted)

    def _admit(self, now: int) -> None:
        """Account the requests that have arrived by `now`."""
        while self.next < len(self.requests) and self.requests[self.next][1] <= now:
            number, arrival, kind, lpn, pages, sources = self.requests[self.next]
            self.next += 1
            self.admitted = number
            is_measured = self.next > self.warmup
            self.commands += kind == "copy" and is_measured
            for i in range(pages):
                page = lpn + i
                if kind == "write":
                    self._set(page, (number, page), arrival)
                elif kind == "trim":
                    self._set(page, None, arrival)
                elif kind == "copy":
                    self._copy(number, page, sources[i], arrival)
                    is_mapped = self.newest.get(page) is not None
                    self.copied += is_measured and is_mapped
                    self.own += is_measured and (number, page) in self.source
                    self.late += not is_measured and is_mapped and self.ends[number] >= self.since

    def _copy(self, number: int, page: int, source: int, arrival: int) -> None:
        version = self.newest.get(source)
        is_own = self.copies_pages or (number, page) in self.programmed
        if version is not None and is_own:
            self.source[number, page] = version
            version = (number, page)
        self._set(page, version, arrival)

    def program(self, op: Op, address: int) -> None:
        """A page is programmed: a write has its number from its request, a copy keeps it."""
        if op.lpn >= self.parity_from:
            return
        if op.cause in ("host", "remap"):
            self.of_sequence[op.sequence] = (op.request, op.lpn)
        elif op.cause == "rebuild" and op.sequence not in self.of_sequence:
            self._rebuilt(op)
        version = self.of_sequence.get(op.sequence)
        if version is not None:
            self.places.setdefault(version, set()).add(address)

    def _rebuilt(self, op: Op) -> None:
        """A page that was never programmed is computed: it holds the newest acknowledged data."""
        self._admit(op.start)
        setters, versions = self.setters.get(op.lpn, []), self.versions.get(op.lpn, [])
        for setter, version in zip(reversed(setters), reversed(versions), strict=True):
            if setter < 0 or 0 <= self.ends[setter] <= op.end:
                if version is not None:
                    self.of_sequence[op.sequence] = version
                return

    def reads_for_copy(self, op: Op, sequence: int) -> None:
        """A copy reads a page to program its own."""

    def source_of(self, op: Op, sequences: set[int]) -> int:
        """Return the number of the page whose copy `op` programs, of the numbers read: its own."""
        del sequences
        return op.sequence

    def read(self, op: Op, sequence: int, arrival: int) -> None:
        """A page is read for the host: it was the newest of its LPN since the request arrived."""
        self._admit(op.start)
        times = self.times.get(op.lpn, [])
        first = max(0, bisect.bisect_right(times, arrival) - 1)
        # Several at the time of its arrival: each was the newest for a moment.
        first = min(first, max(0, bisect.bisect_left(times, arrival) - 1))
        versions = set(self.versions.get(op.lpn, [])[first:])
        for version in list(versions):
            while version in self.source:
                version = self.source[version]
                versions.add(version)
        actual = self.of_sequence.get(sequence)
        if self.complete and actual not in versions:
            expected = f"a version of LPN {op.lpn} in {sorted(v for v in versions if v)}"
            self.findings.add("read-owner", op.place, expected, actual)

    def erase(self, op: Op, pages: dict[int, int]) -> None:
        """Pages, with their numbers, are erased: none is the last with a newest version."""
        self._admit(op.start)
        for address, sequence in pages.items():
            version = self.of_sequence.get(sequence)
            if version is None:
                continue
            places = self.places.get(version, set())
            places.discard(address)
            if self.complete and self._count(version) > 0 and not places:
                expected = f"a copy of the newest data of LPN {self._holding(version)}"
                self.findings.add("erase-owned", op.place, expected, "none")

    def _count(self, version: Version) -> int:
        """How many LPNs hold a version."""
        return self.holders[version]

    def _holding(self, version: Version) -> list[int]:
        """The LPNs that hold it."""
        return [lpn for lpn, version_of_lpn in self.newest.items() if version_of_lpn == version]

    def finish(self, report: Report, parity: Parity) -> None:
        """Compare owners and counts with the report of a complete run."""
        self._admit(sys.maxsize)
        live = [version for version, count in self.holders.items() if count > 0]
        lost_versions = [version for version in live if not self.places.get(version)]
        if lost_versions and not self.fails:
            self.findings.add(
                "lost-owner", REPORT, "every newest version on flash", lost_versions[:5]
            )
        if parity.group > 0:
            parity.check_places(
                {lpn: self.places.get(version, set()) for lpn, version in self.newest.items()}
            )
        self._answered(report)
        if self.fails:
            return
        # A group has parity if it has data.
        groups = len({parity.group_of(lpn) for lpn in self.newest}) if parity.group > 0 else 0
        extra_owners = 0 if self.copies_pages else len(self.newest) - len(live)
        checks = {
            "device.valid_pages": len(live) + groups,
            "remap.extra_owners": extra_owners,
            "remap.commands": self.commands,
        }
        for path, expected in checks.items():
            self.findings.look(path)
            actual = report.number(path)
            if actual != expected:
                self.findings.add("owners", f"{REPORT}:{path}", expected, actual)
        counts = Counter(count for count in self.holders.values() if count > 0)
        counts[1] += groups
        expected_counts = [counts[n] for n in range(1, max(counts, default=1) + 1)]
        self.findings.look("remap.pages_by_owners")
        found_counts = report.get("remap.pages_by_owners")
        if found_counts != expected_counts:
            place = f"{REPORT}:remap.pages_by_owners"
            self.findings.add("owners", place, expected_counts, found_counts)

    def _answered(self, report: Report) -> None:
        """Compare how many pages of copies were shared or copied."""
        field = "remap.copied" if self.copies_pages else "remap.shared"
        self.findings.look(field)
        answered_pages = report.whole(field, 0)
        if self.parity_from < sys.maxsize and not self.fails:
            # In parity groups every page of a copy is shared or copied, whatever follows it.
            self.findings.look("remap.copied")
            for name, count in (("copied", self.own), ("shared", self.copied - self.own)):
                actual = report.whole(f"remap.{name}", 0)
                if not count <= actual <= count + self.late:
                    expected = f"{count} to {count + self.late} pages"
                    self.findings.add("owners", f"{REPORT}:remap.{name}", expected, actual)
            return
        if self.parity_from < sys.maxsize:
            return
        # Some are replaced while they wait for their source, and copies of their own until they are
        # read.
        low = self.copied - report.whole("remap.waited", 0)
        if self.copies_pages:
            low = min(low, report.whole("flash.programs.remap", 0))
        if not low <= answered_pages <= self.copied + self.late:
            pages = f"{low} to {self.copied + self.late} pages"
            self.findings.add("owners", f"{REPORT}:{field}", pages, answered_pages)


def _programmed_for_copies(folder: Path) -> set[Version]:
    """Return the pages that were programmed for copies, each with its request."""
    columns = ("op", "cause", "lpn", "request")
    return {
        (int(request), int(lpn))
        for _, (kind, cause, lpn, request) in rows(folder / OPS, columns)
        if (kind, cause) == ("program", "remap")
    }


def _pages_of(sources: str, line: int) -> list[int]:
    """The pages of `lpn+pages;lpn+pages`."""
    pages: list[int] = []
    try:
        for part in sources.split(";") if sources else []:
            first, count = (int(text) for text in part.split("+"))
            pages.extend(range(first, first + count))
    except ValueError as error:
        message = f"{REQUESTS}:{line}: sources {sources!r}: {error}"
        raise UnreadableError(message) from error
    return pages
