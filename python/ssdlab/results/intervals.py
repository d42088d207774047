"""Confidence intervals over repetitions with different seeds. See docs/statistics.md."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from ssdlab import _core

Order: TypeAlias = Literal["lower", "higher", "equal", "not distinguishable"]
"""How a number compares with another, as far as the interval of their ratio decides."""
UNDECIDED: Order = "not distinguishable"
ONE_SEED = "one seed: no interval"
"""What is printed in place of an order if nothing was repeated."""


@dataclass(frozen=True)
class Estimate:
    """The mean of a number over repetitions, in the unit of the number."""

    n: int
    """Repetitions."""
    mean: float
    """Arithmetic mean."""
    stddev: float
    """Standard deviation of one repetition (of the sample: divided by `n - 1`)."""
    ci95: float | None
    """Half width of the 95 % confidence interval of the mean; None without any spread."""

    @property
    def is_wide(self) -> bool:
        """Whether half the interval is wider than the mean, so that it says nothing about it."""
        return self.ci95 is not None and self.ci95 > abs(self.mean)


@dataclass(frozen=True)
class Ratio:
    """How a number compares with that of the baseline under the same seeds."""

    n: int
    """Pairs."""
    ratio: float
    """Geometric mean of value over baseline."""
    low: float | None
    """Lower end of the 95 % confidence interval; None without any spread."""
    high: float | None
    """Upper end."""

    @property
    def is_wide(self) -> bool:
        """Whether half the interval is wider than the ratio, so that it says nothing about it."""
        return (
            self.low is not None
            and self.high is not None
            and (self.high - self.low > 2 * self.ratio)
        )

    @property
    def order(self) -> Order:
        """How the number compares with the baseline."""
        return order(self.ratio, self.low, self.high)


def order(ratio: float, low: float | None, high: float | None) -> Order:
    """How a number compares with its divisor, from the interval of the ratio.

    An interval that contains 1 is inconclusive. Without an interval the ratio is the same in all
    pairs, and decides by itself.
    """
    low, high = ratio if low is None else low, ratio if high is None else high
    if low == high == 1:
        return "equal"
    if low <= 1 <= high:
        return UNDECIDED
    return "lower" if high < 1 else "higher"


def estimate(values: Sequence[float]) -> Estimate:
    """Mean, spread and Student's interval of independent `values`, at least two."""
    mean, stddev = statistics.fmean(values), statistics.stdev(values)
    if min(values) == max(values):
        return Estimate(len(values), float(values[0]), 0.0, None)
    return Estimate(len(values), mean, stddev, _half_width(len(values), stddev))


def paired_ratio(values: Sequence[float], base: Sequence[float]) -> Ratio | None:
    """The ratio of `values` to those of `base`, pair by pair; at least two pairs.

    The interval is Student's, of the logarithms; None if a number is not positive.
    """
    if min(values) <= 0 or min(base) <= 0:
        return None
    logs = [math.log(value / base_value) for value, base_value in zip(values, base, strict=True)]
    centre = statistics.fmean(logs)
    if min(logs) == max(logs):
        return Ratio(len(logs), values[0] / base[0], None, None)
    width = _half_width(len(logs), statistics.stdev(logs))
    ends = math.exp(centre - width), math.exp(centre + width)
    return Ratio(len(logs), math.exp(centre), *ends)


def _half_width(n: int, stddev: float) -> float:
    return _core.student_t_95(n - 1) * stddev / math.sqrt(n)
