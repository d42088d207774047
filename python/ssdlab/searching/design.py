"""The runs of a search: points and references, with their requests and seeds."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from ssdlab import policy
from ssdlab.config import memory
from ssdlab.config.resolve import Config, Source
from ssdlab.config.vary import Range, of_vary
from ssdlab.display.argument import argument, keyed
from ssdlab.errors import ConfigError
from ssdlab.policy import Policies
from ssdlab.running.design import MOST_MESSAGES, SEEN, sources, trace_names
from ssdlab.running.job import check_traces, file_digest
from ssdlab.running.simulate import Plugs, merge_plugs
from ssdlab.searching.constraint import BASELINE, Constraint, victims
from ssdlab.searching.metric import Metric
from ssdlab.searching.space import Dimension, Point, SearchSpace, fitting, of_space
from ssdlab.traces.trace import Trace

TRIED = 300
"""Random points that are loaded before the first run."""
ALONE = 20
"""How often a value is tried by itself, with different parameters each time."""


@dataclass(frozen=True)
class Case:
    """Requests that every point runs."""

    name: str
    """Name of the trace; empty for the requests of the configuration."""
    trace: str | None = None
    keys: Mapping[str, object] = field(default_factory=dict, hash=False)
    """Keys that define the requests, in place of a trace."""


@dataclass(frozen=True)
class Objective:
    """A number to be minimised or maximised."""

    metric: Metric
    maximize: bool = False

    @property
    def text(self) -> str:
        """The goal in words."""
        return f"{'maximize' if self.maximize else 'minimize'} {self.metric.name}"


@dataclass(frozen=True)
class Rung:
    """How much of its runs a point executes before it is judged."""

    divisor: int
    """The divisor of the number of requests."""
    seeds: int
    """The first ones of the search."""


@dataclass(frozen=True)
class SearchDesign:
    """What a search runs."""

    source: Source
    space: SearchSpace
    objectives: tuple[Objective, ...]
    constraints: tuple[Constraint, ...]
    train: tuple[Case, ...]
    test: tuple[Case, ...]
    seeds: tuple[int, ...]
    """Of training."""
    test_seeds: tuple[int, ...]
    rungs: tuple[Rung, ...]
    sets: Mapping[str, object] = field(default_factory=dict)
    worst: bool = False
    """Whether the worst of several traces counts, not their mean."""

    @cached_property
    def references(self) -> tuple[str, ...]:
        """The runs with which points are compared; the first is the unchanged configuration."""
        return tuple(
            dict.fromkeys([BASELINE, *(c.reference for c in self.constraints if c.reference)])
        )

    @cached_property
    def metrics(self) -> tuple[Metric, ...]:
        """The metrics that are recorded."""
        every = [
            *(one.metric for one in self.objectives),
            *(one.metric for one in self.constraints),
        ]
        return tuple({one.column.name: one for one in every}.values())

    @cached_property
    def first(self) -> Config:
        """The unchanged configuration, with the first requests and seed. Raises `ConfigError`."""
        return self.loaded({}, self.train[0], self.seeds[0])[0]

    def loaded(
        self, point: Point, case: Case, seed: int, divisor: int = 1
    ) -> tuple[Config, Policies]:
        """The configuration of a point. Raises `ConfigError`."""
        try:
            sets, policies = merge_plugs({**self.sets, **case.keys, **point}, Plugs())
            config = self.source.load(sets, trace=case.trace, seed=seed)
            if divisor > 1:
                short = _shortened(config, case, divisor)
                config = self.source.load({**sets, **short}, trace=case.trace, seed=seed)
            policy.check_known(config, policies)
        except ConfigError as error:
            raise ConfigError(of_space(of_vary(error.messages, point))) from None
        logs = [key for key in ("op_log", "request_log") if config.values["metrics"][key]]
        if logs:
            message = f"metrics.{logs[0]}: a search writes no logs; run its best point alone"
            raise ConfigError([message])
        return config, policies

    def reference(
        self, name: str, case: Case, seed: int, divisor: int = 1
    ) -> tuple[Config, Policies]:
        """The configuration of a reference. Raises `ConfigError`."""
        if name == BASELINE:
            return self.loaded({}, case, seed, divisor)
        if name in victims():
            sets = {key: one for key, one in self.sets.items() if not key.startswith("gc.victim")}
            mine = replace(self, sets=sets)
            return mine.loaded({"gc.victim": name}, case, seed, divisor)
        other = replace(self, source=Source(name))
        try:
            config = other.loaded({}, case, seed, divisor)
        except ConfigError as error:
            raise ConfigError([f"the reference {name}: {one}" for one in error.messages]) from None
        if case.trace is None and not case.keys:
            apart = _apart(config[0].values["workload"], self.first.values["workload"])
            if apart:
                message = (
                    f"{argument('subject_to')}: the reference {name} has other requests than the"
                    f" configuration (workload.{apart[0]}): give a trace ({argument('traces')}), or"
                    f" set these keys ({argument('set')})"
                )
                raise ConfigError([message])
        return config

    def identity(self) -> dict[str, Any]:
        """What the results depend on."""
        lists = [d.values for d in self.space.dimensions if not isinstance(d.values, Range)]
        given = [*self.sets.values(), *(one for some in lists for one in some)]
        return {
            "preset": self.source.preset,
            "file": self.source.file and [*self.source.file],
            "set": {key: policy.label_of(one) for key, one in self.sets.items()},
            "space": self.space.json,
            "objectives": [one.text for one in self.objectives],
            "constraints": [one.text for one in self.constraints],
            "traces": [_told(one) for one in self.train],
            "test_traces": [_told(one) for one in self.test],
            "seeds": [*self.seeds],
            "test_seeds": [*self.test_seeds],
            "rungs": [[one.divisor, one.seeds] for one in self.rungs],
            "across": "worst" if self.worst else "mean",
            "policies": sources(given),
        }


def _told(case: Case) -> list[object]:
    digest = file_digest(Path(case.trace))[0] if case.trace else None
    return [case.name, case.trace, digest, {k: policy.label_of(v) for k, v in case.keys.items()}]


def _apart(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    return [key for key in one if one[key] != other.get(key)]


def _shortened(config: Config, case: Case, divisor: int) -> dict[str, object]:
    """Keys for a part of the requests: for a trace, the first part of its time."""
    workload = config.values["workload"]
    warmup = {"workload.warmup_requests": workload["warmup_requests"] // divisor}
    if case.trace is None:
        requests = max(1, workload["requests"] // divisor)
        return {"workload.requests": requests, **warmup}
    begin = workload["from_ns"]
    end = workload["until_ns"]
    whole = (trace_ns(case.trace, workload) if end is None else end) - begin
    return {"workload.until": f"{begin + max(1, whole // divisor)} ns", **warmup}


_durations: dict[tuple[str, str], int] = {}


def trace_ns(file: str, workload: Mapping[str, Any]) -> int:
    """When the last request of a trace arrives, in nanoseconds. Read once."""
    keys = ("format", "unit", "action", "volume", "sort", "skip_bad", "dedup")
    given = {f"workload.{k}": workload[k] for k in keys if workload.get(k) not in (None, "auto")}
    at = file, json.dumps(given, sort_keys=True)
    if at not in _durations:
        _durations[at] = Trace(file).info(set=given).duration_ns
    return _durations[at]


def cases_of(traces: Sequence[str | Path]) -> tuple[Case, ...]:
    """Traces as requests to run. Raises `WorkloadError` if one is missing."""
    check_traces(traces)
    files = [str(one) for one in traces]
    return tuple(Case(name, file) for name, file in zip(trace_names(files), files, strict=True))


def check_apart(train: Sequence[Case], test: Sequence[Case]) -> None:
    """Refuse a duplicate trace, and a test trace that is also searched on. Raises `ConfigError`."""
    seen: dict[str, tuple[str, str]] = {}
    for name, cases in (("traces", train), ("test_traces", test)):
        option = argument(name)
        for one in cases:
            if one.trace is None:
                continue
            digest = file_digest(Path(one.trace))[0]
            before = seen.get(digest)
            if before is not None:
                why = "a test needs requests that the search has not seen"
                why = why if before[0] != option else "each trace counts once"
                message = (
                    f"{option} {one.trace}: has the contents of {before[0]} {before[1]}: {why}"
                )
                raise ConfigError([message])
            seen[digest] = option, one.trace


def check(design: SearchDesign, jobs: int) -> None:
    """Refuse a space without a possible point, and impossible values. Raises `ConfigError`.

    `jobs` devices at a time have to fit into the memory of this machine.
    """
    for name in design.references:
        design.reference(name, design.train[0], design.seeds[0])
    points, space = [*_some(design.space)], design.space
    errors: dict[str, None] = {}
    good: set[tuple[str, str]] = set()
    seen: dict[tuple[str, str], int] = {}
    needed = [memory.needed(design.first)]
    for point in points:
        places = [*_places(space, point)]
        for place in places:
            seen[place] = seen.get(place, 0) + 1
        try:
            config = design.loaded(point, design.train[0], design.seeds[0])[0]
        except ConfigError as error:
            errors |= dict.fromkeys(error.messages)
            continue
        good.update(places)
        needed.append(memory.needed(config))
    if len(needed) == 1:
        several = [*errors]
        raise ConfigError(
            [f"{argument('space')}: no point is possible: {one}" for one in several[:MOST_MESSAGES]]
        )
    least = 1 if len(points) == space.size else SEEN
    bad = [place for place in seen if place not in good and seen[place] >= least]
    messages = [why for place in bad if (why := _why_never(design, *place))]
    if messages:
        raise ConfigError(messages[:MOST_MESSAGES])
    memory.check_needed(needed, jobs)


def _some(space: SearchSpace) -> Iterator[Point]:
    size = space.size
    if size is not None and size <= TRIED:
        yield from space.points()
        return
    stream = random.Random("points that are tried")
    for _ in range(TRIED):
        yield space.drawn(stream)


def _places(space: SearchSpace, point: Point) -> Iterator[tuple[str, str]]:
    """Which value of each list a point has."""
    for one in space.dimensions:
        if one.key in point:
            listed = not isinstance(one.values, Range)
            yield one.key, policy.label_of(point[one.key]) if listed else ""


def _why_never(design: SearchDesign, key: str, label: str) -> str | None:
    """Why a value is impossible at every point; None if it is possible, perhaps with parameters."""
    one = next(d for d in design.space.dimensions if d.key == key)
    if isinstance(one.values, Range):
        value = one.values.value(float(one.values.low))
    else:
        value = next(v for v in one.values if policy.label_of(v) == label)
    point = {**_owners(design.space, one), key: value}
    stream, why = random.Random(f"{key} {label}"), ""
    for _ in range(ALONE):
        try:
            design.loaded(point, design.train[0], design.seeds[0])
        except ConfigError as error:
            why = why or error.messages[0]
        else:
            return None
        point = {**point, **_parameters(design.space, one, point, stream)}
    place = keyed("space", key)
    own = why.startswith(place)
    return why if own else f"{place}: no point with {label or 'its range'} is possible: {why}"


def _parameters(space: SearchSpace, owner: Dimension, point: Point, stream: random.Random) -> Point:
    """Random values of the keys that exist only with a value of `owner`."""
    drawn = space.drawn(stream)
    found: Point = {}
    for one in space.dimensions:
        of = [condition for condition in one.when if condition.key == owner.key]
        if of and all(condition.holds(point) for condition in one.when):
            found[one.key] = drawn.get(one.key, one.drawn(stream))
    return found


def _owners(space: SearchSpace, one: Dimension) -> Point:
    """The values that the conditions of a key require."""
    point: Point = {}
    for condition in one.when:
        of = next(d for d in space.dimensions if d.key == condition.key)
        assert not isinstance(of.values, Range)
        value = next(v for v in of.values if condition.holds({of.key: v}))
        point |= {**_owners(space, of), of.key: value}
    return point


def without_impossible(design: SearchDesign, asked: Iterable[str]) -> SearchDesign:
    """The design without words of the keys `asked` that the configuration excludes.

    The `notes` of its space list them.
    """
    keys = {*asked}
    dropped: dict[str, list[str]] = {}
    kept: list[Dimension] = []
    for one in design.space.dimensions:
        if one.key not in keys or isinstance(one.values, Range):
            kept.append(one)
            continue
        labels = {label: _why_never(design, one.key, label) for label in one.labels}
        bad = [label for label, why in labels.items() if why is not None]
        if bad:
            dropped[one.key] = bad
        values = tuple(v for v in one.values if labels[policy.label_of(v)] is None)
        if values:
            kept.append(replace(one, values=values))
    notes = []
    if dropped:
        texts = "; ".join(f"{key} = {', '.join(labels)}" for key, labels in dropped.items())
        notes = [
            "Not in the space, since this configuration excludes them (a space of a word alone says"
            " why):"
            f" {texts}."
        ]
    return replace(design, space=SearchSpace(tuple(fitting(kept)), tuple(notes)))
