"""Progress of runs: bars on a terminal, lines in the cell of a notebook, sparse ones elsewhere."""

from __future__ import annotations

import html
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Protocol, TypeAlias

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskID,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from ssdlab.display.numbers import bandwidth, rate

Callback: TypeAlias = Callable[[str, int, int | None], object]
"""Called with the stage (a key of `UNITS`), the amount done, and the total."""

REDRAW_S = 0.1
LINE_S = 10.0
MOST_BARS = 12
"""If there are more runs, finished ones leave the screen to the others."""
UNITS = {
    "foreseeing": "requests",
    "precondition": "pages",
    "workload": "requests",
    "reading": "bytes",
    "sorting": "requests",
    "writing": "bytes",
    "sweep": "runs",
    "fleet": "runs",
    "volumes": "volumes",
}


def speed(per_second: float, stage: str) -> str:
    """The speed of a stage: `1.23 M requests/s`, `45.6 MiB/s`."""
    unit = UNITS.get(stage, "")
    return bandwidth(per_second) if unit == "bytes" else f"{rate(per_second)} {unit}/s"


class _RateColumn(ProgressColumn):
    def render(self, task: Task) -> Text:
        speed_ = task.finished_speed or task.speed
        text = speed(speed_, task.fields.get("stage", "")) if speed_ else ""
        return Text(text, style="progress.data.speed")


class Display(Protocol):
    """Shows several runs."""

    def run(self, label: str) -> Callback:
        """A callback that shows the progress of the run called `label`."""

    def end(self, label: str, outcome: str) -> None:
        """Note that the run called `label` has ended."""

    def note(self, label: str, text: str) -> None:
        """Show `text` next to the progress of `label`."""


class _Bars:
    def __init__(self, bars: Progress) -> None:
        self.bars = bars
        self.tasks: dict[str, TaskID] = {}

    def note(self, label: str, text: str) -> None:
        self.bars.update(self.tasks[label], description=f"{label}: {text}")

    def run(self, label: str) -> Callback:
        self.tasks[label] = task = self.bars.add_task(label, total=None, stage="")
        current_stage, last_redraw = "", 0.0

        def update(stage: str, amount: int, total: int | None) -> None:
            nonlocal current_stage, last_redraw
            now = time.monotonic()
            if stage != current_stage:
                name = label if stage == "workload" else f"{label}: {stage}"
                self.bars.reset(task, total=total, description=name, stage=stage)
            elif now - last_redraw < REDRAW_S and amount != total:
                return
            current_stage, last_redraw = stage, now
            self.bars.update(task, completed=amount, total=total)

        return update

    def end(self, label: str, outcome: str) -> None:
        task = self.tasks[label]
        if outcome == "completed" and len(self.tasks) > MOST_BARS:
            self.bars.update(task, visible=False)
        elif outcome == "completed":
            total = next(bar.total for bar in self.bars.tasks if bar.id == task)
            if total is not None:
                self.bars.update(task, completed=total)
        else:
            self.bars.update(task, description=f"{label}: {outcome}")


class _Lines:
    every_s = LINE_S

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.notes: dict[str, str] = {}

    def note(self, label: str, text: str) -> None:
        self.notes[label] = f", {text}"

    def _say(self, label: str, line: str) -> None:
        with self.lock:
            print(f"{label}: {line}", file=sys.stderr, flush=True)

    def run(self, label: str) -> Callback:
        stage_start = last_line = time.monotonic()
        current_stage = ""

        def update(stage: str, amount: int, total: int | None) -> None:
            nonlocal stage_start, last_line, current_stage
            now = time.monotonic()
            if stage != current_stage:
                current_stage, stage_start = stage, now
            if now - last_line < self.every_s or now == stage_start:
                return
            last_line = now
            per_second = amount / (now - stage_start)
            line = stage
            if amount:
                line += f" {amount:,} {UNITS.get(stage, '')}, {speed(per_second, stage)}"
            if total and per_second > 0:
                line += (
                    f", {100 * amount / total:.0f} %, {(total - amount) / per_second:.0f} s left"
                )
            self._say(label, line + self.notes.get(label, ""))

        return update

    def end(self, label: str, outcome: str) -> None:
        if outcome != "completed":
            self._say(label, outcome)


class _Cell(_Lines):
    """One output of a notebook's cell, rewritten: unlike rich's bars, it needs no widgets."""

    every_s = 2 * REDRAW_S

    def __init__(self) -> None:
        super().__init__()
        from IPython.display import display

        self.lines: dict[str, str] = {}
        self.output = display(self._content(), raw=True, display_id=True)  # type: ignore[no-untyped-call]

    def _content(self) -> dict[str, str]:
        text = "\n".join(f"{label}: {line}" for label, line in self.lines.items())
        return {"text/plain": text, "text/html": f"<pre>{html.escape(text)}</pre>" if text else ""}

    def _say(self, label: str, line: str) -> None:
        with self.lock:
            self.lines[label] = line
            self.output.update(self._content(), raw=True)

    def end(self, label: str, outcome: str) -> None:
        self._say(label, outcome)

    def clear(self) -> None:
        """Leave no trace in the notebook."""
        self.lines.clear()
        self.output.update(self._content(), raw=True)


def warn_before_run(notes: Iterable[str]) -> None:
    """Print on stderr what is worth knowing before a run begins; repetitions only once."""
    for note in dict.fromkeys(notes):
        print(f"ssdlab: warning: {note}", file=sys.stderr, flush=True)


@contextmanager
def display() -> Iterator[Display]:
    """Show progress on stderr, or in the cell of a notebook, while the context lasts."""
    console = Console(stderr=True)
    if console.is_jupyter:
        cell = _Cell()
        try:
            yield cell
        finally:
            cell.clear()
        return
    if not console.is_terminal:
        yield _Lines()
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        _RateColumn(),
        TimeRemainingColumn(compact=True),
    )
    with Progress(*columns, console=console, transient=True) as bars:
        yield _Bars(bars)


@contextmanager
def show_progress(label: str, progress: bool | Callback) -> Iterator[Callback | None]:
    """The callback for the progress of one piece of work called `label`, if any."""
    if progress is True:
        with display() as display_:
            yield display_.run(label)
    else:
        yield progress or None
