"""The store on the simulated drive with and without remapping: variants, value sizes, seeds."""

from __future__ import annotations

import csv
import io
import json
import shutil
import statistics
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

from ssdlab.config.resolve import Config, ConfigLike, changed_keys, load_config, set_text
from ssdlab.display.argument import argument
from ssdlab.display.numbers import duration, percent
from ssdlab.errors import ConfigError, OutputError, WorkloadError
from ssdlab.kv.simulation import PAGE, REMAPS, Remap, Simulated, defaults, new_folder, simulate
from ssdlab.results import outputs
from ssdlab.results.intervals import ONE_SEED, UNDECIDED, Ratio, paired_ratio
from ssdlab.results.text import counted, folded, table, wrapped
from ssdlab.running.batch import Batch
from ssdlab.running.compare_runs import check_seeds
from ssdlab.running.runner import PlannedRun, RunEnd, Threads, Work, cores

JSON, CSV = "compare.json", "compare.csv"
PARTS: dict[str, tuple[str, ...]] = {
    "processor": ("processor_ns", "core_ns"),
    "reads": ("read_ns",),
    "writes": ("write_ns",),
    "stalls": ("group_ns", "slowed_ns", "stopped_ns"),
}
"""Parts of the time of clients, with their activities in a report. A client that has a core or
waits for one is at "processor"; one that waits for other writers or for background work stalls."""
BACKGROUND_PARTS = ("processor", "reads", "writes")
"""Those of background work, which never stalls."""
OWN_SIZES = ("mixgraph",)
"""Workloads that have value sizes of their own, as traces do."""
REFUSED = ("store.reuse", "cut_ns")
"""Host settings that a comparison decides itself, or does not compare."""
INPUT_ERRORS = (ConfigError, OutputError, WorkloadError)
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
        return f"{self.value_bytes:,} B {self.remap} seed {self.seed}"

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


def p99(operation: str) -> Measure:
    """The 99th percentile of the latency of an operation in the last phase, nanoseconds."""

    def percentile(simulated: Simulated) -> float | None:
        value: float | None = simulated.phases[-1]["latency"].get(operation, {}).get("p99_ns")
        return value

    return percentile


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


def reused(level: int) -> Measure:
    """Share of the data blocks written to a level that were reused."""

    def share(simulated: Simulated) -> float | None:
        value: float | None = simulated.report["store"]["levels"][level]["udb_share"]
        return value

    return share


MEASURES: dict[str, Measure] = {
    "operations_per_s": rate,
    "write_amplification": amplification,
    **{f"{part}_share": time_share(part) for part in PARTS},
    **{f"background_{part}_share": time_share(part, "background") for part in BACKGROUND_PARTS},
    "cache_hit_share": hits,
}
"""Columns of `Compared.rows`, besides the percentiles of each operation."""
HEAD = ("", "ops/s", "WA", "p99", *PARTS, "cache hits", "reused blocks by level")
"""The head of the table of a value size."""


