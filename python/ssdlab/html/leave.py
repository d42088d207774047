"""Writes the pages and plots of `ssdlab report`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from ssdlab.comparison import JSON, Comparison
from ssdlab.errors import OutputError
from ssdlab.html import PAGE
from ssdlab.html.compare_page import comparison_page
from ssdlab.html.compare_plots import comparison_figures
from ssdlab.html.plot import Figure
from ssdlab.html.run_page import run_figures, run_page
from ssdlab.html.svg import files
from ssdlab.report import REPORT, Report


def report_folder(
    folder: Path,
    *,
    out: Path | None = None,
    plots: Path | None = None,
    baseline: str | None = None,
    since: int | None = None,
) -> list[Path]:
    """Write the page of the run or comparison in `folder`, and its plots; the files written.

    The page goes to `out` (default: into the folder), the plots as SVG files into `plots`; with
    `plots` alone no page is written. `since` is where a run's timeline begins, nanoseconds.
    """
    try:
        if (folder / JSON).exists():
            done = Comparison.read(folder)
            if baseline is not None and baseline not in done.reports:
                known = ", ".join(done.reports)
                raise OutputError(f"--baseline {baseline}: no such run; there are: {known}")
            figures: list[Figure] = comparison_figures(done)
            page: Callable[[], str] = partial(comparison_page, done, baseline)
        elif (folder / REPORT).exists():
            report = Report.read(folder)
            figures, page = run_figures(report), partial(run_page, report, folder, since)
        else:
            raise OutputError(f"{folder}: holds neither {REPORT} nor {JSON}: no run, no comparison")
    except (KeyError, TypeError, ValueError) as error:
        raise OutputError(f"{folder}: its results cannot be read: {error}") from error
    texts = {}
    if plots is not None:
        texts = {plots / name: text for name, text in files(figures).items()}
    if out is not None or plots is None:
        texts[out or folder / PAGE] = page()
    for file, text in texts.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        # Whoever looks at the old page meanwhile sees all of it.
        fresh = file.with_name(f".{file.name}.unfinished")
        fresh.write_text(text, encoding="utf-8", newline="\n")
        fresh.replace(file)
    return list(texts)
