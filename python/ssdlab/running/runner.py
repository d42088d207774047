"""Executes runs: in threads here, or each in a process here."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Protocol

from ssdlab import _core
from ssdlab.config import memory
from ssdlab.config.resolve import Config
from ssdlab.display.argument import argument
from ssdlab.display.numbers import Value
from ssdlab.display.progress import Callback
from ssdlab.errors import ConfigError, Interrupted, RunError
from ssdlab.results.comparison import run_folder
from ssdlab.results.folder import remove_stale
from ssdlab.results.names import REPORT
from ssdlab.results.report import Report
from ssdlab.running.job import Job
from ssdlab.running.processes import Died, run_apart
from ssdlab.running.simulate import run_loaded
from ssdlab.running.starts import StartStates, run_from

SIGNALS_S = 0.2
"""Seconds between checks for signals in the main thread."""


@dataclass(frozen=True)
class PlannedRun:
    """A planned run."""

    label: str
    """Its configuration among those compared."""
    config: Config
    policies: bytes = b""
    """`Policies.pack()` of those in Python."""
    seed: int | None = None
    """Which repetition it is; None if there is only one."""
    first: bool = True
    """Whether it is the first repetition, which stands for all of them in plots."""
    place: Path | None = None
    """Where its files are in the common folder, if not where those of a comparison are."""
    varied: tuple[tuple[str, Value], ...] = ()
    """The keys that are varied, and their values in this run."""
    key: Any = None
    """What identifies it in a `RunTable`, if it belongs to one."""
    shares_start: bool = False
    """Whether others are known to start from the same device."""

    @property
    def title(self) -> str:
        """Its name in messages."""
        return self.label if self.seed is None else f"{self.label}, seed {self.seed}"

    @cached_property
    def job(self) -> Job:
        """The run as a value. Its files are read at the first access; raises as `Job.of`."""
        return Job.of(self.config, self.policies)

    @property
    def folder(self) -> Path:
        """Where its files are in the common folder."""
        return self.place or run_folder(self.label, self.seed)


@dataclass(frozen=True)
class RunEnd:
    """How a run ended."""

    how: Literal["completed", "failed", "interrupted"]
    report: Report | None = None
    """Its report so far; None if there is nothing to report."""
    why: str = ""
    """Why it failed."""
    traceback: str = ""
    """The traceback of the policy that made it fail."""
    error: Exception | None = None
    """Its error, if that is one of the `Work.point_errors`."""


RunCallback = Callable[[PlannedRun, RunEnd], object]
"""Called in the thread of a run when that has ended."""


class Work(Protocol):
    """Runs that wait for a runner, and how they end. All calls may come from any thread."""

    folder: Path | None
    """Every run writes its files there, in its `PlannedRun.folder`; None: no files."""
    html: bool
    """Whether to write pages, for the first repetitions."""
    ahead: bool
    """Whether runs may be taken long before they begin: which come next does not depend on time, or
    on how others end."""
    stop: threading.Event
    """No run begins once it is set, and running ones end as `interrupted`."""
    point_errors: tuple[type[Exception], ...]
    """Errors of these types fail the run; any other stops all runs and is raised."""

    def next(self) -> PlannedRun | None:
        """The next run; None if no other begins. Each that is taken is passed to `end` once."""

    def callback(self, run: PlannedRun) -> Callback:
        """Shows the progress of a run; raises `KeyboardInterrupt` when `stop` is set."""

    def end(self, run: PlannedRun, ending: RunEnd) -> None:
        """A run has ended."""

    def note(self, text: str) -> None:
        """The status of the runner, shown next to the progress."""

    def interrupt(self) -> None:
        """Ctrl-C ends it: sets `stop`."""


class Runner(Protocol):
    """Executes runs. The results of a run do not depend on the runner."""

    @property
    def local_jobs(self) -> int:
        """How many of its runs are executed at a time on this machine; 0: they run elsewhere."""

    def run(self, work: Work) -> None:
        """Execute all runs of `work`. Returns when none is running; raises an error of one."""


@dataclass(frozen=True)
class Threads:
    """Threads here, which stop together. A thread waits for the process of its run, if any.

    A run has its own process if it has policies in Python, or with `apart`. The others share the
    traces that they read.
    """

    jobs: int
    """Runs at a time."""
    apart: bool = False

    @property
    def local_jobs(self) -> int:
        """All of them."""
        return self.jobs

    def run(self, work: Work) -> None:
        """Execute all runs of `work`, `jobs` at a time."""
        threads: list[Future[None]] = []
        running = _Running()
        traces = _core.Traces(memory.traces_bytes(memory.available() or 0))
        starts = StartStates()
        pool = ThreadPoolExecutor(self.jobs, thread_name_prefix="run")
        with closing(starts), pool, waiting_for(threads, work):
            threads.extend(
                pool.submit(self._work, work, running, traces, starts) for _ in range(self.jobs)
            )
        # An interrupt within `submit` leaves a thread that the pool does not wait for.
        running.wait()
        for thread in threads:
            thread.result()

    def _work(
        self, work: Work, running: _Running, traces: _core.Traces, starts: StartStates
    ) -> None:
        while True:
            with running.ended:
                run = work.next()
                if run is None:
                    return
                running.number += 1
            try:
                work.end(run, self.execute(run, work, traces, starts))
            finally:
                running.finish()

    def execute(
        self, run: PlannedRun, work: Work, traces: _core.Traces, starts: StartStates
    ) -> RunEnd:
        """Execute a run in its own thread."""
        return execute_run(run, work, self.apart, traces, starts)


class _Running:
    """The number of runs in progress."""

    def __init__(self) -> None:
        self.number = 0
        self.ended = threading.Condition()

    def finish(self) -> None:
        with self.ended:
            self.number -= 1
            self.ended.notify_all()

    def wait(self) -> None:
        with self.ended:
            self.ended.wait_for(lambda: self.number == 0)


@contextmanager
def waiting_for(threads: list[Future[None]], work: Work) -> Iterator[None]:
    """Wait at the end for the threads that were started. Ctrl-C and errors stop `work`."""
    try:
        yield
        _wait(threads, work.stop)
    except KeyboardInterrupt:
        work.interrupt()
        _wait(threads, work.stop)
    finally:
        work.stop.set()


def _wait(threads: list[Future[None]], stop: threading.Event) -> None:
    running: set[Future[None]] = {*threads}
    while running and not stop.is_set():
        # The system may deliver a signal to any thread, but only this one acts on it.
        _, running = wait(running, SIGNALS_S, FIRST_EXCEPTION)
        if any(thread.done() and thread.exception() is not None for thread in threads):
            stop.set()
    wait(threads)


def execute_run(
    run: PlannedRun,
    work: Work,
    apart: bool = False,
    traces: _core.Traces | None = None,
    starts: StartStates | None = None,
) -> RunEnd:
    """Execute a run of `work` here, in this thread or, with `apart`, in its own process.

    `starts`: the start states that it may share with other runs.
    """
    try:
        return RunEnd("completed", _report_of(run, work, apart, traces, starts))
    except Interrupted as interruption:
        return RunEnd("interrupted", interruption.report)
    except RunError as failure:
        cause = failure.__cause__
        text = "" if cause is None else str(cause)
        return RunEnd("failed", failure.report, str(failure), text)
    except (Died, *work.point_errors) as error:  # type: ignore[misc]  # several kinds
        if work.folder is not None:
            remove_stale(work.folder / run.folder)
        return RunEnd("failed", None, str(error), error=error)


def place_of(run: PlannedRun, folder: Path) -> Path:
    """Where the files of a run go in the common folder."""
    place = folder / run.folder
    if run.place is not None and (place / REPORT).exists():
        shutil.rmtree(place)  # of another version or configuration, or damaged
    return place


def _report_of(
    run: PlannedRun,
    work: Work,
    apart: bool,
    traces: _core.Traces | None,
    starts: StartStates | None,
) -> Report:
    out = None if work.folder is None else place_of(run, work.folder)
    callback, html = work.callback(run), work.html and run.first
    if run.policies:
        return run_apart(run.config, run.policies, callback, work.stop, out=out, html=html)
    state = starts.state_for(run.config, run.shares_start) if starts else None
    connection = state.connect(callback, work.stop) if state else None
    if connection:
        return run_from(connection, run.config, callback, work.stop, out=out, html=html)
    if apart:
        return run_apart(run.config, b"", callback, work.stop, out=out, html=html)
    return run_loaded(run.config, callback, out=out, html=html, traces=traces)


def cores() -> int:
    """Processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def threads_of(jobs: int | None, runs: int) -> int:
    """How many runs execute at a time: `jobs`, or one per core. Raises `ConfigError`."""
    if jobs is not None and jobs < 1:
        raise ConfigError([f"{argument(jobs=jobs)}: expected at least 1"])
    return max(1, min(jobs or cores(), runs))
