"""Heat maps and parallel axes as SVG."""

from __future__ import annotations

import math
from collections.abc import Iterator
from xml.sax.saxutils import escape

import numpy as np

from ssdlab.display.numbers import on_page, shown
from ssdlab.html.layout import BOTTOM, LEFT, LETTER, RIGHT, WIDTH, cut, tone_class
from ssdlab.html.plot import Floats, Heat, Parallel

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
    known = cells[np.isfinite(cells)]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
    log = low > 0 and high > LOG_ABOVE * low
    if high <= low:
        return np.where(np.isfinite(cells), 0.5, np.nan), low, high, False
    if log:
        return np.log(cells / low) / math.log(high / low), low, high, True
    shares: Floats = (cells - low) / (high - low)
    return shares, low, high, False


def heat_body(figure: Heat) -> tuple[float, str]:
    """Height and elements of a heat map."""
    rows, columns = figure.cells.shape
    names = max(len(cut(name, 14)) for name in figure.y)
    left = min(max(LEFT, 32 + LETTER * names), 160.0)
    wide, high = (WIDTH - RIGHT - left) / columns, CELLS / rows
    shares, low, top, log = _strengths(figure.cells)
    parts = [*_key(figure, left, low, top, log), '<g class="heat t0">']
    number_fits = wide >= 44 and high >= 17
    for row in range(rows):
        y = KEY + CELLS - high * (row + 1)
        for column in range(columns):
            x, value = left + wide * column, float(figure.cells[row, column])
            if not math.isfinite(value):
                continue
            text = on_page(shown(figure.quantity, value))
            place = f"{figure.x_label} {figure.x[column]}, {figure.y_label} {figure.y[row]}"
            share = float(shares[row, column])
            opacity = FAINTEST + (STRONGEST - FAINTEST) * share
            parts.append(
                f'<rect x="{x:.1f}" y="{y:.1f}" width="{wide:.1f}" height="{high:.1f}"'
                f' fill-opacity="{opacity:.2f}"><title>{escape(place)}: {escape(text)}</title>'
                "</rect>"
            )
            middle = f'x="{x + wide / 2:.1f}" y="{y + high / 2 + 4:.1f}"'
            if figure.marked[row, column]:
                corner = f'cx="{x + wide - 5:.1f}" cy="{y + 5:.1f}" r="2.6"'
                parts.append(f'<circle class="hollow" {corner}/>')
            if number_fits:
                tone = "cell light" if share > 0.55 else "cell"
                parts.append(f'<text class="{tone} middle" {middle}>{escape(text)}</text>')
    parts.append("</g>")
    parts += _sides(figure, left, wide, high)
    return KEY + CELLS + BOTTOM, "".join(parts)


def _key(figure: Heat, left: float, low: float, high: float, log: bool) -> Iterator[str]:
    """What the colours mean."""
    first, last = (on_page(shown(figure.quantity, one)) for one in (low, high))
    yield f'<text class="tick end" x="{left + 62:g}" y="15">{escape(first)}</text><g class="t0">'
    for step in range(12):
        opacity = FAINTEST + (STRONGEST - FAINTEST) * step / 11
        at = left + 68 + 10 * step
        yield f'<rect class="bar" x="{at:g}" y="5" width="10" height="12"'
        yield f' fill-opacity="{opacity:.2f}"/>'
    scale = " (logarithmic)" if log else ""
    yield f'</g><text class="tick" x="{left + 194:g}" y="15">{escape(last + scale)}</text>'


def _sides(figure: Heat, left: float, wide: float, high: float) -> Iterator[str]:
    foot = KEY + CELLS
    longest = LETTER * max(len(cut(name, 12)) for name in figure.x) + 8
    every = max(1, math.ceil(longest / wide))
    for i, name in enumerate(figure.x):
        if i % every == 0:
            place = f'x="{left + wide * (i + 0.5):.1f}" y="{foot + 16:g}"'
            yield f'<text class="tick middle" {place}>{escape(cut(name, 12))}</text>'
    every = max(1, math.ceil(15 / high))
    for i, name in enumerate(figure.y):
        if i % every == 0:
            place = f'x="{left - 6:g}" y="{foot - high * (i + 0.5) + 4:.1f}"'
            yield f'<text class="tick end" {place}>{escape(cut(name, 14))}</text>'
    middle = f'x="{(left + WIDTH - RIGHT) / 2:g}" y="{foot + 37:g}"'
    yield f'<text class="label middle" {middle}>{escape(figure.x_label)}</text>'
    turn = f'transform="translate(14 {KEY + CELLS / 2:g}) rotate(-90)"'
    yield f'<text class="label middle" {turn}>{escape(figure.y_label)}</text>'


def parallel_body(figure: Parallel) -> tuple[float, str]:
    """Height and elements of a plot with parallel axes."""
    top, foot = 44.0, 44.0 + UPRIGHT
    # Texts are to the right of their axes.
    left, right = 16.0, WIDTH - 72.0
    step = (right - left) / max(1, len(figure.axes) - 1)
    parts = ['<g class="marks">']
    for name, places, tone in figure.lines:
        pairs = " ".join(
            f"{left + step * i:.1f},{foot - UPRIGHT * place:.1f}" for i, place in enumerate(places)
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
        y, last = (14 if i % 2 == 0 else 30), i == len(figure.axes) - 1
        side, at_x = ("label end", WIDTH - 8) if last else ("label", x - 8)
        if i > 0 and not last:
            side, at_x = "label middle", x
        # The last word of a key; "p99.9 write" is not a key.
        label = axis.label if " " in axis.label else axis.label.rpartition(".")[2]
        name = escape(cut(label, max(8, int(2 * step / LETTER))))
        parts.append(f'<text class="{side}" x="{at_x:.1f}" y="{y}">{name}</text>')
        for at, text in axis.ticks:
            y_tick = foot - UPRIGHT * at
            parts.append(f'<path class="axis" d="M{x - 3:.1f} {y_tick:.1f}h6"/>')
            spot = f'x="{x + 6:.1f}" y="{y_tick + 4:.1f}"'
            room = 16 if last else max(4, int((step - 8) / TICK_LETTER))
            short = text if len(text) <= room else f"{text[: room - 1]}…"
            parts.append(f'<text class="tick halo" {spot}>{escape(short)}</text>')
    return foot + 14, "".join(parts)
