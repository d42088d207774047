"""Comparisons with single numbers of report.json, and which of them were made."""

from __future__ import annotations

import math
import re
from functools import cache
from typing import Any

from .inputs import REPORT, Findings, Report


class Checks:
    """Compares recomputed numbers with those of the report, and remembers which it compared."""

    def __init__(self, report: Report, findings: Findings) -> None:
        """Start with nothing compared."""
        self.report, self.findings = report, findings

    def exactly(self, rule: str, path: str, expected: Any) -> None:  # noqa: ANN401 - any JSON
        """Expect this value, null included; floating-point numbers to nine digits."""
        self.findings.look(path)
        actual = self.report.get(path)
        if not _equal(actual, expected):
            self.findings.add(rule, f"{REPORT}:{path}", expected, actual)

    def within(self, rule: str, path: str, low: float, high: float) -> None:
        """Expect a number from `low` to `high`, both included."""
        self.findings.look(path)
        actual = self.report.number(path)
        if actual is None or not low <= actual <= high:
            text = f"{low}" if low == high else f"{low} to {high}"
            self.findings.add(rule, f"{REPORT}:{path}", text, actual)

    def number(self, path: str) -> int:
        """Return a count of the report that others follow from, 0 where there is none."""
        return self.report.whole(path, 0)


def _equal(actual: Any, expected: Any) -> bool:  # noqa: ANN401 - any JSON
    if isinstance(expected, list) and isinstance(actual, list):
        pairs = zip(actual, expected, strict=False)
        return len(actual) == len(expected) and all(_equal(a, b) for a, b in pairs)
    if isinstance(expected, float) and isinstance(actual, int | float):
        return math.isclose(actual, expected, rel_tol=1e-9, abs_tol=1e-9)
    return type(actual) is type(expected) and bool(actual == expected)


def pattern(path: str) -> str:
    """Return a path with `*` for the places in lists, and for the keys of volumes and streams."""
    path = re.sub(r"(?<=\.)\d+(?=\.|$)", "*", path)
    return re.sub(r"^(gc\.victims_by_policy|series)\..*", r"\1.*", path)


def ratio(part: float, total: float) -> float | None:
    """Return a part of a whole, None of nothing."""
    return part / total if total else None


@cache
def t_95(freedom: int) -> float:
    """Return the 97.5 % point of Student's distribution, by bisection of its integral."""
    if freedom > 20_000:
        return 1.959963985 + 2.37228 / freedom
    scale = math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)
    factor = math.exp(scale) / math.sqrt(freedom * math.pi)

    def below(angle: float) -> float:
        # With x = sqrt(freedom) tan(a) the density becomes a power of the cosine (Simpson).
        steps = 2000
        width = angle / steps
        ends = 1.0 + math.cos(angle) ** (freedom - 1)
        inner = sum(
            (4 if n % 2 else 2) * math.cos(n * width) ** (freedom - 1) for n in range(1, steps)
        )
        return 0.5 + factor * math.sqrt(freedom) * (ends + inner) * width / 3

    low, high = 0.0, math.pi / 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if below(middle) < 0.975 else (low, middle)
    return math.sqrt(freedom) * math.tan(low)


def batches(values: list[int]) -> list[float]:
    """Return the means of the full batches of equal length, docs/statistics.md.

    The length doubles whenever there are 64, so it is the smallest power of two for which there
    are fewer. None with fewer than 1024 values.
    """
    length = 1
    while len(values) // length >= 64:
        length *= 2
    if length < 32:
        return []
    # An odd batch at the end of 64 does not occur, so that joining loses none.
    return [
        math.fsum(values[start : start + length]) / length
        for start in range(0, len(values) - length + 1, length)
    ]


def half_width(batch_means: list[float]) -> float | None:
    """Return half the 95 % interval of the mean of correlated batches, docs/statistics.md."""
    n = len(batch_means)
    if n < 10:
        return None
    centre = math.fsum(batch_means) / n
    deviations = [value - centre for value in batch_means]
    square = math.fsum(value * value for value in deviations)
    correlation = (
        math.fsum(deviations[i] * deviations[i + 1] for i in range(n - 1)) / square
        if square
        else 0.0
    )
    r = max(0.0, correlation + (1 + 4 * correlation) / n)
    effective = n * (1 - r) / (1 + r)
    if effective < 10:
        return None
    return t_95(int(effective) - 1) * math.sqrt(square / (n - 1) / effective)
