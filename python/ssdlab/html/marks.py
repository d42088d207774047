"""Curves and bars as SVG.

Positions are rounded to a tenth of a unit and written as differences: these dominate a page of many
runs, and differences are half as long as positions.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ssdlab.html.plot import Bars, Curve, Floats
from ssdlab.html.scale import Scale

MOST_LARGE = 100
"""Points of a curve that are drawn large."""


def _tenths(values: Floats) -> list[int]:
    return [int(v) for v in np.rint(values * 10).tolist()]


def _path_numbers(tenths: list[int]) -> str:
    """Numbers of a path, given in tenths; a minus sign separates as well as a space does."""
    text = ""
    for value in tenths:
        units, tenth = divmod(abs(value), 10)
        number = ("-" if value < 0 else "") + (f"{units}" if units or not tenth else "")
        number += f".{tenth}" if tenth else ""
        text += number if not text or number.startswith("-") else f" {number}"
    return text


def _line(x: Floats, y: Floats) -> str:
    """A path through the places."""
    x_tenths, y_tenths = _tenths(x), _tenths(y)
    steps = [
        step
        for i in range(1, len(x_tenths))
        for step in (x_tenths[i] - x_tenths[i - 1], y_tenths[i] - y_tenths[i - 1])
        if x_tenths[i] != x_tenths[i - 1] or y_tenths[i] != y_tenths[i - 1]
    ]
    return f"M{_path_numbers([x_tenths[0], y_tenths[0]])}" + (
        f"l{_path_numbers(steps)}" if steps else "h0"
    )


def _steps(x: Floats, y: Floats) -> str:
    """A path that keeps each height until the next position."""
    x_tenths, y_tenths = _tenths(x), _tenths(y)
    text, pen_x = f"M{_path_numbers([x_tenths[0], y_tenths[0]])}", x_tenths[0]
    for i in range(1, len(x_tenths)):
        if y_tenths[i] != y_tenths[i - 1]:
            text += f"h{_path_numbers([x_tenths[i] - pen_x])}" if x_tenths[i] != pen_x else ""
            text += f"v{_path_numbers([y_tenths[i] - y_tenths[i - 1]])}"
            pen_x = x_tenths[i]
    return text + (f"h{_path_numbers([x_tenths[-1] - pen_x])}" if x_tenths[-1] != pen_x else "")


def _runs(is_finite: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Iterator[slice]:
    """The stretches without a gap."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], is_finite, [False]]).astype(np.int8)))
    for start, stop in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        yield slice(start, stop)


def curve_body(curve: Curve, x: Scale, y: Scale) -> str:
    """A curve: its band, its line, its points."""
    x_positions, y_positions = x.at(curve.x), y.at(curve.y)
    parts = []
    if curve.low is not None and curve.high is not None:
        # A band that reaches zero reaches the foot of a log axis.
        floor = np.maximum(curve.low, y.low) if y.axis.log else curve.low
        low, high = y.at(floor), y.at(curve.high)
        for run in _runs(np.isfinite(x_positions + low + high)):
            ring = _line(
                np.concatenate([x_positions[run], x_positions[run][::-1]]),
                np.concatenate([high[run], low[run][::-1]]),
            )
            parts.append(f'<path class="band" d="{ring}z"/>')
    is_finite = np.isfinite(x_positions + y_positions)
    for run in _runs(is_finite) if curve.line else ():
        run_x, run_y = x_positions[run], y_positions[run]
        if len(run_x) == 1:
            parts.append(f'<circle class="dot" cx="{run_x[0]:.1f}" cy="{run_y[0]:.1f}" r="2.5"/>')
            continue
        parts.append(f'<path class="line" d="{(_steps if curve.step else _line)(run_x, run_y)}"/>')
    if curve.dots is not None:
        radius = 3.2 if len(x_positions) <= MOST_LARGE else 2.0
        rows = zip(
            x_positions[is_finite], y_positions[is_finite], curve.dots[is_finite], strict=True
        )
        parts += [
            f'<circle class="{"hollow" if hollow else "dot"}" cx="{dot_x:.1f}" cy="{dot_y:.1f}"'
            f' r="{radius:g}"/>'
            for dot_x, dot_y, hollow in rows
        ]
    return "".join(parts)


def bars_body(bars: Bars, x: Scale, y: Scale) -> str:
    """Bars from the foot of the plot."""
    left, right = x.at(bars.left), x.at(bars.right)
    top = np.clip(y.at(bars.height), y.end, y.start)
    # Neighbours keep a thin gap if there is room.
    gap = np.where(right - left > 4, 1.0, 0.0)
    rows = zip(left.tolist(), (right - left - gap).tolist(), top.tolist(), strict=True)
    return "".join(
        f'<rect class="bar" x="{bar_left:.1f}" y="{bar_top:.1f}" width="{max(bar_width, 0.6):.1f}"'
        f' height="{y.start - bar_top:.1f}"/>'
        for bar_left, bar_width, bar_top in rows
    )
