"""Small multiples and maps of counts: what overlapping lines would hide is drawn, on one scale."""

from __future__ import annotations

import json
import math
import re

import numpy as np
import pytest

import ssdlab
from running import SMALL
from ssdlab.html.cells import levels, opacity
from ssdlab.html.compare_page import comparison_page
from ssdlab.html.compare_plots import run_figures
from ssdlab.html.curves import merge_runs
from ssdlab.html.layout import shorten_labels
from ssdlab.html.page import figure, prose
from ssdlab.html.panels import columns_of, layout
from ssdlab.html.plot import Axis, Cells, Curve, Panels, Plot
from ssdlab.html.svg import draw, style
from test_plots import floats

MOST_BYTES = 2_000_000
"""Of the page of 24 runs."""


def test_a_page_of_24_runs_is_small_and_hides_no_extreme() -> None:
    """Every run has thousands of sample periods: more than can be drawn."""
    config = ssdlab.load_config("greedy-8ch", set={**SMALL, "metrics.interval": "20 us"})
    vary: dict[str, list[object]] = {
        "gc.victim": ["greedy", "fifo", "random", "d-choices", "cost-benefit", "windowed-greedy"],
        "workload.read": [0.1, 0.3, 0.5, 0.7],
    }
    done = ssdlab.compare(config, vary=vary, progress=False)
    assert len(done.reports) == 24
    assert min(len(report.series["time_ns"]) for report in done.reports.values()) > 1000
    page = comparison_page(done)
    assert len(page.encode()) < MOST_BYTES
    free, used = (one for one in run_figures(done) if one.key in ("free-time", "used-time"))
    for plot, column in ((free, "free_blocks"), (used, "used_pages")):
        assert isinstance(plot, Panels)
        assert [curve.name for curve in plot.curves] == list(done.reports)
        for curve, report in zip(plot.curves, done.reports.values(), strict=True):
            assert curve.low is not None
            assert curve.high is not None
            assert len(curve.y) <= 140
            assert curve.low.min() == report.series[column].min()
            assert curve.high.max() == report.series[column].max()
    data = re.search(r'<figure id="free-time">.*?<script[^>]*>(.*?)</script>', page, re.DOTALL)
    assert data
    lows = [min(mark["low"]) for mark in json.loads(data[1])["marks"]]
    assert lows == [report.series["free_blocks"].min() for report in done.reports.values()]


def test_repetitions_are_one_curve_with_their_range() -> None:
    config = ssdlab.load_config("greedy-8ch", set={**SMALL, "metrics.interval": "2 ms"})
    done = ssdlab.compare(config, vary={"gc.victim": ["greedy", "fifo"]}, seeds=3, progress=False)
    found = {one.key: one for one in run_figures(done)}
    plot, by_seed = found["free-time"], found["waf-seed"]
    assert isinstance(plot, Panels)
    assert isinstance(by_seed, Panels)
    assert "all 3 seeds" in plot.caption
    for curve, label in zip(plot.curves, ("greedy", "fifo"), strict=True):
        series = [one.series["free_blocks"] for one in done.repetitions[label].values()]
        assert curve.low is not None
        assert curve.high is not None
        assert curve.low.min() == min(one.min() for one in series)
        assert curve.high.max() == max(one.max() for one in series)
    assert by_seed.curves[0].y.tolist() == list(done.values("greedy", "waf").values())
    assert not by_seed.curves[0].line


def test_runs_are_merged_by_time() -> None:
    one = (floats(10, 20, 30, 40), floats(1, 2, 30, 8), floats(1, 1, 10, 2))
    two = (floats(12, 22, 29, 40), floats(3, 0, 5, 6), floats(1, 0, 5, 1))
    curve = merge_runs("a", 2, 100, [one, two])
    # Four parts, of which each has a sample period of both; of one nothing is known.
    assert curve.x.tolist() == [10, 20, 30, 40]
    assert curve.y.tolist() == [4 / 2, 2 / 1, 35 / 15, 14 / 3]
    assert curve.low is not None
    assert curve.high is not None
    assert curve.low.tolist() == [1, 2, 1, 4]
    assert curve.high.tolist() == [3, 2, 3, 6]
    assert len(merge_runs("a", 0, 2, [one, two]).y) == 2
    alone = merge_runs("a", 0, 9, [(floats(5), floats(4), floats(2))])
    assert (alone.x.tolist(), alone.y.tolist()) == ([5], [2])
    gap = merge_runs("a", 0, 3, [(floats(0, 1, 2), floats(1, 0, 3), floats(1, 0, 1))])
    assert gap.x.tolist() == [0, 2]


