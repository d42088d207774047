"""Many runs: which comes next, their progress, and how each ended. A `Runner` makes them."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from pathlib import Path

from ssdlab.display.progress import MOST_BARS, Callback, Display, display
from ssdlab.running.runner import Ended, Planned, Runner, Take


class Batch:
    """Runs for a `Runner`, which takes the next one from `planned` when it has room for it.

    With `folder` every run writes its files there, with pages if `html`. Errors of the kinds
    `point_errors` fail the run; any other stops all of them and is raised. With `total`, their
    number, one line shows the progress of all, called `name` and `noun`; each has its own only if
    they are few. `ahead`: which run comes next depends neither on time nor on how others end.
    `note` gets what the runner does, where the progress of this batch is not shown.
    """

    def __init__(
        self,
        planned: Iterable[Planned],
        take: Take,
        folder: Path | None = None,
        *,
        html: bool = False,
        ahead: bool = False,
        point_errors: tuple[type[Exception], ...] = (),
        name: str = "",
        total: int | None = None,
        noun: str = "",
        note: Callable[[str], object] | None = None,
    ) -> None:
        self.waiting = iter(planned)
        self.take = take
        self.folder = folder
        self.html = html
        self.ahead = ahead
        self.point_errors = point_errors
        self.name, self.total, self.noun = name, total, noun
        self.alone = total is None or total <= MOST_BARS
        """Every run has a line of its own."""
        self.all_of_them: Callback | None = None
        self.display: Display | None = None
        self.noted = ""
        self.note_elsewhere = note
        self.done = 0
        self.stop = threading.Event()
        self.lock = threading.Lock()
        """Guards `waiting` and `done`."""
        self.interrupted = False
        self.refused: Exception | None = None
        """The first error of `point_errors`."""
        self.tracebacks: dict[str, str] = {}
        """Of policies that made runs fail, one for each message."""

    def run(self, runner: Runner, progress: bool) -> None:
        """All of them, with their progress on the terminal."""
        with ExitStack() as stack:
            self.display = stack.enter_context(display()) if progress else None
            if self.display and self.total is not None:
                self.all_of_them = self.display.run(self.name)
                self.all_of_them(self.noun, 0, self.total)
            runner.run(self)
        for text in self.tracebacks.values():
            print(text, end="", file=sys.stderr, flush=True)

    def next(self) -> Planned | None:
        """The next run; None if no other begins."""
        with self.lock:
            return None if self.stop.is_set() else next(self.waiting, None)

    def interrupt(self) -> None:
        """No further run begins, because of Ctrl-C."""
        self.interrupted = True
        self.stop.set()

    def callback(self, one: Planned) -> Callback:
        """Shows the progress of a run; raises `KeyboardInterrupt` when `stop` is set."""
        show = self.display.run(one.title) if self.display and self.alone else None

        def progress(stage: str, done: int, total: int | None) -> None:
            if self.stop.is_set():
                raise KeyboardInterrupt
            if show:
                show(stage, done, total)

        return progress

    def end(self, one: Planned, ended: Ended) -> None:
        """A run has ended."""
        if ended.traceback:
            self.tracebacks.setdefault(ended.why, ended.traceback)
        if isinstance(ended.error, self.point_errors):
            self.refused = self.refused or ended.error
        self.take(one, ended)
        if self.display and self.alone:
            self.display.end(one.title, ended.how)
        if self.all_of_them:
            with self.lock:
                self.done += 1
                self.all_of_them(self.noun, self.done, self.total)

    def note(self, text: str) -> None:
        """Show what the runner does."""
        if self.note_elsewhere:
            self.note_elsewhere(text)
        if self.display and text != self.noted:
            if self.all_of_them is None:
                self.name = self.name or "workers"
                self.all_of_them = self.display.run(self.name)
            self.noted = text
            self.display.note(self.name, text)
