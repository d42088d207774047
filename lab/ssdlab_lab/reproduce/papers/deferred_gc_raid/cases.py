"""Figures 1, 3 and 5 of the paper on deferred GC in chip-level RAID-5, run on a device of 8 chips.

They are small enough to be exact: which page is on which chip, what each of three writes reads and
programs, and how much earlier the three end if one page is redirected.
"""

from __future__ import annotations

import csv
import io
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ssdlab.export.logs import log
from ssdlab.results.report import Report
from ssdlab.running.run import run
from ssdlab_lab.reproduce.papers.deferred_gc_raid.measures import raid

CHIPS, GROUP = 8, 4
DATA = CHIPS // GROUP * (GROUP - 1)
"""Pages of the host in a stripe."""
PROGRAM_NS = 200_000
ERASE_NS = 2 * PROGRAM_NS
"""In figure 3, collection takes two of the slots in which a page is programmed."""
APART_NS = 100_000_000
"""Time between requests that must not overlap."""
PAGES_PER_BLOCK, BLOCKS, STRIPES, SOFT = 4, 16, 40, 4
DEVICE: Mapping[str, object] = {
    "device.channels": CHIPS,
    "device.chips_per_channel": 1,
    "device.planes_per_chip": 1,
    "device.blocks_per_plane": BLOCKS,
    "device.pages_per_block": PAGES_PER_BLOCK,
    "device.user_capacity": f"{STRIPES * DATA * 4} KiB",
    "timing.program": f"{PROGRAM_NS} ns",
    "timing.erase": f"{ERASE_NS} ns",
    "raid.group": GROUP,
    "raid.read_buffer_pages": 0,
    "gc.trigger.soft": SOFT,
    "metrics.op_log": True,
    "metrics.request_log": True,
}


@dataclass(frozen=True)
class Write:
    """A write of whole pages."""

    at_ns: int
    lpn: int
    pages: int


Lines = list[dict[str, str]]


@dataclass(frozen=True)
class LoggedRun:
    """A run with its logs, a dictionary for each line."""

    report: Report
    ops: Lines
    requests: Lines


def ran(preset: str, writes: Sequence[Write], keys: Mapping[str, object]) -> LoggedRun:
    """The writes on the device of the figures."""
    with tempfile.TemporaryDirectory() as folder:
        trace, output = Path(folder) / "writes.csv", Path(folder) / "run"
        # Windows file times: 100 ns, from a start that the reader subtracts.
        lines = [
            f"{128166372003061629 + write.at_ns // 100},case,0,Write,{write.lpn * 4096},"
            f"{write.pages * 4096},0\n"
            for write in writes
        ]
        trace.write_text("".join(lines), encoding="utf-8")
        values = {**DEVICE, **keys, "workload.trace": str(trace), "workload.format": "msr"}
        report = run(preset=preset, set=values, out=output, html=False, progress=False)
        return LoggedRun(report, _lines(report, "ops"), _lines(report, "requests"))


def _lines(report: Report, name: str) -> Lines:
    stream = log(report, name)
    assert stream is not None, "the run was logged"
    with io.TextIOWrapper(stream, encoding="utf-8") as text:
        return list(csv.DictReader(text))


def layout(preset: str, stripes: int) -> list[list[str]]:
    """Figure 1: the page of each chip, for the first stripes; parity of group 0 is "P0".

    Found by writing every page alone and looking where it and its parity are programmed.
    """
    writes = [Write(lpn * APART_NS, lpn, 1) for lpn in range(stripes * DATA)]
    replay = ran(preset, writes, {"precondition.fill": 0.0})
    user = replay.report.device.user_pages
    rows = [["" for _ in range(CHIPS)] for _ in range(stripes)]
    for op in replay.ops:
        if op["op"] != "program":
            continue
        lpn, chip = int(op["lpn"]), int(op["channel"])
        group = lpn - user
        if group < 0:
            rows[lpn // DATA][chip] = str(lpn)
        else:
            rows[group // (CHIPS // GROUP)][chip] = f"P{group}"
    return rows


THREE = (Write(0, 0, 3), Write(0, 5, 1), Write(0, 6, 2))
"""The writes of figure 3: a whole group, one page, two of the three pages of a group."""


@dataclass(frozen=True)
class Operations:
    """What one write did on the flash."""

    reads: int
    writes: int
    chips: tuple[int, ...]


def operations(preset: str) -> list[Operations]:
    """Figure 3: page reads, programs and chips of each of the three writes."""
    replay = ran(preset, THREE, {})
    operations_ = []
    for request in replay.requests:
        ops = [op for op in replay.ops if op["request"] == request["id"]]
        operations_.append(
            Operations(
                reads=sum(op["op"] == "read" for op in ops),
                writes=sum(op["op"] == "program" for op in ops),
                chips=tuple(sorted({int(op["channel"]) for op in ops})),
            )
        )
    return operations_


AGEING = (0, 6, 12, 18)
"""Pages whose updates, one after the other, invalidate the first block of chip 0, and leave room
there for one more program before its threshold; other chips have room for at least three."""


@dataclass(frozen=True)
class Ending:
    """When the three writes of figure 3 have ended, and what happened until then."""

    ns: int
    """After their arrival."""
    erases: int
    """Until then."""
    redirected: int


def ending(preset: str) -> Ending:
    """Figures 3 and 5: the three writes at once, when chip 0 is about to reach its threshold."""
    start = APART_NS * len(AGEING)
    writes = [Write(i * APART_NS, lpn, 1) for i, lpn in enumerate(AGEING)]
    writes += [Write(start, write.lpn, write.pages) for write in THREE]
    replay = ran(preset, writes, {})
    last = replay.requests[-len(THREE) :]
    end = max(int(request["completion"]) for request in last)
    erases = sum(op["op"] == "erase" and int(op["start"]) < end for op in replay.ops)
    redirects = raid("redirected")(replay.report)
    assert redirects is not None, "a device with parity"
    return Ending(end - int(last[0]["arrival"]), erases, round(redirects))


def slots_saved(baseline: Ending, redirected: Ending) -> float:
    """Slots of one program by which the redirected writes end earlier."""
    return (baseline.ns - redirected.ns) / PROGRAM_NS
