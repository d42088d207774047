"""`python -m ssdlab_lab.bench.parity`: a device with and without parity groups, run in turn."""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from . import history
from .cases import CASES, Case
from .in_turn import in_turn
from .measure import measure

GROUP = 8
"""Chips of a parity group, as in the paper."""
SHARE = 0.85
"""Required flash operations per second of processor time, relative to those without parity."""
WRITES_PER_CPU_S = 0.3e6
"""Required host writes per second of processor time, with parity."""
MORE_BYTES = 0.6
"""Most memory that parity may take, per physical page."""
PAPER_BLOCKS, PAPER_PAGES = 8192, 32

SMALL = replace(
    next(case for case in CASES if case.name == "e2"),
    name="parity-small",
    what="1 GiB raw on 32 chips",
)
PAPER = Case(
    "parity-paper",
    "64 GiB raw on the 64 chips of the paper, filled once",
    chips=8,
    blocks=PAPER_BLOCKS,
    pages=PAPER_PAGES,
    user=64 * (PAPER_BLOCKS * PAPER_PAGES * 85 // 100),
    writes=1_500_000,
    required=0,
    aim=0,
    overwrite=0.0,
    keys={
        "timing.model": "serial",
        "timing.busy_unit": "chip",
        "timing.read": "25 us",
        "timing.program": "200 us",
        "timing.erase": "1.5 ms",
        "timing.bus_rate": None,
        "timing.transfer": "0 ns",
        "timing.sram": "0 ns",
        "alloc.placement": "static",
        "gc.blocking": '{ scope = "plane", granularity = "job" }',
        "gc.trigger": '{ policy = "on-demand", soft = 409, by = "any", idle = false }',
    },
)
CASES_OF_PARITY = (SMALL, PAPER)


@dataclass(frozen=True)
class Cost:
    """Medians over the rounds."""

    writes_per_cpu_s: float
    """Host writes per second of processor time, with parity."""
    flash_ops_per_cpu_s: float
    """Flash operations per second of processor time in the same run."""
    share: float
    """Flash operations per second of processor time, relative to those without parity."""
    more_bytes_per_page: float


def cost(case: Case) -> Cost:
    """Compare `case` with and without parity; each run has its own process."""
    rounds = in_turn("ssdlab_lab.bench.parity", case.name, (str(GROUP), "0"))
    ratios = [parity.flash_ops_per_cpu_s / plain.flash_ops_per_cpu_s for parity, plain in rounds]
    extra = [parity.bytes_per_page - plain.bytes_per_page for parity, plain in rounds]
    return Cost(
        statistics.median(parity.writes_per_cpu_s for parity, _ in rounds),
        statistics.median(parity.flash_ops_per_cpu_s for parity, _ in rounds),
        statistics.median(ratios),
        statistics.median(extra),
    )


def _shortfalls(case: Case, result: Cost) -> Iterator[str]:
    if result.share < SHARE:
        yield f"{case.name}: {result.share:.3f} of the operations without parity, required {SHARE}"
    if result.writes_per_cpu_s < WRITES_PER_CPU_S:
        yield f"{case.name}: {result.writes_per_cpu_s:.0f} writes, required {WRITES_PER_CPU_S:.0f}"
    if result.more_bytes_per_page > MORE_BYTES:
        yield f"{case.name}: {result.more_bytes_per_page:.2f} B a page, allowed {MORE_BYTES}"


def main() -> int:
    """Measure, add to the history, print; 1 if something falls short."""
    parser = argparse.ArgumentParser(prog="python -m ssdlab_lab.bench.parity", description=__doc__)
    parser.add_argument("--history", type=Path, default=Path("bench/history.jsonl"))
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one is not None:
        name, group = options.one
        case = next(case for case in CASES_OF_PARITY if case.name == name)
        sys.stdout.write(measure(replace(case, group=int(group))).as_json() + "\n")
        return 0
    complaints: list[str] = []
    for case in CASES_OF_PARITY:
        result = cost(case)
        history.append(options.history, case.name, asdict(result))
        sys.stdout.write(
            f"{case.what}: {result.flash_ops_per_cpu_s / 1e6:.2f} M flash operations per second of"
            f" the processor, {result.share:.3f} of those without parity;"
            f" {result.writes_per_cpu_s / 1e6:.2f} M host writes;"
            f" {result.more_bytes_per_page:.2f} B a page more\n"
        )
        complaints += _shortfalls(case, result)
    for complaint in complaints:
        sys.stderr.write(complaint + "\n")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
