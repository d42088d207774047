"""The writes of traces and of Zipf's law on different numbers of pages, as files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

from ssdlab.results import outputs
from ssdlab.traces.trace import Requests, Trace

Numbers = npt.NDArray[np.int64]

SECTORS = 8
"""Sectors of a page."""
FORMAT = "block-event"
VERSION = 1
"""Version of the writes below: numbers of runs that had other writes are not reused."""


def stretched(requests: Requests, pages: int) -> tuple[Numbers, Numbers, npt.NDArray[np.bool_]]:
    """The updates of a trace on `pages` pages instead of those that it touches.

    Of each the first page, the end, and whether it is a write (else a TRIM). Page i of those that
    are written becomes the pages from floor(i r) to floor((i + 1) r), where r is `pages` over their
    number. Reads are left out, and so is what covers no page.
    """
    is_write = requests.op == Requests.OPS.index("write")
    updates = is_write | (requests.op == Requests.OPS.index("trim"))
    is_write = is_write[updates]
    first = requests.sector[updates].astype(np.int64)
    end = first + requests.sectors[updates].astype(np.int64)
    # A write changes the pages that it touches, a TRIM those that it covers.
    first = np.where(is_write, first // SECTORS, -(-first // SECTORS))
    end = np.where(is_write, -(-end // SECTORS), end // SECTORS)
    end = np.maximum(end, first)
    changes = np.zeros(int(end.max()) + 1, dtype=np.int64)
    np.add.at(changes, first[is_write], 1)
    np.add.at(changes, end[is_write], -1)
    # For each page how many of those below it are written.
    pages_below = np.concatenate(([0], np.cumsum(np.cumsum(changes)[:-1] > 0)))
    starts, ends = (
        pages_below[first] * pages // pages_below[-1],
        pages_below[end] * pages // pages_below[-1],
    )
    is_nonempty = ends > starts
    return starts[is_nonempty], ends[is_nonempty], is_write[is_nonempty]


def write_trace(trace: Path, share: float, pages: int, file: Path) -> None:
    """Write the first `share` of the requests of a trace, `stretched` to this many pages."""
    requests = Trace(trace).requests()
    count = round(len(requests) * share)
    part = Requests(*(getattr(requests, name)[:count] for name in Requests.__dataclass_fields__))
    starts, ends, is_write = stretched(part, pages)
    lines = "".join(
        f"7,0 0 {i} {i * 1e-6:.6f} 0 Q {'W' if write else 'D'} {SECTORS * start} +"
        f" {SECTORS * (end - start)}\n"
        for i, (start, end, write) in enumerate(
            zip(starts.tolist(), ends.tolist(), is_write.tolist(), strict=True)
        )
    )
    outputs.write_all({file: outputs.text(lines)}, force=True)


def zipf(theta: float, ranks: int, pages: int, count: int, seed: int) -> Numbers:
    """`count` writes to `pages` pages, each of which represents ranks / pages successive ranks.

    Rank k (from 1) has a probability proportional to k^-theta. Pages are shuffled.
    """
    rng = np.random.default_rng(seed)
    weights = np.cumsum(np.arange(1, ranks + 1, dtype=np.float64) ** -theta)
    ends = np.arange(1, pages + 1, dtype=np.int64) * ranks // pages
    draws = np.searchsorted(weights[ends - 1], rng.random(count) * weights[-1], side="right")
    drawn_pages: Numbers = rng.permutation(pages)[draws]
    return drawn_pages


def write_zipf(theta: float, ranks: int, pages: int, count: int, seed: int, file: Path) -> None:
    """Write the pages of `zipf` as a trace."""
    sectors = (SECTORS * zipf(theta, ranks, pages, count, seed)).tolist()
    lines = "".join(
        f"7,0 0 {i} {i * 1e-6:.6f} 0 Q W {sector} + {SECTORS}\n" for i, sector in enumerate(sectors)
    )
    outputs.write_all({file: outputs.text(lines)}, force=True)
