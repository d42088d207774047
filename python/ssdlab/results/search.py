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
from ssdlab.results.effects import Decided, Effect, decided
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

    def better(self, one: float, other: float) -> bool:
        """Whether one value is better than another."""
        return one > other if self.maximize else one < other

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
        return self.state == "completed" and all(one <= 0 for one in self.excess.values())


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

    def find(self, what: str, case: str = "") -> Compared | None:
        """A comparison by its name."""
        return next((c for c in self.compared if c.what == what and c.case == case), None)


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
        allowed = [one for one in self.trials if one.allowed]
        kept: list[Tried] = []
        for one in sorted(allowed, key=self._order):
            if not any(self._beats(other, one) for other in kept):
                kept.append(one)
        return tuple(kept)

    def _rank(self, one: Tried) -> tuple[float, ...]:
        assert one.values is not None
        pairs = zip(self.goals, one.values, strict=True)
        return (*(-value if goal.maximize else value for goal, value in pairs), float(one.number))

    def _order(self, one: Tried) -> tuple[float, ...]:
        """The rank; among points with equal objectives, the best to meet the bounds comes first."""
        rank = self._rank(one)
        return (*rank[:-1], sum(one.excess.values()), rank[-1])

    def _beats(self, one: Tried, other: Tried) -> bool:
        """Whether `one` is nowhere worse than `other`."""
        pairs = zip(self._rank(one)[:-1], self._rank(other)[:-1], strict=True)
        return all(a <= b for a, b in pairs)

    @cached_property
    def nearest(self) -> Tried | None:
        """The completed point that misses the constraints by least, if none meets them."""
        if self.best is not None:
            return None
        ran = [one for one in self.trials if one.state == "completed"]
        return min(ran, key=lambda one: (_missed(one), one.number), default=None)

    @property
    def misses(self) -> str:
        """Which constraint the nearest point misses, and by how much, in words; otherwise empty."""
        if self.nearest is None:
            return ""
        parts = [f"{text} by {excess_text(e)}" for text, e in self.nearest.excess.items() if e > 0]
        first = f"no point meets {' and '.join(self.constraints)}"
        return f"{first}: the nearest, {self.called(self.nearest)}, misses {' and '.join(parts)}"

    @property
    def nothing(self) -> str:
        """The text in place of points if none completed, or none is valid."""
        is_any_invalid = any(one.state == "invalid" for one in self.trials)
        return f"No point {'is valid' if is_any_invalid else 'completed'}."

    @property
    def left_out(self) -> list[str]:
        """The points that are not ranked because a warning invalidates their runs, in words."""
        why = {self.called(one): one.why for one in self.trials if one.state == "invalid"}
        if not self.ranked:
            return left_out(why, len(why))
        verb = "is" if len(why) == 1 else "are"
        return [f"Not ranked: {named([*why])}, which {verb} invalid."] if why else []

    @cached_property
    def drawn(self) -> tuple[Tried, ...]:
        """The completed points drawn independently of results; all if the whole space ran."""
        every = len(self.trials) == self.size
        return tuple(
            one for one in self.trials if one.state == "completed" and (one.drawn or every)
        )

    @cached_property
    def effects(self) -> tuple[list[Effect], ...]:
        """The keys that decide each objective, judged over the points `drawn`.

        The other points are biased by the sampler. Keys without a clear effect are left out.
        """
        return tuple([*one.effects] for one in self._judged)

    @cached_property
    def _judged(self) -> tuple[Decided, ...]:
        points = [one.point for one in self.drawn]
        values = [one.by_seed or (one.values or (),) for one in self.drawn]
        each = range(len(self.goals))
        return tuple(decided(points, [[of[i] for of in one] for one in values]) for i in each)

    @property
    def decided(self) -> Iterator[str]:
        """The keys that decide each objective, in words."""
        for goal, judged in zip(self.goals, self._judged, strict=True):
            if any(goal.name in one.point for one in self.drawn):
                continue  # the objective is itself a key
            kind = "valid" if len(self.trials) == self.size else "random"
            points = counted(len(self.drawn), f"{kind} point")
            if text := judged.text(goal.title, points):
                yield text

    @cached_property
    def points(self) -> Points:
        """The completed points as those of a sweep, for plots; keys that not all have are `-`."""
        ran = [one for one in self.trials if one.state == "completed"]
        keys = dict.fromkeys(key for one in ran for key in one.point)
        given = {key: [one.point.get(key, "-") for one in ran] for key in keys}
        rows = [[one.numbers] for one in ran]
        return Points.of([one.label for one in ran], given, rows)

    @cached_property
    def rows(self) -> list[Row]:
        """A row for each trial: keys, state, objectives, constraints, numbers."""
        keys = dict.fromkeys(key for one in self.trials for key in one.point)
        names = dict.fromkeys(name for one in self.trials for name in one.numbers)
        found: list[Row] = []
        for one in self.trials:
            values = one.values or (None,) * len(self.goals)
            found.append(
                {
                    "trial": one.number,
                    **{key: one.point.get(key) for key in keys},
                    "state": one.state,
                    "allowed": one.allowed,
                    "rung": one.rung,
                    **{f"objective_{i + 1}": value for i, value in enumerate(values)},
                    **{f"excess of {text}": one.excess.get(text) for text in self.constraints},
                    **{name: one.numbers.get(name) for name in names},
                    "why": one.why or None,
                }
            )
        return found

    @property
    def json(self) -> dict[str, Any]:
        """The contents of search.json."""
        return {
            "version": VERSION,
            "name": self.name,
            "completed": not self.interrupted,
            "interrupted": self.interrupted,
            "search": self.identity,
            "goals": [asdict(one) for one in self.goals],
            "constraints": [*self.constraints],
            "baseline": [*self.baseline],
            "invalid": self.invalid,
            "runs": self.runs,
            "size": self.size,
            "ending": self.ending,
            "notes": [*self.notes],
            "answer": self.answer,
            "warnings": [*self.warnings],
            "best": [one.number for one in self.front],
            "misses": self.misses,
            "test": self.test,
            "tested": [asdict(one) for one in self.tested],
            "effects": [[asdict(one) for one in several] for several in self.effects],
            "trials": [asdict(one) for one in self.trials],
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
            tuple(tried_of(one) for one in v["trials"]),
            tuple(v["baseline"]),
            v.get("invalid", {}),
            tuple(_tested(one) for one in v["tested"]),
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
        several = [one for one in self.trials if one.unsettled]
        if several:
            yield (
                f"{counted(len(several), 'point')} did not reach a steady state in a short run,"
                " which then ranked nothing: they went on to longer runs."
            )

    @cached_property
    def reasons(self) -> dict[State, dict[str, list[str]]]:
        """Why points are invalid or impossible, and which, by state.

        Reasons that differ only in numbers are merged.
        """
        found: dict[State, dict[str, list[str]]] = {}
        for state in ("invalid", "not possible"):
            why = [(one.label, one.why) for one in self.trials if one.state == state]
            groups = sorted(alike(why), key=lambda one: -len(one))
            found[state] = {next(iter(one.values())): [*one] for one in groups}
        return found

    @cached_property
    def answer(self) -> str:
        """The best point and its test in sentences; lower means that the interval excludes 1."""
        return " ".join(search_answer.answer(self))

    def summary(self) -> str:
        """The search as text."""
        of = f" of {self.size:,}" if self.size else ""
        state = ", INTERRUPTED" if self.interrupted else ""
        lines = [
            f"{self.name}: {counted(len(self.trials), 'point')}{of} tried ({self.told}){state}"
        ]
        lines += [f"{counted(self.runs, 'run')}; {self.ending}".rstrip("; ")]
        lines += ["", *wrapped("", self.answer)] if self.answer else []
        for one in self.front[:MOST_LISTED]:
            if self.called(one) != one.label:
                lines += ["", self.called(one), *(f"  {k} = {v}" for k, v in one.point.items())]
        for text in self.warnings:
            lines += ["", *wrapped("! ", text)]
        lines += ["", *self._table()]
        for state, reasons in self.reasons.items():
            lines += ["", state] * bool(reasons)
            for why, labels in [*reasons.items()][:MOST_REASONS]:
                lines += wrapped("  ", f"{counted(len(labels), 'point')}: {why}")
        for text in self.decided:
            lines += ["", *wrapped("what decides: ", text)]
        return "\n".join(lines).rstrip() + "\n"

    @property
    def told(self) -> str:
        """How many points ended how."""
        states = [one.state for one in self.trials]
        kinds: tuple[State, ...] = get_args(State)
        return ", ".join(f"{states.count(k):,} {k}" for k in kinds if k in states)

    def called(self, one: Tried) -> str:
        """The name of a point in sentences: its values, if they are few."""
        return one.label if len(one.label) <= SHORT else f"point {one.number}"

    def _table(self) -> Iterator[str]:
        several = self.front if len(self.goals) > 1 else self.ranked
        if not several:
            yield self.nothing
            return
        yield "front" if len(self.goals) > 1 else f"{self.goals[0].best} {self.goals[0].title}"
        head = ["", *(goal.name for goal in self.goals), *self.constraints]
        rows = []
        for one in several[:MOST_SHOWN]:
            assert one.values is not None
            cells = [self.value_text(i, value) for i, value in enumerate(one.values)]
            misses = [one.excess.get(text, 0.0) for text in self.constraints]
            cells += ["met" if e <= 0 else f"missed by {excess_text(e)}" for e in misses]
            rows.append([self.called(one), *cells])
        yield from table(head, rows)
        left = len(several) - len(rows)
        if left > 0:
            yield f"{counted(left, 'more point')} in {TRIALS_CSV}"

    @cached_property
    def ranked(self) -> tuple[Tried, ...]:
        """The completed points by the first objective, those that meet all constraints first."""
        ran = [one for one in self.trials if one.state == "completed"]
        return tuple(sorted(ran, key=lambda one: (_missed(one), *self._order(one))))

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


def _missed(one: Tried) -> float:
    return sum(max(0.0, e) for e in one.excess.values())


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


def _tested(values: Mapping[str, Any]) -> Tested:
    compared = tuple(
        Compared(**{**one, "ratio": None if one["ratio"] is None else Ratio(**one["ratio"])})
        for one in values["compared"]
    )
    return Tested(values["number"], compared, values["why"])
