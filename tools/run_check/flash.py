"""Flash contents: page order, erase before program, and where the newest data lies."""

from __future__ import annotations

import heapq
import sys
from array import array
from bisect import bisect_left, bisect_right
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from .cuts import Cuts
from .failure import Failures
from .history import History
from .inputs import (
    COPIES,
    OPS,
    REPORT,
    REQUEST_KINDS,
    STATE,
    STATE_COLUMNS,
    Findings,
    Geometry,
    Op,
    Report,
    Table,
    numbers,
    rows,
)
from .owners import Owners
from .parity import Parity
from .power import Power
from .requests import Requests

SECTIONS = {"gc": "gc", "wear": "wear", "fold": "slc"}
"""The section of the report for the copies of each cause."""
WITHOUT_LPN = ("metadata",)


class Suspect(NamedTuple):
    """A page that was erased while it was the newest copy known so far."""

    place: str
    time: int
    sequence: int
    born: int


class Flash:
    """Pages and the map: what may be programmed, read and erased, and where live data is."""

    def __init__(
        self,
        geometry: Geometry,
        requests: Requests,
        findings: Findings,
        parity: Parity,
        failures: Failures,
        owners: Owners | None,
        history: History,
    ) -> None:
        """Start with every block erased; `owners`: of a run with copies."""
        self.history = history
        self.failures = failures
        self.lost: dict[int, int] = {}
        self.lost_at_once = 0
        """Pages that chips held when they failed."""
        self.owners = owners
        self.geometry = geometry
        self.requests = requests
        self.findings = findings
        self.parity = parity
        blocks = geometry.all_blocks
        self.filled = array("q", [0]) * blocks
        self.busy_until = array("q", [0]) * blocks
        self.lpn_of = array("q", [-1]) * (blocks * geometry.pages)
        self.sequence_of = array("q", [-1]) * (blocks * geometry.pages)
        # Parities that were programmed twice under one number: nothing tells their copies apart.
        self.twins: set[tuple[int, int]] = set()
        self.map = Table(
            "home", "committed", "started", "born", "done", "read", "reader", "read_line", "late"
        )
        self.pending: list[tuple[int, int, int, int, int]] = []
        self.suspects: dict[int, Suspect] = {}
        self.copies: dict[tuple[int, int], list[tuple[int, int]]] = {}
        self.copies_lost: list[int] = []
        self.moving: dict[int, str] = {}
        """The cause of each program of a copy that has not ended, by its line."""
        self.stale: dict[str, Counter[str]] = {cause: Counter() for cause in COPIES}
        """Programs of copies by whether their page was invalid by then: `certain` or `possible`."""
        self.switched: dict[int, tuple[int, int]] = {}
        """Number and end of the last program of the host to which the map has switched, by LPN."""
        self.mapped_at_first: set[int] = set()
        self.rebuilds: set[int] = set()
        """Their lines."""
        self.cuts: Cuts | None = None
        # Where power is cut: end and number of what a request wrote, and what wrote a number, when.
        self.written: dict[tuple[int, int], tuple[int, int]] = {}
        self.origin: dict[int, tuple[int, int]] = {}

    def expect_cuts(self, report: Report, power: Power) -> None:
        """Power is cut in this run."""
        if power.cuts:
            self.cuts = Cuts(self, report, power, self.findings)

    def lose_copies(self) -> None:
        """Copies that have been read and not programmed end with the power."""
        for sources in self.copies.values():
            self.copies_lost.extend(start for _, start in sources)
        self.copies.clear()

    def load(self, path: Path) -> None:
        """Start from state.csv."""
        address_of: dict[int, int] = {}
        for line, fields in rows(path, STATE_COLUMNS):
            *position, lpn, sequence, valid = numbers(STATE, line, fields)
            channel, chip, plane, block, page = position
            place = f"{STATE}:{line}"
            if not self.geometry.holds(channel, chip, plane, block, page):
                self.findings.add("geometry", place, "a page of the device", position)
                continue
            number = self.geometry.block_number(channel, chip, plane, block)
            if self.filled[number] != page:
                self.findings.add("page-order", place, f"page {self.filled[number]}", page)
            self.filled[number] = max(self.filled[number], page + 1)
            self.history.holds(number, page)
            address = number * self.geometry.pages + page
            self.lpn_of[address], self.sequence_of[address] = lpn, sequence
            address_of[line] = address
            if self.owners is not None:
                continue
            if valid == 1 and lpn >= 0:
                self.mapped_at_first.add(lpn)
                self.map.reach(lpn)
                if self.map["home"][lpn] >= 0:
                    self.findings.add("state", place, f"one valid page of LPN {lpn}", "another")
                self.map["home"][lpn] = address
                self.parity.place(lpn, channel * self.geometry.chips + chip)
                self.map["committed"][lpn] = self.map["started"][lpn] = sequence
        if self.owners is not None:
            self.owners.load(path, address_of)

    def take(self, op: Op) -> None:
        """Account one operation, in order of start."""
        if self.failures.all:
            self.heed_failures(op.start)
        if self.pending and self.pending[0][0] <= op.start:
            self.commit_all(op.start)
        if op.lpn >= 0:
            self.map.reach(op.lpn)
        block = self.geometry.block_number(op.channel, op.chip, op.plane, op.block)
        if op.kind == "program":
            self._program(op, block)
        elif op.kind == "read":
            self._read(op, block)
        else:
            self.erase(op, block)
        if op.end > self.busy_until[block]:
            self.busy_until[block] = op.end

    def heed_failures(self, now: int) -> None:
        """Chips that have failed by `now` have lost their pages; spares are erased."""
        for failure in self.failures.all:
            pages = self.geometry.pages * self.geometry.blocks * self.geometry.planes
            first = failure.chip * pages
            if failure.failed <= now and not failure.has_come:
                failure.has_come = True
                self.commit_all(failure.failed)
                for lpn, home in enumerate(self.map["home"]):
                    if first <= home < first + pages:
                        self.map["home"][lpn] = -1
                        self.lost[lpn] = self.sequence_of[home]
                        self.lost_at_once += 1
                if self.cuts is not None:
                    self.cuts.lose(range(first, first + pages))
            if failure.replaced is not None and failure.replaced <= now and not failure.is_over:
                failure.is_over = True
                self.commit_all(failure.replaced)
                for address in range(first, first + pages):
                    self.lpn_of[address] = self.sequence_of[address] = -1
                blocks = pages // self.geometry.pages
                for block in range(failure.chip * blocks, (failure.chip + 1) * blocks):
                    self.filled[block] = 0

    def has_in_group(self, lpn: int, sequence: int, now: int) -> bool:
        """Tell whether these data, or newer ones, are in a parity group.

        A cut may have undone an update that is newer than all of them.
        """
        if self.cuts is None or not self.cuts.groups:
            return False
        return self.cuts.holds(lpn, sequence) or self.is_computed(lpn, sequence, now)

    def is_computed(self, lpn: int, sequence: int, now: int) -> bool:
        """Tell whether the group has to compute the page, and has a parity that is not older.

        That is if the chip on which it is at home has failed by `now`.
        """
        if self.cuts is None or not self.cuts.groups:
            return False
        home = self.parity.home(lpn)
        has_failed = any(
            each.failed <= now and (each.chip == home or self.parity.redirects)
            for each in self.failures.all
        )
        return has_failed and self.cuts.holds(self.parity.parity_of(lpn), sequence)

    def commit_all(self, now: int) -> None:
        """Switch the map for programs that ended by `now` and are not outdated."""
        while self.pending and self.pending[0][0] <= now:
            end, line, lpn, sequence, address = heapq.heappop(self.pending)
            if line in self.moving:
                self._judge_copy(self.moving.pop(line), end, lpn, sequence)
            else:
                self._switch(end, lpn, sequence)
            is_gone = bool(self.failures.all) and self._is_gone(address, end)
            if self.cuts is not None and not is_gone:
                self.cuts.put(lpn, sequence, address)
            if sequence >= self.map["committed"][lpn]:
                self.map["committed"][lpn] = sequence
                self.map["home"][lpn] = address
                if is_gone:
                    self.map["home"][lpn] = -1
                    self.lost[lpn] = sequence

    def _switch(self, end: int, lpn: int, sequence: int) -> None:
        """A host program switches the map if its write is the newest that was admitted by then."""
        if sequence < self.map["started"][lpn]:
            return
        born = self.map["born"][lpn]
        arrivals = self.requests.writes.get(lpn, [])
        newer_count = bisect_left(arrivals, end) - bisect_right(arrivals, born)
        if newer_count <= 0:
            self.switched[lpn] = (sequence, end)

    def _judge_copy(self, cause: str, end: int, lpn: int, sequence: int) -> None:
        """Tell whether the page of a copy was overwritten or trimmed before its program ended."""
        newest, since = self.switched.get(lpn, (-1, -1))
        overtaking = self.map["started"][lpn] > sequence
        born = -1 if overtaking else self.map["born"][lpn]
        trims = [trim for trim, _ in self.requests.trims.get(lpn, ()) if born <= trim <= end]
        is_replaced = newest > sequence and since < end
        if is_replaced or (not overtaking and any(born < trim < end for trim in trims)):
            self.stale[cause]["certain"] += 1
        elif trims or overtaking:
            self.stale[cause]["possible"] += 1

    def _is_gone(self, address: int, end: int) -> bool:
        """Tell whether a program that ended at `end` met the failure of its chip."""
        chip = self.failures.chip_of(address)
        return any(
            failure.chip == chip
            and failure.has_come
            and failure.failed < end
            and (failure.replaced is None or failure.replaced >= end)
            for failure in self.failures.all
        )

    def _program(self, op: Op, block: int) -> None:
        expected = self.filled[block]
        if op.page != expected:
            rule, words = "page-order", f"page {expected}"
            if op.page < expected:
                rule, words = "erase-before-program", f"page {expected} or an erase"
            self.findings.add(rule, f"{OPS}:{op.line}", words, f"page {op.page}")
        self.filled[block] = op.page + 1
        address = block * self.geometry.pages + op.page
        self.lpn_of[address], self.sequence_of[address] = op.lpn, op.sequence
        if op.lpn < 0 or op.cause in WITHOUT_LPN:
            self.lpn_of[address] = -1
            return
        if self.cuts is not None:
            self.cuts.program(op, address)
        if op.cause in COPIES:
            self._match_copy(op)
        if op.cut:
            self.lpn_of[address] = self.sequence_of[address] = -1
            return
        if self.owners is not None:
            self.owners.program(op, address)
        if op.cause in COPIES:
            self.moving[op.line] = op.cause
        elif op.cause == "rebuild":
            self.rebuilds.add(op.line)
            lost_sequence = self.lost.pop(op.lpn, -1)
            # What was written without its chip has no line of its own: its number is greater. What
            # a cut has undone was not lost, and a mount does not know the number of a lost parity.
            if op.sequence < lost_sequence and self.cuts is None:
                as_lost = f"LPN {op.lpn} as it was lost, sequence {lost_sequence}"
                self.findings.add("rebuild", f"{OPS}:{op.line}", as_lost, op.sequence)
        else:
            self._admit(op)
        heapq.heappush(self.pending, (op.end, op.line, op.lpn, op.sequence, address))

    def _match_copy(self, op: Op) -> None:
        # A copy of a page with several owners may carry another of them.
        key = (op.lpn, op.sequence)
        if self.owners is not None:
            key = (-1, self.owners.source_of(op, {sequence for _, sequence in self.copies}))
        sources = self.copies.get(key)
        actual = "none"
        if sources:
            end, _ = sources.pop(0)
            if not sources:
                del self.copies[key]
            if end <= op.start:
                return
            actual = f"one that ends at {end}"
        expected = f"a {op.cause} read of LPN {op.lpn} sequence {op.sequence} by {op.start}"
        self.findings.add("gc-copy", f"{OPS}:{op.line}", expected, actual)

    def _admit(self, op: Op) -> None:
        """Note a program of host data; settle what depended on when it was admitted."""
        lpn, arrival = op.lpn, self.requests.arrival(op.request)
        admission = arrival
        if self.cuts is not None:
            # It may have been admitted again after a mount.
            admission = max(arrival, self.cuts.mounted_at)
            self.written[op.request, lpn] = (op.end, op.sequence)
            self.origin[op.sequence] = (op.request, admission)
        if op.cause == "parity" and op.sequence == self.map["started"][lpn]:
            self.twins.add((lpn, op.sequence))
        if op.sequence > self.map["started"][lpn]:
            self.map["late"][lpn] = admission
            self.map["started"][lpn] = op.sequence
            self.map["born"][lpn] = arrival if arrival >= 0 else op.queued
            self.map["done"][lpn] = self.requests.completion(op.request)
        suspect = self.suspects.get(lpn)
        if suspect is not None and op.sequence > suspect.sequence:
            admitted = min(op.queued, arrival) if arrival >= 0 else op.queued
            if admitted <= suspect.time:
                del self.suspects[lpn]
        is_older = -1 < self.map["read"][lpn] < op.sequence
        if is_older and self.requests.precedes(op.request, self.map["reader"][lpn]):
            place = f"{OPS}:{self.map['read_line'][lpn]}"
            completion = self.requests.completion(op.request)
            expected = f"sequence {op.sequence} of LPN {lpn}, acknowledged at {completion}"
            self.findings.add("read-newest", place, expected, f"sequence {self.map['read'][lpn]}")

    def _read(self, op: Op, block: int) -> None:
        address = block * self.geometry.pages + op.page
        if op.page >= self.filled[block]:
            actual = f"page {op.page} erased"
            self.findings.add("read-content", f"{OPS}:{op.line}", "a programmed page", actual)
            return
        if self.cuts is not None and not self.cuts.read(op, address):
            return
        content = (self.lpn_of[address], self.sequence_of[address])
        expected_content = (op.lpn, op.sequence if op.sequence >= 0 else content[1])
        if op.cause in WITHOUT_LPN:
            return
        # Of a page with several owners any may be named.
        if content[1] != expected_content[1] or (
            self.owners is None and content != expected_content
        ):
            expected = f"LPN, sequence {expected_content}"
            self.findings.add("read-content", f"{OPS}:{op.line}", expected, content)
        if op.cause in COPIES:
            key = (op.lpn if self.owners is None else -1, op.sequence)
            self.copies.setdefault(key, []).append((op.end, op.start))
        if self.owners is not None:
            if op.cause == "remap":
                self.owners.reads_for_copy(op, self.sequence_of[address])
            if op.cause == "host" and op.request >= 0:
                arrival = self.requests.arrival(op.request)
                self.owners.read(op, self.sequence_of[address], arrival)
            return
        if op.cause == "host" and op.lpn >= 0 and op.sequence >= 0:
            self._check_newest(op)

    def _check_newest(self, op: Op) -> None:
        """No newer write committed before the read starts, none acknowledged before it arrived."""
        lpn = op.lpn
        actual = f"sequence {op.sequence}"
        committed = self.map["committed"][lpn]
        if (lpn, committed) in self.parity.undone:
            return
        if committed > op.sequence:
            expected = f"sequence {committed} of LPN {lpn}, committed before {op.start}"
            self.findings.add("read-newest", f"{OPS}:{op.line}", expected, actual)
        elif op.sequence == self.map["started"][lpn]:
            born = self.map["late"][lpn]
            for trim, number in self.requests.trims.get(lpn, ()):
                if born < trim and self.requests.precedes(number, op.request):
                    expected = f"nothing: LPN {lpn} was trimmed at {trim}"
                    self.findings.add("read-newest", f"{OPS}:{op.line}", expected, actual)
                    break
        self.map["read"][lpn], self.map["reader"][lpn] = op.sequence, op.request
        self.map["read_line"][lpn] = op.line

    def erase(self, op: Op, block: int) -> None:
        """Account an erase, of the run or of a mount."""
        if self.cuts is not None:
            self.cuts.erase(op, block)
        if op.start < self.busy_until[block]:
            expected = f"no operation on the block after {op.start}"
            actual = f"one until {self.busy_until[block]}"
            self.findings.add("erase-in-flight", op.place, expected, actual)
        first = block * self.geometry.pages
        if self.owners is not None:
            pages = range(first, first + self.filled[block])
            self.owners.erase(op, {page: self.sequence_of[page] for page in pages})
            self.filled[block] = 0
            return
        for address in range(first, first + self.filled[block]):
            lpn = self.lpn_of[address]
            self.lpn_of[address] = -1
            copy = -1
            if lpn >= 0 and self.cuts is not None:
                copy = self.cuts.other(lpn, self.sequence_of[address], address)
            if lpn < 0 or self.map["home"][lpn] != address:
                continue
            self.map["home"][lpn] = copy
            if copy >= 0:
                continue
            sequence, born = self.sequence_of[address], self.map["born"][lpn]
            dead = self.map["started"][lpn] > sequence
            if (
                not dead
                and (lpn, sequence) not in self.twins
                and (lpn, sequence) not in self.parity.undone
                and not self.parity.may_be_dropped(lpn, self.requests)
                and (not self.requests.trimmed(lpn, born, op.start))
            ):
                self.suspects[lpn] = Suspect(op.place, op.start, sequence, born)
        self.filled[block] = 0

    def finish(self, report: Report) -> None:
        """Report data that was lost, and compare the number of live pages at the run's end.

        Operations that run at the end of the run are in the log and not in its report.
        """
        if self.owners is not None:
            if self.cuts is not None:
                self.cuts.finish(sys.maxsize)
            if self.requests.complete:
                self.owners.finish(report, self.parity)
            return
        since, length = report.number("time.measured_from"), report.number("time.simulated")
        end = sys.maxsize if length is None else int((since or 0) + length)
        self.heed_failures(end)
        self._leave_out_rebuilds(end)
        last = sys.maxsize if self.requests.complete else end
        if self.cuts is not None:
            self.cuts.finish(last)
        self.commit_all(last)
        if self.requests.buffered:
            self._clear_buffered()
        if self.failures.all:
            self._clear_unprogrammed()
        if self.requests.complete:
            self._find_lost()
        for lpn, suspect in self.suspects.items():
            expected = f"LPN {lpn} sequence {suspect.sequence} copied, overwritten or trimmed"
            self.findings.add("erase-live", suspect.place, expected, "its newest copy")
        self.findings.look("device.valid_pages")
        claimed = report.number("device.valid_pages")
        if claimed is None:
            return
        birth, home = self.map["born"], self.map["home"]
        live = sum(1 for address in home if address >= 0)
        uncertainty = self.parity.droppable(self.requests) + self.requests.trims_unknown(report)
        uncertainty += len({lpn for lpn, _ in self.parity.undone})
        uncertainty += len(self.twins)
        for lpn in self.requests.trims:
            if lpn < self.map.size and home[lpn] >= 0:
                live -= self.requests.trimmed(lpn, birth[lpn], sys.maxsize)
                uncertainty += birth[lpn] >= 0
        if abs(live - claimed) > uncertainty:
            actual = f"{claimed} (allowed: {uncertainty})"
            self.findings.add("valid-pages", f"{REPORT}:device.valid_pages", live, actual)

    def _leave_out_rebuilds(self, end: int) -> None:
        """Take away rebuilds that the end of the run leaves under way: their pages stay lost."""
        self.commit_all(end)
        self.pending = [entry for entry in self.pending if entry[1] not in self.rebuilds]
        heapq.heapify(self.pending)

    def _find_lost(self) -> None:
        """Each acknowledged write ends on flash, unless overtaken."""
        for lpn, arrival in enumerate(self.requests.last_write["arrival"]):
            if arrival < 0 or self.requests.trimmed(lpn, arrival, sys.maxsize):
                continue
            completion = self.requests.last_completion(lpn)
            if self.cuts is not None and self.cuts.durable.may_be_lost.get(lpn, -1) >= arrival:
                continue
            # What a write buffer keeps is written later.
            until = sys.maxsize if self.requests.buffered else completion
            if self.parity.may_be_missing(lpn, arrival, until, self.failures):
                continue
            is_mapped = lpn < self.map.size
            born, completion = (
                (self.map["born"][lpn], self.map["done"][lpn]) if is_mapped else (-1, -1)
            )
            if born < 0 or (born < arrival and 0 <= completion < arrival):
                expected = f"a program of LPN {lpn} for the write that arrived at {arrival}"
                actual = f"the newest one written at {born}" if born >= 0 else "none"
                self.findings.add("lost-write", OPS, expected, actual)

    def _clear_unprogrammed(self) -> None:
        """Clear suspects replaced by what an update did not program, as its chip was missing.

        The group knows the new data, or a parity that is gone, and no line of the log does.
        """
        table = self.requests.table
        changes = (REQUEST_KINDS.index("write"), REQUEST_KINDS.index("trim"))
        for number, kind in enumerate(table["kind"]):
            if kind not in changes or not self.suspects:
                continue
            arrival, first = table["arrival"][number], table["lpn"][number]
            completion = self.requests.completion(number)
            pages = range(first, first + table["pages"][number])
            for lpn in {*pages, *(self.parity.parity_of(page) for page in pages)}:
                suspect = self.suspects.get(lpn)
                if suspect is None or not suspect.born < arrival <= suspect.time:
                    continue
                until = completion if completion >= 0 else suspect.time
                if self.parity.may_be_missing(lpn, arrival, until, self.failures):
                    del self.suspects[lpn]

    def _clear_buffered(self) -> None:
        """Clear suspects overwritten in the controller by a write that never reached flash."""
        table = self.requests.table
        write = REQUEST_KINDS.index("write")
        for number, kind in enumerate(table["kind"]):
            if kind != write:
                continue
            arrival, lpn = table["arrival"][number], table["lpn"][number]
            for page in range(lpn, lpn + table["pages"][number]):
                suspect = self.suspects.get(page)
                if suspect is not None and suspect.born < arrival <= suspect.time:
                    del self.suspects[page]
