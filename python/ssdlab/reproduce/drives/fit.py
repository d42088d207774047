"""Raw capacity from write amplification: the mean field of greedy collection, uniform writes.

With a frontier for the host and one for copies, collecting while `soft` blocks are erased, a pool
of N blocks of b pages works as N' = N - soft - 1.5 + 1 / (2 b) blocks
(`ssdlab.validation.one_pool`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ssdlab.config.resolve import Config
from ssdlab.errors import ConfigError
from ssdlab.oracles.amplification import greedy

LEAST, MOST = 1e-3, 100.0
"""Over-provisioning that a fit may find."""
GRID, STEPS = 100, 40
"""Points of that range, and steps of a search between two of them."""


@dataclass(frozen=True)
class Shape:
    """A pool of a drive."""

    units: int
    """Erase units."""
    pages: int
    """Of an erase unit."""
    kept: float
    """Erase units that take no part in the steady state."""

    @staticmethod
    def of(config: Config) -> Shape:
        """Raises `ConfigError` where the mean field does not hold."""
        device, alloc = config.values["device"], config.values["alloc"]
        triggers = config["gc.trigger"]
        bad = {
            "gc.victim": config["gc.victim.policy"] == "greedy",
            "gc.trigger": [one["policy"] for one in triggers] == ["free-blocks"],
            "alloc.pool": alloc["pool"] == "chip",
            "alloc.erase_unit": alloc["erase_unit"] == "superblock",
            "alloc.frontiers": alloc["frontiers"] == "host+gc",
        }
        wrong = [key for key, fits in bad.items() if not fits]
        if wrong:
            form = "greedy victims, free-blocks, superblocks over chips, frontiers host+gc"
            raise ConfigError([f"{', '.join(wrong)}: a fit needs {form}, as drive: presets have"])
        pages = device["planes_per_chip"] * device["pages_per_block"]
        kept = triggers[0]["soft"] + 1.5 - 0.5 / pages
        return Shape(device["blocks_per_plane"], pages, kept)

    def raw_pages(self, device: Mapping[str, Any]) -> int:
        """Of a device of such pools."""
        return int(device["channels"] * device["chips_per_channel"] * self.units * self.pages)

    def waf(self, spare: float) -> float:
        """Write amplification at this over-provisioning; infinite where data leave no room."""
        rho = self.units / (1 + spare) / (self.units - self.kept)
        return greedy(rho, self.pages) if rho < 1 else math.inf

    def spare(self, waf: float) -> float:
        """The over-provisioning with this write amplification, above 1."""
        return fitted(self, [(1.0, waf)])


def used(spare: float, fill: float) -> float:
    """Over-provisioning over the used share of a drive of this over-provisioning."""
    return (1 + spare) / fill - 1


def residuals(shape: Shape, spare: float, points: Sequence[tuple[float, float]]) -> list[float]:
    """ln(fitted / measured) of every fill and write amplification."""
    return [math.log(shape.waf(used(spare, fill)) / waf) for fill, waf in points]


def miss(shape: Shape, spare: float, points: Sequence[tuple[float, float]]) -> float:
    """Root of the mean square of the residuals."""
    of = residuals(shape, spare, points)
    return math.sqrt(sum(one * one for one in of) / len(of))


def fitted(shape: Shape, points: Sequence[tuple[float, float]]) -> float:
    """The over-provisioning that fits fills and write amplifications best: least squares of logs.

    The best of a grid, then ternary search between its neighbours: measurements that no drive can
    have had may have several minima.
    """
    grid = [LEAST * (MOST / LEAST) ** (i / GRID) for i in range(GRID + 1)]
    best = min(range(GRID + 1), key=lambda i: miss(shape, grid[i], points))
    low, high = grid[max(best - 1, 0)], grid[min(best + 1, GRID)]
    for _ in range(STEPS):
        third = (high / low) ** (1 / 3)
        left, right = low * third, high / third
        if miss(shape, left, points) <= miss(shape, right, points):
            high = right
        else:
            low = left
    return math.sqrt(low * high)


def plausible(
    shape: Shape, spare: float, points: Sequence[tuple[float, float]], error: float
) -> tuple[float, float]:
    """The over-provisionings up to which the fit misses at most `error` more than at its best."""
    bound = math.hypot(miss(shape, spare, points), error)

    def end(limit: float) -> float:
        inside, outside = spare, limit
        if miss(shape, limit, points) <= bound:
            return limit
        for _ in range(STEPS):
            middle = math.sqrt(inside * outside)
            if miss(shape, middle, points) <= bound:
                inside = middle
            else:
                outside = middle
        return inside

    return end(LEAST), end(MOST)
