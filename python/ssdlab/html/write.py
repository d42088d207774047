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
from ssdlab.html.plot import Figure, Missing
from ssdlab.html.png import png
from ssdlab.html.run_page import run_figures, run_page
from ssdlab.html.search_page import search_page
from ssdlab.html.search_plots import search_figures
from ssdlab.html.svg import drawn
from ssdlab.html.sweep_page import sweep_figures, sweep_page
from ssdlab.html.timeline import why_none
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
    done = stored.read(folder)
    with stored.readable(folder):
        if isinstance(done, Report):
            if baseline is not None:
                raise OutputError(
                    f"--baseline {baseline}: {folder} contains a run, not a comparison"
                )
            if since is not None and (why := why_none(done, folder, since)):
                raise OutputError(f"--from: {folder}: {why}")
            figures: list[Figure] = run_figures(done)
            page: Callable[[], str] = partial(run_page, done, folder, since)
        elif isinstance(done, Sweep | Search):
            if since is not None or baseline is not None:
                option = "--baseline" if since is None else "--from"
                kind = "sweep" if isinstance(done, Sweep) else "search"
                raise OutputError(f"{option}: {folder} contains a {kind}, which has none")
            if isinstance(done, Sweep):
                figures, page = sweep_figures(done), partial(sweep_page, done)
            else:
                figures, page = search_figures(done), partial(search_page, done)
        else:
            if since is not None:
                raise OutputError(f"--from: {folder} contains a comparison, which has no timeline")
            if baseline is not None and baseline not in done.reports:
                known = ", ".join(done.reports)
                raise OutputError(f"--baseline {baseline}: no such run; expected one of: {known}")
            figures = comparison_figures(done)
            page = partial(comparison_page, done, baseline)
        same = baseline is None and since is None
        return page_and_plots(
            folder, figures, page, out=out, plots=plots, picture=picture, force=force, same=same
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
    same: bool = True,
) -> list[Path]:
    """Write the page or plots of the results in `folder`, as `report_folder`. Returns the files.

    With `same`, an older page that ssdlab has written there is replaced without `force`.
    """
    files = {} if plots is None else _pictures(figures, plots, picture)
    if out is not None or plots is None:
        files[out or folder / PAGE] = outputs.text(page())
    return outputs.write_all(files, force=force, ours=is_page if same else lambda _: False)


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
        folder / f"{one.key}.{kind}": write(drawn(one, alone=True))
        for one in figures
        if not isinstance(one, Missing)
    }
