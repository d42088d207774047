"""The runs of a search: each is executed once, stored as a line, and looked up when needed."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ssdlab.display.numbers import Value
from ssdlab.display.progress import Callback
from ssdlab.errors import ConfigError, WorkloadError
from ssdlab.results import warned
from ssdlab.results.intervals import estimate
from ssdlab.results.names import RUNS, SEARCH_JSON
from ssdlab.results.points import Row
from ssdlab.results.report import Report
from ssdlab.results.search import VERSION
from ssdlab.results.sweep import MEASURED, point_label
from ssdlab.running.batch import Batch
from ssdlab.running.runner import Ended, Planned, Runner
from ssdlab.running.table import Form, RunTable
from ssdlab.searching.design import Case, SearchDesign
from ssdlab.searching.metric import Metric
from ssdlab.searching.space import Point

ARGUMENTS = {"objectives": "minimize", "constraints": "subject_to"}
FORM = Form("search", "searching", SEARCH_JSON, RUNS, VERSION, ARGUMENTS)


@dataclass(frozen=True)
class Who:
    """A point, or a reference."""

    name: str
    """The same for equal ones: a point as JSON, or the name of a reference."""
    label: str
    point: Point | None = field(default=None, compare=False)
    """None for a reference."""

    @staticmethod
    def of(shown: Mapping[str, Value], point: Point) -> Who:
        """A point with its values as shown."""
        return Who(name_of(shown), point_label(shown), point)


def name_of(shown: Mapping[str, Value]) -> str:
    """The name of a point; equal points have the same one."""
    return json.dumps(shown, ensure_ascii=False)


@dataclass(frozen=True)
class Run:
    """A run of a point or a reference."""

    who: Who
    case: Case
    seed: int
    divisor: int = 1

    @property
    def key(self) -> str:
        """What it is found by."""
        return json.dumps([self.who.name, self.case.name, self.seed, self.divisor])


@dataclass(frozen=True)
class Made:
    """The stored results of a run."""

    row: Row
    """The columns of comparisons, and the metrics of the search."""
    settled: bool
    """Whether it has reached a steady state, and does not begin with a transient."""
    error: str = ""
    """Why it failed, or cannot run."""
    warnings: int = 0
    invalid: str = ""
    """The first warning that invalidates its numbers."""

    def number(self, metric: Metric) -> float | None:
        """A number; None if it is missing."""
        value = self.row.get(metric.column.name)
        return float(value) if isinstance(value, int | float) and math.isfinite(value) else None


class Runs(RunTable[str, Made]):
    """The runs of a search, by `Run.key`. Without `folder` they are not stored."""

    def __init__(
        self,
        folder: Path | None,
        identity: Mapping[str, Any],
        design: SearchDesign,
        runner: Runner,
        *,
        force: bool = False,
    ) -> None:
        config = design.first
        reads = (config.file,) if config.file else ()
        super().__init__(folder, identity, FORM, force=force, reads=reads)
        self.design, self.runner = design, runner
        self.count = len(self.rows)
        """Runs that were actually executed, now and before."""
        self.interrupted = False
        self.progress: Callback | None = None
        self.note: Callable[[str], object] | None = None
        """Shows what the runner does."""

    def row(self, _: str, ended: Ended) -> Made:
        """The stored results of a run."""
        if ended.how == "failed" or ended.report is None:
            return Made({}, False, ended.why or "failed")
        return _of_report(ended.report, self.design.metrics)

    def line(self, key: str, row: Made) -> str:
        """A line of the file."""
        return json.dumps([key, asdict(row)]) + "\n"

    def of_line(self, line: str) -> tuple[str, Made]:
        """The reverse."""
        key, values = json.loads(line)
        return key, Made(**values)

    def add(self, key: str, row: Made) -> None:
        """As of the table, counted."""
        super().add(key, row)
        with self.lock:
            self.count += 1
            if self.progress:
                self.progress("sweep", self.count, None)

    def make(self, runs: Iterable[Run]) -> None:
        """Execute the missing ones. After Ctrl-C `interrupted` is true, and some are missing.

        Raises `OutputError`.
        """
        planned: dict[str, Planned] = {}
        for one in runs:
            if one.key not in self.rows and one.key not in planned:
                found = self._planned(one)
                if isinstance(found, Made):
                    self.rows[one.key] = found
                else:
                    planned[one.key] = found
        if not planned or self.interrupted:
            return
        batch = Batch(
            planned.values(),
            self.take,
            ahead=True,
            point_errors=(ConfigError, WorkloadError),
            tell=self.note,
        )
        batch.run(self.runner, progress=False)
        self.interrupted = batch.interrupted

    def _planned(self, one: Run) -> Planned | Made:
        try:
            if one.who.point is None:
                config, policies = self.design.reference(
                    one.who.name, one.case, one.seed, one.divisor
                )
            else:
                config, policies = self.design.loaded(
                    one.who.point, one.case, one.seed, one.divisor
                )
            packed = policies.pack()
        except ConfigError as error:
            if one.who.point is None:
                raise
            return Made({}, False, "; ".join(error.messages))
        return Planned(one.who.label, config, packed, one.seed, key=one.key)

    def of(
        self, who: Who, cases: Sequence[Case], seeds: Sequence[int], divisor: int = 1
    ) -> list[Run]:
        """The runs of a point with all requests and seeds."""
        return [Run(who, case, seed, divisor) for case in cases for seed in seeds]

    def error(self, runs: Sequence[Run]) -> str:
        """Why one of them failed; empty if none did."""
        return next((why for one in runs if (why := self.rows[one.key].error)), "")

    def invalid(self, who: Who, cases: Sequence[Case], seeds: Sequence[int]) -> str:
        """The warning that invalidates a point on one of the traces, in complete runs."""
        several = ([self.rows[r.key].invalid for r in self.of(who, [c], seeds)] for c in cases)
        return next((why for one in several if (why := warned.majority(one))), "")

    def settled(self, runs: Sequence[Run]) -> bool:
        """Whether all of them reached a steady state."""
        return all(self.rows[one.key].settled for one in runs)

    def mean(self, runs: Sequence[Run], metric: Metric) -> float | None:
        """The mean of a number; None if one of them has none."""
        found = [self.rows[one.key].number(metric) for one in runs]
        known = [one for one in found if one is not None]
        if not known or len(known) < len(found):
            return None
        return known[0] if len(known) == 1 else estimate(known).mean


def _of_report(report: Report, metrics: Sequence[Metric]) -> Made:
    row: Row = {one.name: one.of_report(report) for one in MEASURED}
    row |= {one.column.name: one.of(report) for one in metrics}
    transient = report.warmup.recommended_requests or 0
    settled = report.steady_state.reached and transient <= report.requests.warmup
    return Made(row, settled, "", len(report.warnings), report.invalid)
