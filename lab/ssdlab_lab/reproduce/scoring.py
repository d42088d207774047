"""How far the gains measured here agree with the published ones, by measures that can fail.

A *gain* is a factor: the best baseline divided by the proposed scheme, above 1 if the proposed
scheme is better. Gains are compared by their logarithms, so that twice as good and twice as bad are
equally far from no change. On requests under which the proposed scheme wins everywhere, a count of
equal signs is uninformative, so predictions that need no simulator are scored as well.

Everything here is a pure function of numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal, TypeAlias

from ssdlab_lab.reproduce.claims import rank_correlation
from ssdlab_lab.reproduce.matrix import Source
from ssdlab_lab.reproduce.tables import Number, Row, Table

BAND = 1.03
"""Gains within this factor of 1 are no change."""
FACTOR = 2.0
"""A gain is near if its logarithm is within this factor of the published one."""
ABOVE, BELOW = BAND * (1 + 1e-12), 1 / BAND * (1 - 1e-12)
"""The ends of the band belong to it, however they are rounded."""

Change: TypeAlias = Literal[-1, 0, 1]
"""Worse, no change, better."""
CHANGES: Mapping[Change, str] = {1: "gain", 0: "no change", -1: "loss"}


def change(gain: float) -> Change:
    """What a gain amounts to."""
    return 1 if gain > ABOVE else -1 if gain < BELOW else 0


def is_near(published: float, ours: float) -> bool:
    """Whether a gain is near the published one; if that is within the band, ours must be, too."""
    if change(published) == 0:
        return change(ours) == 0
    ratio = math.log(ours) / math.log(published)
    return (1 - 1e-12) / FACTOR <= ratio <= FACTOR * (1 + 1e-12)


def as_factor(improvement: Number, neutral: float | None) -> Number:
    """An improvement as a gain; None if it is missing or invalid.

    With `neutral` 0 it is in percent of the baseline, with 1 a factor.
    """
    if improvement is None or neutral is None or math.isnan(improvement):
        return None
    if neutral:
        return improvement if improvement > 0 else None
    return 1 / (1 - improvement / 100) if improvement < 100 else None


def verdict(published: Number, ours: Number, neutral: float | None) -> str | None:
    """A word for one improvement; None if it cannot be compared."""
    factors = as_factor(published, neutral), as_factor(ours, neutral)
    if factors[0] is None or factors[1] is None:
        return None
    if is_near(factors[0], factors[1]):
        return "near"
    if change(factors[0]) == change(factors[1]):
        return "same direction"
    return "no change" if change(factors[1]) == 0 else "other direction"


@dataclass(frozen=True)
class Gain:
    """One published gain, and ours."""

    measure: str
    """Title of the table."""
    workload: str
    published: float
    ours: float


@dataclass(frozen=True)
class Count:
    """How many gains a prediction gets right."""

    cells: int
    direction: int
    """Better, worse or no change, as published."""
    near: int | None
    """None for a prediction without an amount."""
    error: Number
    """Mean distance of the logarithms, as a factor; None without an amount or without cells."""


def count(gains: Sequence[Gain], predicted: Callable[[Gain], float]) -> Count:
    """The score of a prediction of each gain."""
    pairs = [(gain.published, predicted(gain)) for gain in gains]
    return Count(
        cells=len(pairs),
        direction=sum(change(published) == change(guess) for published, guess in pairs),
        near=sum(is_near(published, guess) for published, guess in pairs),
        error=typical(guess / published for published, guess in pairs),
    )


def typical(ratios: Iterable[float]) -> Number:
    """Mean distance of ratios from 1, as a factor of at least 1; None without any."""
    logs = [abs(math.log(ratio)) for ratio in ratios]
    return math.exp(math.fsum(logs) / len(logs)) if logs else None


def centre(ratios: Iterable[float]) -> Number:
    """Geometric mean; None without any."""
    logs = [math.log(ratio) for ratio in ratios]
    return math.exp(math.fsum(logs) / len(logs)) if logs else None


def trivial(gains: Sequence[Gain]) -> dict[str, Count]:
    """Scores of predictions that need no simulator.

    *Always better* has no amount. *All alike* is the geometric mean of the published gains, which
    nobody can know beforehand.
    """
    mean = centre(gain.published for gain in gains) or 1.0
    improvements = sum(change(gain.published) == 1 for gain in gains)
    return {
        "always better": Count(len(gains), improvements, None, None),
        "no change": count(gains, lambda _: 1.0),
        "all alike": count(gains, lambda _: mean),
    }


@dataclass(frozen=True)
class OutcomeMatches:
    """A published outcome: gain, no change or loss."""

    published: int
    here: int
    """How many of the published outcomes this simulation also has."""


def met(gains: Sequence[Gain]) -> dict[str, OutcomeMatches]:
    """How many of the published gains, cells without change and losses are confirmed here."""
    return {
        name: OutcomeMatches(
            sum(change(gain.published) == kind for gain in gains),
            sum(change(gain.published) == kind == change(gain.ours) for gain in gains),
        )
        for kind, name in CHANGES.items()
    }


def correlation(gains: Sequence[Gain]) -> Number:
    """Spearman's rank correlation of the gains; None with fewer than three or without variation."""
    return rank_correlation([gain.published for gain in gains], [gain.ours for gain in gains])


