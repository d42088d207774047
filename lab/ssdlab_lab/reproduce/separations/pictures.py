"""A heat map for each kind of victims: write amplification over that of host and copies apart."""

from __future__ import annotations

from collections.abc import Sequence

from ssdlab_lab.reproduce.pictures import Picture, heat, line, text, whole
from ssdlab_lab.reproduce.separations.choices import (
    APART,
    SPARES,
    VICTIMS,
    Place,
    groups,
    lines,
)
from ssdlab_lab.reproduce.separations.outcome import Separations

LABELS, CELL_WIDE, CELL_HIGH, HEAD, FOOT = 124.0, 34.0, 22.0, 92.0, 30.0


def _map(done: Separations, victims: str, workloads: Sequence[str], of_what: str) -> Picture:
    what = f"Write amplification over that of {APART}"
    title = f"{what}, {of_what}, {victims} victims, by over-provisioning"
    parts = []
    across = CELL_WIDE * len(workloads)
    for group, spare in enumerate(SPARES):
        left = LABELS + across * group
        parts.append(text(left + across / 2, 14, f"{100 * spare:g} %"))
        for column, workload in enumerate(workloads):
            x = left + CELL_WIDE * (column + 0.6)
            turn = f" transform='rotate(-60 {x:.1f} {HEAD - 6:.1f})'"
            parts.append(text(x, HEAD - 6, workload, "start", turn))
            apart = done.waf(Place(workload, victims, spare, APART))
            for row, name in enumerate(lines(done.quick)):
                of = done.waf(Place(workload, victims, spare, name))
                ratio = None if of is None or apart is None else of.mean / apart.mean
                place = (left + CELL_WIDE * column, HEAD + CELL_HIGH * row)
                parts += heat((*place, CELL_WIDE, CELL_HIGH), ratio)
        parts.append(line(left, 4, left, HEAD, "stroke='#888'"))
    for row, name in enumerate(lines(done.quick)):
        parts.append(text(LABELS - 6, HEAD + CELL_HIGH * row + 15, name, "end"))
    bottom = HEAD + CELL_HIGH * len(lines(done.quick))
    parts.append(text(LABELS, bottom + 20, "Blue: lower; orange: higher.", "start"))
    wide = LABELS + across * len(SPARES) + 60
    name = f"separations-{of_what}-{victims}"
    return Picture(name, title, whole(title, parts, bottom + FOOT, wide))


def pictures(done: Separations) -> list[Picture]:
    """All of them."""
    every = groups(done.quick).items()
    return [_map(done, victims, names, of) for of, names in every for victims in VICTIMS]
