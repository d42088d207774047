"""Copies through `ssdlab.Device`: pages shared, pages copied, and what is refused."""

from pathlib import Path

import pytest

import ssdlab
from running import SMALL

POOL: dict[str, object] = {**SMALL, "alloc.pool": "device"}
EMPTY: dict[str, object] = {**POOL, "precondition.fill": 0, "precondition.overwrite": 0}


def device(mode: str) -> ssdlab.Device:
    return ssdlab.Device(set={**EMPTY, "remap.mode": mode})


@pytest.mark.parametrize("mode", ["share", "copy"])
def test_a_copy_shares_or_copies(mode: str) -> None:
    one = device(mode)
    one.write(0, 8)
    one.run_until_idle()
    number = one.copy(100, [(2, 3), (0, 1), (40, 1)])
    done = one.run_until_idle()
    assert (list(done.id), list(done.op), list(done.pages)) == ([number], ["copy"], [5])
    one.audit()
    shared = one.mapping[[100, 101, 102, 103, 104]] == one.mapping[[2, 3, 4, 0, 40]]
    assert list(shared) == ([True] * 5 if mode == "share" else [False] * 4 + [True])
    remap = one.report().remap
    assert remap is not None
    copied = remap.copied if mode == "copy" else remap.shared
    assert (copied, remap.unmapped, remap.commands) == (4, 1, 1)
    assert list(remap.pages_by_owners) == ([4, 4] if mode == "share" else [12])
    assert remap.extra_owners == (4 if mode == "share" else 0)
    flash = one.report().flash
    assert flash.programs.remap == (4 if mode == "copy" else 0)
    # One owner leaves, the other stays.
    one.trim(2)
    one.write(3)
    one.run_until_idle()
    one.audit()
    assert one.mapping[100] >= 0
    assert one.mapping[2] == -1


def test_a_snapshot_keeps_shared_pages(tmp_path: Path) -> None:
    one = device("share")
    one.write(0, 16)
    one.run_until_idle()
    one.copy(32, 0, 16)
    one.run_until_idle()
    one.save(tmp_path / "a.ssdsnap")
    settings = {**EMPTY, "remap.mode": "share"}
    again = ssdlab.Device.load(tmp_path / "a.ssdsnap", set=settings)
    assert list(again.mapping) == list(one.mapping)
    again.audit()
    with pytest.raises(ssdlab.ConfigError, match=r"set remap\.mode = \"share\" or \"copy\""):
        ssdlab.Device.load(tmp_path / "a.ssdsnap", set=EMPTY)


@pytest.mark.parametrize(
    ("mode", "to", "sources", "says"),
    [
        ("off", 0, [(8, 1)], 'set remap.mode = "share" or "copy"'),
        ("share", 0, [], "without source ranges"),
        ("share", 0, [(2, 0)], "0 pages; expected 1 to"),
        ("share", 0, [(1 << 30, 1)], "the device has LPN 0 to"),
        ("share", 4, [(0, 5)], "which overlap: copy to another place"),
    ],
)
def test_bad_copies_are_refused(
    mode: str, to: int, sources: list[tuple[int, int]], says: str
) -> None:
    one = device(mode)
    with pytest.raises(ssdlab.WorkloadError, match=says.replace("(", r"\(")):
        one.copy(to, sources)
    assert one.outstanding == 0


def test_copies_do_not_come_by_submit() -> None:
    with pytest.raises(ssdlab.WorkloadError, match="no such operation: copy"):
        device("share").submit("copy", 0)


def test_a_workload_copies_the_same_with_and_without_time() -> None:
    settings: dict[str, object] = {
        **POOL,
        "remap.mode": "share",
        "workload.copy": 0.5,
        "workload.requests": 3000,
        "host.queue_depth": 1,
    }
    timed = ssdlab.run(set=settings, progress=False)
    without = ssdlab.run(set={**settings, "run.mode": "functional"}, progress=False)
    assert timed.remap is not None
    assert without.remap is not None
    assert timed.remap.commands == without.remap.commands > 1000
    assert timed.remap.pages_by_owners == without.remap.pages_by_owners
    assert timed.remap.shared == without.remap.shared
