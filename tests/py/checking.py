"""Runs with logs, the external checker on them, and logs that are changed to break a rule."""

import contextlib
import csv
import io
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import zstandard

from running import ROOT, SMALL

sys.path.insert(0, str(ROOT / "tools"))

import check_run
from run_check.inputs import Findings

LOGGED: dict[str, object] = {
    **SMALL,
    "device.planes_per_chip": 2,
    "device.over_provisioning": 0.35,
    "metrics.op_log": True,
    "metrics.request_log": True,
    "metrics.interval": "1 ms",
    "workload.trim": 0.05,
    "workload.size": [
        {"size": "2 KiB", "weight": 1},
        {"size": "4 KiB", "weight": 2},
        {"size": "20 KiB", "weight": 1},
    ],
}

Rows = list[dict[str, str]]


def checked(folder: Path) -> None:
    """The checker finds nothing in the run in `folder`."""
    tool = [sys.executable, str(ROOT / "tools/check_run.py"), str(folder), "--limit", "3"]
    done = subprocess.run(tool, capture_output=True, text=True, check=False)
    assert done.returncode == 0, "\n" + done.stdout + done.stderr


def rows_of(folder: Path, name: str) -> Rows:
    """The rows of a log."""
    with zstandard.open(folder / name, "rt", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def change_log(folder: Path, name: str, change: Callable[[Rows], None]) -> None:
    """Change the rows of a log of a run that has passed the checker."""
    checked(folder)
    rows = rows_of(folder, name)
    change(rows)
    with zstandard.open(folder / name, "wt", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def violates(folder: Path, rule: str) -> None:
    """The checker finds `rule` broken."""
    tool = [sys.executable, str(ROOT / "tools/check_run.py"), str(folder)]
    done = subprocess.run(tool, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    assert f"violated: {rule}," in done.stdout, done.stdout[-500:]


def findings_in(folder: Path) -> tuple[Findings, str]:
    """What the checker finds in a folder, and what it prints; in this process."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        findings = check_run.check(folder, 5)
    return findings, out.getvalue()
