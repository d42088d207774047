"""A device with and without what is measured: runs in turn, each in its own process."""

from __future__ import annotations

import json
import subprocess
import sys

from .measure import Figures

ROUNDS = 3


def in_turn(module: str, case: str, words: tuple[str, str]) -> list[tuple[Figures, Figures]]:
    """Run `case` with either word, in turn; `module` answers `--one CASE WORD` with the figures."""
    return [(_run(module, case, words[0]), _run(module, case, words[1])) for _ in range(ROUNDS)]


def _run(module: str, case: str, word: str) -> Figures:
    command = [sys.executable, "-m", module, "--one", case, word]
    process = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return Figures(**json.loads(process.stdout))
