"""One reproduction from beginning to end: plan, runs, tables, page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path

from ssdlab.errors import ConfigError, WorkloadError
from ssdlab.results import outputs
from ssdlab.results.report import Report
from ssdlab.running.compare_runs import run_into
from ssdlab.running.on import runner_of
from ssdlab.running.runner import PlannedRun, Runner
from ssdlab_lab.reproduce.calibration import calibration_of
from ssdlab_lab.reproduce.folders import JSON, FolderProperties, check_folder, folder_of
from ssdlab_lab.reproduce.matrix import Cell, Results, Source
from ssdlab_lab.reproduce.paper import (
    ENGINES,
    Paper,
    Recording,
    Scale,
    fitting,
    trace_file,
    trace_names,
)
from ssdlab_lab.reproduce.papers import PAPERS, READINGS
from ssdlab_lab.reproduce.readings import cells_by_reading, read
from ssdlab_lab.reproduce.remapcom.choices import NAME as REMAPCOM
from ssdlab_lab.reproduce.result import JudgedClaim, Reproduction
from ssdlab_lab.reproduce.scoring import Score, score

PAGE, MARKDOWN, RESULTS = "report.html", "reproduction.md", "results.json"
TRACES = Path("traces")
"""The default folder of recorded traces."""


def paper_of(name: str) -> Paper:
    """The paper called `name`. Raises `ConfigError`."""
    if name in PAPERS:
        return PAPERS[name]
    from ssdlab_lab.reproduce.studies import STUDIES  # which use this module

    names = [*PAPERS, REMAPCOM, *STUDIES]
    matches = get_close_matches(name, names, 1)
    hint = f"; did you mean {matches[0]}?" if matches else ""
    raise ConfigError([f"{name}: no such paper or study{hint}; there are: {', '.join(names)}"])


def reproduce(
    paper: str,
    *,
    quick: bool = False,
    workloads: Sequence[str] | None = None,
    traces: str | Path | None = None,
    jobs: int | None = None,
    out: str | Path | None = None,
    progress: bool = True,
    readings: bool = False,
    on: str | None = None,
) -> Reproduction:
    """Repeat the evaluation of `paper`, with the results in the folder `out`.

    `out` is runs/reproduce-PAPER by default, followed by -quick with `quick`.
    All workloads of the paper, or those named in `workloads`, with the paper's statistics; and
    recorded traces of the same applications in the folder `traces` (default: `traces`, if there
    is one). `quick` uses a quarter of the device and of the requests.
    `readings` also runs the main comparison under alternative readings of what the paper leaves
    open, with synthetic requests and always on that small device. `on`: where runs execute, as for
    `compare`.

    Runs in `out` of the same results version and configuration are not repeated, so an
    interrupted reproduction is resumed. Ctrl-C keeps the completed runs and returns with
    `interrupted` set.

    Raises `ConfigError`, `WorkloadError` and `OutputError`.
    """
    selected = paper_of(paper)
    scale = Scale(quick=quick)
    names = _named(selected, workloads)
    folder = folder_of(f"reproduce-{selected.name}", quick, out)
    recordings, notes = recorded_traces(names, traces, selected.trace_files)
    recordings, omissions = fitting(recordings, selected.flash, scale)
    cells = selected.cells(scale, names, recordings)
    plan = cells_by_reading(READINGS[selected.name], scale, names) if readings else {}
    begun = check_folder(folder, FolderProperties.of(selected.name, quick, recordings))
    unique_cells = dict.fromkeys(
        [*cells, *(cell for reading_cells in plan.values() for cell in reading_cells)]
    )
    with runner_of(on, jobs) as runner:
        reports, failures, interrupted = run_cells([*unique_cells], folder, runner, progress)
    notes += omissions
    main = Results(cells, reports)
    reproduction = replace(
        _evaluated(selected, scale, names, main, folder, begun),
        readings=read(READINGS[selected.name], plan, reports, names, main) if plan else None,
        notes=notes,
        failures=failures,
        interrupted=interrupted,
    )
    from ssdlab_lab.reproduce.page import (  # needs numpy, which is slow to import
        drawn,
        markdown,
        page,
    )

    write_results(
        folder,
        reproduction.to_json(),
        page(reproduction),
        markdown(reproduction),
        {RESULTS: reproduction.numbers(), **drawn(reproduction)},
    )
    return reproduction


def write_results(
    folder: Path, as_json: str, page: str, markdown: str, others: Mapping[str, str] | None = None
) -> None:
    """Write the results of a reproduction, with pictures and other files. Raises `OutputError`."""
    files = {JSON: as_json, PAGE: page, MARKDOWN: markdown, **(others or {})}
    outputs.write_all(
        {folder / name: outputs.text(text) for name, text in files.items()}, force=True
    )


def _named(paper: Paper, workloads: Sequence[str] | None) -> tuple[str, ...]:
    """The requested workloads, in the paper's spelling and order."""
    if workloads is None:
        return paper.workloads
    names = {name.lower(): name for name in paper.workloads}
    workloads = [name.strip() for name in workloads]
    unknown = [name for name in workloads if name.lower() not in names]
    if unknown or not workloads:
        matches = [
            names[match_]
            for name in unknown
            for match_ in get_close_matches(name.lower(), names, 1)
        ]
        hint = f"; did you mean {', '.join(matches)}?" if matches else ""
        unknown_names = ", ".join(name or "(empty)" for name in unknown) or "none"
        message = f"workloads: {unknown_names}: {paper.name} has {', '.join(paper.workloads)}{hint}"
        raise ConfigError([message])
    requested = {name.lower() for name in workloads}
    return tuple(name for lower, name in names.items() if lower in requested)


