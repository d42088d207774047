"""`ssdlab try`: from a trace to an answer."""

from __future__ import annotations

import sys
import webbrowser
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from ssdlab.cli.arguments import nanoseconds, with_pace, with_seed
from ssdlab.cli.ending import end_comparison
from ssdlab.cli.options import (
    Drive,
    Pace,
    ReadOptions,
    RunOptions,
    Seeds,
    group_options,
    resolve_drive,
)
from ssdlab.cli.terminal import warn
from ssdlab.config.resolve import DEFAULT_DRIVE
from ssdlab.display.argument import register_option
from ssdlab.results.names import PAGE
from ssdlab.running import trial, trial_plan
from ssdlab.running.caching import not_stored

app = typer.Typer()


@app.command("try")
@group_options
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
    read_options: ReadOptions,
    run_options: RunOptions,
) -> None:
    """Predict what a trace does to a drive: write amplification, latency, the best policy."""
    register_option("trace", "TRACE")
    budget_s = nanoseconds("--budget", budget) / 1e9
    values = with_seed(with_pace(read_options.values(), pace), run_options.seed)
    drive_preset = resolve_drive(drive, DEFAULT_DRIVE)
    plan = trial_plan.plan_trial(
        trace, drive=drive_preset, set=values, progress=not run_options.quiet
    )
    warn(plan.totals.warnings)
    options = run_options.execution(f"try-{plan.drive.name}")
    with options.runner(len(plan.policies)) as runner:
        result = trial.run_trial(plan, runner, options, seeds, budget_s)
    text = result.summary if details else lambda: "\n".join(result.screen()) + "\n"
    end_comparison(result, options, not_stored(runner), run_options.json_, text)
    if (
        options.html
        and options.progress
        and run_options.json_ is None
        and not no_open
        and result.folder
    ):
        _open(result.folder / PAGE)


def _open(page: Path) -> None:
    """Open the page, where somebody sits at a terminal and there is a browser with a window."""
    if not (sys.stdout.isatty() and sys.stderr.isatty()):
        return
    with suppress(webbrowser.Error, OSError):
        # A browser in the terminal would hide the answer.
        browser = webbrowser.get()
        if not isinstance(browser, webbrowser.GenericBrowser) or browser.basename == "open":
            browser.open(page.absolute().as_uri())
