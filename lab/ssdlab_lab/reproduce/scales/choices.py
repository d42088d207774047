"""What is run to compare predictions of small trials with drives at full size.

Fixed before any run at full size was made:

- Drives: that of `ssdlab try`, and all named ones.
- Full size: a whole pool of the drive, with all its superblocks, planes and pages. Pools do not
  share pages, and write amplification does not depend on their number (`test_scale.py`).
- Footprints: 64 MiB, 512 MiB and 8 GiB. For each, the trials of `try`: erase units as in the drive,
  in one pool and in two, and the prediction that follows from both. A trial in one pool is run with
  three seeds, one in two pools and the pool at full size with one.
- Policies: those of `try`.
- Lengths: a fill, a random overwrite, then the load: at least twice the pages before the
  measurement, and once in it. (`try` itself takes twice as long. It is the same length on both
  sides that matters here, and it halves the runs at full size.)
- Uniform, 80/20 and 95/5: single pages, by the generators.
- Zipf 0.99: ranks over the pages of the pool at full size. A page of a smaller footprint stands for
  as many successive ranks as the footprint is smaller. Pages are shuffled.
- Recorded traces: the first third of mysql and of sqlite, whose writes come to 3 and 4 times the
  pages that they touch, and all of varmail. For a footprint of r times the pages that a trace
  touches, its page i becomes the pages from floor(i r) to floor((i + 1) r): with more pages its
  requests grow, with fewer a page in 1 / r is left. Each is run in both orders of updates.
- Order: a run at full size is followed by its predictions, so that every hour adds comparisons, and
  an interrupted study has the same cells of many drives. `FIRST_LOADS` and `FIRST_POLICIES` are run
  on all drives before the others on any of them: two skewed loads and one with recorded bursts,
  where small trials are most likely to be wrong (uniform writes are the easiest to predict), and
  the policies with and without ages and separation. Drives with another kind of pool come first:
  those of hynix-pe8110 and samsung-pm9a3 have nearly the superblocks and the spare of tlc-960gb.
  The order says nothing of what is run in the end, and was fixed when tlc-960gb had no predictions
  of 8 GiB, and the other drives had no run at full size.
- A prediction holds if it is within 2 % of full size, or if its interval contains full size. The
  winner holds if it is that of full size, or if there is none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from ssdlab.config.resolve import drive_presets, load_config
from ssdlab.running import trial_plan

NAME, TITLE = "scale", "Predictions beside drives at full size"
POLICIES: Mapping[str, Mapping[str, object]] = trial_plan.POLICIES
FOOTPRINTS = {"64 MiB": 1 << 14, "512 MiB": 1 << 17, "8 GiB": 1 << 21}
"""Pages of 4 KiB."""
QUICK_FOOTPRINTS = ("64 MiB",)
FULL = "full size"
QUICK_SHARE = 48
"""The divisor of the pages of a block in the pool that represents full size in quick runs."""
SEEDS = (1, 2, 3)
BEFORE, MEASURED = 2, 1
"""How often as many pages are written as there are, before and in the measurement."""
CLOSE = 0.02
"""Error of a prediction that holds whatever its interval."""

THETA = 0.99
SYNTHETIC: dict[str, Mapping[str, object]] = {
    "uniform": {"workload.kind": "uniform"},
    "80/20": {
        "workload.kind": "hot-cold",
        "workload.hot_space": 0.2,
        "workload.hot_access": 0.8,
    },
    "95/5": {
        "workload.kind": "hot-cold",
        "workload.hot_space": 0.05,
        "workload.hot_access": 0.95,
    },
    "Zipf 0.99": {"workload.kind": "zipf", "workload.theta": THETA},
}
ZIPF = "Zipf 0.99"
TRACES = Path("traces")
SHARES = {"mysql": 1 / 3, "varmail": 1.0, "sqlite": 1 / 3}
"""Recorded traces, and the share of their requests that is run."""


def recording(name: str) -> Path:
    """The file of a recorded trace."""
    return TRACES / f"{name}.trace.zst"


class Load(NamedTuple):
    """What the host writes."""

    name: str
    phases: str
    """The order of updates; empty for synthetic loads."""

    @property
    def title(self) -> str:
        """What it is called."""
        return f"{self.name}, {self.phases}" if self.phases else self.name


LOADS = (
    *(Load(name, "") for name in SYNTHETIC),
    *(Load(name, phases) for name in SHARES for phases in ("recorded", "independent")),
)


FIRST_LOADS = ("95/5", "Zipf 0.99", "mysql, recorded")
FIRST_POLICIES = ("greedy", "cost-benefit", "greedy + sepbit", "cost-benefit + fadac")
"""The cells that are run on all drives before the others."""
KINDS = (
    "tlc-960gb",
    "drive:micron-7450-pro-960",
    "drive:kioxia-cm7-r-3.84t",
    "drive:solidigm-p5520-1.92t",
    "drive:micron-7450-max-800",
)
"""A drive of each kind of pool: number and pages of superblocks, and spare."""


class Place(NamedTuple):
    """Where a number comes from."""

    drive: str
    load: Load
    size: str
    """A footprint, or `FULL`."""
    policy: str
    pools: int
    seed: int


@cache
def drives() -> tuple[str, ...]:
    """The presets of all drives without an SLC cache."""
    return tuple(name for name in drive_presets() if "slc" not in load_config(name).values)


def sizes(quick: bool) -> tuple[str, ...]:
    """All footprints."""
    return QUICK_FOOTPRINTS if quick else tuple(FOOTPRINTS)


def places(quick: bool) -> tuple[Place, ...]:
    """All runs, in the order of execution."""
    names = dict.fromkeys((*KINDS, *drives()))
    first = [load for load in LOADS if load.title in FIRST_LOADS]
    cases = dict.fromkeys(
        (drive, load, policy)
        for loads, policies in ((first, FIRST_POLICIES), (LOADS, POLICIES))
        for drive in names
        for load in loads
        for policy in policies
    )
    return tuple(place for case in cases for place in _places(*case, sizes(quick)))


def _places(drive: str, load: Load, policy: str, sizes: tuple[str, ...]) -> Iterator[Place]:
    """The run at full size, and its predictions."""
    yield Place(drive, load, FULL, policy, 1, SEEDS[0])
    for size in sizes:
        for pools, seeds in ((1, SEEDS), (2, SEEDS[:1])):
            yield from (Place(drive, load, size, policy, pools, seed) for seed in seeds)