def recorded_traces(
    names: Sequence[str],
    traces: str | Path | None,
    files_of: Callable[[str], tuple[str, ...]] = trace_names,
) -> tuple[dict[str, Recording], list[str]]:
    """Recorded traces by workload, and a note about those that are missing."""
    folder = TRACES if traces is None else Path(traces)
    if traces is not None and not folder.is_dir():
        raise WorkloadError(f"{folder}: no such folder of recorded traces")
    files = {name: [folder / file for file in files_of(name)] for name in names}
    for name in names:
        if name in ENGINES:
            files[name].append(trace_file(folder, ENGINES[name]))
    available = {
        name: next(file for file in candidates if file.is_file())
        for name, candidates in files.items()
        if any(file.is_file() for file in candidates)
    }
    if traces is not None and not available:
        filenames = [file.name for name in names for file in files[name][:1]]
        engines = [file.name for name in names for file in files[name][1:] if name in ENGINES]
        expected = ", ".join([*filenames, *engines])
        raise WorkloadError(f"{folder}: none of {expected} is there")
    missing = [name for name in names if name not in available]
    notes = []
    if missing:
        notes.append(
            f"No recorded trace of {', '.join(missing)} in {folder}: synthetic requests only."
        )
    return {name: Recording.of(file) for name, file in available.items()}, notes


def run_cells(
    cells: Sequence[Cell], folder: Path, runner: Runner, progress: bool
) -> tuple[dict[Cell, Report], dict[str, str], bool]:
    """The reports of all cells, failures, and whether it was interrupted; runs what is missing."""
    reports: dict[Cell, Report] = {}
    pending: list[PlannedRun] = []
    for cell in cells:
        report = cell.stored(folder)
        if report is not None:
            reports[cell] = report
        else:
            pending.append(PlannedRun(cell.title, cell.config, place=cell.folder, key=cell))
    if not pending:
        return reports, {}, False
    batch = run_into(pending, folder, runner, progress)
    reports |= {
        planned.key: report for planned, report in batch.reports.items() if report.completed
    }
    return reports, dict(batch.failures), batch.interrupted


def _evaluated(
    paper: Paper,
    scale: Scale,
    names: Sequence[str],
    results: Results,
    folder: Path,
    begun: FolderProperties,
) -> Reproduction:
    """The tables, figures and claims of the main runs."""
    tables = paper.tables(results, names)
    claims = [
        JudgedClaim(claim, {source: claim.judge(results, source) for source in results.sources})
        for claim in paper.claims(names)
    ]
    return Reproduction(
        paper=paper,
        quick=scale.quick,
        tables=tables,
        figures=paper.figures(results, names),
        claims=claims,
        scores={source: score(tables, source, paper.proposed) for source in results.sources},
        by_seed=_by_seed(paper, results, names),
        calibration=calibration_of(paper.name) if READINGS[paper.name].longest else None,
        fill=_fill(results, names, paper.proposed),
        folder=folder,
        begun=begun,
    )


def _by_seed(paper: Paper, results: Results, names: Sequence[str]) -> tuple[Score, ...]:
    """The scores of single seeds, on synthetic requests; none if there is only one seed."""
    seeds = results.numbers("synthetic")
    compared = READINGS[paper.name].compared
    tables_by_seed = [compared(results.only(seed), names) for seed in seeds if len(seeds) > 1]
    return tuple(score(tables, "synthetic", paper.proposed) for tables in tables_by_seed)


def _fill(results: Results, names: Sequence[str], scheme: str) -> dict[str, dict[Source, str]]:
    """Host writes and live data of the device under the paper's scheme."""
    texts: dict[str, dict[Source, str]] = {}
    for name in names:
        for source in results.sources:
            report = results.get(name, source, scheme)
            if report is None:
                continue
            pages = report.device.physical_pages
            written, live = report.host.pages_written / pages, report.device.valid_pages / pages
            texts.setdefault(name, {})[source] = (
                f"host writes {written:.2f} times the raw capacity, {100 * live:.0f} % of the"
                " flash live at the end"
            )
            stretched = report.config["workload.time_scale"]
            if stretched != 1:
                texts[name][source] += f"; arrival times stretched by a factor of {stretched:g}"
    return texts
