"""The page of a comparison of the store."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING

from ssdlab.display.numbers import duration, on_page, percent
from ssdlab.html.answer import paragraph
from ssdlab.html.page import Section, document, figures, table, warnings_box
from ssdlab.html.plot import Figure, MissingPlot, StackedBars
from ssdlab.kv.comparison import BACKGROUND_PARTS, HEAD, PARTS, reused, time_share
from ssdlab.kv.simulation import PAGE, Remap, Simulated
from ssdlab.kv.simulation_page import SHORTER, course

if TYPE_CHECKING:
    from ssdlab.kv.comparison import Compared

UNSTEADY = (
    " The warnings above say why these are no steady write amplifications: they are what these runs"
    " wrote."
)
OVER_TIME = ("background", "channels", "collection")
"""Figures of the course of a simulation that show what its compactions do to the drive."""


def _bars(
    compared: Compared,
    parts: tuple[str, ...],
    value: Callable[[Simulated, str], float],
    form: StackedBars,
) -> StackedBars:
    """A row of parts for each value size and variant: means over seeds."""

    def row(size: int, line: Remap) -> tuple[float, ...]:
        runs = compared.of(size, line)
        return tuple(statistics.fmean(value(run, part) for run in runs) for part in parts)

    rows = tuple(
        (f"{size:,} B, {line}", row(size, line))
        for size in compared.sizes
        for line in compared.variants(size)
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
                f" the last compaction.{UNSTEADY if compared.warnings else ''}",
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
        "variant",
        *(f"clients: {part}" for part in PARTS),
        *(f"background: {part}" for part in BACKGROUND_PARTS),
    ]
    rows = [
        (line, [percent(compared.mean(size, line, measure)) for measure in measures])
        for line in compared.variants(size)
    ]
    return table(
        head,
        rows,
        f"Where the time went, values of {size:,} B; background work is idle otherwise",
    )


def _levels_table(compared: Compared, size: int) -> str:
    """Shares of the reused data blocks, by level; nothing if none was counted."""
    lines = compared.variants(size)
    levels = range(len(next(iter(compared.runs.values())).report["store"]["levels"]))
    shares = {
        line: [compared.mean(size, line, reused(level)) for level in levels] for line in lines
    }
    used = [level for level in levels if any(row[level] is not None for row in shares.values())]
    if not used:
        return ""
    rows = [
        (line, ["–" if row[level] is None else percent(row[level]) for level in used])
        for line, row in shares.items()
    ]
    head = ["variant", *(f"level {level}" for level in used)]
    return table(head, rows, f"Reused data blocks, values of {size:,} B")


def _size_section(compared: Compared, size: int) -> str:
    rows = [
        (line, [on_page(escape(cell)) for cell in compared.cells(size, line)[1:]])
        for line in compared.variants(size)
    ]
    return (
        table(["variant", *HEAD[1:]], rows, compared.caption(size))
        + _time_table(compared, size)
        + _levels_table(compared, size)
    )


def _over_time(compared: Compared, size: int) -> Iterator[Figure]:
    """Background work and collection of the drive, for the first seed of each variant."""
    for line in compared.variants(size):
        simulated, name = compared.of(size, line)[0], f"{line}, seed {compared.seeds(size)[0]}"
        drawn = [figure for figure in course(simulated.report) if figure.key in OVER_TIME]
        if not drawn:
            reason = f"The simulation is shorter than two intervals{SHORTER}"
            yield MissingPlot(f"course-{size}-{line}", f"Over time: {name}", reason)
        for figure in drawn:
            title = f"{figure.title}: {name}"
            yield replace(figure, key=f"{figure.key}-{size}-{line}", title=title)


def page(compared: Compared) -> str:
    """The whole page."""
    problems, sizes = compared.problems, compared.sizes
    links = [
        (
            f'<a href="{run.folder}/{PAGE}">{escape(run.title)}</a>',
            compared.runs[run].digest,
            on_page(duration(compared.runs[run].report["simulated_ns"])),
        )
        for run in compared.runs
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
        Section("where", "Where time and writes went", figures(_plots(compared)) if sizes else ""),
        *(
            Section(
                f"size-{size}",
                f"Values of {size:,} B",
                _size_section(compared, size) + figures(_over_time(compared, size)),
            )
            for size in sizes
        ),
        Section("runs", "Runs", run_table),
    ]
    lead = f'<p class="lead">{escape(compared.plan.head)}</p>'
    return document("The store with and without remapping", lead, sections)
