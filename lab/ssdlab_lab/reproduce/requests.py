"""Statistics of the requests of a run alone, without a device."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ssdlab.results.report import Report
from ssdlab.traces.info import Info, OpInfo
from ssdlab.traces.trace import Requests, Trace, generate
from ssdlab_lab.reproduce.paper import published
from ssdlab_lab.reproduce.tables import Measure, MeasuredValues, Number, Row, Table

SECTORS = 8
"""Sectors of a page of 4 KiB."""
WRITE, TRIM = Requests.OPS.index("write"), Requests.OPS.index("trim")

HABITS = ("set", "span", "journal_run", "table_skew")
"""Keys on which the addresses of a synthetic workload depend, if they apply."""
JOURNAL = 64
"""The journal of a synthetic volume is the first of this many parts (docs/workloads.md)."""

SAMPLE = 200_000
"""Synthetic requests over which shares and sizes are counted."""

MOST_RECORDED = 10_000_000
"""Largest number of requests of a recorded trace that are inspected."""

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Mix:
    """Statistics of the requests of a run."""

    info: Info
    """Over the first `SAMPLE` synthetic requests, or over one pass of a recorded trace as in the
    file."""
    journal: float | None
    """Percentage of writes to the journal of a synthetic volume; None for a recorded trace."""


@dataclass(frozen=True)
class Volume:
    """Figures of the whole trace of a volume; for a shrunk stand-in, times its divisor."""

    requests: float
    write_share: float
    range_bytes: float
    """From the first address to the last."""
    unique_bytes: float
    """Of pages written at least once."""


@lru_cache
def volume_of(report: Report) -> Volume:
    """Figures of the trace of a volume (`msr:...`), as it was simulated."""
    values = report.config.values
    work, device = values["workload"], values["device"]
    with tempfile.TemporaryDirectory() as folder:
        if work.get("msr"):
            files = sorted(Path(work["msr"]).glob(f"{work['kind'].removeprefix('msr:')}.csv*"))
            trace, settings = Trace(files[0]), {"workload.sort": True}
        else:
            file = Path(folder) / "volume.ssdtrace"
            keys = ("pattern", "shrink", "seed", "span")
            generate(
                work["kind"],
                file,
                bytes=device["user_pages"] * device["page_bytes"],
                requests=work["requests"],
                set={f"workload.{key}": work[key] for key in keys if key in work},
            )
            trace, settings = Trace(file), {}
        return _volume(trace.requests(limit=MOST_RECORDED, set=settings), work.get("shrink", 1))


def _volume(requests: Requests, times: int) -> Volume:
    end = requests.sector.astype(np.int64) + requests.sectors
    pages, _ = _pages(requests)
    write = int(np.count_nonzero(requests.op == WRITE))
    return Volume(
        requests=float(times * len(requests.op)),
        write_share=write / len(requests.op),
        range_bytes=512.0 * times * int(end.max() - requests.sector.min()),
        unique_bytes=512.0 * SECTORS * times * len(np.unique(pages)),
    )


@contextmanager
def _trace_of(report: Report, limit: int | None = None) -> Iterator[Trace]:
    """The first `limit` requests of a run again; of a recorded trace, those of one pass."""
    values = report.config.values
    work, device = values["workload"], values["device"]
    if work["kind"] == "trace":
        yield Trace(work["trace"])
        return
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "synthetic.ssdtrace"
        generate(
            work["kind"],
            file,
            bytes=device["user_pages"] * device["page_bytes"],
            requests=min(work["requests"], limit or work["requests"]),
            seed=work.get("seed", values["run"]["seed"]),
            set={f"workload.{key}": work[key] for key in HABITS if key in work},
        )
        yield Trace(file)


def requests_of(report: Report) -> Requests:
    """The requests of a run again; of a recorded trace, those of one pass."""
    with _trace_of(report) as trace:
        return trace.requests(limit=max(report.config["workload.requests"], MOST_RECORDED))


@lru_cache
def mix_of(report: Report) -> Mix:
    """Statistics of the requests of a run."""
    with _trace_of(report, SAMPLE) as trace:
        is_generated = report.config["workload.kind"] != "trace"
        return Mix(trace.info(), _journal(report, trace.requests()) if is_generated else None)


def _journal(report: Report, requests: Requests) -> float | None:
    values = report.config.values
    device = values["device"]
    size = device["user_pages"] * device["page_bytes"] // 512 * values["workload"]["span"]
    writes = requests.sector[requests.op == WRITE]
    return 100.0 * float(np.mean(writes < size / JOURNAL)) if len(writes) else None


def journal_share(report: Report) -> float | None:
    """`Mix.journal`, as a measure."""
    return mix_of(report).journal


def sequential_percent(op: str | None = None) -> Measure:
    """Share of the requests, or of those of one operation, that continue the operation's last."""

    def of(report: Report) -> Number:
        info = mix_of(report).info
        share = info.sequential_share if op is None else _of(info, op).sequential_share
        return None if share is None else 100.0 * share

    return of


