"""Writes to zones: each zone in order, several of them active."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ssdlab.reproduce.drives.choices import PART_BYTES
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


def write(file: Path, which: npt.NDArray[np.int64]) -> None:
    """Write the parts as a trace in SPC's text. Raises `OutputError`."""
    sectors = which * (PART_BYTES // SECTOR)
    lines = "".join(f"0,{at},{PART_BYTES},w,{i * 1e-6:.6f}\n" for i, at in enumerate(sectors))
    packed = gzip.compress(lines.encode("ascii"), compresslevel=1, mtime=0)
    outputs.write_all({file: lambda out: out.write(packed)}, force=True)
