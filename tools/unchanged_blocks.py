#!/usr/bin/env python3
"""Measure how many output blocks of compactions are reused, by level: a table of docs/store.md.

    python tools/unchanged_blocks.py [--value BYTES ...] [--size MIB] [--dir DIR]

Fills a store at random (`fillrandom` of `ssdlab kv bench`) with base and with retention.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from typing import Literal

from ssdlab import _core, kv

MODES: tuple[Literal["base", "retention"], ...] = ("base", "retention")


def row(folder: str, value: int, n: int, mode: Literal["base", "retention"]) -> str:
    """Fill one store and describe it."""
    with kv.open(folder, create_if_missing=True, reuse=mode) as db:
        _core.KvBench(n, value).run(db._store, "fillrandom", 1)
        stats = db.stats()
    user = n * (value + 16)
    shares = [level.output_share for level in stats.reuse[1:4]]
    cells = [f"{value:,}", mode, *("-" if s is None else f"{s * 100:.1f}" for s in shares)]
    cells.append(f"{sum(level.bytes_written for level in stats.levels) / user:.2f}")
    reused_bytes = sum(level.bytes_shared + level.bytes_copied for level in stats.reuse)
    cells.append(f"{reused_bytes / user:.2f}")
    cells.append(str(sum(table.bytes for table in stats.tables) >> 20))
    return "| " + " | ".join(cells) + " |\n"


def main() -> None:
    """Print a row for each size of values and each mode."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--value", type=int, action="append", help="bytes of a value")
    parser.add_argument("--size", type=int, default=555, help="MiB of keys and values")
    parser.add_argument("--dir", help="where the files go")
    options = parser.parse_args()
    for value in options.value or [992, 1024]:
        for mode in MODES:
            with tempfile.TemporaryDirectory(prefix="ssdlab-kv-", dir=options.dir) as place:
                n = (options.size << 20) // (value + 16)
                sys.stdout.write(row(f"{place}/store", value, n, mode))


if __name__ == "__main__":
    main()
