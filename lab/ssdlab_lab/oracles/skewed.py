"""Write amplification of skewed workloads: FIFO in closed form, greedy and d-choices in 2-D.

Independent references: each write picks page k with probability p_k, whatever happened before.
Hot/cold: a fraction r (`hot_space`) of the pages gets a fraction f (`hot_access`) of the writes.
Single frontier means that host data and GC copies share one open block. rho = U / (N' b).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .amplification import binomial
from .capacity import check_load, check_pages
from .rooting import bisect

Vector = NDArray[np.float64]
"""One double for each number of hot pages in a block."""

GREEDY = math.inf
"""`choices` of the greedy policy."""


def fifo_independent(probabilities: ArrayLike, effective_pages: float) -> float:
    """Return WA of FIFO for any independent-reference workload, single or double frontier.

    `probabilities` are p_k of all U pages (they sum to 1, zeros allowed), `effective_pages` is
    N' b > U. WA = 1/x with 1 = x sum_k p_k / (1 - e^(-p_k N' b x)); a page with p_k = 0 adds
    1 / (N' b) instead. Source: Desnoyers, SYSTOR 2012, section on non-uniform traffic under LRU;
    the time to live T = N' b x is the characteristic time of Che et al., IEEE JSAC 2002.
    """
    weights: Vector = np.asarray(probabilities, dtype=np.float64)
    if weights.ndim != 1 or weights.size == 0 or weights.min() < 0.0:
        message = "probabilities must be a non-empty vector without negative values"
        raise ValueError(message)
    if abs(float(weights.sum()) - 1.0) > 1e-9:
        message = f"probabilities sum to {float(weights.sum())}, not to 1"
        raise ValueError(message)
    check_load(weights.size / effective_pages)
    rates, sizes = np.unique(weights[weights > 0.0], return_counts=True)
    immobile = weights.size - int(sizes.sum())

    def balance(x: float) -> float:
        valid_times = rates / -np.expm1(-rates * (effective_pages * x))
        return x * float(np.dot(sizes, valid_times)) + immobile / effective_pages - 1.0

    return 1.0 / bisect(balance, 1e-12, 1.0)


def fifo_hot_cold(rho: float, hot_space: float, hot_access: float) -> float:
    """Return WA of FIFO for hot/cold traffic, single or double frontier.

    r = `hot_space` in (0, 1), f = `hot_access` in [0, 1].
    WA = f / (1 - e^(-f x / (r rho))) + (1 - f) / (1 - e^(-(1-f) x / ((1-r) rho))), x = 1/WA;
    f = 1 (static cold data) included. Source: as `fifo_independent`.
    """
    check_load(rho)
    _check_split(hot_space, hot_access)
    classes = ((hot_access, hot_space), (1.0 - hot_access, 1.0 - hot_space))

    def balance(x: float) -> float:
        total = 0.0
        for access, space in classes:
            exponent = access * x / (space * rho)
            total += space * rho if exponent == 0.0 else access * x / -math.expm1(-exponent)
        return total - 1.0

    return 1.0 / bisect(balance, 1e-12, 1.0)


def zipf_probabilities(pages: int, theta: float) -> Vector:
    """Return p_k proportional to k^-theta, k = 1 .. `pages`, theta >= 0 (0 is uniform)."""
    weights: Vector = np.arange(1, pages + 1, dtype=np.float64) ** -theta
    weights /= weights.sum()
    return weights


def hot_cold(
    rho: float,
    pages_per_block: int,
    hot_space: float,
    hot_access: float,
    choices: float = GREEDY,
) -> float:
    """Return WA of greedy (default) or best of d drawn blocks, hot/cold data, single frontier.

    Mean field over blocks with (i hot, k cold) valid pages: m(i,k) (c_h i + c_c k + phi_{i+k}) =
    inflow from (i+1,k) and (i,k+1); phi_j is the rate at which a block with j valid pages becomes
    victim; c_h = h f / (r rho b), c_c = h (1-f) / ((1-r) rho b). A new block holds the pages of
    the victim and Binomial(b - j, f) hot host pages. For fixed h the composition of new blocks is
    solved first, then h from sum (i+k) m = rho b (equivalent to h = b - E[j], and monotone in h).
    WA = b / h; r in (0, 1), f in (0, 1), f = r is the uniform case, `choices` >= 1.
    Source: Van Houdt, "Performance of garbage collection algorithms for flash-based solid state
    drives with hot/cold data", Perf. Eval. 2013; the nested solve is our own.
    """
    check_load(rho)
    check_pages(pages_per_block)
    _check_split(hot_space, hot_access)
    if not 0.0 < hot_access < 1.0 or choices < 1.0:
        message = f"hot_access {hot_access} or choices {choices} out of range"
        raise ValueError(message)
    model = _Field(rho, pages_per_block, hot_space, hot_access, choices)
    return pages_per_block / _falling_root(model.excess, pages_per_block * (1.0 - rho))


def _check_split(hot_space: float, hot_access: float) -> None:
    if not (0.0 < hot_space < 1.0 and 0.0 <= hot_access <= 1.0):
        message = f"hot_space {hot_space} or hot_access {hot_access} out of range"
        raise ValueError(message)


def _falling_root(function: Callable[[float], float], start: float) -> float:
    """Return the positive root of a falling `function` to 1e-9 relative, searching from `start`.

    For costly functions: brackets by factors, then the Illinois false position (ten evaluations).
    """
    low = high = start
    value_low = value_high = function(start)
    while value_low <= 0.0:
        high, value_high = low, value_low
        low /= 1.4
        value_low = function(low)
    while value_high > 0.0:
        low, value_low = high, value_high
        high *= 1.4
        value_high = function(high)
    side = 0
    for _ in range(200):
        guess = (low * value_high - high * value_low) / (value_high - value_low)
        value = function(guess)
        if value > 0.0:
            low, value_low = guess, value
            value_high = 0.5 * value_high if side == 1 else value_high
            side = 1
        else:
            high, value_high = guess, value
            value_low = 0.5 * value_low if side == -1 else value_low
            side = -1
        if high - low < 1e-9 * high or abs(value) < 1e-9:
            return guess
    return 0.5 * (low + high)


@dataclass
class _Sweep:
    """One pass over the levels b .. 0 for a given composition of new blocks."""

    composition: Vector
    """Composition (P of i hot pages) of the blocks that follow from the victims, sums to 1."""
    mean_valid: float
    """Mean valid pages over all blocks."""


class _Field:
    """The two-dimensional mean field of `hot_cold`, with the composition kept between calls."""

    def __init__(
        self, rho: float, pages: int, hot_space: float, hot_access: float, choices: float
    ) -> None:
        self.pages = pages
        self.mass = rho * pages
        self.choices = choices
        self.wear_hot = hot_access / (hot_space * rho * pages)
        self.wear_cold = (1.0 - hot_access) / ((1.0 - hot_space) * rho * pages)
        self.fresh = [np.array(binomial(n, hot_access)) for n in range(pages + 1)]
        self.composition: Vector = self.fresh[pages].copy()

    def excess(self, gain: float) -> float:
        """Return mean valid pages minus rho b, when a collection gains `gain` pages: falling."""
        mixer = _Mixer(self.composition)
        for _ in range(3000):
            sweep = self.sweep(gain, mixer.point)
            distance = float(np.abs(sweep.composition - mixer.point).sum())
            if distance < 1e-11:
                break
            mixer.advance(sweep.composition)
        else:
            message = f"composition of new blocks not found for gain {gain}: {distance}"
            raise ArithmeticError(message)
        self.composition = mixer.point
        return sweep.mean_valid - self.mass

    def sweep(self, gain: float, composition: Vector) -> _Sweep:
        """Follow blocks of this composition down to their collection."""
        pages = self.pages
        valid_counts: Vector = np.zeros(pages + 1)
        inflow = composition
        above = 0.0
        valid_sum = 0.0
        for valid in range(pages, -1, -1):
            hot = np.arange(valid + 1, dtype=np.float64)
            rate_hot = gain * self.wear_hot * hot
            rate_cold = gain * self.wear_cold * (valid - hot)
            leave_rate = rate_hot + rate_cold
            victim_rate = self._taken(inflow, leave_rate, above)
            if math.isinf(victim_rate):
                valid_counts += np.convolve(inflow, self.fresh[pages - valid])
                break
            occupancy = (
                inflow / (leave_rate + victim_rate) if victim_rate > 0.0 or valid > 0 else inflow
            )
            if victim_rate > 0.0:
                valid_counts += np.convolve(occupancy * victim_rate, self.fresh[pages - valid])
            mass = float(occupancy.sum())
            above += mass
            valid_sum += valid * mass
            inflow = (occupancy * rate_hot)[1:] + (occupancy * rate_cold)[:-1]
        return _Sweep(valid_counts, valid_sum)

    def _taken(self, inflow: Vector, leave_rate: Vector, above: float) -> float:
        """Return phi of one level: the rate at which each of its blocks becomes victim.

        `above` is S_{j+1}, the share of blocks with more valid pages.
        """
        if math.isinf(self.choices):
            return _taken_greedy(inflow, leave_rate, 1.0 - above)
        upper = 1.0
        if leave_rate[0] > 0.0 and leave_rate[-1] > 0.0:
            upper = min(1.0, above + float((inflow / leave_rate).sum()))
        base = above**self.choices

        def surplus(tail: float) -> float:
            phi = _chord(tail, above, base, self.choices)
            return tail - above - float((inflow / (leave_rate + phi)).sum())

        tail = _root_rising(surplus, above, upper)
        return _chord(tail, above, base, self.choices)


def _chord(tail: float, above: float, base: float, choices: float) -> float:
    """Return (S_j^d - S_{j+1}^d) / (S_j - S_{j+1}), its limit where both agree."""
    width = tail - above
    if width <= 1e-9 * tail:
        return max(choices * math.pow(tail, choices - 1.0), 1e-300)
    return (math.pow(tail, choices) - base) / width


def _taken_greedy(inflow: Vector, leave_rate: Vector, room: float) -> float:
    """Return phi of one level under greedy: 0 above the threshold, infinite below it."""
    if room <= 1e-13:
        return math.inf
    if leave_rate[0] > 0.0 and float((inflow / leave_rate).sum()) <= room:
        return 0.0
    return bisect(
        lambda phi: float((inflow / (leave_rate + phi)).sum()) - room,
        0.0 if leave_rate[0] > 0.0 else 1e-300,
        float(inflow.sum()) / room + 1.0,
    )


def _root_rising(function: Callable[[float], float], low: float, high: float) -> float:
    """Return the root of a rising `function` in [low, high] to about 1e-15, clamped to the ends.

    Secant steps inside a bracket, bisection where they do not shrink it.
    """
    value_high = function(high)
    if value_high <= 0.0:
        return high
    value_low = function(low)
    if value_low >= 0.0:
        return low
    for _ in range(200):
        guess = high - value_high * (high - low) / (value_high - value_low)
        if not low < guess < high:
            guess = 0.5 * (low + high)
        value = function(guess)
        if value == 0.0:
            return guess
        width = high - low
        if value > 0.0:
            high, value_high = guess, value
        else:
            low, value_low = guess, value
        if high - low > 0.5 * width:
            middle = 0.5 * (low + high)
            value = function(middle)
            if value > 0.0:
                high, value_high = middle, value
            else:
                low, value_low = middle, value
        if high - low < 1e-15:
            break
    return 0.5 * (low + high)


class _Mixer:
    """Anderson acceleration (Anderson, J. ACM 1965) of the fixed point g = G(g)."""

    DEPTH = 6

    def __init__(self, start: Vector) -> None:
        self.point = start
        self._points: list[Vector] = []
        self._images: list[Vector] = []

    def advance(self, image: Vector) -> None:
        """Replace the point by the best mix of the last images; sums stay 1, signs stay +."""
        self._points = [*self._points[-self.DEPTH :], self.point]
        self._images = [*self._images[-self.DEPTH :], image]
        mixture = image
        if len(self._points) > 1:
            residues = np.array(self._images) - np.array(self._points)
            steps = np.diff(residues, axis=0)
            weights = np.linalg.lstsq(steps.T, residues[-1], rcond=1e-10)[0]
            mixture = image - weights @ np.diff(np.array(self._images), axis=0)
        if mixture.min() < -1e-12 or not np.all(np.isfinite(mixture)):
            mixture = image
            self._points, self._images = [], []
        mixture = np.maximum(mixture, 0.0)
        self.point = mixture / mixture.sum()
