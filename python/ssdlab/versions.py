"""Version and commit of the package, which must be those of its compiled part."""

from __future__ import annotations

import re
import shlex
import sys

from ssdlab import _core

VERSION = "0.1.0"
"""Version of the Python files, which their compiled part must have as well (Cargo.toml)."""
RESULTS = _core.__results_version__
"""Version of the results: equal inputs of equal versions have equal results (ADR 0022)."""


def check_version() -> str:
    """The version; an `ImportError` if the compiled part is of another one."""
    if _core.__version__ != VERSION:
        message = (
            f"ssdlab {VERSION} found a compiled part of version {_core.__version__}: install the"
            " package again (in a checkout: make build)"
        )
        raise ImportError(message)
    return VERSION


def install(*packages: str) -> str:
    """The command that installs packages in the required versions for the Python in use.

    It names packages, not extras of ssdlab, which may not have been installed from an index.
    """
    from importlib import metadata  # Its import takes longer than that of the command line.

    try:
        requirements = metadata.requires("ssdlab") or []
    except metadata.PackageNotFoundError:
        requirements = []
    lines = [requirement.partition(";")[0].strip() for requirement in requirements]
    by_name = {re.split(r"[^\w.-]", line)[0]: line for line in lines}
    specifiers = (by_name.get(package, package) for package in packages)
    return shlex.join([sys.executable, "-m", "pip", "install", *specifiers])


def described() -> str:
    """Version, commit where known, and version of the results."""
    return format_version(_core.__version__, _core.__commit__, _core.__results_version__)


def format_version(version: str, commit: str | None, results: int | None) -> str:
    """As `described`, for the program that wrote a report."""
    commit_text = f" ({commit})" if commit else ""
    return f"{version}{commit_text}" + ("" if results is None else f", results {results}")
