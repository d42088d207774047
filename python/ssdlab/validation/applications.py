"""`python -m ssdlab.validation.applications [--write PAGE]`: what is made, and what was published.

Every application in every parameter set, beside the recorded traces of the same applications; and
the same policies on a recorded trace and on one made like it.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import ssdlab
from ssdlab import _core
from ssdlab.trace_info import Info

SETS = ("adaptive-channel", "invalidation-rate", "noc-copyback")
APPLICATIONS = ("cassandra", "mongodb", "mysql", "rocksdb", "sqlite", "dbench", "varmail")
RECORDED = ("sqlite", "dbench", "varmail")
OPS = ("read", "write", "trim")
POLICIES = ("greedy", "fifo", "cost-benefit")
REQUESTS = 200_000
SIZE_BYTES = 4 << 30
SHARE_BOUND = 0.02
SIZE_BOUND = 0.02

HEAD = """\
<!-- Written by `python -m ssdlab.validation.applications --write docs/workloads.md`. -->

# Workloads that are made

`workload.kind` makes requests in four ways: by shares (`uniform`, `zipf`, `hot-cold`,
`sequential`), as an application does (`app:mysql`), in place of a volume of the MSR Cambridge
traces (`msr:hm_0`), and by a job file of fio (`workload.job`). `ssdlab trace generate` writes any
of them to a file.

```sh
ssdlab trace generate app:mysql mysql.ssdtrace --size 4GiB --requests 50000
ssdlab trace generate app:varmail like.ssdtrace --size 2GiB --like traces/varmail.trace.zst
ssdlab run adaptive-channel --set workload.kind=app:sqlite --set workload.requests=20000
```

## Applications

The papers' traces are not public; their statistics are. An application is made to them: shares of
operations, shares of requests that begin where the last one of that operation ended, and mean
sizes, drawn without replacement so that short traces have them too. Places come from a small file
system: a circular journal of two logs, tables overwritten in place (skew 0.99), files created and
deleted at equal rates in eight rings whose contents live for times that differ by powers of two,
and cold data (40 %). Which numbers the papers leave open, and what was decided, stands at the
head of `crates/ssd-trace/src/app/published.rs`.

Arrivals come in cycles of 1024 requests: all the time (SQLite, Varmail), in the first half of
each cycle (MongoDB), in a part of random length (MySQL, RocksDB, Dbench), or reads all the time
and writes in a twentieth of it (Cassandra). `workload.arrival.interval` is the mean time between
requests.

`workload.like` (`--like`) takes the statistics from a trace instead.

Below: {requests:,} requests on {size} GiB each, seed 1. *recorded* is the run phase of the trace
of that application in `traces/`, where there is one: other versions on another file system, so it
may differ. Shares in percent, sizes in KiB. {lines} lines; {failed} miss 2 percentage points
(shares) or 2 % (sizes).
"""

POLICY_HEAD = """\
## The same policies on recorded and on made traces

