"""The `ssdlab` command."""

from typing import Annotated

import typer

import ssdlab

app = typer.Typer(
    name="ssdlab",
    help="A laboratory for the garbage collection of SSDs.",
    no_args_is_help=True,
    add_completion=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"ssdlab {ssdlab.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Options that stand before the verb."""


def main() -> None:
    """Run the command line of this process."""
    app()
