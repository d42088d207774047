"""The maps of where the papers' proposals help: points, verdicts, marks, pictures, page, runs."""

import csv
import io
import json
import math
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from running import ROOT, refused, ssdlab_command
from ssdlab.results.report import Report
from ssdlab.traces.trace import Requests
from ssdlab_lab.reproduce.command import MARKDOWN, PAGE
from ssdlab_lab.reproduce.folders import JSON, FolderProperties
from ssdlab_lab.reproduce.maps import Maps, choices, maps, marks, outcome, to_json, verdict
from ssdlab_lab.reproduce.maps.choices import (
    BURST,
    INVALIDATION,
    LINES,
    LIVES,
    LOAD,
    NOC,
    PAPERS,
    RAID,
    SEEDS,
    WARMUP,
    Place,
    interval_us,
    load_of,
    places,
    raw_pages,
    requests_of,
    scheme_of,
    workload_of,
)
from ssdlab_lab.reproduce.maps.outcome import LONGEST, MEAN, Point
from ssdlab_lab.reproduce.maps.page import files, markdown, page
from ssdlab_lab.reproduce.maps.pictures import _between
from ssdlab_lab.reproduce.maps.study import cells

BEGUN = FolderProperties("maps", False, {}, "0" * 64, None)
"""Runs of no commit."""
WORDS = ("better", "no change", "worse")
Gain = Callable[[Place], float]


