"""Axes of a plot as SVG: grid, ticks and labels."""

from __future__ import annotations

from collections.abc import Iterator
from xml.sax.saxutils import escape

import numpy as np

from ssdlab.html.scale import Scale


def grid(
    x: Scale, y: Scale, *, has_labels: tuple[bool, bool] = (True, True), narrow: bool = False
) -> Iterator[str]:
    """The grid, with texts at the x and the y axis where `has_labels`; fewer lines if `narrow`."""
    yield '<g class="y-axis">'
    for value, text in y.ticks(4 if narrow else None):
        position = float(y.at(np.array([value]))[0])
        yield f'<path class="grid" d="M{x.start:g} {position:.1f}H{x.end:g}"/>'
        if has_labels[1]:
            place = f'x="{x.start - 6:g}" y="{position + 4:.1f}"'
            yield f'<text class="tick end" {place}>{escape(text)}</text>'
    yield '</g><g class="x-axis">'
    for value, text in x.ticks(x_ticks(x)):
        position = float(x.at(np.array([value]))[0])
        yield f'<path class="grid" d="M{position:.1f} {y.start:g}V{y.end:g}"/>'
        # At the right edge a centred text would be cut off.
        side = "end" if position > x.end - 12 else "middle"
        shift = 14 if side == "end" else 0
        place = f'x="{position + shift:.1f}" y="{y.start + 16:g}"'
        if has_labels[0]:
            yield f'<text class="tick {side}" {place}>{escape(text)}</text>'
    yield "</g>"
    yield f'<path class="axis" d="M{x.start:g} {y.end:g}V{y.start:g}H{x.end:g}"/>'


def x_ticks(x: Scale) -> int:
    """Most ticks that fit below an axis."""
    return max(2, min(7, int((x.end - x.start) / 46)))


def labels(x: Scale, y: Scale, middle: tuple[float, float], foot: float) -> Iterator[str]:
    """The labels of both axes: around `middle`, with the ticks of the x axis below `foot`."""
    place = f'x="{middle[0]:g}" y="{foot + 37:g}"'
    yield f'<text class="label middle" {place}>{escape(x.label)}</text>'
    turn = f'transform="translate(14 {middle[1]:g}) rotate(-90)"'
    yield f'<text class="label middle" {turn}>{escape(y.label)}</text>'
