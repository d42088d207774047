"""Traces that show too little about a drive, and the command that would show more."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping

from ssdlab.config.resolve import Config, options
from ssdlab.display.numbers import percent
from ssdlab.errors import WorkloadError
from ssdlab.running.fitted import Totals
from ssdlab.traces.trace import EXTENSION, info_with

FEWEST_INVALIDATED = 0.1
"""Least share of the page writes that must make older data invalid, by overwrites or discards. With
fewer, the repetition of the trace does most of it, in an order that the trace does not show."""
INFO_PAGE_BYTES = 4096
"""Bytes of a page in the statistics of a trace."""
MARGIN = 4
"""How many times the least size of blocks larger ones should have: blocks of 32 pages often change
write amplification too much for a verdict."""
MOST_COPIES = 256
"""Most copies of a trace that are suggested."""
PARTS = ("workload.volume", "workload.from", "workload.until")
"""Keys that select a part of a trace."""


def invalidated_share(config: Config, sums: Totals) -> float:
    """The larger of the pages overwritten and discarded, divided by the pages written.

    At least that share: the trace is read again only if its sums do not show that it is enough.
    """
    share = 1 - sums.pages / sums.page_writes
    if share >= FEWEST_INVALIDATED:
        return share
    try:
        info = info_with(config)
    except WorkloadError:
        return 1.0  # The table of its pages takes too much memory.
    page, footprint = config["device.page_bytes"], info.footprint
    if not footprint.page_reads:
        unique_pages = sums.pages
    elif page == INFO_PAGE_BYTES:
        unique_pages = footprint.pages_written
    else:
        unique_pages = min(
            sums.pages, sums.page_writes, math.ceil(footprint.distinct_bytes_written / page)
        )
    discarded = info.discards.effective_bytes / page
    return float(max(0, sums.page_writes - unique_pages, discarded) / sums.page_writes)


def doubt(share: float) -> str:
    """Why a trace that invalidates this share decides nothing; empty if it is enough."""
    if share >= FEWEST_INVALIDATED:
        return ""
    finding = (
        "overwrites nothing: it writes every page once"
        if not share
        else f"overwrites or discards only {percent(share)} of the pages that it writes"
    )
    return (
        f"the trace {finding}, so it does not show which data become invalid, and decides nothing"
        " about policies: record until data are overwritten"
    )


def remedy(
    trace: str, settings: Mapping[str, object], factor: float | None, drive: str, effort: str
) -> str:
    """What to run in place of a trace that shows too little.

    `factor`: how many times as much it would have to touch, if that is the problem.
    """
    command = whole_file_command(trace, settings, drive, effort)
    if not command and factor is not None:
        command = copies_command(trace, settings, factor, drive, effort)
    return command or info_command(trace, settings)


def info_command(trace: str, settings: Mapping[str, object]) -> str:
    """The command that shows how often a trace overwrites its pages."""
    return f"ssdlab trace info {shlex.quote(trace)}{options(_of_trace(settings))}"


def whole_file_command(trace: str, settings: Mapping[str, object], drive: str, effort: str) -> str:
    """The command that tries the whole file, if `settings` selects a part of it; otherwise empty.

    `drive` and `effort` are further options of it, each after a space.
    """
    if all(key not in settings or settings[key] == "all" for key in PARTS):
        return ""
    rest: dict[str, object] = {key: value for key, value in settings.items() if key not in PARTS}
    if "workload.volume" in settings:
        rest["workload.volume"] = "all"
    return f"ssdlab try {shlex.quote(trace)}{drive}{options(rest)}{effort}"


def copies_command(
    trace: str, settings: Mapping[str, object], factor: float, drive: str, effort: str
) -> str:
    """A command that tries copies of a trace, like many applications.

    Together they touch at least `factor` times as much. `drive` and `effort` are as in
    `whole_file_command`.
    """
    copies = math.ceil(factor)
    if copies > MOST_COPIES or shlex.quote(trace) != trace or "workload.volume" in settings:
        return info_command(trace, settings)
    name = f"{trace.rpartition('/')[2].partition('.')[0]}-{copies}{EXTENSION}"
    reading = _of_trace(settings)
    rest = {key: value for key, value in settings.items() if key not in reading}
    return (
        f"ssdlab trace merge $(yes {trace} | head -n {copies}){options(reading)} --out {name}"
        f" && ssdlab try {name}{drive}{options({**rest, 'workload.volume': 'all'})}{effort}"
    )


def _of_trace(settings: Mapping[str, object]) -> dict[str, object]:
    """The keys that define how the trace is read."""
    return {key: value for key, value in settings.items() if key.startswith("workload.")}
