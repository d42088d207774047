"""Warnings by what they mean, for text, pages and notebooks alike."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import TypeAlias

Group: TypeAlias = tuple[str, str, Sequence[str]]
"""A title, the mark of a line, and the warnings."""


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
