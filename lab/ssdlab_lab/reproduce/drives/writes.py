"""Writes that no synthetic workload has: to zones, and Zipf with the hot pages side by side."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ssdlab.results import outputs

FORMAT = "spc"
SECTOR = 512


def parts(active: int, zones: int, length: int, count: int, seed: int) -> npt.NDArray[np.int64]:
    """`count` writes, as numbers of parts, to `zones` zones of `length` parts each.

    Every write goes to one of the active zones at random. A zone that is full is replaced by a
    random one that is not active.
    """
    rng = np.random.default_rng(seed)
    slots = rng.integers(active, size=count)
    orders = [np.flatnonzero(slots == slot) for slot in range(active)]
    begins = sorted((int(at), slot) for slot, order in enumerate(orders) for at in order[::length])
    now: list[int | None] = [None] * active
    taken: list[list[int]] = [[] for _ in range(active)]
    for _, slot in begins:
        free = [zone for zone in range(zones) if zone not in now]
        now[slot] = free[int(rng.integers(len(free)))]
        taken[slot].append(now[slot] or 0)
    found = np.empty(count, dtype=np.int64)
    for order, several in zip(orders, taken, strict=True):
        within = np.arange(len(order))
        found[order] = np.asarray(several, dtype=np.int64)[within // length] * length
        found[order] += within % length
    return found


def by_rank(theta: float, pages: int, count: int, seed: int) -> npt.NDArray[np.int64]:
    """`count` pages, page k (from 0) with a probability proportional to (k + 1)^-theta."""
    rng = np.random.default_rng(seed)
    weights = np.cumsum(np.arange(1, pages + 1, dtype=np.float64) ** -theta)
    found: npt.NDArray[np.int64] = np.searchsorted(weights, rng.random(count) * weights[-1])
    return found


def write(file: Path, which: npt.NDArray[np.int64], size: int) -> None:
    """Write the numbers of parts of `size` bytes as a trace in SPC's text. Raises `OutputError`."""
    sectors = (which * (size // SECTOR)).tolist()
    lines = "".join(f"0,{at},{size},w,{i * 1e-6:.6f}\n" for i, at in enumerate(sectors))
    packed = gzip.compress(lines.encode("ascii"), compresslevel=1, mtime=0)
    outputs.write_all({file: lambda out: out.write(packed)}, force=True)
