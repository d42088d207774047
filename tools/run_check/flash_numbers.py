"""Numbers of the flash: operations by cause, space, collection, wear and how long it lasts."""

from __future__ import annotations

import math
from collections import Counter

from .checks import Checks, ratio
from .flash import SECTIONS
from .history import PrefixSums
from .inputs import CAUSES, Geometry
from .operations import Operations
from .requests import Requests

DAY_S, YEAR_DAYS = 86_400, 365
LEAST_CALLS, TOLERANCE, HALF = 40, 0.05, 0.5
"""What a steady state needs, by docs/statistics.md and the head of `steady.rs`."""


class FlashNumbers:
    """What the log of operations says about `flash`, `gc`, `wear`, `lifetime` and `device`."""

    def __init__(self, checks: Checks, requests: Requests, operations: Operations) -> None:
        """Take what was read."""
        self.checks, self.requests, self.operations = checks, requests, operations
        self.report, self.geometry = checks.report, operations.geometry
        self.history = operations.history
        self.since = self.report.whole("time.measured_from")
        self.end = self.since + self.report.whole("time.simulated")
        self.in_superblocks = self.report.get("config.alloc.erase_unit") == "superblock"
        self.pools = Pools(self.geometry, str(self.report.get("config.alloc.pool")))
        self.fails = bool(operations.failures.all)
        self.written = self.checks.number("host.pages_written")
        self.whole = requests.complete and requests.first_measured == 0

    def check(self) -> None:
        """Compare all of them."""
        self._operations()
        self._geometry()
        self._space()
        self._moves()
        self._calls()
        self._jobs()
        self._verdict()
        self._wear()
        self._lifetime()
        self._steady()

    def _operations(self) -> None:
        checks = self.checks
        if not self.requests.complete:
            return
        for cause in CAUSES:
            for kind, key in (("read", "reads"), ("program", "programs")):
                self._count(f"flash.{key}.{cause}", kind, cause)
            if not self.in_superblocks:
                self._count(f"flash.erases_by_cause.{cause}", "erase", cause)
        by_cause = sum(self.checks.number(f"flash.erases_by_cause.{cause}") for cause in CAUSES)
        checks.exactly("flash-count", "flash.erases", by_cause)
        for cause, (minimum, maximum) in self._retries().items():
            checks.within("retries", f"flash.retries.{cause}", minimum, maximum)
        suspensions = self.operations.suspensions
        for cause in CAUSES:
            maximum = suspensions.counts[cause]
            minimum = maximum - suspensions.unsure[cause]
            checks.within("suspension", f"flash.suspensions.{cause}", minimum, maximum)
        programs = {cause: checks.number(f"flash.programs.{cause}") for cause in CAUSES}
        checks.exactly("waf", "waf.total", ratio(sum(programs.values()), self.written))
        for cause, count in programs.items():
            checks.exactly("waf", f"waf.{cause}", ratio(count, self.written))

    def _count(self, path: str, kind: str, cause: str) -> None:
        count = self.operations.counts[kind, cause]
        uncertain = self.operations.unsure[kind, cause]
        self.checks.within("flash-count", path, count - uncertain, count)

    def _retries(self) -> dict[str, tuple[int, int]]:
        """Count read retries, by how much longer than one read of the array the reads took.

        The retries of a read are drawn when it starts: of one that is cut off, any number.
        """
        report = self.report
        keys = ("retry_probability", "retry_growth")
        if not any(report.number(f"config.controller.{key}") for key in keys):
            return dict.fromkeys(CAUSES, (0, 0))
        if report.get("config.timing.model") == "serial":
            return {}
        limit = report.whole("config.controller.retry_limit")
        counts = {}
        for cause in CAUSES:
            retries = self.operations.retries[cause]
            counts[cause] = (retries, retries + limit * self.operations.cut_reads[cause])
        return counts

    def _geometry(self) -> None:
        checks, geometry = self.checks, self.geometry
        physical = geometry.all_blocks * geometry.pages
        unit = self.pools.planes if self.in_superblocks else 1
        checks.exactly("device", "device.physical_pages", physical)
        checks.exactly("device", "device.blocks", geometry.all_blocks // unit)
        user = self.operations.zones.pages or self.report.get("config.device.user_pages")
        checks.exactly("device", "device.user_pages", user)
        seed = self.report.get("config.run.seed")
        checks.exactly("device", "provenance.seed", seed)
        used_pages = self.checks.number("device.used_pages")
        checks.exactly("device", "device.used_ratio", float(used_pages / physical))
        bad = checks.number("wear.factory_bad_blocks") + checks.number("wear.worn_out_blocks")
        checks.exactly("device", "device.bad_blocks", bad)

    def _is_free_of_trouble(self) -> bool:
        """Whether blocks change state through programs and erases alone."""
        return not (self.fails or self.checks.number("device.bad_blocks"))

    def _space(self) -> None:
        checks, history = self.checks, self.history
        if not self._is_free_of_trouble():
            return
        used_pages = PrefixSums(history.used)
        first = history.programmed_at_first
        if not self.operations.power.cuts:
            low = first + used_pages.at(self.end)
            high = first + used_pages.at(self.end + 1)
            checks.within("space", "device.used_pages", min(low, high), max(low, high))
        free_blocks = PrefixSums(history.free)
        blocks = checks.number("device.blocks")
        low, high = sorted(blocks + free_blocks.at(time) for time in (self.end, self.end + 1))
        lowest = blocks + free_blocks.least(self.since, self.end)
        checks.within("space", "device.free_blocks", low, high)
        # The logs lack a block that is opened at the instant of a cut, before its first program.
        slack = self.pools.count if self.operations.power.cuts else 0
        checks.within("space", "device.lowest_free_blocks", lowest - slack, lowest)

    def _moves(self) -> None:
        """Copies that were read are programmed, dropped or under way; those programmed count."""
        counts, checks = self.operations.counts, self.checks
        if not self.whole or self.operations.power.cuts or self.requests.copies or self.fails:
            return
        for cause, section in SECTIONS.items():
            if self.report.get(section) is None:
                continue
            programs, reads = counts["program", cause], counts["read", cause]
            stale_pages = checks.number(f"{section}.pages_stale")
            # A program that runs at the end of the run has not switched the map yet.
            running = self.operations.running(cause, self.end)
            checks.within(
                "moves",
                f"{section}.pages_moved",
                programs - stale_pages - running,
                programs - stale_pages,
            )
            judged = self.operations.flash.stale[cause]
            # Updates of groups commit later, and requests that wait outside are admitted later.
            keys = ("config.raid.group", "config.host.max_outstanding")
            minimum = 0 if any(map(checks.number, keys)) else judged["certain"]
            maximum = judged["certain"] + judged["possible"]
            checks.within("moves", f"{section}.pages_stale", minimum, maximum)
            unfinished = reads - programs
            dropped_pages = checks.number(f"{section}.pages_dropped")
            pages_in_flight = checks.number(f"{section}.pages_in_flight")
            checks.exactly("moves", f"{section}.pages_dropped", unfinished - pages_in_flight)
            checks.exactly("moves", f"{section}.pages_in_flight", unfinished - dropped_pages)

    def _calls(self) -> None:
        """A call ends with the erase of its victim; calls at either end may or may not count."""
        checks, counts = self.checks, self.operations.counts
        unit = self.pools.planes if self.in_superblocks else 1
        calls = checks.number("gc.calls")
        slack = self.pools.count * (1 + len(self.operations.power.cuts)) + self._chips_failed()
        erased_units = -(-counts["erase", "gc"] // unit)
        checks.within("gc-calls", "gc.calls", erased_units - slack, erased_units + slack)
        background = checks.number("gc.background")
        checks.exactly("gc-calls", "gc.foreground", calls - background)
        checks.exactly("gc-calls", "gc.background", calls - checks.number("gc.foreground"))
        victims = self.report.get("gc.victims_by_policy") or {}
        for name in victims:
            remaining = sum(n for policy, n in victims.items() if policy != name)
            checks.exactly("gc-calls", f"gc.victims_by_policy.{name}", calls - remaining)
        for cause, path in (("wear", "wear.calls"), ("fold", "slc.folds")):
            if self.report.get(path) is not None:
                erased_units = -(-counts["erase", cause] // unit)
                checks.within("gc-calls", path, erased_units - slack, erased_units + slack)

    def _chips_failed(self) -> int:
        return len(self.operations.failures.all) * self.geometry.planes

    def _jobs(self) -> None:
        """From the choice of a victim, when its first operation is queued, to its erase's end."""
        checks = self.checks
        if self.in_superblocks or self.fails or self.operations.power.cuts:
            return
        jobs = self._jobs_of_pools()
        times = [job for job in jobs if job[2] >= self.since and job[1] <= self.end]
        crossing = [job for job in jobs if job[2] < self.since <= job[1] <= self.end]
        if not times and not crossing:
            checks.exactly("jobs", "gc.job_time_mean", None)
            checks.exactly("jobs", "gc.job_time_max", None)
        elif not crossing:
            # A victim whose first pages are dropped is chosen before its first operation is queued,
            # yet not before the job before it in its pool has ended.
            lengths = [end - start for _, end, start, _ in times]
            longest_times = [end - earliest for _, end, _, earliest in times]
            low, high = sum(lengths) / len(lengths), sum(longest_times) / len(lengths)
            checks.within("jobs", "gc.job_time_mean", low - 1e-3, high + 1e-3)
            checks.within("jobs", "gc.job_time_max", max(lengths), max(longest_times))

    def _jobs_of_pools(self) -> list[tuple[int, int, int, int]]:
        """Start and end of the erase of each job of GC, when it was begun, and the one before."""
        previous_ends: dict[int, int] = {}
        jobs: list[tuple[int, int, int, int]] = []
        for start, end, queued, block, cause in sorted(self.history.ended, key=lambda job: job[1]):
            pool = block // self.geometry.blocks // self.pools.planes
            if cause == "gc":
                jobs.append((start, end, queued, min(queued, previous_ends.get(pool, 0))))
            previous_ends[pool] = end
        return jobs

    def _verdict(self) -> None:
        checks = self.checks
        share = self.report.number("verdict.policy_share")
        calls = checks.number("gc.calls")
        if calls == 0:
            checks.exactly("verdict", "verdict.policy_share", None)
            checks.exactly("verdict", "verdict.unmet_share", None)
            checks.exactly("verdict", "verdict.decided_by", "nobody")
            return
        greedy = self.report.number("gc.victims_by_policy.reserve-greedy") or 0
        is_reserve = self.report.get("config.gc.victim.policy") == "reserve-greedy"
        limit = 1.0 if is_reserve else 1 - greedy / calls
        checks.within("verdict", "verdict.policy_share", 0.0, limit + 1e-9)
        unmet_share = self.report.number("verdict.unmet_share") or 0.0
        # A victim that the policy named was its decision, or one for a demand that cannot be met.
        checks.within("verdict", "verdict.unmet_share", limit - (share or 0) - 1e-9, 1.0)
        checks.within(
            "verdict", "verdict.policy_share", limit - unmet_share - 1e-9, 1 - 0 * unmet_share
        )
        decided = "policy" if (share or 0.0) >= HALF else "reserve"
        checks.exactly("verdict", "verdict.decided_by", decided)

    def _preconditioned(self) -> int | None:
        """Return the pages written before the log begins; None where only a snapshot knows."""
        if self.operations.zones.is_on:
            return None  # The host has copied pages, too.
        report = self.report
        if report.get("provenance.snapshot_digest") is not None:
            return None
        if report.get("config.precondition.steady_state") not in (None, "none"):
            return None
        user = self.checks.number("device.user_pages")
        pages = 0.0
        for key in ("fill", "overwrite"):
            part = (report.number(f"config.precondition.{key}") or 0.0) * user
            if part != int(part):
                return None
            pages += part
        return int(pages)

    def _is_new(self) -> bool:
        """Whether the log has every erase since the device was new."""
        return self._preconditioned() == 0

    def _wear(self) -> None:
        checks = self.checks
        minimum, maximum = self._life()
        is_known = self._is_new() and not self.in_superblocks and not self.fails
        if is_known and not checks.number("wear.factory_bad_blocks"):
            _check_erases(checks, "wear", minimum, maximum)
        self._measured_erases()
        page = self.checks.number("device.page_bytes")
        preconditioned = self._preconditioned()
        if preconditioned is not None and self.requests.complete and not self.operations.power.cuts:
            total_written = preconditioned + self.operations.programs_of_host
            checks.exactly("wear", "wear.host_bytes_written", total_written * page)
        endurance = checks.number("config.wear.endurance")
        programs = sum(self.checks.number(f"flash.programs.{cause}") for cause in CAUSES)
        expected = None
        if endurance and programs and not self.operations.slc.is_on:
            blocks = checks.number("device.blocks")
            good_blocks = blocks - checks.number("wear.factory_bad_blocks")
            pages = checks.number("device.physical_pages") * good_blocks / blocks
            expected = pages * endurance * page * self.written / programs
        checks.exactly("wear", "wear.host_bytes_at_even_wear", expected)
        if self._is_new() and endurance and not self.report.number("config.wear.endurance_spread"):
            worn_out = [sum(n >= endurance for n in erases) for erases in (minimum, maximum)]
            if self.operations.slc.is_on:
                worn_out = [*self.operations.slc.worn_out(self.end)]
            if not self.in_superblocks:
                checks.within("wear", "wear.worn_out_blocks", *worn_out)
        elif not endurance:
            checks.exactly("wear", "wear.worn_out_blocks", 0)
        share = self.report.number("config.wear.factory_bad_blocks") or 0.0
        untouched_blocks = self.history.touched.count(0)
        if share == 0.0:
            checks.exactly("wear", "wear.factory_bad_blocks", 0)
        elif not self.in_superblocks:
            checks.within("wear", "wear.factory_bad_blocks", 0, untouched_blocks)

    def _life(self) -> tuple[list[int], list[int]]:
        """Erases of every block in the log: those that had ended for certain, and all."""
        minimum, maximum = Counter[int](), Counter[int]()
        for end, block in self.history.erased:
            minimum[block] += end < self.end
            maximum[block] += end <= self.end
        blocks = range(self.geometry.all_blocks)
        return [minimum[block] for block in blocks], [maximum[block] for block in blocks]

    def _measured_erases(self) -> None:
        if self.in_superblocks or self.fails:
            return
        minimum, maximum = self.operations.erases_within, self.operations.erases_touching
        _check_erases(self.checks, "device", list(minimum), list(maximum))

    def _lifetime(self) -> None:
        if self.report.get("lifetime") is None:
            self.checks.exactly("lifetime", "lifetime", None)
            return
        checks, report = self.checks, self.report
        page, user = checks.number("device.page_bytes"), checks.number("device.user_pages")
        bytes_per_run = self.written * page
        measured = (
            bytes_per_run * 1e9 / self.report.whole("time.simulated") * DAY_S
            if bytes_per_run
            else None
        )
        daily = report.number("config.wear.daily_writes_bytes") or measured
        checks.exactly("lifetime", "lifetime.daily_writes", None if daily is None else float(daily))
        ends = self._all_ends() if self._can_extrapolate() else []
        bytes_written = checks.number("wear.host_bytes_written")
        for index, (total, days) in enumerate(
            (("first_block_bytes", "first_block_days"), ("bytes_written", "days"))
        ):
            actual = report.number(f"lifetime.{total}")
            bytes_ = [bytes_written + end[index] * bytes_per_run for end in ends if end is not None]
            if bytes_ and actual is not None:
                low, high = min(bytes_) * (1 - 1e-9), max(bytes_) * (1 + 1e-9)
                checks.within("lifetime", f"lifetime.{total}", low, high)
            elif actual is not None:
                checks.within("lifetime", f"lifetime.{total}", bytes_written, math.inf)
            elif ends and None not in ends:
                checks.exactly("lifetime", f"lifetime.{total}", bytes_[0])
            expected = None if actual is None or daily is None else actual / daily
            checks.exactly("lifetime", f"lifetime.{days}", expected)
        total_bytes = report.number("lifetime.bytes_written")
        years = report.number("config.wear.warranty_years") or 5.0
        expected = None
        if total_bytes is not None:
            expected = total_bytes / (user * page * years * YEAR_DAYS)
        checks.exactly("lifetime", "lifetime.drive_writes_per_day", expected)
        self._left()

    def _left(self) -> None:
        """Check the life that is left, by the mean erases, if no block has passed its endurance."""
        endurance = self.checks.number("config.wear.endurance")
        if self.checks.number("wear.erase_max") <= endurance:
            mean = self.report.number("wear.erase_mean") or 0.0
            self.checks.exactly("lifetime", "lifetime.left", 1 - mean / endurance)

    def _can_extrapolate(self) -> bool:
        report = self.report
        is_plain = not report.number("config.wear.endurance_spread")
        has_no_bad_blocks = not self.checks.number("wear.factory_bad_blocks")
        return self._is_new() and is_plain and has_no_bad_blocks and not self.in_superblocks

    def _all_ends(self) -> list[tuple[float, float] | None]:
        """The ends of life, with and without the erases that may or may not count."""
        measured = (self.operations.erases_within, self.operations.erases_touching)
        return [
            self._ends(list(erases_measured), erases)
            for erases_measured in measured
            for erases in self._life()
        ]

    def _ends(self, measured: list[int], erases: list[int]) -> tuple[float, float] | None:
        """How often the measurement can repeat until a first block, and a first pool, wear out.

        Each block of a pool is erased at the mean rate of the pool. A pool ends when it has lost
        the blocks beyond its share of the pages, less the reserve, and one more.
        """
        endurance = self.checks.number("config.wear.endurance")
        pages = self.geometry.pages
        size = self.geometry.all_blocks // self.pools.count
        user = -(-self.checks.number("device.user_pages") // self.pools.count)
        spare = max(0, size - -(-user // pages) - self.checks.number("config.gc.reserve"))
        ends: list[tuple[float, float]] = []
        for pool in range(self.pools.count):
            blocks = range(pool * size, (pool + 1) * size)
            total = sum(measured[block] for block in blocks)
            if total == 0:
                continue
            remaining = sorted(max(0, endurance - erases[block]) for block in blocks)
            rate = total / size
            ends.append((remaining[0] / rate, remaining[min(spare, size - 1)] / rate))
        if not ends:
            return None
        return min(end for end, _ in ends), min(end for _, end in ends)

    def _steady(self) -> None:
        """The rule at the head of `metrics/steady.rs`, from numbers of the report."""
        checks, report = self.checks, self.report
        preconditioned = self._preconditioned()
        if preconditioned is None or not self.requests.complete or self.operations.power.cuts:
            return
        preconditioned += sum(self.requests.pages_written()) - self.written
        user, live = checks.number("device.user_pages"), checks.number("device.valid_pages")
        groups = checks.number("raid.groups") if report.get("raid") else 0
        spare = checks.number("device.physical_pages") - user - groups
        first, second = (report.number(f"steady_state.wa_{index}") for index in ("first", "second"))
        is_steady = (
            self.written > 0
            and report.get("verdict.decided_by") != "reserve"
            and self.written + preconditioned >= user
            and self.written + preconditioned - live >= live
            and self.written >= spare
            and checks.number("gc.calls") >= LEAST_CALLS
            and first is not None
            and second is not None
            and abs(first - second) <= TOLERANCE * second
        )
        checks.exactly("steady", "steady_state.reached", is_steady)


class Pools:
    """The pools of a device: planes that share erased blocks, numbered in order."""

    def __init__(self, geometry: Geometry, scope: str) -> None:
        """Count them, and the planes of each."""
        planes = geometry.channels * geometry.chips * geometry.planes
        sizes = {"plane": 1, "chip": geometry.planes, "device": planes}
        sizes["channel"] = geometry.chips * geometry.planes
        self.planes = sizes[scope]
        self.count = planes // self.planes


def _check_erases(checks: Checks, part: str, minimum: list[int], maximum: list[int]) -> None:
    """Compare `PART.erase_*` with the erases of blocks; some erases may or may not count."""
    checks.within("erase-count", f"{part}.erase_min", min(minimum), min(maximum))
    checks.within("erase-count", f"{part}.erase_max", max(minimum), max(maximum))
    n = len(minimum)
    low, high = sum(minimum) / n, sum(maximum) / n
    checks.within("erase-count", f"{part}.erase_mean", low - 1e-9, high + 1e-9)
    spreads = [_spread(minimum), _spread(maximum)]
    slack = 1e-9 + math.sqrt(sum(b - a for a, b in zip(minimum, maximum, strict=True)) / n)
    slack = 1e-9 if minimum == maximum else slack
    low, high = max(0.0, min(spreads) - slack), max(spreads) + slack
    checks.within("erase-count", f"{part}.erase_stddev", low, high)


def _spread(values: list[int]) -> float:
    mean = sum(values) / len(values)
    return math.sqrt(math.fsum((value - mean) ** 2 for value in values) / len(values))
