"""A run in the form of fio's JSON output (`fio --output-format=json`), for fio-plot and others.

There is one job. Its options are those that such tools sort by: `rw` is the mix, `bs` the mean
request in whole pages, `iodepth` the queue depth or, with open arrivals, the largest number of
outstanding requests. Latency is both fio's clat and lat, because submission takes no time here.
Fields that a simulation has no value for (processor times, context switches) are 0. Form: fio 3.33,
`stat.c`.
"""

from __future__ import annotations

import json
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ssdlab import _core
from ssdlab.display.argument import argument
from ssdlab.errors import OutputError
from ssdlab.results.outputs import Write, text
from ssdlab.results.report import Report

Part: TypeAlias = "dict[str, Any]"
Rows: TypeAlias = "npt.NDArray[np.int64]"

PERCENTILES = (1, 5, *range(10, 100, 10), 95, 99, 99.5, 99.9, 99.95, 99.99)
EDGES = (2, 4, 10, 20, 50, 100, 250, 500, 750, 1000)
"""Exclusive upper ends of fio's latency classes, for each unit of time."""
UNITS = {"ns": 1, "us": 1000, "ms": 10**6}
DEPTHS = ("1", "2", "4", "8", "16", "32")


def files(report: Report) -> dict[str, Write]:
    """fio.json."""
    if report.json["config"]["run"]["mode"] == "functional":
        raise OutputError(
            f"{argument(to='fio')}: a functional run has no time; make it with run.mode=timed"
        )
    if not report.distributions_csv:
        raise OutputError(f"{argument(to='fio')}: the run has no distributions.csv; make it again")
    values = {"fio version": f"ssdlab-{_core.__version__}", "jobs": [_job(report)], "disk_util": []}
    return {"fio.json": text(json.dumps(values, indent=2) + "\n")}


