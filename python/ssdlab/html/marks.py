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


def _written(tenths: list[int]) -> str:
    """Numbers of a path, given in tenths; a minus sign separates as well as a space does."""
    text = ""
    for value in tenths:
        whole, rest = divmod(abs(value), 10)
        one = ("-" if value < 0 else "") + (f"{whole}" if whole or not rest else "")
        one += f".{rest}" if rest else ""
        text += one if not text or one.startswith("-") else f" {one}"
    return text


def _line(x: Floats, y: Floats) -> str:
    """A path through the places."""
    a, b = _tenths(x), _tenths(y)
    steps = [
        part
        for i in range(1, len(a))
        for part in (a[i] - a[i - 1], b[i] - b[i - 1])
        if a[i] != a[i - 1] or b[i] != b[i - 1]
    ]
    return f"M{_written([a[0], b[0]])}" + (f"l{_written(steps)}" if steps else "h0")


def _steps(x: Floats, y: Floats) -> str:
    """A path that keeps each height until the next position."""
    a, b = _tenths(x), _tenths(y)
    text, at = f"M{_written([a[0], b[0]])}", a[0]
    for i in range(1, len(a)):
        if b[i] != b[i - 1]:
            text += f"h{_written([a[i] - at])}" if a[i] != at else ""
            text += f"v{_written([b[i] - b[i - 1]])}"
            at = a[i]
    return text + (f"h{_written([a[-1] - at])}" if a[-1] != at else "")


def _runs(known: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Iterator[slice]:
    """The stretches without a gap."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], known, [False]]).astype(np.int8)))
    for start, stop in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        yield slice(start, stop)


def curve_body(curve: Curve, x: Scale, y: Scale) -> str:
    """A curve: its band, its line, its points."""
    across, up = x.at(curve.x), y.at(curve.y)
    parts = []
    if curve.low is not None and curve.high is not None:
        # A band that reaches zero reaches the foot of a log axis.
        floor = np.maximum(curve.low, y.low) if y.axis.log else curve.low
        low, high = y.at(floor), y.at(curve.high)
        for run in _runs(np.isfinite(across + low + high)):
            ring = _line(
                np.concatenate([across[run], across[run][::-1]]),
                np.concatenate([high[run], low[run][::-1]]),
            )
            parts.append(f'<path class="band" d="{ring}z"/>')
    known = np.isfinite(across + up)
    for run in _runs(known) if curve.line else ():
        a, b = across[run], up[run]
        if len(a) == 1:
            parts.append(f'<circle class="dot" cx="{a[0]:.1f}" cy="{b[0]:.1f}" r="2.5"/>')
            continue
        parts.append(f'<path class="line" d="{(_steps if curve.step else _line)(a, b)}"/>')
    if curve.dots is not None:
        radius = 3.2 if len(across) <= MOST_LARGE else 2.0
        rows = zip(across[known], up[known], curve.dots[known], strict=True)
        parts += [
            f'<circle class="{"hollow" if hollow else "dot"}" cx="{a:.1f}" cy="{b:.1f}"'
            f' r="{radius:g}"/>'
            for a, b, hollow in rows
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
        f'<rect class="bar" x="{a:.1f}" y="{b:.1f}" width="{max(w, 0.6):.1f}"'
        f' height="{y.start - b:.1f}"/>'
        for a, w, b in rows
    )
