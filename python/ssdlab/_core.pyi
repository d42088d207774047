"""The compiled simulator: conversions only, wrapped by the rest of the package."""

from collections.abc import Callable
from pathlib import Path
from typing import Final, final

__all__ = [
    "ConfigError",
    "Finished",
    "WorkloadError",
    "__commit__",
    "__version__",
    "config_reference",
    "config_schema",
    "config_toml",
    "duration",
    "last_panic",
    "load",
    "op_log_excerpt",
    "registry",
    "report_schema",
    "run",
    "summary",
    "trace_info",
]

__version__: Final[str]
__commit__: Final[str | None]
"""Commit it was built from, where known."""

class ConfigError(ValueError):
    """Errors of a configuration; the first argument is the list of all messages."""

class WorkloadError(ValueError):
    """A trace or workload that cannot be run."""

@final
class Finished:
    """A finished run."""

    @property
    def ending(self) -> str:
        """One of "completed", "interrupted", "failed", "unwritable"."""
    @property
    def message(self) -> str:
        """Why it failed or what could not be written; empty otherwise."""
    @property
    def report(self) -> str:
        """The report as JSON."""
    @property
    def series(self) -> str:
        """The time series as CSV."""
    @property
    def distributions(self) -> str:
        """The distributions behind means and percentiles, as CSV."""
    @property
    def trace(self) -> str | None:
        """What was found in the trace, as JSON; None for a synthetic workload."""

def load(
    preset: str | None = None,
    file: tuple[str, str] | None = None,
    sets: list[tuple[str, str]] = ...,
) -> str:
    """Resolve a configuration (JSON) from a preset, a file (name, text) and single keys."""

def config_toml(config: str) -> str:
    """A resolved configuration (JSON) as TOML that resolves to itself."""

def config_schema() -> str:
    """JSON Schema of configurations."""

def report_schema() -> str:
    """JSON Schema of report.json."""

def config_reference() -> str:
    """Every configuration key and policy as a Markdown page."""

def summary(report: str) -> str:
    """The human summary of a report (JSON)."""

def duration(ns: float) -> str:
    """Nanoseconds as text with a unit that suits them."""

def registry() -> str:
    """Policies by question, presets, and trace formats, as JSON."""

def last_panic() -> str | None:
    """Source file, line and column of the last panic, if there was one."""

def op_log_excerpt(path: Path | str, from_ns: int, most: int) -> str:
    """Header of an operation log and its operations from `from_ns` on, at most `most` lines."""

def run(
    config: str,
    *,
    progress: Callable[[str, int, int | None], object] | None = None,
    folder: Path | str | None = None,
    commit: str | None = None,
    audit_every: int = 0,
) -> Finished:
    """Run a resolved configuration (JSON); logs go into `folder`, which must exist."""

def trace_info(
    config: str,
    *,
    journal: list[tuple[int, int]] = ...,
    memory: int,
    progress: Callable[[int], object] | None = None,
) -> str:
    """Statistics of the trace that a resolved configuration (JSON) names, as JSON."""
