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
    check_apart,
    without_impossible,
)
from ssdlab.searching.metric import Metric, key_metric, metric_of
from ssdlab.searching.space import Dimension, SearchSpace, spaced

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
        keys = {one.key: one for one in space.dimensions}

        def metric(place: str, name: str) -> Metric:
            return _of_key(place, keys[name]) if name in keys else metric_of(place, name)

        found = [Objective(metric(argument(minimize=one), one)) for one in self.minimize]
        found += [Objective(metric(argument(maximize=one), one), True) for one in self.maximize]
        names = {one.metric.column.name for one in found}
        if not names:
            form = f"such as {argument(minimize='latency.write.p99_9')}"
            raise ConfigError([f"nothing to search for: give an objective, {form}"])
        if len(names) < len(found):
            raise ConfigError([f"{argument('minimize', 'maximize')}: a number is named twice"])
        return tuple(found)


def _of_key(place: str, key: Dimension) -> Metric:
    """The value of a key of the space. Raises `ConfigError` if its values are not numbers."""
    several = (
        [key.values.value(float(key.values.low))] if isinstance(key.values, Range) else key.values
    )
    known = [quantity(one) for one in several if isinstance(one, int | float | str)]
    units = {one[1] for one in known if one is not None}
    if None in known or len(known) < len(several) or len(units) != 1:
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
        given = {"seeds": self.seeds, "test_seeds": self.test_seeds, "rungs": self.rungs}
        for option, value in given.items():
            least = LEAST_TESTS if option == "test_seeds" else 1
            if value < least:
                raise ConfigError([f"{argument(**{option: value})}: expected at least {least}"])
        if self.across not in ACROSS:
            raise ConfigError([f"{argument(across=self.across)}: expected {' or '.join(ACROSS)}"])
        if self.test_traces and not self.traces:
            test, train = argument("test_traces"), argument("traces")
            raise ConfigError([f"{test}: needs {train}, the traces to search on"])

    def cases(self) -> tuple[tuple[Case, ...], tuple[Case, ...]]:
        """Those of training and of the test. Raises `WorkloadError` if a trace is missing."""
        train, test = cases_of(self.traces), cases_of(self.test_traces)
        check_apart(train, test)
        train = train or (Case(""),)
        return train, test or train


def designed(
    config: ConfigLike,
    space: Mapping[str, object],
    goals: Goals,
    on: Requests,
    sets: Mapping[str, object],
) -> SearchDesign:
    """What a search runs. Raises `ConfigError`, or `WorkloadError` if a trace is missing."""
    source, found = Source(config), spaced(space)
    objectives = goals.objectives(found)
    on.check()
    train, test = on.cases()
    if "run.seed" in {one.key for one in found.dimensions}:
        which, how = key_argument("space", "run.seed"), argument("seeds")
        message = f"{which}: seeds are no part of a space; {how} repeats points"
        raise ConfigError([message])
    design = SearchDesign(
        source,
        found,
        objectives,
        tuple({c.text: c for c in map(constraint_of, goals.subject_to)}.values()),
        train,
        test,
        (),
        (),
        rungs_of(on.rungs, on.seeds),
        sets,
        worst=on.across == "worst",
    )
    begin = on.seed
    if begin is None:
        # The value in the configuration, unless the keys override it.
        values, _ = policy.split({**sets, **train[0].keys})
        begin = int(source.load(values, trace=train[0].trace)["run.seed"])
    after = begin + on.seeds
    seeds, others = range(begin, after), range(after, after + on.test_seeds)
    design = replace(design, seeds=tuple(seeds), test_seeds=tuple(others))
    design.first  # noqa: B018 - a configuration that is wrong by itself is told first
    if all(values is not None for values in space.values()):
        return design
    own = {key.split(IF)[0].strip() for key, values in space.items() if values is not None}
    return without_impossible(design, (one.key for one in found.dimensions if one.key not in own))


def rungs_of(count: int, seeds: int) -> tuple[Rung, ...]:
    """This many rungs: shares of the requests with the first seed, all of them, then all seeds."""
    several = [Rung(1, seeds)]
    if seeds > 1 and count > 1:
        several.insert(0, Rung(1, 1))
    while len(several) < count:
        several.insert(0, Rung(several[0].divisor * FACTOR, 1))
    return tuple(several)
