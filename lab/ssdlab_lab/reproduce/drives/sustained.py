"""A sustained write: an empty drive is filled in order, and its rate over what has been written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from ssdlab.config.resolve import whole_word_lines, with_blocks_of
from ssdlab.drives.sustained import RATE, UNTIL, Figure, phases_of, value_of
from ssdlab.results.report import Report
from ssdlab_lab.reproduce.drives import choices
from ssdlab_lab.reproduce.drives.known import Drive

Floats: TypeAlias = npt.NDArray[np.float64]
NAME = "sustained write"
GB, MB = 1e9, 1e6
NS = 1e-9


def capacity_gb(drive: Drive) -> float:
    """User capacity."""
    device = drive.config.values["device"]
    return float(device["user_pages"] * device["page_bytes"] / GB)


def published_seconds(drive: Drive) -> float:
    """How long the write takes by its published phases."""
    figures, seconds = drive.measured.sustained, 0.0
    for start, end, rate in steps(figures, capacity_gb(drive)):
        seconds += max(0.0, end - start) * GB / (rate * MB)
    return seconds


def steps(figures: Sequence[Figure], capacity: float) -> list[tuple[float, float, float]]:
    """Start and end (GB) and rate (MB/s) of every phase."""
    found, start = [], 0.0
    for phase in range(1, phases_of(figures) + 1):
        end, rate = value_of(figures, UNTIL, phase) or capacity, value_of(figures, RATE, phase)
        assert rate is not None, "the rows have been checked"
        found.append((start, end, rate))
        start = end
    return found


def keys(drive: Drive, quick: bool) -> tuple[dict[str, object], dict[str, object]]:
    """Device and requests of the run."""
    scale = choices.QUICK_SUSTAINED_SCALE if quick else choices.SUSTAINED_SCALE
    full = drive.config["device.pages_per_block"]
    pages = whole_word_lines(full // scale, drive.config)
    seconds = published_seconds(drive) * pages / full
    device = {
        **with_blocks_of(pages, drive.config),
        "precondition.steady_state": "none",
        "precondition.fill": 0.0,
        "precondition.overwrite": 0,
        "metrics.interval": f"{round(seconds / choices.SAMPLES / NS)} ns",
    }
    user = int(drive.config["device.user_pages"] * pages / full)
    page_bytes = drive.config["device.page_bytes"]
    return device, {
        "host.mode": "closed",
        "host.queue_depth": 1,
        "workload.kind": "sequential",
        "workload.read": 0.0,
        "workload.size": f"{choices.SUSTAINED_BYTES} B",
        "workload.requests": user * page_bytes // choices.SUSTAINED_BYTES,
    }


@dataclass(frozen=True)
class Course:
    """A simulated write, at the size of the drive."""

    written: Floats
    """GB at the end of each part of it; the parts are equal."""
    seconds: Floats
    """When each part has been written."""
    ends: tuple[int, ...]
    """The last part of every phase."""

    @property
    def rates(self) -> Floats:
        """MB/s of each part."""
        return np.diff(self.written, prepend=0.0) * GB / MB / np.diff(self.seconds, prepend=0.0)

    @property
    def whole(self) -> float:
        """MB/s of the whole write."""
        return float(self.written[-1] * GB / MB / self.seconds[-1])

    def value(self, figure: Figure) -> float:
        """What is simulated of a published figure."""
        if figure.phase == 0:
            return self.whole
        end = self.ends[figure.phase - 1]
        if figure.column == UNTIL:
            return float(self.written[end])
        start = self.ends[figure.phase - 2] + 1 if figure.phase > 1 else 0
        volumes, times = (np.append(0.0, values) for values in (self.written, self.seconds))
        volume, time = (values[end + 1] - values[start] for values in (volumes, times))
        return float(volume * GB / MB / time)

    def shown(self, parts: int) -> Course:
        """The same as one phase, in parts that are each as long as `parts` of these."""
        written, seconds = self.written[parts - 1 :: parts], self.seconds[parts - 1 :: parts]
        return Course(written, seconds, (len(written) - 1,))

    def figures(self, published: Sequence[Figure]) -> list[Figure]:
        """What is simulated of published figures."""
        return [replace(figure, value=self.value(figure)) for figure in published]


def course(drive: Drive, report: Report) -> Course:
    """The course of a run, cut into as many phases as were published."""
    series = report.series
    pages = np.append(0, series["host_pages_written"]).astype(np.float64)
    times = np.append(0, series["time_ns"]).astype(np.float64) * NS
    # What the drive does after the last page has been written belongs to no phase.
    count = int(np.argmax(pages)) + 1
    pages, times = pages[:count], times[:count]
    full = capacity_gb(drive)
    # The run has the rates of the drive, so its volumes and its times are smaller alike.
    larger = full * GB / (report.config["device.user_pages"] * report.config["device.page_bytes"])
    share = pages[-1] / report.config["device.user_pages"]
    written = np.linspace(0.0, full * share, choices.PARTS + 1)[1:]
    seconds = np.interp(written, pages / pages[-1] * full * share, times * larger)
    return Course(
        written, seconds, phase_ends(written, seconds, phases_of(drive.measured.sustained))
    )


def phase_ends(written: Floats, seconds: Floats, phases: int) -> tuple[int, ...]:
    """The last parts of the phases in which logarithms of the rates differ least from their mean.

    That is the least sum of squares, whatever the published rates are.
    """
    logs = np.log(np.diff(written, prepend=0.0) / np.diff(seconds, prepend=0.0))
    sums, squares = (np.append(0.0, np.cumsum(values)) for values in (logs, logs**2))
    count = len(logs)

    def cost(first: npt.NDArray[np.int64], end: int) -> Floats:
        total = sums[end] - sums[first]
        return np.asarray(squares[end] - squares[first] - total**2 / (end - first))

    starts = np.arange(count + 1)
    best = np.array([0.0, *(cost(starts[:1], end)[0] for end in range(1, count + 1))])
    best[0] = np.inf  # A phase has at least one part.
    cuts: list[npt.NDArray[np.int64]] = []
    for _ in range(phases - 1):
        previous, best = best, np.full(count + 1, np.inf)
        cut = np.zeros(count + 1, dtype=np.int64)
        for end in range(1, count + 1):
            costs = previous[:end] + cost(starts[:end], end)
            cut[end] = np.argmin(costs)
            best[end] = costs[cut[end]]
        cuts.append(cut)
    ends = [count]
    for cut in reversed(cuts):
        ends.append(int(cut[ends[-1]]))
    return tuple(end - 1 for end in reversed(ends))


@dataclass(frozen=True)
class FigureLine:
    """A published figure beside a simulated one."""

    figure: Figure
    simulated: float | None

    @property
    def error(self) -> float | None:
        """Relative error."""
        return None if self.simulated is None else self.simulated / self.figure.value - 1


def figure_lines(drive: Drive, course_: Course | None) -> list[FigureLine]:
    """All figures of the sustained write of a drive."""
    return [
        FigureLine(figure, None if course_ is None else course_.value(figure))
        for figure in drive.measured.sustained
    ]


def prediction_errors(lines: Sequence[FigureLine]) -> Mapping[str, float | None]:
    """The errors of the mean rate, and of the ends of phases, that were not fitted."""
    predicted = [line for line in lines if not line.figure.fitted and line.error is not None]
    ends = [line.error for line in predicted if line.figure.column == UNTIL]
    means = [line.error for line in predicted if line.figure.phase == 0]
    return {
        "sustained": means[0] if means else None,
        "folding": max((error for error in ends if error is not None), key=abs, default=None),
    }
