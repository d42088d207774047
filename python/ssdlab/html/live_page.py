"""The page of a served drive: its present state, and its last minutes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from ssdlab.display.numbers import duration, on_page, size
from ssdlab.html.page import Section, document, figures, number, script_data, table
from ssdlab.html.plot import Axis, Curve, Figure, Floats, Heatmap, MissingPlot, Plot
from ssdlab.html.svg import style
from ssdlab.results.text import PARTS, counted

PERCENTILES = ("p50", "p90", "p99", "p99_9", "max")


@dataclass(frozen=True)
class Sample:
    """The summary of a session, `at` seconds after the start of the page."""

    at: float
    summary: dict[str, Any]


def live_page(name: str, samples: Sequence[Sample], events: str) -> str:
    """The whole page, which updates itself from the address `events`."""
    lead = '<p class="lead">a served drive · <span id="live" role="status">live</span></p>'
    page = document(name, lead, live_sections(samples))
    script = script_data(json.dumps(events), "events") + f"<script>{style('live.js')}</script>"
    return page.replace("</body>", f"{script}</body>")


def live_sections(samples: Sequence[Sample]) -> list[Section]:
    """The parts of the page."""
    summary = samples[-1].summary
    return [
        Section("now", "Now", _cards(samples)),
        Section("course", "The last minutes", figures([_rate(samples), _waf(samples)])),
        Section("latency", "Latency", _latencies(summary["report"])),
        Section("slow", "The slowest requests", _slowest(summary["slowest"])),
        Section(
            "blocks",
            "Blocks",
            _channels(summary["channels"]) + figures([_map(summary["channels"])]),
        ),
    ]


def _card(name: str, value: str, detail: str = "") -> str:
    small = f"<small>{detail}</small>" if detail else ""
    return f"<div><dt>{escape(name)}</dt><dd>{value}{small}</dd></div>"


def _time(ns: float | None) -> str:
    return "–" if ns is None else on_page(duration(ns))


def _rates(samples: Sequence[Sample]) -> tuple[Floats, Floats]:
    """The times of the samples but the first, and the replies per second before each of them."""
    moments = np.array([sample.at for sample in samples])
    count = np.array([float(sample.summary["requests"]) for sample in samples])
    steps = np.maximum(np.diff(moments), 1e-3)
    return moments[1:], np.diff(count) / steps


def _cards(samples: Sequence[Sample]) -> str:
    summary = samples[-1].summary
    report, late, channels = summary["report"], summary["late"], summary["channels"]
    rates = _rates(samples)[1]
    free, blocks = (sum(channel[key] for channel in channels) for key in ("free", "blocks"))
    collecting = sum(channel["is_collecting"] for channel in channels)
    valid = {
        True: "valid",
        False: '<strong class="bad">not valid</strong>',
        None: "too few replies",
    }
    # Only one of the two occurs: the clock stops, or it continues.
    delays = [summary["stops"], summary["lags"]]
    count, ns = (sum(delay[key] for delay in delays) for key in ("count", "ns"))
    cards = [
        _card("requests a second", f"{rates[-1]:,.0f}" if rates.size else "–", _totals(summary)),
        _card("write amplification", number("waf.total", report["waf"]["total"])),
        _card("erased blocks", f"{free:,}", f"of {blocks:,}"),
        _card("channels collecting", f"{collecting}", f"of {len(channels)}"),
        _card("replies late, p99", _time(late["p99_ns"]), valid[late["is_valid"]]),
        _card("server behind", counted(count, "time"), f"{_time(ns)} in all"),
        _card("scale", f"{summary['scale']:.4g}", "seconds of wall time per second of the drive's"),
        _card("priority", "real-time" if summary["real_time"] else "ordinary"),
    ]
    return f'<dl class="cards">{"".join(cards)}</dl>'


def _totals(summary: dict[str, Any]) -> str:
    return f"{summary['requests']:,} in all, from {counted(summary['clients'], 'client')}"


def _latencies(report: dict[str, Any]) -> str:
    rows = []
    for op, values in report["latency"].items():
        if values["count"]:
            cells = [number(f"latency.{op}.{key}", values[key]) for key in ("count", *PERCENTILES)]
            rows.append((op, cells))
    if not rows:
        return "<p>No request has completed.</p>"
    head = ["", "count", *(key.replace("_", ".") for key in PERCENTILES)]
    return table(
        head,
        rows,
        "Latencies of the drive since the server started or last folded the log; without lateness",
    )


def _slowest(slowest: Sequence[dict[str, Any]]) -> str:
    if not slowest:
        return "<p>No request has completed.</p>"
    rows = [
        (
            str(request["id"]),
            [
                escape(f"{request['op']} of {size(512 * request['sectors'])}").replace(
                    " ", "\u00a0"
                ),
                _time(request["arrival_ns"]),
                _time(request["latency_ns"]),
                *(_time(request[key]) for key, _ in PARTS),
            ],
        )
        for request in slowest
    ]
    head = ["request", "operation", "arrived at", "latency", *(name for _, name in PARTS)]
    return table(head, rows, "Parts of the latencies of the slowest requests, in the drive's time")


def _channels(channels: Sequence[dict[str, Any]]) -> str:
    collecting = [str(i) for i, channel in enumerate(channels) if channel["is_collecting"]]
    names = ", ".join(collecting) or "none"
    return f"<p>Channels collecting now: {names}.</p>"


def _map(channels: Sequence[dict[str, Any]]) -> Figure:
    title = "Valid pages of the blocks"
    columns = max(len(channel["valid"]) for channel in channels)
    cells = np.full((len(channels), columns), np.nan)
    for row, channel in enumerate(channels):
        shares = [np.nan if share is None else share for share in channel["valid"]]
        cells[row, : len(shares)] = shares
    if np.isnan(cells).all():
        return MissingPlot("map", title, "No block has been written.")
    return Heatmap(
        "map",
        title,
        "Share of valid pages in groups of consecutive blocks. Blank groups have no written block.",
        tuple(map(str, range(columns))),
        tuple(map(str, range(len(channels)))),
        "group of blocks",
        "channel",
        cells,
        "gc.mean_victim_invalid_ratio",
        np.zeros(cells.shape, dtype=bool),
    )


def _time_axis(samples: Sequence[Sample]) -> Axis:
    return Axis("time before now", "ns", low=1e9 * (samples[0].at - samples[-1].at), high=0.0)


def _relative_ns(samples: Sequence[Sample], moments: Floats) -> Floats:
    return 1e9 * (moments - samples[-1].at)


def _rate(samples: Sequence[Sample]) -> Figure:
    moments, rates = _rates(samples)
    title = "Requests answered per second"
    if not moments.size:
        return MissingPlot(
            "rate", title, "The curve appears once the drive has been sampled twice."
        )
    curve = Curve("requests", _relative_ns(samples, moments), rates, 0)
    y = Axis("requests a second", "count", low=0.0)
    return Plot("rate", title, "Per second of wall time.", _time_axis(samples), y, (curve,))


def _waf(samples: Sequence[Sample]) -> Figure:
    moments = np.array([sample.at for sample in samples])
    total = [sample.summary["report"]["waf"]["total"] for sample in samples]
    values = np.array([np.nan if value is None else value for value in total], dtype=float)
    title = "Write amplification"
    if moments.size < 2 or np.isnan(values).all():
        return MissingPlot("waf", title, "The curve appears once the drive has been written to.")
    curve = Curve("write amplification", _relative_ns(samples, moments), values, 1)
    caption = "Since the server started or last folded the log."
    # The axis starts at 0: outstanding writes make a ratio of 1 flicker in its last digits.
    y = Axis("write amplification", "ratio", low=0.0)
    return Plot("waf", title, caption, _time_axis(samples), y, (curve,))
