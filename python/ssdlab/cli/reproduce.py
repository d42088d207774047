"""`ssdlab reproduce`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ssdlab.cli.ending import end
from ssdlab.cli.options import Jobs, Json, Quiet
from ssdlab.cli.terminal import put

app = typer.Typer()


@app.command("reproduce")
def reproduce_command(
    paper: Annotated[str, typer.Argument(metavar="PAPER", help="One of `ssdlab list papers`.")],
    quick: Annotated[
        bool, typer.Option("--quick", help="Use a quarter of the device and of the requests.")
    ] = False,
    workloads: Annotated[
        str | None,
        typer.Option("--workloads", metavar="A,B,...", help="Only these workloads."),
    ] = None,
    traces: Annotated[
        Path | None,
        typer.Option(
            "--traces", metavar="DIR", help="Folder of recorded traces.  [default: traces]"
        ),
    ] = None,
    readings: Annotated[
        bool,
        typer.Option(
            "--readings", help="Also run the alternative readings of what the paper leaves open."
        ),
    ] = False,
    jobs: Jobs = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="DIR",
            help="Output folder; an interrupted reproduction in it is resumed."
            "  [default: runs/reproduce-PAPER]",
        ),
    ] = None,
    json_: Json = False,
    quiet: Quiet = False,
) -> None:
    """Repeat a paper's evaluation: published tables, figures and claims next to simulated ones."""
    from ssdlab.reproduce import reproduce  # needs numpy, which is slow to import

    done = reproduce(
        paper,
        quick=quick,
        workloads=None if workloads is None else workloads.split(","),
        traces=traces,
        jobs=jobs,
        out=out,
        progress=not quiet,
        readings=readings,
    )
    if json_ or not quiet:
        put(done.to_json() if json_ else done.summary())
    end(done.folder, done.failures, done.interrupted, quiet)
