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
from ssdlab.running.runner import PlannedRun, RunEnd, Runner
from ssdlab.running.table import Form, RunTable
from ssdlab.searching.design import Case, SearchDesign
from ssdlab.searching.metric import Metric
from ssdlab.searching.space import Point

ARGUMENTS = {"objectives": "minimize", "constraints": "subject_to"}
FORM = Form("search", "searching", SEARCH_JSON, RUNS, VERSION, ARGUMENTS)


@dataclass(frozen=True)
class Subject:
    """A point, or a reference."""

    name: str
    """The same for equal ones: a point as JSON, or the name of a reference."""
    label: str
    point: Point | None = field(default=None, compare=False)
    """None for a reference."""

    @staticmethod
    def of(shown: Mapping[str, Value], point: Point) -> Subject:
        """A point with its values as shown."""
        return Subject(name_of(shown), point_label(shown), point)


def name_of(shown: Mapping[str, Value]) -> str:
    """The name of a point; equal points have the same one."""
    return json.dumps(shown, ensure_ascii=False)


@dataclass(frozen=True)
class Run:
    """A run of a point or a reference."""

    subject: Subject
    case: Case
    seed: int
    divisor: int = 1

    @property
    def key(self) -> str:
        """What it is found by."""
        return json.dumps([self.subject.name, self.case.name, self.seed, self.divisor])


@dataclass(frozen=True)
class RunResult:
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


class Runs(RunTable[str, RunResult]):
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

    def row(self, _: str, ending: RunEnd) -> RunResult:
        """The stored results of a run."""
        if ending.how == "failed" or ending.report is None:
            return RunResult({}, False, ending.why or "failed")
        return _of_report(ending.report, self.design.metrics)

    def line(self, key: str, row: RunResult) -> str:
        """A line of the file."""
        return json.dumps([key, asdict(row)]) + "\n"

    def of_line(self, line: str) -> tuple[str, RunResult]:
        """The reverse."""
        key, values = json.loads(line)
        return key, RunResult(**values)

    def add(self, key: str, row: RunResult) -> None:
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
        planned: dict[str, PlannedRun] = {}
        for run in runs:
            if run.key not in self.rows and run.key not in planned:
                outcome = self._plan(run)
                if isinstance(outcome, RunResult):
                    self.rows[run.key] = outcome
                else:
                    planned[run.key] = outcome
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

    def _plan(self, run: Run) -> PlannedRun | RunResult:
        try:
            if run.subject.point is None:
                config, policies = self.design.reference(
                    run.subject.name, run.case, run.seed, run.divisor
                )
            else:
                config, policies = self.design.load(
                    run.subject.point, run.case, run.seed, run.divisor
                )
            packed = policies.pack()
        except ConfigError as error:
            if run.subject.point is None:
                raise
            return RunResult({}, False, "; ".join(error.messages))
        return PlannedRun(run.subject.label, config, packed, run.seed, key=run.key)

    def of(
        self, subject: Subject, cases: Sequence[Case], seeds: Sequence[int], divisor: int = 1
    ) -> list[Run]:
        """The runs of a point with all requests and seeds."""
        return [Run(subject, case, seed, divisor) for case in cases for seed in seeds]

    def error(self, runs: Sequence[Run]) -> str:
        """Why one of them failed; empty if none did."""
        return next((error for run in runs if (error := self.rows[run.key].error)), "")

    def invalid(self, subject: Subject, cases: Sequence[Case], seeds: Sequence[int]) -> str:
        """The warning that invalidates a point on one of the traces, in complete runs."""
        warnings_by_case = (
            [self.rows[run.key].invalid for run in self.of(subject, [case], seeds)]
            for case in cases
        )
        return next(
            (warning for warnings in warnings_by_case if (warning := warned.majority(warnings))), ""
        )

    def settled(self, runs: Sequence[Run]) -> bool:
        """Whether all of them reached a steady state."""
        return all(self.rows[run.key].settled for run in runs)

    def mean(self, runs: Sequence[Run], metric: Metric) -> float | None:
        """The mean of a number; None if one of them has none."""
        values = [self.rows[run.key].number(metric) for run in runs]
        numbers = [value for value in values if value is not None]
        if not numbers or len(numbers) < len(values):
            return None
        return numbers[0] if len(numbers) == 1 else estimate(numbers).mean


def _of_report(report: Report, metrics: Sequence[Metric]) -> RunResult:
    row: Row = {column.name: column.of_report(report) for column in MEASURED}
    row |= {metric.column.name: metric.of(report) for metric in metrics}
    transient = report.warmup.recommended_requests or 0
    has_settled = report.steady_state.reached and transient <= report.requests.warmup
    return RunResult(row, has_settled, "", len(report.warnings), report.invalid)
