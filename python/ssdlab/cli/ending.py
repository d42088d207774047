"""How the command ends: exit codes, leftovers, and errors in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from ssdlab._core import KvError
from ssdlab.cli.terminal import Form, put_result, say
from ssdlab.errors import (
    ClusterError,
    ConfigError,
    InternalError,
    OutputError,
    RunError,
    ServerError,
    WorkloadError,
)
from ssdlab.results.text import by_reason

if TYPE_CHECKING:
    from ssdlab.results.comparison import Comparison
    from ssdlab.results.spare_plan import SparePlan
    from ssdlab.results.trial import Trial
    from ssdlab.running.execution import Execution

UNFINISHED, BAD_INPUT, INTERRUPTED = 1, 2, 130
MOST_REASONS = 10
"""Of failures."""
KEPT = "interrupted: the completed part is kept"


def end(folder: Path, failures: Mapping[str, str], interrupted: bool, quiet: bool) -> None:
    """Print where the results are; exit with an error if something is missing."""
    if not quiet:
        say(f"results in {folder}")
    if interrupted:
        say(f"{KEPT}; run the same command again to resume")
        raise typer.Exit(INTERRUPTED)
    _say_failures(failures)


def _say_failures(failures: Mapping[str, str]) -> None:
    """Print each reason once; exit with an error if there is one."""
    for title, reason in by_reason(failures).items():
        say(f"error: {title}: {reason}")
    if failures:
        raise typer.Exit(UNFINISHED)


def few_reasons(failures: Mapping[str, Sequence[str]], table: str) -> dict[str, str]:
    """Why runs failed, each reason once, with the runs that it applies to; `table` has all."""
    reasons = {}
    for reason, titles in [*failures.items()][:MOST_REASONS]:
        omitted = len(titles) - 1
        reasons[titles[0] + (f" and {omitted:,} more" if omitted else "")] = reason
    omitted = len(failures) - MOST_REASONS
    if omitted > 0:
        reasons["more"] = f"{omitted:,} other reasons, in {table}"
    return reasons


def end_comparison(
    results: Comparison | Trial | SparePlan,
    options: Execution,
    unstored: Mapping[str, str],
    json_: Form,
    text: Callable[[], str] | None = None,
) -> None:
    """Print a comparison and where it is; exit with an error if it is incomplete.

    `text` returns the text to print; by default it is the summary.
    """
    assert options.folder is not None
    put_result(json_, not options.progress, results.to_json, text or results.summary)
    if options.progress:
        say(results_line(results.folder or options.folder, options.folder))
    if results.interrupted:
        say(KEPT)
        raise typer.Exit(INTERRUPTED)
    _say_failures({**results.failures, **unstored})


def results_line(folder: Path, requested: Path) -> str:
    """Where results are."""
    note = "" if folder == requested else f"; the complete results in {requested} are unchanged"
    return f"results in {folder}{note}"


def explain(error: BaseException) -> tuple[int, str]:
    """Exit code and message of an exception."""
    if isinstance(error, ConfigError):
        count = len(error.messages)
        if count == 1:
            return BAD_INPUT, f"error: {error.messages[0]}"
        lines = "".join(f"\n  {message}" for message in error.messages)
        return BAD_INPUT, f"error: {count} errors:{lines}"
    if isinstance(error, RunError):
        note = f" (partial results in {error.folder})" if error.folder else ""
        return UNFINISHED, f"error: the run could not finish: {error}{note}"
    if isinstance(error, ClusterError):
        return UNFINISHED, f"error: {error}; run the same command again to resume"
    if isinstance(error, ServerError):
        return UNFINISHED, f"error: {error}"
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED, "interrupted"
    if isinstance(error, MemoryError):
        return BAD_INPUT, "error: out of memory: use a smaller device or fewer --jobs"
    if isinstance(error, OutputError):
        # A message has one line, even if the name of a folder has several.
        return BAD_INPUT, "error: " + str(error).replace("\n", "\\n")
    if isinstance(error, WorkloadError | KvError):
        return BAD_INPUT, f"error: {error}"
    if isinstance(error, OSError):
        origin = f"{error.filename}: " if error.filename else "standard output: "
        return BAD_INPUT, f"error: {origin}{error.strerror or error}"
    description = (
        str(error) if isinstance(error, InternalError) else f"{type(error).__name__}: {error}"
    )
    hint = "Please report it with the output of `ssdlab doctor`; --debug shows where."
    return UNFINISHED, f"internal error, a bug in ssdlab: {description}\n{hint}"
