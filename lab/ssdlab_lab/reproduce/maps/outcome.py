"""The gains at the points of the maps."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from typing import Literal, NamedTuple, TypeAlias

from ssdlab.results.report import Report
from ssdlab_lab.reproduce.maps.choices import (
    AXES,
    BAND,
    LINES,
    NAME,
    PAPERS,
    QUICK,
    SEEDS,
    SUSTAINED,
    TAILS,
    WARMUP,
    Place,
    interval_us,
    lives,
    load_of,
    requests_of,
    values,
)
from ssdlab_lab.reproduce.papers.deferred_gc_raid.measures import mean_ms, p99_ms
from ssdlab_lab.reproduce.study import Study

MEAN, P99, LONGEST = "mean", "p99", "longest"
MEASURES = (MEAN, P99, LONGEST)
"""Latencies of reads and writes together; all are stored, two of them are mapped for a paper."""
Verdict: TypeAlias = Literal["better", "no change", "worse"]


def latency_ms(report: Report, measure: str) -> float | None:
    """A latency of all requests of a run, milliseconds."""
    if measure == LONGEST:
        latency = report.latency
        longest = [value for value in (latency.read.max, latency.write.max) if value is not None]
        return max(longest) / 1e6 if longest else None
    return (mean_ms if measure == MEAN else p99_ms)("all")(report)


class Point(NamedTuple):
    """A cell of a map."""

    paper: str
    axis: str
    at: float
    live: float


class Maps(Study[Place]):
    """The results, by run."""

    name = NAME
    smaller = QUICK

    def points(self, paper: str, axis: str) -> Iterator[Point]:
        """The cells of a map."""
        for at in values(paper, axis, self.quick):
            yield from (Point(paper, axis, at, live) for live in lives(paper, self.quick))

    def gains(self, point: Point, measure: str) -> tuple[float, ...] | None:
        """Latency of the baseline over that of the proposal, by seed; None while one is missing."""
        found = []
        for seed in SEEDS:
            reports = [self.reports.get(Place(*point, line, seed)) for line in LINES[point.paper]]
            base, proposed = (
                None if report is None else latency_ms(report, measure) for report in reports
            )
            if not base or not proposed:
                return None
            found.append(base / proposed)
        return tuple(found)

    def gain(self, point: Point, measure: str) -> float | None:
        """The geometric mean over seeds."""
        found = self.gains(point, measure)
        return None if found is None else statistics.geometric_mean(found)

    def verdict(self, point: Point, measure: str) -> Verdict | None:
        """Whether the proposal is better with every seed, worse with every seed, or neither."""
        found = self.gains(point, measure)
        if found is None:
            return None
        if min(found) > BAND:
            return "better"
        return "worse" if max(found) < 1 / BAND else "no change"

    def sustains(self, point: Point, proposed: bool = False) -> bool | None:
        """Whether a line, by default the baseline, is as fast as requests arrive."""
        line = LINES[point.paper][proposed]
        for seed in SEEDS:
            place = Place(*point, line, seed)
            report = self.reports.get(place)
            if report is None:
                return None
            measured = (1 - WARMUP) * requests_of(point.paper, self.quick)
            span_us = measured * interval_us(point.paper, load_of(place))
            if report.time.simulated / 1e3 > SUSTAINED * span_us:
                return False
        return True

    def sustained(self, paper: str) -> list[Point]:
        """The points of both maps of a paper at which both lines are as fast as requests arrive."""
        return [
            point
            for point in self._both(paper)
            if self.sustains(point) and self.sustains(point, proposed=True)
        ]

    def sustained_by_proposal_alone(self, paper: str) -> int:
        """The number of points at which the baseline is slower than requests arrive."""
        return sum(
            self.sustains(point) is False and self.sustains(point, proposed=True) is True
            for point in self._both(paper)
        )

    def _both(self, paper: str) -> Iterator[Point]:
        for axis in AXES:
            yield from self.points(paper, axis)


def mapped(paper: str) -> tuple[str, str]:
    """The measures that are mapped for a paper."""
    assert paper in PAPERS, "a paper with maps"
    return MEAN, TAILS[paper]
