"""From a user's request to the design of a search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ssdlab import policy
from ssdlab.config.quantity import quantity
from ssdlab.config.resolve import ConfigLike, Source
from ssdlab.config.vary import IF, Range
from ssdlab.display.argument import argument, key_argument
from ssdlab.errors import ConfigError
from ssdlab.searching.constraint import constraint_of
from ssdlab.searching.design import (
    Case,
    Objective,
    Rung,
    SearchDesign,
    cases_of,
    check_disjoint,
    without_impossible,
)
from ssdlab.searching.metric import Metric, key_metric, metric_of
from ssdlab.searching.space import Dimension, SearchSpace, space_of

TEST_SEEDS, LEAST_TESTS = 5, 2
"""Seeds of the test; a single one gives no interval."""
FACTOR = 3
"""A rung has this many times the requests of the one before it."""
ACROSS = ("mean", "worst")


@dataclass(frozen=True)
class Goals:
    """The goals, as the user specifies them."""

    minimize: Sequence[str] = ()
    maximize: Sequence[str] = ()
    subject_to: Sequence[str] = ()

    def objectives(self, space: SearchSpace) -> tuple[Objective, ...]:
        """The numbers to minimise, then those to maximise. Raises `ConfigError`.

        They are numbers of runs, or keys of the space.
        """
        keys = {dimension.key: dimension for dimension in space.dimensions}

        def metric(place: str, name: str) -> Metric:
            return _of_key(place, keys[name]) if name in keys else metric_of(place, name)

        objectives = [Objective(metric(argument(minimize=name), name)) for name in self.minimize]
        objectives += [
            Objective(metric(argument(maximize=name), name), True) for name in self.maximize
        ]
        names = {objective.metric.column.name for objective in objectives}
        if not names:
            form = f"such as {argument(minimize='latency.write.p99_9')}"
            raise ConfigError([f"nothing to search for: give an objective, {form}"])
        if len(names) < len(objectives):
            raise ConfigError([f"{argument('minimize', 'maximize')}: a number is named twice"])
        return tuple(objectives)


def _of_key(place: str, key: Dimension) -> Metric:
    """The value of a key of the space. Raises `ConfigError` if its values are not numbers."""
    values = (
        [key.values.value(float(key.values.low))] if isinstance(key.values, Range) else key.values
    )
    quantities = [quantity(value) for value in values if isinstance(value, int | float | str)]
    units = {pair[1] for pair in quantities if pair is not None}
    if None in quantities or len(quantities) < len(values) or len(units) != 1:
        message = f"{place}: {key.key} has values that are no numbers, of which none is the lowest"
        raise ConfigError([message])
    return key_metric(key.key, units.pop())


@dataclass(frozen=True)
class Requests:
    """The requests and the seeds, as the user specifies them."""

    traces: Sequence[str | Path] = ()
    test_traces: Sequence[str | Path] = ()
    across: str = ACROSS[0]
    seed: int | None = None
    seeds: int = 1
    test_seeds: int = TEST_SEEDS
    rungs: int = 1

    def check(self) -> None:
        """Refuse impossible requests. Raises `ConfigError`."""
        counts = {"seeds": self.seeds, "test_seeds": self.test_seeds, "rungs": self.rungs}
        for option, value in counts.items():
            minimum = LEAST_TESTS if option == "test_seeds" else 1
            if value < minimum:
                raise ConfigError([f"{argument(**{option: value})}: expected at least {minimum}"])
        if self.across not in ACROSS:
            raise ConfigError([f"{argument(across=self.across)}: expected {' or '.join(ACROSS)}"])
        if self.test_traces and not self.traces:
            test, train = argument("test_traces"), argument("traces")
            raise ConfigError([f"{test}: needs {train}, the traces to search on"])

    def cases(self) -> tuple[tuple[Case, ...], tuple[Case, ...]]:
        """Those of training and of the test. Raises `WorkloadError` if a trace is missing."""
        train, test = cases_of(self.traces), cases_of(self.test_traces)
        check_disjoint(train, test)
        train = train or (Case(""),)
        return train, test or train


def design_search(
    config: ConfigLike,
    space: Mapping[str, object],
    goals: Goals,
    requests: Requests,
    sets: Mapping[str, object],
) -> SearchDesign:
    """What a search runs. Raises `ConfigError`, or `WorkloadError` if a trace is missing."""
    source, search_space = Source(config), space_of(space)
    objectives = goals.objectives(search_space)
    requests.check()
    train, test = requests.cases()
    if "run.seed" in {dimension.key for dimension in search_space.dimensions}:
        key, option = key_argument("space", "run.seed"), argument("seeds")
        message = f"{key}: seeds are no part of a space; {option} repeats points"
        raise ConfigError([message])
    design = SearchDesign(
        source,
        search_space,
        objectives,
        tuple(
            {
                constraint.text: constraint for constraint in map(constraint_of, goals.subject_to)
            }.values()
        ),
        train,
        test,
        (),
        (),
        rungs_of(requests.rungs, requests.seeds),
        sets,
        worst=requests.across == "worst",
    )
    first_seed = requests.seed
    if first_seed is None:
        # The value in the configuration, unless the keys override it.
        values, _ = policy.split({**sets, **train[0].keys})
        first_seed = int(source.load(values, trace=train[0].trace)["run.seed"])
    end = first_seed + requests.seeds
    seeds, test_seeds = range(first_seed, end), range(end, end + requests.test_seeds)
    design = replace(design, seeds=tuple(seeds), test_seeds=tuple(test_seeds))
    design.first  # noqa: B018 - errors in the configuration itself come first
    if all(values is not None for values in space.values()):
        return design
    explicit_keys = {
        key.split(IF)[0].strip() for key, values in space.items() if values is not None
    }
    return without_impossible(
        design,
        (
            dimension.key
            for dimension in search_space.dimensions
            if dimension.key not in explicit_keys
        ),
    )


def rungs_of(count: int, seeds: int) -> tuple[Rung, ...]:
    """This many rungs: shares of the requests with the first seed, all of them, then all seeds."""
    rungs = [Rung(1, seeds)]
    if seeds > 1 and count > 1:
        rungs.insert(0, Rung(1, 1))
    while len(rungs) < count:
        rungs.insert(0, Rung(rungs[0].divisor * FACTOR, 1))
    return tuple(rungs)
