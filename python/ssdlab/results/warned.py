"""Groups warnings by their meaning, for text, pages and notebooks alike."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import TypeAlias

Group: TypeAlias = tuple[str, str, Sequence[str]]
"""A title, the mark of a line, and the warnings."""


def majority(seeds: Sequence[str]) -> str:
    """The first of the warnings that invalidate seeds of one run, if half of the seeds have one.

    Warnings rest on tests that sometimes fail by chance, so one of many seeds is not enough.
    `seeds`: the warning of each seed, or nothing.
    """
    wrong = [why for why in seeds if why]
    return wrong[0] if wrong and 2 * len(wrong) >= len(seeds) else ""


def groups(what: str, severe: Sequence[str], notes: Sequence[str]) -> Iterator[Group]:
    """Those that invalidate `what`, then notes; groups without warnings are left out."""
    if severe:
        yield f"invalidates {what}", "  ! ", severe
    if notes:
        yield "notes", "  - ", notes


def cell(grouped: Iterable[Group]) -> str:
    """The lists of a notebook cell."""
    return "".join(
        f"<b>{escape(title)}</b><ul>{''.join(f'<li>{escape(one)}</li>' for one in texts)}</ul>"
        for title, _, texts in grouped
    )
