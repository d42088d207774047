"""What is run for remapcom, decided before a line that remaps was run on this drive.

Chosen from runs of stock LevelDB alone, and from what the paper says:

- Drive: the preset `remapcom` at an eighth of its size (32 pages a block instead of 256), so that
  the matrix takes less than half an hour: 2 GiB raw, 1.5 GiB for the host. 64 pages of a collected
  line are under way at once; with one, collection of a line of 64 chips would keep 63 of them idle.
- Store: 512 MiB of keys and values, LevelDB's sizes of memtable, tables and levels, so that level 3
  holds most of the data, as levels of ten times the size do in the paper's store of unknown size.
  (768 MiB were chosen at first: with a page for each block a pair of 4,096 bytes takes two, and the
  store did not fit.) No compression, no filter. Its log is synced when the next one begins.
- Values of 256, 1,024 and 4,096 bytes: the paper prints "256 MB", "1 MB" and no third size. Shares
  of unchanged blocks are those of the load with 1,024 bytes; the paper does not say.
- Requests: YCSB's, each on a store of its own that has just been loaded: 200,000 operations, 20,000
  with scans. Load inserts in hashed order ("uniform"). E inserts, as YCSB does, where the paper
  prints updates.
- Host: one client, 4 cores, a page cache as large as half the drive: the paper's guest has as much
  memory as its SSD has room. Pages taken over are not in it, as in file systems that share extents.
- Lines: stock; the layout with blocks at pages alone; remapping with the paper's base and with
  retention. Gains are over stock.

Of a quick run the loads had been seen when values of 4,000 bytes were added: there a load of 4,096
bytes was 7 % slower with remapping, not 28 % faster. Explanations, written down before the runs
that can refute them:

- A pair of 4,096 bytes takes two pages, so that flushes write twice as much: with 4,000 bytes
  remapping must be faster than stock.
- The next compaction reads what was taken over from the drive, one table after the other: with
  `fs.cache_shared` remapping must be faster than without, and without read-ahead slower.
- The layout at pages costs more than remapping saves with 1,024 bytes: speed over *aligned* must be
  above 1 where speed over stock is below, and two or four pages a block, which waste less, must
  bring *full* nearer to stock or past it.

After a first run of the whole matrix, in which all workloads with reads were 45 to 85 % slower with
remapping, three things were changed or added, and nothing else. WA is that of the whole run, load
and all compaction that is due included: a phase of half a second leaves most of its compaction to
the time after it. `READINGS`: after the load stock finds all its pages in the page cache and the
remapping lines find few; workloads A and C are run with either answer to that. Logs that are not
synced, as in LevelDB, are one more variation.
"""

from __future__ import annotations

from ssdlab.kv.simulation import Remap

NAME = "remapcom"
TITLE = (
    "Compaction-aware flash memory remapping for key-value stores, Micromachines 2025, 16(6), 699"
)
DECIDED = "2026-11-23"
"""Before the first run of a line that remaps on this drive."""
LINES: dict[str, Remap] = {"stock": "off", "aligned": "aligned", "base": "base", "full": "full"}
SIZES = (256, 1024, 4096)
"""Bytes of a value."""
KEY_BYTES = 24
"""Of YCSB's keys, about."""
STORE_BYTES = 512 << 20
WORKLOADS = ("load", "a", "b", "c", "d", "e", "f")
QUICK_WORKLOADS = ("load", "a", "c")
SCANS = "e"
OPERATIONS, SCAN_OPERATIONS = 200_000, 20_000
SEEDS, QUICK_SEEDS = (1, 2, 3), (1,)
QUICK = 4
"""A quick reproduction divides store, page cache and operations by this."""
UDB_SIZE = 1024
"""Bytes of the values for which shares of unchanged blocks are compared."""
BLOCK_PAGES, USER_MIB = 32, 1536
"""Pages of a block, and what the host sees: three quarters of the drive."""
QUICK_BLOCK_PAGES, QUICK_USER_MIB = 10, 480
"""Those of a quick reproduction: a little more than a quarter. Memtable and tables keep their size,
so that a store of a quarter, with two pages for a pair of 4,096 bytes, does not fit in a quarter of
the drive while A overwrites it."""
CACHE_PAGES = 262_144

