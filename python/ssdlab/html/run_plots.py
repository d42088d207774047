"""The plots of one run, by section of its page."""

from __future__ import annotations

import numpy as np

from ssdlab.display.numbers import duration, on_page, percent
from ssdlab.html.curves import Series, cumulative, points, thin
from ssdlab.html.panels import overlay, side_by_side
from ssdlab.html.plot import (
    ERASE,
    FLUSH,
    GC,
    HOST,
    READ,
    TRIM,
    WRITE,
    Axis,
    Bars,
    Curve,
    Figure,
    MissingPlot,
    Plot,
    StackedBars,
)
from ssdlab.results.report import Report

OPS = {"read": READ, "write": WRITE, "trim": TRIM, "flush": FLUSH}
PARTS = {
    "queue": "queue",
    "chip": "chip",
    "transfer": "transfer",
    "gc_wait": "waiting for GC",
    "metadata": "metadata",
}
TIME = Axis("simulated time", "ns")
WAF_AXIS = Axis("write amplification", "ratio", log=True)
"""Logarithmic: a sample period in which the host wrote little has a very large one."""
MOST_BARS = 128
"""Bars in one plot; more are drawn as a curve with a band."""
RESOLUTION = "Steps are at the ends of histogram buckets, within 0.8 % of the values."


def _is_functional(report: Report) -> bool:
    return bool(report.json["config"]["run"]["mode"] == "functional")


UNTIMED = "A functional run has no time: set run.mode=timed."


def no_distributions(report: Report) -> str | None:
    """Why there are no distributions, if there are none."""
    if report.distributions_csv:
        return None
    return "This folder has no distributions.csv: an older version wrote it. Repeat the run."


