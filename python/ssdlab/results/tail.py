"""The p99.9 of a drive, from the timed runs of its trial."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ssdlab.display.numbers import duration
from ssdlab.results.intervals import Estimate, estimate
from ssdlab.results.lifetime import Interval, span_text
from ssdlab.results.measures import LatencyStats


@dataclass(frozen=True)
class Tail:
    """The p99.9 of a drive over seeds, in nanoseconds."""

    lowest: Estimate
    """The p99.9 of the timed runs."""
    highest: Estimate
    """The highest that the drive may have: the same, or the p99.99 where erases are shorter."""
    values: tuple[float, ...]
    """Both numbers, of every seed."""

    @staticmethod
    def of(seeds: Iterable[Sequence[LatencyStats]], *, is_bounded: bool) -> Tail | None:
        """From the groups of requests of each seed, of which the slowest counts.

        `is_bounded`: the runs only bound the p99.9. None if fewer than two seeds have one.
        """
        lows, highs = [], []
        for groups in seeds:
            tails = [(stats.p99_9, stats) for stats in groups if stats.p99_9 is not None]
            if tails:
                lows.append(max(p99_9 for p99_9, _ in tails))
                highs.append(max(_most(stats) for _, stats in tails) if is_bounded else lows[-1])
        if len(lows) < 2:
            return None
        return Tail(estimate(lows), estimate(highs), (*lows, *highs))

    @property
    def is_wide(self) -> bool:
        """Whether the seeds differ so much that the p99.9 is undecided."""
        return self.lowest.is_wide or self.highest.is_wide

    @property
    def interval(self) -> Interval:
        """From the lower end of the 95 % interval of `lowest` to the upper end of the higher one.

        From 0 if the p99.9 is undecided.
        """
        low = self.lowest.mean - (self.lowest.ci95 or 0.0)
        high = max(end.mean + (end.ci95 or 0.0) for end in (self.lowest, self.highest))
        return Interval(0.0 if self.is_wide else low, high)

    @property
    def text(self) -> str:
        """In words."""
        low, high = (duration(pick(self.values)) for pick in (min, max))
        if self.is_wide:
            return f"undecided ({low} to {high} in {self.lowest.n} seeds)"
        if self.highest != self.lowest:
            return span_text(self.interval, duration)
        width = self.lowest.ci95
        return duration(self.lowest.mean) + (f" +- {duration(width)}" if width else "")


def _most(trial: LatencyStats) -> float:
    """The highest p99.9 that a drive may have where the runs of its trial bound it."""
    most = trial.max if trial.p99_99 is None else trial.p99_99
    assert most is not None, "a group with percentiles has a maximum"
    return most
