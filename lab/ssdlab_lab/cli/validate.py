"""`ssdlab validate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ssdlab.cli.examples import add_examples
from ssdlab.cli.options import Jobs
from ssdlab_lab.cli.examples import EXAMPLES

app = typer.Typer()


@app.command("validate")
def validate_command(
    quick: Annotated[
        bool, typer.Option("--quick", help="Make a part of the runs, which takes some seconds.")
    ] = False,
    only: Annotated[
        str,
        typer.Option("--only", metavar="TOPIC", help="Only topics that begin with this text."),
    ] = "",
    jobs: Jobs = None,
    write: Annotated[
        Path | None,
        typer.Option(
            "--write",
            metavar="PAGE",
            help="Write the results into this page; topics that are left out stay as they are.",
        ),
    ] = None,
) -> None:
    """Compare runs with closed forms; exit code 1 if a result is outside its bound."""
    from ssdlab_lab.validation.command import validate  # needs numpy, which is slow to import

    raise typer.Exit(validate(quick, only, jobs, write))


add_examples(app, EXAMPLES)
