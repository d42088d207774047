"""One reproduction of remapcom from beginning to end."""

from __future__ import annotations

import json
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path

from ssdlab.errors import ConfigError
from ssdlab_lab.reproduce.command import RESULTS, write_results
from ssdlab_lab.reproduce.folders import FolderProperties, check_folder, folder_of
from ssdlab_lab.reproduce.remapcom import choices, page
from ssdlab_lab.reproduce.remapcom.outcome import Outcome
from ssdlab_lab.reproduce.remapcom.runs import make, planned


def reproduce(
    *,
    quick: bool = False,
    workloads: Sequence[str] | None = None,
    jobs: int | None = None,
    out: str | Path | None = None,
    progress: bool = True,
) -> Outcome:
    """Run every line under all workloads ("load", "a" to "f") and write the results into `out`.

    Runs in `out` of this version are not repeated. Ctrl-C keeps those that have ended and returns
    with `interrupted` set. Raises `ConfigError` and `OutputError`.
    """
    names = _named(workloads, quick)
    folder = folder_of(f"reproduce-{choices.NAME}", quick, out)
    begun = check_folder(folder, FolderProperties.of(choices.NAME, quick, {}))
    results = make(planned(quick, names), folder, quick, jobs, progress)
    outcome = Outcome(
        results.numbers, names, quick, results.failures, results.interrupted, folder, begun
    )
    others = {RESULTS: results_json(outcome)}
    write_results(folder, to_json(outcome), page.page(outcome), page.markdown(outcome), others)
    return outcome


def to_json(outcome: Outcome) -> str:
    """The text of reproduction.json."""
    values = {**outcome.begun.to_dict(), **outcome.to_dict()}
    return json.dumps(values, indent=2, ensure_ascii=False) + "\n"


def results_json(outcome: Outcome) -> str:
    """The text of results.json, which lies beside the page: without the counts of levels."""
    values = {**outcome.begun.to_dict(), **outcome.to_dict()}
    for run in values["runs"]:
        del run["levels"]
    return json.dumps(values, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def _named(workloads: Sequence[str] | None, quick: bool) -> tuple[str, ...]:
    if workloads is None:
        return choices.QUICK_WORKLOADS if quick else choices.WORKLOADS
    requested = [name.strip().lower() for name in workloads]
    unknown = [name for name in requested if name not in choices.WORKLOADS]
    if unknown or not requested:
        matches = [
            match_ for name in unknown for match_ in get_close_matches(name, choices.WORKLOADS, 1)
        ]
        hint = f"; did you mean {', '.join(matches)}?" if matches else ""
        names = ", ".join(name or "(empty)" for name in unknown) or "none"
        available = ", ".join(choices.WORKLOADS)
        raise ConfigError([f"workloads: {names}: {choices.NAME} has {available}{hint}"])
    return tuple(name for name in choices.WORKLOADS if name in requested)
