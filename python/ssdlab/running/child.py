"""Processes of our own: fresh interpreters that call `main` of one of our modules."""

from __future__ import annotations

import sys


def command(module: str) -> list[str]:
    """The command of such a process. It first reads `sys.path`, as a pickle, from its input."""
    read = "import pickle, sys; sys.path[:] = pickle.load(sys.stdin.buffer)"
    return [sys.executable, "-c", f"{read}; from {module} import main; main()"]
