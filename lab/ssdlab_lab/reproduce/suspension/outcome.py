"""The results of the study, and their differences from what is published."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence

from ssdlab.results.intervals import Ratio, paired_ratio
from ssdlab.results.report import Report
from ssdlab_lab.reproduce.combined.choices import LOAD
from ssdlab_lab.reproduce.study import Study
from ssdlab_lab.reproduce.suspension.choices import (
    ALONE,
    BAND,
    EMULATOR,
    FIFO,
    FLASHES,
    MEAN,
    MORE_WRITE,
    MOST_WRITE,
    NAME,
    OFF,
    ON,
    OVER_FIFO,
    OVER_PRIORITY,
    P50,
    P99,
    P99_99,
    PAPER,
    PAPER_PUBLISHED,
    PRIORITY,
    PUBLISHED,
    QUICK,
    READS,
    SUSPENDED,
    WRITES,
    Place,
    loads,
    seeds,
)
from ssdlab_lab.reproduce.suspension.schemes import SCHEMES, named, workloads

Measure = Callable[[Report], float | None]
CHANGE_OF_WRITES = "writes/s, change"
READ_MEAN, WRITE_MEAN, WAF = MEAN, "write mean, us", "WAF"
COLLECTIONS = "collections"
READ_TAIL, WRITE_TAIL = "read p99.9, us", "write p99.9, us"


def _us(quantity: Measure) -> Measure:
    def measure(report: Report) -> float | None:
        ns = quantity(report)
        return None if ns is None else ns / 1e3

    return measure


def _rate(count: Callable[[Report], int]) -> Measure:
    """Requests per simulated second."""
    return lambda report: count(report) / (report.time.simulated / 1e9)


MEASURES: dict[str, Measure] = {
    P50: _us(lambda report: report.latency.read.p50),
    P99: _us(lambda report: report.latency.read.p99),
    P99_99: _us(lambda report: report.latency.read.p99_99),
    MEAN: _us(lambda report: report.latency.read.mean),
    READS: _rate(lambda report: report.latency.read.count),
    WRITES: _rate(lambda report: report.latency.write.count),
    WRITE_MEAN: _us(lambda report: report.latency.write.mean),
    READ_TAIL: _us(lambda report: report.latency.read.p99_9),
    WRITE_TAIL: _us(lambda report: report.latency.write.p99_9),
    WAF: lambda report: report.waf.total,
    COLLECTIONS: lambda report: float(report.gc.calls),
}
"""The stored numbers of a run."""


class Suspensions(Study[Place]):
    """The results, by run."""

    name = NAME
    smaller = QUICK

    def mean(self, part: str, flash: str, load: float, line: str, measure: str) -> float | None:
        """The mean of a measure over seeds; None while one is missing."""
        values: list[float] = []
        for seed in seeds(self.quick):
            report = self.reports.get(Place(part, flash, load, line, seed))
            value = None if report is None else MEASURES[measure](report)
            if value is None:
                return None
            values.append(value)
        return statistics.fmean(values)

    def emulated(self, measure: str, line: str) -> float | None:
        """A measure of the emulated drive."""
        return self.mean(EMULATOR, "", 0.0, line, measure)

    def change_of_writes(self) -> float | None:
        """The change of writes per second that suspension causes on the emulated drive."""
        return change(*(self.emulated(WRITES, line) for line in (ON, OFF)))

    def changes(self, flash: str, load: float) -> Mapping[str, float | None]:
        """The changes of mean latencies that suspension causes on the simulated drive."""

        def mean(line: str, measure: str = READ_MEAN) -> float | None:
            return self.mean(PAPER, flash, load, line, measure)

        return {
            OVER_PRIORITY: change(mean(SUSPENDED), mean(PRIORITY)),
            OVER_FIFO: change(mean(SUSPENDED), mean(FIFO)),
            MORE_WRITE: change(mean(SUSPENDED, WRITE_MEAN), mean(PRIORITY, WRITE_MEAN)),
        }

    def average(self, name: str) -> float | None:
        """A change, on average over all flashes and loads."""
        cells = [(flash, load) for flash in FLASHES for load in loads(self.quick)]
        return mean_of([self.changes(flash, load)[name] for flash, load in cells])

    def slowdown(self, flash: str, load: float, line: str) -> float | None:
        """The mean latency of reads over that of the same reads without writes."""
        value, alone = (self.mean(PAPER, flash, load, which, READ_MEAN) for which in (line, ALONE))
        return None if value is None or not alone else value / alone

    def ratio(
        self, order: str, measure: str, line: tuple[str, str], base: tuple[str, str]
    ) -> Ratio | None:
        """A measure of a line over that of another on the same requests, with its interval.

        Lines are given with the state of suspension. For each seed the geometric mean over the
        workloads that have the measure; None while runs are missing.
        """
        by_seed = []
        for seed in seeds(self.quick):
            logs = []
            for name in workloads(self.quick):
                places = [
                    Place(SCHEMES, name, LOAD, named(order, *one), seed) for one in (line, base)
                ]
                if any(place not in self.reports for place in places):
                    return None
                value, divisor = (MEASURES[measure](self.reports[place]) for place in places)
                if value and divisor:
                    logs.append(math.log(value / divisor))
            if logs:
                by_seed.append(math.exp(statistics.fmean(logs)))
        return paired_ratio(by_seed, [1.0] * len(by_seed)) if by_seed else None

    def agreements(self) -> dict[str, bool | None]:
        """For every published number, whether the simulated one agrees; None: there is none."""
        answers: dict[str, bool | None] = {}
        for measure, lines in PUBLISHED.items():
            for line, published in lines.items():
                found = self.emulated(measure, line)
                answers[f"{EMULATOR}, {measure}, {line}"] = agrees(found, published)
        for name, published in PAPER_PUBLISHED.items():
            answers[f"{PAPER}, {name}"] = agrees(self.average(name), published)
        rise = self.average(MORE_WRITE)
        answers[f"{PAPER}, {MORE_WRITE}"] = None if rise is None else rise < MOST_WRITE
        return answers


def change(value: float | None, base: float | None) -> float | None:
    """The relative change from `base` to `value`."""
    return None if value is None or not base else value / base - 1


def mean_of(values: Sequence[float | None]) -> float | None:
    """The mean; None if a value is missing."""
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if known and len(known) == len(values) else None


def agrees(found: float | None, published: float) -> bool | None:
    """Whether the difference is within the band."""
    error = change(found, published)
    return None if error is None else math.fabs(error) <= BAND
