"""The contents of a plot, however it is drawn: axes, curves, bars, or why there is none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from ssdlab.display.form import Unit as Quantity

Floats: TypeAlias = "npt.NDArray[np.float64]"
Unit: TypeAlias = Literal["ns", "count", "bytes", "share", "ratio"]

READ, WRITE, TRIM, FLUSH = 0, 1, 2, 3
HOST, GC, ERASE = 0, 1, 4
TONES = 7
"""Colours of the palette; further curves use them again, dashed."""


@dataclass(frozen=True)
class Axis:
    """One axis; `unit` is that of the values: nanoseconds, things, bytes, shares (0 to 1), none."""

    label: str
    unit: Unit
    log: bool = False
    low: float | None = None
    """Where it starts, if not at the values."""
    high: float | None = None
    """Where it ends, if not at the values."""


@dataclass(frozen=True)
class Curve:
    """Values over x; NaN leaves a gap. `low` and `high` bound a band around the line."""

    name: str
    x: Floats
    y: Floats
    tone: int
    low: Floats | None = None
    high: Floats | None = None
    step: bool = False
    """Keep each value until the next."""
    line: bool = True
    """Connect the points."""
    dots: npt.NDArray[np.bool_] | None = None
    """Mark the points: hollow where true."""


@dataclass(frozen=True)
class Bars:
    """Bars from `left` to `right` on the x axis, `height` high."""

    name: str
    left: Floats
    right: Floats
    height: Floats
    tone: int


@dataclass(frozen=True)
class Plot:
    """Curves and bars over one pair of axes."""

    key: str
    """Its place in the page and the name of its file."""
    title: str
    caption: str
    x: Axis
    y: Axis
    curves: tuple[Curve, ...] = ()
    bars: tuple[Bars, ...] = ()
    linked: bool = False
    """Whether its x axis is linked to those of others, so that they are zoomed together."""

    @property
    def marks(self) -> list[Curve | Bars]:
        """Everything drawn, in the order of the legend."""
        return [*self.curves, *self.bars]


@dataclass(frozen=True)
class Panels:
    """Small multiples: a panel for each curve, on one pair of scales.

    If noisy curves overlap, the one drawn last hides the others; side by side none does, and the
    common scale still shows which is higher. Smooth curves that must be compared in detail, such as
    distributions, are better off in one `Plot`, unless there are many.
    """

    key: str
    title: str
    caption: str
    x: Axis
    y: Axis
    curves: tuple[Curve, ...]
    linked: bool = False
    """Whether its x axis is linked to those of others, so that they are zoomed together."""


@dataclass(frozen=True)
class Cells:
    """Counts in cells of time and address, by strength of colour; empty cells are blank."""

    key: str
    title: str
    caption: str
    x: Axis
    y: Axis
    end_x: float
    """Where the x axis ends, at or after the last column; the first one begins at 0."""
    first_y: float
    """Where the lowest row begins."""
    bin_x: float
    bin_y: float
    """Width of a column and of a row, in the units of the axes."""
    counts: tuple[npt.NDArray[np.uint64], ...]
    """Counts by row, the lowest first, and column."""
    noun: str
    """What is counted."""
    tone: int
    most: int
    """The count with the strongest colour; the same for maps side by side."""


@dataclass(frozen=True)
class StackedBars:
    """Rows of bars laid end to end: the parts of a whole. With one part, a bar for each row."""

    key: str
    title: str
    caption: str
    parts: tuple[str, ...]
    rows: tuple[tuple[str, tuple[float, ...]], ...]
    """Label and parts of each row."""
    quantity: Quantity = "duration"
    """The unit of the parts."""
    intervals: tuple[tuple[float, float] | None, ...] = ()
    """The interval of each row; empty if no row has one."""


@dataclass(frozen=True)
class Point:
    """A ratio to the baseline with its interval; None if there is none."""

    ratio: float
    low: float | None
    high: float | None
    state: Literal["base", "lowest", "tie", "other"]
    """Whether it is the baseline, the lowest, or not distinguishable from the lowest."""


@dataclass(frozen=True)
class Forest:
    """Ratios of configurations to a baseline, a panel for each number."""

    key: str
    title: str
    caption: str
    panels: tuple[tuple[str, tuple[tuple[str, Point | None], ...]], ...]
    """The name of each number, and its rows of label and ratio."""
    shared: bool = False
    """Whether all panels have one scale."""


@dataclass(frozen=True)
class Heatmap:
    """Values of the cells of a grid, as strengths of a colour."""

    key: str
    title: str
    caption: str
    x: tuple[str, ...]
    """The name of each column, from the left."""
    y: tuple[str, ...]
    """The name of each row, from below."""
    x_label: str
    y_label: str
    cells: Floats
    """A row of values for each of `y`; NaN for a missing value."""
    quantity: str
    """The column of comparisons that the values belong to."""
    marked: npt.NDArray[np.bool_]
    """Whether the reserve decided in the cell."""


@dataclass(frozen=True)
class ParallelAxis:
    """An axis of `ParallelCoordinates`."""

    label: str
    ticks: tuple[tuple[float, str], ...]
    """Positions, 0 (below) to 1, and their texts."""


@dataclass(frozen=True)
class ParallelCoordinates:
    """Lines through several upright axes, side by side."""

    key: str
    title: str
    caption: str
    axes: tuple[ParallelAxis, ...]
    lines: tuple[tuple[str, tuple[float, ...], int], ...]
    """Name, position on each axis, and colour; those further back come first."""


@dataclass(frozen=True)
class MissingPlot:
    """A plot that cannot be drawn."""

    key: str
    title: str
    reason: str
    """Why it cannot be drawn, and how to get it."""


Drawable: TypeAlias = "Plot | Panels | Cells | StackedBars | Forest | Heatmap | ParallelCoordinates"
Figure: TypeAlias = "Drawable | MissingPlot"
