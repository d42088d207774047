"""How numbers are printed, in the terminal and on pages: one rule for both.

Three significant digits with the unit that suits the size, binary units for bytes, never an
exponent. The rules and their boundary cases are in `ssd-core`, `metrics/numbers.rs`.
"""

from __future__ import annotations

import math
import re
from typing import TypeAlias

from ssdlab import _core
from ssdlab.display.form import unit

Value: TypeAlias = "int | float | str | bool | None"
ABSENT = "-"
"""What is printed for a missing number."""


def duration(ns: float | None) -> str:
    """A time in nanoseconds."""
    return _core.number_text("duration", _or_nan(ns))


def size(bytes_: float | None) -> str:
    """A number of bytes."""
    return _core.number_text("size", _or_nan(bytes_))


def bandwidth(bytes_per_s: float | None) -> str:
    """Bytes a second."""
    return _core.number_text("bandwidth", _or_nan(bytes_per_s))


def rate(per_second: float | None) -> str:
    """Things per second, without their name: `1.60 M`."""
    return _core.number_text("rate", _or_nan(per_second))


def percent(share: float | None) -> str:
    """A share, 0 to 1, in percent."""
    return _core.number_text("percent", _or_nan(share))


def ratio(value: float | None) -> str:
    """A pure number that is compared with 1, such as write amplification: three decimals."""
    return _core.number_text("ratio", _or_nan(value))


def number(value: float | None) -> str:
    """Any other number."""
    return _core.number_text("number", _or_nan(value))


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else value


def difference(share: float, digits: int = 1) -> str:
    """A relative difference in percent, with its sign unless it rounds to 0."""
    rounded = round(100 * share, digits)
    return f"{rounded:+.{digits}f} %" if rounded else f"{0:.{digits}f} %"


def format_value(key: str, value: Value) -> str:
    """The value of `key`, a dotted key of report.json or a column of compare.json."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None or isinstance(value, str):
        return value or ABSENT
    quantity = unit(key)
    if quantity == "number":
        return f"{value:,}" if isinstance(value, int) else number(value)
    return _core.number_text(quantity, value)


def on_page(text: str) -> str:
    """Numbers and text in the characters of a page: µ for u, a dash for a missing number."""
    return "–" if text == ABSENT else re.sub(r"(?<=\d) us\b", " µs", text)
