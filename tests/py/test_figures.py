"""Every figure of a page, of numbers made by hand: which values it shows, on which axes."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from functools import cache
from typing import Any

import pytest

import ssdlab
from running import ROOT, SMALL
from ssdlab.html.compare_plots import comparison_figures
from ssdlab.html.plot import Bars, Curve, Figure, MissingPlot, Panels, Plot, StackedBars
from ssdlab.html.run_plots import device_figures, latency_figures, wear_figures
from ssdlab.html.trace_plots import trace_figures

GAP = math.nan
TIMES = [6e6, 8e6, 12e6]
# Intervals of 1, 2 and 4 ms after a warm-up of 5 ms.
SERIES = {
    "time_ns": [6_000_000, 8_000_000, 12_000_000],
    "used_pages": [1024, 1536, 2048],
    "free_blocks": [10, 6, 4],
    "pending_requests": [3, 5, 0],
    "gc_active_pools": [0, 2, 1],
    "host_pages_read": [10, 16, 16],
    "host_pages_written": [10, 30, 30],
    "gc_programs": [5, 25, 35],
    "all_programs": [15, 55, 65],
    "erases": [0, 2, 4],
    "host_reads_completed": [5, 7, 7],
    "host_writes_completed": [10, 10, 14],
    "interval_reads": [5, 2, 0],
    "interval_read_sum_ns": [5000, 8000, 0],
    "interval_read_max_ns": [2000, 6000, 0],
    "interval_writes": [10, 0, 4],
    "interval_write_sum_ns": [70_000, 0, 8000],
    "interval_write_max_ns": [9000, 0, 3000],
}
DISTRIBUTIONS = """\
distribution,low,high,count
latency_read,0,0,1
latency_read,100,199,2
latency_read,200,200,1
latency_write,1000,1999,4
victim_invalid,1,1,2
victim_invalid,2,3,4
erases,0,0,100
erases,1,3,20
erases,4,4,8
"""


@cache
def values() -> str:
    """The report of a small run, with numbers by hand."""
    report = ssdlab.run("greedy-8ch", set=SMALL, progress=False)
    found = json.loads(report.to_json())
    found["time"]["measured_from"] = 5_000_000
    found["device"] |= {"physical_pages": 2048, "blocks": 128, "lowest_free_blocks": 4}
    found["device"]["utilisation"] = {"channel": [0.25, 0.5], "chip": [0.1, 0.2, 0.3, 0.4]}
    found["gc"]["mean_victim_invalid_ratio"] = 0.125
    parts = {"queue": 1.0, "chip": 2.0, "transfer": 3.0, "gc_wait": 4.0, "metadata": 5.0}
    found["latency_parts"]["read"] = parts
    found["latency_parts"]["write"] = {name: 10 * value for name, value in parts.items()}
    return json.dumps(found)


def by_hand(factor: int = 1, **changes: Any) -> ssdlab.Report:  # noqa: ANN401 - parts of a report
    """A report whose series is `factor` times SERIES, but for the times."""
    found = json.loads(values())
    for name, part in changes.items():
        found[name] = {**found[name], **part}
    columns = {k: [v * (1 if k == "time_ns" else factor) for v in SERIES[k]] for k in SERIES}
    lines = [",".join(map(str, row)) for row in zip(*columns.values(), strict=True)]
    return ssdlab.Report.of(
        json.dumps(found), "\n".join([",".join(columns), *lines]) + "\n", DISTRIBUTIONS
    )


def plots(figures: Sequence[Figure]) -> dict[str, Plot | Panels]:
    assert not any(isinstance(one, MissingPlot) for one in figures)
    return {one.key: one for one in figures if isinstance(one, Plot | Panels)}


def axes(plot: Plot | Panels) -> list[tuple[str, bool, float | None, float | None]]:
    """Unit, whether it is logarithmic, and the bounds of both axes."""
    assert all(isinstance(axis.label, str) for axis in (plot.x, plot.y))
    return [(axis.unit, axis.log, axis.low, axis.high) for axis in (plot.x, plot.y)]


def same(curve: Curve, tone: int, x: Sequence[float], y: Sequence[float]) -> None:
    assert isinstance(curve.name, str)
    assert curve.tone == tone
    assert curve.x.tolist() == pytest.approx(x)
    assert curve.y.tolist() == pytest.approx(y, nan_ok=True)


TIME = ("ns", False, None, None)
COUNT = ("count", False, 0.0, None)
SHARE = ("share", False, 0.0, 1.0)


def test_latencies_of_a_run() -> None:
    figures = latency_figures(by_hand())
    found = plots(figures)
    assert [one.key for one in figures] == ["cdf", "ccdf", "latency-time", "longest-time", "parts"]
    assert axes(found["cdf"]) == [("ns", True, None, None), SHARE]
    assert axes(found["ccdf"]) == [("ns", True, None, None), ("share", True, None, 1.0)]
    for key, shares in (("cdf", [0, 0.25, 0.75, 1]), ("ccdf", [1, 0.75, 0.25, GAP])):
        read, write = found[key].curves
        assert (read.name, write.name, read.step, write.step) == ("read", "write", True, True)
        assert not found[key].linked
        same(read, 0, [0, 0, 199, 200], shares)
        same(write, 1, [1000, 1999], [0, 1] if key == "cdf" else [1, GAP])
        assert "25" in found[key].caption
    means, longest = found["latency-time"], found["longest-time"]
    assert axes(means) == axes(longest) == [TIME, ("ns", True, None, None)]
    assert means.linked
    assert longest.linked
    same(means.curves[0], 0, TIMES, [1000, 4000, GAP])
    same(means.curves[1], 1, TIMES, [7000, GAP, 2000])
    same(longest.curves[0], 0, TIMES, [2000, 6000, GAP])
    same(longest.curves[1], 1, TIMES, [9000, GAP, 3000])
    parts = figures[-1]
    assert isinstance(parts, StackedBars)
    assert parts.rows == (("write", (10.0, 20.0, 30.0, 40.0, 50.0)), ("read", (1, 2, 3, 4, 5)))
    assert len(parts.parts) == 5


def test_the_device_over_time() -> None:
    found = plots(device_figures(by_hand()))
    over_time = ["rate", "used", "free", "waf", "programs", "collecting", "erases-time", "pending"]
    assert list(found) == over_time
    assert all(one.linked for one in found.values())
    ratio = ("ratio", True, None, None)
    ups = [COUNT, ("share", False, None, None), COUNT, ratio, COUNT, COUNT, COUNT, COUNT]
    assert [axes(one) for one in found.values()] == [[TIME, up] for up in ups]
    same(found["used"].curves[0], 0, TIMES, [0.5, 0.75, 1])
    same(found["free"].curves[0], 0, TIMES, [10, 6, 4])
    assert "4 of 128" in found["free"].caption
    within, since = found["waf"].curves
    same(within, 1, TIMES, [1.5, 2, GAP])
    same(since, 0, TIMES, [1.5, 55 / 30, 65 / 30])
    host, gc = found["programs"].curves
    same(host, 0, TIMES, [10_000, 10_000, 0])
    same(gc, 1, TIMES, [5000, 10_000, 2500])
    same(found["collecting"].curves[0], 1, TIMES, [0, 2, 1])
    same(found["erases-time"].curves[0], 4, TIMES, [0, 1000, 500])
    reads, writes = found["rate"].curves
    same(reads, 0, TIMES, [5000, 1000, 0])
    same(writes, 1, TIMES, [10_000, 0, 1000])
    same(found["pending"].curves[0], 0, TIMES, [3, 5, 0])


def bars(plot: Plot | Panels) -> Bars:
    assert isinstance(plot, Plot)
    (found,) = plot.bars
    assert isinstance(found.name, str)
    return found


def test_victims_erases_and_utilisation() -> None:
    found = plots(wear_figures(by_hand()))
    assert list(found) == ["victims", "erases", "channels", "chips"]
    # Two invalid pages in the mean are an eighth: victims have 16 pages.
    assert axes(found["victims"]) == [
        ("share", False, 0.0, 1 + 0.5 / 16),
        ("share", False, 0.0, None),
    ]
    victims = bars(found["victims"])
    assert victims.left.tolist() == pytest.approx([0.5 / 16, 1.5 / 16])
    assert victims.right.tolist() == pytest.approx([1.5 / 16, 3.5 / 16])
    assert victims.height.tolist() == pytest.approx([1 / 3, 1 / 3])
    assert victims.tone == 1
    assert axes(found["erases"]) == [("count", False, -0.5, 4.5), COUNT]
    erases = bars(found["erases"])
    assert erases.left.tolist() == [-0.5, 0.5, 1.5, 2.5, 3.5]
    assert erases.right.tolist() == [0.5, 1.5, 2.5, 3.5, 4.5]
    assert erases.height.tolist() == [100, 20, 0, 0, 8]
    assert erases.tone == 4
    assert axes(found["channels"]) == [("count", False, -0.5, 1.5), SHARE]
    assert axes(found["chips"]) == [("count", False, -0.5, 3.5), SHARE]
    busy = bars(found["chips"])
    assert busy.left.tolist() == pytest.approx([-0.4, 0.6, 1.6, 2.6])
    assert busy.right.tolist() == pytest.approx([0.4, 1.4, 2.4, 3.4])
    assert busy.height.tolist() == [0.1, 0.2, 0.3, 0.4]
    assert bars(found["channels"]).height.tolist() == [0.25, 0.5]


def test_many_chips_are_a_curve_with_a_band() -> None:
    device = json.loads(values())["device"]
    chips = [i / 300 for i in range(259)]
    report = by_hand(device={**device, "utilisation": {"channel": [0.5] * 128, "chip": chips}})
    found = plots(wear_figures(report))
    assert len(bars(found["channels"]).height) == 128
    (curve,) = found["chips"].curves
    assert axes(found["chips"]) == [("count", False, -0.5, 258.5), SHARE]
    # Three neighbours each; of the last there is one.
    assert curve.x.tolist() == [*(3 * i + 1.0 for i in range(86)), 258.0]
    assert curve.y[:2].tolist() == pytest.approx([1 / 300, 4 / 300])
    assert curve.low is not None
    assert curve.high is not None
    assert curve.low[[0, 1, 86]].tolist() == pytest.approx([0, 3 / 300, 258 / 300])
    assert curve.high[[0, 1, 86]].tolist() == pytest.approx([2 / 300, 5 / 300, 258 / 300])


def test_erases_that_differ_much_share_bars() -> None:
    rows = "distribution,low,high,count\nerases,10,10,3\nerases,11,11,4\nerases,266,266,5\n"
    report = ssdlab.Report.of(values(), by_hand().series_csv, rows)
    found = {one.key: one for one in wear_figures(report)}["erases"]
    assert isinstance(found, Plot)
    # 257 numbers in at most 128 bars: three each.
    assert axes(found)[0] == ("count", False, 9.5, 9.5 + 3 * 86)
    heights = bars(found).height.tolist()
    assert (len(heights), heights[0], heights[85]) == (86, 7, 5)
    assert (bars(found).right - bars(found).left).tolist() == [3.0] * 86
    assert "3 numbers" in found.caption


def test_a_long_series_is_thinned() -> None:
    """1500 intervals, three a point: means of sums, bands of the least and the most."""
    names = list(SERIES)
    lines = [
        ",".join(
            str({"time_ns": 5_000_000 + 1000 * (i + 1), "free_blocks": i % 7}.get(n, i + 1))
            for n in names
        )
        for i in range(1500)
    ]
    report = ssdlab.Report.of(values(), "\n".join([",".join(names), *lines]) + "\n", DISTRIBUTIONS)
    free = plots(device_figures(report))["free"]
    (curve,) = free.curves
    assert len(curve.x) == 500
    assert curve.x[[0, 499]].tolist() == [5_003_000, 6_500_000]
    means = [sum((3 * i + j) % 7 for j in range(3)) / 3 for i in range(500)]
    assert curve.y.tolist() == pytest.approx(means)
    assert curve.low is not None
    assert curve.high is not None
    assert curve.low.tolist() == [min((3 * i + j) % 7 for j in range(3)) for i in range(500)]
    assert curve.high.tolist() == [max((3 * i + j) % 7 for j in range(3)) for i in range(500)]
    longest = plots(latency_figures(report))["longest-time"].curves[0]
    assert longest.y.tolist() == [3 * i + 3 for i in range(500)]
    assert longest.x[0] == 5_003_000
    assert "3 sample periods" in free.caption


def test_figures_of_a_comparison() -> None:
    done = ssdlab.Comparison({"one": by_hand(), "two": by_hand(2)})
    figures = comparison_figures(done)
    found = plots(figures)
    assert [one.key for one in figures] == [
        *("cdf-write", "ccdf-write", "cdf-read", "ccdf-read", "parts-write", "parts-read"),
        *("victims", "erases"),
        *("write-time", "read-time", "waf-time", "free-time", "used-time", "collecting-time"),
        "pending-time",
    ]
    for one in found.values():
        assert [curve.name for curve in one.curves] == ["one", "two"]
        assert [curve.tone for curve in one.curves] == [0, 1]
    for key, rows in (("write-time", [7000, GAP, 2000]), ("read-time", [1000, 4000, GAP])):
        assert axes(found[key]) == [TIME, ("ns", True, None, None)]
        for curve in found[key].curves:
            same(curve, curve.tone, TIMES, rows)
    assert axes(found["waf-time"]) == [TIME, ("ratio", True, None, None)]
    for key, column, unit in (
        ("free-time", "free_blocks", COUNT),
        ("used-time", "used_pages", ("count", False, None, None)),
        ("collecting-time", "gc_active_pools", COUNT),
        ("pending-time", "pending_requests", COUNT),
    ):
        assert found[key].linked
        assert axes(found[key]) == [TIME, unit]
        for i, curve in enumerate(found[key].curves):
            same(curve, i, TIMES, [(i + 1) * value for value in SERIES[column]])
    same(found["cdf-write"].curves[0], 0, [1000, 1999], [0, 1])
    same(found["cdf-read"].curves[1], 1, [0, 0, 199, 200], [0, 0.25, 0.75, 1])
    parts = [one for one in figures if isinstance(one, StackedBars)]
    assert [one.rows[1] for one in parts] == [
        ("two", (10, 20, 30, 40, 50)),
        ("two", (1, 2, 3, 4, 5)),
    ]
    for key, low, x, y in (
        ("victims", 0.0, [1, 1, 3], [0, 1 / 3, 1]),
        ("erases", None, [0, 0, 3, 4], [0, 100 / 128, 120 / 128, 1]),
    ):
        assert axes(found[key]) == [("count", False, low, None), SHARE]
        for i, curve in enumerate(found[key].curves):
            assert curve.step
            same(curve, i, x, y)


def test_axes_of_the_figures_of_a_trace() -> None:
    info = ssdlab.Trace(ROOT / "traces/sqlite.trace.zst").info()
    found = plots(trace_figures([info]))
    share = ("share", False, 0.0, None)
    assert {key: axes(one) for key, one in found.items()} == {
        "rate": [TIME, COUNT],
        "sizes": [("bytes", True, None, None), share],
        "runs": [("count", True, None, None), share],
        "updates": [("count", True, None, None), SHARE],
        "updates-time": [("ns", True, None, None), SHARE],
        "hot": [SHARE, SHARE],
        "gaps": [("ns", True, None, None), SHARE],
        "idle": [("ns", True, None, None), SHARE],
        "bursts": [("ns", True, None, None), ("ratio", True, None, None)],
    }
    pages = found["updates"].curves[0]
    shape = info.updates.interval_pages
    assert (pages.x[0], pages.x[-1], pages.y[-1]) == (shape.min, shape.max, 1)
    times = found["updates-time"].curves[0]
    assert times.x[-1] == info.updates.interval_ns.max
    same(found["idle"].curves[0], 0, info.idle.threshold_ns.tolist(), info.idle.time_share.tolist())
    peak, dispersion = found["bursts"].curves
    known = [one for one in info.bursts if one.peak_to_mean is not None]
    windows = [float(one.window_ns) for one in known]
    same(peak, 1, windows, [one.peak_to_mean or 0 for one in known])
    same(dispersion, 4, windows, [one.dispersion or 0 for one in known])
