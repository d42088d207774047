"""The exceptions of ssdlab. `ssdlab.run` itself raises only these."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ssdlab import _core

if TYPE_CHECKING:
    from ssdlab.fleets.fleet import Fleet
    from ssdlab.results.comparison import Comparison
    from ssdlab.results.report import Report
    from ssdlab.results.search import Search
    from ssdlab.results.spare_plan import SparePlan
    from ssdlab.results.sweep import Sweep
    from ssdlab.results.trial import Trial


class ConfigError(ValueError):
    """The configuration is invalid; `messages` lists all errors, one sentence each."""

    def __init__(self, messages: Iterable[str]) -> None:
        self.messages = tuple(messages)
        super().__init__("\n".join(self.messages))

    def __reduce__(self) -> tuple[type[ConfigError], tuple[tuple[str, ...]]]:
        """Pickle with all messages."""
        return ConfigError, (self.messages,)


class WorkloadError(ValueError):
    """The trace or workload cannot be run; the message names the file and line, or the key."""


class ZoneError(ValueError):
    """A zone command was refused; `status` is NVMe's status code type and status code."""

    def __init__(self, status: int, name: str) -> None:
        super().__init__(f"{name} (status {status:03X}h)")
        self.status = status
        self.name = name

    def __reduce__(self) -> tuple[type[ZoneError], tuple[int, str]]:
        """Pickle with both."""
        return ZoneError, (self.status, self.name)


class OutputError(OSError):
    """The results could not be written; `report` has them if the run got that far."""

    report: Report | None = None


class RunError(RuntimeError):
    """The run could not finish; `report` is its partial report, `folder` its folder."""

    def __init__(self, message: str, report: Report, folder: Path | None = None) -> None:
        super().__init__(message)
        self.report = report
        self.folder = folder


class ClusterError(RuntimeError):
    """The cluster has been lost, or has no worker for the runs; finished runs are kept."""


class ServerError(RuntimeError):
    """The server of a drive had to stop; what was flushed is in its state."""


class Interrupted(KeyboardInterrupt):
    """Interrupted by Ctrl-C; `report` is the partial report, `folder` its folder.

    Both are None if there is nothing to report: during preconditioning, and for everything except
    runs. For a comparison, `comparison` holds the completed runs and `report` is None; for a sweep,
    `sweep` does, for a search `search`, for a fleet `fleet`, for a trial `trial`,
    for a plan `plan`.
    """

    comparison: Comparison | None = None
    sweep: Sweep | None = None
    search: Search | None = None
    fleet: Fleet | None = None
    trial: Trial | None = None
    plan: SparePlan | None = None

    def __init__(
        self, report: Report | None, folder: Path | None = None, **results: object
    ) -> None:
        super().__init__("interrupted")
        self.report = report
        self.folder = folder
        vars(self).update(results)

    def _render_traceback_(self) -> list[str]:
        """The text in a notebook: the user stopped it, so where does not matter."""
        names = ("plan", "trial", "search", "fleet", "sweep", "comparison", "report")
        attribute = next((name for name in names if getattr(self, name)), None)
        return [
            "Interrupted"
            + (f": sys.last_value.{attribute} has the partial results" if attribute else "")
        ]


class InternalError(RuntimeError):
    """A bug in ssdlab, not in its input: please report it with the message."""


_TRACE_NAMES: dict[str, str] = {}
"""Traces as the user named them, by the tables that are read in their place."""


UNPACKED = "zstd -dc <"
"""What precedes the name of a table in a command."""


def register_table(table: Path, trace: Path) -> None:
    """Note that `table` is read in place of `trace`, which is the name in messages."""
    _TRACE_NAMES[str(table)] = str(trace)


def restore_names(text: str) -> str:
    """`text` with the names of traces as the user wrote them."""
    for table, trace in _TRACE_NAMES.items():
        # A command that unpacks the table cannot read the trace.
        parts = text.split(f"{UNPACKED} {table}")
        text = f"{UNPACKED} {table}".join(part.replace(table, trace) for part in parts)
    return text


@contextmanager
def translate_errors() -> Iterator[None]:
    """Exceptions of the simulator as ours."""
    try:
        yield
    except _core.ConfigError as error:
        raise ConfigError(error.args[0]) from None
    except _core.WorkloadError as error:
        raise WorkloadError(restore_names(str(error))) from None
    except OSError as error:
        raise OutputError(str(error)) from None
    except KeyboardInterrupt as interrupt:
        raise Interrupted(None) from interrupt
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        message = f"{error} (at {_core.last_panic()})"
        raise InternalError(message) from error
