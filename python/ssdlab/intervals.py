"""Confidence intervals over repetitions with different seeds. See docs/statistics.md."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from ssdlab import _core


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


def estimate(values: Sequence[float]) -> Estimate:
    """Mean, spread and Student's interval of independent `values`, at least two."""
    mean, stddev = statistics.fmean(values), statistics.stdev(values)
    if min(values) == max(values):
        return Estimate(len(values), float(values[0]), 0.0, None)
    return Estimate(len(values), mean, stddev, _half_width(len(values), stddev))


def paired_ratio(values: Sequence[float], base: Sequence[float]) -> Ratio | None:
    """Of `values` over those of `base`, pair by pair; at least two pairs.

    The interval is Student's, of the logarithms: None where a number is not positive.
    """
    if min(values) <= 0 or min(base) <= 0:
        return None
    logs = [math.log(value / of) for value, of in zip(values, base, strict=True)]
    centre = statistics.fmean(logs)
    if min(logs) == max(logs):
        return Ratio(len(logs), values[0] / base[0], None, None)
    width = _half_width(len(logs), statistics.stdev(logs))
    ends = math.exp(centre - width), math.exp(centre + width)
    return Ratio(len(logs), math.exp(centre), *ends)


def _half_width(n: int, stddev: float) -> float:
    return _core.student_t_95(n - 1) * stddev / math.sqrt(n)
