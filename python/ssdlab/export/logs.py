"""The tables of a run as streams, because logs may be larger than the memory."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from ssdlab import _core
from ssdlab.errors import OutputError
from ssdlab.results.names import DISTRIBUTIONS, LOGS, SERIES
from ssdlab.results.report import Report


class _Log(io.RawIOBase):
    """A compressed log, as a file of bytes."""

    def __init__(self, path: Path) -> None:
        self.name = str(path)
        try:
            self._reader = _core.LogReader(path)
        except OSError as error:
            raise OutputError(str(error)) from error

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401 - what `io` passes has no public name
        try:
            data = self._reader.read(len(buffer))
        except OSError as error:
            raise OutputError(f"{error}: the log is damaged") from error
        buffer[: len(data)] = data
        return len(data)


def log(report: Report, name: str) -> io.BufferedReader | None:
    """The log `name` (a key of LOGS) of a run as CSV; None if the run kept none."""
    assert report.folder is not None
    path = report.folder / LOGS[name]
    return io.BufferedReader(_Log(path), 1 << 20) if path.exists() else None


def tables(report: Report) -> dict[str, io.BufferedReader[Any]]:
    """Every table of a run as CSV, by name: series, distributions and the logs it kept."""
    logs = {name: log(report, name) for name in LOGS}
    texts = {SERIES: report.series_csv, DISTRIBUTIONS: report.distributions_csv}
    streams: dict[str, io.BufferedReader[Any]] = {
        name.removesuffix(".csv"): io.BufferedReader(io.BytesIO(text.encode()))
        for name, text in texts.items()
        if text
    }
    return streams | {name: stream for name, stream in logs.items() if stream is not None}