@pytest.fixture(autouse=True)
def at_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    """Recorded traces are in the folder `traces`; a report of these tests has no distributions."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(outcome, "p99_ms", lambda _: lambda report: report.latency.read.p99 / 1e6)


def report(place: Place, gain: float, late: float = 1.0) -> Report:
    """A run in which the baseline takes `gain` times as long as the proposal."""
    ns = 1e6 * (gain if place.line == LINES[place.paper][0] else 1.0)
    one = SimpleNamespace(mean=ns, p99=ns, max=2 * ns, count=5)
    requests = (1 - WARMUP) * requests_of(place.paper, False)
    span = requests * interval_us(place.paper, load_of(place)) * 1e3
    latency, time = SimpleNamespace(read=one, write=one), SimpleNamespace(simulated=late * span)
    return cast("Report", SimpleNamespace(latency=latency, time=time))


def of(gain: Gain, late: Gain = lambda _: 1.0) -> Maps:
    """A study with these gains."""
    reports = {place: report(place, gain(place), late(place)) for place in places(False)}
    return Maps(reports, False, {}, False, Path(), BEGUN)


def test_a_change_is_one_with_every_seed() -> None:
    def gain(place: Place) -> float:
        by_live = {0.15: (0.9, 0.8), 0.25: (1.02, 1.5), 0.4: (1.1, 1.2), 0.6: (0.9, 1.1)}
        return by_live.get(place.live, (1.0, 1.0))[place.seed - 1]

    done = of(gain, lambda place: 1.2 if place.live == 0.4 else 1.0)
    points = {live: Point(NOC, LOAD, 0.1, live) for live in LIVES[NOC]}
    found = {live: done.verdict(point, MEAN) for live, point in points.items()}
    assert found == {
        0.15: "worse",
        0.25: "no change",
        0.4: "better",
        0.6: "no change",
        0.85: "no change",
    }
    assert done.gain(points[0.15], LONGEST) == pytest.approx(math.sqrt(0.72))
    assert [done.sustains(point) for point in points.values()] == [True, True, False, True, True]
    # Eleven columns of five rows, without the row whose baseline cannot keep up.
    assert len(done.sustained(NOC)) == 11 * 4
    alone = of(gain, lambda place: 1.0 + (place.live == 0.4 and place.line == LINES[NOC][0]))
    assert alone.sustained_by_proposal_alone(NOC) == 11
    (mean, _) = (line for line in verdict(done) if line.startswith(NOC))
    assert "better at 0 of 44 points, unchanged at 33, worse at 11; highest gain 1.24" in mean
    assert "lowest 0.85 (load 2 %, live 15 %); the proposal" in mean


def test_missing_runs_and_traces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not marks.missing()
    monkeypatch.setattr(marks, "TRACES", tmp_path)
    for cached in (marks.marks_of, marks._recording):
        cached.cache_clear()
    done = Maps({}, False, {}, True, Path(), BEGUN)
    assert done.verdict(Point(RAID, BURST, 16, 0.85), MEAN) is None
    assert f"| {RAID} | p99 | 0 | 0 | 0 | 0 | – | – | 0 |" in markdown(done)
    assert files(done)["maps.csv"].count("\n") == 1
    assert "No recorded trace of SQLite, Varmail" in markdown(done)
    for cached in (marks.marks_of, marks._recording):
        cached.cache_clear()


def test_page_pictures_and_numbers_agree() -> None:
    done = of(lambda place: 2.0 if place.live > 0.5 else 1.0)
    text, html, drawn = markdown(done), page(done), files(done)
    for paper in PAPERS:
        for axis in (LOAD, BURST):
            name = f"pictures/maps-{paper}-{axis}.svg"
            assert f"]({name})" in text
            assert drawn[name] in html
            high = [live for live in LIVES[paper] if live > 0.5]
            assert drawn[name].count(">2.00<") == 1 + 2 * len(high) * (6 if axis == LOAD else 5)
    # A heavy line lies between the rows of 40 and 60 %, in both panels, and nowhere else.
    assert drawn[f"pictures/maps-{NOC}-load.svg"].count("stroke-width='3'") == 2 * 6
    assert "remapcom has no such maps" in text
    rows = list(csv.DictReader(io.StringIO(drawn["maps.csv"])))
    assert len(rows) == len(PAPERS) * 55 * 3
    assert {row["gain"] for row in rows if float(row["live"]) > 0.5} == {"2"}
    assert len(json.loads(to_json(done))["runs"]) == len(rows) // 3 * 2 * len(SEEDS)


def test_both_lines_have_the_same_requests_and_capacity() -> None:
    plan = {place: cell for cell, place in cells(False).items()}
    assert len({cell.folder for cell in plan.values()}) == len(plan)
    for paper in PAPERS:
        of_lines = [Place(paper, BURST, 128, 0.25, line, 1) for line in LINES[paper]]
        base, proposed = (plan[place] for place in of_lines)
        assert base.workload.keys == proposed.workload.keys
        capacities = {cell.scheme.keys["device.user_capacity"] for cell in (base, proposed)}
        data = 7 / 8 if paper == RAID else 1
        assert capacities == {f"{4 * round(0.25 * data * raw_pages(paper, False))} KiB"}


def test_what_is_left_out_is_said() -> None:
    skipped = {place[:3] for place in places(False)} - {
        place[:3] for place in cells(False).values()
    }
    assert skipped == {(RAID, LOAD, 0.3)}
    text = markdown(Maps({}, False, {}, False, Path(), BEGUN))
    assert "Registered and not run: a load of 30 % for deferred-gc-raid" in text


def test_loads_and_bursts() -> None:
    # 70 % writes of 230 us and 30 % reads of 25 us take a tenth of the time of 16 planes.
    assert interval_us(INVALIDATION, 0.1) == pytest.approx((0.7 * 230 + 0.3 * 25) / 1.6)
    assert interval_us(RAID, 0.1) == pytest.approx((0.7 * 450 + 0.3 * 25) / 6.4)
    place = Place(INVALIDATION, BURST, 16, 0.4, LINES[INVALIDATION][0], 1)
    arrival = workload_of(place, False).keys["workload.arrival"]
    assert isinstance(arrival, dict)
    within, pause = (int(arrival[key].removesuffix(" ns")) for key in ("interval", "pause"))
    assert (16 * within + pause) / 16 == pytest.approx(
        1e3 * interval_us(INVALIDATION, 0.1), rel=1e-3
    )
    assert within == pytest.approx(1e3 * interval_us(INVALIDATION, choices.BURST_RATE), rel=1e-3)


def test_a_mark_is_where_its_requests_are() -> None:
    # Ten writes of two pages within 9 us, then one a second later, on 16 planes.
    at = np.array([*range(0, 10_000, 1_000), 1_000_000_000], np.uint64)
    full = np.full(11, 16, np.uint32)
    nothing = np.zeros(11, np.uint8)
    written = nothing + Requests.OPS.index("write")
    requests = Requests(at, np.zeros(11, np.uint64), full, written, nothing)
    mark = marks.mark_of(INVALIDATION, "SQLite", "synthetic", 0.25, requests)
    assert mark.load == pytest.approx(22 * 230 / 16 / 1e6)
    assert mark.burst == pytest.approx((10 * 10 + 1) / 11)
    assert _between((1, 16, 128), 4) == pytest.approx(0.5)
    assert (_between((1, 16, 128), 0.1), _between((1, 16, 128), 1_000)) == (0, 2)


def test_marks_of_all_workloads() -> None:
    found = {(mark.paper, mark.workload, mark.source): mark for mark in marks.marks()}
    assert {mark.workload for mark in found.values()} == set(marks.LETTERS)
    assert found[NOC, "MySQL", "recorded"].load == pytest.approx(0.5)
    assert found[RAID, "hm_0", "synthetic"].live == 0.85
    # Four of five gaps of the pattern are short.
    assert found[RAID, "hm_0", "synthetic"].burst > 1 / (1 - 0.797) - 1


def test_a_small_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One point of each map runs, and the page says how it ended."""
    monkeypatch.undo()
    monkeypatch.setattr(choices, "QUICK_LIVES", slice(1, 2))
    monkeypatch.setattr(choices, "QUICK_LOADS", slice(2, 3))
    monkeypatch.setattr(choices, "QUICK_BURSTS", slice(1, 2))
    monkeypatch.chdir(ROOT)
    done = maps(quick=True, out=tmp_path / "q", progress=False)
    assert not done.failures
    assert len(done.reports) == 2 * 2 * len(SEEDS) * len(PAPERS)
    for name in (MARKDOWN, PAGE, f"pictures/maps-{NOC}-load.svg"):
        assert (tmp_path / "q" / name).is_file()
    values = json.loads((tmp_path / "q" / JSON).read_text(encoding="utf-8"))
    assert values["completed"] is True
    numbers = (tmp_path / "q" / "maps.csv").read_text(encoding="utf-8")
    # A page that is copied back skips the interconnect, which a conventional one crosses twice.
    gains = {
        (row["paper"], row["axis"], row["measure"]): float(row["gain"])
        for row in csv.DictReader(io.StringIO(numbers))
    }
    assert gains[NOC, LOAD, MEAN] > 1


