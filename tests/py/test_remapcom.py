"""`ssdlab reproduce remapcom`: its runs, what it makes of them, and the committed page."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from running import ROOT, refused, ssdlab_command
from ssdlab.errors import ConfigError
from ssdlab_lab.reproduce.command import MARKDOWN, PAGE
from ssdlab_lab.reproduce.folders import JSON, FolderProperties
from ssdlab_lab.reproduce.remapcom import choices, command, page
from ssdlab_lab.reproduce.remapcom.outcome import Outcome, amplification, rate, unchanged
from ssdlab_lab.reproduce.remapcom.runs import RUNS, Run, planned

BEGUN = FolderProperties("remapcom", False, {}, "0" * 64, None)
"""Runs of no commit."""


def numbers(per_second: float, wa: float, shares: tuple[float | None, ...] = ()) -> dict[str, Any]:
    """What is kept of a run."""
    levels = [{"udb_share": share} for share in (None, *shares, *[None] * (6 - len(shares)))]
    return {
        "operations_per_s": per_second,
        "write_amplification": {"log": 1.0, "total": wa},
        "levels": levels,
        "space": {"amplification": 1.25},
    }


def outcome(gain: float) -> Outcome:
    """All runs; remapping lines are `gain` times as fast as stock everywhere."""
    made = {}
    for run in planned(False, choices.WORKLOADS):
        remaps = run.line in ("base", "full")
        speed = 1000.0 * run.seed * (gain if remaps else 1)
        shares = (0.02, 0.30, 0.25) if remaps else ()
        made[run] = numbers(speed, 3.0 if remaps else 6.0, shares)
    return Outcome(made, choices.WORKLOADS, False, {}, False, Path(), BEGUN)


def test_gains_are_over_stock_and_scored() -> None:
    done = outcome(1.12)
    gains = done.gains()
    assert len(gains) == 3 * 4 + 3 + 2 + 3
    assert all(one.ours == pytest.approx(1.12) for one in gains)
    assert {one.published for one in gains if one.workload == "LOAD, 4,096 B"} == {1.28}
    text = page.markdown(done)
    losses = sum(one.published < 1 for one in gains)
    assert losses == 2
    assert "| no change |" in text
    ratio = done.ratio(("load", 4096, "full"), amplification)
    assert ratio is not None
    assert ratio.ratio == pytest.approx(0.5)
    assert [came for _, came in done.aims()] == [
        "4 of 6; the farthest is 27.0 points off",
        "reached: 50.0 % lower",
        "missed: +12.0 %",
    ]
    assert done.mean(("load", 1024, "base"), unchanged(2)) == pytest.approx(30)
    assert done.mean(("load", 1024, "stock"), unchanged(2)) is None


def test_readings_are_scored_and_the_limit_is_fitted_to_shares_alone() -> None:
    done = outcome(1.12)
    assert [one.ours for one in done.gains("pairs fit")] == pytest.approx([1.12] * 20)
    text = page.markdown(done)
    titles = re.findall(r"^## (.*)", text, re.MULTILINE)
    assert titles[:2] == ["Score", "Readings"]
    assert "| pairs fit, device-bound | " in text
    made = dict(done.numbers)
    run = Run("load", choices.LIMITED_SIZE, "full", 1, "at most 25 % of zeros")
    made[run] = numbers(1000.0, 3.0, (0.05, 0.46, 0.53, 0.52))
    near = replace(done, numbers=made)
    assert near.fitted_limit() == "at most 25 % of zeros"
    shares = "5.0 % | 46.0 % | 53.0 % | 52.0 %"
    assert f"| at most 25 % of zeros (nearest) | {shares} |" in page.markdown(near)
    assert Outcome({}, ("load",), False, {}, False, Path(), BEGUN).fitted_limit() is None


def test_missing_runs_leave_gaps(tmp_path: Path) -> None:
    done = Outcome({}, ("load",), True, {"load, 256 B": "why"}, True, tmp_path, BEGUN)
    assert done.gains() == []
    assert [came for _, came in done.aims()] == ["not measured"] * 3
    text = page.markdown(done)
    assert "load, 256 B: why" in text
    assert "interrupted" in text
    assert "<table" in page.page(done)
    assert not json.loads(command.to_json(done))["completed"]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A store of eight megabytes."""
    monkeypatch.setattr(choices, "STORE_BYTES", 32 << 20)
    monkeypatch.setattr(choices, "OPERATIONS", 2000)


@pytest.mark.usefixtures("small")
def test_runs_are_made_once(tmp_path: Path) -> None:
    out = tmp_path / "out"
    asked: dict[str, Any] = {"quick": True, "workloads": ["load", "A"], "out": out, "jobs": 2}
    first = command.reproduce(**asked, progress=False)
    assert not first.failures
    assert first.workloads == ("load", "a")
    assert len(first.numbers) == 2 * 3 * 4 + 4
    assert {JSON, PAGE, MARKDOWN} <= {file.name for file in out.iterdir()}
    files = sorted((out / RUNS).iterdir())
    times = [file.stat().st_mtime_ns for file in files]
    assert len(files) == len(first.numbers)
    # A run that is missing or damaged is made again; the others are not.
    files[0].unlink()
    files[1].write_text("{")
    again = command.reproduce(**asked, progress=False)
    assert again.numbers == first.numbers
    assert [file.stat().st_mtime_ns for file in files][2:] == times[2:]
    assert again.mean(("load", 4096, "stock"), rate) is not None
    with pytest.raises(OSError, match="quick"):
        command.reproduce(**{**asked, "quick": False}, progress=False)


def test_bad_input(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="g: remapcom has load, a, b"):
        command.reproduce(workloads=["g"], out=tmp_path / "out")
    assert not (tmp_path / "out").exists()
    out = str(tmp_path / "out")
    done = ssdlab_command("reproduce", "remapcom", "--readings", "--out", out, cwd=tmp_path)
    refused(done, 2, "--readings: remapcom has no recorded traces and no readings")
    refused(ssdlab_command("reproduce", "remapcon", cwd=tmp_path), 2, "did you mean remapcom")
    assert "remapcom" in ssdlab_command("list", "papers", cwd=tmp_path).stdout


def test_settings_of_variations() -> None:
    run = Run("load", 1024, "full", 1, "4 pages a block")
    assert run.settings(quick=False)[0]["store.pages_per_block"] == 4
    stock = Run("load", 1024, "stock", 1, "4 pages a block")
    assert "store.pages_per_block" not in stock.settings(quick=False)[0]
    drive = Run("load", 1024, "full", 1, "one page of collection at once").settings(quick=True)[1]
    assert drive["gc.window"] == 1


def test_the_committed_page_has_the_words_of_the_program() -> None:
    text = (ROOT / "docs/papers/remapcom.md").read_text(encoding="utf-8")
    made = page.markdown(Outcome({}, choices.WORKLOADS, False, {}, False, Path(), BEGUN))
    head = made[: made.index("| aim |")]
    assert text.startswith(head)
    assert all(one in text for one in page.LEFT)
