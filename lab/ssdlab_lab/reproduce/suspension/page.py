"""The page of the study."""

from __future__ import annotations

from html import escape
from typing import Any

from ssdlab.html.page import Section, document, prose, warnings_box
from ssdlab.html.page import table as html_table
from ssdlab.results.intervals import UNDECIDED, Ratio
from ssdlab.versions import described
from ssdlab_lab.reproduce.combined.choices import BASE, LOAD, SWEPT_LIVE
from ssdlab_lab.reproduce.study import Rows, json_of, table_of
from ssdlab_lab.reproduce.suspension.choices import (
    BAND,
    EMULATED,
    EMULATOR_SOURCE,
    FIFO,
    FLASHES,
    LINES,
    MORE_WRITE,
    MOST_WRITE,
    NAME,
    OFF,
    ON,
    PAPER,
    PAPER_PUBLISHED,
    PAPER_SOURCE,
    PRIORITY,
    PUBLISHED,
    SIMULATED,
    SUSPENDED,
    TITLE,
    WRITES,
    loads,
)
from ssdlab_lab.reproduce.suspension.outcome import (
    CHANGE_OF_WRITES,
    COLLECTIONS,
    MEASURES,
    READ_MEAN,
    READ_TAIL,
    WAF,
    WRITE_TAIL,
    Suspensions,
    change,
)
from ssdlab_lab.reproduce.suspension.schemes import LINES as LINES_OF_PAPERS
from ssdlab_lab.reproduce.suspension.schemes import orders

ABOUT = (
    "With `timing.suspend`, a read of the host interrupts the program or erase that its chip runs."
    " Two publications give numbers for it. This page repeats both as far as they are published,"
    f" and gives the error of each number. A number agrees within {100 * BAND:.0f} %. What is not"
    " published was chosen before the first run, in"
    " `lab/ssdlab_lab/reproduce/suspension/choices.py`. After it only the emulated drive was"
    " filled, as its description says, because its runs had ended with an error.",
)


def _number(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:+.1f} %"


def emulated(study: Suspensions) -> tuple[list[str], Rows]:
    """The emulated drive: published, simulated and error, without and with suspension."""
    heads = ["", *(f"{line}: {what}" for line in (OFF, ON) for what in WHAT)]
    rows: Rows = []
    for measure, lines in PUBLISHED.items():
        cells = []
        for line, published in lines.items():
            found = study.emulated(measure, line)
            cells += [_number(published), _number(found), _percent(change(found, published))]
        rows.append((measure, cells))
    fewer = change(PUBLISHED[WRITES][ON], PUBLISHED[WRITES][OFF])
    cells = ["", "", "", _percent(fewer), _percent(study.change_of_writes()), ""]
    rows.append((CHANGE_OF_WRITES, cells))
    counts = [_number(study.emulated(COLLECTIONS, line)) for line in (OFF, ON)]
    rows.append((COLLECTIONS, ["", counts[0], "", "", counts[1], ""]))
    return heads, rows


WHAT = ("published", "simulated", "error")


def averages(study: Suspensions) -> tuple[list[str], Rows]:
    """The changes of the simulated drive on average, beside the published ones."""
    rows: Rows = []
    for name, published in PAPER_PUBLISHED.items():
        found = study.average(name)
        error = _percent(change(found, published))
        rows.append((name, [_percent(published), _percent(found), error]))
    found = study.average(MORE_WRITE)
    rows.append((MORE_WRITE, [f"below {_percent(MOST_WRITE)}", _percent(found), ""]))
    return ["change of the mean latency", *WHAT], rows


def simulated(study: Suspensions) -> tuple[list[str], Rows]:
    """The simulated drive, by flash and load."""
    heads = [
        "flash, load",
        *(f"reads, {line}, us" for line in LINES),
        f"{FIFO}, times alone",
        f"{PRIORITY}, times alone",
        f"{SUSPENDED}, times alone",
        *(*PAPER_PUBLISHED, MORE_WRITE),
        f"WAF, {PRIORITY}",
    ]
    rows: Rows = []
    for flash in FLASHES:
        for load in loads(study.quick):
            means = [study.mean(PAPER, flash, load, line, READ_MEAN) for line in LINES]
            slow = [study.slowdown(flash, load, line) for line in (FIFO, PRIORITY, SUSPENDED)]
            waf = study.mean(PAPER, flash, load, PRIORITY, WAF)
            cells = [
                *map(_number, means),
                *("–" if value is None else f"{value:.2f}" for value in slow),
                *map(_percent, study.changes(flash, load).values()),
                "–" if waf is None else f"{waf:.2f}",
            ]
            rows.append((f"{flash}, {load:g}", cells))
    return heads, rows


