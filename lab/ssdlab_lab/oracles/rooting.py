"""Bracketed root finding: the one numerical tool that all closed forms here share."""

from __future__ import annotations

from collections.abc import Callable

STEPS = 400
"""Upper bound on the bisection steps; doubles run out of digits long before."""


def bisect(function: Callable[[float], float], low: float, high: float) -> float:
    """Return the root of a monotone `function` in [low, high], to the last digit of a double.

    `function` must not have the same sign at both ends. Bisection: slow, but it cannot fail.
    """
    value_low = function(low)
    value_high = function(high)
    if value_low == 0.0:
        return low
    if value_high == 0.0:
        return high
    if (value_low > 0.0) == (value_high > 0.0):
        message = f"no sign change in [{low}, {high}]: {value_low} and {value_high}"
        raise ValueError(message)
    for _ in range(STEPS):
        middle = 0.5 * (low + high)
        if middle in (low, high):
            break
        if (function(middle) > 0.0) == (value_low > 0.0):
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)
