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
            values = [s * 10.0**d for d in decades for s in steps if s * 10.0**d <= self.high]
            values = [value for value in values if value >= self.low]
            if 2 <= len(values) <= 9:
                return values
        return values[:: math.ceil(len(values) / 9)] if len(values) > 9 else values


def _tick(value: float) -> str:
    """A round value without trailing zeros."""
    text = number(value)
    return text.rstrip("0").rstrip(".") if "." in text else text


def text(x: float, y: float, words: str, anchor: str = "middle", style: str = "") -> str:
    """A text at a position; `style`: further attributes."""
    return (
        f"<text x='{x:.1f}' y='{y:.1f}' text-anchor='{anchor}' {FONT}{style}>{escape(words)}</text>"
    )


def line(x: float, y: float, x2: float, y2: float, style: str) -> str:
    """A line from one position to another."""
    return f"<line x1='{x:.1f}' y1='{y:.1f}' x2='{x2:.1f}' y2='{y2:.1f}' {style}/>"


def mark(x: float, y: float, shape: str, colour: str, is_filled: bool) -> str:
    """A point of a shape of `SHAPES`."""
    paint = f"fill='{colour if is_filled else 'white'}' stroke='{colour}' stroke-width='1.5'"
    if shape == "circle":
        return f"<circle cx='{x:.1f}' cy='{y:.1f}' r='4.5' {paint}/>"
    corners = {
        "square": ((-4, -4), (4, -4), (4, 4), (-4, 4)),
        "diamond": ((0, -6), (6, 0), (0, 6), (-6, 0)),
        "triangle": ((0, -5.5), (5.5, 4.5), (-5.5, 4.5)),
    }[shape]
    points = " ".join(f"{x + dx:.1f},{y + dy:.1f}" for dx, dy in corners)
    return f"<polygon points='{points}' {paint}/>"


