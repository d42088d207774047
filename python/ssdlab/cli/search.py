"""`ssdlab search`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from ssdlab.cli.arguments import read_as, space_values
from ssdlab.cli.ending import BAD_INPUT, end
from ssdlab.cli.options import (
    ConfigArgument,
    Force,
    Jobs,
    Json,
    NoHtml,
    On,
    Out,
    PageSize,
    Quiet,
    Seed,
    Sets,
    Sort,
    StoreOption,
    Traces,
    Unit,
)
from ssdlab.cli.terminal import put_result, say
from ssdlab.running.kept import maker_of
from ssdlab.running.simulate import Plugs
from ssdlab.searching.search import (
    PARALLEL,
    SAMPLER,
    TEST_SEEDS,
    TRIALS,
    designed,
    run_search,
    sought,
)

app = typer.Typer()

EPILOG = """Values of --space: those of --vary, and LO:HI or log:LO:HI, everything in between; "if
KEY=VALUE,..." behind them is a condition. KEY alone: all of its words, with their parameters; all:
those of every answer. References of --subject-to: baseline (CONFIG), a word of gc.victim, a preset.
"""


@app.command("search", epilog=EPILOG)
def search_command(
    config: ConfigArgument,
    space: Annotated[
        list[str] | None,
        typer.Option(
            "--space",
            metavar="KEY=VALUES|KEY|all",
            help="What is searched (see below); repeatable.",
        ),
    ] = None,
    minimize: Annotated[
        list[str] | None,
        typer.Option(
            "--minimize", metavar="METRIC", help="A number of the report, or a column; repeatable."
        ),
    ] = None,
    maximize: Annotated[
        list[str] | None,
        typer.Option(
            "--maximize", metavar="METRIC", help="A number that is to be high; repeatable."
        ),
    ] = None,
    subject_to: Annotated[
        list[str] | None,
        typer.Option(
            "--subject-to",
            metavar="BOUND",
            help='A bound, such as "waf < 1.02 * greedy"; repeatable.',
        ),
    ] = None,
    traces: Traces = None,
    test_traces: Annotated[
        list[str] | None,
        typer.Option(
            "--test-trace", metavar="FILE", help="Trace that only tests the result; repeatable."
        ),
    ] = None,
    across: Annotated[
        Literal["mean", "worst"],
        typer.Option("--across", help="Of several traces: the mean ratio to CONFIG, or the worst."),
    ] = "mean",
    sampler: Annotated[
        str, typer.Option("--sampler", metavar="NAME", help="Sampler of Optuna.")
    ] = SAMPLER,
    pruner: Annotated[
        str | None,
        typer.Option(
            "--pruner",
            metavar="NAME",
            help="Pruner of Optuna.  [default: successive-halving with --rungs]",
        ),
    ] = None,
    rungs: Annotated[
        int,
        typer.Option("--rungs", metavar="N", help="Run parts first and give up early, N steps."),
    ] = 1,
    trials: Annotated[
        int, typer.Option("--trials", metavar="N", help="Number of different points to try.")
    ] = TRIALS,
    parallel: Annotated[
        int, typer.Option("--parallel", metavar="N", help="Points that are chosen at a time.")
    ] = PARALLEL,
    sampler_seed: Annotated[
        int, typer.Option("--sampler-seed", metavar="N", help="Seed of the sampler.")
    ] = 0,
    budget: Annotated[
        str | None,
        typer.Option(
            "--budget", metavar="TIME|RUNS", help="Stop after a time (2h) or so many runs (500)."
        ),
    ] = None,
    seeds: Annotated[
        int, typer.Option("--seeds", metavar="N", help="Seeds that every point runs.")
    ] = 1,
    test_seeds: Annotated[
        int, typer.Option("--test-seeds", metavar="N", help="Other seeds, for the test.")
    ] = TEST_SEEDS,
    sets: Sets = None,
    unit: Unit = None,
    page_size: PageSize = None,
    sort: Sort = False,
    jobs: Jobs = None,
    on: On = None,
    store: StoreOption = None,
    out: Out = None,
    force: Force = False,
    json_: Json = None,
    quiet: Quiet = False,
    seed: Seed = None,
    no_html: NoHtml = False,
) -> None:
    """Search a space of configurations for the best one, and test that.

    The same command with the same --out resumes where it stopped.
    """
    design = designed(
        config,
        space_values(space),
        minimize=minimize or [],
        maximize=maximize or [],
        subject_to=subject_to or [],
        traces=traces or [],
        test_traces=test_traces or [],
        across=across,
        sets=read_as(sets, unit, page_size, sort),
        seed=seed,
        seeds=seeds,
        test_seeds=test_seeds,
        rungs=rungs,
        plugs=Plugs(),
    )
    how = sought(design, sampler, pruner, trials, parallel, sampler_seed, budget)
    target = out or Path("runs") / f"{design.first.name}-search"
    with maker_of(on, jobs, store, not quiet) as runner:
        done = run_search(
            design,
            how,
            runner,
            out=target,
            force=force,
            progress=not quiet,
            html=not no_html,
        )
    put_result(json_, quiet, done.to_json, done.summary)
    none = done.trials and not any(one.state == "completed" for one in done.trials)
    why = next(iter(done.reasons), "")
    end(target, {"no point completed": why} if none else {}, done.interrupted, quiet)
    if done.misses:
        say(f"error: {done.misses}")
        raise typer.Exit(BAD_INPUT)
