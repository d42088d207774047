"""Numbers of parity groups, and of the failure of chips."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from .checks import Checks
from .host_numbers import BY_OPERATION, check_stats
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
        failed = self.operations.failures.all
        if self.requests.complete and self.requests.first_measured == 0 and not failed:
            parity = counts["program", "parity"]
            for one in UPDATES:
                others = sum(checks.number(f"raid.{other}") for other in UPDATES if other != one)
                checks.exactly("raid", f"raid.{one}", parity - others)
            self._computed()
        if self.requests.complete and self.requests.first_measured == 0:
            if not self.requests.buffered:
                # What was neither without data, nor in the controller, nor read at home.
                elsewhere = ("unmapped_pages_read", "controller_pages_read")
                rest = checks.number("host.pages_read") - self.operations.pages_fetched
                rest -= sum(checks.number(f"host.{key}") for key in elsewhere)
                checks.exactly("raid", "raid.reconstructed_pages", rest)
            away = self.operations.away
            checks.within("raid", "raid.redirected", away, away)
            self._reads()
        self._failure()

    def _reads(self) -> None:
        """Check that updates of a part of a group read, unless the controller keeps the pages."""
        checks = self.checks
        read = self.operations.counts["read", "rmw"]
        saved = checks.number("raid.reads_saved")
        if not checks.number("config.raid.read_buffer_pages"):
            checks.exactly("raid", "raid.reads_saved", 0)
        updates = checks.number("raid.rmw")
        full = self.report.number("config.precondition.fill") == 1
        if full and not self.operations.failures.all and not self.requests.trims:
            # Read-modify-write reads the old data and the old parity: two pages at least.
            checks.within("raid", "raid.rmw", 0, (read + saved) / 2)
            checks.within("raid", "raid.reads_saved", max(0, 2 * updates - read), 2**62)

    def _computed(self) -> None:
        """Check the reads that are computed: each takes one to all other pages of its group."""
        reads = self.operations.counts["read", "reconstruct"]
        checks = self.checks
        checks.within("raid", "raid.reconstructions", -(-reads // (self.group - 1)), reads)

    def _failure(self) -> None:
        path = "raid.failure"
        checks = self.checks
        planned = self.report.get("config.raid.fail")
        planned = [planned] if isinstance(planned, dict) else planned or []
        come = sorted((at, one["chip"]) for one in planned if (at := _time_of(one)) <= self.end)
        if self.report.get(path) is None:
            if come and come[0][0] < self.end:
                checks.exactly("failure", path, f"chips {[chip for _, chip in come]}")
            return
        failed = self.operations.failures.all
        count = len(failed)
        checks.exactly("failure", f"{path}.chips", [chip for _, chip in come[:count]])
        checks.exactly("failure", f"{path}.failed_at", [at for at, _ in come[:count]])
        checks.exactly(
            "failure", f"{path}.group_chips", [self._group_of(each.chip) for each in failed]
        )
        spares = checks.number("config.raid.spares")
        for number, each in enumerate(failed):
            name = f"{path}.replaced_at.{number}"
            if number < spares and each.replaced is not None:
                busy = self.operations.busy_until.get(each.chip, each.failed)
                checks.within("failure", name, busy, max(busy, self.end))
            elif number >= spares:
                checks.exactly("failure", name, None)
        rebuilt = self.operations.counts["program", "rebuild"]
        if self.requests.first_measured == 0:
            done = checks.number(f"{path}.pages_rebuilt")
            checks.within("failure", f"{path}.pages_rebuilt", max(0, rebuilt - 4096), rebuilt)
            if count == 1:
                lost, trims = self.operations.flash.lost_at_once, self.requests.trims.values()
                gone = sum(at <= failed[0].failed for each in trims for at, _ in each)
                # A TRIM may take the parity of its group along.
                low = max(0, lost - 2 * gone)
                checks.within("failure", f"{path}.pages_lost", low, lost)
            most = checks.number(f"{path}.pages_lost") - done
            more = checks.number(f"{path}.pages_not_programmed")
            checks.within("failure", f"{path}.pages_left", 0, max(0, most + more))
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
        failed = self.operations.failures.all
        checks = self.checks
        over = self.report.number(f"{path}.rebuilt_at")
        if over is not None:
            replaced = [each.replaced or self.end for each in failed]
            checks.within("failure", f"{path}.rebuilt_at", max(replaced), self.end)
        last = max(self.requests.log.completions, default=self.since)
        if self.requests.complete and not self.requests.buffered:
            after = max(0, self.end - last)
            checks.exactly("failure", f"{path}.after_requests", after)
        if len(failed) != 1 or not self.requests.complete:
            return
        until = self.end if over is None else int(over)
        since = max(failed[0].failed, self.since)
        checks.exactly("failure", f"{path}.degraded", max(0, until - since))
        log = self.requests.log
        first, last = bisect_left(log.completions, since), bisect_right(log.completions, until)
        edges = {since, until} & {*log.completions[first:last]}
        if edges:
            return
        for kind in BY_OPERATION[:2]:
            rows = zip(log.groups[first:last], log.latencies[first:last], strict=True)
            check_stats(checks, f"{path}.{kind}", [n for (of, *_), n in rows if of == kind])


def _time_of(failure: dict[str, int]) -> int:
    """The time at which a chip fails, ns."""
    return next(value for key, value in failure.items() if key.startswith("at"))
