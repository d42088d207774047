"""Owners of pages where power is cut: which versions every LPN may hold.

A cut ends requests that had not completed, and takes back writes that were not durable: what an LPN
holds then is one of the versions since its last durable change. What had not completed is admitted
again after the mount, in the order of ids. A page that a copy programs for its destination holds
the version of its source: after a mount the destination may have either page.
"""

from __future__ import annotations

import bisect
import sys
from collections import Counter
from typing import TypeAlias

from .durable import DurableWrites
from .inputs import POWER, REPORT, Op, Report
from .owners import Owners, Version
from .parity import Parity
from .power import Mount
from .requests import Requests

Versions: TypeAlias = "frozenset[Version | None]"
Request: TypeAlias = "tuple[int, int, str, int, int, list[int]]"
NOTHING: Versions = frozenset([None])
AGAIN = 1 << 40
"""Added to the id of a request in a version when it is admitted again."""
FIRM = -1
"""The request of what no cut takes back."""


class OwnersUnderCuts(Owners):
    """As `Owners`, with sets of versions."""

    def prepare(self, requests: Requests) -> None:
        """Start before the first operation."""
        self.by_id = requests
        self.sets: dict[int, list[tuple[Versions, int]]] = {}
        self.certain: Counter[Version] = Counter()
        self.read_for: dict[tuple[int, int], Version] = {}
        self.applied: list[Request] = []
        self.again: list[Request] = []
        self.mounted_at = 0
        self.cuts = 0
        self.repeated = 0
        self.given: dict[tuple[int, int], Version] = {}

    def _current(self, lpn: int) -> Versions:
        history = self.sets.get(lpn)
        return history[-1][0] if history else NOTHING

    def _set(self, lpn: int, version: Version | None, time: int) -> None:
        if version is not None:
            self.newest[lpn] = version
        self._put(lpn, frozenset([version]), time, FIRM)

    def _put(self, lpn: int, versions: Versions, time: int, number: int) -> None:
        for current, change in ((self._current(lpn), -1), (versions, 1)):
            if len(current) == 1:
                self.certain.update({version: change for version in current if version is not None})
        self.times.setdefault(lpn, []).append(time)
        self.sets.setdefault(lpn, []).append((versions, number))

    def _admit(self, now: int) -> None:
        if self.again and now >= self.mounted_at:
            repetitions, self.again = self.again, []
            self.repeated += AGAIN
            for request in repetitions:
                self._apply(request, self.mounted_at)
        while self.next < len(self.requests) and self.requests[self.next][1] <= now:
            request = self.requests[self.next]
            self.next += 1
            self._apply(request, max(request[1], self.mounted_at))

    def _apply(self, request: Request, time: int) -> None:
        number, _, kind, lpn, pages, sources = request
        self.applied.append(request)
        for i in range(pages):
            page = lpn + i
            if kind == "write":
                version = (number + self.repeated, page)
                self.given[number, page] = version
                self._put(page, frozenset([version]), time, number)
            elif kind == "trim":
                self._put(page, NOTHING, time, number)
            elif kind == "copy":
                self._put(page, self._current(sources[i]), time, number)

    def cut(self, mount: Mount, durable: DurableWrites) -> None:
        """Power is cut: find what every LPN may hold now, and what is admitted again."""
        cut = mount.cut
        self._admit(cut)
        self.cuts += 1
        completions = {request[0]: self.by_id.completion(request[0]) for request in self.applied}
        for lpn in {
            lpn for request in self.applied for lpn in range(request[3], request[3] + request[4])
        }:
            history = self.sets.get(lpn, [])
            candidates: set[Version | None] = set()
            for versions, number in reversed(history):
                candidates |= versions
                if number == FIRM or durable.at(number, self.by_id) <= cut:
                    break
            else:
                candidates.add(None)
            self._put(lpn, frozenset(candidates), cut, FIRM)
        self.again = sorted(
            request for request in self.applied if not 0 <= completions[request[0]] <= cut
        )
        self.applied, self.mounted_at = [], mount.end
        if durable.protected or not self.complete:
            return
        for version, owners in self.certain.items():
            if owners > 0 and not self.places.get(version):
                lpns, request = self._holding(version), version[0] % AGAIN
                expected = f"LPN {lpns} of request {request}, durable at the cut at {cut}"
                self.findings.add("durable", f"{POWER}:{mount.line}", expected, "none")

    def reads_for_copy(self, op: Op, sequence: int) -> None:
        """The page that a copy programs for its destination holds what it has read."""
        version = self.of_sequence.get(sequence)
        if version is not None:
            self.read_for[op.request, op.lpn] = version

    def program(self, op: Op, address: int) -> None:
        """A page is programmed, perhaps with data of another LPN."""
        self._admit(op.start)
        if op.cause == "host":
            self.of_sequence[op.sequence] = self.given.get((op.request, op.lpn), (-2, op.lpn))
        elif op.cause == "remap" and (op.request, op.lpn) in self.read_for:
            self.of_sequence[op.sequence] = self.read_for.pop((op.request, op.lpn))
        version = self.of_sequence.get(op.sequence)
        if version is not None:
            self.places.setdefault(version, set()).add(address)

    def source_of(self, op: Op, sequences: set[int]) -> int:
        """Return the number of the page whose copy `op` programs, of those read.

        The copy carries an owner and its number, which need not be those of its source.
        """
        if op.sequence in sequences:
            return op.sequence
        # It may be that of a copy that has arrived while the page was read.
        self._admit(op.start)
        version_of_sequence = self.of_sequence.get(op.sequence)
        candidates = [
            candidate for versions, _ in self.sets.get(op.lpn, []) for candidate in versions
        ]
        for version in [version_of_sequence] if version_of_sequence else reversed(candidates):
            for sequence in sequences:
                if version is not None and self.of_sequence.get(sequence) == version:
                    self.of_sequence[op.sequence] = version
                    return sequence
        return op.sequence

    def read(self, op: Op, sequence: int, arrival: int) -> None:
        """A page is read for the host: its LPN may have held it since the request arrived."""
        self._admit(op.start)
        times = self.times.get(op.lpn, [])
        first = max(0, bisect.bisect_left(times, arrival) - 1)
        candidates = {
            candidate for versions, _ in self.sets.get(op.lpn, [])[first:] for candidate in versions
        }
        actual = self.of_sequence.get(sequence)
        if self.complete and (actual is None or actual not in candidates):
            expected = f"a version of LPN {op.lpn} in {sorted(v for v in candidates if v)}"
            self.findings.add("read-owner", op.place, expected, actual)

    def _count(self, version: Version) -> int:
        """How many LPNs hold a version for certain."""
        return self.certain[version]

    def _holding(self, version: Version) -> list[int]:
        """The LPNs that hold it for certain."""
        return [lpn for lpn in self.sets if self._current(lpn) == {version}]

    def finish(self, report: Report, parity: Parity) -> None:
        """Compare owners with the report, if it is known what every LPN holds."""
        del parity
        self._admit(sys.maxsize)
        live = [version for version, count in self.certain.items() if count > 0]
        lost_versions = [version for version in live if not self.places.get(version)]
        if lost_versions:
            self.findings.add(
                "lost-owner", REPORT, "every newest version on flash", lost_versions[:5]
            )
        current_versions = [self._current(lpn) for lpn in self.sets]
        open_ = sum(len(versions) > 1 for versions in current_versions)
        mapped_count = sum(versions != NOTHING for versions in current_versions)
        if self.copies_pages:
            # A page may have further owners since a cut, and how many is not in the logs.
            return
        # Of a page that collection had moved, a mount may leave some owners where they were.
        copies = [len(self.places.get(version, ())) for version in live if self.cuts]
        duplicates = sum(count - 1 for count in copies if count > 1)
        extra_owners = mapped_count - open_ - len(live)
        for path, low, high in (
            ("device.valid_pages", len(live) - open_, len(live) + open_ + duplicates),
            ("remap.extra_owners", extra_owners - open_ - duplicates, extra_owners + open_),
        ):
            actual = report.number(path) or 0
            if not low <= actual <= high:
                self.findings.add("owners", f"{REPORT}:{path}", f"{low} to {high}", actual)
