"""The store on the simulated drive, with and without remapping: sizes of values, lines, seeds."""

from __future__ import annotations

import csv
import io
import json
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

from ssdlab.config.resolve import Config, ConfigLike, load_config
from ssdlab.display.argument import argument
from ssdlab.display.numbers import duration, percent
from ssdlab.errors import ConfigError
from ssdlab.kv.simulation import (
    PAGE,
    REMAPS,
    Remap,
    Simulated,
    defaults,
    new_folder,
    simulate,
)
from ssdlab.results import outputs
from ssdlab.results.intervals import ONE_SEED, UNDECIDED, Ratio, paired_ratio
from ssdlab.results.text import folded, table, wrapped
from ssdlab.running.batch import Batch
from ssdlab.running.compare_runs import check_seeds
from ssdlab.running.runner import PlannedRun, RunEnd, Threads, Work, cores

JSON, CSV = "compare.json", "compare.csv"
WAITS = ("group_ns", "slowed_ns", "stopped_ns")
"""Activities of a client in which it waits for other writers or for background work."""
PROCESSOR = ("processor_ns", "core_ns")
"""Activities in which it has a core or waits for one."""
PARTS: dict[str, tuple[str, ...]] = {
    "processor": PROCESSOR,
    "reads": ("read_ns",),
    "writes": ("write_ns",),
    "stalls": WAITS,
}
"""Parts of the time of clients, with their activities in a report."""
BACKGROUND_PARTS = ("processor", "reads", "writes")
"""Those of background work, which never stalls."""
Measure: TypeAlias = "Callable[[Simulated], float | None]"


@dataclass(frozen=True, order=True)
class StoreRun:
    """One simulation of a comparison."""

    value_bytes: int
    remap: Remap
    seed: int

    @property
    def title(self) -> str:
        """Its name in words."""
        return f"{self.value_bytes} B, {self.remap}, seed {self.seed}"

    @property
    def folder(self) -> str:
        """The name of its folder."""
        return f"{self.value_bytes}-{self.remap}-{self.seed}"


def rate(simulated: Simulated) -> float | None:
    """Operations per second of simulated time, of the last phase."""
    value: float | None = simulated.phases[-1]["operations_per_s"]
    return value


def amplification(simulated: Simulated) -> float | None:
    """Bytes programmed into flash for each byte of keys and values; None if it is not known."""
    drive = simulated.report["drive"]
    return None if drive["invalidating"] else simulated.write_amplification


def frequent(simulated: Simulated) -> str:
    """The most frequent operation of the last phase."""
    latency: dict[str, dict[str, int]] = simulated.phases[-1]["latency"]
    return max(latency, key=lambda op: latency[op]["count"])


def p99(simulated: Simulated) -> float | None:
    """The 99th percentile of the most frequent operation of the last phase, nanoseconds."""
    value: float | None = simulated.phases[-1]["latency"][frequent(simulated)]["p99_ns"]
    return value


def time_share(part: str, actors: str = "clients") -> Measure:
    """Share of the time of actors that is a part of `PARTS`; idle time of clients does not count.

    Clients are those of the last phase. The time of background work includes idle time.
    """

    def share(simulated: Simulated) -> float | None:
        time: Mapping[str, int] = simulated.phases[-1]["time"][actors]
        idle = time.get("idle_ns", 0) if actors == "clients" else 0
        total = sum(time.values()) - idle
        return sum(time.get(name, 0) for name in PARTS[part]) / total if total else None

    return share


def hits(simulated: Simulated) -> float | None:
    """Share of the pages read in the last phase that the page cache had."""
    cache = simulated.phases[-1]["cache"]
    pages = cache["hits"] + cache["misses"]
    return cache["hits"] / pages if pages else None


def unchanged(level: int) -> Measure:
    """Share of the data blocks written to a level that were taken over."""

    def share(simulated: Simulated) -> float | None:
        value: float | None = simulated.report["store"]["levels"][level]["udb_share"]
        return value

    return share


MEASURES: dict[str, Measure] = {
    "operations_per_s": rate,
    "write_amplification": amplification,
    "p99_ns": p99,
    **{f"{part}_share": time_share(part) for part in PARTS},
    **{f"background_{part}_share": time_share(part, "background") for part in BACKGROUND_PARTS},
    "cache_hit_share": hits,
}
"""Columns of `rows`: numbers of a simulation."""


