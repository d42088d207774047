"""Write amplification that small trials predict for a drive: values, intervals, who wins.

A trial has as many erase units as a pool of the drive, with fewer pages each. The error that this
leaves falls with the pages of an erase unit. A trial with half as many pages shows how large it is,
and the prediction is extrapolated by that much (ADR 0026). Under cost-benefit, blocks as large as
the drive's write more than either trial shows. Updates come in two orders: as recorded, for one
application on the drive, and with a phase of its own for every page, for many.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping
from dataclasses import dataclass

from ssdlab.results.intervals import Ratio, estimate, paired_ratio

ORDERS = {"recorded": "one application", "independent": "many tenants"}
"""Values of `workload.phases`, and whom each order of updates stands for."""
LARGEST_SHIFT = 0.05
"""Largest share of write amplification that an extrapolation may add for there to be a verdict."""


@dataclass(frozen=True)
class Predicted:
    """Write amplification of a policy on the drive under an order of updates."""

    values: tuple[float, ...]
    """Write amplification of the trial, by seed."""
    halved: float | None
    """That of the trial with half the pages of an erase unit, for the first seed; None: it was not
    run, and the values are those of the trial."""
    beyond: float = 0.0
    """Share by which the drive may write more than both trials show, as its blocks are larger."""

    @property
    def shift(self) -> float:
        """How much the extrapolation adds to the values of the trial."""
        return 0.0 if self.halved is None else statistics.fmean(self.values) - self.halved

    @property
    def mean(self) -> float:
        """Mean over the seeds, extrapolated."""
        return statistics.fmean(self.values) + self.shift

    @property
    def interval(self) -> tuple[float, float] | None:
        """From the lowest to the highest plausible value: seeds, the size of blocks, `beyond`.

        The mean is twice that of n seeds less one run with half the pages, which has the spread of
        a seed, too: its variance is 4 / n + 1 times that of a seed. None where nothing shows how
        much the size of blocks matters.
        """
        if self.halved is None:
            return None
        n = len(self.values)
        of_seeds = (estimate(self.values).ci95 or 0.0) if n > 1 else 0.0
        width = abs(self.shift) + math.sqrt(n + 4) * of_seeds
        return max(1.0, self.mean - width), (self.mean + width) * (1 + self.beyond)

    def against(self, other: Predicted) -> Ratio | None:
        """The ratio to `other` on the drive; None for a single seed, or without an interval.

        The interval covers those of the trial and of its extrapolation. It also covers the ratio
        with half the pages if that would rank the two the other way, and the share `beyond` of
        either.
        """
        pairs = list(zip(self.values, other.values, strict=False))
        if len(pairs) < 2 or self.halved is None or other.halved is None:
            return None
        shifted = [(a + self.shift, b + other.shift) for a, b in pairs]
        trial, drive = (paired_ratio(*zip(*both, strict=True)) for both in (pairs, shifted))
        if trial is None or drive is None:
            return None
        ends = [
            end for ratio in (trial, drive) for end in (ratio.ratio, ratio.low, ratio.high) if end
        ]
        halved = self.halved / other.halved
        if (halved - 1) * (drive.ratio - 1) < 0:
            ends.append(halved)
        low, high = min(ends) / (1 + other.beyond), max(ends) * (1 + self.beyond)
        return drive if low == high else Ratio(len(pairs), drive.ratio, low, high)


@dataclass(frozen=True)
class Ranking:
    """Who writes least under an order of updates."""

    predicted: Mapping[str, Predicted]
    """By policy; the first is the baseline."""

    @property
    def best(self) -> tuple[str, ...]:
        """The policy that writes least, and those that cannot be distinguished from it."""
        first = min(self.predicted, key=lambda label: self.predicted[label].mean)
        least = self.predicted[first]
        ties = [
            label
            for label, policy in self.predicted.items()
            if label != first
            and ((ratio := policy.against(least)) is None or ratio.order != "higher")
        ]
        return first, *ties

    @property
    def unclear(self) -> dict[str, float]:
        """The policies whose extrapolation is too large for a verdict, each with its share."""
        shares = {
            label: abs(policy.shift) / policy.mean for label, policy in self.predicted.items()
        }
        return {label: share for label, share in shares.items() if share > LARGEST_SHIFT}


@dataclass(frozen=True)
class Verdict:
    """What both orders of updates say together."""

    winners: Mapping[str, tuple[str, ...]]
    """By order of updates: `Ranking.best`."""

    @property
    def common(self) -> tuple[str, ...]:
        """The policies that are best, or as good, under every order."""
        first, *others = self.winners.values()
        return tuple(label for label in first if all(label in other for other in others))

    @property
    def decided(self) -> bool:
        """One policy wins under every order."""
        return len(self.common) == 1 and all(len(best) == 1 for best in self.winners.values())


def verdict(rankings: Mapping[str, Ranking]) -> Verdict:
    """The verdict on the rankings by order of updates."""
    return Verdict({name: ranking.best for name, ranking in rankings.items()})
