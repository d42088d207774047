"""Write amplification of uniform writes against the mean field of each victim policy."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from ssdlab_lab.oracles import d_choices, fifo, greedy, random_victim, windowed_greedy

from .check import Check, Line, Result, Run, estimated
from .one_pool import OnePool, check_policy_chose

BOUND = 0.01
WARMUP, MEASURED = 10.0, 5.0
"""Host writes in multiples of U."""
SEEDS = (1, 2, 3, 4)
BLOCKS = 1500
Formula = Callable[[OnePool], float]


def _windowed(window: float) -> Formula:
    """Formula for a config window w: the simulator keeps ceil(w N), the formula s = w' N'."""

    def value(device: OnePool) -> float:
        window_blocks = math.ceil(round(window * device.blocks, 6))
        return windowed_greedy(device.rho, device.pages, window_blocks / device.effective)

    return value


def _choices(candidates: int) -> Formula:
    return lambda device: d_choices(device.rho, device.pages, candidates)


POLICIES: dict[str, tuple[str, Formula]] = {
    "random": ("random", lambda device: random_victim(device.rho)),
    "fifo": ("fifo", lambda device: fifo(device.rho)),
    "greedy": ("greedy", lambda device: greedy(device.rho, device.pages)),
    "d = 2": ('{ policy = "d-choices", d = 2 }', _choices(2)),
    "d = 5": ('{ policy = "d-choices", d = 5 }', _choices(5)),
    "d = 10": ('{ policy = "d-choices", d = 10 }', _choices(10)),
    "window 5 %": ('{ policy = "windowed-greedy", window = 0.05 }', _windowed(0.05)),
    "window 25 %": ('{ policy = "windowed-greedy", window = 0.25 }', _windowed(0.25)),
}


def checks() -> Iterator[Check]:
    """Yield one check for every policy, block size, over-provisioning and number of frontiers."""
    for frontiers in ("single", "host+gc"):
        for pages in (32, 64, 128):
            for spare in (0.07, 0.15, 0.28):
                for name, (victim, formula) in POLICIES.items():
                    device = OnePool(BLOCKS, pages, spare, frontiers, victim)
                    yield _check(name, device, formula, SEEDS)


def quick_checks() -> Iterator[Check]:
    """Yield the same with few writes, for one block size and over-provisioning."""
    for frontiers in ("single", "host+gc"):
        for name, (victim, formula) in POLICIES.items():
            device = OnePool(1100, 64, 0.15, frontiers, victim)
            yield _check(name, device, formula, SEEDS[:1])


def _check(name: str, device: OnePool, formula: Formula, seeds: Sequence[int]) -> Check:
    label = f"{name}, b = {device.pages}, OP {device.over_provisioning:.0%}, N' = {_short(device)}"

    def judge(results: Sequence[Result]) -> list[Line]:
        values = [result.amplification for result in results]
        check_policy_chose(results)
        return [estimated(label, formula(device), values, BOUND)]

    runs = tuple(Run(replace(device, seed=seed).uniform(WARMUP, MEASURED)) for seed in seeds)
    topic = f"Uniform writes, frontiers {device.frontiers}"
    return Check(topic, runs, judge)


def _short(device: OnePool) -> str:
    return f"{device.effective:.2f}".rstrip("0").rstrip(".")
