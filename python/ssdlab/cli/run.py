"""`ssdlab run` and `ssdlab compare`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Annotated

import typer

import ssdlab
from ssdlab.cli.arguments import vary_values
from ssdlab.cli.ending import INTERRUPTED, KEPT, end_comparison, results_line
from ssdlab.cli.options import (
    ConfigArgument,
    ReadOptions,
    RunOptions,
    Seeds,
    Trace,
    Traces,
    group_options,
    presets,
)
from ssdlab.cli.terminal import put_result, say
from ssdlab.errors import Interrupted, OutputError, RunError
from ssdlab.results.report import Report
from ssdlab.running.caching import not_stored
from ssdlab.running.compare_runs import plan, run_all
from ssdlab.running.execution import VARIABLE
from ssdlab.running.runner import PlannedRun

app = typer.Typer()


@app.command("run")
@group_options
def run_command(
    config: ConfigArgument,
    trace: Trace = None,
    seeds: Seeds = None,
    *,
    read_options: ReadOptions,
    run_options: RunOptions,
) -> None:
    """Simulate one run."""
    values = read_options.values()
    if seeds is not None:
        traces = [] if trace is None else [trace]
        planned = plan([config], traces=traces, set=values, seed=run_options.seed, seeds=seeds)
        _run_comparison(planned, run_options, planned[0].config.name)
        return
    if run_options.jobs is not None or run_options.on is not None:
        option = "--jobs" if run_options.jobs is not None else "--on"
        message = f"a single run uses one core here; {option} needs --seeds"
        raise typer.BadParameter(message, param_hint=option)
    if run_options.store is not None and str(run_options.store) != os.environ.get(VARIABLE):
        message = "a single run is always made; --store needs --seeds"
        raise typer.BadParameter(message, param_hint="--store")
    resolved = ssdlab.load_config(config, trace=trace, set=values, seed=run_options.seed)
    options = run_options.execution(resolved.name)

    def put_report(report: Report | None) -> None:
        if report is not None:
            put_result(run_options.json_, run_options.quiet, report.to_json, report.summary)
        if report is not None and report.folder and options.folder and options.progress:
            say(results_line(report.folder, options.folder))

    try:
        report = ssdlab.run(
            resolved,
            out=options.out,
            force=options.force,
            progress=options.progress,
            html=options.html,
        )
        put_report(report)
    except (RunError, OutputError) as error:
        put_report(error.report)
        raise
    except Interrupted as interruption:
        put_report(interruption.report)
        say(KEPT if interruption.report else "interrupted")
        raise typer.Exit(INTERRUPTED) from None


@app.command("compare")
@group_options
def compare_command(
    configs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="CONFIG|PRESET...", help="TOML files or presets.", autocompletion=presets
        ),
    ] = None,
    traces: Traces = None,
    vary: Annotated[
        list[str] | None,
        typer.Option(
            "--vary",
            metavar="KEY=A,B,...",
            help="Run every configuration with each of these values, or LO:HI:STEP; repeatable.",
        ),
    ] = None,
    seeds: Seeds = None,
    *,
    read_options: ReadOptions,
    run_options: RunOptions,
) -> None:
    """Simulate the same work under several configurations, side by side."""
    planned = plan(
        configs or [],
        traces=traces or [],
        set=read_options.values(),
        vary=vary_values(vary),
        seed=run_options.seed,
        seeds=seeds,
    )
    _run_comparison(planned, run_options, f"{planned[0].config.name}-compared")


def _run_comparison(planned: Sequence[PlannedRun], run_options: RunOptions, name: str) -> None:
    """Run everything and print the results; exit with an error if they are incomplete."""
    options = run_options.execution(name)
    with options.runner(len(planned)) as runner:
        comparison = run_all(planned, runner, options)
    end_comparison(comparison, options, not_stored(runner), run_options.json_)
