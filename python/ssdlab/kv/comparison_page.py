"""The page of a comparison of the store: the answer, where time and writes went, and each line."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING

from ssdlab.display.numbers import duration, percent
from ssdlab.html.answer import paragraph
from ssdlab.html.page import Section, document, figures, table, warnings_box
from ssdlab.html.plot import Figure, StackedBars
from ssdlab.kv.comparison import BACKGROUND_PARTS, HEAD, PARTS, StoreRun, time_share, unchanged
from ssdlab.kv.simulation import PAGE, Remap, Simulated
from ssdlab.kv.simulation_page import course

if TYPE_CHECKING:
    from ssdlab.kv.comparison import Compared

OVER_TIME = ("background", "channels", "collection")
"""Figures of the course of a simulation that show what its compactions do to the drive."""


def _bars(
    compared: Compared,
    parts: tuple[str, ...],
    value: Callable[[Simulated, str], float],
    form: StackedBars,
) -> StackedBars:
    """A row of parts for each size and line: means over seeds."""

    def row(size: int, line: Remap) -> tuple[float, ...]:
        runs = compared.of(size, line).values()
        return tuple(statistics.fmean(value(run, part) for run in runs) for part in parts)

    rows = tuple(
        (f"{size:,} B, {line}", row(size, line))
        for size in compared.sizes
        for line in compared.lines(size)
    )
    return replace(form, parts=parts, rows=rows)


def _time_per_operation(simulated: Simulated, part: str) -> float:
    """Nanoseconds of a part of `PARTS` for each operation of the last phase."""
    phase = simulated.phases[-1]
    time = phase["time"]["clients"]
    total: int = sum(time.get(name, 0) for name in PARTS[part])
    return total / phase["operations"] if phase["operations"] else 0.0


def _written(simulated: Simulated, cause: str) -> float:
    parts = simulated.report["total"]["write_amplification"]
    return parts.get(cause) or 0.0


def _plots(compared: Compared) -> Iterator[Figure]:
    yield _bars(
        compared,
        tuple(PARTS),
        _time_per_operation,
        StackedBars(
            "time",
            "Where the time of an operation went",
            "Mean time of an operation of the last phase: on a processor core or waiting for one,"
            " waiting for reads and for writes of the drive, and stalled: behind other writers,"
            " slowed, or stopped for background work.",
            (),
            (),
        ),
    )
    runs = compared.runs.values()
    causes = dict.fromkeys(
        cause
        for run in runs
        for cause, share in run.report["total"]["write_amplification"].items()
        if share and cause != "total"
    )
    if causes:
        yield _bars(
            compared,
            tuple(causes),
            _written,
            StackedBars(
                "written",
                "Write amplification by cause",
                "Bytes programmed into flash for each byte of keys and values, from the load to"
                " the last compaction.",
                (),
                (),
                "ratio",
            ),
        )


def _time_table(compared: Compared, size: int) -> str:
    """Shares of the time of clients and of background work."""
    measures = [
        *(time_share(part) for part in PARTS),
        *(time_share(part, "background") for part in BACKGROUND_PARTS),
    ]
    head = [
        "line",
        *(f"clients: {part}" for part in PARTS),
        *(f"background: {part}" for part in BACKGROUND_PARTS),
    ]
    rows = [
        (line, [percent(compared.mean(size, line, measure)) for measure in measures])
        for line in compared.lines(size)
    ]
    return table(head, rows, f"Where the time went, values of {size:,} B")


def _levels_table(compared: Compared, size: int) -> str:
    """Shares of the data blocks taken over, by level; nothing if none was counted."""
    lines = compared.lines(size)
    levels = range(len(next(iter(compared.runs.values())).report["store"]["levels"]))
    shares = {
        line: [compared.mean(size, line, unchanged(level)) for level in levels] for line in lines
    }
    used = [level for level in levels if any(row[level] is not None for row in shares.values())]
    if not used:
        return ""
    rows = [
        (line, ["–" if row[level] is None else percent(row[level]) for level in used])
        for line, row in shares.items()
    ]
    head = ["line", *(f"level {level}" for level in used)]
    return table(head, rows, f"Data blocks taken over, values of {size:,} B")


def _size_section(compared: Compared, size: int) -> str:
    rows = [
        (line, [escape(cell) for cell in compared.cells(size, line)[1:]])
        for line in compared.lines(size)
    ]
    caption = f"{compared.caption(size).capitalize()}; means over seeds"
    return (
        table(["line", *HEAD[1:]], rows, caption)
        + _time_table(compared, size)
        + _levels_table(compared, size)
    )


def _over_time(compared: Compared, size: int) -> Iterator[Figure]:
    """Background work and collection of the drive, for the first seed of each line."""
    for line in compared.lines(size):
        simulated = next(iter(compared.of(size, line).values()))
        for figure in course(simulated.report):
            if figure.key in OVER_TIME:
                title = f"{figure.title}: {line}"
                yield replace(figure, key=f"{figure.key}-{size}-{line}", title=title)


def page(compared: Compared) -> str:
    """The whole page."""
    runs: list[StoreRun] = [*compared.runs]
    problems = [
        *(f"{title}: {why}" for title, why in compared.failures.items()),
        *compared.warnings,
    ]
    links = [
        (
            f'<a href="{run.folder}/{PAGE}">{escape(run.title)}</a>',
            compared.runs[run].digest,
            duration(compared.runs[run].report["simulated_ns"]),
        )
        for run in runs
    ]
    run_rows = "".join(
        f"<tr><td>{link}</td><td>{digest}</td><td>{time}</td></tr>" for link, digest, time in links
    )
    run_table = (
        '<div class="scroll"><table><thead><tr><th scope="col">run</th><th scope="col">event'
        f' digest</th><th scope="col">simulated time</th></tr></thead><tbody>{run_rows}</tbody>'
        "</table></div>"
    )
    sections = [
        Section(
            "answer",
            "Answer",
            (warnings_box(problems) if problems else "") + paragraph(" ".join(compared.answer)),
        ),
        Section("where", "Where time and writes went", figures(_plots(compared))),
        *(
            Section(
                f"size-{size}",
                f"Values of {size:,} B",
                _size_section(compared, size) + figures(_over_time(compared, size)),
            )
            for size in compared.sizes
        ),
        Section("runs", "Runs", run_table),
    ]
    lead = f'<p class="lead">{escape(compared.head())}</p>'
    return document("The store with and without remapping", lead, sections)
