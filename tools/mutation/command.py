"""What the commands of mutation testing have in common: their arguments, and what git says."""

from __future__ import annotations

import argparse
import difflib
import subprocess
import sys
from collections.abc import Collection
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def check_names(
    parser: argparse.ArgumentParser, options: argparse.Namespace, names_of_samples: Collection[str]
) -> None:
    """Exit if a sample is asked for that there is none of, or a change in a way it has not."""
    if options.what == "changed":
        if len(options.names) > 1:
            parser.error(f"changed: one base is expected, not {len(options.names)}")
        return
    if options.budget:
        parser.error("--budget: only of a change; a sample may be interrupted, and goes on")
    for name in options.names:
        if name not in names_of_samples:
            matches = difflib.get_close_matches(name, names_of_samples, 1)
            words = f"; did you mean {matches[0]}?" if matches else ""
            parser.error(f"{name}: no sample; expected {', '.join(names_of_samples)}{words}")


def git(*words: str) -> str:
    """What git says; exit if it fails."""
    command = ["git", "-C", str(ROOT), *words]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    if process.returncode:
        print(f"git {' '.join(words)}: {process.stderr.strip()}", file=sys.stderr)
        sys.exit(2)
    return process.stdout


def fork_of(base: str, *sources: str) -> str:
    """Where this branch left `base`; exit if git does not know all sources."""
    unknown = git("ls-files", "--others", "--exclude-standard", "--", *sources).splitlines()
    if unknown:
        words = "git does not know it, and its mutants would be skipped"
        print(f"{unknown[0]}: {words}: `git add -N {unknown[0]}`", file=sys.stderr)
        sys.exit(2)
    return git("merge-base", base, "HEAD").strip()


def diff(commit: str, *words: str) -> str:
    """What differs from a commit, in git's own form, whatever form its user prefers."""
    form = ("--no-color", "--no-ext-diff", "--src-prefix=a/", "--dst-prefix=b/")
    return git("diff", *form, commit, *words)
