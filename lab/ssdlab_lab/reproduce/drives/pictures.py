"""A picture of each sustained write: rate over what has been written, published and simulated."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ssdlab_lab.reproduce.drives import sustained
from ssdlab_lab.reproduce.drives.known import Drive
from ssdlab_lab.reproduce.drives.study import Drives
from ssdlab_lab.reproduce.pictures import (
    BOTTOM,
    COLOURS,
    GRID,
    HIGH,
    LEFT,
    RIGHT,
    TOP,
    WIDE,
    Log,
    Picture,
    frame,
    line,
    text,
    whole,
)

STEPS = (1, 2, 5)
MOST_TICKS = 10
DRAWN = 5
"""Parts of a write that are drawn as one."""
PUBLISHED, SIMULATED = (f"stroke='{colour}' fill='none'" for colour in (COLOURS[1], COLOURS[0]))


def pictures(study: Drives) -> dict[str, Picture]:
    """The pictures by drive."""
    return {
        name: _picture(drive, course)
        for name, drive in study.of.items()
        if drive.measured.sustained and (course := study.course(drive)) is not None
    }


def _picture(drive: Drive, course: sustained.Course) -> Picture:
    full = sustained.capacity_gb(drive)
    steps = sustained.steps(drive.measured.sustained, full)
    shown = course.shown(DRAWN)
    rates = shown.rates.tolist()
    y = Log([*rates, *(rate for _, _, rate in steps)], HIGH - BOTTOM, TOP)

    def x(volume: float) -> float:
        return LEFT + volume / full * (WIDE - LEFT - RIGHT)

    parts = [*frame(None, y), *_volumes(full)]
    written = [0.0, *shown.written.tolist()]
    simulated = [
        (x(volume), y.at(rate))
        for start, end, rate in zip(written, written[1:], rates, strict=False)
        for volume in (start, end)
    ]
    published = [(x(volume), y.at(rate)) for start, end, rate in steps for volume in (start, end)]
    parts.append(_path(simulated, f"{SIMULATED} stroke-width='1.5'"))
    parts.append(_path(published, f"{PUBLISHED} stroke-width='2' stroke-dasharray='7 4'"))
    parts.append(text(LEFT + 4, TOP + 14, "MB/s", "start"))
    parts.append(text(WIDE - RIGHT, HIGH - BOTTOM + 34, "GB written", "end"))
    for place, name, style in (
        (LEFT, "simulated", SIMULATED),
        (LEFT + 130, "published", PUBLISHED),
    ):
        dashes = " stroke-dasharray='7 4'" if name == "published" else ""
        parts.append(
            line(place, HIGH - 18, place + 28, HIGH - 18, f"{style} stroke-width='2'{dashes}")
        )
        parts.append(text(place + 34, HIGH - 14, name, "start"))
    title = f"{drive.title}: rate of a sustained write over what has been written"
    return Picture(f"drives-{drive.config.name.removeprefix('drive-')}", title, whole(title, parts))


def _volumes(full: float) -> Iterator[str]:
    """The grid of volumes and its values."""
    step = next(
        step * 10.0**decade
        for decade in range(-3, 9)
        for step in STEPS
        if full / (step * 10.0**decade) <= MOST_TICKS
    )
    for index in range(int(full / step) + 1):
        place = LEFT + index * step / full * (WIDE - LEFT - RIGHT)
        yield line(place, TOP, place, HIGH - BOTTOM, GRID)
        yield text(place, HIGH - BOTTOM + 16, f"{index * step:,.12g}")


def _path(points: Sequence[tuple[float, float]], style: str) -> str:
    """A line through points."""
    places = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f"<polyline points='{places}' {style}/>"
