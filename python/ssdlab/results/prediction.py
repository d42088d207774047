"""Write amplification that small trials predict for a drive: values, intervals, the best policy.

A trial has as many erase units as a pool of the drive, with fewer pages each. The resulting error
falls with the pages of an erase unit. A trial with half as many pages shows how large it is, and
the prediction is extrapolated by that much (ADR 0026). Under cost-benefit, blocks as large as the
drive's write more than either trial shows. Updates come in two orders: as recorded, for one
application on the drive, and with a separate phase for every page, for many.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping
from dataclasses import dataclass

from ssdlab.results.intervals import Ratio, estimate, paired_ratio

ORDERS = {"recorded": "one application", "independent": "many tenants"}
"""Values of `workload.phases`, and what each order of updates represents."""
LARGEST_SHARE = 0.05
"""Largest share of write amplification that the extrapolation of a policy may add if it is to win.
"""


@dataclass(frozen=True)
class Predicted:
    """Write amplification of a policy on the drive under an order of updates."""

    values: tuple[float, ...]
    """Write amplification of the trial, by seed."""
    halved: float | None
    """That of the trial with half the pages of an erase unit, for the first seed; None: it was not
    run, and the values are those of the trial."""
    beyond: float = 0.0
    """Share by which the drive may write more than both trials show, because its blocks are larger.
    """
    residual: float = 0.0
    """Largest share by which drives have differed from an extrapolation as far as this one."""

    @property
    def difference(self) -> float:
        """How much more the trial writes than the one with half the pages."""
        return 0.0 if self.halved is None else statistics.fmean(self.values) - self.halved

    def _extrapolate(self, value: float) -> float:
        """A value of the trial, extrapolated to the drive, which writes no less than the host."""
        return max(1.0, value + self.difference)

    @property
    def mean(self) -> float:
        """Mean over the seeds, extrapolated."""
        return self._extrapolate(statistics.fmean(self.values))

    @property
    def share(self) -> float:
        """The difference between both trials as a share of the mean."""
        return abs(self.difference) / self.mean

    @property
    def interval(self) -> tuple[float, float] | None:
        """From the lowest to the highest plausible value.

        It contains the spread of the seeds, the extrapolation, `residual` and `beyond`.

        The mean is twice that of n seeds minus one run with half the pages, which also has the
        spread of a seed: its variance is 4 / n + 1 times that of a seed. None if nothing shows how
        much the size of blocks matters.
        """
        if self.halved is None:
            return None
        n = len(self.values)
        half_width = (estimate(self.values).ci95 or 0.0) if n > 1 else 0.0
        width = abs(self.difference) + math.sqrt(n + 4) * half_width + self.residual * self.mean
        middle = statistics.fmean(self.values) + self.difference
        return max(1.0, middle - width), max(1.0, middle + width) * (1 + self.beyond)

    @property
    def widest(self) -> tuple[float, float] | None:
        """The interval, widened by the difference between both trials once more.

        It contains the drive if the error of small blocks falls at least with the power log2(4/3)
        = 0.42 of their pages (ADR 0026).
        """
        if self.interval is None:
            return None
        low, high = self.interval
        return max(1.0, low - abs(self.difference)), high + abs(self.difference)

    def against(self, other: Predicted) -> Ratio | None:
        """The ratio to `other` on the drive; None for a single seed, or without an interval.

        The interval covers those of the trial and of its extrapolation. It also covers the ratio
        with half the pages if that would rank the two the other way, and the share `beyond` of
        either.
        """
        pairs = list(zip(self.values, other.values, strict=False))
        if len(pairs) < 2 or self.halved is None or other.halved is None:
            return None
        shifted = [(self._extrapolate(a), other._extrapolate(b)) for a, b in pairs]
        trial, drive = (paired_ratio(*zip(*sample, strict=True)) for sample in (pairs, shifted))
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
    """Which policy writes least under an order of updates."""

    predicted: Mapping[str, Predicted]
    """By policy; the first is the baseline."""

    @property
    def best(self) -> tuple[str, ...]:
        """The policy with the lowest mean, and all others that no policy certainly beats."""
        if not self.predicted:
            return ()
        key = {label: (policy.mean, policy.share) for label, policy in self.predicted.items()}
        first = min(key, key=key.__getitem__)

        def is_beaten(policy: Predicted) -> bool:
            ratios = (policy.against(rival) for rival in self.predicted.values())
            return any(ratio is not None and ratio.order == "higher" for ratio in ratios)

        rivals = (label for label in self.predicted if label != first)
        return first, *(label for label in rivals if not is_beaten(self.predicted[label]))

    @property
    def named(self) -> tuple[str, ...]:
        """The best, with the baseline first: of equal policies, it is the usual choice."""
        baseline = next(iter(self.predicted), None)
        return tuple(sorted(self.best, key=lambda label: label != baseline))

    @property
    def lead(self) -> float:
        """The share by which every other policy certainly writes more than the best one."""
        first, *_ = self.best
        least = self.predicted[first]
        rivals = (policy for label, policy in self.predicted.items() if label != first)
        ratios = [policy.against(least) for policy in rivals]
        lows = [1.0 if ratio is None else ratio.low or ratio.ratio for ratio in ratios]
        return max(0.0, min(lows, default=math.inf) - 1)

    @property
    def unclear(self) -> dict[str, float]:
        """The policies whose extrapolation is too large for them to win, each with its share."""
        shares = {label: policy.share for label, policy in self.predicted.items()}
        return {label: share for label, share in shares.items() if share > LARGEST_SHARE}

    @property
    def undecided(self) -> dict[str, float]:
        """The unclear policies that may write least, for which there is no verdict.

        An unclear policy is left out if it loses even with its widest interval, or if the best
        policy writes no more than the host.
        """
        # Means that are clamped to 1 are equal: the clear one is the reference.
        ascending = sorted(self.predicted.values(), key=lambda policy: (policy.mean, policy.share))
        least = ascending[0] if ascending else None
        if least is None or least.interval is None:
            return self.unclear
        highest = least.interval[1]

        def may_win(label: str) -> bool:
            widest = self.predicted[label].widest
            return widest is None or widest[0] < highest

        return {label: share for label, share in self.unclear.items() if may_win(label)}


@dataclass(frozen=True)
class Verdict:
    """The joint verdict of both orders of updates."""

    winners: Mapping[str, tuple[str, ...]]
    """By order of updates: `Ranking.best`."""

    @property
    def common(self) -> tuple[str, ...]:
        """The policies that are best, or as good, under every order."""
        first, *others = self.winners.values()
        return tuple(label for label in first if all(label in other for other in others))

    @property
    def decided(self) -> bool:
        """Whether one policy wins under every order."""
        return len(self.common) == 1 and all(len(best) == 1 for best in self.winners.values())


def verdict(rankings: Mapping[str, Ranking]) -> Verdict:
    """The verdict on the rankings by order of updates."""
    return Verdict({name: ranking.named for name, ranking in rankings.items()})
