"""Runs of sustained writes whose rates are those that were published, without a simulator."""

from types import SimpleNamespace
from typing import cast

import numpy as np

from ssdlab.results.report import Report
from ssdlab_lab.reproduce.drives import choices, sustained
from ssdlab_lab.reproduce.drives.known import Drive


def filled(drive: Drive, smaller: int = 64, slower: float = 1.0) -> Report:
    """The drive at 1 / `smaller` of its size, `slower` times as slow as published."""
    device = drive.config.values["device"]
    full = sustained.capacity_gb(drive)
    written, seconds = [0.0], [0.0]
    for start, end, rate in sustained.steps(drive.measured.sustained, full):
        written.append(end / smaller)
        seconds.append(seconds[-1] + (end - start) * 1000 / rate * slower / smaller)
    times = np.linspace(0, seconds[-1], choices.SAMPLES + 1)[1:]
    pages = np.interp(times, seconds, written) * 1e9 / device["page_bytes"]
    config = {
        "device.user_pages": device["user_pages"] / smaller,
        "device.page_bytes": device["page_bytes"],
        "run.mode": "timed",
    }
    run = SimpleNamespace(
        waf=SimpleNamespace(total=1.0),
        latency=SimpleNamespace(write=SimpleNamespace(p50=10_000, p99=20_000)),
        config=config,
        series={"host_pages_written": pages, "time_ns": times * 1e9},
    )
    return cast("Report", run)
