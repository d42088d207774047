"""Logged runs are recomputed from the outside by `tools/check_run.py`, which shares no code."""

from collections.abc import Callable
from pathlib import Path

import pytest

import ssdlab
from checking import LOGGED, Rows, change_log, checked, violates
from running import ROOT

SERIAL: dict[str, object] = {"timing.model": "serial", "timing.sram": "12 us"}
WIDE: dict[str, object] = {
    "alloc.placement": "round-robin",
    "alloc.pool": "device",
    "device.over_provisioning": 0.6,
}
SUPERBLOCK: dict[str, object] = {**WIDE, "alloc.erase_unit": "superblock"}
MULTI: dict[str, object] = {
    "timing.multi_plane": True,
    "alloc.placement": "round-robin",
    "alloc.pool": "chip",
}
OPEN: dict[str, object] = {
    "host.mode": "open",
    "workload.arrival": {"kind": "poisson", "interval": "1500 us"},
}
SEPARATED: dict[str, object] = {
    "device.blocks_per_plane": 64,
    "device.over_provisioning": 0.4,
    "workload.kind": "zipf",
}
BUFFER: dict[str, object] = {
    "host.write_buffer_pages": 64,
    "workload.kind": "hot-cold",
    "workload.read": 0.3,
}
RAID: dict[str, object] = {
    "device.planes_per_chip": 1,
    "raid.group": 4,
    "gc.trigger": {"policy": "on-demand", "soft": 5, "idle": True},
    "workload.read": 0.2,
}
REDIRECT: dict[str, object] = {
    **RAID,
    **SERIAL,
    "raid.group": 2,
    "raid.redirect": {"policy": "deferred-gc", "foreign": 0.02},
    "gc.blocking": "plane",
    "workload.trim": 0,
}
PARTIAL: dict[str, object] = {
    "timing.partial": True,
    "device.page_size": "16 KiB",
    "workload.requests": 2500,
}
TLC: dict[str, object] = {
    "device.bits": 3,
    "device.pages_per_block": 48,
    "timing.read_types": ["56.5 us", "77.5 us", "106 us"],
    "timing.program_types": ["820.5 us", "2225 us", "5734 us"],
}
SLC: dict[str, object] = {
    **TLC,
    "slc.mode": "hybrid",
    "slc.static": "2 MiB",
    "slc.share": 0.5,
}
ZONES: dict[str, object] = {
    **SUPERBLOCK,
    "host.interface": "zns",
    "zns.open": 3,
    "zns.active": 4,
}
ENERGY: dict[str, object] = {
    "energy.read": "82.5 mW",
    "energy.program": "82.5 mW",
    "energy.erase": "82.5 mW",
    "energy.bus": "31.25 mW",
    "energy.idle": "1.2 W",
    "metrics.tenants": True,
}
COPIES: dict[str, object] = {
    "remap.mode": "share",
    "workload.copy": 0.4,
    "workload.read": 0.3,
    "alloc.pool": "device",
}
SHARED_IN_GROUPS: dict[str, object] = {
    "remap.mode": "share",
    "workload.copy": 0.4,
    "workload.read": 0.3,
    "device.over_provisioning": 0.6,
}
NOC: dict[str, object] = {
    **SERIAL,
    "timing.busy_unit": "channel",
    "alloc.pool": "channel",
    "interconnect.model": "formula",
    "interconnect.flit_bits": 100,
    "gc.path": "selective",
    "sched.order": "fifo",
    "controller.ecc_time": "3 us",
    "controller.buffers": 1,
    "controller.page_error_probability": 0.2,
}


def blocking(scope: str, granularity: str) -> dict[str, object]:
    return {"gc.blocking": {"scope": scope, "granularity": granularity}}


