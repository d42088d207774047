"""What is told by the requests of a run alone, without a device."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ssdlab.report import Report
from ssdlab.trace import Requests, Trace, generate

SECTORS = 8
"""Sectors of a page of 4 KiB."""
WRITE, TRIM = Requests.OPS.index("write"), Requests.OPS.index("trim")

JOURNAL = 64
"""The journal of a made volume is the first of so many parts (docs/workloads.md)."""

SAMPLE = 1_000_000
"""Requests that a share is counted in."""

Integers = npt.NDArray[np.int64]


@lru_cache(maxsize=4)
def requests_of(report: Report, most: int | None = None) -> Requests:
    """The first `most` requests of a run again; of a recorded trace all of one pass."""
    values = report.config.values
    work, device = values["workload"], values["device"]
    if work["kind"] == "trace":
        return Trace(work["trace"]).requests()
    count = min(work["requests"], most or work["requests"])
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "made.ssdtrace"
        generate(
            work["kind"],
            file,
            bytes=device["user_pages"] * device["page_bytes"],
            requests=count,
            seed=values["run"]["seed"],
            set={"workload.set": work["set"], "workload.span": work["span"]},
        )
        return Trace(file).requests(limit=count)


def journal_share(report: Report) -> float | None:
    """Percentage of the writes of a made workload that go to its journal; None for a recorded."""
    values = report.config.values
    if values["workload"]["kind"] == "trace":
        return None
    requests = requests_of(report, SAMPLE)
    device = values["device"]
    size = device["user_pages"] * device["page_bytes"] // 512 * values["workload"]["span"]
    writes = requests.sector[requests.op == WRITE]
    return 100.0 * float(np.mean(writes < size / JOURNAL)) if len(writes) else None


def shares_invalid(
    requests: Requests, planes: int, pages_per_block: int, shares: Sequence[float]
) -> list[float | None]:
    """Of all blocks written, the percentages that are at least so far invalid at the end.

    Page `lpn` is written to plane `lpn mod planes`, whose blocks are filled one after the other and
    never erased. A page is invalid if it is written again or trimmed later.
    """
    lpn, write = _pages(requests)
    last = np.zeros(len(lpn), bool)
    order = np.argsort(lpn, kind="stable")
    ends = np.flatnonzero(np.diff(lpn[order], append=-1))
    last[order[ends]] = True
    invalid = (~last)[write]
    block = _blocks(lpn[write] % planes, planes, pages_per_block)
    if not len(block):
        return [None for _ in shares]
    counts = np.bincount(block, weights=invalid)
    used = np.bincount(block) > 0
    return [
        100.0 * float(np.mean(counts[used] >= share * pages_per_block - 1e-9)) for share in shares
    ]


def _pages(requests: Requests) -> tuple[Integers, npt.NDArray[np.bool_]]:
    """Pages that are written or trimmed, in order, and whether each is written."""
    kept = (requests.op == WRITE) | (requests.op == TRIM)
    sector = requests.sector[kept].astype(np.int64)
    sectors = requests.sectors[kept].astype(np.int64)
    write = requests.op[kept] == WRITE
    # A page written in part is written; one trimmed in part stays.
    first = np.where(write, sector // SECTORS, -(-sector // SECTORS))
    end = np.where(write, -(-(sector + sectors) // SECTORS), (sector + sectors) // SECTORS)
    counts = np.maximum(end - first, 0)
    starts = np.cumsum(counts) - counts
    within = np.arange(int(counts.sum()), dtype=np.int64) - np.repeat(starts, counts)
    return np.repeat(first, counts) + within, np.repeat(write, counts)


def _blocks(plane: Integers, planes: int, pages_per_block: int) -> Integers:
    """The block of each write: planes fill theirs in order."""
    block = np.empty(len(plane), np.int64)
    for one in range(planes):
        at = np.flatnonzero(plane == one)
        block[at] = (np.arange(len(at)) // pages_per_block) * planes + one
    return block
