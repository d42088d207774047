"""bench/history.jsonl: one line per case and run; the latest answers are the recorded ones."""

from __future__ import annotations

import datetime
import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ssdlab._core import __version__


def recorded(path: Path, case: str) -> dict[str, Any] | None:
    """Return the latest line of a case; None without one."""
    if not path.exists():
        return None
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return next((line for line in reversed(lines) if line["case"] == case), None)


def append(path: Path, case: str, figures: Mapping[str, object]) -> None:
    """Add a line with date, version and commit."""
    date = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
    line = {
        "date": date,
        "version": __version__,
        "commit": _commit(),
        "case": case,
        **figures,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as history:
        history.write(json.dumps(line) + "\n")


def _commit() -> str | None:
    """Return the commit of the working copy, with a + if it differs; None outside one."""
    command = ["git", "describe", "--always", "--dirty=+", "--exclude=*"]
    try:
        process = subprocess.run(command, check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return process.stdout.strip()
