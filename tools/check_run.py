#!/usr/bin/env python3
"""Check a finished run from the outside: recompute its report from its logs.

    python tools/check_run.py runs/NAME [--limit N]
    python tools/check_run.py --coverage

Reads `report.json`, `requests.csv.zst`, `ops.csv.zst` and, where there are any, the other logs,
`series.csv`, `distributions.csv`, `report.html` and `export/`. Of a comparison, sweep, search or
fleet it recomputes rows, means, intervals and ratios from the reports or lines of its runs.
`--coverage` prints for every field of the report what recomputes it, or why no log determines it.
Shares no code with the simulator. Prints one line for each violation,
`RULE file:line: expected ..., found ...` (a path of keys instead of the line for report.json).
Exit code 0 clean, 1 violations, 2 unreadable input.

Where the contract leaves room this program assumes:

Logs. Columns are found by name, further columns are ignored, `digest` may be missing; empty means
none. Chips count within their channel, planes within their chip, blocks within their plane. LPNs
are those of the device, also for requests of several volumes. Request ids are small integers that
rise in order of arrival, with several queues (`host.queues`) in the order in which the device
takes them; requests.csv may be in any order; an unfinished request has an empty
`completion`. State rows may come in any order of blocks, pages of a block rise from 0.
The bus interval of an operation is its data transfer (commands are not logged). Lines of one
multi-plane operation have equal op, start, end and bus times. A page is bound when its program
starts and committed at its end; at one instant commits come before starts.

Sequences. Compared only within one LPN: greater is newer. Copies (causes gc, wear) keep lpn and
sequence. Metadata hold no LPN's data. Every other program with an LPN is host data, or the parity
of group q, which has LPN `device.user_pages + q` (`config.raid.group` chips a group). With a write
buffer two parities of a group may have one number: then the later program is the newer.
Without a write buffer (`host.write_buffer_pages` 0 or absent) a write completes after its
programs. The newest write of an LPN is on flash when the run is complete, unless trimmed. A host
read of cause `host` is translated when it starts: it returns the newest data committed by then.

Power cuts (power.csv.zst; without it, none). An operation with the outcome `cut` ended at a cut: a
program leaves a torn page, an erase a block that the mount erases again; nothing runs from a cut to
the end of its mount, and blocks that were open are programmed after their next erase only. Writes
that were acknowledged as durable are on flash at every cut: those that had completed; with a
volatile buffer FUA writes, and those before a flush (op `flush`, `durability` of requests.csv) that
arrived after they had completed, if no cut came in between; with a protected buffer nothing need be
on flash before the end. A mount reads of each block what is programmed and one page more; of what a
checkpoint covers (blocks from `device.blocks_per_plane` on, cause `metadata`) the first page only;
`types` says of which types these are. A checkpoint fills blocks from their first page on.
Requests that had not completed are admitted again after it. Of two copies with equal LPN and
sequence a mount may choose either. `power.recoveries` lists the mounts.

Copies (op `copy`, `sources` of requests.csv as `lpn+pages;lpn+pages`, `owners` of state.csv as
`lpn;lpn`, empty: the one in `lpn`): what every LPN holds is then replayed from the requests,
admitted in the order of their ids when they arrive, and admission numbers identify data.

Zones (`host.interface` "zns"): requests.csv has the requests to the drive, so LPNs are those of
zones. A write is at the write pointer of its zone, a TRIM is of a whole zone, a superblock has
pages of one zone and is erased after its reset; the drive copies nothing.

Report. `requests.warmup` counts the requests with the lowest ids; all numbers but
`requests.warmup` leave them out. Of a stopped run, whose log lacks some, ids count from 0.
`time.measured_from` (ns, default 0) opens the measured interval, `time.simulated` is its length; an
operation counts where it starts, the program of a copy-back with its read. With a warm-up but
without `time.measured_from` operations cannot be split, so totals are not checked (a note says so).
`waf.<cause>` = `flash.programs.<cause>` / `host.pages_written`, `waf.total` is their sum.
`gc.pages_dropped` counts copies that were read and never programmed; `gc.pages_in_flight` (default
0) copies read but not yet programmed when the run ended. `device.erase_*` are over all blocks, for
the erases in the measured interval; one that runs at either end of it may count or not.
`host.pages_trimmed` counts pages that were mapped, at most those of the trims.
`device.utilisation.chip[i]`, i = channel * chips + chip: share of the measured interval in which
some operation holds the chip; `.channel[]`: the same of the logged bus intervals, up to one
`timing.command_ns` per operation more; in the serial model, where the whole log has no bus
interval, of the operations of the channel. There, without read retries and slices, an operation
takes what `[timing]`, `[controller]` and `[interconnect]` of the resolved config say; `gc.path =
"selective"` has two times for programs of copies, and the shorter one starts when the read of its
page ends, where both are on one busy unit. In the pipelined model, the bus and array phases of an
operation are those of the resolved config, of its type of page, and of all pages programmed with
it; with `timing.partial` the sectors cross that the request asks for (`sector`, `sectors`; in
older logs any number of the first and the last page).
`controller.traversals.<cause>`: reads and programs that start in the measured interval, of copies
less `controller.pages_from_buffer`. Page slots are held from the start of a copy's read to the end
of its program. What starts in the instant in which a measurement does, after a warm-up, may count
or not.

Energy (`[energy]`): of all operations that start in the measured interval, cut ones included: the
array time of every page and block by itself, with the retries of reads, and the transfers of pages
without commands and SRAM. `metrics.tenants`: a program counts for the write or copy of its LPN that
has arrived last when it starts; for none before the first, or if it has no LPN of the host.

Whole reports (with `version`). A percentile is within 1/256 of the value of its rank, and null with
fewer than ten values beyond. A row of the series at T is the state before anything at T happens,
the last one that after everything. A page is used from the start of its program to the end of the
erase of its unit, a unit free until its first program. A job lasts from when its victim is chosen:
not after its first operation is queued, not before the job before it in its pool has ended. A
program of the host switches the map if no newer write of its LPN has arrived by its end. Lifetime
and wear over the life of the device follow where the log begins with a new device; elsewhere they
are held against each other. A mount takes its records (16 bytes, of owners 32, each 64 begun take
`power.nvram_time`), checkpoint pages, pages from the write buffer, scanned and compared pages, and
erases, one after the other, each on all units side by side.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
from pathlib import Path

if importlib.util.find_spec("zstandard") is None:
    sys.stderr.write("check_run: the zstandard package is missing: pip install zstandard\n")
    sys.exit(2)

from run_check.checks import Checks
from run_check.class_numbers import ClassNumbers
from run_check.comparisons import RunsFolder
from run_check.course import Course
from run_check.coverage import print_table
from run_check.exports import Exports
from run_check.flash_numbers import FlashNumbers
from run_check.host_numbers import HostNumbers
from run_check.inputs import Findings, Geometry, Report, UnreadableError
from run_check.latencies import check_requests
from run_check.operations import Operations
from run_check.owners import Owners
from run_check.owners_cuts import OwnersUnderCuts
from run_check.pages import PAGE, Page
from run_check.power import Power
from run_check.power_numbers import PowerNumbers
from run_check.queues import check_turns
from run_check.raid_numbers import RaidNumbers
from run_check.requests import Requests


def check(folder: Path, limit: int = 20) -> Findings:
    """Check the run in `folder`; return the violations, and what was compared."""
    findings = Findings(limit)
    if RunsFolder(folder, findings).check():
        return findings
    report = Report.read(folder)
    requests = Requests(folder, report, findings)
    geometry = Geometry.of(report)
    power = Power(folder, report, geometry, findings)
    owners: Owners | None = None
    if requests.copies and power.is_on:
        owners = OwnersUnderCuts(folder, report, findings)
        owners.prepare(requests)
    elif requests.copies:
        owners = Owners(folder, report, findings)
    operations = Operations(geometry, report, requests, findings, power, owners)
    operations.read(folder)
    operations.finish()
    check_requests(report, requests, findings)
    check_turns(report, requests, findings)
    if report.get("version") is not None:
        checks = Checks(report, findings)
        HostNumbers(checks, requests, operations).check()
        operations.slc.check(checks)
        operations.zones.check(checks)
        numbers = FlashNumbers(checks, requests, operations)
        numbers.check()
        PowerNumbers(checks, requests, operations).check()
        RaidNumbers(checks, requests, operations).check()
        operations.work.check(checks)
        ClassNumbers(checks, requests, operations).check(folder)
        Course(checks, requests, operations, numbers).check(folder)
        Exports(folder, report, requests, findings).check()
        if (folder / PAGE).exists():
            Page(folder, report, findings).check(requests)
    print(f"{operations.lines} operations, {requests.count} requests checked")
    return findings


def main(arguments: list[str] | None = None) -> int:
    """Run from the command line; return the exit code."""
    parser = argparse.ArgumentParser(description="Recompute a run's report from its logs.")
    parser.add_argument("folder", type=Path, nargs="?", help="folder of the run")
    parser.add_argument(
        "--coverage", action="store_true", help="print what is recomputed, by field"
    )
    parser.add_argument("--limit", type=int, default=20, help="lines printed for each rule")
    options = parser.parse_args(arguments)
    if options.coverage:
        print_table()
        return 0
    if options.folder is None:
        parser.error("the folder of a run, or --coverage")
    try:
        counts = check(options.folder, options.limit).counts
    except UnreadableError as error:
        print(f"unreadable: {error}", file=sys.stderr)
        return 2
    for rule, count in sorted(counts.items()):
        print(f"violated: {rule}, {count} times")
    return 1 if counts else 0


if __name__ == "__main__":
    sys.exit(main())
