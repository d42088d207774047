"""Comparison of the same work under several configurations: `ssdlab.compare`."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from ssdlab.display.form import columns
from ssdlab.display.numbers import Value, duration, percent, ratio
from ssdlab.results import warned
from ssdlab.results.answer import Answer, answers
from ssdlab.results.drawing import Drawing, drawer
from ssdlab.results.frames import Table
from ssdlab.results.intervals import Estimate, Ratio, estimate, paired_ratio
from ssdlab.results.measures import LatencyStats
from ssdlab.results.names import COMPARISON_JSON, REPORT
from ssdlab.results.points import Points, Row
from ssdlab.results.report import Report
from ssdlab.results.text import by_reason, folded, table, wrapped

MEASURES = tuple(column.name for column in columns() if column.measured)
"""Columns of which repetitions have means and ratios: simulated numbers, not run times."""
_EVERY_READ = "latency.read."
STATISTICS = tuple(
    column.key.removeprefix(_EVERY_READ)
    for column in columns()
    if column.key.startswith(_EVERY_READ)
)
"""Statistics of latencies that are compared."""


def _row(label: str, report: Report) -> Row:
    """The numbers of one run that are compared; times in nanoseconds."""
    return {"label": label} | {column.name: column.of_report(report) for column in columns()}


RATIO = " " * 6
"""Room for a ratio after a value."""
COMPARED = ("mean", "p99", "p99_9")
"""Latencies with ratios; those of medians and of single largest values mean little."""


def _ratio(value: float | None, base: float | None, first: bool) -> str:
    """How `value` compares with that of the first row, `RATIO` columns wide."""
    if first or not value or not base:
        return RATIO
    return f"{value / base:>{len(RATIO) - 1}.2f}x"


@dataclass(frozen=True, repr=False)
class Comparison(Table):
    """Several runs of the same work. The first one is the baseline."""

    reports: dict[str, Report]
    """The report of each run, by label, in the order of the arguments."""
    failures: dict[str, str] = field(default_factory=dict)
    """Why a run could not finish, by label."""
    interrupted: bool = False
    """Whether Ctrl-C ended it early: runs are missing or incomplete."""
    folder: Path | None = None
    """Folder of the files."""
    repetitions: dict[str, dict[int, Report]] = field(default_factory=dict)
    """With several seeds, all reports by label and seed; `reports` has those of the first seed."""
    not_run: tuple[str, ...] = ()
    """Runs without a report because of Ctrl-C: label, or label and seed."""
    varied: dict[str, dict[str, Value]] = field(default_factory=dict)
    """The keys that were varied and their values, by label; empty if none was."""

    @staticmethod
    def read(folder: str | Path) -> Comparison:
        """The comparison in `folder`."""
        folder = Path(folder)
        values = json.loads((folder / COMPARISON_JSON).read_text(encoding="utf-8"))
        reports = {
            label: Report.read(folder / name)
            for label, name in values["folders"].items()
            if (folder / name / REPORT).exists()
        }
        repetitions = {
            label: {int(seed): Report.read(folder / name) for seed, name in by_seed.items()}
            for label, by_seed in values.get("repetitions", {}).items()
        }
        missing = len(values["folders"]) > len(reports)
        early = not values["completed"] and not values["failures"]
        not_run = tuple(values.get("not_run", ()))
        early = early or missing or bool(not_run)
        varied = values.get("varied", {})
        return Comparison(reports, values["failures"], early, folder, repetitions, not_run, varied)

    def moved(self, folder: Path) -> Comparison:
        """This comparison with its files in `folder`."""
        repetitions = {
            label: {
                seed: replace(report, folder=folder / run_folder(label, seed))
                for seed, report in by_seed.items()
            }
            for label, by_seed in self.repetitions.items()
        }
        reports = {
            label: replace(report, folder=folder / self._folder(label))
            for label, report in self.reports.items()
        }
        return replace(self, reports=reports, folder=folder, repetitions=repetitions)

    def _folder(self, label: str) -> Path:
        """The folder of the report of `label`, below that of the comparison."""
        seed = self.reports[label].provenance.seed if label in self.repetitions else None
        return run_folder(label, seed)

    @cached_property
    def points(self) -> Points:
        """The values of the keys that were varied, with the numbers of the completed runs."""
        rows: dict[str, list[Row]] = {}
        for label, report in self.runs:
            if report.completed:
                rows.setdefault(label, []).append(_row(label, report))
        labels = [label for label in (self.varied or rows) if label in rows]
        names = dict.fromkeys(key for setting in self.varied.values() for key in setting)
        columns = {key: [self.varied[label].get(key) for label in labels] for key in names}
        return Points.of(labels, columns, (rows[label] for label in labels))

    def plot(self, metric: str = "waf", x: str | None = None, y: str | None = None) -> Drawing:
        """Draw a column of `rows` over the key `x` that was varied; with `y` a heat map of both.

        Default of `x`: the first key with numbers; if none has numbers, as when policies are
        compared, each configuration gets a bar. The result shows itself in notebooks and has
        `save(path)`. Raises `ConfigError`.
        """
        return drawer().of_points(self.points, metric, x, y)

    @property
    def runs(self) -> list[tuple[str, Report]]:
        """Label and report of every run, including repetitions."""
        if not self.repetitions:
            return list(self.reports.items())
        return [
            (label, report)
            for label, by_seed in self.repetitions.items()
            for report in by_seed.values()
        ]

    def values(self, label: str, key: str) -> dict[int, float]:
        """A column of `rows` by seed, for the completed repetitions.

        Empty if one of them has no value, because the others would not represent all.
        """
        cells = {
            seed: _row(label, report)[key]
            for seed, report in self.repetitions.get(label, {}).items()
            if report.completed
        }
        numbers = {s: float(v) for s, v in cells.items() if isinstance(v, int | float)}
        return numbers if len(numbers) == len(cells) else {}

    def estimates(self, label: str) -> dict[str, Estimate]:
        """Mean over the seeds, with its interval, of every column that all repetitions have.

        Empty without repetitions (`seeds`).
        """
        values = {key: list(self.values(label, key).values()) for key in MEASURES}
        return {key: estimate(numbers) for key, numbers in values.items() if len(numbers) > 1}

    def ratio(self, label: str, baseline: str, key: str) -> Ratio | None:
        """A column over that of `baseline`, paired by seed.

        None with fewer than two pairs, or if a number is not positive.
        """
        values, base = self.values(label, key), self.values(baseline, key)
        common = [seed for seed in values if seed in base]
        if len(common) < 2:
            return None
        return paired_ratio([values[s] for s in common], [base[s] for s in common])

    def ratios(self, label: str, baseline: str | None = None) -> dict[str, Ratio]:
        """Every column over that of `baseline` (default: the first), paired by seed.

        Empty without repetitions; columns that are not positive in all pairs are left out.
        """
        baseline = next(iter(self.repetitions), "") if baseline is None else baseline
        ratios = {key: self.ratio(label, baseline, key) for key in MEASURES}
        return {key: ratio for key, ratio in ratios.items() if ratio is not None}

    def lowest(self, key: str) -> list[str]:
        """The configuration with the lowest `key`, then all that are equal or not distinguishable.

        The interval of the paired ratio decides. Empty without repetitions, or if numbers are
        missing or not positive.
        """
        base, *labels = self.repetitions or [""]
        ratios = [self.ratio(label, base, key) for label in labels]
        known = [ratio.ratio for ratio in ratios if ratio is not None]
        if not known or len(known) < len(labels):
            return []
        centres = dict(zip((base, *labels), (1.0, *known), strict=True))
        first = min(centres, key=centres.__getitem__)
        to_first = {label: self.ratio(label, first, key) for label in centres if label != first}
        ties = [label for label, r in to_first.items() if r is None or r.order != "higher"]
        return [first, *ties]

    @property
    def without_spread(self) -> list[str]:
        """Labels whose repetitions are all equal, so that nothing depends on the seed."""
        estimates = {label: self.estimates(label) for label in self.repetitions}
        return [
            label
            for label, by_key in estimates.items()
            if by_key and all(estimate.ci95 is None for estimate in by_key.values())
        ]

    @property
    def reserve_decided(self) -> dict[str, float]:
        """The runs in which the reserve decided, not the policy (`report.verdict`), by label.

        With the share of the victims that were the policy's choice, the largest of the repetitions.
        """
        shares: dict[str, float] = {}
        for label, report in self.runs:
            if report.verdict.decided_by == "reserve":
                shares[label] = max(shares.get(label, 0.0), report.verdict.policy_share or 0.0)
        return shares

    @property
    def not_compared(self) -> tuple[str, ...]:
        """Those whose policies were to be compared: the runs differ in `gc.victim`."""
        victims = {json.dumps(report.json["config"]["gc"]["victim"]) for _, report in self.runs}
        return tuple(self.reserve_decided) if len(victims) > 1 else ()

    @cached_property
    def invalid(self) -> dict[str, str]:
        """By label, a warning that invalidates the first seed, or half of the seeds."""
        warnings = {
            label: report.invalid or warned.majority(self._invalid_seeds(label))
            for label, report in self.reports.items()
        }
        return {label: warning for label, warning in warnings.items() if warning}

    def _invalid_seeds(self, label: str) -> list[str]:
        """For each seed of a configuration, the warning that invalidates it, or nothing."""
        runs = self.repetitions.get(label, {0: self.reports[label]})
        return [report.invalid for report in runs.values()]

    def partly_invalid(self) -> Iterator[str]:
        """How many seeds of each configuration are invalid, if they are fewer than half."""
        excluded = self.invalid if len(self.reports) > 1 else {}
        for label in (candidate for candidate in self.reports if candidate not in excluded):
            seeds = self._invalid_seeds(label)
            invalid = [warning for warning in seeds if warning]
            if invalid and len(seeds) > 1:
                verb = "is" if len(invalid) == 1 else "are"
                # The advice after the semicolon is for a majority of invalid seeds.
                reason = invalid[0].partition(";")[0]
                yield f"{label}: {len(invalid)} of {len(seeds)} seeds {verb} invalid ({reason})."

    @property
    def valid(self) -> Comparison:
        """This comparison without the configurations that `invalid` lists."""
        return self.without(self.invalid)

    def without(self, left: Collection[str]) -> Comparison:
        """The comparison without these labels."""
        return replace(
            self,
            reports={label: report for label, report in self.reports.items() if label not in left},
            repetitions={
                label: by_seed for label, by_seed in self.repetitions.items() if label not in left
            },
        )

    def reserve_sentence(self) -> str:
        """The message to show first if the reserve decided; empty if the policies did."""
        shares = self.reserve_decided
        if not shares:
            return ""
        is_all = len(shares) == len(self.repetitions or self.reports)
        place = "all runs" if is_all and len(shares) > 1 else ", ".join(shares)
        most = f"{100 * max(shares.values()):.1f} %"
        share = f"at most {most}" if len(shares) > 1 else f"only {most}"
        end = ""
        if self.not_compared:
            end = " This is no comparison of policies"
            end += "." if is_all else ": their rows have no ratios."
        return (
            f"The reserve decided, not the victim policy, in {place}: {share} of the victims were"
            f" the policy's choice (see the warnings).{end}"
        )

    @property
    def completed(self) -> bool:
        """Every run completed."""
        is_complete = all(report.completed for _, report in self.runs)
        return is_complete and not self.failures and not self.interrupted

    @property
    def rows(self) -> list[Row]:
        """One row per run, including repetitions: the numbers that are compared."""
        return [_row(label, report) for label, report in self.runs]

    @property
    def json(self) -> dict[str, Any]:
        """The contents of compare.json."""
        values = {
            "version": 1,
            "completed": self.completed,
            "runs": self.rows,
            "failures": self.failures,
            "not_run": self.not_run,
            "folders": {label: self._folder(label).as_posix() for label in self.reports},
            "reserve_decided": self.reserve_decided,
            **({"varied": self.varied} if self.varied else {}),
            "warnings": self._warnings(),
            "answer": [asdict(answer) for answer in self.answers],
        }
        return values | self._repetitions_json() if self.repetitions else values

    def _repetitions_json(self) -> dict[str, Any]:
        """The part of compare.json for repetitions."""
        labels = list(self.repetitions)

        def plain(statistics: Mapping[str, Estimate | Ratio]) -> dict[str, Any]:
            return {
                key: asdict(statistic)
                | ({"order": statistic.order} if isinstance(statistic, Ratio) else {})
                for key, statistic in statistics.items()
            }

        return {
            "repetitions": {
                label: {seed: run_folder(label, seed).as_posix() for seed in by_seed}
                for label, by_seed in self.repetitions.items()
            },
            "statistics": [{"label": label, **plain(self.estimates(label))} for label in labels],
            "ratios": [
                {"label": label, "baseline": labels[0], **plain(self.ratios(label))}
                for label in labels[1:]
            ],
            "without_spread": self.without_spread,
        }

    def to_json(self) -> str:
        """The text of compare.json."""
        return json.dumps(self.json, indent=2, ensure_ascii=False) + "\n"

    def summary(self) -> str:
        """The comparison as text, 80 columns wide where labels permit."""
        if self.repetitions:
            from ssdlab.results.repeated_text import tables

            lines = tables(self)
        else:
            lines = [*self._head(), *self.first_lines(), *self.answer_lines(), ""]
            lines += self._overview()
            for op in ("write", "read"):
                lines += self._latencies(op)
        losses = dict.fromkeys(report.loss for _, report in self.runs if report.loss)
        lines = [*(line for loss in losses for line in wrapped("LOST  ", loss)), *lines]
        for label, reason in by_reason(self.failures).items():
            lines += ["", f"{label} could not finish: {reason}"]
        if self.not_run:
            lines += ["", *wrapped("not run: ", ", ".join(self.not_run))]
        for head, mark, texts in self.warning_groups():
            lines += ["", head + (" (first seed)" if self.repetitions else "")]
            lines += [line for text in texts for line in wrapped(mark, text)]
        if self.repetitions:
            # Repeated below tables longer than a screen, because the reader of a terminal looks
            # there.
            lines += self.answer_lines()
        return "\n".join(lines) + "\n"

    def _head(self) -> Iterator[str]:
        reports = list(self.reports.values())
        requests = {report.requests.completed for report in reports}
        simulated = max((report.time.simulated for report in reports), default=0)
        requests_text = f" of {requests.pop():,} requests each" if len(requests) == 1 else ""
        mark = "" if self.completed else ", NOT COMPLETED"
        first = reports[0].name if reports else "nothing"
        time = f", up to {duration(simulated)} simulated" if simulated else ""
        count = "one run" if len(reports) == 1 else f"{len(reports)} runs"
        yield f"{first}: {count}{requests_text}{time}{mark}"

    def first_lines(self) -> list[str]:
        """What a reader has to know before any number."""
        notes = [*(f"drive: {drive}" for drive in self.drives), self.reserve_sentence()]
        return [line for note in notes if note for line in ["", *wrapped("", note)]]

    @property
    def drives(self) -> list[str]:
        """The drives of the runs, each with its errors against measurements."""
        notes = (report.json["config"]["run"].get("drive") for _, report in self.runs)
        return [note for note in dict.fromkeys(notes) if note]

    def _warnings(self) -> dict[str, list[str]]:
        """Each warning once, with the labels of the runs that gave it."""
        by_text: dict[str, list[str]] = {}
        for label, report in self.reports.items():
            for text in report.warnings:
                by_text.setdefault(text, []).append(label)
        return by_text

    @cached_property
    def answers(self) -> list[Answer]:
        """The answers as far as intervals decide: one for each workload."""
        return answers(self)

    @property
    def lowest_of_all(self) -> dict[str, list[tuple[str, ...]]]:
        """By column, for each workload, the result of `Answer.lowest`."""
        by_column: dict[str, list[tuple[str, ...]]] = {}
        for answer in self.answers:
            for key, labels in answer.lowest.items():
                by_column.setdefault(key, []).append(labels)
        return by_column

    def answer_lines(self) -> list[str]:
        """The answers, as lines of a summary."""
        lines = [line for answer in self.answers for line in wrapped("", answer.text)]
        return ["", *lines] if lines else []

    def _ratio(self, label: str, value: float | None, base: float | None) -> str:
        """How `value` of a run compares with that of the first one."""
        first, excluded = next(iter(self.reports)), self.not_compared
        return _ratio(value, base, label == first or label in excluded or first in excluded)

    def _overview(self) -> list[str]:
        head = [
            "",
            "WAF" + RATIO,
            "decided",
            "GC calls",
            "foreground",
            "copies",
            "erases",
        ]
        rows = []
        has_zones = any(report.zones for report in self.reports.values())
        base = next((report.waf.total for report in self.reports.values()), None)
        for label, report in self.reports.items():
            gc, waf = report.gc, report.waf.total
            share = percent(gc.foreground / gc.calls if gc.calls else None)
            rows.append(
                [
                    label,
                    ratio(waf) + self._ratio(label, waf, base),
                    report.verdict.decided_by,
                    f"{gc.calls:,}",
                    share,
                    f"{gc.pages_moved:,}",
                    f"{report.flash.erases:,}",
                    *([ratio(report.zones.host_waf)] if report.zones else ["-"] * has_zones),
                ]
            )
        return table([*head, *["WAF of the host"] * has_zones], rows)

    def _latencies(self, op: str) -> list[str]:
        stats: dict[str, LatencyStats] = {
            label: getattr(report.latency, op) for label, report in self.reports.items()
        }
        if not any(s.count for s in stats.values()):
            return []
        ratios = {name: RATIO if name in COMPARED else "" for name in STATISTICS}
        names = [name.replace("_", ".") + room for name, room in ratios.items()]
        rows = []
        base = next(iter(stats.values()))
        for label, s in stats.items():
            cells = [label]
            for name, room in ratios.items():
                value, base_value = getattr(s, name), getattr(base, name)
                cells.append(duration(value) + (room and self._ratio(label, value, base_value)))
            rows.append(cells)
        return ["", *table([f"{op} latency", *names], rows)]

    def warning_groups(self) -> Iterator[warned.Group]:
        """A title, the mark of a line, and the warnings: those that invalidate numbers, then notes.

        Warnings of several runs that differ only in numbers are printed once.
        """
        reports = self.reports.items()
        severe = [(label, w) for label, r in reports for w in r.warnings[: r.invalidating]]
        notes = [(label, w) for label, r in reports for w in r.warnings[r.invalidating :]]
        groups = (folded(texts, len(self.reports)) for texts in (severe, notes))
        return warned.groups("results", *groups)

    def __repr__(self) -> str:
        return f"<Comparison of {', '.join(self.reports)}>\n{self.summary()}"

    def _repr_html_(self) -> str:
        """The answer, its picture and the table of numbers, for notebooks."""
        return drawer().of_comparison(self)


def folder_name(label: str) -> str:
    """The folder of a run below that of the comparison."""
    return re.sub(r"[^\w.+=-]+", "-", label).strip("-.") or "run"


def run_folder(label: str, seed: int | None) -> Path:
    """The folder of a run below that of the comparison; `seed`: of which repetition, if several."""
    folder = Path(folder_name(label))
    return folder if seed is None else folder / f"seed-{seed}"


def labels_of(parts: Sequence[Mapping[str, str]]) -> list[str]:
    """A label for each run from its components, omitting those that are the same in all."""
    keys = [key for key in parts[0] if len({part[key] for part in parts}) > 1]
    keys = keys or list(parts[0])[:1]
    single = len(keys) == 1

    def shown(part: Mapping[str, str], key: str) -> str:
        name = key.rpartition(".")[2]
        return part[key] if single or key in ("config", "trace") else f"{name}={part[key]}"

    labels: dict[str, str] = {}
    for part in parts:
        label = stem = " ".join(shown(part, key) for key in keys)
        number = 2
        while folder_name(label) in labels:
            label, number = f"{stem} ({number})", number + 1
        labels[folder_name(label)] = label
    return [*labels.values()]