def left(study: Suspensions, order: str) -> tuple[list[str], Rows]:
    """What the answers of the papers gain under an order, without and with suspension."""
    tails = (WRITE_TAIL, READ_TAIL)
    heads = [
        f"{order}, line",
        *(f"{tail.partition(',')[0]}, {state}" for tail in tails for state in (OFF, ON)),
    ]
    rows: Rows = []
    for line in LINES_OF_PAPERS[1:]:
        ratios = [
            study.ratio(order, tail, (line, state), (BASE, state))
            for tail in tails
            for state in (OFF, ON)
        ]
        rows.append((line, [*map(_ratio, ratios)]))
    own = [study.ratio(order, tail, (BASE, ON), (BASE, OFF)) for tail in tails]
    rows.append((f"{BASE}, on over off", ["", _ratio(own[0]), "", _ratio(own[1])]))
    return heads, rows


def _ratio(ratio: Ratio | None) -> str:
    """A ratio, in brackets if its interval contains 1."""
    if ratio is None:
        return "–"
    return f"({ratio.ratio:.2f})" if ratio.order == UNDECIDED else f"{ratio.ratio:.2f}"


def verdict(study: Suspensions) -> list[str]:
    """The outcome, in words."""
    answers = study.agreements()
    lines = []
    for words, answer in (
        (f"within {100 * BAND:.0f} % or within the published bound", True),
        ("not", False),
        ("no simulated number", None),
    ):
        names = [name for name, value in answers.items() if value is answer]
        if names:
            lines.append(f"{words[0].upper()}{words[1:]}: {'; '.join(names)}.")
    return lines


LEFT = (
    "The device, requests, answers and proposals of [combined](combined.md), each line changing one"
    " answer of the conventional one. Its device is one of the serial model with an interconnect,"
    " which can suspend nothing. So it is run in the pipelined model without the interconnect, and"
    f" without the answer `selective`. {100 * SWEPT_LIVE:.0f} % of the flash are live; requests"
    f" arrive at {LOAD:g} of the rate that the conventional line sustains without suspension,"
    " oldest first. Numbers are p99.9 over that of the conventional line with the same"
    " suspension: the geometric mean over six workloads, of reads over the three that read, in"
    " brackets if the 95 % interval over three seeds contains 1. The last row compares the"
    " conventional line with suspension and without. `no collection` has six times the blocks: the"
    " most that an answer can gain. Fixed before its first run, in"
    " `lab/ssdlab_lab/reproduce/suspension/schemes.py`.",
)
FOUND = (
    "The emulator with suspension: median, p99, mean and reads per second agree. That p99 does was"
    " not expected (below): here a read waits for the reads of copies on its die, too, which"
    " nothing suspends. It may be a coincidence. Which rules the emulator had then is not known in"
    " detail: in one version of its source no read waits for another, which bounds a read by 50"
    " us; in its present documentation reads wait for each other, and a read can wait 9 ms for the"
    " 224 copies of a line on its die. Neither gives a p99.99 of 2,671 us. It moves the 14,336"
    " pages of a line in the thread that also serves requests; whether that takes 2.7 ms was not"
    " tested.",
    "The emulator without suspension: p99 agrees, since both are a whole collection, and so do the"
    " collections: 30,640 reads (766/s for 40 s) of 1,295 us take 39.7 s, which are 630 reads of"
    " 55.8 ms and 30,010 of 150 us. Simulated are 626 collections; in a run, 624 reads take 53 ms,"
    " 746 the 2 ms of an erase, and 41,374 take 125 us. These last decide median, mean and reads"
    " per second, which do not agree. Time of the guest is not the reason, since with suspension"
    " the medians differ by 1 us. A quarter of the simulated reads find their die idle (9,777 of"
    " 42,744 take 40 us); how many do in the emulator is not published. 42,500 reads are too few"
    " for a p99.99. The longest takes 56.3 ms, one collection, where the emulator can book two"
    " lines at once, which is its 111.7 ms.",
    "Writes per second: a quarter of the simulated ones, those of one job, is 9,831 without and"
    " 9,195 with suspension, 18 % and 12 % above the published ones. The drive begins with 51"
    " erased lines and ends with 32 to 39, and those pages are written without a collection. A"
    " collection gains 2,048 pages: 626 in 40 s are 32,050 writes a second, 8,013 for one job"
    " (-3.8 %). For the same reason the change by suspension is -6.5 %: lines are collected in"
    " waves, and the runs end at different places of a wave. Collections fall by 1.0 %, where -1.6"
    " % is published for writes. A part of this study that left out the first 500,000 requests was"
    " run and dropped: they take 13 s without suspension and 3.5 s with it, different stretches of"
    " the waves.",
    "The simulation: the published -50.5 % belongs to the published doubling. Where programs and"
    " erases double the latency of reads (load 0.1: 2.17 and 2.22 times), suspension lowers it by"
    " 48.3 % and 52.8 %, on average 50.6 %, and raises that of writes by 5.2 % and 2.5 %, on"
    " average 3.9 %. At higher loads they multiply it by 3.4 to 6.0, and suspension gains more and"
    " costs writes more. The other number, -75.4 % over first come, asks for read priority to"
    " halve the latency. With Poisson arrivals it does so at load 0.4 only; at 0.1 it lowers it by"
    " 7 %. A recorded trace has bursts, in which reads queue behind writes at a low mean load. The"
    " traces were not available, so that is untested.",
    "With suspension, the papers' policies hardly lower read latencies further."
    " Under collection first, `as needed` lowers p99.9 of reads to 0.15 without suspension and to"
    " 1.00 with it, and even a drive that never collects is at 0.96. Under oldest first such a"
    " drive is at 0.72, and no answer comes below 0.96. Closing a channel loses the gain of"
    " suspension, since a read that is closed out suspends nothing: 54 and 40 times. For writes"
    " suspension replaces no answer: their ratios with it and without it differ by at most 4 %.",
)
"""What was found, in words."""


