"""Policies in Python that say the same as policies of the core."""

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from ssdlab.policy import (
    ClassView,
    Concurrency,
    ConcurrencyView,
    DeviceInfo,
    Placement,
    Separation,
    Trigger,
    TriggerView,
    Victim,
    VictimView,
)

Numbers = npt.NDArray[np.int64]


class GreedyBySelect(Victim):
    def select(self, view: VictimView) -> int | None:
        return int(view.blocks[view.valid.argmin()])


class GreedyByScore(Victim):
    def score(self, view: VictimView) -> Numbers:
        return view.valid


class Fifo(Victim):
    def score(self, view: VictimView) -> Numbers:
        return view.seal_order


class CostBenefit(Victim):
    """Exact, as the head of `cost_benefit.rs` says, by the age since the seal."""

    def ages(self, view: VictimView) -> Numbers:
        return view.since_seal

    def select(self, view: VictimView) -> int | None:
        columns = (view.valid, view.invalid, self.ages(view), view.seal_order, view.blocks)

        def rank(row: tuple[int, ...]) -> tuple[bool, Fraction, int, int, int]:
            valid, invalid, age, order, block = row
            return valid > 0, -Fraction(invalid * age, max(valid, 1)), valid, order, block

        rows: list[tuple[int, ...]] = list(zip(*(c.tolist() for c in columns), strict=True))
        return min(rows, key=rank)[-1]


class CostBenefitByInvalidation(CostBenefit):
    def ages(self, view: VictimView) -> Numbers:
        return view.since_invalidation


class InvalidationRate(Victim):
    """Equation 1 of the paper of 2023, exact: listed from 70 %, fully invalid blocks first."""

    def select(self, view: VictimView) -> int | None:
        columns = (view.invalid, view.first_invalid_ns, view.newest_invalid_ns, view.blocks)

        def rank(row: tuple[int, ...]) -> tuple[bool, bool, Fraction, int]:
            invalid, first, newest, block = row
            infinite = invalid > 1 and newest == first
            rate = Fraction(0) if infinite else Fraction(invalid - 1, max(newest - first, 1))
            return invalid < view.pages_per_block, infinite, rate, block

        rows: list[tuple[int, ...]] = list(zip(*(c.tolist() for c in columns), strict=True))
        candidates = [row for row in rows if row[0] * 10 >= view.pages_per_block * 7]
        return min(candidates, key=rank)[-1] if candidates else None


class FreeBlocks(Trigger):
    watches_pages = False

    def __init__(self, soft: int, hard: int = 0) -> None:
        self.soft, self.hard = soft, hard

    def wants(self, view: TriggerView) -> bool:
        return view.free_blocks <= self.soft

    def urgent(self, view: TriggerView) -> bool:
        return view.free_blocks <= self.hard


class UsedSpace(Trigger):
    watches_device = True

    def wants(self, view: TriggerView) -> bool:
        return view.used_pages * 10 >= view.pages * 9


class Idle(Trigger):
    idle_after_ns = 2_000_000

    def wants(self, view: TriggerView) -> bool:
        return view.idle_ns is not None and view.idle_ns >= 2_000_000


class Fixed(Concurrency):
    def __init__(self, k: int) -> None:
        self.k = k

    def limit(self, view: ConcurrencyView) -> int:
        assert view.pools > 0
        return self.k


class RoundRobin(Placement):
    def start(self, device: DeviceInfo) -> None:
        self.order, self.next = device.striping, 0

    def place(self, lpn: int, loads: Numbers) -> int:
        assert lpn >= 0
        assert len(loads) == len(self.order)
        plane = self.order[self.next]
        self.next = (self.next + 1) % len(self.order)
        return plane


class LeastBusy(Placement):
    """The least loaded plane, in striping order from the one after the last."""

    def start(self, device: DeviceInfo) -> None:
        self.order, self.next = device.striping, 0

    def place(self, lpn: int, loads: Numbers) -> int:
        assert lpn >= 0
        n = len(self.order)
        index = min(
            ((self.next + i) % n for i in range(n)), key=lambda index: loads[self.order[index]]
        )
        self.next = (index + 1) % n
        return self.order[index]


