"""The external checker on random configurations with two or three features on at a time.

It checks report, logs, page and one form of export.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import ssdlab
from checking import LOGGED, findings_in
from pairs import drawn, run_case
from ssdlab.export import FORMATS, export_run

CASES = (*range(24), 165)
"""The first ones; 165 reads and writes a page in one instant, and its write buffer is full."""
SLOW_CASES = sorted({*range(1000)} - {*CASES})


def checked_case(seed: int, folder: Path) -> None:
    names, settings = drawn(seed)
    if run_case(settings, folder / "a"):
        export_run(folder / "a", [*FORMATS][seed % len(FORMATS)])
        findings, text = findings_in(folder / "a")
        assert not findings.counts, f"{names}: {settings}\n{text}"


@pytest.mark.parametrize("seed", CASES)
def test_features_in_pairs(seed: int, tmp_path: Path) -> None:
    checked_case(seed, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SLOW_CASES)
def test_many_features_in_pairs(seed: int, tmp_path: Path) -> None:
    checked_case(seed, tmp_path)
    shutil.rmtree(tmp_path)


def test_a_run_that_power_cuts_end_reports_a_device_with_power(tmp_path: Path) -> None:
    """Power is on where the run ends, so its numbers are those of the flash."""
    cuts = {"power.cut": {"every": "100 us"}, "host.queue_depth": 64, "workload.requests": 500}
    with pytest.raises(ssdlab.RunError) as ended:
        ssdlab.run(set={**LOGGED, **cuts}, out=tmp_path / "a", progress=False)
    report = ended.value.report
    assert report.power is not None
    assert report.power.cuts == len(report.power.recoveries) >= 1000
    assert report.device.valid_pages > report.device.user_pages // 2
    assert not any("internal error" in text for text in report.warnings)
    findings, text = findings_in(tmp_path / "a")
    assert not findings.counts, text
