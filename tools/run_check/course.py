"""Files beside the report: series.csv row by row, distributions.csv, and what they judge."""

from __future__ import annotations

import csv
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from .checks import Checks, batches, half_width
from .flash_numbers import FlashNumbers
from .history import PrefixSums, Steps
from .inputs import UnreadableError
from .operations import Operations
from .requests import Requests

SERIES, DISTRIBUTIONS = "series.csv", "distributions.csv"
SERIES_COLUMNS = (
    *("time_ns", "used_pages", "free_blocks", "pending_requests", "gc_active_pools"),
    *("host_pages_read", "host_pages_written", "gc_programs", "all_programs", "erases"),
    *("host_reads_completed", "host_writes_completed"),
    *("interval_reads", "interval_read_sum_ns", "interval_read_max_ns"),
    *("interval_writes", "interval_write_sum_ns", "interval_write_max_ns"),
)
DISTRIBUTION_COLUMNS = ("distribution", "low", "high", "count")
LEAST_MEANS = 20
"""Batches in which a transient is looked for."""


def table(path: Path, columns: tuple[str, ...]) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield line number and fields of a CSV file."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file)
            if tuple(reader.fieldnames or ()) != columns:
                message = f"{path.name}:1: columns {reader.fieldnames}"
                raise UnreadableError(message)
            yield from enumerate(reader, start=2)
    except (OSError, csv.Error, UnicodeDecodeError) as error:
        message = f"{path.name}: {error}"
        raise UnreadableError(message) from error


class Moments:
    """Sums over what has happened before an instant, of events with a size."""

    def __init__(self, events: Sequence[tuple[int, int]]) -> None:
        """Take (time, size) pairs."""
        sorted_events = sorted(events)
        self.times = [time for time, _ in sorted_events]
        self.sizes = [size for _, size in sorted_events]
        self.sums = [0]
        for size in self.sizes:
            self.sums.append(self.sums[-1] + size)

    def places(self, since: int, until: int) -> tuple[int, int]:
        """Return the places of the events in [since, until)."""
        return bisect_left(self.times, since), bisect_left(self.times, until)

    def count(self, since: int, until: int) -> int:
        """Count those in [since, until)."""
        first, last = self.places(since, until)
        return last - first

    def total(self, since: int, until: int) -> int:
        """Add up those in [since, until)."""
        first, last = self.places(since, until)
        return self.sums[last] - self.sums[first]

    def most(self, since: int, until: int) -> int:
        """Return the largest of those in [since, until), 0 of none."""
        first, last = self.places(since, until)
        return max(self.sizes[first:last], default=0)


