"""`ssdlab run` and `ssdlab compare`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

import ssdlab
from ssdlab.cli.arguments import read_as, vary_values
from ssdlab.cli.ending import INTERRUPTED, KEPT, end_comparison, results_in
from ssdlab.cli.options import (
    Columns,
    ConfigArgument,
    Force,
    Format,
    Jobs,
    Json,
    NoHtml,
    On,
    Out,
    PageSize,
    Quiet,
    Seed,
    Seeds,
    Sets,
    Sort,
    StoreOption,
    TimeUnit,
    Trace,
    Traces,
    Unit,
    presets,
)
from ssdlab.cli.terminal import Form, put_result, say
from ssdlab.errors import Interrupted, OutputError, RunError
from ssdlab.results.report import Report
from ssdlab.running.compare_runs import plan, run_all
from ssdlab.running.kept import VARIABLE, Making, not_stored
from ssdlab.running.runner import Planned

app = typer.Typer()


@app.command("run")
def run_command(
    config: ConfigArgument,
    trace: Trace = None,
    sets: Sets = None,
    format_: Format = None,
    columns: Columns = None,
    unit: Unit = None,
    time_unit: TimeUnit = None,
    page_size: PageSize = None,
    sort: Sort = False,
    out: Out = None,
    force: Force = False,
    json_: Json = None,
    quiet: Quiet = False,
    seed: Seed = None,
    seeds: Seeds = None,
    jobs: Jobs = None,
    on: On = None,
    no_html: NoHtml = False,
    store: StoreOption = None,
) -> None:
    """Simulate one run."""
    values = read_as(sets, format_, columns, unit, time_unit, page_size, sort)
    if seeds is not None:
        traces = [] if trace is None else [trace]
        planned = plan([config], traces=traces, set=values, seed=seed, seeds=seeds)
        target = out or Path("runs") / planned[0].config.name
        _compared(planned, Making(on, jobs, store, target, force, not quiet, not no_html), json_)
        return
    if jobs is not None or on is not None:
        option = "--jobs" if jobs is not None else "--on"
        message = f"a single run uses one core here; {option} needs --seeds"
        raise typer.BadParameter(message, param_hint=option)
    if store is not None and str(store) != os.environ.get(VARIABLE):
        message = "a single run is always made; --store needs --seeds"
        raise typer.BadParameter(message, param_hint="--store")
    loaded = ssdlab.load_config(config, trace=trace, set=values, seed=seed)
    target = out or Path("runs") / loaded.name

    def shown(report: Report | None) -> None:
        if report is not None:
            put_result(json_, quiet, report.to_json, report.summary)
        if report is not None and report.folder is not None and not quiet:
            say(results_in(report.folder, target))

    try:
        shown(ssdlab.run(loaded, out=target, force=force, progress=not quiet, html=not no_html))
    except (RunError, OutputError) as error:
        shown(error.report)
        raise
    except Interrupted as stopped:
        shown(stopped.report)
        say(KEPT if stopped.report else "interrupted")
        raise typer.Exit(INTERRUPTED) from None


@app.command("compare")
def compare_command(
    configs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="CONFIG|PRESET...", help="TOML files or presets.", autocompletion=presets
        ),
    ] = None,
    traces: Traces = None,
    sets: Sets = None,
    format_: Format = None,
    columns: Columns = None,
    unit: Unit = None,
    time_unit: TimeUnit = None,
    page_size: PageSize = None,
    sort: Sort = False,
    vary: Annotated[
        list[str] | None,
        typer.Option(
            "--vary",
            metavar="KEY=A,B,...",
            help="Run every configuration with each of these values, or LO:HI:STEP; repeatable.",
        ),
    ] = None,
    jobs: Jobs = None,
    on: On = None,
    out: Out = None,
    force: Force = False,
    json_: Json = None,
    quiet: Quiet = False,
    seed: Seed = None,
    seeds: Seeds = None,
    no_html: NoHtml = False,
    store: StoreOption = None,
) -> None:
    """Simulate the same work under several configurations, side by side."""
    values = read_as(sets, format_, columns, unit, time_unit, page_size, sort)
    planned = plan(
        configs or [],
        traces=traces or [],
        set=values,
        vary=vary_values(vary),
        seed=seed,
        seeds=seeds,
    )
    target = out or Path("runs") / f"{planned[0].config.name}-compared"
    _compared(planned, Making(on, jobs, store, target, force, not quiet, not no_html), json_)


def _compared(planned: Sequence[Planned], how: Making, json_: Form) -> None:
    """Run everything and print the results; exit with an error if they are incomplete."""
    with how.runner(len(planned)) as runner:
        done = run_all(planned, runner, how)
    assert how.folder is not None
    end_comparison(done, how.folder, not_stored(runner), json_, not how.progress)
