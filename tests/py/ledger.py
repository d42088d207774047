"""What a drive has promised to keep: a record of its requests, and which data it may hold.

It knows nothing of simulators and file systems. It hears when a request is on its way to the drive
and when the answer has come, and it numbers these moments. A change of data comes *before* another
one if its answer had come when the other one was sent, or if the same client sent it first. A
change is *kept* if its answer promised that, or if it had been answered when a flush was sent that
has been answered, too. A block may hold what was ever written to it, but nothing that came before a
change that is kept.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

UNIT = 512
"""Bytes of a block, of which the ledger knows the data."""
ZERO = hash(bytes(UNIT))


@dataclass(eq=False, slots=True)
class Change:
    """A request that changes data."""

    line: int
    """The connection."""
    begun: int
    blocks: range
    ended: int | None = None

    def precedes(self, other: Change) -> bool:
        """Whether it comes before another one, whatever the drive does."""
        if self.line == other.line:
            return self.begun < other.begun
        return self.ended is not None and self.ended < other.begun


BEFORE = Change(0, 0, range(0), 0)
"""All that was before the first request, or before the drive was looked at last."""

Versions = list[tuple[Change, int]]
"""What a block may hold: changes, as they were sent, with the digests of their data."""


def digests(data: bytes) -> list[int]:
    """The digests of the blocks of `data`."""
    return [hash(data[offset : offset + UNIT]) for offset in range(0, len(data), UNIT)]


@dataclass
class Ledger:
    """The requests of a drive, which was all zeros in the beginning."""

    page: int
    """Bytes of a page: a TRIM takes whole ones, and a change of a page is kept as a whole."""
    is_volatile: bool
    """A write without FUA may be lost until a flush."""
    time: int = 0
    changes: int = 0
    flushes: int = 0
    blocks: dict[int, Versions] = field(default_factory=dict)
    """By number; blocks that are not here hold zeros."""
    answered: list[Change] = field(default_factory=list)
    """Changes that are answered and not kept."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def tick(self) -> int:
        """The number of this moment."""
        self.time += 1
        return self.time

    def begin(self, line: int, offset: int, data: list[int]) -> Change:
        """Data with these digests are on their way to the drive."""
        assert offset % UNIT == 0, "a part of a block"
        first = offset // UNIT
        change = Change(line, self.tick(), range(first, first + len(data)))
        for block, digest in zip(change.blocks, data, strict=True):
            self.blocks.setdefault(block, [(BEFORE, ZERO)]).append((change, digest))
        self.changes += 1
        return change

    def begin_trim(self, line: int, offset: int, length: int) -> Change:
        """A TRIM is on its way, which takes the pages that it covers."""
        first, end = -(-offset // self.page), (offset + length) // self.page
        pages = max(end - first, 0)
        return self.begin(line, first * self.page, [ZERO] * (pages * self.page // UNIT))

    def end(self, change: Change, *, is_durable: bool) -> None:
        """It is answered; `is_durable`: with FUA, or because a TRIM always does."""
        change.ended = self.tick()
        if is_durable or not self.is_volatile:
            self.keep(change)
        else:
            self.answered.append(change)

    def end_flush(self, start: int) -> None:
        """The flush that was sent at the moment `start` is answered."""
        self.tick()
        self.flushes += 1
        waiting, self.answered = self.answered, []
        for change in waiting:
            assert change.ended is not None
            if change.ended < start:
                self.keep(change)
            else:
                self.answered.append(change)

    def keep(self, change: Change) -> None:
        """It is kept: forget what came before."""
        for block in change.blocks:
            versions = self.blocks[block]
            if len(versions) > 1:
                versions[:] = [version for version in versions if not version[0].precedes(change)]

    def check_read(self, start: int, offset: int, digests_read: list[int]) -> None:
        """Data that were read while nothing changed them are the newest."""
        for block, digest in enumerate(digests_read, offset // UNIT):
            versions = self.blocks.get(block, [(BEFORE, ZERO)])
            if any(change.ended is None or change.ended >= start for change, _ in versions):
                continue
            newest = [
                version_digest
                for change, version_digest in versions
                if not any(change.precedes(other) for other, _ in versions)
            ]
            assert digest in newest, f"block {block} was read: {self.told(block, digest)}"

    def check(self, offset: int, data: bytes) -> None:
        """The drive, which nobody uses, holds these data: whether it may, and then it does."""
        digests_read = digests(data)
        pages: dict[int, list[int]] = {}
        for block, digest in enumerate(digests_read, offset // UNIT):
            versions = self.blocks.get(block, [(BEFORE, ZERO)])
            assert any(digest == version_digest for _, version_digest in versions), self.told(
                block, digest
            )
            if len(versions) > 1:
                pages.setdefault(block * UNIT // self.page, []).append(block)
        digest_of_block = dict(enumerate(digests_read, offset // UNIT))
        for blocks in pages.values():
            self.check_page({block: digest_of_block[block] for block in blocks})
        for block, digest in digest_of_block.items():
            if block in self.blocks:
                self.blocks[block] = [(BEFORE, digest)]
        # Nothing is under way any more.
        self.answered.clear()

    def check_page(self, digest_of_block: dict[int, int]) -> None:
        """Whether the blocks of a page, with what they hold, are all as old as the newest one."""
        certain = set()
        for block, digest in digest_of_block.items():
            candidates = [
                change for change, version_digest in self.blocks[block] if version_digest == digest
            ]
            if len(candidates) == 1:
                certain.add(candidates[0])
        for block, digest in digest_of_block.items():
            versions = self.blocks[block]
            possible = [
                change
                for change, _ in versions
                if any(change is other or change.precedes(other) for other in certain)
            ]
            fits = any(
                version_digest == digest and not any(map(change.precedes, possible))
                for change, version_digest in versions
            )
            assert fits, f"a part of the page is newer: {self.told(block, digest)}"

    def told(self, block: int, digest: int) -> str:
        """What a block holds that it may not hold."""
        versions = self.blocks.get(block, [(BEFORE, ZERO)])
        lines = [
            f"  {version_digest:x} {'(zeros)' if version_digest == ZERO else ''} {c}"
            for c, version_digest in versions
        ]
        content = "zeros" if digest == ZERO else f"{digest:x}"
        return "\n".join(
            [f"block {block} (byte {block * UNIT}) holds {content} at {self.time}; of:", *lines]
        )
