"""The closed forms against published numbers and against independent simulations.

Three kinds of pins: the analytic value to the digits printed, the simulated value to its
confidence interval plus the finite-size excess, and identities between two routes to one number.
"""

from __future__ import annotations

import math
import random

import pytest

from ssdlab_lab import oracles

UNIFORM_COLUMNS = ("greedy", "fifo", "dch2", "dch5", "dch10", "wg100", "wg500", "random")
# b = 64, single frontier, N' = 2000, U = floor(N' b / (1 + OP)): OP -> analytic, simulated, CI.
UNIFORM = {
    0.07: (
        (7.0098, 7.8170, 10.2770, 7.8744, 7.3229, 7.4993, 7.1023, 15.2854),
        (7.0150, 7.8176, 10.2680, 7.8806, 7.3262, 7.5053, 7.1056, 15.2889),
        (0.0032, 0.0042, 0.0132, 0.0056, 0.0037, 0.0056, 0.0046, 0.0461),
    ),
    0.15: (
        (3.8004, 4.0160, 5.3122, 4.1845, 3.9303, 3.9138, 3.8135, 7.6665),
        (3.8024, 4.0215, 5.3143, 4.1874, 3.9346, 3.9205, 3.8154, 7.6698),
        (0.0025, 0.0026, 0.0079, 0.0028, 0.0021, 0.0023, 0.0023, 0.0338),
    ),
    0.28: (
        (2.4028, 2.4814, 3.2453, 2.6122, 2.4711, 2.4390, 2.4050, 4.5714),
        (2.4037, 2.4827, 3.2446, 2.6116, 2.4727, 2.4408, 2.4061, 4.5758),
        (0.0014, 0.0011, 0.0063, 0.0020, 0.0018, 0.0010, 0.0012, 0.0229),
    ),
}


def uniform(policy: str, rho: float, pages: int = 64) -> float:
    if policy.startswith("dch"):
        return oracles.d_choices(rho, pages, int(policy[3:]))
    if policy.startswith("wg"):
        return oracles.windowed_greedy(rho, pages, int(policy[2:]) / 2000)
    if policy == "greedy":
        return oracles.greedy(rho, pages)
    return {"fifo": oracles.fifo, "random": oracles.random_victim}[policy](rho)


@pytest.mark.parametrize("over_provisioning", UNIFORM)
@pytest.mark.parametrize("policy", UNIFORM_COLUMNS)
def test_uniform_table(over_provisioning: float, policy: str) -> None:
    column = UNIFORM_COLUMNS.index(policy)
    analytic, simulated, interval = (row[column] for row in UNIFORM[over_provisioning])
    rho = oracles.load(oracles.user_pages(2000, 64, over_provisioning), 2000, 64)
    value = uniform(policy, rho)
    assert value == pytest.approx(analytic, abs=6e-5)
    excess = oracles.finite_size_excess(2000)
    assert simulated == pytest.approx(value, abs=2 * interval + 2 * excess * value)


def test_published_points() -> None:
    # Over-provisioning and spare factor are different things: 7 % of each, greedy, b = 128.
    assert oracles.greedy(oracles.load_from_over_provisioning(0.07), 128) == pytest.approx(
        7.392, abs=5e-4
    )
    assert oracles.greedy(oracles.load_from_spare_factor(0.07), 128) == pytest.approx(
        6.945, abs=5e-4
    )
    # Xiang and Kurkoski, arXiv 1110.4245: OP 30 % -> 2.36 (their simulation 2.35).
    assert oracles.fifo(oracles.load_from_over_provisioning(0.3)) == pytest.approx(2.3642, abs=5e-5)


@pytest.mark.parametrize("rho", [0.05, 0.3, 0.5, 0.8, 0.934579, 0.99])
def test_routes_agree(rho: float) -> None:
    assert oracles.fifo_by_lambert(rho) == pytest.approx(oracles.fifo(rho), rel=1e-9)
    for pages in (4, 16, 64):
        greedy = oracles.greedy(rho, pages)
        assert oracles.d_choices(rho, pages, 1) == pytest.approx(1 / (1 - rho), rel=1e-9)
        assert oracles.d_choices(rho, pages, 20_000) == pytest.approx(greedy, rel=2e-3)
        assert oracles.windowed_greedy(rho, pages, 1.0) == pytest.approx(greedy, rel=1e-6)
        assert oracles.windowed_greedy(rho, pages, 1e-7) == pytest.approx(
            oracles.fifo(rho), rel=1e-4
        )
    assert oracles.greedy(rho, 20_000) == pytest.approx(oracles.fifo(rho), rel=3e-3)


