"""Many runs: which comes next, their progress, and how each ended. A `Runner` executes them."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path

from ssdlab.display.progress import MOST_BARS, Callback, Display, display
from ssdlab.running.runner import PlannedRun, RunCallback, RunEnd, Runner


@dataclass(eq=False)
class Batch:
    """Runs for a `Runner`, which takes the next one from `planned` when it has room for it."""

    planned: Iterable[PlannedRun]
    take: RunCallback
    folder: Path | None = None
    """Every run writes its files there, with pages if `html`."""
    _: KW_ONLY
    html: bool = False
    ahead: bool = False
    """Whether the next run depends neither on time nor on how others end."""
    point_errors: tuple[type[Exception], ...] = ()
    """Errors of these types fail the run; any other stops all runs and is raised."""
    name: str = ""
    noun: str = ""
    total: int | None = None
    """The number of runs: one line shows the progress of all, called `name` and `noun`. Each has
    its own only if they are few."""
    tell: Callable[[str], object] | None = None
    """Gets the runner's status if the progress of this batch is not shown."""
    interrupted: bool = field(default=False, init=False)
    first_error: Exception | None = field(default=None, init=False)
    """The first error of `point_errors`."""

    def __post_init__(self) -> None:
        self.pending = iter(self.planned)
        self.has_lines = self.total is None or self.total <= MOST_BARS
        """Whether every run has its own line."""
        self.total_progress: Callback | None = None
        self.display: Display | None = None
        self.last_note = ""
        self.done_count = 0
        self.stop = threading.Event()
        self.lock = threading.Lock()
        """Guards `pending` and `done_count`."""
        self.tracebacks: dict[str, str] = {}
        """Tracebacks of policies that made runs fail, one for each message."""

    def run(self, runner: Runner, progress: bool) -> None:
        """Execute all runs, with their progress on the terminal."""
        with ExitStack() as stack:
            self.display = stack.enter_context(display()) if progress else None
            if self.display and self.total is not None:
                self.total_progress = self.display.run(self.name)
                self.total_progress(self.noun, 0, self.total)
            runner.run(self)
        for text in self.tracebacks.values():
            print(text, end="", file=sys.stderr, flush=True)

    def next(self) -> PlannedRun | None:
        """The next run; None if no other begins."""
        with self.lock:
            return None if self.stop.is_set() else next(self.pending, None)

    def interrupt(self) -> None:
        """Begin no further run, because of Ctrl-C."""
        self.interrupted = True
        self.stop.set()

    def callback(self, run: PlannedRun) -> Callback:
        """Shows the progress of a run; raises `KeyboardInterrupt` when `stop` is set."""
        show = self.display.run(run.title) if self.display and self.has_lines else None

        def progress(stage: str, done: int, total: int | None) -> None:
            if self.stop.is_set():
                raise KeyboardInterrupt
            if show:
                show(stage, done, total)

        return progress

    def end(self, run: PlannedRun, ending: RunEnd) -> None:
        """A run has ended."""
        if ending.traceback:
            self.tracebacks.setdefault(ending.why, ending.traceback)
        if isinstance(ending.error, self.point_errors):
            self.first_error = self.first_error or ending.error
        self.take(run, ending)
        if self.display and self.has_lines:
            self.display.end(run.title, ending.how)
        if self.total_progress:
            with self.lock:
                self.done_count += 1
                self.total_progress(self.noun, self.done_count, self.total)

    def note(self, text: str) -> None:
        """Show what the runner does."""
        if self.tell:
            self.tell(text)
        if self.display and text != self.last_note:
            if self.total_progress is None:
                self.name = self.name or "workers"
                self.total_progress = self.display.run(self.name)
            self.last_note = text
            self.display.note(self.name, text)
