"""Comparisons, sweeps, searches and fleets: rows, intervals and ratios, from rows of runs."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

from .checks import t_95
from .inputs import Findings, Report, UnreadableError

Row: TypeAlias = "dict[str, Any]"
COMPARE, SWEEP, SEARCH, FLEET = "compare.json", "sweep.json", "search.json", "fleet.json"
KEYS = {
    "completed": "completed",
    "requests": "requests.completed",
    "waf": "waf.total",
    **{
        f"{op}_{name}_ns": f"latency.{op}.{name}"
        for op in ("write", "read")
        for name in ("mean", "p50", "p99", "p99_9", "max")
    },
    "decided_by": "verdict.decided_by",
    "policy_share": "verdict.policy_share",
    "gc_calls": "gc.calls",
    "gc_foreground": "gc.foreground",
    "gc_pages_moved": "gc.pages_moved",
    "erases": "flash.erases",
    "simulated_ns": "time.simulated",
    "wall_ns": "time.wall",
    "seed": "provenance.seed",
    "config_digest": "provenance.config_digest",
    "event_digest": "provenance.event_digest",
    "first_block_days": "lifetime.first_block_days",
    "lifetime_bytes": "lifetime.bytes_written",
    "lifetime_days": "lifetime.days",
    "drive_writes_per_day": "lifetime.drive_writes_per_day",
    "requests_per_s": "speed.requests_per_s",
    "flash_ops_per_s": "speed.flash_ops_per_s",
    "read_bytes_per_s": "host.read_bytes_per_s",
    "write_bytes_per_s": "host.write_bytes_per_s",
}
"""The keys of report.json from which the columns of rows come."""
SHARE = "gc_foreground_share"
CLOSE = 1e-6


def row_of(report: Report) -> Row:
    """Return the columns of a run."""
    row = {name: report.get(path) for name, path in KEYS.items()}
    calls = row["gc_calls"]
    return row | {SHARE: row["gc_foreground"] / calls if calls else None}


def close(actual: Any, expected: Any) -> bool:  # noqa: ANN401 - any JSON
    """Tell whether two values are equal, numbers to seven digits."""
    if isinstance(actual, int | float) and isinstance(expected, int | float):
        return math.isclose(actual, expected, rel_tol=CLOSE, abs_tol=1e-12)
    return bool(actual == expected)


def interval(values: Sequence[float]) -> tuple[float, float, float | None]:
    """Return mean, sample standard deviation and half of Student's 95 % interval."""
    n = len(values)
    mean = math.fsum(values) / n
    spread = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (n - 1))
    if min(values) == max(values):
        return values[0], 0.0, None
    return mean, spread, t_95(n - 1) * spread / math.sqrt(n)


def paired(values: Sequence[float], base: Sequence[float]) -> Row | None:
    """Return the geometric mean of the ratios, pair by pair, with its interval."""
    if min(*values, *base) <= 0:
        return None
    logs = [math.log(a) - math.log(b) for a, b in zip(values, base, strict=True)]
    if all(close(log, logs[0]) for log in logs) and len({*zip(values, base, strict=True)}) == 1:
        return {"n": len(logs), "ratio": values[0] / base[0], "low": None, "high": None}
    centre, _, width = interval(logs)
    width = width or 0.0
    ends = {"low": math.exp(centre - width), "high": math.exp(centre + width)}
    return {"n": len(logs), "ratio": math.exp(centre), **ends}


def order_of(ratio: Row) -> str:
    """Return what the interval of a ratio decides."""
    low = ratio["ratio"] if ratio["low"] is None else ratio["low"]
    high = ratio["ratio"] if ratio["high"] is None else ratio["high"]
    if low == high == 1:
        return "equal"
    if high < 1:
        return "lower"
    return "higher" if low > 1 else "not distinguishable"