class Course:
    """A row at T is the state when everything before T was over, nothing at T."""

    def __init__(
        self, checks: Checks, requests: Requests, operations: Operations, numbers: FlashNumbers
    ) -> None:
        """Sort the events by time."""
        self.checks, self.requests, self.operations = checks, requests, operations
        self.numbers, self.report = numbers, checks.report
        self.since = self.report.whole("time.measured_from")
        self.end = self.since + self.report.whole("time.simulated")
        history = operations.history
        self.counted = {key: PrefixSums(steps) for key, steps in history.counted.items()}
        self.used, self.free = PrefixSums(history.used), PrefixSums(history.free)
        log = requests.log
        completions = [
            (kind, time, latency)
            for (kind, *_), time, latency in zip(
                log.groups, log.completions, log.latencies, strict=True
            )
        ]
        self.ended = {
            kind: Moments(
                [(time, latency) for operation, time, latency in completions if operation == kind]
            )
            for kind in ("read", "write")
        }
        table = requests.table
        arrivals: dict[str, list[tuple[int, int]]] = {"read": [], "write": []}
        in_system = Steps()
        for number, arrival in enumerate(table["arrival"]):
            if arrival < 0:
                continue
            in_system.add(arrival, 1)
            if table["completion"][number] >= 0:
                in_system.add(table["completion"][number], -1)
            kind = ("read", "write", "trim", "flush", "copy")[table["kind"][number]]
            if kind in arrivals and number >= requests.first_measured:
                arrivals[kind].append((arrival, table["pages"][number]))
        self.arrived = {kind: Moments(events) for kind, events in arrivals.items()}
        self.inside = PrefixSums(in_system)

    def check(self, folder: Path) -> None:
        """Compare both files, and what is judged from them."""
        if (folder / SERIES).exists() and self.requests.complete:
            self._series(folder / SERIES)
        if (folder / DISTRIBUTIONS).exists() and self.requests.complete:
            self._distributions(folder / DISTRIBUTIONS)
        if self.requests.complete:
            self._quarters()
            self._warmup()

    def _differs(self, file: str, line: int, label: str, expected: object, actual: object) -> None:
        self.checks.findings.add(
            file.partition(".")[0], f"{file}:{line}", f"{label} {expected}", actual
        )

    def _series(self, path: Path) -> None:
        interval = self.checks.number("config.metrics.interval_ns")
        previous = self.since
        unsure = {name: self._unsure(name) for name in SERIES_COLUMNS}
        for line, fields in table(path, SERIES_COLUMNS):
            row = {name: int(text) for name, text in fields.items()}
            time = row["time_ns"]
            expected_time = previous - previous % interval + interval
            if time != expected_time and not (time == self.end and time < expected_time):
                self._differs(SERIES, line, "time_ns", expected_time, time)
            for name, value in self._row(previous, time).items():
                if not value - unsure[name] <= row[name] <= value:
                    self._differs(SERIES, line, name, value, row[name])
            if row["gc_active_pools"] > self.numbers.pools.count:
                limit = f"at most {self.numbers.pools.count}"
                self._differs(SERIES, line, "gc_active_pools", limit, row["gc_active_pools"])
            previous = time
        if interval and not self.end - interval <= previous <= self.end:
            self._differs(SERIES, 0, "rows until", self.end, previous)

    def _unsure(self, name: str) -> int:
        """How many operations at the start of the measurement may or may not count."""
        kinds = {"gc_programs": "program", "all_programs": "program", "erases": "erase"}
        kind = kinds.get(name)
        return sum(n for (operation, _), n in self.operations.unsure.items() if operation == kind)

    def _row(self, previous: int, time: int) -> dict[str, int]:
        """The values that a row at `time` must have, after one at `previous`."""
        # The row at the end of the run is taken after its last instant.
        end = time + 1 if time == self.end else time
        start = previous
        row: dict[str, int] = {}
        cuts = bool(self.operations.power.cuts)
        if not cuts and not self.report.number("config.host.max_outstanding"):
            row["pending_requests"] = self.inside.at(end)
            for kind, name in (("read", "host_pages_read"), ("write", "host_pages_written")):
                row[name] = self.arrived[kind].total(0, end)
        # The program of a copy-back that a cut ends has no line of its own.
        if not (cuts and self.operations.copied_back):
            row["gc_programs"] = self.counted["gc"].at(end)
            row["all_programs"] = self.counted["all"].at(end)
        if not self.numbers.in_superblocks:
            row["erases"] = self.counted["erases"].at(end)
        if not self.numbers.fails and not self.checks.number("device.bad_blocks"):
            # What a mount erases counts from the cut on, and is logged with its end.
            if not any(mount.cut < end <= mount.end for mount in self.operations.power.mounts):
                row["free_blocks"] = self.checks.number("device.blocks") + self.free.at(end)
            if not cuts:
                row["used_pages"] = self.operations.history.programmed_at_first + self.used.at(end)
        for kind in ("read", "write"):
            completions = self.ended[kind]
            row[f"host_{kind}s_completed"] = completions.count(0, end)
            row[f"interval_{kind}s"] = completions.count(start, end)
            row[f"interval_{kind}_sum_ns"] = completions.total(start, end)
            row[f"interval_{kind}_max_ns"] = completions.most(start, end)
        return row

    def _distributions(self, path: Path) -> None:
        rows: dict[str, list[tuple[int, int, int, int]]] = {}
        for line, fields in table(path, DISTRIBUTION_COLUMNS):
            low, high, count = (int(fields[name]) for name in ("low", "high", "count"))
            rows.setdefault(fields["distribution"], []).append((line, low, high, count))
        log = self.requests.log
        values: dict[str, list[int]] = {}
        for (kind, *_), latency in zip(log.groups, log.latencies, strict=True):
            values.setdefault(f"latency_{kind}", []).append(latency)
        for name in sorted({*values, *rows}):
            if name.startswith("latency_"):
                self._buckets(name, rows.get(name, []), sorted(values.get(name, [])))
        self._erases(rows.get("erases", []))
        self._victims(rows.get("victim_invalid", []))

    def _buckets(self, name: str, rows: list[tuple[int, int, int, int]], values: list[int]) -> None:
        previous_high = -1
        for line, low, high, count in rows:
            if not previous_high < low <= high or high - low > low / 64:
                label = f"{name} above {previous_high}, at most 1/64 wide, "
                self._differs(DISTRIBUTIONS, line, label, "", (low, high))
            expected_count = bisect_right(values, high) - bisect_left(values, low)
            if expected_count != count:
                label = f"{name} from {low} to {high}:"
                self._differs(DISTRIBUTIONS, line, label, expected_count, count)
            previous_high = high
        if sum(count for *_, count in rows) != len(values):
            total = sum(count for *_, count in rows)
            self._differs(DISTRIBUTIONS, 0, f"{name} in all", len(values), total)

    def _erases(self, rows: list[tuple[int, int, int, int]]) -> None:
        """The distribution has the mean and the spread that the report prints."""
        blocks = sum(count for *_, count in rows)
        total = sum(low * count for _, low, _, count in rows)
        squares = sum(low * low * count for _, low, _, count in rows)
        checks = self.checks
        checks.exactly("distributions", "device.blocks", blocks)
        checks.exactly("distributions", "device.erase_min", rows[0][1])
        checks.exactly("distributions", "device.erase_max", rows[-1][1])
        checks.exactly("distributions", "device.erase_mean", float(total / blocks))
        variance = max(0, blocks * squares - total * total)
        checks.exactly("distributions", "device.erase_stddev", variance**0.5 / blocks)
        within_interval, touching_interval = (
            self.operations.erases_within,
            self.operations.erases_touching,
        )
        if list(within_interval) == list(touching_interval) and not self.numbers.in_superblocks:
            if self.numbers.fails or self.operations.history.units.planes > 1:
                return
            expected = Counter(within_interval)
            for line, low, _, count in rows:
                if expected[low] != count:
                    label = f"blocks with {low} erases"
                    self._differs(DISTRIBUTIONS, line, label, expected[low], count)

    def _victims(self, rows: list[tuple[int, int, int, int]]) -> None:
        """Check the number of victims, and their mean against the one that the report prints."""
        checks = self.checks
        victim_count = sum(count for *_, count in rows)
        checks.exactly("distributions", "gc.calls", victim_count)
        pages = self.numbers.geometry.pages * self.operations.history.units.planes
        path = "gc.mean_victim_invalid_ratio"
        if victim_count == 0:
            checks.exactly("victims", path, None)
            return
        low, high = (
            sum(row[column] * row[3] for row in rows) / victim_count / pages for column in (1, 2)
        )
        checks.within("victims", path, low - 1e-9, high + 1e-9)
        if self.requests.first_measured == 0 and not self.operations.power.cuts:
            # What was read of the victims was valid when they were chosen.
            unfinished_pages = self.numbers.pools.count * pages
            read = self.operations.counts["read", "gc"]
            limit = 1 - max(0, read - unfinished_pages) / (victim_count * pages)
            checks.within("victims", path, 0.0, limit + 1e-9)

    def _quarters(self) -> None:
        """Write amplification over the last two quarters of the host's writes.

        The report has it between points that it keeps, an eighth of a quarter apart at most.
        """
        names = ("wa_first", "wa_second")
        if self.report.get("config.host.interface") == "zns":
            for name in names:  # The host of zones copies, and the drive does not.
                self.checks.exactly("steady", f"steady_state.{name}", None)
            self.checks.exactly("steady", "steady_state.reached", False)
            return
        writes = self.arrived["write"]
        total = self.checks.number("host.pages_written")
        waits_outside = bool(self.checks.number("config.host.max_outstanding"))
        if total < 2000 or self.operations.power.cuts or self.requests.copies or waits_outside:
            return
        times = [self._when(writes, share) for share in (0.5, 0.75)]
        programs = [self.counted["all"].at(time) for time in (*times, self.end + 1)]
        pages = [writes.total(0, time) for time in (*times, self.end + 1)]
        for index, name in enumerate(names):
            steps = pages[index + 1] - pages[index]
            if steps == 0:
                continue
            value = (programs[index + 1] - programs[index]) / steps
            depth = self.checks.number("little.peak_in_system") * 16
            slack = value * 0.15 + 2 * depth / steps
            path = f"steady_state.{name}"
            self.checks.within("steady", path, value - slack, value + slack)

    def _when(self, writes: Moments, share: float) -> int:
        """When so much of what the host writes had arrived."""
        target = writes.sums[-1] * share
        place = bisect_left(writes.sums, target)
        return writes.times[min(place, len(writes.times) - 1)]

    def _warmup(self) -> None:
        """Check the transient of a latency, if there is one, from the means of its batches."""
        checks, report = self.checks, self.report
        recommended = report.number("warmup.recommended_requests")
        reason = str(report.get("warmup.reason"))
        requests, warmup = (checks.number(f"requests.{key}") for key in ("submitted", "warmup"))
        if report.get("trace_lines") is not None:
            checks.exactly("warmup", "warmup.recommended_requests", None)
            return
        if recommended is not None:
            low = warmup if "no transient" not in reason else 0
            checks.within("warmup", "warmup.recommended_requests", low, warmup + requests / 2 + 1)
        log, longest_share = self.requests.log, 0.0
        for kind in ("write", "read"):
            latencies = [
                n
                for (operation, *_), n in zip(log.groups, log.latencies, strict=True)
                if operation == kind
            ]
            share = transient(batches(latencies))
            drifts = f"{kind} latency drifts" in reason
            if share is None and recommended is not None:
                checks.exactly("warmup", "warmup.recommended_requests", None)
            elif share is not None and drifts:
                checks.exactly("warmup", "warmup.reason", f"{kind} latency has settled")
            elif share:
                longest_share = max(longest_share, share)
        if longest_share and recommended is not None:
            minimum = warmup + longest_share * requests - 1
            checks.within("warmup", "warmup.recommended_requests", minimum, warmup + requests)


def transient(batch_means: list[float]) -> float | None:
    """Return the share of a course that is its transient (MSER), None where it has not settled."""
    n = len(batch_means)
    if n < LEAST_MEANS:
        return 0.0
    best, skip = None, 0
    for d in range(n - 9):
        steady_part = batch_means[d:]
        centre = sum(steady_part) / len(steady_part)
        error = sum((value - centre) ** 2 for value in steady_part) / len(steady_part) ** 2
        if best is None or error < best * (1 - 1e-12):
            best, skip = error, d
    first = min(skip, n // 2)
    steady_part = batch_means[first:]
    width = half_width(steady_part)
    if width is None:
        return None
    if abs(sum(batch_means) / n - sum(steady_part) / len(steady_part)) <= width:
        return 0.0
    return None if skip > first else first / n
