"""The published figures of a sustained write: a drive is filled in order, in phases of one rate."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

PHASE, UNTIL, RATE = "phase", "until_gb", "mb_per_s"
COLUMNS = (PHASE, UNTIL, RATE)
"""Columns of the figures: the phase (from 1), the gigabytes written when it ends, and its rate in
megabytes per second.
"""
MOST_PHASES = 9


@dataclass(frozen=True)
class Figure:
    """A figure of a sustained write."""

    column: str
    """`UNTIL` or `RATE`."""
    phase: int
    """From 1; 0 is the write as a whole."""
    value: float
    """In the unit of the column."""
    fitted: bool
    """Whether a key of the drive is fitted to it; otherwise it is predicted."""

    @property
    def name(self) -> str:
        """The figure in words."""
        if self.phase == 0:
            return "whole drive, MB/s"
        return f"phase {self.phase}, " + ("until GB" if self.column == UNTIL else "MB/s")


def phases_of(figures: Sequence[Figure]) -> int:
    """The number of phases."""
    return max((figure.phase for figure in figures), default=0)


def value_of(figures: Sequence[Figure], column: str, phase: int) -> float | None:
    """A figure; None if it was not published."""
    found = (figure.value for figure in figures if (figure.column, figure.phase) == (column, phase))
    return next(found, None)


def row_errors(present: Collection[str]) -> Iterator[str]:
    """What is wrong with the columns of a row that has some of `COLUMNS`."""
    others = [column for column in present if column not in COLUMNS]
    if others:
        yield f"{', '.join(others)}: not of a sustained write, whose rows have {', '.join(COLUMNS)}"
    elif PHASE not in present and UNTIL in present:
        yield f"{PHASE}: missing; expected the phase that ends"
    elif UNTIL not in present and RATE not in present:
        yield f"{RATE}: missing; expected the rate of the phase, {UNTIL}, or both"


def order_errors(figures: Sequence[tuple[str, Figure]]) -> Iterator[str]:
    """Contradictions between figures, each of which comes with its place in the file."""
    if not figures:
        return
    seen: set[tuple[str, int]] = set()
    for place, figure in figures:
        if (figure.column, figure.phase) in seen:
            yield f"{place}: {figure.column}: again for {figure.name}; expected once"
        seen.add((figure.column, figure.phase))
    place, count = figures[0][0], max(figure.phase for _, figure in figures)
    if count == 0:
        yield f"{place}: {PHASE}: no phase; expected at least the rate of phase 1"
    expected = [(RATE, phase) for phase in range(1, count + 1)]
    expected += [(UNTIL, phase) for phase in range(1, count)]
    for column, phase in expected:
        if (column, phase) not in seen:
            yield f"{place}: {column}: missing for phase {phase} of {count}"
    if (UNTIL, count) in seen and count > 0:
        yield f"{place}: {UNTIL}: the last phase ends with the drive; leave it empty"
    ends = sorted((figure.phase, figure) for _, figure in figures if figure.column == UNTIL)
    for (_, earlier), (_, later) in pairwise(ends):
        if later.value <= earlier.value:
            order = f"{later.value:g} after {earlier.value:g}"
            yield f"{place}: {UNTIL}: {order}; expected ascending order"
