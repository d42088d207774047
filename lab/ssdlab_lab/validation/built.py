"""A steady state built from the mean field has its write amplification from the first write."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ssdlab_lab.oracles import greedy

from .check import Check, Line, Result, Run, estimated
from .one_pool import OnePool, check_policy_chose

BOUND = 0.01
MEASURED = 0.5
"""Host writes in multiples of U."""
SEEDS = (1, 2, 3, 4)
BLOCKS = 6000


def checks() -> Iterator[Check]:
    """Yield one check for every number of frontiers, block size and over-provisioning."""
    for frontiers in ("single", "host+gc"):
        for pages in (64, 128):
            for spare in (0.07, 0.15, 0.28):
                yield _check(OnePool(BLOCKS, pages, spare, frontiers))


def quick_checks() -> Iterator[Check]:
    """Yield the same for one block size and over-provisioning."""
    for frontiers in ("single", "host+gc"):
        yield _check(OnePool(BLOCKS, 64, 0.15, frontiers))


def _check(device: OnePool) -> Check:
    label = f"{device.frontiers}, b = {device.pages}, OP {device.over_provisioning:.0%}"

    def judge(results: Sequence[Result]) -> list[Line]:
        check_policy_chose(results)
        values = [result.amplification for result in results]
        return [estimated(label, greedy(device.rho, device.pages), values, BOUND)]

    keys = {"precondition.steady_state": "mean-field"}
    runs = [Run({**replace(device, seed=seed).uniform(0.0, MEASURED), **keys}) for seed in SEEDS]
    return Check("Steady state built directly", tuple(runs), judge)
