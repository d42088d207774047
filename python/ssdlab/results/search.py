"""A search: the points that were tried, the best of them, and its test: `ssdlab.search`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeAlias, get_args

from ssdlab.display.form import Column
from ssdlab.display.numbers import Value, format_value
from ssdlab.results import search_answer
from ssdlab.results.answer import left_out
from ssdlab.results.drawing import drawer
from ssdlab.results.effects import Decided, Effect, analyse
from ssdlab.results.frames import Table
from ssdlab.results.intervals import Ratio
from ssdlab.results.names import SEARCH_JSON, TRIALS_CSV
from ssdlab.results.points import Points, Row
from ssdlab.results.sweep import point_label
from ssdlab.results.text import alike, counted, named, table, wrapped

VERSION = 1
"""Version of the files of a search."""
MOST_SHOWN = 10
"""Points in the text summary."""
MOST_REASONS = 5
MOST_LISTED = 3
"""Points whose values are listed."""
SHORT = 60
"""The most letters of the values of a point that serve as its name."""
State: TypeAlias = Literal["completed", "given up", "invalid", "not possible"]


@dataclass(frozen=True)
class Goal:
    """An objective."""

    name: str
    """As it was given."""
    column: Column
    maximize: bool

    def better(self, value: float, reference: float) -> bool:
        """Whether one value is better than another."""
        return value > reference if self.maximize else value < reference

    @property
    def title(self) -> str:
        """Its name in sentences."""
        return self.column.title or self.name

    @property
    def best(self) -> str:
        """`lowest`, or `highest`."""
        return "highest" if self.maximize else "lowest"


@dataclass(frozen=True)
class Tried:
    """A point that was tried."""

    number: int
    """Of its trial."""
    point: dict[str, Value]
    """Its keys and values."""
    state: State
    values: tuple[float, ...] | None = None
    """Values of the objectives; for a point that was given up, those of its last rung."""
    excess: dict[str, float] = field(default_factory=dict)
    """By how much it misses each constraint, as a share of the bound; at most 0 if it meets it."""
    rung: int = 0
    """The last rung it ran, from 0."""
    numbers: Row = field(default_factory=dict)
    """Means of the metrics, over seeds and traces, in full runs."""
    why: str = ""
    """Why it is impossible, or the warning that invalidates it."""
    unsettled: int = 0
    """Rungs on which it was not ranked, because a run had not reached a steady state."""
    drawn: bool = False
    """Whether the point was drawn independently of results."""
    by_seed: tuple[tuple[float, ...], ...] = ()
    """The objectives with each seed, if there are several."""

    @property
    def label(self) -> str:
        """The values of its keys."""
        return point_label(self.point)

    @property
    def allowed(self) -> bool:
        """Whether it completed and meets every constraint."""
        return self.state == "completed" and all(excess <= 0 for excess in self.excess.values())


@dataclass(frozen=True)
class Compared:
    """The ratio of a number of a point to that of another run, on data unseen by the search."""

    what: str
    """Name of the objective, or the text of the constraint."""
    of: str
    """The other run; empty if it is the number of a constraint."""
    case: str
    """The trace; empty for all of them."""
    mean: float | None
    """The number itself, over the seeds; None over several traces."""
    ratio: Ratio | None
    """None if some run has no such number, or it is not positive."""
    column: str = ""
    """The column of the number, as `Column.name`."""


@dataclass(frozen=True)
class Tested:
    """A point, tested."""

    number: int
    """Of its trial."""
    compared: tuple[Compared, ...]
    why: str = ""
    """Why the test was impossible."""

    def find(self, name: str, case: str = "") -> Compared | None:
        """A comparison by its name."""
        return next((c for c in self.compared if c.what == name and c.case == case), None)


@dataclass(frozen=True, repr=False)
class Search(Table):
    """The results of a search. Times are nanoseconds."""

    TEXTS: ClassVar = ("state", "why")

    name: str
    """The name of the configuration."""
    goals: tuple[Goal, ...]
    constraints: tuple[str, ...]
    trials: tuple[Tried, ...]
    """The points that were tried, each once, in order."""
    baseline: tuple[float | None, ...]
    """The objectives of the unchanged configuration, in training; None if it is invalid."""
    invalid: dict[str, str] = field(default_factory=dict)
    """References that a warning invalidates, each with the warning."""
    tested: tuple[Tested, ...] = ()
    """The best points, tested."""
    test: str = ""
    """What it was tested on."""
    runs: int = 0
    """How many were made."""
    size: int | None = None
    """Points of the space; None if infinitely many."""
    ending: str = ""
    """Why no further point was tried."""
    notes: tuple[str, ...] = ()
    identity: dict[str, Any] = field(default_factory=dict)
    """What was searched, as in search.json."""
    interrupted: bool = False
    folder: Path | None = None

    @cached_property
    def best(self) -> Tried | None:
        """The best point that meets all constraints; with several objectives, by the first one."""
        return self.front[0] if self.front else None

    @cached_property
    def front(self) -> tuple[Tried, ...]:
        """The points that meet all constraints and are not dominated: one point for one objective.

        The best one by the first objective comes first.
        """
        allowed = [trial for trial in self.trials if trial.allowed]
        front: list[Tried] = []
        for trial in sorted(allowed, key=self._order):
            if not any(self._beats(member, trial) for member in front):
                front.append(trial)
        return tuple(front)

    def _rank(self, trial: Tried) -> tuple[float, ...]:
        assert trial.values is not None
        pairs = zip(self.goals, trial.values, strict=True)
        return (*(-value if goal.maximize else value for goal, value in pairs), float(trial.number))

    def _order(self, trial: Tried) -> tuple[float, ...]:
        """The rank; among points with equal objectives, the best to meet the bounds comes first."""
        rank = self._rank(trial)
        return (*rank[:-1], sum(trial.excess.values()), rank[-1])

    def _beats(self, trial: Tried, rival: Tried) -> bool:
        """Whether `trial` is nowhere worse than `rival`."""
        pairs = zip(self._rank(trial)[:-1], self._rank(rival)[:-1], strict=True)
        return all(a <= b for a, b in pairs)

    @cached_property
    def nearest(self) -> Tried | None:
        """The completed point that misses the constraints by least, if none meets them."""
        if self.best is not None:
            return None
        completed = [trial for trial in self.trials if trial.state == "completed"]
        return min(completed, key=lambda trial: (_total_excess(trial), trial.number), default=None)

    @property
    def misses(self) -> str:
        """Which constraint the nearest point misses, and by how much, in words; otherwise empty."""
        if self.nearest is None:
            return ""
        parts = [
            f"{text} by {excess_text(excess)}"
            for text, excess in self.nearest.excess.items()
            if excess > 0
        ]
        first = f"no point meets {' and '.join(self.constraints)}"
        return f"{first}: the nearest, {self.called(self.nearest)}, misses {' and '.join(parts)}"

    @property
    def nothing(self) -> str:
        """The text in place of points if none completed, or none is valid."""
        is_any_invalid = any(trial.state == "invalid" for trial in self.trials)
        return f"No point {'is valid' if is_any_invalid else 'completed'}."

    @property
    def left_out(self) -> list[str]:
        """The points that are not ranked because a warning invalidates their runs, in words."""
        invalid = {
            self.called(trial): trial.why for trial in self.trials if trial.state == "invalid"
        }
        if not self.ranked:
            return left_out(invalid, len(invalid))
        verb = "is" if len(invalid) == 1 else "are"
        return [f"Not ranked: {named([*invalid])}, which {verb} invalid."] if invalid else []

    @cached_property
    def drawn(self) -> tuple[Tried, ...]:
        """The completed points drawn independently of results; all if the whole space ran."""
        is_whole_space = len(self.trials) == self.size
        return tuple(
            trial
            for trial in self.trials
            if trial.state == "completed" and (trial.drawn or is_whole_space)
        )

    @cached_property
    def effects(self) -> tuple[list[Effect], ...]:
        """The keys that decide each objective, judged over the points `drawn`.

        The other points are biased by the sampler. Keys without a clear effect are left out.
        """
        return tuple([*analysis.effects] for analysis in self._analyses)

    @cached_property
    def _analyses(self) -> tuple[Decided, ...]:
        points = [trial.point for trial in self.drawn]
        values = [trial.by_seed or (trial.values or (),) for trial in self.drawn]
        indices = range(len(self.goals))
        return tuple(
            analyse(points, [[seed_values[i] for seed_values in by_seed] for by_seed in values])
            for i in indices
        )

    @property
    def decided(self) -> Iterator[str]:
        """The keys that decide each objective, in words."""
        for goal, analysis in zip(self.goals, self._analyses, strict=True):
            if any(goal.name in trial.point for trial in self.drawn):
                continue  # the objective is itself a key
            kind = "valid" if len(self.trials) == self.size else "random"
            points = counted(len(self.drawn), f"{kind} point")
            if text := analysis.text(goal.title, points):
                yield text

    @cached_property
    def points(self) -> Points:
        """The completed points as those of a sweep, for plots; keys that not all have are `-`."""
        completed = [trial for trial in self.trials if trial.state == "completed"]
        keys = dict.fromkeys(key for trial in completed for key in trial.point)
        columns = {key: [trial.point.get(key, "-") for trial in completed] for key in keys}
        rows = [[trial.numbers] for trial in completed]
        return Points.of([trial.label for trial in completed], columns, rows)

    @cached_property
    def rows(self) -> list[Row]:
        """A row for each trial: keys, state, objectives, constraints, numbers."""
        keys = dict.fromkeys(key for trial in self.trials for key in trial.point)
        names = dict.fromkeys(name for trial in self.trials for name in trial.numbers)
        rows: list[Row] = []
        for trial in self.trials:
            values = trial.values or (None,) * len(self.goals)
            rows.append(
                {
                    "trial": trial.number,
                    **{key: trial.point.get(key) for key in keys},
                    "state": trial.state,
                    "allowed": trial.allowed,
                    "rung": trial.rung,
                    **{f"objective_{i + 1}": value for i, value in enumerate(values)},
                    **{f"excess of {text}": trial.excess.get(text) for text in self.constraints},
                    **{name: trial.numbers.get(name) for name in names},
                    "why": trial.why or None,
                }
            )
        return rows

    @property
    def json(self) -> dict[str, Any]:
        """The contents of search.json."""
        return {
            "version": VERSION,
            "name": self.name,
            "completed": not self.interrupted,
            "interrupted": self.interrupted,
            "search": self.identity,
            "goals": [asdict(goal) for goal in self.goals],
            "constraints": [*self.constraints],
            "baseline": [*self.baseline],
            "invalid": self.invalid,
            "runs": self.runs,
            "size": self.size,
            "ending": self.ending,
            "notes": [*self.notes],
            "answer": self.answer,
            "warnings": [*self.warnings],
            "best": [trial.number for trial in self.front],
            "misses": self.misses,
            "test": self.test,
            "tested": [asdict(test) for test in self.tested],
            "effects": [[asdict(effect) for effect in effects] for effects in self.effects],
            "trials": [asdict(trial) for trial in self.trials],
        }

    def to_json(self) -> str:
        """The text of `json`."""
        return json.dumps(self.json, indent=2, ensure_ascii=False) + "\n"

    @staticmethod
    def read(folder: str | Path) -> Search:
        """The search in `folder`."""
        folder = Path(folder)
        v = json.loads((folder / SEARCH_JSON).read_text(encoding="utf-8"))
        goals = [Goal(g["name"], Column(**g["column"]), g["maximize"]) for g in v["goals"]]
        return Search(
            v["name"],
            tuple(goals),
            tuple(v["constraints"]),
            tuple(tried_of(trial) for trial in v["trials"]),
            tuple(v["baseline"]),
            v.get("invalid", {}),
            tuple(_test_result(test) for test in v["tested"]),
            v["test"],
            v["runs"],
            v["size"],
            v["ending"],
            tuple(v["notes"]),
            v["search"],
            v["interrupted"],
            folder,
        )

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """What to know before the result is used."""
        return (*self.notes, *search_answer.gains(self), *self._unranked())

    def _unranked(self) -> Iterator[str]:
        unsettled = [trial for trial in self.trials if trial.unsettled]
        if unsettled:
            yield (
                f"{counted(len(unsettled), 'point')} did not reach a steady state in a short run,"
                " which then ranked nothing: they went on to longer runs."
            )

    @cached_property
    def reasons(self) -> dict[State, dict[str, list[str]]]:
        """Why points are invalid or impossible, and which, by state.

        Reasons that differ only in numbers are merged.
        """
        by_state: dict[State, dict[str, list[str]]] = {}
        for state in ("invalid", "not possible"):
            texts = [(trial.label, trial.why) for trial in self.trials if trial.state == state]
            groups = sorted(alike(texts), key=lambda group: -len(group))
            by_state[state] = {next(iter(group.values())): [*group] for group in groups}
        return by_state

    @cached_property
    def answer(self) -> str:
        """The best point and its test in sentences; lower means that the interval excludes 1."""
        return " ".join(search_answer.answer(self))

    def summary(self) -> str:
        """The search as text."""
        total = f" of {self.size:,}" if self.size else ""
        state = ", INTERRUPTED" if self.interrupted else ""
        lines = [
            f"{self.name}: {counted(len(self.trials), 'point')}{total} tried ({self.states}){state}"
        ]
        lines += [f"{counted(self.runs, 'run')}; {self.ending}".rstrip("; ")]
        lines += ["", *wrapped("", self.answer)] if self.answer else []
        for trial in self.front[:MOST_LISTED]:
            if self.called(trial) != trial.label:
                lines += ["", self.called(trial), *(f"  {k} = {v}" for k, v in trial.point.items())]
        for text in self.warnings:
            lines += ["", *wrapped("! ", text)]
        lines += ["", *self._table()]
        for state, reasons in self.reasons.items():
            lines += ["", state] * bool(reasons)
            for reason, labels in [*reasons.items()][:MOST_REASONS]:
                lines += wrapped("  ", f"{counted(len(labels), 'point')}: {reason}")
        for text in self.decided:
            lines += ["", *wrapped("what decides: ", text)]
        return "\n".join(lines).rstrip() + "\n"

    @property
    def states(self) -> str:
        """How many points ended how."""
        states = [trial.state for trial in self.trials]
        kinds: tuple[State, ...] = get_args(State)
        return ", ".join(f"{states.count(k):,} {k}" for k in kinds if k in states)

    def called(self, one: Tried) -> str:
        """The name of a point in sentences: its values, if they are few."""
        return one.label if len(one.label) <= SHORT else f"point {one.number}"

    def _table(self) -> Iterator[str]:
        trials = self.front if len(self.goals) > 1 else self.ranked
        if not trials:
            yield self.nothing
            return
        yield "front" if len(self.goals) > 1 else f"{self.goals[0].best} {self.goals[0].title}"
        head = ["", *(goal.name for goal in self.goals), *self.constraints]
        rows = []
        for trial in trials[:MOST_SHOWN]:
            assert trial.values is not None
            cells = [self.value_text(i, value) for i, value in enumerate(trial.values)]
            misses = [trial.excess.get(text, 0.0) for text in self.constraints]
            cells += [
                "met" if excess <= 0 else f"missed by {excess_text(excess)}" for excess in misses
            ]
            rows.append([self.called(trial), *cells])
        yield from table(head, rows)
        remaining = len(trials) - len(rows)
        if remaining > 0:
            yield f"{counted(remaining, 'more point')} in {TRIALS_CSV}"

    @cached_property
    def ranked(self) -> tuple[Tried, ...]:
        """The completed points by the first objective, those that meet all constraints first."""
        completed = [trial for trial in self.trials if trial.state == "completed"]
        return tuple(
            sorted(completed, key=lambda trial: (_total_excess(trial), *self._order(trial)))
        )

    @property
    def in_ratios(self) -> bool:
        """Objectives are ratios to the baseline if there are several traces."""
        return len(self.identity.get("traces", ())) > 1

    def value_text(self, goal: int, value: float) -> str:
        """An objective in words."""
        if self.in_ratios:
            return f"{value:.4g} of baseline"
        return format_value(self.goals[goal].column.name, value)

    def moved(self, folder: Path | None) -> Search:
        """The same results in another folder."""
        return replace(self, folder=folder)

    def __repr__(self) -> str:
        return f"<Search for {', '.join(goal.name for goal in self.goals)}>\n{self.summary()}"

    def _repr_html_(self) -> str:
        """The answer, the history and the best points, for notebooks."""
        return drawer().of_search(self)


def _total_excess(trial: Tried) -> float:
    return sum(max(0.0, excess) for excess in trial.excess.values())


def excess_text(share: float) -> str:
    """By how much a bound is missed, as a share of it, in words."""
    if share < 0.0005:
        return "less than 0.05 %"
    return f"{100 * share:,.0f} %" if share >= 0.995 else f"{100 * share:.2g} %"


def tried_of(values: Mapping[str, Any]) -> Tried:
    """What `asdict` made of a point that was tried."""
    numbers = None if values["values"] is None else tuple(values["values"])
    by_seed = tuple(map(tuple, values.get("by_seed", ())))
    return Tried(**{**values, "values": numbers, "by_seed": by_seed})


def _test_result(values: Mapping[str, Any]) -> Tested:
    comparisons = tuple(
        Compared(**{**item, "ratio": None if item["ratio"] is None else Ratio(**item["ratio"])})
        for item in values["compared"]
    )
    return Tested(values["number"], comparisons, values["why"])
