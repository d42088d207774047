"""The runs of a sweep: its points with their configurations, checked before the first run."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from ssdlab import policy
from ssdlab.config import memory
from ssdlab.config.resolve import Config, ConfigLike, Source, set_text
from ssdlab.config.space import Space, check_draw, draw_points, grid
from ssdlab.config.vary import fixed_values, log_keys, values_of, vary_messages
from ssdlab.display.argument import argument, key_argument
from ssdlab.display.numbers import Value
from ssdlab.errors import ConfigError
from ssdlab.policy import Policies
from ssdlab.results.sweep import COLUMNS, point_label
from ssdlab.results.text import folded_points
from ssdlab.running.compare_runs import check_seeds
from ssdlab.running.job import check_traces
from ssdlab.running.simulate import Plugs, merge_plugs
from ssdlab.running.starts import start_key
from ssdlab.versions import described

MOST_RUNS = 100_000
"""The most runs without a budget; also the points that are checked before the first run begins."""
MOST_MESSAGES = 10
"""Of bad points."""
SEEN = 5
"""How often a value must have been drawn before it is called impossible."""
NOTED = 100
"""Points whose notes are shown before the first run."""
TRACE = "trace"
"""The key of several traces."""


@dataclass(frozen=True)
class Design:
    """What a sweep runs."""

    source: Source
    space: Space
    seeds: tuple[int | None, ...] = (None,)
    """Seeds of every point; None for that of its configuration."""
    seed: int | None = None
    """Replaces `run.seed`."""
    sets: Mapping[str, object] = field(default_factory=dict)
    """Keys that override those of the source; those that vary override these."""
    trace: str | Path | None = None
    """The trace of all points, if there is one."""
    plugs: Plugs = field(default_factory=Plugs)
    log: tuple[str, ...] = ()
    """Keys that were varied by factors."""
    draw: str | None = None
    """How points were drawn."""

    @property
    def runs(self) -> int:
        """How many there are."""
        return len(self.space) * len(self.seeds)

    @cached_property
    def first(self) -> Config:
        """The configuration of the first point that is possible. Raises `ConfigError`."""
        errors: dict[str, None] = {}
        for point in self.checked:
            result = self.load_or_errors(point)
            if isinstance(result, Config):
                return result
            errors |= dict.fromkeys(result)
        raise ConfigError(_first_messages(errors))

    def load_or_errors(self, point: int) -> Config | tuple[str, ...]:
        """The configuration of a point, or what is wrong with it."""
        try:
            return self.load(point)[0]
        except ConfigError as error:
            return error.messages

    @cached_property
    def shares_start(self) -> bool:
        """Whether its runs start from one device, as far as its first and last points show."""
        try:
            ends = [self.load(point) for point in (0, len(self.space) - 1)]
        except ConfigError:
            return False
        keys = {None if policies.by_key else start_key(config) for config, policies in ends}
        return len(self.space) > 1 and len(keys) == 1 and None not in keys

    @property
    def checked(self) -> Sequence[int]:
        """The points that are tried before the first run: all, or a sample from everywhere."""
        count = len(self.space)
        return range(0, count, -(-count // MOST_RUNS))

    def load(self, point: int, seed: int | None = None) -> tuple[Config, Policies]:
        """The configuration of a point. Raises `ConfigError`."""
        varied = self.space[point]
        trace = varied.pop(TRACE, self.trace)
        try:
            values, policies = merge_plugs({**self.sets, **varied}, self.plugs)
            seed = self.seed if seed is None else seed
            config = self.source.load(values, trace=trace, seed=seed)  # type: ignore[arg-type]
            policy.check_policies(config, policies)
        except ConfigError as error:
            raise ConfigError(vary_messages(error.messages, varied)) from None
        logs = [key for key in ("op_log", "request_log") if config.values["metrics"][key]]
        if logs:
            message = f"metrics.{logs[0]}: a sweep writes no logs; run its point alone"
            raise ConfigError([message])
        return config, policies

    def shown(self) -> Space:
        """The space with its values as shown."""
        columns: dict[str, list[Value]] = {}
        for key, values in self.space.columns.items():
            if key == TRACE:
                columns[key] = [*trace_names([str(value) for value in values])]
                continue
            columns[key] = [
                value
                if isinstance(value, int | float) and not isinstance(value, bool)
                else policy.label_of(value)
                for value in values
            ]
        return Space(columns, is_drawn=self.space.is_drawn)

    def identity(self, shown: Space) -> dict[str, Any]:
        """What the results depend on: a sweep with the same is resumed."""
        traces = self.space.columns.get(TRACE, [] if self.trace is None else [self.trace])
        plugs = {name: plug for name, plug in self.plugs._asdict().items() if plug is not None}
        values = [value for column in self.space.columns.values() for value in column]
        return {
            "ssdlab": described(),
            "columns": [*COLUMNS],
            "preset": self.source.preset,
            "drive": self._drive(),
            "file": self.source.file and [*self.source.file],
            "set": {key: set_text(value) for key, value in _plain(self.sets).items()},
            "traces": [[str(trace), _size(trace)] for trace in dict.fromkeys(traces)],  # type: ignore[arg-type]
            "keys": {key: [*values] for key, values in shown.columns.items()},
            "draw": self.draw,
            "log": [*self.log],
            "seed": self.seed,
            "seeds": None if self.seeds == (None,) else [*self.seeds],
            "policies": sources({**self.sets, **plugs}.values(), values),
        }

    def _drive(self) -> str:
        """The note of the points on the drive from which they come."""
        origin = self.source.origin
        return "" if origin is None else origin.note(self.first.values, self.space.columns)


def _plain(sets: Mapping[str, object]) -> dict[str, object]:
    return {key: value for key, value in sets.items() if not policy.is_policy(value)}


def sources(*groups: Iterable[object]) -> dict[str, str]:
    """The policies in Python by label, each with a digest of its source, if that is known."""
    digests = {}
    for custom in (value for group in groups for value in group if policy.is_policy(value)):
        text = ""
        with suppress(OSError, TypeError):
            text = inspect.getsource(type(custom))
        digests[policy.label_of(custom)] = hashlib.sha256(text.encode()).hexdigest()[:16]
    return digests


def _size(trace: str | Path) -> int | None:
    with suppress(OSError):
        return Path(trace).stat().st_size
    return None


def trace_names(files: Sequence[str]) -> list[str]:
    """Short names of traces, or their paths if the short names are the same."""
    names = [Path(file).name.partition(".")[0] for file in files]
    return names if len(set(names)) == len(set(files)) else [*files]


def design_sweep(
    config: ConfigLike,
    vary: Mapping[str, Iterable[object]],
    *,
    draw: str | None = None,
    points: int | None = None,
    traces: Sequence[str | Path] = (),
    sets: Mapping[str, object],
    seed: int | None = None,
    seeds: int | None = None,
    plugs: Plugs,
) -> Design:
    """The design of a sweep. Raises `ConfigError`, or `WorkloadError` if a trace is missing."""
    sampling = check_draw(draw, points)
    values = values_of(vary, allows_draws=sampling is not None)
    if not values:
        form = f"such as {key_argument('vary', 'device.over_provisioning', '0.05:0.30:0.05')}"
        raise ConfigError([f"nothing to sweep: give at least one key and its values, {form}"])
    check_traces(traces)
    if len(traces) > 1:
        values = {TRACE: [*traces], **values}
    if sampling is None:
        space = grid(fixed_values(values))
    else:
        space = draw_points(values, *sampling, seed=0 if seed is None else seed)
    trace = traces[0] if len(traces) == 1 else None
    source, log = Source(config), log_keys(vary)
    design = Design(source, space, (None,), seed, sets, trace, plugs, log, draw)
    return design if seeds is None else replace(design, seeds=_seeds(design, seeds))


def _seeds(design: Design, seeds: int) -> tuple[int, ...]:
    check_seeds(seeds)
    if "run.seed" in design.space.columns:
        key, option = key_argument("vary", "run.seed"), argument("seeds")
        raise ConfigError(
            [f"{key}: {option} repeats every point with the same seeds; vary another"]
        )
    first = int(design.first["run.seed"])
    return tuple(range(first, first + seeds))


def check(design: Design, jobs: int) -> None:
    """Refuse a sweep with a value, or a device, that is impossible at every point.

    `jobs` devices at a time have to fit into the memory of this machine. A point whose values
    contradict each other is left to its run, which reports it.
    """
    errors: dict[str, None] = {}
    possible = 0
    counts: dict[tuple[str, int], int] = {}
    good: set[tuple[str, int]] = set()
    reasons: dict[tuple[str, int], tuple[str, ...]] = {}
    demands: list[int] = []
    shared_bytes = 0
    shares_start = design.shares_start
    listed_keys = [
        (key, {id(value): i for i, value in enumerate(values)})
        for key, values in design.space.columns.items()
    ]
    for point in design.checked:
        setting = design.space[point]
        places = [(key, indices[id(setting[key])]) for key, indices in listed_keys]
        for place in places:
            counts[place] = counts.get(place, 0) + 1
        result = design.load_or_errors(point)
        if isinstance(result, Config):
            possible += 1
            good.update(places)
            device_bytes = memory.device_bytes(result)
            if shares_start:
                shared_bytes = device_bytes
                device_bytes = memory.changed_bytes(result)
            demands.append(device_bytes)
            continue
        errors |= dict.fromkeys(result)
        for place in places:
            reasons.setdefault(place, result)
    if not possible:
        raise ConfigError(_first_messages(errors))
    minimum = SEEN if design.space.is_drawn else 1
    bad = {
        place: reasons[place] for place in counts if place not in good and counts[place] >= minimum
    }
    if bad:
        raise ConfigError(_first_messages(dict.fromkeys(_impossible(design.space, bad))))
    memory.check_needed(demands, jobs, shared_bytes)


def _impossible(space: Space, bad: Mapping[tuple[str, int], tuple[str, ...]]) -> Iterator[str]:
    for (key, index), messages in bad.items():
        value = policy.label_of(space.columns[key][index])
        for message in messages:
            name = key_argument("vary", key)
            is_complete = message.startswith(name)
            yield (
                message if is_complete else f"{name}: no point with {value} is possible: {message}"
            )


def _first_messages(messages: Iterable[str]) -> list[str]:
    texts = [*messages]
    remaining = len(texts) - MOST_MESSAGES
    return texts[:MOST_MESSAGES] + ([f"and {remaining:,} more"] if remaining > 0 else [])


def notes(design: Design) -> Iterator[str]:
    """What is worth knowing before the first points run."""
    labelled = []
    for point in design.checked[:NOTED]:
        with suppress(ConfigError):
            config, policies = design.load(point)
            label = point_label(design.space[point])
            labelled += [] if policies else [(label, note) for note in config.notes]
    yield from folded_points(labelled)
