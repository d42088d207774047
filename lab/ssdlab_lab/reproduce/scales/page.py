"""The study as a page, and in words."""

from __future__ import annotations

import statistics
from html import escape
from typing import Any

from ssdlab.config.resolve import DRIVE
from ssdlab.display.words import join_names
from ssdlab.html.page import Section, document, prose, warnings_box
from ssdlab.html.page import table as html_table
from ssdlab.running.scale import RESIDUAL
from ssdlab.versions import described
from ssdlab_lab.reproduce.scales.choices import (
    BEFORE,
    CLOSE,
    FIRST_LOADS,
    FIRST_POLICIES,
    FULL,
    LOADS,
    MEASURED,
    POLICIES,
    SEEDS,
    TITLE,
    drives,
    sizes,
)
from ssdlab_lab.reproduce.scales.outcome import PredictionComparison, Scales
from ssdlab_lab.reproduce.study import Rows, json_of, table_of

ABOUT = (
    "`ssdlab try` predicts the write amplification of a drive from trials that are as small as the"
    " trace ([ADR 0026](adr/0026-a-trial-keeps-the-blocks-of-a-drive.md)). Here such predictions"
    " stand beside runs of whole pools of the drives: all superblocks, planes and pages of a die"
    " (12 to 15 million pages of 4 KiB that the host sees).",
    f"A prediction has {len(SEEDS)} seeds, and one more run with half the pages of an erase unit;"
    " full size has one seed. Both are filled, overwritten once at random, and then written with"
    f" the load, {BEFORE + MEASURED} times the pages, of which the last"
    f" {MEASURED / (BEFORE + MEASURED):.0%} are measured. That is half as long as `try` takes. It"
    " is the same on both sides, which is what matters here.",
    "Ranks of Zipf's law are drawn over the pages at full size. Recorded traces are stretched to"
    " the number of pages: with more pages their requests grow, with fewer some of the pages are"
    " left. The first third of mysql and of sqlite is run, and all of varmail.",
    f"Every drive has {', '.join(FIRST_LOADS[:-1])} and {FIRST_LOADS[-1]} under"
    f" {', '.join(FIRST_POLICIES[:-1])} and {FIRST_POLICIES[-1]} before any has the other loads and"
    " policies. A drive of each kind of pool comes before those that resemble another:"
    " hynix-pe8110 has the superblocks of tlc-960gb and nearly its over-provisioning (14.53 instead"
    " of 14.50%), so its predictions err like those of tlc-960gb.",
    f"A prediction holds if it is within {CLOSE:.0%} of full size, or if its interval contains it."
    " *Same*: of the policies run on both sides, `try` would name the best one. *None*: it"
    " names no single one. A dash is a run that was not made. A load without a run at full size"
    " is left out.",
)
WHY = (
    "A trial has fewer pages in a block than the drive. Extrapolation from two sizes removes an"
    " error of the order of 1 / pages. Under strong skew, cost-benefit writes more only in blocks"
    " of thousands of pages, and its intervals have a term of their own for that"
    " ([ADR 0026](adr/0026-a-trial-keeps-the-blocks-of-a-drive.md)). With a footprint of 64 MiB,"
    " blocks have at most 42 pages, and `try` gives no verdict below 32.",
    "Under mysql, independent, one page in a thousand takes 13% of the writes. There, write"
    " amplification under greedy rises and falls again with the pages of a block, and an"
    " extrapolation from two sizes can miss that. The same article has the numbers.",
)


def compared_text(study: Scales) -> str:
    """Which loads and policies were run at full size on each drive."""
    first = {(load, policy) for load in FIRST_LOADS for policy in FIRST_POLICIES}
    combinations = len(LOADS) * len(POLICIES)
    by_extent: dict[str, list[str]] = {}
    for drive in drives():
        measured = {
            (load.title, policy) for load in LOADS for policy in study.at_full_size(drive, load)
        }
        extent = f"{len(measured)} of them"
        if len(measured) == combinations:
            extent = "all of them"
        elif measured == first:
            extent = f"the {len(measured)} named above"
        elif not measured:
            extent = "none of them"
        by_extent.setdefault(extent, []).append(drive.removeprefix(DRIVE))
    parts = (f"{extent} on {join_names(names)}" for extent, names in by_extent.items())
    return (
        f"The study has {combinations} combinations of load and policy for each drive. Compared are"
        f" {'; '.join(parts)}."
    )


HEADS = (
    "drive",
    "footprint",
    "compared",
    "hold",
    "mean error",
    "largest",
    "same",
    "none",
    "another",
)


def overview(study: Scales) -> Rows:
    """Each drive and footprint in a line."""
    rows: Rows = []
    for drive in drives():
        for size in sizes(study.quick):
            compared = [case for load in LOADS for case in study.compared(drive, load, size)]
            winners = [study.winner(drive, load, size) for load in LOADS]
            rows.append((drive, [size, *_errors(compared), *_counts(winners)]))
    return rows


def _errors(compared: list[PredictionComparison]) -> list[str]:
    if not compared:
        return ["–"] * 4
    errors = [abs(case.error) for case in compared]
    return [
        str(len(compared)),
        str(sum(case.holds for case in compared)),
        f"{statistics.fmean(errors):.1%}",
        f"{max(errors):.1%}",
    ]


