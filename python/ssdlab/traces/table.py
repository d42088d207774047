"""Statistics of one trace, or of two side by side, as text and as JSON."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.table import Table

from ssdlab.display.numbers import duration, percent, size
from ssdlab.results.text import counted
from ssdlab.traces.info import json_text

if TYPE_CHECKING:
    from ssdlab.traces.info import Distribution, Info, OpInfo

WIDTH = 100
PERCENTILES = ("p10", "p50", "p90", "p99", "p99_9")


_Number = tuple[str, float | None, Callable[[float], str]]
"""Label, value, and how the value is shown."""


@dataclass(frozen=True)
class Row:
    """One statistic of one trace."""

    section: str
    label: str
    value: float | None
    shown: Callable[[float], str]
    column: str = ""
    """Column of the section's table; empty if it has only one."""


def _count(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) else f"{value:,.2f}"


def _plain(value: float) -> str:
    return f"{value:,.2f}"


def _rows(info: Info) -> Iterator[Row]:
    """Everything that is shown of a trace, section by section."""
    yield from _summary(info)
    for name, op in (
        ("read", info.ops.read),
        ("write", info.ops.write),
        ("discard", info.ops.trim),
    ):
        yield from _operation(name, op)
    yield from _pages(info)
    yield from _arrivals(info)
    for volume in info.volumes if len(info.volumes) > 1 else ():
        numbers = (
            ("reads", volume.reads, _count),
            ("writes", volume.writes, _count),
            ("discards", volume.trims, _count),
            ("written", volume.bytes_written, size),
            ("write share", volume.write_share, percent),
            ("sequential", volume.sequential_share, percent),
            ("pages written", volume.pages_written, _count),
        )
        for label, value, shown in numbers:
            yield Row("volumes", f"volume {volume.volume}", value, shown, label)


def _rows_of(section: str, numbers: Sequence[_Number], column: str = "") -> Iterator[Row]:
    for label, value, shown in numbers:
        yield Row(section, label, value, shown, column)


def _summary(info: Info) -> Iterator[Row]:
    numbers: list[_Number] = [
        ("requests", info.requests, _count),
        ("flushes", info.flushes, _count),
        *([("copies", info.copies, _count)] if info.copies else []),
        ("first arrival", info.first_ns, duration),
        ("duration", info.duration_ns, duration),
        ("requests per second", info.requests_per_s, _plain),
        ("write share (of reads and writes)", info.write_share, percent),
        ("sequential, by operation", info.sequential_share, percent),
        ("sequential, any operation", info.sequential_any_share, percent),
        ("doubled records", info.doubled_share, percent),
        ("lowest address", info.addresses.lowest_bytes, size),
        ("end of the highest", info.addresses.end_bytes, size),
        ("span of addresses", info.addresses.span_bytes, size),
        ("all aligned to", info.addresses.alignment_bytes, size),
    ]
    if info.journal is not None:
        numbers += [
            ("journal: of all requests", info.journal.request_share, percent),
            ("journal: of writes", info.journal.write_share, percent),
            ("journal: of bytes written", info.journal.write_byte_share, percent),
        ]
    yield from _rows_of("trace", numbers)


def _operation(name: str, op: OpInfo) -> Iterator[Row]:
    numbers: list[_Number] = [
        ("requests", op.requests, _count),
        ("of requests", op.request_share, percent),
        ("bytes", op.bytes, size),
        ("of bytes", op.byte_share, percent),
        ("4 KiB aligned", op.aligned_share, percent),
        ("sequential", op.sequential_share, percent),
        ("mean size of these", op.sequential_mean_bytes, size),
        ("mean run, requests", op.run_requests.mean, _plain),
        ("longest run, requests", op.run_requests.max, _count),
        ("mean run, bytes", op.run_bytes.mean, size),
    ]
    yield from _rows_of("operations", numbers, name)
    yield from _distribution("sizes", name, op.size, size)


def _distribution(
    section: str, column: str, shape: Distribution, shown: Callable[[float], str]
) -> Iterator[Row]:
    yield Row(section, "count", shape.count, _count, column)
    for label in ("min", "mean", *PERCENTILES, "max"):
        value: float | None = getattr(shape, label)
        yield Row(section, label.replace("_", "."), value, shown, column)


def _pages(info: Info) -> Iterator[Row]:
    footprint, updates, discards = info.footprint, info.updates, info.discards
    numbers: list[_Number] = [
        ("read or written", footprint.pages_touched, _count),
        ("read", footprint.pages_read, _count),
        ("written", footprint.pages_written, _count),
        ("read and written", footprint.pages_both, _count),
        ("discarded", footprint.pages_trimmed, _count),
        ("distinct bytes written", footprint.distinct_bytes_written, size),
        ("overwrite factor", footprint.overwrite_factor, _plain),
        ("page writes that are rewrites", updates.rewrite_share, percent),
        ("page reads after a write", footprint.read_after_write_share, percent),
        ("reads of pages just written", footprint.read_recent_share, percent),
        ("discards, nominal", discards.nominal_bytes, size),
        ("discards, effective", discards.effective_bytes, size),
        ("discards, effective mean", discards.effective_mean_bytes, size),
        ("discards without effect", discards.without_effect, _count),
    ]
    yield from _rows_of("pages of 4 KiB", numbers)
    for fraction, share in zip(info.hot.hottest, info.hot.write_share, strict=True):
        label = f"writes to the hottest {100 * fraction:.0f} %"
        yield Row("pages of 4 KiB", label, float(share), percent)
    yield from _distribution("update intervals", "host pages", updates.interval_pages, _count)
    yield from _distribution("update intervals", "time", updates.interval_ns, duration)


