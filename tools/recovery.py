#!/usr/bin/env python3
"""Write docs/recovery.md: how long a mount takes by capacity and interval of checkpoints.

    python tools/recovery.py [--check]

Each row is a device that is filled in functional mode, overwritten at random in timed mode until
just before its second checkpoint begins, cut, and mounted; without checkpoints, overwritten as
much as with the longest interval. `--check` only compares the smallest
device with the page.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

import ssdlab

PAGE = Path(__file__).resolve().parent.parent / "docs" / "recovery.md"
GIB = 2**30
PAGE_BYTES = 16 * 1024
# Capacity in GiB and the blocks of each of the 128 planes of 768 pages.
DEVICES = [(64, 47), (256, 184), (1024, 732)]
# GiB written from the beginning of a checkpoint to that of the next; 0: none.
INTERVALS = [0, 1, 4, 16]
BATCH = 1 << 16

TEXT = """# Recovery time

Written by `python tools/recovery.py`: change that, not this page.

A mount after a power cut ([the model](model.md#power-cuts)), by capacity and `power.checkpoint`.
The device is the preset `modern-tlc` (32 dies, 16 KiB pages, 60 us a read; a channel carries a
page in 13.7 us) with blocks of 768 pages, more or fewer of them, and `gc.trigger.soft = 4`, full
and overwritten at random. Power is cut just before the next checkpoint begins, which is when a
mount takes longest; without checkpoints, after as many writes as with the longest interval.

| capacity | checkpoint | mount | out-of-band reads | checkpoint pages | programs for checkpoints |
|--:|--:|--:|--:|--:|--:|
{rows}

Without checkpoints every programmed page is read. With them a mount still reads a page of each
block, which tells whether the block has been reused, and the checkpoint itself: what is left
grows with the capacity, and the rest with the interval. The last column is what checkpoints add
to write amplification: pages of a checkpoint divided by the pages of an interval. Copies of
collection are programmed pages, too: where the free space is used up within an interval, most
blocks have been rewritten since the checkpoint, and it saves little. A checkpoint is the whole
map, so on a large device a short interval is expensive.

With parity groups a checkpoint has three times as many bytes, and every mount ends with one ([ADR
0033](adr/0033-the-pages-of-a-group-list-what-the-group-holds.md)).
"""


def row(gib: int, blocks: int, interval: int) -> str:
    """One device, as a line of the table."""
    pages = gib * GIB // PAGE_BYTES
    device = ssdlab.Device(
        "modern-tlc",
        set={
            "device.blocks_per_plane": blocks,
            "device.pages_per_block": 768,
            "device.user_capacity": f"{gib} GiB",
            "gc.trigger": {"policy": "free-blocks", "soft": 4},
            "power.cut": "on-request",
            "power.checkpoint": f"{interval} GiB",
            "precondition.fill": 1.0,
            "precondition.overwrite": 0.0,
            "run.seed": 1,
        },
    )
    device.precondition(progress=False)
    remaining = 2 * (interval or max(INTERVALS)) * GIB // PAGE_BYTES - 4096
    random = np.random.default_rng(1)
    while remaining > 0:
        count = min(remaining, BATCH)
        device.submit("write", random.integers(0, pages, count))
        device.run_until_idle()
        remaining -= count
    device.power_cut()
    mount = device.mount()
    share = mount.checkpoint_pages * PAGE_BYTES / (interval * GIB) if interval else 0
    return (
        f"| {gib} GiB | {f'{interval} GiB' if interval else 'never'} | {mount.time / 1e9:.3g} s "
        f"| {mount.reads:,} | {mount.checkpoint_pages:,} | {100 * share:.2g} % |"
    )


def main() -> int:
    """Write or check the page; 1 if it is stale."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare the smallest device only")
    if parser.parse_args().check:
        gib, blocks = DEVICES[0]
        text = PAGE.read_text(encoding="utf-8")
        stale_lines = [
            line for line in (row(gib, blocks, i) for i in INTERVALS) if line not in text
        ]
        sys.stderr.write("".join(f"stale: {line}\n" for line in stale_lines))
        return 1 if stale_lines else 0
    rows = [row(gib, blocks, interval) for gib, blocks in DEVICES for interval in INTERVALS]
    PAGE.write_text(TEXT.format(rows="\n".join(rows)), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
