"""Write amplification with a pool of blocks for each rate: the best split of the spare."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .rooting import bisect
from .skewed import Vector

HALVINGS = 60


def best_split(sizes: ArrayLike, flows: ArrayLike, physical: float) -> float:
    """Return WA of pools that each collect first in, first out, with the spare split best.

    Pool i holds the share `sizes[i]` of the logical pages, all written equally often, and gets the
    share `flows[i]` of the writes; both sum to 1, and `physical` > 1 is physical over logical
    pages. A pool whose blocks have the share u of valid pages when they are collected has
    WA 1/(1-u) and takes -ln(u)/(1-u) of its logical pages (Desnoyers, SYSTOR 2012). The total,
    sum f_i/(1-u_i), is least where (f_i/s_i) / ((1-u_i)/u_i + ln u_i) is the same in all pools.
    With a pool for each rate of a workload it is what separation reaches that knows the rates and
    has infinitely many blocks, not a bound: victims may be chosen better than first in, first out.
    """
    share, flow = (np.asarray(values, dtype=np.float64) for values in (sizes, flows))
    for name, values in (("sizes", share), ("flows", flow)):
        if values.ndim != 1 or values.size == 0 or values.min() <= 0.0:
            message = f"{name} must be a non-empty vector of positive shares"
            raise ValueError(message)
        if abs(float(values.sum()) - 1.0) > 1e-9:
            message = f"{name} sum to {float(values.sum())}, not to 1"
            raise ValueError(message)
    if share.size != flow.size:
        message = f"{share.size} sizes and {flow.size} flows"
        raise ValueError(message)
    if not physical > 1.0:
        message = f"physical is {physical}: expected more than 1"
        raise ValueError(message)
    rates = flow / share

    def taken(logarithm: float) -> float:
        valid = _valid(rates * np.exp(-logarithm))
        return float(np.dot(share, -np.log(valid) / (1.0 - valid))) - physical

    valid = _valid(rates * np.exp(-bisect(taken, -60.0, 60.0)))
    return float(np.sum(flow / (1.0 - valid)))


def zipf_rates(pages: int, theta: float, pools: int = 2000) -> tuple[Vector, Vector]:
    """Return sizes and flows of pools of neighbouring Zipf ranks, for `best_split`.

    Ranks 1 .. `pages` in at most `pools` pools, equally wide in the logarithm of the rank.
    """
    edges = np.unique(np.rint(np.geomspace(1, pages + 1, pools + 1)).astype(np.int64))
    rates = np.arange(1, pages + 1, dtype=np.float64) ** -theta
    sums = np.add.reduceat(rates, edges[:-1] - 1)
    return np.diff(edges) / pages, sums / sums.sum()


def _valid(targets: Vector) -> Vector:
    """The u in (0, 1) with (1-u)/u + ln u = `targets`, which falls from infinity to 0."""
    low, high = np.zeros_like(targets), np.ones_like(targets)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        is_above = (1.0 - middle) / middle + np.log(middle) > targets
        low, high = np.where(is_above, middle, low), np.where(is_above, high, middle)
    return np.clip((low + high) / 2, 1e-15, 1.0 - 1e-12)