@dataclass(frozen=True)
class Order:
    """Pairs of schemes under one workload and measure, whose order is compared."""

    pairs: int
    agree: int
    """The same one is lower, or the two are within the band, as published."""
    tied: int
    """Pairs published within the band, which "no change" gets right."""
    first: int | None
    """Pairs published with the proposed scheme lower, which "always better" gets right. None
    without it.
    """


Latencies: TypeAlias = "Mapping[str, Sequence[Number]]"
"""By scheme, for each workload."""


def order(published: Latencies, ours: Latencies, proposed: str, with_proposed: bool) -> Order:
    """Order of the pairs with the proposed scheme, or of the baselines among themselves."""
    pairs = agree = tied = first = 0
    for first_scheme, second_scheme in combinations(published, 2):
        if (proposed in (first_scheme, second_scheme)) != with_proposed:
            continue
        # The gain of the second over the first: the proposed scheme is the second.
        base, scheme = (
            (second_scheme, first_scheme)
            if first_scheme == proposed
            else (first_scheme, second_scheme)
        )
        columns = published[base], published[scheme], ours[base], ours[scheme]
        for a, b, c, d in zip(*columns, strict=True):
            if a and b and c and d:
                sign = change(a / b)
                pairs += 1
                agree += sign == change(c / d)
                tied += sign == 0
                first += sign == 1
    return Order(pairs, agree, tied, first if with_proposed else None)


@dataclass(frozen=True)
class Errors:
    """Latencies here over those published."""

    schemes: str
    """"baselines" or "proposed"."""
    kind: str
    """"mean" or "longest"."""
    cells: int
    centre: Number
    """Geometric mean of the ratios; above 1, latencies here are higher."""
    typical: Number
    """Mean distance of the ratios from 1, as a factor."""
    largest: Number
    """The largest such distance."""


def errors(schemes: str, kind: str, pairs: Sequence[tuple[Number, Number]]) -> Errors:
    """Absolute errors of latencies, given as published and ours."""
    ratios = [ours / published for published, ours in pairs if published and ours]
    largest = max((max(ratio, 1 / ratio) for ratio in ratios), default=None)
    return Errors(schemes, kind, len(ratios), centre(ratios), typical(ratios), largest)


@dataclass(frozen=True)
class Measure:
    """The gains of one table."""

    title: str
    count: Count
    correlation: Number


@dataclass(frozen=True)
class Score:
    """The agreement of the results from one source with a paper."""

    ours: Count
    correlation: Number
    """Over all gains."""
    trivial: Mapping[str, Count]
    met: Mapping[str, OutcomeMatches]
    """Of the published gains, cells without change and losses."""
    measures: tuple[Measure, ...]
    with_proposed: Order
    among_baselines: Order
    errors: tuple[Errors, ...]


def gains_of(table: Table, source: Source) -> list[Gain]:
    """The published gains of a table for which there is one here."""
    return [
        Gain(table.title, workload, published, ours)
        for row in table.rows
        if row.neutral is not None
        for workload, *numbers in zip(
            table.columns, row.published, row.ours.get(source, ()), strict=False
        )
        for published, ours in [[as_factor(number, row.neutral) for number in numbers]]
        if published is not None and ours is not None
    ]


def score(tables: Sequence[Table], source: Source, proposed: str) -> Score:
    """The score of all tables with published gains or latencies."""
    by_table = [(table.title, gains_of(table, source)) for table in tables]
    gains = [gain for _, group in by_table for gain in group]
    latencies = [(table, _latencies(table, source)) for table in tables if table.kind]
    orders = [
        [order(*latency_pair, proposed, with_proposed) for _, latency_pair in latencies]
        for with_proposed in (True, False)
    ]
    errors_by_kind = []
    for name in ("baselines", "proposed"):
        for kind in dict.fromkeys(table.kind for table, _ in latencies):
            pairs = [
                pair
                for table, (published, ours) in latencies
                for scheme in published
                if table.kind == kind and (scheme == proposed) == (name == "proposed")
                for pair in zip(published[scheme], ours[scheme], strict=True)
            ]
            errors_by_kind.append(errors(name, kind, pairs))
    return Score(
        ours=count(gains, lambda gain: gain.ours),
        correlation=correlation(gains),
        trivial=trivial(gains),
        met=met(gains),
        measures=tuple(
            Measure(title, count(group, lambda gain: gain.ours), correlation(group))
            for title, group in by_table
            if group
        ),
        with_proposed=_sum(orders[0], with_proposed=True),
        among_baselines=_sum(orders[1], with_proposed=False),
        errors=tuple(errors_by_kind),
    )


def _latencies(table: Table, source: Source) -> tuple[Latencies, Latencies]:
    """Published and measured latencies by scheme, of the schemes that have published ones."""
    rows = [row for row in table.rows if row.neutral is None and any(_known(row))]
    blanks = (None,) * len(table.columns)
    return (
        {row.label: _known(row) for row in rows},
        {row.label: row.ours.get(source, blanks) for row in rows},
    )


def _known(row: Row) -> tuple[Number, ...]:
    return tuple(
        None if number is None or math.isnan(number) else number for number in row.published
    )


def _sum(orders: Sequence[Order], with_proposed: bool) -> Order:
    return Order(
        pairs=sum(count.pairs for count in orders),
        agree=sum(count.agree for count in orders),
        tied=sum(count.tied for count in orders),
        first=sum(count.first or 0 for count in orders) if with_proposed else None,
    )
