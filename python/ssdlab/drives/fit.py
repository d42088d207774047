"""Raw capacity from write amplification: the mean field of greedy collection, uniform writes.

With a frontier for the host and one for copies, collecting while `soft` blocks are erased, a pool
of N blocks of b pages works as N' = N - soft - 1.5 + 1 / (2 b) blocks
(`ssdlab_lab.validation.one_pool`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from ssdlab.config.resolve import Config
from ssdlab.errors import ConfigError

Numbers: TypeAlias = npt.NDArray[np.float64]
Points: TypeAlias = "Sequence[tuple[float, float]] | Numbers"
"""Fills and write amplifications, in pairs."""
OneOrMany = TypeVar("OneOrMany", float, Numbers)

LEAST, MOST = 1e-3, 100.0
"""Over-provisioning that a fit may find."""
FOLDS = 5
"""The parts into which many points are divided, to be left out in turn."""
GRID, STEPS = 100, 40
"""Points of that range, and steps of a search between two of them."""


@dataclass(frozen=True)
class Shape:
    """A pool of a drive."""

    units: int
    """Erase units."""
    pages: int
    """Of an erase unit."""
    reserved: float
    """Erase units that take no part in the steady state."""

    @staticmethod
    def of(config: Config) -> Shape:
        """Raises `ConfigError` where the mean field does not hold."""
        device, alloc = config.values["device"], config.values["alloc"]
        triggers = config["gc.trigger"]
        supported = {
            "gc.victim": config["gc.victim.policy"] == "greedy",
            "gc.trigger": [trigger["policy"] for trigger in triggers] == ["free-blocks"],
            "alloc.pool": alloc["pool"] == "chip",
            "alloc.erase_unit": alloc["erase_unit"] == "superblock",
            "alloc.frontiers": alloc["frontiers"] == "host+gc",
        }
        unsupported = [key for key, is_supported in supported.items() if not is_supported]
        if unsupported:
            requirements = "greedy victims, free-blocks, superblocks over chips, frontiers host+gc"
            raise ConfigError(
                [f"{', '.join(unsupported)}: a fit needs {requirements}, as drive: presets have"]
            )
        pages = device["planes_per_chip"] * device["pages_per_block"]
        return Shape.with_watermark(device["blocks_per_plane"], pages, triggers[0]["soft"])

    @staticmethod
    def with_watermark(units: int, pages: int, soft: int) -> Shape:
        """A pool that collects while `soft` erase units are erased."""
        return Shape(units, pages, soft + 1.5 - 0.5 / pages)

    def raw_pages(self, device: Mapping[str, Any]) -> int:
        """Of a device of such pools."""
        return int(device["channels"] * device["chips_per_channel"] * self.units * self.pages)

    def waf(self, spare: float) -> float:
        """Write amplification at this over-provisioning; infinite where data leave no room."""
        return float(self.wafs(np.array([spare]))[0])

    def wafs(self, spares: Numbers) -> Numbers:
        """Write amplification at many over-provisionings at once.

        That of `oracles.amplification.greedy`. Its threshold j rises with the mean of valid pages,
        rho b: it is the lowest j with rho b <= (b - j) / (H_b - H_j).
        """
        pages = self.pages
        mass = pages * self.units / (1 + spares) / (self.units - self.reserved)
        harmonic, highest_means = self._thresholds
        valid = np.minimum(np.searchsorted(highest_means, mass), pages - 1)
        share = valid * (pages - valid - mass * harmonic[valid]) / (mass - valid)
        waf: Numbers = np.where(mass < pages, pages / (pages - valid + share), math.inf)
        return waf

    @cached_property
    def _thresholds(self) -> tuple[Numbers, Numbers]:
        """By threshold j from 0 to b - 1: H_b - H_j, and the highest mean of valid pages."""
        remaining = np.arange(self.pages, 0.0, -1.0)
        harmonic = np.cumsum(1 / remaining)[::-1]
        return harmonic, remaining / harmonic

    def spare(self, waf: float) -> float:
        """The over-provisioning with this write amplification, above 1."""
        return fit_spare(self, [(1.0, waf)])


def effective_spare(spare: float, fill: OneOrMany) -> OneOrMany:
    """Over-provisioning over the used share, or shares, of a drive of this over-provisioning."""
    return (1 + spare) / fill - 1


def residuals(shape: Shape, spare: float, points: Points) -> Numbers:
    """ln(fitted / measured) of every fill and write amplification."""
    fills, measured = np.asarray(points).T
    logs: Numbers = np.log(shape.wafs(effective_spare(spare, fills)) / measured)
    return logs


def miss(shape: Shape, spare: float, points: Points) -> float:
    """Root of the mean square of the residuals."""
    return math.sqrt(np.mean(residuals(shape, spare, points) ** 2))


def fit_spare(shape: Shape, points: Points) -> float:
    """The over-provisioning that fits fills and write amplifications best: least squares of logs.

    The best of a grid, then ternary search between its neighbours: measurements that no drive can
    have had may have several minima.
    """
    points = np.asarray(points)
    fills, measured = points.T
    grid = [LEAST * (MOST / LEAST) ** (i / GRID) for i in range(GRID + 1)]
    spares: Numbers = ((1 + np.array(grid)[:, None]) / fills - 1).ravel()
    residual = np.log(shape.wafs(spares).reshape(len(grid), -1) / measured)
    best = int(np.argmin(np.mean(residual**2, axis=1)))
    low, high = grid[max(best - 1, 0)], grid[min(best + 1, GRID)]
    for _ in range(STEPS):
        third = (high / low) ** (1 / 3)
        left, right = low * third, high / third
        if miss(shape, left, points) <= miss(shape, right, points):
            high = right
        else:
            low = left
    return math.sqrt(low * high)


def cross_validate(shape: Shape, points: Points) -> Numbers:
    """The prediction for each point by a fit without it and without the others of its fold.

    NaN where no point is left.
    """
    points = np.asarray(points)
    folds = np.arange(len(points)) % FOLDS
    predictions = np.full(len(points), math.nan)
    for fold in np.unique(folds):
        is_out = folds == fold
        if not is_out.all():
            predictions[is_out] = shape.wafs(
                effective_spare(fit_spare(shape, points[~is_out]), points[is_out, 0])
            )
    return predictions


def plausible_range(
    shape: Shape, spare: float, points: Points, error: float
) -> tuple[float, float]:
    """The over-provisionings up to which the fit misses at most `error` more than at its best."""
    points = np.asarray(points)
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
