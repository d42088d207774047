"""When and where the requests of a trace arrive: plots of a run that replays one."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from ssdlab.config.resolve import Config, load_config
from ssdlab.errors import ConfigError, OutputError, WorkloadError
from ssdlab.html.plot import Figure, MissingPlot
from ssdlab.html.trace_plots import arrival_figures
from ssdlab.results.report import Report
from ssdlab.traces.info import Info
from ssdlab.traces.trace import info_with

MOST_REQUESTS = 5_000_000
"""Requests of a trace that is read again for a page: about a second."""
NOTE = (
    " As recorded: before workload.time_scale, workload.fit and workload.loops, and whatever the"
    " device makes of it."
)


def recorded_figures(report: Report) -> list[Figure]:
    """Request rate and address maps of the trace of a run; nothing for other workloads."""
    workload = report.json["config"]["workload"]
    name = workload.get("trace")
    if name is None:
        return []
    reason = None
    if report.requests.submitted > MOST_REQUESTS:
        reason = f"More than {MOST_REQUESTS:,} requests: `ssdlab trace info` draws them."
    elif not Path(name).is_file():
        reason = f"The trace is no file that can be read again: {name}."
    else:
        try:
            file = Path(name).stat()
            # Only the keys that describe how the trace is read, which are the same for all
            # policies.
            values = {**load_config(trace=name).values, "workload": workload}
            info = _info(json.dumps(values), file.st_mtime_ns, file.st_size)
        except (ConfigError, WorkloadError, OutputError) as error:
            reason = f"The trace cannot be read again: {error}."
        else:
            rate, *maps = arrival_figures([info])
            # A run has its own plot "rate".
            return [_add_note(figure) for figure in (replace(rate, key="arrivals"), *maps)]
    return [MissingPlot("arrivals", "Arrivals by time and address", reason)]


def _add_note(figure: Figure) -> Figure:
    if isinstance(figure, MissingPlot):
        return figure
    return replace(figure, caption=figure.caption + NOTE)


@lru_cache(maxsize=4)
def _info(config: str, _time_ns: int, _bytes: int) -> Info:
    """Statistics of a trace, once for all runs that read the same file in the same way."""
    return info_with(Config(config))