@pytest.mark.parametrize("pages", [1, 2, 8, 64])
def test_greedy_occupancy_is_a_distribution(pages: int) -> None:
    for rho in (0.1, 0.6, 0.95):
        fractions = oracles.greedy_occupancy(rho, pages)
        assert math.fsum(fractions) == pytest.approx(1.0, abs=1e-12)
        mean = math.fsum(i * m for i, m in enumerate(fractions))
        assert mean == pytest.approx(rho * pages, rel=1e-9)


def test_effective_blocks() -> None:
    assert oracles.effective_blocks("swf", 2000) == 2000
    assert oracles.effective_blocks("swfK", 504, 4) == 500
    assert oracles.effective_blocks("dwf", 500) == 499.5
    assert oracles.effective_blocks("dwfK", 508, 8) == 500.5
    # The shift identity: m more blocks and m more in reserve change nothing.
    assert oracles.effective_blocks("dwfK", 502, 2) == oracles.effective_blocks("dwfK", 508, 8)
    with pytest.raises(ValueError, match="reserve"):
        oracles.effective_blocks("swfK", 500)
    with pytest.raises(ValueError, match="reserve"):
        oracles.effective_blocks("dwf", 500, 1)


def test_half_a_block_matters() -> None:
    # N instead of N - 0.5 is 1.5 % of the simulated WA at N = 500, OP 7 %, b = 64: 1.16 % by
    # the formula, the rest is the finite-size excess.
    user = oracles.user_pages(499.5, 64, 0.07)
    right = oracles.greedy(oracles.load(user, 499.5, 64), 64)
    wrong = oracles.greedy(oracles.load(user, 500.0, 64), 64)
    excess = oracles.finite_size_excess(499.5)
    assert right * (1 + excess) / wrong == pytest.approx(1.015, abs=1e-3)


def test_fifo_skewed() -> None:
    rho = oracles.load_from_over_provisioning(0.15)
    # Static cold data (f = 1), r = .5 and .2: simulated 4.1850 +- .0072 and 4.613 +- .023.
    assert oracles.fifo_hot_cold(rho, 0.5, 1.0) == pytest.approx(4.1828, abs=1e-4)
    assert oracles.fifo_hot_cold(rho, 0.2, 1.0) == pytest.approx(4.6100, abs=3e-4)
    # Hot/cold 20 % / 80 %, swf, N' = 2000, b = 64, our own simulation: 4.372.
    assert oracles.fifo_hot_cold(rho, 0.2, 0.8) == pytest.approx(4.372, rel=1e-3)
    assert oracles.fifo_hot_cold(rho, 0.3, 0.3) == pytest.approx(oracles.fifo(rho), rel=1e-9)


def test_fifo_independent_references() -> None:
    rho = oracles.load_from_over_provisioning(0.15)
    pages = 10_000
    split = [0.8 / 2000] * 2000 + [0.2 / 8000] * 8000
    assert oracles.fifo_independent(split, pages / rho) == pytest.approx(
        oracles.fifo_hot_cold(rho, 0.2, 0.8), rel=1e-9
    )
    static = [1 / 2000] * 2000 + [0.0] * 8000
    assert oracles.fifo_independent(static, pages / rho) == pytest.approx(
        oracles.fifo_hot_cold(rho, 0.2, 1.0), rel=1e-9
    )
    flat = oracles.zipf_probabilities(pages, 0.0)
    assert oracles.fifo_independent(flat, pages / rho) == pytest.approx(oracles.fifo(rho), rel=1e-9)
    with pytest.raises(ValueError, match="sum"):
        oracles.fifo_independent([0.5, 0.4], 3.0)


