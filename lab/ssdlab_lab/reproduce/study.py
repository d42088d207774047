"""A study whose runs are all known in advance: its results by key, and their presentation."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeAlias, TypeVar

from ssdlab.results.report import Report
from ssdlab.running.on import runner_of
from ssdlab.versions import described
from ssdlab_lab.reproduce.command import run_cells
from ssdlab_lab.reproduce.folders import FolderProperties, check_folder, folder_of
from ssdlab_lab.reproduce.matrix import Cell
from ssdlab_lab.reproduce.result import NO_INTERVALS, first_remarks

Key = TypeVar("Key")

Rows: TypeAlias = list[tuple[str, list[str]]]
"""Rows of a table: their heads and cells."""


@dataclass(frozen=True)
class Study(Generic[Key]):
    """The outcome."""

    reports: Mapping[Key, Report]
    quick: bool
    failures: Mapping[str, str]
    interrupted: bool
    folder: Path
    begun: FolderProperties
    """The common properties of the runs in the folder."""

    name: ClassVar[str]
    """The name of its folder, also used in its results."""
    smaller: ClassVar[str]
    """What a quick study leaves out."""

    def provenance(self, command: str) -> str:
        """Command, version and registered choices, as the last line of the page."""
        return f"`{command}`, ssdlab {described()}. {self.begun.stated()}"

    def remarks(self) -> list[str]:
        """What a reader should know before using the numbers."""
        quick = [self.smaller] if self.quick else []
        remarks = first_remarks(self.failures, self.interrupted, quick)
        return [text for text in remarks if text != NO_INTERVALS]


AnyStudy = TypeVar("AnyStudy", bound=Study[Any])


def made(
    kind: type[AnyStudy],
    plan: Callable[[Path], Mapping[Cell, Key]],
    *,
    is_asked: Callable[[Key], bool] = lambda _: True,
    quick: bool,
    jobs: int | None,
    on: str | None,
    out: str | Path | None,
    progress: bool,
) -> AnyStudy:
    """The study of the runs in `plan`. Requested runs that are missing are executed now.

    An interrupted study is resumed, as by `reproduce`, which raises the same exceptions. `plan` may
    write files that its runs read into the folder of the study.
    """
    folder = folder_of(kind.name, quick, out)
    begun = check_folder(folder, FolderProperties.of(kind.name, quick, {}))
    cells = plan(folder)
    with runner_of(on, jobs) as runner:
        selected = [cell for cell, key in cells.items() if is_asked(key)]
        reports, failures, interrupted = run_cells(selected, folder, runner, progress)
    for cell in cells.keys() - selected:
        if (report := cell.stored(folder)) is not None:
            reports[cell] = report
    by_key = {key: reports[cell] for cell, key in cells.items() if cell in reports}
    return kind(by_key, quick, failures, interrupted, folder, begun)


def json_of(study: Study[Any], verdict: Sequence[str], runs: Sequence[Mapping[str, Any]]) -> str:
    """The text of reproduction.json."""
    values = {
        **study.begun.to_dict(),
        "completed": not study.interrupted and not study.failures,
        "verdict": list(verdict),
        "failures": dict(study.failures),
        "runs": list(runs),
    }
    return json.dumps(values, indent=2, ensure_ascii=False) + "\n"


def table_of(heads: Sequence[str], rows: Rows) -> Iterator[str]:
    """The lines of a table in Markdown."""
    yield f"| {' | '.join(heads)} |"
    yield "|---" * len(heads) + "|"
    yield from (f"| {name} | {' | '.join(values)} |" for name, values in rows)
    yield ""
