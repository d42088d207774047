"""The description of a paper for its reproduction, and what all papers share."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeAlias

from ssdlab import _core
from ssdlab.errors import WorkloadError
from ssdlab.html.plot import Figure
from ssdlab.traces.trace import Trace
from ssdlab_lab.reproduce.calibration import Arrivals, Lifetimes
from ssdlab_lab.reproduce.claims import Claim
from ssdlab_lab.reproduce.matrix import Cell, Results, Workload
from ssdlab_lab.reproduce.tables import Number, Table

GIB = 1 << 30
PAGE_BYTES = 4096
"""Bytes of the pages that `Trace.info` counts."""
QUICK = 4
"""A quick reproduction divides the device and the requests by this."""
LIVE = 0.25
"""Share of the raw flash that the volume of a workload takes, written before the measurement."""
SPARE = 0.15
"""Share of the raw flash that the host does not see: that of the presets."""
OVERWRITE = 3.0
"""How often the host writes the raw flash: enough to reach the steady state."""
MOST_LIVE = 0.6
"""Share of the raw flash that the pages of a recorded trace take at most: collection starts at 70 %
used space, and has to have something to collect then."""
MOST_BUSY = 0.5
"""Largest share of the time for which the pages of recorded requests keep the busy units of the
device busy: arrival times are stretched until it is met. Recorded on other storage, the requests
would otherwise queue forever, and the latencies would reflect the length of the trace."""
MOST_INTERVALS = 20_000
"""Approximate number of intervals in the time series of a run: otherwise runs of many hours would
fill memory and disk.
"""
REQUESTS_SEED = 1
"""Seed of the synthetic requests: the same in all trials, which differ in the errors drawn."""


@dataclass(frozen=True)
class Scale:
    """The size of the device and the workloads."""

    quick: bool
    divide_by: int | None = None
    """The divisor of the blocks of a plane and the bytes written, if not that of `quick`."""

    @property
    def divisor(self) -> int:
        """What they are divided by."""
        return self.divide_by or (QUICK if self.quick else 1)


@dataclass(frozen=True)
class Flash:
    """The geometry of a paper's device, as far as workloads depend on it."""

    planes: int
    blocks: int
    """Of each plane."""
    pages: int
    """Of each block."""
    units: int
    """Busy units."""
    read_us: float
    """How long a page that the host reads keeps a busy unit busy: the delays of the paper added up.
    """
    write_us: float
    """The same for a page that the host writes."""
    page_bytes: int = 4096

    @property
    def raw_bytes(self) -> int:
        """Bytes of all pages."""
        return self.planes * self.blocks * self.pages * self.page_bytes

    def keys(self, scale: Scale) -> dict[str, object]:
        """Keys that define the device of this scale."""
        return {
            "device.blocks_per_plane": self.blocks // scale.divisor,
            "device.user_capacity": f"{self.user_bytes(scale)} B",
        }

    def user_bytes(self, scale: Scale) -> int:
        """Bytes that the host sees."""
        page = self.page_bytes
        return round(self.raw_bytes * (1 - SPARE) / scale.divisor) // page * page


@dataclass(frozen=True)
class Recording:
    """A recorded trace, and what determines how it is run."""

    file: Path
    written_bytes: int
    """By all its writes."""
    touched_bytes: int
    """Bytes of the pages that it reads or writes."""
    page_reads: int
    """Pages that are read, each time counted."""
    page_writes: int
    duration_us: float
    """From the first arrival to the last."""

    @staticmethod
    def of(file: Path) -> Recording:
        """The recording in a file. Raises `ConfigError` and `WorkloadError`."""
        info = Trace(file).info()
        if not info.ops.write.bytes:
            raise WorkloadError(f"{file}: writes nothing; expected a trace with writes")
        return Recording(
            file,
            written_bytes=info.ops.write.bytes,
            touched_bytes=info.footprint.pages_touched * PAGE_BYTES,
            page_reads=info.footprint.page_reads,
            page_writes=info.updates.page_writes,
            duration_us=info.duration_ns / 1e3,
        )

    def time_scale(self, flash: Flash) -> float:
        """The factor for arrival times, at least 1, on such a device; see `MOST_BUSY`."""
        busy_us = self.page_reads * flash.read_us + self.page_writes * flash.write_us
        wanted_us = busy_us / (flash.units * MOST_BUSY)
        if wanted_us <= self.duration_us or not self.duration_us:
            return 1.0
        return round(wanted_us / self.duration_us, 2)


