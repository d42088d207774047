"""ssdlab: a laboratory for SSD garbage collection.

    import ssdlab
    report = ssdlab.run("greedy-8ch", set={"gc.victim": "fifo"})
    report.waf.total, report.latency.write.p99

Unless stated otherwise, times are integer nanoseconds and sizes are bytes.
"""

from ssdlab import html, kv, policy, versions
from ssdlab.config.resolve import Config, load_config, preset_names
from ssdlab.errors import (
    ClusterError,
    ConfigError,
    InternalError,
    Interrupted,
    OutputError,
    RunError,
    WorkloadError,
)
from ssdlab.fleets.fleet import Fleet
from ssdlab.fleets.fleet_runs import fleet
from ssdlab.kv.keys import KeyBatch, key_stream
from ssdlab.results.comparison import Comparison
from ssdlab.results.report import Report
from ssdlab.results.search import Search
from ssdlab.results.spare_plan import SparePlan
from ssdlab.results.sweep import Sweep
from ssdlab.results.trial import Trial
from ssdlab.running.compare_runs import compare
from ssdlab.running.device import Completions, Device, SnapshotInfo, snapshot_info
from ssdlab.running.run import run
from ssdlab.running.spare_plan import plan_drive
from ssdlab.running.sweep_runs import sweep
from ssdlab.running.trial import try_trace
from ssdlab.searching.search import search
from ssdlab.store.results import Results, results
from ssdlab.traces.trace import Trace, generate, merge

__all__ = [
    "ClusterError",
    "Comparison",
    "Completions",
    "Config",
    "ConfigError",
    "Device",
    "Fleet",
    "InternalError",
    "Interrupted",
    "KeyBatch",
    "OutputError",
    "Report",
    "Results",
    "RunError",
    "Search",
    "SnapshotInfo",
    "SparePlan",
    "Sweep",
    "Trace",
    "Trial",
    "WorkloadError",
    "__results_version__",
    "__version__",
    "compare",
    "fleet",
    "generate",
    "key_stream",
    "kv",
    "load_config",
    "merge",
    "plan_drive",
    "policy",
    "preset_names",
    "results",
    "run",
    "search",
    "snapshot_info",
    "sweep",
    "try_trace",
]

__version__ = versions.checked()
__results_version__ = versions.RESULTS
html.draw_results()
