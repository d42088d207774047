"""Plots as SVG: text stays text, and colours are names that the style sheet defines."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import resources
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from ssdlab import _core
from ssdlab.display.numbers import on_page, percent
from ssdlab.html.axes import grid, labels
from ssdlab.html.cells import cells_body
from ssdlab.html.layout import (
    BOTTOM,
    HEIGHT,
    LEFT,
    LETTER,
    LINE,
    RIGHT,
    ROW,
    TOP,
    WIDTH,
    shorten,
    shorten_labels,
    tone_class,
)
from ssdlab.html.maps import heat_body, parallel_body
from ssdlab.html.marks import bars_body, curve_body
from ssdlab.html.panels import panels_body
from ssdlab.html.plot import (
    Axis,
    Bars,
    Cells,
    Drawable,
    Forest,
    Heatmap,
    Panels,
    ParallelCoordinates,
    Plot,
    Point,
    StackedBars,
)
from ssdlab.html.scale import Scale


@cache
def style(name: str) -> str:
    """A file of the package, such as `plot.css`."""
    return (resources.files("ssdlab.html") / name).read_text(encoding="utf-8")


@cache
def _file_style() -> str:
    """The style of a plot as a file, with its colours spelt out."""
    colours = dict(re.findall(r"(--\w+): (#\w+)", style("colours.css").partition("}")[0]))
    return re.sub(r"var\((--\w+)\)", lambda match_: colours[match_[1]], style("plot.css"))


def draw(figure: Drawable, *, is_file: bool = False) -> str:
    """The figure as an SVG element or, with `is_file`, as a file with its title and its style."""
    if isinstance(figure, StackedBars):
        height, body = _stacked(figure)
    elif isinstance(figure, Forest):
        height, body = _forest(figure)
    elif isinstance(figure, Heatmap):
        height, body = heat_body(figure)
    elif isinstance(figure, ParallelCoordinates):
        height, body = parallel_body(figure)
    elif isinstance(figure, Panels):
        height, body = panels_body(figure)
    elif isinstance(figure, Cells):
        height, body = cells_body(figure)
    else:
        height, body = _plot(figure)
    head = 28.0 if is_file else 0.0
    size = f'viewBox="0 {0 - head:g} {WIDTH:g} {height + head:g}"'
    name = f"{figure.title}. {figure.caption}" if is_file else figure.title
    if not is_file:
        return (
            f'<svg class="plot" {size} role="img" tabindex="0" aria-label={quoteattr(name)}>'
            f"{body}</svg>"
        )
    paper = f'<rect class="paper" y="{-head:g}" width="{WIDTH:g}" height="{height + head:g}"/>'
    title = f'<text class="title" x="8" y="-9">{escape(figure.title)}</text>'
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<svg xmlns="http://www.w3.org/2000/svg" class="plot" {size} width="{2 * WIDTH:g}">'
        f"<title>{escape(figure.title)}</title><desc>{escape(figure.caption)}</desc>"
        f"<style>{escape(_file_style())}</style>{paper}{title}{body}</svg>\n"
    )


def scales(plot: Plot) -> tuple[Scale, Scale, float]:
    """The scales of a plot and its height."""
    names = [mark.name for mark in plot.marks]
    top = TOP + LINE * (_legend_lines(names) if len(names) > 1 else 0)
    height = HEIGHT + top - TOP
    xs = [curve.x for curve in plot.curves] + [
        edge for bars in plot.bars for edge in (bars.left, bars.right)
    ]
    ys = [curve.y for curve in plot.curves] + [bars.height for bars in plot.bars]
    ys += [band for curve in plot.curves for band in (curve.low, curve.high) if band is not None]
    x = Scale.over(plot.x, np.concatenate(xs), LEFT, WIDTH - RIGHT)
    y = Scale.over(plot.y, np.concatenate(ys), height - BOTTOM, top)
    return x, y, height


def _plot(plot: Plot) -> tuple[float, str]:
    x, y, height = scales(plot)
    marks = plot.marks
    middle = (LEFT + WIDTH - RIGHT) / 2, (y.start + y.end) / 2
    parts = [*grid(x, y), *labels(x, y, middle, y.start)]
    clip = f"clip-{plot.key}"
    width, height_ = WIDTH - RIGHT - LEFT, y.start - y.end
    box = f'x="{LEFT:g}" y="{y.end:g}" width="{width:g}" height="{height_:g}"'
    # Points at the edges are drawn whole.
    edge = 4 if any(curve.dots is not None for curve in plot.curves) else 0
    clip_size = f'width="{width + 2 * edge:g}" height="{height_ + 2 * edge:g}"'
    clip_area = f'<rect x="{LEFT - edge:g}" y="{y.end - edge:g}" {clip_size}/>'
    parts.append(f'<clipPath id="{clip}">{clip_area}</clipPath>')
    parts.append(f'<g clip-path="url(#{clip})"><g class="marks{_overlap_classes(len(marks))}">')
    for i, mark in enumerate(marks):
        body = bars_body(mark, x, y) if isinstance(mark, Bars) else curve_body(mark, x, y)
        parts.append(f'<g class="mark {tone_class(mark.tone)}" data-mark="{i}">{body}</g>')
    parts.append("</g></g>")
    parts.append(f'<rect class="area" {box}/>')
    if len(marks) > 1:
        parts += _legend([(mark.name, mark.tone) for mark in marks], TOP)
    return height, "".join(parts)


MOST_WIDER = 4
"""Up to this many curves in a plot, those drawn first are wider, so that later ones do not hide
them.
"""


def _overlap_classes(count: int) -> str:
    """Classes by which curves show what they cover: translucent lines, the lower ones wider."""
    return "" if count < 2 else " over few" if count <= MOST_WIDER else " over"


def _legend_places(names: list[str]) -> list[tuple[float, int]]:
    """Where each name of a legend starts, and in which line."""
    widths = [38 + LETTER * len(name) for name in names]
    # One line fits above the plot; several need the whole width.
    left = LEFT if LEFT + sum(widths) <= WIDTH - RIGHT else 10.0
    places, x, line = [], left, 0
    for width in widths:
        if x > left and x + width > WIDTH:
            x, line = left, line + 1
        places.append((x, line))
        x += width
    return places


def _legend_lines(names: list[str]) -> int:
    return _legend_places([shorten(name) for name in names])[-1][1] + 1


def _legend(entries: list[tuple[str, int]], top: float) -> Iterator[str]:
    names = [shorten(name) for name, _ in entries]
    for i, ((x, line), (name, (_, tone))) in enumerate(
        zip(_legend_places(names), zip(names, entries, strict=True), strict=True)
    ):
        y = top + LINE * line
        yield (
            f'<g class="key {tone_class(tone)}" data-key-of="{i}">'
            f'<path class="swatch" d="M{x:g} {y + 4:g}h16"/>'
            f'<text class="legend" x="{x + 21:g}" y="{y + 8:g}">{escape(name)}</text>'
            f'<rect class="hit" x="{x - 4:g}" y="{y - 5:g}" width="{28 + LETTER * len(name):g}"'
            f' height="{LINE:g}"/></g>'
        )


def _stacked(figure: StackedBars) -> tuple[float, str]:
    names = list(figure.parts)
    is_single = len(names) == 1
    top = TOP + 6 + (0 if is_single else LINE * _legend_lines(names))
    labels = shorten_labels([label for label, _ in figure.rows], 26)
    left = min(max(LEFT, 12 + LETTER * max(map(len, labels))), 200.0)
    totals = [sum(parts) for _, parts in figure.rows]
    intervals = figure.intervals or (None,) * len(totals)
    high = max([*totals, *(interval[1] for interval in intervals if interval)]) or 1.0
    bar_room = WIDTH - RIGHT - 70 - left
    body = [] if is_single else list(_legend([(name, i) for i, name in enumerate(names)], TOP))

    def value_text(value: float) -> str:
        return on_page(_core.number_text(figure.quantity, value))

    for i, (label, parts) in enumerate(figure.rows):
        y, x = top + ROW * i, left
        text = escape(labels[i])
        body.append(f'<text class="tick end" x="{left - 8:g}" y="{y + 15:g}">{text}</text>')
        for tone, value in enumerate(parts):
            width = bar_room * value / high
            if width > 0:
                text = f"{label}, {names[tone]}: {value_text(value)}"
                if totals[i] and not is_single:
                    text += f" ({percent(value / totals[i])})"
                body.append(
                    f'<rect class="bar mark {tone_class(tone)}" data-mark="{tone}" x="{x:.1f}"'
                    f' y="{y + 2:g}" width="{max(width, 0.4):.1f}" height="{ROW - 7:g}">'
                    f"<title>{escape(text)}</title></rect>"
                )
            x += width
        ends, total = intervals[i], value_text(totals[i])
        if ends:
            low, x = (left + bar_room * max(0.0, end) / high for end in ends)
            body.append(f'<path class="line" d="M{low:.1f} {y + 10:g}H{x:.1f}"/>')
        body.append(f'<text class="tick" x="{x + 6:.1f}" y="{y + 15:g}">{escape(total)}</text>')
    height = top + ROW * len(figure.rows) + 6
    return height, "".join(body)


PANELS = 3
"""Panels of ratios side by side."""
THIN = 20.0
"""Height of a row of ratios."""


def _forest(figure: Forest) -> tuple[float, str]:
    labels = [label for label, _ in figure.panels[0][1]]
    left = min(max(LEFT, 16 + LETTER * max(len(shorten(label, 24)) for label in labels)), 190.0)
    count = len(figure.panels)
    columns = min(PANELS, count if count < 4 else -(-count // 2))
    panel_width = (WIDTH - left - 6) / columns
    body: list[str] = []
    panel_height = 52.0 + THIN * len(labels)
    limits = [_limits([point for _, point in rows if point]) for _, rows in figure.panels]
    if figure.shared:
        lows, highs = zip(*limits, strict=True)
        limits = [(min(lows), max(highs))] * count
    for i, (title, rows) in enumerate(figure.panels):
        top, start = panel_height * (i // columns), left + panel_width * (i % columns) + 8
        body += _panel(title, rows, start, start + panel_width - 22, top, limits[i])
        if i % columns == 0:
            body += [
                f'<text class="tick end" x="{left - 6:g}" y="{top + 36 + THIN * row:g}">'
                f"{escape(shorten(label, 24))}</text>"
                for row, label in enumerate(labels)
            ]
    return panel_height * -(-len(figure.panels) // columns), "".join(body)


def _limits(points: Sequence[Point]) -> tuple[float, float]:
    """The lowest and the highest ratio on the axis of a panel.

    It has room for all ratios but those that are far away, and for the interval of the lowest. The
    intervals of others end at its edges if they would squeeze the ratios together.
    """
    best = [point for point in points if point.state == "lowest"]
    distances = [abs(point.ratio - 1) for point in best]
    far_bound = max([_outlier_bound([point.ratio for point in points]), *distances])
    near_points = [point for point in points if abs(point.ratio - 1) <= far_bound]
    means = [1.0, *(point.ratio for point in near_points)]
    means += [end for point in best for end in (point.low, point.high) if end is not None]
    ends = [end for point in near_points for end in (point.low, point.high) if end is not None]
    least, most = min(means), max(means)
    room = LONGEST * max(most - least, NEAR)
    least = max(min(means + ends), least - room)
    most = min(max(means + ends), most + room)
    margin = 0.08 * (most - least or 1.0)
    return least - margin, most + margin


def _panel(
    title: str,
    rows: tuple[tuple[str, Point | None], ...],
    start: float,
    end: float,
    top: float,
    limits: tuple[float, float],
) -> Iterator[str]:
    """The ratios of one number, from `start` to `end`."""
    least, most = limits
    axis, ends = Axis("", "ratio", low=least, high=most), np.array(limits)
    x = Scale.over(axis, ends, start, end)
    foot = top + 26 + THIN * len(rows)
    yield f'<text class="legend" x="{start:g}" y="{top + 16:g}">{escape(title)}</text>'
    ticks, free_from = x.ticks(), -np.inf
    for value, text in ticks[:: -(-len(ticks) // 3)]:
        tick, half_width = x.at(np.array([value]))[0], LETTER * len(text) / 2
        yield f'<path class="grid" d="M{tick:.1f} {top + 22:g}V{foot:g}"/>'
        if tick - half_width >= free_from:
            place = f'x="{tick:.1f}" y="{foot + 16:g}"'
            yield f'<text class="tick middle" {place}>{escape(text)}</text>'
            free_from = tick + half_width + LETTER
    one_x = x.at(np.array([1.0]))[0]
    yield f'<path class="axis" d="M{one_x:.1f} {top + 22:g}V{foot:g}"/>'
    for row, (label, point) in enumerate(rows):
        if point is None:
            continue
        y = top + 32 + THIN * row
        low, high = point.low or point.ratio, point.high or point.ratio
        x_low, x_ratio, x_high = np.clip(x.at(np.array([low, point.ratio, high])), start, end)
        text = f"{label}: {point.ratio:.3f} [{low:.3f}, {high:.3f}]"
        yield f'<g class="point {point.state}"><title>{escape(text)}</title>'
        if not least <= point.ratio <= most:
            yield from _outlier_arrow(point.ratio, start if point.ratio < 1 else end, y)
            continue
        yield f'<path class="line" d="M{x_low:.1f} {y:g}H{x_high:.1f}"/>'
        for edge, is_cut in ((start, low < least), (end, high > most)):
            way = -1 if edge == start else 1
            yield f'<path class="dot" d="M{edge:.1f} {y:g}l{-5 * way} -3v6z"/>' * is_cut
        yield f'<circle class="dot" cx="{x_ratio:.1f}" cy="{y:g}" r="4.5"/></g>'


LONGEST = 0.5
"""How far intervals may extend the axis beyond the ratios, as a share of their span."""
FAR, NEAR = 4.0, 0.02
"""A ratio this many times as far from 1 as the next one would squeeze the others together, unless
all lie within this distance of 1.
"""


def _outlier_bound(ratios: Sequence[float]) -> float:
    """How far from 1 a ratio is drawn in its place; ratios beyond are arrows with their numbers."""
    distances = sorted(abs(ratio - 1) for ratio in ratios)
    # The first gap in the upper half: most ratios stay in their places.
    for index in range(-(-len(distances) // 2), len(distances)):
        if distances[index] > FAR * max(distances[index - 1], NEAR):
            return distances[index - 1]
    return math.inf


def _outlier_arrow(ratio: float, edge: float, y: float) -> Iterator[str]:
    """An arrow at the edge of a panel, with the ratio that lies beyond."""
    sign = -1 if ratio < 1 else 1
    yield f'<path class="dot" d="M{edge:.1f} {y:g}l{-8 * sign} -5v10z"/>'
    side = "tick halo" if sign < 0 else "tick halo end"
    yield f'<text class="{side}" x="{edge - 12 * sign:.1f}" y="{y + 4:g}">{ratio:.2f}</text></g>'
