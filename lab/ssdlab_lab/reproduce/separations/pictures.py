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


def _map(study: Separations, victims: str, workloads: Sequence[str], group_name: str) -> Picture:
    quantity = f"Write amplification over that of {APART}"
    title = f"{quantity}, {group_name}, {victims} victims, by over-provisioning"
    parts = []
    group_width = CELL_WIDE * len(workloads)
    for group, spare in enumerate(SPARES):
        left = LABELS + group_width * group
        parts.append(text(left + group_width / 2, 14, f"{100 * spare:g} %"))
        for column, workload in enumerate(workloads):
            x = left + CELL_WIDE * (column + 0.6)
            turn = f" transform='rotate(-60 {x:.1f} {HEAD - 6:.1f})'"
            parts.append(text(x, HEAD - 6, workload, "start", turn))
            reference = study.waf(Place(workload, victims, spare, APART))
            for row, name in enumerate(lines(study.quick)):
                estimate = study.waf(Place(workload, victims, spare, name))
                ratio = (
                    None
                    if estimate is None or reference is None
                    else estimate.mean / reference.mean
                )
                place = (left + CELL_WIDE * column, HEAD + CELL_HIGH * row)
                parts += heat((*place, CELL_WIDE, CELL_HIGH), ratio)
        parts.append(line(left, 4, left, HEAD, "stroke='#888'"))
    for row, name in enumerate(lines(study.quick)):
        parts.append(text(LABELS - 6, HEAD + CELL_HIGH * row + 15, name, "end"))
    bottom = HEAD + CELL_HIGH * len(lines(study.quick))
    parts.append(text(LABELS, bottom + 20, "Blue: lower; orange: higher.", "start"))
    width = LABELS + group_width * len(SPARES) + 60
    name = f"separations-{group_name}-{victims}"
    return Picture(name, title, whole(title, parts, bottom + FOOT, width))


def pictures(study: Separations) -> list[Picture]:
    """All of them."""
    groups_of_study = groups(study.quick).items()
    return [
        _map(study, victims, names, group)
        for group, names in groups_of_study
        for victims in VICTIMS
    ]
