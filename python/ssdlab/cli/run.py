"""`ssdlab run` and `ssdlab compare`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Annotated

import typer

import ssdlab
from ssdlab.cli.arguments import vary_values
from ssdlab.cli.ending import INTERRUPTED, KEPT, end_comparison, results_in
from ssdlab.cli.options import (
    ConfigArgument,
    ReadOptions,
    RunOptions,
    Seeds,
    Trace,
    Traces,
    grouped,
    presets,
)
from ssdlab.cli.terminal import put_result, say
from ssdlab.errors import Interrupted, OutputError, RunError
from ssdlab.results.report import Report
from ssdlab.running.compare_runs import plan, run_all
from ssdlab.running.kept import not_stored
from ssdlab.running.making import VARIABLE
from ssdlab.running.runner import Planned

app = typer.Typer()


@app.command("run")
@grouped
def run_command(
    config: ConfigArgument,
    trace: Trace = None,
    seeds: Seeds = None,
    *,
    reading: ReadOptions,
    runs: RunOptions,
) -> None:
    """Simulate one run."""
    values = reading.values()
    if seeds is not None:
        traces = [] if trace is None else [trace]
        planned = plan([config], traces=traces, set=values, seed=runs.seed, seeds=seeds)
        _compared(planned, runs, planned[0].config.name)
        return
    if runs.jobs is not None or runs.on is not None:
        option = "--jobs" if runs.jobs is not None else "--on"
        message = f"a single run uses one core here; {option} needs --seeds"
        raise typer.BadParameter(message, param_hint=option)
    if runs.store is not None and str(runs.store) != os.environ.get(VARIABLE):
        message = "a single run is always made; --store needs --seeds"
        raise typer.BadParameter(message, param_hint="--store")
    loaded = ssdlab.load_config(config, trace=trace, set=values, seed=runs.seed)
    how = runs.making(loaded.name)

    def shown(report: Report | None) -> None:
        if report is not None:
            put_result(runs.json_, runs.quiet, report.to_json, report.summary)
        if report is not None and report.folder and how.folder and how.progress:
            say(results_in(report.folder, how.folder))

    try:
        done = ssdlab.run(
            loaded, out=how.out, force=how.force, progress=how.progress, html=how.html
        )
        shown(done)
    except (RunError, OutputError) as error:
        shown(error.report)
        raise
    except Interrupted as stopped:
        shown(stopped.report)
        say(KEPT if stopped.report else "interrupted")
        raise typer.Exit(INTERRUPTED) from None


@app.command("compare")
@grouped
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
    reading: ReadOptions,
    runs: RunOptions,
) -> None:
    """Simulate the same work under several configurations, side by side."""
    planned = plan(
        configs or [],
        traces=traces or [],
        set=reading.values(),
        vary=vary_values(vary),
        seed=runs.seed,
        seeds=seeds,
    )
    _compared(planned, runs, f"{planned[0].config.name}-compared")


def _compared(planned: Sequence[Planned], runs: RunOptions, name: str) -> None:
    """Run everything and print the results; exit with an error if they are incomplete."""
    how = runs.making(name)
    with how.runner(len(planned)) as runner:
        done = run_all(planned, runner, how)
    end_comparison(done, how, not_stored(runner), runs.json_)
