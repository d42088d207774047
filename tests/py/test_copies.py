"""Copies through `ssdlab.Device`: pages shared, pages copied, and what is refused."""

import subprocess
import sys
from pathlib import Path

import pytest

import ssdlab
from running import ROOT, SMALL, refused, sets, ssdlab_command

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


def test_the_answers_of_five_papers_work_in_one_drive(tmp_path: Path) -> None:
    settings = {
        "workload.requests": 6000,
        "workload.warmup_requests": 0,
        "run.data": "digest",
    }
    report = ssdlab.run(
        ROOT / "examples/five-answers.toml", set=settings, out=tmp_path / "a", progress=False
    )
    remap, raid = report.remap, report.raid
    assert remap is not None
    assert raid is not None
    assert report.gc.calls > 50
    assert report.controller is not None
    assert min(remap.shared, remap.copied_chip) > 100
    assert remap.copied == remap.copied_chip
    assert min(raid.redirected, raid.deferred_gcs) > 0
    assert report.controller.pages_from_buffer > 0


def test_they_survive_cuts_and_a_failed_chip(tmp_path: Path) -> None:
    settings = {
        "workload.requests": 6000,
        "workload.warmup_requests": 0,
        "run.data": "digest",
        "power.cut": {"every": "37 ms"},
        "raid.fail": {"chip": 3, "at": "300 ms"},
        "raid.spares": 1,
    }
    report = ssdlab.run(
        ROOT / "examples/five-answers.toml", set=settings, out=tmp_path / "a", progress=False
    )
    remap, raid, power = report.remap, report.raid, report.power
    assert remap is not None
    assert raid is not None
    assert power is not None
    assert raid.failure is not None
    assert power.cuts > 40
    assert sum(recovery.updates_undone for recovery in power.recoveries) > 0
    # The rebuild goes on, cut after cut.
    assert raid.failure.pages_lost > 1000
    assert raid.failure.pages_left < raid.failure.pages_lost - 500
    assert min(remap.shared, remap.copied_chip) > 100
    assert min(raid.redirected, raid.deferred_gcs) > 0


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


def test_copies_come_by_submit_with_other_requests() -> None:
    one, two = device("share"), device("share")
    for ssd in (one, two):
        ssd.write(0, 8)
        ssd.run_until_idle()
    numbers = one.submit(["copy", "trim", "copy"], [100, 2, 40], [4, 1, 2], sources=[0, 0, 100])
    assert numbers.tolist() == [1, 2, 3]
    assert sorted(one.run_until_idle().op) == ["copy", "copy", "trim"]
    two.copy(100, 0, 4)
    two.trim(2)
    two.copy(40, 100, 2)
    two.run_until_idle()
    assert one.mapping.tolist() == two.mapping.tolist()
    assert one.mapping[40] == one.mapping[100] == one.mapping[0] >= 0


def test_copies_by_submit_are_refused_with_all_others() -> None:
    one = device("share")
    with pytest.raises(ssdlab.WorkloadError, match="give the first page of each as sources"):
        one.submit("copy", 0)
    with pytest.raises(ssdlab.WorkloadError, match=r"request 1: a copy of .* which overlap"):
        one.submit(["write", "copy"], [0, 4], [1, 4], sources=[0, 2])
    with pytest.raises(ssdlab.WorkloadError, match=r"set remap\.mode"):
        device("off").submit(["write", "copy"], [0, 4], sources=8)
    assert one.outstanding == 0


@pytest.mark.parametrize("sources", ["ab", [(0, 1, 2)], [(0, "x")], 1.5, [(1 << 70, 1)], None])
def test_what_is_no_source_is_refused_as_a_workload(sources: object) -> None:
    with pytest.raises(ssdlab.WorkloadError, match=r"^sources: "):
        device("share").copy(10, sources)  # type: ignore[arg-type]


def test_a_copy_is_no_longer_than_the_nvram_has_room_for_records(tmp_path: Path) -> None:
    settings = {**EMPTY, "remap.mode": "share", "power.cut": "on-request", "power.nvram": "64 B"}
    one = ssdlab.Device(set=settings)
    with pytest.raises(ssdlab.WorkloadError, match=r'or set power\.nvram = "96 B" or more'):
        one.copy(10, 0, 3)
    one.copy(10, 0, 2)
    one.run_until_idle()
    keys = {"workload.copy": 0.5, "workload.size": "64 KiB"}
    done = ssdlab_command("run", "greedy-8ch", *sets({**settings, **keys}), "--quiet", cwd=tmp_path)
    refused(done, 2, "power.nvram", "workload.size")


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


def test_a_device_without_power_refuses_copies_as_it_does_writes() -> None:
    settings = {**EMPTY, "remap.mode": "share", "power.cut": "on-request"}
    one = ssdlab.Device(set=settings)
    one.write(0, 4)
    one.run_until_idle()
    one.power_cut()
    with pytest.raises(ssdlab.WorkloadError, match="mount"):
        one.copy(8, 0, 4)
    one.mount()
    one.copy(8, 0, 4)
    one.run_until_idle()
    assert one.report().remap is not None
    assert one.outstanding == 0


