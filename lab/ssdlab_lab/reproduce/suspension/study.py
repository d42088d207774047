"""The runs of the study."""

from __future__ import annotations

from pathlib import Path

from ssdlab_lab.reproduce.combined.choices import LOAD
from ssdlab_lab.reproduce.command import write_results
from ssdlab_lab.reproduce.matrix import Cell, Workload
from ssdlab_lab.reproduce.study import made
from ssdlab_lab.reproduce.suspension import schemes
from ssdlab_lab.reproduce.suspension.choices import (
    EMULATOR,
    FLASHES,
    JOB,
    LINES,
    OFF,
    ON,
    PAPER,
    QUICK_SECONDS,
    SECONDS,
    Place,
    emulated,
    loads,
    requests,
    seeds,
    simulated,
)
from ssdlab_lab.reproduce.suspension.outcome import Suspensions
from ssdlab_lab.reproduce.suspension.page import markdown, page, to_json
from ssdlab_lab.reproduce.suspension.schemes import SCHEMES

JOB_FILE = "load.fio"


def suspension(
    *,
    quick: bool = False,
    jobs: int | None = None,
    on: str | None = None,
    out: str | Path | None = None,
    progress: bool = True,
) -> Suspensions:
    """Run all parts and write the tables into `out`.

    An interrupted run is resumed, as by `reproduce`, which raises the same exceptions.
    """

    def plan(folder: Path) -> dict[Cell, Place]:
        return cells(folder, quick)

    study = made(Suspensions, plan, quick=quick, jobs=jobs, on=on, out=out, progress=progress)
    write_results(study.folder, to_json(study), page(study), markdown(study))
    return study


def cells(folder: Path, quick: bool) -> dict[Cell, Place]:
    """All runs; the job file of the emulated load is written into `folder`."""
    job = folder / JOB_FILE
    job.write_text(JOB.format(seconds=QUICK_SECONDS if quick else SECONDS), encoding="utf-8")
    load = Workload(EMULATOR, "synthetic", {"workload.job": str(job)})
    runs = {
        Cell(load, emulated(line, quick), seed): Place(EMULATOR, "", 0.0, line, seed)
        for line in (OFF, ON)
        for seed in seeds(quick)
    }
    for flash in FLASHES:
        for rate in loads(quick):
            for line in LINES:
                work, scheme = requests(flash, rate, line, quick), simulated(flash, line)
                runs |= {
                    Cell(work, scheme, seed): Place(PAPER, flash, rate, line, seed)
                    for seed in seeds(quick)
                }
    for name in schemes.workloads(quick):
        work = schemes.workload_of(name, quick)
        for order, line in schemes.combinations(quick):
            for state in (OFF, ON):
                scheme = schemes.scheme_of(order, line, state, quick)
                runs |= {
                    Cell(work, scheme, seed): Place(SCHEMES, name, LOAD, scheme.name, seed)
                    for seed in seeds(quick)
                }
    return runs
