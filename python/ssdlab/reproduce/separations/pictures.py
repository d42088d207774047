"""A heat map for each kind of victims: write amplification over that of host and copies apart."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ssdlab.reproduce.pictures import Picture, line, text, whole
from ssdlab.reproduce.separations.choices import APART, SPARES, VICTIMS, WORKLOADS, Place, lines
from ssdlab.reproduce.separations.outcome import Separations

LABELS, CELL_WIDE, CELL_HIGH, HEAD, FOOT = 124.0, 34.0, 22.0, 92.0, 30.0
LOWER, HIGHER = "31,111,180", "200,80,30"
STRONGEST = 2.0
"""Binary logarithm of the ratio with the strongest colour."""


def _cell(x: float, y: float, ratio: float | None) -> Iterator[str]:
    box = f"x='{x:.1f}' y='{y:.1f}' width='{CELL_WIDE}' height='{CELL_HIGH}' stroke='#ddd'"
    if ratio is None:
        yield f"<rect {box} fill='white'/>"
        return
    strength = min(1.0, abs(math.log2(ratio)) / STRONGEST)
    tone = LOWER if ratio < 1 else HIGHER
    yield f"<rect {box} fill='rgba({tone},{0.75 * strength:.2f})'/>"
    yield text(x + CELL_WIDE / 2, y + 15, f"{ratio:.2f}")


def _map(done: Separations, victims: str) -> Picture:
    title = f"Write amplification over that of {APART}, {victims} victims, by over-provisioning"
    parts = []
    across = CELL_WIDE * len(WORKLOADS)
    for group, spare in enumerate(SPARES):
        left = LABELS + across * group
        parts.append(text(left + across / 2, 14, f"{100 * spare:g} %"))
        for column, workload in enumerate(WORKLOADS):
            x = left + CELL_WIDE * (column + 0.6)
            turn = f" transform='rotate(-60 {x:.1f} {HEAD - 6:.1f})'"
            parts.append(text(x, HEAD - 6, workload, "start", turn))
            apart = done.waf(Place(workload, victims, spare, APART))
            for row, name in enumerate(lines(done.quick)):
                of = done.waf(Place(workload, victims, spare, name))
                ratio = None if of is None or apart is None else of.mean / apart.mean
                place = (LABELS + across * group + CELL_WIDE * column, HEAD + CELL_HIGH * row)
                parts += _cell(*place, ratio)
        parts.append(line(left, 4, left, HEAD, "stroke='#888'"))
    for row, name in enumerate(lines(done.quick)):
        parts.append(text(LABELS - 6, HEAD + CELL_HIGH * row + 15, name, "end"))
    bottom = HEAD + CELL_HIGH * len(lines(done.quick))
    parts.append(text(LABELS, bottom + 20, "Blue: lower; orange: higher.", "start"))
    wide = LABELS + across * len(SPARES) + 60
    name = f"separations-{victims}"
    return Picture(name, title, whole(title, parts, bottom + FOOT, wide))


def pictures(done: Separations) -> list[Picture]:
    """All of them."""
    return [_map(done, victims) for victims in VICTIMS]
