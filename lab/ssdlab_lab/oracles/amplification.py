"""Write amplification of uniform random single-page writes, mean field (N' -> infinity).

WA = (host programs + GC programs) / host programs, without unit, >= 1. rho = U / (N' b) in (0, 1)
from `capacity.load`; b = pages per block; j = valid pages of the victim; h = b - E[j] = pages a
collection gains, so WA = b / h. Simulated values lie about 1.4 / N' (relative) above.
"""

from __future__ import annotations

import math

from .capacity import check_load, check_pages
from .rooting import bisect

TINY = 1e-12
"""Lower end of brackets whose other, trivial root is zero."""


def random_victim(rho: float) -> float:
    """Return WA = 1 / (1 - rho) of a victim chosen uniformly at random.

    E[j] = U / N' whatever the state, so this is exact for every N', b and every workload
    (uniform, hot/cold, Zipf). Source: Van Houdt, "A mean field model for a class of garbage
    collection algorithms in flash-based solid state drives", SIGMETRICS 2013 (d = 1).
    """
    check_load(rho)
    return 1.0 / (1.0 - rho)


def fifo(rho: float) -> float:
    """Return WA of FIFO (oldest sealed block), independent of b: WA = 1 / x, 1 - x = e^(-x/rho).

    Equal to alpha / (alpha + W0(-alpha e^-alpha)) with alpha = 1 / rho and Lambert's W. Sources:
    Desnoyers, "Analytic modeling of SSD write performance", SYSTOR 2012 (LRU); Xiang and Kurkoski,
    "An improved analytic expression for write amplification in NAND flash", arXiv 1110.4245.
    """
    check_load(rho)
    x = bisect(lambda x: x + math.expm1(-x / rho), TINY * (1.0 - rho), 1.0)
    return 1.0 / x


def lambert_w0(z: float) -> float:
    """Return the principal branch W0(z) of W e^W = z, for z in [-1/e, e]."""
    if not -math.exp(-1.0) <= z <= math.e:
        message = f"Lambert W argument {z} is outside [-1/e, e]"
        raise ValueError(message)
    return bisect(lambda w: w * math.exp(w) - z, -1.0, 1.0)


def fifo_by_lambert(rho: float) -> float:
    """Return the same WA as `fifo` from the Lambert W form: a second route to one number."""
    check_load(rho)
    alpha = 1.0 / rho
    return alpha / (alpha + lambert_w0(-alpha * math.exp(-alpha)))


def greedy_threshold(rho: float, pages_per_block: int) -> tuple[int, float]:
    """Return (j*, q): the greedy victim has j* valid pages w.p. 1 - q and j* - 1 w.p. q.

    j* is the integer for which q = [rho b (H_b - H_j*) - (b - j*)] / (1 - rho b / j*) lies in
    [0, 1), H the harmonic numbers. Source: limit d -> infinity of Van Houdt, SIGMETRICS 2013;
    the steady state of Desnoyers, SYSTOR 2012, with integer valid counts.
    """
    check_load(rho)
    check_pages(pages_per_block)
    mass = rho * pages_per_block
    harmonic = 0.0
    for valid in range(pages_per_block, 0, -1):
        slope = 1.0 - mass / valid
        shortage = mass * harmonic - (pages_per_block - valid)
        if slope != 0.0 and 0.0 <= shortage / slope < 1.0 and valid < mass:
            return valid, shortage / slope
        harmonic += 1.0 / valid
    return 0, 0.0


def greedy(rho: float, pages_per_block: int) -> float:
    """Return WA = b / (b - j* + q) of greedy (fewest valid pages), (j*, q) as `greedy_threshold`.

    Tends to `fifo` for b -> infinity.
    """
    threshold, share = greedy_threshold(rho, pages_per_block)
    return pages_per_block / (pages_per_block - threshold + share)


def greedy_occupancy(rho: float, pages_per_block: int) -> list[float]:
    """Return m_i, the fraction of blocks with i valid pages, for i = 0 .. b, under greedy.

    m_i = rho b / (h i) above the threshold j*, q rho b / (h j*) at it, 0 below; they sum to 1.
    """
    threshold, share = greedy_threshold(rho, pages_per_block)
    gain = pages_per_block - threshold + share
    fractions = [0.0] * (pages_per_block + 1)
    for valid in range(max(threshold, 1), pages_per_block + 1):
        weight = share if valid == threshold else 1.0
        fractions[valid] = weight * rho * pages_per_block / (gain * valid)
    if threshold == 0:
        fractions[0] = 1.0 - sum(fractions)
    return fractions


