"""`ssdlab drives compare` and `drives scale`: simulated drives beside their measurements."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ssdlab.cli.ending import end
from ssdlab.cli.examples import add_examples
from ssdlab.cli.options import Jobs, Json, OnOption, Quiet
from ssdlab.cli.terminal import put_result, say
from ssdlab_lab.cli.examples import EXAMPLES

app = typer.Typer(name="drives")


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
    on: OnOption = None,
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
    from ssdlab_lab.reproduce.drives import command, page  # need numpy, which is slow to import

    result = command.compare(
        drive=drive or (), quick=quick, jobs=jobs, on=on, out=out, progress=not quiet
    )
    text = "\n".join([*page.verdict(result), ""])
    put_result(json_, quiet, lambda: page.to_json(result), lambda: text)
    for compared_drive in () if quiet else result.of.values():
        for warning in compared_drive.measured.warnings:
            say(f"warning: {compared_drive.title}: {warning}")
    end(result.folder, result.failures, result.interrupted, quiet)


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
    on: OnOption = None,
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
    from ssdlab_lab.reproduce.scales import page, study  # need numpy, which is slow to import

    result = study.compare(
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
    if result.earlier is not None and not quiet:
        say(result.earlier.remark)
    text = "\n".join([*page.verdict(result), ""])
    put_result(json_, quiet, lambda: page.to_json(result), lambda: text)
    end(result.folder, result.failures, result.interrupted, quiet)


add_examples(app, EXAMPLES)
