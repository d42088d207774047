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
from ssdlab.running.fitted import all_fitted, fits
from ssdlab.running.job import check_traces
from ssdlab.running.making import Making
from ssdlab.running.runner import Ended, Planned, Runner
from ssdlab.running.simulate import Plugs, plugged
from ssdlab.store.store import Store

NO_PLUGS = Plugs()
Enough: TypeAlias = Callable[[Comparison], bool]
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
) -> list[Planned]:
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
            sets, policies = plugged({**(set or {}), **varied}, plugs)
            made = load_config(config, trace=trace, set=sets, seed=seed)
        except ConfigError as error:
            errors |= dict.fromkeys(vary_messages(error.messages, varied))
            continue
        loaded.append((made, policies.pack()))
        part = {"config": made.name}
        if trace is not None:
            part["trace"] = Path(trace).name.partition(".")[0]
        named = {key: policy.label_of(value) for key, value in varied.items()}
        parts.append(part | named)
        settings.append(tuple(parts[-1].items()) if varied else ())
    if errors:
        raise ConfigError(errors)
    labels = labels_of(parts)
    planned = [
        Planned(label, *both, varied=setting)
        for label, both, setting in zip(labels, loaded, settings, strict=True)
    ]
    return planned if seeds is None else repeated(planned, seeds)


def check_seeds(seeds: int) -> None:
    """Raise `ConfigError` for fewer seeds than intervals need."""
    if seeds < 2:
        raise ConfigError(
            [f"{argument(seeds=seeds)}: expected at least 2, for intervals between them"]
        )


