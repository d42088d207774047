"""The study of separation policies: who wins, and that lines differ in their separation alone."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from running import ROOT, refused, ssdlab_command
from ssdlab.results.report import Report
from ssdlab_lab.oracles.amplification import fifo
from ssdlab_lab.oracles.separated import best_split
from ssdlab_lab.reproduce.command import MARKDOWN, PAGE
from ssdlab_lab.reproduce.folders import JSON, FolderProperties
from ssdlab_lab.reproduce.separations.choices import (
    ANY,
    APART,
    APPLICATIONS,
    BOUND,
    CELLS,
    LINES,
    ONE,
    OPENED,
    REAL,
    SPARES,
    USUAL,
    VICTIMS,
    Place,
    ReplayedTrace,
    closed_form,
    lines,
    places,
    scheme_of,
    workload_of,
    workloads,
)
from ssdlab_lab.reproduce.separations.outcome import Separations
from ssdlab_lab.reproduce.separations.page import files, markdown, page, to_json, verdict

BEGUN = FolderProperties("separations", False, {}, "0" * 64, None)
"""Runs of no commit."""


def of(best: str, spread: float) -> Separations:
    """Reports in which `best` has the lowest write amplification, by 1."""

    def report(place: Place, seed: int) -> Report:
        waf = 2.0 + (place.line not in (best, BOUND)) + spread * seed
        return cast("Report", SimpleNamespace(waf=SimpleNamespace(total=waf)))

    reports = {(place, seed): report(place, seed) for place in places(False) for seed in (1, 2, 3)}
    return Separations(reports, False, {}, False, Path(), BEGUN)


def test_a_line_wins_where_its_interval_lies_below_the_others() -> None:
    clear, wide = of("dac", 0.001), of("dac", 1.0)
    assert clear.best("uniform", "greedy", USUAL) == "dac"
    assert wide.best("uniform", "greedy", USUAL) is None
    assert all("dac on uniform, Zipf 0.6" in text for text in verdict(clear)[:2])
    assert all("nobody alone on uniform" in text for text in verdict(wide)[:2])
    text, html = markdown(clear), page(clear)
    assert "**2.002 ± 0.002**" in text
    assert "2.002 ± 0.002" in html
    assert "**2.0" not in html
    runs = json.loads(to_json(clear))["runs"]
    every = len(workloads(False)) * len(VICTIMS) * len(SPARES) * len(lines(False)) + len(CELLS)
    assert len(runs) == 3 * every


def test_no_interval_reaches_below_1() -> None:
    place = Place("uniform", "greedy", USUAL, "dac")

    def with_wafs(*wafs: float) -> Separations:
        reports = {
            (place, seed): cast("Report", SimpleNamespace(waf=SimpleNamespace(total=waf)))
            for seed, waf in enumerate(wafs, 1)
        }
        return Separations(reports, False, {}, False, Path(), BEGUN)

    skewed = with_wafs(1.01, 1.1, 2.0)
    ends = skewed.ends(place)
    assert ends is not None
    # Student's half width of log10(excess) -2, -1, 0 is 4.303 / root 3.
    assert ends == pytest.approx((1 + 10 ** (-1 - 2.4843), 1 + 10 ** (-1 + 2.4843)), rel=1e-3)
    assert f"1.370 ({ends[0]:.3f} to {ends[1]:.3f})" in markdown(skewed)
    assert with_wafs(1.0, 1.1, 2.0).ends(place) == pytest.approx((1.0, 1.3667 + 1.3696), rel=1e-3)
    assert with_wafs(1.0, 1.0, 1.0).ends(place) == (1.0, 1.0)
    assert with_wafs(2.0, 2.1, 2.2).ends(place) == pytest.approx((1.8516, 2.3484), rel=1e-3)


def test_a_line_below_the_mark_is_told() -> None:
    done = of("dac", 0.001)
    assert done.distance(Place("uniform", "greedy", USUAL, "fadac")) == pytest.approx(1.5, abs=0.01)
    assert verdict(done)[2].endswith("beyond the intervals: none.")
    reports = {
        (place, seed): report
        for (place, seed), report in of(BOUND, 0.001).reports.items()
        if place.line != BOUND
    }
    for seed, waf in ((1, 2.5), (2, 2.501), (3, 2.502)):
        better = SimpleNamespace(waf=SimpleNamespace(total=waf - 1))
        mark = SimpleNamespace(waf=SimpleNamespace(total=waf))
        reports[Place("uniform", "greedy", USUAL, "dac"), seed] = cast("Report", better)
        reports[Place("uniform", "greedy", USUAL, BOUND), seed] = cast("Report", mark)
    told = verdict(Separations(reports, False, {}, False, Path(), BEGUN))[2]
    assert "in 1 of" in told
    assert told.endswith("dac, uniform, greedy, 14 %.")


def test_lines_differ_in_their_separation_alone() -> None:
    plain: dict[str, Any] = dict(
        scheme_of(Place("uniform", "greedy", USUAL, APART), False, {}).keys
    )
    for line, keys in LINES.items():
        place = Place("uniform", "greedy", USUAL, line)
        found: dict[str, Any] = dict(scheme_of(place, False, {}).keys)
        assert {key for key in found if found[key] != plain.get(key)} == set(keys)
    assert {place.line for place in CELLS} <= {*REAL, ANY}
    more = scheme_of(Place("Zipf 0.99", "greedy", USUAL, "dac", OPENED), False, {}).keys
    assert more["device.blocks_per_plane"] == 1024 + 1 + 3
    one = scheme_of(Place("Zipf 0.99", "greedy", USUAL, ONE, OPENED), False, {}).keys
    assert one["device.blocks_per_plane"] == 1024 + 1
    hot = workload_of(Place("hot/cold 90/10", "greedy", 0.28, "dac"), False, {}).keys
    assert (hot["workload.hot_space"], hot["workload.hot_access"]) == (0.1, 0.9)


def test_a_trace_has_a_device_of_its_pages() -> None:
    played = {"sqlite": ReplayedTrace(Path("s.trace"), 3_200, 1_000, 2, 1)}
    place = Place("sqlite", "greedy", 0.07, "dac")
    keys = scheme_of(place, False, played).keys
    assert (keys["device.blocks_per_plane"], keys["device.pages_per_block"]) == (107, 32)
    assert keys["device.user_capacity"] == "12800 KiB"
    work = workload_of(place, False, played).keys
    assert (work["workload.loops"], work["workload.warmup_requests"]) == (3, 2_000)
    assert not set(APPLICATIONS) & set(workloads(True))


def test_loops_write_enough_of_a_trace() -> None:
    of = ReplayedTrace.of(ROOT / "traces" / "varmail.trace.zst")
    assert (of.requests, of.before, of.measured) == (445_811, 2, 1)
    assert of.pages == pytest.approx(699e6 / 4096, rel=0.02)


def test_closed_forms_are_the_published_ones() -> None:
    """SSD-iq's optimum of 90/10 at 87.5 % full, and one pool for uniform writes."""
    assert closed_form("hot/cold 90/10", 1 / 0.875 - 1) == pytest.approx(1.985, rel=0.002)
    assert closed_form("uniform", USUAL) == pytest.approx(fifo(1 / (1 + USUAL)), rel=1e-9)
    # More pools are never worse, and two of the same rate are one.
    assert best_split([0.5, 0.5], [0.5, 0.5], 1.14) == pytest.approx(best_split([1], [1], 1.14))
    split = best_split([0.2, 0.8], [0.8, 0.2], 1.14)
    assert split < fifo(1 / 1.14)
    grid = (
        0.8 * fifo(0.2 / (0.2 + spare)) + 0.2 * fifo(0.8 / (0.8 + 0.14 - spare))
        for spare in np.linspace(0.005, 0.135, 500)
    )
    assert split == pytest.approx(min(grid), rel=1e-4)
    for sizes, flows, physical, wrong in (
        ([1.0], [1.0], 1.0, "more than 1"),
        ([0.5, 0.5], [1.0], 1.1, "2 sizes and 1 flows"),
        ([0.5, 0.4], [0.5, 0.5], 1.1, "sizes sum to 0.9"),
        ([1.0, 0.0], [0.5, 0.5], 1.1, "positive"),
    ):
        with pytest.raises(ValueError, match=wrong):
            best_split(sizes, flows, physical)


def test_missing_runs_decide_nothing() -> None:
    done = Separations({}, False, {}, True, Path(), BEGUN)
    assert done.best("uniform", "greedy", USUAL) is None
    assert "interrupted" in done.remarks()[0]
    assert "| dac | –" in markdown(done)
    assert "<svg" in "".join(files(done).values())


@pytest.mark.slow
def test_the_quick_page(tmp_path: Path) -> None:
    folder = tmp_path / "q"
    done = ssdlab_command("reproduce", "separations", "--quick", "--out", str(folder), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Lowest with greedy victims" in done.stdout
    assert "Below 'future', beyond the intervals: none." in done.stdout
    for name in (JSON, MARKDOWN, PAGE):
        assert (folder / name).read_text(encoding="utf-8")
    values = json.loads((folder / JSON).read_text(encoding="utf-8"))
    assert values["completed"] is True
    assert min(run["waf"] for run in values["runs"]) >= 1


@pytest.mark.parametrize("also", [("--workloads", "Zipf"), ("--readings",)])
def test_bad_input(also: tuple[str, ...], tmp_path: Path) -> None:
    done = ssdlab_command("reproduce", "separations", *also, cwd=tmp_path)
    refused(done, 2, "accepts only --quick, --jobs")
