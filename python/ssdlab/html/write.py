"""Writes the pages and plots of `ssdlab report` and `ssdlab trace info`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from ssdlab.errors import OutputError
from ssdlab.html.compare_page import comparison_page
from ssdlab.html.compare_plots import comparison_figures
from ssdlab.html.page import MADE_BY
from ssdlab.html.plot import Figure, MissingPlot
from ssdlab.html.png import png
from ssdlab.html.run_page import run_figures, run_page
from ssdlab.html.search_page import search_page
from ssdlab.html.search_plots import search_figures
from ssdlab.html.svg import draw
from ssdlab.html.sweep_page import sweep_figures, sweep_page
from ssdlab.html.timeline import missing_reason
from ssdlab.html.trace_page import trace_page
from ssdlab.html.trace_plots import trace_figures
from ssdlab.results import outputs, stored
from ssdlab.results.names import PAGE
from ssdlab.results.report import Report
from ssdlab.results.search import Search
from ssdlab.results.sweep import Sweep

if TYPE_CHECKING:
    from ssdlab.traces.info import Info

Picture: TypeAlias = Literal["svg", "png"]
"""How plots are written as files."""


def report_folder(
    folder: Path,
    *,
    out: Path | None = None,
    plots: Path | None = None,
    picture: Picture = "svg",
    baseline: str | None = None,
    since: int | None = None,
    force: bool = False,
) -> list[Path]:
    """Write the page or the plots of the results in `folder`. Returns the files.

    The page goes to `out` (default: into the folder), the plots as `picture` files into `plots`;
    with `plots` alone no page is written. `since` is where a run's timeline begins, nanoseconds.
    Pages of ssdlab are replaced, unless with another `baseline` or `since`; other existing files
    only with `force`. Raises `OutputError`.
    """
    results = stored.read(folder)
    with stored.readable(folder):
        if isinstance(results, Report):
            if baseline is not None:
                raise OutputError(
                    f"--baseline {baseline}: {folder} contains a run, not a comparison"
                )
            if since is not None and (reason := missing_reason(results, folder, since)):
                raise OutputError(f"--from: {folder}: {reason}")
            figures: list[Figure] = run_figures(results)
            page: Callable[[], str] = partial(run_page, results, folder, since)
        elif isinstance(results, Sweep | Search):
            if since is not None or baseline is not None:
                option = "--baseline" if since is None else "--from"
                kind = "sweep" if isinstance(results, Sweep) else "search"
                raise OutputError(f"{option}: {folder} contains a {kind}, which has none")
            if isinstance(results, Sweep):
                figures, page = sweep_figures(results), partial(sweep_page, results)
            else:
                figures, page = search_figures(results), partial(search_page, results)
        else:
            if since is not None:
                raise OutputError(f"--from: {folder} contains a comparison, which has no timeline")
            if baseline is not None and baseline not in results.reports:
                labels = ", ".join(results.reports)
                raise OutputError(f"--baseline {baseline}: no such run; expected one of: {labels}")
            figures = comparison_figures(results)
            page = partial(comparison_page, results, baseline)
        is_replaceable = baseline is None and since is None
        return page_and_plots(
            folder,
            figures,
            page,
            out=out,
            plots=plots,
            picture=picture,
            force=force,
            is_replaceable=is_replaceable,
        )


def page_and_plots(
    folder: Path,
    figures: Sequence[Figure],
    page: Callable[[], str],
    *,
    out: Path | None,
    plots: Path | None,
    picture: Picture,
    force: bool,
    is_replaceable: bool = True,
) -> list[Path]:
    """Write the page or plots of the results in `folder`, as `report_folder`. Returns the files.

    With `is_replaceable`, an older page that ssdlab has written there is replaced without `force`.
    """
    files = {} if plots is None else _pictures(figures, plots, picture)
    if out is not None or plots is None:
        files[out or folder / PAGE] = outputs.text(page())
    return outputs.write_all(
        files, force=force, ours=is_page if is_replaceable else lambda _: False
    )


def trace_files(
    infos: Sequence[Info],
    *,
    out: Path | None = None,
    plots: Path | None = None,
    picture: Picture = "svg",
    force: bool = False,
) -> list[Path]:
    """Write the page of one trace or two to `out`, the plots into `plots`; the files written."""
    files = {} if plots is None else _pictures(trace_figures(infos), plots, picture)
    if out is not None:
        files[out] = outputs.text(trace_page(infos))
    return outputs.write_all(files, force=force, ours=is_page)


def is_page(file: Path) -> bool:
    """Whether `file` is a page that ssdlab wrote, which may be overwritten."""
    with file.open("rb") as page:
        return MADE_BY.encode() in page.read(1000)


def _pictures(figures: Sequence[Figure], folder: Path, kind: Picture) -> dict[Path, outputs.Write]:
    write = png if kind == "png" else outputs.text
    return {
        folder / f"{figure.key}.{kind}": write(draw(figure, is_file=True))
        for figure in figures
        if not isinstance(figure, MissingPlot)
    }