def test_owners_from_a_snapshot_survive_power_cuts(tmp_path: Path) -> None:
    """A page that was overwritten before it was shared must not return, nor the sharing be lost."""
    settings = {**EMPTY, "remap.mode": "share", "power.cut": "on-request"}
    one = ssdlab.Device(set=settings)
    one.write(0, 16)
    one.run_until_idle()
    one.write(0, 8)
    one.run_until_idle()
    one.copy(0, 12, 4)
    one.copy(40, 0, 8)
    one.run_until_idle()
    one.power_cut()
    one.mount()
    before = list(one.mapping)
    one.save(tmp_path / "a.ssdsnap")
    again = ssdlab.Device.load(tmp_path / "a.ssdsnap", set=settings)
    for _ in range(3):
        again.power_cut()
        again.mount()
        assert list(again.mapping) == before
    again.audit()
    power = again.report().power
    assert power is not None
    assert power.cuts == 3


# Block-event text: two pages from one place and one from another, then a chain.
TRACE = """\
8,0 0 1 0.000000001 0 Q W 0 + 64 [x]
8,0 0 2 0.010000000 0 Q RC 0 + 16 [x]
8,0 0 3 0.010000000 0 Q RC 32 + 8 [x]
8,0 0 4 0.010000000 0 Q WC 800 + 24 [x]
8,0 0 5 0.020000000 0 Q RC 800 + 8 [x]
8,0 0 6 0.020000000 0 Q WC 1600 + 8 [x]
8,0 0 7 0.030000000 0 Q R 1600 + 8 [x]
"""


def test_a_trace_with_copies_is_replayed_as_by_a_device(tmp_path: Path) -> None:
    (tmp_path / "a.trace").write_text(TRACE)
    one = device("share")
    one.write(0, 8)
    one.run_until_idle()
    one.copy(100, [(0, 2), (4, 1)])
    one.run_until_idle()
    one.copy(200, 100, 1)
    one.run_until_idle()
    expected = one.report()
    ssdlab.Trace(tmp_path / "a.trace").convert(tmp_path / "b.ssdtrace")
    for name in ("a.trace", "b.ssdtrace"):
        trace = {"workload.trace": str(tmp_path / name), "workload.kind": "trace"}
        settings = {key: value for key, value in EMPTY.items() if "workload" not in key}
        logs = {"metrics.op_log": True, "metrics.request_log": True, "run.data": "digest"}
        ran = ssdlab.run(
            set={**settings, **trace, **logs, "remap.mode": "share"},
            out=tmp_path / f"run-{name}",
            progress=False,
        )
        assert (ran.requests.submitted, ran.requests.completed) == (4, 4)
        assert ran.remap is not None
        assert expected.remap is not None
        assert ran.remap.commands == expected.remap.commands == 2
        assert ran.remap.pages_by_owners == expected.remap.pages_by_owners
        assert "copies          2; 4 pages shared" in ran.summary()
        tool = [sys.executable, str(ROOT / "tools/check_run.py"), str(tmp_path / f"run-{name}")]
        done = subprocess.run(tool, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout
        info = ssdlab.Trace(tmp_path / name).info()
        assert (info.requests, info.copies, info.bytes_copied) == (4, 2, 4 * 4096)
        table = ssdlab_command("trace", "info", name, cwd=tmp_path).stdout
        assert "copies" in table


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ("RC 0 + 16|WC 8 + 16", "which overlap"),
        ("RC 4 + 8|WC 80 + 8", "copies are of whole pages"),
        ("RC 800000 + 8|WC 80 + 8", "addresses on the device"),
        ("RC 0 + 8|WC 800000 + 8", "addresses on the device"),
        ("RC 0 + 8", "has sources and no destination"),
        ("WC 0 + 8", "a copy of 0 sectors to 8"),
        ("RC 0 + 8|W 80 + 8", "has sources and no destination"),
    ],
)
def test_what_is_no_copy_in_a_trace_is_refused(lines: str, says: str, tmp_path: Path) -> None:
    text = "".join(
        f"8,0 0 {number} 0.{number:09} 0 Q {line} [x]\n"
        for number, line in enumerate(lines.split("|"), 1)
    )
    (tmp_path / "a.trace").write_text(text)
    settings = {key: value for key, value in EMPTY.items() if "workload" not in key}
    done = ssdlab_command(
        *(
            "run",
            "greedy-8ch",
            "--trace",
            "a.trace",
            *sets({**settings, "remap.mode": "share"}),
            "--quiet",
        ),
        cwd=tmp_path,
    )
    refused(done, 2, "a.trace", says)