def random_percent(report: Report) -> Number:
    """Share of the requests that do not continue the operation's last."""
    share = sequential_percent()(report)
    return None if share is None else 100.0 - share


def mean_kib(op: str) -> Measure:
    """Mean size of an operation, KiB."""

    def of(report: Report) -> Number:
        mean = _of(mix_of(report).info, op).size.mean
        return None if mean is None else mean / 1024

    return of


def sequential_mean_kib(op: str) -> Measure:
    """Mean size of the requests of an operation that continue its last one, KiB."""

    def of(report: Report) -> Number:
        mean = _of(mix_of(report).info, op).sequential_mean_bytes
        return None if mean is None else mean / 1024

    return of


def _of(info: Info, op: str) -> OpInfo:
    info_of_op: OpInfo = getattr(info.ops, op)
    return info_of_op


def share_percent(op: str, ops: Sequence[str]) -> Measure:
    """The share of the requests of an operation among those of the operations `ops`."""

    def measure(report: Report) -> Number:
        total = sum(getattr(report.requests, kind) for kind in ops)
        return 100.0 * float(getattr(report.requests, op)) / total if total else None

    return measure


MIX_NOTE = (
    "Sequential: a request that starts where the previous request of the same operation ended."
    " Shares of operations are over all requests; the other statistics are over the first"
    f" {SAMPLE:,} synthetic requests, or over one pass of the recorded trace as stored in the"
    " file, which overstates discards (traces/README.md)."
)


def table_3(measured: MeasuredValues, paper: str, scheme: str) -> list[Table]:
    """Mix and sizes, as two papers print them in their table 3."""
    names = measured.workloads
    ops = ("read", "write")

    def rows(*lines: tuple[str, str, Measure]) -> tuple[Row, ...]:
        table = "table3_traces"
        return tuple(
            measured.row(label, scheme, measure, published(paper).row(table, key, names))
            for label, key, measure in lines
        )

    mix = rows(
        *((f"{op}s", f"{op}_percent", share_percent(op, ops)) for op in ops),
        ("sequential", "sequential_percent", sequential_percent()),
        ("random", "random_percent", random_percent),
    )
    sizes = rows(*((f"{op}s", f"mean_{op}_kib", mean_kib(op)) for op in ops))
    return [
        Table("table3", "Table 3: requests", "%", names, mix, MIX_NOTE),
        Table("table3-sizes", "Table 3: mean sizes", "KiB", names, sizes),
    ]


def shares_invalid(
    requests: Requests, planes: int, pages_per_block: int, shares: Sequence[float]
) -> list[float | None]:
    """The percentages of all blocks written that are at least this far invalid at the end.

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
    is_used = np.bincount(block) > 0
    return [
        100.0 * float(np.mean(counts[is_used] >= share * pages_per_block - 1e-9))
        for share in shares
    ]


def _pages(requests: Requests) -> tuple[Integers, npt.NDArray[np.bool_]]:
    """Pages that are written or trimmed, in order, and whether each is written."""
    is_kept = (requests.op == WRITE) | (requests.op == TRIM)
    sector = requests.sector[is_kept].astype(np.int64)
    sectors = requests.sectors[is_kept].astype(np.int64)
    write = requests.op[is_kept] == WRITE
    # A page written in part is written; one trimmed in part stays.
    first = np.where(write, sector // SECTORS, -(-sector // SECTORS))
    end = np.where(write, -(-(sector + sectors) // SECTORS), (sector + sectors) // SECTORS)
    counts = np.maximum(end - first, 0)
    starts = np.cumsum(counts) - counts
    offsets = np.arange(int(counts.sum()), dtype=np.int64) - np.repeat(starts, counts)
    return np.repeat(first, counts) + offsets, np.repeat(write, counts)


def _blocks(plane: Integers, planes: int, pages_per_block: int) -> Integers:
    """The block of each write: planes fill their blocks in order."""
    block = np.empty(len(plane), np.int64)
    for index in range(planes):
        positions = np.flatnonzero(plane == index)
        block[positions] = (np.arange(len(positions)) // pages_per_block) * planes + index
    return block
