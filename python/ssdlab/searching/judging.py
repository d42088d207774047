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
from ssdlab.searching.trying import Run, Runs, Who

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
        self, who: Who, rung: Rung, case: Case | None = None, seed: int | None = None
    ) -> list[Run]:
        cases = self.design.train if case is None else (case,)
        seeds = self.design.seeds[: rung.seeds] if seed is None else (seed,)
        return self.runs.of(who, cases, seeds, rung.divisor)

    def refer(self, rung: Rung) -> None:
        """Run the references as far as points run on a rung. Raises `ConfigError` if one fails."""
        several = [reference(name) for name in self.design.references]
        self.runs.make(run for who in several for run in self._runs(who, rung))
        if self.runs.interrupted:
            return
        for who in several:
            why = self.runs.error(self._runs(who, rung))
            if why:
                raise ConfigError([f"the reference {who.label} cannot run: {why}"])
        if rung == self.design.rungs[-1]:
            self._check_references()
        for metric in (one for one in self.design.metrics if not one.is_key):
            if self.runs.mean(self._runs(reference(BASELINE), rung), metric) is None:
                raise ConfigError([f"{metric.name}: {BASELINE} has no such number: {FEW}"])

    def _check_references(self) -> None:
        """Raise `ConfigError` if a warning invalidates a reference of bounds or ratios."""
        for one in self.design.constraints:
            why = self.invalid(reference(one.reference)) if one.reference else ""
            if why:
                message = f"{argument(subject_to=one.text)}: {one.reference} is invalid: {why}"
                raise ConfigError([message])
        why = self.invalid(reference(BASELINE))
        if why and len(self.design.train) > 1:
            message = f"{BASELINE} is invalid, so points have no ratios to it: {why}"
            raise ConfigError([message])

    def invalid(self, who: Who) -> str:
        """The warning that invalidates complete training runs; empty if none does."""
        return self.runs.invalid(who, self.design.train, self.design.seeds)

    def judge(self, whos: Mapping[str, Who], at: int) -> dict[str, Tried] | None:
        """The results of points on a rung, by name; None after Ctrl-C."""
        rung = self.design.rungs[at]
        if whos:
            self.refer(rung)
        self.runs.make(run for who in whos.values() for run in self._runs(who, rung))
        if self.runs.interrupted:
            return None
        return {name: self._judged(who, rung, at) for name, who in whos.items()}

    def settled(self, who: Who, at: int) -> bool:
        """Whether all runs of a point on a rung reached a steady state."""
        return self.runs.settled(self._runs(who, self.design.rungs[at]))

    def _judged(self, who: Who, rung: Rung, at: int) -> Tried:
        runs = self._runs(who, rung)
        point = self.design.space.shown(who.point or {})
        why = self.runs.error(runs)
        if why:
            return Tried(-1, point, "not possible", rung=at, why=why)
        values: list[float] = []
        excess: dict[str, float] = {}
        for objective in self.design.objectives:
            value = self._value(who, rung, objective)
            if value is None:
                return self._without(point, objective.metric, at)
            values.append(value)
        for constraint in self.design.constraints:
            over = self._excess(who, rung, constraint)
            if over is None:
                return self._without(point, constraint.metric, at)
            excess[constraint.text] = over
        why = self.invalid(who) if rung == self.design.rungs[-1] else ""
        state: State = "invalid" if why else "completed"
        numbers, by_seed = self._numbers(runs), self._by_seed(who, rung)
        return Tried(-1, point, state, tuple(values), excess, at, numbers, why, by_seed=by_seed)

    def _by_seed(self, who: Who, rung: Rung) -> tuple[tuple[float, ...], ...]:
        """The objectives with each seed, if there are several and all have values."""
        seeds, objectives = self.design.seeds[: rung.seeds], self.design.objectives
        values = [[self._value(who, rung, one, seed) for one in objectives] for seed in seeds]
        known = [tuple(one for one in of if one is not None) for of in values]
        is_whole = all(len(of) == len(objectives) for of in known)
        return tuple(known) if is_whole and len(seeds) > 1 else ()

    def _without(self, point: Mapping[str, object], metric: Metric, at: int) -> Tried:
        why = f"a run has no {metric.name}" + ("" if metric.is_key else f": {FEW}")
        return Tried(-1, dict(point), "not possible", rung=at, why=why)  # type: ignore[arg-type]

    def _numbers(self, runs: Sequence[Run]) -> Row:
        """Means of all columns with numbers."""
        rows = [self.runs.rows[one.key].row for one in runs]
        found: Row = {}
        for name in rows[0]:
            values = [row.get(name) for row in rows]
            numbers = [v for v in values if isinstance(v, int | float) and not isinstance(v, bool)]
            if len(numbers) == len(rows):
                found[name] = numbers[0] if len(rows) == 1 else statistics.fmean(numbers)
            elif len({*values}) == 1 and isinstance(values[0], str):
                found[name] = values[0]
        return found

    def _value(
        self, who: Who, rung: Rung, objective: Objective, seed: int | None = None
    ) -> float | None:
        """An objective: the mean over the seeds; over several traces the ratio to the baseline."""
        cases, metric = self.design.train, objective.metric
        means = [self.runs.mean(self._runs(who, rung, case, seed), metric) for case in cases]
        if len(cases) == 1:
            return means[0]
        base = reference(BASELINE)
        ratios = []
        for case, mean in zip(cases, means, strict=True):
            of = self.runs.mean(self._runs(base, rung, case, seed), metric)
            if of is None or of <= 0:
                message = f"{metric.name}: the baseline has none on {case.name}, so no ratio to it"
                raise ConfigError([message])
            if mean is None:
                return None
            ratios.append(mean / of)
        if self.design.worst:
            return min(ratios) if objective.maximize else max(ratios)
        return _geometric(ratios)

    def _excess(self, who: Who, rung: Rung, constraint: Constraint) -> float | None:
        """By how much a constraint is missed; with several traces aggregated like objectives."""
        found: list[float] = []
        for case in self.design.train:
            value = self.runs.mean(self._runs(who, rung, case), constraint.metric)
            bound = self.bound(rung, case, constraint)
            if value is None:
                return None
            found.append(constraint.excess(value, bound))
        if len(found) == 1 or self.design.worst:
            return max(found)
        # Shares of the bounds; a ratio above 1 misses a bound from above.
        return _geometric([1 + one for one in found]) - 1

    def bound(self, rung: Rung, case: Case, constraint: Constraint) -> float:
        """The bound of a constraint on a trace. Raises `ConfigError` if its reference has none."""
        if not constraint.reference:
            return constraint.number
        who = reference(constraint.reference)
        value = self.runs.mean(self._runs(who, rung, case), constraint.metric)
        if value is None:
            message = (
                f"{argument(subject_to=constraint.text)}: {constraint.reference} has no such number"
            )
            raise ConfigError([message])
        return constraint.number * value

    def baseline(self) -> tuple[float | None, ...]:
        """The objectives of the unchanged configuration; None if a warning invalidates it."""
        rung = self.design.rungs[-1]
        who = reference(BASELINE)
        made = all(one.key in self.runs.rows for one in self._runs(who, rung))
        if not made or self.invalid(who):
            return tuple(None for _ in self.design.objectives)
        return tuple(self._value(who, rung, one) for one in self.design.objectives)


def reference(name: str) -> Who:
    """A run with which points are compared."""
    return Who(name, name)


def _geometric(ratios: Sequence[float]) -> float:
    """The geometric mean; the arithmetic one if some are not positive."""
    if min(ratios) <= 0:
        return statistics.fmean(ratios)
    return math.exp(statistics.fmean(map(math.log, ratios)))
