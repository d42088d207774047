"""`ssdlab drives compare`: what was published of named drives, beside what is simulated."""

from __future__ import annotations

from pathlib import Path

from ssdlab.reproduce.command import write_results
from ssdlab.reproduce.drives import errors, page
from ssdlab.reproduce.drives.study import Drives, Place, cell_of, places, write_traces
from ssdlab.reproduce.matrix import Cell
from ssdlab.reproduce.study import made
from ssdlab.results.drive_errors import KEPT


def compare(
    *,
    quick: bool = False,
    jobs: int | None = None,
    on: str | None = None,
    out: str | Path | None = None,
    progress: bool = True,
) -> Drives:
    """Run every drive and write the comparison into `out`.

    An interrupted run is resumed, as by `reproduce`, which raises the same exceptions.
    """

    def plan(folder: Path) -> dict[Cell, Place]:
        write_traces(quick, folder)
        return {cell_of(place, quick, folder): place for place in places(quick)}

    done = made(Drives, plan, quick=quick, jobs=jobs, on=on, out=out, progress=progress)
    more = {KEPT: errors.to_keep(done)}
    write_results(done.folder, page.to_json(done), page.page(done), page.markdown(done), more)
    return done
