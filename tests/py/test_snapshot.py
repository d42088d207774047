"""Snapshots in files: one preconditioned device for many runs, and what is refused."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import ssdlab
from policies import GreedyByScore
from running import (
    SMALL,
    SMALL_TOML,
    nothing_left,
    refused,
    report_of,
    sets,
    signalled_at,
    ssdlab_command,
)

FROM = ("--set", "precondition.snapshot=a.snap")


@pytest.fixture
def made(tmp_path: Path) -> Path:
    (tmp_path / "small.toml").write_text(SMALL_TOML)
    done = ssdlab_command("snapshot", "make", "small.toml", "--out", "a.snap", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr == "snapshot in a.snap\n"
    nothing_left(tmp_path, "small.toml", "a.snap")
    return tmp_path


# ---------------------------------------------------------------- what they are for


def test_a_snapshot_is_named_while_it_is_read(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    named: list[str] = []

    @contextmanager
    def shown(name: str, progress: bool) -> Iterator[None]:
        assert progress
        named.append(name)
        yield None

    monkeypatch.setattr("ssdlab.running.snapshots.show_progress", shown)
    assert ssdlab.snapshot_info(made / "a.snap", progress=True).used_pages == 1708
    assert named == ["a.snap"]


def test_a_run_from_a_snapshot_is_the_run_after_preconditioning(made: Path) -> None:
    for out, more in (("whole", ()), ("from", FROM)):
        done = ssdlab_command("run", "small.toml", *more, "--out", out, "--quiet", cwd=made)
        assert done.returncode == 0, done.stderr
    whole, begun = report_of(made / "whole"), report_of(made / "from")
    info = ssdlab_command("snapshot", "info", "a.snap", "--json", cwd=made)
    digest = json.loads(info.stdout)["digest"]
    assert begun["provenance"].pop("snapshot_digest") == digest
    assert whole["provenance"].pop("snapshot_digest") is None
    assert begun["config"]["precondition"]["snapshot"] == "a.snap"
    for report in (whole, begun):
        for part in ("config", "time", "speed"):
            del report[part]
        del report["provenance"]["config_digest"]
    assert begun == whole


def test_one_device_serves_many_policies(made: Path) -> None:
    done = ssdlab.compare(
        made / "small.toml",
        set={"precondition.snapshot": made / "a.snap"},
        vary={"gc.victim": ["greedy", "fifo", "cost-benefit", GreedyByScore()]},
        progress=False,
    )
    assert not done.failures
    reports = list(done.reports.values())
    assert len({report.provenance.snapshot_digest for report in reports}) == 1
    digests = [report.provenance.event_digest for report in reports]
    assert digests[0] == digests[3] != digests[1]


def test_a_device_comes_back_as_it_was_saved(tmp_path: Path) -> None:
    device = ssdlab.Device(set=SMALL)
    device.precondition(progress=False)
    device.write(3)
    with pytest.raises(ssdlab.WorkloadError, match="not at rest"):
        device.save(tmp_path / "a.snap")
    device.run_until_idle()
    digest = device.save(tmp_path / "a.snap")
    back = ssdlab.Device.load(tmp_path / "a.snap", set={**SMALL, "timing.busy_unit": "plane"})
    assert (back.mapping == device.mapping).all()
    assert (back.erases == device.erases).all()
    assert back.save(tmp_path / "b.snap") == digest
    assert (tmp_path / "a.snap").read_bytes() == (tmp_path / "b.snap").read_bytes()
    info = ssdlab.snapshot_info(tmp_path / "b.snap")
    assert info.digest == digest
    assert info.valid_pages == device.valid_pages.sum()
    assert info.erases == device.erases.sum()
    again = ssdlab.Device(set={**SMALL, "precondition.snapshot": tmp_path / "a.snap"})
    again.precondition(progress=False)
    assert (again.mapping == device.mapping).all()
    assert again.report().provenance.snapshot_digest == digest


def test_contents_are_kept_where_they_are_asked_for(tmp_path: Path) -> None:
    rich = {**SMALL, "run.data": "digest", "metrics.op_log": True}
    device = ssdlab.Device(set=rich)
    device.precondition(progress=False)
    device.save(tmp_path / "rich.snap")
    report = ssdlab.run(
        set={**rich, "precondition.snapshot": tmp_path / "rich.snap"},
        out=tmp_path / "out",
        progress=False,
    )
    assert report.completed
    plain = ssdlab.Device(set=SMALL)
    plain.save(tmp_path / "plain.snap")
    with pytest.raises(ssdlab.ConfigError, match=r'does not hold what run\.data = "digest"'):
        ssdlab.Device.load(tmp_path / "plain.snap", set=rich)


# ---------------------------------------------------------------- what is refused


def test_the_file_is_replaced_only_with_force(made: Path) -> None:
    before = (made / "a.snap").read_bytes()
    words = ("snapshot", "make", "small.toml", "--out", "a.snap")
    refused(ssdlab_command(*words, cwd=made), 2, "a.snap: exists", "--force")
    forced = ssdlab_command(*words, "--force", "--seed", "2", "--quiet", cwd=made)
    assert (forced.returncode, forced.stdout, forced.stderr) == (0, "", "")
    assert (made / "a.snap").read_bytes() != before
    refused(
        ssdlab_command(*words, *FROM, cwd=made),
        2,
        "precondition.snapshot: the result would be a plain copy",
    )
    nothing_left(made, "small.toml", "a.snap")


def test_bad_snapshots_are_told_apart(made: Path) -> None:
    whole = (made / "a.snap").read_bytes()
    (made / "cut.snap").write_bytes(whole[: len(whole) // 2])
    (made / "empty.snap").write_bytes(b"")
    middle = len(whole) // 2
    (made / "bad.snap").write_bytes(
        whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :]
    )
    for name, *words in (
        ("cut.snap", "truncated"),
        ("empty.snap", "not a snapshot"),
        ("small.toml", "not a snapshot"),
        ("bad.snap",),
        ("missing.snap", "No such file"),
    ):
        key = f"precondition.snapshot={name}"
        for verb in ("run", "compare"):
            done = ssdlab_command(verb, "small.toml", "--set", key, "--out", "out", cwd=made)
            refused(done, 2, f"precondition.snapshot: {name}: ", *words)
        refused(ssdlab_command("snapshot", "info", name, cwd=made), 2, name, *words)
    assert not (made / "out").exists()


def test_another_device_is_refused_key_by_key(made: Path) -> None:
    other = ("--set", "alloc.frontiers=single", "--set", "device.page_size=8 KiB")
    done = ssdlab_command("run", "small.toml", *FROM, *other, cwd=made)
    refused(
        done,
        2,
        'alloc.frontiers is "host+gc" in the snapshot and "single" here',
        'device.page_size is "4 KiB" in the snapshot and "8 KiB" here',
    )


def test_an_interrupt_leaves_no_file(tmp_path: Path) -> None:
    long = {"precondition.fill": 1, "precondition.overwrite": 1000}
    words = ["snapshot", "make", "modern-tlc", *sets(long), "--out", "a.snap"]
    done = signalled_at("precondition", words, tmp_path)
    refused(done, 130, "interrupted: no snapshot was written")
    nothing_left(tmp_path)