def test_quick_points_lie_in_the_maps() -> None:
    assert set(places(True)) < set(places(False))
    assert scheme_of(next(places(True)), True).keys["device.blocks_per_plane"] == 32


def test_the_committed_page_counts_the_committed_numbers() -> None:
    folder = ROOT / "docs/papers"
    text = (folder / "maps.md").read_text(encoding="utf-8")
    assert len(text.split()) <= 1_500
    with (folder / "maps.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for paper in PAPERS:
        for measure in outcome.mapped(paper):
            found = [row for row in rows if (row["paper"], row["measure"]) == (paper, measure)]
            both = [
                row
                for row in found
                if (row["baseline_sustains"], row["proposal_sustains"]) == ("True", "True")
            ]
            for row in both:
                seeds = [float(row[f"seed_{seed}"]) for seed in SEEDS]
                better, worse = min(seeds) > choices.BAND, max(seeds) < 1 / choices.BAND
                word = "better" if better else "worse" if worse else "no change"
                assert row["verdict"] == word
            words = Counter(row["verdict"] for row in both)
            cells = (paper, measure, len(both), *(words[word] for word in WORDS))
            assert f"| {' | '.join(map(str, cells))} | " in text


@pytest.mark.parametrize("also", [("--workloads", "Zipf"), ("--readings",)])
def test_bad_input(also: tuple[str, ...], tmp_path: Path) -> None:
    done = ssdlab_command("reproduce", "maps", *also, cwd=tmp_path)
    refused(done, 2, "accepts only --quick, --jobs")
