"""`ssdlab search`."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from ssdlab.cli.arguments import space_values
from ssdlab.cli.ending import BAD_INPUT, end
from ssdlab.cli.options import ConfigArgument, ReadOptions, RunOptions, Spend, Traces, group_options
from ssdlab.cli.terminal import put_result, say
from ssdlab.running.caching import not_stored
from ssdlab.searching.plan import TEST_SEEDS, Goals, Requests, design_search
from ssdlab.searching.search import PARALLEL, SAMPLER, TRIALS, run_search, search_options

app = typer.Typer()

EPILOG = """Values of --space: those of --vary, and LO:HI or log:LO:HI, everything in between; "if
KEY=VALUE,..." behind them is a condition. KEY alone: all of its words, with their parameters; all:
those of every answer. References of --subject-to: baseline (CONFIG), a word of gc.victim, a preset.
"""


Space = Annotated[
    list[str] | None,
    typer.Option(
        "--space", metavar="KEY=VALUES|KEY|all", help="What is searched (see below); repeatable."
    ),
]
Minimize = Annotated[
    list[str] | None,
    typer.Option(
        "--minimize", metavar="METRIC", help="A number of the report, or a column; repeatable."
    ),
]
Maximize = Annotated[
    list[str] | None,
    typer.Option("--maximize", metavar="METRIC", help="A number that is to be high; repeatable."),
]
SubjectTo = Annotated[
    list[str] | None,
    typer.Option(
        "--subject-to",
        metavar="BOUND",
        help='A bound, such as "waf < 1.02 * greedy"; repeatable.',
    ),
]
TestTraces = Annotated[
    list[str] | None,
    typer.Option(
        "--test-trace", metavar="FILE", help="Trace that only tests the result; repeatable."
    ),
]
AcrossOption = Annotated[
    Literal["mean", "worst"],
    typer.Option("--across", help="Of several traces: the mean ratio to CONFIG, or the worst."),
]
SearchSeeds = Annotated[
    int, typer.Option("--seeds", metavar="N", help="Seeds that every point runs.")
]
TestSeeds = Annotated[
    int, typer.Option("--test-seeds", metavar="N", help="Other seeds, for the test.")
]
Rungs = Annotated[
    int, typer.Option("--rungs", metavar="N", help="Run parts first and give up early, N steps.")
]
SamplerName = Annotated[str, typer.Option("--sampler", metavar="NAME", help="Sampler of Optuna.")]
SamplerSeed = Annotated[
    int, typer.Option("--sampler-seed", metavar="N", help="Seed of the sampler.")
]
PrunerName = Annotated[
    str | None,
    typer.Option(
        "--pruner",
        metavar="NAME",
        help="Pruner of Optuna.  [default: successive-halving with --rungs]",
    ),
]
Trials = Annotated[
    int, typer.Option("--trials", metavar="N", help="Number of different points to try.")
]
Parallel = Annotated[
    int, typer.Option("--parallel", metavar="N", help="Points that are chosen at a time.")
]


@app.command("search", epilog=EPILOG)
@group_options
def search_command(
    config: ConfigArgument,
    space: Space = None,
    minimize: Minimize = None,
    maximize: Maximize = None,
    subject_to: SubjectTo = None,
    traces: Traces = None,
    test_traces: TestTraces = None,
    across: AcrossOption = "mean",
    seeds: SearchSeeds = 1,
    test_seeds: TestSeeds = TEST_SEEDS,
    sampler: SamplerName = SAMPLER,
    sampler_seed: SamplerSeed = 0,
    trials: Trials = TRIALS,
    parallel: Parallel = PARALLEL,
    budget: Spend = None,
    rungs: Rungs = 1,
    pruner: PrunerName = None,
    *,
    read_options: ReadOptions,
    run_options: RunOptions,
) -> None:
    """Search a space of configurations for the best one, and test that.

    The same command with the same --out resumes where it stopped.
    """
    goals = Goals(minimize or [], maximize or [], subject_to or [])
    requests = Requests(
        traces or [], test_traces or [], across, run_options.seed, seeds, test_seeds, rungs
    )
    design = design_search(config, space_values(space), goals, requests, read_options.values())
    strategy = search_options(design, sampler, pruner, trials, parallel, sampler_seed, budget)
    options = run_options.execution(f"{design.first.name}-search")
    with options.runner() as runner:
        search = run_search(design, strategy, runner, options)
    put_result(run_options.json_, run_options.quiet, search.to_json, search.summary)
    reason = next((trial.why for trial in search.trials if trial.why), "")
    title = search.nothing[0].lower() + search.nothing[1:-1]
    failures = {title: reason} if search.trials and not search.ranked else {}
    if search.misses and not search.interrupted:
        say(f"error: {search.misses}")
    assert search.folder is not None
    end(search.folder, failures | not_stored(runner), search.interrupted, run_options.quiet)
    if search.misses:
        raise typer.Exit(BAD_INPUT)
