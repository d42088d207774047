"""Runs several configurations concurrently, on threads: the simulator releases the interpreter.

Policies in Python need the interpreter, so their runs get their own processes (`processes`).
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from ssdlab import policy
from ssdlab.config import memory
from ssdlab.config.resolve import Config, ConfigLike, load_config, set_text
from ssdlab.display.progress import Callback, Display, display, say_before
from ssdlab.errors import ConfigError, Interrupted, RunError, WorkloadError
from ssdlab.policy import is_policy, name_of
from ssdlab.results.comparison import CSV, JSON, TEXT, Comparison, labels_of, run_folder
from ssdlab.results.folder import draft, keep_with_page, remove_stale
from ssdlab.results.report import REPORT, Report
from ssdlab.running.fitted import all_fitted, fits
from ssdlab.running.processes import Died, run_apart
from ssdlab.running.simulate import Plugs, plugged, run_loaded

NO_PLUGS = Plugs()


@dataclass(frozen=True)
class Planned:
    """A planned run."""

    label: str
    """Its configuration among those compared."""
    config: Config
    policies: bytes = b""
    """`Policies.packed()` of those in Python."""
    seed: int | None = None
    """Which repetition it is; None: there is one only."""
    first: bool = True
    """The first repetition stands for all of them in plots."""
    place: Path | None = None
    """Where its files are in the folder of all, if not where those of a comparison are."""

    @property
    def title(self) -> str:
        """What it is called in messages."""
        return self.label if self.seed is None else f"{self.label}, seed {self.seed}"

    @property
    def folder(self) -> Path:
        """Where its files are in the folder of all."""
        return self.place or run_folder(self.label, self.seed)


def plan(
    configs: Sequence[ConfigLike],
    *,
    traces: Sequence[str | Path] = (),
    set: Mapping[str, object] | None = None,
    vary: Mapping[str, Sequence[object]] | None = None,
    seed: int | None = None,
    seeds: int | None = None,
    plugs: Plugs = NO_PLUGS,
) -> list[Planned]:
    """Every configuration with every trace and every combination of varied values.

    With `seeds`, that many times each: all configurations with the first seed, then the next.
    """
    if not configs:
        raise ConfigError(["nothing to compare: give at least one configuration"])
    vary = _lists(vary or {})
    loaded: list[tuple[Config, bytes]] = []
    parts: list[dict[str, str]] = []
    errors: dict[str, None] = {}
    sources: list[str | Path | None] = [*traces] or [None]
    for (config, trace), values in itertools.product(
        itertools.product(configs, sources), itertools.product(*vary.values())
    ):
        varied = dict(zip(vary, values, strict=True))
        try:
            sets, policies = plugged({**(set or {}), **varied}, plugs)
            made = load_config(config, trace=trace, set=sets, seed=seed)
        except ConfigError as error:
            errors |= dict.fromkeys(error.messages)
            continue
        loaded.append((made, policies.packed()))
        part = {"config": made.name}
        if trace is not None:
            part["trace"] = Path(trace).name.partition(".")[0]
        parts.append(part | {key: _short(value) for key, value in varied.items()})
    if errors:
        raise ConfigError(errors)
    labels = labels_of(parts)
    planned = [Planned(label, *both) for label, both in zip(labels, loaded, strict=True)]
    return planned if seeds is None else _repeated(planned, seeds)


def _lists(vary: Mapping[str, Iterable[object]]) -> dict[str, list[object]]:
    """The values of each key that is varied. Raises `ConfigError` where there are none."""
    lists: dict[str, list[object]] = {}
    messages = []
    for key, values in vary.items():
        # Of a string the letters would be varied.
        if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
            listed = json.dumps(values, default=str)
            message = f"{key}: nothing to vary: expected a list of values, such as [{listed}]"
            messages.append(message)
            continue
        lists[key] = list(values)
        if not lists[key]:
            messages.append(f"{key}: nothing to vary: the list of values is empty")
    if messages:
        raise ConfigError(messages)
    return lists


def _repeated(planned: list[Planned], seeds: int) -> list[Planned]:
    """Every run with the seeds `run.seed`, `run.seed` + 1, ...: the same ones for all."""
    if seeds < 2:
        raise ConfigError([f"seeds: {seeds}: expected at least 2, for intervals between them"])
    begins = {one.config["run.seed"]: one.label for one in planned}
    if len(begins) > 1:
        (a, of_a), (b, of_b), *_ = begins.items()
        message = (
            f"run.seed: {a} in {of_a}, {b} in {of_b}: repetitions use the same seeds for all"
            " configurations; set the first one with --seed and do not vary it"
        )
        raise ConfigError([message])
    begin = next(iter(begins))
    return [
        replace(one, config=load_config(one.config, seed=seed), seed=seed, first=seed == begin)
        for seed in range(begin, begin + seeds)
        for one in planned
    ]


def _short(value: object) -> str:
    """A varied value in a label: `{ policy = "d-choices", d = 3 }` is `d-choices d=3`."""
    if is_policy(value):
        return name_of(value)
    text = set_text(value).strip().strip("{}[]").replace('"', "").replace("'", "").replace(",", " ")
    return " ".join(text.replace("policy", "").replace(" = ", "=").split()).lstrip("=")


def compare(
    configs: Sequence[ConfigLike | Report] | ConfigLike,
    *,
    traces: Sequence[str | Path] = (),
    set: Mapping[str, object] | None = None,
    vary: Mapping[str, Sequence[object]] | None = None,
    seed: int | None = None,
    seeds: int | None = None,
    jobs: int | None = None,
    out: str | Path | None = None,
    force: bool = False,
    progress: bool = True,
    html: bool = True,
    victim: policy.VictimLike | None = None,
    trigger: policy.Wants | None = None,
    concurrency: policy.Limits | None = None,
    placement: policy.Places | None = None,
    separation: policy.Separates | None = None,
) -> Comparison:
    """Run several configurations and compare their results.

    Every one of `configs` (presets, files, loaded configurations) is run with every trace and with
    every combination of the values of `vary` ({"gc.victim": ["greedy", "fifo"]}), `jobs` at a time
    (default: one per core); results do not depend on `jobs`. Existing reports can be compared
    instead. `out` is the folder of the comparison, with a folder for each run in it;
    `set`, `seed`, `force`, `progress` and `html` are those of `ssdlab.run`.

    A run that cannot finish is listed in `failures`. Ctrl-C raises `Interrupted` with the
    `comparison` of the completed runs, whose `not_run` lists the others. Otherwise raises the
    same exceptions as `ssdlab.run`.

    With `seeds` every run is repeated with that many seeds, starting at `run.seed` and the same
    for all: `estimates` and `ratios` of the comparison then have confidence intervals.

    Policies in Python (`ssdlab.policy`) apply to all runs as in `ssdlab.run`, or are varied by key:
    {"gc.victim": ["greedy", Mine()]}. Each run gets its own copy, in its own process.
    """
    plugs = Plugs(victim, trigger, concurrency, placement, separation)
    several = [configs] if isinstance(configs, str | Path | Config) else list(configs)
    reports = [one for one in several if isinstance(one, Report)]
    if reports and len(reports) == len(several):
        parts = [{"config": report.name} for report in reports]
        return Comparison(dict(zip(labels_of(parts), reports, strict=True)))
    if reports:
        raise ConfigError(["compare either reports or configurations, not a mix of both"])
    named = [one for one in several if not isinstance(one, Report)]
    planned = plan(named, traces=traces, set=set, vary=vary, seed=seed, seeds=seeds, plugs=plugs)
    done = run_all(planned, jobs=jobs, out=out, force=force, progress=progress, html=html)
    if done.interrupted:
        stopped = Interrupted(None, done.folder)
        stopped.comparison = done
        raise stopped
    return done


def run_all(
    planned: Sequence[Planned],
    *,
    jobs: int | None = None,
    out: str | Path | None = None,
    force: bool = False,
    progress: bool = True,
    html: bool = True,
) -> Comparison:
    """Run everything, with folders, tables, summary and page (`html`) in `out`."""
    if jobs is not None and jobs < 1:
        raise ConfigError([f"jobs: {jobs}: expected at least 1"])
    jobs = min(jobs or cores(), len(planned))
    planned = _sized(planned, progress)
    memory.check([one.config for one in planned], jobs)
    if out is None:
        return _shown(_Batch(planned, None, html), jobs, progress)
    reads = dict.fromkeys(one.config.file for one in planned if one.config.file)
    with draft(Path(out), force, reads) as made:
        done = _shown(_Batch(planned, made.path, html), jobs, progress)
        made.settle(done.completed)
        made.write(CSV, done.to_csv())
        made.write(TEXT, done.summary())
        made.write(JSON, done.to_json())
        keep_with_page(made, (lambda: _page(done)) if html else None)
    return done.moved(made.target)


@dataclass(frozen=True)
class Finished:
    """The runs of a folder and how they ended."""

    reports: Mapping[Planned, Report]
    failures: Mapping[str, str]
    """Why runs could not finish, by title."""
    interrupted: bool


def run_into(
    planned: Sequence[Planned], folder: Path, jobs: int | None, progress: bool
) -> Finished:
    """Make the runs, each into its place in `folder` as soon as it is done, without pages."""
    jobs = min(jobs or cores(), len(planned))
    planned = _sized(planned, progress)
    memory.check([one.config for one in planned], jobs)
    batch = _Batch(planned, folder, html=False)
    _shown(batch, jobs, progress)
    return Finished(batch.reports, batch.failures, batch.interrupted)


def _check_traces(planned: Sequence[Planned]) -> None:
    """Every trace is there before the first run begins."""
    named = dict.fromkeys(one.config["workload.trace"] for one in planned)
    missing = [name for name in named if name not in (None, "-") and not Path(name).exists()]
    if missing:
        where = ", ".join(missing)
        raise WorkloadError(f"{where}: cannot open the trace: no such file")


def _sized(planned: Sequence[Planned], progress: bool) -> list[Planned]:
    """The runs with the devices that they get; every trace is there before the first one begins."""
    _check_traces(planned)
    configs = [one.config for one in planned]
    if progress and any(map(fits, configs)):
        with display() as shown:
            configs = all_fitted(configs, shown.run)
    else:
        configs = all_fitted(configs, None)
    return [replace(one, config=config) for one, config in zip(planned, configs, strict=True)]


def cores() -> int:
    """Processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _page(done: Comparison) -> str:
    from ssdlab.html.compare_page import comparison_page  # needs numpy, which is slow to import

    return comparison_page(done)


