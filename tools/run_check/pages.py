"""The page of a run: its numbers, and the data of its plots, against report and logs."""

from __future__ import annotations

import csv
import json
import math
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from html import unescape
from pathlib import Path
from typing import Any, TypeAlias

from .inputs import OPS, Findings, Report, rows
from .requests import Requests

PAGE = "report.html"
Curve: TypeAlias = "dict[str, Any]"
Numbers: TypeAlias = "list[float | None]"
UNITS = {
    **dict(zip(("ns", "µs", "ms", "s", "min", "h"), (1, 1e3, 1e6, 1e9, 6e10, 3.6e12), strict=True)),
    **{
        f"{prefix}iB{suffix}": 1024.0**n
        for n, prefix in enumerate("KMGTP", 1)
        for suffix in ("", "/s")
    },
    **dict(zip(("B", "B/s", "k", "M", "G", "%"), (1, 1, 1e3, 1e6, 1e9, 0.01), strict=True)),
}
"""The units of printed numbers, in the units of report.json."""
SHOWN = 0.006
"""Relative distance of a printed number, of three digits, from its value."""
DIGITS = 5.1e-5
"""Relative distance of a plotted value, of five digits."""
MOST_ROWS = 360
"""Rows of a series that every plot draws one by one."""
SERIES_FIGURES = ("rate", "used", "free", "waf", "programs", "collecting", "erases-time", "pending")


def over(top: Sequence[float], bottom: Sequence[float]) -> Numbers:
    """Return quotients, None where there is nothing to divide by."""
    return [a / b if b else None for a, b in zip(top, bottom, strict=True)]


def rises(values: Sequence[float], first: float = 0.0) -> list[float]:
    """Return how much each value is above the one before."""
    return [b - a for a, b in zip([first, *values], values, strict=False)]


def figures_of(text: str) -> Iterator[tuple[str, list[Curve]]]:
    """Yield the curves and bars of every plot of a page, by its key."""
    pattern = r'<figure id="([^"]*)"[^>]*>(.*?)</figure>'
    for key, body in re.findall(pattern, text, re.DOTALL):
        data = re.search(r'class="data">(.*?)</script>', body, re.DOTALL)
        if data is None:
            continue
        marks: list[Curve] = json.loads(data[1])["marks"]
        for mark in marks:
            if isinstance(mark["x"], int):
                mark["x"] = marks[mark["x"]]["x"]
            if isinstance(mark["x"], dict):
                mark["x"] = _steps(mark["x"])
        yield key, marks