class Dac(Separation):
    """A page goes up a class when it is overwritten, and down one when it is copied."""

    classes = 6

    def start(self, device: DeviceInfo) -> None:
        self.of = [-1] * device.logical_pages

    def of_write(
        self,
        lpn: int,
        stream: int,
        pages: int,
        replaces: int | None,
        age: int | None,
        clock: int,
    ) -> int:
        assert stream == 0
        assert replaces is None or replaces < self.classes
        assert pages > 0
        assert age is None or age <= clock
        self.of[lpn] = min(self.of[lpn] + 1, self.classes - 1)
        return self.of[lpn]

    def of_copy(self, lpn: int, cls: int | None, clock: int) -> int:
        assert cls is None or cls < self.classes
        assert clock > 0
        self.of[lpn] = max(self.of[lpn] - 1, 0)
        return self.of[lpn]


class KeptDac(Dac):
    """The same, which a snapshot keeps."""

    def save(self) -> bytes:
        return bytes(region + 1 for region in self.of)

    def load(self, state: bytes) -> None:
        self.of = [region - 1 for region in state]


class HostFirst(Separation):
    """Pages of the host are in the first class; copies go to the next one."""

    host_classes = 1

    def of_write(
        self,
        lpn: int,
        stream: int,
        pages: int,
        replaces: int | None,
        age: int | None,
        clock: int,
    ) -> int:
        assert lpn >= stream == 0
        assert pages > 0
        assert replaces is None or replaces < self.classes
        assert age is None or age <= clock
        return 0

    def of_copy(self, lpn: int, cls: int | None, clock: int) -> int:
        assert lpn >= 0
        assert clock > 0
        last = self.classes - 1
        return last if cls is None else min(cls + 1, last)


class HostAndCopies(HostFirst):
    """Pages of the host, and copies: one of the two regions is cleaned until a block is gained."""

    classes = 2

    def start(self, device: DeviceInfo) -> None:
        self.pages, self.region, self.wanted = device.pages_per_block, 0, 0

    def on_collect(self, cls: int, valid: int, opened: int, clock: int) -> None:
        assert cls < self.classes
        assert opened <= clock
        self.wanted = max((self.wanted or self.pages) - (self.pages - valid), 0)

    def victim_among(self, pool: int, classes: list[ClassView]) -> int | None:
        assert pool >= 0
        has_few = [class_.invalid < self.pages for class_ in classes]
        least_valid = [class_.least_valid if class_.sealed else 2**32 for class_ in classes]
        if self.wanted == 0 or has_few[self.region]:
            is_better = not any(has_few) and least_valid[1] <= least_valid[0]
            self.region = int(is_better or (has_few[0] and not has_few[1]))
        return self.region if classes[self.region].sealed else None


class Chain(HostFirst):
    """Host pages and two groups of copies; the first two are queues of two blocks in each pool."""

    classes = 3

    def victim_among(self, pool: int, classes: list[ClassView]) -> int | tuple[str, int] | None:
        assert pool >= 0
        large = [cls for cls in (0, 1) if classes[cls].sealed > 2]
        return ("oldest", large[0]) if large else 2


class SepBit(Separation):
    """Short-lived and other writes, copies by their age."""

    classes, host_classes = 6, 2

    def start(self, device: DeviceInfo) -> None:
        self.pages, self.last = device.user_pages, dict[int, int]()
        self.lifespan: float = float("inf")
        self.lives, self.queue = list[int](), 0.0

    def of_write(
        self,
        lpn: int,
        stream: int,
        pages: int,
        replaces: int | None,
        age: int | None,
        clock: int,
    ) -> int:
        assert replaces is None or 0 <= replaces < self.classes
        assert stream == 0
        assert pages > 0
        assert age is None or age <= clock
        elapsed = clock - self.last.get(lpn, -(10**12))
        short = elapsed < min(self.lifespan, self.queue)
        self.last[lpn] = clock
        self.queue += 1
        self.queue -= min(max(self.queue - min(self.lifespan, self.pages), 0), 2)
        return 0 if short else 1

    def of_copy(self, lpn: int, cls: int | None, clock: int) -> int:
        if cls == 0:
            return 2
        age = clock - self.last[lpn] if lpn in self.last else float("inf")
        return 3 if age < 4 * self.lifespan else 4 if age < 16 * self.lifespan else 5

    def on_collect(self, cls: int, valid: int, opened: int, clock: int) -> None:
        assert valid >= 0
        if cls != 0:
            return
        self.lives.append(clock - opened)
        if len(self.lives) == 16:
            self.lifespan = sum(self.lives) // 16
            self.lives.clear()