@dataclass(frozen=True)
class Compared:
    """Simulations of the store under several variants, value sizes and seeds."""

    plan: ComparisonPlan
    """What was asked for."""
    runs: Mapping[StoreRun, Simulated]
    """Those that completed, in the order of the plan."""
    failures: Mapping[str, str]
    """Why others could not, by title."""
    interrupted: bool
    """Whether Ctrl-C ended it early."""

    @cached_property
    def sizes(self) -> list[int]:
        """The value sizes in bytes under which there is something to show."""
        return [size for size in self.plan.settings if self.seeds(size)]

    def variants(self, size: int) -> list[Remap]:
        """The variants that completed with this value size, at least with one seed."""
        completed = {run.remap for run in self.runs if run.value_bytes == size}
        return [remap for remap in self.plan.remaps if remap in completed]

    def seeds(self, size: int) -> list[int]:
        """The seeds with which all of these variants completed: only these are compared."""
        variants = self.variants(size)
        return [
            seed
            for seed in self.plan.seeds
            if variants and all(StoreRun(size, remap, seed) in self.runs for remap in variants)
        ]

    def of(self, size: int, variant: Remap) -> list[Simulated]:
        """The simulations of a variant, by seed."""
        return [self.runs[StoreRun(size, variant, seed)] for seed in self.seeds(size)]

    @property
    def baseline(self) -> Remap:
        """The variant that ratios refer to."""
        return self.plan.remaps[0]

    @cached_property
    def operation(self) -> str:
        """The most frequent operation of the last phase, in all runs together."""
        counts: Counter[str] = Counter()
        for simulated in self.runs.values():
            for name, latency in simulated.phases[-1]["latency"].items():
                counts[name] += latency["count"]
        return max(counts, key=counts.__getitem__, default="operation")

    def mean(self, size: int, variant: Remap, measure: Measure) -> float | None:
        """The mean over seeds; None if a seed has no such number."""
        values = [measure(simulated) for simulated in self.of(size, variant)]
        known = [value for value in values if value is not None]
        return statistics.fmean(known) if known and len(known) == len(values) else None

    def ratio(
        self, size: int, variant: Remap, measure: Measure, base: Remap | None = None
    ) -> Ratio | None:
        """The ratio to the baseline, or to `base`, pair by pair of seeds; None if it has none."""
        base = base or self.baseline
        if base not in self.variants(size):
            return None
        values = [measure(simulated) for simulated in self.of(size, variant)]
        others = [measure(simulated) for simulated in self.of(size, base)]
        pairs = [(a, b) for a, b in zip(values, others, strict=True) if a and b]
        if len(pairs) < len(values):
            return None
        if len(pairs) == 1:
            return Ratio(1, pairs[0][0] / pairs[0][1], None, None)
        return paired_ratio([a for a, _ in pairs], [b for _, b in pairs])

    @cached_property
    def rows(self) -> list[dict[str, float | int | str | None]]:
        """The numbers of each simulation: its value size, variant and seed, then its measures."""
        operations = sorted({op for run in self.runs.values() for op in run.phases[-1]["latency"]})
        measures = {**MEASURES, **{f"{name}_p99_ns": p99(name) for name in operations}}
        return [
            {"value_bytes": run.value_bytes, "remap": run.remap, "seed": run.seed}
            | {name: measure(simulated) for name, measure in measures.items()}
            for run, simulated in self.runs.items()
        ]

    @property
    def answer(self) -> list[str]:
        """For each value size which variant is fastest, and what it writes."""
        missing = [size for size in self.plan.settings if size not in self.sizes]
        none = [f"Values of {size:,} B: no seed completed under all variants." for size in missing]
        return [*(f"Values of {size:,} B: {self._answer(size)}" for size in self.sizes), *none]

    def _answer(self, size: int) -> str:
        variants, base = self.variants(size), self.baseline
        if len(variants) < 2:
            return f"only {variants[0]} completed."
        rates = {name: self.mean(size, name, rate) for name in variants}
        if None in rates.values():
            return "no operation ended in the last phase."
        best = max(variants, key=lambda name: rates[name] or 0)
        ratios = {name: self.ratio(size, name, rate, best) for name in variants if name != best}
        close = [name for name, ratio in ratios.items() if ratio and _is_tied(ratio)]
        if len(self.seeds(size)) == 1:
            if len(close) == len(ratios):
                return "all variants have the same rate."
            first = f"{best} has the highest rate (one seed, so no interval)."
        elif not close:
            first = f"{best} is fastest."
        elif len(close) == len(ratios):
            return f"the rates of {_listed(variants)} cannot be distinguished."
        else:
            first = f"{_listed([best, *close])} are fastest and cannot be distinguished."
        if base not in variants:
            return f"{first} {base} did not complete."
        named = [name for name in variants if name != base] if best == base else [best]
        return " ".join([first, *(self._beside(size, name) for name in named)])

    def _beside(self, size: int, name: Remap) -> str:
        """How a variant compares with the baseline."""
        speed, written = self.ratio(size, name, rate), self.ratio(size, name, amplification)
        clauses = [f"has {_times(speed)} the rate of {self.baseline}"] if speed else []
        clauses += [f"writes {_times(written)} as much"] if written else []
        return f"{name} {' and '.join(clauses)}."

    @property
    def warnings(self) -> list[str]:
        """What invalidates write amplification: texts that differ in numbers are given once."""
        texts = [
            (run.title, text)
            for run, simulated in self.runs.items()
            for text in simulated.report["drive"]["warnings"][
                : simulated.report["drive"]["invalidating"]
            ]
        ]
        return folded(texts, len(self.runs))

    @property
    def problems(self) -> list[str]:
        """What did not complete, and what invalidates numbers."""
        missing = len([*self.plan.runs]) - len(self.runs) - len(self.failures)
        early = f"interrupted: {counted(missing, 'run')} did not end"
        return [
            *([early] if self.interrupted else []),
            *(f"{title} failed: {why}" for title, why in self.failures.items()),
            *(f"write amplification is not known: {text}" for text in self.warnings),
        ]

    def caption(self, size: int) -> str:
        """What the table of a value size shows."""
        settings = self.of(size, self.variants(size)[0])[0].report["settings"]
        ratios = f"; ratios to {self.baseline}" if self.baseline in self.variants(size) else ""
        seeds = self.seeds(size)
        return (
            f"Values of {size:,} B, {counted(settings['records'], 'record')}: means over"
            f" {counted(len(seeds), 'seed')}, p99 of {self.operation}{ratios}"
        )

    def to_json(self) -> str:
        """What was asked for, the answer, the numbers of each run, and what could not finish."""
        ratios = [
            {"value_bytes": size, "remap": name, "measure": key}
            | {"ratio": ratio.ratio, "low": ratio.low, "high": ratio.high, "seeds": ratio.n}
            for size in self.sizes
            for name in self.variants(size)
            if name != self.baseline
            for key, measure in MEASURES.items()
            if (ratio := self.ratio(size, name, measure))
        ]
        values = {
            "version": 1,
            "completed": not self.failures and not self.interrupted,
            "workload": str(self.plan.workload),
            "config": self.plan.config.values,
            "settings": self.plan.given,
            "remaps": self.plan.remaps,
            "value_bytes": [*self.plan.settings],
            "seeds": self.plan.seeds,
            "failures": self.failures,
            "answer": self.answer,
            "warnings": self.warnings,
            "ratios": ratios,
            "rows": self.rows,
        }
        return json.dumps(values, indent=1) + "\n"

    def to_csv(self) -> str:
        """`rows` as CSV; what is not known is empty."""
        out = io.StringIO()
        names = [*self.rows[0]] if self.rows else ["value_bytes", "remap", "seed", *MEASURES]
        writer = csv.DictWriter(out, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.rows)
        return out.getvalue()

    def summary(self) -> str:
        """The answer, and a table for each value size, as text."""
        out = [*wrapped("", self.plan.head), ""]
        for sentence in self.answer:
            out += wrapped("", sentence)
        for text in self.problems:
            out += wrapped("  ! ", text)
        for size in self.sizes:
            out += ["", *wrapped("", self.caption(size))]
            out += table(HEAD, [self.cells(size, name) for name in self.variants(size)])
        return "\n".join(out) + "\n"

    def cells(self, size: int, variant: Remap) -> list[str]:
        """The cells of a variant under `HEAD`."""

        def with_ratio(measure: Measure, text: Callable[[float], str]) -> str:
            value = self.mean(size, variant, measure)
            ratio = None if variant == self.baseline else self.ratio(size, variant, measure)
            return (
                "-" if value is None else f"{text(value)}{f' {ratio.ratio:.2f}x' if ratio else ''}"
            )

        levels = range(len(self.of(size, variant)[0].report["store"]["levels"]))
        shares = {level: self.mean(size, variant, reused(level)) for level in levels}
        known = [
            f"{level}: {percent(share)}" for level, share in shares.items() if share is not None
        ]
        return [
            variant,
            with_ratio(rate, lambda value: f"{value:,.0f}"),
            with_ratio(amplification, lambda value: f"{value:.2f}"),
            with_ratio(p99(self.operation), duration),
            *(percent(self.mean(size, variant, time_share(part))) for part in PARTS),
            percent(self.mean(size, variant, hits)),
            ", ".join(known) or "-",
        ]


