"""`ssdlab try`: from a trace to an answer."""

from __future__ import annotations

import sys
import webbrowser
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from ssdlab.cli.arguments import nanoseconds, paced, seeded
from ssdlab.cli.ending import end_comparison
from ssdlab.cli.options import Drive, Pace, ReadOptions, RunOptions, Seeds, drive_named, grouped
from ssdlab.cli.terminal import warn
from ssdlab.config.resolve import DEFAULT_DRIVE
from ssdlab.display.argument import came_as
from ssdlab.results.names import PAGE
from ssdlab.running import trial, trial_plan
from ssdlab.running.kept import not_stored

app = typer.Typer()


@app.command("try")
@grouped
def try_command(
    trace: Annotated[str, typer.Argument(metavar="TRACE", help="Trace file, in any format.")],
    drive: Drive = None,
    pace: Pace = "recorded",
    budget: Annotated[
        str,
        typer.Option(
            "--budget",
            metavar="TIME",
            help="Begin no further seed after this time, such as 5min; two are always run.",
        ),
    ] = "30s",
    seeds: Seeds = None,
    details: Annotated[
        bool, typer.Option("--details", help="Print all policies and how they were found, too.")
    ] = False,
    no_open: Annotated[
        bool, typer.Option("--no-open", help="Do not open the page in a browser.")
    ] = False,
    *,
    reading: ReadOptions,
    runs: RunOptions,
) -> None:
    """Predict what a trace does to a drive: write amplification, latency, the best policy."""
    came_as("trace", "TRACE")
    budget_s = nanoseconds("--budget", budget) / 1e9
    values = seeded(paced(reading.values(), pace), runs.seed)
    named = drive_named(drive, DEFAULT_DRIVE)
    plan = trial_plan.plan_trial(trace, drive=named, set=values, progress=not runs.quiet)
    warn(plan.totals.warnings)
    how = runs.making(f"try-{plan.drive.name}")
    with how.runner(len(plan.policies)) as runner:
        done = trial.run_trial(plan, runner, how, seeds, budget_s)
    text = done.summary if details else lambda: "\n".join(done.screen()) + "\n"
    end_comparison(done, how, not_stored(runner), runs.json_, text)
    if how.html and how.progress and runs.json_ is None and not no_open and done.folder:
        _open(done.folder / PAGE)


def _open(page: Path) -> None:
    """Open the page, where somebody sits at a terminal and there is a browser with a window."""
    if not (sys.stdout.isatty() and sys.stderr.isatty()):
        return
    with suppress(webbrowser.Error, OSError):
        # A browser in the terminal would hide the answer.
        browser = webbrowser.get()
        if not isinstance(browser, webbrowser.GenericBrowser) or browser.basename == "open":
            browser.open(page.absolute().as_uri())
