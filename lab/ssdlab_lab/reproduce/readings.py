"""Other readings: the main comparison of a paper again, with one decision made differently.

What a paper leaves open is decided in some way in the main runs. A reading decides one thing
differently and is judged in the same way: how many published improvements agree, and which claims
hold. Claims that do not hold in the main runs are explained, and every explanation is tested on
these runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from ssdlab.results.report import Report
from ssdlab_lab.reproduce.calibration import AS_RUN as AS_RUN
from ssdlab_lab.reproduce.calibration import Lifetimes, calibration_of
from ssdlab_lab.reproduce.claims import Claim, Finding, Verdict
from ssdlab_lab.reproduce.matrix import Cell, Results, Scheme, Source, Workload
from ssdlab_lab.reproduce.paper import Paper, Scale, calibrated
from ssdlab_lab.reproduce.scoring import Score, gains_of, score
from ssdlab_lab.reproduce.tables import (
    Measure,
    Number,
    Table,
    geometric_mean,
    mean_ms,
    percent_better,
)

SYNTHETIC: Source = "synthetic"
"""Readings are run on synthetic requests only."""


@dataclass(frozen=True)
class Reading:
    """One decision taken otherwise."""

    name: str
    keys: Mapping[str, object] = field(default_factory=dict, hash=False)
    """Configuration keys that override those of all schemes."""
    device: Callable[[Scale], Mapping[str, object]] | None = None
    """As `keys`, if they depend on the scale."""
    of: Mapping[str, Mapping[str, object]] = field(default_factory=dict, hash=False)
    """Keys that override those of one scheme, by its name."""
    requests: Mapping[str, object] = field(default_factory=dict, hash=False)
    """Keys that override those of all workloads."""
    live: float | None = None
    """Share of the raw flash that the volume of a workload takes; None: as in the main runs."""
    load: float = 1.0
    """Requests arrive this many times as fast as in the main runs."""
    filled: bool = False
    """Whether the volume is written before the measurement even if the device is empty at first."""
    phases: int | None = None
    """Surges of a run, in place of the calibrated length of surges."""
    arrivals_of: str | None = None
    """The reading on whose baseline the arrivals were calibrated; None: this one."""
    further: Callable[[Scale], Sequence[Scheme]] | None = None
    """Schemes of the main runs besides those compared, for claims that need them."""
    whole: bool = False
    """Whether it is run on the device of the main runs with their seeds, not on the small one."""
    detail: bool = False
    """Whether it is only in the appendix of the page."""


@dataclass(frozen=True)
class Evidence:
    """The data on which an explanation is tested."""

    names: Sequence[str]
    """The workloads."""
    main: Results
    readings: Mapping[str, Results]
    """By name."""

    def at(self, reading: str, workload: str, scheme: str, measure: Measure) -> Number:
        """A measure of one run under a reading; None if it is missing."""
        report = self.readings[reading].get(workload, SYNTHETIC, scheme)
        return None if report is None else measure(report)

    def better(
        self, reading: str, workload: str, scheme: str, base: str, measure: Measure
    ) -> Number:
        """Improvement of `scheme` over `base` under a reading, percent."""
        return percent_better(
            self.at(reading, workload, scheme, measure), self.at(reading, workload, base, measure)
        )


@dataclass(frozen=True)
class Explanation:
    """Why a claim does not hold in the main runs, with a test of it."""

    claim: str
    """The beginning of the text of the claim."""
    why: str
    """The mechanism."""
    metric: str
    """What is computed, and when the test passes."""
    judge: Callable[[Evidence], Finding]


@dataclass(frozen=True)
class Readings:
    """The other readings of a paper."""

    paper: Paper
    schemes: Callable[[Scale], list[Scheme]]
    """Baselines and proposed scheme, as in the main runs."""
    compared: Callable[[Results, Sequence[str]], list[Table]]
    """The tables of published improvements that they fill."""
    mean_write: str
    """Key of the table of the mean write latency."""
    claims: Callable[[Sequence[str]], list[Claim]]
    """Claims that the choice of a reading can affect."""
    several: tuple[Reading, ...]
    explanations: tuple[Explanation, ...]
    requests: Callable[[str, Scale], Workload] | None = None
    """Synthetic requests of a workload with its own arrivals: those of a paper that is not
    calibrated."""
    tables: Callable[[Mapping[str, Results], Sequence[str]], list[Table]] | None = None
    """Tables with a line for each reading."""
    longest: Mapping[str, Number] = field(default_factory=dict)
    """Published longest write latencies, ms, of the scheme on which arrivals are calibrated; empty
    if the requests are not calibrated."""
    seeds: Callable[[Scale], Sequence[int]] = lambda _: (1,)
    """Seeds of the main runs, and of readings of the whole device."""


def schemes_of(readings: Readings, reading: Reading, scale: Scale) -> list[Scheme]:
    """The schemes of one reading."""
    keys = {**reading.keys, **(reading.device(scale) if reading.device else {})}
    return [
        replace(scheme, keys={**scheme.keys, **keys, **reading.of.get(scheme.name, {})})
        for scheme in (
            *readings.schemes(scale),
            *(reading.further(scale) if reading.further else ()),
        )
    ]


def baseline_of(readings: Readings, reading: Reading, scale: Scale) -> Scheme:
    """The scheme of one reading on which its arrivals are calibrated."""
    return next(
        scheme
        for scheme in schemes_of(readings, reading, scale)
        if scheme.name == readings.paper.load[0]
    )


def lives_of(lives: Lifetimes, reading: Reading) -> Lifetimes:
    """Lifetimes under a reading."""
    return lives if reading.live is None else replace(lives, live=reading.live)


def read_so(workload: Workload, reading: Reading) -> Workload:
    """The requests of a workload under a reading."""
    precondition = {"precondition.fill": workload.keys["workload.span"]} if reading.filled else {}
    return replace(workload, keys={**workload.keys, **precondition, **reading.requests})


def requests_of(readings: Readings, reading: Reading, scale: Scale, name: str) -> Workload:
    """The calibrated requests of a workload under a reading.

    Raises `ConfigError` if they were calibrated for another device or version.
    """
    source = reading.arrivals_of or reading.name
    calibration = calibration_of(readings.paper.name)
    source_reading = (
        reading
        if source == reading.name
        else next(
            (candidate for candidate in readings.several if candidate.name == source),
            Reading(source),
        )
    )
    base = baseline_of(readings, source_reading, scale)
    lives, arrivals = calibration.keys(base, scale.divisor, source, name)
    arrivals = replace(arrivals, interval_us=arrivals.interval_us / reading.load)
    return calibrated(name, readings.paper, scale, lives_of(lives, reading), arrivals)


def cells_of(
    readings: Readings, reading: Reading, scale: Scale, names: Sequence[str]
) -> list[Cell]:
    """The runs of one reading."""
    schemes = schemes_of(readings, reading, scale)
    cells = []
    for name in names:
        if readings.longest:
            base = requests_of(readings, reading, scale, name)
        else:
            assert readings.requests is not None, "requests that are neither calibrated nor its own"
            assert reading.load == 1.0, "requests with arrivals of their own"
            assert reading.live is None, "a volume of its own"
            base = readings.requests(name, scale)
        workload = read_so(base, reading)
        seeds = readings.seeds(scale) if reading.whole else (1,)
        cells += [
            Cell(workload, scheme, seed, reading.name) for scheme in schemes for seed in seeds
        ]
    return cells


def cells_by_reading(
    readings: Readings, main: Scale, names: Sequence[str]
) -> dict[str, list[Cell]]:
    """The runs of all readings, by name: on the small device, unless they are of the whole one.

    If the main runs are on the small device, the reading of the main runs is not run again.
    """
    scale = Scale(quick=True)
    further = next((reading.further for reading in readings.several if reading.further), None)
    first = cells_of(readings, Reading(AS_RUN, further=further), scale, names)
    if main == scale:
        first = [replace(cell, reading="") for cell in first]
    variants = {
        reading.name: cells_of(readings, reading, main if reading.whole else scale, names)
        for reading in readings.several
    }
    return {AS_RUN: first, **variants}


@dataclass(frozen=True)
class Outcome:
    """The results under one reading."""

    name: str
    runs: int
    made: int
    """The number of existing runs."""
    score: Score
    published: Number
    """How many times faster the mean write is under the proposed scheme; geometric mean over the
    workloads."""
    ours: Number
    baseline: Number
    """Mean write of the baseline over the published one; geometric mean."""
    waf: Number
    """WAF of the proposed scheme; geometric mean."""
    verdicts: tuple[Verdict, ...]
    """The verdicts on the claims."""
    whole: bool = False
    """Whether it was run on the device of the main runs with their seeds."""
    detail: bool = False
    """Whether it is only in the appendix of the page."""


@dataclass(frozen=True)
class ExplanationFinding:
    """An explanation with what was found."""

    explanation: Explanation
    finding: Finding


@dataclass(frozen=True)
class PaperReadings:
    """All readings of a paper."""

    outcomes: tuple[Outcome, ...]
    claims: tuple[Claim, ...]
    explained: Mapping[str, tuple[ExplanationFinding, ...]]
    """By the text of each claim that does not hold in the main runs."""
    divisor: int
    """The divisor of the device and the requests of the paper."""
    tables: tuple[Table, ...] = ()
    calibrated: bool = False
    """Arrivals are calibrated on a baseline."""
    own: tuple[str, ...] = ()
    """The readings whose arrivals are calibrated on their own baseline."""

    def under(self, index: int, verdict: Verdict) -> list[str]:
        """Names of the readings under which a claim, by its index, has that verdict."""
        return [outcome.name for outcome in self.outcomes if outcome.verdicts[index] == verdict]

    def differing(self, outcome: Outcome) -> Iterator[tuple[int, Verdict]]:
        """Indices and verdicts of the claims that a reading decides differently from the first."""
        for index, (verdict, first_verdict) in enumerate(
            zip(outcome.verdicts, self.outcomes[0].verdicts, strict=True)
        ):
            if verdict != first_verdict:
                yield index, verdict

    def summary(self) -> list[str]:
        """A line of text for each reading."""
        return [
            f"{outcome.name}: {outcome.score.ours.direction} of {outcome.score.ours.cells} with the"
            f" published direction, {outcome.score.ours.near} within a factor of two of its"
            " logarithm"
            for outcome in self.outcomes
        ]

    def to_json(self) -> dict[str, Any]:
        """Its part of reproduction.json."""
        texts = [claim.text for claim in self.claims]
        return {
            "divided_by": self.divisor,
            "readings": [
                {**asdict(outcome), "verdicts": dict(zip(texts, outcome.verdicts, strict=True))}
                for outcome in self.outcomes
            ],
            "tables": [asdict(table) for table in self.tables],
            "explanations": [
                {
                    "claim": claim,
                    "why": explained.explanation.why,
                    "metric": explained.explanation.metric,
                    "finding": asdict(explained.finding),
                }
                for claim, explanations in self.explained.items()
                for explained in explanations
            ],
        }


def read(
    readings: Readings,
    plan: Mapping[str, Sequence[Cell]],
    reports: Mapping[Cell, Report],
    names: Sequence[str],
    main: Results,
) -> PaperReadings:
    """Judge the readings `plan` and explain the claims that do not hold in the `main` runs."""
    results = {name: Results(cells, reports) for name, cells in plan.items()}
    claims = readings.claims(names)
    outcomes = tuple(
        _outcome(readings, name, cells, results[name], names, claims)
        for name, cells in plan.items()
    )
    evidence, explained = Evidence(names, main, results), {}
    for claim in readings.paper.claims(names):
        verdict = claim.judge(main, SYNTHETIC).verdict
        explanations = [
            explanation
            for explanation in readings.explanations
            if claim.text.startswith(explanation.claim)
        ]
        if verdict == "does not hold" or (verdict != "holds" and explanations):
            explained[claim.text] = tuple(
                ExplanationFinding(explanation, explanation.judge(evidence))
                for explanation in explanations
            )
    tables = () if readings.tables is None else tuple(readings.tables(results, names))
    divisor, calibrated = Scale(quick=True).divisor, bool(readings.longest)
    own = tuple(
        reading.name for reading in readings.several if calibrated and reading.arrivals_of is None
    )
    return PaperReadings(outcomes, tuple(claims), explained, divisor, tables, calibrated, own)


def _outcome(
    readings: Readings,
    name: str,
    cells: Sequence[Cell],
    results: Results,
    names: Sequence[str],
    claims: Sequence[Claim],
) -> Outcome:
    tables = readings.compared(results, names)
    reading = next((one for one in readings.several if one.name == name), Reading(name))
    scheme, published = readings.paper.load
    mean_write, ratios = mean_ms("write"), []
    for workload in names:
        report, target = results.get(workload, SYNTHETIC, scheme), published.get(workload)
        mean = None if report is None else mean_write(report)
        ratios.append(None if mean is None or not target else mean / target)
    reports = [results.get(workload, SYNTHETIC, readings.paper.proposed) for workload in names]
    table = next(table for table in tables if table.key == readings.mean_write)
    gains = gains_of(table, SYNTHETIC)
    return Outcome(
        name=name,
        runs=len(cells),
        made=sum(
            results.get(cell.workload.name, SYNTHETIC, cell.scheme.name, cell.seed) is not None
            for cell in cells
        ),
        score=score(tables, SYNTHETIC, readings.paper.proposed),
        published=geometric_mean([gain.published for gain in gains]),
        ours=geometric_mean([gain.ours for gain in gains]),
        baseline=geometric_mean(ratios),
        waf=geometric_mean([None if report is None else report.waf.total for report in reports]),
        verdicts=tuple(claim.judge(results, SYNTHETIC).verdict for claim in claims),
        whole=reading.whole,
        detail=reading.detail,
    )
