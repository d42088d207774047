"""The results of the study: numbers of every run, and ratios to the conventional line."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ssdlab.results.intervals import Ratio, paired_ratio
from ssdlab.results.report import Report
from ssdlab_lab.reproduce.combined.choices import (
    BASE,
    CHANGES,
    CHOOSE,
    FLOOR,
    LIVE,
    LOAD,
    NEAR,
    ORDERS,
    QUESTIONS,
    QUICK_LIVE,
    QUICK_SEEDS,
    QUICK_WORKLOADS,
    SEEDS,
    WORKLOADS,
)
from ssdlab_lab.reproduce.folders import FolderProperties
from ssdlab_lab.reproduce.result import first_remarks
from ssdlab_lab.reproduce.scoring import Change, change

WRITES, READS = "write p99.9, ms", "read p99.9, ms"
THROUGHPUT, WAF, WEAR = "requests/s", "WAF", "most erases of a block"
FOREGROUND, RESERVE = "foreground share", "reserve share"
USUAL = "oldest first"
"""The order with which others are compared, and under which a closed loop gives the rates."""
CLOSED = 1.0
"""The load of a closed loop."""
RECORDED = 0.0
"""In place of a live share: the requests of a recorded trace, whose own pages are live."""


def _ms(quantity: Callable[[Report], float | None]) -> Callable[[Report], float | None]:
    def measure(report: Report) -> float | None:
        ns = quantity(report)
        return None if ns is None else ns / 1e6

    return measure


def _share(part: float, total: float) -> float:
    return part / total if total else 0.0


MEASURES: dict[str, Callable[[Report], float | None]] = {
    WRITES: _ms(lambda report: report.latency.write.p99_9),
    READS: _ms(lambda report: report.latency.read.p99_9),
    "write mean, ms": _ms(lambda report: report.latency.write.mean),
    "read mean, ms": _ms(lambda report: report.latency.read.mean),
    THROUGHPUT: lambda report: _share(report.requests.completed, report.time.simulated / 1e9),
    WAF: lambda report: report.waf.total,
    WEAR: lambda report: float(report.wear.erase_max),
    FOREGROUND: lambda report: _share(report.gc.foreground, report.gc.calls),
    RESERVE: lambda report: (
        1.0 - (1.0 if (share := report.verdict.policy_share) is None else share)
    ),
}
"""The stored numbers of a run. Foreground: victims collected ahead of the host, over all; reserve:
those that the policy did not choose."""
Numbers = Mapping[str, float | None]


@dataclass(frozen=True, order=True)
class Setting:
    """What is held fixed in a comparison."""

    order: str
    live: float
    load: float = LOAD


@dataclass(frozen=True, order=True)
class Point:
    """One run."""

    setting: Setting
    workload: str
    line: str
    seed: int


def numbers_of(report: Report) -> Numbers:
    """The measures of a run."""
    return {name: measure(report) for name, measure in MEASURES.items()}


@dataclass(frozen=True)
class CombinedOutcome:
    """The outcome."""

    values: Mapping[Point, Numbers]
    rates: Mapping[tuple[str, float], float]
    """Requests per second that the conventional line sustains, by workload and live share."""
    together: Mapping[str, tuple[str, ...]]
    """By order, the chosen answers; an order without runs is missing."""
    quick: bool
    notes: Sequence[str]
    begun: FolderProperties
    """The common properties of the runs in the folder."""
    failures: Mapping[str, str]
    interrupted: bool
    folder: Path

    @property
    def lives(self) -> tuple[float, ...]:
        """Live shares."""
        return QUICK_LIVE if self.quick else LIVE

    @property
    def seeds(self) -> tuple[int, ...]:
        """Seeds of synthetic requests."""
        return QUICK_SEEDS if self.quick else SEEDS

    @property
    def workloads(self) -> tuple[str, ...]:
        """Synthetic ones."""
        return QUICK_WORKLOADS if self.quick else WORKLOADS

    def number(
        self, setting: Setting, workload: str, line: str, seed: int, measure: str
    ) -> float | None:
        """One measure of one run; None if it is missing."""
        return self.values.get(Point(setting, workload, line, seed), {}).get(measure)

    def ratio(
        self,
        setting: Setting,
        line: str,
        measure: str,
        workloads: Sequence[str] | None = None,
        base: Setting | None = None,
    ) -> Ratio | None:
        """A measure over that of the conventional line on the same requests.

        `base`: its setting, if that differs. For each seed the geometric mean over the workloads
        that have the measure; over the seeds their geometric mean and its interval. None while runs
        are missing.
        """
        names = workloads or self.workloads
        centres = [
            self.centre(setting, line, measure, names, seed, base or setting) for seed in self.seeds
        ]
        available = [centre for centre in centres if centre is not None]
        return (
            paired_ratio(available, [1.0] * len(available))
            if len(available) == len(centres)
            else None
        )

    def centre(
        self,
        setting: Setting,
        line: str,
        measure: str,
        workloads: Sequence[str],
        seed: int,
        base: Setting,
    ) -> float | None:
        """The ratio for one seed; None while runs are missing, or without the measure."""
        logs = []
        for name in workloads:
            points = Point(setting, name, line, seed), Point(base, name, BASE, seed)
            if any(point not in self.values for point in points):
                return None
            value, base_value = (self.values[point].get(measure) for point in points)
            if value and base_value:
                logs.append(math.log(value / base_value))
        return math.exp(statistics.fmean(logs)) if logs else None

    def mean(self, setting: Setting, line: str, measure: str) -> float | None:
        """Arithmetic mean of a measure over workloads and seeds."""
        values = [
            self.number(setting, name, line, seed, measure)
            for name in self.workloads
            for seed in self.seeds
        ]
        available = [value for value in values if value is not None]
        return statistics.fmean(available) if available else None

    def recorded(self, order: str, workload: str, line: str, measure: str) -> float | None:
        """A measure over that of the conventional line on a recorded trace."""
        setting = Setting(order, RECORDED)
        value, base = (
            self.number(setting, workload, scheme, 1, measure) for scheme in (line, BASE)
        )
        return value / base if value and base else None

    def order_itself(self, order: str, live: float, measure: str) -> Ratio | None:
        """The conventional line under an order over the same under `USUAL`."""
        return self.ratio(Setting(order, live), BASE, measure, base=Setting(USUAL, live))

    def has_room(self, setting: Setting, measure: str) -> bool:
        """Whether a device that never collects is clearly faster than the conventional line."""
        floor = self.ratio(setting, FLOOR, measure)
        return floor is not None and floor.ratio < NEAR

    def settings(self) -> list[Setting]:
        """The settings of the main comparison."""
        return [Setting(order, live) for order in ORDERS for live in self.lives]

    def remarks(self) -> list[str]:
        """What a reader should know before using the numbers."""
        quick = [QUICK] if self.quick else []
        return first_remarks(self.failures, self.interrupted, [*quick, *self.notes], intervals=True)


QUICK = (
    f"Quick: a smaller device, {len(QUICK_WORKLOADS)} workloads, {len(QUICK_LIVE)} live shares and"
    f" {len(QUICK_SEEDS)} seeds, one load below saturation in the sweep, and no recorded traces."
)


def direction(ratio: Ratio) -> Change:
    """Whether a number is lower (-1) or higher (1) beyond its seeds and the band of no change."""
    return change(ratio.ratio) if ratio.order in ("lower", "higher") else 0


def chosen(study: CombinedOutcome) -> dict[str, tuple[str, ...]]:
    """For each order the answers that lower the p99.9 of writes, the best one to each question.

    Judged by the workloads of `CHOOSE`, over all live shares; an answer counts if the interval of
    its ratio is below 1. Orders without all runs are left out.
    """
    names = [name for name in study.workloads if name in CHOOSE]
    answers = {}
    for order in ORDERS:
        ratios = {line: _over_lives(study, order, line, names) for line in CHANGES}
        available = {line: ratio for line, ratio in ratios.items() if ratio is not None}
        if len(available) < len(ratios):
            continue
        better = {line: ratio.ratio for line, ratio in available.items() if ratio.order == "lower"}
        best = {
            question: min(candidates, key=candidates.__getitem__)
            for question in QUESTIONS
            if (
                candidates := {
                    line: ratio for line, ratio in better.items() if CHANGES[line] == question
                }
            )
        }
        answers[order] = tuple(best.values())
    return answers


def _over_lives(
    study: CombinedOutcome, order: str, line: str, names: Sequence[str]
) -> Ratio | None:
    """The ratio of the p99.9 of writes over all live shares, by seed."""
    by_seed: list[float] = []
    for seed in study.seeds:
        settings = [Setting(order, live) for live in study.lives]
        centres = [
            study.centre(setting, line, WRITES, names, seed, setting) for setting in settings
        ]
        available = [centre for centre in centres if centre is not None]
        if len(available) < len(centres):
            return None
        by_seed.append(math.exp(statistics.fmean(map(math.log, available))))
    return paired_ratio(by_seed, [1.0] * len(by_seed))
