"""Checkpoints: blocks beside those of the pools, and which pages a mount need not read."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TypeAlias

from .inputs import OPS, Findings, Geometry, Op
from .power import Plane

Block: TypeAlias = tuple[int, int, int, int]


@dataclass
class Checkpoint:
    """One that was begun."""

    begin: int
    ends: dict[Plane, list[int]] = field(default_factory=dict)
    """When its programs ended, by plane."""

    def has(self, pages: Counter[Plane], now: int) -> bool:
        """Tell whether so many pages on each plane had been programmed at `now`."""
        pages_by_plane = {
            plane: sum(end <= now for end in ends) for plane, ends in self.ends.items()
        }
        return pages_by_plane == {plane: count for plane, count in pages.items() if count > 0}


class Checkpoints:
    """Operations of cause `metadata`, in order of start.

    On a plane one operation follows the other: erases, then programs from the first page of a block
    on. So the first is queued when a checkpoint begins, and the next one begins with an erase or in
    another block. How many pages it has only a mount tells that reads it.
    """

    def __init__(self, geometry: Geometry, findings: Findings) -> None:
        """Start with erased blocks."""
        self.geometry, self.findings = geometry, findings
        self.filled: Counter[Block] = Counter()
        self.torn: set[Block] = set()
        self.all: list[Checkpoint] = []
        self.firsts: list[int] = [0]
        """The first ones after a cut."""
        self.at: dict[Plane, int] = {}
        self.last_page: dict[Plane, tuple[int, int]] = {}

    def take(self, op: Op) -> None:
        """Account one operation."""
        block = (op.channel, op.chip, op.plane, op.block)
        plane = block[:3]
        place = f"{OPS}:{op.line}"
        if op.block < self.geometry.blocks:
            expected = f"a block from {self.geometry.blocks} on"
            self.findings.add("checkpoint", place, expected, op.block)
        checkpoint = self._of(op, plane)
        checkpoint.begin = min(checkpoint.begin, op.queued)
        if op.kind == "erase":
            self.filled[block] = 0
            self.torn.discard(block)
            if op.cut:
                self.torn.add(block)
            return
        if op.kind != "program" or op.page != self.filled[block] or block in self.torn:
            expected = f"a program of page {self.filled[block]}, or an erase"
            self.findings.add("checkpoint", place, expected, f"{op.kind} of page {op.page}")
        self.filled[block] = op.page + 1
        self.last_page[plane] = (op.block, op.page)
        if not op.cut:
            checkpoint.ends.setdefault(plane, []).append(op.end)

    def _of(self, op: Op, plane: Plane) -> Checkpoint:
        """Return the checkpoint to which an operation belongs."""
        previous = self.last_page.get(plane)
        is_next = previous in ((op.block, op.page - 1), (op.block - 1, self.geometry.pages - 1))
        if plane not in self.at:
            self.at[plane] = self.firsts[-1]
        elif previous is not None and not is_next:
            self.at[plane] += 1
            del self.last_page[plane]
        number = self.at[plane]
        while len(self.all) <= number:
            self.all.append(Checkpoint(op.queued))
        return self.all[number]

    def cut(self) -> None:
        """Power is cut: what is being written does not count, unless a mount has read it."""
        self.firsts.append(len(self.all))
        self.at.clear()
        self.last_page.clear()

    def last(self, now: int, pages: Counter[Plane]) -> list[int]:
        """Return when the last one of so many pages on each plane that was whole at `now` began.

        Several where the log leaves it open: one that is being written may have as many by then.
        """
        starts = []
        for number in range(len(self.all) - 1, -1, -1):
            checkpoint = self.all[number]
            if checkpoint.has(pages, now):
                starts.append(checkpoint.begin)
            if self._is_whole(number):
                break
        return starts

    def any_whole(self) -> bool:
        """Tell whether one was written to its end for certain."""
        return any(self._is_whole(number) for number in range(len(self.all)))

    def _is_whole(self, number: int) -> bool:
        """The next one begins when this one is whole, or after a cut."""
        return number + 1 < len(self.all) and number + 1 not in self.firsts
