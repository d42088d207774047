"""`python -m ssdlab.reproduce.calibrate PAPER`: arrival rates for made requests.

The papers give no arrival rates, and latency under collection is mostly waiting, which follows
them. The mean time between requests of each workload is found by bisection so that the mean write
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

LEAST_US, MOST_US = 10.0, 300_000.0
STEPS = 12
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
    low, high = math.log(LEAST_US), math.log(MOST_US)
    tried = {}
    for _ in range(STEPS):
        middle = (low + high) / 2
        tried[math.exp(middle)] = found = latency_ms(cell, math.exp(middle))
        if found > wanted_ms:
            low = middle
        else:
            high = middle
    return min(tried.items(), key=lambda one: abs(math.log(one[1] / wanted_ms)))


def main() -> None:
    """Print the interval of each workload of a paper."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("paper")
    paper: Paper = paper_of(parser.parse_args().paper)
    scheme, published = paper.load
    for cell in paper.cells(Scale(quick=True), paper.workloads, {}):
        wanted = published.get(cell.workload.name)
        if cell.scheme.name != scheme or cell.seed != 1 or wanted is None:
            continue
        found, at = interval_us(cell, wanted)
        rounded = float(f"{found:.3g}")
        print(f'    "{cell.workload.name}": {rounded},  # {at:.3g} ms, published {wanted:g} ms')
        sys.stdout.flush()


if __name__ == "__main__":
    main()