Basis: TypeAlias = Literal["text", "sibling paper", "published elsewhere", "ours"]
"""What a decision rests on."""


@dataclass(frozen=True)
class Decision:
    """A choice on which the comparison depends."""

    question: str
    choice: str
    basis: Basis
    why: str


@dataclass(frozen=True)
class Decisions:
    """What was decided before the proposed scheme was run."""

    date: str
    """From which the decisions stand."""
    decisions: tuple[Decision, ...]
    seen: str = ""
    """What had been seen of results before, in a sentence; empty if nothing had."""


ENGINES = {"MongoDB": "WiredTiger"}
"""Applications whose trace replaces the missing one of a workload."""


def trace_names(name: str) -> tuple[str, ...]:
    """Name of the file of an application's recorded trace."""
    return (f"{name.lower()}.trace.zst",)


def trace_file(folder: Path, name: str) -> Path:
    """The path of a recorded trace of an application."""
    return folder / trace_names(name)[0]


def fitting(
    traces: Mapping[str, Recording], flash: Flash, scale: Scale
) -> tuple[dict[str, Recording], list[str]]:
    """The recorded traces that a device of this scale can hold, and a remark about all of them."""
    raw = flash.raw_bytes / scale.divisor
    fitting_traces = {
        name: trace for name, trace in traces.items() if trace.touched_bytes <= MOST_LIVE * raw
    }
    notes = [
        f"Recorded requests of {name} are omitted: they touch {trace.touched_bytes / GIB:.2f} GiB,"
        f" but at most {100 * MOST_LIVE:.0f} % of the flash, {MOST_LIVE * raw / GIB:.2f} GiB, may"
        " be live."
        for name, trace in traces.items()
        if name not in fitting_traces
    ]
    notes += [
        f"The recorded requests of {name} come from its engine, {ENGINES[name]}."
        for name, trace in fitting_traces.items()
        if name in ENGINES and trace.file.name == trace_file(Path(), ENGINES[name]).name
    ]
    return fitting_traces, notes


@dataclass(frozen=True)
class Paper:
    """A paper whose evaluation is reproduced."""

    name: str
    title: str
    """Authors' title and where it appeared."""
    flash: Flash
    """The flash of its device."""
    workloads: tuple[str, ...]
    """In the order of its tables."""
    proposed: str
    """Its own scheme."""
    load: tuple[str, Mapping[str, Number]]
    """The scheme whose published mean write latency determines the arrival rates, and these
    latencies by workload, milliseconds."""
    notes: str
    """Paragraphs on what was decided where the paper is silent, and on what was found."""
    cells: Callable[[Scale, Sequence[str], Mapping[str, Recording]], list[Cell]]
    """The runs, for workloads and recorded traces."""
    tables: Callable[[Results, Sequence[str]], list[Table]]
    figures: Callable[[Results, Sequence[str]], list[Figure]]
    claims: Callable[[Sequence[str]], list[Claim]]
    setting: str
    """How the device is filled and what the host writes."""
    empty: bool = False
    """Whether the device is empty at first: calibrated volumes are not written before the
    measurement.
    """
    contradictions: tuple[str, ...] = ()
    """Which of its numbers and sentences exclude one another."""
    decided: Decisions | None = None
    """What was decided before the proposed scheme was run, if it is separate from the notes."""
    trace_files: Callable[[str], tuple[str, ...]] = trace_names
    """Names that the file of a recorded trace of a workload may have."""


GC_FIRST: dict[str, object] = {"sched.order": "gc-first"}
"""Keys under which collection does not give way to the host."""
FIFO: dict[str, object] = {"sched.order": "fifo"}
"""Host and collection take turns, first come, first served."""
HOST_FIRST: dict[str, object] = {"sched.order": "host-first"}
"""Collection gives way to the host."""


