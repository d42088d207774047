"""Numbers of parity groups, and of the failure of chips."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from .checks import Checks
from .failure import Failure
from .host_numbers import BY_OPERATION, check_stats
from .inputs import REQUEST_KINDS
from .operations import Operations
from .requests import Requests

UPDATES = ("rmw", "rcw", "full")


class RaidNumbers:
    """What the logs say about `raid`."""

    def __init__(self, checks: Checks, requests: Requests, operations: Operations) -> None:
        """Take what was read."""
        self.checks, self.requests, self.operations = checks, requests, operations
        self.report, self.geometry = checks.report, operations.geometry
        self.since = self.report.whole("time.measured_from")
        self.end = self.since + self.report.whole("time.simulated")
        self.group = checks.number("config.raid.group")

    def check(self) -> None:
        """Compare all of them."""
        if self.report.get("raid") is None:
            self.checks.exactly("raid", "raid", None)
            return
        checks, counts = self.checks, self.operations.counts
        user = checks.number("device.user_pages")
        checks.exactly("raid", "raid.groups", user // (self.group - 1))
        failures = self.operations.failures.all
        if self.requests.complete and self.requests.first_measured == 0 and not failures:
            parity = counts["program", "parity"]
            for update in UPDATES:
                remaining = sum(
                    checks.number(f"raid.{other_update}")
                    for other_update in UPDATES
                    if other_update != update
                )
                # Programs of parity that a cut prevented are in no log.
                highest = 2**62 if self.operations.power.cuts else parity - remaining
                checks.within("raid", f"raid.{update}", parity - remaining, highest)
            self._computed()
        if self.requests.complete and self.requests.first_measured == 0:
            if not (self.requests.buffered or self.operations.power.cuts):
                # What was neither without data, nor in the controller, nor read at home.
                keys = ("unmapped_pages_read", "controller_pages_read")
                reconstructed = checks.number("host.pages_read") - self.operations.pages_fetched
                reconstructed -= sum(checks.number(f"host.{key}") for key in keys)
                checks.exactly("raid", "raid.reconstructed_pages", reconstructed)
            redirected_pages = self.operations.away
            # Those that a cut prevented are in no log.
            most = 2**62 if self.operations.power.cuts else redirected_pages
            checks.within("raid", "raid.redirected", redirected_pages, most)
            self._reads()
            self._merged(failures)
        self._failure()

    def _reads(self) -> None:
        """Check that updates of a part of a group read, unless the controller keeps the pages."""
        checks = self.checks
        read = self.operations.counts["read", "rmw"]
        saved_reads = checks.number("raid.reads_saved")
        # The source of a copy in the same group is read once.
        if not checks.number("config.raid.read_buffer_pages") and not self.requests.copies:
            checks.exactly("raid", "raid.reads_saved", 0)
        updates = checks.number("raid.rmw")
        full = self.report.number("config.precondition.fill") == 1 and not self.requests.copies
        if full and not self.operations.failures.all and not self.requests.trims:
            # Read-modify-write reads the old data and the old parity: two pages at least.
            checks.within("raid", "raid.rmw", 0, (read + saved_reads) / 2)
            checks.within("raid", "raid.reads_saved", max(0, 2 * updates - read), 2**62)

    def _merged(self, failures: Sequence[Failure]) -> None:
        """Check the updates that have joined others: each update programs its parity."""
        checks = self.checks
        if not checks.report.get("config.raid.merge"):
            checks.exactly("raid", "raid.merged", 0)
        elif not (
            self.requests.buffered or self.requests.trims or self.requests.copies or failures
        ):
            parity = self.operations.counts["program", "parity"]
            checks.exactly("raid", "raid.merged", self._groups_written() - parity)

    def _groups_written(self) -> int:
        """Count the groups that each write touches."""
        table, data = self.requests.table, self.group - 1
        rows = zip(table["kind"], table["lpn"], table["pages"], strict=True)
        return sum(
            (lpn + pages - 1) // data - lpn // data + 1
            for kind, lpn, pages in rows
            if pages > 0 and REQUEST_KINDS[kind] == "write"
        )

    def _computed(self) -> None:
        """Check the reads that are computed: each takes one to all other pages of its group."""
        reads = self.operations.counts["read", "reconstruct"]
        checks = self.checks
        checks.within("raid", "raid.reconstructions", -(-reads // (self.group - 1)), reads)

    def _failure(self) -> None:
        path = "raid.failure"
        checks = self.checks
        planned_failures = self.report.get("config.raid.fail")
        planned_failures = (
            [planned_failures] if isinstance(planned_failures, dict) else planned_failures or []
        )
        failures_so_far = sorted(
            (time, entry["chip"])
            for entry in planned_failures
            if (time := _time_of(entry)) <= self.end
        )
        if self.report.get(path) is None:
            if failures_so_far and failures_so_far[0][0] < self.end:
                checks.exactly("failure", path, f"chips {[chip for _, chip in failures_so_far]}")
            return
        failures = self.operations.failures.all
        count = len(failures)
        checks.exactly("failure", f"{path}.chips", [chip for _, chip in failures_so_far[:count]])
        checks.exactly(
            "failure", f"{path}.failed_at", [time for time, _ in failures_so_far[:count]]
        )
        checks.exactly(
            "failure", f"{path}.group_chips", [self._group_of(failure.chip) for failure in failures]
        )
        spares = checks.number("config.raid.spares")
        for number, failure in enumerate(failures):
            name = f"{path}.replaced_at.{number}"
            if number < spares and failure.replaced is not None:
                busy = self.operations.busy_until.get(failure.chip, failure.failed)
                checks.within("failure", name, busy, max(busy, self.end))
            elif number >= spares:
                checks.exactly("failure", name, None)
        rebuilt_pages = self.operations.counts["program", "rebuild"]
        if self.requests.first_measured == 0:
            pages_rebuilt = checks.number(f"{path}.pages_rebuilt")
            checks.within(
                "failure", f"{path}.pages_rebuilt", max(0, rebuilt_pages - 4096), rebuilt_pages
            )
            if count == 1 and not self.requests.copies:
                lost_pages, trims = self.operations.flash.lost_at_once, self.requests.trims.values()
                trimmed_pages = sum(
                    time <= failures[0].failed
                    for trims_of_page in trims
                    for time, _ in trims_of_page
                )
                # A TRIM may take the parity of its group along. Of what a cut has undone the group
                # holds an earlier version, perhaps on another chip.
                undone = len(self.operations.flash.parity.undone)
                low = max(0, lost_pages - 2 * trimmed_pages - undone)
                checks.within("failure", f"{path}.pages_lost", low, lost_pages + undone)
            pages_left = checks.number(f"{path}.pages_lost") - pages_rebuilt
            pages_not_programmed = checks.number(f"{path}.pages_not_programmed")
            checks.within(
                "failure", f"{path}.pages_left", 0, max(0, pages_left + pages_not_programmed)
            )
        self._degraded(path)

    def _group_of(self, chip: int) -> list[int]:
        """Return the chips of a parity group; they are counted across the channels first."""
        channels, chips = self.geometry.channels, self.geometry.chips
        channel, place = divmod(chip, chips)
        first = (place * channels + channel) // self.group * self.group
        members = range(first, first + self.group)
        return sorted(n % channels * chips + n // channels for n in members)

    def _degraded(self, path: str) -> None:
        """Check how long one chip was missing, and the latencies of that time."""
        failures = self.operations.failures.all
        checks = self.checks
        rebuilt_at = self.report.number(f"{path}.rebuilt_at")
        if rebuilt_at is not None:
            replacements = [failure.replaced or self.end for failure in failures]
            checks.within("failure", f"{path}.rebuilt_at", max(replacements), self.end)
        last = max(self.requests.log.completions, default=self.since)
        if self.requests.complete and not self.requests.buffered:
            requests_after = max(0, self.end - last)
            checks.exactly("failure", f"{path}.after_requests", requests_after)
        if len(failures) != 1 or not self.requests.complete:
            return
        until = self.end if rebuilt_at is None else int(rebuilt_at)
        since = max(failures[0].failed, self.since)
        checks.exactly("failure", f"{path}.degraded", max(0, until - since))
        log = self.requests.log
        first, last = bisect_left(log.completions, since), bisect_right(log.completions, until)
        edges = {since, until} & {*log.completions[first:last]}
        if edges:
            return
        for kind in BY_OPERATION[:2]:
            rows = zip(log.groups[first:last], log.latencies[first:last], strict=True)
            check_stats(
                checks, f"{path}.{kind}", [n for (operation, *_), n in rows if operation == kind]
            )


def _time_of(failure: dict[str, int]) -> int:
    """The time at which a chip fails, ns."""
    return next(value for key, value in failure.items() if key.startswith("at"))
