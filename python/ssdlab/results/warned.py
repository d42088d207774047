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
    invalid = [warning for warning in seeds if warning]
    return invalid[0] if invalid and 2 * len(invalid) >= len(seeds) else ""


def groups(subject: str, severe: Sequence[str], notes: Sequence[str]) -> Iterator[Group]:
    """Those that invalidate `subject`, then notes; groups without warnings are left out."""
    if severe:
        yield f"invalidates {subject}", "  ! ", severe
    if notes:
        yield "notes", "  - ", notes


def cell(grouped: Iterable[Group]) -> str:
    """The lists of a notebook cell."""
    return "".join(
        f"<b>{escape(title)}</b><ul>{''.join(f'<li>{escape(text)}</li>' for text in texts)}</ul>"
        for title, _, texts in grouped
    )
