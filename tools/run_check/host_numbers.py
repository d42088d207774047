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
    ordered = sorted(latencies)
    mean = sum(ordered) / count if count else None
    checks.exactly("latency", f"{path}.mean", mean)
    checks.exactly("latency", f"{path}.min", ordered[0] if count else None)
    checks.exactly("latency", f"{path}.max", ordered[-1] if count else None)
    spread = None
    if count:
        # In integers: `count` times each distance from the mean.
        total = sum(ordered)
        squares = sum((count * value - total) ** 2 for value in ordered)
        spread = math.sqrt(squares / count**3)
    checks.exactly("latency", f"{path}.stddev", spread)
    for name, millionths in PERCENTILES:
        rank = rank_of(count, millionths)
        if rank is None:
            checks.exactly("latency", f"{path}.{name}", None)
            continue
        exact = ordered[rank - 1]
        low, high = exact * (1 - RESOLUTION), exact * (1 + RESOLUTION)
        low, high = max(low, ordered[0]), min(high, ordered[-1])
        checks.within("latency", f"{path}.{name}", math.floor(low), math.ceil(high))
    check_interval(checks, path, latencies)


def check_interval(checks: Checks, path: str, latencies: Sequence[int]) -> None:
    """Compare the interval of the mean with latencies in order of completion."""
    expected = half_width(batches(list(latencies)))
    found = checks.report.number(f"{path}.ci95")
    # The two integrations of Student's distribution agree to eight digits.
    if expected is None or found is None:
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
        completed = sum(total.count for total in totals.values())
        checks.exactly("requests", "requests.completed", completed)
        asked = self.report.whole("config.workload.warmup_requests", 0)
        share = self.report.get("config.workload.warmup_share")
        if share and self.requests.complete:
            asked = math.floor(share * self.requests.count + 0.5)
        # A run that ends within its warm-up counts no request, so its numbers do not tell.
        is_warm = checks.number("requests.warmup") >= asked
        if is_warm and self.report.get("raid.failure.gone") in (None, []):
            submitted = checks.number("requests.submitted")
            checks.exactly("requests", "completed", submitted == completed)
        if self.requests.complete:
            checks.exactly("requests", "requests.submitted", completed)
            checks.exactly("requests", "requests.warmup", min(asked, self.requests.count))
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
                for each in BY_OPERATION:
                    groups.setdefault(f"latency.by_{name}.{number}.{each}", [])
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
            moved = self.checks.number(f"host.{pages}") * page
            rate = moved * SECOND / self.span if self.span else None
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
        for path, of in (("requests_per_s", count), ("flash_ops_per_s", operations)):
            if wall and (of == count or self._whole_operations()):
                self.checks.exactly("speed", f"speed.{path}", of * SECOND / wall)

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
        inside = self._inside()
        lengths = (min(b, self.end) - max(a, self.since) for a, b in inside)
        total = sum(length for length in lengths if length > 0)
        self.checks.exactly("little", "little.mean_in_system", total / self.span)
        arrivals, leaves = sorted(a for a, _ in inside), sorted(b for _, b in inside)
        begun = [a for a in arrivals if a >= self.since]
        least = max((self._within(arrivals, leaves, at, first=True) for at in begun), default=0)
        most = max((self._within(arrivals, leaves, at, first=False) for at in begun), default=0)
        self.checks.within("little", "little.peak_in_system", least, most)

    @staticmethod
    def _within(arrivals: list[int], leaves: list[int], at: int, *, first: bool) -> int:
        """Return how many are inside at `at`: after those that leave then, or before they do."""
        gone = bisect_right(leaves, at) if first else bisect_left(leaves, at)
        return bisect_right(arrivals, at) - gone

    def _time(self) -> None:
        completions = self.requests.log.completions
        last = max(completions, default=0)
        if not self.requests.complete:
            return
        begun = [
            self.requests.table["arrival"][number]
            for number in range(self.requests.first_measured, self.requests.table.size)
            if self.requests.table["arrival"][number] >= 0
        ]
        first = min(begun, default=self.since)
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
            ended = max(last, self.operations.ended_last, mounted)
            self.checks.within("time", "time.simulated", last - self.since, ended - self.since)

    def _pages(self) -> None:
        """Replay what each LPN holds, in the order of admission."""
        if self.requests.copies or self.report.number("config.raid.group"):
            return
        replay = Replay(self.requests, self.operations)
        replay.run()
        checks = self.checks
        checks.exactly("host-pages", "host.pages_trimmed", replay.trimmed)
        most = replay.unmapped + replay.overtaken
        checks.within("host-pages", "host.unmapped_pages_read", replay.unmapped, most)
        if self.requests.first_measured == 0:
            answered = self.operations.pages_fetched
            unmapped = checks.number("host.unmapped_pages_read")
            rest = self.requests.totals["read"].pages - unmapped - answered
            checks.exactly("host-pages", "host.controller_pages_read", rest)
        rewritten = self.operations.counts["read", "rmw"]
        written = self.checks.number("host.pages_written")
        if not self.requests.buffered and self.requests.first_measured == 0:
            checks.within("host-pages", "host.rmw", rewritten, written)
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
        trimmed = min(fates["coalesced"], replay.both)
        rewritten = sum(
            page not in programmed and replay.fates[page] == "trimmed" for page in replay.rewritten
        )
        for fate, fewer, more in (
            ("coalesced", trimmed, rewritten),
            ("trimmed", rewritten, trimmed),
        ):
            low, high = fates[fate] - fewer, fates[fate] + more
            self.checks.within("write-buffer", f"write_buffer.pages_{fate}", low, high)
        left = sum(fates.values()) - fates["evicted"]
        others = left - self.checks.number("write_buffer.pages_trimmed")
        self.checks.exactly("write-buffer", "write_buffer.pages_coalesced", others)
        found = self.checks.number("host.controller_pages_read")
        self.checks.exactly("write-buffer", "write_buffer.pages_read", found)
        self.checks.exactly("write-buffer", "write_buffer.pages_left", 0)
        written = self.checks.number("host.pages_written")
        self.checks.within("write-buffer", "write_buffer.pages_waited", 0, written)


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
                self.overtaken += any(first <= at <= last for at, _ in trims)
        elif kind == "write":
            self._replace(lpn, "coalesced")
            dropped, table = self.dropped.pop(lpn, None), self.requests.table
            if dropped is not None and table["arrival"][number] <= table["completion"][dropped]:
                self.rewritten.add((dropped, lpn))
            self.mapped.add(lpn)
            self.newest[lpn] = number
            self.fates[number, lpn] = "evicted"
        elif kind == "trim":
            self._replace(lpn, "trimmed")
            self.trimmed += measured and lpn in self.mapped
            self.mapped.discard(lpn)

    def _replace(self, lpn: int, why: str) -> None:
        before = self.newest.pop(lpn, None)
        if before is not None:
            if why == "trimmed":
                self.both += self.fates.get((before, lpn)) == "evicted"
                self.dropped[lpn] = before
            self.fates[before, lpn] = why
