"""What a paper claims in words, as a metric with a verdict."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from ssdlab.display.numbers import number
from ssdlab_lab.reproduce.matrix import Results, Source
from ssdlab_lab.reproduce.tables import Number

Verdict: TypeAlias = Literal["holds", "does not hold", "undecided"]


@dataclass(frozen=True)
class Finding:
    """The verdict, and the numbers on which it rests."""

    verdict: Verdict
    numbers: str


Judge: TypeAlias = "Callable[[Results, Source], Finding]"
"""Judges the results from one source."""


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper."""

    text: str
    where: str
    """Section, table or figure."""
    metric: str
    """What is computed, and when the claim holds."""
    judge: Judge


def finding(holds: bool | None, numbers: str) -> Finding:
    """A finding; None: undecided."""
    if holds is None:
        return Finding("undecided", numbers)
    return Finding("holds" if holds else "does not hold", numbers)


def least(values: Sequence[Number], index: int) -> bool | None:
    """Whether one of the values is below all others; None if one is missing or as small."""
    value, rivals = values[index], [*values[:index], *values[index + 1 :]]
    if value is None or None in rivals:
        return None
    nearest = min(rival for rival in rivals if rival is not None)
    return None if nearest == value else nearest > value


def short(value: float, digits: int = 3) -> str:
    """At most `digits` significant digits, without an exponent."""
    text = f"{value:.{digits}g}"
    return number(float(text)) if "e" in text else text


def listed(names: Sequence[str], values: Sequence[Number], digits: int = 3) -> str:
    """`name value` for each existing value."""
    return ", ".join(
        f"{name} {short(value, digits)}"
        for name, value in zip(names, values, strict=True)
        if value is not None
    )


def rank_correlation(xs: Sequence[float], ys: Sequence[float]) -> float | None:
    """Spearman's rank correlation, ties at their mean rank; None if one side does not vary."""
    assert len(xs) == len(ys), "pairs"
    if len(xs) < 3:
        return None
    a, b = _ranks(xs), _ranks(ys)
    mean = (len(xs) + 1) / 2
    top = sum((x - mean) * (y - mean) for x, y in zip(a, b, strict=True))
    product = sum((x - mean) ** 2 for x in a) * sum((y - mean) ** 2 for y in b)
    return top / product**0.5 if product > 0 else None


def _ranks(values: Sequence[float]) -> list[float]:
    return [
        sum(rank_value < value for rank_value in values)
        + (sum(rank_value == value for rank_value in values) + 1) / 2
        for value in values
    ]


@dataclass(frozen=True)
class LargestGain:
    """The largest published gain of a kind, percent."""

    kind: str
    """"reads", "writes"."""
    workload: str
    percent: float

    def __str__(self) -> str:
        return f"{self.percent:.1f} % ({self.kind} of {self.workload})"


def most(kind: str, published: Sequence[Number], names: Sequence[str]) -> list[LargestGain]:
    """The largest of the published gains of the workloads `names`; empty if there are none."""
    gains = [(gain, name) for gain, name in zip(published, names, strict=True) if gain is not None]
    if not gains:
        return []
    percent, name = max(gains, key=lambda gain: gain[0])
    return [LargestGain(kind, name, percent)]


def half_of(claimed: Sequence[LargestGain], ours: Sequence[Number]) -> Finding:
    """Whether the gain of each workload is at least half of the published one.

    Of the same workload, not of any: the largest of several gains is large by chance, too.
    """
    numbers, verdicts = [], []
    for claim, gain in zip(claimed, ours, strict=True):
        if gain is not None:
            numbers.append(
                f"{claim.kind} of {claim.workload} {short(gain)}, published {short(claim.percent)}"
            )
            verdicts.append(gain >= claim.percent / 2)
    verdict = all(verdicts) if len(verdicts) == len(claimed) or False in verdicts else None
    return finding(verdict if verdicts else None, "; ".join(numbers))


def improved(
    values: Sequence[Number], names: Sequence[str], holds: Callable[[list[float]], bool]
) -> Finding:
    """A finding about a number of each workload; undecided without any."""
    available = [value for value in values if value is not None]
    return finding(holds(available) if available else None, listed(names, values))
