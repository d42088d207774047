"""`python -m ssdlab_lab.validation.applications [--write PAGE]`: statistics of applications.

Synthetic statistics next to published ones: every application in every parameter set, next to the
recorded traces of the same applications; and the same policies on a recorded trace and on a similar
synthetic one.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import ssdlab
from ssdlab import _core
from ssdlab.traces.info import Info
from ssdlab_lab.reproduce.claims import short

from . import synthetic

SETS = ("adaptive-channel", "invalidation-rate", "noc-copyback")
APPLICATIONS = ("cassandra", "mongodb", "mysql", "rocksdb", "sqlite", "dbench", "varmail")
RECORDED = ("cassandra", "mysql", "rocksdb", "sqlite", "dbench", "varmail")
REPLAYED = ("sqlite", "dbench", "varmail")
"""Recorded traces on which policies are compared."""
OPS = ("read", "write", "trim")
POLICIES = ("greedy", "fifo", "cost-benefit")
REQUESTS = 200_000
SIZE_BYTES = 4 << 30
SHARE_BOUND = 0.02
SIZE_BOUND = 0.02

HEAD = """\
<!-- Written by `python -m ssdlab_lab.validation.applications --write docs/workloads.md`. -->

# Synthetic workloads

There are four kinds of synthetic requests (`workload.kind`): address distributions (`uniform`,
`zipf`, `hot-cold`, `sequential`), applications (`app:mysql`), stand-ins for volumes of the MSR
Cambridge traces (`msr:hm_0`), and fio job files (`workload.job`). `ssdlab trace generate` writes
any of them to a file.

```sh
ssdlab trace generate app:mysql mysql.ssdtrace --size 4GiB --requests 50000
ssdlab trace generate app:varmail like.ssdtrace --size 2GiB --like traces/varmail.trace.zst
ssdlab run adaptive-channel --set workload.kind=app:sqlite --set workload.requests=20000
```

## Applications

The papers' traces are not public, but their statistics are. An application matches them: shares of
operations, shares of sequential requests (those that start where the previous request of the same
operation ended), and mean sizes, drawn without replacement so that short traces match, too.
Addresses come from a small file system: a circular journal of two logs, tables overwritten in place
(skew 0.99), files created and deleted at equal rates in eight rings whose lifetimes differ by
powers of two, and cold data (40 %). The comment at the top of
`crates/ssd-trace/src/generate/app/published.rs` lists the parameters that the papers leave open and
the values chosen for them.

Arrivals come in cycles of 1024 requests: spread over the whole cycle (SQLite, Varmail), in its
first half (MongoDB), in a part of random length (MySQL, RocksDB, Dbench), or reads over the whole
cycle and writes in a twentieth of it (Cassandra). `workload.arrival.interval` is the mean time
between requests.

What the publications leave open has keys: `workload.cycle` (requests of a cycle, so the length of
surges), `workload.journal_run` (journal and data in stretches that fill blocks of their own) and
`workload.table_skew`.

With `workload.like` (`--like`), requests match a recorded trace instead, whatever the application:
its mixes and sizes, bursts and idle times, the space that discards free, and the number of other
blocks written between two writes of a block (`crates/ssd-trace/src/generate/like`). They need as
much space as the recording touches, start over when the recording ends, and arrive as recorded
unless `workload.arrival.interval` is set.

The tables below are for {requests:,} requests on {size} GiB per application, seed 1. *recorded* is
the run phase of the trace of that application in `traces/`, if there is one; software versions and
file systems differ from those of the papers, and so do the statistics. Shares are in percent, sizes
in KiB. Of {lines} lines, {failed} are off by more than 2 percentage points (shares) or 2 % (sizes).
"""

POLICY_HEAD = """\
## The same policies on recorded and synthetic traces

