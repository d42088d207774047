"""The plots of a trace, or of two on shared axes: the second is dashed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ssdlab.display.numbers import duration, on_page, size
from ssdlab.html.panels import side_by_side
from ssdlab.html.plot import (
    FLUSH,
    READ,
    TONES,
    TRIM,
    WRITE,
    Axis,
    Cells,
    Curve,
    Figure,
    Floats,
    MissingPlot,
    Plot,
)

if TYPE_CHECKING:
    from ssdlab.traces.info import Distribution, Info

OPS = {"read": READ, "write": WRITE, "trim": TRIM}
NAMES = {"trim": "discard"}
RATES = {"trims": "discards", "others": "flushes and copies"}
PAGE_BYTES = 4096
SINCE = Axis("time since the first arrival", "ns")
PEAK, DISPERSION = 1, 4
"""Colours."""
SHARE = Axis("share at or below", "share", low=0.0, high=1.0)
STEPS = (
    " Exact at powers of two, at the smallest and at the largest value; interpolated linearly in"
    " between."
)


def trace_figures(infos: Sequence[Info]) -> list[Figure]:
    """Every plot, in the order of the page."""
    sizes = "Requests of each operation by size."
    runs = "Runs of requests of an operation, each starting where the previous one ended."
    size, length = (
        Axis("size", "bytes", log=True),
        Axis("requests in a run", "count", log=True),
    )
    return [
        *arrival_figures(infos),
        _by_op(infos, "sizes", "Sizes of requests", sizes, "size", size),
        _by_op(infos, "runs", "Sequential runs", runs, "run_requests", length),
        _updates(infos, "updates", "Update intervals", "interval_pages"),
        _updates(infos, "updates-time", "Update intervals in time", "interval_ns"),
        _hot(infos),
        _gaps(infos),
        _idle(infos),
        _bursts(infos),
    ]


def arrival_figures(infos: Sequence[Info]) -> list[Figure]:
    """When and where requests arrive."""
    return [_rate(infos), *_maps(infos)]


def _label_traces(infos: Sequence[Info]) -> Iterator[tuple[str, int, Info]]:
    """The suffix of the names and colours of a trace's curves, and the trace."""
    for i, (name, info) in enumerate(zip(("first", "second"), infos, strict=False)):
        yield (f", {name}" if len(infos) > 1 else ""), TONES * i, info


def _rate(infos: Sequence[Info]) -> Figure:
    """Arrivals over time, by operation: bursts are visible, and none hides another."""
    title = "rate", "Request rate over time"
    curves, widths = [], []
    for suffix, shift, info in _label_traces(infos):
        rate = info.rate
        widths.append(f"{on_page(duration(rate.bin_ns))}{suffix}")
        edges = rate.bin_ns * np.arange(len(rate.reads) + 1, dtype=float)
        kinds = (("reads", READ), ("writes", WRITE), ("trims", TRIM), ("others", FLUSH))
        for field, tone in kinds:
            counts = getattr(rate, field)
            if counts.any():
                heights = np.append(counts, counts[-1]) / (rate.bin_ns / 1e9)
                name = RATES.get(field, field) + suffix
                curves.append(Curve(name, edges, heights, tone + shift, step=True))
    if not curves:
        return MissingPlot(*title, "The trace has no requests.")
    text = (
        f"Arrivals in bins of {' and '.join(widths)}, as requests per second; the last bin may"
        " reach beyond the end of the trace."
    )
    y = Axis("requests per second", "count", low=0.0)
    return side_by_side(*title, text, SINCE, y, curves, linked=True)


def _maps(infos: Sequence[Info]) -> list[Figure]:
    """Where in the address space pages are written and read, over time."""
    figures: list[Figure] = []
    for i, (suffix, _, info) in enumerate(_label_traces(infos)):
        grid = info.map
        highest = max((int(row.max()) for row in (*grid.reads, *grid.writes)), default=0)
        for field, noun, tone in (("writes", "written", WRITE), ("reads", "read", READ)):
            counts: tuple[npt.NDArray[np.uint64], ...] = getattr(grid, field)
            key = f"map-{field}" + (f"-{i + 1}" if i else "")
            title = f"Pages {noun} by time and address{suffix}"
            total = sum(int(row.sum()) for row in counts)
            if not total:
                continue
            bin_y = grid.bin_pages * PAGE_BYTES
            text = (
                f"The {total:,} pages {noun} (4 KiB; each time that one is {noun} counts), in cells"
                f" of {on_page(duration(grid.bin_ns))} and {on_page(size(bin_y))} of addresses."
                " Cells without any are blank."
            )
            if len(info.volumes) > 1:
                text += f" The addresses of all {len(info.volumes):,} volumes lie on one axis."
            first_y = float(grid.first_page * PAGE_BYTES)
            end_x = float(info.rate.bin_ns * len(info.rate.reads))
            bins = (end_x, first_y, float(grid.bin_ns), float(bin_y))
            cells = (*bins, counts, f"pages {noun}", tone, highest)
            figures.append(Cells(key, title, text, SINCE, Axis("address", "bytes"), *cells))
    return figures or [
        MissingPlot("map", "Pages by time and address", "No page is read or written.")
    ]


