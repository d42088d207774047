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
from ssdlab.running.design import MOST_RUNS, Design, check, designed, notes
from ssdlab.running.live import live
from ssdlab.running.making import Making
from ssdlab.running.outcomes import FORM, Key, Outcomes
from ssdlab.running.runner import Planned, Runner
from ssdlab.running.simulate import Plugs
from ssdlab.store.store import Store


@dataclass(frozen=True)
class Budget:
    """How much of a sweep runs before it stops."""

    runs: int | None = None
    seconds: float | None = None

    @staticmethod
    def of(given: str | int | None) -> Budget | None:
        """From `90 min`, `2h` or a number of runs. Raises `ConfigError`."""
        if given is None:
            return None
        units = {"s": 1, "min": 60, "h": 3600, "d": 86400}
        found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(s|min|h|d|runs)?\s*", str(given))
        number = float(found[1]) if found else 0.0
        if found is None or number <= 0:
            form = "a time, such as 90min or 2h, or a number of runs, such as 500"
            raise ConfigError([f"{argument(budget=given)}: expected {form}"])
        if found[2] in units:
            return Budget(seconds=number * units[found[2]])
        if number != int(number):
            raise ConfigError([f"{argument(budget=given)}: a number of runs is a whole one"])
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
    design = designed(
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
    limit, how = Budget.of(budget), Making(on, jobs, store, out, force, progress, html)
    with how.runner(design.runs) as runner:
        done = run_sweep(design, runner, how, limit)
    if done.interrupted:
        raise Interrupted(None, done.folder, sweep=done)
    return done


def run_sweep(design: Design, runner: Runner, how: Making, budget: Budget | None = None) -> Sweep:
    """Execute the missing runs of a sweep, and write its tables and its page into its folder."""
    if design.runs > MOST_RUNS and budget is None:
        message = (
            f"{argument('vary')}: {design.runs:,} runs are many: give a budget"
            f" ({argument(budget='2h')}, or {argument(budget=5000)} runs), or draw points"
            f" ({argument(draw='latin-hypercube', points=1000)})"
        )
        raise ConfigError([message])
    check(design, runner.here)
    shown = design.shown()
    identity = design.identity(shown)
    config, out = design.first, how.folder
    reads = (config.file,) if config.file else ()
    with Outcomes(out, identity, FORM, force=how.force, reads=reads) as stored:
        if how.progress:
            warn_before_run(notes(design))
        left = design.runs - len(stored.rows)
        left = left if budget is None or budget.runs is None else min(left, budget.runs)
        made = Sweep(config.name, shown, (), design.runs, design.log, identity, folder=out)

        def planned(point: int, seed: int | None) -> Planned:
            config, policies = design.loaded(point, seed)
            label = point_label(shown[point])
            return Planned(label, config, policies.pack(), seed, key=(point, seed))

        def so_far(*, running: bool = False, cut: bool = False) -> Sweep:
            found = ordered(stored.ended())
            interrupted = cut and len(found) < design.runs
            done = replace(made, outcomes=found, running=running, interrupted=interrupted)
            if out is not None and not (done.running and not done.outcomes):
                _write(done, out, how.html)
            return done

        watched = out is not None and left > 0
        try:
            with live(lambda: so_far(running=True)) if watched else nullcontext():
                stored.make(
                    _missing(design, stored, budget),
                    planned,
                    runner,
                    name=config.name,
                    left=left,
                    progress=how.progress,
                    ahead=budget is None or budget.seconds is None,
                )
        except ClusterError:
            so_far(cut=True)
            raise
        return so_far(cut=stored.interrupted)


def _missing(design: Design, stored: Outcomes, budget: Budget | None) -> Iterator[Key]:
    """The points and seeds without an outcome, while the budget lasts."""
    points: Sequence[int] = range(len(design.space))
    if budget is not None:
        points = design.space.scattered_order(design.seed or 0)
    runs, seconds = (budget.runs, budget.seconds) if budget else (None, None)
    until = math.inf if seconds is None else time.monotonic() + seconds
    every = ((point, seed) for point in points for seed in design.seeds)
    missing = (key for key in every if key not in stored.rows)
    for key in itertools.islice(missing, runs):
        if time.monotonic() >= until:
            return
        yield key


def _write(done: Sweep, folder: Path, html: bool) -> None:
    """Write the tables, the summary and the page. Raises `OutputError`."""
    files = {SWEEP_CSV: outputs.text(done.to_csv()), SUMMARY: outputs.text(done.summary())}
    if done.rows and frames.has_parquet():
        files[SWEEP_PARQUET] = partial(frames.write_parquet, done.rows, texts=Sweep.TEXTS)
    if html:
        from ssdlab.html.sweep_page import sweep_page  # needs numpy, which is slow to import

        files[PAGE] = outputs.text(sweep_page(done))
    files[SWEEP_JSON] = outputs.text(done.head_json())
    try:
        outputs.write_all({folder / name: one for name, one in files.items()}, force=True)
    except OutputError as error:
        raise OutputError(f"{error}; what is done is kept") from error
