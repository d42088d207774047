"""The best points on unseen data: on separate traces, or with separate seeds."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence

from ssdlab.display.argument import argument
from ssdlab.results.intervals import Ratio, estimate, paired_ratio
from ssdlab.results.search import Compared, Tested, Tried
from ssdlab.results.text import counted
from ssdlab.searching.constraint import BASELINE, Constraint
from ssdlab.searching.design import Case, SearchDesign
from ssdlab.searching.judging import reference
from ssdlab.searching.metric import Metric
from ssdlab.searching.trying import Run, Runs, Who


def test_text(design: SearchDesign) -> str:
    """What points are tested on."""
    seeds = counted(len(design.test_seeds), "other seed")
    if design.test is design.train:
        return seeds
    return f"{counted(len(design.test), 'other trace')} and {seeds}"


def test_notes(design: SearchDesign) -> Iterator[str]:
    """Why a test is less conclusive than it could be."""
    if design.test is design.train and design.train[0].trace is not None:
        yield (
            "The test runs the traces of the search, with other seeds: it says nothing about other"
            f" traces ({argument('test_traces')})."
        )


def tested(
    design: SearchDesign, runs: Runs, several: Sequence[tuple[Tried, Who]]
) -> tuple[Tested, ...]:
    """Ratios of points to the baseline, and to the bounds of constraints. Nothing after Ctrl-C."""
    if not several or runs.interrupted:
        return ()
    references = [reference(name) for name in design.references]
    whos = [*references, *(who for _, who in several)]
    runs.make(run for who in whos for run in runs.of(who, design.test, design.test_seeds))
    if runs.interrupted:
        return ()
    return tuple(_tested(design, runs, one, who) for one, who in several)


def _tested(design: SearchDesign, runs: Runs, one: Tried, who: Who) -> Tested:
    mine = runs.of(who, design.test, design.test_seeds)
    theirs = [
        r for n in design.references for r in runs.of(reference(n), design.test, design.test_seeds)
    ]
    why = runs.error([*mine, *theirs])
    if why:
        return Tested(one.number, (), why)
    found: list[Compared] = []
    for objective in design.objectives:
        name, metric = objective.metric.name, objective.metric
        found += _compared(design, runs, who, metric, name, BASELINE, 1.0)
    for constraint in design.constraints:
        found += _constrained(design, runs, who, constraint)
    return Tested(one.number, tuple(found))


def invalid_on_test(design: SearchDesign, runs: Runs, who: Who) -> str:
    """The warning that invalidates a point or a reference in the test; empty if none does."""
    return runs.invalid(who, design.test, design.test_seeds)


def _constrained(
    design: SearchDesign, runs: Runs, who: Who, constraint: Constraint
) -> list[Compared]:
    of, text, number = constraint.reference, constraint.text, constraint.number
    return _compared(design, runs, who, constraint.metric, text, of, number)


def _compared(
    design: SearchDesign,
    runs: Runs,
    who: Who,
    metric: Metric,
    what: str,
    other: str,
    factor: float,
) -> list[Compared]:
    """The ratio of a number to `factor` times another run's, by seed: over all traces, on each."""
    by_case: list[tuple[Case, list[float], list[float]]] = []
    for case in design.test:
        mine = _numbers(runs, runs.of(who, [case], design.test_seeds), metric)
        base = [1.0] * len(design.test_seeds)
        if other:
            who_else = reference(other)
            base = _numbers(runs, runs.of(who_else, [case], design.test_seeds), metric)
            if runs.invalid(who_else, [case], design.test_seeds):
                base = [math.nan] * len(base)
        by_case.append((case, mine, [factor * one for one in base]))
    single = len(by_case) == 1
    whole = _ratio(by_case[0][1], by_case[0][2]) if single else _over_all(by_case)
    mean = _mean(by_case[0][1]) if single else None
    name = metric.column.name
    found = [Compared(what, other, "", mean, whole, name)]
    if not single:
        found += [
            Compared(what, other, c.name, _mean(a), _ratio(a, b), name) for c, a, b in by_case
        ]
    return found


def _numbers(runs: Runs, several: Sequence[Run], metric: Metric) -> list[float]:
    """A number of each run; NaN if it is missing."""
    found = [runs.rows[one.key].number(metric) for one in several]
    return [math.nan if one is None else one for one in found]


def _mean(values: Sequence[float]) -> float | None:
    if any(map(math.isnan, values)):
        return None
    return estimate(values).mean


def _ratio(values: Sequence[float], base: Sequence[float]) -> Ratio | None:
    """The ratio with its interval; None if a number is missing or not positive."""
    if any(not one > 0 for one in (*values, *base)):
        return None
    return paired_ratio(values, base)


def _over_all(by_case: Sequence[tuple[Case, list[float], list[float]]]) -> Ratio | None:
    """The geometric mean over the traces by seed; then their mean over the seeds and its interval.

    If nothing depends on the seed, the traces are the repetitions.
    """
    if any(not one > 0 for _, a, b in by_case for one in (*a, *b)):
        return None
    logs = [[math.log(x / of) for x, of in zip(a, b, strict=True)] for _, a, b in by_case]
    of_seeds = [math.exp(statistics.fmean(one)) for one in zip(*logs, strict=True)]
    of_traces = [math.exp(statistics.fmean(one)) for one in logs]
    means = of_traces if min(of_seeds) == max(of_seeds) else of_seeds
    return paired_ratio(means, [1.0] * len(means))
