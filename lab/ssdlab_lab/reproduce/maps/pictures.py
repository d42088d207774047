"""The maps: a cell for each point, blue where the proposal is slower and orange where it is faster.

A heavy line encloses the cells without change. Where the baseline does not sustain the load, the
cell is crossed by a thin line. Letters are workloads: white on black those of the paper, black on
white recorded ones.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ssdlab_lab.reproduce.maps.choices import LINES, LOAD, PAPERS, lives, values
from ssdlab_lab.reproduce.maps.marks import LETTERS, Mark, marks_of
from ssdlab_lab.reproduce.maps.outcome import MEAN, Maps, Point, Verdict, mapped
from ssdlab_lab.reproduce.matrix import Source
from ssdlab_lab.reproduce.pictures import Picture, heat, line, text, whole

WIDE, HIGH = 54.0, 52.0
"""Of a cell."""
LEFT, TOP, GAP, FOOT = 92.0, 34.0, 26.0, 118.0
BOX, LETTER = 15.0, 9.0
"""Height of the box of a mark, and width of a letter in it."""
LANES: dict[Source, float] = {"synthetic": 27.0, "recorded": 43.0}
"""Where the marks of a row lie, under its number."""
BORDER = "stroke='#111' stroke-width='3' stroke-linecap='square'"
CROSSED = "stroke='#777' stroke-width='0.8'"
BOLD = " font-weight='bold'"
SAID: dict[Source, str] = {"synthetic": "paper", "recorded": "recorded"}
SHADES = (0.25, 0.5, 0.71, 1.0, 1.41, 2.0, 4.0)
"""Of the legend."""


@dataclass(frozen=True)
class Panel:
    """A map of one latency."""

    study: Maps
    paper: str
    axis: str
    measure: str
    left: float

    @property
    def columns(self) -> tuple[float, ...]:
        """The values of the horizontal axis."""
        return values(self.paper, self.axis, self.study.quick)

    @property
    def rows(self) -> tuple[float, ...]:
        """Live shares, the largest on top; in the maps of bursts, the smallest spare."""
        return lives(self.paper, self.study.quick)[::-1]

    def box(self, column: int, row: int) -> tuple[float, float, float, float]:
        """The frame of a cell."""
        return self.left + WIDE * column, TOP + HIGH * row, WIDE, HIGH

    def draw(self) -> Iterator[str]:
        """All of it."""
        middle = self.left + WIDE * len(self.columns) / 2
        title = "mean latency" if self.measure == MEAN else f"{self.measure} latency"
        yield text(middle, TOP - 12, f"gain in {title}", style=BOLD)
        for column, at in enumerate(self.columns):
            for row, live in enumerate(self.rows):
                yield from self._cell(column, row, Point(self.paper, self.axis, at, live))
            under = TOP + HIGH * len(self.rows) + 16
            x = self.left + WIDE * (column + 0.5)
            yield text(x, under, f"{100 * at:g} %" if self.axis == LOAD else f"{at:,.0f}")
        yield from self._borders()
        for x, y, names, source in self._grouped():
            yield from _box(x, y, names, source)

    def _cell(self, column: int, row: int, point: Point) -> Iterator[str]:
        x, y, wide, high = box = self.box(column, row)
        yield from heat(box, self.study.gain(point, self.measure))
        if self.study.sustains(point) is False:
            yield line(x, y + high, x + wide, y, CROSSED)

    def _borders(self) -> Iterator[str]:
        """Lines between cells of different verdicts."""
        at = [
            [
                self.study.verdict(Point(self.paper, self.axis, value, live), self.measure)
                for value in self.columns
            ]
            for live in self.rows
        ]
        for row, found in enumerate(at):
            for column, verdict in enumerate(found):
                x, y, wide, high = self.box(column, row)
                if column and _differ(found[column - 1], verdict):
                    yield line(x, y, x, y + high, BORDER)
                if row and _differ(at[row - 1][column], verdict):
                    yield line(x, y, x + wide, y, BORDER)

    def place(self, mark: Mark) -> tuple[float, float]:
        """Where a workload lies: in the row with the nearest live share, or at an edge."""
        at = mark.load if self.axis == LOAD else mark.burst
        nearest = min(self.rows, key=lambda live: abs(live - mark.live))
        x = self.left + WIDE * (_between(self.columns, at) + 0.5)
        return x, TOP + HIGH * self.rows.index(nearest) + LANES[mark.source]

    def _grouped(self) -> Iterator[tuple[float, float, str, Source]]:
        """Boxes of workloads that lie close together: position, letters, source."""
        boxes: list[tuple[float, float, str, Source]] = []
        for mark in sorted(marks_of(self.paper), key=lambda mark: self.place(mark)[::-1]):
            (x, y), letter = self.place(mark), LETTERS[mark.workload]
            if boxes and boxes[-1][1] == y:
                other, _, names, _ = boxes[-1]
                if x - other < BOX + LETTER * (len(names) - 1) / 2:
                    boxes[-1] = (other, y, names + letter, mark.source)
                    continue
            boxes.append((x, y, letter, mark.source))
        yield from boxes


def _differ(one: Verdict | None, other: Verdict | None) -> bool:
    """Whether two neighbours have verdicts, and different ones."""
    return None not in (one, other) and one != other


def _between(values: Sequence[float], value: float) -> float:
    """The place of a value among ascending ones, as logarithms: 0 is the first."""
    scaled = [math.log(one) for one in values]
    wanted = min(max(math.log(value), scaled[0]), scaled[-1])
    index = max(i for i, one in enumerate(scaled) if one <= wanted)
    if index == len(scaled) - 1:
        return float(index)
    return index + (wanted - scaled[index]) / (scaled[index + 1] - scaled[index])


def _box(x: float, y: float, names: str, source: Source) -> Iterator[str]:
    """Letters in a box: square for recorded requests, round for those of the paper."""
    is_recorded = source == "recorded"
    wide = BOX + LETTER * (len(names) - 1)
    paint = "fill='white' stroke='#111'" if is_recorded else "fill='#111' stroke='white'"
    shape = "0" if is_recorded else f"{BOX / 2}"
    yield (
        f"<rect x='{x - wide / 2:.1f}' y='{y - BOX / 2:.1f}' width='{wide}' height='{BOX}'"
        f" rx='{shape}' {paint}/>"
    )
    colour = "#111" if is_recorded else "white"
    style = f" style='fill:{colour};font-size:11px;font-weight:bold'"
    yield text(x, y + 4, names, style=style)


def picture(study: Maps, paper: str, axis: str) -> Picture:
    """A map with a panel for each of two latencies."""
    wide = WIDE * len(values(paper, axis, study.quick))
    panels = [
        Panel(study, paper, axis, measure, LEFT + (wide + GAP) * index)
        for index, measure in enumerate(mapped(paper))
    ]
    bottom = TOP + HIGH * len(lives(paper, study.quick))
    parts = [part for panel in panels for part in panel.draw()]
    for row, live in enumerate(panels[0].rows):
        share = live if axis == LOAD else 1 - live
        parts.append(text(LEFT - 8, TOP + HIGH * (row + 0.5) + 4, f"{100 * share:.0f} %", "end"))
    middle = TOP + (bottom - TOP) / 2
    turn = f" transform='rotate(-90 22 {middle:.1f})'"
    name = "live share of the flash" if axis == LOAD else "spare share of the flash"
    parts.append(text(22, middle, name, style=turn))
    full = LEFT + 2 * wide + GAP + 20
    under = (
        "load: share of the time of the flash that the host needs"
        if axis == LOAD
        else "burst: requests that arrive together"
    )
    parts.append(text(LEFT + wide + GAP / 2, bottom + 36, under))
    parts += _legend(paper, bottom + 48)
    base, proposed = LINES[paper]
    what = "load and live share" if axis == LOAD else "burst length and spare"
    title = f"{paper}: latency of {base} over that of {proposed}, by {what}"
    return Picture(f"maps-{paper}-{axis}", title, whole(title, parts, bottom + FOOT, full))


def _legend(paper: str, top: float) -> Iterator[str]:
    """Colours, and the letters of workloads."""
    for index, ratio in enumerate(SHADES):
        yield from heat((LEFT + 44 * index, top, 44.0, 22.0), ratio)
    x = LEFT + 44 * len(SHADES) + 10
    yield text(x, top + 15, "below 1: slower; above 1: faster", "start")
    marks = marks_of(paper)
    for row, (source, said) in enumerate(SAID.items()):
        names = list(dict.fromkeys(mark.workload for mark in marks if mark.source == source))
        y = top + 40 + 19 * row
        if names:
            yield from _box(LEFT + 8, y - 4, "A", source)
            listed = ", ".join(f"{LETTERS[name]} {name}" for name in names)
            yield text(LEFT + 22, y, f"{said}: {listed}", "start")


def pictures(study: Maps) -> dict[str, list[Picture]]:
    """The maps of each paper."""
    return {paper: [picture(study, paper, axis) for axis in ("load", "burst")] for paper in PAPERS}