def _tail_of_choices(wear: float, pages_per_block: int, choices: float) -> list[float]:
    """Return S_b .. S_1 (in that order), S_i = P(valid >= i), for decay rate `wear` per page.

    Each solves c i (S_i - S_{i+1}) = 1 - S_i^d by Newton from S_i = 1 (convex, hence monotone).
    """
    tail: list[float] = []
    upper = 0.0
    for valid in range(pages_per_block, 0, -1):
        rate = wear * valid
        value = 1.0
        for _ in range(200):
            power = value ** (choices - 1.0)
            step = (rate * (value - upper) + power * value - 1.0) / (rate + choices * power)
            value -= step
            if abs(step) < 1e-16:
                break
        upper = value
        tail.append(value)
    return tail


def d_choices(rho: float, pages_per_block: int, choices: float) -> float:
    """Return WA of the best of d blocks drawn at random with replacement, d = `choices` >= 1.

    c i (S_i - S_{i+1}) = 1 - S_i^d, S_{b+1} = 0, sum S_i = rho b fixes c; h = b - sum S_i^d.
    d = 1 is `random_victim`; d = 1000 equals `greedy` within 1e-3 for b >= 32 and
    rho <= .935 (the limit is slower for small blocks: 3e-3 at b = 4 and 16, rho = .935).
    Source: Van Houdt, SIGMETRICS 2013.
    """
    check_load(rho)
    check_pages(pages_per_block)
    if choices < 1.0:
        message = f"{choices} choices"
        raise ValueError(message)
    mass = rho * pages_per_block
    wear = bisect(
        lambda c: sum(_tail_of_choices(c, pages_per_block, choices)) - mass, TINY, 1.0 / rho + 1.0
    )
    tail = _tail_of_choices(wear, pages_per_block, choices)
    return pages_per_block / (pages_per_block - math.fsum(s**choices for s in tail))


def binomial(trials: int, probability: float) -> list[float]:
    """Return P(X = k), k = 0 .. n, of a binomial variable; exact at probability 0 and 1."""
    if probability in (0.0, 1.0):
        outcome = trials if probability == 1.0 else 0
        return [1.0 if k == outcome else 0.0 for k in range(trials + 1)]
    log_success, log_failure = math.log(probability), math.log1p(-probability)
    log_factorial = math.lgamma(trials + 1)
    return [
        math.exp(log_factorial - math.lgamma(k + 1) - math.lgamma(trials - k + 1) + k * log_success
                 + (trials - k) * log_failure)
        for k in range(trials + 1)
    ]  # fmt: skip


def _windowed_mean_valid(wear: float, pages_per_block: int, window: float) -> float:
    """Return E[j] of the greedy victim in the window, for decay rate `wear` per page and turn."""
    probabilities = binomial(pages_per_block, math.exp(-(1.0 - window) * wear))
    budget = window * wear
    tail = 0.0
    for valid in range(pages_per_block, 0, -1):
        tail += probabilities[valid]
        if tail / valid >= budget:
            partial_mean = math.fsum(i * probabilities[i] for i in range(valid))
            return partial_mean + valid * tail - budget * valid
        budget -= tail / valid
    return 0.0


def windowed_greedy(rho: float, pages_per_block: int, window: float) -> float:
    """Return WA of greedy among the oldest s = `window` * N' blocks, window in (0, 1].

    A block enters the window with Binomial(b, e^-(1-w)c) valid pages (E_i its tail); threshold
    from sum_{i>j*} E_i/i + q/j* = w c; E[j] = sum_{i<j*} i e_i + j* E_j* - q; c = h / (rho b).
    window -> 0 is `fifo`, window = 1 is `greedy`. Source: own derivation from the window of
    Hu et al., "Write amplification analysis in flash-based solid state drives", SYSTOR 2009,
    confirmed by simulation.
    """
    check_load(rho)
    check_pages(pages_per_block)
    if not 0.0 < window <= 1.0:
        message = f"window {window} is outside (0, 1]"
        raise ValueError(message)
    mass = rho * pages_per_block

    def balance(wear: float) -> float:
        gain = pages_per_block - _windowed_mean_valid(wear, pages_per_block, window)
        return mass - gain / wear

    wear = bisect(balance, 1e-6 * (1.0 - rho), 1.0 / rho + 1e-9)
    return 1.0 / (rho * wear)


def sequential_overwrite(spare_blocks: int, frontiers: int) -> float:
    """Return WA = 1 exactly, for sequential overwrite after a sequential fill.

    Holds for fifo, greedy and cost-benefit by seal age with at least one spare block per frontier
    (`swf` 1, `dwf` 2), `spare_blocks` = blocks beyond those of the user data. After a fill in
    random order a single frontier does not heal, so this raises ValueError where it is not known.
    """
    if frontiers not in (1, 2) or spare_blocks < frontiers:
        message = f"not known for {spare_blocks} spare blocks and {frontiers} frontiers"
        raise ValueError(message)
    return 1.0
