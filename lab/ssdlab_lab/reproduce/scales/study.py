"""The runs of the study, and its command."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cache
from pathlib import Path

from ssdlab.config.resolve import drive_preset
from ssdlab.errors import ConfigError, WorkloadError
from ssdlab.results import outputs
from ssdlab.results.names import REPORT
from ssdlab.running import scale
from ssdlab.traces.trace import Trace
from ssdlab_lab.reproduce.command import write_results
from ssdlab_lab.reproduce.matrix import Cell, Scheme, Source, Workload
from ssdlab_lab.reproduce.scales import choices, table
from ssdlab_lab.reproduce.scales.choices import FULL, LOADS, POLICIES, ZIPF, Load, Place
from ssdlab_lab.reproduce.scales.loads import FORMAT, write_trace, write_zipf
from ssdlab_lab.reproduce.scales.outcome import Scales
from ssdlab_lab.reproduce.scales.page import markdown, page, to_json
from ssdlab_lab.reproduce.scales.pools import PAGE_BYTES, Keys, pool_of
from ssdlab_lab.reproduce.study import made

SECTOR_BYTES = 512


@dataclass(frozen=True)
class LoadFile:
    """The file of a load on this many pages."""

    file: Path
    requests: int
    """Requests in a loop."""
    writes: int
    """Pages that a loop writes."""

    def keys(self, pages: int, phases: str) -> Keys:
        """The requests of a run."""
        warmup, measured = (
            math.ceil(times * pages / self.writes) for times in (choices.BEFORE, choices.MEASURED)
        )
        of_loop = self.requests if phases == "recorded" else self.writes
        return {
            "workload.trace": str(self.file),
            "workload.format": FORMAT,
            "workload.phases": phases,
            "workload.loops": warmup + measured,
            "workload.warmup_requests": warmup * of_loop,
        }


@cache
def played(file: Path) -> LoadFile:
    """The pages that a file touches and writes."""
    requests = Trace(file).requests()
    writes = requests.sectors[requests.op == requests.OPS.index("write")].sum()
    return LoadFile(file, len(requests), int(writes) * SECTOR_BYTES // PAGE_BYTES)


@dataclass(frozen=True)
class Files:
    """The files of loads, written when they are first requested."""

    folder: Path

    def trace(self, name: str, pages: int) -> Path:
        """A recorded trace on this many pages."""
        file = self.folder / f"{name}-{pages}.trace"
        if not file.exists():
            recording = choices.recording(name)
            if not recording.exists():
                raise WorkloadError(f"{recording}: cannot open the trace: no such file")
            file.parent.mkdir(parents=True, exist_ok=True)
            write_trace(recording, choices.SHARES[name], pages, file)
        return file

    def zipf(self, ranks: int, pages: int) -> Path:
        """Zipf's law over this many ranks, on this many pages."""
        file = self.folder / f"zipf-{ranks}-{pages}.trace"
        if not file.exists():
            file.parent.mkdir(parents=True, exist_ok=True)
            count = (choices.BEFORE + choices.MEASURED) * pages
            write_zipf(choices.THETA, ranks, pages, count, choices.SEEDS[0], file)
        return file


def requests_of(load: Load, pages: int, ranks: int, files: Files) -> Keys:
    """The keys of a load on so many pages; at full size there are `ranks` of them."""
    if load.phases:
        return played(files.trace(load.name, pages)).keys(pages, load.phases)
    warmup = choices.BEFORE * pages
    if load.name == ZIPF and pages != ranks:
        return {
            "workload.trace": str(files.zipf(ranks, pages)),
            "workload.format": FORMAT,
            "workload.warmup_requests": warmup,
        }
    return {
        **choices.SYNTHETIC[load.name],
        "workload.requests": warmup + choices.MEASURED * pages,
        "workload.warmup_requests": warmup,
    }


def cell_of(place: Place, quick: bool, files: Files) -> Cell:
    """The run of a place. Writes the file of its load if it is missing."""
    pool = pool_of(place.drive, place.policy, quick)
    is_full = place.size == FULL
    pages = pool.user_pages if is_full else choices.FOOTPRINTS[place.size]
    device = pool.full() if is_full else pool.trial(pages, place.pools)
    empty = _empty(place)
    return replace(
        empty,
        workload=replace(
            empty.workload, keys=requests_of(place.load, pages, pool.user_pages, files)
        ),
        scheme=replace(
            empty.scheme, keys={**scale.PRECONDITION, **POLICIES[place.policy], **device}
        ),
    )


def _empty(place: Place) -> Cell:
    """The run of a place, without its keys."""
    source: Source = "recorded" if place.load.phases else "synthetic"
    name = f"{place.drive}, {place.policy}, {place.size}, {place.pools}"
    return Cell(Workload(place.load.title, source, {}), Scheme(name, place.drive), place.seed)


def _matching(requested: Sequence[str], available: Sequence[str], noun: str) -> tuple[str, ...]:
    """The requested names; all if there are none. Raises `ConfigError`."""
    for name in requested:
        if name not in available:
            matches = get_close_matches(name, available, 1)
            hint = f"; did you mean {matches[0]}?" if matches else ""
            message = f"--{noun} {name}: no such {noun}; there are: {', '.join(available)}{hint}"
            raise ConfigError([message])
    return tuple(requested) or tuple(available)


def compare(
    *,
    quick: bool = False,
    drives: Sequence[str] = (),
    loads: Sequence[str] = (),
    sizes: Sequence[str] = (),
    policies: Sequence[str] = (),
    measured: str | Path | None = None,
    jobs: int | None = None,
    on: str | None = None,
    out: str | Path | None = None,
    progress: bool = True,
) -> Scales:
    """Run drives at full size, and their trials, and write both into `out`.

    `drives`, `loads`, `sizes` and `policies` choose from them (default: all); what earlier runs
    have left in `out` is shown, too. Runs whose numbers are in the file `measured`, the scale.csv
    of an earlier study, are not repeated. An interrupted run is resumed, as by `reproduce`, which
    raises the same exceptions.
    """
    presets = [drive_preset(name, f"--drive {name}") for name in drives]
    of_drives = _matching(presets, choices.drives(), "drive")
    of_loads = _matching(loads, [load.title for load in LOADS], "load")
    of_policies = _matching(policies, [*POLICIES], "policy")
    of_sizes = _matching(sizes, [*choices.sizes(quick), FULL], "size")
    earlier = None if measured is None else table.read(Path(measured), quick)
    measurements = {} if earlier is None else earlier.measured

    def is_asked(place: Place) -> bool:
        return (
            place not in measurements
            and place.drive in of_drives
            and place.load.title in of_loads
            and place.size in of_sizes
            and place.policy in of_policies
        )

    def plan(folder: Path) -> dict[Cell, Place]:
        files = Files(folder / "loads")
        return {
            cell_of(place, quick, files): place
            for place in choices.places(quick)
            if is_asked(place) or (folder / _empty(place).folder / REPORT).exists()
        }

    study = made(
        Scales,
        plan,
        is_asked=is_asked,
        quick=quick,
        jobs=jobs,
        on=on,
        out=out,
        progress=progress,
    )
    study = replace(study, earlier=earlier)
    numbers = outputs.text(table.text(study.measured, quick))
    outputs.write_all({study.folder / table.FILE: numbers}, force=True)
    write_results(study.folder, to_json(study), page(study), markdown(study))
    return study
