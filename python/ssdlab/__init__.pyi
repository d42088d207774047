from . import kv, policy
from .config.resolve import Config, load_config, preset_names
from .errors import (
    ClusterError,
    ConfigError,
    InternalError,
    Interrupted,
    OutputError,
    RunError,
    WorkloadError,
    ZoneError,
)
from .fleets.fleet import Fleet
from .fleets.fleet_runs import fleet
from .kv.keys import KeyBatch, key_stream
from .results.comparison import Comparison
from .results.report import Report
from .results.search import Search
from .results.spare_plan import SparePlan
from .results.sweep import Sweep
from .results.trial import Trial
from .running.compare_runs import compare
from .running.device import Completions, Device
from .running.run import run
from .running.snapshots import SnapshotInfo, snapshot_info
from .running.spare_plan import plan_drive
from .running.sweep_runs import sweep
from .running.trial import try_trace
from .running.zones import Zone, Zones
from .searching.search import search
from .store.results import Results, results
from .traces.trace import Trace, generate, merge

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
    "Zone",
    "ZoneError",
    "Zones",
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

__version__: str
__results_version__: int
