"""Sweeps: many points, each with a row of numbers instead of a folder: `ssdlab.sweep`."""

from __future__ import annotations

import itertools
import math
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from ssdlab import policy
from ssdlab.config.given import typed
from ssdlab.config.resolve import ConfigLike
from ssdlab.display.argument import argument
from ssdlab.display.progress import warn_before_run
from ssdlab.errors import ClusterError, ConfigError, Interrupted, OutputError
from ssdlab.results import frames, outputs
from ssdlab.results.names import PAGE, SUMMARY, SWEEP_CSV, SWEEP_JSON, SWEEP_PARQUET
from ssdlab.results.sweep import Sweep, ordered, point_label
from ssdlab.running.design import MOST_RUNS, Design, check, design_sweep, notes
from ssdlab.running.execution import Execution
from ssdlab.running.live import live
from ssdlab.running.outcomes import FORM, Key, Outcomes
from ssdlab.running.runner import PlannedRun, Runner
from ssdlab.running.simulate import Plugs
from ssdlab.store.store import Store


@dataclass(frozen=True)
class Budget:
    """How much of a sweep runs before it stops."""

    runs: int | None = None
    seconds: float | None = None

    @staticmethod
    def of(value: str | int | None) -> Budget | None:
        """From `90 min`, `2h` or a number of runs. Raises `ConfigError`."""
        if value is None:
            return None
        units = {"s": 1, "min": 60, "h": 3600, "d": 86400}
        match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(s|min|h|d|runs)?\s*", str(value))
        number = float(match[1]) if match else 0.0
        if match is None or number <= 0:
            form = "a time, such as 90min or 2h, or a number of runs, such as 500"
            raise ConfigError([f"{argument(budget=value)}: expected {form}"])
        if match[2] in units:
            return Budget(seconds=number * units[match[2]])
        if number != int(number):
            raise ConfigError([f"{argument(budget=value)}: a number of runs is a whole one"])
        return Budget(runs=int(number))


@typed
def sweep(
    config: ConfigLike,
    *,
    vary: Mapping[str, Iterable[object]],
    draw: str | None = None,
    points: int | None = None,
    traces: Sequence[str | Path] = (),
    set: Mapping[str, object] | None = None,
    seed: int | None = None,
    seeds: int | None = None,
    budget: str | int | None = None,
    jobs: int | None = None,
    on: str | None = None,
    out: str | Path | None = None,
    force: bool = False,
    progress: bool = True,
    html: bool = True,
    store: str | Path | Store | None = None,
    victim: policy.VictimLike | None = None,
    trigger: policy.Wants | None = None,
    concurrency: policy.Limits | None = None,
    placement: policy.Places | None = None,
    separation: policy.Separates | None = None,
) -> Sweep:
    """Run a configuration with many values of its keys; a row of numbers for each run.

    `vary` maps keys to lists of values (policies in Python among them) or to ranges:
    "0.05:0.30:0.05" (with a step), "1:64:x2", "lin:0:1:5", "log:1:1000:7" (values). All
    combinations run, with every trace, unless `draw` ("random" or "latin-hypercube") draws so many
    `points`: then "0.05:0.30" is everything in between, and "log:1:1000" the same by its logarithm.
    `seeds` repeats every point with that many seeds.

    `out` is the folder of the sweep. The same sweep into the same folder resumes where it stopped;
    another one is refused unless `force` replaces it. `budget` stops early, after a time ("2h") or
    so many runs; the points then come in an order that covers the space. More than 100,000 runs
    need one.

    What is wrong with keys and values is found before the first run. A run that cannot finish is
    listed in `failures`; the others continue. Ctrl-C raises `Interrupted` with the `sweep` of the
    completed runs. `set`, `seed`, `jobs`, `on`, `progress`, `html`, `store` and the policies are
    those of `ssdlab.compare`. Raises `ConfigError`, `WorkloadError`, `OutputError` and
    `ClusterError`.
    """
    plugs = Plugs(victim, trigger, concurrency, placement, separation)
    design = design_sweep(
        config,
        vary,
        draw=draw,
        points=points,
        traces=traces,
        sets=set or {},
        seed=seed,
        seeds=seeds,
        plugs=plugs,
    )
    limit, execution = Budget.of(budget), Execution(on, jobs, store, out, force, progress, html)
    with execution.runner(design.runs) as runner:
        result = run_sweep(design, runner, execution, limit)
    if result.interrupted:
        raise Interrupted(None, result.folder, sweep=result)
    return result


