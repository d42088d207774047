"""Pictures of a reproduction: published and measured gains, and the latencies of each table.

Plain SVG with a white ground, so that they can be seen in Markdown, too.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from ssdlab_lab.reproduce.matrix import Source
from ssdlab_lab.reproduce.scoring import BAND, FACTOR, Gain, gains_of
from ssdlab_lab.reproduce.tables import Number, Row, Table, number

FOLDER = "pictures"
"""The folder of the pictures, within that of the page."""
LINE, NAMES = 14.0, 5
"""Height of a line of a legend; names in it."""
WIDE, HIGH, LEFT, RIGHT, TOP, BOTTOM = 560.0, 380.0, 70.0, 16.0, 16.0, 64.0
COLOURS = ("#1f6fb4", "#c8501e", "#2d8a4e", "#8a4fb0", "#8a6d1e", "#4c5560")
SHAPES = ("circle", "square", "diamond", "triangle")
FONT = "font-family='system-ui, sans-serif' font-size='12' fill='#333'"
GRID, FRAME = "stroke='#ddd'", "stroke='#888' fill='none'"


@dataclass(frozen=True)
class Picture:
    """An SVG file."""

    name: str
    """The name of the file, without folder and extension."""
    title: str
    """A description for those who cannot see it."""
    svg: str


LOWER, HIGHER = "31,111,180", "200,80,30"
"""Colours of ratios in a heat map."""
STRONGEST = 2.0
"""Binary logarithm of the ratio with the strongest colour."""


class Log:
    """A logarithmic axis from `low` to `high` over the positions from `start` to `end`."""

    def __init__(self, values: Sequence[float], start: float, end: float) -> None:
        assert values, "an axis of nothing"
        low, high = min(values), max(values)
        if high < low * 1.05:
            low, high = low / 1.1, high * 1.1
        margin = (high / low) ** 0.06
        self.low, self.high = low / margin, high * margin
        self.start, self.end = start, end

    def at(self, value: float) -> float:
        """The place of a value."""
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self) -> list[float]:
        """At most nine round values."""
        decades = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        for steps in ((1, 1.1, 1.2, 1.5, 2, 3, 4, 5, 7), (1, 1.5, 2, 3, 5, 7), (1, 2, 5), (1,)):
            found = [s * 10.0**d for d in decades for s in steps if s * 10.0**d <= self.high]
            found = [value for value in found if value >= self.low]
            if 2 <= len(found) <= 9:
                return found
        return found[:: math.ceil(len(found) / 9)] if len(found) > 9 else found


def _tick(value: float) -> str:
    """A round value without trailing zeros."""
    text = number(value)
    return text.rstrip("0").rstrip(".") if "." in text else text


def text(x: float, y: float, words: str, anchor: str = "middle", more: str = "") -> str:
    """A text at a position; `more`: further attributes."""
    return (
        f"<text x='{x:.1f}' y='{y:.1f}' text-anchor='{anchor}' {FONT}{more}>{escape(words)}</text>"
    )


def line(x: float, y: float, x2: float, y2: float, style: str) -> str:
    """A line from one position to another."""
    return f"<line x1='{x:.1f}' y1='{y:.1f}' x2='{x2:.1f}' y2='{y2:.1f}' {style}/>"


def mark(x: float, y: float, shape: str, colour: str, filled: bool) -> str:
    """A point of a shape of `SHAPES`."""
    paint = f"fill='{colour if filled else 'white'}' stroke='{colour}' stroke-width='1.5'"
    if shape == "circle":
        return f"<circle cx='{x:.1f}' cy='{y:.1f}' r='4.5' {paint}/>"
    corners = {
        "square": ((-4, -4), (4, -4), (4, 4), (-4, 4)),
        "diamond": ((0, -6), (6, 0), (0, 6), (-6, 0)),
        "triangle": ((0, -5.5), (5.5, 4.5), (-5.5, 4.5)),
    }[shape]
    points = " ".join(f"{x + dx:.1f},{y + dy:.1f}" for dx, dy in corners)
    return f"<polygon points='{points}' {paint}/>"


def whole(title: str, parts: Sequence[str], high: float = HIGH, wide: float = WIDE) -> str:
    """The picture made of `parts`."""
    head = f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {wide:.0f} {high:.0f}'"
    ground = f"<rect width='{wide:.0f}' height='{high:.0f}' fill='white'/>"
    width = f" width='{wide:.0f}' role='img'><title>{escape(title)}</title>"
    return head + width + ground + "\n".join(parts) + "</svg>\n"


def frame(x: Log | None, y: Log) -> Iterator[str]:
    """The grid, its values and the frame around it."""
    bottom, right = HIGH - BOTTOM, WIDE - RIGHT
    for value in y.ticks():
        yield line(LEFT, y.at(value), right, y.at(value), GRID)
        yield text(LEFT - 6, y.at(value) + 4, _tick(value), "end")
    for value in x.ticks() if x else ():
        yield line(x.at(value), TOP, x.at(value), bottom, GRID) if x else ""
        place = x.at(value) if x else 0.0
        yield text(place, bottom + 16, _tick(value))
    yield f"<rect x='{LEFT}' y='{TOP}' width='{right - LEFT}' height='{bottom - TOP}' {FRAME}/>"


def scatter(paper: str, tables: Sequence[Table], source: Source) -> Picture | None:
    """Each gain: published to the right, ours upwards; near the published one inside the wedge."""
    gains = [gain for table in tables for gain in gains_of(table, source)]
    if not gains:
        return None
    title = f"Gains of {paper}, {source} requests: published (right) and here (up)"
    values = [1 / BAND, BAND, *(one.published for one in gains), *(one.ours for one in gains)]
    x, y = Log(values, LEFT, WIDE - RIGHT), Log(values, HIGH - BOTTOM, TOP)
    parts = [_wedge(x, y), *frame(x, y), *_places(x, y)]
    measures = list(dict.fromkeys(one.measure for one in gains))
    names = list(dict.fromkeys(one.workload for one in gains))
    parts += [_point(x, y, one, measures, names) for one in gains]
    below = HIGH - BOTTOM + 34
    rows, of_names = -(-len(measures) // 2), -(-len(names) // NAMES)
    parts += [*_measures(measures, below), *_names(names, below + LINE * rows)]
    high = below + LINE * (rows + of_names)
    parts.append(text(LEFT + 4, TOP + 14, "here, times faster", "start"))
    parts.append(text(WIDE - RIGHT - 4, HIGH - BOTTOM - 6, "published, times faster", "end"))
    return Picture(f"{paper}-gains-{source}", title, whole(title, parts, high))


def _point(x: Log, y: Log, one: Gain, measures: Sequence[str], names: Sequence[str]) -> str:
    shape = SHAPES[measures.index(one.measure) % len(SHAPES)]
    colour = COLOURS[names.index(one.workload) % len(COLOURS)]
    filled = names.index(one.workload) < len(COLOURS)
    return mark(x.at(one.published), y.at(one.ours), shape, colour, filled)


def _places(x: Log, y: Log) -> Iterator[str]:
    """No change, and as published."""
    dark = "stroke='#666'"
    yield line(x.at(x.low), y.at(1), x.at(x.high), y.at(1), dark)
    yield line(x.at(1), y.at(y.low), x.at(1), y.at(y.high), dark)
    yield line(x.at(x.low), y.at(y.low), x.at(x.high), y.at(y.high), f"{dark} stroke-dasharray='4'")


def _wedge(x: Log, y: Log) -> str:
    """The area in which a gain is near the published one."""
    parts = []
    for end in (x.low, x.high):
        begin = BAND if end > 1 else 1 / BAND
        if (end > 1) != (end > begin):
            continue
        corners = [(begin, begin ** (1 / FACTOR)), (begin, begin**FACTOR)]
        most = min(end**FACTOR, y.high) if end > 1 else max(end**FACTOR, y.low)
        corners += [(most ** (1 / FACTOR), most), (end, most), (end, end ** (1 / FACTOR))]
        points = " ".join(f"{x.at(a):.1f},{y.at(b):.1f}" for a, b in corners)
        parts.append(f"<polygon points='{points}' fill='#e7f2e7'/>")
    left, right = x.at(1 / BAND), x.at(BAND)
    low, high = y.at(1 / BAND), y.at(BAND)
    band = f"x='{left:.1f}' y='{high:.1f}' width='{right - left:.1f}' height='{low - high:.1f}'"
    return "".join(parts) + f"<rect {band} fill='#e7f2e7'/>"


def _measures(measures: Sequence[str], below: float) -> Iterator[str]:
    for at, name in enumerate(measures):
        across = (WIDE - LEFT - RIGHT) / min(len(measures), 2)
        place = LEFT + across * (at % 2)
        down = below + LINE * (at // 2)
        yield mark(place, down, SHAPES[at % len(SHAPES)], "#555", filled=False)
        yield text(place + 10, down + 4, name, "start")


def _names(names: Sequence[str], below: float) -> Iterator[str]:
    each = min(len(names), NAMES)
    across = (WIDE - LEFT - RIGHT) / each
    for at, name in enumerate(names):
        place, down = LEFT + across * (at % each), below + LINE * (at // each)
        filled = at < len(COLOURS)
        yield mark(place, down, "circle", COLOURS[at % len(COLOURS)], filled)
        yield text(place + 8, down + 4, name, "start")


def latencies(paper: str, table: Table, source: Source) -> Picture | None:
    """The latencies of a table by workload: published hollow, ours filled."""
    rows = [row for row in table.rows if row.neutral is None and any(_real(row.published))]
    both = [
        *(_real(row.published) for row in rows),
        *(_real(row.ours.get(source, ())) for row in rows),
    ]
    values = [value for line in both for value in line if value]
    shown = [
        at for at in range(len(table.columns)) if any(at < len(line) and line[at] for line in both)
    ]
    if not table.kind or not values or not shown:
        return None
    title = f"{table.title}, {table.unit}: published (hollow) and here (full), {source} requests"
    y = Log(values, HIGH - BOTTOM, TOP)
    parts = [*frame(None, y)]
    across = (WIDE - LEFT - RIGHT) / len(shown)
    for place, at in enumerate(shown):
        middle = LEFT + across * (place + 0.5)
        parts.append(text(middle, HIGH - BOTTOM + 16, table.columns[at]))
        for scheme, row in enumerate(rows):
            x = middle + (scheme - (len(rows) - 1) / 2) * min(18.0, across / (len(rows) + 1))
            parts += _pair(x, y, row, at, source, COLOURS[scheme % len(COLOURS)])
    step = (WIDE - LEFT - RIGHT) / len(rows)
    for scheme, row in enumerate(rows):
        at_legend = LEFT + step * scheme
        colour = COLOURS[scheme % len(COLOURS)]
        parts.append(mark(at_legend, HIGH - 18, "circle", colour, filled=True))
        parts.append(text(at_legend + 8, HIGH - 14, row.label, "start"))
    parts.append(text(LEFT + 4, TOP + 14, table.unit, "start"))
    return Picture(f"{paper}-{table.key}-{source}", title, whole(title, parts))


def _pair(x: float, y: Log, row: Row, at: int, source: Source, colour: str) -> Iterator[str]:
    ours = _real(row.ours.get(source, ()))
    said, here = _real(row.published)[at], ours[at] if ours else None
    if said and here:
        yield line(x, y.at(said), x, y.at(here), f"stroke='{colour}'")
    if said:
        yield mark(x, y.at(said), "circle", colour, filled=False)
    if here:
        yield mark(x, y.at(here), "circle", colour, filled=True)


def _real(values: Sequence[Number]) -> list[Number]:
    return [None if one is None or math.isnan(one) or one <= 0 else one for one in values]


def pictures(paper: str, tables: Sequence[Table], sources: Sequence[Source]) -> dict[str, Picture]:
    """All pictures by key: `gains SOURCE` and the keys of the tables (synthetic requests)."""
    found: dict[str, Picture | None] = {
        f"gains {source}": scatter(paper, tables, source) for source in sources
    }
    if "synthetic" in sources:
        found |= {table.key: latencies(paper, table, "synthetic") for table in tables}
    return {key: one for key, one in found.items() if one is not None}


def markdown_of(picture: Picture) -> list[str]:
    """The lines of Markdown that show a picture."""
    return [f"![{picture.title}]({FOLDER}/{picture.name}.svg)", ""]


def files_of(several: Mapping[str, Picture]) -> dict[str, str]:
    """Names of the files within the folder of the page, and their contents."""
    return {f"{FOLDER}/{one.name}.svg": one.svg for one in several.values()}


def heat(
    box: tuple[float, float, float, float], ratio: float | None, more: str = ""
) -> Iterator[str]:
    """A cell of a heat map (x, y, width, height) with a ratio, blue below 1 and orange above.

    `more`: further attributes of its number.
    """
    x, y, wide, high = box
    frame = f"x='{x:.1f}' y='{y:.1f}' width='{wide}' height='{high}' stroke='#ddd'"
    if ratio is None:
        yield f"<rect {frame} fill='white'/>"
        return
    strength = min(1.0, abs(math.log2(ratio)) / STRONGEST)
    tone = LOWER if ratio < 1 else HIGHER
    yield f"<rect {frame} fill='rgba({tone},{0.75 * strength:.2f})'/>"
    value = f"{ratio:.2f}" if ratio < 9.995 else f"{ratio:.0f}"
    yield text(x + wide / 2, y + 15, value, more=more)
