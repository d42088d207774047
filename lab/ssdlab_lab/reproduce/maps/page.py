"""The page of the maps, and their numbers as files."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

from ssdlab.html.page import Section, document, prose, warnings_box
from ssdlab.html.page import table as html_table
from ssdlab.versions import described
from ssdlab_lab.reproduce.maps.choices import (
    AXES,
    BAND,
    BURST_LOAD,
    BURST_RATE,
    LINES,
    LOAD,
    PAPERS,
    RAID,
    READS,
    SEEDS,
    TITLE,
)
from ssdlab_lab.reproduce.maps.findings import FINDINGS, NOT_RUN
from ssdlab_lab.reproduce.maps.marks import Mark, marks, missing
from ssdlab_lab.reproduce.maps.outcome import MEASURES, Maps, Point, latency_ms, mapped
from ssdlab_lab.reproduce.maps.pictures import pictures
from ssdlab_lab.reproduce.pictures import files_of, markdown_of
from ssdlab_lab.reproduce.study import Rows, json_of, table_of

COMMAND = "ssdlab reproduce maps"
ABOUT = (
    "Each map shows the latency of a paper's baseline divided by that of its proposal, over all"
    " requests: above 1 (orange) the proposal is faster, below 1 (blue) it is slower. Heavy lines"
    " separate cells with and without a change. A cell has a change if its gain exceeds"
    f" {100 * (BAND - 1):.0f} % in the same direction with each of {len(SEEDS)} seeds. A thin"
    " diagonal marks cells in which the baseline cannot keep up, so latencies grow with the run.",
    "*Load* is the share of the flash's time that the requests of the host need, without"
    " collection; a page written in a parity group needs two reads and two programs. *Live* is"
    " the share of the flash whose pages hold data or parity, *spare* the rest. The host fills"
    " all that it sees: to the flash, a page never written is like one that is not for the host."
    " In the first map of a paper requests arrive as a Poisson process. In the second they arrive"
    f" in bursts at {BURST_RATE} times the rate that fills the flash, with pauses, so that the"
    f" mean load is {100 * BURST_LOAD[PAPERS[0]]:g} % ({100 * BURST_LOAD[RAID]:g} % for {RAID})."
    f" Requests are single pages with Zipf addresses (0.99), {100 * READS:g} % of them reads,"
    " without TRIM.",
    "Letters mark workloads, in the row with the nearest live share: black the paper's, as on its"
    " page, white recorded traces, with the arrival times of that page. Only load, live share and"
    " bursts are theirs. Addresses, sizes and discards are those of the map, so a cell does not"
    " predict the gain of the workload in it. A workload beyond an axis is at the edge. Requests"
    " form a burst if the gaps between them are shorter than the flash needs for a request; the"
    " burst of a workload is the mean length over its requests.",
)
NO_MAP = (
    "remapcom has no such maps. It avoids writes of blocks that a compaction does not change, and"
    " their number depends on the store: on the size of a value and the share of updates. Its"
    " requests come from the store, which waits for the drive, so load and bursts are results and"
    " cannot be varied. [Its page](remapcom.md) has the gains by size of value and workload."
)


ALONE = "proposal alone keeps up"
HEADS = ("paper", "latency", "points", "better", "no change", "worse", "highest", "lowest", ALONE)
COUNTED = (
    "Points of both maps at which baseline and proposal keep up with the requests, the highest and"
    " lowest gain there, and points at which only the proposal keeps up:"
)


def counts(study: Maps) -> Rows:
    """The verdicts on each paper's proposal, at the points that both lines sustain."""
    rows: Rows = []
    for paper in PAPERS:
        points = study.sustained(paper)
        alone = str(study.sustained_by_proposal_alone(paper))
        for measure in mapped(paper):
            found = {point: study.gain(point, measure) for point in points}
            gains = {point: gain for point, gain in found.items() if gain is not None}
            verdicts = Counter(study.verdict(point, measure) for point in gains)
            ordered = sorted(gains, key=gains.__getitem__)
            ends = [f"{gains[at]:.2f} ({said(at)})" for at in (*ordered[-1:], *ordered[:1])]
            numbers = [str(verdicts[word]) for word in ("better", "no change", "worse")]
            rows.append((paper, [measure, str(len(gains)), *numbers, *(ends or ["–", "–"]), alone]))
    return rows


def verdict(study: Maps) -> list[str]:
    """A sentence for each paper and latency."""
    return [
        f"{paper}, {measure} latency: better at {better} of {points} points, unchanged at"
        f" {unchanged}, worse at {worse}; highest gain {highest}, lowest {lowest}; the"
        f" proposal alone keeps up at {alone}."
        for paper, cells in counts(study)
        for measure, points, better, unchanged, worse, highest, lowest, alone in [cells]
    ]


