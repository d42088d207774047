"""`ssdlab plan`: the least over-provisioning that meets bounds."""

from __future__ import annotations

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
from ssdlab.running import spare_plan
from ssdlab.running.caching import not_stored

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
@group_options
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
    pace: Pace = "recorded",
    budget: Annotated[
        str,
        typer.Option(
            "--budget",
            metavar="TIME",
            help="Begin no further seed of a step after this time; three are always run.",
        ),
    ] = "10s",
    seeds: Seeds = None,
    details: Annotated[
        bool, typer.Option("--details", help="Print all that was tried, too.")
    ] = False,
    *,
    read_options: ReadOptions,
    run_options: RunOptions,
) -> None:
    """Find the least over-provisioning and the policy that meet bounds under a trace."""
    register_option("trace", "TRACE")
    register_option("p99_9", "--p99.9")
    budget_s = nanoseconds("--budget", budget) / 1e9
    bounds = spare_plan.bounds_of(p99_9, years, waf)
    values = with_pace(read_options.values(), pace)
    request = spare_plan.ask(
        trace,
        bounds,
        drive=resolve_drive(drive, DEFAULT_DRIVE),
        capacity=capacity,
        set=with_seed(values, run_options.seed),
        progress=not run_options.quiet,
    )
    warn(request.trial.totals.warnings)
    options = run_options.execution(f"plan-{request.trial.drive.name}")
    with options.runner(len(request.trial.policies)) as runner:
        plan = spare_plan.run_plan(request, runner, options, seeds, budget_s)
    text = plan.summary if details else lambda: "\n".join(plan.screen()) + "\n"
    end_comparison(plan, options, not_stored(runner), run_options.json_, text)