@dataclass(frozen=True)
class Compared:
    """Simulations of the store under several lines, sizes of values and seeds."""

    runs: Mapping[StoreRun, Simulated]
    """Those that completed."""
    failures: Mapping[str, str]
    """Why others could not, by title."""
    interrupted: bool
    """Whether Ctrl-C ended it early."""

    @cached_property
    def sizes(self) -> list[int]:
        """The sizes of values, in bytes."""
        return [*dict.fromkeys(run.value_bytes for run in self.runs)]

    def lines(self, size: int) -> list[Remap]:
        """The lines that were completed with this size; the first one is the baseline."""
        return [*dict.fromkeys(run.remap for run in self.runs if run.value_bytes == size)]

    def of(self, size: int, line: Remap) -> dict[int, Simulated]:
        """The simulations of a line, by seed."""
        return {
            run.seed: simulated
            for run, simulated in self.runs.items()
            if (run.value_bytes, run.remap) == (size, line)
        }

    def mean(self, size: int, line: Remap, measure: Measure) -> float | None:
        """The mean over seeds; None if a seed has no such number."""
        values = [measure(simulated) for simulated in self.of(size, line).values()]
        known = [value for value in values if value is not None]
        return statistics.fmean(known) if known and len(known) == len(values) else None

    def ratio(self, size: int, line: Remap, measure: Measure) -> Ratio | None:
        """The ratio to the first line, pair by pair of seeds."""
        runs, base = self.of(size, line), self.of(size, self.lines(size)[0])
        seeds = [seed for seed in runs if seed in base]
        pairs = [(measure(runs[seed]), measure(base[seed])) for seed in seeds]
        known = [(a, b) for a, b in pairs if a is not None and b is not None]
        if not known or len(known) < len(pairs) or not all(b for _, b in known):
            return None
        if len(known) == 1:
            return Ratio(1, known[0][0] / known[0][1], None, None)
        return paired_ratio([a for a, _ in known], [b for _, b in known])

    @cached_property
    def rows(self) -> list[dict[str, float | int | str | None]]:
        """The numbers of each simulation: its size, line and seed, then `MEASURES`."""
        return [
            {"value_bytes": run.value_bytes, "remap": run.remap, "seed": run.seed}
            | {name: measure(simulated) for name, measure in MEASURES.items()}
            for run, simulated in self.runs.items()
        ]

    @property
    def answer(self) -> list[str]:
        """A sentence for each size of values: which line is fastest, and what it writes."""
        return [self._answer(size) for size in self.sizes]

    def _answer(self, size: int) -> str:
        lines = self.lines(size)
        values, base = f"Values of {size:,} B", lines[0]
        ratios = {line: ratio for line in lines[1:] if (ratio := self.ratio(size, line, rate))}
        if not ratios:
            return f"{values}: there is nothing to compare {base} with."
        fastest = max(ratios, key=lambda line: ratios[line].ratio)
        speed, written = ratios[fastest], self.ratio(size, fastest, amplification)
        if speed.n > 1 and speed.order == UNDECIDED:
            verdict = f"{fastest} cannot be distinguished from {base} in speed"
        elif speed.ratio <= 1:
            verdict = f"{base} is fastest, {fastest} has {_times(speed)} its rate"
        else:
            verdict = f"{fastest} is fastest, {_times(speed)} the rate of {base}"
        if written is None:
            return f"{values}: {verdict}; write amplification is not known (see the warnings)."
        return f"{values}: {verdict}; it writes {_times(written)} what {base} writes."

    @property
    def warnings(self) -> list[str]:
        """What invalidates numbers of drives: texts that differ in numbers alone are given once."""
        texts = [
            (run.title, text)
            for run, simulated in self.runs.items()
            for text in simulated.report["drive"]["warnings"][
                : simulated.report["drive"]["invalidating"]
            ]
        ]
        return folded(texts, len(self.runs))

    def head(self) -> str:
        """What was run."""
        simulated = next(iter(self.runs.values()))
        seeds = len({run.seed for run in self.runs})
        text = simulated.head.partition(";")[0]
        return f"{text}; {ONE_SEED if seeds == 1 else f'{seeds} seeds'}"

    def caption(self, size: int) -> str:
        """What the table of a size of values shows."""
        base = self.lines(size)[0]
        simulated = next(iter(self.of(size, base).values()))
        records = simulated.report["settings"]["records"]
        return (
            f"values of {size:,} B, {records:,} records; p99 of {frequent(simulated)}; ratios to"
            f" {base}"
        )

    def to_json(self) -> str:
        """The answer, the numbers of each simulation, and what could not finish."""
        values = {
            "version": 1,
            "completed": not self.failures and not self.interrupted,
            "failures": self.failures,
            "answer": self.answer,
            "warnings": self.warnings,
            "rows": self.rows,
        }
        return json.dumps(values, indent=1) + "\n"

    def to_csv(self) -> str:
        """`rows` as CSV; what is not known is empty."""
        out = io.StringIO()
        names = ["value_bytes", "remap", "seed", *MEASURES]
        writer = csv.DictWriter(out, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.rows)
        return out.getvalue()

    def summary(self) -> str:
        """The answer, and a table for each size of values, as text."""
        out: list[str] = []
        if self.runs:
            out += [*wrapped("", self.head()), ""]
        for title, why in self.failures.items():
            out += wrapped("FAILED  ", f"{title}: {why}")
        for sentence in self.answer:
            out += wrapped("", sentence)
        for text in self.warnings:
            out += wrapped("INVALID  ", text)
        for size in self.sizes:
            out += ["", self.caption(size)]
            out += table(HEAD, [self.cells(size, line) for line in self.lines(size)])
        return "\n".join(out) + "\n"

    def cells(self, size: int, line: Remap) -> list[str]:
        """The cells of a line under `HEAD`."""
        is_base = line == self.lines(size)[0]

        def with_ratio(measure: Measure, text: Callable[[float], str]) -> str:
            value = self.mean(size, line, measure)
            ratio = None if is_base else self.ratio(size, line, measure)
            return (
                "-" if value is None else f"{text(value)}{f' {ratio.ratio:.2f}x' if ratio else ''}"
            )

        levels = len(next(iter(self.of(size, line).values())).report["store"]["levels"])
        shares = [self.mean(size, line, unchanged(level)) for level in range(levels)]
        return [
            line,
            with_ratio(rate, lambda value: f"{value:,.0f}"),
            with_ratio(amplification, lambda value: f"{value:.2f}"),
            with_ratio(p99, duration),
            *(percent(self.mean(size, line, time_share(part))) for part in PARTS),
            percent(self.mean(size, line, hits)),
            ", ".join(
                f"{level}: {percent(share)}"
                for level, share in enumerate(shares)
                if share is not None
            )
            or "-",
        ]


