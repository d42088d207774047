"""The logs of a run as a trace for Perfetto and other readers of the Trace Event Format (JSON).

A channel is a process with a track for its bus and one for every plane of its chips. Requests are a
separate process, and so are the counts of the series. An operation names its request (0 and up)
among its arguments. Format: "Trace Event Format", Google 2016, events M, X, b, e, C; times in
microseconds, here with three decimals: nanoseconds.
"""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Iterator
from typing import Any, BinaryIO, TypeAlias

from ssdlab.errors import OutputError
from ssdlab.export.logs import log
from ssdlab.results.outputs import Write
from ssdlab.results.report import Report

Event: TypeAlias = "dict[str, Any]"
REQUESTS, DEVICE, FIRST_CHANNEL = 1, 2, 3
"""Processes."""
ENCODE = json.JSONEncoder(separators=(",", ":")).encode
COUNTERS = ("free_blocks", "used_pages", "pending_requests", "gc_active_pools")
"""Columns of the series that become counters."""


def files(report: Report) -> dict[str, Write]:
    """One file of every operation, request and interval that the run logged."""
    logs = {name: log(report, name) for name in ("ops", "requests")}
    if not any(logs.values()):
        keys = "metrics.op_log=true and metrics.request_log=true"
        raise OutputError(f"{report.folder}: the run kept no log; run it again with {keys}")

    def write(out: BinaryIO) -> None:
        # Without a time in its head the file depends only on the run.
        with gzip.GzipFile("", "wb", compresslevel=4, fileobj=out, mtime=0) as compressed:
            text = io.TextIOWrapper(io.BufferedWriter(compressed, 1 << 20), encoding="utf-8")
            text.write('{"displayTimeUnit":"ns","traceEvents":[\n')
            separator = ""
            for event in _events(report, logs):
                text.write(separator + ENCODE(event))
                separator = ",\n"
            text.write("\n]}\n")
            text.flush()

    return {"perfetto.json.gz": write}


def _events(report: Report, logs: dict[str, io.BufferedReader | None]) -> Iterator[Event]:
    planes = _Planes(report)
    yield from planes.names()
    if logs["ops"]:
        yield from planes.operations(logs["ops"])
    if logs["requests"]:
        yield from _requests(logs["requests"])
    yield from _counters(report)


def _rows(stream: io.BufferedReader) -> Iterator[dict[str, str]]:
    names = stream.readline().decode().strip().split(",")
    for number, line in enumerate(stream, 2):
        cells = line.decode().strip().split(",")
        if len(cells) != len(names):
            problem = f"expected {len(names)} values, found {len(cells)}"
            raise OutputError(f"{stream.name}: line {number}: {problem}")
        yield dict(zip(names, cells, strict=True))


def _micros(ns: int) -> float:
    """Exact up to 104 days: doubles hold 2^53 nanoseconds."""
    return round(ns / 1000, 3)


def _span(start: str, end: str) -> Event:
    return {"ts": _micros(int(start)), "dur": _micros(int(end) - int(start))}


def _name_events(kind: str, pid: int, name: str, tid: int = 0, rank: int = 0) -> Iterator[Event]:
    track = {"ph": "M", "pid": pid, "tid": tid}
    yield {**track, "name": f"{kind}_name", "args": {"name": name}}
    yield {**track, "name": f"{kind}_sort_index", "args": {"sort_index": rank}}


class _Planes:
    """Where operations are shown: a track for each plane, numbered through the device."""

    def __init__(self, report: Report) -> None:
        device = report.json["config"]["device"]
        self.channels = int(device["channels"])
        self.chips = int(device["chips_per_channel"])
        self.planes = int(device["planes_per_chip"])

    def track(self, channel: int, chip: int, plane: int) -> int:
        """Number of a plane's track, which no process uses."""
        first = FIRST_CHANNEL + 2 * self.channels
        return first + (channel * self.chips + chip) * self.planes + plane

    def bus(self, channel: int) -> int:
        """Number of a bus's track."""
        return FIRST_CHANNEL + self.channels + channel

    def names(self) -> Iterator[Event]:
        """Names of processes and tracks."""
        yield from _name_events("process", REQUESTS, "requests", rank=0)
        yield from _name_events("process", DEVICE, "device", rank=1)
        for channel in range(self.channels):
            pid = FIRST_CHANNEL + channel
            yield from _name_events("process", pid, f"channel {channel}", rank=pid)
            yield from _name_events("thread", pid, "bus", self.bus(channel))
            for chip in range(self.chips):
                for plane in range(self.planes):
                    name = f"chip {chip}" + (f" plane {plane}" if self.planes > 1 else "")
                    tid = self.track(channel, chip, plane)
                    yield from _name_events("thread", pid, name, tid, rank=tid)

    def operations(self, stream: io.BufferedReader) -> Iterator[Event]:
        """A slice for every operation on its plane, and one for its transfer on the bus."""
        last = dict.fromkeys(range(self.channels), ("", ""))
        for row in _rows(stream):
            channel = int(row["channel"])
            event: Event = {"name": f"{row['cause']} {row['op']}", "cat": row["cause"]}
            event |= {"ph": "X", "pid": FIRST_CHANNEL + channel}
            keys = ("block", "page", "lpn", "sequence", "request", "queued")
            args = {key: int(row[key]) for key in keys if row[key]}
            tid = self.track(channel, int(row["chip"]), int(row["plane"]))
            yield {**event, "tid": tid, **_span(row["start"], row["end"]), "args": args}
            # The planes of one operation share its transfer.
            transfer = row["bus_start"], row["bus_end"]
            if row["bus_start"] and transfer != last[channel]:
                yield {**event, "tid": self.bus(channel), **_span(*transfer)}
                last[channel] = transfer


def _requests(stream: io.BufferedReader) -> Iterator[Event]:
    """Requests overlap: a pair of asynchronous events each."""
    keys = ("volume", "stream", "lpn", "pages", "queue", "chip", "transfer", "gc_wait", "metadata")
    for row in _rows(stream):
        event: Event = {"name": row["op"], "cat": "request", "id": int(row["id"])}
        event |= {"pid": REQUESTS, "tid": REQUESTS}
        args = {key: int(row[key]) for key in keys if row[key]}
        yield {**event, "ph": "b", "ts": _micros(int(row["arrival"])), "args": args}
        yield {**event, "ph": "e", "ts": _micros(int(row["completion"]))}


def _counters(report: Report) -> Iterator[Event]:
    times = report.series.get("time_ns", ())
    for name in COUNTERS:
        for time, value in zip(times, report.series.get(name, ()), strict=False):
            counter = {"ph": "C", "pid": DEVICE, "tid": DEVICE, "name": name.replace("_", " ")}
            yield {**counter, "ts": _micros(int(time)), "args": {"value": int(value)}}
