"""Names of the files in a folder of results."""

from __future__ import annotations

PAGE = "report.html"
"""The page of the results."""
REPORT, CONFIG, SERIES, SUMMARY = "report.json", "config.toml", "series.csv", "summary.txt"
DISTRIBUTIONS = "distributions.csv"
LOGS = {
    "ops": "ops.csv.zst",
    "state": "state.csv.zst",
    "requests": "requests.csv.zst",
    "power": "power.csv.zst",
    "units": "units.csv.zst",
}
COMPARISON_JSON, COMPARISON_CSV = "compare.json", "compare.csv"
SWEEP_JSON, SWEEP_CSV, SWEEP_PARQUET = "sweep.json", "sweep.csv", "sweep.parquet"
OUTCOMES = "outcomes.jsonl"
"""The outcomes of a sweep or a fleet, from which it is resumed."""
FLEET = {kind: f"fleet.{kind}" for kind in ("json", "csv", "parquet")}
"""Files of a fleet besides the outcomes."""
TRIAL_JSON, PLAN_JSON, DRIVE_FILE = "try.json", "plan.json", "drive.toml"
SEARCH_JSON, TRIALS_CSV, RUNS, BEST = "search.json", "trials.csv", "runs.jsonl", "best.toml"
STORAGE, FRONT = "study.journal", "front"
"""The trials as Optuna stores them; the folder of the points of a front."""
EXPORTS = "export"
"""Where `ssdlab export` puts its files by default."""
WRITTEN = {
    *(REPORT, CONFIG, SERIES, DISTRIBUTIONS, SUMMARY, PAGE, *LOGS.values()),
    *(COMPARISON_JSON, COMPARISON_CSV),
    *(SWEEP_JSON, SWEEP_CSV, SWEEP_PARQUET, OUTCOMES),
    *FLEET.values(),
    *(TRIAL_JSON, PLAN_JSON, DRIVE_FILE),
    *(SEARCH_JSON, TRIALS_CSV, RUNS, BEST, STORAGE),
}
"""All files that ssdlab writes into such a folder, outside `FOLDERS`."""
FOLDERS = (EXPORTS, FRONT)
"""Folders in it that contain only our files."""
ANSWERS = (COMPARISON_JSON, REPORT, SWEEP_JSON, TRIAL_JSON, PLAN_JSON, FLEET["json"])
"""The files that show whether the results in a folder are complete."""
