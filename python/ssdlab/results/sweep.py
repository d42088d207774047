"""A sweep: the numbers of many points, and which of them could not run: `ssdlab.sweep`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from ssdlab.config.space import Space
from ssdlab.display.form import columns
from ssdlab.display.numbers import Value, format_value
from ssdlab.results import warned
from ssdlab.results.answer import TITLES, of_points, of_seeds
from ssdlab.results.drawing import Drawing, drawer
from ssdlab.results.effects import analyse_column
from ssdlab.results.frames import Table
from ssdlab.results.names import OUTCOMES, SWEEP_CSV, SWEEP_JSON
from ssdlab.results.points import Points, Row
from ssdlab.results.report import Report
from ssdlab.results.text import counted, folded_points, named, table, wrapped

VERSION = 1
"""Version of the files of a sweep."""
MEASURED = tuple(
    column
    for column in columns()
    if column.name not in ("completed", "seed")
    and not column.key.startswith("speed.")
    and column.key != "time.wall"
)
"""The columns of comparisons that are the same whenever a run is repeated."""
COLUMNS = tuple(column.name for column in MEASURED)
"""Their names."""
MOST_SHOWN = 20
"""Points in the text summary."""


@dataclass(frozen=True)
class Outcome:
    """What became of one run."""

    point: int
    """Number of its point in the space."""
    seed: int | None
    """Which repetition; None if there is only one."""
    values: tuple[Value, ...] = ()
    """Its numbers, those of `MEASURED`; empty if it failed."""
    error: str = ""
    """Why it failed."""
    warnings: tuple[str, ...] = ()
    """The warnings of its report."""
    invalidating: int = 0
    """How many of the warnings, which come first, invalidate numbers."""
    loss: str = ""
    """What of its trace was skipped, if much was."""
    more: Mapping[str, Value] = field(default_factory=dict)
    """Further numbers and words of the run, by name."""

    @staticmethod
    def of(
        point: int, seed: int | None, report: Report, more: Mapping[str, Value] | None = None
    ) -> Outcome:
        """The outcome of a completed run."""
        values = tuple(column.of_report(report) for column in MEASURED)
        warnings, loss = tuple(report.warnings), report.loss or ""
        return Outcome(point, seed, values, "", warnings, report.invalidating, loss, more or {})

    def line(self) -> str:
        """As a line of `outcomes.jsonl`."""
        values: dict[str, object]
        values = {"point": self.point, "seed": self.seed, "values": self.values}
        for key in ("error", "warnings", "invalidating", "loss", "more"):
            if getattr(self, key):
                values[key] = getattr(self, key)
        return json.dumps(values, separators=(",", ":")) + "\n"

    @staticmethod
    def of_line(line: str, names: Sequence[str] = COLUMNS) -> Outcome:
        """The outcome in a `line`, with values in columns of these names.

        Raises `ValueError`, `KeyError` or `TypeError` if it is damaged.
        """
        values = json.loads(line)
        numbers = tuple(values["values"])
        if not values.get("error"):
            by_name = dict(zip(names, numbers, strict=True))
            numbers = tuple(by_name.get(name) for name in COLUMNS)
        if not isinstance(values["point"], int):
            message = "the number of the point is missing"
            raise TypeError(message)
        values |= {"values": numbers, "warnings": tuple(values.get("warnings", ()))}
        return Outcome(**values)


@dataclass(frozen=True, repr=False)
class Sweep(Table):
    """The numbers of the points of a sweep. Times are nanoseconds."""

    TEXTS: ClassVar = ("error", "decided_by", "config_digest", "event_digest")

    name: str
    """The name of the configuration."""
    space: Space
    """Its points, with values as shown."""
    outcomes: tuple[Outcome, ...]
    """The runs that ended, by point and seed."""
    planned: int
    """How many runs there are."""
    log: tuple[str, ...] = ()
    """The keys that were varied by factors."""
    identity: dict[str, Any] = field(default_factory=dict)
    """What the sweep runs, as in sweep.json."""
    interrupted: bool = False
    """Ended early by Ctrl-C."""
    folder: Path | None = None
    """Folder of the files."""
    running: bool = False
    """Whether runs continue, so that the page will soon be written again."""

    @staticmethod
    def read(folder: str | Path) -> Sweep:
        """The sweep in `folder`."""
        folder = Path(folder)
        values = json.loads((folder / SWEEP_JSON).read_text(encoding="utf-8"))
        identity = values["sweep"]
        lines = (folder / OUTCOMES).read_bytes().decode("utf-8", "replace").splitlines()
        space = Space(identity["keys"], is_drawn=identity["draw"] is not None)
        return Sweep(
            values["name"],
            space,
            ordered(readable(lines, identity["columns"])),
            values["runs"],
            tuple(identity["log"]),
            identity,
            values["interrupted"],
            folder,
        )

    @property
    def not_run(self) -> int:
        """How many runs are left: the sweep was interrupted, or its budget was spent."""
        return self.planned - len(self.outcomes)

    @property
    def completed(self) -> bool:
        """Every run completed."""
        return not self.not_run and not self.failures

    @cached_property
    def failures(self) -> dict[str, str]:
        """Why runs failed, by point (and seed)."""
        failures = {}
        for outcome in self.outcomes:
            if outcome.error:
                seed = "" if outcome.seed is None else f", seed {outcome.seed}"
                failures[f"{self.label(outcome.point)}{seed}"] = outcome.error
        return failures

    def label(self, point: int) -> str:
        """The name of a point: the values of its keys."""
        return point_label(self.space[point])

    @cached_property
    def points(self) -> Points:
        """The values of the keys, with the numbers of the completed runs."""
        runs: dict[int, list[Row]] = {}
        for outcome in self.outcomes:
            rows = runs.setdefault(outcome.point, [])
            if not outcome.error:
                rows.append(dict(zip(COLUMNS, outcome.values, strict=True)))
        settings = [self.space[point] for point in runs]
        columns = {key: [setting[key] for setting in settings] for key in self.space.columns}
        labels = [point_label(setting) for setting in settings]
        seeds: dict[int, list[str]] = {point: [] for point in runs}
        for outcome in self.outcomes:
            if not outcome.error:
                seeds[outcome.point].append(outcome.warnings[0] if outcome.invalidating else "")
        reasons = tuple(map(warned.majority, seeds.values()))
        points = zip(labels, seeds.values(), reasons, strict=True)
        minority = {
            label: warnings for label, warnings, reason in points if any(warnings) and not reason
        }
        result = Points.of(labels, columns, runs.values(), self.log)  # type: ignore[arg-type]
        return replace(result, why_invalid=reasons, partly_invalid=minority)

    @cached_property
    def numbers(self) -> list[int]:
        """The number of each of `points` in the space: the column `point` of `rows`."""
        return [*dict.fromkeys(outcome.point for outcome in self.outcomes)]

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys that vary."""
        return tuple(self.space.columns)

    @cached_property
    def rows(self) -> list[Row]:
        """One row per run: point, keys, seed, whether it completed, and its numbers."""
        points = self.points
        heads = [key.column for key in points.keys]
        indices = {point: i for i, point in enumerate(self.numbers)}
        rows: list[Row] = []
        for outcome in self.outcomes:
            values = outcome.values or (None,) * len(COLUMNS)
            rows.append(
                {
                    "point": outcome.point,
                    **dict(zip(heads, points.settings[indices[outcome.point]], strict=True)),
                    "seed": outcome.seed if outcome.seed is not None else self.identity.get("seed"),
                    "completed": not outcome.error,
                    "error": outcome.error or None,
                    **dict(zip(COLUMNS, values, strict=True)),
                    "warnings": len(outcome.warnings),
                }
            )
        return rows

    @property
    def json(self) -> dict[str, Any]:
        """What `--json` prints."""
        return self.head | {"points": self.rows, "failures": self.failures}

    @property
    def head(self) -> dict[str, Any]:
        """The contents of sweep.json."""
        return {
            "version": VERSION,
            "name": self.name,
            "completed": self.completed,
            "interrupted": self.interrupted or self.running,
            "runs": self.planned,
            "ended": len(self.outcomes),
            "failed": len(self.failures),
            "sweep": self.identity,
        }

    def head_json(self) -> str:
        """The text of sweep.json."""
        return json.dumps(self.head, indent=2, ensure_ascii=False) + "\n"

    def to_json(self) -> str:
        """The text of `json`."""
        return json.dumps(self.json, indent=2, ensure_ascii=False) + "\n"

    def plot(self, metric: str = "waf", x: str | None = None, y: str | None = None) -> Drawing:
        """Draw a column of `rows` over the key `x`; with `y` a heat map of both.

        Default of `x`: the first key with numbers; if none has numbers, each point gets a bar. The
        result shows itself in notebooks and has `save(path)`. Raises `ConfigError`.
        """
        return drawer().of_points(self.points, metric, x, y)

    def first_lines(self) -> list[str]:
        """What a reader has to know before any number."""
        lines = [f"LOST  {loss}" for loss in dict.fromkeys(o.loss for o in self.outcomes if o.loss)]
        labels = self.points.labels
        reserve_points = [label for i, label in enumerate(labels) if self.points.reserve_decided(i)]
        if reserve_points:
            where = f"in {len(reserve_points):,} of {counted(len(labels), 'point')}"
            where += f" ({named(reserve_points)})"
            if len(reserve_points) == len(labels):
                where = "at all points"
            lines.append(f"The reserve decided, not the victim policy, {where}.")
        if self.running:
            lines.append(f"Running: {len(self.outcomes):,} of {self.planned:,} runs have ended.")
        elif self.interrupted:
            lines.append(f"Interrupted: {self.not_run:,} of {self.planned:,} runs are missing.")
        elif self.not_run:
            lines.append(f"Budget spent: {self.not_run:,} of {self.planned:,} runs are missing.")
        for reason, titles in self.failed().items():
            lines.append(f"{counted(len(titles), 'run')} failed ({named(titles)}): {reason}")
        return lines

    def failed(self) -> dict[str, list[str]]:
        """The runs that failed, by reason."""
        by_reason: dict[str, list[str]] = {}
        for title, reason in self.failures.items():
            by_reason.setdefault(reason, []).append(title)
        return by_reason

    def warning_groups(self) -> Iterator[warned.Group]:
        """A title, the mark of a line, and the warnings: those that invalidate numbers, then notes.

        Warnings of several points that differ only in numbers are printed once.
        """
        outcomes = [
            (self.label(outcome.point), outcome) for outcome in self.outcomes if outcome.warnings
        ]
        severe = [
            (label, w)
            for label, outcome in outcomes
            for w in outcome.warnings[: outcome.invalidating]
        ]
        notes = [
            (label, w)
            for label, outcome in outcomes
            for w in outcome.warnings[outcome.invalidating :]
        ]
        groups = (folded_points(texts) for texts in (severe, notes))
        return warned.groups("results", *groups)

    def summary(self) -> str:
        """The sweep as text: what varied, the points with the lowest write amplification."""
        run_count, state = len(self.outcomes), "" if self.completed else ", NOT COMPLETED"
        keys = ", ".join(f"{key} ({self._value_count(key):,} values)" for key in self.keys)
        points = counted(len(self.points.labels), "point")
        lines = [f"{self.name}: {points}, {counted(run_count, 'run')}{state}"]
        lines += wrapped("over ", keys)
        if self.drive:
            lines += ["", *wrapped("", f"drive: {self.drive}")]
        for text in self.first_lines():
            lines += ["", *wrapped("", text)]
        if self.answer:
            lines += ["", *wrapped("", self.answer)]
        for text in self.decided:
            lines += ["", *wrapped("what decides: ", text)]
        lines += ["", *self._best()]
        for head, mark, texts in self.warning_groups():
            lines += ["", head, *(line for text in texts for line in wrapped(mark, text))]
        return "\n".join(lines).rstrip() + "\n"

    @property
    def drive(self) -> str:
        """The drive of the runs, with its errors against measurements; empty without a drive."""
        return str(self.identity.get("drive", ""))

    @cached_property
    def answer(self) -> str:
        """Where write amplification and latencies are lowest and highest, by their intervals.

        A sweep over seeds ranks nothing; its answer says how to repeat the points instead.
        """
        if self.seed_keys:
            return of_seeds(self.seed_keys[0], self._value_count(self.seed_keys[0]))
        return " ".join(of_points(self.points))

    @property
    def seed_keys(self) -> list[str]:
        """The seeds among the keys that vary."""
        return [key for key in self.keys if key.rpartition(".")[2] == "seed"]

    @property
    def decided(self) -> Iterator[str]:
        """The keys that decide write amplification and latencies, in words, if several vary."""
        points = self.points.valid
        if len(points.keys) < 2 or self.seed_keys:
            return
        for metric, title in TITLES.items():
            analysis = analyse_column(points, metric)
            if analysis.effects:
                yield analysis.text(title, counted(analysis.points, "point"))

    def _value_count(self, key: str) -> int:
        return len(set(map(str, self.space.columns[key])))

    def ranked(self, metric: str) -> list[int]:
        """The points that have a number, the lowest first, and then those that are not valid.

        A sweep over seeds ranks nothing, and keeps their order.
        """
        points = self.points
        means = {
            i: summary.mean
            for i in range(len(points.labels))
            if (summary := points.summary(i, metric)) is not None
        }
        if self.seed_keys:
            return [*means]
        return sorted(means, key=lambda i: (points.labels[i] in points.invalid, means[i]))

    def _best(self) -> Iterator[str]:
        points = self.points
        metrics = [column for column in points.metrics.values() if column.shown][:6]
        if not metrics:
            yield "No run completed."
            return
        ranked = self.ranked(metrics[0].name)
        best, invalid = ranked[:MOST_SHOWN], points.invalid
        remaining = len(ranked) - len(best)
        title = f"lowest {metrics[0].title}"
        if self.seed_keys or len(invalid) == len(points.labels):
            title = "runs"
        yield title + (f", {remaining:,} more points in {SWEEP_CSV}" if remaining else "")
        rows = []
        for i in best:
            summaries = [(column.name, points.summary(i, column.name)) for column in metrics]
            cells = [
                format_value(name, summary.mean if summary else None) for name, summary in summaries
            ]
            label = points.labels[i]
            rows.append([f"{label} (invalid)" if label in invalid else label, *cells])
        yield from table(["", *(column.short for column in metrics)], rows)

    def __repr__(self) -> str:
        return f"<Sweep of {', '.join(self.keys)}>\n{self.summary()}"

    def _repr_html_(self) -> str:
        """The answer, a plot and the table of the lowest points, for notebooks."""
        return drawer().of_sweep(self)


def point_label(setting: Mapping[str, object]) -> str:
    """The name of a point with these values."""
    if len(setting) == 1:
        (key, value), *_ = setting.items()
        return f"seed {value}" if key.rpartition(".")[2] == "seed" else str(value)
    names = [key.rpartition(".")[2] for key in setting]
    heads = [
        name if names.count(name) == 1 else key for key, name in zip(setting, names, strict=True)
    ]
    return " ".join(f"{name}={value}" for name, value in zip(heads, setting.values(), strict=True))


def readable(lines: Sequence[str], names: Sequence[str] = COLUMNS) -> Iterator[Outcome]:
    """The outcomes in the lines of a file; a damaged line counts as not run.

    `names`: the columns of their values, if the file is of another version.
    """
    for line in lines:
        with suppress(ValueError, KeyError, TypeError):
            yield Outcome.of_line(line, names)


def ordered(outcomes: Iterator[Outcome] | Sequence[Outcome]) -> tuple[Outcome, ...]:
    """Outcomes by point and seed, each once."""
    by_key = {(outcome.point, outcome.seed or 0): outcome for outcome in outcomes}
    return tuple(by_key[key] for key in sorted(by_key))
