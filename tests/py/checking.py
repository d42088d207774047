"""Runs with logs, the external checker on them, and logs that are changed to break a rule."""

import contextlib
import csv
import hashlib
import io
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

_PASSED: set[bytes] = set()
"""Digests of logs in which the checker found nothing."""


def checker(folder: Path, *options: str) -> tuple[int, str, str]:
    """The exit code and the output of the checker on `folder`, in this process."""
    stdout, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(stdout), contextlib.redirect_stderr(errors):
        code = check_run.main([str(folder), *options])
    return code, stdout.getvalue(), errors.getvalue()


def checked(folder: Path) -> None:
    """The checker finds nothing in the run in `folder`."""
    code, stdout, errors = checker(folder, "--limit", "3")
    assert code == 0, f"\n{stdout}{errors}"


def rows_of(folder: Path, name: str) -> Rows:
    """The rows of a log."""
    with zstandard.open(folder / name, "rt", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def change_log(folder: Path, name: str, change: Callable[[Rows], None]) -> None:
    """Change the rows of a log of a run that has passed the checker, once for equal logs."""
    logs = [path.read_bytes() for path in sorted(folder.glob("*.csv.zst"))]
    digest = hashlib.sha256(b"".join(logs)).digest()
    if digest not in _PASSED:
        checked(folder)
        _PASSED.add(digest)
    rows = rows_of(folder, name)
    change(rows)
    with zstandard.open(folder / name, "wt", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def violates(folder: Path, rule: str) -> None:
    """The checker finds `rule` broken."""
    code, stdout, errors = checker(folder)
    assert code == 1, stdout + errors
    assert f"violated: {rule}," in stdout, stdout[-500:]


def findings_in(folder: Path) -> tuple[Findings, str]:
    """What the checker finds in a folder, and what it prints; in this process."""
    stdout = io.StringIO()
    with contextlib.redirect_stdout(stdout):
        findings = check_run.check(folder, 5)
    return findings, stdout.getvalue()
