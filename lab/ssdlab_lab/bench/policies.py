"""`python -m ssdlab_lab.bench.policies`: the cost of one call of a policy in Python.

The same run twice, with a policy of the core and with its twin in Python, which decides the same:
the difference in processor time, divided by the number of calls.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import ssdlab
from ssdlab.policy import (
    Concurrency,
    ConcurrencyView,
    DeviceInfo,
    Placement,
    Trigger,
    TriggerView,
    Victim,
    VictimView,
)

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

REPEATS, REQUESTS = 3, 800_000


class _Select(Victim):
    calls = 0

    def select(self, view: VictimView) -> int | None:
        self.calls += 1
        return int(view.blocks[view.valid.argmin()])


class _Score(Victim):
    calls = 0

    def score(self, view: VictimView) -> npt.NDArray[np.int64]:
        self.calls += 1
        return view.valid


class _Trigger(Trigger):
    watches_pages = False
    calls = 0

    def wants(self, view: TriggerView) -> bool:
        self.calls += 1
        return view.free_blocks <= 4


class _Concurrency(Concurrency):
    calls = 0

    def limit(self, view: ConcurrencyView) -> int:
        self.calls += 1
        return view.pools


class _Placement(Placement):
    calls = 0

    def start(self, device: DeviceInfo) -> None:
        self.order, self.next = device.striping, 0

    def place(self, lpn: int, loads: npt.NDArray[np.int64]) -> int:  # noqa: ARG002
        self.calls += 1
        plane = self.order[self.next]
        self.next = (self.next + 1) % len(self.order)
        return plane


@dataclass(frozen=True)
class _Case:
    what: str
    key: str
    core: object
    make: Callable[[], _Select | _Score | _Trigger | _Concurrency | _Placement]
    blocks: int = 256


TRIGGER = {"policy": "free-blocks", "soft": 4, "hard": 0}
CASES = [
    _Case("victim, select, 256 blocks a pool", "gc.victim", "greedy", _Select),
    _Case("victim, score, 256 blocks a pool", "gc.victim", "greedy", _Score),
    _Case("victim, select, 2048 blocks a pool", "gc.victim", "greedy", _Select, 2048),
    _Case("trigger, wants", "gc.trigger", TRIGGER, _Trigger),
    _Case("concurrency, limit", "gc.concurrency", "unlimited", _Concurrency),
    _Case("placement, place, 32 planes", "alloc.placement", "round-robin", _Placement),
]


def _run(case: _Case, policy: object) -> tuple[int, str | None]:
    """Processor time of the workload, ns, and the digest of its events."""
    settings: dict[str, object] = {
        "device.channels": 8 * 256 // case.blocks,
        "device.blocks_per_plane": case.blocks,
        "device.pages_per_block": 32,
        "precondition.fill": 0,
        "host.mode": "closed",
        "host.queue_depth": 64,
        "workload.read": 0,
        "workload.requests": REQUESTS,
        case.key: policy,
    }
    report = ssdlab.run(set=settings, progress=False)
    return report.time.cpu or 0, report.provenance.event_digest


def main() -> int:
    """Measure each case; 1 if a twin decides differently."""
    code = 0
    for case in CASES:
        costs, share = [], []
        for _ in range(REPEATS):
            policy = case.make()
            core_s, expected = _run(case, case.core)
            policy_s, digest = _run(case, policy)
            code |= digest != expected
            costs.append((policy_s - core_s) / max(policy.calls, 1) / 1e3)
            share.append(policy_s / core_s)
        sys.stdout.write(
            f"{case.what:<36} {policy.calls:>9,} questions  {statistics.median(costs):6.2f} us each"
            f"  run takes {statistics.median(share):.2f}x\n"
        )
    return code


if __name__ == "__main__":
    sys.exit(main())
