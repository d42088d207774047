"""Maps of counts over time and address as SVG: a colour for each cell, none for an empty one."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from xml.sax.saxutils import escape

import numpy as np

from ssdlab.html.axes import grid, labels
from ssdlab.html.layout import BOTTOM, LEFT, RIGHT, WIDTH
from ssdlab.html.plot import Cells
from ssdlab.html.scale import Scale, short

HIGH = 220.0
"""Height of all rows."""
KEY = 34.0
"""Height of the key above them."""
STEP = 42.0
"""Width of a colour in the key."""
MOST_LEVELS = 9
FAINTEST = 0.18
"""Opacity of the lowest level; that of the highest is 1."""


def levels(highest: int) -> list[int]:
    """The least counts of the levels of colour, from 1 on, spaced roughly logarithmically."""
    bounds: list[int] = []
    for series in ((1, 2, 5), (1, 3), (1,)):
        tens = [10**exponent for exponent in range(len(str(max(highest, 1))))]
        bounds = [
            factor * ten for ten in tens for factor in series if factor * ten <= max(highest, 1)
        ]
        if len(bounds) <= MOST_LEVELS:
            break
    stride = -(-len(bounds) // MOST_LEVELS)
    return bounds[::stride]


def scales(figure: Cells) -> tuple[Scale, Scale]:
    """The scales of a map: from the first column and row to the ends of the last, or beyond."""
    rows, columns = len(figure.counts), len(figure.counts[0])
    last = figure.first_y + rows * figure.bin_y
    x = Scale(figure.x, 0.0, max(figure.end_x, columns * figure.bin_x), LEFT, WIDTH - RIGHT)
    y = Scale(figure.y, figure.first_y, last, KEY + HIGH, KEY)
    return x, y


def opacity(level: int, count: int) -> float:
    """Opacity of a level, given the number of levels."""
    return FAINTEST + (1 - FAINTEST) * (level / (count - 1) if count > 1 else 1.0)


def cells_body(figure: Cells) -> tuple[float, str]:
    """Height and elements of a map of counts."""
    x, y = scales(figure)
    clip = f"clip-{figure.key}"
    width = x.end - x.start
    box = f'x="{x.start:g}" y="{y.end:g}" width="{width:g}" height="{HIGH:g}"'
    middle = (x.start + x.end) / 2, (y.start + y.end) / 2
    steps = levels(figure.most)
    # A cell is one by one, because counts are whole numbers.
    cell = width * figure.bin_x / (x.high - x.low), -HIGH / len(figure.counts)
    size = f"translate({x.start:g} {y.start:g}) scale({cell[0]:.6g} {cell[1]:.6g})"
    parts = [*_key(steps, figure.tone), *grid(x, y), *labels(x, y, middle, y.start)]
    parts.append(f'<clipPath id="{clip}"><rect {box}/></clipPath><g clip-path="url(#{clip})">')
    parts.append(f'<g class="marks"><g class="cells t{figure.tone}" transform="{size}">')
    for level, path in enumerate(_paths(figure, steps)):
        if path:
            strength = f'fill-opacity="{opacity(level, len(steps)):.2f}"'
            parts.append(f'<path class="bar" {strength} d="{path}"/>')
    parts.append(f'</g></g></g><rect class="area" {box}/>')
    return KEY + HIGH + BOTTOM, "".join(parts)


def _paths(figure: Cells, steps: list[int]) -> list[str]:
    """For each level the cells that have it, with neighbours in a row joined."""
    paths = ["" for _ in steps]
    for row, counts in enumerate(figure.counts):
        row_levels = np.searchsorted(steps, counts, side="right") - 1
        column = 0
        for level, cells in groupby(row_levels.tolist()):
            count = len(list(cells))
            if level >= 0:
                paths[level] += f"M{column} {row}h{count}v1h-{count}z"
            column += count
    return paths


def _key(steps: list[int], tone: int) -> Iterator[str]:
    """The meaning of the colours: the least count of each."""
    yield f'<text class="tick end" x="{LEFT - 6:g}" y="25">at least</text><g class="t{tone}">'
    for level in range(len(steps)):
        place = f'x="{LEFT + STEP * level:g}" y="15" width="{STEP - 1:g}" height="12"'
        strength = f'fill-opacity="{opacity(level, len(steps)):.2f}"'
        yield f'<rect class="bar" {place} {strength}/>'
    yield "</g>"
    for level, least in enumerate(steps):
        text = escape(short("count", least))
        yield f'<text class="tick" x="{LEFT + STEP * level:g}" y="11">{text}</text>'
