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
from ssdlab.config.vary import Range, vary_messages
from ssdlab.display.argument import argument, key_argument
from ssdlab.errors import ConfigError
from ssdlab.policy import Policies
from ssdlab.running.design import MOST_MESSAGES, SEEN, sources, trace_names
from ssdlab.running.job import check_traces, file_digest
from ssdlab.running.simulate import Plugs, merge_plugs
from ssdlab.searching.constraint import BASELINE, Constraint, victims
from ssdlab.searching.metric import Metric
from ssdlab.searching.space import Dimension, Point, SearchSpace, of_space, possible_dimensions
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
            dict.fromkeys(
                [
                    BASELINE,
                    *(
                        constraint.reference
                        for constraint in self.constraints
                        if constraint.reference
                    ),
                ]
            )
        )

    @cached_property
    def metrics(self) -> tuple[Metric, ...]:
        """The metrics that are recorded."""
        metrics = [
            *(objective.metric for objective in self.objectives),
            *(constraint.metric for constraint in self.constraints),
        ]
        return tuple({metric.column.name: metric for metric in metrics}.values())

    @cached_property
    def first(self) -> Config:
        """The unchanged configuration, with the first requests and seed. Raises `ConfigError`."""
        return self.load({}, self.train[0], self.seeds[0])[0]

    def load(
        self, point: Point, case: Case, seed: int, divisor: int = 1
    ) -> tuple[Config, Policies]:
        """The configuration of a point. Raises `ConfigError`."""
        try:
            sets, policies = merge_plugs({**self.sets, **case.keys, **point}, Plugs())
            config = self.source.load(sets, trace=case.trace, seed=seed)
            if divisor > 1:
                shortening = _shortening_keys(config, case, divisor)
                config = self.source.load({**sets, **shortening}, trace=case.trace, seed=seed)
            policy.check_policies(config, policies)
        except ConfigError as error:
            raise ConfigError(of_space(vary_messages(error.messages, point))) from None
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
            return self.load({}, case, seed, divisor)
        if name in victims():
            sets = {
                key: value for key, value in self.sets.items() if not key.startswith("gc.victim")
            }
            variant = replace(self, sets=sets)
            return variant.load({"gc.victim": name}, case, seed, divisor)
        preset_design = replace(self, source=Source(name))
        try:
            config = preset_design.load({}, case, seed, divisor)
        except ConfigError as error:
            raise ConfigError(
                [f"the reference {name}: {message}" for message in error.messages]
            ) from None
        if case.trace is None and not case.keys:
            differences = _differing_keys(
                config[0].values["workload"], self.first.values["workload"]
            )
            if differences:
                message = (
                    f"{argument('subject_to')}: the reference {name} has other requests than the"
                    f" configuration (workload.{differences[0]}): give a trace"
                    f" ({argument('traces')}), or set these keys ({argument('set')})"
                )
                raise ConfigError([message])
        return config

    def identity(self) -> dict[str, Any]:
        """What the results depend on."""
        lists = [d.values for d in self.space.dimensions if not isinstance(d.values, Range)]
        candidates = [*self.sets.values(), *(value for values in lists for value in values)]
        return {
            "preset": self.source.preset,
            "file": self.source.file and [*self.source.file],
            "set": {key: policy.label_of(value) for key, value in self.sets.items()},
            "space": self.space.json,
            "objectives": [objective.text for objective in self.objectives],
            "constraints": [constraint.text for constraint in self.constraints],
            "traces": [_case_json(case) for case in self.train],
            "test_traces": [_case_json(case) for case in self.test],
            "seeds": [*self.seeds],
            "test_seeds": [*self.test_seeds],
            "rungs": [[rung.divisor, rung.seeds] for rung in self.rungs],
            "across": "worst" if self.worst else "mean",
            "policies": sources(candidates),
        }