def run_sweep(
    design: Design, runner: Runner, execution: Execution, budget: Budget | None = None
) -> Sweep:
    """Execute the missing runs of a sweep, and write its tables and its page into its folder."""
    if design.runs > MOST_RUNS and budget is None:
        message = (
            f"{argument('vary')}: {design.runs:,} runs are many: give a budget"
            f" ({argument(budget='2h')}, or {argument(budget=5000)} runs), or draw points"
            f" ({argument(draw='latin-hypercube', points=1000)})"
        )
        raise ConfigError([message])
    check(design, runner.local_jobs)
    shown = design.shown()
    identity = design.identity(shown)
    config, out = design.first, execution.folder
    reads = (config.file,) if config.file else ()
    with Outcomes(out, identity, FORM, force=execution.force, reads=reads) as table:
        if execution.progress:
            warn_before_run(notes(design))
        remaining = design.runs - len(table.rows)
        remaining = (
            remaining if budget is None or budget.runs is None else min(remaining, budget.runs)
        )
        base = Sweep(config.name, shown, (), design.runs, design.log, identity, folder=out)

        shares_start = design.shares_start

        def plan(point: int, seed: int | None) -> PlannedRun:
            config, policies = design.load(point, seed)
            label = point_label(shown[point])
            packed = policies.pack()
            return PlannedRun(
                label, config, packed, seed, key=(point, seed), shares_start=shares_start
            )

        def snapshot(*, running: bool = False, cut: bool = False) -> Sweep:
            outcomes = ordered(table.ended())
            interrupted = cut and len(outcomes) < design.runs
            result = replace(base, outcomes=outcomes, running=running, interrupted=interrupted)
            if out is not None and not (result.running and not result.outcomes):
                _write(result, out, execution.html)
            return result

        is_live = out is not None and remaining > 0
        try:
            with live(lambda: snapshot(running=True)) if is_live else nullcontext():
                table.make(
                    _missing(design, table, budget),
                    plan,
                    runner,
                    name=config.name,
                    remaining=remaining,
                    progress=execution.progress,
                    ahead=budget is None or budget.seconds is None,
                )
        except ClusterError:
            snapshot(cut=True)
            raise
        return snapshot(cut=table.interrupted)


def _missing(design: Design, table: Outcomes, budget: Budget | None) -> Iterator[Key]:
    """The points and seeds without an outcome, while the budget lasts."""
    points: Sequence[int] = range(len(design.space))
    if budget is not None:
        points = design.space.scattered_order(design.seed or 0)
    runs, seconds = (budget.runs, budget.seconds) if budget else (None, None)
    deadline = math.inf if seconds is None else time.monotonic() + seconds
    keys = ((point, seed) for point in points for seed in design.seeds)
    missing = (key for key in keys if key not in table.rows)
    for key in itertools.islice(missing, runs):
        if time.monotonic() >= deadline:
            return
        yield key


def _write(result: Sweep, folder: Path, html: bool) -> None:
    """Write the tables, the summary and the page. Raises `OutputError`."""
    files = {SWEEP_CSV: outputs.text(result.to_csv()), SUMMARY: outputs.text(result.summary())}
    if result.rows and frames.has_parquet():
        files[SWEEP_PARQUET] = partial(frames.write_parquet, result.rows, texts=Sweep.TEXTS)
    if html:
        from ssdlab.html.sweep_page import sweep_page  # needs numpy, which is slow to import

        files[PAGE] = outputs.text(sweep_page(result))
    files[SWEEP_JSON] = outputs.text(result.head_json())
    try:
        outputs.write_all({folder / name: write for name, write in files.items()}, force=True)
    except OutputError as error:
        raise OutputError(f"{error}; what is done is kept") from error