def whole(title: str, parts: Sequence[str], high: float = HIGH, full_width: float = WIDE) -> str:
    """The picture made of `parts`."""
    head = f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {full_width:.0f} {high:.0f}'"
    ground = f"<rect width='{full_width:.0f}' height='{high:.0f}' fill='white'/>"
    width = f" width='{full_width:.0f}' role='img'><title>{escape(title)}</title>"
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
    values = [1 / BAND, BAND, *(gain.published for gain in gains), *(gain.ours for gain in gains)]
    x, y = Log(values, LEFT, WIDE - RIGHT), Log(values, HIGH - BOTTOM, TOP)
    parts = [_wedge(x, y), *frame(x, y), *_places(x, y)]
    measures = list(dict.fromkeys(gain.measure for gain in gains))
    names = list(dict.fromkeys(gain.workload for gain in gains))
    parts += [_point(x, y, gain, measures, names) for gain in gains]
    legend_y = HIGH - BOTTOM + 34
    rows, of_names = -(-len(measures) // 2), -(-len(names) // NAMES)
    parts += [*_measures(measures, legend_y), *_names(names, legend_y + LINE * rows)]
    high = legend_y + LINE * (rows + of_names)
    parts.append(text(LEFT + 4, TOP + 14, "here, times faster", "start"))
    parts.append(text(WIDE - RIGHT - 4, HIGH - BOTTOM - 6, "published, times faster", "end"))
    return Picture(f"{paper}-gains-{source}", title, whole(title, parts, high))


def _point(x: Log, y: Log, gain: Gain, measures: Sequence[str], names: Sequence[str]) -> str:
    shape = SHAPES[measures.index(gain.measure) % len(SHAPES)]
    colour = COLOURS[names.index(gain.workload) % len(COLOURS)]
    is_filled = names.index(gain.workload) < len(COLOURS)
    return mark(x.at(gain.published), y.at(gain.ours), shape, colour, is_filled)


def _places(x: Log, y: Log) -> Iterator[str]:
    """No change, and as published."""
    style = "stroke='#666'"
    yield line(x.at(x.low), y.at(1), x.at(x.high), y.at(1), style)
    yield line(x.at(1), y.at(y.low), x.at(1), y.at(y.high), style)
    yield line(
        x.at(x.low), y.at(y.low), x.at(x.high), y.at(y.high), f"{style} stroke-dasharray='4'"
    )


def _wedge(x: Log, y: Log) -> str:
    """The area in which a gain is near the published one."""
    parts = []
    for end in (x.low, x.high):
        start = BAND if end > 1 else 1 / BAND
        if (end > 1) != (end > start):
            continue
        corners = [(start, start ** (1 / FACTOR)), (start, start**FACTOR)]
        extreme = min(end**FACTOR, y.high) if end > 1 else max(end**FACTOR, y.low)
        corners += [(extreme ** (1 / FACTOR), extreme), (end, extreme), (end, end ** (1 / FACTOR))]
        points = " ".join(f"{x.at(a):.1f},{y.at(b):.1f}" for a, b in corners)
        parts.append(f"<polygon points='{points}' fill='#e7f2e7'/>")
    left, right = x.at(1 / BAND), x.at(BAND)
    low, high = y.at(1 / BAND), y.at(BAND)
    band = f"x='{left:.1f}' y='{high:.1f}' width='{right - left:.1f}' height='{low - high:.1f}'"
    return "".join(parts) + f"<rect {band} fill='#e7f2e7'/>"


def _measures(measures: Sequence[str], top: float) -> Iterator[str]:
    for index, name in enumerate(measures):
        spacing = (WIDE - LEFT - RIGHT) / min(len(measures), 2)
        place = LEFT + spacing * (index % 2)
        line_y = top + LINE * (index // 2)
        yield mark(place, line_y, SHAPES[index % len(SHAPES)], "#555", is_filled=False)
        yield text(place + 10, line_y + 4, name, "start")


def _names(names: Sequence[str], top: float) -> Iterator[str]:
    columns = min(len(names), NAMES)
    spacing = (WIDE - LEFT - RIGHT) / columns
    for index, name in enumerate(names):
        place, line_y = LEFT + spacing * (index % columns), top + LINE * (index // columns)
        is_filled = index < len(COLOURS)
        yield mark(place, line_y, "circle", COLOURS[index % len(COLOURS)], is_filled)
        yield text(place + 8, line_y + 4, name, "start")


def latencies(paper: str, table: Table, source: Source) -> Picture | None:
    """The latencies of a table by workload: published hollow, ours filled."""
    rows = [row for row in table.rows if row.neutral is None and any(_real(row.published))]
    pairs = [
        *(_real(row.published) for row in rows),
        *(_real(row.ours.get(source, ())) for row in rows),
    ]
    values = [value for line in pairs for value in line if value]
    indices = [
        index
        for index in range(len(table.columns))
        if any(index < len(line) and line[index] for line in pairs)
    ]
    if not table.kind or not values or not indices:
        return None
    title = f"{table.title}, {table.unit}: published (hollow) and here (full), {source} requests"
    y = Log(values, HIGH - BOTTOM, TOP)
    parts = [*frame(None, y)]
    spacing = (WIDE - LEFT - RIGHT) / len(indices)
    for place, index in enumerate(indices):
        middle = LEFT + spacing * (place + 0.5)
        parts.append(text(middle, HIGH - BOTTOM + 16, table.columns[index]))
        for scheme, row in enumerate(rows):
            x = middle + (scheme - (len(rows) - 1) / 2) * min(18.0, spacing / (len(rows) + 1))
            parts += _pair(x, y, row, index, source, COLOURS[scheme % len(COLOURS)])
    step = (WIDE - LEFT - RIGHT) / len(rows)
    for scheme, row in enumerate(rows):
        legend_x = LEFT + step * scheme
        colour = COLOURS[scheme % len(COLOURS)]
        parts.append(mark(legend_x, HIGH - 18, "circle", colour, is_filled=True))
        parts.append(text(legend_x + 8, HIGH - 14, row.label, "start"))
    parts.append(text(LEFT + 4, TOP + 14, table.unit, "start"))
    return Picture(f"{paper}-{table.key}-{source}", title, whole(title, parts))


def _pair(x: float, y: Log, row: Row, index: int, source: Source, colour: str) -> Iterator[str]:
    simulated = _real(row.ours.get(source, ()))
    published_value, simulated_value = (
        _real(row.published)[index],
        simulated[index] if simulated else None,
    )
    if published_value and simulated_value:
        yield line(x, y.at(published_value), x, y.at(simulated_value), f"stroke='{colour}'")
    if published_value:
        yield mark(x, y.at(published_value), "circle", colour, is_filled=False)
    if simulated_value:
        yield mark(x, y.at(simulated_value), "circle", colour, is_filled=True)


def _real(values: Sequence[Number]) -> list[Number]:
    return [None if value is None or math.isnan(value) or value <= 0 else value for value in values]


def pictures(paper: str, tables: Sequence[Table], sources: Sequence[Source]) -> dict[str, Picture]:
    """All pictures by key: `gains SOURCE` and the keys of the tables (synthetic requests)."""
    drawings: dict[str, Picture | None] = {
        f"gains {source}": scatter(paper, tables, source) for source in sources
    }
    if "synthetic" in sources:
        drawings |= {table.key: latencies(paper, table, "synthetic") for table in tables}
    return {key: picture for key, picture in drawings.items() if picture is not None}


def markdown_of(picture: Picture) -> list[str]:
    """The lines of Markdown that show a picture."""
    return [f"![{picture.title}]({FOLDER}/{picture.name}.svg)", ""]


def files_of(drawings: Mapping[str, Picture]) -> dict[str, str]:
    """Names of the files within the folder of the page, and their contents."""
    return {f"{FOLDER}/{picture.name}.svg": picture.svg for picture in drawings.values()}


def heat(
    box: tuple[float, float, float, float], ratio: float | None, style: str = ""
) -> Iterator[str]:
    """A cell of a heat map (x, y, width, height) with a ratio, blue below 1 and orange above.

    `style`: further attributes of its number.
    """
    x, y, width, high = box
    frame = f"x='{x:.1f}' y='{y:.1f}' width='{width}' height='{high}' stroke='#ddd'"
    if ratio is None:
        yield f"<rect {frame} fill='white'/>"
        return
    strength = min(1.0, abs(math.log2(ratio)) / STRONGEST)
    tone = LOWER if ratio < 1 else HIGHER
    yield f"<rect {frame} fill='rgba({tone},{0.75 * strength:.2f})'/>"
    value = f"{ratio:.2f}" if ratio < 9.995 else f"{ratio:.0f}"
    yield text(x + width / 2, y + 15, value, style=style)
