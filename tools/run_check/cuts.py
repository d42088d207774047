"""What power cuts leave on flash, and what the mounts after them read and erase."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from .checkpoints import Checkpoints
from .durable import DurableWrites
from .inputs import POWER, Findings, Op, Report
from .owners_cuts import OwnersUnderCuts
from .page_types import PageTypes
from .power import Mount, Plane, Power

if TYPE_CHECKING:
    from .flash import Flash

LATE = 2**62
"""The end of a program that has not ended."""


class Cuts:
    """The cuts of a run, taken one by one as the operations come to them."""

    def __init__(self, flash: Flash, report: Report, power: Power, findings: Findings) -> None:
        """Start before the first of them."""
        self.flash, self.power, self.findings = flash, power, findings
        self.geometry = flash.geometry
        self.checkpoints = Checkpoints(flash.geometry, findings)
        self.durable = DurableWrites(flash.requests, report, power, findings)
        self.left = list(reversed(power.mounts))
        self.mounted_at = 0
        self.torn: set[int] = set()
        self.half_erased: set[int] = set()
        self.ended_at = array("q", [-1]) * len(flash.lpn_of)
        self.erased_at = array("q", [-1]) * len(flash.filled)
        # By LPN and admission number: a mount may choose either of a copy and its source.
        self.places: dict[tuple[int, int], set[int]] = {}
        for address, lpn in enumerate(flash.lpn_of):
            self.put(lpn, flash.sequence_of[address], address)
        self.types = PageTypes(report)
        superblocks = report.get("config.alloc.erase_unit") == "superblock"
        # Members of a superblock are closed together, and bad blocks are not read.
        # With parity groups a mount ends with a checkpoint that is in no log.
        self.groups = bool(report.number("config.raid.group"))
        # Trims of groups take long enough for a cut to meet them.
        flash.requests.cuts = power.cuts if self.groups else []
        bad_blocks = report.number("config.wear.factory_bad_blocks")
        self.counts_reads = not superblocks and not bad_blocks and not self.groups

    def put(self, lpn: int, sequence: int, address: int) -> None:
        """A page holds these data."""
        if lpn >= 0:
            self.places.setdefault((lpn, sequence), set()).add(address)

    def lose(self, addresses: range) -> None:
        """Their chip has failed."""
        for places in self.places.values():
            places.difference_update([place for place in places if place in addresses])

    def holds(self, lpn: int, sequence: int) -> bool:
        """Tell whether a page holds these data of `lpn`, or newer ones."""
        return any(
            bool(places)
            for (page, number), places in self.places.items()
            if page == lpn and number >= sequence
        )

    def other(self, lpn: int, sequence: int, address: int) -> int:
        """Return another page with the data of `address`, which is erased; -1: there is none."""
        addresses = self.places.get((lpn, sequence), set())
        addresses.discard(address)
        return next(iter(addresses), -1)

    def heed(self, op: Op) -> None:
        """Take the cuts before `op`."""
        while self.left and self.left[-1].cut + op.cut <= (op.end if op.cut else op.start):
            self.take(self.left.pop())

    def program(self, op: Op, address: int) -> None:
        """Note when a program ends, if it does."""
        self.ended_at[address] = LATE if op.cut else op.end
        (self.torn.add if op.cut else self.torn.discard)(address)
        self._whole(op, address // self.geometry.pages)

    def read(self, op: Op, address: int) -> bool:
        """Tell whether a page that is read holds data."""
        self._whole(op, address // self.geometry.pages)
        if address not in self.torn and op.start >= self.ended_at[address]:
            return True
        self.findings.add("torn-read", op.place, "a page that was programmed", f"page {op.page}")
        return False

    def erase(self, op: Op, block: int) -> None:
        """Note the erase of a block, which may be cut off."""
        if op.cause == "mount":
            self.half_erased.discard(block)
        else:
            self._whole(op, block)
        self.erased_at[block] = op.end
        if op.cut:
            self.half_erased.add(block)
        first = block * self.geometry.pages
        self.torn.difference_update(range(first, first + self.geometry.pages))

    def _whole(self, op: Op, block: int) -> None:
        if block in self.half_erased:
            expected = f"block {op.block} erased again by the mount first"
            self.findings.add("interrupted-erase", op.place, expected, f"a {op.kind}")

    def take(self, mount: Mount) -> None:
        """Power is cut, and the device mounts."""
        flash = self.flash
        flash.heed_failures(mount.cut)
        flash.commit_all(mount.cut)
        if self.groups:
            flash.parity.cut(mount.cut)
        if flash.owners is None:
            self.durable.check(mount, flash)
        elif isinstance(flash.owners, OwnersUnderCuts):
            flash.owners.cut(mount, self.durable)
        if self.counts_reads and mount.end >= 0:
            self._compare_reads(mount)
        self._compare_types(mount)
        self.checkpoints.cut()
        flash.history.lose_power(mount.cut)
        for op in mount.erases:
            block = self.geometry.block_number(op.channel, op.chip, op.plane, op.block)
            flash.erase(op, block)
            flash.history.erase(op, block)
        if mount.end >= 0:
            for block in sorted(self.half_erased):
                expected = f"block {block} of the device erased again"
                self.findings.add("interrupted-erase", f"{POWER}:{mount.line}", expected, "none")
                self.half_erased.discard(block)
        self._close(mount.cut)
        flash.lose_copies()
        self.mounted_at = max(mount.end, mount.cut)

    def _close(self, now: int) -> None:
        """Blocks that were open are closed: nothing is programmed into them before an erase."""
        pages = self.geometry.pages
        for block, filled_pages in enumerate(self.flash.filled):
            if filled_pages == 0:
                continue
            self.flash.filled[block] = pages
            for address in range(block * pages, (block + 1) * pages):
                if address % pages >= filled_pages or self.ended_at[address] == LATE:
                    self.ended_at[address] = now
                    self.flash.lpn_of[address] = -1

    def _compare_reads(self, mount: Mount) -> None:
        """Of each block all programmed pages and one more; of covered ones the first and later."""
        pages = mount.reads.get("checkpoint")
        starts: list[int | None] = [None]
        if pages is not None:
            # If it has read none of the log, the one that the run starts with.
            starts = list(self.checkpoints.last(mount.cut, pages)) or [0]
        if starts in ([None], [0]) and self.checkpoints.any_whole():
            found_pages = "none" if pages is None else sum(pages.values())
            expected = "the pages of the last whole checkpoint"
            self.findings.add("mount-reads", f"{POWER}:{mount.line}", expected, found_pages)
            return
        bounds = [self._bounds_of(start) for start in starts]
        scanned, types = mount.reads.get("scan", Counter()), mount.types.get("scan", {})
        for plane in bounds[0]:
            lows = [min(each) for each in zip(*(bound[plane][0] for bound in bounds), strict=True)]
            highs = [max(each) for each in zip(*(bound[plane][1] for bound in bounds), strict=True)]
            # Older logs do not say of which types the pages are.
            actual = [scanned[plane], *types.get(plane, [])]
            for what, low, high, count in zip(self._names(), lows, highs, actual, strict=False):
                if not low <= count <= high:
                    expected = f"{low} to {high} {what} read of plane {plane}"
                    self.findings.add("mount-reads", f"{POWER}:{mount.line}", expected, count)

    def _names(self) -> list[str]:
        return ["pages", *(f"pages of type {kind}" for kind in range(self.types.bits))]

    def _compare_types(self, mount: Mount) -> None:
        """The pages of a checkpoint are the first ones of blocks."""
        for plane, types in mount.types.get("checkpoint", {}).items():
            expected = self.types.of_first(sum(types), self.geometry.pages)
            if types != expected:
                place = f"{POWER}:{mount.line}"
                self.findings.add("mount-types", place, f"{expected} on plane {plane}", types)

    def _bounds_of(self, start: int | None) -> dict[Plane, tuple[list[int], list[int]]]:
        """Return the least and most pages read of every plane: of all types, and of each."""
        bounds: dict[Plane, tuple[list[int], list[int]]] = {}
        geometry, block = self.geometry, 0
        for channel in range(geometry.channels):
            for chip in range(geometry.chips):
                for plane in range(geometry.planes):
                    low, high = ([0] * (1 + self.types.bits) for _ in range(2))
                    for inner in range(geometry.blocks):
                        for kind, counts in enumerate(self._reads_of(block + inner, start)):
                            low[kind] += min(counts)
                            high[kind] += max(counts)
                    bounds[channel, chip, plane] = (low, high)
                    block += geometry.blocks
        return bounds

    def _reads_of(self, block: int, start: int | None) -> list[set[int]]:
        """Return what the pages read of a block may be: how many, and how many of each type.

        Of one instant the order is unknown.
        """
        pages, filled_pages = self.geometry.pages, self.flash.filled[block]
        if block in self.half_erased:
            return self._counts([[0]])
        reads = min(filled_pages + 1, pages)
        if start is None or self.erased_at[block] > start:
            return self._counts([range(reads)])
        first = block * pages
        ends = self.ended_at[first : first + filled_pages]
        offsets = [
            next((i for i, end in enumerate(ends) if end > start - tolerance), filled_pages)
            for tolerance in (0, 1)
        ]
        # Where the checkpoint covers pages, the first of them is read as well.
        return self._counts([[*range(min(n, 1)), *range(n, reads)] for n in offsets])

    def _counts(self, alternatives: list[Sequence[int]]) -> list[set[int]]:
        """Return how many pages each alternative has, and how many of each type."""
        rows = [(len(pages), *self.types.counts(pages)) for pages in alternatives]
        return [set(column) for column in zip(*rows, strict=True)]

    def finish(self, end: int) -> None:
        """Take the cuts after the last operation."""
        while self.left:
            self.take(self.left.pop())
        self.flash.commit_all(end)
