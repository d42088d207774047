"""The results of a reproduction, as text and as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from math import isnan
from pathlib import Path
from typing import Any

from ssdlab.html.plot import Figure, Plot
from ssdlab.results.text import by_reason
from ssdlab.versions import described
from ssdlab_lab.reproduce.calibration import Calibration
from ssdlab_lab.reproduce.calibration import command as command_of
from ssdlab_lab.reproduce.claims import Claim, Finding
from ssdlab_lab.reproduce.folders import FolderProperties
from ssdlab_lab.reproduce.matrix import Source
from ssdlab_lab.reproduce.paper import Paper
from ssdlab_lab.reproduce.readings import PaperReadings
from ssdlab_lab.reproduce.scoring import Count, Score
from ssdlab_lab.reproduce.tables import Table

QUICK = (
    "Quick: a quarter of the device and of the requests, fewer trials, and sensitivity runs with"
    " synthetic requests only."
)


NO_INTERVALS = (
    "No confidence intervals: verdicts and improvements compare single values, so small differences"
    " may not be distinguishable."
)
"""What every reproduction says first."""
INTERRUPTED = "The study was interrupted: runs are missing."


def first_remarks(
    failures: Mapping[str, str], interrupted: bool, notes: Sequence[str], intervals: bool = False
) -> list[str]:
    """What is missing in results, then `notes`."""
    return [
        *([] if intervals else [NO_INTERVALS]),
        *(f"{title} could not finish: {reason}" for title, reason in by_reason(failures).items()),
        *([INTERRUPTED] if interrupted else []),
        *notes,
    ]


def score_lines(source: Source, score: Score) -> list[str]:
    """The score of one source in words: one line for ours, one for each trivial prediction."""

    def line(name: str, count: Count) -> str:
        near = (
            "" if count.near is None else f", {count.near} within a factor of two of its logarithm"
        )
        return f"    {name}: {count.direction} with the published direction{near}"

    return [
        f"{source}: {score.ours.cells} published gains",
        line("here", score.ours),
        *(line(name, count) for name, count in score.trivial.items()),
    ]


@dataclass(frozen=True)
class JudgedClaim:
    """A claim with what was found, by source."""

    claim: Claim
    findings: Mapping[Source, Finding]


@dataclass(frozen=True)
class Reproduction:
    """The outcome."""

    paper: Paper
    quick: bool
    tables: Sequence[Table]
    figures: Sequence[Figure]
    claims: Sequence[JudgedClaim]
    scores: Mapping[Source, Score]
    fill: Mapping[str, Mapping[Source, str]]
    """Host writes and live data of the device, by workload."""
    folder: Path
    begun: FolderProperties
    """The common properties of the runs in the folder."""
    by_seed: Sequence[Score] = ()
    """Scores of single seeds, on synthetic requests."""
    calibration: Calibration | None = None
    """The calibration, if there is one."""
    readings: PaperReadings | None = None
    """The main comparison under other readings, if requested."""
    notes: Sequence[str] = ()
    """What is missing, and why."""
    failures: Mapping[str, str] = field(default_factory=dict)
    interrupted: bool = False

    def remarks(self) -> list[str]:
        """What a reader should know before using the numbers."""
        quick = [QUICK] if self.quick else []
        has_intervals = len(self.by_seed) > 1
        return first_remarks(self.failures, self.interrupted, [*quick, *self.notes], has_intervals)

    def provenance(self) -> list[str]:
        """Seeds, version and commit, command and calibration."""
        quick = " --quick" if self.quick else ""
        readings = " --readings" if self.readings else ""
        command = f"`ssdlab reproduce {self.paper.name}{quick}{readings}`"
        seeds = f"seeds 1 to {len(self.by_seed)}" if len(self.by_seed) > 1 else "seed 1"
        texts = [f"{command}, synthetic requests with {seeds}, ssdlab {described()}."]
        texts.append(self.begun.stated())
        if self.calibration is not None:
            texts.append(
                f"Requests as fixed on {self.calibration.date} (`{command_of(self.paper.name)}`),"
                " before the proposed scheme was run on them."
            )
        return texts

    def summary(self) -> str:
        """The scores and the claims, as text."""
        lines = [self.paper.title]
        for source, one_score in self.scores.items():
            lines += ["", *score_lines(source, one_score)]
        if len(self.by_seed) > 1:
            near = [score.ours.near or 0 for score in self.by_seed]
            lines.append(f"    {len(near)} seeds one by one: {min(near)} to {max(near)} near")
        lines.append("")
        for judged in self.claims:
            findings = "; ".join(
                f"{source}: {finding.verdict}" for source, finding in judged.findings.items()
            )
            lines += [judged.claim.text, f"    {findings}"]
        if self.readings is not None:
            lines += ["", *self.readings.summary()]
        return "\n".join([*lines, *self.remarks(), ""])

    def to_json(self) -> str:
        """The text of reproduction.json."""
        values = {**self._values(), "figures": [_curves(figure) for figure in self.figures]}
        return json.dumps(values, indent=2, ensure_ascii=False) + "\n"

    def numbers(self) -> str:
        """The text of results.json: the numbers of the page, without curves, by sorted keys."""
        return json.dumps(self._values(), indent=1, ensure_ascii=False, sort_keys=True) + "\n"

    def _values(self) -> dict[str, Any]:
        return {
            **self.begun.to_dict(),
            "title": self.paper.title,
            "completed": not self.interrupted and not self.failures,
            "by_seed": [asdict(score) for score in self.by_seed],
            "calibrated": None if self.calibration is None else self.calibration.date,
            "scores": {source: asdict(score) for source, score in self.scores.items()},
            "tables": [asdict(table) for table in self.tables],
            "claims": [
                {
                    "text": judged.claim.text,
                    "where": judged.claim.where,
                    "metric": judged.claim.metric,
                    "findings": {
                        source: asdict(finding) for source, finding in judged.findings.items()
                    },
                }
                for judged in self.claims
            ],
            "fill": {name: dict(by_source) for name, by_source in self.fill.items()},
            **({} if self.readings is None else {"other_readings": self.readings.to_json()}),
            "notes": list(self.notes),
            "failures": dict(self.failures),
        }


def _curves(figure: Figure) -> dict[str, Any]:
    """A figure as values: x in the unit of its axis, null where a curve has a gap."""
    values: dict[str, Any] = {"key": figure.key, "title": figure.title}
    if not isinstance(figure, Plot):
        return {**values, "curves": []}
    axes = {"x": asdict(figure.x), "y": asdict(figure.y), "caption": figure.caption}
    curves = [
        {
            "name": curve.name,
            "x": curve.x.tolist(),
            "y": [None if isnan(y) else y for y in curve.y.tolist()],
        }
        for curve in figure.curves
    ]
    return {**values, **axes, "curves": curves}
