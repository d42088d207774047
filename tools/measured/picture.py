"""Ratios with their intervals as a plain SVG: a row for each cell, a panel for each number."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from ssdlab.results.intervals import Ratio

LEFT, PANEL, GAP, ROW, TOP, BOTTOM = 150.0, 104.0, 14.0, 20.0, 44.0, 40.0
COLOURS = {"lower": "#1f6fb4", "higher": "#c8501e"}
UNTOLD = "#777"
FONT = "font-family='system-ui, sans-serif' font-size='11' fill='#333'"
WIDEST = 16.0
"""Ratios beyond it, or below its inverse, stand at the edge of the panel."""


@dataclass(frozen=True)
class Line:
    """A row: its name, and a ratio for each panel."""

    label: str
    ratios: Sequence[Ratio | None]


class _Axis:
    """A logarithmic axis around 1, the same for all panels."""

    def __init__(self, lines: Sequence[Line]) -> None:
        known_ratios = [ratio for line in lines for ratio in line.ratios if ratio is not None]
        extent = max([math.log(1.25), *(abs(math.log(r.ratio)) * 1.1 for r in known_ratios)])
        self.far = min(extent, math.log(WIDEST))

    def at(self, ratio: float) -> float:
        """The place of a ratio within its panel."""
        share = max(-1.0, min(1.0, math.log(ratio) / self.far))
        return (share + 1) / 2 * PANEL

    def ticks(self) -> list[float]:
        """Ratios that are written below."""
        steps = [0.1, 0.2, 0.5, 0.8, 1, 1.25, 2, 5, 10]
        visible = [step for step in steps if abs(math.log(step)) <= self.far]
        return visible if self.far < math.log(2.2) else [s for s in visible if s not in (0.8, 1.25)]


def forest(title: str, quantity: str, panels: Sequence[str], lines: Sequence[Line]) -> str:
    """The picture; `title` is for those who do not see it, `quantity` stands below."""
    axis = _Axis(lines)
    width = LEFT + len(panels) * (PANEL + GAP)
    high = TOP + len(lines) * ROW + BOTTOM
    parts = [
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width:.0f} {high:.0f}'"
        f" width='{width:.0f}' role='img'><title>{escape(title)}</title>",
        f"<rect width='{width:.0f}' height='{high:.0f}' fill='#fff'/>",
    ]
    for row, line in enumerate(lines):
        y = TOP + (row + 0.5) * ROW
        parts.append(_text(LEFT - 8, y + 4, line.label, "end"))
    for number, name in enumerate(panels):
        x = LEFT + number * (PANEL + GAP)
        parts += _panel(axis, x, name, [line.ratios[number] for line in lines])
    foot = f"{quantity}, with 95 % interval; blue: lower, orange: higher, grey: indistinguishable"
    parts.append(_text(width / 2, high - 6, foot))
    return "\n".join([*parts, "</svg>", ""])


def _panel(axis: _Axis, x: float, name: str, ratios: Sequence[Ratio | None]) -> list[str]:
    bottom = TOP + len(ratios) * ROW
    words = name.split(" ")
    half = math.ceil(len(words) / 2)
    parts = [
        _text(x + PANEL / 2, 16, " ".join(words[:half])),
        _text(x + PANEL / 2, 30, " ".join(words[half:])),
    ]
    for tick in axis.ticks():
        tick_x = x + axis.at(tick)
        colour = "#888" if tick == 1 else "#ddd"
        parts.append(f"<path d='M{tick_x:.1f} {TOP:.0f}V{bottom:.0f}' stroke='{colour}'/>")
        parts.append(_text(tick_x, bottom + 13, f"{tick:g}"))
    for row, ratio in enumerate(ratios):
        if ratio is not None:
            parts.append(_point(axis, x, TOP + (row + 0.5) * ROW, ratio))
    return parts


def _point(axis: _Axis, x: float, y: float, ratio: Ratio) -> str:
    colour = COLOURS.get(ratio.order, UNTOLD)
    low, high = (ratio.ratio if end is None else end for end in (ratio.low, ratio.high))
    path = f"M{x + axis.at(low):.1f} {y:.0f}H{x + axis.at(high):.1f}"
    point_x = x + axis.at(ratio.ratio)
    return (
        f"<path d='{path}' stroke='{colour}' stroke-width='1.5'/>"
        f"<circle cx='{point_x:.1f}' cy='{y:.0f}' r='3' fill='{colour}'/>"
    )


def _text(x: float, y: float, words: str, anchor: str = "middle") -> str:
    return f"<text x='{x:.1f}' y='{y:.1f}' text-anchor='{anchor}' {FONT}>{escape(words)}</text>"