CASES: dict[str, dict[str, object]] = {
    "pipelined": {},
    **{
        f"serial-{unit}": {**SERIAL, "timing.busy_unit": unit}
        for unit in ("channel", "chip", "plane")
    },
    **{
        f"pipelined-{unit}": {"timing.busy_unit": unit, "timing.command": "300 ns"}
        for unit in ("chip", "plane")
    },
    "pipelined-no-transfer": {"timing.transfer": "0 ns", "timing.command": "300 ns"},
    "multi-plane": {**MULTI, "gc.window": 4},
    "multi-plane-one-frontier": {**MULTI, "alloc.frontiers": "single"},
    "copyback": {"gc.path": "copyback"},
    "copyback-plane": {"gc.path": "copyback", "timing.busy_unit": "plane", "gc.window": 2},
    "copyback-serial": {"gc.path": "copyback", **SERIAL},
    "superblock": SUPERBLOCK,
    "superblock-serial": {**SUPERBLOCK, **SERIAL},
    "superblock-window": {**SUPERBLOCK, "gc.window": 8, "gc.victim": "cost-benefit"},
    "block-device": blocking("device", "job"),
    "block-channel": blocking("channel", "job"),
    "block-plane-step": blocking("plane", "step"),
    "block-block": blocking("block", "job"),
    "block-block-page": blocking("block", "page"),
    "block-serial-device": {**blocking("device", "step"), **SERIAL},
    "streams": {"alloc.frontiers": "streams:4", "device.over_provisioning": 0.7},
    "one-frontier": {"alloc.frontiers": "single"},
    "trims": {"workload.trim": 0.4, "workload.read": 0.2},
    "partial-pages": {"device.page_size": "16 KiB", "workload.requests": 2500},
    "open": OPEN,
    "open-limited": {**OPEN, "host.max_outstanding": 4},
    "warm-up": {"workload.warmup_requests": 700},
    "one-chip-of-each": {"gc.concurrency": {"policy": "fixed", "k": 1}, "gc.victim": "fifo"},
    "half": {"gc.concurrency": "half", "gc.victim": {"policy": "d-choices", "d": 3}},
    "used-space": {"gc.trigger": {"policy": "used-space", "at": 0.9}, "gc.victim": "list-order"},
    "rates": {
        "gc.victim": {"policy": "invalidation-rate", "ratio": 0.2, "fully_invalid": "immediate"},
        "gc.concurrency": {"policy": "fixed", "k": 1},
    },
    "adaptive": {
        "gc.concurrency": {"policy": "adaptive", "theta1": 0.9, "theta2": 0.99},
        "gc.trigger": "idle",
        **OPEN,
    },
    "gc-first": {"sched.order": "gc-first", "gc.victim": "random"},
    "read-first": {"sched.order": "read-first", "gc.window": 4},
    "fifo-least-busy": {"sched.order": "fifo", "alloc.placement": "least-busy"},
    "all-candidates": {"gc.amount": "all-candidates", "gc.victim": "windowed-greedy"},
    "one": {"gc.amount": "one", "gc.victim": "cost-age-times", "alloc.pool": "channel"},
    "ecc": {"controller.ecc_time": "40 us", "gc.window": 2, "alloc.pool": "chip"},
    "digests": {"run.data": "digest"},
    "skewed": {"workload.kind": "hot-cold", "host.think_time": "30 us", "host.queue_depth": 3},
    "sepbit": {**SEPARATED, "alloc.separation": "sepbit", "gc.victim": "cost-benefit"},
    "dac-pools": {**SEPARATED, "alloc.separation": "dac", "alloc.pool": "chip"},
    "buffer": BUFFER,
    "buffer-partial-pages": {**BUFFER, "device.page_size": "16 KiB", "workload.requests": 2500},
    "buffer-of-one": {**BUFFER, "host.write_buffer_pages": 1, "timing.busy_unit": "plane"},
    "buffer-full": {**BUFFER, "host.write_buffer_threshold": 1.0, "workload.warmup_requests": 500},
    "link": {"host.link_rate": "60 MB/s", "host.link_duplex": "half"},
    "link-and-buffer": {**BUFFER, **SERIAL, "host.link_rate": "200 MB/s", "run.data": "digest"},
    "firmware": {"controller.firmware_p50": "9 us", "controller.firmware_p99": "250 us"},
    "firmware-constant": {
        **BUFFER,
        "host.link_rate": "200 MB/s",
        "controller.firmware_p50": "12 us",
        "controller.firmware_p99": "12 us",
    },
    "retries": {"controller.retry_probability": 0.2, "controller.host_ecc_time": "10 us"},
    "suspended": {"timing.suspend": "both", "sched.order": "read-first"},
    "suspended-planes": {
        "timing.suspend": "both",
        "timing.multi_plane": True,
        "alloc.placement": "round-robin",
        "alloc.pool": "chip",
        "timing.suspend_limit": 2,
    },
    "suspended-erases-of-a-buffer": {
        **BUFFER,
        "timing.suspend": "erase",
        "timing.suspend_time": "0 ns",
    },
    "energy": {**ENERGY, "workload.warmup_requests": 200},
    "energy-serial": {**ENERGY, **SERIAL, "wear.static_threshold": 2},
    "energy-of-planes": {**ENERGY, **MULTI, **TLC, "gc.window": 4},
    "energy-of-parts": {**ENERGY, **BUFFER, **PARTIAL},
    "energy-copied-back": {**ENERGY, "gc.path": "copyback"},
    "energy-of-retries": {**ENERGY, **TLC, "controller.retry_probability": 0.3},
    "energy-of-parity": {**ENERGY, **RAID},
    "energy-of-copies": {**ENERGY, **COPIES, "remap.mode": "copy"},
    "partial-transfers": PARTIAL,
    "partial-transfers-of-a-buffer": {**BUFFER, **PARTIAL, "timing.suspend": "both"},
    "partial-transfers-of-parity": {
        **RAID,
        **PARTIAL,
        "raid.reads": "reconstruct-if-busy",
        "workload.read": 0.6,
    },
    "types": TLC,
    "types-of-planes": {**TLC, **MULTI, "timing.suspend": "both", "device.word_line": 6},
    "types-of-superblocks": {**TLC, **SUPERBLOCK, "timing.partial": True},
    "types-serial": {**TLC, **SERIAL},
    "types-selective": {**TLC, **NOC},
    "types-copied-back": {**TLC, "gc.path": "copyback", "controller.retry_probability": 0.2},
    "types-of-parity": {**TLC, **REDIRECT, "device.pages_per_block": 24},
    "slc": SLC,
    "slc-idle": {
        **SLC,
        "slc.fold": "idle",
        "slc.idle": "2 ms",
        "workload.arrival": {"kind": "bursty", "rate": "1500 per s", "burst": 40, "pause": "40 ms"},
        "host.mode": "open",
    },
    "slc-static-waits": {
        **TLC,
        "slc.mode": "static",
        "slc.static": "3 MiB",
        "slc.full": "wait",
    },
    "slc-copied-back": {**SLC, "slc.path": "copyback", "gc.window": 3, "workload.trim": 0.2},
    "slc-planes": {**SLC, **MULTI, "timing.suspend": "both"},
    "slc-superblocks": {**SLC, **SUPERBLOCK, "slc.share": 0.3},
    "slc-serial": {**SLC, **SERIAL},
    "slc-wears": {**SLC, "wear.endurance": 30, "slc.endurance": 90, "wear.static_threshold": 2},
    "zones": ZONES,
    "zones-of-chips": {**ZONES, **OPEN, "alloc.pool": "chip", "zns.units": 2, "gc.window": 3},
    "selective": NOC,
    "selective-planes": {**NOC, "timing.busy_unit": "plane", "gc.window": 4},
    "selective-device": {**NOC, "alloc.pool": "device", "alloc.placement": "round-robin"},
    "selective-slices": {**NOC, "interconnect.model": "slices", "workload.warmup_requests": 300},
    "selective-wear": {**NOC, "wear.static_threshold": 2, "interconnect.rounding": "1 us"},
    "selective-without": {key: value for key, value in NOC.items() if "interconnect" not in key},
    "conventional": {**NOC, "gc.path": "controller", "controller.traversals_host": 0},
    "crossing-in-part": {**NOC, "device.page_size": "16 KiB"},
    "crossing-parity": {
        **NOC,
        **RAID,
        "raid.fail": {"chip": 2, "at": "10 ms"},
        "raid.spares": 1,
        "interconnect.model": "slices",
        "alloc.pool": "plane",
        "timing.busy_unit": "chip",
    },
    "crossing-copies": {**NOC, **COPIES, "remap.mode": "copy"},
    "buffers": {"controller.buffers": 2, "gc.window": 4},
    "parity": RAID,
    "parity-kept": {**RAID, "raid.read_buffer_pages": 40, "run.data": "digest"},
    "parity-planes": {**RAID, "device.planes_per_chip": 2, "raid.update": "reconstruct"},
    "parity-link": {**RAID, **SERIAL, "host.link_rate": "90 MB/s", "workload.trim": 0.3},
    "parity-buffer": {**RAID, "host.write_buffer_pages": 40},
    "parity-buffer-link": {
        **RAID,
        **SERIAL,
        "host.write_buffer_pages": 7,
        "host.link_rate": "90 MB/s",
        "workload.trim": 0.2,
    },
    "parity-buffer-failed": {
        **RAID,
        "host.write_buffer_pages": 30,
        "raid.fail": {"chip": 2, "at": "10 ms"},
        "raid.spares": 1,
    },
    "parity-open": {**RAID, **OPEN, "wear.static_threshold": 2, "raid.update": "read-modify"},
    "parity-busy": {**RAID, "raid.reads": "reconstruct-if-busy", "workload.read": 0.6},
    "parity-queues": {
        **RAID,
        "raid.reads": "shortest-queue",
        "workload.read": 0.6,
        "host.queue_depth": 32,
    },
    "parity-queues-rebuilt": {
        **RAID,
        "raid.reads": "shortest-queue",
        "raid.fail": {"chip": 2, "at": "10 ms"},
        "raid.spares": 1,
        "sched.order": "read-first",
    },
    "parity-failed": {**RAID, "raid.fail": {"chip": 1, "at": "20 ms"}},
    "parity-rebuilt": {
        **RAID,
        "raid.fail": {"chip": 2, "at": "10 ms"},
        "raid.spares": 1,
        "run.data": "digest",
    },
    "parity-rebuilt-slowly": {
        **RAID,
        **SERIAL,
        "device.planes_per_chip": 2,
        "raid.fail": [{"chip": 0, "at": "5 ms"}, {"chip": 3, "at": "6 s"}],
        "raid.spares": 2,
        "raid.rebuild_rate": "20 MB/s",
        "raid.rebuild_window": 2,
        "workload.trim": 0,
    },
    "redirected-rebuilt": {
        **REDIRECT,
        "raid.fail": {"chip": 1, "at": "20 ms"},
        "raid.spares": 1,
        "raid.reads": "reconstruct-if-busy",
    },
    "redirected-without-spare": {
        **REDIRECT,
        "raid.fail": {"chip": 1, "at": "9 ms"},
        "host.queue_depth": 16,
        "run.seed": 6,
        "workload.read": 0.1,
        "workload.requests": 1500,
    },
    "parity-copies": {**RAID, **SHARED_IN_GROUPS, "run.data": "digest"},
    "parity-copies-copied": {
        **RAID,
        **SHARED_IN_GROUPS,
        "remap.mode": "copy",
        "raid.read_buffer_pages": 40,
        "workload.trim": 0,
    },
    "parity-copies-merged": {
        **RAID,
        **SHARED_IN_GROUPS,
        "raid.merge": True,
        "host.queue_depth": 64,
        "workload.warmup_requests": 400,
    },
    "parity-copies-rebuilt": {
        **RAID,
        **SHARED_IN_GROUPS,
        "raid.fail": {"chip": 2, "at": "10 ms"},
        "raid.spares": 1,
        "run.data": "digest",
    },
    "redirected-copies": {**REDIRECT, **SHARED_IN_GROUPS},
    "redirected": REDIRECT,
    "redirected-bursts": {**REDIRECT, **OPEN, "workload.warmup_requests": 300},
    "copies-shared": COPIES,
    "copies-copied": {**COPIES, "remap.mode": "copy", "host.queue_depth": 32},
    "copies-copyback": {
        **COPIES,
        "gc.path": "copyback",
        "host.queue_depth": 64,
        "alloc.pool": "plane",
        "device.over_provisioning": 0.6,
    },
    "copies-levelled": {**COPIES, **SERIAL, "wear.static_threshold": 2, "run.data": "digest"},
    "copies-buffer": {**COPIES, "host.write_buffer_pages": 32, "host.link_rate": "90 MB/s"},
    "copyback-wear": {"gc.path": "copyback", "wear.static_threshold": 2},
    "copyback-warm-up": {
        "gc.path": "copyback",
        "timing.busy_unit": "plane",
        "gc.window": 2,
        "workload.warmup_requests": 714,
        "workload.requests": 1200,
    },
    "nothing-written-before": {"precondition.fill": 0, "precondition.overwrite": 0},
}


