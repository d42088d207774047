"""`ssdlab drives`: named drives beside what was published of them, and drives of your own."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from ssdlab.cli.ending import end
from ssdlab.cli.options import ForceFiles, Jobs, Json, On, Quiet
from ssdlab.cli.terminal import put_result, say

app = typer.Typer(
    name="drives",
    no_args_is_help=True,
    help="Compare named drives with measurements, and fit a drive of your own.",
)


@app.command("compare")
def drives_compare(
    drive: Annotated[
        list[str] | None,
        typer.Option(
            "--drive",
            metavar="NAME|FILE",
            help="Named drive, or the TOML file of a drive, with a CSV file of the same name beside"
            " it; repeatable.  [default: all named drives]",
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Use smaller drives and fewer loads.")
    ] = False,
    jobs: Jobs = None,
    on: On = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="DIR",
            help="Output folder; an interrupted comparison in it is resumed."
            "  [default: runs/drives, or runs/drives-NAME]",
        ),
    ] = None,
    json_: Json = None,
    quiet: Quiet = False,
) -> None:
    """Simulate the measurements of drives and print the errors."""
    from ssdlab.reproduce.drives import command, page  # need numpy, which is slow to import

    done = command.compare(
        drive=drive or (), quick=quick, jobs=jobs, on=on, out=out, progress=not quiet
    )
    text = "\n".join([*page.verdict(done), ""])
    put_result(json_, quiet, lambda: page.to_json(done), lambda: text)
    for one in () if quiet else done.of.values():
        for warning in one.measured.warnings:
            say(f"warning: {one.title}: {warning}")
    end(done.folder, done.failures, done.interrupted, quiet)


@app.command("scale")
def drives_scale(
    quick: Annotated[
        bool, typer.Option("--quick", help="Use one footprint and pools of small blocks.")
    ] = False,
    drive: Annotated[
        list[str] | None,
        typer.Option("--drive", metavar="NAME", help="Run this drive; repeatable.  [default: all]"),
    ] = None,
    load: Annotated[
        list[str] | None,
        typer.Option("--load", metavar="NAME", help="Run this load; repeatable.  [default: all]"),
    ] = None,
    size: Annotated[
        list[str] | None,
        typer.Option(
            "--size",
            metavar="SIZE",
            help='Run this footprint, or "full size"; repeatable.  [default: all]',
        ),
    ] = None,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            "--policy", metavar="NAME", help="Run this policy; repeatable.  [default: all]"
        ),
    ] = None,
    measured: Annotated[
        Path | None,
        typer.Option(
            "--measured",
            metavar="FILE",
            help="scale.csv of an earlier study; its runs are not repeated.",
        ),
    ] = None,
    jobs: Jobs = None,
    on: On = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="DIR",
            help="Output folder; runs in it are not repeated.  [default: runs/scale]",
        ),
    ] = None,
    json_: Json = None,
    quiet: Quiet = False,
) -> None:
    """Run drives at full size beside what `ssdlab try` predicts of them, and print the errors."""
    from ssdlab.reproduce.scales import page, study  # need numpy, which is slow to import

    done = study.compare(
        quick=quick,
        drives=drive or (),
        loads=load or (),
        sizes=size or (),
        policies=policy or (),
        measured=measured,
        jobs=jobs,
        on=on,
        out=out,
        progress=not quiet,
    )
    text = "\n".join([*page.verdict(done), ""])
    put_result(json_, quiet, lambda: page.to_json(done), lambda: text)
    end(done.folder, done.failures, done.interrupted, quiet)


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
    from ssdlab.reproduce.drives import calibrate  # needs the closed forms

    done = calibrate.calibrate(
        measurements, out=out, name=name, like=like, capacity=capacity, force=force
    )
    put_result(json_, quiet, done.to_json, done.summary)
    for text in () if quiet else done.warnings:
        say(f"warning: {text}")
    if not quiet:
        file = shlex.quote(str(done.file))
        say(f"drive written to {done.file}; next: ssdlab try TRACE --drive {file}")