def said(point: Point) -> str:
    """A point in words."""
    if point.axis == LOAD:
        return f"load {100 * point.at:g} %, live {100 * point.live:g} %"
    return f"bursts of {point.at:,.0f}, spare {100 * (1 - point.live):.0f} %"


def findings(study: Maps) -> tuple[str, ...]:
    """What the maps of the committed page say; nothing of other runs."""
    return () if study.quick else FINDINGS


def remarks(study: Maps) -> list[str]:
    """What is missing."""
    names = missing()
    lacking = [f"No recorded trace of {', '.join(names)} to mark."] if names else []
    return [*study.remarks(), *([] if study.quick else [NOT_RUN]), *lacking]


def page(study: Maps) -> str:
    """The page as HTML."""
    texts = "".join(f"<p>{prose(text.replace('*', ''))}</p>" for text in ABOUT)
    lines = "".join(f"<li>{prose(text.replace('**', ''))}</li>" for text in findings(study))
    table = html_table(HEADS, counts(study), COUNTED)
    outcome = f"<ul>{lines}</ul>{warnings_box(remarks(study))}{table}{texts}"
    sections = [Section("outcome", "Outcome", outcome)]
    for paper, drawn in pictures(study).items():
        figures = "".join(
            f"<figure>{one.svg}<figcaption>{escape(one.title)}</figcaption></figure>"
            for one in drawn
        )
        sections.append(Section(paper, paper, figures))
    sections.append(Section("remapcom", "remapcom", f"<p>{prose(_plain(NO_MAP))}</p>"))
    lead = f'<p class="lead">{TITLE} · ssdlab {escape(described())}</p>'
    return document(TITLE, lead, sections)


def _plain(text: str) -> str:
    return text.replace("[Its page](remapcom.md)", "Its page")


def markdown(study: Maps) -> str:
    """The page as Markdown."""
    text = [f"<!-- Written by `{COMMAND}`. -->", "", f"# {TITLE}", ""]
    text += [*(f"- {one}" for one in findings(study)), ""]
    text += [line for one in remarks(study) for line in (one, "")]
    text += [COUNTED, "", *table_of(HEADS, counts(study)), "## How to read the maps", ""]
    text += [line for one in ABOUT for line in (one, "")]
    for paper, drawn in pictures(study).items():
        base, proposed = LINES[paper]
        text += [f"## {paper}", "", f"Baseline: {base}. Proposal: {proposed}.", ""]
        text += [line for one in drawn for line in markdown_of(one)]
    text += ["## remapcom", "", NO_MAP, "", study.provenance(COMMAND)]
    return "\n".join(text).rstrip() + "\n"


def to_json(study: Maps) -> str:
    """The text of reproduction.json."""
    runs: list[dict[str, Any]] = [
        {**place._asdict(), **{measure: latency_ms(report, measure) for measure in MEASURES}}
        for place, report in study.reports.items()
    ]
    return json_of(study, verdict(study), runs)


def files(study: Maps) -> Mapping[str, str]:
    """Pictures, the gains at all points, and the places of the marks."""
    drawn = {one.name: one for all_of in pictures(study).values() for one in all_of}
    return {
        **files_of(drawn),
        "maps.csv": _csv((*Point._fields, "measure", "gain", *SEED_HEADS, *ENDS), _rows(study)),
        "maps-marks.csv": _csv(Mark._fields, (tuple(map(_number, mark)) for mark in marks())),
    }


SEED_HEADS = tuple(f"seed_{seed}" for seed in SEEDS)
ENDS = ("verdict", "baseline_sustains", "proposal_sustains")


def _rows(study: Maps) -> Iterator[Sequence[object]]:
    for paper in PAPERS:
        for axis in AXES:
            for point in study.points(paper, axis):
                states = [study.sustains(point, proposed=proposed) for proposed in (False, True)]
                for measure in MEASURES:
                    found = study.gains(point, measure)
                    if found is not None:
                        numbers = map(_number, (study.gain(point, measure), *found))
                        ends = (study.verdict(point, measure), *states)
                        yield (*point, measure, *numbers, *ends)


def _number(value: object) -> object:
    return f"{value:.4g}" if isinstance(value, float) else value


def _csv(heads: Sequence[str], rows: Iterator[Sequence[object]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(heads)
    writer.writerows(rows)
    return out.getvalue()
