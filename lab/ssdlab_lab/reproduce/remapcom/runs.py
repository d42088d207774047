"""The runs of remapcom's reproduction: each is made once, and kept as a file."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeAlias

from ssdlab.display.progress import display
from ssdlab.kv.simulation import simulate
from ssdlab.results import outputs
from ssdlab.running.runner import cores
from ssdlab.versions import described
from ssdlab_lab.reproduce.remapcom import choices

RUNS = "runs"
"""Folder of the files of runs."""
Numbers: TypeAlias = "Mapping[str, Any]"
"""What is kept of a run."""


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
        host, drive = choices.VARIATIONS.get(self.variation, ({}, {}))
        if choices.LINES[self.line] == "off":
            host = {name: value for name, value in host.items() if name != "store.pages_per_block"}
        own = choices.host(self.workload, self.value_bytes, quick)
        return {**own, **host}, {**choices.drive(quick), **drive}

    def file(self, folder: Path, quick: bool) -> Path:
        """Where its numbers are kept; another version or other settings have another file."""
        said = json.dumps([described(), self.title, *self.settings(quick)])
        return folder / RUNS / f"{sha256(said.encode()).hexdigest()[:20]}.json"

    def stored(self, folder: Path, quick: bool) -> Numbers | None:
        """Its numbers, if it has been made."""
        try:
            numbers = json.loads(self.file(folder, quick).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return numbers if isinstance(numbers, dict) else None


def planned(quick: bool, workloads: Sequence[str]) -> list[Run]:
    """All runs, in the order in which they are made."""
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
    return main + (list(_varied(quick)) if "load" in workloads else []) + list(_read(read))


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
    """What is kept of a report; speed and reads of its last phase, which the run is named for."""
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


class _Ended(Exception):
    """The user has ended the reproduction."""


@dataclass(frozen=True)
class Made:
    """What came of the runs."""

    numbers: Mapping[Run, Numbers]
    failures: Mapping[str, str]
    interrupted: bool


def make(
    wanted: Sequence[Run], folder: Path, quick: bool, jobs: int | None, progress: bool
) -> Made:
    """Make the runs that `folder` does not hold. Ctrl-C keeps those that have ended."""
    numbers = {run: kept for run in wanted if (kept := run.stored(folder, quick)) is not None}
    missing = [run for run in wanted if run not in numbers]
    failures: dict[str, str] = {}
    ended = threading.Event()
    (folder / RUNS).mkdir(parents=True, exist_ok=True)

    def one(run: Run, shown: Any) -> Numbers:  # noqa: ANN401 - a display or none
        host, drive = run.settings(quick)
        update = shown.run(run.title) if shown else None

        def heard(done: int) -> None:
            if ended.is_set():
                raise _Ended
            if update:
                update("workload", done, None)

        if ended.is_set():
            raise _Ended
        name = f"ycsb-{run.workload}"
        remap = choices.LINES[run.line]
        found = simulate(
            choices.NAME, name, settings=host, remap=remap, set=drive, seed=run.seed, progress=heard
        )
        if shown:
            shown.end(run.title, "completed" if found.completed else "failed")
        if not found.completed:
            raise RuntimeError(found.error or "it was stopped")
        kept = _numbers(found.report)
        outputs.write_all(
            {run.file(folder, quick): outputs.text(json.dumps(kept) + "\n")}, force=True
        )
        return kept

    def all_of(shown: object) -> None:
        under_way: dict[Future[Numbers], Run] = {}
        with ThreadPoolExecutor(jobs or cores()) as pool:
            try:
                under_way.update((pool.submit(one, run, shown), run) for run in missing)
                for done in as_completed(under_way):
                    run, error = under_way[done], done.exception()
                    if error is None:
                        numbers[run] = done.result()
                    elif isinstance(error, RuntimeError):
                        failures[run.title] = str(error)
                    else:
                        raise error
            except BaseException as error:
                ended.set()
                pool.shutdown(wait=True, cancel_futures=True)
                if not isinstance(error, KeyboardInterrupt):
                    raise

    if progress and missing:
        with display() as shown:
            all_of(shown)
    else:
        all_of(None)
    return Made(numbers, failures, ended.is_set())
