"""A condition on points: `waf < 1.02 * greedy`, `latency.read.p99_9 <= 2 ms`.

    CONSTRAINT = METRIC ("<" | "<=" | ">" | ">=") BOUND
    BOUND      = NUMBER [UNIT] | [NUMBER "*"] REFERENCE

REFERENCE is another run with the same requests and seeds; the bound is a multiple of its number.
`baseline` is the unchanged configuration, a word of gc.victim (`greedy`) is the configuration with
that policy, and any other name is a preset. The parser accepts only this grammar.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Literal, NoReturn, TypeAlias, get_args

from ssdlab.config.quantity import UNITS, quantity
from ssdlab.config.resolve import preset_names
from ssdlab.display.argument import argument
from ssdlab.errors import ConfigError
from ssdlab.searching.everything import words_of
from ssdlab.searching.metric import Metric, metric_of

BASELINE = "baseline"
Sign: TypeAlias = Literal["<", "<=", ">", ">="]
SIGNS = get_args(Sign)
TOKEN = re.compile(
    r"\s*(?:(?P<sign><=|>=|<|>)|(?P<times>\*)|(?P<number>[+-]?(?:\d[\d_]*\.?\d*|\.\d+)"
    r"(?:[eE][+-]?\d+)?)|(?P<name>[^\W\d][\w.:-]*))"
)


@dataclass(frozen=True)
class Constraint:
    """A bound on a metric."""

    text: str
    """As it was given."""
    metric: Metric
    sign: Sign
    number: float
    """The bound in the unit of the metric; for a reference, the factor."""
    reference: str = ""
    """Name of a reference, if the bound is `number` times its value."""

    @property
    def below(self) -> bool:
        """Whether the metric has to be below the bound rather than above."""
        return self.sign.startswith("<")

    def excess(self, value: float, bound: float) -> float:
        """By how much `value` misses `bound`, as a share of it; at most 0 if it meets it.

        For a bound that is not positive, the difference itself.
        """
        over = value - bound if self.below else bound - value
        share = over / bound if bound > 0 else over
        return share if share != 0 or "=" in self.sign else STRICTLY


STRICTLY = 1e-12
"""By how much a value misses a bound that it equals but has to be below."""


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    position: int


def constraint_of(text: str) -> Constraint:
    """The constraint in `text`. Raises `ConfigError`, with a caret below the error."""
    tokens = [*_tokens(text)]

    def next_of(kinds: tuple[str, ...], expected: str) -> _Token:
        if not tokens:
            _refuse(text, len(text.rstrip()), f"expected {expected}")
        if tokens[0].kind not in kinds:
            _refuse(text, tokens[0].position, f'found "{tokens[0].text}"; expected {expected}')
        return tokens.pop(0)

    first = next_of(("name",), "the name of a metric, such as waf")
    try:
        metric = metric_of(first.text, first.text)
    except ConfigError as error:
        _refuse(text, first.position, error.messages[0])
    sign = next_of(("sign",), f"one of {' '.join(SIGNS)}").text
    token = next_of(("number", "name"), "a number, or a reference such as 1.02 * greedy")
    number, reference = 1.0, ""
    if token.kind == "number":
        number = float(token.text.replace("_", ""))
        if tokens and tokens[0].kind == "times":
            tokens.pop(0)
            token = next_of(("name",), f"a reference: {BASELINE}, a victim policy, or a preset")
            reference = token.text
        elif tokens and tokens[0].kind == "name":
            number = _with_unit(text, number, tokens.pop(0), metric)
    else:
        reference = token.text
    if tokens:
        _refuse(
            text,
            tokens[0].position,
            f'found "{tokens[0].text}" behind the end; one constraint each',
        )
    if reference:
        _check_reference(text, token, number)
    signs: dict[str, Sign] = {word: word for word in SIGNS}
    return Constraint(text.strip(), metric, signs[sign], number, reference)


def _tokens(text: str) -> Iterator[_Token]:
    position = 0
    while text[position:].strip():
        match = TOKEN.match(text, position)
        if match is None:
            start = position + len(text[position:]) - len(text[position:].lstrip())
            form = "METRIC < NUMBER, or METRIC < FACTOR * REFERENCE"
            _refuse(text, start, f'found "{text[start]}"; expected {form}')
        kind = match.lastgroup or ""
        yield _Token(kind, match[kind], match.start(kind))
        position = match.end()


def _with_unit(text: str, number: float, unit: _Token, metric: Metric) -> float:
    """A number with its unit, converted to that of the metric."""
    expected_unit = {"duration": "ns", "size": "bytes"}.get(metric.column.unit)
    base_unit = UNITS.get(unit.text, ("", 0))[0]
    if not base_unit:
        _refuse(text, unit.position, f'found "{unit.text}"; expected *, a unit, or the end')
    if base_unit != expected_unit:
        form = f"in {expected_unit}" if expected_unit else "a pure number"
        _refuse(text, unit.position, f"{metric.name} is {form}, which {unit.text} does not suit")
    amount = quantity(f"{number!r} {unit.text}")
    assert amount is not None, "a number with a known unit"
    return float(amount[0])


def _check_reference(text: str, token: _Token, factor: float) -> None:
    words = references()
    if token.text not in words:
        matches = get_close_matches(token.text, words, 1)
        hint = f"; did you mean {matches[0]}?" if matches else ""
        finding = (
            f'no reference is called "{token.text}": there are {BASELINE}, the words of gc.victim'
        )
        _refuse(text, token.position, f"{finding}, and presets{hint}")
    if factor <= 0:
        _refuse(text, 0, f"the factor {factor:g} of a reference is not above 0")


def victims() -> list[str]:
    """The words of gc.victim."""
    words = words_of("gc.victim")["gc.victim"]
    assert isinstance(words, list), "a list of words"
    return words


def references() -> list[str]:
    """What a bound can refer to."""
    return [BASELINE, *victims(), *preset_names()]


def _refuse(text: str, position: int, message: str) -> NoReturn:
    shown_text = " ".join(text.splitlines())
    raise ConfigError(
        [f"{argument('subject_to')}: {message}\n    {shown_text}\n    {' ' * position}^"]
    )
