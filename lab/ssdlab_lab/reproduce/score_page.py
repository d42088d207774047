"""The score of a reproduction: the first section of its page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ssdlab.html.page import prose
from ssdlab.html.page import table as html_table
from ssdlab_lab.reproduce.matrix import Source
from ssdlab_lab.reproduce.readings_page import markdown_table
from ssdlab_lab.reproduce.scoring import BAND, FACTOR, Count, Order, Score
from ssdlab_lab.reproduce.tables import Number, half_width, mean_of, number

TITLE = "Score"
DETAILS = "Score in detail"
LEAD = (
    "A gain is the latency of the best baseline over that of the proposed scheme. *direction*:"
    f" better, worse, or no change (within {100 * (BAND - 1):.0f} % of 1), as published. *near*:"
    " the logarithm of the gain is within a factor of two of the published one, or neither gain is"
    " a change. *error*: typical factor between a gain here and the published one. *rank"
    " correlation*: Spearman's, over the gains. The predictions below ours need no simulator: the"
    " proposed scheme is always better, it changes nothing, or every gain is the geometric mean of"
    " the published ones."
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
    scores_with_cells = {source: score for source, score in scores.items() if score.ours.cells}
    if not scores_with_cells:
        return []
    first = next(iter(scores_with_cells.values()))
    heads = tuple(f"{source} requests" for source in scores_with_cells)
    outcomes = [
        (
            name,
            [
                f"{score.met[name].here} of {score.met[name].published}"
                for score in scores_with_cells.values()
            ],
        )
        for name in first.met
    ]
    titles = dict.fromkeys(
        measure.title for score in scores_with_cells.values() for measure in score.measures
    )
    by_table = [
        (title, [_measure(score, title) for score in scores_with_cells.values()])
        for title in titles
    ]
    candidates = [
        Grid(
            "",
            HEADS,
            [
                row
                for source, score in scores_with_cells.items()
                for row in _predictions(source, score)
            ],
        ),
        Grid(MET, (MET_HEAD, *heads), outcomes, detail=True),
        Grid(BY_TABLE, ("table", *heads), by_table, detail=True),
        Grid(
            ORDER,
            ORDER_HEADS,
            [
                row
                for source_and_score in scores_with_cells.items()
                for row in _orders(*source_and_score)
            ],
            detail=True,
        ),
        Grid(
            ERRORS,
            ERROR_HEADS,
            [
                row
                for source_and_score in scores_with_cells.items()
                for row in _errors(*source_and_score)
            ],
            detail=True,
        ),
    ]
    return [grid for grid in candidates if grid.rows]


def _predictions(source: Source, score: Score) -> list[tuple[str, list[str]]]:
    rows = [(f"**here, {source} requests**", _count(score.ours, score.correlation))]
    return [*rows, *((name, _count(count, None)) for name, count in score.trivial.items())]


def _count(count: Count, correlation: Number) -> list[str]:
    near = "–" if count.near is None else f"{count.near} of {count.cells}"
    return [f"{count.direction} of {count.cells}", near, number(count.error), _rho(correlation)]


def _rho(value: Number) -> str:
    return "–" if value is None else f"{value:.2f}".replace("-", "−")


def _measure(score: Score, title: str) -> str:
    for measure in score.measures:
        if measure.title == title:
            cells, count = measure.count.cells, measure.count
            rho = _rho(measure.correlation)
            return f"{count.direction} of {cells}, {count.near} of {cells}, {rho}"
    return "–"


def _orders(source: Source, score: Score) -> list[tuple[str, list[str]]]:
    orders: tuple[tuple[str, Order], ...] = (
        ("proposed scheme and a baseline", score.with_proposed),
        ("two baselines", score.among_baselines),
    )
    return [
        (
            f"{name}, {source} requests",
            [
                str(order.pairs),
                str(order.agree),
                "–" if order.first is None else str(order.first),
                str(order.tied),
            ],
        )
        for name, order in orders
        if order.pairs
    ]


def _errors(source: Source, score: Score) -> list[tuple[str, list[str]]]:
    return [
        (
            f"{errors.schemes}, {errors.kind}, {source} requests",
            [str(errors.cells), *map(number, (errors.centre, errors.typical, errors.largest))],
        )
        for errors in score.errors
        if errors.cells
    ]


def seeds(scores: Sequence[Score]) -> Grid:
    """The scores of single seeds."""
    lines = [("direction", [float(score.ours.direction) for score in scores])]
    lines.append(("near", [float(score.ours.near or 0) for score in scores]))
    lines.append(("error of the gains, factor", [score.ours.error or 1.0 for score in scores]))
    correlations = [score.correlation for score in scores if score.correlation is not None]
    lines.append(("rank correlation", correlations))
    cells = scores[0].ours.cells
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
    heads = (f"{len(scores)} seeds", "mean", "half the 95 % interval", "least and most")
    return Grid(SEEDS, heads, rows)


def _html(tables: Sequence[Grid]) -> str:
    return "".join(
        html_table(
            list(grid.head),
            [(label.replace("*", ""), [prose(cell) for cell in line]) for label, line in grid.rows],
            grid.title or TITLE,
        )
        for grid in tables
    )


def score_html(scores: Mapping[Source, Score]) -> str:
    """The section of the page."""
    shown = [grid for grid in grids(scores) if not grid.detail]
    texts = "".join(f"<p>{prose(text)}</p>" for text in verdicts(scores))
    return f"{texts}<p>{prose(LEAD.replace('*', ''))}</p>" + _html(shown)


def details_html(scores: Mapping[Source, Score], by_seed: Sequence[Score] = ()) -> str:
    """The details, for the appendix."""
    alone = [seeds(by_seed)] if len(by_seed) > 1 else []
    return _html([*alone, *(grid for grid in grids(scores) if grid.detail)])


def verdicts(scores: Mapping[Source, Score]) -> list[str]:
    """Whether each source does better than predictions that need no simulator, in words.

    It is said what the gains are worth if the baselines themselves are far from the published ones.
    """
    return [
        " ".join([_compared(source, score), *_far(score)])
        for source, score in scores.items()
        if score.ours.cells
    ]


def _compared(source: Source, score: Score) -> str:
    simple = [*score.trivial.values()]
    direction = max(count.direction for count in simple)
    near = max(count.near or 0 for count in simple)
    error = min(count.error for count in simple if count.error is not None)
    ours, own_error = score.ours, score.ours.error
    assert own_error is not None, "there are gains"
    better = {
        "direction": ours.direction > direction,
        "near gains": (ours.near or 0) > near,
        "error": own_error < error,
    }
    names = [name for name, is_better in better.items() if is_better]
    outcome = {0: "none of the three", len(better): "all three"}.get(
        len(names), f"{' and '.join(names)}, not in the rest"
    )
    return (
        f"On {source} requests {ours.direction} of {ours.cells} gains have the published direction,"
        f" {ours.near} are near, and the typical error is a factor of {number(own_error)}; the best"
        f" predictions without a simulator have {direction}, {near} and {number(error)}. The"
        f" simulator is better in {outcome}."
    )


def _far(score: Score) -> list[str]:
    """What is said if the mean latencies of the baselines are not those published."""
    for errors in score.errors:
        is_of_means = (errors.schemes, errors.kind) == ("baselines", "mean")
        if is_of_means and errors.typical is not None and errors.typical > FACTOR:
            return [
                "The mean latencies of the baselines are off by a factor of"
                f" {number(errors.typical)}, so agreement of the gains means little here."
            ]
    return []


def _markdown(tables: Sequence[Grid]) -> list[str]:
    lines = []
    for grid in tables:
        lines += [f"### {grid.title}", ""] if grid.title else []
        lines += markdown_table(grid.head, grid.rows)
    return lines


def score_markdown(scores: Mapping[Source, Score]) -> list[str]:
    """The first lines of the Markdown page."""
    shown = [grid for grid in grids(scores) if not grid.detail]
    texts = [text for paragraph in verdicts(scores) for text in (paragraph, "")]
    return [f"## {TITLE}", "", *texts, LEAD, "", *_markdown(shown)]


def seeds_markdown(by_seed: Sequence[Score]) -> list[str]:
    """The lines on single seeds; none if there is only one."""
    if len(by_seed) < 2:
        return []
    grid = seeds(by_seed)
    return [f"## {grid.title}", "", *markdown_table(grid.head, grid.rows)]


def details_markdown(scores: Mapping[Source, Score]) -> list[str]:
    """The lines of the appendix."""
    tables = [grid for grid in grids(scores) if grid.detail]
    return [f"## {DETAILS}", "", *_markdown(tables)]
