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
    drives_by_name = {selected.name: selected for selected in map(drive_of, drive)} or drives()
    if drive and out is None:
        names = "-".join(selected.config.name for selected in drives_by_name.values())
        out = Path("runs") / f"drives-{names[:80]}{'-quick' * quick}"

    def plan(folder: Path) -> dict[Cell, Place]:
        write_traces(drives_by_name, quick, folder)
        return {
            cell_of(drives_by_name[place[0]], place, quick, folder): place
            for place in places(drives_by_name, quick)
        }

    result = made(Drives, plan, quick=quick, jobs=jobs, on=on, out=out, progress=progress)
    study = replace(result, of=drives_by_name)
    extra = {ERRORS_FILE: errors.named_json(study), **page.drawn(study)}
    write_results(study.folder, page.to_json(study), page.page(study), page.markdown(study), extra)
    if not (quick or study.interrupted or study.failures):
        own_drives = [selected for selected in drives_by_name.values() if not selected.is_named]
        texts = {
            selected: json.dumps(errors.machine_errors(study, selected).json(), indent=2) + "\n"
            for selected in own_drives
        }
        error_files = {
            errors_file(Path(file_name.name)): outputs.text(text)
            for file_name, text in texts.items()
        }
        outputs.write_all(error_files, force=True)
    return study
