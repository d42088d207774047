"""`ssdlab compare --raid-beyond`: reads of a drive with parity while it collects.

Two rules together: chips of a parity group take turns to collect (`rotating`), and a read whose
chip collects is computed from the others of its group (`raid.reads`). Aim: p99.9 of reads at most
twice that of the same drive without any collection.

Chosen before both rules were run together, from runs of the other lines alone:

- Device: deferred-gc-raid-conventional on 16 chips, with its chip times and groups of 8. A chip
  that collects does nothing else until its block is erased, so a read that meets collection waits
  for all of it. 68 % of the raw flash is live and overwritten twice before the measurement, so
  that all chips collect all the time. The trigger is a threshold of erased blocks.
- Workloads: uniform and skewed (Zipf) pages, 70 % reads, and two stand-ins whose requests are
  mostly of one page, MongoDB and RocksDB. Cassandra was tried and left out: its requests of 70 to
  100 KiB keep reads waiting for 43 ms (p99.9) without any collection, so the aim says little there.
- Load: half of what the drive sustains in a closed loop with 64 requests under `rotating`, the
  slower of the two drives (12,750, 12,000, 6,900 and 9,900 requests per second). Arrival times are
  the same in all lines.
- Without collection: six times the blocks, and no overwrites before, so that the flash is never
  used up.
"""

from __future__ import annotations

INTERVALS_US = {"uniform": 160, "Zipf": 165, "MongoDB": 290, "RocksDB": 200}
"""Mean time between requests."""
