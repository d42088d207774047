"""The runs of the study."""

from __future__ import annotations

from pathlib import Path

from ssdlab.reproduce.command import write_results
from ssdlab.reproduce.matrix import Cell
from ssdlab.reproduce.separations.choices import places, scheme_of, seeds, workload_of
from ssdlab.reproduce.separations.outcome import Separations
from ssdlab.reproduce.separations.page import files, markdown, page, to_json
from ssdlab.reproduce.study import made


def separations(
    *,
    quick: bool = False,
    jobs: int | None = None,
    out: str | Path | None = None,
    progress: bool = True,
) -> Separations:
    """Run every line on all workloads and write the tables into `out`.

    An interrupted run is resumed, as by `reproduce`, which raises the same exceptions.
    """
    cells = {
        Cell(workload_of(place, quick), scheme_of(place, quick), seed): (place, seed)
        for place in places(quick)
        for seed in seeds(quick)
    }
    done = made(Separations, cells, quick=quick, jobs=jobs, out=out, progress=progress)
    write_results(done.folder, to_json(done), page(done), markdown(done), files(done))
    return done
