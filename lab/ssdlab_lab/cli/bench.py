"""`ssdlab bench`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ssdlab.cli.examples import add_examples
from ssdlab_lab.cli.examples import EXAMPLES

app = typer.Typer()


@app.command("bench")
def bench_command(
    only: Annotated[
        str | None, typer.Option("--only", metavar="A,B,...", help="Only these cases.")
    ] = None,
    history: Annotated[
        Path,
        typer.Option("--history", metavar="FILE", help="File to which the results are appended."),
    ] = Path("bench/history.jsonl"),
    instructions: Annotated[
        bool, typer.Option("--instructions", help="Count instructions under valgrind instead.")
    ] = False,
    against: Annotated[
        str | None,
        typer.Option(
            "--against",
            metavar="COMMIT",
            help="Compare with another commit, or with the recorded one: `recorded`.",
        ),
    ] = None,
    accept: Annotated[
        bool, typer.Option("--accept", help="Accept answers that differ from the recorded ones.")
    ] = False,
) -> None:
    """Measure the speed of the simulator in a checkout; exit code 1 if it falls short."""
    from ssdlab_lab.bench.command import bench  # needs numpy, which is slow to import

    raise typer.Exit(bench(only, history, instructions, against, accept))


add_examples(app, EXAMPLES)
