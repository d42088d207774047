"""`ssdlab reproduce combined`: run the study and write its results.

Five parts, one after the other: what the conventional line sustains, from which arrival rates
follow; every line at every order and live share; the answers chosen from that, together; a sweep of
the load up to a closed loop; recorded traces.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ssdlab.running.on import runner_of
from ssdlab.running.runner import Runner
from ssdlab_lab.reproduce.calibration import AS_RUN, Arrivals, calibration_of, entry_name
from ssdlab_lab.reproduce.combined.choices import (
    AT_70,
    BASE,
    DEPTH,
    DEVICE,
    DIVISOR,
    FIXED,
    FLOOR,
    LOAD,
    LOADS,
    NAME,
    ORDERS,
    PROPOSALS,
    QUESTIONS,
    QUICK_DIVISOR,
    QUICK_SEEDS,
    RECORDED_DIVISOR,
    SWEPT,
    SWEPT_LIVE,
    SWEPT_ORDERS,
    TOGETHER,
    UNCOLLECTED,
    WARMUP,
    WRITTEN,
    Keys,
)
from ssdlab_lab.reproduce.combined.choices import RECORDED as RECORDED_NAMES
from ssdlab_lab.reproduce.combined.outcome import (
    CLOSED,
    RECORDED,
    THROUGHPUT,
    USUAL,
    CombinedOutcome,
    Numbers,
    Point,
    Setting,
    chosen,
    numbers_of,
)
from ssdlab_lab.reproduce.command import (
    recorded_traces,
    run_cells,
    write_results,
)
from ssdlab_lab.reproduce.folders import FolderProperties, check_folder, folder_of
from ssdlab_lab.reproduce.matrix import Cell, Scheme, Workload
from ssdlab_lab.reproduce.paper import QUICK, Recording, Scale, calibrated, fitting
from ssdlab_lab.reproduce.paper import recorded as of_trace
from ssdlab_lab.reproduce.papers.noc_copyback import paper as noc_copyback


def answers_of(line: str, together: Mapping[str, tuple[str, ...]], order: str) -> tuple[str, ...]:
    """The answers in which a line differs from the conventional one."""
    if line in (BASE, FLOOR):
        return ()
    return together[order] if line == TOGETHER else PROPOSALS.get(line, (line,))


def scheme_of(order: str, line: str, answers: Sequence[str], scale: Scale) -> Scheme:
    """The device with these answers."""
    keys: Keys = {**noc_copyback.FLASH.keys(scale), **DEVICE, **ORDERS[order]}
    for question in QUESTIONS.values():
        matches = [answer for answer in question if answer in answers]
        assert len(matches) <= 1, f"two answers to one question: {matches}"
        keys |= question[matches[0] if matches else next(iter(question))]
    if line == FLOOR:
        blocks = noc_copyback.FLASH.blocks // scale.divisor * UNCOLLECTED
        keys |= {"device.blocks_per_plane": blocks, **AT_70}
    preset = noc_copyback.PRESETS[noc_copyback.CONVENTIONAL]
    return Scheme(f"{line}, {order}", preset, keys)


def workload_of(name: str, live: float, load: float, rate: float | None, scale: Scale) -> Workload:
    """Requests of an application: arrivals at `load` of `rate`, or a closed loop without one."""
    calibration = calibration_of(noc_copyback.NAME)
    lives = replace(calibration.lifetimes[name], live=live, written=WRITTEN)
    cycle = calibration.entries[entry_name(QUICK, AS_RUN)].arrivals[name].cycle
    interval_us = 1.0 if rate is None else 1e6 / (rate * load)
    arrivals = Arrivals(cycle, interval_us, (None, None), (None, None))
    workload = calibrated(name, noc_copyback.PAPER, scale, lives, arrivals)
    requests = workload.keys["workload.requests"]
    assert isinstance(requests, int), "a number of requests"
    keys = {
        **workload.keys,
        "workload.warmup_requests": round(requests * WARMUP),
        "metrics.interval": "0 s",
    }
    if rate is None:
        keys |= {"host.mode": "closed", "host.queue_depth": DEPTH}
    title = f"{name}, {100 * live:.0f} % live, load {'closed' if rate is None else f'{load:g}'}"
    return Workload(title, "synthetic", keys)


@dataclass
class Study:
    """The runs, part by part."""

    scale: Scale
    folder: Path
    runner: Runner
    progress: bool
    done: CombinedOutcome
    values: dict[Point, Numbers] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)

    def run(self, title: str, points: Mapping[Point, Cell]) -> None:
        """Execute the runs, unless an earlier part was interrupted."""
        if self.done.interrupted:
            return
        if self.progress:
            print(title, file=sys.stderr)
        reports, failures, interrupted = run_cells(
            [*points.values()], self.folder, self.runner, self.progress
        )
        self.values |= {
            point: numbers_of(reports[cell]) for point, cell in points.items() if cell in reports
        }
        self.failures |= failures
        self.done = replace(self.done, interrupted=interrupted)

    def sustained(self) -> None:
        """Determine the rates to which loads refer."""
        seeds = QUICK_SEEDS
        points: dict[Point, Cell] = {}
        for name in self.done.workloads:
            for live in self.done.lives + ((SWEPT_LIVE,) if name in SWEPT else ()):
                work = workload_of(name, live, CLOSED, None, self.scale)
                scheme = scheme_of(USUAL, BASE, (), self.scale)
                for seed in seeds:
                    key = Point(Setting(USUAL, live, CLOSED), name, BASE, seed)
                    points[key] = Cell(work, scheme, seed)
        self.run("What the conventional line sustains", points)
        rates: dict[tuple[str, float], list[float]] = {}
        for point in points:
            rate = self.values.get(point, {}).get(THROUGHPUT)
            if rate is not None:
                rates.setdefault((point.workload, point.setting.live), []).append(rate)
        means = {
            point: statistics.fmean(values)
            for point, values in rates.items()
            if len(values) == len(seeds)
        }
        self.done = replace(self.done, rates=means)

    def lines(
        self, setting: Setting, names: Sequence[str], lines: Sequence[str]
    ) -> dict[Point, Cell]:
        """The runs of lines under one setting, as far as the rates are known."""
        points = {}
        for name in names:
            rate = self.done.rates.get((name, setting.live))
            if rate is None:
                continue
            arrival_rate = None if setting.load == CLOSED else rate
            work = workload_of(name, setting.live, setting.load, arrival_rate, self.scale)
            for line in lines:
                answers = answers_of(line, self.done.together, setting.order)
                scheme = scheme_of(setting.order, line, answers, self.scale)
                for seed in self.done.seeds:
                    points[Point(setting, name, line, seed)] = Cell(work, scheme, seed)
        return points

    def main(self) -> None:
        """Every line, then the answers chosen by them."""
        combinations = [(name, live) for live in self.done.lives for name in self.done.workloads]
        for index, (name, live) in enumerate(combinations):
            points: dict[Point, Cell] = {}
            for order in ORDERS:
                points |= self.lines(Setting(order, live), [name], [*FIXED, FLOOR])
            self.run(
                f"{name}, {100 * live:.0f} % live ({index + 1} of {len(combinations)})", points
            )
        self.done = replace(self.done, values=self.values)
        if not self.done.interrupted:
            self.done = replace(self.done, together=chosen(self.done))
        points = {}
        for order in self.done.together:
            for live in self.done.lives:
                points |= self.lines(Setting(order, live), self.done.workloads, [TOGETHER])
        self.run("The best answers together", points)

    def sweep(self) -> None:
        """Other loads, up to a closed loop."""
        loads = (*LOADS, CLOSED) if not self.done.quick else (LOADS[-1], CLOSED)
        loads = (*loads, LOAD) if SWEPT_LIVE not in self.done.lives else loads
        for load in loads:
            points: dict[Point, Cell] = {}
            for order in SWEPT_ORDERS:
                lines = [*FIXED, FLOOR, *([TOGETHER] if order in self.done.together else [])]
                points |= self.lines(Setting(order, SWEPT_LIVE, load), SWEPT, lines)
            self.run(f"Load {'of a closed loop' if load == CLOSED else f'{load:g}'}", points)

    def recordings(self, traces: Mapping[str, Recording]) -> None:
        """Recorded traces on a device that holds them all."""
        scale = Scale(quick=True, divide_by=RECORDED_DIVISOR)
        for name, trace in traces.items():
            workload = of_trace(name, trace, noc_copyback.FLASH, scale)
            work = replace(workload, keys={**workload.keys, "metrics.interval": "0 s"})
            points: dict[Point, Cell] = {}
            for order in ORDERS:
                extra = [TOGETHER] if order in self.done.together else []
                for line in (*FIXED, FLOOR, *extra):
                    answers = answers_of(line, self.done.together, order)
                    scheme = scheme_of(order, line, answers, scale)
                    points[Point(Setting(order, RECORDED), name, line, 1)] = Cell(work, scheme)
            self.run(f"Recorded requests of {name}", points)


def combined(
    *,
    quick: bool = False,
    traces: str | Path | None = None,
    jobs: int | None = None,
    on: str | None = None,
    out: str | Path | None = None,
    progress: bool = True,
) -> CombinedOutcome:
    """Run the study and write the tables into `out`.

    An interrupted run is resumed, as by `reproduce`, which raises the same exceptions.
    """
    folder = folder_of(NAME, quick, out)
    recordings, notes = ({}, []) if quick else recorded_traces(RECORDED_NAMES, traces)
    half = Scale(quick=True, divide_by=RECORDED_DIVISOR)
    recordings, omissions = fitting(recordings, noc_copyback.FLASH, half)
    begun = check_folder(folder, FolderProperties.of(NAME, quick, recordings))
    initial = CombinedOutcome({}, {}, {}, quick, [*notes, *omissions], begun, {}, False, folder)
    scale = Scale(quick=True, divide_by=QUICK_DIVISOR if quick else DIVISOR)
    with runner_of(on, jobs) as runner:
        study = Study(scale, folder, runner, progress, initial)
        study.sustained()
        study.main()
        study.sweep()
        study.recordings(recordings)
    outcome = replace(study.done, values=study.values, failures=study.failures)
    from ssdlab_lab.reproduce.combined.page import drawn, markdown, page, to_json

    write_results(folder, to_json(outcome), page(outcome), markdown(outcome), drawn(outcome))
    return outcome