class Page:
    """report.html of a run."""

    def __init__(self, folder: Path, report: Report, findings: Findings) -> None:
        """Read it."""
        self.folder, self.report, self.findings = folder, report, findings
        self.text = (folder / PAGE).read_text(encoding="utf-8")

    def check(self, requests: Requests) -> None:
        """Compare all of it with the report, the series and the logs."""
        self._numbers()
        figures = dict(figures_of(self.text))
        self._distributions(figures, requests)
        self._series(figures)
        self._bars(figures)
        self._lanes()

    def _differs(self, label: str, expected: object, actual: object) -> None:
        self.findings.add("page", f"{PAGE}:{label}", expected, actual)

    def _numbers(self) -> None:
        """Check the value of each number by its key, and its text to three digits."""
        tag = r'<data data-key="([^"]*)" value="([^"]*)">([^<]*)</data>'
        count = 0
        for key, raw, text in re.findall(tag, self.text):
            name, value = unescape(key), json.loads(unescape(raw))
            count += 1
            if value != self.report.get(name):
                self._differs(name, self.report.get(name), value)
            if isinstance(value, int | float) and not isinstance(value, bool):
                self._printed(name, value, unescape(text))
        if count < 100:
            self._differs("numbers", "a hundred numbers at least", count)

    def _printed(self, name: str, value: float, text: str) -> None:
        pattern = r"(<|>(?=-))?(-?[\d,]*\.?\d+)(?:\s(\S+))?"
        match = re.fullmatch(pattern, text.replace("\u00a0", " "))
        if match is None or (match[3] and match[3] not in UNITS):
            self._differs(name, f"{value} in a known unit", text)
            return
        scale = UNITS[match[3]] if match[3] else 1
        number = float(match[2].replace(",", "")) * scale
        if match[1]:
            # What would be rounded to 0 is printed as less than the least number in its place.
            if not 0 < value / number < 1 or match[2] not in ("0.001", "-0.001"):
                self._differs(name, value, text)
            return
        is_integer = isinstance(value, int) and match[3] is None
        digits = len(match[2].partition(".")[2])
        slack = 0.0 if is_integer else max(abs(value) * SHOWN, 0.51 * scale * 10.0**-digits)
        if abs(number - value) > slack:
            self._differs(name, value, text)

    def _distributions(self, figures: dict[str, list[Curve]], requests: Requests) -> None:
        """Check the share of requests up to, and above, each latency that is drawn."""
        if not requests.complete:
            return
        log = requests.log
        groups: dict[str, list[int]] = {}
        for (kind, *_), latency in zip(log.groups, log.latencies, strict=True):
            groups.setdefault(kind, []).append(latency)
        groups.pop("copy", None)
        for key in ("cdf", "ccdf"):
            curves = {curve["name"]: curve for curve in figures.get(key, [])}
            if {*curves} != {*groups} and figures.get(key):
                self._differs(key, sorted(groups), sorted(curves))
            for name, curve in curves.items():
                self._cumulative(f"{key}.{name}", curve, sorted(groups.get(name, [])))

    def _cumulative(self, name: str, curve: Curve, values: list[int]) -> None:
        last = 0.0
        for place, (x, y) in enumerate(zip(curve["x"], curve["y"], strict=True)):
            # Where a curve begins it has two points at one place.
            if place == 0 or curve["x"][min(place + 1, len(curve["x"]) - 1)] == x:
                continue
            share_below = bisect_right(values, x) / len(values)
            share = 1 - share_below if name.startswith("ccdf") else share_below
            actual = 0.0 if y is None else y
            if abs(actual - share) > DIGITS + 2 * DIGITS * share:
                self._differs(f"{name} at {x}", share, y)
                return
            last = share_below
        if values and last < 1 and curve["x"][-1] < values[-1]:
            self._differs(f"{name} at its end", values[-1], curve["x"][-1])

    def _series(self, figures: dict[str, list[Curve]]) -> None:
        """Check the curves over time where no row of the series is left out."""
        path = self.folder / "series.csv"
        if not path.exists():
            return
        with path.open(encoding="utf-8", newline="") as file:
            table = [{k: int(v) for k, v in row.items()} for row in csv.DictReader(file)]
        if not 2 <= len(table) <= MOST_ROWS // 2:
            return
        columns = {name: [float(row[name]) for row in table] for name in table[0]}
        times = columns["time_ns"]
        seconds = [ns / 1e9 for ns in rises(times, float(self.report.whole("time.measured_from")))]
        for key, expected in self._expected(columns, seconds).items():
            curves = {curve["name"]: curve for curve in figures.get(key, [])}
            if curves and {*curves} != {*expected}:
                self._differs(key, sorted(expected), sorted(curves))
            for name in expected.keys() & curves.keys():
                self._curve(f"{key}.{name}", curves[name], times, expected[name])

    def _expected(
        self, c: dict[str, list[float]], seconds: list[float]
    ) -> dict[str, dict[str, Numbers]]:
        ops = [op for op in ("read", "write") if any(c[f"interval_{op}s"])]
        physical = self.report.whole("device.physical_pages")
        programs, gc = rises(c["all_programs"]), rises(c["gc_programs"])
        pages_written = rises(c["host_pages_written"])
        other_programs = [a - b for a, b in zip(programs, gc, strict=True)]
        curves: dict[str, dict[str, Numbers]] = {
            "latency-time": {
                op: over(c[f"interval_{op}_sum_ns"], c[f"interval_{op}s"]) for op in ops
            },
            "longest-time": {op: [v or None for v in c[f"interval_{op}_max_ns"]] for op in ops},
            "rate": {op: over(c[f"interval_{op}s"], seconds) for op in ops},
            "used": {"used": [pages / physical for pages in c["used_pages"]]},
            "free": {"free": [*c["free_blocks"]]},
            "collecting": {"pools": [*c["gc_active_pools"]]},
            "pending": {"pending": [*c["pending_requests"]]},
            "erases-time": {"erases": over(rises(c["erases"]), seconds)},
            "programs": {
                "for the host and others": over(other_programs, seconds),
                "by garbage collection": over(gc, seconds),
            },
        }
        if c["host_pages_written"][-1]:
            curves["waf"] = {
                "within the sample period": over(programs, pages_written),
                "since the start": over(c["all_programs"], c["host_pages_written"]),
            }
        return curves

    def _curve(self, name: str, curve: Curve, times: list[float], expected: Numbers) -> None:
        if [*curve["x"]] != times:
            self._differs(f"{name}: times", times[:3], curve["x"][:3])
            return
        for time, value, actual in zip(times, expected, curve["y"], strict=True):
            if not _near(actual, value):
                self._differs(f"{name} at {time:.0f}", value, actual)
                return

    def _bars(self, figures: dict[str, list[Curve]]) -> None:
        """Check utilisation of channels and chips, erases of blocks, invalid pages of victims."""
        for key, path in (("channels", "channel"), ("chips", "chip")):
            shares = self.report.get(f"device.utilisation.{path}")
            for curve in figures.get(key, []):
                if len(shares) == len(curve["y"]):
                    for number, (value, actual) in enumerate(zip(shares, curve["y"], strict=True)):
                        if not _near(actual, value):
                            self._differs(f"{key}.{number}", value, actual)
        table = self._distribution()
        erases = table.get("erases", [])
        for curve in figures.get("erases", []):
            bars = {x: y for x, y in zip(curve["x"], curve["y"], strict=True) if y}
            if len(bars) == len(erases) and bars != {low: n for low, _, n in erases}:
                self._differs("erases", erases, bars)
        victims = table.get("victim_invalid", [])
        for curve in figures.get("victims", []):
            total = sum(count for *_, count in victims)
            widths = [high - low + 1 for low, high, _ in victims]
            shares = [n / total / w for (*_, n), w in zip(victims, widths, strict=True)]
            for number, (value, actual) in enumerate(zip(shares, curve["y"], strict=True)):
                if not _near(actual, value):
                    self._differs(f"victims.{number}", value, actual)
            pages = self.report.whole("config.device.pages_per_block")
            places = [(low + high) / 2 / pages for low, high, _ in victims]
            is_single_block = self.report.get("config.alloc.erase_unit") != "superblock"
            for number, (value, actual) in enumerate(zip(places, curve["x"], strict=True)):
                if is_single_block and not _near(actual, value):
                    self._differs(f"victims.{number}: invalid share", value, actual)

    def _distribution(self) -> dict[str, list[tuple[int, int, int]]]:
        path = self.folder / "distributions.csv"
        distributions: dict[str, list[tuple[int, int, int]]] = {}
        if path.exists():
            with path.open(encoding="utf-8", newline="") as file:
                for row in csv.DictReader(file):
                    numbers = (int(row["low"]), int(row["high"]), int(row["count"]))
                    distributions.setdefault(row["distribution"], []).append(numbers)
        return distributions

    def _lanes(self) -> None:
        """Check that the timeline has the first operations of the log."""
        data = re.search(r'class="operations">(.*?)</script>', self.text, re.DOTALL)
        if data is None:
            return
        values = json.loads(data[1])
        flat, kinds = values["ops"], values["kinds"]
        chips = self.report.whole("config.device.chips_per_channel")
        since = self.report.whole("time.measured_from")
        columns = ("op", "cause", "channel", "chip", "plane", "block", "page", "start", "end")
        start_of_operation, place = values["first"], 0
        for line, fields in rows(self.folder / OPS, columns):
            kind, cause, channel, chip, plane, block, page, start, end = fields
            if int(start) < since:
                continue
            if place == len(flat):
                if len(flat) < 7 * 30_000:
                    self._differs(f"operations: {OPS}:{line}", start, "the end of the timeline")
                return
            lane, kind_index, step, length, *position = flat[place : place + 7]
            start_of_operation += step
            cause_label = {"host": "host", "gc": "GC", "wear": "wear-levelling"}.get(cause, "other")
            name = "erase" if kind == "erase" else f"{cause_label} {kind}"
            expected = (
                *(int(channel) * chips + int(chip), name, int(start), int(end) - int(start)),
                *(int(plane), int(block), int(page or -1)),
            )
            actual = (lane, kinds[kind_index], start_of_operation, length, *position)
            if actual != expected:
                self._differs(f"operations: {OPS}:{line}", expected, actual)
                return
            place += 7
        if place != len(flat):
            self._differs("operations", f"{place // 7} operations", len(flat) // 7)


def _steps(x: dict[str, Any]) -> list[float]:
    values = [float(x["from"])]
    for step, count in x["steps"]:
        for _ in range(count):
            values.append(values[-1] + step)
    return values


def _near(actual: float | None, value: float | None) -> bool:
    if actual is None or value is None:
        return actual is None and value is None
    return math.isclose(actual, value, rel_tol=DIGITS, abs_tol=1e-9)