def _tables(study: Suspensions) -> dict[str, tuple[tuple[str, ...], list[tuple[list[str], Rows]]]]:
    """Texts and tables by title."""
    return {
        f"The emulator: {EMULATOR_SOURCE}": (EMULATED, [emulated(study)]),
        f"The simulation: {PAPER_SOURCE}": (SIMULATED, [averages(study), simulated(study)]),
        "What suspension leaves to the answers of the papers": (
            LEFT,
            [left(study, order) for order in orders(study.quick)],
        ),
    }


def markdown(study: Suspensions) -> str:
    """The page as Markdown."""
    command = f"ssdlab reproduce {NAME}{' --quick' if study.quick else ''}"
    lines = [f"<!-- Written by `{command}`. -->", "", f"# {TITLE}", ""]
    lines += [text for paragraph in (*ABOUT, *study.remarks()) for text in (paragraph, "")]
    lines += ["## Result", "", *(f"- {text}" for text in verdict(study)), ""]
    lines += [text for paragraph in FOUND for text in (paragraph, "")]
    for title, (texts, tables) in _tables(study).items():
        lines += [f"## {title}", ""]
        for heads, rows in tables:
            lines += table_of(heads, rows)
        lines += [text for paragraph in texts for text in (paragraph, "")]
    lines.append(study.provenance(command))
    return "\n".join(lines).rstrip() + "\n"


def page(study: Suspensions) -> str:
    """The page as HTML."""
    items = "".join(f"<li>{prose(text)}</li>" for text in verdict(study))
    notes = "".join(f"<p>{prose(text)}</p>" for text in (*ABOUT, *FOUND))
    sections = [
        Section("result", "Result", f"{notes}<ul>{items}</ul>" + warnings_box(study.remarks()))
    ]
    for at, (title, (texts, tables)) in enumerate(_tables(study).items()):
        content = "".join(html_table(heads, rows, f"{title}: {heads[0]}") for heads, rows in tables)
        content += "".join(f"<p>{prose(text)}</p>" for text in texts)
        sections.append(Section(f"part-{at}", title, content))
    lead = f'<p class="lead">{TITLE} · ssdlab {escape(described())}</p>'
    return document(TITLE, lead, sections)


def to_json(study: Suspensions) -> str:
    """The text of reproduction.json."""
    runs: list[dict[str, Any]] = [
        {**place._asdict(), **{name: measure(report) for name, measure in MEASURES.items()}}
        for place, report in study.reports.items()
    ]
    return json_of(study, verdict(study), runs)
