"""A device as large as its trace: `device.fit = "trace"`."""

from __future__ import annotations

from pathlib import Path

import pytest

import ssdlab
from running import ssdlab_command
from ssdlab.config.resolve import set_text
from ssdlab.running.fitted import footprint_pages, totals

FORM = {
    "device.fit": "trace",
    "device.channels": 2,
    "device.chips_per_channel": 1,
    "device.pages_per_block": 16,
    "device.over_provisioning": 0.25,
    "gc.trigger": {"policy": "free-blocks", "soft": 3},
    "precondition.fill": 1.0,
    "run.mode": "functional",
}


def trace(path: Path, pages: int, apart: int) -> Path:
    """A trace that writes `pages` pages, `apart` pages from one to the next, twice."""
    lines = [
        f"{128166372003061629 + 10 * at},host,0,Write,{(at % pages) * apart * 4096},4096,0"
        for at in range(2 * pages)
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_each_trace_of_a_comparison_gets_a_device_of_its_size(tmp_path: Path) -> None:
    files = [trace(tmp_path / "few.csv", 900, 7), trace(tmp_path / "many.csv", 4000, 1000)]
    done = ssdlab.compare("greedy-8ch", traces=files, set=FORM, progress=False)
    for label, pages in (("few", 900), ("many", 4000)):
        report = done.reports[label]
        user, blocks = report.config["device.user_pages"], report.config["device.blocks_per_plane"]
        assert pages <= user < pages + 2 * 16
        assert blocks * 2 * 16 / user == pytest.approx(1.25, abs=0.002)
        assert report.config["workload.fit"] == "compact"
        assert report.completed
        # What was found stands in the configuration, so that the run can be repeated without `fit`.
        again = ssdlab.run(report.config, progress=False)
        assert again.provenance.config_digest == report.provenance.config_digest


def test_a_trace_that_is_read_in_another_way_gets_another_device(tmp_path: Path) -> None:
    """One process may read one file by several columns."""
    file = tmp_path / "t.csv"
    file.write_text("".join(f"{at},W,{at % 4},{at},4096\n" for at in range(100)))
    for column, pages in ((3, 4), (4, 100)):
        columns = f"time=1:us,op=2,offset={column}:4KiB,size=5"
        config = ssdlab.load_config(trace=file, set={"workload.columns": columns})
        assert footprint_pages(config) == pages


@pytest.mark.parametrize("name", ["mysql", "varmail"])
def test_the_sums_of_a_trace_are_those_of_its_statistics(name: str) -> None:
    file = Path(__file__).parents[2] / "traces" / f"{name}.trace.zst"
    info = ssdlab.Trace(file).info()
    found = totals(ssdlab.load_config(trace=file), 1 << 40)
    assert not found.is_cut
    assert (found.requests, found.duration_ns) == (info.requests, info.duration_ns)
    assert found.page_writes == info.updates.page_writes
    assert found.bytes_written == info.ops.write.bytes
    assert found.pages == info.footprint.pages_touched
    cut = totals(ssdlab.load_config(trace=file), found.page_writes - 1)
    assert cut.is_cut
    assert cut.requests <= found.requests


def test_a_run_and_a_device_are_fitted_too(tmp_path: Path) -> None:
    file = trace(tmp_path / "t.csv", 900, 7)
    config = ssdlab.load_config(trace=file, set=FORM)
    report = ssdlab.run(config, progress=False)
    assert 900 <= report.config["device.user_pages"] < 932
    timed = ssdlab.load_config(config, set={"run.mode": "timed"})
    device = ssdlab.Device(timed)
    assert device.config["device.user_pages"] == report.config["device.user_pages"]
    # Larger pages are fewer.
    large = ssdlab.load_config(config, set={"device.page_size": "64 KiB"})
    assert 900 * 7 // 16 < ssdlab.run(large, progress=False).config["device.user_pages"] < 432


WRONG = [
    (["--set", "workload.kind=zipf"], "needs workload.trace"),
    (["--trace", "{trace}", "--set", "workload.fit=wrap"], 'expected "compact"'),
    (["--trace", "-"], "expected a file, not a pipe"),
    (["--trace", "{trace}", "--set", "device.channels=64"], "touches 900 pages"),
    (["--trace", "missing.csv"], "missing.csv"),
]


@pytest.mark.parametrize(("arguments", "words"), WRONG)
def test_what_cannot_be_fitted_is_refused(tmp_path: Path, arguments: list[str], words: str) -> None:
    file = trace(tmp_path / "t.csv", 900, 7)
    sets = [f"--set={key}={set_text(value)}" for key, value in FORM.items()]
    said = [one.format(trace=file) for one in arguments]
    done = ssdlab_command("run", "greedy-8ch", *sets, *said, "--out", "out", cwd=tmp_path)
    assert done.returncode == 2
    assert words in done.stderr
    assert not (tmp_path / "out").exists()
