"""A reproduction as an HTML page and as Markdown."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from html import escape

from ssdlab.config.resolve import load_config
from ssdlab.html.page import Section, document, figures, prose, warnings_box
from ssdlab.html.page import table as html_table
from ssdlab.versions import described
from ssdlab_lab.reproduce.matrix import Source
from ssdlab_lab.reproduce.paper import Decisions, Paper, Scale
from ssdlab_lab.reproduce.papers import READINGS
from ssdlab_lab.reproduce.pictures import Picture, files_of, markdown_of, pictures
from ssdlab_lab.reproduce.readings import PaperReadings
from ssdlab_lab.reproduce.readings_page import (
    SUMMARY,
    SUMMARY_HEADS,
    markdown_table,
    readings_html,
    readings_markdown,
    summary_lead,
    summary_rows,
)
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
CONTRADICTIONS = "What contradicts itself in the paper"
DECIDED = "Decided before the proposed scheme was run"
DECIDED_HEADS = ("question", "decision", "basis", "reason")


def decided_lead(decided: Decisions) -> str:
    """Introduction to the table of decisions."""
    sibling = (
        " *sibling paper*: a paper of the same group says so of the same machinery;"
        if any(decision.basis == "sibling paper" for decision in decided.decisions)
        else ""
    )
    seen = f" Not blind: {decided.seen}" if decided.seen else ""
    return (
        f"These stand since {decided.date}, before the first run of the proposed scheme under them."
        f"{seen} *text*: the paper says so;{sibling} *ours*: it is silent, and the reason is all"
        " there is."
    )


def _decisions(paper: Paper) -> list[tuple[str, list[str]]]:
    decisions = paper.decided.decisions if paper.decided else ()
    return [
        (decision.question, [decision.choice, decision.basis, decision.why])
        for decision in decisions
    ]


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
        f"<li><p><strong>{prose(decision.question)}</strong>: {prose(decision.choice)}"
        f' <em>({prose(decision.basis)})</em></p><p class="note">{prose(decision.why)}</p></li>'
        for decision in paper.decided.decisions
    )
    return [Section("decided", DECIDED, f"<p>{lead}</p><ul>{items}</ul>")]


def preset_text(paper: Paper) -> str:
    """How the main runs differ from the presets named after the paper; empty if they do not."""
    keys: dict[str, str] = {}
    presets = []
    for scheme in READINGS[paper.name].schemes(Scale(quick=False)):
        plain = load_config(scheme.preset).values
        changed = {
            key: json.dumps(value)
            for key, value in scheme.keys.items()
            if load_config(scheme.preset, set={key: value}).values != plain
        }
        keys |= changed
        presets += [f"`{scheme.preset}`"] if changed else []
    if not keys:
        return ""
    listed = ", ".join(f"`{key} = {value}`" for key, value in keys.items())
    return (
        f"The main runs set {listed}, which their presets do not ({', '.join(presets)}): a preset"
        " alone is another reading, with other gains."
    )


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


def _claims(reproduction: Reproduction) -> list[tuple[str, list[str]]]:
    """Lines of the checklist."""
    return [
        (
            judged.claim.text,
            [
                judged.claim.where,
                judged.claim.metric,
                *(
                    f"{finding.verdict}: {finding.numbers}" if finding.numbers else finding.verdict
                    for source in reproduction.scores
                    for finding in [judged.findings[source]]
                ),
            ],
        )
        for judged in reproduction.claims
    ]


def _checklist(reproduction: Reproduction) -> str:
    """The claims with their verdicts, in words."""
    items = []
    for judged in reproduction.claims:
        verdicts = "".join(
            f'<p><strong class="{"" if finding.verdict == "holds" else "bad"}">{source}:'
            f" {finding.verdict}</strong> {prose(finding.numbers)}</p>"
            for source, finding in judged.findings.items()
        )
        items.append(
            f"<li><p>{prose(judged.claim.text)} <em>({prose(judged.claim.where)})</em></p>"
            f"{verdicts}"
            f'<p class="note">{prose(judged.claim.metric)}</p></li>'
        )
    return f'<ol id="checklist">{"".join(items)}</ol>'


def _fill(reproduction: Reproduction) -> list[tuple[str, list[str]]]:
    return [
        (name, [by_source.get(source, "–") for source in reproduction.scores])
        for name, by_source in reproduction.fill.items()
    ]


def _table_html(table: Table, sources: Sequence[Source]) -> str:
    rows = [(label, [prose(cell) for cell in line]) for label, line in lines_of(table, sources)]
    note = f'<p class="note">{prose(table.note)}</p>' if table.note else ""
    return html_table([table.unit, *table.columns], rows, table.title, table.key) + note


def _table_markdown(table: Table, sources: Sequence[Source]) -> list[str]:
    rows = [*lines_of(table, sources)]
    lines = [f"### {table.title}", "", *markdown_table([table.unit, *table.columns], rows)]
    return [*lines, table.note, ""] if table.note else lines


def _reading_tables(reproduction: Reproduction) -> Sequence[Table]:
    return () if reproduction.readings is None else reproduction.readings.tables


def _readings(reproduction: Reproduction, read: PaperReadings) -> str:
    tables = (_table_html(table, [*reproduction.scores]) for table in read.tables)
    return readings_html(read) + "".join(tables)


def _drawn(reproduction: Reproduction) -> dict[str, Picture]:
    return pictures(reproduction.paper.name, reproduction.tables, [*reproduction.scores])


def drawn(reproduction: Reproduction) -> dict[str, str]:
    """The files of the pictures, which the Markdown shows."""
    return files_of(_drawn(reproduction))


def _of_gains(all_pictures: dict[str, Picture]) -> list[Picture]:
    return [picture for key, picture in all_pictures.items() if key.startswith("gains ")]


def _of_tables(all_pictures: dict[str, Picture]) -> list[Picture]:
    return [picture for key, picture in all_pictures.items() if not key.startswith("gains ")]


def page(reproduction: Reproduction) -> str:
    """The page of a reproduction."""
    sources, drawings = [*reproduction.scores], _drawn(reproduction)
    texts = [
        *reproduction.paper.notes.split("\n\n"),
        reproduction.paper.setting,
        *filter(None, [preset_text(reproduction.paper)]),
        *reproduction.provenance(),
    ]
    paragraphs = "".join(f"<p>{prose(text)}</p>" for text in texts)
    tables = "".join(_table_html(table, sources) for table in reproduction.tables)
    fill = [(name, [prose(cell) for cell in line]) for name, line in _fill(reproduction)]
    gains = "".join(f"<figure>{picture.svg}</figure>" for picture in _of_gains(drawings))
    plots = "".join(
        f"<figure>{picture.svg}<figcaption>{prose(picture.title)}</figcaption></figure>"
        for picture in _of_tables(drawings)
    )
    score = warnings_box(reproduction.remarks()) + score_html(reproduction.scores) + gains
    sections = [
        Section("score", TITLE, score),
        *_summary_section(reproduction),
        *_contradictions_section(reproduction.paper),
        *_decided_section(reproduction.paper),
        *([Section("plots", PLOTS, f'<div class="figures">{plots}</div>')] if plots else []),
        Section("detail", DETAILS, details_html(reproduction.scores, reproduction.by_seed)),
        Section("claims", "What the paper claims", _checklist(reproduction)),
        *(
            []
            if reproduction.readings is None
            else [
                Section(
                    "readings", "Other readings", _readings(reproduction, reproduction.readings)
                )
            ]
        ),
        Section("tables", "Tables: published and ours", tables),
        Section("figures", "Figures", figures(reproduction.figures)),
        Section(
            "setting",
            "Setting",
            paragraphs + html_table(["workload", *sources], fill, "Host writes and live data"),
        ),
    ]
    lead = f'<p class="lead">{escape(reproduction.paper.title)} · ssdlab {escape(described())}</p>'
    return document(f"{reproduction.paper.name}, reproduced", lead, sections)


def _summary_markdown(reproduction: Reproduction) -> list[str]:
    """The scores of the main runs and of the readings; none without readings."""
    main, read = reproduction.scores.get("synthetic"), reproduction.readings
    if read is None or main is None:
        return []
    rows = markdown_table(SUMMARY_HEADS, summary_rows(main, read))
    return [f"## {SUMMARY}", "", summary_lead(read), "", *rows]


def _summary_section(reproduction: Reproduction) -> list[Section]:
    main, read = reproduction.scores.get("synthetic"), reproduction.readings
    if read is None or main is None:
        return []
    rows = [
        (title.replace("*", ""), [prose(cell) for cell in cells])
        for title, cells in summary_rows(main, read)
    ]
    text = f"<p>{prose(summary_lead(read).replace('*', ''))}</p>"
    return [Section("summary", SUMMARY, text + html_table(SUMMARY_HEADS, rows, SUMMARY))]


def contradictions_markdown(paper: Paper) -> list[str]:
    """What in the paper excludes one another; none if nothing is known."""
    if not paper.contradictions:
        return []
    return [f"## {CONTRADICTIONS}", "", *(f"- {text}" for text in paper.contradictions), ""]


def _contradictions_section(paper: Paper) -> list[Section]:
    items = "".join(f"<li>{prose(text)}</li>" for text in paper.contradictions)
    return [Section("contradictions", CONTRADICTIONS, f"<ul>{items}</ul>")] if items else []


def markdown(reproduction: Reproduction) -> str:
    """The same as Markdown, with the pictures and without the figures over time."""
    sources, drawings = [*reproduction.scores], _drawn(reproduction)
    lines = [
        f"<!-- Written by `ssdlab reproduce {reproduction.paper.name}`. -->",
        "",
        f"# {reproduction.paper.name}, reproduced",
        "",
        f"{reproduction.paper.title}.",
        "",
        *score_markdown(reproduction.scores),
        *(line for picture in _of_gains(drawings) for line in markdown_of(picture)),
        *_summary_markdown(reproduction),
        *contradictions_markdown(reproduction.paper),
        f"## {DECISIONS}",
        "",
        *decisions_markdown(reproduction.paper),
        *reproduction.paper.notes.strip().splitlines(),
        "",
        *([f"## {PLOTS}", ""] if _of_tables(drawings) else []),
        *(line for picture in _of_tables(drawings) for line in markdown_of(picture)),
        f"# {APPENDIX}",
        "",
        *(text for paragraph in reproduction.provenance() for text in (paragraph, "")),
        *(
            text
            for paragraph in (reproduction.paper.setting, preset_text(reproduction.paper))
            for text in (paragraph, "")
            if paragraph
        ),
        *(text for paragraph in reproduction.remarks() for text in (paragraph, "")),
        *seeds_markdown(reproduction.by_seed),
        *details_markdown(reproduction.scores),
        "## Claims",
        "",
        *markdown_table(["claim", "where", "metric", *sources], _claims(reproduction)),
        *([] if reproduction.readings is None else readings_markdown(reproduction.readings)),
        *(
            line
            for table in _reading_tables(reproduction)
            for line in _table_markdown(table, sources)
        ),
        "## Tables",
        "",
    ]
    for table in reproduction.tables:
        lines += _table_markdown(table, sources)
    lines += [
        "## Host writes and live data",
        "",
        *markdown_table(["workload", *sources], _fill(reproduction)),
    ]
    return "\n".join(lines).rstrip() + "\n"
