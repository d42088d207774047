"""Write amplification of parity groups under random pages, and the groups that writes touch.

Every chip is a pool. Parity rotates over the chips, so one in g of the live pages of a chip holds
parity, and each update programs one page of data and one of parity: parity is hot data, a share
r = 1/g of the pages with a fraction f = 1/2 of the writes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ssdlab_lab.oracles import fifo_hot_cold

from .check import Check, Line, Result, Run, Settings, estimated
from .one_pool import PAGE_BYTES, OnePool, check_policy_chose

TOPIC = "Parity groups"
BOUND = 0.01
WARMUP, MEASURED = 10, 5
"""Host writes in multiples of the host's pages."""
SEEDS = (1, 2, 3, 4)
BLOCKS = 600


def checks() -> Iterator[Check]:
    """Yield the checks of the full page."""
    for group in (4, 8):
        yield from _touched(OnePool(BLOCKS, 32, 0.28, "host+gc"), group)
        for spare in (0.07, 0.15, 0.28):
            yield from _single_pages(OnePool(BLOCKS, 32, spare, "host+gc"), group, SEEDS)


def quick_checks() -> Iterator[Check]:
    """Yield those of `--quick`."""
    chip = OnePool(300, 16, 0.28, "host+gc")
    yield from _touched(chip, 4)
    yield from _single_pages(chip, 4, SEEDS[:1])


@dataclass(frozen=True)
class Groups:
    """A device as wide as one parity group, of chips like `chip`: a page of each in every group."""

    chips: int
    chip: OnePool

    @property
    def user(self) -> int:
        """Pages of the host."""
        return self.chip.user * (self.chips - 1)

    def writes(self, pages: int) -> Settings:
        """Return a run of uniform writes of `pages` pages each, aligned to their size."""
        return {
            **self.chip.settings(),
            "device.channels": self.chips,
            "device.user_capacity": f"{self.user * PAGE_BYTES} B",
            "raid.group": self.chips,
            "workload.size": f"{pages * PAGE_BYTES} B",
            "workload.warmup_requests": WARMUP * self.user // pages,
            "workload.requests": (WARMUP + MEASURED) * self.user // pages,
        }

    def runs(self, pages: int, seeds: Sequence[int]) -> tuple[Run, ...]:
        """Return one run for each seed."""
        devices = [replace(self, chip=replace(self.chip, seed=seed)) for seed in seeds]
        return tuple(Run(device.writes(pages)) for device in devices)

    def __str__(self) -> str:
        chip = self.chip
        return f"{chip.victim}, g = {self.chips}, b = {chip.pages}, OP {chip.over_provisioning:.0%}"


def _touched(chip: OnePool, group: int) -> Iterator[Check]:
    """Yield the groups that writes touch, if their first pages are uniform over the device."""
    device, data = Groups(group, chip), group - 1
    for pages in (data, data + 3):

        def judge(results: Sequence[Result], pages: int = pages) -> list[Line]:
            raid = results[0].report["raid"]
            updates = raid["rmw"] + raid["rcw"] + raid["full"]
            label = f"groups that a write of {pages} pages touches, g = {group}"
            groups = updates / (MEASURED * device.user // pages)
            return [Line(label, (pages + data - 1) / data, groups, BOUND)]

        yield Check(TOPIC, device.runs(pages, SEEDS[:1]), judge)


def _single_pages(chip: OnePool, group: int, seeds: Sequence[int]) -> Iterator[Check]:
    formula = fifo_hot_cold(chip.rho, 1 / group, 0.5)
    yield _single(Groups(group, replace(chip, victim="fifo")), formula, seeds)
    yield _beside_hot_cold(Groups(group, chip), seeds)


def _single(device: Groups, chip_amplification: float, seeds: Sequence[int]) -> Check:
    def judge(results: Sequence[Result]) -> list[Line]:
        check_policy_chose(results)
        values = [result.amplification for result in results]
        return [estimated(f"single pages, {device}", 2 * chip_amplification, values, BOUND)]

    return Check(TOPIC, device.runs(1, seeds), judge)


def _beside_hot_cold(device: Groups, seeds: Sequence[int]) -> Check:
    """Return the same without a known form, compared with a chip with hot data and no parity."""
    split = {"hot_space": 1 / device.chips, "hot_access": 0.5}
    # How often all pages of data are overwritten once: 2 U writes of a chip, half of them parity.
    warmup, measured = WARMUP * 2.0, MEASURED * 2.0
    chips = [replace(device.chip, seed=seed) for seed in seeds]
    reference_runs = tuple(
        Run(chip.workload("hot-cold", warmup, measured, **split)) for chip in chips
    )

    def judge(results: Sequence[Result]) -> list[Line]:
        check_policy_chose(results)
        groups, chips = results[: len(seeds)], results[len(seeds) :]
        expected = 2 * sum(result.amplification for result in chips) / len(chips)
        values = [result.amplification for result in groups]
        return [estimated(f"single pages, {device}", expected, values, BOUND)]

    return Check(TOPIC, device.runs(1, seeds) + reference_runs, judge)
