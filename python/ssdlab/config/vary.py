"""The values of a key that varies: a list, a range, or what points are drawn from.

    greedy,fifo            these values
    0.05:0.30:0.05         from 0.05 to 0.30 in steps of 0.05
    4 KiB:64 KiB:x2        from 4 KiB to 64 KiB, each twice the one before it
    lin:0:1:5              5 values from 0 to 1, evenly spaced
    log:1:1000:4           4 values from 1 to 1000, each the same factor above the one before it
    0.05:0.30              anything between the two, to be drawn; log:1:1000 by its logarithm

Ends written as whole numbers give whole numbers if the step allows it.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from ssdlab.config.quantity import QUANTITY, UNITS
from ssdlab.display.argument import argument, key_argument
from ssdlab.errors import ConfigError

MOST_VALUES = 1_000_000
"""Of one key."""
DIGITS = 4
"""Significant digits of values that are drawn or logarithmically spaced."""
IF = " if "
"""Between a key of a space and its conditions."""
FORMS = "A,B,C or LO:HI:STEP or LO:HI:xFACTOR or log:LO:HI:COUNT"


@dataclass(frozen=True)
class Range:
    """Numbers from `low` to `high`, in units of `unit`."""

    text: str
    low: Decimal
    high: Decimal
    unit: str = ""
    is_whole: bool = False
    """Whether all of them are whole numbers."""
    log: bool = False
    """Whether they are spaced, or drawn, by their logarithms."""
    values: tuple[object, ...] = ()
    """The values in a grid; empty if the range can only be drawn from."""

    def draw(self, share: float) -> object:
        """The value at `share` of the range, 0 to 1 exclusive."""
        low, high = float(self.low), float(self.high)
        if self.log:
            return self.value(low * (high / low) ** share)
        if self.is_whole:
            return self.value(math.floor(low + share * (high - low + 1)))
        return self.value(low + share * (high - low))

    def value(self, number: float) -> object:
        """The value of the key that is `number` units."""
        return _value(Decimal(number), self.unit, self.is_whole)


def _value(number: Decimal, unit: str, whole: bool, digits: int = DIGITS) -> object:
    """`number` as the value of a key, without digits that do not matter."""
    if whole:
        value: int | float = round(number)
    else:
        value = float(f"{float(number):.{digits}g}")
    return f"{value:.15g} {unit}" if unit else value


def is_range(text: str) -> bool:
    """Whether `text` has the form of a range: other texts have no colon after a number.

    `streams:4` is a word.
    """
    return re.match(r"\s*((lin|log)\s*:|[+-]?\.?\d[^:\"'\[{]*:)", text) is not None


def range_of(text: str) -> Range:
    """The range that `text` describes. Raises `ValueError` with what is wrong."""
    kind, bounds = "", text
    if head := re.match(r"\s*(lin|log)\s*:", text):
        kind, bounds = head[1], text[head.end() :]
    parts = [part.strip() for part in bounds.split(":")]
    if len(parts) not in (2, 3):
        message = f"expected {FORMS}"
        raise ValueError(message)
    (low, low_unit, is_low_whole), (high, high_unit, is_high_whole) = (
        _number(parts[0]),
        _number(parts[1]),
    )
    unit = low_unit or high_unit
    high = _in_unit(high, high_unit or unit, unit)
    is_whole = is_low_whole and is_high_whole and high == high.to_integral_value()
    if low >= high:
        message = f"{parts[0]} is not below {parts[1]}"
        raise ValueError(message)
    factor = parts[2][1:] if len(parts) == 3 and parts[2][:1] in "x*" else None
    if (kind == "log" or factor) and low <= 0:
        message = f"a range of factors begins above 0, not at {parts[0]}"
        raise ValueError(message)
    range_ = Range(text, low, high, unit, is_whole, kind == "log" or factor is not None)
    if len(parts) == 2:
        return range_
    if kind:
        values = _spaced_values(range_, parts[2])
    elif factor is not None:
        values = _factor_values(range_, factor)
    else:
        values = _step_values(range_, parts[2])
    return Range(text, low, high, unit, is_whole, range_.log, tuple(dict.fromkeys(values)))


def _number(text: str) -> tuple[Decimal, str, bool]:
    """A number, its unit, and whether it is written as a whole number."""
    match_ = QUANTITY.fullmatch(text)
    if match_ is None:
        message = f'found "{text}"; expected a number, or one with a unit, such as 25 us'
        raise ValueError(message)
    digits = match_[1].replace("_", "")
    is_whole = re.fullmatch(r"[+-]?\d+", digits) is not None
    if abs(Decimal(digits).adjusted()) > 300:
        message = f"{text} is no number that a key can have"
        raise ValueError(message)
    return Decimal(digits), match_[2] or "", is_whole


def _in_unit(number: Decimal, unit: str, target: str) -> Decimal:
    """`number` in another unit of the same kind."""
    if unit == target:
        return number
    (kind, factor), (target_kind, target_factor) = (
        UNITS.get(name, ("", 0)) for name in (unit, target)
    )
    if not factor or not target_factor or kind != target_kind:
        message = f"{unit} and {target} are no units of the same kind"
        raise ValueError(message)
    return number * factor / target_factor


def _check_count(count: float) -> None:
    if count > MOST_VALUES:
        message = f"about {count:,.0f} values; at most {MOST_VALUES:,} are possible"
        raise ValueError(message)


def _step_values(range_: Range, text: str) -> Iterator[object]:
    step, unit, is_whole = _number(text)
    step = _in_unit(step, unit or range_.unit, range_.unit)
    if step <= 0:
        message = f"the step {text} is not above 0"
        raise ValueError(message)
    _check_count(float((range_.high - range_.low) / step))
    is_whole = is_whole and range_.is_whole
    # A millionth of a step beyond the end is the end, rounded.
    count = math.floor((range_.high - range_.low) / step + Decimal("1e-6")) + 1
    return (_value(range_.low + i * step, range_.unit, is_whole, 15) for i in range(count))


def _factor_values(range_: Range, text: str) -> Iterator[object]:
    try:
        factor = Decimal(text)
    except ArithmeticError:
        factor = Decimal(0)
    if not factor.is_finite() or factor <= 1:
        message = f"the factor x{text} is not a number above 1"
        raise ValueError(message)
    span = math.log(float(range_.high / range_.low))
    _check_count(span / math.log(float(factor)))
    count = math.floor(span / math.log(float(factor)) + 1e-9) + 1
    return (_value(range_.low * factor**i, range_.unit, range_.is_whole, 15) for i in range(count))


def _spaced_values(range_: Range, text: str) -> Iterator[object]:
    if not re.fullmatch(r"\d{1,9}", text) or int(text) < 2:
        message = f'the number of values is "{text}"; expected a whole number, at least 2'
        raise ValueError(message)
    count = int(text)
    _check_count(count)
    low, high = float(range_.low), float(range_.high)
    # Five values from 0 to 1 are not whole; seven by logarithms are rounded.
    is_whole = range_.is_whole and (range_.log or (range_.high - range_.low) % (count - 1) == 0)
    for i in range(count):
        share = i / (count - 1)
        if i in (0, count - 1):
            number = range_.low if i == 0 else range_.high
        elif range_.log:
            number = Decimal(low * (high / low) ** share)
        else:
            number = range_.low + (range_.high - range_.low) * i / (count - 1)
        yield _value(number, range_.unit, is_whole)


def split(text: str) -> Iterator[str]:
    """Parts between commas, except those inside quotes, lists and tables."""
    depth, quote, start = 0, "", 0
    for i, letter in enumerate(text + ","):
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "\"'":
            quote = letter
        elif letter in "[{":
            depth += 1
        elif letter in "]}":
            depth -= 1
        elif letter == "," and depth <= 0:
            part, start = text[start:i].strip(), i + 1
            if part:
                yield part
    rest = text[start:].strip()
    if rest:
        yield rest


def has_range(text: str) -> bool:
    """Whether one of the parts of `text` is a range."""
    return any(is_range(part) for part in split(text))


def values_of(
    vary: Mapping[str, Iterable[object]], *, allows_draws: bool = False
) -> dict[str, list[object] | Range]:
    """The values of each key: lists, or, with `allows_draws`, ranges without a step.

    A text is a range, or a comma-separated list of ranges and values. Raises `ConfigError` with all
    errors.
    """
    values_by_key: dict[str, list[object] | Range] = {}
    messages: list[str] = []
    for key, spec in vary.items():
        if isinstance(spec, str) and has_range(spec):
            try:
                values_by_key[key] = _range_values(spec, allows_draws)
            except ValueError as error:
                messages.append(f"{key_argument('vary', key, spec)}: {error}")
        # Iterating over another string would vary its letters.
        elif isinstance(spec, str | bytes | Mapping) or not isinstance(spec, Iterable):
            example = json.dumps(spec, default=str)
            messages.append(
                f"{key_argument('vary', key)}: expected a list of values, such as [{example}]"
            )
        else:
            values = [_as_python(value) for value in spec]
            values_by_key[key] = values
            if not values:
                messages.append(
                    f"{key_argument('vary', key)}: nothing to vary: the list of values is empty"
                )
    if messages:
        raise ConfigError(messages)
    return values_by_key


def _as_python(value: object) -> object:
    """A NumPy number as a Python number."""
    is_numpy = type(value).__module__ == "numpy" and hasattr(value, "item")
    return value.item() if is_numpy else value  # type: ignore[attr-defined]


def _range_values(text: str, allows_draws: bool) -> list[object] | Range:
    """The values of a text that contains a range."""
    parts = [*split(text)]
    if len(parts) == 1:
        range_ = range_of(parts[0])
        if range_.values:
            return [*range_.values]
        if allows_draws:
            return range_
        low, _, high = text.rpartition(":")
        syntax = f"{text}:STEP, or log:{low}:{high}:COUNT" if "log" not in text else f"{text}:COUNT"
        draw_options = argument(draw="random", points=100)
        message = f"how many values? Write {syntax}, or draw points ({draw_options})"
        raise ValueError(message)
    values: list[object] = []
    for part in parts:
        if not is_range(part):
            values.append(part)
            continue
        range_ = range_of(part)
        if not range_.values:
            message = f"{part} stands in a list and has no step"
            raise ValueError(message)
        values.extend(range_.values)
    return values


def log_keys(vary: Mapping[str, object]) -> tuple[str, ...]:
    """The keys whose values are ranges with factors."""
    return tuple(
        key
        for key, spec in vary.items()
        if isinstance(spec, str) and has_range(spec) and _first_range(spec).log
    )


def _first_range(text: str) -> Range:
    return range_of(next(part for part in split(text) if is_range(part)))


def fixed_values(values: Mapping[str, Sequence[object] | Range]) -> dict[str, list[object]]:
    """As `values_of`, if no key is to be drawn from."""
    return {key: [*column] for key, column in values.items() if not isinstance(column, Range)}


def vary_messages(messages: Iterable[str], keys: Iterable[str]) -> Iterator[str]:
    """Turn messages about `set` into messages about `vary` if the key varies."""
    keys = tuple(keys)
    for message in messages:
        head, colon, complaint = message.partition(f"{argument('set')}: ")
        name = re.split(r":?\s", complaint, maxsplit=1)[0].rstrip(":")
        # An unknown table is reported by its own name, before the key.
        is_of_vary = any(
            f"{longer}.".startswith(f"{shorter}.")
            for key in keys
            for longer, shorter in ((name, key), (key, name))
        )
        yield key_argument("vary", complaint) if not head and colon and is_of_vary else message
