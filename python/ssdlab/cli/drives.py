"""`ssdlab drives`: drives of your own."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from ssdlab.cli.options import ForceFiles, Json, Quiet
from ssdlab.cli.terminal import put_result, say, warn

app = typer.Typer(
    name="drives",
    no_args_is_help=True,
    help="Fit a drive of your own to measurements.",
)


@app.command("calibrate")
def drives_calibrate(
    measurements: Annotated[
        str,
        typer.Argument(
            metavar="MEASUREMENTS.csv",
            help="CSV with fill and waf; optionally load, p50_us, p99_us, workload, use, source.",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="File to write.  [default: MEASUREMENTS.toml]"),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option("--name", metavar="NAME", help="Name of the drive.  [default: name of OUT]"),
    ] = None,
    capacity: Annotated[
        str | None,
        typer.Option(
            "--capacity",
            metavar="SIZE",
            help="User capacity, such as 1.92TB.  [default: that of --like]",
        ),
    ] = None,
    like: Annotated[
        str,
        typer.Option("--like", metavar="PRESET", help="Drive with everything that is not fitted."),
    ] = "drive:samsung-pm9a3",
    force: ForceFiles = False,
    json_: Json = None,
    quiet: Quiet = False,
) -> None:
    """Fit a drive to measurements: raw capacity, and from latencies program and firmware time."""
    from ssdlab.drives import calibrate  # needs the closed forms

    calibration = calibrate.calibrate(
        measurements, out=out, name=name, like=like, capacity=capacity, force=force
    )
    put_result(json_, quiet, calibration.to_json, calibration.summary)
    if not quiet:
        warn(calibration.warnings)
        file = shlex.quote(str(calibration.file))
        say(f"drive written to {calibration.file}; next: ssdlab try TRACE --drive {file}")
