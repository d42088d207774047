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


def outside(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of a new user: no virtual environment, no make, no Python paths."""
    ours = ("VIRTUAL_ENV", "PYTHONPATH", "PYTHONHOME", "PYO3_PYTHON", "RUSTFLAGS")
    kept = {k: v for k, v in os.environ.items() if k not in ours and not k.startswith("MAKE")}
    inside = str(ROOT / ".venv")
    folders = [f for f in kept["PATH"].split(os.pathsep) if not f.startswith(inside)]
    return kept | {"PATH": os.pathsep.join(folders), "PYTHONUTF8": "1"} | dict(more or {})


def output_of(
    command: list[str | Path], *, folder: Path = ROOT, env: Mapping[str, str] | None = None
) -> str:
    """What a command prints, without warnings; `Refused` with all of it if the command fails."""
    done = subprocess.run(
        [str(word) for word in command],
        cwd=folder,
        env=outside() if env is None else dict(env),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        shown = " ".join(str(word) for word in command)
        printed = (done.stdout + done.stderr).rstrip()
        raise Refused(f"{shown}: exit code {done.returncode}\n{printed}")
    return done.stdout


def environment(folder: Path) -> Path:
    """The Python of a new, empty virtual environment."""
    output_of([sys.executable, "-m", "venv", "--clear", folder])
    return folder / "bin/python"
