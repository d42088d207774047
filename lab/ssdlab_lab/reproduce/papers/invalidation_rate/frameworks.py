"""`python -m ssdlab_lab.reproduce.papers.invalidation_rate.frameworks`: PBGC and BBGC by order.

In the published results the two frameworks have equal writes in all workloads, and reads that are
equal in RocksDB and nearly equal in MongoDB, but 384 times apart in Cassandra. This runs
conventional collection alone, on a quarter of the device, with the requests of the main runs, to
see whether any order reproduces that.
"""

from __future__ import annotations

from dataclasses import replace

import ssdlab
from ssdlab_lab.reproduce.matrix import Cell
from ssdlab_lab.reproduce.paper import Scale
from ssdlab_lab.reproduce.papers.invalidation_rate.paper import BBGC, requested, schemes

ORDERS: dict[str, object] = {
    "gc-first": "gc-first",
    "oldest first": "fifo",
    "read first": "read-first",
    "round robin": "round-robin",
}
PLANES = {"gc.blocking": {"scope": "plane", "granularity": "job"}}
WORKLOADS = ("Cassandra", "MongoDB", "RocksDB")
"""Those with published reads."""


def main() -> None:
    """Print mean and longest latencies of both, and how far apart they are."""
    scale = Scale(quick=True)
    bbgc = next(scheme for scheme in schemes(scale) if scheme.name == BBGC)
    print("order, workload: PBGC over BBGC of mean reads, longest reads, mean writes, longest")
    for title, order in ORDERS.items():
        for name in WORKLOADS:
            workload = requested(name, scale)
            times_by_scheme = []
            for keys in (PLANES, {}):
                scheme = replace(bbgc, keys={**bbgc.keys, **keys, "sched.order": order})
                latency = ssdlab.run(Cell(workload, scheme).config, progress=False).latency
                times = (latency.read.mean, latency.read.max, latency.write.mean, latency.write.max)
                times_by_scheme.append([time or 0.0 for time in times])
            ratios = [
                f"{numerator / denominator:.2f}"
                for numerator, denominator in zip(*times_by_scheme, strict=True)
            ]
            print(f"{title}, {name}: {', '.join(ratios)}", flush=True)


if __name__ == "__main__":
    main()
