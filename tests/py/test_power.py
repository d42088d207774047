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


def test_fua_and_preflush_decide_what_a_volatile_buffer_loses() -> None:
    """Of three acknowledged writes a cut leaves those that are durable, seen by their digests."""
    keys = {"host.write_buffer_pages": 16, "run.data": "digest"}
    for flags, kept in (({}, []), ({"fua": True}, [2]), ({"preflush": True}, [0, 1])):
        ssd = device(**keys)
        ssd.write(0)
        ssd.write(1)
        ssd.run_until_idle()
        ssd.write(2, **flags)
        ssd.run_until_idle()
        before = [ssd.digest(lpn) for lpn in range(4)]
        assert None not in before[:3]
        assert before[3] is None
        ssd.power_cut()
        ssd.mount()
        after = [ssd.digest(lpn) for lpn in range(4)]
        assert after == [digest if lpn in kept else None for lpn, digest in enumerate(before)]
    ssd.submit(["write", "write"], [5, 6], fua=True)
    ssd.run_until_idle()
    assert (ssd.mapping[5:7] >= 0).all()
    with pytest.raises(ssdlab.WorkloadError, match="fua and preflush are for writes"):
        ssd.submit(["write", "read"], [5, 6], fua=True)
    with pytest.raises(ssdlab.WorkloadError, match="LPN -1; the device has LPN 0 to"):
        ssd.digest(-1)
    with pytest.raises(ssdlab.WorkloadError, match=r'set run\.data = "digest"'):
        device().digest(0)


def test_between_a_cut_and_the_mount_there_is_no_state_to_look_at() -> None:
    """Each attempt names the remedy; time and erases are there."""
    ssd = device(**{"run.data": "digest"})
    for bad in (-5, 1.5, "1 s", 1 << 70):
        with pytest.raises(ssdlab.WorkloadError, match=r"in the past|at_ns: "):
            ssd.power_cut(bad)  # type: ignore[arg-type]
    ssd.write(0, 4)
    ssd.run_until_idle()
    ssd.power_cut()
    for attempt in (
        ssd.audit,
        lambda: ssd.mapping,
        lambda: ssd.valid_pages,
        lambda: ssd.free_blocks,
        lambda: ssd.digest(0),
        ssd.report,
    ):
        with pytest.raises(ssdlab.WorkloadError, match=r"power is off: mount\(\)"):
            attempt()
    assert ssd.now_ns > 0
    assert ssd.erases.sum() == 0
    ssd.mount()
    ssd.audit()
    assert (ssd.mapping[:4] >= 0).all()


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


def test_what_was_to_arrive_later_is_lost_with_its_time() -> None:
    """After a cut requests may arrive at once, though one was lost that was to arrive later."""
    ssd = device()
    late = ssd.write(20, at_ns=10**9)
    assert ssd.power_cut(100).tolist() == [late]
    ssd.mount()
    ssd.write(0)
    ssd.write(1, at_ns=ssd.now_ns + 10)
    done = ssd.run_until_idle()
    assert len(done) == 2
    assert ssd.now_ns < 10**9


def test_lost_requests_leave_no_pages_in_the_report() -> None:
    """Pages of writes and reads that a cut has ended count no more than their requests."""
    ssd = device()
    for lpn in range(4):
        ssd.write(lpn)
    ssd.run_until_idle()
    for lpn in range(80):
        ssd.write(100 + lpn, 2)
        ssd.read(lpn % 4)
    lost = ssd.power_cut(ssd.now_ns + 1000)
    ssd.mount()
    report = ssd.report()
    assert len(lost) == 160
    assert (report.requests.write, report.requests.read) == (4, 0)
    assert (report.host.pages_written, report.host.pages_read) == (4, 0)


def test_a_cut_forgets_no_measurement() -> None:
    """The lowest number of erased blocks stays the lowest."""
    ssd = device(**{"device.over_provisioning": 0.2})
    for _ in range(20):
        ssd.write(0, 64)
    ssd.run_until_idle()
    before = ssd.report().device.lowest_free_blocks
    ssd.power_cut()
    ssd.mount()
    assert ssd.report().device.lowest_free_blocks <= before


def test_a_mount_without_checkpoints_reads_no_page_twice() -> None:
    """Records of owners name pages that have just been read."""
    reads = []
    for copies in (0, 20):
        ssd = device(**{"remap.mode": "share", "precondition.fill": 0, "precondition.overwrite": 0})
        ssd.write(0, 40)
        ssd.run_until_idle()
        if copies:
            ssd.copy(100, 0, copies)
            ssd.run_until_idle()
        ssd.power_cut()
        reads.append(ssd.mount().reads)
    assert reads[0] == reads[1]


@pytest.mark.parametrize("mode", ["share", "copy"])
def test_checkpoints_count_a_copied_page_once(mode: str) -> None:
    """`power.checkpoint` is of bytes written or copied, whatever the device does for a copy."""
    ssd = device(
        **{
            "remap.mode": mode,
            "power.checkpoint": "1 MiB",
            "device.over_provisioning": 0.6,
            "precondition.fill": 0,
            "precondition.overwrite": 0,
        }
    )
    ssd.write(0, 16)
    ssd.run_until_idle()
    for number in range(1024):
        ssd.copy(20 + number % 200, number % 16)
        ssd.run_until_idle()
    power = ssd.report().power
    assert power is not None
    # 16 pages of 4 KiB are written and 1,024 copied: 4.06 MiB.
    assert power.checkpoints == 4
