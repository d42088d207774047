"""What a paper is to a reproduction, and what all of them share."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ssdlab import _core
from ssdlab.html.plot import Figure
from ssdlab.reproduce.claims import Claim
from ssdlab.reproduce.matrix import Cell, Results, Workload
from ssdlab.reproduce.tables import Number, Table
from ssdlab.trace import Trace

QUICK = 4
"""A quick reproduction divides the device and the requests by this."""
LIVE = 0.25
"""Share of the raw flash that the volume of a workload takes, written before the measurement."""
SPARE = 0.15
"""Share of the raw flash that the host does not see: that of the presets."""
OVERWRITE = 3.0
"""Times the raw flash is written by the host: enough to reach the steady state."""


@dataclass(frozen=True)
class Scale:
    """How large the device and the workloads are."""

    quick: bool
    divide_by: int | None = None
    """What blocks of a plane and bytes written are divided by, if not as `quick` says."""

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
    page_bytes: int = 4096

    @property
    def raw_bytes(self) -> int:
        """Bytes of all pages."""
        return self.planes * self.blocks * self.pages * self.page_bytes

    def keys(self, scale: Scale) -> dict[str, object]:
        """Keys that make the device of this scale."""
        return {
            "device.blocks_per_plane": self.blocks // scale.divisor,
            "device.user_capacity": f"{self.user_bytes(scale)} B",
        }

    def user_bytes(self, scale: Scale) -> int:
        """Bytes that the host sees."""
        page = self.page_bytes
        return round(self.raw_bytes * (1 - SPARE) / scale.divisor) // page * page


@dataclass(frozen=True)
class Paper:
    """A paper whose evaluation is reproduced."""

    name: str
    title: str
    """Authors' title and where it appeared."""
    workloads: tuple[str, ...]
    """In the order of its tables."""
    proposed: str
    """Its own scheme."""
    load: tuple[str, Mapping[str, Number]]
    """The scheme whose published mean write latency the arrival rates are chosen by, and these
    latencies by workload, milliseconds."""
    notes: str
    """What was decided where the paper is silent, and what was found; paragraphs."""
    cells: Callable[[Scale, Sequence[str], Mapping[str, Path]], list[Cell]]
    """The runs, for workloads and the files of recorded traces."""
    tables: Callable[[Results, Sequence[str]], list[Table]]
    figures: Callable[[Results, Sequence[str]], list[Figure]]
    claims: Callable[[Sequence[str]], list[Claim]]


GC_FIRST: dict[str, object] = {"sched.order": "gc-first"}
"""Keys under which collection does not give way to the host."""
FIFO: dict[str, object] = {"sched.order": "fifo"}
"""Host and collection take turns, first come, first served."""
HOST_FIRST: dict[str, object] = {"sched.order": "host-first"}
"""Collection gives way to the host."""


class Published:
    """The numbers of a paper (papers/NAME.toml)."""

    def __init__(self, paper: str) -> None:
        self.values: dict[str, Any] = json.loads(_core.published(paper))
        tables = [one for one in self.values.values() if isinstance(one, dict)]
        lists = [one["workloads"] for one in tables if "workloads" in one]
        self._columns: list[str] = max(lists, key=len)
        """Workloads of the tables that do not name theirs."""

    def row(self, table: str, key: str, workloads: Sequence[str]) -> tuple[Number, ...]:
        """Numbers of the line `key` of a table, for each of `workloads`; None where it has none."""
        at = self.values
        for part in table.split("."):
            at = at[part]
        names = at.get("workloads") or self._columns
        by_name = dict(zip(names, at[key], strict=True))
        return tuple(by_name.get(name) for name in workloads)

    def lists(self, table: str, key: str, workloads: Sequence[str]) -> list[tuple[Number, ...]]:
        """The lines of a table of sensitivity, whose columns are those of table 6."""
        lines = [dict(zip(self._columns, line, strict=True)) for line in self.values[table][key]]
        return [tuple(line.get(name) for name in workloads) for line in lines]


@cache
def published(paper: str) -> Published:
    """The numbers of a paper, read once."""
    return Published(paper)


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


def generated(
    name: str, set_: str, flash: Flash, scale: Scale, interval_us: float, live: float = LIVE
) -> Workload:
    """An application made to the statistics of the paper `set_`."""
    model = json.loads(_core.application(name.lower(), set_))
    write = model["ops"][1]
    written = OVERWRITE * flash.raw_bytes / scale.divisor
    requests = round(written / (write["share"] * write["bytes"]))
    keys = {
        **volume_keys(live),
        "workload.kind": f"app:{name.lower()}",
        "workload.set": set_,
        "workload.requests": requests,
        "workload.arrival.interval": f"{round(interval_us * 1000)} ns",
    }
    return Workload(name, "generated", keys)


def recorded(
    name: str, trace: Path, flash: Flash, scale: Scale, time_scale: float = 1.0
) -> Workload:
    """A recorded trace, repeated until as much is written as of made requests.

    Its pages are renumbered from 0 and lie in the volume, which is written before.
    """
    written = Trace(trace).info().ops.write.bytes
    loops = max(1, round(OVERWRITE * flash.raw_bytes / scale.divisor / written))
    keys: dict[str, object] = {
        "precondition.fill": LIVE / (1 - SPARE),
        "workload.trace": str(trace),
        "workload.fit": "compact",
        "workload.loops": loops,
        "workload.time_scale": time_scale,
    }
    return Workload(name, "recorded", keys)


def workloads_of(
    set_: str,
    flash: Flash,
    scale: Scale,
    names: Sequence[str],
    traces: Mapping[str, Path],
    intervals_us: Mapping[str, float],
) -> list[Workload]:
    """Made and recorded requests of each application."""
    made = [generated(name, set_, flash, scale, intervals_us[name]) for name in names]
    return made + [recorded(name, trace, flash, scale) for name, trace in traces.items()]
