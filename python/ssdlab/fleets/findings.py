"""Statistics of the outcomes of a fleet: quantiles, rank correlations, differences between drives.

Only claims that the intervals support (docs/fleet.md, "Method").
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist, median
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

CONFIDENCE = 0.95
LEAST_PAIRS = 6
"""With fewer, no interval of the median of differences reaches 95 %."""
LEAST_RANKED = 10
"""Volumes that a rank correlation needs."""


def quantiles(values: Sequence[float], weights: Sequence[float], parts: Sequence[float]) -> Floats:
    """The smallest value that at least each of `parts` of the weight is at or below."""
    order = np.argsort(np.asarray(values, float), kind="stable")
    sorted_values = np.asarray(values, float)[order]
    heights = cumulative_shares(np.asarray(weights, float)[order])
    indices = np.searchsorted(heights, np.asarray(parts) - 1e-12)
    result: Floats = sorted_values[np.minimum(indices, len(sorted_values) - 1)]
    return result


def cumulative_shares(weights: Floats) -> Floats:
    """Cumulative shares of the weight; equal shares if there is no weight."""
    total = float(weights.sum())
    sums: Floats = np.cumsum(weights if total > 0 else np.ones_like(weights))
    shares: Floats = sums / sums[-1]
    return shares


@dataclass(frozen=True)
class Rank:
    """Spearman's rank correlation of a statistic of volumes with an outcome."""

    statistic: str
    """Column of the statistic."""
    volumes: int
    rho: float
    low: float
    high: float
    """Interval that holds for all statistics of a table at once."""

    @property
    def is_clear(self) -> bool:
        """The interval excludes 0."""
        return self.low > 0 or self.high < 0


def rank(
    statistic: str, values: Sequence[float], outcome: Sequence[float], total: int
) -> Rank | None:
    """The correlation, with an interval for one of `total` statistics; None if it has no meaning.

    The interval is Fisher's, with the standard error of Bonett and Wright (2000) for ranks, and
    Bonferroni's share of the error.
    """
    count = len(values)
    if count < LEAST_RANKED or min(values) == max(values) or min(outcome) == max(outcome):
        return None
    value_ranks, outcome_ranks = _ranks(values), _ranks(outcome)
    rho = float(np.corrcoef(value_ranks, outcome_ranks)[0, 1])
    clipped = min(max(rho, -0.9999999), 0.9999999)
    error = math.sqrt((1 + clipped**2 / 2) / (count - 3))
    width = NormalDist().inv_cdf(1 - (1 - CONFIDENCE) / 2 / total) * error
    centre = math.atanh(clipped)
    return Rank(statistic, count, rho, math.tanh(centre - width), math.tanh(centre + width))


def _ranks(values: Sequence[float]) -> Floats:
    """Ranks from 1; equal values have their mean rank."""
    numbers = np.asarray(values, float)
    _, inverse, counts = np.unique(numbers, return_inverse=True, return_counts=True)
    last_ranks = np.cumsum(counts)
    mean_ranks: Floats = (last_ranks - (counts - 1) / 2)[inverse]
    return mean_ranks


@dataclass(frozen=True)
class Difference:
    """How an outcome on a drive compares with that of the same volumes on another."""

    metric: str
    drive: str
    base: str
    volumes: int
    """Pairs."""
    ratio: float
    """Median over the volumes of value over base."""
    low: float | None
    """Lower end of the interval of that median; None if there are too few pairs."""
    high: float | None
    lower: int
    """Volumes with a lower value than on the base."""
    higher: int

    @property
    def is_clear(self) -> bool:
        """The interval excludes 1."""
        return self.low is not None and self.high is not None and not self.low <= 1 <= self.high


def difference(
    metric: str, drive: str, base: str, pairs: Sequence[tuple[float, float]]
) -> Difference | None:
    """The median ratio of pairs of positive numbers, with the interval of the sign test."""
    ratios = sorted(
        value / base_value for value, base_value in pairs if value > 0 and base_value > 0
    )
    if not ratios:
        return None
    count, cut = len(ratios), sign_test_cut(len(ratios))
    low, high = (None, None) if cut is None else (ratios[cut], ratios[count - 1 - cut])
    lower, higher = sum(ratio < 1 for ratio in ratios), sum(ratio > 1 for ratio in ratios)
    return Difference(metric, drive, base, count, median(ratios), low, high, lower, higher)


def sign_test_cut(n: int) -> int | None:
    """How many order statistics lie outside the interval of a median at each end; None: too few."""
    if n < LEAST_PAIRS:
        return None
    tail_share, cut = (1 - CONFIDENCE) / 2, -1
    probability = 0.0
    for order in range(n):
        probability += math.exp(
            math.lgamma(n + 1)
            - math.lgamma(order + 1)
            - math.lgamma(n - order + 1)
            - n * math.log(2)
        )
        if probability > tail_share:
            break
        cut = order
    return cut
