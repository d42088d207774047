"""Commands that a release is built and checked with, in an environment that has nothing of ours."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WORK = ROOT / "target/dist"
"""Everything that is built on the way, kept so that the next build is faster."""


class Refused(Exception):
    """A release cannot be built or does not hold what it should; the text says why."""


def say(text: str) -> None:
    """One line of progress."""
    sys.stderr.write(f"dist: {text}\n")


def outside(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of a new user: no virtual environment, no make, no Python paths."""
    removed = ("VIRTUAL_ENV", "PYTHONPATH", "PYTHONHOME", "PYO3_PYTHON", "RUSTFLAGS")
    inherited = {
        k: v for k, v in os.environ.items() if k not in removed and not k.startswith("MAKE")
    }
    prefix = str(ROOT / ".venv")
    folders = [f for f in inherited["PATH"].split(os.pathsep) if not f.startswith(prefix)]
    return inherited | {"PATH": os.pathsep.join(folders), "PYTHONUTF8": "1"} | dict(extra or {})


def output_of(
    command: list[str | Path], *, folder: Path = ROOT, env: Mapping[str, str] | None = None
) -> str:
    """What a command prints, without warnings; `Refused` with all of it if the command fails."""
    process = subprocess.run(
        [str(word) for word in command],
        cwd=folder,
        env=outside() if env is None else dict(env),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if process.returncode:
        command_line = " ".join(str(word) for word in command)
        output = (process.stdout + process.stderr).rstrip()
        raise Refused(f"{command_line}: exit code {process.returncode}\n{output}")
    return process.stdout


def environment(folder: Path) -> Path:
    """The Python of a new, empty virtual environment."""
    output_of([sys.executable, "-m", "venv", "--clear", folder])
    return folder / "bin/python"