def test_a_device_that_refuses_copies_names_the_remedy_for_a_trace(tmp_path: Path) -> None:
    (tmp_path / "a.trace").write_text(TRACE)
    settings = {key: value for key, value in EMPTY.items() if "workload" not in key}
    done = ssdlab_command(
        "run", "greedy-8ch", "--trace", "a.trace", *sets(settings), "--quiet", cwd=tmp_path
    )
    refused(done, 2, "a.trace: 2 copies", 'set remap.mode = "share" or "copy"')


def test_the_page_shows_copies_and_power_cuts(tmp_path: Path) -> None:
    settings: dict[str, object] = {
        **POOL,
        "remap.mode": "share",
        "workload.copy": 0.3,
        "workload.trim": 0.1,
        "power.cut": {"every": "200 ms"},
        "power.checkpoint": "1 MiB",
        "device.over_provisioning": 0.6,
    }
    report = ssdlab.run(set=settings, out=tmp_path / "a", progress=False)
    assert report.power is not None
    assert report.remap is not None
    page = (tmp_path / "a/report.html").read_text()
    for text in ("Copies", "Pages by owners, at the end", "Power cuts", "Recoveries"):
        assert f">{text}<" in page
    summary = report.summary()
    assert "copies          " in summary
    assert "  owners        " in summary
    assert "  records       " in summary
    power = report.power
    assert power.owner_records > 0
    assert power.live_record_bytes + power.stale_record_bytes <= power.nvram_peak
    assert power.live_records > 0


@pytest.mark.parametrize("mode", ["share", "copy"])
def test_copies_that_are_repeated_after_cuts_count_once(mode: str, tmp_path: Path) -> None:
    settings: dict[str, object] = {
        **POOL,
        "remap.mode": mode,
        "workload.copy": 0.5,
        "workload.trim": 0.3,
        "workload.requests": 2000,
        "workload.size": "4 KiB",
        "host.queue_depth": 64,
        "power.nvram_time": "1 ms" if mode == "share" else "500 ns",
        "power.cut": {"every": "20 ms" if mode == "share" else "60 ms"},
        "device.over_provisioning": 0.6,
    }
    report = ssdlab.run(set=settings, out=tmp_path / "a", progress=False)
    remap, power = report.remap, report.power
    assert remap is not None
    assert power is not None
    assert power.requests_repeated > 400
    pages = remap.shared + remap.copied + remap.unmapped
    # Some are replaced while they wait for their source, or to be read.
    assert 0.9 * remap.commands < pages <= remap.commands
    if mode == "copy":
        # A copy that a cut ends has been programmed all the same.
        assert remap.copied <= report.flash.programs.remap
    # Every TRIM counts the pages that it unmapped when it first arrived.
    assert report.host.pages_trimmed <= report.requests.trim


def test_a_copy_of_a_copy_under_way_shares_the_page_of_its_source() -> None:
    one = device("copy")
    one.write(0)
    one.run_until_idle()
    one.copy(10, 0)
    one.copy(20, 10)
    one.write(10)
    one.run_until_idle()
    one.audit()
    report = one.report()
    assert report.remap is not None
    # The page at 10 has been replaced before it was read: its copy is neither read nor programmed.
    assert (report.remap.copied, report.remap.waited) == (1, 0)
    assert report.flash.reads.remap == report.flash.programs.remap == 1
    assert -1 not in one.mapping[[0, 10, 20]]


def test_a_list_of_ranges_says_how_long_a_copy_is() -> None:
    with pytest.raises(ssdlab.WorkloadError, match="pages: a list of ranges says"):
        device("share").copy(10, [(0, 2)], pages=7)


def test_dedup_leaves_equal_sources_of_a_copy(tmp_path: Path) -> None:
    lines = ["RC 0 + 8", "RC 0 + 8", "WC 80 + 16", "W 160 + 8", "W 160 + 8"]
    text = "".join(
        f"8,0 0 {number} 0.{number:09} 0 Q {line} [x]\n" for number, line in enumerate(lines, 1)
    )
    (tmp_path / "a.trace").write_text(text)
    settings: dict[str, object] = {**EMPTY, "remap.mode": "share", "workload.dedup": True}
    settings = {key: value for key, value in settings.items() if key != "workload.kind"}
    report = ssdlab.run(trace=tmp_path / "a.trace", set=settings, progress=False)
    assert report.remap is not None
    assert (report.remap.commands, report.requests.write) == (1, 1)


def test_a_snapshot_says_that_it_needs_a_device_that_remaps(tmp_path: Path) -> None:
    one = device("share")
    one.write(0, 16)
    one.run_until_idle()
    one.copy(32, 0, 16)
    one.copy(64, 0, 4)
    one.run_until_idle()
    one.save(tmp_path / "a.ssdsnap")
    assert ssdlab.snapshot_info(tmp_path / "a.ssdsnap").extra_owners == 20
    said = ssdlab_command("snapshot", "info", "a.ssdsnap", cwd=tmp_path).stdout
    assert '"share" or "copy"' in said
