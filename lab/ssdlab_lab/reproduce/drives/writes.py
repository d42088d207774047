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
    starts = sorted(
        (int(position), slot) for slot, order in enumerate(orders) for position in order[::length]
    )
    open_zones: list[int | None] = [None] * active
    zones_of_slots: list[list[int]] = [[] for _ in range(active)]
    for _, slot in starts:
        free_zones = [zone for zone in range(zones) if zone not in open_zones]
        open_zones[slot] = free_zones[int(rng.integers(len(free_zones)))]
        zones_of_slots[slot].append(open_zones[slot] or 0)
    positions = np.empty(count, dtype=np.int64)
    for order, slot_zones in zip(orders, zones_of_slots, strict=True):
        offsets = np.arange(len(order))
        positions[order] = np.asarray(slot_zones, dtype=np.int64)[offsets // length] * length
        positions[order] += offsets % length
    return positions


def by_rank(theta: float, pages: int, count: int, seed: int) -> npt.NDArray[np.int64]:
    """`count` pages, page k (from 0) with a probability proportional to (k + 1)^-theta."""
    rng = np.random.default_rng(seed)
    weights = np.cumsum(np.arange(1, pages + 1, dtype=np.float64) ** -theta)
    positions: npt.NDArray[np.int64] = np.searchsorted(weights, rng.random(count) * weights[-1])
    return positions


def write(file: Path, positions: npt.NDArray[np.int64], size: int) -> None:
    """Write the numbers of parts of `size` bytes as a trace in SPC's text. Raises `OutputError`."""
    sectors = (positions * (size // SECTOR)).tolist()
    lines = "".join(f"0,{sector},{size},w,{i * 1e-6:.6f}\n" for i, sector in enumerate(sectors))
    compressed = gzip.compress(lines.encode("ascii"), compresslevel=1, mtime=0)
    outputs.write_all({file: lambda stream: stream.write(compressed)}, force=True)