LONG = (
    *("multi-plane", "copyback-plane", "copyback-wear", "superblock-serial", "superblock-window"),
    *("half", "one", "skewed", "buffer-of-one", "partial-transfers-of-parity", "types-of-planes"),
    *("types-of-superblocks", "types-selective", "types-of-parity", "selective", "conventional"),
    *("selective-planes", "selective-device", "selective-without", "parity-link", "parity-buffer"),
    *("parity-open", "parity-busy", "parity-rebuilt-slowly", "copies-copied", "copies-levelled"),
    "nothing-written-before",
)
"""Where a count of the report would still be zero after half of the requests."""


@pytest.mark.parametrize("case", CASES)
def test_logs_give_the_report(case: str, tmp_path: Path) -> None:
    folder = tmp_path / case
    settings = {"workload.requests": 4000 if case in LONG else 2000, **CASES[case]}
    report = ssdlab.run(set={**LOGGED, **settings}, out=folder, progress=False)
    assert report.gc.calls > 0 or case == "nothing-written-before"
    checked(folder)


def _first(rows: Rows, kind: str, cause: str) -> dict[str, str]:
    return next(row for row in rows if (row["op"], row["cause"]) == (kind, cause))


def _parity_is_missing(rows: Rows) -> None:
    rows.remove(_first(rows, "program", "parity"))


