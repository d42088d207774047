"""Checkpoints: blocks beside those of the pools, and which pages a mount need not read."""

from __future__ import annotations

from collections import Counter
from typing import TypeAlias

from .inputs import OPS, Findings, Geometry, Op
from .power import Power

Block: TypeAlias = tuple[int, int, int, int]


class Checkpoints:
    """Operations of cause `metadata`, in order of start.

    A checkpoint is so many pages on each plane, which the mounts that read one tell. On a plane one
    operation follows the other, so the first is queued when the checkpoint begins.
    """

    def __init__(self, geometry: Geometry, power: Power, findings: Findings) -> None:
        """Start with erased blocks."""
        self.geometry, self.findings = geometry, findings
        reads = [mount.reads.get("checkpoint", Counter()) for mount in power.mounts]
        self.pages = max((max(read.values(), default=0) for read in reads), default=0)
        self.planes = geometry.channels * geometry.chips * geometry.planes
        self.filled: Counter[Block] = Counter()
        self.torn: set[Block] = set()
        self.begin = -1
        self.ends: list[int] = []
        self.whole: list[tuple[int, int]] = []
        """Begin and end of those that were written to their end."""

    def take(self, op: Op) -> None:
        """Account one operation."""
        block = (op.channel, op.chip, op.plane, op.block)
        place = f"{OPS}:{op.line}"
        if op.block < self.geometry.blocks:
            expected = f"a block from {self.geometry.blocks} on"
            self.findings.add("checkpoint", place, expected, op.block)
        if not self.ends and self.begin < 0:
            self.begin = op.queued
        self.begin = min(self.begin, op.queued)
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
        if not op.cut:
            self.ends.append(op.end)
        if self.pages and len(self.ends) == self.pages * self.planes:
            self.whole.append((self.begin, max(self.ends)))
            self.begin, self.ends = -1, []

    def cut(self) -> None:
        """Power is cut: what is being written does not count."""
        self.begin, self.ends = -1, []

    def last(self, now: int) -> int | None:
        """Return when the last one that was whole at `now` had begun."""
        begins = [begin for begin, end in self.whole if end <= now]
        return begins[-1] if begins else None
