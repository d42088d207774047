"""The plots of one run, by section of its page."""

from __future__ import annotations

import numpy as np

from ssdlab.display.numbers import duration, on_page, percent
from ssdlab.html.curves import Series, cumulative, fewer, points
from ssdlab.html.panels import overlaid, side_by_side
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
    Missing,
    Plot,
    Stacked,
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


def _functional(report: Report) -> bool:
    return bool(report.json["config"]["run"]["mode"] == "functional")


UNTIMED = "A functional run has no time: set run.mode=timed."


def no_distributions(report: Report) -> str | None:
    """Why there are no distributions, if there are none."""
    if report.distributions_csv:
        return None
    return "This folder has no distributions.csv: an older version wrote it. Repeat the run."


def no_series(report: Report) -> str | None:
    """Why there are no curves over time, if there are none."""
    if _functional(report):
        return UNTIMED
    rows = len(report.series.get("time_ns", ()))
    if rows >= 2:
        return None
    interval = on_page(duration(report.json["config"]["metrics"]["interval_ns"]))
    lasted = on_page(duration(report.time.simulated))
    shorter = max(1, report.time.simulated // 200)
    return (
        f"Too few rows in the time series ({rows}): the measurement took {lasted} and"
        f' metrics.interval is {interval}. Set "metrics.interval={shorter} ns".'
    )


def latency_figures(report: Report) -> list[Figure]:
    """Distributions, course over time and parts of the latencies."""
    return [
        *distribution_figures({"": report}, list(OPS)),
        *_latency_over_time(report),
        parts_figure({"": report}, ("write", "read")),
    ]


def distribution_figures(
    reports: dict[str, Report], ops: list[str], key: str = "", what: str = "Latency"
) -> list[Figure]:
    """CDF and CCDF of `ops`; a curve for each operation or, with several reports, for each."""
    cdf, ccdf, zeros = [], [], []
    for i, (label, report) in enumerate(reports.items()):
        for op in ops:
            found = cumulative(report, f"latency_{op}")
            if found is None:
                continue
            x, below, above = fewer(points(len(reports)), *found)
            name, tone = (label, i) if label else (op, OPS[op])
            if x[0] == 0 and below[1] > 0 and x[1] == 0:
                zeros.append(f"{percent(float(below[1]))} of {name}")
            cdf.append(Curve(name, x, below, tone, step=True))
            # Above the largest value there is nothing, which a log axis cannot show.
            ccdf.append(Curve(name, x, np.where(above > 0, above, np.nan), tone, step=True))
    titles = (f"cdf{key}", f"{what}: CDF"), (f"ccdf{key}", f"{what}: CCDF (the tail)")
    if not cdf:
        runs = reports.values()
        given = [no_distributions(r) or (UNTIMED if _functional(r) else None) for r in runs]
        why = next((why for why in given if why), "No request of this kind completed.")
        return [Missing(*title, why) for title in titles]
    across = Axis("latency", "ns", log=True)
    note = RESOLUTION
    if zeros:
        note += f" Zero latency, so left of the axis: {', '.join(zeros)}."
    return [
        overlaid(
            *titles[0],
            f"Share of requests with at most this latency. {note}",
            across,
            Axis("share of requests", "share", low=0.0, high=1.0),
            cdf,
        ),
        overlaid(
            *titles[1],
            f"Share of requests with more than this latency: p99 is at 1 %. {note}",
            across,
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
    why = no_series(report)
    if why is None:
        s = Series(report)
        ops = [op for op in ("read", "write") if s[f"interval_{op}s"].any()]
        why = None if ops else "No read or write completed during the measurement."
    if why is not None:
        return [Missing(*title, why) for title in titles]
    means = [s.mean(op, OPS[op], s[f"interval_{op}_sum_ns"], s[f"interval_{op}s"]) for op in ops]
    longest = [s.highest(op, OPS[op], s[f"interval_{op}_max_ns"]) for op in ops]
    text = "of the requests that completed within each sample period."
    each = f" Each point is the longest of {s.thinned} sample periods." if s.note else ""
    captions = f"Mean latency {text}{s.note}", f"The longest latency {text}{each}"
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
        untimed = all(_functional(report) for report in reports.values())
        return Missing(*title, UNTIMED if untimed else "No request of this kind completed.")
    caption = (
        "Mean latency and its parts: waiting for other host operations, flash array, buses,"
        " waiting for garbage collection, fetching metadata."
    )
    return Stacked(*title, caption, tuple(PARTS.values()), tuple(rows))


def device_figures(report: Report) -> list[Figure]:
    """The device over time."""
    why = no_series(report)
    if why:
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
        return [Missing(key, title, why) for key, title in titles.items()]
    s = Series(report)
    return [_requests(s), *_space(report, s), *_writes(s), *_activity(s)]


def _space(report: Report, s: Series) -> list[Figure]:
    used = s.mean("used", HOST, s["used_pages"] / report.device.physical_pages)
    free = s.mean("free", HOST, s["free_blocks"])
    share = Axis("share of all pages", "share")
    used_text = "Pages that are not erased, valid or not, at the end of each sample period."
    free_text = (
        f"Erased blocks at the end of each sample period; the fewest at any time were"
        f" {report.device.lowest_free_blocks:,} of {report.device.blocks:,}."
    )
    blocks = Axis("erased blocks", "count", low=0.0)
    return [
        Plot("used", "Used space", used_text + s.note, TIME, share, (used,), linked=True),
        Plot("free", "Free blocks", free_text + s.note, TIME, blocks, (free,), linked=True),
    ]


def _writes(s: Series) -> list[Figure]:
    title = "waf", "Write amplification over time"
    if s["host_pages_written"][-1] > 0:
        so_far = s.mean("so far", HOST, s["all_programs"], s["host_pages_written"])
        so_far = Curve("since the start", so_far.x, so_far.y, HOST)
        top, bottom = s.rise("all_programs"), s.rise("host_pages_written")
        curves = s.mean("within the sample period", WRITE, top, bottom), so_far
        text = (
            "Pages programmed for any reason over pages written by the host. A sample period in"
            " which the host wrote little can have any value."
        )
        axis = WAF_AXIS
        waf: Figure = Plot(*title, text + s.note, TIME, axis, curves, linked=True)
    else:
        waf = Missing(*title, "The host wrote nothing during the measurement.")
    others = s.rise("all_programs") - s.rise("gc_programs")
    rates = [
        s.mean("for the host and others", HOST, others, s.seconds),
        s.mean("by garbage collection", GC, s.rise("gc_programs"), s.seconds),
    ]
    per_second = Axis("pages per second", "count", low=0.0)
    text = "Rates within each sample period." + s.note
    programs = "programs", "Pages programmed"
    return [waf, side_by_side(*programs, text, TIME, per_second, rates, linked=True)]


def _requests(s: Series) -> Figure:
    title = "rate", "Requests completed"
    rates = [
        s.mean(op, OPS[op], s[f"interval_{op}s"], s.seconds)
        for op in ("read", "write")
        if s[f"interval_{op}s"].any()
    ]
    if not rates:
        return Missing(*title, "No read or write completed during the measurement.")
    text = "Reads and writes that completed, a second, within each sample period." + s.note
    y = Axis("requests per second", "count", low=0.0)
    return side_by_side(*title, text, TIME, y, rates, linked=True)


def _activity(s: Series) -> list[Figure]:
    pools = s.mean("pools", GC, s["gc_active_pools"])
    erases = s.mean("erases", ERASE, s.rise("erases"), s.seconds)
    pending = s.mean("pending", HOST, s["pending_requests"])
    several = (
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
        Plot(*title, text + s.note, TIME, axis, (curve,), linked=True)
        for title, text, axis, curve in several
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
        return Missing(*title, no_distributions(report) or "Garbage collection collected no block.")
    invalid = report.gc.mean_victim_invalid_ratio
    pages = rows[:, 2].sum(), (rows[:, 2] * (rows[:, 0] + rows[:, 1]) / 2).sum()
    # The report knows the mean share, the buckets the mean number: together the size of a victim.
    size = round(float(pages[1] / pages[0] / invalid)) if invalid else int(rows[:, 1].max()) or 1
    left, right = (rows[:, 0] - 0.5) / size, (rows[:, 1] + 0.5) / size
    # A bucket that is wider than its neighbours must not look fuller.
    width = (rows[:, 1] - rows[:, 0] + 1).astype(float)
    share = rows[:, 2] / rows[:, 2].sum() / width
    text = (
        f"Invalid pages of each victim when it was chosen, of {size:,}. Invalid pages need no copy:"
        " further right is cheaper."
    )
    y = Axis("share of victims", "share", low=0.0)
    bars = Bars("victims", left, right, share, GC)
    x = Axis("invalid share of the victim", "share", low=0.0, high=1.0 + 0.5 / size)
    return Plot(*title, text, x, y, bars=(bars,))


def _erases(report: Report) -> Figure:
    title = "erases", "Erases of blocks during the measurement"
    rows = report.distributions.get("erases")
    if rows is None:
        return Missing(*title, no_distributions(report) or "The device has no blocks.")
    low, high = int(rows[0, 0]), int(rows[-1, 1])
    wide = -(-(high - low + 1) // MOST_BARS)
    which = (rows[:, 0] - low) // wide
    counts = np.bincount(which, weights=rows[:, 2]).astype(float)
    left = low - 0.5 + wide * np.arange(len(counts), dtype=float)
    text = (
        "Blocks by their number of erases during the measurement; preconditioning and warm-up"
        " are not counted."
    )
    if wide > 1:
        text += f" Each bar stands for {wide} numbers of erases."
    bars = Bars("blocks", left, left + wide, counts, ERASE)
    y = Axis("blocks", "count", low=0.0)
    x = Axis("erases of a block", "count", low=low - 0.5, high=float(left[-1]) + wide)
    return Plot(*title, text, x, y, bars=(bars,))


def _utilisation(what: str, shares: tuple[float, ...]) -> Figure:
    title = f"{what}s", f"Utilisation of {what}s"
    if not shares:
        return Missing(*title, UNTIMED)
    values = np.array(shares)
    y = Axis("share of time busy", "share", low=0.0, high=1.0)
    order = ", channel by channel" if what == "chip" else ""
    text = f"Share of the measured time in which each {what} was busy{order}."
    n = np.arange(len(values), dtype=float)
    x = Axis(what, "count", low=-0.5, high=len(values) - 0.5)
    if len(values) <= MOST_BARS:
        return Plot(*title, text, x, y, bars=(Bars("busy", n - 0.4, n + 0.4, values, HOST),))
    wide = -(-len(values) // MOST_BARS)
    firsts = np.arange(0, len(values), wide)
    sizes = np.diff(np.append(firsts, len(values)))
    low, high = np.minimum.reduceat(values, firsts), np.maximum.reduceat(values, firsts)
    mean = np.add.reduceat(values, firsts) / sizes
    text += f" The line is the mean of {wide} neighbours, the band spans their minimum and maximum."
    return Plot(
        *title, text, x, y, (Curve("busy", firsts + (sizes - 1) / 2, mean, HOST, low, high),)
    )
