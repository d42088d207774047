"""Sizes of plots and their parts: colours as classes, texts that fit."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ssdlab.html.plot import TONES

WIDTH, HEIGHT = 560.0, 290.0
LEFT, RIGHT, TOP, BOTTOM = 74.0, 18.0, 10.0, 46.0
LINE = 18.0
"""Height of a line of the legend."""
LETTER = 7.3
"""Width of a letter of the legend, a little more than the mean."""
ROW = 26.0
"""Height of a row of stacked bars."""


def tone_class(tone: int) -> str:
    """Classes of a colour; those of a second round are also dashed."""
    return f"t{tone % TONES}" + (" dashed" if tone >= TONES else "")


def shorten(name: str, most_letters: int = 58) -> str:
    """`name` in at most this many letters: labels of runs differ at their ends."""
    half = (most_letters - 1) // 2
    return (
        name if len(name) <= most_letters else f"{name[: most_letters - 1 - half]}…{name[-half:]}"
    )


def shorten_labels(names: Sequence[str], most_letters: int) -> list[str]:
    """Labels of runs in this many letters: without room all lose the keys before their values."""
    if any(len(name) > most_letters for name in names):
        names = [re.sub(r"\b[\w.]+=", "", name) for name in names]
    return [shorten(name, most_letters) for name in names]
