"""The score of a reproduction: the first section of its page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ssdlab.html.page import prose
from ssdlab.html.page import table as html_table
from ssdlab_lab.reproduce.matrix import Source
from ssdlab_lab.reproduce.readings_page import markdown_table
from ssdlab_lab.reproduce.scoring import BAND, Count, Order, Score
from ssdlab_lab.reproduce.tables import Number, half_width, mean_of, number

TITLE = "Score"
DETAILS = "Score in detail"
LEAD = (
    "A gain is the latency of the best baseline over that of the proposed scheme. *direction*:"
    f" better, worse, or no change (within {100 * (BAND - 1):.0f} % of 1), as published. *near*:"
    " the logarithm of the gain is within a factor of two of the published one; where the paper"
    " reports no change, ours is near if it is no change, too. *error*: typical factor between a"
    " gain here and the published one. The predictions below ours need no simulator and are scored"
    " on the same gains: a proposed scheme that is always better, one that changes nothing, and"
    " equal gains everywhere, namely the geometric mean of the published ones. *rank correlation*:"
    " Spearman's, over the gains."
)
SEEDS = "Each seed alone"

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
    detail: bool = False
    """It belongs in the appendix."""


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
        Grid(MET, (MET_HEAD, *heads), outcomes, detail=True),
        Grid(BY_TABLE, ("table", *heads), by_table, detail=True),
        Grid(
            ORDER,
            ORDER_HEADS,
            [row for both in scored.items() for row in _orders(*both)],
            detail=True,
        ),
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


def seeds(several: Sequence[Score]) -> Grid:
    """The scores of single seeds."""
    lines = [("direction", [float(one.ours.direction) for one in several])]
    lines.append(("near", [float(one.ours.near or 0) for one in several]))
    lines.append(("error of the gains, factor", [one.ours.error or 1.0 for one in several]))
    known = [one.correlation for one in several if one.correlation is not None]
    lines.append(("rank correlation", known))
    cells = several[0].ours.cells
    rows = [
        (
            f"{name} of {cells}" if name in ("direction", "near") else name,
            [
                _rho(mean_of(values)),
                "–" if (half := half_width(values)) is None else f"{half:.2f}",
                f"{_rho(min(values))} to {_rho(max(values))}" if values else "–",
            ],
        )
        for name, values in lines
    ]
    heads = (f"{len(several)} seeds", "mean", "half the 95 % interval", "least and most")
    return Grid(SEEDS, heads, rows)


def _html(several: Sequence[Grid]) -> str:
    return "".join(
        html_table(
            list(grid.head),
            [(label.replace("*", ""), [prose(cell) for cell in line]) for label, line in grid.rows],
            grid.title or TITLE,
        )
        for grid in several
    )


def score_html(scores: Mapping[Source, Score], by_seed: Sequence[Score] = ()) -> str:
    """The section of the page."""
    shown = [grid for grid in grids(scores) if not grid.detail]
    shown[1:1] = [seeds(by_seed)] if len(by_seed) > 1 else []
    said = "".join(f"<p>{prose(one)}</p>" for one in verdicts(scores))
    return f"{said}<p>{prose(LEAD.replace('*', ''))}</p>" + _html(shown)


def details_html(scores: Mapping[Source, Score]) -> str:
    """The details, for the appendix."""
    return _html([grid for grid in grids(scores) if grid.detail])


def verdicts(scores: Mapping[Source, Score]) -> list[str]:
    """Whether each source does better than predictions that need no simulator, in words."""
    said = []
    for source, one in scores.items():
        if not one.ours.cells:
            continue
        direction = max(simple.direction for simple in one.trivial.values())
        near = max(simple.near or 0 for simple in one.trivial.values())
        better = one.ours.direction > direction, (one.ours.near or 0) > near
        how = {
            (True, True): "The simulator predicts both direction and size better.",
            (True, False): "The simulator predicts the direction better, but not the size.",
            (False, True): "The simulator predicts the size better, but not the direction.",
            (False, False): "The simulator predicts neither better.",
        }[better]
        said.append(
            f"On {source} requests {one.ours.direction} of {one.ours.cells} gains have the"
            f" published direction and {one.ours.near} are near; the best predictions without a"
            f" simulator have {direction} and {near}. {how}"
        )
    return said


def _markdown(several: Sequence[Grid]) -> list[str]:
    lines = []
    for grid in several:
        lines += [f"### {grid.title}", ""] if grid.title else []
        lines += markdown_table(grid.head, grid.rows)
    return lines


def score_markdown(scores: Mapping[Source, Score]) -> list[str]:
    """The first lines of the Markdown page."""
    shown = [grid for grid in grids(scores) if not grid.detail]
    said = [text for one in verdicts(scores) for text in (one, "")]
    return [f"## {TITLE}", "", *said, LEAD, "", *_markdown(shown)]


def seeds_markdown(by_seed: Sequence[Score]) -> list[str]:
    """The lines on single seeds; none if there is only one."""
    return _markdown([seeds(by_seed)]) if len(by_seed) > 1 else []


def details_markdown(scores: Mapping[Source, Score]) -> list[str]:
    """The lines of the appendix."""
    several = [grid for grid in grids(scores) if grid.detail]
    return [f"## {DETAILS}", "", *_markdown(several)]
