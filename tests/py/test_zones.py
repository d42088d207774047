"""Zones: the commands of `Device.zones`, and what a run over zones reports."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path

import pytest

import ssdlab
from checking import LOGGED, Rows, change_log, violates
from ssdlab import _core
from test_check_numbers import ZONES

SMALL: dict[str, object] = {
    "preset": "zns",
    "device.blocks_per_plane": 32,
    "device.pages_per_block": 8,
    "device.over_provisioning": 0.3,
    "zns.open": 3,
    "zns.active": 4,
}


def device(**keys: object) -> ssdlab.Device:
    return ssdlab.Device(set={**SMALL, "run.mode": "timed", **keys})


def test_commands_change_the_zones() -> None:
    drive = device()
    zones = drive.zones
    assert len(zones) == 30  # a superblock each, less the reserve and one
    assert zones.pages == 4 * 4 * 2 * 8
    request, lpn = zones.append(3, pages=16)
    assert (request, lpn) == (0, 3 * zones.pages)
    assert zones[3] == ssdlab.Zone("implicitly opened", 16)
    assert list(drive.run_until_completion().id) == [0]
    assert zones.append(3)[1] == lpn + 16
    drive.run_until_idle()
    zones.open(4)
    zones.close(4)
    zones.finish(3)
    assert [zone.state for zone in zones[3:5]] == ["full", "closed"]
    number = zones.reset(3)
    assert zones[3] == ssdlab.Zone("empty", 0)
    assert list(drive.run_until_idle().id) == [number]
    assert drive.erases.sum() == 1
    drive.audit()
    report = drive.report()
    assert report.waf.total == 1
    assert report.zones is not None
    assert (report.zones.host_pages, report.zones.resets) == (17, 1)


def test_a_refused_command_has_its_status() -> None:
    zones = device().zones
    zones.append(0, 5)
    commands: dict[int, Callable[[], object]] = {
        0x00C: lambda: zones.reset(0),
        0x080: lambda: zones.open(30),
        0x1B8: lambda: zones.append(0, zones.pages),
        0x1BF: lambda: zones.offline(0),
        0x002: lambda: zones.append(0, 0),
    }
    for status, command in commands.items():
        with pytest.raises(ssdlab.ZoneError) as raised:
            command()
        assert raised.value.status == status
        assert pickle.loads(pickle.dumps(raised.value)).status == status
    zones.fail(2, "read-only")
    zones.offline(2)
    with pytest.raises(ssdlab.ZoneError, match=r"zone is offline \(status 1BBh\)"):
        zones.append(2)
    assert len(dict(_core.zone_statuses())) == 11


def test_reads_are_requests_and_writes_in_place_are_refused() -> None:
    drive = device()
    _, lpn = drive.zones.append(1, 4)
    drive.run_until_idle()
    drive.read(lpn, 8)
    drive.flush()
    assert len(drive.run_until_idle()) == 2
    commands: list[Callable[[], object]] = [lambda: drive.write(0), lambda: drive.trim(0, 8)]
    for refused in commands:
        with pytest.raises(ssdlab.WorkloadError, match="the device has zones: use zone"):
            refused()
    with pytest.raises(ssdlab.WorkloadError, match="leave out precondition"):
        device().precondition()
    with pytest.raises(ssdlab.WorkloadError, match="does not hold the states of zones"):
        drive.save("never.snapshot")
    with pytest.raises(ssdlab.WorkloadError, match="the device has no zones"):
        _ = ssdlab.Device("greedy-8ch").zones


def test_the_preset_copies_in_the_host_and_not_in_the_drive() -> None:
    report = ssdlab.run(set={**SMALL, "workload.requests": 20_000}, progress=False)
    assert report.completed
    assert report.waf.total == 1
    zones = report.zones
    assert zones is not None
    assert zones.host_pages == 20_000
    assert zones.copied_pages > 0
    assert zones.host_waf == (zones.host_pages + zones.copied_pages) / zones.host_pages
    assert report.host.pages_written == zones.host_pages + zones.copied_pages
    assert report.gc.pages_moved == 0
    assert report.flash.erases == zones.resets * 32


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"raid.group": 4}, "zones with parity groups are not modelled"),
        ({"slc.mode": "dynamic", "device.bits": 2}, "zones with SLC blocks are not modelled"),
        ({"zns.active": 65}, "expected"),
        ({"alloc.erase_unit": "block"}, "a zone consists of superblocks"),
        ({"device.over_provisioning": 0.01}, "do not fit into 30 zones"),
    ],
)
def test_what_is_refused_is_named(keys: dict[str, object], message: str) -> None:
    with pytest.raises(ssdlab.ConfigError, match=message):
        ssdlab.load_config(set={**SMALL, **keys})


def test_a_run_in_time_has_the_latencies_of_the_host() -> None:
    keys: dict[str, object] = {**SMALL, "run.mode": "timed", "workload.requests": 6000}
    keys |= {"workload.read": 0.3, "workload.warmup_requests": 1000}
    report = ssdlab.run(set=keys, progress=False)
    assert report.completed
    zones = report.zones
    assert zones is not None
    assert zones.latency is not None
    assert zones.latency.read.count + zones.latency.write.count == 5000
    assert zones.host_pages == zones.latency.write.count
    assert zones.copied_pages > 0
    assert report.host.pages_written == zones.host_pages + zones.copied_pages


def _a_page_is_of_another_zone(rows: Rows) -> None:
    program = next(row for row in rows[500:] if row["op"] == "program")
    program["lpn"] = str(int(program["lpn"]) % 100 + (int(program["lpn"]) < 1000) * 2000)


def _a_write_is_elsewhere(rows: Rows) -> None:
    write = [row for row in rows if row["op"] == "write"][200]
    write["lpn"] = str(int(write["lpn"]) + 1)


def _a_reset_is_missing(rows: Rows) -> None:
    rows.remove(next(row for row in rows if row["op"] == "trim"))


def _a_copy_of_the_drive(rows: Rows) -> None:
    next(row for row in rows if row["op"] == "program")["cause"] = "gc"


@pytest.mark.parametrize(
    ("log", "rule", "change"),
    [
        ("ops.csv.zst", "zone-of-unit", _a_page_is_of_another_zone),
        ("ops.csv.zst", "zone-copies", _a_copy_of_the_drive),
        ("requests.csv.zst", "zone-pointer", _a_write_is_elsewhere),
        ("requests.csv.zst", "zone-erase", _a_reset_is_missing),
    ],
)
def test_each_rule_of_zones_bites(
    log: str, rule: str, change: Callable[[Rows], None], tmp_path: Path
) -> None:
    folder = tmp_path / "zones"
    ssdlab.run(set={**LOGGED, **ZONES, "workload.requests": 1500}, out=folder, progress=False)
    change_log(folder, log, change)
    violates(folder, rule)
