"""From values to positions on an axis, and the ticks."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ssdlab.html.plot import Axis, Floats, Unit

TIMES = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns"))
COUNTS = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))
BYTES = ((2.0**40, "TiB"), (2.0**30, "GiB"), (2.0**20, "MiB"), (2.0**10, "KiB"), (1.0, "B"))


def _prefix(unit: Unit, largest: float) -> tuple[float, str]:
    """The divisor of values up to `largest` for printing, and its name."""
    table = {"ns": TIMES, "count": COUNTS, "bytes": BYTES}.get(unit)
    if unit == "share":
        return 0.01, "%"
    if table is None:
        return 1.0, ""
    return next((row for row in table if largest >= row[0]), table[-1])


def short(unit: Unit, value: float) -> str:
    """A round `value` with its unit and without trailing zeros, for ticks of log axes."""
    divisor, name = _prefix(unit, abs(value) * (1 + 1e-9))
    text = f"{value / divisor:,.9f}".rstrip("0").rstrip(".")
    return f"{text} {name}" if name else text


def _nice_step(span: float, most: int) -> float:
    """The smallest of 1, 2, 5 times a power of ten that divides `span` into at most `most`."""
    least_step = span / most
    power = 10.0 ** math.floor(math.log10(least_step))
    return next(
        factor * power
        for factor in (1.0, 2.0, 5.0, 10.0)
        if factor * power >= least_step * (1 - 1e-9)
    )


@dataclass(frozen=True)
class Scale:
    """Maps the values from `low` to `high` to the positions from `start` to `end`."""

    axis: Axis
    low: float
    high: float
    start: float
    end: float

    @staticmethod
    def over(axis: Axis, values: Floats, start: float, end: float) -> Scale:
        """A scale that contains the finite `values` and the bounds that the axis requests."""
        usable = values[np.isfinite(values) & ((values > 0) | (not axis.log))]
        low = axis.low if axis.low is not None else float(usable.min()) if usable.size else 0.1
        high = axis.high if axis.high is not None else float(usable.max()) if usable.size else 1.0
        if axis.log:
            low, high = _octaves(low, high) if axis.unit == "bytes" else _decades(low, high)
        elif high <= low:
            high = low + (abs(low) or 1.0)
        elif axis.high is None and start > end:
            high += 0.04 * (high - low)  # Room above the highest line of a y axis.
        return Scale(axis, low, high, start, end)

    def at(self, values: Floats) -> Floats:
        """Positions of `values`; NaN for those that a log axis cannot show."""
        if self.axis.log:
            loggable = np.where(values > 0, values, np.nan)
            share = np.log(loggable / self.low) / math.log(self.high / self.low)
        else:
            share = (values - self.low) / (self.high - self.low)
        places: Floats = self.start + share * (self.end - self.start)
        return places

    @property
    def divisor(self) -> float:
        """The divisor of the numbers at the ticks of a linear axis."""
        return self._unit_prefix[0]

    @property
    def label(self) -> str:
        """The label of the axis, with the unit if the ticks do not name it."""
        name = self._unit_prefix[1]
        return f"{self.axis.label} ({name})" if name and not self.axis.log else self.axis.label

    @property
    def _unit_prefix(self) -> tuple[float, str]:
        return _prefix(self.axis.unit, max(abs(self.low), abs(self.high)))

    def ticks(self, most: int | None = None) -> list[tuple[float, str]]:
        """Values and texts of the ticks, at most `most`."""
        limit = most
        most = most or (7 if self.end > self.start else 6)
        if self.axis.log:
            values = self._log_ticks(most)
            if limit and len(values) > limit:
                tens = [
                    value
                    for value in values
                    if abs(math.log10(value) - round(math.log10(value))) < 1e-9
                ]
                values = tens if len(tens) > 1 else values
                values = values[:: -(-len(values) // limit)]
            return [(value, short(self.axis.unit, value)) for value in values]
        divisor = self.divisor
        step = _nice_step((self.high - self.low) / divisor, most)
        if self.axis.unit == "count" and divisor == 1:
            step = max(1.0, step)
        decimals = max(0, -math.floor(math.log10(step) + 1e-9))
        start = math.ceil(self.low / divisor / step - 1e-9)
        stop = math.floor(self.high / divisor / step + 1e-9)
        return [
            (multiple * step * divisor, f"{multiple * step:,.{decimals}f}")
            for multiple in range(start, stop + 1)
        ]

    def _log_ticks(self, most: int) -> list[float]:
        if self.axis.unit == "bytes":
            powers = range(round(math.log2(self.low)), round(math.log2(self.high)) + 1)
            stride = -(-len(powers) // most)
            return [2.0**exponent for exponent in powers if exponent % stride == 0]
        low_exponent, high_exponent = math.log10(self.low), math.log10(self.high)
        decades = range(math.ceil(low_exponent - 1e-9), math.floor(high_exponent + 1e-9) + 1)
        if len(decades) < 3:
            steps = [
                factor * 10.0**exponent
                for exponent in range(math.floor(low_exponent), decades.stop)
                for factor in (1, 2, 5)
            ]
            return [
                value for value in steps if self.low * (1 - 1e-9) <= value <= self.high * (1 + 1e-9)
            ]
        stride = -(-len(decades) // most)
        return [10.0**exponent for exponent in decades if exponent % stride == 0]


def _octaves(low: float, high: float) -> tuple[float, float]:
    """Bounds of a log axis of bytes: powers of two outside the values."""
    low_exponent, high_exponent = math.floor(math.log2(low)), math.ceil(math.log2(high))
    return (
        (2.0**low_exponent, 2.0**high_exponent)
        if high_exponent > low_exponent
        else (2.0 ** (low_exponent - 1), 2.0 ** (low_exponent + 1))
    )


def _decades(low: float, high: float) -> tuple[float, float]:
    """Bounds of a log axis: 1, 2 or 5 times a power of ten, outside the values."""

    def bound(value: float, is_upper: bool) -> float:
        power = 10.0 ** math.floor(math.log10(value) + 1e-12)
        steps = [factor * power for factor in (1.0, 2.0, 5.0, 10.0)]
        if is_upper:
            return next(step for step in steps if step >= value * (1 - 1e-9))
        return next(step for step in reversed(steps) if step <= value * (1 + 1e-9))

    low, high = bound(low, False), bound(high, True)
    return (low, high) if high > low else (low / 2, high * 2)