HEAD = ("", "ops/s", "WA", "p99", *PARTS, "cache hits", "blocks taken over by level")
"""The head of the table of a size of values."""


def _times(ratio: Ratio) -> str:
    """A ratio with its interval."""
    interval = "" if ratio.low is None else f" ({ratio.low:.2f} to {ratio.high:.2f})"
    return f"{ratio.ratio:.2f}{interval} times"


@dataclass(frozen=True)
class ComparisonPlan:
    """What is compared: every line under every size of values, with the same seeds."""

    config: Config
    workload: str | Path
    settings: Mapping[int, Mapping[str, object]]
    """Host settings by size of values, in bytes."""
    remaps: tuple[Remap, ...]
    seeds: tuple[int, ...]

    @staticmethod
    def of(
        config: ConfigLike,
        workload: str | Path,
        *,
        remaps: Sequence[str],
        value_bytes: Sequence[int],
        seeds: int | None,
        settings: Mapping[str, object] | None,
    ) -> ComparisonPlan:
        """Check what is asked for; as `compare`."""
        config, given = load_config(config), dict(settings or {})
        asked: dict[str, Any] = {**defaults(), **given}
        records, sizes = asked["records"], [*value_bytes] or [asked["value_bytes"]]
        for name, values in (("remaps", remaps), ("value_bytes", sizes)):
            if len(set(values)) < len(values):
                raise ConfigError([f"{argument(name)}: {[*values]} names one twice"])
        unknown = [line for line in remaps if line not in REMAPS]
        if unknown or not remaps:
            found = repr(unknown[0]) if unknown else "nothing"
            lines = ", ".join(REMAPS)
            raise ConfigError([f"{argument('remaps')}: found {found}; expected some of {lines}"])
        for name, values in (("value_bytes", sizes), ("records", [records])):
            wrong = [value for value in values if not isinstance(value, int) or value < 1]
            if wrong:
                message = f"{argument(name)}: found {wrong[0]!r}; expected whole numbers from 1"
                raise ConfigError([message])
        if seeds is not None:
            check_seeds(seeds)
        data = records * sizes[0]
        first = config.values["run"]["seed"]
        return ComparisonPlan(
            config,
            workload,
            {
                size: {**given, "value_bytes": size, "records": max(1, round(data / size))}
                for size in sizes
            },
            tuple(line for name in remaps for line in REMAPS if line == name),
            tuple(range(first, first + (seeds or 1))),
        )

    @property
    def runs(self) -> Iterator[StoreRun]:
        """All runs, with the first seed first."""
        for seed in self.seeds:
            for size in self.settings:
                for remap in self.remaps:
                    yield StoreRun(size, remap, seed)

    def run(self, out: Path | None, jobs: int, *, progress: bool) -> Compared:
        """Execute all runs, `jobs` at a time. Ctrl-C keeps those that have ended."""
        folder = None if out is None else new_folder(out)
        runner = _Simulations(jobs, plan=self, out=folder)
        failures: dict[str, str] = {}

        def take(planned: PlannedRun, ending: RunEnd) -> None:
            if ending.how == "failed":
                failures[planned.title] = ending.why

        planned = (PlannedRun(run.title, self.config, key=run) for run in self.runs)
        batch = Batch(planned, take)
        batch.run(runner, progress)
        completed = {run: runner.completed[run] for run in self.runs if run in runner.completed}
        compared = Compared(completed, failures, batch.interrupted)
        if folder is not None:
            from ssdlab.kv.comparison_page import page

            files = {JSON: compared.to_json(), CSV: compared.to_csv()}
            files |= {PAGE: page(compared)} if completed else {}
            outputs.write_all({folder / name: outputs.text(text) for name, text in files.items()})
        return compared


