"""`ssdlab compare --preset-matrix`: the policies of the three papers combined on one device.

Each paper proposes one policy and takes the others from elsewhere. Here every combination
of victims, concurrency, path, blocking and order runs on the device of noc-copyback (whose
interconnect gives the path a meaning). One combination is chosen by the workloads of `CHOOSE`; what
it is worth is measured on the others. A run's time is its 99.9th percentile of write latency.

A paper's own proposal is the row under which its published numbers are reproduced: in all three,
collection does not give way to the host. noc-copyback does not say so; its other reading, oldest
first, is compared with as well. Every workload also runs on flash so large that nothing is ever
collected: no answer to any of the questions can be expected below that time.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import Any

from ssdlab.html.page import Section, document, warnings_box
from ssdlab.html.page import table as html_table
from ssdlab.reproduce.command import (
    Kept,
    check_folder,
    folder_of,
    recorded_traces,
    run_cells,
    write_results,
)
from ssdlab.reproduce.matrix import Cell, Scheme, Workload
from ssdlab.reproduce.paper import LIVE, Scale, fitting, synthetic, workloads_of
from ssdlab.reproduce.papers.noc_copyback import paper as noc_copyback
from ssdlab.reproduce.result import VERSION, first_remarks
from ssdlab.reproduce.tables import geometric_mean
from ssdlab.results.report import Report
from ssdlab.versions import described

INTERVALS_US = {
    "Cassandra": 27600.0,
    "Dbench": 6680.0,
    "MySQL": 20600.0,
    "SQLite": 1110.0,
    "MongoDB": 1910.0,
    "RocksDB": 9330.0,
}
"""Mean times between synthetic requests."""
NAME, TITLE = "combined", "The policies of three papers combined"
CHOOSE = ("MySQL", "SQLite", "MongoDB")
"""Synthetic workloads by which the combination is chosen."""
OTHERS = ("Cassandra", "Dbench", "RocksDB")
"""Synthetic workloads that evaluate it, together with all recorded ones."""
RECORDED = (*CHOOSE, *OTHERS, "Varmail")
"""Recorded workloads, as far as the device holds them."""
DIVISOR, QUICK_DIVISOR = 4, 8
FILLS, QUICK_FILLS = (LIVE, 0.55), (LIVE,)
"""Shares of the raw flash that are live: that of the reproductions, and one that makes collection
work."""
AIM = 0.5
"""p99.9 over that of the best paper that is aimed at."""
FULL_AT = 0.70
"""Used space at which collection starts without the adaptive rule."""
UNCOLLECTED = 6
"""Times the blocks with which a run never reaches the end of its flash."""

QUICK = (
    f"Quick: the device and the requests are divided by {QUICK_DIVISOR} instead of {DIVISOR}, and"
    f" {100 * LIVE:.0f} % of the raw flash is live in all runs."
)

Answers = dict[str, object]

VICTIMS: dict[str, Answers] = {
    "list order": {"gc.victim": {"policy": "list-order", "ratio": 0.7}},
    "slowest first": {"gc.victim": {"policy": "invalidation-rate", "ratio": 0.7}},
}
AT_70: Answers = {"gc.trigger": {"policy": "used-space", "at": FULL_AT}}
CONCURRENCY: dict[str, Answers] = {
    "all channels": {**AT_70, "gc.concurrency": "unlimited"},
    "one": {**AT_70, "gc.concurrency": {"policy": "fixed", "k": 1}},
    "G(t)": {"gc.trigger": "idle", "gc.concurrency": {"policy": "adaptive"}},
}
PATHS: dict[str, Answers] = {
    "controller": {"gc.path": "controller"},
    "selective": {"gc.path": "selective"},
}
BLOCKING: dict[str, Answers] = {
    "nothing": {"gc.blocking": {"scope": "none", "granularity": "step"}},
    "block": {"gc.blocking": {"scope": "block", "granularity": "job"}},
    "channel": {"gc.blocking": {"scope": "channel", "granularity": "job"}},
}
ORDERS: dict[str, Answers] = {
    "GC": {"sched.order": "gc-first"},
    "oldest": {"sched.order": "fifo"},
    "host": {"sched.order": "host-first"},
}
AXES = (VICTIMS, CONCURRENCY, PATHS, BLOCKING, ORDERS)
HEADS = ("victims", "at once", "path", "blocked", "first")
Combination = tuple[str, ...]
PAPERS: dict[str, Combination] = {
    "invalidation-rate": ("slowest first", "one", "controller", "block", "GC"),
    "noc-copyback": ("list order", "all channels", "selective", "nothing", "GC"),
    "adaptive-channel": ("list order", "G(t)", "controller", "channel", "GC"),
}
"""What each paper proposes, as it is reproduced, on this device, whose busy unit is the channel."""
OTHER_READING = "noc-copyback, oldest first"
OWN: dict[str, Combination] = {
    **PAPERS,
    OTHER_READING: (*PAPERS["noc-copyback"][:-1], "oldest"),
}
"""What is compared with."""
NO_COLLECTION: Combination = ("no collection",)
"""Flash on which nothing is ever collected."""
Measured = tuple[float, float]
"""p99.9 write latency in nanoseconds, and write amplification."""


@dataclass(frozen=True)
class Combined:
    """What came out."""

    values: Mapping[Combination, Mapping[Workload, Measured]]
    chosen: Combination | None
    best: str | None
    """The paper with the least geometric mean over the selection workloads."""
    quick: bool
    notes: Sequence[str]
    traces: Mapping[str, str]
    """SHA-256 of the recorded traces, by workload."""
    failures: Mapping[str, str]
    interrupted: bool
    folder: Path

    def ratios(
        self, one: Combination, to: Combination, names: Sequence[Workload]
    ) -> list[Measured]:
        """Time and write amplification of `one` over those of `to`, workload by workload."""
        mine, theirs = self.values.get(one, {}), self.values.get(to, {})
        return [
            (mine[name][0] / theirs[name][0], mine[name][1] / theirs[name][1])
            for name in names
            if name in mine and name in theirs
        ]

    def remarks(self) -> list[str]:
        """What a reader should know before using the numbers."""
        quick = [QUICK] if self.quick else []
        return first_remarks(self.failures, self.interrupted, [*quick, *self.notes])

    @property
    def workloads(self) -> list[Workload]:
        """All of them, in order."""
        return list(dict.fromkeys(name for by in self.values.values() for name in by))


def scheme_of(one: Combination, scale: Scale) -> Scheme:
    """The device with these answers."""
    # A thousand and more time series that nobody looks at would take gigabytes.
    keys: Answers = {**noc_copyback.FLASH.keys(scale), "metrics.interval": "0 s"}
    if one == NO_COLLECTION:
        blocks = noc_copyback.FLASH.blocks // scale.divisor * UNCOLLECTED
        keys |= {"device.blocks_per_plane": blocks, **AT_70}
    else:
        for axis, answer in zip(AXES, one, strict=True):
            keys |= axis[answer]
    return Scheme(" ".join(one), noc_copyback.PRESETS[noc_copyback.PROPOSED], keys)


def chooses(workload: Workload) -> bool:
    """Whether a workload takes part in the choice."""
    return workload.source == "synthetic" and workload.name.split(",")[0] in CHOOSE


def _synthetic(scale: Scale, live: float) -> list[Workload]:
    """The synthetic workloads over volumes of that share of the raw flash."""
    of = noc_copyback
    several = [
        synthetic(name, of.NAME, of.FLASH, scale, INTERVALS_US[name], live)
        for name in (*CHOOSE, *OTHERS)
    ]
    return [replace(one, name=f"{one.name}, {100 * live:.0f} % live") for one in several]


def centre(ratios: Sequence[Measured], which: int) -> float | None:
    """Geometric mean of the times (0) or the write amplifications (1)."""
    return geometric_mean([one[which] for one in ratios])


def combined(
    *,
    quick: bool = False,
    traces: str | Path | None = None,
    jobs: int | None = None,
    out: str | Path | None = None,
    progress: bool = True,
) -> Combined:
    """Run every combination on all workloads and write the tables into `out`.

    An interrupted run is resumed, as by `reproduce`, which raises the same exceptions.
    """
    scale = Scale(quick=True, divide_by=QUICK_DIVISOR if quick else DIVISOR)
    folder = folder_of("preset-matrix", quick, out)
    recorded, notes = recorded_traces(RECORDED, traces)
    recorded, left_out = fitting(recorded, noc_copyback.FLASH, scale)
    notes += left_out
    known = check_folder(folder, Kept.of(NAME, quick, recorded))
    several = [one for live in (QUICK_FILLS if quick else FILLS) for one in _synthetic(scale, live)]
    several += workloads_of(noc_copyback.NAME, noc_copyback.FLASH, scale, (), recorded, {})
    cells = {
        Cell(workload, scheme_of(one, scale)): (one, workload)
        for one in (NO_COLLECTION, *itertools.product(*AXES))
        for workload in several
    }
    reports, failures, interrupted = run_cells(list(cells), folder, jobs, progress)
    values: dict[Combination, dict[Workload, Measured]] = {}
    for cell, report in reports.items():
        one, workload = cells[cell]
        measured = _measured(report)
        if measured is not None:
            values.setdefault(one, {})[workload] = measured
    done = _chosen(Combined(values, None, None, quick, notes, known, failures, interrupted, folder))
    write_results(folder, to_json(done), page(done), markdown(done))
    return done


def _measured(report: Report) -> Measured | None:
    time, waf = report.latency.write.p99_9, report.waf.total
    return None if time is None or waf is None else (float(time), waf)


def _chosen(done: Combined) -> Combined:
    """With the paper that is best where the choice is made, and the combination chosen there.

    The least geometric mean of p99.9 among those whose write amplification is, in the geometric
    mean, at most that of the best paper.
    """
    names = [workload for workload in done.workloads if chooses(workload)]
    base = PAPERS["noc-copyback"]
    times = {paper: centre(done.ratios(one, base, names), 0) for paper, one in PAPERS.items()}
    known = {paper: value for paper, value in times.items() if value is not None}
    if not known or done.interrupted:
        return done
    best = min(known, key=known.__getitem__)
    fit: dict[Combination, float] = {}
    for one in done.values:
        ratios = done.ratios(one, PAPERS[best], names)
        time, waf = centre(ratios, 0), centre(ratios, 1)
        whole = one != NO_COLLECTION and len(ratios) == len(names)
        if whole and time is not None and waf is not None and waf <= 1.0:
            fit[one] = time
    chosen = min(fit, key=fit.__getitem__)
    return replace(done, best=best, chosen=chosen)


def _against(done: Combined, one: Combination, own: str, names: Sequence[Workload]) -> Measured:
    """Geometric means of the ratios of `one` to a proposal."""
    ratios = done.ratios(one, OWN[own], names)
    time, waf = centre(ratios, 0), centre(ratios, 1)
    return (math.nan, math.nan) if time is None or waf is None else (time, waf)


def verdict(done: Combined) -> list[str]:
    """The outcome, in words."""
    if done.chosen is None or done.best is None:
        return ["No combination is selected while runs are missing."]
    mine = [workload for workload in done.workloads if chooses(workload)]
    others = [workload for workload in done.workloads if not chooses(workload)]
    answers = zip(HEADS, done.chosen, strict=True)
    lines = [
        "Lowest geometric mean of the p99.9 write latency among the papers' own schemes, over the"
        f" selection workloads ({', '.join(CHOOSE)}): {done.best}.",
        f"Selected combination: {', '.join(f'{head} {answer}' for head, answer in answers)}.",
    ]
    for what, names in (("selection", mine), ("evaluation", others)):
        time, waf = _against(done, done.chosen, done.best, names)
        count = len(done.ratios(done.chosen, OWN[done.best], names))
        lines.append(
            f"Relative to {done.best} over the {count} {what} workloads: p99.9 write latency"
            f" {time:.3f}, write amplification {waf:.3f} (geometric means)."
        )
    time, waf = _against(done, done.chosen, done.best, others)
    lines.append(
        f"The aim, half the p99.9 of {done.best} without more write amplification on the"
        f" evaluation workloads, is {'reached' if _reached(time, waf) else 'not reached'}:"
        f" {_floor(done, done.best, others)}"
    )
    time, waf = _against(done, done.chosen, OTHER_READING, others)
    lines.append(
        f"Relative to {OTHER_READING} over the same workloads: p99.9 write latency {time:.3f},"
        f" write amplification {waf:.3f}; {_floor(done, OTHER_READING, others)}"
    )
    return lines


def _floor(done: Combined, own: str, names: Sequence[Workload]) -> str:
    least = _against(done, NO_COLLECTION, own, names)[0]
    end = ", so no policy can be expected to halve it." if least > AIM else "."
    return f"a device that never collects has {least:.3f}{end}"


def _reached(time: float, waf: float) -> bool:
    return time <= AIM and waf <= 1.0


def _title(workload: Workload) -> str:
    return f"{workload.name}, {workload.source}"


def _sorted(done: Combined) -> list[Combination]:
    """By the geometric mean of p99.9 over the selection workloads."""
    base = PAPERS[done.best or "noc-copyback"]
    names = [workload for workload in done.workloads if chooses(workload)]
    times = {one: centre(done.ratios(one, base, names), 0) for one in done.values}
    return sorted(done.values, key=lambda one: times[one] or float("inf"))


def _name(one: Combination) -> str:
    paper = next((paper for paper, answers in OWN.items() if answers == one), "")
    return ", ".join(one) + (f" ({paper})" if paper else "")


def _cell(ratio: float | None) -> str:
    """A number on a ground whose colour says how far from 1 it is."""
    if ratio is None:
        return "–"
    tone = "--t2" if ratio < 1 else "--t1"
    strength = min(70, round(35 * abs(math.log2(ratio)))) if ratio > 0 else 70
    style = f"background:color-mix(in srgb, var({tone}) {strength}%, transparent)"
    return f'<span class="heat" style="{style}">{ratio:.3f}</span>'


def _map(done: Combined, paper: str, which: int) -> str:
    """A heat map: combinations by workloads, ratios to a paper's own proposal."""
    rows = []
    for one in _sorted(done):
        cells = []
        for workload in done.workloads:
            ratios = done.ratios(one, OWN[paper], [workload])
            cells.append(_cell(ratios[0][which] if ratios else None))
        rows.append((_name(one), cells))
    what = ("p99.9 write latency", "Write amplification")[which]
    heads = ["combination", *map(_title, done.workloads)]
    return html_table(heads, rows, f"{what} over that of {paper}")


