"""Predictions compared with full size: errors, and the best policies."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, NamedTuple, TypeAlias

from ssdlab.results.prediction import Predicted, Ranking
from ssdlab.running.scale import FEWEST_PAGES, beyond, residual
from ssdlab_lab.reproduce.result import INTERRUPTED
from ssdlab_lab.reproduce.scales.choices import (
    CLOSE,
    FOOTPRINTS,
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
from ssdlab_lab.reproduce.scales.pools import pool_of
from ssdlab_lab.reproduce.scales.table import DECIMALS, EarlierResults
from ssdlab_lab.reproduce.study import Study

Winner: TypeAlias = Literal["same", "none", "another"]


class PredictionComparison(NamedTuple):
    """A prediction beside full size."""

    drive: str
    load: Load
    size: str
    policy: str
    predicted: Predicted
    full: float

    @property
    def error(self) -> float:
        """Error of the prediction, as a share of full size."""
        return self.predicted.mean / self.full - 1

    @property
    def without_residual(self) -> PredictionComparison:
        """The same with an interval that is not widened for small blocks."""
        return self._replace(predicted=replace(self.predicted, residual=0.0))

    @property
    def is_inside(self) -> bool:
        """Whether the interval contains full size."""
        low, high = self.predicted.interval or (self.predicted.mean,) * 2
        return low <= self.full <= high

    @property
    def holds(self) -> bool:
        """Whether it is close to full size, or its interval contains that."""
        return abs(self.error) <= CLOSE or self.is_inside


@dataclass(frozen=True)
class Scales(Study[Place]):
    """The outcome by place."""

    earlier: EarlierResults | None = None
    """Numbers of earlier studies, whose runs were not repeated."""

    name = NAME
    smaller = "Quick: one footprint, and pools of small blocks in place of full size."

    @cached_property
    def measured(self) -> dict[Place, float]:
        """Write amplification of all runs, with the decimals in their file."""
        measured = {
            place: round(waf, DECIMALS)
            for place, report in self.reports.items()
            if (waf := report.waf.total) is not None
        }
        return {**(self.earlier.measured if self.earlier else {}), **measured}

    def remarks(self) -> list[str]:
        """What a reader should know before using the numbers.

        The page says which runs exist, so an interrupt does not appear on it.
        """
        return [text for text in super().remarks() if text != INTERRUPTED]

    def full(self, drive: str, load: Load, policy: str) -> float | None:
        """The result of the pool at full size."""
        return self.measured.get(Place(drive, load, FULL, policy, 1, SEEDS[0]))

    def predicted(self, drive: str, load: Load, size: str, policy: str) -> Predicted | None:
        """The prediction of the trials of a footprint; None if one of them is missing."""
        place = Place(drive, load, size, policy, 1, SEEDS[0])
        values = [self.measured.get(place._replace(seed=seed)) for seed in SEEDS]
        half_mean = self.measured.get(place._replace(pools=2))
        means = tuple(value for value in values if value is not None)
        if not half_mean or len(means) < len(values):
            return None
        keys = POLICIES[policy]
        separation = str(keys.get("alloc.separation", "none"))
        pool = pool_of(drive, policy, self.quick)
        return Predicted(
            means,
            half_mean,
            beyond(str(keys["gc.victim"]), separation),
            residual(pool.unit_of_trial(FOOTPRINTS[size]), pool.unit),
        )

    def compared(self, drive: str, load: Load, size: str) -> Iterator[PredictionComparison]:
        """The predictions of a footprint that have a run at full size."""
        for policy in POLICIES:
            prediction = self.predicted(drive, load, size, policy)
            full = self.full(drive, load, policy)
            if prediction is not None and full is not None:
                yield PredictionComparison(drive, load, size, policy, prediction, full)

    def every(self) -> Iterator[PredictionComparison]:
        """All of them."""
        for drive in drives():
            for size in sizes(self.quick):
                for load in LOADS:
                    yield from self.compared(drive, load, size)

    def at_full_size(self, drive: str, load: Load) -> dict[str, float]:
        """Policies that have a run at full size, and their write amplification there."""
        full = {policy: self.full(drive, load, policy) for policy in POLICIES}
        return {policy: waf for policy, waf in full.items() if waf is not None}

    def ranking(self, drive: str, load: Load, size: str) -> Ranking | None:
        """The prediction for these; None if there are fewer than two."""
        predictions = {
            policy: prediction
            for policy in self.at_full_size(drive, load)
            if (prediction := self.predicted(drive, load, size, policy)) is not None
        }
        return Ranking(predictions) if len(predictions) > 1 else None

    def gives_verdict(self, drive: str, load: Load, size: str) -> bool:
        """Whether `try` would name a policy there, or several."""
        ranking = self.ranking(drive, load, size)
        if ranking is None or ranking.undecided:
            return False
        pool = pool_of(drive, next(iter(POLICIES)), self.quick)
        return pool.unit_of_trial(FOOTPRINTS[size]) >= FEWEST_PAGES

    def winner(self, drive: str, load: Load, size: str) -> Winner | None:
        """Whether the policy that a footprint names is that of full size; None if not measured."""
        ranking, full = self.ranking(drive, load, size), self.at_full_size(drive, load)
        policies = {case.policy for case in self.compared(drive, load, size)}
        if ranking is None:
            return None
        if not self.gives_verdict(drive, load, size) or len(ranking.best) > 1:
            return "none"
        return "same" if ranking.best[0] == min(policies, key=full.__getitem__) else "another"
