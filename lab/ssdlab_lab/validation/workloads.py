"""Write amplification of skewed, sequential and trimmed workloads, and the shifted reserve."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from ssdlab_lab.oracles import (
    GREEDY,
    fifo_hot_cold,
    fifo_independent,
    hot_cold,
    trim_live_fraction,
    zipf_probabilities,
)

from .check import Check, Line, Result, Run, estimated
from .one_pool import OnePool, check_policy_chose

BOUND = 0.01
WARMUP, MEASURED = 40.0, 20.0
"""Host writes in multiples of U: cold pages are rewritten once in about 10 U."""
SEEDS = (1, 2, 3, 4)
FIELD = "Skewed writes, two-dimensional mean field"
BLOCKS = 1100
FRONTIERS = ("single", "host+gc")


def _greedy(ties: str) -> str:
    return f'{{ policy = "greedy", ties = "{ties}" }}'


BOUNDS = {_greedy("random"): 0.005}
"""Bounds of victim policies that match the formula in every detail; `BOUND` applies to the others.
"""


def checks() -> Iterator[Check]:
    """Yield the checks of the full page."""
    yield from _skewed(BLOCKS, SEEDS)
    yield from _sequential()
    yield from _shifted()
    yield from _trimmed()


def quick_checks() -> Iterator[Check]:
    """Yield those of `--quick`."""
    device = OnePool(BLOCKS, 16, 0.15, "single", "fifo")
    yield _hot_cold_fifo(device, 0.1, 0.9, SEEDS[:1])
    yield _zipf(device, 0.99, SEEDS[:1])
    yield _drawn(device, 10, (0.2, 0.8), SEEDS[:1])
    yield from _sequential()
    yield from _shifted()
    yield from _trimmed()


def _skewed(blocks: int, seeds: Sequence[int]) -> Iterator[Check]:
    for frontiers in FRONTIERS:
        for spare in (0.07, 0.15, 0.28):
            device = OnePool(blocks, 32, spare, frontiers, "fifo")
            for hot_space, hot_access in ((0.1, 0.9), (0.2, 0.8)):
                yield _hot_cold_fifo(device, hot_space, hot_access, seeds)
            for theta in (0.8, 0.99):
                yield _zipf(device, theta, seeds)
    for pages, spare in ((16, 0.15), (32, 0.15), (64, 0.15), (64, 0.28)):
        device = OnePool(blocks, pages, spare, "single")
        for split in ((0.1, 0.9), (0.2, 0.8)):
            for d in (2, 10):
                yield _drawn(device, d, split, seeds)
            yield _ties(device, "random", split, seeds)
            if pages >= 32:  # the order of ties shows: see the page's note
                yield _ties(device, "lowest-id", split, seeds)
    yield _ties(OnePool(blocks, 48, 0.15), "random", (0.05, 0.95), seeds)


def _of_runs(
    topic: str,
    label: str,
    device: OnePool,
    seeds: Sequence[int],
    formula: Callable[[], float],
    workload: tuple[str, dict[str, float]],
) -> Check:
    kind, keys = workload
    parameters = (
        f"b = {device.pages}, OP {device.over_provisioning:.0%}, frontiers {device.frontiers}"
    )

    def judge(results: Sequence[Result]) -> list[Line]:
        check_policy_chose(results)
        values = [result.amplification for result in results]
        return [
            estimated(f"{label}, {parameters}", formula(), values, BOUNDS.get(device.victim, BOUND))
        ]

    runs = tuple(
        Run(replace(device, seed=seed).workload(kind, WARMUP, MEASURED, **keys)) for seed in seeds
    )
    return Check(topic, runs, judge)


def _hot_cold_fifo(device: OnePool, space: float, access: float, seeds: Sequence[int]) -> Check:
    label = f"fifo, {access:.0%} of the writes to {space:.0%}"
    keys = {"hot_space": space, "hot_access": access}
    return _of_runs(
        "Skewed writes, fifo",
        label,
        device,
        seeds,
        lambda: fifo_hot_cold(device.rho, space, access),
        ("hot-cold", keys),
    )


def _zipf(device: OnePool, theta: float, seeds: Sequence[int]) -> Check:
    def formula() -> float:
        return fifo_independent(
            zipf_probabilities(device.user, theta), device.effective * device.pages
        )

    label = f"fifo, Zipf {theta}"
    topic = "Skewed writes, fifo"
    return _of_runs(topic, label, device, seeds, formula, ("zipf", {"theta": theta}))


def _hot_cold_field(
    device: OnePool, name: str, choices: float, split: tuple[float, float], seeds: Sequence[int]
) -> Check:
    space, access = split
    return _of_runs(
        FIELD,
        f"{name}, {access:.0%} of the writes to {space:.0%}",
        device,
        seeds,
        lambda: hot_cold(device.rho, device.pages, space, access, choices),
        ("hot-cold", {"hot_space": space, "hot_access": access}),
    )


def _drawn(device: OnePool, d: int, split: tuple[float, float], seeds: Sequence[int]) -> Check:
    victim = f'{{ policy = "d-choices", d = {d} }}'
    return _hot_cold_field(replace(device, victim=victim), f"d = {d}", d, split, seeds)


def _ties(device: OnePool, ties: str, split: tuple[float, float], seeds: Sequence[int]) -> Check:
    device = replace(device, victim=_greedy(ties))
    return _hot_cold_field(device, f"greedy, ties {ties}", GREEDY, split, seeds)


def _sequential() -> Iterator[Check]:
    for frontiers in FRONTIERS:
        for victim in ("fifo", "greedy", "cost-benefit"):
            device = OnePool(300, 64, 0.07, frontiers, victim)
            label = f"{victim}, frontiers {frontiers}"

            def judge(results: Sequence[Result], label: str = label) -> list[Line]:
                check_policy_chose(results)
                copies = results[0].report["gc"]["pages_moved"]
                return [
                    Line(f"WA, {label}", 1.0, results[0].amplification, 0.0),
                    Line(f"pages copied, {label}", 0.0, copies, 0.0),
                ]

            run = Run(device.workload("sequential", 0.0, 20.0))
            yield Check("Sequential overwriting after a sequential fill", (run,), judge)


SHIFT = 7


def _shifted() -> Iterator[Check]:
    for frontiers in FRONTIERS:
        for pages in (32, 64):
            device = OnePool(500, pages, 0.15, frontiers, "fifo")
            label = f"fifo, b = {pages}, frontiers {frontiers}"

            def judge(results: Sequence[Result], label: str = label) -> list[Line]:
                counts = [
                    (
                        result.report["flash"]["programs"]["gc"],
                        result.report["flash"]["erases"],
                    )
                    for result in results
                ]
                (copies, erases), (copies_shifted, erases_shifted) = counts
                return [
                    Line(f"pages copied, {label}", copies, copies_shifted, 0.0),
                    Line(f"blocks erased, {label}", erases, erases_shifted, 0.0),
                ]

            runs = (Run(device.uniform(1.0, 10.0)), Run(device.shifted(SHIFT).uniform(1.0, 10.0)))
            topic = f"{SHIFT} more blocks, trigger raised by {SHIFT} blocks"
            yield Check(topic, runs, judge)


def _trimmed() -> Iterator[Check]:
    for share in (0.1, 0.2, 0.3, 0.5):
        device = OnePool(2000, 64, 0.15)
        run = Run(device.workload("uniform", 10.0, 5.0, trim=share))

        def judge(results: Sequence[Result], share: float = share) -> list[Line]:
            report = results[0].report
            live = report["device"]["valid_pages"] / report["device"]["user_pages"]
            half = 1.96 * math.sqrt(share * (1.0 - share) / report["device"]["user_pages"])
            host = report["host"]
            effective = host["pages_trimmed"] / (host["pages_trimmed"] + host["pages_written"])
            label = f"live pages, {share:.0%} of the requests trim"
            return [
                Line(f"{label} any page: 1 - q", 1.0 - share, live, BOUND, half),
                Line(
                    f"{label}; effective trims, {effective:.4f} of writes and effective trims: (1 -"
                    " 2q) / (1 - q)",
                    trim_live_fraction(effective),
                    live,
                    BOUND,
                    half,
                ),
            ]

        yield Check("Live pages under TRIM", (run,), judge)