def page(done: Combined) -> str:
    """The page of the matrix."""
    texts = "".join(f"<p>{escape(text)}</p>" for text in verdict(done))
    sections = [Section("reached", "Outcome", texts + warnings_box(done.remarks()))]
    for at, own in enumerate(OWN):
        maps = _map(done, own, 0) + _map(done, own, 1)
        sections.append(Section(f"against-{at}", f"Against {own}", maps))
    lead = f'<p class="lead">{TITLE} · ssdlab {escape(described())}</p>'
    return document("Preset matrix", lead, sections)


def _answers(one: Combination) -> dict[str, str] | None:
    """By question; None where nothing is collected."""
    return None if one == NO_COLLECTION else dict(zip(HEADS, one, strict=True))


def to_json(done: Combined) -> str:
    """The text of reproduction.json."""
    runs: list[dict[str, Any]] = [
        {
            "answers": _answers(one),
            "workload": workload.name,
            "source": workload.source,
            "write_p99_9_ns": time,
            "waf": waf,
        }
        for one, by in done.values.items()
        for workload, (time, waf) in by.items()
    ]
    values = {
        "version": VERSION,
        "paper": NAME,
        "quick": done.quick,
        "traces": dict(done.traces),
        "ssdlab": described(),
        "completed": not done.interrupted and not done.failures,
        "best_paper": done.best,
        "chosen": None if done.chosen is None else _answers(done.chosen),
        "verdict": verdict(done),
        "notes": list(done.notes),
        "failures": dict(done.failures),
        "runs": runs,
    }
    return json.dumps(values, indent=2, ensure_ascii=False) + "\n"


def markdown(done: Combined) -> str:
    """The best combinations and the papers' own, as Markdown."""
    best = done.best or "noc-copyback"
    shown = [*_sorted(done)[:10], NO_COLLECTION, *OWN.values()]
    texts = [*verdict(done), *done.remarks()]
    lines = [
        "<!-- Written by `ssdlab compare --preset-matrix`. -->",
        "",
        f"# {TITLE}",
        "",
        *(text for one in texts for text in (one, "")),
        f"Each cell: p99.9 write latency and write amplification divided by those of {best}. Rows:"
        " the ten lowest p99.9 on the selection workloads, a device that never collects (no"
        " collection), and the papers' own schemes.",
        "",
        f"| combination | {' | '.join(map(_title, done.workloads))} |",
        "|---" * (len(done.workloads) + 1) + "|",
    ]
    for one in dict.fromkeys(shown):
        cells = []
        for workload in done.workloads:
            ratios = done.ratios(one, PAPERS[best], [workload])
            cells.append(f"{ratios[0][0]:.2f}, {ratios[0][1]:.2f}" if ratios else "–")
        lines.append(f"| {_name(one)} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"
