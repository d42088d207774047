"""The request log: parts and totals of every request, and what others ask about one."""

from __future__ import annotations

import bisect
import math
import sys
from array import array
from collections.abc import Set
from dataclasses import dataclass, field
from pathlib import Path

from .inputs import (
    LARGEST_ID,
    PARTS,
    REPORT,
    REQUEST_COLUMNS,
    REQUEST_KINDS,
    REQUESTS,
    Findings,
    Report,
    Table,
    UnreadableError,
    numbers,
    rows,
)

DURABILITY = ("", "fua", "preflush", "preflush+fua")
"""What a request asks for: bit 0 FUA, bit 1 a flush before it."""


@dataclass
class KindTotals:
    """What the measured requests of one kind add up to."""

    latencies: array[int] = field(default_factory=lambda: array("q"))
    parts: list[int] = field(default_factory=lambda: [0] * len(PARTS))
    count: int = 0
    pages: int = 0


class RequestLog:
    """The measured requests in order of completion."""

    def __init__(self) -> None:
        """Start empty."""
        self.groups: list[tuple[str, int, int]] = []
        """Kind, volume and stream of each."""
        self.latencies, self.completions = array("q"), array("q")

    def take(self, group: tuple[str, int, int], latency: int, completion: int) -> None:
        """Add the next one."""
        self.groups.append(group)
        self.latencies.append(latency)
        self.completions.append(completion)


