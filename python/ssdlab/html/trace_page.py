"""The page of a trace, or of two side by side."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from ssdlab.html.page import Section, document, figures, loss_banner, table, warnings_box
from ssdlab.html.trace_plots import trace_figures
from ssdlab.traces.table import Grid, grids

if TYPE_CHECKING:
    from ssdlab.traces.info import Info

HEADLINE = (
    ("trace", "requests"),
    ("trace", "duration"),
    ("trace", "write share (of reads and writes)"),
    ("trace", "sequential, by operation"),
    ("pages of 4 KiB", "distinct bytes written"),
    ("pages of 4 KiB", "overwrite factor"),
    ("pages of 4 KiB", "writes to the hottest 20 %"),
    ("pages of 4 KiB", "page reads after a write"),
)
"""The statistics shown first: title and label of their tables."""
NOTE = (
    '<p class="note">Statistics of the file as it stands, not fitted to a device. Pages are 4 KiB.'
    " docs/trace-info.md defines every number.</p>"
)
MOST_LINES = 1000
"""Lines of a table: a trace may have thousands of volumes."""


def trace_page(infos: Sequence[Info]) -> str:
    """The page. Its tables contain the output of `trace info`."""
    grids_ = list(grids(infos))
    names = [info.source.file for info in infos]
    sections = [
        Section("numbers", "Headline", _cards(grids_) + NOTE),
        Section("plots", "Plots", figures(trace_figures(infos))),
        Section("all", "All numbers", f'<div class="tables">{"".join(map(_table, grids_))}</div>'),
    ]
    sources = [info.source for info in infos]
    loss = loss_banner(source.loss for source in sources)
    descriptions = (
        f"{source.file}: {source.format}, {source.lines:,} lines, {source.units}"
        for source in sources
    )
    notes = [text for source in sources for text in source.warnings]
    lead = f'{loss}<p class="lead">{escape(" and ".join(descriptions))}</p>'
    lead += warnings_box(notes) if notes else ""
    return document(" and ".join(name.rpartition("/")[2] for name in names), lead, sections)


def _cards(grids_: Sequence[Grid]) -> str:
    lines = {(grid.title, label): cells for grid in grids_ for label, cells in grid.lines}
    cards = []
    for key in HEADLINE:
        value, *second = lines[key]
        second_value = f"<small>second {escape(second[0])}</small>" if second else ""
        cards.append(f"<div><dt>{escape(key[1])}</dt><dd>{escape(value)}{second_value}</dd></div>")
    return f'<dl class="cards">{"".join(cards)}</dl>'


def _table(grid: Grid) -> str:
    rows = [(label, [escape(cell) for cell in cells]) for label, cells in grid.lines]
    text = table(["", *grid.columns], rows[:MOST_LINES], grid.title)
    if len(rows) > MOST_LINES:
        text += f'<p class="note">The first {MOST_LINES:,} of {len(rows):,}.</p>'
    return text