def _parity_goes_before_its_reads(rows: Rows) -> None:
    read = _first(rows, "read", "rmw")
    read["end"] = str(int(read["end"]) + 10**9)


def _data_count_as_parity(rows: Rows) -> None:
    _first(rows, "program", "host")["cause"] = "parity"


def _two_pages_are_on_one_chip(rows: Rows) -> None:
    # Of the group that is written last nothing is written any more.
    parity = [row for row in rows if row["op"] == "program" and row["cause"] == "parity"][-1]
    for row in rows:
        if row["op"] == "program" and row["request"] == parity["request"]:
            row["channel"], row["chip"] = "0", "0"


@pytest.mark.parametrize(
    ("rule", "change"),
    [
        ("parity-once", _parity_is_missing),
        ("parity-order", _parity_goes_before_its_reads),
        ("parity-lpn", _data_count_as_parity),
        ("parity-chips", _two_pages_are_on_one_chip),
    ],
)
def test_each_rule_of_parity_bites(
    rule: str, change: Callable[[Rows], None], tmp_path: Path
) -> None:
    settings = {**LOGGED, **RAID, "workload.trim": 0, "workload.requests": 600}
    ssdlab.run(set=settings, out=tmp_path / "a", progress=False)
    change_log(tmp_path / "a", "ops.csv.zst", change)
    violates(tmp_path / "a", rule)


