"""`ssdlab try`: from a trace to an answer."""

from __future__ import annotations

import sys
import webbrowser
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from ssdlab.cli.arguments import nanoseconds, paced, read_as, seeded
from ssdlab.cli.ending import end_comparison
from ssdlab.cli.options import (
    Columns,
    Drive,
    Force,
    Format,
    Jobs,
    Json,
    NoHtml,
    On,
    Out,
    Pace,
    PageSize,
    Quiet,
    Seed,
    Seeds,
    Sets,
    Sort,
    StoreOption,
    TimeUnit,
    Unit,
    drive_named,
)
from ssdlab.running import trial
from ssdlab.running.kept import maker_of, not_stored

app = typer.Typer()


@app.command("try")
def try_command(
    trace: Annotated[str, typer.Argument(metavar="TRACE", help="Trace file, in any format.")],
    drive: Drive = None,
    sets: Sets = None,
    pace: Pace = "recorded",
    format_: Format = None,
    columns: Columns = None,
    unit: Unit = None,
    time_unit: TimeUnit = None,
    page_size: PageSize = None,
    sort: Sort = False,
    budget: Annotated[
        str,
        typer.Option(
            "--budget",
            metavar="TIME",
            help="Begin no further seed after this time, such as 5min; two are always run.",
        ),
    ] = "30s",
    seed: Seed = None,
    seeds: Seeds = None,
    jobs: Jobs = None,
    on: On = None,
    out: Out = None,
    force: Force = False,
    json_: Json = None,
    quiet: Quiet = False,
    no_html: NoHtml = False,
    store: StoreOption = None,
    details: Annotated[
        bool, typer.Option("--details", help="Print all policies and how they were found, too.")
    ] = False,
    no_open: Annotated[
        bool, typer.Option("--no-open", help="Do not open the page in a browser.")
    ] = False,
) -> None:
    """Predict what a trace does to a drive: write amplification, latency, the best policy."""
    budget_s = nanoseconds("--budget", budget) / 1e9
    values = read_as(sets, format_, columns, unit, time_unit, page_size, sort)
    values = seeded(paced(values, pace), seed)
    named = drive_named(drive, trial.DRIVE)
    plan = trial.plan_trial(trace, drive=named, set=values, progress=not quiet)
    target = out or Path("runs") / f"try-{plan.drive.name}"
    with maker_of(on, jobs, store, not quiet, len(plan.policies)) as runner:
        done = trial.run_trial(
            plan, runner, seeds, budget_s, target, force, progress=not quiet, html=not no_html
        )
    text = done.summary if details else lambda: "\n".join(done.screen()) + "\n"
    end_comparison(done, target, not_stored(runner), json_, quiet, text)
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