def repeated(planned: list[Planned], seeds: int) -> list[Planned]:
    """Every run with the seeds `run.seed`, `run.seed` + 1, ..., the same for all."""
    check_seeds(seeds)
    begins = {one.config["run.seed"]: one.label for one in planned}
    if len(begins) > 1:
        (a, of_a), (b, of_b), *_ = begins.items()
        message = (
            f"run.seed: {a} in {of_a}, {b} in {of_b}: repetitions use the same seeds for all"
            f" configurations; set the first one with {argument('seed')} and do not vary it"
        )
        raise ConfigError([message])
    begin = next(iter(begins))
    return [
        replace(one, config=load_config(one.config, seed=seed), seed=seed, first=seed == begin)
        for seed in range(begin, begin + seeds)
        for one in planned
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
    several = [configs] if isinstance(configs, str | Path | Config) else list(configs)
    reports = [one for one in several if isinstance(one, Report)]
    if reports and len(reports) == len(several):
        parts = [{"config": report.name} for report in reports]
        return Comparison(dict(zip(labels_of(parts), reports, strict=True)))
    if reports:
        raise ConfigError(["compare either reports or configurations, not a mix of both"])
    named = [one for one in several if not isinstance(one, Report)]
    planned = plan(named, traces=traces, set=set, vary=vary, seed=seed, seeds=seeds, plugs=plugs)
    return compared(planned, Making(on, jobs, store, out, force, progress, html))


def compared(planned: Sequence[Planned], how: Making) -> Comparison:
    """Execute all runs. Raises `Interrupted` with the completed ones if Ctrl-C has ended them."""
    with how.runner(len(planned)) as runner:
        done = run_all(planned, runner, how)
    if done.interrupted:
        raise Interrupted(None, done.folder, comparison=done)
    return done


def run_all(planned: Sequence[Planned], runner: Runner, how: Making) -> Comparison:
    """Execute all runs, with folders, tables, summary and page in one folder."""
    if how.folder is None:
        return run_into(planned, None, runner, how.progress).comparison()
    reads = dict.fromkeys(one.config.file for one in planned if one.config.file)
    with draft(how.folder, how.force, reads) as made:
        ran = run_into(planned, made.path, runner, how.progress, html=how.html)
        ran.failures = {
            title: why.replace(str(made.path), str(made.target))
            for title, why in ran.failures.items()
        }
        done = ran.comparison()
        made.settle(done.completed)
        made.write(COMPARISON_CSV, done.to_csv())
        made.write(SUMMARY, done.summary())
        made.write(COMPARISON_JSON, done.to_json())
        keep_with_page(made, (lambda: _page(done)) if how.html and not ran.unwritable else None)
    return done.moved(made.target)


@dataclass
class Finished:
    """Runs and how they ended."""

    planned: list[Planned]
    """All of them, in order."""
    reports: dict[Planned, Report] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    """Why runs could not finish, by title."""
    interrupted: bool = False
    unwritable: bool = False
    """The error if files of a run could not be written, so that the others were not executed."""

    def take(self, one: Planned, ended: Ended) -> None:
        """One of them has ended."""
        if ended.report is not None:
            self.reports[one] = ended.report
        if ended.how == "failed":
            self.failures[one.title] = ended.why

    def lost(self, why: str) -> None:
        """The others cannot be made."""
        for one in self.planned:
            if one not in self.reports:
                self.failures.setdefault(one.title, why)

    def comparison(self) -> Comparison:
        """The reports by label, and by label and seed, in the order of the plan."""
        reports: dict[str, Report] = {}
        repetitions: dict[str, dict[int, Report]] = {}
        not_run = []
        for one in self.planned:
            report = self.reports.get(one)
            if report is None:
                if one.title not in self.failures:
                    not_run.append(one.title)
                continue
            if one.first:
                reports[one.label] = report
            if one.seed is not None:
                repetitions.setdefault(one.label, {})[one.seed] = report
        return Comparison(
            reports,
            self.failures,
            self.interrupted,
            repetitions=repetitions,
            not_run=tuple(not_run),
            varied={one.label: dict(one.varied) for one in self.planned if one.varied},
        )


def run_into(
    planned: Sequence[Planned],
    folder: Path | None,
    runner: Runner,
    progress: bool,
    enough: Enough | None = None,
    *,
    html: bool = False,
) -> Finished:
    """Execute the runs; each is written to its place in `folder` as soon as it ends.

    With `enough`, no further seed begins once it returns true for the runs that have ended. Raises
    as `compare`, except for Ctrl-C.
    """
    planned = _checked(planned, runner, progress)
    if progress:
        warn_before_run(note for one in planned if not one.policies for note in one.config.notes)
    done = Finished(planned)
    wanted = planned if enough is None else _until(planned, done, enough)
    batch = Batch(wanted, done.take, folder, html=html, ahead=enough is None)
    try:
        batch.run(runner, progress)
    except ClusterError as error:  # What is done is kept.
        done.lost(str(error))
    except OutputError as error:  # The same, if there is anything.
        if not done.reports:
            raise
        done.lost(str(error))
        done.unwritable = True
    done.interrupted = batch.interrupted
    return done


def _checked(planned: Sequence[Planned], runner: Runner, progress: bool) -> list[Planned]:
    """The runs with their devices.

    Raises `ConfigError`, or `WorkloadError` if a trace is missing.
    """
    check_traces(one.config["workload.trace"] for one in planned)
    configs = [one.config for one in planned]
    with display() if progress and any(map(fits, configs)) else nullcontext() as shown:
        configs = all_fitted(configs, shown.run if shown else None)
    memory.check(configs, runner.here)
    return [replace(one, config=config) for one, config in zip(planned, configs, strict=True)]


def _page(done: Comparison) -> str:
    from ssdlab.html.compare_page import comparison_page  # needs numpy, which is slow to import

    return comparison_page(done)


def _until(planned: Sequence[Planned], done: Finished, enough: Enough) -> Iterator[Planned]:
    """The runs, one seed after the other, until `enough` returns true for those that have ended."""
    done.planned = []
    for one in planned:
        begins = done.planned and one.seed != done.planned[-1].seed
        if begins and enough(done.comparison()):
            return
        done.planned.append(one)
        yield one
