"""The page of the study."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from ssdlab.html.page import Section, document, prose, warnings_box
from ssdlab.html.page import table as html_table
from ssdlab.versions import described
from ssdlab_lab.reproduce.pictures import files_of, markdown_of
from ssdlab_lab.reproduce.separations.choices import (
    APART,
    BEFORE,
    BLOCKS,
    BOUND,
    CELLS,
    FILLED,
    FIO_PAGES,
    FIO_REACH,
    FIO_SPARE,
    FUTURE,
    MEASURED,
    OPTIMAL,
    PAGES,
    REAL,
    REGIONS,
    SEEDS,
    SHRUNK,
    SPARES,
    USUAL,
    VICTIMS,
    WORKLOADS,
    Place,
    closed_form,
    groups,
    lines,
    mark,
    workloads,
)
from ssdlab_lab.reproduce.separations.outcome import Separations
from ssdlab_lab.reproduce.separations.pictures import pictures
from ssdlab_lab.reproduce.study import Rows, json_of, table_of

TITLE = "Separation of pages: write amplification"
CLOSED = "closed form, all rates apart"


def verdict(study: Separations) -> list[str]:
    """Which lines win where, and whether the mark holds, in words."""
    texts = []
    for victims in VICTIMS:
        wins: dict[str, list[str]] = {}
        for workload in workloads(study.quick):
            winner = study.best(workload, victims, USUAL) or "nobody alone"
            wins.setdefault(winner, []).append(workload)
        winners = "; ".join(f"{line} on {', '.join(names)}" for line, names in wins.items())
        texts.append(f"Lowest with {victims} victims at {100 * USUAL:g} %: {winners}.")
    lower = study.beyond_the_mark()
    places = "; ".join(f"{p.line}, {p.workload}, {p.victims}, {100 * p.spare:g} %" for p in lower)
    name = mark(study.quick)
    count = len(VICTIMS) * len(SPARES) * len(workloads(study.quick)) * len(REAL)
    share = f"in {len(lower)} of {count} places"
    texts.append(
        f"Below {name!r}, beyond the intervals: {share + ': ' + places if lower else 'none'}."
    )
    return texts


def _number(study: Separations, place: Place) -> str:
    """A write amplification with its interval: its half width, or its ends if it is skewed."""
    estimate, ends = study.waf(place), study.ends(place)
    if estimate is None or ends is None:
        return "–"
    if estimate.ci95 is None:
        return f"{estimate.mean:.3f}"
    if estimate.mean - estimate.ci95 >= 1:
        return f"{estimate.mean:.3f} ± {estimate.ci95:.3f}"
    return f"{estimate.mean:.3f} ({ends[0]:.3f} to {ends[1]:.3f})"


def _rows(study: Separations, victims: str, spare: float, names: Sequence[str]) -> Rows:
    def cells(line: str) -> list[str]:
        return [_number(study, Place(name, victims, spare, line)) for name in names]

    rows = [(line, cells(line)) for line in lines(study.quick)]
    if names[0] in WORKLOADS:
        rows.append((CLOSED, [f"{closed_form(name, spare):.3f}" for name in names]))
    return rows


def _bold(study: Separations, victims: str, spare: float, names: Sequence[str]) -> Rows:
    """The same with the lines that win in bold, as Markdown."""
    best = [study.best(name, victims, spare) for name in names]
    return [
        (
            line,
            [f"**{n}**" if line == winner else n for n, winner in zip(numbers, best, strict=True)],
        )
        for line, numbers in _rows(study, victims, spare, names)
    ]


def _wins(study: Separations, names: Sequence[str]) -> Rows:
    """How often each line wins, and how far it is from the mark in the geometric mean."""
    rows = []
    for line in lines(study.quick):
        cells = []
        for victims in VICTIMS:
            places = [Place(w, victims, s, line) for w in names for s in SPARES]
            wins = sum(study.best(p.workload, victims, p.spare) == line for p in places)
            logs = [math.log(d) for p in places if (d := study.distance(p)) is not None]
            mean = f"{math.exp(sum(logs) / len(logs)):.2f}" if logs else "–"
            cells += [f"{wins} of {len(places)}" if line in REAL else "–", mean]
        rows.append((line, cells))
    return rows


WIN_HEADS = ["line", *(f"{v}: {head}" for v in VICTIMS for head in ("wins", "over the mark"))]
CELL_HEADS = ["line", "simulator", "published", "here", "off", "here, as is"]


def _cells(study: Separations) -> Rows:
    rows = []
    for place, published in CELLS.items():
        estimate, reference = study.waf(place), place._replace(device="")
        deviation = (
            "–" if estimate is None else f"{100 * (estimate.mean / published.waf - 1):+.2f} %"
        )
        numbers = [
            f"{published.waf:.3f}",
            _number(study, place),
            deviation,
            _number(study, reference),
        ]
        victims = "" if place.victims == VICTIMS[0] else f", {place.victims}"
        if place.spare not in (USUAL, FILLED):
            victims += f", {100 * place.spare:.3g} %"
        rows.append((f"{place.line}, {place.workload}{victims}", [published.simulator, *numbers]))
    workload, spare, optimal = OPTIMAL
    form = closed_form(workload, spare)
    deviation = f"{100 * (form / optimal - 1):+.2f} %"
    rows.append((CLOSED, ["SSD-iq, optimal", f"{optimal:.3f}", f"{form:.3f}", deviation, "–"]))
    return rows


ABOUT = (
    "Which pages share a block (`alloc.separation`): write amplification of separation policies,"
    " compared with one frontier for all pages and with one each for host and copies. One pool of"
    f" {BLOCKS:,} blocks of {PAGES} pages, one of them kept erased; the host sees 1 / (1 + OP) of"
    f" the pages, writes them once in order, then single pages of the workload, {BEFORE} times the"
    f" user pages before the measurement and {MEASURED} times in it. Means over"
    f" {len(SEEDS)} seeds with 95 % intervals: Student's, or, where that reaches below 1, which is"
    " impossible, that of the logarithm of what exceeds 1. Bold if the interval is below those of"
    f" all other lines except `{FUTURE}`.",
    f"`{FUTURE}` knows when each page will be overwritten, with as many classes as the others;"
    f" `{BOUND}` is the mark for all. Close to the end of a run it knows no later write of a page."
    " The last row of each table is a closed form, not a simulation: a separate pool for each rate"
    " of the workload, infinitely many blocks, first in, first out in each pool, and the best split"
    " of the spare.",
    "Traces: recorded applications (`traces/`), and stand-ins of MSR volumes (docs/workloads.md)"
    f" with 1/{SHRUNK} of the requests and addresses. The device has the size of the pages that"
    " they touch, which are written once in an order drawn by the seed; then the trace runs in"
    f" whole loops, which write at least {BEFORE} times these pages before the measurement and"
    f" {MEASURED} times in it. Discards count. A trace that hardly writes a page twice in a loop is"
    " much like a sequential one when it is repeated.",
    "Open blocks of classes take spare: six classes hold two blocks more open, on average, than"
    " host and copies apart.",
)
CELLS_SAID = (
    "Results of public simulators, with greedy unless stated otherwise. They do not count open"
    " segments as part of the space, so the device here gets half a block for each class, and the"
    " block that is kept erased; the last column is without them. Over-provisioning is"
    f" {100 * USUAL:g} % unless the row states another."
    " SSD-iq's 90/10 at 87.5 % full: 2,048 blocks of 2,048 pages, as published. `sfs` computes its"
    " centres from sets of drawn pages, the simulator from all segments. SepBIT's cost-benefit"
    " cannot be compared, because it takes the square root of the age there. MiDAS follows a plan"
    " in both.",
    f"`{REGIONS}` differs from SSD-iq's collector, which compacts survivors within the victims and"
    " lets the host fill the rest. A literal model of that collector reproduces all five of its"
    " results, and, with survivors copied to separate blocks, those of the device"
    " (crates/ssd-core/tests/suite/two_regions.rs).",
    "Before it adapts, the simulator of MiDAS has 3.741 (greedy) and 2.650 (cost-benefit) on"
    " Zipf 0.99; the device, without plans, has 3.57 and 2.55. A literal model of the simulator"
    " has 3.735 and 2.650. With three rules of the device instead of its own it has the numbers"
    " of the device (crates/ssd-core/tests/suite/midas.rs). Two rules concern the hot filter."
    " The first says how copies and overwrites lower counters (3.68 if only this rule is"
    " changed). The second is about ages: the simulator measures them from the seal and averages"
    " their mean with the previous one, while the device measures them from the first page with"
    " a mean that fades (3.645). Third, cost-benefit takes the square root of the age in the"
    " simulator, and the age itself in the device (2.575).",
)


def _cells_said() -> tuple[str, ...]:
    """Remarks about the cells of public simulators."""
    form = closed_form("Zipf 1", FIO_SPARE, FIO_PAGES)
    return (
        *CELLS_SAID,
        "MiDAS's 2.300 was measured with a file that is not available, called Zipf 1.0 by fio, and"
        " includes the writes that fill the drive. The row has the value for the writes of the file"
        " alone. The drive has"
        f" {FIO_PAGES:,} pages, and the file is said to write 4 GiB, {FIO_REACH:,} of them. That is"
        " most of the difference: over all pages the same Zipf has 3.66 here, and"
        f" {form:.3f} by the closed form. fio takes no exponent of 1: with 1.01 it is 2.38 here,"
        " with 0.99 2.52. The simulator follows a plan; the device has none.",
    )


WINS_SAID = (
    "How often each line wins, out of all workloads and over-provisionings, and the geometric mean"
    " of the ratio of its write amplification to that of the mark."
)


def page(study: Separations) -> str:
    """The page as HTML."""
    texts = "".join(f"<p>{prose(text)}</p>" for text in (*ABOUT, *verdict(study)))
    wins = "".join(
        html_table(WIN_HEADS, _wins(study, names), f"{group}: {WINS_SAID}")
        for group, names in groups(study.quick).items()
    )
    sections = [Section("best", "Outcome", texts + warnings_box(study.remarks()) + wins)]
    drawings = "".join(
        f"<figure><h3>{prose(picture.title)}</h3>{picture.svg}</figure>"
        for picture in pictures(study)
    )
    sections.append(Section("pictures", "Beside host and copies apart", drawings))
    for victims in VICTIMS:
        tables = "".join(
            html_table(
                ["", *names],
                _rows(study, victims, spare, names),
                f"{group}, over-provisioning {spare:.0%}",
            )
            for group, names in groups(study.quick).items()
            for spare in SPARES
        )
        sections.append(Section(victims, f"{victims} victims", tables))
    paragraphs = "".join(f"<p>{prose(text)}</p>" for text in _cells_said())
    cells = paragraphs + html_table(CELL_HEADS, _cells(study), "write amplification")
    sections.append(Section("public", "Beside public simulators", cells))
    lead = f'<p class="lead">{TITLE} · ssdlab {escape(described())}</p>'
    return document(TITLE, lead, sections)


def files(study: Separations) -> Mapping[str, str]:
    """The files of the pictures."""
    return files_of({picture.name: picture for picture in pictures(study)})


def to_json(study: Separations) -> str:
    """The text of reproduction.json."""
    runs: list[dict[str, Any]] = [
        {
            "workload": place.workload,
            "victims": place.victims,
            "over_provisioning": place.spare,
            "line": place.line,
            "device": place.device,
            "seed": seed,
            "waf": report.waf.total,
        }
        for (place, seed), report in study.reports.items()
    ]
    return json_of(study, verdict(study), runs)


def markdown(study: Separations) -> str:
    """The page as Markdown."""
    text = ["<!-- Written by `ssdlab reproduce separations`. -->", "", f"# {TITLE}", ""]
    text += [line for paragraph in (*ABOUT, *study.remarks()) for line in (paragraph, "")]
    text += [*(f"- {text}" for text in verdict(study)), "", WINS_SAID, ""]
    for group, names in groups(study.quick).items():
        text += [f"{group.capitalize()}:", "", *table_of(WIN_HEADS, _wins(study, names))]
    text += [f"## Beside {APART}", ""]
    for picture in pictures(study):
        text += markdown_of(picture)
    for victims in VICTIMS:
        text += [f"## {victims} victims", ""]
        for group, names in groups(study.quick).items():
            for spare in SPARES:
                text += [f"### {group.capitalize()}, over-provisioning {spare:.0%}", ""]
                text += table_of(["line", *names], _bold(study, victims, spare, names))
    text += ["## Beside public simulators", ""]
    text += [line for paragraph in _cells_said() for line in (paragraph, "")]
    text += table_of(CELL_HEADS, _cells(study))
    text.append(study.provenance("ssdlab reproduce separations"))
    return "\n".join(text).rstrip() + "\n"
