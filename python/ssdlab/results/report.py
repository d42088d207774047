"""The report of a run, with typed attributes: `report.latency.read.p99`, `report.waf.total`."""

from __future__ import annotations

import html
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ssdlab import _core
from ssdlab.config.resolve import Config
from ssdlab.display.numbers import duration, ratio
from ssdlab.results import measures, warned
from ssdlab.results.decoding import field_types, from_json
from ssdlab.results.drawing import Drawing, drawer
from ssdlab.results.names import DISTRIBUTIONS, REPORT, SERIES

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

VERSION = 1
"""Latest supported version of the report format."""


@dataclass(frozen=True, eq=False, repr=False)
class Report(measures.Parts):
    """The results of one run. Times are nanoseconds; missing values are None.

    `json` is the whole of report.json, `series` the time series, `summary()` the text summary.
    `folder` contains the files of the run; None if it wrote none.
    """

    json: dict[str, Any]
    """report.json, parsed."""
    series_csv: str
    """The time series as CSV."""
    distributions_csv: str
    """The distributions from which means and percentiles are computed, as CSV; empty in older
    folders.
    """
    trace: dict[str, Any] | None
    """Statistics of reading the trace; None for synthetic workloads and reports from a folder."""
    folder: Path | None
    """Folder of the files of the run."""

    @staticmethod
    def of(
        text: str,
        series_csv: str = "",
        distributions_csv: str = "",
        *,
        trace: dict[str, Any] | None = None,
        folder: Path | None = None,
    ) -> Report:
        """From the text of report.json, the CSV of the series and that of the distributions.

        Raises `ValueError` for a report of a later version.
        """
        values = json.loads(text)
        return Report.of_values(values, series_csv, distributions_csv, trace=trace, folder=folder)

    @staticmethod
    def of_values(
        values: dict[str, Any],
        series_csv: str = "",
        distributions_csv: str = "",
        *,
        trace: dict[str, Any] | None = None,
        folder: Path | None = None,
    ) -> Report:
        """As `of`, with the parsed contents of report.json."""
        if values["version"] > VERSION:
            message = (
                f"{REPORT} has version {values['version']} of the report format; this ssdlab reads"
                f" versions up to {VERSION}: use the ssdlab that wrote it, or a later one"
            )
            raise ValueError(message)
        kinds = field_types(Report)
        extra: dict[str, Any]
        extra = {"json": values, "series_csv": series_csv, "trace": trace, "folder": folder}
        extra["distributions_csv"] = distributions_csv
        older = "this report was written by an older version without this analysis"
        contents = {
            "warmup": {"reason": older},
            "verdict": {"decided_by": "policy", "reason": older},
            **values,
        }
        parts = {
            f.name: from_json(kinds[f.name], contents.get(f.name))
            for f in fields(Report)
            if f.name not in extra
        }
        return Report(**parts, **extra)

    @staticmethod
    def read(folder: str | Path) -> Report:
        """The report of the run in `folder`.

        Raises `FileNotFoundError` without report.json or series.csv; folders of older versions have
        no distributions.
        """
        folder = Path(folder)
        # Errors in the report come before missing files.
        report = Report.of((folder / REPORT).read_text(encoding="utf-8"), folder=folder)
        series = (folder / SERIES).read_text(encoding="utf-8")
        file = folder / DISTRIBUTIONS
        distributions = file.read_text(encoding="utf-8") if file.exists() else ""
        return replace(report, series_csv=series, distributions_csv=distributions)

    @cached_property
    def config(self) -> Config:
        """The resolved configuration."""
        return Config(json.dumps(self.json["config"]))

    @cached_property
    def series(self) -> dict[str, npt.NDArray[np.int64]]:
        """The time series: an array per column, one value per sample period (`metrics.interval`).

        `time_ns` is the end of the period; `used_pages` to `gc_active_pools` are the state there,
        in pages, blocks, requests and pools. `host_pages_read` to `host_writes_completed` count
        from the start of the measurement, so that differences are rates; columns that begin with
        `interval_` are of the requests that completed within it, latencies in nanoseconds.
        """
        import numpy as np  # a quarter of the time that `import ssdlab` would take

        head, _, rows = self.series_csv.partition("\n")
        names = [name for name in head.split(",") if name]
        if not rows.strip():
            return {name: np.empty(0, np.int64) for name in names}
        table = np.loadtxt(io.StringIO(rows), delimiter=",", dtype=np.int64, ndmin=2)
        return dict(zip(names, np.ascontiguousarray(table.T), strict=True))

    @cached_property
    def distributions(self) -> dict[str, npt.NDArray[np.int64]]:
        """Distributions by name: rows of smallest value, largest value and count.

        `latency_read` to `latency_flush` (nanoseconds), `victim_invalid` (invalid pages of each
        victim when it was chosen) and `erases` (of each block within the measurement). Empty for a
        folder that has none.
        """
        import numpy as np

        rows_by_name: dict[str, list[tuple[int, ...]]] = {}
        for line in self.distributions_csv.splitlines()[1:]:
            name, *numbers = line.split(",")
            rows_by_name.setdefault(name, []).append(tuple(map(int, numbers)))
        return {name: np.array(rows, np.int64) for name, rows in rows_by_name.items()}

    @property
    def invalid(self) -> str:
        """The first warning that invalidates its numbers; empty if none does."""
        return self.warnings[0] if self.invalidating else ""

    @property
    def loss(self) -> str | None:
        """A message to show before all results if much of the trace was skipped; otherwise None."""
        return self.trace_lines.loss if self.trace_lines else None

    @property
    def name(self) -> str:
        """Name of the run."""
        return str(self.json["config"]["run"]["name"])

    def to_json(self) -> str:
        """The text of report.json."""
        return json.dumps(self.json, indent=2, ensure_ascii=False) + "\n"

    def summary(self) -> str:
        """The report as a text summary."""
        return _core.summary(json.dumps(self.json))

    def plot(self, *names: str) -> Drawing:
        """The plots of the page called `names`, such as "waf"; without names the main ones.

        The result shows itself in notebooks and has `save(path)`. Raises `ConfigError`.
        """
        return drawer().of_report(self, names)

    def _highlights(self) -> list[tuple[str, str]]:
        """The main numbers."""
        completed, submitted = self.requests.completed, self.requests.submitted
        rows = [
            (
                "requests",
                f"{completed:,}" if completed == submitted else f"{completed:,} of {submitted:,}",
            )
        ]
        if self.waf.total is not None:
            rows.append(("WAF", ratio(self.waf.total)))
        for op, stats in (("read", self.latency.read), ("write", self.latency.write)):
            if stats.mean is not None:
                rows.append((f"{op} mean", duration(stats.mean)))
            if stats.p99 is not None:
                rows.append((f"{op} p99", duration(stats.p99)))
        rows.append(("GC calls", f"{self.gc.calls:,}"))
        return rows

    def __repr__(self) -> str:
        numbers = ", ".join(f"{name} {value}" for name, value in self._highlights())
        marks = "" if self.completed else ", NOT COMPLETED"
        if self.warnings:
            marks += f", {len(self.warnings)} warning{'s' * (len(self.warnings) > 1)}"
        return f"<Report {self.name}: {numbers}{marks}>"

    def warning_groups(self) -> Iterator[warned.Group]:
        """A title, the mark of a line, and warnings: those that invalidate numbers, then notes."""
        severe, notes = self.warnings[: self.invalidating], self.warnings[self.invalidating :]
        return warned.groups("the result", severe, notes)

    def _repr_html_(self) -> str:
        """A small table for notebooks."""
        rows = "".join(
            f"<tr><th style='text-align:left'>{name}</th><td>{html.escape(value)}</td></tr>"
            for name, value in self._highlights()
        )
        marks = warned.cell(self.warning_groups())
        head = html.escape(self.name) + ("" if self.completed else " (not completed)")
        return f"<b>{head}</b><table>{rows}</table>{marks}"
