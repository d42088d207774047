"""`ssdlab plan`: the least over-provisioning that meets bounds."""

from __future__ import annotations

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
from ssdlab.display.argument import came_as
from ssdlab.running import spare_plan, trial
from ssdlab.running.kept import maker_of, not_stored

app = typer.Typer()

Capacity = Annotated[
    str | None,
    typer.Option(
        "--capacity",
        metavar="SIZE",
        help="User capacity, such as 1.92TB.  [default: that of the drive]",
    ),
]


@app.command("plan")
def plan_command(
    trace: Annotated[str, typer.Argument(metavar="TRACE", help="Trace file, in any format.")],
    drive: Drive = None,
    capacity: Capacity = None,
    p99_9: Annotated[
        str | None,
        typer.Option(
            "--p99.9",
            metavar="TIME",
            help="Longest 99.9th percentile of reads and of writes, with updates as recorded.",
        ),
    ] = None,
    years: Annotated[
        float | None,
        typer.Option("--years", metavar="N", help="Years that the flash must last."),
    ] = None,
    waf: Annotated[
        float | None,
        typer.Option("--waf", metavar="N", help="Largest write amplification."),
    ] = None,
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
            help="Begin no further seed of a step after this time; two are always run.",
        ),
    ] = "10s",
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
        bool, typer.Option("--details", help="Print all that was tried, too.")
    ] = False,
) -> None:
    """Find the least over-provisioning and the policy that meet bounds under a trace."""
    came_as("p99_9", "--p99.9")
    budget_s = nanoseconds("--budget", budget) / 1e9
    bounds = spare_plan.bounds_of(p99_9, years, waf)
    values = read_as(sets, format_, columns, unit, time_unit, page_size, sort)
    asked = spare_plan.ask(
        trace,
        bounds,
        drive=drive_named(drive, trial.DRIVE),
        capacity=capacity,
        set=seeded(paced(values, pace), seed),
        progress=not quiet,
    )
    target = out or Path("runs") / f"plan-{asked.trial.drive.name}"
    with maker_of(on, jobs, store, not quiet, len(asked.trial.policies)) as runner:
        done = spare_plan.run_plan(
            asked, runner, seeds, budget_s, target, force, progress=not quiet, html=not no_html
        )
    text = done.summary if details else lambda: "\n".join(done.screen()) + "\n"
    end_comparison(done, target, not_stored(runner), json_, quiet, text)
