"""Pictures of the study: a heat map for each tail, and the tails over the load."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ssdlab.results.intervals import Ratio
from ssdlab_lab.reproduce.combined.choices import (
    BASE,
    FIXED,
    FLOOR,
    LOAD,
    LOADS,
    NEAR,
    ORDERS,
    SWEPT,
    SWEPT_LIVE,
    SWEPT_ORDERS,
    TOGETHER,
)
from ssdlab_lab.reproduce.combined.outcome import READS, WRITES, CombinedOutcome, Setting, direction
from ssdlab_lab.reproduce.pictures import (
    BOTTOM,
    COLOURS,
    FRAME,
    HIGH,
    LEFT,
    RIGHT,
    TOP,
    WIDE,
    Log,
    Picture,
    frame,
    heat,
    line,
    mark,
    text,
    whole,
)
from ssdlab_lab.reproduce.tables import geometric_mean

SHOWN = (*FIXED[1:], TOGETHER, FLOOR)
"""Lines beside the conventional one."""
LABELS, CELL_WIDE, CELL_HIGH, HEAD, FOOT = 124.0, 41.0, 22.0, 42.0, 30.0
DRAWN = (BASE, "as needed", "selective", "invalidation-rate", "adaptive-channel", FLOOR)
"""Lines whose tails are drawn over the load."""


def _cell(x: float, y: float, ratio: Ratio | None) -> Iterator[str]:
    style = "" if ratio is None or direction(ratio) else " fill-opacity='0.45'"
    yield from heat((x, y, CELL_WIDE, CELL_HIGH), None if ratio is None else ratio.ratio, style)


def heat_map(study: CombinedOutcome, measure: str, name: str) -> Picture:
    """Lines by settings: the ratio to the conventional line."""
    settings = study.settings()
    quantity = measure.partition(",")[0]
    title = f"{quantity} over that of the conventional line, by order and live share"
    parts = []
    for column, order in enumerate(ORDERS):
        group_width = CELL_WIDE * len(study.lives)
        parts.append(text(LABELS + group_width * (column + 0.5), 16, order))
    for column, setting in enumerate(settings):
        room = "" if study.has_room(setting, measure) else "°"
        place = LABELS + CELL_WIDE * (column + 0.5)
        parts.append(text(place, 34, f"{100 * setting.live:.0f} %{room}"))
    for row, scheme in enumerate(SHOWN):
        y = HEAD + CELL_HIGH * row
        parts.append(text(LABELS - 6, y + 15, scheme, "end"))
        for column, setting in enumerate(settings):
            parts += _cell(LABELS + CELL_WIDE * column, y, study.ratio(setting, scheme, measure))
    bottom = HEAD + CELL_HIGH * len(SHOWN)
    for column in range(len(ORDERS) + 1):
        x = LABELS + CELL_WIDE * len(study.lives) * column
        parts.append(line(x, 4, x, bottom, "stroke='#888'"))
    legend = (
        "Blue: lower; orange: higher; pale numbers: no significant change."
        f" °: no room, the floor is at least {NEAR:g}."
    )
    parts.append(text(LABELS, bottom + 20, legend, "start"))
    width = LABELS + CELL_WIDE * len(settings) + 8
    return Picture(f"combined-{name}", title, whole(title, parts, bottom + FOOT, max(width, WIDE)))


def loads_of(study: CombinedOutcome) -> list[float]:
    """The loads of the open loop that were run."""
    loads = sorted({*LOADS, LOAD})
    settings = {point.setting for point in study.values}
    return [load for load in loads if Setting(SWEPT_ORDERS[0], SWEPT_LIVE, load) in settings]


def _tails(
    study: CombinedOutcome, order: str, workload: str, scheme: str, measure: str
) -> list[float | None]:
    """Geometric mean over seeds at each load."""
    return [
        geometric_mean(
            [
                study.number(Setting(order, SWEPT_LIVE, load), workload, scheme, seed, measure)
                for seed in study.seeds
            ]
        )
        for load in loads_of(study)
    ]


def over_load(study: CombinedOutcome, order: str, workload: str, measure: str) -> Picture | None:
    """A tail over the load, a line for each of `DRAWN`."""
    loads = loads_of(study)
    curves = {scheme: _tails(study, order, workload, scheme, measure) for scheme in DRAWN}
    values = [value for curve in curves.values() for value in curve if value]
    if len(loads) < 2 or not values:
        return None
    op = measure.partition(" ")[0]
    title = f"{workload}, {order}, {100 * SWEPT_LIVE:.0f} % live: p99.9 of {op}s, ms, over the load"
    y = Log(values, HIGH - BOTTOM, TOP)
    parts = [*frame(None, y)]
    scale = (WIDE - LEFT - RIGHT) / (loads[-1] - loads[0])

    def place(load: float) -> float:
        return LEFT + 12 + (load - loads[0]) * scale * 0.95

    parts += [text(place(load), HIGH - BOTTOM + 16, f"{load:g}") for load in loads]
    for index, (scheme, curve) in enumerate(curves.items()):
        parts += _curve([place(load) for load in loads], curve, y, COLOURS[index])
        x, baseline = LEFT + (WIDE - LEFT - RIGHT) / 3 * (index % 3), HIGH - 28 + 16 * (index // 3)
        parts += [
            mark(x, baseline, "circle", COLOURS[index], is_filled=True),
            text(x + 8, baseline + 4, scheme, "start"),
        ]
    parts.append(text(LEFT + 4, TOP + 14, "ms", "start"))
    key = f"combined-load-{workload.lower()}-{op}-{order.partition(' ')[0]}"
    return Picture(key, title, whole(title, parts))


def _curve(
    x: Sequence[float], values: Sequence[float | None], y: Log, colour: str
) -> Iterator[str]:
    points = [(a, y.at(b)) for a, b in zip(x, values, strict=True) if b]
    path = " ".join(f"{a:.1f},{b:.1f}" for a, b in points)
    yield f"<polyline points='{path}' {FRAME.replace('#888', colour)} stroke-width='1.5'/>"
    for a, b in points:
        yield mark(a, b, "circle", colour, is_filled=True)


def pictures(study: CombinedOutcome) -> list[Picture]:
    """All pictures, in the order of the page."""
    maps = [heat_map(study, WRITES, "writes"), heat_map(study, READS, "reads")]
    curves = [
        over_load(study, order, workload, measure)
        for workload, measure in zip(SWEPT, (WRITES, READS), strict=True)
        for order in SWEPT_ORDERS
    ]
    return [*maps, *(curve for curve in curves if curve is not None)]
