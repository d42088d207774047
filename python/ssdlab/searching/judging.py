"""Evaluates the runs of a point: its objectives, and by how much it misses the constraints."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence

from ssdlab.display.argument import argument
from ssdlab.errors import ConfigError
from ssdlab.results.points import Row
from ssdlab.results.search import State, Tried
from ssdlab.searching.constraint import BASELINE, Constraint
from ssdlab.searching.design import Case, Objective, Rung, SearchDesign
from ssdlab.searching.metric import Metric
from ssdlab.searching.trying import Run, Runs, Subject

FEW = "too few requests for it (docs/statistics.md), or none of that kind"
"""Why a run lacks a number."""


class Judge:
    """Runs points on the training requests, and reports the results.

    With several traces a number counts as a ratio on each: an objective to the baseline, a
    constraint to its bound.
    """

    def __init__(self, design: SearchDesign, runs: Runs) -> None:
        self.design = design
        self.runs = runs

    def _runs(
        self, subject: Subject, rung: Rung, case: Case | None = None, seed: int | None = None
    ) -> list[Run]:
        cases = self.design.train if case is None else (case,)
        seeds = self.design.seeds[: rung.seeds] if seed is None else (seed,)
        return self.runs.of(subject, cases, seeds, rung.divisor)

    def refer(self, rung: Rung) -> None:
        """Run the references as far as points run on a rung. Raises `ConfigError` if one fails."""
        references = [reference(name) for name in self.design.references]
        self.runs.make(run for subject in references for run in self._runs(subject, rung))
        if self.runs.interrupted:
            return
        for subject in references:
            error = self.runs.error(self._runs(subject, rung))
            if error:
                raise ConfigError([f"the reference {subject.label} cannot run: {error}"])
        if rung == self.design.rungs[-1]:
            self._check_references()
        for metric in (candidate for candidate in self.design.metrics if not candidate.is_key):
            if self.runs.mean(self._runs(reference(BASELINE), rung), metric) is None:
                raise ConfigError([f"{metric.name}: {BASELINE} has no such number: {FEW}"])

    def _check_references(self) -> None:
        """Raise `ConfigError` if a warning invalidates a reference of bounds or ratios."""
        for constraint in self.design.constraints:
            warning = self.invalid(reference(constraint.reference)) if constraint.reference else ""
            if warning:
                message = (
                    f"{argument(subject_to=constraint.text)}: {constraint.reference} is invalid:"
                    f" {warning}"
                )
                raise ConfigError([message])
        warning = self.invalid(reference(BASELINE))
        if warning and len(self.design.train) > 1:
            message = f"{BASELINE} is invalid, so points have no ratios to it: {warning}"
            raise ConfigError([message])

    def invalid(self, subject: Subject) -> str:
        """The warning that invalidates complete training runs; empty if none does."""
        return self.runs.invalid(subject, self.design.train, self.design.seeds)

    def judge(self, subjects: Mapping[str, Subject], rung_index: int) -> dict[str, Tried] | None:
        """The results of points on a rung, by name; None after Ctrl-C."""
        rung = self.design.rungs[rung_index]
        if subjects:
            self.refer(rung)
        self.runs.make(run for subject in subjects.values() for run in self._runs(subject, rung))
        if self.runs.interrupted:
            return None
        return {
            name: self._evaluate(subject, rung, rung_index) for name, subject in subjects.items()
        }

    def settled(self, subject: Subject, rung_index: int) -> bool:
        """Whether all runs of a point on a rung reached a steady state."""
        return self.runs.settled(self._runs(subject, self.design.rungs[rung_index]))

    def _evaluate(self, subject: Subject, rung: Rung, rung_index: int) -> Tried:
        runs = self._runs(subject, rung)
        point = self.design.space.shown(subject.point or {})
        reason = self.runs.error(runs)
        if reason:
            return Tried(-1, point, "not possible", rung=rung_index, why=reason)
        values: list[float] = []
        excess: dict[str, float] = {}
        for objective in self.design.objectives:
            value = self._value(subject, rung, objective)
            if value is None:
                return self._missing_number(point, objective.metric, rung_index)
            values.append(value)
        for constraint in self.design.constraints:
            miss = self._excess(subject, rung, constraint)
            if miss is None:
                return self._missing_number(point, constraint.metric, rung_index)
            excess[constraint.text] = miss
        reason = self.invalid(subject) if rung == self.design.rungs[-1] else ""
        state: State = "invalid" if reason else "completed"
        numbers, by_seed = self._numbers(runs), self._by_seed(subject, rung)
        return Tried(
            -1, point, state, tuple(values), excess, rung_index, numbers, reason, by_seed=by_seed
        )

    def _by_seed(self, subject: Subject, rung: Rung) -> tuple[tuple[float, ...], ...]:
        """The objectives with each seed, if there are several and all have values."""
        seeds, objectives = self.design.seeds[: rung.seeds], self.design.objectives
        values = [
            [self._value(subject, rung, objective, seed) for objective in objectives]
            for seed in seeds
        ]
        rows = [tuple(value for value in row if value is not None) for row in values]
        is_complete = all(len(row) == len(objectives) for row in rows)
        return tuple(rows) if is_complete and len(seeds) > 1 else ()

    def _missing_number(
        self, point: Mapping[str, object], metric: Metric, rung_index: int
    ) -> Tried:
        reason = f"a run has no {metric.name}" + ("" if metric.is_key else f": {FEW}")
        return Tried(-1, dict(point), "not possible", rung=rung_index, why=reason)  # type: ignore[arg-type]

    def _numbers(self, runs: Sequence[Run]) -> Row:
        """Means of all columns with numbers."""
        rows = [self.runs.rows[run.key].row for run in runs]
        means: Row = {}
        for name in rows[0]:
            values = [row.get(name) for row in rows]
            numbers = [v for v in values if isinstance(v, int | float) and not isinstance(v, bool)]
            if len(numbers) == len(rows):
                means[name] = numbers[0] if len(rows) == 1 else statistics.fmean(numbers)
            elif len({*values}) == 1 and isinstance(values[0], str):
                means[name] = values[0]
        return means

    def _value(
        self, subject: Subject, rung: Rung, objective: Objective, seed: int | None = None
    ) -> float | None:
        """An objective: the mean over the seeds; over several traces the ratio to the baseline."""
        cases, metric = self.design.train, objective.metric
        means = [self.runs.mean(self._runs(subject, rung, case, seed), metric) for case in cases]
        if len(cases) == 1:
            return means[0]
        base = reference(BASELINE)
        ratios = []
        for case, mean in zip(cases, means, strict=True):
            base_mean = self.runs.mean(self._runs(base, rung, case, seed), metric)
            if base_mean is None or base_mean <= 0:
                message = f"{metric.name}: the baseline has none on {case.name}, so no ratio to it"
                raise ConfigError([message])
            if mean is None:
                return None
            ratios.append(mean / base_mean)
        if self.design.worst:
            return min(ratios) if objective.maximize else max(ratios)
        return _geometric(ratios)

    def _excess(self, subject: Subject, rung: Rung, constraint: Constraint) -> float | None:
        """By how much a constraint is missed; with several traces aggregated like objectives."""
        excesses: list[float] = []
        for case in self.design.train:
            value = self.runs.mean(self._runs(subject, rung, case), constraint.metric)
            bound = self.bound(rung, case, constraint)
            if value is None:
                return None
            excesses.append(constraint.excess(value, bound))
        if len(excesses) == 1 or self.design.worst:
            return max(excesses)
        # Shares of the bounds; a ratio above 1 misses a bound from above.
        return _geometric([1 + excess for excess in excesses]) - 1

    def bound(self, rung: Rung, case: Case, constraint: Constraint) -> float:
        """The bound of a constraint on a trace. Raises `ConfigError` if its reference has none."""
        if not constraint.reference:
            return constraint.number
        subject = reference(constraint.reference)
        value = self.runs.mean(self._runs(subject, rung, case), constraint.metric)
        if value is None:
            message = (
                f"{argument(subject_to=constraint.text)}: {constraint.reference} has no such number"
            )
            raise ConfigError([message])
        return constraint.number * value

    def baseline(self) -> tuple[float | None, ...]:
        """The objectives of the unchanged configuration; None if a warning invalidates it."""
        rung = self.design.rungs[-1]
        subject = reference(BASELINE)
        is_complete = all(run.key in self.runs.rows for run in self._runs(subject, rung))
        if not is_complete or self.invalid(subject):
            return tuple(None for _ in self.design.objectives)
        return tuple(self._value(subject, rung, objective) for objective in self.design.objectives)


def reference(name: str) -> Subject:
    """A run with which points are compared."""
    return Subject(name, name)


def _geometric(ratios: Sequence[float]) -> float:
    """The geometric mean; the arithmetic one if some are not positive."""
    if min(ratios) <= 0:
        return statistics.fmean(ratios)
    return math.exp(statistics.fmean(map(math.log, ratios)))
