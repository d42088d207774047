"""Numbers of requests: latencies and their intervals, Little's law, rates, the write buffer."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Sequence

from .checks import Checks, batches, half_width, ratio
from .inputs import PARTS, REQUEST_KINDS
from .operations import Operations
from .requests import Requests

PERCENTILES = (
    ("p50", 500_000),
    ("p90", 900_000),
    ("p95", 950_000),
    ("p99", 990_000),
    ("p99_9", 999_000),
    ("p99_99", 999_900),
)
"""Percentiles of the report, in millionths."""
RESOLUTION = 1 / 256
"""How far a percentile may be from the value, docs/statistics.md."""
BY_OPERATION = ("read", "write", "trim", "flush")
SECOND = 1e9
"""Nanoseconds of a second."""


def rank_of(count: int, millionths: int) -> int | None:
    """Return the rank of a percentile, None with fewer than ten values beyond it."""
    if count * (1_000_000 - millionths) < 10 * 1_000_000:
        return None
    return -(-count * millionths // 1_000_000)


def check_stats(checks: Checks, path: str, latencies: Sequence[int]) -> None:
    """Compare the statistics at `path` with latencies in order of completion."""
    count = len(latencies)
    checks.exactly("latency", f"{path}.count", count)
    sorted_latencies = sorted(latencies)
    mean = sum(sorted_latencies) / count if count else None
    checks.exactly("latency", f"{path}.mean", mean)
    checks.exactly("latency", f"{path}.min", sorted_latencies[0] if count else None)
    checks.exactly("latency", f"{path}.max", sorted_latencies[-1] if count else None)
    spread = None
    if count:
        # In integers: `count` times each distance from the mean.
        total = sum(sorted_latencies)
        squares = sum((count * value - total) ** 2 for value in sorted_latencies)
        spread = math.sqrt(squares / count**3)
    checks.exactly("latency", f"{path}.stddev", spread)
    for name, millionths in PERCENTILES:
        rank = rank_of(count, millionths)
        if rank is None:
            checks.exactly("latency", f"{path}.{name}", None)
            continue
        percentile = sorted_latencies[rank - 1]
        low, high = percentile * (1 - RESOLUTION), percentile * (1 + RESOLUTION)
        low, high = max(low, sorted_latencies[0]), min(high, sorted_latencies[-1])
        checks.within("latency", f"{path}.{name}", math.floor(low), math.ceil(high))
    check_interval(checks, path, latencies)


def check_interval(checks: Checks, path: str, latencies: Sequence[int]) -> None:
    """Compare the interval of the mean with latencies in order of completion."""
    expected = half_width(batches(list(latencies)))
    actual = checks.report.number(f"{path}.ci95")
    # The two integrations of Student's distribution agree to eight digits.
    if expected is None or actual is None:
        checks.exactly("latency", f"{path}.ci95", expected)
    else:
        slack = 1e-6 * expected + 1e-6
        checks.within("latency", f"{path}.ci95", expected - slack, expected + slack)


class HostNumbers:
    """What the log of requests says about `requests`, `host`, `latency`, `little`, `time`."""

    def __init__(self, checks: Checks, requests: Requests, operations: Operations) -> None:
        """Take what was read."""
        self.checks, self.requests, self.operations = checks, requests, operations
        report = checks.report
        self.report = report
        self.since = report.whole("time.measured_from")
        self.span = report.whole("time.simulated")
        self.end = self.since + self.span
        self.cuts = report.number("power.cuts") or 0

    def check(self) -> None:
        """Compare all of them."""
        self._counts()
        self._latencies()
        self._parts()
        self._rates()
        self._little()
        self._time()
        if self.requests.complete and not self.cuts:
            self._pages()

    def _counts(self) -> None:
        totals, checks = self.requests.totals, self.checks
        for kind in BY_OPERATION:
            checks.exactly("requests", f"requests.{kind}", totals[kind].count)
        completions = sum(total.count for total in totals.values())
        checks.exactly("requests", "requests.completed", completions)
        requested_warmup = self.report.whole("config.workload.warmup_requests", 0)
        share = self.report.get("config.workload.warmup_share")
        if share and self.requests.complete:
            requested_warmup = math.floor(share * self.requests.count + 0.5)
        # A run that ends within its warm-up counts no request, so its numbers do not tell.
        is_warm = checks.number("requests.warmup") >= requested_warmup
        if is_warm and self.report.get("raid.failure.gone") in (None, []):
            submissions = checks.number("requests.submitted")
            checks.exactly("requests", "completed", submissions == completions)
        if self.requests.complete:
            checks.exactly("requests", "requests.submitted", completions)
            checks.exactly(
                "requests", "requests.warmup", min(requested_warmup, self.requests.count)
            )
            checks.exactly("requests", "host.pages_read", totals["read"].pages)
            checks.exactly("requests", "host.pages_written", totals["write"].pages)

    def _latencies(self) -> None:
        log = self.requests.log
        groups: dict[str, list[int]] = {f"latency.{kind}": [] for kind in BY_OPERATION}
        if self.report.get("remap") is not None:
            groups["remap.latency"] = []
        for (kind, volume, stream), latency in zip(log.groups, log.latencies, strict=True):
            path = "remap.latency" if kind == "copy" else f"latency.{kind}"
            groups[path].append(latency)
            if self.report.get("latency.by_volume") is None or kind == "copy":
                continue
            for name, number in (("volume", volume), ("stream", stream)):
                for operation in BY_OPERATION:
                    groups.setdefault(f"latency.by_{name}.{number}.{operation}", [])
                groups[f"latency.by_{name}.{number}.{kind}"].append(latency)
        for path, latencies in groups.items():
            check_stats(self.checks, path, latencies)

    def _parts(self) -> None:
        for kind in ("read", "write"):
            totals, path = self.requests.totals[kind], f"latency_parts.{kind}"
            if totals.count == 0:
                self.checks.exactly("latency-parts-report", path, None)
                continue
            for part, total in zip(PARTS, totals.parts, strict=True):
                mean = total / totals.count
                self.checks.exactly("latency-parts-report", f"{path}.{part}", mean)

    def _rates(self) -> None:
        page = self.report.whole("config.device.page_bytes")
        self.checks.exactly("device", "device.page_bytes", page)
        for verb, pages in (("read", "pages_read"), ("write", "pages_written")):
            moved_bytes = self.checks.number(f"host.{pages}") * page
            rate = moved_bytes * SECOND / self.span if self.span else None
            self.checks.exactly("rate", f"host.{verb}_bytes_per_s", rate)
        count = sum(total.count for total in self.requests.totals.values())
        throughput = count * SECOND / self.span if self.span else None
        self.checks.exactly("little", "little.throughput", throughput)
        mean = ratio(float(sum(self.requests.log.latencies)), count)
        self.checks.exactly("little", "little.mean_response", mean)
        self._speed(count)

    def _speed(self, count: int) -> None:
        """Check both speeds, which divide by the wall-clock time: the report alone has it."""
        wall = self.report.number("time.wall")
        operations = sum(self.operations.counts.values())
        for path, count_of_rate in (("requests_per_s", count), ("flash_ops_per_s", operations)):
            if wall and (count_of_rate == count or self._whole_operations()):
                self.checks.exactly("speed", f"speed.{path}", count_of_rate * SECOND / wall)

    def _whole_operations(self) -> bool:
        """Whether the log has exactly the operations that count."""
        return self.requests.complete and self.since == 0

    def _inside(self) -> list[tuple[int, int]]:
        """Arrival and completion of every request that was inside the device while measuring."""
        table = self.requests.table
        pairs = zip(table["arrival"], table["completion"], strict=True)
        return [(a, b) for a, b in pairs if a >= 0 and (b < 0 or b >= self.since)]

    def _little(self) -> None:
        waits_outside = bool(self.report.number("config.host.max_outstanding"))
        if not self.requests.complete or self.cuts or waits_outside or not self.span:
            return
        intervals = self._inside()
        lengths = (min(b, self.end) - max(a, self.since) for a, b in intervals)
        total = sum(length for length in lengths if length > 0)
        self.checks.exactly("little", "little.mean_in_system", total / self.span)
        arrivals, departures = sorted(a for a, _ in intervals), sorted(b for _, b in intervals)
        measured_arrivals = [a for a in arrivals if a >= self.since]
        minimum = max(
            (self._within(arrivals, departures, time, first=True) for time in measured_arrivals),
            default=0,
        )
        maximum = max(
            (self._within(arrivals, departures, time, first=False) for time in measured_arrivals),
            default=0,
        )
        self.checks.within("little", "little.peak_in_system", minimum, maximum)

    @staticmethod
    def _within(arrivals: list[int], departures: list[int], time: int, *, first: bool) -> int:
        """Return how many are inside at `time`: after those that leave then, or before they do."""
        departed = bisect_right(departures, time) if first else bisect_left(departures, time)
        return bisect_right(arrivals, time) - departed

    def _time(self) -> None:
        completions = self.requests.log.completions
        last = max(completions, default=0)
        if not self.requests.complete:
            return
        starts = [
            self.requests.table["arrival"][number]
            for number in range(self.requests.first_measured, self.requests.table.size)
            if self.requests.table["arrival"][number] >= 0
        ]
        first = min(starts, default=self.since)
        if self.checks.number("requests.warmup") == 0:
            self.checks.exactly("time", "time.measured_from", 0)
        elif not self.report.number("config.host.max_outstanding"):
            self.checks.within("time", "time.measured_from", 0, first)
        ends_with_requests = (
            not self.requests.buffered
            and self.report.get("config.raid.until_rebuilt") is not True
            and not self.report.number("config.host.stop_after_ns")
        )
        if ends_with_requests:
            self.checks.exactly("time", "time.simulated", last - self.since)
        else:
            # A cut at rest, before the buffer is empty, is followed by a mount that ends the run.
            mounted = max((mount.end for mount in self.operations.power.mounts), default=0)
            last_end = max(last, self.operations.ended_last, mounted)
            self.checks.within("time", "time.simulated", last - self.since, last_end - self.since)

    def _pages(self) -> None:
        """Replay what each LPN holds, in the order of admission."""
        if self.requests.copies or self.report.number("config.raid.group"):
            return
        replay = Replay(self.requests, self.operations)
        replay.run()
        checks = self.checks
        checks.exactly("host-pages", "host.pages_trimmed", replay.trimmed)
        maximum = replay.unmapped + replay.overtaken
        checks.within("host-pages", "host.unmapped_pages_read", replay.unmapped, maximum)
        if self.requests.first_measured == 0:
            fetched_pages = self.operations.pages_fetched
            unmapped_pages = checks.number("host.unmapped_pages_read")
            buffered_pages = self.requests.totals["read"].pages - unmapped_pages - fetched_pages
            checks.exactly("host-pages", "host.controller_pages_read", buffered_pages)
        rmw_pages = self.operations.counts["read", "rmw"]
        pages_written = self.checks.number("host.pages_written")
        if not self.requests.buffered and self.requests.first_measured == 0:
            checks.within("host-pages", "host.rmw", rmw_pages, pages_written)
        self._buffer(replay)

    def _buffer(self, replay: Replay) -> None:
        if self.report.get("write_buffer") is None or self.requests.first_measured:
            return
        programmed = self.operations.programmed
        fates = Counter(
            "evicted" if page in programmed else fate for page, fate in replay.fates.items()
        )
        self.checks.exactly("write-buffer", "write_buffer.pages_evicted", fates["evicted"])
        # A page that waits for room is dropped when its turn comes, and counts by what its LPN has
        # become: a TRIM that comes while a newer write waits drops both, and a page trimmed and
        # written again has been replaced by that write.
        trimmed_pages = min(fates["coalesced"], replay.both)
        rewritten_pages = sum(
            page not in programmed and replay.fates[page] == "trimmed" for page in replay.rewritten
        )
        for fate, slack_below, slack_above in (
            ("coalesced", trimmed_pages, rewritten_pages),
            ("trimmed", rewritten_pages, trimmed_pages),
        ):
            low, high = fates[fate] - slack_below, fates[fate] + slack_above
            self.checks.within("write-buffer", f"write_buffer.pages_{fate}", low, high)
        replaced_pages = sum(fates.values()) - fates["evicted"]
        coalesced_pages = replaced_pages - self.checks.number("write_buffer.pages_trimmed")
        self.checks.exactly("write-buffer", "write_buffer.pages_coalesced", coalesced_pages)
        pages_read = self.checks.number("host.controller_pages_read")
        self.checks.exactly("write-buffer", "write_buffer.pages_read", pages_read)
        self.checks.exactly("write-buffer", "write_buffer.pages_left", 0)
        pages_written = self.checks.number("host.pages_written")
        self.checks.within("write-buffer", "write_buffer.pages_waited", 0, pages_written)


class Replay:
    """Which LPNs hold data, request by request in the order of their ids."""

    def __init__(self, requests: Requests, operations: Operations) -> None:
        """Start with what state.csv says."""
        self.requests = requests
        self.mapped = set(operations.flash.mapped_at_first)
        self.trimmed = self.unmapped = 0
        self.overtaken = 0
        """Pages read that a TRIM has unmapped while the read waited."""
        self.fates: dict[tuple[int, int], str] = {}
        """What replaced the page `lpn` of the write `request`, unless it is the newest."""
        self.both = 0
        """Written pages that the next request trims."""
        self.dropped: dict[int, int] = {}
        """The write of an LPN that a TRIM has dropped."""
        self.rewritten: set[tuple[int, int]] = set()
        """Pages dropped by a TRIM that a newer write followed before their own write completed."""
        self.newest: dict[int, int] = {}
        self.by_page: dict[int, list[int]] = defaultdict(list)

    def run(self) -> None:
        """Replay all of them."""
        table = self.requests.table
        for number in range(table.size):
            if table["arrival"][number] < 0:
                continue
            kind = REQUEST_KINDS[table["kind"][number]]
            measured = number >= self.requests.first_measured
            first = table["lpn"][number]
            for lpn in range(first, first + table["pages"][number]):
                self._page(kind, number, lpn, measured)

    def _page(self, kind: str, number: int, lpn: int, measured: bool) -> None:
        if kind == "read":
            table, trims = self.requests.table, self.requests.trims.get(lpn, ())
            first, last = table["arrival"][number], table["completion"][number]
            if measured and lpn not in self.mapped:
                self.unmapped += 1
            elif measured:
                self.overtaken += any(first <= time <= last for time, _ in trims)
        elif kind == "write":
            self._replace(lpn, "coalesced")
            dropping_request, table = self.dropped.pop(lpn, None), self.requests.table
            if (
                dropping_request is not None
                and table["arrival"][number] <= table["completion"][dropping_request]
            ):
                self.rewritten.add((dropping_request, lpn))
            self.mapped.add(lpn)
            self.newest[lpn] = number
            self.fates[number, lpn] = "evicted"
        elif kind == "trim":
            self._replace(lpn, "trimmed")
            self.trimmed += measured and lpn in self.mapped
            self.mapped.discard(lpn)

    def _replace(self, lpn: int, fate: str) -> None:
        previous = self.newest.pop(lpn, None)
        if previous is not None:
            if fate == "trimmed":
                self.both += self.fates.get((previous, lpn)) == "evicted"
                self.dropped[lpn] = previous
            self.fates[previous, lpn] = fate