def _fifo_log(probabilities: list[float], slots: int, writes: int) -> float:
    """WA of a circular log of single pages: FIFO with b = 1, the smallest simulator there is."""
    generator = random.Random(7)
    pages = len(probabilities)
    draws = generator.choices(range(pages), probabilities, k=writes)
    log = [*range(pages), *([-1] * (slots - pages))]
    home = list(range(pages))
    head, copied = pages % slots, 0
    for step, page in enumerate(draws):
        while log[head] >= 0 and home[log[head]] == head and log[head] != page:
            copied += step >= writes // 2
            head = (head + 1) % slots
        log[head], home[page] = page, head
        head = (head + 1) % slots
    return 1 + copied / (writes - writes // 2)


def test_zipf_against_a_circular_log() -> None:
    weights = oracles.zipf_probabilities(2000, 0.99)
    expected = oracles.fifo_independent(weights, 2600)
    assert _fifo_log([float(p) for p in weights], 2600, 400_000) == pytest.approx(
        expected, rel=0.01
    )


# Our own event simulation of a single frontier (swf, N' = 2000, OP 15 %, 20 U of warm-up,
# three seeds): b, r, f, d -> mean of the simulated WA.
HOT_COLD = [
    (16, 0.1, 0.9, oracles.GREEDY, 4.2253),
    (16, 0.1, 0.9, 10.0, 4.2989),
    (32, 0.2, 0.8, oracles.GREEDY, 3.9788),
    (32, 0.2, 0.8, 10.0, 4.1008),
    (64, 0.2, 0.8, oracles.GREEDY, 4.1675),
    (64, 0.2, 0.8, 10.0, 4.2701),
]


@pytest.mark.parametrize(("pages", "space", "access", "choices", "simulated"), HOT_COLD)
def test_hot_cold_simulated(
    pages: int, space: float, access: float, choices: float, simulated: float
) -> None:
    rho = oracles.load(oracles.user_pages(2000, pages, 0.15), 2000, pages)
    value = oracles.hot_cold(rho, pages, space, access, choices)
    assert value == pytest.approx(simulated, rel=1.5e-3)


@pytest.mark.parametrize("choices", [2.0, 10.0, oracles.GREEDY])
def test_hot_cold_without_skew_is_uniform(choices: float) -> None:
    for over_provisioning in (0.07, 0.28):
        rho = oracles.load_from_over_provisioning(over_provisioning)
        flat = oracles.greedy(rho, 16)
        if choices != oracles.GREEDY:
            flat = oracles.d_choices(rho, 16, choices)
        assert oracles.hot_cold(rho, 16, 0.3, 0.3, choices) == pytest.approx(flat, rel=1e-7)


def test_hot_cold_random_victim_ignores_skew() -> None:
    rho = oracles.load_from_over_provisioning(0.15)
    assert oracles.hot_cold(rho, 16, 0.1, 0.9, 1.0) == pytest.approx(1 / (1 - rho), rel=1e-7)


def test_trim_live_fraction() -> None:
    # Frankie et al.; simulated .8894, .7500, .5734.
    assert oracles.trim_live_fraction(0.0) == 1.0
    for probability, live in ((0.1, 0.8889), (0.2, 0.7500), (0.3, 0.5714)):
        assert oracles.trim_live_fraction(probability) == pytest.approx(live, abs=5e-5)


def test_sequential_overwrite() -> None:
    assert oracles.sequential_overwrite(1, 1) == 1.0
    assert oracles.sequential_overwrite(2, 2) == 1.0
    with pytest.raises(ValueError, match="not known"):
        oracles.sequential_overwrite(1, 2)


def test_md1() -> None:
    means = {0.1: 2.7778, 0.3: 10.714, 0.5: 25, 0.7: 58.333, 0.8: 100, 0.9: 225}
    for utilisation, mean in means.items():
        assert oracles.md1_mean_wait(utilisation, 50) == pytest.approx(mean, rel=3e-5)
    for wait, share in ((0, 0.3), (25, 0.4257), (50, 0.6041), (125, 0.8523)):
        assert oracles.md1_wait_cdf(0.7, 50, wait) == pytest.approx(share, abs=5e-5)
    percentiles = {(0.7, 0.9): 153.85, (0.7, 0.99): 324.3, (0.5, 0.9): 75.79, (0.5, 0.99): 166.8}
    for (utilisation, level), quantile in percentiles.items():
        assert oracles.md1_wait_percentile(utilisation, 50, level) == pytest.approx(
            quantile, rel=2e-4
        )
    assert oracles.md1_wait_percentile(0.5, 50, 0.4) == 0.0


def test_md1_mean_is_the_integral_of_its_tail() -> None:
    steps, width = 4000, 0.5
    tail = sum(1 - oracles.md1_wait_cdf(0.5, 50, (i + 0.5) * width) for i in range(steps // 2))
    assert tail * width == pytest.approx(oracles.md1_mean_wait(0.5, 50), rel=1e-4)


def test_mg1_and_priorities() -> None:
    mean = 0.7 * 60 + 0.3 * 700
    for utilisation, expected in ((0.3, 127.14), (0.6, 445.0), (0.8, 1186.7)):
        mixed = oracles.JobClass.of_mixture(utilisation / mean, [(0.7, 60), (0.3, 700)])
        assert oracles.mg1_mean_wait([mixed]) == pytest.approx(expected, rel=5e-5)
    reads = oracles.JobClass.of_fixed(0.004, 60)
    programs = oracles.JobClass.of_fixed(0.0008, 700)
    first, second = oracles.priority_mean_waits([reads, programs])
    assert (first, second) == pytest.approx((267.37, 1336.84), rel=3e-5)
    # Conservation law: priorities move waiting about, weighted by load they do not change it.
    together = oracles.mg1_mean_wait([reads, programs])
    weighted = (0.24 * first + 0.56 * second) / 0.8
    assert weighted == pytest.approx(together, rel=1e-9)
    with pytest.raises(ValueError, match="utilisation"):
        oracles.mg1_mean_wait([oracles.JobClass.of_fixed(0.02, 60)])


def test_lindley_is_exact_and_integer() -> None:
    assert oracles.lindley([0, 10, 100, 100], [50, 20, 5, 5]) == [0, 40, 0, 5]
    assert oracles.lindley_completions([0, 10, 100, 100], [50, 20, 5, 5]) == [50, 70, 105, 110]
    arrivals = [i * 40 for i in range(20)]
    assert oracles.lindley(arrivals, [40] * 20) == [0] * 20
    assert oracles.lindley(arrivals, [45] * 20) == [oracles.dd1_wait(40, 45, i) for i in range(20)]
    with pytest.raises(ValueError, match="back in time"):
        oracles.lindley([5, 4], [1, 1])


def test_lindley_meets_md1() -> None:
    generator = random.Random(3)
    clock = 0.0
    arrivals: list[int] = []
    for _ in range(300_000):
        clock += generator.expovariate(0.5 / 50_000)
        arrivals.append(round(clock))
    waits = oracles.lindley(arrivals, [50_000] * len(arrivals))
    assert sum(waits) / len(waits) == pytest.approx(oracles.md1_mean_wait(0.5, 50_000), rel=0.02)


def test_saturation() -> None:
    for ways, rate in ((4, 0.017778), (8, 0.035556), (9, 0.04), (32, 0.04)):
        assert oracles.program_rate(1, ways, 25, 200) == pytest.approx(rate, rel=3e-5)
    assert oracles.program_rate(8, 4, 25, 200) == 8 * oracles.program_rate(1, 4, 25, 200)
    assert oracles.multi_plane_program_rate(1, 4, 1, 25, 200) == oracles.program_rate(1, 4, 25, 200)
    assert oracles.multi_plane_program_rate(1, 2, 2, 25, 200) == pytest.approx(4 / 250)
    assert oracles.cache_program_rate(1, 4, 25, 200) == pytest.approx(4 / 200)
    assert oracles.cache_program_rate(1, 16, 25, 200) == pytest.approx(1 / 25)
    assert oracles.read_rate(1, 4, 1, 50, 20) == pytest.approx(0.0476, abs=5e-5)
    assert oracles.serial_rate(8, 250) == pytest.approx(0.032)


def test_idle_latencies_and_little() -> None:
    assert oracles.idle_read(1_000, 50_000, 20_000) == 71_000
    assert oracles.idle_read(1_000, 50_000, 20_000, ecc=4_000) == 75_000
    assert oracles.idle_program(1_000, 20_000, 600_000) == 621_000
    assert oracles.idle_erase(1_000, 3_000_000) == 3_001_000
    assert oracles.closed_loop_throughput(8, 100.0) == pytest.approx(0.08)
    assert oracles.closed_loop_throughput(8, 60.0, think=100.0) == pytest.approx(0.05)
    assert oracles.jobs_in_system(0.08, 100.0) == pytest.approx(8)
    assert oracles.busy_fraction(0.01, 50.0) == pytest.approx(0.5)
