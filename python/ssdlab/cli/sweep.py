"""`ssdlab sweep`."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from ssdlab.cli.arguments import vary_values
from ssdlab.cli.ending import end, few_reasons
from ssdlab.cli.options import (
    A_CONFIG,
    ReadOptions,
    RunOptions,
    Seeds,
    Spend,
    Traces,
    group_options,
    resolve_drive,
)
from ssdlab.cli.terminal import put_result, say
from ssdlab.errors import ConfigError
from ssdlab.results.names import SWEEP_CSV
from ssdlab.running.caching import not_stored
from ssdlab.running.design import design_sweep
from ssdlab.running.simulate import Plugs
from ssdlab.running.sweep_runs import Budget, run_sweep

app = typer.Typer()

EPILOG = """Values of --vary: A,B,C (a list), LO:HI:STEP, LO:HI:xFACTOR, lin:LO:HI:COUNT or
log:LO:HI:COUNT, with --draw also LO:HI and log:LO:HI. Numbers may have units: 25us:100us:25us."""


Drive = Annotated[
    str | None,
    typer.Option(
        "--drive",
        metavar="NAME|FILE",
        help="A named drive, or the TOML file of a drive, in place of CONFIG.",
    ),
]


@app.command("sweep", epilog=EPILOG)
@group_options
def sweep_command(
    config: Annotated[str | None, A_CONFIG] = None,
    vary: Annotated[
        list[str] | None,
        typer.Option(
            "--vary", metavar="KEY=VALUES", help="A key and its values (see below); repeatable."
        ),
    ] = None,
    drive: Drive = None,
    traces: Traces = None,
    draw: Annotated[
        Literal["random", "latin-hypercube"] | None,
        typer.Option("--draw", help="Draw points instead of running all combinations."),
    ] = None,
    points: Annotated[
        int | None, typer.Option("--points", metavar="N", help="Number of points to draw.")
    ] = None,
    budget: Spend = None,
    seeds: Seeds = None,
    *,
    read_options: ReadOptions,
    run_options: RunOptions,
) -> None:
    """Simulate one configuration at many points: all combinations of values of its keys.

    The same command with the same --out resumes where it stopped.
    """
    source = _source(config, drive)
    limit = Budget.of(budget)
    design = design_sweep(
        source,
        vary_values(vary),
        draw=draw,
        points=points,
        traces=traces or [],
        sets=read_options.values(),
        seed=run_options.seed,
        seeds=seeds,
        plugs=Plugs(),
    )
    options = run_options.execution(f"{design.first.name}-sweep")
    with options.runner(design.runs) as runner:
        sweep = run_sweep(design, runner, options, limit)
    put_result(run_options.json_, run_options.quiet, sweep.to_json, sweep.summary)
    assert sweep.folder is not None
    if sweep.not_run and not sweep.interrupted and not run_options.quiet:
        say(f"budget spent: {sweep.not_run:,} runs are left; the same command resumes")
    failures = few_reasons(sweep.failed(), SWEEP_CSV) | not_stored(runner)
    end(sweep.folder, failures, sweep.interrupted, run_options.quiet)


def _source(config: str | None, drive: str | None) -> str:
    """The configuration that is swept."""
    if drive is None:
        if config is None:
            raise ConfigError(["nothing to sweep: give a CONFIG, a PRESET, or --drive NAME"])
        return config
    if config is not None:
        raise ConfigError([f"--drive {drive}: takes the place of {config}; give one of them"])
    return resolve_drive(drive, "")