def no_series(report: Report) -> str | None:
    """Why there are no curves over time, if there are none."""
    if _is_functional(report):
        return UNTIMED
    rows = len(report.series.get("time_ns", ()))
    if rows >= 2:
        return None
    interval = on_page(duration(report.json["config"]["metrics"]["interval_ns"]))
    measured = on_page(duration(report.time.simulated))
    suggested = max(1, report.time.simulated // 200)
    return (
        f"Too few rows in the time series ({rows}): the measurement took {measured} and"
        f' metrics.interval is {interval}. Set "metrics.interval={suggested} ns".'
    )


def latency_figures(report: Report) -> list[Figure]:
    """Distributions, course over time and parts of the latencies."""
    return [
        *distribution_figures({"": report}, list(OPS)),
        *_latency_over_time(report),
        parts_figure({"": report}, ("write", "read")),
    ]


def distribution_figures(
    reports: dict[str, Report], ops: list[str], key: str = "", noun: str = "Latency"
) -> list[Figure]:
    """CDF and CCDF of `ops`; a curve for each operation or, with several reports, for each."""
    cdf, ccdf, zeros = [], [], []
    for index, (label, report) in enumerate(reports.items()):
        for op in ops:
            distribution = cumulative(report, f"latency_{op}")
            if distribution is None:
                continue
            x, below, above = thin(points(len(reports)), *distribution)
            name, tone = (label, index) if label else (op, OPS[op])
            if x[0] == 0 and below[1] > 0 and x[1] == 0:
                zeros.append(f"{percent(float(below[1]))} of {name}")
            cdf.append(Curve(name, x, below, tone, step=True))
            # Above the largest value there is nothing, which a log axis cannot show.
            ccdf.append(Curve(name, x, np.where(above > 0, above, np.nan), tone, step=True))
    titles = (f"cdf{key}", f"{noun}: CDF"), (f"ccdf{key}", f"{noun}: CCDF (the tail)")
    if not cdf:
        runs = reports.values()
        reasons = [
            no_distributions(report) or (UNTIMED if _is_functional(report) else None)
            for report in runs
        ]
        reason = next(
            (reason for reason in reasons if reason), "No request of this kind completed."
        )
        return [MissingPlot(*title, reason) for title in titles]
    x_axis = Axis("latency", "ns", log=True)
    note = RESOLUTION
    if zeros:
        note += f" Zero latency, so left of the axis: {', '.join(zeros)}."
    return [
        overlay(
            *titles[0],
            f"Share of requests with at most this latency. {note}",
            x_axis,
            Axis("share of requests", "share", low=0.0, high=1.0),
            cdf,
        ),
        overlay(
            *titles[1],
            f"Share of requests with more than this latency: p99 is at 1 %. {note}",
            x_axis,
            Axis("share above", "share", log=True, high=1.0),
            ccdf,
        ),
    ]


def _latency_over_time(report: Report) -> list[Figure]:
    """Separate means and longest latencies, and reads next to writes: none hides another."""
    titles = (
        ("latency-time", "Mean latency over time"),
        ("longest-time", "Longest latency over time"),
    )
    reason = no_series(report)
    if reason is None:
        series = Series(report)
        ops = [op for op in ("read", "write") if series[f"interval_{op}s"].any()]
        reason = None if ops else "No read or write completed during the measurement."
    if reason is not None:
        return [MissingPlot(*title, reason) for title in titles]
    means = [
        series.mean(op, OPS[op], series[f"interval_{op}_sum_ns"], series[f"interval_{op}s"])
        for op in ops
    ]
    longest = [series.highest(op, OPS[op], series[f"interval_{op}_max_ns"]) for op in ops]
    text = "of the requests that completed within each sample period."
    peak_note = (
        f" Each point is the longest of {series.periods_per_point} sample periods."
        if series.note
        else ""
    )
    captions = f"Mean latency {text}{series.note}", f"The longest latency {text}{peak_note}"
    y = Axis("latency", "ns", log=True)
    return [
        side_by_side(*title, caption, TIME, y, curves, linked=True)
        for title, caption, curves in zip(titles, captions, (means, longest), strict=True)
    ]


def parts_figure(reports: dict[str, Report], ops: tuple[str, ...], key: str = "") -> Figure:
    """Means of the latency parts, a row for each operation and run."""
    title = f"parts{key}", "Where the time went" + (f" ({ops[0]})" if len(ops) == 1 else "")
    rows = []
    for op in ops:
        for label, report in reports.items():
            means = getattr(report.latency_parts, op)
            if means is not None:
                values = tuple(getattr(means, name) for name in PARTS)
                rows.append((label or op, values))
    if not rows:
        is_functional = all(_is_functional(report) for report in reports.values())
        return MissingPlot(
            *title, UNTIMED if is_functional else "No request of this kind completed."
        )
    caption = (
        "Mean latency and its parts: waiting for other host operations, flash array, buses,"
        " waiting for garbage collection, fetching metadata."
    )
    return StackedBars(*title, caption, tuple(PARTS.values()), tuple(rows))


def device_figures(report: Report) -> list[Figure]:
    """The device over time."""
    reason = no_series(report)
    if reason:
        titles = {
            "rate": "Requests completed",
            "used": "Used space",
            "free": "Free blocks",
            "waf": "Write amplification over time",
            "programs": "Pages programmed",
            "collecting": "Pools being collected",
            "erases-time": "Blocks erased",
            "pending": "Pending requests",
        }
        return [MissingPlot(key, title, reason) for key, title in titles.items()]
    series = Series(report)
    return [_requests(series), *_space(report, series), *_writes(series), *_activity(series)]


def _space(report: Report, series: Series) -> list[Figure]:
    used = series.mean("used", HOST, series["used_pages"] / report.device.physical_pages)
    free = series.mean("free", HOST, series["free_blocks"])
    share = Axis("share of all pages", "share")
    used_text = "Pages that are not erased, valid or not, at the end of each sample period."
    free_text = (
        f"Erased blocks at the end of each sample period; the fewest at any time were"
        f" {report.device.lowest_free_blocks:,} of {report.device.blocks:,}."
    )
    blocks = Axis("erased blocks", "count", low=0.0)
    return [
        Plot("used", "Used space", used_text + series.note, TIME, share, (used,), linked=True),
        Plot("free", "Free blocks", free_text + series.note, TIME, blocks, (free,), linked=True),
    ]


def _writes(series: Series) -> list[Figure]:
    title = "waf", "Write amplification over time"
    if series["host_pages_written"][-1] > 0:
        running = series.mean("so far", HOST, series["all_programs"], series["host_pages_written"])
        running = Curve("since the start", running.x, running.y, HOST)
        top, bottom = series.rise("all_programs"), series.rise("host_pages_written")
        curves = series.mean("within the sample period", WRITE, top, bottom), running
        text = (
            "Pages programmed for any reason over pages written by the host. A sample period in"
            " which the host wrote little can have any value."
        )
        axis = WAF_AXIS
        waf: Figure = Plot(*title, text + series.note, TIME, axis, curves, linked=True)
    else:
        waf = MissingPlot(*title, "The host wrote nothing during the measurement.")
    other_programs = series.rise("all_programs") - series.rise("gc_programs")
    rates = [
        series.mean("for the host and others", HOST, other_programs, series.seconds),
        series.mean("by garbage collection", GC, series.rise("gc_programs"), series.seconds),
    ]
    rate_axis = Axis("pages per second", "count", low=0.0)
    text = "Rates within each sample period." + series.note
    programs = "programs", "Pages programmed"
    return [waf, side_by_side(*programs, text, TIME, rate_axis, rates, linked=True)]


def _requests(series: Series) -> Figure:
    title = "rate", "Requests completed"
    rates = [
        series.mean(op, OPS[op], series[f"interval_{op}s"], series.seconds)
        for op in ("read", "write")
        if series[f"interval_{op}s"].any()
    ]
    if not rates:
        return MissingPlot(*title, "No read or write completed during the measurement.")
    text = "Reads and writes that completed, a second, within each sample period." + series.note
    y = Axis("requests per second", "count", low=0.0)
    return side_by_side(*title, text, TIME, y, rates, linked=True)


def _activity(series: Series) -> list[Figure]:
    pools = series.mean("pools", GC, series["gc_active_pools"])
    erases = series.mean("erases", ERASE, series.rise("erases"), series.seconds)
    pending = series.mean("pending", HOST, series["pending_requests"])
    plots = (
        (
            ("collecting", "Pools being collected"),
            "Pools under collection at the end of each sample period.",
            Axis("pools", "count", low=0.0),
            pools,
        ),
        (
            ("erases-time", "Blocks erased"),
            "Blocks erased for any reason, a second, within each sample period.",
            Axis("erases per second", "count", low=0.0),
            erases,
        ),
        (
            ("pending", "Pending requests"),
            "Requests submitted and not completed, at the end of each sample period.",
            Axis("requests", "count", low=0.0),
            pending,
        ),
    )
    return [
        Plot(*title, text + series.note, TIME, axis, (curve,), linked=True)
        for title, text, axis, curve in plots
    ]


def wear_figures(report: Report) -> list[Figure]:
    """Victims, erases, and how busy channels and chips were."""
    return [
        _victims(report),
        _erases(report),
        _utilisation("channel", report.device.utilisation.channel),
        _utilisation("chip", report.device.utilisation.chip),
    ]


def _victims(report: Report) -> Figure:
    title = "victims", "Invalid share of the victims"
    rows = report.distributions.get("victim_invalid")
    if rows is None:
        return MissingPlot(
            *title, no_distributions(report) or "Garbage collection collected no block."
        )
    invalid = report.gc.mean_victim_invalid_ratio
    pages = rows[:, 2].sum(), (rows[:, 2] * (rows[:, 0] + rows[:, 1]) / 2).sum()
    # The report knows the mean share, the buckets the mean number: together the size of a victim.
    size = round(float(pages[1] / pages[0] / invalid)) if invalid else int(rows[:, 1].max()) or 1
    bar_left, bar_right = (rows[:, 0] - 0.5) / size, (rows[:, 1] + 0.5) / size
    # A bucket that is wider than its neighbours must not look fuller.
    width = (rows[:, 1] - rows[:, 0] + 1).astype(float)
    share = rows[:, 2] / rows[:, 2].sum() / width
    text = (
        f"Invalid pages of each victim when it was chosen, of {size:,}. Invalid pages need no copy:"
        " further right is cheaper."
    )
    y = Axis("share of victims", "share", low=0.0)
    bars = Bars("victims", bar_left, bar_right, share, GC)
    x = Axis("invalid share of the victim", "share", low=0.0, high=1.0 + 0.5 / size)
    return Plot(*title, text, x, y, bars=(bars,))


def _erases(report: Report) -> Figure:
    title = "erases", "Erases of blocks during the measurement"
    rows = report.distributions.get("erases")
    if rows is None:
        return MissingPlot(*title, no_distributions(report) or "The device has no blocks.")
    low, high = int(rows[0, 0]), int(rows[-1, 1])
    bar_width = -(-(high - low + 1) // MOST_BARS)
    bar_indices = (rows[:, 0] - low) // bar_width
    counts = np.bincount(bar_indices, weights=rows[:, 2]).astype(float)
    bar_left = low - 0.5 + bar_width * np.arange(len(counts), dtype=float)
    text = (
        "Blocks by their number of erases during the measurement; preconditioning and warm-up"
        " are not counted."
    )
    if bar_width > 1:
        text += f" Each bar stands for {bar_width} numbers of erases."
    bars = Bars("blocks", bar_left, bar_left + bar_width, counts, ERASE)
    y = Axis("blocks", "count", low=0.0)
    x = Axis("erases of a block", "count", low=low - 0.5, high=float(bar_left[-1]) + bar_width)
    return Plot(*title, text, x, y, bars=(bars,))


def _utilisation(unit: str, shares: tuple[float, ...]) -> Figure:
    title = f"{unit}s", f"Utilisation of {unit}s"
    if not shares:
        return MissingPlot(*title, UNTIMED)
    values = np.array(shares)
    y = Axis("share of time busy", "share", low=0.0, high=1.0)
    order = ", channel by channel" if unit == "chip" else ""
    text = f"Share of the measured time in which each {unit} was busy{order}."
    indices = np.arange(len(values), dtype=float)
    x = Axis(unit, "count", low=-0.5, high=len(values) - 0.5)
    if len(values) <= MOST_BARS:
        return Plot(
            *title, text, x, y, bars=(Bars("busy", indices - 0.4, indices + 0.4, values, HOST),)
        )
    group = -(-len(values) // MOST_BARS)
    firsts = np.arange(0, len(values), group)
    sizes = np.diff(np.append(firsts, len(values)))
    low, high = np.minimum.reduceat(values, firsts), np.maximum.reduceat(values, firsts)
    mean = np.add.reduceat(values, firsts) / sizes
    text += (
        f" The line is the mean of {group} neighbours, the band spans their minimum and maximum."
    )
    return Plot(
        *title, text, x, y, (Curve("busy", firsts + (sizes - 1) / 2, mean, HOST, low, high),)
    )
