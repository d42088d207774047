"""Predictions beside full size: errors, and who wins."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple, TypeAlias

from ssdlab.reproduce.scales.choices import (
    CLOSE,
    FULL,
    LOADS,
    NAME,
    POLICIES,
    SEEDS,
    Load,
    Place,
    drives,
    sizes,
)
from ssdlab.reproduce.study import Study
from ssdlab.results.prediction import Predicted, Ranking
from ssdlab.running.scale import FEWEST_PAGES

Winner: TypeAlias = Literal["same", "none", "another"]


class Compared(NamedTuple):
    """A prediction beside full size."""

    drive: str
    load: Load
    size: str
    policy: str
    predicted: Predicted
    full: float

    @property
    def error(self) -> float:
        """Of the prediction, as a share of full size."""
        return self.predicted.mean / self.full - 1

    @property
    def is_inside(self) -> bool:
        """Whether the interval contains full size."""
        low, high = self.predicted.interval or (self.predicted.mean,) * 2
        return low <= self.full <= high

    @property
    def holds(self) -> bool:
        """Whether it is close to full size, or its interval contains that."""
        return abs(self.error) <= CLOSE or self.is_inside


class Scales(Study[Place]):
    """What came out, by place."""

    name = NAME
    smaller = "Quick: one footprint, and pools of small blocks in place of full size."

    def waf(self, place: Place) -> float | None:
        """Write amplification of a run."""
        report = self.reports.get(place)
        return None if report is None else report.waf.total

    def full(self, drive: str, load: Load, policy: str) -> float | None:
        """That of the pool at full size."""
        return self.waf(Place(drive, load, FULL, policy, 1, SEEDS[0]))

    def predicted(self, drive: str, load: Load, size: str, policy: str) -> Predicted | None:
        """What the trials of a footprint predict; None where one of them was not made."""
        values = [self.waf(Place(drive, load, size, policy, 1, seed)) for seed in SEEDS]
        halved = self.waf(Place(drive, load, size, policy, 2, SEEDS[0]))
        known = tuple(value for value in values if value is not None)
        return Predicted(known, halved) if halved and len(known) == len(values) else None

    def compared(self, drive: str, load: Load, size: str) -> Iterator[Compared]:
        """The predictions of a footprint that have a run at full size."""
        for policy in POLICIES:
            predicted = self.predicted(drive, load, size, policy)
            full = self.full(drive, load, policy)
            if predicted is not None and full is not None:
                yield Compared(drive, load, size, policy, predicted, full)

    def every(self) -> Iterator[Compared]:
        """All of them."""
        for drive in drives():
            for size in sizes(self.quick):
                for load in LOADS:
                    yield from self.compared(drive, load, size)

    def pages(self, drive: str, load: Load, size: str) -> int:
        """Pages of an erase unit of a trial that was made."""
        report = self.reports[Place(drive, load, size, next(iter(POLICIES)), 1, SEEDS[0])]
        return int(report.config["device.pages_per_block"])

    def doubt(self, drive: str, load: Load, size: str) -> bool:
        """Whether `try` gives no verdict there."""
        ranking = self.ranking(drive, load, size)
        return ranking is None or bool(
            self.pages(drive, load, size) < FEWEST_PAGES or ranking.unclear
        )

    def ranking(self, drive: str, load: Load, size: str) -> Ranking | None:
        """The policies of a footprint; None where one of them was not made."""
        predicted = {
            policy: value
            for policy in POLICIES
            if (value := self.predicted(drive, load, size, policy)) is not None
        }
        return Ranking(predicted) if len(predicted) == len(POLICIES) else None

    def winner(self, drive: str, load: Load, size: str) -> Winner | None:
        """Whether the policy that a footprint names is that of full size; None: not measured."""
        ranking = self.ranking(drive, load, size)
        full = {policy: self.full(drive, load, policy) for policy in POLICIES}
        known = {policy: waf for policy, waf in full.items() if waf is not None}
        if ranking is None or len(known) < len(full):
            return None
        if self.doubt(drive, load, size) or len(ranking.best) > 1:
            return "none"
        return (
            "same" if ranking.best[0] == min(known, key=lambda policy: known[policy]) else "another"
        )
