"""The operations of a run as lanes over time, for the page's canvas."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from ssdlab import _core
from ssdlab.display.numbers import duration
from ssdlab.errors import OutputError
from ssdlab.results.names import LOGS
from ssdlab.results.report import Report

MOST = 30_000
"""Operations in the page: about one megabyte."""
FIELDS = 7
"""Numbers of an operation in the data: chip, kind, start, length, plane, block, page."""
MOST_LANES = 128
"""Lanes of chips; a device with more chips gets one lane per channel."""
KINDS = (
    "host read",
    "host program",
    "GC read",
    "GC program",
    "erase",
    "wear-levelling read",
    "wear-levelling program",
    "other read",
    "other program",
)
"""The kinds of operations as shown, by their number in the data."""


@dataclass(frozen=True)
class Timeline:
    """Operations in order of start; times in nanoseconds."""

    operations: int
    first: int
    """Start of the first."""
    last: int
    """End of the last."""
    is_complete: bool
    """Whether it holds every operation from `first` to the end of the run."""
    kinds: tuple[int, ...]
    """The numbers of the kinds that occur."""
    data: str
    """For the canvas, JSON."""


def missing_reason(report: Report, folder: Path | None, since: int | None = None) -> str | None:
    """Why there is no timeline from `since` (ns) on, and how to get it; None if there is."""
    if report.json["config"]["run"]["mode"] == "functional":
        return "A functional run has no time: set run.mode=timed."
    if not report.json["config"]["metrics"]["op_log"]:
        return "The run wrote no operation log: set metrics.op_log=true."
    if folder is None or not (folder / LOGS["ops"]).exists():
        return f"{LOGS['ops']} is not in the folder."
    end = report.time.measured_from + report.time.simulated
    if since is not None and since >= end:
        requested = duration(since)
        return f"The run ends at {duration(end)}, before {requested}."
    return None


def timeline(report: Report, folder: Path | None, since: int | None = None) -> Timeline | None:
    """The first operations from `since` on (default: the start of the measurement)."""
    log = folder / LOGS["ops"] if folder is not None else None
    if log is None or not log.exists():
        return None
    since = report.time.measured_from if since is None else since
    try:
        text = _core.op_log_excerpt(log, since, MOST)
    except OSError as error:
        raise OutputError(f"{error}: the log is damaged") from error
    head, _, rows = text.partition("\n")
    if not rows:
        return None
    names = head.split(",")
    columns = {name: index for index, name in enumerate(names)}
    lines = [line.split(",") for line in rows.splitlines()]
    device = report.json["config"]["device"]
    chips = int(device["chips_per_channel"])
    channels = int(device["channels"])
    start = [int(line[columns["start"]]) for line in lines]
    end = [int(line[columns["end"]]) for line in lines]
    first = start[0]
    previous = first
    numbers: list[int] = []
    for line, op_start, op_end in zip(lines, start, end, strict=True):
        kind = _kind(line[columns["op"]], line[columns["cause"]])
        chip = int(line[columns["channel"]]) * chips + int(line[columns["chip"]])
        page = line[columns["page"]]
        address = [
            int(line[columns["plane"]]),
            int(line[columns["block"]]),
            int(page) if page else -1,
        ]
        numbers += [chip, kind, op_start - previous, op_end - op_start, *address]
        previous = op_start
    data = {
        "channels": channels,
        "chips": chips,
        "lanes": chips if channels * chips <= MOST_LANES else 1,
        "first": first,
        "last": max(end),
        "kinds": KINDS,
        "ops": numbers,
    }
    text = json.dumps(data, separators=(",", ":"))
    kinds = tuple(sorted(set(numbers[1::FIELDS])))
    return Timeline(len(lines), first, max(end), len(lines) < MOST, kinds, text)


def _kind(op: str, cause: str) -> int:
    if op == "erase":
        return KINDS.index("erase")
    is_program = op == "program"
    return {"host": 0, "gc": 2, "wear": 5}.get(cause, 7) + is_program
