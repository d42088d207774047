"""How long a drive lasts: what is extrapolated, and drives that were run to their end."""

from __future__ import annotations

import pytest

import ssdlab
from ssdlab.errors import RunError

DRIVE = {
    "run.mode": "functional",
    "device.channels": 2,
    "device.chips_per_channel": 2,
    "device.blocks_per_plane": 128,
    "device.pages_per_block": 32,
    "device.over_provisioning": 0.25,
    "gc.trigger": {"policy": "free-blocks", "soft": 4},
    "precondition.fill": 1.0,
    "wear.endurance": 300,
}


def run(requests: int, **keys: object) -> ssdlab.Report:
    """A run, to its end or to that of the drive."""
    warmup = {"workload.requests": requests, "workload.warmup_requests": 50_000}
    values = {**DRIVE, **warmup, **{key.replace("__", "."): v for key, v in keys.items()}}
    try:
        return ssdlab.run("greedy-8ch", set=values, progress=False)
    except RunError as worn_out:
        return worn_out.report


@pytest.mark.parametrize("kind", ["uniform", "hot-cold"])
@pytest.mark.parametrize("spread", [0.0, 0.2])
def test_a_drive_ends_about_where_its_beginning_said(kind: str, spread: float) -> None:
    keys = {"workload__kind": kind, "wear__endurance_spread": spread}
    told = run(150_000, **keys).lifetime
    assert told is not None
    assert told.bytes_written is not None
    assert told.first_block_bytes is not None
    whole = run(10**9, **keys)
    ended = whole.wear.host_bytes_written
    assert not whole.completed
    assert whole.wear.worn_out_blocks > 0
    assert 0.98 * ended < told.bytes_written < 1.08 * ended
    assert told.first_block_bytes <= told.bytes_written
    assert whole.lifetime is not None
    # At the end nothing is left to extrapolate.
    assert whole.lifetime.first_block_bytes == whole.wear.host_bytes_written


def test_days_and_drive_writes_follow_from_the_bytes() -> None:
    daily = {"wear__daily_writes": "20 GB", "wear__warranty_years": 3}
    report = run(150_000, **daily)
    life = report.lifetime
    assert life is not None
    assert life.daily_writes == 20e9
    assert life.bytes_written is not None
    assert life.days == pytest.approx(life.bytes_written / 20e9)
    capacity = report.config["device.user_pages"] * report.config["device.page_bytes"]
    assert life.drive_writes_per_day == pytest.approx(life.bytes_written / capacity / 3 / 365)
    assert "drive writes a day for 3" in report.summary()
    # Without time there is no rate; with it, it is that of the measurement.
    assert run(150_000).lifetime.days is None  # type: ignore[union-attr]
    timed = run(60_000, run__mode="timed")
    assert timed.lifetime is not None
    assert timed.host.write_bytes_per_s is not None
    assert timed.lifetime.daily_writes == pytest.approx(86_400 * timed.host.write_bytes_per_s)


def test_drives_that_do_not_wear_out_have_no_lifetime() -> None:
    assert run(60_000, wear__endurance=0).lifetime is None
    with pytest.raises(ssdlab.ConfigError, match=r"wear\.endurance"):
        ssdlab.load_config(set={"wear.daily_writes": "20 GB"})
    with pytest.raises(ssdlab.ConfigError, match="size"):
        ssdlab.load_config(set={"wear.endurance": 10, "wear.daily_writes": "often"})
