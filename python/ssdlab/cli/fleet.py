"""`ssdlab fleet`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from ssdlab.cli.ending import end, few_reasons
from ssdlab.cli.options import ReadOptions, RunOptions, grouped
from ssdlab.cli.terminal import put_result
from ssdlab.config.resolve import DRIVE, preset_names
from ssdlab.display.argument import came_as
from ssdlab.fleets.fleet_runs import FleetRequest, run_fleet
from ssdlab.results.names import FLEET
from ssdlab.running.kept import not_stored

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
@grouped
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
    reading: ReadOptions,
    runs: RunOptions,
) -> None:
    """Simulate a drive for each volume of a fleet, and show how the outcomes are distributed.

    The same command with the same --out resumes where it stopped.
    """
    came_as("drives", "--drive")
    several = [_named(one) for one in drives or []]
    asked = FleetRequest(traces or [], several, stand_in, size, reading.values(), runs.seed, cache)
    how = runs.making(asked.name)
    with how.runner() as runner:
        done = run_fleet(asked, runner, how)
    put_result(runs.json_, runs.quiet, done.to_json, done.summary)
    failures = few_reasons(done.failed(), FLEET["csv"]) | not_stored(runner)
    assert done.folder is not None
    end(done.folder, failures, done.interrupted, runs.quiet)


def _named(drive: str) -> str:
    """A named drive may be called without `drive:`."""
    return f"{DRIVE}{drive}" if f"{DRIVE}{drive}" in preset_names() else drive