def _shown(batch: _Batch, jobs: int, progress: bool) -> Comparison:
    if progress:
        say_before(note for one in batch.planned if not one.policies for note in one.config.notes)
    with ExitStack() as stack:
        batch.shown = stack.enter_context(display()) if progress else None
        done = batch.run(jobs)
    for trace in batch.raised.values():
        print(trace, end="", file=sys.stderr, flush=True)
    return done


class _Batch:
    """Runs on threads that stop together; a thread waits for the process of its run, if any."""

    def __init__(self, planned: Sequence[Planned], folder: Path | None, html: bool) -> None:
        self.planned = planned
        self.folder = folder
        self.html = html
        self.shown: Display | None = None
        self.stop = threading.Event()
        self.running = 0
        self.ended = threading.Condition()
        """Guards `running`; notified when a run ends."""
        self.reports: dict[Planned, Report] = {}
        self.failures: dict[str, str] = {}
        self.interrupted = False
        self.raised: dict[str, str] = {}
        """Tracebacks of policies that ended a run, one for each message."""

    def run(self, jobs: int) -> Comparison:
        """All of them; the reports in the order of the plan."""
        waiting: list[Future[None]] = []
        with ThreadPoolExecutor(jobs, thread_name_prefix="run") as pool:
            try:
                waiting.extend(pool.submit(self._counted, one) for one in self.planned)
                self._wait(waiting)
            except KeyboardInterrupt:
                self.interrupted = True
                self.stop.set()
                self._wait(waiting)
            finally:
                self.stop.set()
        # An interrupt within `submit` leaves a thread that the pool does not wait for.
        with self.ended:
            self.ended.wait_for(lambda: self.running == 0)
        for future in waiting:
            future.result()
        reports, repetitions = self._sorted()
        not_run = [
            one.title
            for one in self.planned
            if one not in self.reports and one.title not in self.failures
        ]
        return Comparison(
            reports,
            self.failures,
            self.interrupted,
            repetitions=repetitions,
            not_run=tuple(not_run),
        )

    def _sorted(self) -> tuple[dict[str, Report], dict[str, dict[int, Report]]]:
        """Reports by label, and by label and seed, in the order of the plan."""
        reports: dict[str, Report] = {}
        repetitions: dict[str, dict[int, Report]] = {}
        for one in self.planned:
            report = self.reports.get(one)
            if report is None:
                continue
            if one.first:
                reports[one.label] = report
            if one.seed is not None:
                repetitions.setdefault(one.label, {})[one.seed] = report
        return reports, repetitions

    def _wait(self, waiting: list[Future[None]]) -> None:
        done, _ = wait(waiting, return_when=FIRST_EXCEPTION)
        for future in done:
            error = future.exception()
            if error is not None:
                self.stop.set()

    def _callback(self, label: str) -> Callback:
        show: Callable[[str, int, int | None], object] | None
        show = self.shown.run(label) if self.shown else None

        def progress(stage: str, done: int, total: int | None) -> None:
            if self.stop.is_set():
                raise KeyboardInterrupt
            if show:
                show(stage, done, total)

        return progress

    def _counted(self, one: Planned) -> None:
        with self.ended:
            if self.stop.is_set():
                return
            self.running += 1
        try:
            self._run_one(one)
        finally:
            with self.ended:
                self.running -= 1
                self.ended.notify_all()

    def _run_one(self, one: Planned) -> None:
        how = "completed"
        try:
            self.reports[one] = self._report_of(one)
        except Interrupted as stopped:
            how = "interrupted"
            if stopped.report:
                self.reports[one] = stopped.report
        except RunError as failed:
            how = "failed"
            self.reports[one] = failed.report
            self.failures[one.title] = str(failed)
            if failed.__cause__ is not None:
                self.raised.setdefault(str(failed), str(failed.__cause__))
        except Died as died:
            how = "failed"
            self.failures[one.title] = str(died)
            if self.folder is not None:
                remove_stale(self.folder / one.folder)
        if self.shown:
            self.shown.end(one.title, how)

    def _report_of(self, one: Planned) -> Report:
        out = None if self.folder is None else self.folder / one.folder
        if one.place is not None and out is not None and (out / REPORT).exists():
            shutil.rmtree(out)  # of another version or configuration, or damaged
        callback, html = self._callback(one.title), self.html and one.first
        if one.policies:
            return run_apart(one.config, one.policies, callback, self.stop, out=out, html=html)
        return run_loaded(one.config, callback, out=out, html=html)
