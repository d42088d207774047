"""The page of a simulation of the store."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from ssdlab.display.numbers import duration, on_page, rate, size
from ssdlab.html.answer import paragraph
from ssdlab.html.page import (
    Section,
    document,
    figures,
    invalidating_warnings,
    notes,
    table,
    warnings_box,
)
from ssdlab.html.panels import side_by_side
from ssdlab.html.plot import Axis, Bars, Curve, Figure, MissingPlot, Plot

if TYPE_CHECKING:
    from ssdlab.kv.simulation import Simulated


SHORTER = ": choose a shorter one with the host setting `interval_ns`."


def course(report: dict[str, Any]) -> list[Figure]:
    """Throughput, latency and stalls over time, and the background work below them.

    Nothing if the simulation is shorter than two intervals.
    """
    rows = np.array(report["course"]["rows"], dtype=float)
    if len(rows) < 2:
        return []
    start, operations, latency, longest, stalled, _, tail = rows.T
    width = start[1] - start[0]
    time = Axis("simulated time", "ns")
    mean = np.divide(latency, operations, out=np.full(len(rows), np.nan), where=operations > 0)
    rate = operations * (1e9 / width)

    def plot(key: str, title: str, caption: str, y: Axis, *curves: Curve) -> Plot:
        return Plot(key, title, caption, time, y, curves=curves, linked=True)

    return [
        plot(
            "throughput",
            "Operations over time",
            "Operations that ended, per second of simulated time.",
            Axis("operations/s", "count", low=0),
            Curve("operations", start, rate, 0, step=True),
        ),
        side_by_side(
            "latency",
            "Latency over time",
            "Mean, 99th percentile and longest latency of operations, by where they ended.",
            time,
            Axis("latency", "ns", log=True),
            [
                Curve("mean", start, mean, 0, step=True),
                Curve("p99", start, np.where(tail > 0, tail, np.nan), 2, step=True),
                Curve("longest", start, np.where(longest > 0, longest, np.nan), 1, step=True),
            ],
            linked=True,
        ),
        plot(
            "stalls",
            "Writers waiting",
            "Time for which writers waited for background work, where the wait ended.",
            Axis("time waited", "ns", low=0),
            Curve("stopped", start, stalled, 2, step=True),
        ),
        _background(report, time),
        *_channels(report, time),
    ]


def _background(report: dict[str, Any], time: Axis) -> Figure:
    """Flushes and compactions by level."""
    rows = np.array(report["background"]["rows"], dtype=float).reshape(-1, 3)
    title = "Flushes and compactions"
    if len(rows) == 0:
        return MissingPlot("background", title, "There were none.")
    bars = tuple(
        Bars(
            "flush" if level == 0 else f"into level {level}",
            rows[rows[:, 0] == level, 1],
            rows[rows[:, 0] == level, 2],
            np.full(int((rows[:, 0] == level).sum()), float(level + 1)),
            int(level),
        )
        for level in sorted({int(row[0]) for row in rows})
    )
    caption = "Each bar is background work without a pause; its height is 1 + the level."
    y = Axis("1 + level", "count", low=0)
    return Plot("background", title, caption, time, y, bars=bars, linked=True)


def _channels(report: dict[str, Any], time: Axis) -> list[Figure]:
    """How busy the channels of the drive are, and what collection does on them."""
    rows = report["channels"]["rows"]
    titles = {"channels": "Channels of the drive", "collection": "Collection on the drive"}
    if len(rows) < 3:
        reason = f"The drive was used for less than two intervals{SHORTER}"
        return [MissingPlot(key, title, reason) for key, title in titles.items()]
    moments, collected, busy = (np.array(column, dtype=float) for column in zip(*rows, strict=True))
    # A row may follow another at the same time; nothing has been done in between.
    durations = np.maximum(np.diff(moments), 1)
    share = np.diff(busy, axis=0) / durations[:, None]
    share /= report["drive"]["config"]["device"]["chips_per_channel"]
    move_rate = np.diff(collected) * 1e9 / durations

    def plot(key: str, caption: str, y: Axis, curve: Curve) -> Plot:
        return Plot(key, titles[key], caption, time, y, (curve,), linked=True)

    mean, low, high = share.mean(axis=1), share.min(axis=1), share.max(axis=1)
    return [
        plot(
            "channels",
            "Share of the time in which the chips of a channel have an operation: the mean of all"
            " channels, and from the least busy to the busiest.",
            Axis("share of time", "share", low=0),
            Curve("channels", moments[:-1], mean, 0, low, high),
        ),
        plot(
            "collection",
            "Pages that garbage collection moves, per second of simulated time.",
            Axis("pages/s", "count", low=0),
            Curve("pages moved", moments[:-1], move_rate, 3, step=True),
        ),
    ]


def _number(value: object) -> str:
    if value is None:
        return "–"
    return f"{value:,.3f}" if isinstance(value, float) else escape(f"{value:,}")


_heads = {"p999": "p99.9"}


def _latencies(phase: dict[str, Any]) -> str:
    names = ("mean", "p50", "p90", "p99", "p999", "max")
    rows = [
        (
            op,
            [
                _number(latency["count"]),
                *(on_page(duration(latency[f"{name}_ns"])) for name in names),
            ],
        )
        for op, latency in phase["latency"].items()
    ]
    head = ["operation", "count", *(_heads.get(name, name) for name in names)]
    return table(head, rows, f"Latencies of {phase['name']}")


_ACTORS = {"clients": "clients", "background": "background work", "write_back": "write-back"}
_ACTIVITIES = {
    "processor_ns": "processor",
    "core_ns": "waiting for a core",
    "read_ns": "reads",
    "write_ns": "writes",
    "group_ns": "behind other writers",
    "slowed_ns": "slowed",
    "stopped_ns": "stopped",
    "idle_ns": "idle",
}


def _times(phase: dict[str, Any]) -> str:
    """What clients, background work and write-back did with the time of a phase."""
    rows = [
        (title, [on_page(duration(phase["time"][actors].get(name, 0))) for name in _ACTIVITIES])
        for actors, title in _ACTORS.items()
    ]
    return table(["", *_ACTIVITIES.values()], rows, f"Where the time of {phase['name']} went")


def _copies_table(report: dict[str, Any]) -> str:
    phases, total = report["phases"], report["total"]["pages_copied"]
    if not total:
        return ""
    rows = [
        (cause, [_number(phase["pages_copied"].get(cause)) for phase in phases] + [_number(pages)])
        for cause, pages in total.items()
    ]
    head = ["pages copied for", *(phase["name"] for phase in phases), "all, to the end"]
    return table(head, rows, "Pages that the drive copied instead of the host writing them")


def _levels(report: dict[str, Any]) -> str:
    columns = {
        "tables": "tables",
        "compactions": "compactions",
        "bytes read": "bytes_read",
        "bytes written": "bytes_written",
        "data blocks written": "output_blocks",
        "taken over": "reused_blocks",
        "share taken over": "udb_share",
        "bytes shared": "bytes_shared",
    }
    # Without reuse nobody counts blocks.
    is_counted = report["settings"]["store"]["reuse"] != "off"
    uncounted = (
        () if is_counted else ("output_blocks", "reused_blocks", "udb_share", "bytes_shared")
    )
    rows = [
        (
            str(level),
            [
                "–" if name in uncounted else (size if "bytes" in name else _number)(values[name])
                for name in columns.values()
            ],
        )
        for level, values in enumerate(report["store"]["levels"])
    ]
    title = "Levels of the store: tables at the end, and the compactions that wrote to it"
    return table(["level", *columns], rows, title)


def page(simulation: Simulated) -> str:
    """The whole page."""
    report = simulation.report
    phases = report["phases"]
    facts = [
        (
            phase["name"],
            [
                _number(phase["operations"]),
                on_page(rate(phase["operations_per_s"])),
                on_page(duration(phase["slowed"]["ns"])),
                on_page(duration(phase["stopped"]["ns"])),
            ],
        )
        for phase in phases
    ]
    head = ["phase", "operations", "per second", "slowed", "stopped"]
    amplifications = [
        amplification["write_amplification"] for amplification in (*phases, report["total"])
    ]
    causes = dict.fromkeys(
        cause for amplification in amplifications for cause in amplification if cause != "total"
    )
    shares = [
        (cause, [_number(amplification.get(cause)) for amplification in amplifications])
        for cause in (*causes, "total")
    ]
    groups = [*simulation.warning_groups()]
    problems = warnings_box([report["error"]]) if report["error"] else ""
    sections = [
        Section(
            "answer",
            "Answer",
            problems + invalidating_warnings(groups) + paragraph(simulation.answer),
        ),
        Section(
            "phases",
            "Phases",
            table(head, facts, "Phases of the workload")
            + "".join(_latencies(phase) + _times(phase) for phase in phases),
        ),
        Section("time", "Over time", figures(drawn) if (drawn := course(report)) else ""),
        Section(
            "writes",
            "Write amplification",
            table(
                ["pages written for", *(phase["name"] for phase in phases), "all, to the end"],
                shares,
                "Bytes programmed into flash for each byte of keys and values",
            )
            + _copies_table(report),
        ),
        Section("levels", "Levels", _levels(report)),
        Section("notes", "Notes", notes(groups)),
    ]
    lead = (
        f'<p class="lead">{escape(simulation.head)} · event digest {escape(report["digest"])}</p>'
    )
    return document(
        "The store on the simulated drive", lead, [section for section in sections if section.body]
    )
