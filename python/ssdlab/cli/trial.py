"""`ssdlab try`: from a trace to an answer."""

from __future__ import annotations

import sys
import webbrowser
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from ssdlab.cli.arguments import nanoseconds, read_as
from ssdlab.cli.ending import end_comparison
from ssdlab.cli.options import (
    Force,
    Jobs,
    Json,
    NoHtml,
    On,
    Out,
    PageSize,
    Quiet,
    Seeds,
    Sets,
    Sort,
    StoreOption,
    Unit,
)
from ssdlab.cli.terminal import say
from ssdlab.config.resolve import drive_preset
from ssdlab.results.text import wrapped
from ssdlab.running import trial
from ssdlab.running.kept import maker_of, not_stored

app = typer.Typer()


@app.command("try")
def try_command(
    trace: Annotated[str, typer.Argument(metavar="TRACE", help="Trace file, in any format.")],
    drive: Annotated[
        str | None,
        typer.Option(
            "--drive",
            metavar="NAME|CONFIG",
            help="Named drive, or TOML file of one, to try it on (`ssdlab list drives`).",
        ),
    ] = None,
    sets: Sets = None,
    unit: Unit = None,
    page_size: PageSize = None,
    sort: Sort = False,
    budget: Annotated[
        str,
        typer.Option(
            "--budget",
            metavar="TIME",
            help="Begin no seed that would end after this time, such as 5min.",
        ),
    ] = "30s",
    seeds: Seeds = None,
    jobs: Jobs = None,
    on: On = None,
    out: Out = None,
    force: Force = False,
    json_: Json = None,
    quiet: Quiet = False,
    no_html: NoHtml = False,
    store: StoreOption = None,
    no_open: Annotated[
        bool, typer.Option("--no-open", help="Do not open the page in a browser.")
    ] = False,
) -> None:
    """Compare the usual policies on a trace, on a drive of its size, and open the page."""
    budget_s = nanoseconds("--budget", budget) / 1e9
    values = read_as(sets, unit, page_size, sort)
    tried = trial.DRIVE if drive is None else drive
    if drive is not None and Path(drive).suffix != ".toml":
        tried = drive_preset(drive, f"--drive {drive}")
    made = trial.prepared(trace, drive=tried, set=values, seeds=seeds, progress=not quiet)
    if not quiet:
        for name, what in made.lines:
            say("\n".join(wrapped(f"{name:<7}", what)))
        for policy, why in made.left_out.items():
            say("\n".join(wrapped(f"without {policy}: ", why)))
    target = out or Path("runs") / f"try-{made.planned[0].config.name}"
    with maker_of(on, jobs, store, not quiet, len(made.planned)) as runner:
        done = trial.tried(
            made, runner, seeds, budget_s, target, force, progress=not quiet, html=not no_html
        )
    end_comparison(done, target, not_stored(runner), json_, quiet)
    if not (no_html or no_open or quiet or json_ is not None) and done.folder is not None:
        _open(done.folder / "report.html")


def _open(page: Path) -> None:
    """Open the page, where somebody sits at a terminal and there is a browser with a window."""
    if not (sys.stdout.isatty() and sys.stderr.isatty()):
        return
    with suppress(webbrowser.Error, OSError):
        # A browser in the terminal would hide the answer.
        browser = webbrowser.get()
        if not isinstance(browser, webbrowser.GenericBrowser) or browser.basename == "open":
            browser.open(page.absolute().as_uri())