@pytest.mark.parametrize(
    ("rule", "change"),
    [
        ("parity-once", _parity_is_missing),
        ("parity-order", _parity_goes_before_its_reads),
        ("parity-lpn", _data_count_as_parity),
    ],
)
def test_rules_of_parity_bite_behind_a_write_buffer(
    rule: str, change: Callable[[Rows], None], tmp_path: Path
) -> None:
    # Writes alone: no read of the host fetches what the buffer lacks.
    few = {"workload.trim": 0, "workload.read": 0, "workload.requests": 600}
    settings = {**LOGGED, **RAID, **few, "host.write_buffer_pages": 40}
    ssdlab.run(set=settings, out=tmp_path / "a", progress=False)
    change_log(tmp_path / "a", "ops.csv.zst", change)
    violates(tmp_path / "a", rule)


def _copies_have_other_sources(rows: Rows) -> None:
    for row in [row for row in rows if row["op"] == "copy"][:200]:
        first, count = row["sources"].split("+")
        row["sources"] = f"{int(first) // 2}+{count}"


def _a_copy_lacks_a_source(rows: Rows) -> None:
    next(row for row in rows if row["op"] == "copy")["sources"] = ""


def _pages_are_erased_that_others_own(rows: Rows) -> None:
    # The writes that would have replaced them never came.
    for row in [row for row in rows if row["op"] == "write"][:500]:
        row["op"] = "flush"


@pytest.mark.parametrize(
    ("rule", "change"),
    [
        ("read-owner", _copies_have_other_sources),
        ("copy-sources", _a_copy_lacks_a_source),
        ("erase-owned", _pages_are_erased_that_others_own),
    ],
)
def test_each_rule_of_owners_bites(
    rule: str, change: Callable[[Rows], None], tmp_path: Path
) -> None:
    ssdlab.run(set={**LOGGED, **COPIES}, out=tmp_path / "a", progress=False)
    change_log(tmp_path / "a", "requests.csv.zst", change)
    violates(tmp_path / "a", rule)


