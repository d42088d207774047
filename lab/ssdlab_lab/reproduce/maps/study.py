"""The runs of the study."""

from __future__ import annotations

from pathlib import Path

from ssdlab_lab.reproduce.command import write_results
from ssdlab_lab.reproduce.maps.choices import Place, places, scheme_of, workload_of
from ssdlab_lab.reproduce.maps.findings import LEFT_OUT
from ssdlab_lab.reproduce.maps.outcome import Maps
from ssdlab_lab.reproduce.maps.page import files, markdown, page, to_json
from ssdlab_lab.reproduce.matrix import Cell
from ssdlab_lab.reproduce.study import made


def maps(
    *,
    quick: bool = False,
    jobs: int | None = None,
    on: str | None = None,
    out: str | Path | None = None,
    progress: bool = True,
) -> Maps:
    """Run baseline and proposal at every point of all maps, and write the maps into `out`.

    An interrupted run is resumed, as by `reproduce`, which raises the same exceptions. Recorded
    traces in the folder `traces` are marked in the maps.
    """

    def plan(_: Path) -> dict[Cell, Place]:
        return cells(quick)

    study = made(Maps, plan, quick=quick, jobs=jobs, on=on, out=out, progress=progress)
    write_results(study.folder, to_json(study), page(study), markdown(study), files(study))
    return study


def cells(quick: bool) -> dict[Cell, Place]:
    """All runs, except those that are left out."""
    return {
        Cell(workload_of(place, quick), scheme_of(place, quick), place.seed): place
        for place in places(quick)
        if not is_left_out(place)
    }


def is_left_out(place: Place) -> bool:
    """Whether a registered run is not made, see `findings.LEFT_OUT`."""
    return (place.paper, place.axis, place.at) in LEFT_OUT
