"""`ssdlab reproduce`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ssdlab.cli.ending import end
from ssdlab.cli.options import Jobs, Json, On, Quiet
from ssdlab.cli.terminal import Form, put_result
from ssdlab.errors import ConfigError

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
    on: On = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="DIR",
            help="Output folder; an interrupted reproduction in it is resumed."
            "  [default: runs/reproduce-PAPER]",
        ),
    ] = None,
    json_: Json = None,
    quiet: Quiet = False,
) -> None:
    """Repeat a paper's evaluation: published tables, figures and claims next to simulated ones."""
    from ssdlab.reproduce import reproduce  # needs numpy, which is slow to import
    from ssdlab.reproduce.remapcom import choices

    names = None if workloads is None else workloads.split(",")
    if paper == choices.NAME:
        given = {"--traces": traces is not None, "--readings": readings, "--on": on is not None}
        _remapcom(quick, names, jobs, out, json_, quiet, [key for key, is_ in given.items() if is_])
        return
    done = reproduce(
        paper,
        quick=quick,
        workloads=names,
        traces=traces,
        jobs=jobs,
        out=out,
        progress=not quiet,
        readings=readings,
        on=on,
    )
    put_result(json_, quiet, done.to_json, done.summary)
    end(done.folder, done.failures, done.interrupted, quiet)


def _remapcom(
    quick: bool,
    workloads: list[str] | None,
    jobs: int | None,
    out: Path | None,
    json_: Form,
    quiet: bool,
    refused: list[str],
) -> None:
    """The paper whose runs are simulations of the store."""
    from ssdlab.reproduce.remapcom import command, page

    if refused:
        has = "remapcom has no recorded traces and no readings, and its runs are made here"
        message = f"{' and '.join(refused)}: {has}"
        raise ConfigError([message])
    done = command.reproduce(
        quick=quick, workloads=workloads, jobs=jobs, out=out, progress=not quiet
    )
    put_result(json_, quiet, lambda: command.to_json(done), lambda: page.summary(done))
    end(done.folder, done.failures, done.interrupted, quiet)
