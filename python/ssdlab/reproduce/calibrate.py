"""`python -m ssdlab.reproduce.calibrate PAPER`: arrival rates for synthetic requests.

The papers give no arrival rates, and latency under collection is mostly waiting, which follows
them. The mean time between requests of each workload is found by trial so that the mean write
latency of the paper's *baseline* is the published one; the proposed scheme has no say in it. What
is printed belongs into the paper's module.
"""

from __future__ import annotations

import argparse
import math
import sys
from dataclasses import replace

import ssdlab
from ssdlab.reproduce.command import paper_of
from ssdlab.reproduce.matrix import Cell
from ssdlab.reproduce.paper import Paper, Scale

FIRST_US, LEAST_US, MOST_US = 200.0, 10.0, 100_000.0
STEPS = 7
NEAR = 0.1
"""How close is close enough."""
POWER, FARTHEST = 0.8, 8.0
"""A step multiplies the interval by a power of how far the latency is off, at most by so much."""
INTERVAL = "workload.arrival.interval"


def latency_ms(cell: Cell, interval_us: float) -> float:
    """Mean write latency at a mean time between requests."""
    keys = {**cell.workload.keys, INTERVAL: f"{round(interval_us * 1000)} ns"}
    at_rate = replace(cell, workload=replace(cell.workload, keys=keys))
    mean = ssdlab.run(at_rate.config, progress=False).latency.write.mean
    assert mean is not None, "workloads write"
    return mean / 1e6


def interval_us(cell: Cell, wanted_ms: float) -> tuple[float, float]:
    """Mean time between requests with that mean write latency, or the nearest; and the latency."""
    tried: dict[float, float] = {}
    at = FIRST_US
    for _ in range(STEPS):
        tried[at] = found = latency_ms(cell, at)
        if abs(found / wanted_ms - 1) < NEAR:
            break
        # Waiting falls about as the rate does, until it is gone.
        step = min(max((found / wanted_ms) ** POWER, 1 / FARTHEST), FARTHEST)
        at = min(max(at * step, LEAST_US), MOST_US)
        if at in tried:
            break
    return min(tried.items(), key=lambda one: abs(math.log(one[1] / wanted_ms)))


def main() -> None:
    """Print the interval of each workload of a paper."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("paper")
    paper: Paper = paper_of(parser.parse_args().paper)
    scheme, published = paper.load
    for cell in paper.cells(Scale(quick=False), paper.workloads, {}):
        wanted = published.get(cell.workload.name)
        if cell.scheme.name != scheme or cell.seed != 1 or wanted is None:
            continue
        found, at = interval_us(cell, wanted)
        rounded = float(f"{found:.3g}")
        print(f'    "{cell.workload.name}": {rounded},  # {at:.3g} ms, published {wanted:g} ms')
        sys.stdout.flush()


if __name__ == "__main__":
    main()