def _cdf(name: str, shape: Distribution, tone: int) -> Curve | None:
    """Shares at or below the ends of the buckets; None without values."""
    if not shape.count or shape.min is None or shape.max is None:
        return None
    # A bucket ends before the next power of two, and the last one at the largest value.
    ends = np.maximum(shape.bucket_low.astype(float) * 2 - 1, 0)
    shares = shape.bucket_count.cumsum() / shape.count
    inside = (ends >= shape.min) & (ends < shape.max)
    first: Floats = np.array([float(shape.min)])
    x = np.concatenate([first, ends[inside], [float(shape.max)]])
    first_share = shares[0] if shape.min == 0 else 0.0
    y = np.concatenate([[first_share], shares[inside], [1.0]])
    # A log axis cannot show zero: its share is where the curve begins.
    return Curve(name, np.maximum(x, 0.5), y, tone)


def _cdf_figure(
    key: str, title: str, text: str, axis: Axis, curves: list[Curve | None], reason: str
) -> Figure:
    drawn_curves = tuple(curve for curve in curves if curve is not None)
    if not drawn_curves:
        return MissingPlot(key, title, reason)
    return Plot(key, title, text + STEPS, axis, SHARE, drawn_curves)


def _histogram(name: str, shape: Distribution, tone: int) -> Curve:
    """Shares of the buckets as an outline."""
    low = shape.bucket_low.astype(float)
    x = np.concatenate([low[:1], low, 2 * low[-1:]])
    y = np.concatenate([[0.0], shape.bucket_count / shape.count, [0.0]])
    return Curve(name, x, y, tone, step=True)


def _by_op(
    infos: Sequence[Info], key: str, title: str, text: str, field: str, axis: Axis
) -> Figure:
    """Few values occur, mostly powers of two: a histogram shows that, a CDF would not."""
    shapes = [
        (NAMES.get(op, op) + suffix, getattr(getattr(info.ops, op), field), tone + shift)
        for suffix, shift, info in _label_traces(infos)
        for op, tone in OPS.items()
    ]
    curves = tuple(_histogram(*shape) for shape in shapes if shape[1].count)
    if not curves:
        return MissingPlot(key, title, "The trace has only flushes.")
    text += " Each step covers the values from one power of two up to the next."
    return Plot(key, title, text, axis, Axis("share of each", "share", low=0.0), curves)


def _updates(infos: Sequence[Info], key: str, title: str, field: str) -> Figure:
    is_in_pages = field == "interval_pages"
    axis = (
        Axis("host pages written between", "count", log=True)
        if is_in_pages
        else Axis("time between", "ns", log=True)
    )
    curves = [
        _cdf("updates" + suffix, getattr(info.updates, field), WRITE + shift)
        for suffix, shift, info in _label_traces(infos)
    ]
    unit = "host pages written" if is_in_pages else "time"
    text = f"From one write of a page (4 KiB) to the next write of the same page, in {unit}."
    return _cdf_figure(key, title, text, axis, curves, "No page is written twice.")


def _hot(infos: Sequence[Info]) -> Figure:
    title = "hot", "Hot pages"
    curves = tuple(
        Curve(
            "writes" + suffix,
            np.concatenate([[0.0], info.hot.hottest, [1.0]]),
            np.concatenate([[0.0], info.hot.write_share, [1.0]]),
            WRITE + shift,
        )
        for suffix, shift, info in _label_traces(infos)
        if info.updates.page_writes
    )
    if not curves:
        return MissingPlot(*title, "The trace writes nothing.")
    text = (
        "Writes that go to the hottest of the written pages (4 KiB). A straight line from corner"
        " to corner would be uniform."
    )
    x = Axis("share of the written pages, hottest first", "share", low=0.0, high=1.0)
    return Plot(*title, text, x, Axis("share of page writes", "share", low=0.0, high=1.0), curves)


def _gaps(infos: Sequence[Info]) -> Figure:
    curves = [
        _cdf("gaps" + suffix, info.gaps, READ + shift)
        for suffix, shift, info in _label_traces(infos)
    ]
    text = "Times between consecutive arrivals; those below 1 ns are at the start of the curve."
    axis = Axis("gap", "ns", log=True)
    reason = "The trace has a single request."
    return _cdf_figure("gaps", "Gaps between arrivals", text, axis, curves, reason)


def _idle(infos: Sequence[Info]) -> Figure:
    title = "idle", "Idle periods"
    curves = tuple(
        Curve("idle" + suffix, info.idle.threshold_ns.astype(float), info.idle.time_share, shift)
        for suffix, shift, info in _label_traces(infos)
        if info.duration_ns
    )
    if not curves:
        return MissingPlot(*title, "All requests arrive at once.")
    text = "Share of the duration in gaps of at least this length."
    x = Axis("length of a gap", "ns", log=True)
    return Plot(*title, text, x, Axis("share of the duration", "share", low=0.0, high=1.0), curves)


def _bursts(infos: Sequence[Info]) -> Figure:
    title = "bursts", "Burstiness"
    curves = []
    for suffix, shift, info in _label_traces(infos):
        windows = [window for window in info.bursts if window.peak_to_mean is not None]
        x = np.array([float(window.window_ns) for window in windows])
        for name, tone, values in (
            ("peak to mean", PEAK, [window.peak_to_mean for window in windows]),
            ("dispersion", DISPERSION, [window.dispersion for window in windows]),
        ):
            if windows:
                curves.append(Curve(name + suffix, x, np.array(values, float), tone + shift))
    if not curves:
        return MissingPlot(*title, "The trace is shorter than a window.")
    text = "Arrivals in windows of a given length. Dispersion is variance over mean: 1 for Poisson."
    y = Axis("ratio", "ratio", log=True)
    return Plot(*title, text, Axis("length of a window", "ns", log=True), y, tuple(curves))
