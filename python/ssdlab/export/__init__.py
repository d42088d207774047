"""A run in the formats of other tools: `ssdlab export RUN --to FORMAT`.

A format is one module with `files(report)`, which names the files and how each is written, and one
entry of FORMATS.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path

from ssdlab.display.argument import argument
from ssdlab.errors import OutputError
from ssdlab.results import stored
from ssdlab.results.comparison import Comparison
from ssdlab.results.names import EXPORTS
from ssdlab.results.outputs import Write, write_all
from ssdlab.results.report import Report
from ssdlab.results.search import Search
from ssdlab.results.sweep import Sweep


@dataclass(frozen=True)
class Format:
    """A form of results."""

    module: str
    """Module of this package, imported when it is needed."""
    maker: str
    """Its function from a report to the files, by name."""
    summary: str
    """What it is for."""


FORMATS = {
    "csv": Format("tables", "csv", "every table and log of the run as plain CSV"),
    "fio": Format("fio", "files", "fio.json, in the form of fio's JSON output, for fio-plot"),
    "npz": Format("tables", "npz", "series and distributions as NumPy arrays"),
    "parquet": Format("tables", "parquet", "every table and log as Parquet (needs pyarrow)"),
    "perfetto": Format("perfetto", "files", "the logs as a trace for ui.perfetto.dev"),
}


def export_run(
    folder: str | Path, to: str, *, out: str | Path | None = None, force: bool = False
) -> list[Path]:
    """Write the run in `folder` in the format `to` (a key of FORMATS). Returns the files written.

    They go to the folder `out` (default: `export` within that of the run). Logs are streamed.
    Existing files are replaced only with `force`. Raises `OutputError`.
    """
    if to not in FORMATS:
        matches = get_close_matches(to, FORMATS, 1)
        hint = f"; did you mean {matches[0]}?" if matches else ""
        raise OutputError(
            f"{argument(to=to)}: no such format; there are: {', '.join(FORMATS)}{hint}"
        )
    folder = Path(folder)
    report = stored.read(folder)
    if isinstance(report, Sweep | Search):
        kind = "sweep" if isinstance(report, Sweep) else "search"
        raise OutputError(f"{folder}: a {kind}; its table is there as CSV")
    if isinstance(report, Comparison):
        runs = ", ".join(str(run_report.folder) for run_report in report.reports.values())
        raise OutputError(f"{folder}: a comparison; export one of its runs: {runs}")
    module = import_module(f"ssdlab.export.{FORMATS[to].module}")
    make_files: Callable[[Report], dict[str, Write]] = getattr(module, FORMATS[to].maker)
    target = folder / EXPORTS if out is None else Path(out)
    with stored.readable(folder):
        files = {target / name: write for name, write in make_files(report).items()}
        return write_all(files, force=force)
