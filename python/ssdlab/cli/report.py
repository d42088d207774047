"""`ssdlab report` and `ssdlab export`: pages, plots and files of finished runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ssdlab.cli.arguments import nanoseconds
from ssdlab.cli.options import ForceFiles, PictureOption, Plots, picture_kind
from ssdlab.cli.terminal import put
from ssdlab.errors import OutputError
from ssdlab.export import FORMATS, export_run
from ssdlab.results.names import FLEET

app = typer.Typer()


@app.command("report")
def report_command(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="FOLDER",
            help="Output folder of `run`, `compare`, `sweep`, `search` or `fleet`.",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="Page to write.  [default: FOLDER/report.html]"),
    ] = None,
    plots: Plots = None,
    picture: PictureOption = None,
    baseline: Annotated[
        str | None,
        typer.Option("--baseline", metavar="RUN", help="Baseline of a comparison's ratios."),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option("--from", metavar="TIME", help="Start of the timeline, such as 1.5s."),
    ] = None,
    force: ForceFiles = False,
) -> None:
    """Rewrite the page of a run, comparison, sweep, search or fleet, or write its plots as files.

    With --baseline or --from an existing page is replaced only with --force.
    """
    start = None if since is None else nanoseconds("--from", since)
    kind = picture_kind(plots, picture)
    # Both need numpy, which is slow to import.
    from ssdlab.fleets.page import report_fleet
    from ssdlab.html.write import report_folder

    arguments: dict[str, Any] = {"out": out, "plots": plots, "picture": kind, "force": force}
    if (folder / FLEET["json"]).exists():
        if baseline is not None or start is not None:
            option = "--baseline" if start is None else "--from"
            raise OutputError(f"{option}: {folder} contains a fleet, which takes no such option")
        files = report_fleet(folder, **arguments)
    else:
        files = report_folder(folder, baseline=baseline, since=start, **arguments)
    put("".join(f"{file}\n" for file in files))


@app.command("export")
def export_command(
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="Output folder of `run`.")],
    to: Annotated[
        str,
        typer.Option("--to", metavar="FORMAT", help=f"{', '.join(sorted(FORMATS))}."),
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Output folder.  [default: RUN/export]"),
    ] = None,
    force: ForceFiles = False,
) -> None:
    """Convert a run for other tools."""
    files = export_run(folder, to, out=out, force=force)
    put("".join(f"{file}\n" for file in files))
