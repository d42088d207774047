"""Small multiples as SVG: a panel for each curve, all with the same scales."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

import numpy as np

from ssdlab.html.axes import grid, labels
from ssdlab.html.layout import BOTTOM, LEFT, LETTER, RIGHT, WIDTH, shorten_labels
from ssdlab.html.marks import curve_body
from ssdlab.html.plot import TONES, Axis, Curve, Panels, Plot
from ssdlab.html.scale import Scale

GAP = 14.0
"""Between columns of panels."""
HEAD = 24.0
"""Room for the name above a panel."""
ALL = 236.0
"""Height of all panels of one column, about that of a plot."""
TALLEST = 108.0
TALL = {2: 74.0, 3: 62.0}
"""Height of a panel by the number of columns, if there are several."""


@dataclass(frozen=True)
class Layout:
    """The positions of the panels. The x axis and the top of each begin at its own origin."""

    x: Scale
    y: Scale
    places: tuple[tuple[float, float], ...]
    """Left and top of each panel."""
    columns: int
    height: float


def columns_of(count: int) -> int:
    """Columns for this many panels: one while times are to be compared, more if there are many."""
    return 1 if count <= 4 else 2 if count <= 8 else 3


def layout(figure: Panels) -> Layout:
    """The common scales of the panels, and their places."""
    columns = columns_of(len(figure.curves))
    panel_width = (WIDTH - RIGHT - LEFT - GAP * (columns - 1)) / columns
    count = len(figure.curves)
    panel_height = TALL.get(columns, min(TALLEST, (ALL - HEAD * (count - 1)) / count))
    rows = -(-count // columns)
    places = tuple(
        (
            LEFT + (panel_width + GAP) * (panel % columns),
            2 + HEAD + (panel_height + HEAD) * (panel // columns),
        )
        for panel in range(count)
    )
    xs = [curve.x for curve in figure.curves]
    ys = [curve.y for curve in figure.curves]
    ys += [band for curve in figure.curves for band in (curve.low, curve.high) if band is not None]
    x = Scale.over(figure.x, np.concatenate(xs), 0.0, panel_width)
    y = Scale.over(figure.y, np.concatenate(ys), panel_height, 0.0)
    return Layout(x, y, places, columns, 2 + (panel_height + HEAD) * rows + BOTTOM)


def side_by_side(
    key: str,
    title: str,
    caption: str,
    x: Axis,
    y: Axis,
    curves: Sequence[Curve],
    *,
    linked: bool = False,
) -> Plot | Panels:
    """Noisy curves as small multiples; a plot if there is only one."""
    if len(curves) == 1:
        return Plot(key, title, caption, x, y, tuple(curves), linked=linked)
    return Panels(key, title, caption, x, y, tuple(curves), linked=linked)


def overlay(
    key: str, title: str, caption: str, x: Axis, y: Axis, curves: Sequence[Curve]
) -> Plot | Panels:
    """Smooth curves in one plot while each has its own colour; otherwise as small multiples."""
    if len(curves) <= TONES:
        return Plot(key, title, caption, x, y, tuple(curves))
    return Panels(key, title, caption, x, y, tuple(curves))


def panels_body(figure: Panels) -> tuple[float, str]:
    """Height and elements of small multiples."""
    layout_ = layout(figure)
    x, y, count = layout_.x, layout_.y, len(figure.curves)
    clip = f"clip-{figure.key}"
    # Points at the edges are drawn whole, but a part of time ends there.
    edge = 0 if figure.linked else 4
    size = f'width="{x.end + 2 * edge:g}" height="{y.start + 8:g}"'
    box = f'x="{-edge:g}" y="-4" {size}'
    parts = [f'<clipPath id="{clip}"><rect {box}/></clipPath>']
    names = shorten_labels([curve.name for curve in figure.curves], int(x.end / LETTER))
    for i, (curve, (left, top)) in enumerate(zip(figure.curves, layout_.places, strict=True)):
        bottom = i + layout_.columns >= count
        axes = "".join(grid(x, y, has_labels=(bottom, i % layout_.columns == 0), narrow=True))
        short = names[i]
        name = escape(short)
        if short != curve.name:
            name += f"<title>{escape(curve.name)}</title>"
        parts.append(
            f'<g class="pane" transform="translate({left:g} {top:g})" data-left="{left:g}"'
            f' data-down="{top:g}"><text class="legend" x="0" y="-6">{name}</text>{axes}'
            f'<g clip-path="url(#{clip})"><g class="marks">'
            f'<g class="mark t{curve.tone % TONES}" data-mark="{i}">{curve_body(curve, x, y)}</g>'
            f'</g></g><rect class="area" x="0" y="0" width="{x.end:g}" height="{y.start:g}"/></g>'
        )
    foot = layout_.height - BOTTOM
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts += labels(x, y, (middle, foot / 2), foot)
    return layout_.height, "".join(parts)
