"""One reproduction from beginning to end: plan, runs, tables, page."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from difflib import get_close_matches
from hashlib import sha256
from pathlib import Path
from typing import Any

from ssdlab.errors import ConfigError, OutputError, WorkloadError
from ssdlab.results import outputs
from ssdlab.results.report import Report
from ssdlab.running.compare_runs import run_into
from ssdlab.running.on import runner_of
from ssdlab.running.runner import Planned, Runner
from ssdlab_lab.reproduce.calibration import calibration_of
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
from ssdlab_lab.reproduce.result import VERSION, Judged, Reproduction
from ssdlab_lab.reproduce.scoring import Score, score

JSON, PAGE, MARKDOWN = "reproduction.json", "report.html", "reproduction.md"
TRACES = Path("traces")
"""The default folder of recorded traces."""


def paper_of(name: str) -> Paper:
    """The paper called `name`. Raises `ConfigError`."""
    if name in PAPERS:
        return PAPERS[name]
    from ssdlab_lab.reproduce.studies import STUDIES  # which use this module

    names = [*PAPERS, REMAPCOM, *STUDIES]
    near = get_close_matches(name, names, 1)
    hint = f"; did you mean {near[0]}?" if near else ""
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
    chosen = paper_of(paper)
    scale = Scale(quick=quick)
    names = _named(chosen, workloads)
    folder = folder_of(f"reproduce-{chosen.name}", quick, out)
    recorded, notes = recorded_traces(names, traces, chosen.trace_files)
    recorded, left_out = fitting(recorded, chosen.flash, scale)
    cells = chosen.cells(scale, names, recorded)
    plan = cells_by_reading(READINGS[chosen.name], scale, names) if readings else {}
    known = check_folder(folder, Kept.of(chosen.name, quick, recorded))
    several = dict.fromkeys([*cells, *(cell for of in plan.values() for cell in of)])
    with runner_of(on, jobs) as runner:
        reports, failures, interrupted = run_cells([*several], folder, runner, progress)
    notes += left_out
    main = Results(cells, reports)
    done = replace(
        _evaluated(chosen, scale, names, main, folder),
        readings=read(READINGS[chosen.name], plan, reports, names, main) if plan else None,
        notes=notes,
        traces=known,
        failures=failures,
        interrupted=interrupted,
    )
    from ssdlab_lab.reproduce.page import (  # needs numpy, which is slow to import
        drawn,
        markdown,
        page,
    )

    write_results(folder, done.to_json(), page(done), markdown(done), drawn(done))
    return done


def folder_of(name: str, quick: bool, out: str | Path | None) -> Path:
    """Where results go: `out`, or a folder in `runs`."""
    return Path("runs") / (f"{name}-quick" if quick else name) if out is None else Path(out)


def write_results(
    folder: Path, as_json: str, page: str, markdown: str, pictures: Mapping[str, str] | None = None
) -> None:
    """Write the results of a reproduction. Raises `OutputError`."""
    files = {JSON: as_json, PAGE: page, MARKDOWN: markdown, **(pictures or {})}
    outputs.write_all(
        {folder / name: outputs.text(text) for name, text in files.items()}, force=True
    )


def _named(paper: Paper, workloads: Sequence[str] | None) -> tuple[str, ...]:
    """The requested workloads, in the paper's spelling and order."""
    if workloads is None:
        return paper.workloads
    known = {name.lower(): name for name in paper.workloads}
    workloads = [name.strip() for name in workloads]
    unknown = [name for name in workloads if name.lower() not in known]
    if unknown or not workloads:
        near = [known[one] for name in unknown for one in get_close_matches(name.lower(), known, 1)]
        hint = f"; did you mean {', '.join(near)}?" if near else ""
        said = ", ".join(name or "(empty)" for name in unknown) or "none"
        message = f"workloads: {said}: {paper.name} has {', '.join(paper.workloads)}{hint}"
        raise ConfigError([message])
    asked = {name.lower() for name in workloads}
    return tuple(name for lower, name in known.items() if lower in asked)


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
    there = {
        name: next(file for file in several if file.is_file())
        for name, several in files.items()
        if any(file.is_file() for file in several)
    }
    if traces is not None and not there:
        own = [file.name for name in names for file in files[name][:1]]
        engines = [file.name for name in names for file in files[name][1:] if name in ENGINES]
        expected = ", ".join([*own, *engines])
        raise WorkloadError(f"{folder}: none of {expected} is there")
    missing = [name for name in names if name not in there]
    notes = []
    if missing:
        notes.append(
            f"No recorded trace of {', '.join(missing)} in {folder}: synthetic requests only."
        )
    return {name: Recording.of(file) for name, file in there.items()}, notes