def _job(report: Report) -> Part:
    options = _options(report)
    depth = {**dict.fromkeys(DEPTHS, 0.0), ">=64": 0.0}
    classes = _classes(report)
    return {
        "jobname": report.name,
        "groupid": 0,
        "error": 0,
        "eta": 0,
        "elapsed": -(-report.time.simulated // 10**9),
        "job options": options,
        **{op: _direction(report, op) for op in ("read", "write", "trim")},
        "sync": {
            "total_ios": report.requests.flush,
            "lat_ns": _moments(report, "flush"),
        },
        "job_runtime": report.time.simulated // 10**6,
        **dict.fromkeys(("usr_cpu", "sys_cpu"), 0.0),
        **dict.fromkeys(("ctx", "majf", "minf"), 0),
        **{f"iodepth_{name}": depth for name in ("level", "submit", "complete")},
        **classes,
        "latency_depth": int(options["iodepth"]),
    }


def _options(report: Report) -> dict[str, str]:
    config, requests = report.json["config"], report.requests
    mix = {(True, False): "read", (False, True): "write"}.get(
        (requests.read > 0, requests.write > 0), "rw"
    )
    order = "" if config["workload"]["kind"] == "sequential" else "rand"
    bytes_moved = (report.host.pages_read + report.host.pages_written) * report.device.page_bytes
    mean_bytes = round(bytes_moved / max(1, requests.read + requests.write))
    is_closed = config["host"]["mode"] == "closed"
    depth = config["host"]["queue_depth"] if is_closed else report.little.peak_in_system
    return {
        "name": report.name,
        "rw": order + mix,
        "bs": str(mean_bytes),
        "iodepth": str(max(1, depth)),
        "numjobs": "1",
        "ioengine": "ssdlab",
    }


def _moments(report: Report, op: str) -> Part:
    stats = getattr(report.latency, op)
    return {
        "min": stats.min or 0,
        "max": stats.max or 0,
        "mean": stats.mean or 0.0,
        "stddev": stats.stddev or 0.0,
        "N": stats.count,
    }


def _direction(report: Report, op: str) -> Part:
    count = getattr(report.requests, op)
    pages = {"read": "pages_read", "write": "pages_written", "trim": "pages_trimmed"}[op]
    size = getattr(report.host, pages) * report.device.page_bytes
    seconds = report.time.simulated / 1e9
    rate = size / seconds if seconds else 0.0
    moments = _moments(report, op)
    return {
        "io_bytes": size,
        "io_kbytes": size >> 10,
        "bw_bytes": round(rate),
        "bw": round(rate / 1024),
        "iops": count / seconds if seconds else 0.0,
        "runtime": report.time.simulated // 10**6,
        "total_ios": count,
        "short_ios": 0,
        "drop_ios": 0,
        "slat_ns": {"min": 0, "max": 0, "mean": 0.0, "stddev": 0.0, "N": 0},
        "clat_ns": {**moments, "percentile": _percentiles(report, op)} if count else moments,
        "lat_ns": moments,
        **_interval_statistics(report, op),
    }


def _interval_statistics(report: Report, op: str) -> Part:
    """Statistics over the intervals of the series, which fio computes over its samples."""
    series = report.series
    times = series.get("time_ns", np.empty(0, np.int64))
    seconds = np.diff(times, prepend=report.time.measured_from) / 1e9
    is_timed = seconds > 0
    values: dict[str, npt.NDArray[np.float64]] = {"bw": np.empty(0), "iops": np.empty(0)}
    if is_timed.any() and op != "trim":
        pages = np.diff(series[f"host_pages_{'read' if op == 'read' else 'written'}"], prepend=0)
        kibibytes = pages[is_timed] * report.device.page_bytes / 1024
        values = {
            "bw": kibibytes / seconds[is_timed],
            "iops": series[f"interval_{op}s"][is_timed] / seconds[is_timed],
        }
    part: Part = {}
    for name, column in values.items():
        spread_key = "bw_dev" if name == "bw" else "iops_stddev"
        has_values = len(column) > 0
        part[f"{name}_min"] = round(column.min()) if has_values else 0
        part[f"{name}_max"] = round(column.max()) if has_values else 0
        part[f"{name}_mean"] = float(column.mean()) if has_values else 0.0
        part[spread_key] = float(column.std()) if has_values else 0.0
        part[f"{name}_samples"] = len(column)
    part["bw_agg"] = 100.0 if part["bw_samples"] else 0.0
    return part


def _percentiles(report: Report, op: str) -> dict[str, int]:
    """Upper ends of the buckets of the histogram, which are within 0.8 % of the values.

    Only those with at least ten samples beyond them, as everywhere, and none above the longest.
    """
    rows = report.distributions[f"latency_{op}"]
    count, longest = rows[:, 2].sum(), getattr(report.latency, op).max
    percentiles = [
        percentile for percentile in PERCENTILES if count * (100 - percentile) >= 1000 - 1e-6
    ]
    shares = rows[:, 2].cumsum() / rows[:, 2].sum()
    indices = np.searchsorted(shares, np.array(percentiles) / 100 - 1e-12)
    ends = rows[indices.clip(max=len(rows) - 1), 1].clip(max=longest).tolist()
    return {f"{percentile:.6f}": end for percentile, end in zip(percentiles, ends, strict=True)}


def _classes(report: Report) -> dict[str, dict[str, float]]:
    """Shares of all reads, writes and trims by class of latency, in percent."""
    histograms = [report.distributions.get(f"latency_{op}") for op in ("read", "write", "trim")]
    tables: list[Rows] = [rows for rows in histograms if rows is not None]
    rows = np.concatenate(tables) if tables else np.empty((0, 3), np.int64)
    # A class begins where the previous one ends, even one of a smaller unit.
    ends = np.array(
        sorted({edge_ * unit for unit in UNITS.values() for edge_ in EDGES} | {2 * 10**9})
    )
    class_indices = np.searchsorted(ends, (rows[:, 0] + rows[:, 1]) // 2, side="right")
    counts = np.bincount(class_indices, weights=rows[:, 2], minlength=len(ends) + 1)
    shares = (100 * counts / max(1, counts.sum())).tolist()
    share_below = dict(zip(ends.tolist(), shares, strict=False))
    classes = {
        f"latency_{name}": {str(edge): share_below[edge * unit] for edge in EDGES}
        for name, unit in UNITS.items()
    }
    classes["latency_ms"] |= {"2000": share_below[2 * 10**9], ">=2000": shares[-1]}
    return classes
