"""Exports of a run, in the folder `export`, against its report and logs."""

from __future__ import annotations

import csv
import gzip
import importlib.util
import io
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import zstandard

from .inputs import Findings, Report
from .requests import Requests

FOLDER = "export"
FIO_RESOLUTION = 1 / 128
"""How far above a value fio.json may have a percentile, docs/exports.md."""
EDGES = (2, 4, 10, 20, 50, 100, 250, 500, 750, 1000)
CLASS_UNITS = (("ns", 1), ("us", 1000), ("ms", 1_000_000))
COUNTERS = ("free_blocks", "used_pages", "pending_requests", "gc_active_pools")


def lines_of(folder: Path, name: str) -> list[list[str]] | None:
    """Return header and rows of a table of the run, packed or not; None if it has none."""
    plain, compressed = folder / f"{name}.csv", folder / f"{name}.csv.zst"
    if plain.exists():
        text = plain.read_text(encoding="utf-8")
    elif compressed.exists():
        with compressed.open("rb") as file:
            stream = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True)
            text = stream.read().decode()
    else:
        return None
    return [*csv.reader(io.StringIO(text))]


class Exports:
    """The exports in the folder of a run."""

    def __init__(
        self, folder: Path, report: Report, requests: Requests, findings: Findings
    ) -> None:
        """Take the run."""
        self.folder, self.report, self.requests = folder, report, requests
        self.findings = findings

    def check(self) -> None:
        """Check each by its form."""
        for path in sorted((self.folder / FOLDER).glob("*")):
            name = path.name.partition(".")[0]
            if path.name == "fio.json":
                self._fio(json.loads(path.read_text(encoding="utf-8")))
            elif path.name == "perfetto.json.gz":
                self._perfetto(json.loads(gzip.decompress(path.read_bytes())))
            elif path.suffix == ".csv":
                actual = lines_of(path.parent, name) or []
                self._rows(path.name, lines_of(self.folder, name), actual)
            elif path.suffix == ".parquet" and importlib.util.find_spec("pyarrow"):
                self._parquet(path, name)
            elif path.suffix == ".npz" and importlib.util.find_spec("numpy"):
                self._npz(path, name)

    def _differs(self, place: str, expected: object, actual: object) -> None:
        self.findings.add("export", f"{FOLDER}/{place}", expected, actual)

    def _rows(self, name: str, expected: list[list[str]] | None, actual: list[list[str]]) -> None:
        if expected is None:
            self._differs(name, "a table of the run", "none")
            return
        if len(expected) != len(actual):
            self._differs(f"{name}: lines", len(expected), len(actual))
        for line, (a, b) in enumerate(zip(expected, actual, strict=False), 1):
            if a != b:
                self._differs(f"{name}:{line}", a, b)
                return

    def _parquet(self, path: Path, name: str) -> None:
        import pyarrow.parquet as parquet

        table = parquet.read_table(path)
        columns = [table.column(column).to_pylist() for column in table.column_names]
        text = [
            ["" if value is None else str(value) for value in row]
            for row in zip(*columns, strict=True)
        ]
        self._rows(path.name, lines_of(self.folder, name), [table.column_names, *text])

    def _npz(self, path: Path, name: str) -> None:
        import numpy as np

        expected = lines_of(self.folder, name)
        if expected is None:
            self._differs(path.name, "a table of the run", "none")
            return
        head, *rows = expected
        with np.load(path) as arrays:
            actual = {key: arrays[key].tolist() for key in arrays.files}
        columns: dict[str, list[Any]] = {}
        if name == "series":
            for index, column in enumerate(head):
                columns[column] = [int(row[index]) for row in rows]
        else:
            for kind, *numbers in rows:
                columns.setdefault(kind, []).append([int(number) for number in numbers])
        for key in sorted({*columns, *actual}):
            if columns.get(key) != actual.get(key):
                self._differs(f"{path.name}: {key}", columns.get(key), actual.get(key))

    def _fio(self, values: dict[str, Any]) -> None:
        (job,) = values["jobs"]
        log = self.requests.log
        page = self.report.whole("device.page_bytes")
        span = self.report.whole("time.simulated")
        all_latencies: list[int] = []
        for kind in ("read", "write", "trim"):
            pairs = zip(log.groups, log.latencies, strict=True)
            latencies = sorted(n for (group, *_), n in pairs if group == kind)
            all_latencies += latencies
            verb = {"read": "read", "write": "written", "trim": "trimmed"}[kind]
            size = self.report.whole(f"host.pages_{verb}") * page
            part = job[kind]
            expected = {
                "total_ios": len(latencies),
                "io_bytes": size,
                "io_kbytes": size // 1024,
                "runtime": span // 1_000_000,
                "iops": len(latencies) * 1e9 / span,
                "bw_bytes": round(size * 1e9 / span),
            }
            for key, value in expected.items():
                self._number(f"fio.json: {kind}.{key}", value, part[key])
            self._moments(f"fio.json: {kind}.clat_ns", latencies, part["clat_ns"])
            self._moments(f"fio.json: {kind}.lat_ns", latencies, part["lat_ns"])
            self._percentiles(f"fio.json: {kind}", latencies, part["clat_ns"].get("percentile", {}))
            if kind != "trim":
                self._over_time(kind, part, page)
        self._classes(job, sorted(all_latencies))
        self._number("fio.json: runtime", span // 1_000_000, job["job_runtime"])

    def _number(self, place: str, expected: float, actual: float) -> None:
        if not math.isclose(actual, expected, rel_tol=1e-9, abs_tol=1e-9):
            self._differs(place, expected, actual)

    def _moments(self, place: str, values: list[int], actual: dict[str, float]) -> None:
        n = len(values)
        mean = sum(values) / n if n else 0.0
        spread = math.sqrt(math.fsum((v - mean) ** 2 for v in values) / n) if n else 0.0
        expected = {"min": min(values, default=0), "max": max(values, default=0), "N": n}
        for key, value in (expected | {"mean": mean}).items():
            self._number(f"{place}.{key}", value, actual[key])
        if not math.isclose(actual["stddev"], spread, rel_tol=1e-6, abs_tol=1e-6):
            self._differs(f"{place}.stddev", spread, actual["stddev"])

    def _percentiles(self, place: str, values: list[int], actual: dict[str, int]) -> None:
        """A percentile is the end of its bucket: at the value or a little above it."""
        tens = (1, 5, *range(10, 100, 10), 95, 99, 99.5, 99.9, 99.95, 99.99)
        percentages = [p for p in tens if len(values) * round(100 - p, 6) >= 1000]
        if values and [f"{p:.6f}" for p in percentages] != [*actual]:
            self._differs(f"{place}: percentiles", percentages, [*actual])
        for text, end in actual.items():
            millionths = round(float(text) * 10_000)
            percentile = values[max(1, -(-len(values) * millionths // 1_000_000)) - 1]
            if not percentile <= end <= min(percentile * (1 + FIO_RESOLUTION) + 1, values[-1]):
                self._differs(f"{place}.percentile.{text}", f"{percentile} or a little more", end)

    def _over_time(self, kind: str, part: dict[str, Any], page: int) -> None:
        """Rates over the rows of the series."""
        rows = lines_of(self.folder, "series") or [[]]
        head, *rows = rows
        previous_ns = self.report.whole("time.measured_from")
        rates: list[float] = []
        counts: list[float] = []
        previous = 0
        name = "host_pages_read" if kind == "read" else "host_pages_written"
        for row in rows:
            values = dict(zip(head, map(int, row), strict=True))
            seconds = (values["time_ns"] - previous_ns) / 1e9
            if seconds > 0:
                rates.append((values[name] - previous) * page / 1024 / seconds)
                counts.append(values[f"interval_{kind}s"] / seconds)
            previous_ns, previous = values["time_ns"], values[name]
        for key, column, spread in (("bw", rates, "bw_dev"), ("iops", counts, "iops_stddev")):
            mean = sum(column) / len(column) if column else 0.0
            square = sum((v - mean) ** 2 for v in column) / max(1, len(column))
            expected = {
                f"{key}_samples": len(column),
                f"{key}_min": round(min(column, default=0)),
                f"{key}_max": round(max(column, default=0)),
                f"{key}_mean": mean,
                spread: math.sqrt(square),
            }
            for statistic, value in expected.items():
                self._number(f"fio.json: {kind}.{statistic}", value, part[statistic])

    def _classes(self, job: dict[str, Any], values: list[int]) -> None:
        """Check the shares by class of latency; values may be a bucket off the edge of a class."""
        low = 0
        for unit, scale in CLASS_UNITS:
            for edge in EDGES:
                end = edge * scale
                share = job[f"latency_{unit}"][str(edge)]
                near_end = [v for v in values if abs(v - end) <= end / 64]
                near_low = [v for v in values if abs(v - low) <= low / 64]
                count = sum(low <= v < end for v in values)
                slack = 100 * (len(near_end) + len(near_low)) / max(1, len(values)) + 1e-6
                expected = 100 * count / max(1, len(values))
                if abs(share - expected) > slack:
                    self._differs(f"fio.json: latency_{unit}.{edge}", expected, share)
                low = end

    def _perfetto(self, values: dict[str, Any]) -> None:
        """Operations, transfers, requests and counters, event by event."""
        events = values["traceEvents"]
        device = self.report.get("config.device")
        planes = device["channels"] * device["chips_per_channel"] * device["planes_per_chip"]
        first = 3 + 2 * device["channels"]
        slices = [e for e in events if e["ph"] == "X" and first <= e["tid"] < first + planes]
        self._matches("operations", self._operations(device, first), slices)
        buses = range(3 + device["channels"], first)
        transfers = [e for e in events if e["ph"] == "X" and e["tid"] in buses]
        transfers.sort(key=lambda event: (event["tid"], event["ts"]))
        self._matches("transfers", self._transfers(buses[0]), transfers)
        for phase, column in (("b", "arrival"), ("e", "completion")):
            actual = [e for e in events if e["ph"] == phase]
            self._matches(f"requests {phase}", self._requests(column), actual)
        head, *rows = lines_of(self.folder, "series") or [[]]
        counters = [e for e in events if e["ph"] == "C"]
        expected = [
            {
                "name": name.replace("_", " "),
                "ts": int(row[0]) / 1000,
                "args": {"value": int(row[head.index(name)])},
            }
            for name in COUNTERS
            for row in rows
        ]
        self._matches("counters", iter(expected), counters)

    def _operations(self, device: dict[str, int], first: int) -> Iterator[dict[str, Any]]:
        head, *rows = lines_of(self.folder, "ops") or [[]]
        for row in rows:
            v = dict(zip(head, row, strict=True))
            chip = int(v["channel"]) * device["chips_per_channel"] + int(v["chip"])
            keys = ("block", "page", "lpn", "sequence", "request", "queued")
            yield {
                "name": f"{v['cause']} {v['op']}",
                "pid": 3 + int(v["channel"]),
                "tid": first + chip * device["planes_per_chip"] + int(v["plane"]),
                "ts": int(v["start"]) / 1000,
                "dur": (int(v["end"]) - int(v["start"])) / 1000,
                "args": {key: int(v[key]) for key in keys if v[key]},
            }

    def _transfers(self, first: int) -> Iterator[dict[str, Any]]:
        """Yield the transfers of each bus in order; planes of one operation share a transfer."""
        head, *rows = lines_of(self.folder, "ops") or [[]]
        places = [head.index(name) for name in ("channel", "bus_start", "bus_end")]
        transfers = {tuple(int(row[index]) for index in places) for row in rows if row[places[1]]}
        for channel, start, end in sorted(transfers):
            yield {
                "pid": 3 + channel,
                "tid": first + channel,
                "ts": start / 1000,
                "dur": (end - start) / 1000,
            }

    def _requests(self, column: str) -> Iterator[dict[str, Any]]:
        head, *rows = lines_of(self.folder, "requests") or [[]]
        for row in rows:
            v = dict(zip(head, row, strict=True))
            yield {"name": v["op"], "id": int(v["id"]), "ts": int(v[column]) / 1000}

    def _matches(
        self, label: str, expected: Iterator[dict[str, Any]], actual: list[dict[str, Any]]
    ) -> None:
        count = 0
        for count, expected_event in enumerate(expected, 1):
            event = actual[count - 1] if count <= len(actual) else {}
            for key, value in expected_event.items():
                actual_value = event.get(key)
                is_equal = actual_value == value
                if isinstance(value, float) and isinstance(actual_value, int | float):
                    is_equal = abs(actual_value - value) < 1e-4 + 1e-12 * abs(value)
                if not is_equal:
                    self._differs(f"perfetto.json.gz: {label} {count}.{key}", value, actual_value)
                    return
        if count != len(actual):
            self._differs(f"perfetto.json.gz: {label}", count, len(actual))