@dataclass(frozen=True)
class Kept:
    """The common properties of all results in the folder of a reproduction."""

    paper: str
    quick: bool
    traces: Mapping[str, str]
    """SHA-256 of recorded traces, by workload."""

    @staticmethod
    def of(paper: str, quick: bool, recorded: Mapping[str, Recording]) -> Kept:
        """Those of what is to be run now. Raises `WorkloadError`."""
        try:
            digests = {name: sha256(one.file.read_bytes()) for name, one in recorded.items()}
        except OSError as error:
            raise WorkloadError(f"{error.filename}: {error.strerror}") from error
        return Kept(paper, quick, {name: one.hexdigest() for name, one in digests.items()})

    def refused(self, held: Mapping[str, Any]) -> str | None:
        """Why results with the values `held` cannot be resumed."""
        if held["version"] != VERSION:
            return f"of version {held['version']}, this is version {VERSION}"
        if held["paper"] != self.paper:
            return f"of {held['paper']}, not of {self.paper}"
        if held["quick"] != self.quick:
            return f"{'written with' if held['quick'] else 'written without'} --quick"
        for name, digest in self.traces.items():
            if held["traces"].get(name, digest) != digest:
                return f"the recorded trace of {name} was a different one"
        return None


def check_folder(folder: Path, now: Kept) -> dict[str, str]:
    """Create the folder, or refuse one whose results do not match.

    Returns the SHA-256 of all recorded traces whose runs are or will be in it, by workload.
    """
    held, known = folder / JSON, dict(now.traces)
    if held.exists():
        try:
            values = json.loads(held.read_text(encoding="utf-8"))
            refused = now.refused(values)
            known = known if refused else {**values["traces"], **known}
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            message = f"{held}: not a reproduction; choose another --out"
            raise OutputError(message) from error
        if refused is not None:
            raise OutputError(f"{held}: {refused}; choose another --out")
    elif folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise OutputError(f"{folder}: contains other files; choose another --out")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not held.exists():
            begun = {"version": VERSION, **asdict(now), "completed": False}
            outputs.write_all({held: outputs.text(json.dumps(begun) + "\n")})
    except OSError as error:
        raise OutputError(f"{folder}: cannot be created: {error.strerror or error}") from error
    return known


def run_cells(
    cells: Sequence[Cell], folder: Path, runner: Runner, progress: bool
) -> tuple[dict[Cell, Report], dict[str, str], bool]:
    """The reports of all cells, failures, and whether it was interrupted; runs what is missing."""
    reports: dict[Cell, Report] = {}
    missing: list[Planned] = []
    for cell in cells:
        report = cell.stored(folder)
        if report is not None:
            reports[cell] = report
        else:
            missing.append(Planned(cell.title, cell.config, place=cell.folder, key=cell))
    if not missing:
        return reports, {}, False
    done = run_into(missing, folder, runner, progress)
    reports |= {one.key: report for one, report in done.reports.items() if report.completed}
    return reports, dict(done.failures), done.interrupted


def _evaluated(
    paper: Paper,
    scale: Scale,
    names: Sequence[str],
    results: Results,
    folder: Path,
) -> Reproduction:
    """The tables, figures and claims of the main runs."""
    tables = paper.tables(results, names)
    claims = [
        Judged(claim, {source: claim.judge(results, source) for source in results.sources})
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
    )


def _by_seed(paper: Paper, results: Results, names: Sequence[str]) -> tuple[Score, ...]:
    """The scores of single seeds, on synthetic requests; none if there is only one seed."""
    seeds = results.numbers("synthetic")
    compared = READINGS[paper.name].compared
    several = [compared(results.only(seed), names) for seed in seeds if len(seeds) > 1]
    return tuple(score(tables, "synthetic", paper.proposed) for tables in several)


def _fill(results: Results, names: Sequence[str], scheme: str) -> dict[str, dict[Source, str]]:
    """Host writes and live data of the device under the paper's scheme."""
    said: dict[str, dict[Source, str]] = {}
    for name in names:
        for source in results.sources:
            report = results.get(name, source, scheme)
            if report is None:
                continue
            pages = report.device.physical_pages
            written, live = report.host.pages_written / pages, report.device.valid_pages / pages
            said.setdefault(name, {})[source] = (
                f"host writes {written:.2f} times the raw capacity, {100 * live:.0f} % of the"
                " flash live at the end"
            )
            stretched = report.config["workload.time_scale"]
            if stretched != 1:
                said[name][source] += f"; arrival times stretched by a factor of {stretched:g}"
    return said