@pytest.mark.parametrize(("count", "columns"), [(2, 1), (4, 1), (5, 2), (8, 2), (9, 3), (24, 3)])
def test_panels_share_their_scales(count: int, columns: int) -> None:
    curves = tuple(Curve(f"run {i}", floats(0, 10), floats(i, i + 1), i) for i in range(count))
    one = Panels("p", "t", "c", Axis("x", "ratio"), Axis("y", "ratio", low=0.0), curves)
    made = layout(one)
    assert made.columns == columns_of(count) == columns
    assert (made.x.low, made.x.high) == (0, 10)
    assert made.y.high >= count
    boxes = [(x, y, x + made.x.end, y + made.y.start) for x, y in made.places]
    for i, (left, top, right, foot) in enumerate(boxes):
        assert left >= 74
        assert right <= 542.001
        assert foot <= made.height - 40
        for other in boxes[:i]:
            assert left >= other[2] or top >= other[3]
    text = draw(one)
    assert len(re.findall('class="pane"', text)) == count
    assert re.findall(r'y="-6">(.*?)</text>', text) == [c.name for c in curves]
    # The same place for the same value in every panel; ticks are named once a row and column.
    paths = re.findall(r'class="line" d="(.*?)"', text)
    assert len(paths) == count
    rows, first = -(-count // columns), len(re.findall('class="tick end" x="-6"', text))
    assert first % rows == 0


def test_a_single_curve_is_a_plot() -> None:
    config = ssdlab.load_config("greedy-8ch", set={**SMALL, "metrics.interval": "2 ms"})
    done = ssdlab.compare(config, progress=False)
    plot = next(one for one in run_figures(done) if one.key == "free-time")
    assert isinstance(plot, Plot)


def _cells(*rows: tuple[int, ...], most: int, end: float = 0.0) -> Cells:
    counts = tuple(np.array(row, np.uint64) for row in rows)
    axes = Axis("time", "ns"), Axis("address", "bytes")
    return Cells("m", "t", "c", *axes, end, 4096.0, 1e9, 4096.0, counts, "pages read", 0, most)


def test_counts_have_the_colours_of_their_levels() -> None:
    assert levels(1) == [1]
    assert levels(9) == [1, 2, 5]
    assert levels(1000) == [1, 3, 10, 30, 100, 300, 1000]
    assert levels(10**7) == [10**e for e in range(8)]
    assert len(levels(10**30)) <= 9
    assert opacity(0, 1) == opacity(4, 5) == 1
    text = draw(_cells((0, 1, 1, 4), (5, 0, 0, 9), most=9))
    paths = re.findall(r'<path class="bar" fill-opacity="([\d.]+)" d="(.*?)"/>', text)
    # Rows from below, columns from the left; neighbours of one level are joined.
    assert paths == [
        ("0.18", "M1 0h2v1h-2z"),
        ("0.59", "M3 0h1v1h-1z"),
        ("1.00", "M0 1h1v1h-1zM3 1h1v1h-1z"),
    ]
    assert 'transform="translate(74 254) scale(117 -110)"' in text
    # The axis may go on after the last column.
    longer = draw(_cells((0, 1, 1, 4), (5, 0, 0, 9), most=9, end=6e9))
    assert 'transform="translate(74 254) scale(78 -110)"' in longer


def test_the_page_has_every_count() -> None:
    text = figure(_cells((0, 1, 1, 4), (5, 0, 0, 9), most=9))
    found = re.search(r'class="data">(.*?)</script>', text)
    assert found
    data = json.loads(found[1])
    assert data["rows"] == [[0, 1, 1, 4], [5, 0, 0, 9]]
    assert (data["x"]["low"], data["x"]["bin"], data["x"]["columns"]) == (0, 1e9, 4)
    assert (data["y"]["low"], data["y"]["bin"], data["y"]["high"]) == (4096, 4096, 3 * 4096)


def test_values_of_many_curves_are_rounded_as_they_are_shown() -> None:
    """So rounding them again changes nothing: of five digits 1.2346 would be shown as 1.23."""
    y = floats(1.23456e6, 999.4e6, math.nan, 2e6)
    curves = tuple(Curve(str(i), floats(0, 10, 20, 30), y, i) for i in range(9))
    for several, known in ((curves[:8], 1_234_560), (curves, 1_230_000)):
        one = Panels("p", "t", "c", Axis("x", "ns"), Axis("y", "ns"), several)
        found = re.search(r'class="data">(.*?)</script>', figure(one))
        assert found
        marks = json.loads(found[1])["marks"]
        assert marks[0]["y"][0] == pytest.approx(known, rel=1e-5)
        assert marks[0]["y"][2] is None
        # Those of the others are the same times.
        assert [mark["x"] for mark in marks[1:]] == [0] * (len(several) - 1)


def test_long_times_are_written_as_steps() -> None:
    x = np.array([*(5 + 10 * i for i in range(99)), 991], float)
    one = Plot("p", "t", "c", Axis("x", "ns"), Axis("y", "ns"), (Curve("a", x, x, 0),))
    found = re.search(r'class="data">(.*?)</script>', figure(one))
    assert found
    assert json.loads(found[1])["marks"][0]["x"] == {"from": 5, "steps": [[10, 98], [6, 1]]}


def test_dark_is_the_same_by_choice_and_by_system() -> None:
    blocks = re.findall(r"(--paper: #14181d;.*?)\}", style("colours.css"), re.DOTALL)
    chosen, system = (re.findall(r"--\w+: #\w+", block) for block in blocks)
    assert chosen == system
    assert len(chosen) == 11


def test_backticks_of_a_text_are_code() -> None:
    assert prose("set `gc.victim` < `a`") == "set <code>gc.victim</code> &lt; <code>a</code>"
    assert prose("a ` alone") == "a ` alone"
    assert prose("see [ADR 26](adr/0026-a.md#x). *Second hand*: 2") == (
        "see ADR 26. <em>Second hand</em>: 2"
    )
    for text in ("1.2 * a and 3 * b", "t [1](2).csv", "2 ** 3", "a*b*c", "*.csv, *.py"):
        assert prose(text) == text
    assert prose("`*.csv` and `*.py*`") == "<code>*.csv</code> and <code>*.py*</code>"


def test_distributions_of_many_runs_do_not_cover_each_other() -> None:
    vary: dict[str, list[object]] = {"gc.victim": ["greedy", "fifo"], "workload.read": [0.1]}
    few = ssdlab.compare("greedy-8ch", vary=vary, set=SMALL, progress=False)
    vary["workload.read"] = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8]
    many = ssdlab.compare("greedy-8ch", vary=vary, set=SMALL, progress=False)
    for key in ("cdf-write", "ccdf-read", "victims", "erases"):
        (together,) = (one for one in run_figures(few) if one.key == key)
        (apart,) = (one for one in run_figures(many) if one.key == key)
        assert isinstance(together, Plot)
        assert isinstance(apart, Panels)
        assert [curve.name for curve in apart.curves] == list(many.reports)


def test_labels_without_room_lose_their_keys_alike() -> None:
    labels = ["victim=cost-benefit window=1", "victim=fifo window=2"]
    assert shorten_labels(labels, 40) == labels
    assert shorten_labels(labels, 20) == ["cost-benefit 1", "fifo 2"]
    assert shorten_labels(["x" * 9, "y"], 5) == ["xx…xx", "y"]
