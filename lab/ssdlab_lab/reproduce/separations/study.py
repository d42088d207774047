"""The runs of the study."""

from __future__ import annotations

from pathlib import Path

from ssdlab.traces.trace import generate
from ssdlab_lab.reproduce.command import write_results
from ssdlab_lab.reproduce.matrix import Cell
from ssdlab_lab.reproduce.papers.deferred_gc_raid.paper import published_requests
from ssdlab_lab.reproduce.separations.choices import (
    APPLICATIONS,
    RANGES,
    SHRUNK,
    TRACES,
    Place,
    ReplayedTrace,
    places,
    scheme_of,
    seeds,
    workload_of,
)
from ssdlab_lab.reproduce.separations.outcome import Separations
from ssdlab_lab.reproduce.separations.page import files, markdown, page, to_json
from ssdlab_lab.reproduce.study import made

FOLDER = "volumes"
"""Folder of the stand-ins within that of the study."""


def separations(
    *,
    quick: bool = False,
    jobs: int | None = None,
    on: str | None = None,
    out: str | Path | None = None,
    progress: bool = True,
) -> Separations:
    """Run every line on all workloads and write the tables into `out`.

    An interrupted run is resumed, as by `reproduce`, which raises the same exceptions. The recorded
    traces lie in the folder `traces`.
    """

    def plan(folder: Path) -> dict[Cell, tuple[Place, int]]:
        played = {} if quick else traces_of(folder)
        cells: dict[Cell, tuple[Place, int]] = {}
        for place in places(quick):
            work, scheme = workload_of(place, quick, played), scheme_of(place, quick, played)
            cells |= {Cell(work, scheme, seed): (place, seed) for seed in seeds(quick)}
        return cells

    study = made(Separations, plan, quick=quick, jobs=jobs, on=on, out=out, progress=progress)
    write_results(study.folder, to_json(study), page(study), markdown(study), files(study))
    return study


def traces_of(folder: Path) -> dict[str, ReplayedTrace]:
    """The traces by workload; those of volumes are written into `folder`."""
    files = {name: TRACES / f"{name}.trace.zst" for name in APPLICATIONS}
    for name, span in RANGES.items():
        file = files[name] = folder / FOLDER / f"{name}.ssdtrace"
        file.parent.mkdir(parents=True, exist_ok=True)
        if not file.is_file():
            number = (
                published_requests(name) // SHRUNK - 1
            )  # each of its two phases is rounded down
            keys = {"workload.shrink": SHRUNK}
            generate(f"msr:{name}", file, bytes=round(span * 1e9), requests=number, set=keys)
    return {name: ReplayedTrace.of(file) for name, file in files.items()}
