"""The page of the study."""

from __future__ import annotations

from html import escape
from typing import Any

from ssdlab.html.page import Section, document, prose, warnings_box
from ssdlab.html.page import table as html_table
from ssdlab.versions import described
from ssdlab_lab.reproduce.study import Rows, json_of, table_of
from ssdlab_lab.reproduce.suspension.choices import (
    BAND,
    COLLECTING,
    EMULATED,
    EMULATOR,
    EMULATOR_SOURCE,
    FIFO,
    FLASHES,
    LINES,
    MORE_WRITE,
    MOST_WRITE,
    NAME,
    OFF,
    ON,
    ONCE_COLLECTING,
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
    MEASURES,
    READ_MEAN,
    WAF,
    Suspensions,
    change,
)

ABOUT = (
    "With `timing.suspend`, a read of the host interrupts the program or erase that its chip runs."
    " Two publications give numbers for it. This page repeats both as far as they are published,"
    f" and gives the error of each number. A number agrees within {100 * BAND:.0f} %. What is not"
    " published was chosen before the first run, in"
    " `lab/ssdlab_lab/reproduce/suspension/choices.py`. One part was added after it, and is marked"
    " as such.",
)


def _number(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:+.1f} %"


def emulated(study: Suspensions, part: str) -> tuple[list[str], Rows]:
    """The emulated drive: published, simulated and error, without and with suspension."""
    heads = ["", *(f"{line}: {what}" for line in (OFF, ON) for what in WHAT)]
    rows: Rows = []
    for measure, lines in PUBLISHED.items():
        cells = []
        for line, published in lines.items():
            found = study.emulated(part, measure, line)
            cells += [_number(published), _number(found), _percent(change(found, published))]
        rows.append((measure, cells))
    fewer = change(PUBLISHED[WRITES][ON], PUBLISHED[WRITES][OFF])
    cells = ["", "", "", _percent(fewer), _percent(study.change_of_writes(part)), ""]
    rows.append((CHANGE_OF_WRITES, cells))
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


FOUND: tuple[str, ...] = ()
"""What was found, in words."""


def _tables(study: Suspensions) -> dict[str, tuple[tuple[str, ...], list[tuple[list[str], Rows]]]]:
    """Texts and tables by title."""
    return {
        f"The emulator: {EMULATOR_SOURCE}": (EMULATED, [emulated(study, EMULATOR)]),
        COLLECTING: ((ONCE_COLLECTING,), [emulated(study, COLLECTING)]),
        f"The simulation: {PAPER_SOURCE}": (SIMULATED, [averages(study), simulated(study)]),
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
    lines.append(f"`{command}`, ssdlab {described()}.")
    return "\n".join(lines).rstrip() + "\n"


def page(study: Suspensions) -> str:
    """The page as HTML."""
    items = "".join(f"<li>{prose(text)}</li>" for text in verdict(study))
    notes = "".join(f"<p>{prose(text)}</p>" for text in (*ABOUT, *FOUND))
    sections = [
        Section("result", "Result", f"{notes}<ul>{items}</ul>" + warnings_box(study.remarks()))
    ]
    for at, (title, (texts, tables)) in enumerate(_tables(study).items()):
        content = "".join(html_table(heads, rows, title) for heads, rows in tables)
        content += "".join(f"<p>{prose(text)}</p>" for text in texts)
        sections.append(Section(f"table-{at}", title, content))
    lead = f'<p class="lead">{TITLE} · ssdlab {escape(described())}</p>'
    return document(TITLE, lead, sections)


def to_json(study: Suspensions) -> str:
    """The text of reproduction.json."""
    runs: list[dict[str, Any]] = [
        {**place._asdict(), **{name: measure(report) for name, measure in MEASURES.items()}}
        for place, report in study.reports.items()
    ]
    return json_of(study, verdict(study), runs)
