"""`ssdlab drives compare`: what was published of named drives, beside what is simulated."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ssdlab.config.drives import ERRORS_FILE, errors_file
from ssdlab.results import outputs
from ssdlab_lab.reproduce.command import write_results
from ssdlab_lab.reproduce.drives import errors, page
from ssdlab_lab.reproduce.drives.known import drive_of, drives
from ssdlab_lab.reproduce.drives.study import Drives, Place, cell_of, places, write_traces
from ssdlab_lab.reproduce.matrix import Cell
from ssdlab_lab.reproduce.study import made


def compare(
    *,
    drive: Sequence[str] = (),
    quick: bool = False,
    jobs: int | None = None,
    on: str | None = None,
    out: str | Path | None = None,
    progress: bool = True,
) -> Drives:
    """Run named drives, or those in files, and write the comparison into `out`.

    `drive` names them; by default all named drives are run. The errors of a drive in a file are
    written beside the file, where all commands find them. An interrupted run is resumed, as by
    `reproduce`, which raises the same exceptions.
    """
    of = {one.name: one for one in map(drive_of, drive)} or drives()
    if drive and out is None:
        names = "-".join(one.config.name for one in of.values())
        out = Path("runs") / f"drives-{names[:80]}{'-quick' * quick}"

    def plan(folder: Path) -> dict[Cell, Place]:
        write_traces(of, quick, folder)
        return {cell_of(of[place[0]], place, quick, folder): place for place in places(of, quick)}

    made_ = made(Drives, plan, quick=quick, jobs=jobs, on=on, out=out, progress=progress)
    done = replace(made_, of=of)
    more = {ERRORS_FILE: errors.named_json(done)}
    write_results(done.folder, page.to_json(done), page.page(done), page.markdown(done), more)
    if not (quick or done.interrupted or done.failures):
        own = [one for one in of.values() if not one.is_named]
        texts = {
            one: json.dumps(errors.machine_errors(done, one).json(), indent=2) + "\n" for one in own
        }
        beside = {errors_file(Path(one.name)): outputs.text(text) for one, text in texts.items()}
        outputs.write_all(beside, force=True)
    return done
