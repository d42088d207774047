"""Keys without effect and missing files are reported; reading a trace shows progress."""

import json
from pathlib import Path

import pytest

import ssdlab
from running import SMALL, refused, ssdlab_command


def test_a_key_without_effect_is_refused_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text("[workload]\ntheta = 0.5\n")
    done = ssdlab_command("config", "check", "a.toml", cwd=tmp_path)
    refused(done, 2, "a.toml:2: workload.theta: has no effect here", 'workload.kind = "zipf"')
    kinds = {"workload.kind": ["uniform", "zipf"]}
    made = ssdlab.compare(
        ["greedy-8ch"], set={**SMALL, "workload.theta": 0.5}, vary=kinds, progress=False
    )
    assert not made.failures


def test_a_device_keeps_the_page_on_flash_until_a_newer_one_is_there() -> None:
    device = ssdlab.Device(set={**SMALL, "host.write_buffer_pages": 8})
    device.precondition(progress=False)
    before = device.mapping
    device.write(3)
    device.run_until_idle()
    assert device.outstanding == 0
    assert device.buffered_pages == 1
    assert (device.mapping == before).all()
    assert (device.mapping >= 0).sum() == device.valid_pages.sum()
    device.flush()
    device.run_until_idle()
    assert device.buffered_pages == 0
    assert device.mapping[3] != before[3]
    with pytest.raises(ssdlab.ConfigError, match="a Device has time"):
        ssdlab.Device(set={"run.mode": "functional"})


def test_reports_of_later_versions_and_missing_tables_are_refused(tmp_path: Path) -> None:
    ssdlab.run(set=SMALL, out=tmp_path / "r", progress=False, html=False)
    (tmp_path / "r/series.csv").rename(tmp_path / "series.csv")
    refused(ssdlab_command("report", "r", cwd=tmp_path), 2, "series.csv is missing")
    (tmp_path / "series.csv").rename(tmp_path / "r/series.csv")
    values = json.loads((tmp_path / "r/report.json").read_text())
    (tmp_path / "r/report.json").write_text(json.dumps({**values, "version": 2}))
    refused(ssdlab_command("report", "r", cwd=tmp_path), 2, "version 2", "versions up to 1")
    with pytest.raises(ValueError, match="version 2"):
        ssdlab.Report.read(tmp_path / "r")


def test_a_snapshot_makes_its_folder_and_tells_values(tmp_path: Path) -> None:
    sets = [word for key, value in SMALL.items() for word in ("--set", f"{key}={value}")]
    make = ("snapshot", "make", "greedy-8ch", *sets, "--out", "some/where/a.snap", "--json")
    done = ssdlab_command(*make, "--set", "run.mode=functional", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    config = json.loads(done.stdout)["config"]
    assert config["alloc.pool"] == "plane"
    assert config["device.channels"] == 2
    assert config["wear.dynamic"] is True


def test_a_trace_tells_how_far_it_is_read_and_is_written_compressed(tmp_path: Path) -> None:
    plain, packed = tmp_path / "a.ssdtrace", tmp_path / "a.ssdtrace.zst"
    ssdlab.generate("zipf", plain, bytes=4 << 20, requests=500)
    written = ssdlab.Trace(plain).convert(packed)
    assert written.bytes == packed.stat().st_size < plain.stat().st_size
    assert (ssdlab.Trace(packed).requests().sector == ssdlab.Trace(plain).requests().sector).all()
    told: list[tuple[str, int, int | None]] = []
    values = {**SMALL, "workload.read": 0.0, "workload.requests": 1000}
    ssdlab.run(trace=packed, set=values, progress=lambda *one: told.append(one))
    size = packed.stat().st_size
    assert ("reading", size, size) in told

    def stop(stage: str, *_: object) -> None:
        if stage == "reading":
            raise LookupError(stage)

    with pytest.raises(LookupError, match="reading"):
        ssdlab.run(trace=packed, set=values, progress=stop)
