"""What a check is: runs of the simulator, and lines that compare them with a formula."""

from __future__ import annotations

import csv
import io
import json
import math
import statistics
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ssdlab import _core

Value = bool | int | float | str
Settings = Mapping[str, Value]
"""Config keys and their values; a text is a word, or TOML if it begins with { or [."""

STUDENT_95 = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365}
"""97.5 % points of Student's t by degrees of freedom."""


@dataclass(frozen=True)
class Run:
    """One run of the simulator."""

    settings: Settings
    log: bool = False
    """Read the log of requests."""


@dataclass(frozen=True)
class Request:
    """One line of a log of requests: times in ns."""

    number: int
    op: str
    arrival: int
    completion: int


@dataclass(frozen=True)
class Result:
    """What a run gave."""

    report: dict[str, Any]
    requests: tuple[Request, ...]
    """Requests in order of arrival; empty without `Run.log`."""

    @property
    def amplification(self) -> float:
        """Programs of all causes divided by pages written by the host, without unit."""
        return float(self.report["waf"]["total"])


@dataclass(frozen=True)
class Line:
    """One line of the page: a formula's value against the simulator's."""

    what: str
    formula: float
    measured: float
    bound: float
    """Largest relative deviation (absolute if the formula gives 0); 0: equality."""
    half_width: float | None = None
    """Half width of the 95 % interval of `measured`; None if nothing is random."""

    @property
    def deviation(self) -> float:
        """(measured - formula) / formula, or the difference if the formula gives 0."""
        difference = self.measured - self.formula
        return difference / abs(self.formula) if self.formula else difference

    @property
    def ok(self) -> bool:
        """Within the bound."""
        return abs(self.deviation) <= self.bound


Judge = Callable[[Sequence[Result]], Iterable[Line]]


@dataclass(frozen=True)
class Check:
    """Runs and the lines that judge them."""

    topic: str
    runs: tuple[Run, ...]
    judge: Judge


@dataclass
class Outcome:
    """All lines by topic, topics in the order of their first check."""

    tables: dict[str, list[Line]] = field(default_factory=dict)

    @property
    def lines(self) -> list[Line]:
        """The lines of all topics."""
        return [line for lines in self.tables.values() for line in lines]


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Return mean and half width of its 95 % interval, of two to eight independent values."""
    mean = statistics.fmean(values)
    spread = statistics.stdev(values) / math.sqrt(len(values))
    return mean, STUDENT_95[len(values) - 1] * spread


def estimated(label: str, formula: float, values: Sequence[float], bound: float) -> Line:
    """Return the line of a mean over independent runs; one run has no interval."""
    if len(values) == 1:
        return Line(label, formula, values[0], bound)
    mean, half = interval(values)
    return Line(label, formula, mean, bound, half)


def simulate(run: Run) -> Result:
    """Run the simulator; raise `RuntimeError` if it does not reach the end."""
    sets = [(key, _toml(value)) for key, value in run.settings.items()]
    if run.log:
        sets.append(("metrics.request_log", "true"))
    with tempfile.TemporaryDirectory() as folder:
        finished = _core.run(_core.load(sets=sets), folder=folder if run.log else None)
        if finished.ending != "completed":
            message = f"{finished.ending}: {finished.message} ({dict(run.settings)})"
            raise RuntimeError(message)
        log = Path(folder) / "requests.csv.zst"
        requests = _requests(log) if run.log else ()
    return Result(json.loads(finished.report), requests)


def carry_out(checks: Sequence[Check], jobs: int, tell: Callable[[str], None]) -> Outcome:
    """Execute the runs, `jobs` at a time (the simulator releases the interpreter); judge them."""
    outcome = Outcome()
    with ThreadPoolExecutor(jobs) as pool:
        pending = [[pool.submit(simulate, run) for run in check.runs] for check in checks]
        for check, futures in zip(checks, pending, strict=True):
            lines = list(check.judge([future.result() for future in futures]))
            outcome.tables.setdefault(check.topic, []).extend(lines)
            for line in lines:
                verdict = "ok" if line.ok else "NOT WITHIN ITS BOUND"
                tell(f"{check.topic}: {line.what}: {line.deviation:+.3%} {verdict}")
    return outcome


def _toml(value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str) and not value.startswith(("{", "[")):
        return f'"{value}"'
    return str(value)


def _requests(log: Path) -> tuple[Request, ...]:
    """Read a log of requests; needs the package zstandard, which `make test` installs."""
    import zstandard

    with log.open("rb") as compressed:
        stream = zstandard.ZstdDecompressor().stream_reader(compressed, read_across_frames=True)
        rows = csv.DictReader(io.TextIOWrapper(stream, encoding="utf-8", newline=""))
        read = [
            Request(int(row["id"]), row["op"], int(row["arrival"]), int(row["completion"]))
            for row in rows
        ]
    return tuple(sorted(read, key=lambda request: request.number))
