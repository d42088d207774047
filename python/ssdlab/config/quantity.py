"""Values of keys that are numbers: `0.25`, `25 us`, `4 KiB`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal, TypeAlias

from ssdlab.display.numbers import Value

DAY_S = 86_400
"""Seconds of a day."""
KeyUnit: TypeAlias = Literal["", "ns", "bytes"]
"""Unit of the values of a key; empty if they have none."""

_TIMES = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "min": 60 * 10**9,
    "h": 3600 * 10**9,
}
_SIZES = {
    "B": 1,
    "kB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "TB": 10**12,
    "PB": 10**15,
    "KiB": 1 << 10,
    "MiB": 1 << 20,
    "GiB": 1 << 30,
    "TiB": 1 << 40,
    "PiB": 1 << 50,
    # A page or a request, as fio writes it.
    "k": 1 << 10,
    "K": 1 << 10,
    "M": 1 << 20,
}
_BINARY = {name.lower(): name for name in _SIZES if name.endswith("iB")}
"""Units that are clear in any case."""
UNITS: Mapping[str, tuple[KeyUnit, int]] = {
    **{name: ("ns", factor) for name, factor in _TIMES.items()},
    **{name: ("bytes", factor) for name, factor in _SIZES.items()},
}
"""The meaning of the unit behind a number: the unit of the values, and its size in that unit."""
QUANTITY = re.compile(
    r"([+-]?(?:\d[\d_]*(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)\s*([A-Za-zµ][\w/]*|%)?"
)
"""A number, and the unit behind it."""


def quantity(value: Value) -> tuple[int | float, KeyUnit] | None:
    """A value of a key as a number, and its unit; None if it is not a number."""
    if isinstance(value, bool) or value is None:
        return None
    if not isinstance(value, str):
        return value, ""
    match_ = QUANTITY.fullmatch(value.strip())
    if match_ is None:
        return None
    digits, unit = match_[1].replace("_", ""), match_[2]
    number: int | float = int(digits) if re.fullmatch(r"[+-]?\d+", digits) else float(digits)
    if unit is None:
        return number, ""
    if unit == "%":
        return number / 100, ""
    unit = _BINARY.get(unit.lower(), unit)
    if unit not in UNITS:
        return None
    base_unit, factor = UNITS[unit]
    number *= factor
    return int(number) if number == int(number) else number, base_unit
