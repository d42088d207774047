"""Devices as large as their trace: `device.fit = "trace"`."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ssdlab import _core
from ssdlab.config.resolve import Config
from ssdlab.display.progress import Callback
from ssdlab.errors import restore_names, translate_errors
from ssdlab.running.moved import NOTHING, LocalPaths

NOT_READING = (
    "fit",
    "loops",
    "time_scale",
    "warmup_requests",
    "warmup_share",
    "whole_pages",
    "copy",
    "phases",
)
"""Keys of `[workload]` that act on a trace once it has been read; the others define how it is read.
"""
_page_counts: dict[str, int] = {}
"""Pages by trace and how it is read: one reading serves all runs of a comparison."""


def fits(config: Config) -> bool:
    """Whether the capacity has yet to be determined."""
    return bool(config["device"].get("fit", "none") != "none")


def fitted(config: Config, progress: Callback | None = None, moved: LocalPaths = NOTHING) -> Config:
    """`config` with the capacity that its `device.fit` requests; unchanged if it requests none.

    Reads the trace, unless it was read before; `moved`: where it is here, if elsewhere. Raises
    `WorkloadError` if it cannot be read or is a pipe, `ConfigError` if no device of this form holds
    its pages, `Interrupted`.
    """
    if not fits(config):
        return config
    pages = footprint_pages(moved.config(config), progress)
    with translate_errors():
        return Config(_core.fitted(config.text, pages), config.file)


def all_fitted(
    configs: Sequence[Config], progress: Callable[[str], Callback] | None
) -> list[Config]:
    """Each of `configs`, `fitted`; `progress` returns the callback for a label."""
    return [
        fitted(
            config, progress(str(config["workload.trace"])) if progress and fits(config) else None
        )
        for config in configs
    ]


@dataclass(frozen=True)
class Totals:
    """A trace in sums."""

    file: str
    format: str
    pages: int
    """Pages of the device that it touches."""
    span_pages: int
    """Pages from address 0 to the last page touched."""
    requests: int
    page_writes: int
    """Page writes to the device; a page that is written twice counts twice."""
    bytes_written: int
    duration_ns: int
    is_cut: bool
    """Whether the trace writes more than was allowed: then these are the sums of its beginning."""
    warnings: tuple[str, ...] = ()
    """What a reader of its results should know."""


def footprint_pages(config: Config, progress: Callback | None = None) -> int:
    """Pages of the device that the trace of `config` touches; a file is read once."""
    identity, report = _reading(config, progress)
    if identity not in _page_counts:
        with translate_errors():
            _page_counts[identity] = _core.footprint_pages(config.text, progress=report)
    return _page_counts[identity]


def totals(config: Config, most_page_writes: int, progress: Callback | None = None) -> Totals:
    """The trace of `config` in sums, which serve `footprint_pages`, too.

    Reading ends where it writes more than `most_page_writes` pages.
    """
    identity, report = _reading(config, progress)
    with translate_errors():
        text = _core.trace_totals(config.text, most_page_writes, progress=report)
    values = json.loads(text)
    warnings = tuple(restore_names(warning) for warning in values.pop("warnings"))
    result = Totals(**values, warnings=warnings)
    if not result.is_cut:
        _page_counts[identity] = result.pages
    return replace(result, file=restore_names(result.file))


def _reading(
    config: Config, progress: Callback | None
) -> tuple[str, Callable[[int, int | None], object]]:
    """What identifies the reading of a trace, and the callback for its progress."""
    workload = config.values["workload"]
    path = str(workload["trace"])
    try:
        status = Path(path).stat()
        version = [status.st_mtime_ns, status.st_size, status.st_ino]
    except OSError:
        version = []  # told when it is opened
    keys = {key: value for key, value in workload.items() if key not in NOT_READING}
    location = str(Path(path).absolute())

    def report(done: int, to_sort: int | None) -> None:
        if progress and to_sort is None:
            progress("reading", done, version[1] if version else None)
        elif progress:
            progress("sorting", done, to_sort)

    return json.dumps([location, version, config["device.page_bytes"], keys]), report