Write amplification, median and 99th percentile of write latency (ms), on a device that holds the
pages that the recorded trace touches plus 10 % spare, filled and then overwritten once at random.
The first tenth of the requests, in which the recording's discards empty the device, is excluded.
*synthetic*: `workload.like` with as many requests. WAF is within 25 % of the recorded one{except_}.
If a trace keeps the device busy for long (Dbench, Varmail), slightly more or fewer copies make the
queue much longer or shorter, so p99 can differ by a larger factor than WAF.
"""
WAF_BOUND = 0.25


@dataclass(frozen=True)
class Numbers:
    """The numbers of one operation of one trace."""

    share: float
    sequential: float
    kib: float


def published(name: str, set_: str) -> dict[str, Numbers] | None:
    """The numbers of a paper; None if it has none for this application."""
    try:
        model = json.loads(_core.application(name, set_))
    except _core.WorkloadError:
        return None
    return {
        op: Numbers(entry["share"], entry["sequential"], entry["bytes"] / 1024)
        for op, entry in zip(OPS, model["ops"], strict=True)
        if entry["share"] > 0
    }


def measured(info: Info) -> dict[str, Numbers]:
    """The same numbers, measured in a trace."""
    numbers = {}
    for op in OPS:
        statistics_of_op = getattr(info.ops, op)
        if statistics_of_op.requests:
            numbers[op] = Numbers(
                statistics_of_op.request_share,
                statistics_of_op.sequential_share,
                statistics_of_op.size.mean / 1024,
            )
    return numbers


def misses(expected: Numbers, actual: Numbers) -> bool:
    """Whether the synthetic requests are outside the bounds."""
    shares = (actual.share - expected.share, actual.sequential - expected.sequential)
    return max(map(abs, shares)) > SHARE_BOUND or abs(actual.kib / expected.kib - 1) > SIZE_BOUND


def _cells(*columns: Numbers | None) -> str:
    cells = []
    for key, factor, digits in (("share", 100, 2), ("sequential", 100, 2), ("kib", 1, 2)):
        cells += [
            "–" if numbers is None else f"{getattr(numbers, key) * factor:.{digits}f}"
            for numbers in columns
        ]
    return " | ".join(cells)


def statistics(folder: Path) -> tuple[list[str], int, int]:
    """Lines of the tables, how many are compared, and how many of them miss."""
    numbers_of_traces = {
        name: measured(ssdlab.Trace(f"traces/{name}.trace.zst").info()) for name in RECORDED
    }
    lines: list[str] = []
    compared = failed = 0
    for set_ in SETS:
        lines += [
            f"### Set {set_}",
            "",
            "| application | operation | share published | synthetic | recorded |"
            " sequential published | synthetic | recorded |"
            " mean KiB published | synthetic | recorded |",
            "|---|---|---|---|---|---|---|---|---|---|---|",
        ]
        for name in APPLICATIONS:
            numbers_of_ops = published(name, set_)
            if numbers_of_ops is None:
                continue
            file = folder / f"{name}-{set_}.ssdtrace"
            values = {"workload.set": set_}
            ssdlab.generate(f"app:{name}", file, bytes=SIZE_BYTES, requests=REQUESTS, set=values)
            measured_numbers = measured(ssdlab.Trace(file).info())
            for op, numbers in numbers_of_ops.items():
                bad = misses(numbers, measured_numbers[op])
                compared, failed = compared + 1, failed + bad
                cells = _cells(
                    numbers, measured_numbers[op], numbers_of_traces.get(name, {}).get(op)
                )
                lines.append(f"| {name} | {op}{' **misses**' if bad else ''} | {cells} |")
        lines.append("")
    return lines, compared, failed


def _device(pages: int) -> dict[str, object]:
    """A device that holds this many pages, with a tenth of spare."""
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


def policies() -> tuple[list[str], list[str]]:
    """Lines of the table of policies, and the names of those whose WAF is outside `WAF_BOUND`."""
    heads = ("WAF", "p50", "p99")
    columns = " | ".join(f"{head} recorded | synthetic | ratio" for head in heads)
    lines = [f"| application | policy | {columns} |", "|---" * 11 + "|"]
    exceptions = []
    for name in REPLAYED:
        trace = f"traces/{name}.trace.zst"
        info = ssdlab.Trace(trace).info()
        warmup = info.requests // 10
        common = {**_device(info.footprint.pages_touched), "workload.warmup_requests": warmup}
        trace_keys = {"workload.trace": trace, "workload.fit": "compact"}
        for policy in POLICIES:
            common["gc.victim"] = policy
            replayed = ssdlab.run(set={**common, **trace_keys}, progress=False)
            # Without discards of what is never used, which the replay leaves out.
            requests = warmup + sum(getattr(replayed.requests, op) for op in (*OPS, "flush"))
            model_keys = {
                "workload.kind": "app:mysql",
                "workload.like": trace,
                "workload.requests": requests,
            }
            generated = ssdlab.run(set={**common, **model_keys}, progress=False)
            pairs = [
                (replayed.waf.total, generated.waf.total),
                (_ms(replayed.latency.write.p50), _ms(generated.latency.write.p50)),
                (_ms(replayed.latency.write.p99), _ms(generated.latency.write.p99)),
            ]
            cells = [f"{short(a)} | {short(b)} | {b / a:.2f}" for a, b in pairs if a and b]
            lines.append(f"| {name} | {policy} | {' | '.join(cells)} |")
            waf, like_waf = pairs[0]
            if waf and like_waf and abs(like_waf / waf - 1) > WAF_BOUND:
                exceptions.append(f"{name} under {policy}")
    return [*lines, ""], exceptions


def policy_head(exceptions: Sequence[str]) -> str:
    """The text above the table of policies."""
    suffix = f" except for {', '.join(exceptions)} (cause unknown)" if exceptions else ""
    return POLICY_HEAD.format(except_=suffix)


def _ms(ns: float | None) -> float:
    return (ns or 0.0) / 1e6


def page() -> tuple[str, int]:
    """The page, and how many lines of it miss their bounds."""
    with tempfile.TemporaryDirectory() as folder:
        lines, compared, failed = statistics(Path(folder))
        remaining = [
            *synthetic.volumes(Path(folder)),
            *synthetic.patterns(Path(folder)),
            *synthetic.keys(),
            *synthetic.jobs(Path(folder)),
        ]
    head = HEAD.format(requests=REQUESTS, size=SIZE_BYTES >> 30, lines=compared, failed=failed)
    table, exceptions = policies()
    return "\n".join([head, *lines, policy_head(exceptions), *table, *remaining]), failed


def main() -> None:
    """Write the page, or print it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", metavar="PAGE", type=Path, help="file to write")
    options = parser.parse_args()
    text, failed = page()
    if options.write:
        options.write.write_text(text, encoding="utf-8")
    else:
        print(text)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
