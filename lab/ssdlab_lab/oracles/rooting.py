"""Bracketed root finding: the one numerical tool that all closed forms here share."""

from __future__ import annotations

from collections.abc import Callable

STEPS = 400
"""Upper bound on the bisection steps; doubles run out of digits long before."""


def bisect(function: Callable[[float], float], low: float, high: float) -> float:
    """Return the root of a monotone `function` in [low, high], to the last digit of a double.

    `function` must not have the same sign at both ends. Bisection: slow, but it cannot fail.
    """
    at_low = function(low)
    at_high = function(high)
    if at_low == 0.0:
        return low
    if at_high == 0.0:
        return high
    if (at_low > 0.0) == (at_high > 0.0):
        message = f"no sign change in [{low}, {high}]: {at_low} and {at_high}"
        raise ValueError(message)
    for _ in range(STEPS):
        middle = 0.5 * (low + high)
        if middle in (low, high):
            break
        if (function(middle) > 0.0) == (at_low > 0.0):
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)
