"""Lists of names in sentences."""

from __future__ import annotations

from collections.abc import Sequence


def join_names(names: Sequence[str]) -> str:
    """Names, at least one, as in a sentence: `a, b and c`."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