def _is_tied(ratio: Ratio) -> bool:
    """Whether two rates are equal, or intervals do not distinguish them."""
    return ratio.ratio == 1 if ratio.n == 1 else ratio.order in (UNDECIDED, "equal")


def _listed(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]])


def _times(ratio: Ratio) -> str:
    """A ratio with its interval."""
    interval = "" if ratio.low is None else f" ({ratio.low:.2f} to {ratio.high:.2f})"
    return f"{ratio.ratio:.2f}{interval} times"


@dataclass(frozen=True)
class ComparisonPlan:
    """What is compared: every variant under every value size, with the same seeds."""

    config: Config
    workload: str | Path
    given: Mapping[str, object]
    """Host settings of the user."""
    settings: Mapping[int, Mapping[str, object]]
    """All host settings by value size, in bytes."""
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
        sizes = [*value_bytes] or [asked["value_bytes"]]
        _check_remaps(remaps, given)
        _check_numbers(argument("value_bytes"), sizes)
        for key in SCALED:
            _check_numbers(key, [asked[key]])
        if value_bytes and (str(workload) in OWN_SIZES or Path(workload).is_file()):
            message = f"{argument('value_bytes')}: {workload} has value sizes of its own"
            raise ConfigError([message])
        if seeds is not None:
            check_seeds(seeds)
        first = config.values["run"]["seed"]

        def scaled(size: int) -> dict[str, object]:
            """The same bytes of values are stored and written under all sizes."""
            return {key: max(1, round(asked[key] * sizes[0] / size)) for key in SCALED}

        return ComparisonPlan(
            config,
            workload,
            given,
            {size: {**given, "value_bytes": size, **scaled(size)} for size in sizes},
            tuple(line for name in remaps for line in REMAPS if line == name),
            tuple(range(first, first + (seeds or 1))),
        )

    @property
    def head(self) -> str:
        """What is run."""
        values = self.config.values
        given = {name: set_text(value) for name, value in self.given.items()}
        settings = [f"{name} = {text}" for name, text in {**changed_keys(values), **given}.items()]
        seeds = ONE_SEED if len(self.seeds) == 1 else f"{len(self.seeds)} seeds"
        preset = values.get("preset") or values["run"]["name"]
        parts = [f"{self.workload} on {preset}", ", ".join(settings), seeds]
        return "; ".join(filter(None, parts))

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
        failures: dict[StoreRun, str] = {}

        def take(planned: PlannedRun, ending: RunEnd) -> None:
            if ending.how == "failed":
                failures[planned.key] = ending.why

        planned = (PlannedRun(run.title, self.config, key=run) for run in self.runs)
        batch = Batch(planned, take)
        try:
            batch.run(runner, progress)
        except INPUT_ERRORS:
            # Bad input, which the first run has found.
            if folder is not None:
                shutil.rmtree(folder)
            raise
        completed = {run: runner.completed[run] for run in self.runs if run in runner.completed}
        why = {run.title: failures[run] for run in self.runs if run in failures}
        compared = Compared(self, completed, why, batch.interrupted)
        if folder is not None:
            from ssdlab.kv.comparison_page import page

            files = {JSON: compared.to_json(), CSV: compared.to_csv(), PAGE: page(compared)}
            outputs.write_all({folder / name: outputs.text(text) for name, text in files.items()})
        return compared


