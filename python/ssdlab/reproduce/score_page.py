"""The score of a reproduction to look at: the first section of its page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape

from ssdlab.html.page import table as html_table
from ssdlab.reproduce.matrix import Source
from ssdlab.reproduce.readings_page import markdown_table
from ssdlab.reproduce.scoring import BAND, Count, Order, Score
from ssdlab.reproduce.tables import Number, number

TITLE = "Score"
LEAD = (
    "A gain is the latency of the best baseline over that of the proposed scheme. *direction*:"
    f" better, worse, or no change (within {100 * (BAND - 1):.0f} % of 1), as published. *near*:"
    " the logarithm of the gain is within a factor of two of the published one; near no change is"
    " what is no change here. *error*: typical factor between a gain here and the published one."
    " The predictions below ours need no simulator and are scored on the same gains: a proposed"
    " scheme that is always better, one that changes nothing, and equal gains everywhere, namely"
    " the geometric mean of the published ones. *rank correlation*: Spearman's, over the gains."
)
HEADS = ("prediction", "direction", "near", "error of the gains, factor", "rank correlation")
MET, MET_HEAD = "Published outcomes, and how many of them come out here", "published"
BY_TABLE = "Gains by table: direction, near, rank correlation over workloads"
ORDER = "Order of the schemes in pairs"
ORDER_HEADS = (
    "pairs",
    "number",
    "as published",
    "as published if the proposed scheme is always better",
    "as published if all are equal",
)
ERRORS = "Absolute errors of the latencies"
ERROR_HEADS = ("latencies", "number", "here / published", "typical factor", "largest factor")


@dataclass(frozen=True)
class Grid:
    """A table of the section."""

    title: str
    head: tuple[str, ...]
    rows: list[tuple[str, list[str]]]


def grids(scores: Mapping[Source, Score]) -> list[Grid]:
    """The tables of the section, for all sources that have published gains."""
    scored = {source: one for source, one in scores.items() if one.ours.cells}
    if not scored:
        return []
    first = next(iter(scored.values()))
    heads = tuple(f"{source} requests" for source in scored)
    outcomes = [
        (name, [f"{one.met[name].here} of {one.met[name].published}" for one in scored.values()])
        for name in first.met
    ]
    titles = dict.fromkeys(measure.title for one in scored.values() for measure in one.measures)
    by_table = [(title, [_measure(one, title) for one in scored.values()]) for title in titles]
    several = [
        Grid(
            "", HEADS, [row for source, one in scored.items() for row in _predictions(source, one)]
        ),
        Grid(MET, (MET_HEAD, *heads), outcomes),
        Grid(BY_TABLE, ("table", *heads), by_table),
        Grid(ORDER, ORDER_HEADS, [row for both in scored.items() for row in _orders(*both)]),
        Grid(ERRORS, ERROR_HEADS, [row for both in scored.items() for row in _errors(*both)]),
    ]
    return [grid for grid in several if grid.rows]


def _predictions(source: Source, one: Score) -> list[tuple[str, list[str]]]:
    rows = [(f"**here, {source} requests**", _count(one.ours, one.correlation))]
    return [*rows, *((name, _count(count, None)) for name, count in one.trivial.items())]


def _count(one: Count, correlation: Number) -> list[str]:
    near = "–" if one.near is None else f"{one.near} of {one.cells}"
    return [f"{one.direction} of {one.cells}", near, number(one.error), _rho(correlation)]


def _rho(value: Number) -> str:
    return "–" if value is None else f"{value:.2f}".replace("-", "−")


def _measure(one: Score, title: str) -> str:
    for measure in one.measures:
        if measure.title == title:
            cells, found = measure.count.cells, measure.count
            rho = _rho(measure.correlation)
            return f"{found.direction} of {cells}, {found.near} of {cells}, {rho}"
    return "–"


def _orders(source: Source, one: Score) -> list[tuple[str, list[str]]]:
    named: tuple[tuple[str, Order], ...] = (
        ("proposed scheme and a baseline", one.with_proposed),
        ("two baselines", one.among_baselines),
    )
    return [
        (
            f"{name}, {source} requests",
            [
                str(found.pairs),
                str(found.agree),
                "–" if found.first is None else str(found.first),
                str(found.tied),
            ],
        )
        for name, found in named
        if found.pairs
    ]


def _errors(source: Source, one: Score) -> list[tuple[str, list[str]]]:
    return [
        (
            f"{found.schemes}, {found.kind}, {source} requests",
            [str(found.cells), *map(number, (found.centre, found.typical, found.largest))],
        )
        for found in one.errors
        if found.cells
    ]


def score_html(scores: Mapping[Source, Score]) -> str:
    """The section of the page."""
    parts = [f"<p>{escape(LEAD.replace('*', ''))}</p>"]
    for grid in grids(scores):
        rows = [
            (label.replace("*", ""), [escape(cell) for cell in line]) for label, line in grid.rows
        ]
        parts.append(html_table(list(grid.head), rows, grid.title or TITLE))
    return "".join(parts)


def score_markdown(scores: Mapping[Source, Score]) -> list[str]:
    """The lines of the Markdown page."""
    lines = [f"## {TITLE}", "", LEAD, ""]
    for grid in grids(scores):
        lines += [f"### {grid.title}", ""] if grid.title else []
        lines += markdown_table(grid.head, grid.rows)
    return lines
