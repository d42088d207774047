"""The runs of a reproduction: every workload under every scheme, none of them executed twice."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal, TypeAlias

from ssdlab.config.resolve import Config, load_config
from ssdlab.results.report import Report
from ssdlab.versions import RESULTS

Source: TypeAlias = Literal["synthetic", "recorded"]
"""Origin of the requests: the published statistics, or a trace of the application."""
RUNS = "runs"
"""Folder of the runs within that of the reproduction."""


@dataclass(frozen=True)
class Workload:
    """Requests, as the keys that define them."""

    name: str
    """The name in the paper."""
    source: Source
    keys: Mapping[str, object] = field(hash=False)
    """Configuration keys that override those of a scheme."""

    def is_varied(self, quick: bool) -> bool:
        """Whether sensitivities are run on it: quick runs use synthetic requests only."""
        return not quick or self.source == "synthetic"


@dataclass(frozen=True)
class Scheme:
    """A device with all answers to the questions of garbage collection."""

    name: str
    """The name in the paper."""
    preset: str
    keys: Mapping[str, object] = field(default_factory=dict, hash=False)
    """Configuration keys that override those of the preset."""


@dataclass(frozen=True)
class Cell:
    """One run."""

    workload: Workload
    scheme: Scheme
    seed: int = 1
    reading: str = ""
    """The reading to which it belongs; empty for the main runs."""

    @property
    def title(self) -> str:
        """Its name in messages."""
        note = f" ({self.reading})" if self.reading else ""
        return (
            f"{self.workload.name} ({self.workload.source}), {self.scheme.name}{note}, {self.seed}"
        )

    @property
    def folder(self) -> Path:
        """Its folder within that of the reproduction."""
        scheme = self.scheme.name
        parts = [self.workload.name, self.workload.source, scheme, str(self.seed)]
        parts += [self.reading] if self.reading else []
        name = "-".join("".join(c if c.isalnum() else "_" for c in part) for part in parts)
        return Path(RUNS) / name.lower()

    @cached_property
    def config(self) -> Config:
        """Its resolved configuration."""
        keys = {**self.scheme.keys, **self.workload.keys}
        return load_config(self.scheme.preset, set=keys, seed=self.seed)

    def stored(self, folder: Path) -> Report | None:
        """Its report, if `folder` contains the complete run of this exact configuration.

        Equal configurations have equal results as long as the version of the results is the same
        (ADR 0022), whichever commit produced them.
        """
        try:
            report = Report.read(folder / self.folder)
            is_same = report.json["config"] == json.loads(json.dumps(self.config.values))
            origin = report.provenance.results
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None  # damaged: run again
        return report if is_same and report.completed and origin == RESULTS else None


class Results:
    """The reports of a reproduction by workload, source, scheme and seed."""

    def __init__(self, cells: Sequence[Cell], reports: Mapping[Cell, Report]) -> None:
        self._reports = {
            (cell.workload.name, cell.workload.source, cell.scheme.name, cell.seed): report
            for cell in cells
            if (report := reports.get(cell)) is not None
        }
        self.sources: tuple[Source, ...] = tuple(
            dict.fromkeys(cell.workload.source for cell in cells)
        )
        self.workloads = tuple(dict.fromkeys(cell.workload.name for cell in cells))

    def get(self, workload: str, source: Source, scheme: str, seed: int = 1) -> Report | None:
        """One report; None if it was not planned or failed."""
        return self._reports.get((workload, source, scheme, seed))

    def numbers(self, source: Source) -> tuple[int, ...]:
        """The seeds of the runs from one source."""
        return tuple(
            sorted({seed for _, seed_source, _, seed in self._reports if seed_source == source})
        )

    def only(self, seed: int) -> Results:
        """The reports of one seed, as if it were the only one."""
        results = Results([], {})
        results._reports = {
            (*key[:3], 1): report for key, report in self._reports.items() if key[3] == seed
        }
        results.sources, results.workloads = self.sources, self.workloads
        return results

    def seeds(self, workload: str, source: Source, scheme: str) -> Iterator[Report]:
        """All repetitions, by seed."""
        for (name, report_source, scheme_name, _), report in sorted(
            self._reports.items(), key=lambda entry: entry[0][3]
        ):
            if (name, report_source, scheme_name) == (workload, source, scheme):
                yield report