SCALED = ("records", "operations")
"""Host settings that follow the value size."""


def _check_remaps(remaps: Sequence[str], given: Mapping[str, object]) -> None:
    lines = ", ".join(REMAPS)
    if isinstance(remaps, str) or not remaps:
        raise ConfigError([f"{argument('remaps')}: found {remaps!r}; expected some of {lines}"])
    for remap in remaps:
        if remap not in REMAPS:
            raise ConfigError([f"{argument('remaps')}: found {remap!r}; expected some of {lines}"])
        if [*remaps].count(remap) > 1:
            raise ConfigError([f"{argument('remaps')}: {remap} is given twice"])
    for name in REFUSED:
        if name in given:
            raise ConfigError([f"{name}: a comparison does not take it; use kv simulate"])
    if given.get("store.pages_per_block") == 0 and [*remaps] != ["off"]:
        message = "store.pages_per_block: expected 1 or more, as blocks begin at pages"
        raise ConfigError([message])


def _check_numbers(name: str, values: Sequence[object]) -> None:
    for value in values:
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise ConfigError([f"{name}: found {value!r}; expected whole numbers from 1"])
        if [*values].count(value) > 1:
            raise ConfigError([f"{name}: {value} is given twice"])


def end_of(simulated: Simulated) -> RunEnd:
    """How the run of a simulation ended."""
    if simulated.completed:
        return RunEnd("completed")
    # Without an error it was stopped.
    return RunEnd("failed", why=simulated.error) if simulated.error else RunEnd("interrupted")


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
        except INPUT_ERRORS as error:
            # What others have done is kept.
            if not self.completed:
                raise
            return RunEnd("failed", why=str(error))
        if simulated.completed:
            self.completed[run] = simulated
        return end_of(simulated)


def compare(
    config: ConfigLike,
    workload: str | Path = "fillrandom",
    *,
    remaps: Sequence[str] = tuple(REMAPS),
    value_bytes: Sequence[int] = (),
    seeds: int | None = None,
    settings: Mapping[str, object] | None = None,
    set: Mapping[str, object] | None = None,
    out: str | Path | None = None,
) -> Compared:
    """Simulate the store with and without remapping; `ssdlab kv compare` is this as a command.

    Every variant of `remaps` runs with every value size of `value_bytes` (default: the host
    setting) and the seeds `run.seed`, `run.seed` + 1, ... The first variant is the baseline.
    `records` and `operations` are those of the first value size; others are scaled, so that as many
    bytes of values are stored and written. Other arguments are those of `simulate`. `out` is a new
    folder for `compare.json`, `compare.csv`, `report.html` and a folder for each run.

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
    return plan.run(None if out is None else Path(out), cores(), progress=False)
