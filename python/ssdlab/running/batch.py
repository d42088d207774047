"""Many runs at once, on threads that stop together: the simulator releases the interpreter.

Policies in Python need the interpreter, so their runs get their own processes (`processes`).
"""

from __future__ import annotations

import os
import shutil
import sys
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ssdlab.config.resolve import Config
from ssdlab.display.argument import argument
from ssdlab.display.numbers import Value
from ssdlab.display.progress import MOST_BARS, Callback, Display, display
from ssdlab.errors import ConfigError, Interrupted, RunError
from ssdlab.results.comparison import run_folder
from ssdlab.results.folder import remove_stale
from ssdlab.results.report import REPORT, Report
from ssdlab.running.processes import Died, run_apart
from ssdlab.running.simulate import run_loaded

SIGNALS_S = 0.2
"""So often the main thread looks for signals."""


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
    varied: tuple[tuple[str, Value], ...] = ()
    """The keys that are varied, and their values in this run."""

    @property
    def title(self) -> str:
        """What it is called in messages."""
        return self.label if self.seed is None else f"{self.label}, seed {self.seed}"

    @property
    def folder(self) -> Path:
        """Where its files are in the folder of all."""
        return self.place or run_folder(self.label, self.seed)


@dataclass(frozen=True)
class Ended:
    """How a run ended."""

    how: Literal["completed", "failed", "interrupted"]
    report: Report | None = None
    """Its report, as far as it got; None: there is nothing to report."""
    why: str = ""
    """Why it failed."""
    traceback: str = ""
    """Of the policy that made it fail."""


Take = Callable[[Planned, Ended], object]
"""Called in the thread of a run when that has ended."""


class Batch:
    """Runs on threads that stop together; a thread waits for the process of its run, if any.

    The next run is taken from `planned` when a thread is free for it. With `folder` every run
    writes its files there, with pages if `html`. Errors of the kinds `point_errors` fail the run;
    any other stops all of them and is raised. With `total`, their number, one line shows the
    progress of all, called `name`; each has its own only if they are few.
    """

    def __init__(
        self,
        planned: Iterable[Planned],
        take: Take,
        folder: Path | None = None,
        *,
        html: bool = False,
        point_errors: tuple[type[Exception], ...] = (),
        name: str = "",
        total: int | None = None,
    ) -> None:
        self.waiting = iter(planned)
        self.take = take
        self.folder = folder
        self.html = html
        self.point_errors: tuple[type[Exception], ...] = (Died, *point_errors)
        self.name, self.total = name, total
        self.alone = total is None or total <= MOST_BARS
        """Every run has a line of its own."""
        self.all_of_them: Callback | None = None
        self.display: Display | None = None
        self.done = 0
        self.stop = threading.Event()
        self.running = 0
        self.ended = threading.Condition()
        """Guards `running` and `waiting`; notified when a run ends."""
        self.interrupted = False
        self.tracebacks: dict[str, str] = {}
        """Of policies that made runs fail, one for each message."""

    def run(self, jobs: int, progress: bool) -> None:
        """All of them, `jobs` at a time, with their progress on the terminal."""
        with ExitStack() as stack:
            self.display = stack.enter_context(display()) if progress else None
            if self.display and self.total is not None:
                self.all_of_them = self.display.run(self.name)
                self.all_of_them("sweep", 0, self.total)
            self.run_displayed(jobs)
        for text in self.tracebacks.values():
            print(text, end="", file=sys.stderr, flush=True)

    def run_displayed(self, jobs: int) -> None:
        """The same, on the `display` that there is."""
        threads: list[Future[None]] = []
        with ThreadPoolExecutor(jobs, thread_name_prefix="run") as pool:
            try:
                threads.extend(pool.submit(self._work) for _ in range(jobs))
                self._wait(threads)
            except KeyboardInterrupt:
                self.interrupted = True
                self.stop.set()
                self._wait(threads)
            finally:
                self.stop.set()
        # An interrupt within `submit` leaves a thread that the pool does not wait for.
        with self.ended:
            self.ended.wait_for(lambda: self.running == 0)
        for thread in threads:
            thread.result()

    def _wait(self, threads: list[Future[None]]) -> None:
        going: set[Future[None]] = {*threads}
        while going and not self.stop.is_set():
            # The system may give a signal to any thread, and only this one acts on it.
            _, going = wait(going, SIGNALS_S, FIRST_EXCEPTION)
            if any(one.done() and one.exception() is not None for one in threads):
                self.stop.set()
        wait(threads)

    def _work(self) -> None:
        while True:
            with self.ended:
                one = None if self.stop.is_set() else next(self.waiting, None)
                if one is None:
                    return
                self.running += 1
            try:
                self._run_one(one)
            finally:
                with self.ended:
                    self.running -= 1
                    self.ended.notify_all()

    def _run_one(self, one: Planned) -> None:
        try:
            ended = Ended("completed", self._report_of(one))
        except Interrupted as stopped:
            ended = Ended("interrupted", stopped.report)
        except RunError as failed:
            cause = failed.__cause__
            text = "" if cause is None else str(cause)
            ended = Ended("failed", failed.report, str(failed), text)
        except self.point_errors as error:
            ended = Ended("failed", None, str(error))
            if self.folder is not None:
                remove_stale(self.folder / one.folder)
        if ended.traceback:
            self.tracebacks.setdefault(ended.why, ended.traceback)
        self.take(one, ended)
        if self.display and self.alone:
            self.display.end(one.title, ended.how)
        if self.all_of_them:
            with self.ended:
                self.done += 1
                self.all_of_them("sweep", self.done, self.total)

    def _callback(self, label: str) -> Callback:
        show: Callback | None = self.display.run(label) if self.display and self.alone else None

        def progress(stage: str, done: int, total: int | None) -> None:
            if self.stop.is_set():
                raise KeyboardInterrupt
            if show:
                show(stage, done, total)

        return progress

    def _report_of(self, one: Planned) -> Report:
        out = None if self.folder is None else self.folder / one.folder
        if one.place is not None and out is not None and (out / REPORT).exists():
            shutil.rmtree(out)  # of another version or configuration, or damaged
        callback, html = self._callback(one.title), self.html and one.first
        if one.policies:
            return run_apart(one.config, one.policies, callback, self.stop, out=out, html=html)
        return run_loaded(one.config, callback, out=out, html=html)


def cores() -> int:
    """Processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def threads_of(jobs: int | None, runs: int) -> int:
    """How many runs go on at a time: `jobs`, or one per core. Raises `ConfigError`."""
    if jobs is not None and jobs < 1:
        raise ConfigError([f"{argument(jobs=jobs)}: expected at least 1"])
    return max(1, min(jobs or cores(), runs))


def missing_traces(names: Iterable[object]) -> list[str]:
    """The traces among `names` that are not there, each once; None and `-` name no file."""
    wanted = dict.fromkeys(str(name) for name in names if name not in (None, "-"))
    return [name for name in wanted if not Path(name).exists()]
