"""Power cuts: `Device.power_cut` and `mount`, runs with cuts, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

import ssdlab

SMALL = {
    "device.channels": 2,
    "device.chips_per_channel": 1,
    "device.planes_per_chip": 1,
    "device.blocks_per_plane": 32,
    "device.pages_per_block": 32,
    "device.page_size": "4 KiB",
    "device.over_provisioning": 0.4,
    "precondition.overwrite": 0.5,
    "workload.size": "4 KiB",
}


def device(**keys: object) -> ssdlab.Device:
    """A small device whose power may be cut."""
    return ssdlab.Device(set=SMALL | {"power.cut": "on-request"} | keys)


def test_what_has_completed_is_there_after_a_cut_and_the_rest_is_lost() -> None:
    """Requests that had not completed are named, and the device goes on after the mount."""
    ssd = device()
    for lpn in range(8):
        ssd.write(lpn)
    done = ssd.run_until_idle()
    before = ssd.mapping[:8].tolist()
    assert len(done) == 8
    assert -1 not in before
    ssd.trim(3)
    ssd.run_until_idle()
    late = ssd.write(9)
    lost = ssd.power_cut(ssd.now_ns + 1000)
    assert lost.tolist() == [late]
    recovery = ssd.mount()
    assert recovery.torn_pages == 1
    assert recovery.requests == 1
    assert recovery.records == 1
    assert recovery.time > 0
    after = ssd.mapping[:10].tolist()
    assert after == [*before[:3], -1, *before[4:], -1, -1]
    ssd.audit()
    ssd.write(9)
    assert len(ssd.run_until_idle()) == 1
    power = ssd.report().power
    assert power is not None
    assert power.recoveries == (recovery,)


def test_a_volatile_buffer_loses_what_was_not_flushed_and_a_protected_one_nothing() -> None:
    """The same requests with both kinds of buffer."""
    for buffer, kept in (("volatile", 1), ("protected", 2)):
        ssd = device(**{"host.write_buffer_pages": 16, "power.buffer": buffer})
        ssd.write(0)
        ssd.flush()
        ssd.run_until_idle()
        ssd.write(1)
        ssd.run_until_idle()
        ssd.power_cut()
        assert ssd.mount().saved_pages == kept - 1
        ssd.flush()
        ssd.run_until_idle()
        assert (ssd.mapping[:2] >= 0).sum() == kept


def test_what_is_not_possible_is_refused() -> None:
    """Each refusal names the remedy."""
    plain = ssdlab.Device(set=SMALL)
    with pytest.raises(ssdlab.WorkloadError, match=r"power\.cut = .on-request"):
        plain.power_cut()
    ssd = device()
    ssd.write(0)
    ssd.run_until_idle()
    with pytest.raises(ssdlab.WorkloadError, match="in the past"):
        ssd.power_cut(1)
    with pytest.raises(ssdlab.WorkloadError, match="power is on"):
        ssd.mount()
    ssd.power_cut()
    for attempt in (lambda: ssd.write(0), ssd.run_until_idle, ssd.power_cut):
        with pytest.raises(ssdlab.WorkloadError, match="mount"):
            attempt()
    ssd.mount()
    assert ssd.run_until_idle().id.tolist() == []


def test_a_run_with_cuts_reports_every_recovery(tmp_path: Path) -> None:
    """It completes all requests, and its data are checked as in any run."""
    keys = {
        "power.cut": {"every": "60 ms"},
        "power.checkpoint": "512 KiB",
        "run.data": "digest",
        "workload.requests": 2000,
        "workload.trim": 0.1,
        "workload.read": 0.2,
        "metrics.op_log": True,
    }
    report = ssdlab.run(set=SMALL | keys, out=tmp_path / "first", progress=False)
    assert report.completed
    assert report.requests.submitted == report.requests.completed
    assert report.power is not None
    assert report.power.cuts == len(report.power.recoveries) > 3
    assert report.power.checkpoints > 0
    assert report.flash.programs.metadata > 0
    assert report.power.requests_repeated > 0
    assert f"power cuts      {report.power.cuts}; " in report.summary()
    assert "recovery" in report.summary()
    again = ssdlab.run(set=SMALL | keys, out=tmp_path / "second", progress=False)
    assert again.provenance.event_digest == report.provenance.event_digest


def test_a_cut_that_never_comes_is_warned_of() -> None:
    """The run ends before it."""
    run = SMALL | {"workload.requests": 1000}
    words = "power was not cut"
    for cut, warned in (
        ({"at": "1000 s"}, True),
        ({"every": "60 ms"}, False),
        ("on-request", False),
    ):
        report = ssdlab.run(set=run | {"power.cut": cut}, progress=False)
        assert any(words in warning for warning in report.warnings) == warned, cut