@dataclass(frozen=True)
class _Simulations(Threads):
    """Runs that simulate the store."""

    plan: ComparisonPlan | None = None
    out: Path | None = None
    completed: dict[StoreRun, Simulated] = field(default_factory=dict)

    def execute(self, planned: PlannedRun, work: Work, *_: object) -> RunEnd:
        """Simulate the store."""
        assert self.plan is not None
        run: StoreRun = planned.key
        progress = work.callback(planned)
        try:
            simulated = simulate(
                planned.config,
                self.plan.workload,
                settings=self.plan.settings[run.value_bytes],
                remap=run.remap,
                seed=run.seed,
                out=None if self.out is None else self.out / run.folder,
                progress=lambda done: progress("workload", done, None),
            )
        except KeyboardInterrupt:
            return RunEnd("interrupted")
        if simulated.error:
            return RunEnd("failed", why=simulated.error)
        if not simulated.completed:
            return RunEnd("interrupted")
        self.completed[run] = simulated
        return RunEnd("completed")


def compare(
    config: ConfigLike,
    workload: str | Path = "fillrandom",
    *,
    remaps: Sequence[str] = tuple(REMAPS),
    value_bytes: Sequence[int] = (),
    seeds: int | None = None,
    settings: Mapping[str, object] | None = None,
    set: Mapping[str, object] | None = None,
    out: Path | None = None,
) -> Compared:
    """Simulate the store with and without remapping; `ssdlab kv compare` is this as a command.

    Every line of `remaps` runs under every size of `value_bytes` (default: the host setting) with
    the seeds `run.seed`, `run.seed` + 1, ... The first line is the baseline. The values of the
    store have the same bytes under all sizes: `records` is that of the first size. Other arguments
    are those of `simulate`. `out` is a new folder for `compare.json`, `compare.csv`, `report.html`
    and a folder for each run.

    Raises `ConfigError`, `OutputError`, `WorkloadError`. What could not finish is in `failures`.
    """
    plan = ComparisonPlan.of(
        load_config(config, set=set),
        workload,
        remaps=remaps,
        value_bytes=value_bytes,
        seeds=seeds,
        settings=settings,
    )
    return plan.run(out, cores(), progress=False)
