"""Where the requests of the papers and of recorded traces lie in the maps."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ssdlab.traces.trace import Requests, Trace, generate
from ssdlab_lab.reproduce.calibration import calibration_of
from ssdlab_lab.reproduce.command import TRACES
from ssdlab_lab.reproduce.maps.choices import MODULES, PAPERS, RAID, flash_of, write_us
from ssdlab_lab.reproduce.matrix import Source
from ssdlab_lab.reproduce.paper import LIVE, MOST_BUSY, REQUESTS_SEED, SPARE, Scale, trace_file
from ssdlab_lab.reproduce.requests import SECTORS

SAMPLE = 100_000
"""Requests of a synthetic workload that are looked at."""
GIVEN = ("workload.kind", "workload.requests", "workload.seed")
RECORDED = ("SQLite", "Varmail", "Dbench", "MySQL", "Cassandra", "RocksDB", "WiredTiger")
LETTERS: Mapping[str, str] = {
    "Cassandra": "C",
    "Dbench": "D",
    "MongoDB": "M",
    "MySQL": "Y",
    "RocksDB": "R",
    "SQLite": "S",
    "Varmail": "V",
    "WiredTiger": "W",
    "hm_0": "h",
    "stg_0": "g",
    "src2_0": "s",
    "rsrch_0": "r",
    "wdev_0": "w",
}
"""How workloads are called in the pictures."""


class Mark(NamedTuple):
    """A workload in the maps of a paper."""

    paper: str
    workload: str
    source: Source
    load: float
    live: float
    burst: float
    """Requests of the burst in which a request arrives, on average: those whose gaps are shorter
    than the flash takes for a request."""


def mark_of(paper: str, workload: str, source: Source, live: float, found: Requests) -> Mark:
    """The place of requests that arrive as they do, or stretched as on the page of the paper."""
    flash = flash_of(paper)
    first = found.sector.astype(np.int64) // SECTORS
    pages = -(-(found.sector.astype(np.int64) + found.sectors) // SECTORS) - first
    reads, writes = (int(pages[found.op == Requests.OPS.index(op)].sum()) for op in OPS)
    busy_us = (reads * flash.read_us + writes * write_us(paper)) / flash.units
    times_us = found.at_ns.astype(np.float64) / 1e3
    stretch = max(1.0, busy_us / (times_us[-1] * MOST_BUSY)) if source == "recorded" else 1.0
    ends = np.flatnonzero(np.diff(times_us) * stretch >= busy_us / len(times_us))
    lengths = np.diff(np.concatenate(([-1], ends, [len(times_us) - 1])))
    burst = float((lengths**2).sum() / lengths.sum())
    return Mark(paper, workload, source, busy_us / (times_us[-1] * stretch), live, burst)


OPS = ("read", "write")


@cache
def marks_of(paper: str) -> tuple[Mark, ...]:
    """All marks in the maps of a paper."""
    return (*_published(paper), *_recorded(paper))


def _published(paper: str) -> list[Mark]:
    """The requests of the paper's page."""
    module, scale = MODULES[paper], Scale(quick=False)
    marks = []
    for name in module.WORKLOADS:
        work = module.stand_in(name, scale) if paper == RAID else module.requested(name, scale)
        live = 1 - SPARE if paper == RAID else calibration_of(paper).lifetimes[name].live
        keys = {
            key: value
            for key, value in work.keys.items()
            if key.startswith("workload.") and key not in GIVEN
        }
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "requests.ssdtrace"
            kind, user = str(work.keys["workload.kind"]), flash_of(paper).user_bytes(scale)
            generate(kind, file, bytes=user, requests=SAMPLE, seed=REQUESTS_SEED, set=keys)
            marks.append(mark_of(paper, name, "synthetic", live, Trace(file).requests()))
    return marks


def _recorded(paper: str) -> list[Mark]:
    """The recorded traces, on a volume as that of the paper's page, or on a full parity group."""
    marks = []
    for name in RECORDED:
        recording = _recording(name)
        if recording is not None:
            raw = flash_of(paper).raw_bytes
            live = 1 - SPARE if paper == RAID else max(LIVE, recording.touched_bytes / raw)
            marks.append(mark_of(paper, name, "recorded", live, recording.requests))
    return marks


class _Recording(NamedTuple):
    requests: Requests
    touched_bytes: int


@cache
def _recording(name: str) -> _Recording | None:
    file = trace_file(TRACES, name)
    if not file.is_file():
        return None
    trace = Trace(file)
    return _Recording(trace.requests(), 4096 * trace.info().footprint.pages_touched)


def missing() -> list[str]:
    """Recorded traces that are not in the folder `traces`."""
    return [name for name in RECORDED if not trace_file(TRACES, name).is_file()]


def marks() -> list[Mark]:
    """The marks of all papers."""
    return [mark for paper in PAPERS for mark in marks_of(paper)]
