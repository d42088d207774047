"""Types of pages: the array times of a page, by its block and its place on its word line."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable

from .inputs import Op, Report
from .slc import SlcBlocks


class PageTypes:
    """Array times of reads and programs, ns."""

    def __init__(self, report: Report) -> None:
        """Take them from the resolved config, where they may be absent."""
        self.bits = report.whole("config.device.bits", 1)
        self.word_line = report.whole("config.device.word_line", 1)
        self.times: dict[str, list[int]] = {}
        for kind in ("read", "program"):
            times = report.get(f"config.timing.{kind}_types_ns")
            if not times:
                times = [report.whole(f"config.timing.{kind}_ns", 0)] * self.bits
            self.times[kind] = [int(time) for time in times]
        self.slc: SlcBlocks | None = None
        """The SLC blocks, once the log has been scanned."""
        self.slc_times = {
            kind: report.whole(f"config.slc.{kind}_ns", 0) for kind in ("read", "program")
        }
        self.factor = report.number("config.controller.retry_factor") or 1.0

    def type_of(self, page: int) -> int:
        """Return the type of page `page` of a block, from 0."""
        return page % self.word_line * self.bits // self.word_line

    def counts(self, pages: Iterable[int]) -> list[int]:
        """Return how many of these pages of a block are of each type."""
        types = Counter(self.type_of(page) for page in pages)
        return [types[kind] for kind in range(self.bits)]

    def of_first(self, count: int, pages: int) -> list[int]:
        """Return how many of the first `count` pages are of each type; blocks have `pages`."""
        return self.counts(page % pages for page in range(count))

    def array_ns(self, op: Op) -> int:
        """Return how long the array works for a read without retries, or a program."""
        if self.slc is not None and self.slc.is_slc(op):
            return self.slc_times[op.kind]
        return self.times[op.kind][self.type_of(op.page)]

    def retry_ns(self, op: Op) -> int:
        """Return how long a retry of the read takes."""
        return math.floor(self.array_ns(op) * self.factor + 0.5)
