"""A reproduction as an HTML page and as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from ssdlab.html.page import Section, document, figures, prose, warnings_box
from ssdlab.html.page import table as html_table
from ssdlab.versions import described
from ssdlab_lab.reproduce.matrix import Source
from ssdlab_lab.reproduce.paper import Decided, Paper
from ssdlab_lab.reproduce.pictures import Picture, files_of, markdown_of, pictures
from ssdlab_lab.reproduce.readings import Read
from ssdlab_lab.reproduce.readings_page import markdown_table, readings_html, readings_markdown
from ssdlab_lab.reproduce.result import Reproduction
from ssdlab_lab.reproduce.score_page import (
    DETAILS,
    TITLE,
    details_html,
    details_markdown,
    score_html,
    score_markdown,
    seeds_markdown,
)
from ssdlab_lab.reproduce.scoring import verdict
from ssdlab_lab.reproduce.tables import Number, Row, Table, number

DECISIONS = "Decisions and findings"
PLOTS = "The tables as plots"
APPENDIX = "Appendix"
DECIDED = "Decided before the proposed scheme was run"
DECIDED_HEADS = ("question", "decision", "basis", "reason")


def decided_lead(decided: Decided) -> str:
    """Introduction to the table of decisions."""
    sibling = (
        " *sibling paper*: a paper of the same group says so of the same machinery;"
        if any(one.basis == "sibling paper" for one in decided.decisions)
        else ""
    )
    return (
        f"These stand since {decided.date}, before the first run of the proposed scheme. *text*:"
        f" the paper says so;{sibling} *ours*: it is silent, and the reason is all there is."
    )


def _decisions(paper: Paper) -> list[tuple[str, list[str]]]:
    several = paper.decided.decisions if paper.decided else ()
    return [(one.question, [one.choice, one.basis, one.why]) for one in several]


def decisions_markdown(paper: Paper) -> list[str]:
    """The lines of the decisions; none if they are in the notes."""
    if paper.decided is None:
        return []
    lines = [f"### {DECIDED}", "", decided_lead(paper.decided), ""]
    return [*lines, *markdown_table(DECIDED_HEADS, _decisions(paper)), "### Notes", ""]


def _decided_section(paper: Paper) -> list[Section]:
    if paper.decided is None:
        return []
    lead = prose(decided_lead(paper.decided).replace("*", ""))
    items = "".join(
        f"<li><p><strong>{prose(one.question)}</strong>: {prose(one.choice)}"
        f' <em>({prose(one.basis)})</em></p><p class="note">{prose(one.why)}</p></li>'
        for one in paper.decided.decisions
    )
    return [Section("decided", DECIDED, f"<p>{lead}</p><ul>{items}</ul>")]


def lines_of(table: Table, sources: Sequence[Source]) -> Iterator[tuple[str, list[str]]]:
    """Lines of a table: published, then ours from every source, of each row."""
    for row in table.rows:
        if any(value is not None for value in row.published):
            yield f"{row.label}, published", [number(value) for value in row.published]
        for source in sources:
            values = row.ours.get(source, ())
            if any(value is not None for value in values):
                cells = [number(value) + _verdict(row, i, value) for i, value in enumerate(values)]
                yield f"{row.label}, {source}", cells


def _verdict(row: Row, column: int, value: Number) -> str:
    word = verdict(row.published[column], value, row.neutral)
    return "" if word is None else f" ({word})"


def _claims(done: Reproduction) -> list[tuple[str, list[str]]]:
    """Lines of the checklist."""
    return [
        (
            one.claim.text,
            [
                one.claim.where,
                one.claim.metric,
                *(
                    f"{found.verdict}: {found.numbers}" if found.numbers else found.verdict
                    for source in done.scores
                    for found in [one.findings[source]]
                ),
            ],
        )
        for one in done.claims
    ]


def _checklist(done: Reproduction) -> str:
    """The claims with their verdicts, in words."""
    items = []
    for one in done.claims:
        verdicts = "".join(
            f'<p><strong class="{"" if found.verdict == "holds" else "bad"}">{source}:'
            f" {found.verdict}</strong> {prose(found.numbers)}</p>"
            for source, found in one.findings.items()
        )
        items.append(
            f"<li><p>{prose(one.claim.text)} <em>({prose(one.claim.where)})</em></p>{verdicts}"
            f'<p class="note">{prose(one.claim.metric)}</p></li>'
        )
    return f'<ol id="checklist">{"".join(items)}</ol>'


def _fill(done: Reproduction) -> list[tuple[str, list[str]]]:
    return [
        (name, [by_source.get(source, "–") for source in done.scores])
        for name, by_source in done.fill.items()
    ]


def _table_html(table: Table, sources: Sequence[Source]) -> str:
    rows = [(label, [prose(cell) for cell in line]) for label, line in lines_of(table, sources)]
    note = f'<p class="note">{prose(table.note)}</p>' if table.note else ""
    return html_table([table.unit, *table.columns], rows, table.title, table.key) + note


def _table_markdown(table: Table, sources: Sequence[Source]) -> list[str]:
    rows = [*lines_of(table, sources)]
    lines = [f"### {table.title}", "", *markdown_table([table.unit, *table.columns], rows)]
    return [*lines, table.note, ""] if table.note else lines


def _reading_tables(done: Reproduction) -> Sequence[Table]:
    return () if done.readings is None else done.readings.tables


def _readings(done: Reproduction, read: Read) -> str:
    tables = (_table_html(table, [*done.scores]) for table in read.tables)
    return readings_html(read) + "".join(tables)


def _drawn(done: Reproduction) -> dict[str, Picture]:
    return pictures(done.paper.name, done.tables, [*done.scores])


def drawn(done: Reproduction) -> dict[str, str]:
    """The files of the pictures, which the Markdown shows."""
    return files_of(_drawn(done))


def _of_gains(shown: dict[str, Picture]) -> list[Picture]:
    return [one for key, one in shown.items() if key.startswith("gains ")]


def _of_tables(shown: dict[str, Picture]) -> list[Picture]:
    return [one for key, one in shown.items() if not key.startswith("gains ")]


def page(done: Reproduction) -> str:
    """The page of a reproduction."""
    sources, shown = [*done.scores], _drawn(done)
    texts = [*done.paper.notes.split("\n\n"), done.paper.setting, *done.provenance()]
    paragraphs = "".join(f"<p>{prose(text)}</p>" for text in texts)
    tables = "".join(_table_html(table, sources) for table in done.tables)
    fill = [(name, [prose(cell) for cell in line]) for name, line in _fill(done)]
    gains = "".join(f"<figure>{one.svg}</figure>" for one in _of_gains(shown))
    plots = "".join(
        f"<figure>{one.svg}<figcaption>{prose(one.title)}</figcaption></figure>"
        for one in _of_tables(shown)
    )
    score = warnings_box(done.remarks()) + score_html(done.scores, done.by_seed) + gains
    sections = [
        Section("score", TITLE, score),
        *_decided_section(done.paper),
        *([Section("plots", PLOTS, f'<div class="figures">{plots}</div>')] if plots else []),
        Section("detail", DETAILS, details_html(done.scores)),
        Section("claims", "What the paper claims", _checklist(done)),
        *(
            []
            if done.readings is None
            else [Section("readings", "Other readings", _readings(done, done.readings))]
        ),
        Section("tables", "Tables: published and ours", tables),
        Section("figures", "Figures", figures(done.figures)),
        Section(
            "setting",
            "Setting",
            paragraphs + html_table(["workload", *sources], fill, "Host writes and live data"),
        ),
    ]
    lead = f'<p class="lead">{escape(done.paper.title)} · ssdlab {escape(described())}</p>'
    return document(f"{done.paper.name}, reproduced", lead, sections)


def markdown(done: Reproduction) -> str:
    """The same as Markdown, with the pictures and without the figures over time."""
    sources, shown = [*done.scores], _drawn(done)
    lines = [
        f"<!-- Written by `ssdlab reproduce {done.paper.name}`. -->",
        "",
        f"# {done.paper.name}, reproduced",
        "",
        f"{done.paper.title}.",
        "",
        *score_markdown(done.scores),
        *seeds_markdown(done.by_seed),
        *(line for one in _of_gains(shown) for line in markdown_of(one)),
        f"## {DECISIONS}",
        "",
        *decisions_markdown(done.paper),
        *done.paper.notes.strip().splitlines(),
        "",
        *([f"## {PLOTS}", ""] if _of_tables(shown) else []),
        *(line for one in _of_tables(shown) for line in markdown_of(one)),
        f"# {APPENDIX}",
        "",
        *(text for one in done.provenance() for text in (one, "")),
        done.paper.setting,
        "",
        *(text for one in done.remarks() for text in (one, "")),
        *details_markdown(done.scores),
        "## Claims",
        "",
        *markdown_table(["claim", "where", "metric", *sources], _claims(done)),
        *([] if done.readings is None else readings_markdown(done.readings)),
        *(line for table in _reading_tables(done) for line in _table_markdown(table, sources)),
        "## Tables",
        "",
    ]
    for table in done.tables:
        lines += _table_markdown(table, sources)
    lines += [
        "## Host writes and live data",
        "",
        *markdown_table(["workload", *sources], _fill(done)),
    ]
    return "\n".join(lines).rstrip() + "\n"
