"""`ssdlab drives`: named drives beside what was published of them, and drives of your own."""

from __future__ import annotations

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
            "  [default: runs/drives]",
        ),
    ] = None,
    json_: Json = None,
    quiet: Quiet = False,
) -> None:
    """Simulate what was published of every named drive and print the errors."""
    from ssdlab.reproduce.drives import command, page  # need numpy, which is slow to import

    done = command.compare(quick=quick, jobs=jobs, on=on, out=out, progress=not quiet)
    text = "\n".join([*page.verdict(done), ""])
    put_result(json_, quiet, lambda: page.to_json(done), lambda: text)
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
            help="Columns fill and waf; or also load, p50_us and p99_us.",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="FILE", help="Preset to write.  [default: MEASUREMENTS.toml]"
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
    """Fit a drive to your measurements: raw capacity, and program time if latencies are given."""
    from ssdlab.reproduce.drives import calibrate  # needs the closed forms

    done = calibrate.calibrate(measurements, out=out, like=like, force=force)
    put_result(json_, quiet, done.to_json, done.summary)
    for text in () if quiet else done.warnings:
        say(f"warning: {text}")
    if not quiet:
        say(f"preset written to {done.file}; try: ssdlab run {done.file}")
