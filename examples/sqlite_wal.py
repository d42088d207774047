"""SQLite with a rollback journal and with WAL: commits on two drives, without and with collection.

Run it as `python examples/sqlite_wal.py`; a number of commits may follow. Every commit updates a
random row of a database of 44 MB, which is more than the page cache of the host holds.
"""

import random
import sys

import numpy as np

import ssdlab
import ssdlab.sqlite

ROWS, ROW_BYTES, COMMITS = 100_000, 400, 5_000
MODES = {
    "journal": ("PRAGMA journal_mode = DELETE",),
    "WAL": ("PRAGMA locking_mode = EXCLUSIVE", "PRAGMA journal_mode = WAL"),
}
# Both have pages of 4 KiB. The second one is a drive of 960 GB with fewer dies' blocks and smaller
# ones: the number of blocks of a die and their spare decide what collection costs.
DRIVES = {
    "no buffer": ("greedy-8ch", {}),
    "protected buffer": (
        "tlc-960gb",
        {
            "device.blocks_per_plane": 256,
            "device.pages_per_block": 6,
            "precondition.steady_state": "none",
            "power.cut": "on-request",
            "power.buffer": "protected",
        },
    ),
}
STATES = {"new": 0, "full": 1}


def measure(mode, drive, fill, commits):
    """Latencies of commits in simulated ns, and the drive after them."""
    preset, keys = DRIVES[drive]
    filled = {"precondition.fill": fill, "precondition.overwrite": fill}
    device = ssdlab.Device(preset, set={**keys, **filled})
    device.precondition(progress=False)
    connection = ssdlab.sqlite.connect("accounts.db", device)
    for pragma in MODES[mode]:
        connection.execute(pragma)
    connection.execute("CREATE TABLE account (id INTEGER PRIMARY KEY, balance INTEGER, note BLOB)")
    with connection:
        rows = ((id, ROW_BYTES) for id in range(ROWS))
        connection.executemany("INSERT INTO account VALUES (?, 0, randomblob(?))", rows)
    draw, latencies = random.Random(1), []
    for _ in range(commits):
        began = device.now_ns
        update = "UPDATE account SET balance = balance + 1 WHERE id = ?"
        connection.execute(update, (draw.randrange(ROWS),))
        latencies.append(device.now_ns - began)
    connection.close()
    return np.array(latencies), device.report()


commits = int(sys.argv[1]) if sys.argv[1:] else COMMITS
print("drive             state  mode     commits/s   p50, us   p99.9, us   WAF   digest")
for drive in DRIVES:
    for state, fill in STATES.items():
        for mode in MODES:
            latencies, report = measure(mode, drive, fill, commits)
            p50, p999 = np.percentile(latencies, [50, 99.9]) / 1000
            print(
                f"{drive:<17} {state:<6} {mode:<8} {1e9 / latencies.mean():9,.0f} {p50:9,.0f}"
                f" {p999:11,.0f} {report.waf.total:5.2f}   {report.provenance.event_digest}"
            )
