"""Results as lines of text: tables, paragraphs, warnings of many runs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

WIDTH = 80
"""Columns of a terminal."""
EXAMPLES = 3
"""Points that are named if several share a text."""
PARTS = (
    ("queue_ns", "other requests"),
    ("chip_ns", "flash"),
    ("transfer_ns", "transfer"),
    ("gc_wait_ns", "collection"),
    ("metadata_ns", "metadata"),
)
"""What a request waits for, as in `latency_parts` of a report."""


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of a table: the first column to the left, the others to the right.

    Columns for which there is no room follow below, after the first one again.
    """
    first, *widths = (max(map(len, column)) for column in zip(head, *rows, strict=True))
    lines: list[str] = []
    for start, end in _parts(widths, WIDTH - first):
        lines += [""] if lines else []
        for cells in (head, *rows):
            pairs = zip(cells[1 + start : 1 + end], widths[start:end], strict=True)
            line = cells[0].ljust(first) + "".join(f"  {cell:>{width}}" for cell, width in pairs)
            lines.append(line.rstrip())
    return lines


def _parts(widths: Sequence[int], room: int) -> Iterator[tuple[int, int]]:
    """First column and end of each part of a table; at least one column in each."""
    start = used = 0
    for index, width in enumerate(widths):
        if index > start and used + 2 + width > room:
            yield start, index
            start, used = index, 0
        used += 2 + width
    yield start, len(widths)


def wrapped(label: str, text: str) -> Iterator[str]:
    """`text` after `label`, broken at spaces, with further lines indented."""
    line = label
    # A number and its percent sign stay together.
    for word in (part.replace("\0", " ") for part in text.replace(" %", "\0%").split()):
        if len(line) > len(label) and len(line) + 1 + len(word) > WIDTH:
            yield line
            line = " " * len(label)
        line += word if len(line) == len(label) else f" {word}"
    yield line


def pasted(label: str, command: str) -> Iterator[str]:
    """`command` after `label`, in lines that a shell joins."""
    if len(label) + len(command) <= WIDTH:
        yield f"{label}{command}"
        return
    line = label
    for word in re.findall(r"""(?:'[^']*'|"[^"]*"|[^\s'"])+""", command):
        if len(line) > len(label) and len(line) + 1 + len(word) + len(GOES_ON) > WIDTH:
            yield f"{line}{GOES_ON}"
            line = " " * len(label)
        line += word if len(line) == len(label) else f" {word}"
    yield line


GOES_ON = " \\"
"""Ends a line of a command that continues."""
LINES, COLUMN = 12, 12
"""Most lines of a first screen, and width of the titles before its texts."""
CUT = " ..."
"""Ends a line of a first screen if the rest of its text is left out."""


def first_screen(head: str, rows: Sequence[tuple[str, str]], command: str, short: str) -> list[str]:
    """An answer in at most `LINES` lines of `WIDTH` columns.

    `rows` are titles and texts; those without a text are left out. `command` is the next one to
    run, and `short` replaces it if it takes too much room. If that is not enough, the longest text
    loses its last line, and among equally long ones the last: the answer comes first.
    """

    def layout(last: list[str]) -> list[list[str]]:
        texts = ([*wrapped(title.ljust(COLUMN), text)] for title, text in rows if text)
        return [[*wrapped("", head)], *texts, *([last] if last else [])]

    title = "next".ljust(COLUMN)
    blocks = layout([*pasted(title, command)] if command else [])
    if sum(map(len, blocks)) > LINES or any(len(line) > WIDTH for line in blocks[-1]):
        blocks = layout([*wrapped(title, short)] if short else [])
    counts = [len(lines) for lines in blocks]
    while sum(counts) > LINES and max(counts) > 1:
        longest = max(counts)
        counts[max(i for i, count in enumerate(counts) if count == longest)] -= 1
    return [
        _shorten(line, is_cut=number == count < len(lines))
        for lines, count in zip(blocks, counts, strict=True)
        for number, line in enumerate(lines[:count], 1)
    ]


def _shorten(line: str, *, is_cut: bool) -> str:
    """A line of at most `WIDTH` columns, with `CUT` if its text continues."""
    if len(line) <= WIDTH and not is_cut:
        return line
    if len(line) + len(CUT) > WIDTH:
        words = line[: WIDTH - len(CUT) + 1].rpartition(" ")[0]
        line = words if len(words) > COLUMN else line[: WIDTH - len(CUT)]
    return line.rstrip(" ,;:") + CUT


MOST_INDENT = 40
"""Columns before a text; after a longer name it begins on the next line."""


def listed(name: str, column: int, text: str) -> Iterator[str]:
    """A name and, from `column` on, its description, in as many lines as it takes."""
    column = min(column, MOST_INDENT)
    if len(name) + 2 > column:
        yield name
        name = ""
    yield from wrapped(name.ljust(column), text)


def alike(texts: Iterable[tuple[str, str]]) -> list[dict[str, str]]:
    """Texts by label; those that differ only in numbers are merged."""
    by_pattern: dict[str, dict[str, str]] = {}
    for label, text in texts:
        by_pattern.setdefault(re.sub(r"\d[\d,.]*", "#", text), {})[label] = text
    return [*by_pattern.values()]


def folded(warnings: Sequence[tuple[str, str]], runs: int) -> list[str]:
    """Warnings (label and text) by their words; `runs`: how many runs there are."""
    lines = []
    for by_label in alike(warnings):
        (first, text), *rest = by_label.items()
        owners = "all" if len(by_label) == runs else ", ".join(by_label)
        if any(variant != text for _, variant in rest):
            text = f"{text} [the numbers are those of {first}]"
        lines.append(text if runs == 1 else f"{owners}: {text}")
    return lines


def folded_points(texts: Iterable[tuple[str, str]]) -> list[str]:
    """Texts of points (label and text), of which there may be many, by their words."""
    return [f"{named([*by_label])}: {next(iter(by_label.values()))}" for by_label in alike(texts)]


def by_reason(failures: Mapping[str, str]) -> dict[str, str]:
    """Each reason, with the runs that failed for it; those that differ only in paths are merged."""
    by_pattern: dict[str, list[str]] = {}
    for title, reason in failures.items():
        by_pattern.setdefault(re.sub(r"\S*/\S*", "/", reason), []).append(title)
    return {named(titles, "run"): failures[titles[0]] for titles in by_pattern.values()}


def named(labels: Sequence[str], noun: str = "point") -> str:
    """Points in words: all if there are few, otherwise how many and one of them."""
    if len(labels) <= EXAMPLES:
        return "; ".join(labels)
    return f"{counted(len(labels), noun)}, such as {labels[0]}"


def counted(count: int, noun: str) -> str:
    """`3 points`, `1 point`."""
    return f"{count:,} {noun}{'s' * (count != 1)}"
