"""`python -m ssdlab_lab.bench.separation`: a device with and without SepBIT, without time."""

from __future__ import annotations

import argparse
import statistics
import sys
from dataclasses import replace
from pathlib import Path

from . import history
from .cases import Case
from .in_turn import in_turn
from .measure import measure

POLICY = "sepbit"
SHARE = 1 / 3
"""Required host writes per second of processor time, relative to those without separation."""
CHIPS, BLOCKS, PAGES = 8, 512, 128

SKEWED = Case(
    "separation",
    "16 GiB raw, filled once, Zipf 0.99, without time",
    chips=CHIPS,
    blocks=BLOCKS,
    pages=PAGES,
    user=8 * CHIPS * BLOCKS * PAGES * 100 // 128,
    writes=4_000_000,
    required=0,
    aim=0,
    overwrite=0.0,
    functional=True,
    soft=4,
    keys={"workload.kind": "zipf", "workload.theta": 0.99},
)


def main() -> int:
    """Measure, add to the history, print; 1 if it falls short."""
    parser = argparse.ArgumentParser(
        prog="python -m ssdlab_lab.bench.separation", description=__doc__
    )
    parser.add_argument("--history", type=Path, default=Path("bench/history.jsonl"))
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one is not None:
        policy = options.one[1]
        case = replace(SKEWED, keys={**SKEWED.keys, "alloc.separation": policy})
        sys.stdout.write(measure(case).as_json() + "\n")
        return 0
    rounds = in_turn("ssdlab_lab.bench.separation", SKEWED.name, (POLICY, "none"))
    share = statistics.median(
        separated.writes_per_cpu_s / plain.writes_per_cpu_s for separated, plain in rounds
    )
    writes = statistics.median(separated.writes_per_cpu_s for separated, _ in rounds)
    figures = {"writes_per_cpu_s": writes, "share": share}
    history.append(options.history, SKEWED.name, figures)
    sys.stdout.write(
        f"{SKEWED.what}: {writes / 1e6:.2f} M host writes per second of the processor with"
        f" {POLICY}, {share:.3f} of those without separation\n"
    )
    if share < SHARE:
        sys.stderr.write(f"{SKEWED.name}: {share:.3f} of the writes, required {SHARE:.3f}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
