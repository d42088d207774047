"""Where runs execute: the value of `on`, or `--on`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from typing import TYPE_CHECKING

from ssdlab.display.argument import argument
from ssdlab.errors import ConfigError
from ssdlab.running.runner import Runner, Threads, cores, threads_of
from ssdlab.versions import install

if TYPE_CHECKING:
    from ssdlab.running.cluster.hosted import Settings

WORDS = {
    "threads[:N]": "threads of this process (the default)",
    "processes[:N]": "a process here for each run",
    "local[:N]": "a Dask cluster of N worker processes on this machine",
    "tcp://HOST:PORT": "the Dask scheduler at this address; tls:// as well",
    "slurm:FILE": "jobs of SLURM, with the settings in a TOML file",
}
"""What `on` takes."""
CLUSTERS = ("local", "tcp", "tls", "slurm")
MOST_HERE = 1024
"""Runs at a time on one machine."""


@contextmanager
def runner_of(on: str | None, jobs: int | None, runs: int | None = None) -> Iterator[Runner]:
    """The runner for `on` (one of `WORDS`); None stands for `jobs` threads, at most `runs`.

    Raises `ConfigError` for another word, and for a scheduler that does not answer.
    """
    word, colon, rest = (on or "threads").partition(":")
    is_known = word in ("threads", "processes", "local") or (word in CLUSTERS and rest)
    if not is_known or (colon and not rest):
        raise ConfigError([_unknown(str(on))])
    if word in CLUSTERS:
        if jobs is not None:
            message = f"the workers of {on} say how many runs are made at a time"
            raise ConfigError([f"{argument(jobs=jobs)}: {message}"])
        with _cluster(word, rest, str(on)) as runner:
            yield runner
        return
    if rest and jobs is not None:
        jobs_option, on_option = argument(jobs=jobs), argument(on=on)
        raise ConfigError([f"{jobs_option}: {on_option} says how many runs are made at a time"])
    requested = _number(rest, str(on)) if rest else jobs
    threads = threads_of(requested, MOST_HERE if runs is None else runs)
    yield Threads(threads, apart=word == "processes")


def _unknown(on: str) -> str:
    words = [re.split(r"[\[:]", word)[0] for word in WORDS]
    matches = get_close_matches(on.partition(":")[0], words, 1)
    hint = (
        f"; did you mean {next(option for option in WORDS if option.startswith(matches[0]))}?"
        if matches
        else ""
    )
    return f"{argument(on=on)}: expected {', '.join(WORDS)}{hint}"


def _number(text: str, on: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= MOST_HERE:
        expected = f"expected a number from 1 to {MOST_HERE:,} after the colon"
        raise ConfigError([f"{argument(on=on)}: {expected}"])
    return int(text)


@contextmanager
def _cluster(word: str, rest: str, on: str) -> Iterator[Runner]:
    """A runner on a cluster, our own or an existing one."""
    try:
        from ssdlab.running.cluster.connection import Connection
        from ssdlab.running.cluster.hosted import HostedCluster
        from ssdlab.running.cluster.runner import Cluster
    except ImportError as error:
        packages = ("dask", "distributed", "dask-jobqueue", "bokeh")
        message = f"{argument(on=on)} needs {error.name}: {install(*packages)}"
        raise ConfigError([message]) from error
    hosted = None if word in ("tcp", "tls") else HostedCluster(_settings(word, rest, on))
    try:
        address = on if hosted is None else hosted.address
        connection = Connection(address, direct=word == "local")
        try:
            yield Cluster(connection)
        finally:
            connection.close()
    finally:
        if hosted is not None:
            hosted.close()


def _settings(word: str, rest: str, on: str) -> Settings:
    if word == "slurm":
        from ssdlab.running.cluster.slurm import settings

        return settings(rest)
    from ssdlab.running.cluster.hosted import local

    return local(_number(rest, on) if rest else cores())
