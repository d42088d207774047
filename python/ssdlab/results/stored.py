"""Reads results back from the folder of a run or comparison, or says what is wrong with them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ssdlab.errors import OutputError
from ssdlab.results import search, sweep
from ssdlab.results.comparison import Comparison
from ssdlab.results.names import (
    COMPARISON_JSON,
    PAGE,
    PLAN_JSON,
    REPORT,
    SEARCH_JSON,
    SERIES,
    SWEEP_JSON,
    TRIAL_JSON,
)
from ssdlab.results.report import Report


@contextmanager
def readable(folder: Path) -> Iterator[None]:
    """Report any failure within as an `OutputError` about the results in `folder`."""
    try:
        yield
    except json.JSONDecodeError as error:
        position = f"line {error.lineno}, column {error.colno}"
        raise _unreadable(folder, f"not JSON: {error.msg} ({position})") from error
    except KeyError as error:
        raise _unreadable(folder, f"{error} is missing") from error
    except (AttributeError, TypeError, ValueError, IndexError, RecursionError) as error:
        raise _unreadable(folder, str(error)) from error


def _unreadable(folder: Path, reason: str) -> OutputError:
    return OutputError(f"{folder}: its results cannot be read: {reason}")


def read(folder: Path) -> Report | Comparison | sweep.Sweep | search.Search:
    """The results of the run, comparison, sweep or search in `folder`. Raises `OutputError`."""
    if not folder.is_dir():
        problem = "is not a folder" if folder.exists() else "no such folder"
        raise OutputError(
            f"{folder}: {problem}; expected the output folder of `run`, `compare`, `sweep`,"
            " `search` or `fleet`"
        )
    if (folder / COMPARISON_JSON).exists():
        with readable(folder / COMPARISON_JSON):
            return Comparison.read(folder)
    if (folder / SWEEP_JSON).exists():
        with readable(folder / SWEEP_JSON):
            return sweep.Sweep.read(folder)
    if (folder / SEARCH_JSON).exists():
        with readable(folder / SEARCH_JSON):
            return search.Search.read(folder)
    for verb, answer in (("try", TRIAL_JSON), ("plan", PLAN_JSON)):
        if (folder / answer).exists():
            raise OutputError(
                f"{folder}: the folder of `{verb}`, which has written its page, {folder / PAGE};"
                " give the folder of one of its runs"
            )
    if not (folder / REPORT).exists():
        raise OutputError(
            f"{folder}: contains neither {REPORT} nor {COMPARISON_JSON}:"
            " not a run, comparison, sweep, search or fleet"
        )
    if not (folder / SERIES).exists():
        raise OutputError(f"{folder}: {SERIES} is missing; a run writes it next to {REPORT}")
    with readable(folder / REPORT):
        report = Report.read(folder)
    for table in ("series", "distributions"):
        with readable(folder / f"{table}.csv"):
            getattr(report, table)
    return report
