"""The external checker on runs with power cuts: sound logs pass, and each rule bites."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

import ssdlab
from checking import LOGGED, Rows, change_log, checked, rows_of, violates

CUTS: dict[str, object] = {
    **LOGGED,
    "device.planes_per_chip": 1,
    "workload.requests": 1500,
    "workload.trim": 0.1,
    "power.cut": {"every": "80 ms"},
}
CHECKPOINT: dict[str, object] = {"power.checkpoint": "512 KiB"}
BUFFER: dict[str, object] = {"host.write_buffer_pages": 24, "workload.kind": "hot-cold"}
COPIES: dict[str, object] = {
    "remap.mode": "share",
    "workload.copy": 0.4,
    "workload.read": 0.3,
    "alloc.pool": "device",
}
TLC: dict[str, object] = {
    "device.bits": 3,
    "device.word_line": 6,
    "device.pages_per_block": 48,
    "timing.read_types": ["56.5 us", "77.5 us", "106 us"],
    "timing.program_types": ["300 us", "700 us", "1250 us"],
    "power.cut": {"every": "150 ms"},
}
CASES: dict[str, dict[str, object]] = {
    "every": {},
    "types": {**TLC, **CHECKPOINT},
    "types-serial": {**TLC, "timing.model": "serial", "timing.busy_unit": "plane"},
    "types-protected": {
        **TLC,
        **BUFFER,
        **CHECKPOINT,
        "power.buffer": "protected",
        "timing.partial": True,
        "timing.sram": "3 us",
        "device.page_size": "16 KiB",
    },
    "types-copies": {**COPIES, **TLC, **CHECKPOINT},
    "energy": {
        **CHECKPOINT,
        "energy.read": "82.5 mW",
        "energy.program": "60 mW",
        "energy.bus": "31.25 mW",
        "metrics.tenants": True,
    },
    "random-checkpoints": {"power.cut": {"random": "40 ms"}, **CHECKPOINT},
    "in-a-mount": {"power.cut": {"at": ["30 ms", "31 ms", "33 ms", "200 ms"]}},
    "serial": {"timing.model": "serial", "timing.sram": "12 us", **CHECKPOINT},
    "copyback-wear": {"gc.path": "copyback", "wear.static_threshold": 2, **CHECKPOINT},
    "buffer": BUFFER,
    "buffer-protected": {**BUFFER, **CHECKPOINT, "power.buffer": "protected"},
    "multi-plane": {
        "device.planes_per_chip": 2,
        "timing.multi_plane": True,
        "alloc.placement": "round-robin",
        "alloc.pool": "chip",
    },
    "superblock": {
        "device.over_provisioning": 0.7,
        "alloc.placement": "round-robin",
        "alloc.pool": "device",
        "alloc.erase_unit": "superblock",
        "power.cut": {"every": "300 ms"},
    },
    "copies": {**COPIES, **CHECKPOINT},
    "copies-random": {**COPIES, "power.cut": {"random": "40 ms"}, "run.data": "digest"},
    "copies-programmed": {**COPIES, "remap.mode": "copy", "workload.trim": 0.3},
    "copies-buffer": {**COPIES, "host.write_buffer_pages": 24, "workload.trim": 0.3},
    "copies-protected": {
        **COPIES,
        **CHECKPOINT,
        "host.write_buffer_pages": 24,
        "power.buffer": "protected",
        "host.queue_depth": 64,
    },
    "copies-copyback": {
        **COPIES,
        "gc.path": "copyback",
        "alloc.pool": "plane",
        "device.over_provisioning": 0.6,
    },
    "copies-programmed-deep": {
        **COPIES,
        "remap.mode": "copy",
        "workload.size": "32 KiB",
        "host.queue_depth": 64,
        "power.cut": {"at": ["1 ms", "2 ms", "30 ms"]},
        "device.over_provisioning": 0.5,
    },
    "checkpoints-of-many-sizes": {
        **CHECKPOINT,
        "workload.size": "32 KiB",
        "workload.trim": 0.3,
        "device.over_provisioning": 0.6,
        "precondition.overwrite": 1,
        "host.mode": "open",
        "power.cut": {"every": "150 ms"},
    },
    "no-trims": {"workload.trim": 0, "workload.read": 0.5, "run.data": "digest"},
}


PARITY: dict[str, object] = {"raid.group": 4, **CHECKPOINT}
SPARE: dict[str, object] = {"raid.spares": 1}
REDIRECTED: dict[str, object] = {
    **PARITY,
    "raid.group": 2,
    "raid.redirect": "deferred-gc",
    "gc.trigger": {"policy": "on-demand", "soft": 6, "by": "any", "idle": True},
    "gc.blocking": "plane",
    "timing.model": "serial",
    "timing.sram": "12 us",
}
PARITY_CASES: dict[str, dict[str, object]] = {
    "parity": PARITY,
    "failure": {**PARITY, "raid.fail": {"chip": 2, "at": "170 ms"}, "raid.spares": 1},
    "during-a-mount": {
        **PARITY,
        "raid.fail": {"chip": 1, "at": "161 ms"},
        "raid.spares": 1,
        "power.cut": {"at": ["30 ms", "160 ms", "300 ms"]},
    },
    "redirected": REDIRECTED,
    "redirected-failure": {**REDIRECTED, "raid.fail": {"chip": 1, "at": "170 ms"}, **SPARE},
}


@pytest.mark.parametrize("case", PARITY_CASES)
def test_logs_of_parity_groups_with_cuts_give_the_report(case: str, tmp_path: Path) -> None:
    settings = {**CUTS, **PARITY_CASES[case]}
    report = ssdlab.run(set=settings, out=tmp_path / "a", progress=False)
    assert report.power is not None
    assert any(recovery.updates_undone > 0 for recovery in report.power.recoveries)
    assert all(recovery.checkpoint_programs > 0 for recovery in report.power.recoveries)
    checked(tmp_path / "a")


@pytest.mark.parametrize("case", CASES)
def test_logs_with_cuts_give_the_report(case: str, tmp_path: Path) -> None:
    report = ssdlab.run(set={**CUTS, **CASES[case]}, out=tmp_path / "a", progress=False)
    assert report.power is not None
    assert report.power.cuts > 2
    assert len(rows_of(tmp_path / "a", "power.csv.zst")) > report.power.cuts
    checked(tmp_path / "a")


@pytest.mark.parametrize(
    "settings",
    [
        {"power.cut": "on-request", "host.queue_depth": 64},
        {"power.cut": "never", "workload.warmup_requests": 100},
    ],
)
def test_logs_of_copies_without_a_cut(settings: dict[str, object], tmp_path: Path) -> None:
    """A device prepared for cuts keeps data where a cut would find them; a warm-up counts apart."""
    ssdlab.run(set={**CUTS, **COPIES, **settings}, out=tmp_path / "a", progress=False)
    checked(tmp_path / "a")


def test_a_copy_back_of_another_owner_counts_with_its_read(tmp_path: Path) -> None:
    """The page of a copy-back is bound as its read starts, whichever owner it carries."""
    settings = {**CUTS, **CASES["copies-copyback"], "metrics.interval": "50 us"}
    ssdlab.run(set=settings, out=tmp_path / "a", progress=False)
    rows = rows_of(tmp_path / "a", "ops.csv.zst")
    copies = [row for row in rows if row["cause"] == "gc" and row["op"] in ("read", "program")]
    reads = {
        (row["channel"], row["chip"], row["plane"], row["end"]): row["lpn"]
        for row in copies
        if row["op"] == "read"
    }
    changed_owners = [
        row
        for row in copies
        if row["op"] == "program"
        and reads.get((row["channel"], row["chip"], row["plane"], row["start"])) != row["lpn"]
    ]
    assert changed_owners
    checked(tmp_path / "a")


def _flushed(folder: Path) -> dict[str, object]:
    """Writes, FUA writes, flushes, and writes with a flush before them, 5 us apart."""
    chance, lines = random.Random(7), []
    for number in range(1500):
        kind = chance.choice(["W"] * 12 + ["R", "WF", "FW", "FF", "D"])
        first = 0 if kind == "FF" else 8 * chance.randrange(400)
        length = 0 if kind == "FF" else 8 * chance.randrange(1, 4)
        time = 5e-6 * number
        lines.append(f"8,0 0 {number} {time:.9f} 1 Q {kind} {first} + {length} [x]\n")
    trace = folder / "trace.txt"
    trace.write_text("".join(lines))
    keys = {"workload.trace": str(trace), "workload.format": "block-event", "host.mode": "open"}
    return {**CUTS, **BUFFER, **keys, "power.cut": {"every": "25 ms"}}


def test_logs_with_flushes_and_cuts(tmp_path: Path) -> None:
    settings = {key: value for key, value in _flushed(tmp_path).items() if key != "workload.kind"}
    ssdlab.run(set=settings, out=tmp_path / "a", progress=False)
    asked = {row["durability"] for row in rows_of(tmp_path / "a", "requests.csv.zst")}
    assert asked == {"", "fua", "preflush"}
    checked(tmp_path / "a")


def _cut_off(rows: Rows, kind: str) -> dict[str, str]:
    return next(row for row in rows if (row["op"], row["outcome"]) == (kind, "cut"))


def _cut_off_operation_ends(rows: Rows) -> None:
    row = _cut_off(rows, "program")
    row["outcome"], row["end"] = "ended", str(int(row["end"]) + 1000)


def _operation_runs_without_power(rows: Rows) -> None:
    cut = int(_cut_off(rows, "program")["end"])
    row = next(row for row in rows if int(row["start"]) > cut)
    row["start"] = row["queued"] = str(cut + 1)


def _torn_page_is_read(rows: Rows) -> None:
    torn = _cut_off(rows, "program")
    later = rows[rows.index(torn) + 1 :]
    read = next(
        row for row in later if row["op"] == "read" and int(row["start"]) > int(torn["end"])
    )
    for column in ("channel", "chip", "plane", "block", "page", "lpn", "sequence"):
        read[column] = torn[column]


def _acknowledged_program_is_torn(rows: Rows) -> None:
    # Of a request that had completed before the cut.
    cut = int(_cut_off(rows, "program")["end"])
    cut_off = {row["request"] for row in rows if row["outcome"] == "cut"}
    before = [row for row in rows if row["cause"] == "host" and int(row["end"]) < cut]
    programs = [row for row in before if row["op"] == "program" and row["request"] not in cut_off]
    programs[-40]["outcome"], programs[-40]["end"] = "cut", str(cut)


def _closed_block_is_programmed(rows: Rows) -> None:
    torn = next(
        row
        for row in rows
        if (row["op"], row["outcome"]) == ("program", "cut") and int(row["page"]) < 14
    )
    later = rows[rows.index(torn) + 1 :]
    programs = [row for row in later if row["op"] == "program"]
    row = next(row for row in programs if int(row["start"]) > int(torn["end"]))
    for column in ("channel", "chip", "plane", "block"):
        row[column] = torn[column]
    row["page"] = str(int(torn["page"]) + 1)


@pytest.mark.parametrize(
    ("rule", "change"),
    [
        ("cut-off", _cut_off_operation_ends),
        ("power-off", _operation_runs_without_power),
        ("torn-read", _torn_page_is_read),
        ("durable", _acknowledged_program_is_torn),
        ("erase-before-program", _closed_block_is_programmed),
    ],
)
def test_each_rule_of_cuts_bites(rule: str, change: Callable[[Rows], None], tmp_path: Path) -> None:
    ssdlab.run(set={**CUTS, "workload.trim": 0}, out=tmp_path / "a", progress=False)
    change_log(tmp_path / "a", "ops.csv.zst", change)
    violates(tmp_path / "a", rule)


def _parities_are_torn(rows: Rows) -> None:
    # All of the updates whose data the failed chip took along.
    cut = sorted({int(row["end"]) for row in rows if row["outcome"] == "cut"})[2]
    for row in rows:
        if row["cause"] == "parity" and 170_000_000 < int(row["end"]) < cut:
            row["outcome"], row["end"] = "cut", str(cut)


def test_what_is_durable_can_be_computed_where_a_chip_fails(tmp_path: Path) -> None:
    settings = {**CUTS, **PARITY_CASES["failure"], "workload.trim": 0}
    ssdlab.run(set=settings, out=tmp_path / "a", progress=False)
    change_log(tmp_path / "a", "ops.csv.zst", _parities_are_torn)
    violates(tmp_path / "a", "durable")


def test_a_program_that_is_torn_loses_owners(tmp_path: Path) -> None:
    settings = {**CUTS, **COPIES, "workload.trim": 0}
    ssdlab.run(set=settings, out=tmp_path / "a", progress=False)
    change_log(tmp_path / "a", "ops.csv.zst", _acknowledged_program_is_torn)
    violates(tmp_path / "a", "durable")


def _copies_have_other_sources(rows: Rows) -> None:
    for row in [row for row in rows if row["op"] == "copy"]:
        first, count = row["sources"].split("+")
        row["sources"] = f"{int(first) // 2}+{count}"


def test_copies_are_replayed_over_cuts(tmp_path: Path) -> None:
    ssdlab.run(set={**CUTS, **COPIES}, out=tmp_path / "a", progress=False)
    change_log(tmp_path / "a", "requests.csv.zst", _copies_have_other_sources)
    violates(tmp_path / "a", "read-owner")


def _erase_is_not_repeated(rows: Rows) -> None:
    rows.remove(next(row for row in rows if row["event"] == "erase"))


def _a_page_is_not_read(rows: Rows) -> None:
    row = next(row for row in rows if row["event"] == "scan")
    row["pages"] = str(int(row["pages"]) - 1)


def _pages_are_of_another_type(rows: Rows) -> None:
    for row in rows:
        if row["event"] == "scan":
            first, second, third = (int(count) for count in row["types"].split(";"))
            row["types"] = f"{first - 1};{second};{third + 1}"


def _a_checkpoint_has_another_type(rows: Rows) -> None:
    row = next(row for row in rows if row["event"] == "checkpoint")
    row["types"] = f"0;{row['pages']};0"


def _a_page_has_no_type(rows: Rows) -> None:
    row = next(row for row in rows if row["event"] == "scan")
    first, second, third = (int(count) for count in row["types"].split(";"))
    row["types"] = f"{first - 1};{second};{third}"


@pytest.mark.parametrize(
    ("rule", "change"),
    [
        ("mount-reads", _pages_are_of_another_type),
        ("mount-time", _pages_are_of_another_type),
        ("mount-types", _a_checkpoint_has_another_type),
        ("mount-types", _a_page_has_no_type),
    ],
)
def test_each_rule_of_types_bites(
    rule: str, change: Callable[[Rows], None], tmp_path: Path
) -> None:
    ssdlab.run(set={**CUTS, **TLC, **CHECKPOINT}, out=tmp_path / "a", progress=False)
    change_log(tmp_path / "a", "power.csv.zst", change)
    violates(tmp_path / "a", rule)


def _a_cut_is_missing(rows: Rows) -> None:
    rows.remove(next(row for row in rows if row["event"] == "cut"))


@pytest.mark.parametrize(
    ("rule", "change"),
    [
        ("interrupted-erase", _erase_is_not_repeated),
        ("mount-reads", _a_page_is_not_read),
        ("cut-order", _a_cut_is_missing),
    ],
)
def test_each_rule_of_mounts_bites(
    rule: str, change: Callable[[Rows], None], tmp_path: Path
) -> None:
    ssdlab.run(set={**CUTS, **CHECKPOINT}, out=tmp_path / "a", progress=False)
    change_log(tmp_path / "a", "power.csv.zst", change)
    violates(tmp_path / "a", rule)


def test_a_flush_makes_what_was_written_before_it_durable(tmp_path: Path) -> None:
    def ask(rows: Rows) -> None:
        for row in rows:
            if row["op"] == "write":
                row["durability"] = "fua"

    settings = {**CUTS, **BUFFER, "workload.trim": 0}
    ssdlab.run(set=settings, out=tmp_path / "a", progress=False)
    change_log(tmp_path / "a", "requests.csv.zst", ask)
    violates(tmp_path / "a", "durable")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(40))
def test_logs_of_many_runs_with_cuts(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    case = list(CASES)[seed % len(CASES)]
    unit = "chip" if case == "multi-plane" else chance.choice(["chip", "plane"])
    settings = {
        **CUTS,
        **CASES[case],
        "run.seed": seed,
        "workload.requests": 5000,
        "workload.trim": chance.choice([0, 0.05, 0.4]),
        "workload.read": chance.choice([0.1, 0.5]),
        "host.queue_depth": chance.choice([1, 8, 64]),
        "timing.busy_unit": unit,
        "power.cut": chance.choice([{"every": "400 ms"}, {"random": "300 ms"}]),
        "power.checkpoint": chance.choice(["0 B", "256 KiB", "2 MiB"]),
    }
    ssdlab.run(set=settings, out=tmp_path / "a", progress=False)
    checked(tmp_path / "a")