VARIED_SIZES = (1024, 4096)
PAGE_SIZE = 4000
"""Bytes of a value with which a pair fills one page: an alternative reading of the third size; load
only.
"""
VARIED_LINES = ("stock", "full")
VARIATIONS: dict[str, tuple[dict[str, object], dict[str, object]]] = {
    "page cache of an eighth": ({"fs.cache_pages": CACHE_PAGES // 8}, {}),
    "taken-over pages cached": ({"fs.cache_shared": True}, {}),
    "no read-ahead": ({"fs.readahead_pages": 0}, {}),
    "logs not synced": ({"store.sync_logs": False}, {}),
    "no discard": ({"fs.discard": False}, {}),
    "2 pages a block": ({"store.pages_per_block": 2}, {}),
    "4 pages a block": ({"store.pages_per_block": 4}, {}),
    "one page of collection at once": ({}, {"gc.window": 1}),
}
"""Variations of the load: host settings and keys of the drive. Pages per block do not affect stock.
"""
READ_WORKLOADS, READ_LINES = ("a", "c"), ("stock", "base", "full")
READINGS = ("page cache of an eighth", "taken-over pages cached")
"""Variations under which workloads that read are also run, with one seed; not in a quick run."""

FITTING_SIZES = (236, 980, 4000)
"""Bytes of values with which pairs fill pages: sixteen pairs, four, and one."""
CACHED: dict[str, object] = {"fs.cache_shared": True}
DEVICE_BOUND: dict[str, object] = {"costs.merge_kib": 0, "costs.step_kib": 0}
"""Compaction takes no processor time for what it merges and builds; by default, the time that was
measured on the real store."""
FITTING: dict[str, dict[str, object]] = {
    "pairs fit": {},
    "pairs fit, taken-over pages cached": CACHED,
    "pairs fit, device-bound": DEVICE_BOUND,
    "pairs fit, taken-over pages cached, device-bound": {**CACHED, **DEVICE_BOUND},
}
"""Readings under which all published gains are scored, with `FITTING_SIZES`, stock and one seed.

Not blind: others had found 17 directions and 9 near of 20 with pairs that fit and taken-over pages
cached, before these were registered."""
LIMITED_SIZE = 980
LIMITS: dict[str, dict[str, object]] = {
    **{
        f"at most {percent} % of zeros": {"store.space_budget": percent} for percent in (10, 25, 50)
    },
    **{f"blocks of at least {size:,} B": {"store.least_fill": size} for size in (1024, 2048, 3072)},
}
"""Limits of retention, tried on the load with `LIMITED_SIZE`. The one whose shares of unchanged
blocks on levels 2 to 4 are nearest to the published 47, 52 and 53 % is the fitted one: nothing else
is used to choose it."""


def drive(quick: bool) -> dict[str, object]:
    """Keys that override those of the preset."""
    pages, user = (QUICK_BLOCK_PAGES, QUICK_USER_MIB) if quick else (BLOCK_PAGES, USER_MIB)
    return {
        "device.pages_per_block": pages,
        "device.user_capacity": f"{user} MiB",
        "gc.window": 64,
    }


def host(workload: str, value_bytes: int, quick: bool) -> dict[str, object]:
    """Settings of the host."""
    divisor = QUICK if quick else 1
    records = STORE_BYTES // divisor // (value_bytes + KEY_BYTES)
    operations = SCAN_OPERATIONS if workload == SCANS else OPERATIONS
    return {
        "records": records,
        "operations": operations // divisor,
        "value_bytes": value_bytes,
        "fs.cache_pages": CACHE_PAGES // divisor,
        "interval_ns": 100_000_000,
    }