def _counts(winners: list[Any]) -> list[str]:
    if not any(winners):
        return ["–"] * 3
    return [str(winners.count(kind)) for kind in ("same", "none", "another")]


def verdict(study: Scales) -> list[str]:
    """The outcome in words."""
    compared = [*study.every()]
    if not compared:
        return ["No prediction has a run at full size."]
    missed = [case for case in compared if not case.holds]
    winners = [
        study.winner(drive, load, size)
        for drive in drives()
        for load in LOADS
        for size in sizes(study.quick)
    ]
    named = [winner for winner in winners if winner is not None]
    unwidened = sum(case.without_residual.holds for case in compared)
    return [
        f"{len(compared) - len(missed)} of {len(compared)} predictions hold. Without the"
        f" {RESIDUAL:.0%} by which the intervals of small blocks are widened, {unwidened} would.",
        f"The winner is the same in {named.count('same')} of {len(named)} comparisons, none is"
        f" named in {named.count('none')}, and another one in {named.count('another')}.",
    ]


def misses(study: Scales) -> Rows:
    """The predictions that do not hold."""
    return [
        (
            case.drive,
            [
                case.load.title,
                case.size,
                case.policy,
                f"{case.full:.3f}",
                _interval(case),
                f"{case.error:+.1%}",
                "yes" if study.gives_verdict(case.drive, case.load, case.size) else "no",
            ],
        )
        for case in study.every()
        if not case.holds
    ]


NOTHING = "No run at full size was made."
MISS_HEADS = ("drive", "load", "footprint", "policy", FULL, "predicted", "error", "verdict")


def _interval(case: PredictionComparison) -> str:
    low, high = case.predicted.interval or (case.predicted.mean,) * 2
    return f"{case.predicted.mean:.3f} ({low:.3f} to {high:.3f})"


def heads(study: Scales) -> tuple[str, ...]:
    """The heads of the table of a drive."""
    return (
        "load",
        "policy",
        FULL,
        *(cell for size in sizes(study.quick) for cell in (size, "error")),
    )


def rows_of(study: Scales, drive: str) -> Rows:
    """The write amplifications of a drive for which full size was run."""
    rows: Rows = []
    for load in LOADS:
        for policy in POLICIES:
            full = study.full(drive, load, policy)
            if full is None:
                continue
            cells = [policy, f"{full:.3f}"]
            for size in sizes(study.quick):
                predicted = study.predicted(drive, load, size, policy)
                if predicted is None:
                    cells += ["–", "–"]
                    continue
                low, high = predicted.interval or (predicted.mean,) * 2
                cells.append(
                    f"{predicted.mean:.3f} ± {max(predicted.mean - low, high - predicted.mean):.3f}"
                )
                cells.append(f"{predicted.mean / full - 1:+.1%}")
            rows.append((load.title, cells))
    return rows


def page(study: Scales) -> str:
    """The page as HTML."""
    paragraphs = (*ABOUT, compared_text(study), *verdict(study))
    texts = "".join(f"<p>{prose(text)}</p>" for text in paragraphs)
    first = html_table(list(HEADS), overview(study), "All drives")
    remarks = study.remarks()
    box = warnings_box(remarks) * bool(remarks)
    sections = [Section("all", "Errors", texts + box + first)]
    missed = misses(study)
    if missed:
        table = html_table(list(MISS_HEADS), missed, "Predictions that do not hold")
        reasons = "".join(f"<p>{prose(text)}</p>" for text in WHY)
        sections.append(Section("misses", "Predictions that do not hold", reasons + table))
    for drive in drives():
        rows = rows_of(study, drive)
        table = html_table(list(heads(study)), rows, drive) if rows else f"<p>{NOTHING}</p>"
        sections.append(Section(drive.replace(":", "-"), drive, table))
    lead = f'<p class="lead">{TITLE} · ssdlab {escape(described())}</p>'
    return document(TITLE, lead, sections)


def markdown(study: Scales) -> str:
    """The page as Markdown."""
    text = ["<!-- Written by `ssdlab drives scale`. -->", "", f"# {TITLE}", ""]
    texts = (*ABOUT, compared_text(study), *study.remarks())
    text += [line for part in texts for line in (part, "")]
    text += [*(f"- {part}" for part in verdict(study)), ""]
    text += table_of(HEADS, overview(study))
    missed = misses(study)
    if missed:
        text += ["## Predictions that do not hold", ""]
        text += [line for part in WHY for line in (part, "")]
        text += table_of(MISS_HEADS, missed)
    for drive in drives():
        rows = rows_of(study, drive)
        text += [f"## {drive}", "", *(table_of(heads(study), rows) if rows else (NOTHING, ""))]
    text.append(f"`ssdlab drives scale`, ssdlab {described()}.")
    return "\n".join(text).rstrip() + "\n"


def to_json(study: Scales) -> str:
    """The text of reproduction.json."""
    runs: list[dict[str, Any]] = [
        {**place._asdict(), "load": place.load.title, "waf": waf}
        for place, waf in study.measured.items()
    ]
    return json_of(study, verdict(study), runs)
