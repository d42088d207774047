"""Parity groups: which pages an update reads and programs, in which order, and on which chips."""

from __future__ import annotations

import sys
from collections import defaultdict

from .failure import Failures
from .inputs import OPS, REQUEST_KINDS, Findings, Geometry, Op, Report
from .requests import Requests


class Update:
    """What the log says of an update of one group."""

    __slots__ = (
        "begun",
        "beside_until",
        "data",
        "end",
        "first_program",
        "line",
        "parity",
        "programs",
        "queued",
        "read_until",
    )

    def __init__(self, line: int, start: int) -> None:
        """Start with its first operation, in line `line` of the log, at `start`."""
        self.line = line
        self.begun = start
        self.end = start
        # When its programs were queued.
        self.queued = -1
        self.data: set[int] = set()
        # LPNs and admission numbers of what it has programmed.
        self.programs: list[tuple[int, int]] = []
        self.parity = 0
        self.read_until = -1
        self.first_program = -1
        # Until when pages of the group are read for a computation that has begun beside it.
        self.beside_until = -1


class Parity:
    """Groups of `config.raid.group` chips; nothing to check without it.

    The data of group q are the LPNs from q * (g - 1) on, its parity is LPN `user pages + q`. A
    request changes a group once: it programs the parity once, and what it programs of the group
    starts after all its reads for it have ended. At the end the pages of a group are on different
    chips, unless trims may have taken some away.

    A reconstruction (causes `reconstruct` and `rebuild`) reads a group between its updates: no
    update begins meanwhile, or what it reads does not belong together. It may begin beside an
    update that has begun, between its operations too, which then commits after it; not where chips
    fail.

    With a write buffer, or where updates merge, pages of several requests are one update, which
    programs all its pages in one instant after its last read; the requests do not tell it apart.
    Where writes are redirected, that instant is not logged, and what one update does is not
    checked.
    """

    def __init__(
        self,
        geometry: Geometry,
        report: Report,
        findings: Findings,
        failures: Failures,
        requests: Requests,
    ) -> None:
        """Read the size of the groups."""
        self.geometry = geometry
        self.requests = requests
        self.mixes = requests.buffered or report.get("config.raid.merge") is True
        self.redirects = report.get("config.raid.redirect.policy") not in (None, "none")
        self.failures = failures
        self.updated_until: dict[int, int] = defaultdict(lambda: -1)
        # Start and end of reads for computations, by group.
        self.computed: dict[int, list[tuple[int, int]]] = defaultdict(list)
        self.latest: dict[int, Update] = {}
        self.findings = findings
        self.group = report.whole("config.raid.group", 0)
        self.user = report.whole("device.user_pages", 0)
        self.updates: dict[tuple[int, int], Update] = {}
        self.count = 0
        # What updates had programmed that a cut may have undone.
        self.undone: set[tuple[int, int]] = set()
        self.chips: dict[int, dict[int, int]] = defaultdict(dict)
        # By the request of a copy and the page of a source: the groups of its destination.
        self.destinations: dict[tuple[int, int], set[int]] = defaultdict(set)
        # By the request of a copy: the groups of its sources.
        self.source_groups: dict[int, set[int]] = defaultdict(set)
        self.copied_to: set[int] = set()
        # By request and group: until when sources of its pages are read.
        self.sources_until: dict[tuple[int, int], int] = defaultdict(int)

    def expect_copy(self, request: int, lpn: int, sources: list[int]) -> None:
        """Note a copy of `sources` to the pages from `lpn` on."""
        for page, source in enumerate(sources, lpn):
            self.destinations[request, source].add(self.group_of(page))
            self.source_groups[request].add(self.group_of(source))
            self.copied_to.add(page)

    def check_places(self, addresses: dict[int, set[int]]) -> None:
        """Check where the newest data of each page are: at home, or on chips of other groups.

        No two pages of a group are on one chip. What is at several addresses is not known.
        """
        by_group: dict[int, dict[int, int]] = defaultdict(dict)
        for lpn, known in addresses.items():
            if len(known) == 1:
                by_group[self.group_of(lpn)][lpn] = self.failures.chip_of(next(iter(known)))
        for group, chips in by_group.items():
            parity = self.user + group
            if parity in self.chips.get(group, {}):
                chips[parity] = self.chips[group][parity]
            strays = [
                lpn
                for lpn, chip in chips.items()
                if chip != self.home(lpn) and self._set_of(chip) == self._set_of(self.home(lpn))
            ]
            if strays:
                expected = f"pages of group {group} at home or on chips of other groups"
                self.findings.add("parity-chips", OPS, expected, strays)
            if len(set(chips.values())) < len(chips):
                self.findings.add("parity-chips", OPS, f"group {group} on different chips", chips)

    def _set_of(self, chip: int) -> int:
        """Return the number of the chips that form groups with `chip`."""
        channel, place = divmod(chip, self.geometry.chips)
        return (place * self.geometry.channels + channel) // self.group

    def _reads_source(self, op: Op) -> None:
        """Account the read of the source of a copy."""
        for group in self.destinations.get((op.request, op.lpn), ()):
            key = (op.request, group)
            self.sources_until[key] = max(self.sources_until[key], op.end)

    def group_of(self, lpn: int) -> int:
        """Return the group of a page."""
        return lpn - self.user if lpn >= self.user else lpn // (self.group - 1)

    def parity_of(self, lpn: int) -> int:
        """Return the page with the parity of the group of a page."""
        return self.user + self.group_of(lpn)

    def place(self, lpn: int, chip: int) -> None:
        """Note that the newest data of `lpn` lie on `chip`, counted over the device."""
        if self.group > 0:
            self.chips[self.group_of(lpn)][lpn] = chip

    def belongs(self, op: Op, first: int, last: int) -> bool:
        """Tell whether a write of the pages `first` to `last` may read or program this one."""
        if self.group > 0 and op.cause == "remap":
            return (op.request, op.lpn) in self.destinations
        if self.group == 0 or op.cause not in ("rmw", "parity", "reconstruct"):
            return False
        if op.cause == "reconstruct" and self.group_of(op.lpn) in self.source_groups[op.request]:
            return True
        return self.group_of(first) <= self.group_of(op.lpn) <= self.group_of(last)

    def may_be_dropped(self, lpn: int, requests: Requests) -> bool:
        """Tell whether `lpn` is the parity of a group of which trims may have left no data."""
        if self.group == 0 or lpn < self.user:
            return False
        first = (lpn - self.user) * (self.group - 1)
        return any(page in requests.trims for page in range(first, first + self.group - 1))

    def droppable(self, requests: Requests) -> int:
        """Count the groups of which trims may have left no data."""
        return len({self.group_of(lpn) for lpn in requests.trims}) if self.group > 0 else 0

    def take(self, op: Op) -> None:
        """Account one operation, in order of start."""
        if self.group == 0 or op.kind == "erase":
            return
        if op.cause in ("reconstruct", "rebuild"):
            self._computes(op)
        if op.cause == "remap" and op.kind == "read":
            self._reads_source(op)
            return
        if op.cause not in ("host", "rmw", "parity", "remap"):
            return
        place = f"{OPS}:{op.line}"
        if (op.cause == "parity") != (op.lpn >= self.user):
            kind = "parity" if op.lpn >= self.user else "data"
            if op.cause != "rmw":
                self.findings.add("parity-lpn", place, f"cause of a page of {kind}", op.cause)
        if op.kind == "read" and (op.cause == "host" or self._reads_rest(op)):
            return
        group = self.group_of(op.lpn)
        if op.start < self.sources_until.get((op.request, group), 0):
            until = self.sources_until[op.request, group]
            expected = f"an update of group {group} after the sources of its copy, at {until}"
            self.findings.add("parity-order", place, expected, f"one at {op.start}")
        self.updated_until[group] = max(self.updated_until[group], op.end)
        if self.mixes and self.redirects:
            if op.kind == "program":
                self.place(op.lpn, op.channel * self.geometry.chips + op.chip)
            return
        update = self._update_of(op, group)
        update.end = max(update.end, op.end)
        self.latest[group] = update
        self._beside(op, group, update)
        if op.kind == "read":
            update.read_until = max(update.read_until, op.end)
            if update.first_program >= 0:
                expected = f"reads of group {group} before its program at {update.first_program}"
                self.findings.add("parity-order", place, expected, f"one at {op.start}")
            return
        if update.first_program < 0:
            update.first_program = op.start
        if op.start < update.read_until:
            expected = f"a program of group {group} after its reads, at {update.read_until}"
            self.findings.add("parity-order", place, expected, f"one at {op.start}")
        update.programs.append((op.lpn, op.sequence))
        if op.cause == "parity":
            update.parity += 1
        else:
            update.data.add(op.lpn)
        self.place(op.lpn, op.channel * self.geometry.chips + op.chip)

    def cut(self, time: int) -> None:
        """Power is cut: what the updates that had not completed do is not checked.

        Programs that had not started are in no log, and the requests come again.
        """
        ends = {request: self.requests.completion(request) for request, _ in self.updates}
        for key in [key for key in self.updates if not 0 <= ends[key[0]] <= time]:
            self.undone.update(self.updates.pop(key).programs)
        self.latest.clear()
        self.updated_until.clear()
        self.computed.clear()

    def _reads_rest(self, op: Op) -> bool:
        """Tell whether it reads for a read of the host what the write buffer lacks."""
        is_known = self.requests.buffered and self.requests.known(op.request)
        return is_known and REQUEST_KINDS[self.requests.table["kind"][op.request]] == "read"

    def _update_of(self, op: Op, group: int) -> Update:
        """Return the update to which an operation of `group` belongs."""
        if not self.mixes:
            return self.updates.setdefault((op.request, group), Update(op.line, op.start))
        update = self.latest.get(group)
        queued = op.queued if op.kind == "program" else -1
        if update is None or (update.queued >= 0 and update.queued != queued):
            update = Update(op.line, op.start)
            self.count += 1
            self.updates[self.count, group] = update
        if queued >= 0:
            update.queued = queued
        return update

    def _beside(self, op: Op, group: int, update: Update) -> None:
        """Check that an operation of an update waits for the computations under way."""
        running = [interval for interval in self.computed[group] if interval[1] > op.start]
        self.computed[group] = running
        earlier_ends = [end for start, end in running if start < update.begun or self.failures.all]
        if earlier_ends:
            expected = f"no update of group {group} before {max(earlier_ends)}"
            self.findings.add(
                "parity-lock", f"{OPS}:{op.line}", expected, f"a {op.kind} at {op.start}"
            )
        for _, end in running:
            update.beside_until = max(update.beside_until, end)

    def _computes(self, op: Op) -> None:
        """Account an operation of a reconstruction.

        An update of the group that is under way commits after it, where no chip fails; where one
        may, none is under way.
        """
        group = self.group_of(op.lpn)
        self.computed[group].append((op.start, op.end))
        if op.start < self.updated_until[group] and not self.failures.all:
            update = self.latest[group]
            update.beside_until = max(update.beside_until, op.end)
        elif op.start < self.updated_until[group]:
            expected = f"group {group} read after its update, at {self.updated_until[group]}"
            self.findings.add("parity-lock", f"{OPS}:{op.line}", expected, f"one at {op.start}")
        if op.kind == "program":
            self.place(op.lpn, op.channel * self.geometry.chips + op.chip)

    def home(self, lpn: int) -> int:
        """Return the chip at home on which `lpn` is, counted over the device."""
        channels, chips = self.geometry.channels, self.geometry.chips
        group = self.group_of(lpn)
        stripe, k = divmod(group, channels * chips // self.group)
        parity = self.group - 1 - stripe % self.group
        member = lpn - group * (self.group - 1)
        member = parity if lpn >= self.user else member + (member >= parity)
        unit = k * self.group + member
        return unit % channels * chips + unit // channels

    def may_be_missing(self, lpn: int, since: int, until: int, failures: Failures) -> bool:
        """Tell whether a write of `lpn` from `since` to `until` may have met a missing chip."""
        return self.group > 0 and failures.is_missing(self.home(lpn), since, until)

    def _between(self) -> dict[int, tuple[int, int]]:
        """Return when each update of several requests may have met a missing chip.

        That is after the one before it in its group and before the next one: it may be planned
        before its first operation starts, and what waited for a chip that failed is not logged.
        """
        times: dict[int, tuple[int, int]] = {}
        previous: dict[int, tuple[int, Update]] = {}
        for (number, group), update in self.updates.items():
            last = previous.get(group)
            times[number] = (last[1].end if last else 0, sys.maxsize)
            if last:
                times[last[0]] = (times[last[0]][0], update.begun)
            previous[group] = (number, update)
        return times

    def finish(self, requests: Requests) -> None:
        """Check what an update has done in all, and where the pages of each group are."""
        is_complete = requests.complete
        times_between = self._between()
        for (request, group), update in self.updates.items():
            parity = self.user + group
            if self.mixes:
                times = times_between[request]
            else:
                times = (requests.arrival(request), requests.completion(request))
            is_missing = self.may_be_missing(parity, *times, self.failures)
            if is_complete and update.parity != 1 and not (is_missing and update.parity == 0):
                origin = "update" if self.mixes else "request"
                expected = f"1 program of the parity of group {group} for {origin} {request}"
                self.findings.add("parity-once", f"{OPS}:{update.line}", expected, update.parity)
            if is_complete and not self.mixes and times[1] < update.beside_until:
                expected = f"request {request} completed after reads of group {group} beside it"
                line = f"{OPS}:{update.line}"
                self.findings.add("parity-lock", line, expected, f"completion at {times[1]}")
            limit = self.group - 1
            if len(update.data) > limit:
                expected = f"at most {limit} pages of group {group}"
                self.findings.add("parity-once", f"{OPS}:{update.line}", expected, update.data)
        for group, pages in self.chips.items():
            is_trimmed = any(page in requests.trims or page in self.copied_to for page in pages)
            if is_complete and not is_trimmed and len(set(pages.values())) < len(pages):
                self.findings.add("parity-chips", OPS, f"group {group} on different chips", pages)
