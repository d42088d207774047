"""Runs a command with limits on its time and memory; what it has started ends with it."""

from __future__ import annotations

import os
import re
import resource
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Limits:
    """What a command may take."""

    longest_s: float
    """Elapsed time, of the command and all that it starts."""
    cpu_s: float | None = None
    """Processor time of each process."""
    memory: int | None = None
    """Address space of each process, bytes."""

    def impose(self) -> None:
        """Limit this process and those that it starts."""
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if self.cpu_s is not None:
            seconds = int(self.cpu_s) + 1
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
        if self.memory is not None:
            resource.setrlimit(resource.RLIMIT_AS, (self.memory, self.memory))


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    """Exit code; negative: the signal that ended it."""
    output: str
    """Standard output, and errors if asked for; up to the line that ended it."""
    stopped_by: re.Match[str] | None
    """The match of `stop_at`."""
    cpu_s: float
    """Processor time that it took."""

    @property
    def hung(self) -> bool:
        """Whether it took more time than it may."""
        signals = (-signal.SIGXCPU, -signal.SIGKILL)
        return self.stopped_by is None and self.code in signals


def run(
    command: Sequence[str],
    folder: Path,
    environment: Mapping[str, str],
    limits: Limits,
    *,
    stop_at: str | None = None,
    errors: int = subprocess.DEVNULL,
) -> Ended:
    """Run a command in `folder`; `environment` is added to that of this process.

    It is ended at the first line of output that matches `stop_at`.
    """
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    process = subprocess.Popen(
        command,
        cwd=folder,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=errors,
        text=True,
        errors="replace",
        start_new_session=True,
        preexec_fn=limits.impose,
    )
    assert process.stdout is not None
    watchdog = threading.Timer(limits.longest_s, os.killpg, (process.pid, signal.SIGKILL))
    watchdog.start()
    lines, stopped_by = [], None
    try:
        for line in process.stdout:
            lines.append(line)
            stopped_by = re.match(stop_at, line) if stop_at else None
            if stopped_by:
                os.killpg(process.pid, signal.SIGKILL)
                break
        code = process.wait()
    except BaseException:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        raise
    finally:
        watchdog.cancel()
    process.stdout.close()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Ended(code, "".join(lines), stopped_by, spent)


def interruptible(main: Callable[[], int], kept: str) -> int:
    """The exit code of a command; if a signal ends it, what it has started ends, too.

    `kept` says what is left of it.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        return main()
    except KeyboardInterrupt:
        print(f"\ninterrupted: {kept}", file=sys.stderr)
        return 130
