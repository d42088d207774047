"""What is fixed before the results of a paper or study: where it is, and what results say of it.

The file `registered/NAME.json` lists everything that decides what a paper or study runs: decisions,
keys of schemes and requests, seeds and readings. It is committed before the first run. Every result
names the digest of the file and the commit at which its runs were started, so that anyone can check
that choices came before results (`tools/order.py`). `register` makes the file from the code.
"""

from __future__ import annotations

import subprocess
from hashlib import sha256
from pathlib import Path

from ssdlab.errors import ConfigError

FOLDER = Path(__file__).parent / "registered"
COMMAND = "python -m ssdlab_lab.reproduce.register"


def file_of(name: str) -> Path:
    """The path of what is registered for a paper or study."""
    return FOLDER / f"{name}.json"


def digest(name: str) -> str:
    """SHA-256 of the registered choices of a paper or study. Raises `ConfigError` without them."""
    try:
        return sha256(file_of(name).read_bytes()).hexdigest()
    except OSError as error:
        message = f"{name}: its choices are not registered ({COMMAND} {name})"
        raise ConfigError([message]) from error


def commit(file: Path = Path(__file__)) -> str | None:
    """The commit of the checkout that tracks a file, with -dirty if it differs; None without one.

    By default that is the checkout of this package: installed from a wheel it has none, even if the
    environment is in the folder of a checkout.
    """
    described = None
    for command in (
        ["git", "ls-files", "--error-unmatch", file.name],
        ["git", "describe", "--always", "--dirty", "--exclude=*", "--abbrev=12"],
    ):
        try:
            done = subprocess.run(
                command, cwd=file.parent, check=True, capture_output=True, text=True
            )
        except (OSError, subprocess.CalledProcessError):
            return None
        described = done.stdout.strip()
    return described


def stated(name: str, started: str | None, registered: str) -> str:
    """The sentence of a page that `tools/order.py` checks."""
    at = f" Its runs were started at commit {started}." if started else ""
    return f"Choices: `registered/{name}.json`, SHA-256 {registered}.{at}"