NAMES = ("workloads", "trace")
"""Keys of a published table that name its columns."""


class PublishedNumbers:
    """The numbers of a paper (papers/NAME.toml)."""

    def __init__(self, paper: str) -> None:
        self.values: dict[str, Any] = json.loads(_core.published(paper))
        tables = [table for table in self.values.values() if isinstance(table, dict)]
        lists = [table[key] for table in tables for key in NAMES if key in table]
        self._columns: list[str] = max(lists, key=len)
        """Workloads of the tables that do not name theirs."""

    def row(self, table: str, key: str, workloads: Sequence[str]) -> tuple[Number, ...]:
        """Numbers of the line `key` of a table, for each of `workloads`; None where it has none."""
        values = self.values
        for part in table.split("."):
            values = values[part]
        names = next((values[key] for key in NAMES if key in values), self._columns)
        by_name = dict(zip(names, values[key], strict=True))
        return tuple(by_name.get(name) for name in workloads)

    def lists(self, table: str, key: str, workloads: Sequence[str]) -> list[tuple[Number, ...]]:
        """The lines of a table of sensitivity, whose columns are those of table 6."""
        lines = [dict(zip(self._columns, line, strict=True)) for line in self.values[table][key]]
        return [tuple(line.get(name) for name in workloads) for line in lines]


@cache
def published(paper: str) -> PublishedNumbers:
    """The numbers of a paper, read once."""
    return PublishedNumbers(paper)


def load_of(
    paper: str, scheme: str, table: str, key: str, workloads: Sequence[str]
) -> tuple[str, Mapping[str, Number]]:
    """`Paper.load` from the line `key` of a table of mean write latencies."""
    values = published(paper).row(table, key, workloads)
    return scheme, dict(zip(workloads, values, strict=True))


def volume_keys(live: float = LIVE) -> dict[str, object]:
    """Keys that write a volume of that share of the raw flash before the measurement."""
    share = live / (1 - SPARE)
    return {"precondition.fill": share, "workload.span": share}


def _interval(duration_us: float) -> dict[str, object]:
    """The key that keeps the time series of a run within `MOST_INTERVALS`."""
    default_ms = 100
    return {"metrics.interval": f"{max(default_ms, round(duration_us / 1e3 / MOST_INTERVALS))} ms"}


def calibrated(
    name: str, paper: Paper, scale: Scale, lives: Lifetimes, arrivals: Arrivals
) -> Workload:
    """Synthetic requests as they were fixed; every seed of a run draws others."""
    model = json.loads(_core.application(name.lower(), paper.name))
    write = model["ops"][1]
    written = lives.written * paper.flash.raw_bytes / scale.divisor
    requests = round(written / (write["share"] * write["bytes"]))
    keys = {
        **volume_keys(lives.live),
        **({"precondition.fill": 0.0} if paper.empty else {}),
        "workload.kind": f"app:{name.lower()}",
        "workload.set": paper.name,
        "workload.requests": requests,
        "workload.cycle": arrivals.cycle,
        "workload.journal_run": lives.journal_run,
        "workload.table_skew": lives.table_skew,
        "workload.arrival.interval": f"{round(arrivals.interval_us * 1000)} ns",
        **_interval(requests * arrivals.interval_us),
    }
    return Workload(name, "synthetic", keys)


def recorded(name: str, trace: Recording, flash: Flash, scale: Scale) -> Workload:
    """A recorded trace, repeated until as much is written as by synthetic requests.

    Its pages are renumbered from 0 and are in the volume, which is written before.
    """
    target_bytes = OVERWRITE * flash.raw_bytes / scale.divisor
    loops, stretch = math.ceil(target_bytes / trace.written_bytes), trace.time_scale(flash)
    keys: dict[str, object] = {
        "precondition.fill": LIVE / (1 - SPARE),
        "workload.trace": str(trace.file),
        "workload.fit": "compact",
        "workload.loops": loops,
        "workload.time_scale": stretch,
        **_interval(trace.duration_us * stretch * loops),
    }
    return Workload(name, "recorded", keys)
