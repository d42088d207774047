"""`ssdlab.Device`: requests in, completions and state out, and runs that start from it."""

import re
import threading

import numpy as np
import pytest

import ssdlab
from policies import GreedyByScore
from running import SMALL


def device(**more: object) -> ssdlab.Device:
    made = ssdlab.Device(
        set={**SMALL, **{key.replace("__", "."): value for key, value in more.items()}}
    )
    made.precondition(progress=False)
    return made


def sound(made: ssdlab.Device) -> None:
    """The arrays of the state agree with each other."""
    made.audit()
    mapping, pages = made.mapping, made.config["device.pages_per_block"]
    mapped = mapping[mapping >= 0]
    assert len(np.unique(mapped)) == len(mapped) == made.valid_pages.sum()
    by_block = np.bincount(mapped // pages, minlength=made.valid_pages.size)
    assert (by_block == made.valid_pages.ravel()).all()


# ---------------------------------------------------------------- requests


def test_requests_complete_with_the_parts_of_their_latency() -> None:
    made = device()
    assert made.now_ns == 0
    assert [made.write(0, 4), made.read(1), made.trim(2, 2), made.flush()] == [0, 1, 2, 3]
    assert made.outstanding == 4
    done = made.run_until_idle()
    assert made.outstanding == 0
    assert len(done) == 4
    assert sorted(done.op) == ["flush", "read", "trim", "write"]
    parts = (done.queue_ns, done.chip_ns, done.transfer_ns, done.gc_wait_ns, done.metadata_ns)
    data = np.isin(done.op, ["read", "write"])
    assert (np.sum(parts, axis=0)[data] == done.latency_ns[data]).all()
    assert (done.completion_ns - done.arrival_ns == done.latency_ns).all()
    # Four pages over two channels: two after each other on a bus, then programmed.
    assert done.latency_ns[done.op == "write"].tolist() == [2 * 12_300 + 750_000]
    # The read finds them on their way, the flush waits for them.
    assert done.latency_ns[done.op == "read"].tolist() == [0]
    assert done.latency_ns[done.op == "flush"].tolist() == [774_600]
    assert (made.mapping[2:4] == -1).all()
    assert len(made.run_until_idle()) == 0
    sound(made)


def test_arrays_of_requests_arrive_in_their_order() -> None:
    made = device()
    rng = np.random.default_rng(1)
    count, user = 3000, len(made.mapping)
    before = made.erases.sum()
    ops = np.where(rng.random(count) < 0.3, "read", "write")
    times = made.now_ns + np.cumsum(rng.integers(0, 200_000, count))
    numbers = made.submit(ops, rng.integers(0, user, count), 1, times)
    assert (numbers == np.arange(count)).all()
    done = made.run_until_idle()
    order = np.argsort(done.id)
    assert (done.arrival_ns[order] == times).all()
    assert (done.op[order] == ops).all()
    report = made.report()
    assert report.requests.completed == count
    assert report.latency.write.count == (ops == "write").sum()
    assert report.flash.erases == made.erases.sum() - before > 0
    assert made.free_blocks.sum() == report.device.free_blocks
    sound(made)


def test_the_state_is_handed_out_as_copies() -> None:
    made = device()
    assert made.valid_pages.shape == made.erases.shape == (4, 32)
    assert made.free_blocks.shape == (4,)
    for array in (made.valid_pages, made.erases, made.free_blocks, made.mapping):
        assert array.dtype == np.int64
        array[:] = 77
    sound(made)


def test_what_cannot_be_submitted_leaves_the_device_as_it_is() -> None:
    made = device()
    user = len(made.mapping)
    made.write(0, at_ns=100)
    for wrong, message in (
        (lambda: made.write(-1), "LPN -1"),
        (lambda: made.write(user), f"the device has LPN 0 to {user - 1}"),
        (lambda: made.read(user - 1, 2), "2 pages from LPN"),
        (lambda: made.write(0, 0), "0 pages; expected 1 to"),
        (lambda: made.write(0, 1 << 40), "expected 1 to"),
        (lambda: made.write(0, at_ns=99), "arrives at 99 ns; expected 100 or later"),
        (lambda: made.write(0, stream=256), "stream 256"),
        (lambda: made.submit("erase", 0), "no such operation: erase"),
        (lambda: made.submit("write", [0, user]), "request 1: "),
        (lambda: made.submit("write", [0, 1], [1, 2, 3]), "different lengths"),
        (lambda: made.submit("write", [0.5]), "whole numbers"),
        (lambda: made.submit("write", [[0, 1]]), "one dimension"),
    ):
        with pytest.raises(ssdlab.WorkloadError, match=re.escape(message)):
            wrong()
    assert made.outstanding == 1
    assert len(made.run_until_idle()) == 1


def test_a_device_that_is_stuck_says_so_with_its_report() -> None:
    class Wrong(ssdlab.policy.Victim):
        def select(self, view: ssdlab.policy.VictimView) -> int | None:
            raise LookupError(f"no idea of pool {view.pool}")

    other = ssdlab.Device(set=SMALL, victim=Wrong())
    with pytest.raises(ssdlab.RunError, match="no idea") as caught:
        other.precondition(progress=False)
    assert isinstance(caught.value.__cause__, LookupError)
    with pytest.raises(ssdlab.RunError, match="no idea"):
        other.run_until_idle()
    assert not caught.value.report.host.pages_written
    with pytest.raises(ssdlab.WorkloadError, match="cannot go on"):
        ssdlab.run(device=other, victim=Wrong(), progress=False)


def test_only_an_erased_device_is_preconditioned() -> None:
    made = device()
    with pytest.raises(ssdlab.WorkloadError, match="make a new one"):
        made.precondition()


def test_an_interrupted_precondition_leaves_the_device_erased() -> None:
    made = ssdlab.Device(set=SMALL)

    def stop(stage: str, done: int, total: int | None) -> None:
        assert (stage, done) == ("precondition", 0)
        assert total
        raise KeyboardInterrupt

    with pytest.raises(ssdlab.Interrupted) as caught:
        made.precondition(progress=stop)
    assert caught.value.report is None
    assert caught.value._render_traceback_() == ["Interrupted"]
    assert not made.valid_pages.any()
    made.precondition(progress=False)
    sound(made)


def test_no_requests_are_submitted_at_once() -> None:
    made = device()
    several: list[int] = []
    for pages in (several, 1):
        assert made.submit("write", several, pages).tolist() == []
    assert made.outstanding == 0


def test_another_thread_is_told_that_the_device_is_busy() -> None:
    made, said = ssdlab.Device(set=SMALL), list[str]()

    def intrude(stage: str, done: int, total: int | None) -> None:
        del stage, done, total

        def look() -> None:
            try:
                made.audit()
            except ssdlab.WorkloadError as error:
                said.append(str(error))

        thread = threading.Thread(target=look)
        thread.start()
        thread.join()

    made.precondition(progress=intrude)
    assert set(said) == {"the device is in use by another thread"}


# ---------------------------------------------------------------- runs, and policies


def test_runs_from_a_device_leave_it_and_repeat() -> None:
    made = device()
    before = made.mapping
    runs = [ssdlab.run(device=made, progress=False) for _ in range(2)]
    assert runs[0].provenance == runs[1].provenance
    assert runs[0].provenance.snapshot_digest
    assert (made.mapping == before).all()
    preconditioned = ssdlab.run(set=SMALL, progress=False)
    assert preconditioned.provenance.snapshot_digest is None
    assert preconditioned.provenance.event_digest == runs[0].provenance.event_digest
    other = ssdlab.run(device=made, set={"gc.victim": "fifo"}, progress=False)
    assert other.provenance.snapshot_digest == runs[0].provenance.snapshot_digest
    assert other.provenance.event_digest != runs[0].provenance.event_digest


def test_a_run_from_a_device_needs_its_shape_and_rest() -> None:
    made = device()
    with pytest.raises(ssdlab.ConfigError, match=r"device\.channels is 2 in the snapshot"):
        ssdlab.run(set={**SMALL, "device.channels": 4}, device=made, progress=False)
    made.write(0)
    with pytest.raises(ssdlab.WorkloadError, match=r"not at rest.*until it is idle"):
        ssdlab.run(device=made, progress=False)


def test_python_greedy_is_greedy_on_a_device() -> None:
    def worked(made: ssdlab.Device) -> ssdlab.Device:
        made.submit("write", np.random.default_rng(2).integers(0, len(made.mapping), 3000))
        made.run_until_idle()
        return made

    ours = ssdlab.Device(set=SMALL, victim=GreedyByScore())
    ours.precondition(progress=False)
    assert (worked(ours).mapping == worked(device()).mapping).all()
    assert ours.report().provenance.external_policies


def test_the_digest_of_a_lost_page_is_that_of_what_a_read_computes() -> None:
    keys = {
        "run.data": "digest",
        "device.channels": 4,
        "device.chips_per_channel": 1,
        "device.blocks_per_plane": 16,
        "device.pages_per_block": 8,
        "device.over_provisioning": 0.5,
        "raid.group": 4,
        "raid.fail": {"chip": 1, "at": "1 us"},
    }
    device = ssdlab.Device(set=keys)
    device.precondition(progress=False)
    before = [device.digest(lpn) for lpn in range(24)]
    device.write(200)
    device.run_until_idle()
    lost = [lpn for lpn in range(24) if device.mapping[lpn] < 0]
    assert lost
    assert None not in before
    assert [device.digest(lpn) for lpn in range(24)] == before