class Requests:
    """requests.csv: every request by id, and the totals of the measured ones."""

    def __init__(self, folder: Path, report: Report, findings: Findings) -> None:
        """Read the whole log."""
        self.findings = findings
        self.table = Table(
            *("arrival", "completion", "lpn", "pages", "kind", "asks", "sector", "sectors"),
            *("volume", "stream"),
        )
        self.totals = {kind: KindTotals() for kind in REQUEST_KINDS}
        self.last_write = Table("arrival", "completion")
        self.trims: dict[int, list[tuple[int, int]]] = {}
        """Arrival and id of each TRIM of an LPN."""
        self.cuts: list[int] = []
        """Cuts after which trims that had not completed come again, after later writes."""
        self.writes: dict[int, list[int]] = {}
        """When writes of each LPN arrived, in order."""
        self.first_measured = 0
        self.count = 0
        self.log = RequestLog()
        self.copies = 0
        self.firmware = {
            share: report.whole(f"config.controller.firmware_{name}_ns", 0)
            for name, share in (("p50", 0.5), ("p99", 0.01))
        }
        """The firmware time that this share of the requests exceeds."""
        self.longer = dict.fromkeys(self.firmware, 0)
        self.metadata = report.whole("config.controller.metadata_ns", 0)
        self.records = report.get("config.power.cut") not in (None, [], "never")
        self.ended = 0
        self.buffered = report.whole("config.host.write_buffer_pages", 0) > 0
        self.complete = report.get("completed") is not False
        self.end = sys.maxsize
        if not self.complete:
            self.end = report.whole("time.measured_from", 0) + report.whole("time.simulated", 0)
        path = folder / REQUESTS
        first_measured = report.whole("requests.warmup", 0)
        if self.complete:
            first_measured = _first_measured(path, first_measured)
        for line, fields in rows(path, REQUEST_COLUMNS, "durability", "sector", "sectors"):
            self._take(line, fields, first_measured)
        for arrivals in self.writes.values():
            arrivals.sort()
        self._check_firmware()

    def _take(self, line: int, fields: list[str], first_measured: int) -> None:
        place = f"{REQUESTS}:{line}"
        kind = fields[3]
        if kind not in self.totals:
            self.findings.add("request-fields", place, f"op one of {REQUEST_KINDS}", repr(kind))
            return
        *fields, durability, sector, sectors = fields
        if durability not in DURABILITY:
            self.findings.add("request-fields", place, f"one of {DURABILITY}", repr(durability))
            return
        values = numbers(REQUESTS, line, [fields[0], *fields[4:]])
        number, lpn, pages, arrival, completion, *parts = values
        if completion > self.end:
            # It ended while the operations of a stopped run came to their end.
            completion = -1
        if not 0 <= number <= LARGEST_ID or arrival < 0:
            message = f"{place}: id {number}, arrival {arrival}"
            raise UnreadableError(message)
        self.count += 1
        self.copies += kind == "copy"
        self.table.reach(number)
        if self.table["arrival"][number] >= 0:
            self.findings.add("request-fields", place, "ids that differ", f"id {number} again")
        durability_index = DURABILITY.index(durability)
        record = (
            arrival,
            completion,
            lpn,
            max(pages, 0),
            REQUEST_KINDS.index(kind),
            durability_index,
            *numbers(REQUESTS, line, [sector, sectors, fields[1], fields[2]]),
        )
        for column, value in zip(self.table.values(), record, strict=True):
            column[number] = value
        if kind == "trim":
            for page in range(lpn, lpn + pages):
                self.trims.setdefault(page, []).append((arrival, number))
        if completion < 0:
            if self.complete:
                self.findings.add("request-count", place, "a completion", "none")
            return
        latency = completion - arrival
        if sum(parts) != latency or min(parts) < 0:
            self.findings.add("latency-parts", place, f"parts that sum to {latency} ns", parts)
        self._take_firmware(place, parts[PARTS.index("transfer")])
        metadata, least = parts[PARTS.index("metadata")], max(pages, 0) * self.metadata
        if metadata < least or (metadata > least and not self.records):
            self.findings.add("metadata-time", place, f"{least} ns of metadata", metadata)
        if kind == "write" and pages > 0:
            self.last_write.reach(lpn + pages)
            newest = self.last_write["arrival"]
            completions = self.last_write["completion"]
            for page in range(lpn, lpn + pages):
                newest[page] = max(newest[page], arrival)
                self.writes.setdefault(page, []).append(arrival)
                completions[page] = max(completions[page], completion)
        self.first_measured = first_measured
        if number >= first_measured:
            volume, stream = numbers(REQUESTS, line, fields[1:3])
            self.log.take((kind, volume, stream), latency, completion)
            self._count(self.totals[kind], latency, max(pages, 0), parts)

    def _take_firmware(self, place: str, transfer: int) -> None:
        """Count a request, whose transfer time includes the firmware time."""
        minimum = self.firmware[0.5] if len({*self.firmware.values()}) == 1 else 0
        if transfer < minimum:
            self.findings.add(
                "firmware-time", place, f"transfer of at least {minimum} ns", transfer
            )
        self.ended += 1
        for share, time in self.firmware.items():
            self.longer[share] += transfer >= time

    def _check_firmware(self) -> None:
        """Compare the shares of slow requests with the quantiles of the firmware time."""
        for share, time in self.firmware.items():
            minimum = self.ended * share - 5 * math.sqrt(self.ended * share * (1 - share))
            if time and self.longer[share] < minimum:
                expected = f"at least {minimum:.0f} of {self.ended} with a transfer from {time} ns"
                self.findings.add("firmware-time", REQUESTS, expected, self.longer[share])

    @staticmethod
    def _count(totals: KindTotals, latency: int, pages: int, parts: list[int]) -> None:
        totals.count += 1
        totals.pages += pages
        totals.latencies.append(latency)
        for index, part in enumerate(parts):
            totals.parts[index] += part

    def trims_unknown(self, report: Report) -> int:
        """Return how many pages trims may have unmapped that the log of a stopped run lacks."""
        if self.complete:
            return 0
        started_requests = report.whole("requests.submitted", 0) + report.whole(
            "requests.warmup", 0
        )
        trim = REQUEST_KINDS.index("trim")
        table = self.table
        sizes = [n for n, kind in zip(table["pages"], table["kind"], strict=True) if kind == trim]
        # A trim takes the parity of its groups away, too.
        return 2 * max(0, started_requests - self.count) * max(sizes, default=0)

    def pages_written(self) -> list[int]:
        """Return the pages of every write, those of the warm-up included."""
        write, table = REQUEST_KINDS.index("write"), self.table
        return [n for n, kind in zip(table["pages"], table["kind"], strict=True) if kind == write]

    def known(self, number: int) -> bool:
        """Tell whether requests.csv has this id."""
        return 0 <= number < self.table.size and self.table["arrival"][number] >= 0

    def sectors_of(self, number: int, lpn: int, page_sectors: int) -> int:
        """Return how many sectors of page `lpn` a request asks for; -1 where that is not logged."""
        first = self.table["sector"][number] if self.known(number) else -1
        if first < 0:
            return -1
        last = first + self.table["sectors"][number]
        return min(last, (lpn + 1) * page_sectors) - max(first, lpn * page_sectors)

    def arrival(self, number: int) -> int:
        """Return the arrival (ns) of a request, -1 where unknown."""
        return self.table["arrival"][number] if self.known(number) else -1

    def completion(self, number: int) -> int:
        """Return the completion (ns) of a request, -1 where unknown."""
        return self.table["completion"][number] if self.known(number) else -1

    def are_under_way(self, time: int, excluded: Set[int]) -> bool:
        """Tell whether a page may be waiting at `time`, beside single pages in `excluded`."""
        rows = zip(*(self.table[name] for name in ("arrival", "completion", "pages")), strict=True)
        waiting = (
            0 <= first <= time and (last > time or last < 0)
            for number, (first, last, pages) in enumerate(rows)
            if pages > 1 or number not in excluded
        )
        # A buffered page, or a run that was stopped, may leave no request as evidence.
        return self.buffered or not self.complete or any(waiting)

    def precedes(self, number: int, reader: int) -> bool:
        """Return whether a request was acknowledged before another, `reader`, was submitted.

        In the instant of a completion the smaller id was submitted first.
        """
        completion, arrival = self.completion(number), self.arrival(reader)
        return 0 <= completion < arrival or (0 <= completion == arrival and number < reader)

    def last_completion(self, lpn: int) -> int:
        """Return when the last write of `lpn` completed."""
        return self.last_write["completion"][lpn]

    def trimmed(self, lpn: int, start: int, end: int) -> bool:
        """Tell whether a trim that arrived in [start, end] killed what was written at `start`."""
        return any(
            arrival <= end and (start <= arrival or self._comes_again(arrival, number, start))
            for arrival, number in self.trims.get(lpn, ())
        )

    def _comes_again(self, arrival: int, number: int, start: int) -> bool:
        """Tell whether a trim may have taken effect after `start`, since a cut met it before."""
        completion = self.completion(number)
        met = bisect.bisect_left(self.cuts, arrival) < bisect.bisect_right(self.cuts, completion)
        return met and completion >= start


def _first_measured(path: Path, warmup: int) -> int:
    """Return the lowest id beyond the `warmup` lowest ones."""
    if warmup == 0:
        return 0
    ids = sorted(numbers(REQUESTS, line, fields)[0] for line, fields in rows(path, ("id",)))
    if warmup > len(ids):
        message = f"{REPORT}:requests.warmup: {warmup} of {len(ids)} requests"
        raise UnreadableError(message)
    return ids[warmup] if warmup < len(ids) else ids[-1] + 1