Write amplification and the 99th percentile of write latency, on a device that holds the pages
which the recorded trace touches, with 10 % of spare, full and overwritten once. The made trace
has the statistics of the recorded one (`workload.like`), as many requests, and its mean time
between them; it knows nothing of which pages the recorded one rewrites, and that is what the
ratios show.
"""


@dataclass(frozen=True)
class Numbers:
    """What is said of one operation of one trace."""

    share: float
    sequential: float
    kib: float


def published(name: str, set_: str) -> dict[str, Numbers] | None:
    """The numbers of a paper; None: it has none for this application."""
    try:
        model = json.loads(_core.application(name, set_))
    except _core.WorkloadError:
        return None
    return {
        op: Numbers(one["share"], one["sequential"], one["bytes"] / 1024)
        for op, one in zip(OPS, model["ops"], strict=True)
        if one["share"] > 0
    }


def measured(info: Info) -> dict[str, Numbers]:
    """The same numbers of a trace."""
    found = {}
    for op in OPS:
        one = getattr(info.ops, op)
        if one.requests:
            found[op] = Numbers(one.request_share, one.sequential_share, one.size.mean / 1024)
    return found


def misses(wanted: Numbers, found: Numbers) -> bool:
    """Whether what was made is outside the bounds."""
    shares = (found.share - wanted.share, found.sequential - wanted.sequential)
    return max(map(abs, shares)) > SHARE_BOUND or abs(found.kib / wanted.kib - 1) > SIZE_BOUND


def _cells(*all_: Numbers | None) -> str:
    cells = []
    for key, factor, digits in (("share", 100, 2), ("sequential", 100, 2), ("kib", 1, 2)):
        cells += [
            "–" if one is None else f"{getattr(one, key) * factor:.{digits}f}" for one in all_
        ]
    return " | ".join(cells)


def statistics(folder: Path) -> tuple[list[str], int, int]:
    """Lines of the tables, how many compare, and how many of them miss."""
    recorded = {
        name: measured(ssdlab.Trace(f"traces/{name}.trace.zst").info()) for name in RECORDED
    }
    lines: list[str] = []
    compared = failed = 0
    for set_ in SETS:
        lines += [
            f"### Set {set_}",
            "",
            "| application | operation | share published | made | recorded |"
            " sequential published | made | recorded | mean KiB published | made | recorded |",
            "|---|---|---|---|---|---|---|---|---|---|---|",
        ]
        for name in APPLICATIONS:
            wanted = published(name, set_)
            if wanted is None:
                continue
            out = folder / f"{name}-{set_}.ssdtrace"
            values = {"workload.set": set_}
            ssdlab.generate(f"app:{name}", out, bytes=SIZE_BYTES, requests=REQUESTS, set=values)
            made = measured(ssdlab.Trace(out).info())
            for op, numbers in wanted.items():
                bad = misses(numbers, made[op])
                compared, failed = compared + 1, failed + bad
                shown = _cells(numbers, made[op], recorded.get(name, {}).get(op))
                lines.append(f"| {name} | {op}{' **misses**' if bad else ''} | {shown} |")
        lines.append("")
    return lines, compared, failed


def _device(pages: int) -> dict[str, object]:
    """A device that holds so many pages, with a tenth of spare."""
    return {
        "device.channels": 8,
        "device.chips_per_channel": 4,
        "device.pages_per_block": 32,
        "device.blocks_per_plane": -(-pages * 11 // 10 // (32 * 32)),
        "device.user_capacity": f"{pages * 4} KiB",
        "gc.trigger": '{ policy = "free-blocks", soft = 6 }',
        "precondition.fill": 1.0,
        "precondition.overwrite": 1.0,
    }


def policies() -> Iterator[str]:
    """Lines of the table of policies."""
    heads = ("application", "policy", "WAF recorded", "made", "ratio")
    yield f"| {' | '.join(heads)} | p99 write recorded | made | ratio |"
    yield "|---|---|---|---|---|---|---|---|"
    for name in RECORDED:
        trace = f"traces/{name}.trace.zst"
        info = ssdlab.Trace(trace).info()
        device = _device(info.footprint.pages_touched)
        recorded = {"workload.trace": trace, "workload.fit": "compact"}
        made = {
            "workload.kind": f"app:{name}",
            "workload.like": trace,
            "workload.requests": info.requests - info.flushes,
            "workload.arrival.interval": f"{round(info.duration_ns / info.requests)} ns",
        }
        for policy in POLICIES:
            pair = [
                ssdlab.run(set={**device, **work, "gc.victim": policy}, progress=False)
                for work in (recorded, made)
            ]
            waf = [one.waf.total or 0.0 for one in pair]
            p99 = [(one.latency.write.p99 or 0) / 1e6 for one in pair]
            yield (
                f"| {name} | {policy} | {waf[0]:.3f} | {waf[1]:.3f} | {waf[1] / waf[0]:.2f} |"
                f" {p99[0]:.3g} ms | {p99[1]:.3g} ms | {p99[1] / p99[0]:.2f} |"
            )


def page() -> tuple[str, int]:
    """The page, and how many lines of it miss their bounds."""
    with tempfile.TemporaryDirectory() as folder:
        lines, compared, failed = statistics(Path(folder))
    head = HEAD.format(requests=REQUESTS, size=SIZE_BYTES >> 30, lines=compared, failed=failed)
    return "\n".join([head, *lines, POLICY_HEAD, *policies(), ""]), failed


def main() -> None:
    """Write the page, or print it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", metavar="PAGE", type=Path, help="file to write")
    said = parser.parse_args()
    text, failed = page()
    if said.write:
        said.write.write_text(text, encoding="utf-8")
    else:
        print(text)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
