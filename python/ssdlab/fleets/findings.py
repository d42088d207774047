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
    heights = cumulated(np.asarray(weights, float)[order])
    places = np.searchsorted(heights, np.asarray(parts) - 1e-12)
    found: Floats = sorted_values[np.minimum(places, len(sorted_values) - 1)]
    return found


def cumulated(weights: Floats) -> Floats:
    """Cumulative shares of the weight; equal shares if there is no weight."""
    total = float(weights.sum())
    summed: Floats = np.cumsum(weights if total > 0 else np.ones_like(weights))
    shares: Floats = summed / summed[-1]
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


def rank(statistic: str, values: Sequence[float], outcome: Sequence[float], of: int) -> Rank | None:
    """The correlation, with an interval for one of `of` statistics; None if it has no meaning.

    The interval is Fisher's, with the standard error of Bonett and Wright (2000) for ranks, and
    Bonferroni's share of the error.
    """
    n = len(values)
    if n < LEAST_RANKED or min(values) == max(values) or min(outcome) == max(outcome):
        return None
    a, b = _ranks(values), _ranks(outcome)
    rho = float(np.corrcoef(a, b)[0, 1])
    bounded = min(max(rho, -0.9999999), 0.9999999)
    error = math.sqrt((1 + bounded**2 / 2) / (n - 3))
    width = NormalDist().inv_cdf(1 - (1 - CONFIDENCE) / 2 / of) * error
    centre = math.atanh(bounded)
    return Rank(statistic, n, rho, math.tanh(centre - width), math.tanh(centre + width))


def _ranks(values: Sequence[float]) -> Floats:
    """Ranks from 1; equal values have their mean rank."""
    found = np.asarray(values, float)
    _, place, counts = np.unique(found, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    mean: Floats = (last - (counts - 1) / 2)[place]
    return mean


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
    ratios = sorted(value / of for value, of in pairs if value > 0 and of > 0)
    if not ratios:
        return None
    n, cut = len(ratios), sign_test_cut(len(ratios))
    low, high = (None, None) if cut is None else (ratios[cut], ratios[n - 1 - cut])
    lower, higher = sum(one < 1 for one in ratios), sum(one > 1 for one in ratios)
    return Difference(metric, drive, base, n, median(ratios), low, high, lower, higher)


def sign_test_cut(n: int) -> int | None:
    """How many order statistics lie outside the interval of a median at each end; None: too few."""
    if n < LEAST_PAIRS:
        return None
    left, cut = (1 - CONFIDENCE) / 2, -1
    below = 0.0
    for k in range(n):
        below += math.exp(
            math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) - n * math.log(2)
        )
        if below > left:
            break
        cut = k
    return cut
