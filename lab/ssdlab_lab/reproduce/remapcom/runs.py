"""The runs of remapcom's reproduction: each is executed once, and stored as a file."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeAlias

from ssdlab.config.resolve import load_config
from ssdlab.kv.comparison import end_of
from ssdlab.kv.simulation import simulate
from ssdlab.results import outputs
from ssdlab.running.batch import Batch
from ssdlab.running.runner import PlannedRun, RunEnd, Threads, Work, cores
from ssdlab.versions import described
from ssdlab_lab.reproduce.remapcom import choices

RUNS = "runs"
"""Folder of the files of runs."""
Numbers: TypeAlias = "Mapping[str, Any]"
"""The stored results of a run."""


@dataclass(frozen=True, order=True)
class Run:
    """One simulation."""

    workload: str
    value_bytes: int
    line: str
    seed: int
    variation: str = ""

    @property
    def title(self) -> str:
        """Its name in words."""
        parts = (self.workload, f"{self.value_bytes} B", self.line, self.variation)
        return ", ".join([*filter(None, parts), f"seed {self.seed}"])

    def settings(self, quick: bool) -> tuple[dict[str, object], dict[str, object]]:
        """Host settings, and keys of the drive."""
        others = {**choices.FITTING, **choices.LIMITS}
        host, drive = choices.VARIATIONS.get(self.variation, (others.get(self.variation, {}), {}))
        if choices.LINES[self.line] == "off":
            host = {name: value for name, value in host.items() if name != "store.pages_per_block"}
        base = choices.host(self.workload, self.value_bytes, quick)
        return {**base, **host}, {**choices.drive(quick), **drive}

    def file(self, folder: Path, quick: bool) -> Path:
        """The file of its numbers; another version or other settings have another file."""
        identity = json.dumps([described(), self.title, *self.settings(quick)])
        return folder / RUNS / f"{sha256(identity.encode()).hexdigest()[:20]}.json"

    def stored(self, folder: Path, quick: bool) -> Numbers | None:
        """Its numbers, if it has been executed."""
        try:
            numbers = json.loads(self.file(folder, quick).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return numbers if isinstance(numbers, dict) else None


def planned(quick: bool, workloads: Sequence[str]) -> list[Run]:
    """All runs, in the order of execution."""
    seeds = choices.QUICK_SEEDS if quick else choices.SEEDS
    main = [
        Run(workload, size, line, seed)
        for workload in workloads
        for size in choices.SIZES
        # Its keys and their order are the same under every seed.
        for seed in (seeds[:1] if workload == "load" else seeds)
        for line in choices.LINES
    ]
    read = [name for name in choices.READ_WORKLOADS if name in workloads and not quick]
    varied = [*_varied(quick)] if "load" in workloads else []
    return [*main, *varied, *_read(read), *([] if quick else _fitting(workloads))]


def _fitting(workloads: Sequence[str]) -> Iterator[Run]:
    """Pairs that fit their pages: the lines of published gains, and the limits of retention."""
    seed = choices.SEEDS[0]
    for name in choices.FITTING:
        for workload in workloads:
            for size in choices.FITTING_SIZES:
                for line in ("stock", "base", "full"):
                    # Base has published gains of two workloads.
                    if line != "base" or workload in ("load", "c"):
                        yield Run(workload, size, line, seed, name)
    if "load" in workloads:
        for name in choices.LIMITS:
            yield Run("load", choices.LIMITED_SIZE, "full", seed, name)


def _read(workloads: Sequence[str]) -> Iterator[Run]:
    for workload in workloads:
        for size in choices.SIZES:
            for name in choices.READINGS:
                for line in choices.READ_LINES:
                    yield Run(workload, size, line, choices.SEEDS[0], name)


def _varied(quick: bool) -> Iterator[Run]:
    for line in choices.LINES:
        yield Run("load", choices.PAGE_SIZE, line, choices.SEEDS[0])
    if quick:
        return
    for name in choices.VARIATIONS:
        for size in choices.VARIED_SIZES:
            for line in choices.VARIED_LINES:
                yield Run("load", size, line, choices.SEEDS[0], name)


def _numbers(report: Mapping[str, Any]) -> Numbers:
    """The stored part of a report; speed and reads are those of its last phase, its namesake."""
    phase = report["phases"][-1]
    return {
        "operations_per_s": phase["operations_per_s"],
        "write_amplification": report["total"]["write_amplification"],
        "pages_read": sum(phase["pages_read"].values()),
        "pages_copied": sum(phase["pages_copied"].values()),
        "levels": report["store"]["levels"],
        "space": report["space"],
        "digest": report["digest"],
        "copies": (report["drive"].get("remap") or {}).get("commands", 0),
    }


@dataclass(frozen=True)
class RunResults:
    """What came of the runs."""

    numbers: Mapping[Run, Numbers]
    failures: Mapping[str, str]
    interrupted: bool


def make(
    requested: Sequence[Run], folder: Path, quick: bool, jobs: int | None, progress: bool
) -> RunResults:
    """Execute the runs that `folder` does not have. Ctrl-C keeps those that have ended."""
    numbers = {
        run: stored for run in requested if (stored := run.stored(folder, quick)) is not None
    }
    pending = [run for run in requested if run not in numbers]
    failures: dict[str, str] = {}
    (folder / RUNS).mkdir(parents=True, exist_ok=True)

    def take(plan: PlannedRun, ended: RunEnd) -> None:
        if ended.how == "completed":
            numbers[plan.key] = plan.key.stored(folder, quick)
        elif ended.how == "failed":
            failures[plan.title] = ended.why

    drive = load_config(choices.NAME)
    batch = Batch((PlannedRun(run.title, drive, key=run) for run in pending), take)
    batch.run(_Simulations(jobs or cores(), folder=folder, quick=quick), progress and bool(pending))
    return RunResults(numbers, failures, batch.interrupted)


@dataclass(frozen=True)
class _Simulations(Threads):
    """Runs that also simulate the store, and save its numbers in `folder`."""

    folder: Path = Path()
    quick: bool = False

    def execute(self, planned: PlannedRun, work: Work, *_: object) -> RunEnd:
        """Make a run."""
        run: Run = planned.key
        (settings, keys), update = run.settings(self.quick), work.callback(planned)
        options: dict[str, Any] = {"remap": choices.LINES[run.line], "set": keys, "seed": run.seed}
        try:
            simulation = simulate(
                choices.NAME,
                f"ycsb-{run.workload}",
                settings=settings,
                progress=lambda done: update("workload", done, None),
                **options,
            )
        except KeyboardInterrupt:
            return RunEnd("interrupted")
        except RuntimeError as error:
            return RunEnd("failed", why=str(error))
        if simulation.completed:
            text = outputs.text(json.dumps(_numbers(simulation.report)) + "\n")
            outputs.write_all({run.file(self.folder, self.quick): text}, force=True)
        return end_of(simulation)
