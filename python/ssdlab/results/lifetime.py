"""The lifetime of a drive in years under a load, from its write amplification."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from ssdlab.config.endurance import DAYS, Endurance
from ssdlab.config.quantity import DAY_S
from ssdlab.display.numbers import number, ratio


class Interval(NamedTuple):
    """From the lowest to the highest plausible value."""

    low: float
    high: float


@dataclass(frozen=True)
class Lifetime:
    """A drive with its flash, and how much the host writes."""

    endurance: Endurance
    raw_bytes: float
    user_bytes: float
    daily_bytes: float | None
    """What the host writes per day; None if the trace has no times."""
    contradiction: str = ""
    """How the file of the drive contradicts itself, so that there are no years; empty if it does
    not.
    """
    most_bytes: float = math.inf
    """The most that all dies of the drive can program per day."""

    @property
    def drive_writes(self) -> float | None:
        """What the host writes per day, divided by the capacity of the drive."""
        return None if self.daily_bytes is None else self.daily_bytes / self.user_bytes

    @property
    def excess(self) -> str:
        """By how much the host writes more than the drive can program; empty if it does not."""
        if self.daily_bytes is None or self.daily_bytes <= self.most_bytes:
            return ""
        demand, maximum = (
            number(rate / DAY_S / 1e9) for rate in (self.daily_bytes, self.most_bytes)
        )
        return (
            f"the trace writes {demand} GB/s, and the dies program {maximum} GB/s: is its unit of"
            " time right?"
        )

    def years(self, waf: Interval) -> Interval | None:
        """Years until the flash is worn out.

        None if a figure is missing, the file of the drive contradicts itself, or the host writes
        more than the drive can program.
        """
        endurance_bytes = self.endurance.writable_bytes(self.raw_bytes)
        if self.contradiction or self.excess or endurance_bytes is None or self.daily_bytes is None:
            return None
        most = endurance_bytes / (self.daily_bytes * DAYS)
        return Interval(most / waf.high, most / waf.low)

    def needed(self, waf: Interval | None) -> str:
        """What the host writes in a day beside what the flash takes, both as drive writes.

        Empty where a figure is missing.
        """
        warranty, writes = self.endurance.years, self.drive_writes
        years = None if waf is None else self.years(waf)
        if waf is None or years is None or warranty is None or writes is None:
            return ""
        rates = (number(writes * end / warranty) for end in years)
        amounts = dict.fromkeys((ratio(waf.low), ratio(waf.high)))
        return (
            f"{number(writes)} drive writes a day; the flash takes"
            f" {' to '.join(dict.fromkeys(rates))} a day for {warranty:g} years at WAF"
            f" {' to '.join(amounts)}"
        )

    def largest_waf(self, years: float) -> float | None:
        """The write amplification at which the drive lasts this many years."""
        ideal = self.years(Interval(1.0, 1.0))
        return None if ideal is None else ideal.low / years


FAR = 100.0
"""Years beyond which lifetimes are not distinguished."""


def span_text(interval: Interval, text: Callable[[float], str]) -> str:
    """Both ends of an interval, or one if they have the same text."""
    return " to ".join(dict.fromkeys(map(text, interval)))


def years_text(years: Interval) -> str:
    """Years in words."""
    return span_text(years, lambda end: f"more than {FAR:g}" if end > FAR else number(end))