def _arrivals(info: Info) -> Iterator[Row]:
    for burst in info.bursts:
        column = duration(float(burst.window_ns))
        yield Row("arrivals in windows of", "mean", burst.mean, _plain, column)
        yield Row("arrivals in windows of", "peak", burst.peak, _count, column)
        yield Row("arrivals in windows of", "peak to mean", burst.peak_to_mean, _plain, column)
        yield Row("arrivals in windows of", "dispersion", burst.dispersion, _plain, column)
    yield from _distribution("gaps", "all", info.gaps, duration)
    yield from _distribution("gaps", "idle (1 ms up)", info.idle.periods, duration)
    trains = info.trains
    yield from _distribution("train lengths", "requests", trains.requests, _count)
    numbers: list[_Number] = [
        ("gaps below 1 ms", trains.short_gap_share, percent),
        ("their mean", trains.short_gap_mean_ns, duration),
        ("variation of gaps", trains.gap_cv, _plain),
        ("variation of lengths", trains.requests_cv, _plain),
        ("same size in a train", trains.same_size_share, percent),
    ]
    yield from _rows_of("trains", numbers)
    idle = info.idle
    for threshold, count, share in zip(idle.threshold_ns, idle.count, idle.time_share, strict=True):
        label = f"at least {duration(float(threshold))}"
        yield Row("idle", label, int(count), _count, "periods")
        yield Row("idle", label, float(share), percent, "of the duration")


def _text(row: Row) -> str:
    if row.value is None or math.isnan(row.value):
        return "-"
    return row.shown(row.value)


@dataclass(frozen=True)
class Grid:
    """A table of statistics in words."""

    title: str
    columns: tuple[str, ...]
    """Heads of the columns; one empty head if there is only one column."""
    lines: tuple[tuple[str, tuple[str, ...]], ...]
    """Label and cells of each line."""


def grids(infos: Sequence[Info]) -> Iterator[Grid]:
    """Everything that is shown of one trace, or of two side by side."""
    if len(infos) > 1:
        yield from _comparison(infos)
        return
    sections: dict[str, list[Row]] = {}
    for row in _rows(infos[0]):
        sections.setdefault(row.section, []).append(row)
    for section, rows in sections.items():
        yield _section(section, rows)
        if section == "sizes":
            yield _frequent(infos[0])


def _section(title: str, rows: Sequence[Row]) -> Grid:
    columns = tuple(dict.fromkeys(row.column for row in rows))
    lines: dict[str, dict[str, str]] = {}
    for row in rows:
        lines.setdefault(row.label, {})[row.column] = _text(row)
    cells = (
        (label, tuple(by_column.get(column, "") for column in columns))
        for label, by_column in lines.items()
    )
    return Grid(title, columns, tuple(cells))


def _frequent(info: Info) -> Grid:
    ops = (info.ops.read, info.ops.write, info.ops.trim)
    lines = []
    for rank in range(max(len(op.frequent) for op in ops)):
        cells = (
            f"{size(op.frequent[rank].bytes)}: {percent(op.frequent[rank].share)}"
            if rank < len(op.frequent)
            else ""
            for op in ops
        )
        lines.append((str(rank + 1), tuple(cells)))
    return Grid("frequent sizes", ("read", "write", "discard"), tuple(lines))


def _comparison(infos: Sequence[Info]) -> Iterator[Grid]:
    """Two traces, statistic by statistic, and the second over the first."""
    left, right = ({(r.section, r.column, r.label): r for r in _rows(info)} for info in infos)
    keys = list(dict.fromkeys([*left, *right]))
    for section in dict.fromkeys(section for section, _, _ in keys):
        lines = []
        for key in (key for key in keys if key[0] == section):
            pair = [left.get(key), right.get(key)]
            cells = ("-" if row is None else _text(row) for row in pair)
            label = f"{key[1]}: {key[2]}" if key[1] else key[2]
            lines.append((label, (*cells, _ratio(*pair))))
        yield Grid(section, ("first", "second", "ratio"), tuple(lines))


def _ratio(first: Row | None, second: Row | None) -> str:
    if first is None or second is None or not first.value or second.value is None:
        return "-"
    ratio = second.value / first.value
    return f"{ratio:.2f}x" if math.isfinite(ratio) else "-"


def sources(infos: Sequence[Info]) -> Iterator[str]:
    """What was read, and what of it could not be used."""
    for name, info in zip(("first", "second"), infos, strict=False):
        head = f"{name}: " if len(infos) > 1 else ""
        source = info.source
        if source.loss:
            yield f"LOST  {source.loss}"
        action = f", action {source.action}" if source.format == "block-event" else ""
        yield f"{head}{source.file}: {source.format}, {counted(source.lines, 'line')}{action}"
        yield f"{head}{source.units}"
        yield from (f"warning: {text}" for text in source.warnings)


def _table(grid: Grid) -> Table:
    table = Table(
        title=grid.title,
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        show_header=any(grid.columns),
        pad_edge=False,
    )
    table.add_column("")
    for column in grid.columns:
        table.add_column(column, justify="right")
    for label, cells in grid.lines:
        table.add_row(label, *cells)
    return table


def to_text(infos: Sequence[Info]) -> str:
    """One trace, or two side by side, as text."""
    out = io.StringIO()
    console = Console(file=out, width=WIDTH, highlight=False, color_system=None, emoji=False)
    for line in sources(infos):
        console.print(line, markup=False, soft_wrap=True)
    for grid in grids(infos):
        console.print(_table(grid))
    return "".join(line.rstrip() + "\n" for line in out.getvalue().splitlines())


def to_json(infos: Sequence[Info]) -> str:
    """One trace as an object; two as a list."""
    if len(infos) == 1:
        return infos[0].to_json()
    document = {"version": 1, "traces": [info.json for info in infos]}
    return json_text(document)
