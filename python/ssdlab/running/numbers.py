"""Numbers that the simulator accepts."""

from __future__ import annotations

from operator import index

from ssdlab.errors import WorkloadError


def integer(name: str, value: object) -> int:
    """`value` as a number that the simulator accepts."""
    try:
        number = index(value)  # type: ignore[arg-type]
    except TypeError:
        message = f"{name}: expected a whole number, found {value!r}"
        raise WorkloadError(message) from None
    if not -(1 << 63) <= number < 1 << 63:
        message = f"{name}: {number} is out of range"
        raise WorkloadError(message)
    return number