def _sources_are_read_late(rows: Rows) -> None:
    read = _first(rows, "read", "remap")
    read["end"] = str(int(read["end"]) + 10**9)


def _a_copied_page_is_not_programmed(rows: Rows) -> None:
    rows.remove(_first(rows, "program", "remap"))


def _copied_pages_are_on_one_chip(rows: Rows) -> None:
    for row in rows:
        if (row["op"], row["cause"]) == ("program", "remap"):
            row["channel"], row["chip"] = "0", "0"


@pytest.mark.parametrize(
    ("rule", "change"),
    [
        ("parity-order", _sources_are_read_late),
        ("owners", _a_copied_page_is_not_programmed),
        ("parity-chips", _copied_pages_are_on_one_chip),
    ],
)
def test_each_rule_of_copies_in_groups_bites(
    rule: str, change: Callable[[Rows], None], tmp_path: Path
) -> None:
    ssdlab.run(set={**LOGGED, **RAID, **SHARED_IN_GROUPS}, out=tmp_path / "a", progress=False)
    change_log(tmp_path / "a", "ops.csv.zst", change)
    violates(tmp_path / "a", rule)


def test_logs_of_a_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    logs = {"metrics.op_log": True, "metrics.request_log": True}
    for case in ("trace", "serial-channel", "pipelined-planes", "copyback", "superblock"):
        config = f"tests/golden/{case}/config.toml"
        ssdlab.run(config, set=logs, out=tmp_path / case, progress=False)
        checked(tmp_path / case)


def test_logs_of_a_run_that_was_stopped(tmp_path: Path) -> None:
    def stop(stage: str, done: int, _: int | None) -> None:
        if stage == "workload" and done:
            raise KeyboardInterrupt

    settings = {**LOGGED, "workload.requests": 1 << 30}
    with pytest.raises(ssdlab.Interrupted):
        ssdlab.run(set=settings, out=tmp_path / "a", progress=stop)
    checked(tmp_path / "a")


FEW_PAGES: dict[str, object] = {
    **LOGGED,
    **RAID,
    "device.channels": 4,
    "device.chips_per_channel": 1,
    "device.blocks_per_plane": 20,
    "device.over_provisioning": 0.4,
    "precondition.overwrite": 0,
    "workload.format": "disksim",
    "raid.spares": 1,
}


def test_logs_of_a_run_that_ends_during_a_rebuild(tmp_path: Path) -> None:
    (tmp_path / "one.disksim").write_text("5.000 0 0 8 1\n")
    keys = {
        "workload.trace": str(tmp_path / "one.disksim"),
        "raid.fail": {"chip": 3, "at": "1 ms"},
    }
    report = ssdlab.run(set={**FEW_PAGES, **keys}, out=tmp_path / "a", progress=False)
    assert report.raid is not None
    assert report.raid.failure is not None
    assert report.raid.failure.pages_left > 0
    checked(tmp_path / "a")


def test_logs_of_a_run_that_has_lost_data(tmp_path: Path) -> None:
    (tmp_path / "one.disksim").write_text("5.000 0 0 8 1\n")
    fails = [{"chip": 3, "at": "1 ms"}, {"chip": 1, "at": "2 ms"}]
    settings = {"workload.trace": str(tmp_path / "one.disksim"), "raid.fail": fails}
    with pytest.raises(ssdlab.RunError, match="lost"):
        ssdlab.run(set={**FEW_PAGES, **settings}, out=tmp_path / "a", progress=False)
    checked(tmp_path / "a")


def test_logs_of_a_warm_up_that_does_not_end(tmp_path: Path) -> None:
    fails = [{"chip": 1, "at": "20 ms"}, {"chip": 2, "at": "100 ms"}]
    keys = {"raid.spares": 1, "raid.fail": fails, "workload.warmup_requests": 40}
    with pytest.raises(ssdlab.RunError, match="lost"):
        ssdlab.run(set={**LOGGED, **RAID, **OPEN, **keys}, out=tmp_path / "a", progress=False)
    checked(tmp_path / "a")
