"""`ssdlab fleet`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from ssdlab.cli.ending import end, few_reasons
from ssdlab.cli.options import ReadOptions, RunOptions, group_options
from ssdlab.cli.terminal import put_result
from ssdlab.config.resolve import DRIVE, preset_names
from ssdlab.display.argument import register_option
from ssdlab.fleets.fleet_runs import FleetRequest, run_fleet
from ssdlab.results.names import FLEET
from ssdlab.running.caching import not_stored

app = typer.Typer()

Cache = Annotated[
    Path | None,
    typer.Option(
        "--cache",
        metavar="DIR",
        help="Folder that keeps split traces.  [default: ~/.cache/ssdlab/volumes]",
    ),
]


@app.command("fleet")
@group_options
def fleet_command(
    traces: Annotated[
        list[str] | None,
        typer.Argument(metavar="TRACES...", help="Traces, of one volume or of many."),
    ] = None,
    drives: Annotated[
        list[str] | None,
        typer.Option(
            "--drive", metavar="CONFIG|NAME", help="TOML file, preset or named drive; repeatable."
        ),
    ] = None,
    stand_in: Annotated[
        str | None,
        typer.Option(
            "--stand-in",
            metavar="NAME:COUNT",
            help="Make volumes to published statistics instead, such as alibaba:1000.",
        ),
    ] = None,
    size: Annotated[
        Literal["volume", "drive"] | None,
        typer.Option(
            "--size",
            help="Size of a drive: that of its volume, or as configured."
            "  [default: volume; drive for stand-ins]",
        ),
    ] = None,
    cache: Cache = None,
    *,
    read_options: ReadOptions,
    run_options: RunOptions,
) -> None:
    """Simulate a drive for each volume of a fleet, and show how the outcomes are distributed.

    The same command with the same --out resumes where it stopped.
    """
    register_option("drives", "--drive")
    configs = [_drive_name(drive) for drive in drives or []]
    request = FleetRequest(
        traces or [], configs, stand_in, size, read_options.values(), run_options.seed, cache
    )
    options = run_options.execution(request.name)
    with options.runner() as runner:
        fleet = run_fleet(request, runner, options)
    put_result(run_options.json_, run_options.quiet, fleet.to_json, fleet.summary)
    failures = few_reasons(fleet.failed(), FLEET["csv"]) | not_stored(runner)
    assert fleet.folder is not None
    end(fleet.folder, failures, fleet.interrupted, run_options.quiet)


def _drive_name(drive: str) -> str:
    """A named drive may be called without `drive:`."""
    return f"{DRIVE}{drive}" if f"{DRIVE}{drive}" in preset_names() else drive
