"""What must be on flash at a power cut: writes acknowledged as durable, by the request log."""

from __future__ import annotations

import bisect
import sys
from typing import TYPE_CHECKING

from .inputs import POWER, REQUEST_KINDS, Findings, Report

if TYPE_CHECKING:
    from .flash import Flash
    from .power import Mount, Power
    from .requests import Requests


class DurableWrites:
    """Writes by the time from which they are durable.

    Without a write buffer that is their completion. With a volatile one it is that of an FUA write,
    or of a flush (or a write with a flush before it) that arrived after the write had completed,
    unless power was cut in between. With a protected buffer nothing need be on flash.
    """

    def __init__(
        self, requests: Requests, report: Report, power: Power, findings: Findings
    ) -> None:
        """Find out when every write becomes durable."""
        self.requests, self.findings = requests, findings
        self.protected = report.get("config.power.buffer") == "protected"
        self.newest: dict[int, tuple[int, int, int]] = {}
        """By LPN: admission number, arrival and id of its newest durable write."""
        self.may_be_lost: dict[int, int] = {}
        """By LPN: the last cut at which a write of it was acknowledged and not durable."""
        self.coming: list[tuple[int, int]] = []
        self.since: dict[int, int] = {}
        """By id of a write: when it becomes durable."""
        if not power.cuts:
            return
        table = requests.table
        write, flush = REQUEST_KINDS.index("write"), REQUEST_KINDS.index("flush")
        flushes = sorted(
            (table["arrival"][number], table["completion"][number])
            for number, kind in enumerate(table["kind"])
            if (kind == flush or (kind == write and table["asks"][number] & 2))
            and table["completion"][number] >= 0
        )
        arrivals = [arrival for arrival, _ in flushes]
        next_flush_ends = [end for _, end in flushes] + [sys.maxsize]
        for index in range(len(flushes) - 1, -1, -1):
            next_flush_ends[index] = min(next_flush_ends[index], next_flush_ends[index + 1])
        for number, kind in enumerate(table["kind"]):
            completion = table["completion"][number]
            if kind != write or completion < 0:
                continue
            if self.protected or not requests.buffered or table["asks"][number] & 1:
                self.since[number] = completion
            else:
                durable = next_flush_ends[bisect.bisect_left(arrivals, completion)]
                cut = bisect.bisect_left(power.cuts, completion)
                if cut < len(power.cuts) and power.cuts[cut] < durable:
                    first = table["lpn"][number]
                    for lpn in range(first, first + table["pages"][number]):
                        lost_at = max(power.cuts[cut], self.may_be_lost.get(lpn, -1))
                        self.may_be_lost[lpn] = lost_at
                elif durable < sys.maxsize:
                    self.since[number] = durable
        if not (requests.copies or (self.protected and requests.buffered)):
            self.coming = sorted(((time, n) for n, time in self.since.items()), reverse=True)

    def at(self, number: int, requests: Requests) -> int:
        """Return when the request becomes durable: others than writes when they complete."""
        if requests.table["kind"][number] == REQUEST_KINDS.index("write"):
            return self.since.get(number, sys.maxsize)
        completion = requests.completion(number)
        return completion if completion >= 0 else sys.maxsize

    def check(self, mount: Mount, flash: Flash) -> None:
        """Power is cut: what is durable is on `flash`."""
        cut, table = mount.cut, self.requests.table
        while self.coming and self.coming[-1][0] <= cut:
            since, number = self.coming.pop()
            first, arrival = table["lpn"][number], table["arrival"][number]
            for lpn in range(first, first + table["pages"][number]):
                self._becomes(flash, lpn, number, (since, arrival, cut))
        for lpn, (sequence, arrival, number) in self.newest.items():
            if flash.map["home"][lpn] >= 0 and flash.map["committed"][lpn] >= sequence:
                continue
            if flash.has_in_group(lpn, sequence, cut):
                continue
            if not self.requests.trimmed(lpn, arrival, cut):
                self._report(lpn, number, cut, f"sequence {flash.map['committed'][lpn]}")

    def _becomes(self, flash: Flash, lpn: int, number: int, times: tuple[int, int, int]) -> None:
        """Note that page `lpn` of write `number` is durable."""
        durable_since, arrival, cut = times
        flash.map.reach(lpn)
        end, sequence = flash.written.get((number, lpn), (sys.maxsize, -1))
        if end > durable_since:
            # It has been replaced before it was programmed: then what is there is newer.
            sequence = flash.map["committed"][lpn]
            writer, admission = flash.origin.get(sequence, (-1, -1))
            is_newer = writer > number or admission >= self.requests.completion(number)
            is_trimmed = self.requests.trimmed(lpn, arrival, cut)
            # Without a buffer only a missing chip spares the program.
            has = flash.has_in_group if self.requests.buffered else flash.is_computed
            if not (is_newer or is_trimmed or has(lpn, sequence, cut)):
                self._report(
                    lpn, number, cut, f"the program of request {writer}" if writer >= 0 else "none"
                )
            return
        if sequence > self.newest.get(lpn, (-1,))[0]:
            self.newest[lpn] = (sequence, arrival, number)

    def _report(self, lpn: int, number: int, cut: int, actual: str) -> None:
        expected = f"LPN {lpn} of request {number}, durable at the cut at {cut}"
        self.findings.add("durable", POWER, expected, actual)
