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
from ssdlab.searching.trying import Run, Runs, Subject


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


def test_points(
    design: SearchDesign, runs: Runs, pairs: Sequence[tuple[Tried, Subject]]
) -> tuple[Tested, ...]:
    """Ratios of points to the baseline, and to the bounds of constraints. Nothing after Ctrl-C."""
    if not pairs or runs.interrupted:
        return ()
    references = [reference(name) for name in design.references]
    subjects = [*references, *(subject for _, subject in pairs)]
    runs.make(
        run for subject in subjects for run in runs.of(subject, design.test, design.test_seeds)
    )
    if runs.interrupted:
        return ()
    return tuple(_test_point(design, runs, trial, subject) for trial, subject in pairs)


def _test_point(design: SearchDesign, runs: Runs, trial: Tried, subject: Subject) -> Tested:
    point_runs = runs.of(subject, design.test, design.test_seeds)
    reference_runs = [
        run
        for name in design.references
        for run in runs.of(reference(name), design.test, design.test_seeds)
    ]
    error = runs.error([*point_runs, *reference_runs])
    if error:
        return Tested(trial.number, (), error)
    comparisons: list[Compared] = []
    for objective in design.objectives:
        name, metric = objective.metric.name, objective.metric
        comparisons += _compare(design, runs, subject, metric, name, BASELINE, 1.0)
    for constraint in design.constraints:
        comparisons += _compare_with_bound(design, runs, subject, constraint)
    return Tested(trial.number, tuple(comparisons))


def invalid_on_test(design: SearchDesign, runs: Runs, subject: Subject) -> str:
    """The warning that invalidates a point or a reference in the test; empty if none does."""
    return runs.invalid(subject, design.test, design.test_seeds)


def _compare_with_bound(
    design: SearchDesign, runs: Runs, subject: Subject, constraint: Constraint
) -> list[Compared]:
    reference_name, text, number = constraint.reference, constraint.text, constraint.number
    return _compare(design, runs, subject, constraint.metric, text, reference_name, number)


def _compare(
    design: SearchDesign,
    runs: Runs,
    subject: Subject,
    metric: Metric,
    title: str,
    reference_name: str,
    factor: float,
) -> list[Compared]:
    """The ratio of a number to `factor` times another run's, by seed: over all traces, on each."""
    by_case: list[tuple[Case, list[float], list[float]]] = []
    for case in design.test:
        values = _numbers(runs, runs.of(subject, [case], design.test_seeds), metric)
        base = [1.0] * len(design.test_seeds)
        if reference_name:
            reference_subject = reference(reference_name)
            base = _numbers(runs, runs.of(reference_subject, [case], design.test_seeds), metric)
            if runs.invalid(reference_subject, [case], design.test_seeds):
                base = [math.nan] * len(base)
        by_case.append((case, values, [factor * value for value in base]))
    single = len(by_case) == 1
    ratio = _ratio(by_case[0][1], by_case[0][2]) if single else _over_all(by_case)
    mean = _mean(by_case[0][1]) if single else None
    name = metric.column.name
    comparisons = [Compared(title, reference_name, "", mean, ratio, name)]
    if not single:
        comparisons += [
            Compared(title, reference_name, case.name, _mean(a), _ratio(a, b), name)
            for case, a, b in by_case
        ]
    return comparisons


def _numbers(runs: Runs, selection: Sequence[Run], metric: Metric) -> list[float]:
    """A number of each run; NaN if it is missing."""
    numbers = [runs.rows[run.key].number(metric) for run in selection]
    return [math.nan if number is None else number for number in numbers]


def _mean(values: Sequence[float]) -> float | None:
    if any(map(math.isnan, values)):
        return None
    return estimate(values).mean


def _ratio(values: Sequence[float], base: Sequence[float]) -> Ratio | None:
    """The ratio with its interval; None if a number is missing or not positive."""
    if any(not value > 0 for value in (*values, *base)):
        return None
    return paired_ratio(values, base)


def _over_all(by_case: Sequence[tuple[Case, list[float], list[float]]]) -> Ratio | None:
    """The geometric mean over the traces by seed; then their mean over the seeds and its interval.

    If nothing depends on the seed, the traces are the repetitions.
    """
    if any(not value > 0 for _, a, b in by_case for value in (*a, *b)):
        return None
    logs = [[math.log(x / base) for x, base in zip(a, b, strict=True)] for _, a, b in by_case]
    seed_means = [math.exp(statistics.fmean(row)) for row in zip(*logs, strict=True)]
    trace_means = [math.exp(statistics.fmean(row)) for row in logs]
    means = trace_means if min(seed_means) == max(seed_means) else seed_means
    return paired_ratio(means, [1.0] * len(means))