class RunsFolder:
    """Files of several runs in one folder."""

    def __init__(self, folder: Path, findings: Findings) -> None:
        """Take the folder."""
        self.folder, self.findings = folder, findings

    def check(self) -> bool:
        """Check the files in the folder; returns whether there are any."""
        for name, check in (
            (COMPARE, self._compare),
            (SWEEP, self._sweep),
            (SEARCH, self._search),
            (FLEET, self._fleet),
        ):
            if (self.folder / name).exists():
                check(self._json(name))
                return True
        return False

    def _json(self, name: str) -> Row:
        try:
            values = json.loads((self.folder / name).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            message = f"{name}: {error}"
            raise UnreadableError(message) from error
        assert isinstance(values, dict)
        return values

    def _hold(self, place: str, expected: Any, actual: Any) -> None:  # noqa: ANN401
        if isinstance(expected, dict) and isinstance(actual, dict):
            for key, value in expected.items():
                self._hold(f"{place}.{key}", value, actual.get(key))
        elif isinstance(expected, list) and isinstance(actual, list):
            self._hold(f"{place}: values", len(expected), len(actual))
            for number, value in enumerate(expected[: len(actual)]):
                self._hold(f"{place}.{number}", value, actual[number])
        elif not close(actual, expected):
            self.findings.add(place.partition(":")[0], place, expected, actual)

    def _table(self, name: str, rows: Sequence[Row]) -> None:
        """Compare a CSV with these rows: its numbers are read as numbers, empty fields as null."""
        with (self.folder / name).open(encoding="utf-8", newline="") as file:
            written_rows = list(csv.DictReader(file))
        self._hold(f"{name}: rows", len(rows), len(written_rows))
        for line, (row, fields) in enumerate(zip(rows, written_rows, strict=False), 2):
            for key, value in row.items():
                self._hold(f"{name}:{line}.{key}", value, _parsed(fields.get(key), value))

    def _compare(self, values: Row) -> None:
        """compare.json and compare.csv, from the report of every run."""
        repetitions: dict[str, dict[str, str]] = values.get("repetitions", {})
        run_folders = {label: {"": folder} for label, folder in values["folders"].items()}
        runs: dict[str, dict[str, Row]] = {}
        for label, by_seed in (repetitions or run_folders).items():
            reports = {seed: Report.read(self.folder / name) for seed, name in by_seed.items()}
            runs[label] = {seed: row_of(report) for seed, report in reports.items()}
        rows = [
            {"label": label, **row}
            for label, rows_by_seed in runs.items()
            for row in rows_by_seed.values()
        ]
        self._hold(f"{COMPARE}: runs", len(rows), len(values["runs"]))
        for number, (row, reports) in enumerate(zip(rows, values["runs"], strict=False)):
            self._hold(f"{COMPARE}:runs.{number}", row, reports)
        self._table("compare.csv", rows)
        if not repetitions:
            return
        first = next(iter(runs))
        statistics_of_label = {entry["label"]: entry for entry in values["statistics"]}
        ratios = {entry["label"]: entry for entry in values["ratios"]}
        self._hold(f"{COMPARE}: baseline", first, next(iter(statistics_of_label)))
        for label, rows_by_seed in runs.items():
            self._statistics(
                f"{COMPARE}:statistics.{label}", rows_by_seed, statistics_of_label[label]
            )
            if label != first:
                self._ratios(f"{COMPARE}:ratios.{label}", rows_by_seed, runs[first], ratios[label])

    def _statistics(self, place: str, rows_by_seed: dict[str, Row], reported: Row) -> None:
        for key in reported.keys() - {"label"}:
            values = [row[key] for row in rows_by_seed.values() if row["completed"]]
            mean, spread, width = interval(values)
            expected = {"n": len(values), "mean": mean, "stddev": spread, "ci95": width}
            self._hold(f"{place}.{key}", expected, reported[key])
        self._hold(f"{place}: waf", "waf" in reported, True)

    def _ratios(
        self, place: str, rows_by_seed: dict[str, Row], base: dict[str, Row], reported: Row
    ) -> None:
        for key in reported.keys() - {"label", "baseline"}:
            seeds = [seed for seed in rows_by_seed if seed in base]
            values, base_values = (
                [rows_of_side[seed][key] for seed in seeds] for rows_of_side in (rows_by_seed, base)
            )
            expected = paired(values, base_values)
            if expected is not None:
                expected["order"] = order_of(expected)
            self._hold(f"{place}.{key}", expected, reported[key])

    def _sweep(self, values: Row) -> None:
        """sweep.csv, from the lines of the runs, in the order of points and seeds."""
        names = values["sweep"]["columns"]
        lines = (self.folder / "outcomes.jsonl").read_text(encoding="utf-8").splitlines()
        outcomes = [json.loads(line) for line in lines]
        outcomes.sort(key=lambda outcome: (outcome["point"], outcome["seed"] or 0))
        rows = []
        for outcome in outcomes:
            numbers = outcome["values"] or [None] * len(names)
            row = {"point": outcome["point"], **dict(zip(names, numbers, strict=True))}
            if outcome["seed"] is not None:
                row["seed"] = outcome["seed"]
            row["completed"] = not outcome.get("error")
            rows.append(row | {"warnings": len(outcome.get("warnings", ()))})
        self._table("sweep.csv", rows)
        self._hold(f"{SWEEP}:ended", len(rows), values["ended"])
        for number, row in enumerate(rows):
            self._consistent(f"sweep.csv:{number + 2}", row)

    def _fleet(self, values: Row) -> None:
        """fleet.csv and the counts, from the volumes and the lines of the runs."""
        lines = (self.folder / "outcomes.jsonl").read_text(encoding="utf-8").splitlines()
        outcomes = {outcome["point"]: outcome for outcome in map(json.loads, lines)}
        names, drives, rows = values["fleet"]["columns"], values["drives"], []
        for index, volume in enumerate(values["volumes"]):
            for place, drive in enumerate(drives):
                outcome = outcomes.get(index * len(drives) + place, {})
                extra = outcome.get("more", {})
                if volume["reason"]:
                    group, reason = volume["reason"], volume["reason"]
                elif not outcome:
                    group, reason = "not run", None
                elif outcome.get("error"):
                    group, reason = "failed", outcome["error"]
                elif not extra["steady"]:
                    group, reason = "not steady", extra["why_not_steady"]
                elif outcome.get("invalidating"):
                    group, reason = "invalid", outcome["warnings"][0]
                else:
                    group, reason = "measured", None
                numbers = outcome.get("values") or [None] * len(names)
                row = {"volume": volume["volume"], "drive": drive, "group": group}
                row |= {"reason": reason, **volume["statistics"], **extra}
                rows.append(row | dict(zip(names, numbers, strict=True)))
        self._table("fleet.csv", rows)
        for number, row in enumerate(rows, 2):
            self._consistent(f"fleet.csv:{number}", row)
            if row["waf"]:
                is_consistent = row["gc_share"] <= 1 - 1 / row["waf"] + CLOSE
                self._hold(
                    f"fleet.csv:{number}: copies are part of what is written", True, is_consistent
                )
        failures = sum(row["group"] == "failed" for row in rows)
        run_count = sum(not volume["reason"] for volume in values["volumes"]) * len(drives)
        counts = {"runs": run_count, "ended": len(outcomes), "failed": failures}
        self._hold(
            FLEET, counts | {"completed": run_count == len(outcomes) and not failures}, values
        )

    def _consistent(self, place: str, row: Row) -> None:
        """Check the columns of a row that follow from one another."""
        calls = row.get("gc_calls")
        if calls:
            self._hold(f"{place}.{SHARE}", row["gc_foreground"] / calls, row[SHARE])
        if row.get("lifetime_bytes") and row.get("lifetime_days") and row["first_block_days"]:
            ends = row["first_block_days"] <= row["lifetime_days"]
            self._hold(f"{place}: the first block ends first", True, ends)

    def _search(self, values: Row) -> None:
        """Objectives of the trials and the test, from runs.jsonl."""
        rows_by_key: dict[tuple[str, str, int, int], Row] = {}
        invalid_by_key: dict[tuple[str, str, int, int], bool] = {}
        for line in (self.folder / "runs.jsonl").read_text(encoding="utf-8").splitlines():
            key, outcome = json.loads(line)
            point, case, seed, divisor = json.loads(key)
            rows_by_key[point, case, seed, divisor] = outcome["row"]
            invalid_by_key[point, case, seed, divisor] = bool(outcome["invalid"])
        search = values["search"]
        train, test = ([*search[key]] for key in ("seeds", "test_seeds"))
        cases = sorted({case for _, case, *_ in rows_by_key})
        goals = [goal["column"]["name"] for goal in values["goals"]]
        if len(cases) != 1:
            return

        def is_invalid(point: str, seeds: Sequence[int]) -> bool:
            count = sum(invalid_by_key[point, cases[0], seed, 1] for seed in seeds)
            return count > 0 and 2 * count >= len(seeds)

        for trial in values["trials"]:
            point = json.dumps(trial["point"], ensure_ascii=False)
            rows = [rows_by_key.get((point, cases[0], seed, 1)) for seed in train]
            if trial["state"] not in ("completed", "invalid") or None in rows:
                continue
            at_once = trial["state"] == "invalid" and not trial["why"].startswith("on the test ")
            place = f"{SEARCH}:trials.{trial['number']}: half of its seeds are invalid"
            self._hold(place, is_invalid(point, train), at_once)
            goal_means = [_mean([row[goal] for row in rows if row]) for goal in goals]
            self._hold(f"{SEARCH}:trials.{trial['number']}", goal_means, trial["values"])
        base = [rows_by_key["baseline", cases[0], seed, 1] for seed in train]
        expected: list[float | None] = [_mean([row[goal] for row in base]) for goal in goals]
        if is_invalid("baseline", train):
            expected = [None for _ in goals]
        self._hold(f"{SEARCH}:baseline", expected, values["baseline"])
        points = {trial["number"]: trial["point"] for trial in values["trials"]}
        for trial_ in values["tested"]:
            point = json.dumps(points[trial_["number"]], ensure_ascii=False)
            trial_rows = [rows_by_key[point, cases[0], seed, 1] for seed in test]
            baseline_rows = [rows_by_key["baseline", cases[0], seed, 1] for seed in test]
            place = f"{SEARCH}:tested.{trial_['number']}"
            self._hold(f"{place}: half of its seeds are invalid", is_invalid(point, test), False)
            self._tested(place, trial_, (trial_rows, baseline_rows), is_invalid("baseline", test))

    def _tested(
        self, place: str, trial: Row, rows: tuple[list[Row], list[Row]], is_base_invalid: bool
    ) -> None:
        for comparison in trial["compared"]:
            if comparison["of"] != "baseline" or comparison["what"] not in rows[0][0]:
                continue
            values, base = (
                [row[comparison["what"]] for row in rows_of_side] for rows_of_side in rows
            )
            self._hold(f"{place}.{comparison['what']}.mean", _mean(values), comparison["mean"])
            expected = None if is_base_invalid else paired(values, base)
            self._hold(f"{place}.{comparison['what']}", expected, comparison["ratio"])


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _parsed(text: str | None, example: Any) -> Any:  # noqa: ANN401 - a field of a CSV
    if text in (None, ""):
        return None
    if isinstance(example, bool):
        return text == "True"
    if isinstance(example, int | float):
        return float(text or "nan")
    return text
