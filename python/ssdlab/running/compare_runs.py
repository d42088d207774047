"""Runs several configurations and compares them: `ssdlab.compare`."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias

from ssdlab import policy
from ssdlab.config import memory
from ssdlab.config.given import typed
from ssdlab.config.resolve import Config, ConfigLike, load_config
from ssdlab.config.vary import fixed_values, values_of, vary_messages
from ssdlab.display.argument import argument
from ssdlab.display.numbers import Value
from ssdlab.display.progress import display, warn_before_run
from ssdlab.errors import ClusterError, ConfigError, Interrupted, OutputError
from ssdlab.results.comparison import Comparison, labels_of
from ssdlab.results.folder import draft, keep_with_page
from ssdlab.results.names import COMPARISON_CSV, COMPARISON_JSON, SUMMARY
from ssdlab.results.report import Report
from ssdlab.running.batch import Batch
from ssdlab.running.execution import Execution
from ssdlab.running.fitted import all_fitted, fits
from ssdlab.running.job import check_traces
from ssdlab.running.runner import PlannedRun, RunEnd, Runner
from ssdlab.running.simulate import Plugs, merge_plugs
from ssdlab.store.store import Store

NO_PLUGS = Plugs()
StopRule: TypeAlias = Callable[[Comparison], bool]
"""Whether the intervals are narrow enough, or the time is over."""


def plan(
    configs: Sequence[ConfigLike],
    *,
    traces: Sequence[str | Path] = (),
    set: Mapping[str, object] | None = None,
    vary: Mapping[str, Iterable[object]] | None = None,
    seed: int | None = None,
    seeds: int | None = None,
    plugs: Plugs = NO_PLUGS,
) -> list[PlannedRun]:
    """Every configuration with every trace and every combination of varied values.

    With `seeds`, that many times each: all configurations with the first seed, then the next.
    """
    if not configs:
        raise ConfigError(["nothing to compare: give at least one configuration"])
    lists = fixed_values(values_of(vary or {}))
    loaded: list[tuple[Config, bytes]] = []
    parts: list[dict[str, str]] = []
    settings: list[tuple[tuple[str, Value], ...]] = []
    errors: dict[str, None] = {}
    sources: list[str | Path | None] = [*traces] or [None]
    for (config, trace), values in itertools.product(
        itertools.product(configs, sources), itertools.product(*lists.values())
    ):
        varied = dict(zip(lists, values, strict=True))
        try:
            sets, policies = merge_plugs({**(set or {}), **varied}, plugs)
            resolved = load_config(config, trace=trace, set=sets, seed=seed)
        except ConfigError as error:
            errors |= dict.fromkeys(vary_messages(error.messages, varied))
            continue
        loaded.append((resolved, policies.pack()))
        part = {"config": resolved.name}
        if trace is not None:
            part["trace"] = Path(trace).name.partition(".")[0]
        value_labels = {key: policy.label_of(value) for key, value in varied.items()}
        parts.append(part | value_labels)
        settings.append(tuple(parts[-1].items()) if varied else ())
    if errors:
        raise ConfigError(errors)
    labels = labels_of(parts)
    planned = [
        PlannedRun(label, *entry, varied=setting)
        for label, entry, setting in zip(labels, loaded, settings, strict=True)
    ]
    return planned if seeds is None else repeat(planned, seeds)


def check_seeds(seeds: int) -> None:
    """Raise `ConfigError` for fewer seeds than intervals need."""
    if seeds < 2:
        raise ConfigError(
            [f"{argument(seeds=seeds)}: expected at least 2, for intervals between them"]
        )


def repeat(planned: list[PlannedRun], seeds: int) -> list[PlannedRun]:
    """Every run with the seeds `run.seed`, `run.seed` + 1, ..., the same for all."""
    check_seeds(seeds)
    label_by_seed = {run.config["run.seed"]: run.label for run in planned}
    if len(label_by_seed) > 1:
        (a, of_a), (b, of_b), *_ = label_by_seed.items()
        message = (
            f"run.seed: {a} in {of_a}, {b} in {of_b}: repetitions use the same seeds for all"
            f" configurations; set the first one with {argument('seed')} and do not vary it"
        )
        raise ConfigError([message])
    first_seed = next(iter(label_by_seed))
    return [
        replace(run, config=load_config(run.config, seed=seed), seed=seed, first=seed == first_seed)
        for seed in range(first_seed, first_seed + seeds)
        for run in planned
    ]


@typed
def compare(
    configs: Sequence[ConfigLike | Report] | ConfigLike,
    *,
    traces: Sequence[str | Path] = (),
    set: Mapping[str, object] | None = None,
    vary: Mapping[str, Iterable[object]] | None = None,
    seed: int | None = None,
    seeds: int | None = None,
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
) -> Comparison:
    """Run several configurations and compare their results.

    Every one of `configs` (presets, files, loaded configurations) is run with every trace and with
    every combination of the values of `vary` ({"gc.victim": ["greedy", "fifo"]}), `jobs` at a time
    (default: one per core). `on` says where: "threads" here (the default), "processes" here,
    "local:4" (Dask workers here), "tcp://HOST:PORT" (a Dask scheduler) or "slurm:FILE"; results
    depend on neither. On a cluster that is lost, the runs that are left fail. Existing reports can
    be compared instead.

    `out` is the folder of the comparison, with a folder for each run in it; `set`, `seed`, `force`,
    `progress` and `html` are those of `ssdlab.run`.

    A run that cannot finish is listed in `failures`. Ctrl-C raises `Interrupted` with the
    `comparison` of the completed runs, whose `not_run` lists the others. Otherwise raises the
    same exceptions as `ssdlab.run`.

    With `seeds` every run is repeated with that many seeds, starting at `run.seed` and the same
    for all: `estimates` and `ratios` of the comparison then have confidence intervals.

    `store` is the folder of a store of results: runs that it contains are not executed again, and
    new ones are added. Default: the environment variable SSDLAB_STORE, if it is set.

    Policies in Python (`ssdlab.policy`) apply to all runs as in `ssdlab.run`, or are varied by key:
    {"gc.victim": ["greedy", Mine()]}. Each run gets its own copy, in its own process.
    """
    plugs = Plugs(victim, trigger, concurrency, placement, separation)
    if not isinstance(configs, Iterable | Path | Config):
        raise ConfigError([f"configs: found {configs!r}; expected a preset, a file, or a list"])
    items = [configs] if isinstance(configs, str | Path | Config) else list(configs)
    reports = [item for item in items if isinstance(item, Report)]
    if reports and len(reports) == len(items):
        parts = [{"config": report.name} for report in reports]
        return Comparison(dict(zip(labels_of(parts), reports, strict=True)))
    if reports:
        raise ConfigError(["compare either reports or configurations, not a mix of both"])
    configurations = [item for item in items if not isinstance(item, Report)]
    planned = plan(
        configurations, traces=traces, set=set, vary=vary, seed=seed, seeds=seeds, plugs=plugs
    )
    return run_comparison(planned, Execution(on, jobs, store, out, force, progress, html))


def run_comparison(planned: Sequence[PlannedRun], execution: Execution) -> Comparison:
    """Execute all runs. Raises `Interrupted` with the completed ones if Ctrl-C has ended them."""
    with execution.runner(len(planned)) as runner:
        comparison = run_all(planned, runner, execution)
    if comparison.interrupted:
        raise Interrupted(None, comparison.folder, comparison=comparison)
    return comparison


def run_all(planned: Sequence[PlannedRun], runner: Runner, execution: Execution) -> Comparison:
    """Execute all runs, with folders, tables, summary and page in one folder."""
    if execution.folder is None:
        return run_into(planned, None, runner, execution.progress).comparison()
    reads = dict.fromkeys(run.config.file for run in planned if run.config.file)
    with draft(execution.folder, execution.force, reads) as staging:
        finished = run_into(planned, staging.path, runner, execution.progress, html=execution.html)
        finished.failures = {
            title: reason.replace(str(staging.path), str(staging.target))
            for title, reason in finished.failures.items()
        }
        comparison = finished.comparison()
        staging.settle(comparison.completed)
        staging.write(COMPARISON_CSV, comparison.to_csv())
        staging.write(SUMMARY, comparison.summary())
        staging.write(COMPARISON_JSON, comparison.to_json())
        keep_with_page(
            staging,
            (lambda: _page(comparison)) if execution.html and not finished.unwritable else None,
        )
    return comparison.moved(staging.target)


@dataclass
class FinishedRuns:
    """Runs and how they ended."""

    planned: list[PlannedRun]
    """All of them, in order."""
    reports: dict[PlannedRun, Report] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    """Why runs could not finish, by title."""
    interrupted: bool = False
    unwritable: bool = False
    """The error if files of a run could not be written, so that the others were not executed."""

    def take(self, run: PlannedRun, ending: RunEnd) -> None:
        """One of them has ended."""
        if ending.report is not None:
            self.reports[run] = ending.report
        if ending.how == "failed":
            self.failures[run.title] = ending.why

    def fail_remaining(self, reason: str) -> None:
        """The others cannot be made."""
        for run in self.planned:
            if run not in self.reports:
                self.failures.setdefault(run.title, reason)

    def comparison(self) -> Comparison:
        """The reports by label, and by label and seed, in the order of the plan."""
        reports: dict[str, Report] = {}
        repetitions: dict[str, dict[int, Report]] = {}
        not_run = []
        for run in self.planned:
            report = self.reports.get(run)
            if report is None:
                if run.title not in self.failures:
                    not_run.append(run.title)
                continue
            if run.first:
                reports[run.label] = report
            if run.seed is not None:
                repetitions.setdefault(run.label, {})[run.seed] = report
        return Comparison(
            reports,
            self.failures,
            self.interrupted,
            repetitions=repetitions,
            not_run=tuple(not_run),
            varied={run.label: dict(run.varied) for run in self.planned if run.varied},
        )


def run_into(
    planned: Sequence[PlannedRun],
    folder: Path | None,
    runner: Runner,
    progress: bool,
    enough: StopRule | None = None,
    *,
    html: bool = False,
) -> FinishedRuns:
    """Execute the runs; each is written to its place in `folder` as soon as it ends.

    With `enough`, no further seed begins once it returns true for the runs that have ended. Raises
    as `compare`, except for Ctrl-C.
    """
    planned = _prepare(planned, runner, progress)
    if progress:
        warn_before_run(note for run in planned if not run.policies for note in run.config.notes)
    finished = FinishedRuns(planned)
    pending = planned if enough is None else _runs_until(planned, finished, enough)
    batch = Batch(pending, finished.take, folder, html=html, ahead=enough is None)
    try:
        batch.run(runner, progress)
    except ClusterError as error:  # What is done is kept.
        finished.fail_remaining(str(error))
    except OutputError as error:  # The same, if there is anything.
        if not finished.reports:
            raise
        finished.fail_remaining(str(error))
        finished.unwritable = True
    finished.interrupted = batch.interrupted
    return finished


def _prepare(planned: Sequence[PlannedRun], runner: Runner, progress: bool) -> list[PlannedRun]:
    """The runs with their devices.

    Raises `ConfigError`, or `WorkloadError` if a trace is missing.
    """
    check_traces(run.config["workload.trace"] for run in planned)
    configs = [run.config for run in planned]
    with display() if progress and any(map(fits, configs)) else nullcontext() as shown:
        configs = all_fitted(configs, shown.run if shown else None)
    memory.check(configs, runner.local_jobs)
    return [replace(run, config=config) for run, config in zip(planned, configs, strict=True)]


def _page(comparison: Comparison) -> str:
    from ssdlab.html.compare_page import comparison_page  # needs numpy, which is slow to import

    return comparison_page(comparison)


def _runs_until(
    planned: Sequence[PlannedRun], finished: FinishedRuns, enough: StopRule
) -> Iterator[PlannedRun]:
    """The runs, one seed after the other, until `enough` returns true for those that have ended."""
    finished.planned = []
    for run in planned:
        is_new_seed = finished.planned and run.seed != finished.planned[-1].seed
        if is_new_seed and enough(finished.comparison()):
            return
        finished.planned.append(run)
        yield run