def _case_json(case: Case) -> list[object]:
    digest = file_digest(Path(case.trace))[0] if case.trace else None
    return [case.name, case.trace, digest, {k: policy.label_of(v) for k, v in case.keys.items()}]


def _differing_keys(left: Mapping[str, Any], right: Mapping[str, Any]) -> list[str]:
    return [key for key in left if left[key] != right.get(key)]


def _shortening_keys(config: Config, case: Case, divisor: int) -> dict[str, object]:
    """Keys for a part of the requests: for a trace, the first part of its time."""
    workload = config.values["workload"]
    warmup = {"workload.warmup_requests": workload["warmup_requests"] // divisor}
    if case.trace is None:
        requests = max(1, workload["requests"] // divisor)
        return {"workload.requests": requests, **warmup}
    begin = workload["from_ns"]
    end = workload["until_ns"]
    duration_ns = (trace_ns(case.trace, workload) if end is None else end) - begin
    return {"workload.until": f"{begin + max(1, duration_ns // divisor)} ns", **warmup}


_durations: dict[tuple[str, str], int] = {}


def trace_ns(file: str, workload: Mapping[str, Any]) -> int:
    """When the last request of a trace arrives, in nanoseconds. Read once."""
    keys = ("format", "unit", "action", "volume", "sort", "skip_bad", "dedup")
    settings = {f"workload.{k}": workload[k] for k in keys if workload.get(k) not in (None, "auto")}
    key = file, json.dumps(settings, sort_keys=True)
    if key not in _durations:
        _durations[key] = Trace(file).info(set=settings).duration_ns
    return _durations[key]


def cases_of(traces: Sequence[str | Path]) -> tuple[Case, ...]:
    """Traces as requests to run. Raises `WorkloadError` if one is missing."""
    check_traces(traces)
    files = [str(trace) for trace in traces]
    return tuple(Case(name, file) for name, file in zip(trace_names(files), files, strict=True))


def check_disjoint(train: Sequence[Case], test: Sequence[Case]) -> None:
    """Refuse a duplicate trace, and a test trace that is also searched on. Raises `ConfigError`."""
    seen: dict[str, tuple[str, str]] = {}
    for name, cases in (("traces", train), ("test_traces", test)):
        option = argument(name)
        for case in cases:
            if case.trace is None:
                continue
            digest = file_digest(Path(case.trace))[0]
            previous = seen.get(digest)
            if previous is not None:
                reason = "a test needs requests that the search has not seen"
                reason = reason if previous[0] != option else "each trace counts once"
                message = (
                    f"{option} {case.trace}: has the contents of {previous[0]} {previous[1]}:"
                    f" {reason}"
                )
                raise ConfigError([message])
            seen[digest] = option, case.trace


def check(design: SearchDesign, jobs: int) -> None:
    """Refuse a space without a possible point, and impossible values. Raises `ConfigError`.

    `jobs` devices at a time have to fit into the memory of this machine.
    """
    for name in design.references:
        design.reference(name, design.train[0], design.seeds[0])
    points, space = [*_sample(design.space)], design.space
    errors: dict[str, None] = {}
    good: set[tuple[str, str]] = set()
    counts: dict[tuple[str, str], int] = {}
    demands = [memory.device_bytes(design.first)]
    for point in points:
        places = [*_places(space, point)]
        for place in places:
            counts[place] = counts.get(place, 0) + 1
        try:
            config = design.load(point, design.train[0], design.seeds[0])[0]
        except ConfigError as error:
            errors |= dict.fromkeys(error.messages)
            continue
        good.update(places)
        demands.append(memory.device_bytes(config))
    if len(demands) == 1:
        texts = [*errors]
        raise ConfigError(
            [f"{argument('space')}: no point is possible: {text}" for text in texts[:MOST_MESSAGES]]
        )
    minimum = 1 if len(points) == space.size else SEEN
    bad = [place for place in counts if place not in good and counts[place] >= minimum]
    messages = [reason for place in bad if (reason := _impossible_reason(design, *place))]
    if messages:
        raise ConfigError(messages[:MOST_MESSAGES])
    memory.check_needed(demands, jobs)


def _sample(space: SearchSpace) -> Iterator[Point]:
    size = space.size
    if size is not None and size <= TRIED:
        yield from space.points()
        return
    stream = random.Random("points that are tried")
    for _ in range(TRIED):
        yield space.draw(stream)


def _places(space: SearchSpace, point: Point) -> Iterator[tuple[str, str]]:
    """Which value of each list a point has."""
    for dimension in space.dimensions:
        if dimension.key in point:
            is_list = not isinstance(dimension.values, Range)
            yield dimension.key, policy.label_of(point[dimension.key]) if is_list else ""


def _impossible_reason(design: SearchDesign, key: str, label: str) -> str | None:
    """Why a value is impossible at every point; None if it is possible, perhaps with parameters."""
    dimension = next(d for d in design.space.dimensions if d.key == key)
    if isinstance(dimension.values, Range):
        value = dimension.values.value(float(dimension.values.low))
    else:
        value = next(v for v in dimension.values if policy.label_of(v) == label)
    point = {**_owners(design.space, dimension), key: value}
    stream, reason = random.Random(f"{key} {label}"), ""
    for _ in range(ALONE):
        try:
            design.load(point, design.train[0], design.seeds[0])
        except ConfigError as error:
            reason = reason or error.messages[0]
        else:
            return None
        point = {**point, **_parameters(design.space, dimension, point, stream)}
    option = key_argument("space", key)
    is_complete = reason.startswith(option)
    return (
        reason
        if is_complete
        else f"{option}: no point with {label or 'its range'} is possible: {reason}"
    )


def _parameters(space: SearchSpace, owner: Dimension, point: Point, stream: random.Random) -> Point:
    """Random values of the keys that exist only with a value of `owner`."""
    random_point = space.draw(stream)
    values: Point = {}
    for dimension in space.dimensions:
        conditions = [condition for condition in dimension.when if condition.key == owner.key]
        if conditions and all(condition.holds(point) for condition in dimension.when):
            values[dimension.key] = random_point.get(dimension.key, dimension.draw(stream))
    return values


def _owners(space: SearchSpace, dimension: Dimension) -> Point:
    """The values that the conditions of a key require."""
    point: Point = {}
    for condition in dimension.when:
        owner = next(d for d in space.dimensions if d.key == condition.key)
        assert not isinstance(owner.values, Range)
        value = next(v for v in owner.values if condition.holds({owner.key: v}))
        point |= {**_owners(space, owner), owner.key: value}
    return point


def without_impossible(design: SearchDesign, optional_keys: Iterable[str]) -> SearchDesign:
    """The design without words of the keys `optional_keys` that the configuration excludes.

    The `notes` of its space list them.
    """
    keys = {*optional_keys}
    dropped: dict[str, list[str]] = {}
    dimensions: list[Dimension] = []
    for dimension in design.space.dimensions:
        if dimension.key not in keys or isinstance(dimension.values, Range):
            dimensions.append(dimension)
            continue
        labels = {
            label: _impossible_reason(design, dimension.key, label) for label in dimension.labels
        }
        bad = [label for label, reason in labels.items() if reason is not None]
        if bad:
            dropped[dimension.key] = bad
        values = tuple(v for v in dimension.values if labels[policy.label_of(v)] is None)
        if values:
            dimensions.append(replace(dimension, values=values))
    notes = []
    if dropped:
        texts = "; ".join(f"{key} = {', '.join(labels)}" for key, labels in dropped.items())
        notes = [
            "Not in the space, since this configuration excludes them (a space of a word alone says"
            " why):"
            f" {texts}."
        ]
    return replace(design, space=SearchSpace(tuple(possible_dimensions(dimensions)), tuple(notes)))
