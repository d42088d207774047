"""The folder of a run that was executed on a worker."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from ssdlab.results.folder import draft
from ssdlab.results.names import CONFIG, REPORT
from ssdlab.results.report import Report


def store_run(report: Report, files: Mapping[str, bytes], folder: Path) -> Report:
    """Move the files of a run into `folder`, all at once. Returns its report with the folder.

    Raises `OutputError`.
    """
    if (folder / REPORT).exists():
        shutil.rmtree(folder)  # of another version or configuration, or damaged
    with draft(folder, force=False) as staging:
        for name, data in files.items():
            (staging.path / name).parent.mkdir(parents=True, exist_ok=True)
            (staging.path / name).write_bytes(data)
        # The worker may not have access to the files that it names, so it cannot resolve their
        # paths.
        staging.write(CONFIG, report.config.file_text())
        staging.settle(report.completed)
        staging.keep()
    return replace(report, folder=staging.target)
