"""Heat maps and parallel axes as SVG."""

from __future__ import annotations

import math
from collections.abc import Iterator
from xml.sax.saxutils import escape

import numpy as np

from ssdlab.display.numbers import format_value, on_page
from ssdlab.html.layout import BOTTOM, LEFT, LETTER, RIGHT, WIDTH, shorten, tone_class
from ssdlab.html.plot import Floats, Heatmap, ParallelCoordinates

CELLS = 250.0
"""Height of all cells of a heat map."""
KEY = 26.0
"""Height of the key above them."""
FAINTEST, STRONGEST = 0.06, 0.92
"""Opacity of the lowest and the highest value."""
LOG_ABOVE = 20.0
"""If the highest value is at least this many times the lowest, colours are logarithmic."""
TICK_LETTER = 6.0
"""Width of a letter of a tick."""
UPRIGHT = 230.0
"""Height of parallel axes."""


def _strengths(cells: Floats) -> tuple[Floats, float, float, bool]:
    """The position of each value between lowest and highest, these, and whether logarithmic."""
    finite = cells[np.isfinite(cells)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
    log = low > 0 and high > LOG_ABOVE * low
    if high <= low:
        return np.where(np.isfinite(cells), 0.5, np.nan), low, high, False
    if log:
        return np.log(cells / low) / math.log(high / low), low, high, True
    shares: Floats = (cells - low) / (high - low)
    return shares, low, high, False


def heat_body(figure: Heatmap) -> tuple[float, str]:
    """Height and elements of a heat map."""
    rows, columns = figure.cells.shape
    longest = max(len(shorten(name, 14)) for name in figure.y)
    left = min(max(LEFT, 32 + LETTER * longest), 160.0)
    cell_width, cell_height = (WIDTH - RIGHT - left) / columns, CELLS / rows
    shares, low, high, log = _strengths(figure.cells)
    parts = [*_key(figure, left, low, high, log), '<g class="heat t0">']
    number_fits = cell_width >= 44 and cell_height >= 17
    for row in range(rows):
        y = KEY + CELLS - cell_height * (row + 1)
        for column in range(columns):
            x, value = left + cell_width * column, float(figure.cells[row, column])
            if not math.isfinite(value):
                continue
            text = on_page(format_value(figure.quantity, value))
            cell_name = f"{figure.x_label} {figure.x[column]}, {figure.y_label} {figure.y[row]}"
            share = float(shares[row, column])
            opacity = FAINTEST + (STRONGEST - FAINTEST) * share
            parts.append(
                f'<rect x="{x:.1f}" y="{y:.1f}" width="{cell_width:.1f}" height="{cell_height:.1f}"'
                f' fill-opacity="{opacity:.2f}"><title>{escape(cell_name)}: {escape(text)}</title>'
                "</rect>"
            )
            middle = f'x="{x + cell_width / 2:.1f}" y="{y + cell_height / 2 + 4:.1f}"'
            if figure.marked[row, column]:
                corner = f'cx="{x + cell_width - 5:.1f}" cy="{y + 5:.1f}" r="2.6"'
                parts.append(f'<circle class="hollow" {corner}/>')
            if number_fits:
                tone = "cell light" if share > 0.55 else "cell"
                parts.append(f'<text class="{tone} middle" {middle}>{escape(text)}</text>')
    parts.append("</g>")
    parts += _sides(figure, left, cell_width, cell_height)
    return KEY + CELLS + BOTTOM, "".join(parts)


def _key(figure: Heatmap, left: float, low: float, high: float, log: bool) -> Iterator[str]:
    """What the colours mean."""
    low_text, high_text = (on_page(format_value(figure.quantity, value)) for value in (low, high))
    yield f'<text class="tick end" x="{left + 62:g}" y="15">{escape(low_text)}</text><g class="t0">'
    for step in range(12):
        opacity = FAINTEST + (STRONGEST - FAINTEST) * step / 11
        x = left + 68 + 10 * step
        yield f'<rect class="bar" x="{x:g}" y="5" width="10" height="12"'
        yield f' fill-opacity="{opacity:.2f}"/>'
    scale = " (logarithmic)" if log else ""
    yield f'</g><text class="tick" x="{left + 194:g}" y="15">{escape(high_text + scale)}</text>'


def _sides(figure: Heatmap, left: float, cell_width: float, cell_height: float) -> Iterator[str]:
    foot = KEY + CELLS
    label_width = LETTER * max(len(shorten(name, 12)) for name in figure.x) + 8
    stride = max(1, math.ceil(label_width / cell_width))
    for i, name in enumerate(figure.x):
        if i % stride == 0:
            place = f'x="{left + cell_width * (i + 0.5):.1f}" y="{foot + 16:g}"'
            yield f'<text class="tick middle" {place}>{escape(shorten(name, 12))}</text>'
    stride = max(1, math.ceil(15 / cell_height))
    for i, name in enumerate(figure.y):
        if i % stride == 0:
            place = f'x="{left - 6:g}" y="{foot - cell_height * (i + 0.5) + 4:.1f}"'
            yield f'<text class="tick end" {place}>{escape(shorten(name, 14))}</text>'
    middle = f'x="{(left + WIDTH - RIGHT) / 2:g}" y="{foot + 37:g}"'
    yield f'<text class="label middle" {middle}>{escape(figure.x_label)}</text>'
    turn = f'transform="translate(14 {KEY + CELLS / 2:g}) rotate(-90)"'
    yield f'<text class="label middle" {turn}>{escape(figure.y_label)}</text>'


def parallel_body(figure: ParallelCoordinates) -> tuple[float, str]:
    """Height and elements of a plot with parallel axes."""
    top, foot = 44.0, 44.0 + UPRIGHT
    # Texts are to the right of their axes.
    left, right = 16.0, WIDTH - 72.0
    step = (right - left) / max(1, len(figure.axes) - 1)
    parts = ['<g class="marks">']
    for name, positions, tone in figure.lines:
        pairs = " ".join(
            f"{left + step * i:.1f},{foot - UPRIGHT * position:.1f}"
            for i, position in enumerate(positions)
        )
        parts.append(
            f'<polyline class="thin {tone_class(tone)}" points="{pairs}">'
            f"<title>{escape(name)}</title></polyline>"
        )
    parts.append("</g>")
    for i, axis in enumerate(figure.axes):
        x = left + step * i
        parts.append(f'<path class="axis" d="M{x:.1f} {top:g}V{foot:g}"/>')
        # Neighbouring names alternate between above and below.
        y, is_last = (14 if i % 2 == 0 else 30), i == len(figure.axes) - 1
        side, at_x = ("label end", WIDTH - 8) if is_last else ("label", x - 8)
        if i > 0 and not is_last:
            side, at_x = "label middle", x
        # The last word of a key; "p99.9 write" is not a key.
        label = axis.label if " " in axis.label else axis.label.rpartition(".")[2]
        name = escape(shorten(label, max(8, int(2 * step / LETTER))))
        parts.append(f'<text class="{side}" x="{at_x:.1f}" y="{y}">{name}</text>')
        for position, text in axis.ticks:
            y_tick = foot - UPRIGHT * position
            parts.append(f'<path class="axis" d="M{x - 3:.1f} {y_tick:.1f}h6"/>')
            text_position = f'x="{x + 6:.1f}" y="{y_tick + 4:.1f}"'
            most_letters = 16 if is_last else max(4, int((step - 8) / TICK_LETTER))
            text_ = text if len(text) <= most_letters else f"{text[: most_letters - 1]}…"
            parts.append(f'<text class="tick halo" {text_position}>{escape(text_)}</text>')
    return foot + 14, "".join(parts)
