"""The outcomes of the runs of a sweep, or of a fleet, in its folder."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

from ssdlab.errors import ConfigError, WorkloadError
from ssdlab.results.names import OUTCOMES, SWEEP_JSON
from ssdlab.results.sweep import VERSION, Outcome
from ssdlab.running.batch import Batch
from ssdlab.running.runner import PlannedRun, RunEnd, Runner
from ssdlab.running.table import Form, RunTable

FORM = Form("sweep", "sweeping", SWEEP_JSON, OUTCOMES, VERSION, {"keys": "vary", "log": "vary"})
Key: TypeAlias = tuple[int, int | None]
"""Point and seed."""


class Outcomes(RunTable[Key, Outcome]):
    """The outcomes stored in `folder`, by point and seed; it also executes the missing ones."""

    interrupted = False

    def row(self, key: Key, ending: RunEnd) -> Outcome:
        """Its numbers, or why it failed."""
        if ending.how == "failed" or ending.report is None:
            return Outcome(key[0], key[1], error=ending.why or "failed")
        return Outcome.of(key[0], key[1], ending.report)

    def line(self, _: Key, row: Outcome) -> str:
        """A line of `outcomes.jsonl`."""
        return row.line()

    def of_line(self, line: str) -> tuple[Key, Outcome]:
        """The reverse."""
        row = Outcome.of_line(line)
        return (row.point, row.seed), row

    def make(
        self,
        keys: Iterable[Key],
        plan: Callable[[int, int | None], PlannedRun],
        runner: Runner,
        *,
        name: str,
        remaining: int,
        progress: bool,
        ahead: bool = True,
    ) -> None:
        """Execute the runs of `keys`, which are missing: `remaining` of them, unless time runs out.

        A run whose configuration is impossible ends at once: `plan` raises a `ConfigError`. The
        first such error is raised if no run has results. Ctrl-C sets `interrupted`.
        """

        def planned_run(key: Key) -> PlannedRun | None:
            try:
                return plan(*key)
            except ConfigError as error:
                self.add(key, Outcome(key[0], key[1], error="; ".join(error.messages)))
                return None

        batch = Batch(
            filter(None, map(planned_run, keys)),
            self.take,
            ahead=ahead,
            point_errors=(ConfigError, WorkloadError),
            name=name,
            total=remaining,
            noun=self.form.what,
        )
        batch.run(runner, progress and remaining > 0)
        self.interrupted = batch.interrupted
        if batch.first_error and not batch.interrupted and not self.has_results():
            raise batch.first_error
