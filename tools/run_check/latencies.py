"""Latencies, their parts and request counts: the request log against the report."""

from __future__ import annotations

import math

from .inputs import PARTS, REPORT, Findings, Report
from .requests import KindTotals, Requests

PERCENTILES = {
    "p50": 0.5,
    "p90": 0.9,
    "p95": 0.95,
    "p99": 0.99,
    "p99_9": 0.999,
    "p99_99": 0.9999,
}
BUCKET = 0.01
"""Relative width of a histogram bucket: how far a reported percentile may be off."""


def percentile_range(latencies: list[int], share: float) -> tuple[float, float]:
    """Return the values (ns) that may be printed for a percentile of sorted latencies."""
    rank = share * len(latencies)
    low = latencies[max(0, math.floor(rank) - 1)]
    high = latencies[min(len(latencies) - 1, math.ceil(rank))]
    return low * (1.0 - BUCKET) - 1.0, high * (1.0 + BUCKET) + 1.0


def check_latencies(report: Report, kind: str, totals: KindTotals, findings: Findings) -> None:
    """Compare latency.<kind> with the requests."""
    path = f"latency.{kind}"
    count = report.number(f"{path}.count") or 0
    if count != totals.count:
        findings.add("latency-report", f"{REPORT}:{path}.count", totals.count, count)
    if totals.count == 0 or count == 0:
        return
    latencies = sorted(totals.latencies)
    mean = sum(latencies) / len(latencies)
    squares = math.fsum((value - mean) ** 2 for value in latencies)
    spread = math.sqrt(squares / len(latencies))
    sample = math.sqrt(squares / max(1, len(latencies) - 1))
    ranges = {
        "mean": (mean * (1 - 1e-6) - 1.0, mean * (1 + 1e-6) + 1.0),
        "min": (latencies[0], latencies[0]),
        "max": (latencies[-1], latencies[-1]),
    }
    optional = {"stddev": (spread * (1 - 1e-3) - 1.0, sample * (1 + 1e-3) + 1.0)}
    optional |= {key: percentile_range(latencies, share) for key, share in PERCENTILES.items()}
    for key, (low, high) in (ranges | optional).items():
        actual = report.number(f"{path}.{key}")
        if actual is None and key in optional:
            continue
        if actual is None or not low <= actual <= high:
            expected = low if low == high else f"{low:.3f} to {high:.3f}"
            findings.add("latency-report", f"{REPORT}:{path}.{key}", expected, actual)


def check_requests(report: Report, requests: Requests, findings: Findings) -> None:
    """Compare counts, pages, latencies and their parts with the report."""
    totals = requests.totals
    for kind in ("read", "write", "trim"):
        check_latencies(report, kind, totals[kind], findings)
    counts = {f"requests.{kind}": total.count for kind, total in totals.items()}
    counts["requests.completed"] = sum(total.count for total in totals.values())
    names = {"read": "read", "write": "written"}
    pages = {f"host.pages_{name}": totals[kind].pages for kind, name in names.items()}
    if requests.complete:
        counts["requests.submitted"] = counts["requests.completed"]
    else:
        counts = {"requests.completed": counts["requests.completed"]}
        pages = {}
    trimmed_pages = report.number("host.pages_trimmed") or 0
    if trimmed_pages > totals["trim"].pages and requests.complete:
        expected_trims = f"at most {totals['trim'].pages}: what was mapped of the pages trimmed"
        findings.add("host-pages", f"{REPORT}:host.pages_trimmed", expected_trims, trimmed_pages)
    repetitions = report.number("power.requests_repeated") or 0
    rules: tuple[tuple[str, dict[str, int]], ...]
    rules = (("request-count", counts), ("host-pages", pages))
    for rule, expected in rules:
        for path, value in expected.items():
            actual = report.number(path)
            # Requests that a cut has withdrawn may count in the pages again.
            if actual is not None and rule == "host-pages" and repetitions and actual > value:
                continue
            if actual is not None and actual != value:
                findings.add(rule, f"{REPORT}:{path}", value, actual)
    for kind in ("read", "write"):
        for part, total in zip(PARTS, totals[kind].parts, strict=True):
            actual = report.number(f"latency_parts.{kind}.{part}")
            mean = total / max(1, totals[kind].count)
            if actual is not None and not math.isclose(actual, mean, rel_tol=1e-6, abs_tol=1.0):
                place = f"{REPORT}:latency_parts.{kind}.{part}"
                findings.add("latency-parts-report", place, mean, actual)
