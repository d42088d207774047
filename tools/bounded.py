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

IDLE = 0.01
"""What uses less of a processor waits for something that does not come."""


@dataclass(frozen=True)
class Limits:
    """What a command may take."""

    longest_s: float
    """Elapsed time in which the command and all that it starts must compute something, or end.

    A busy machine makes them slow, and does not stop them.
    """
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
class CommandResult:
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


def _watch(session: int, longest_s: float, finished: threading.Event) -> None:
    """Kill the processes of a session when all of them wait."""
    previous = 0.0
    while not finished.wait(longest_s):
        current = _cpu_s(session)
        if current - previous < IDLE * longest_s:
            with suppress(ProcessLookupError):
                os.killpg(session, signal.SIGKILL)
            return
        previous = current


def _cpu_s(session: int) -> float:
    """Processor time of the processes of a session; 0 where the system does not say."""
    ticks = 0
    for file in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            # After the name: state, parent, group, session; from the 11th on, times.
            words = file.read_text(encoding="utf-8").rpartition(")")[2].split()
            ticks += sum(map(int, words[11:15])) if int(words[3]) == session else 0
    return ticks / os.sysconf("SC_CLK_TCK")


def run(
    command: Sequence[str],
    folder: Path,
    environment: Mapping[str, str],
    limits: Limits,
    *,
    stop_at: str | None = None,
    errors: int = subprocess.DEVNULL,
) -> CommandResult:
    """Run a command in `folder`; `environment` is added to that of this process.

    It is ended at the first line of output that matches `stop_at`.
    """
    start = resource.getrusage(resource.RUSAGE_CHILDREN)
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
    finished = threading.Event()
    threading.Thread(target=_watch, args=(process.pid, limits.longest_s, finished)).start()
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
        process.wait()
        raise
    finally:
        finished.set()
    process.stdout.close()
    usage_after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = usage_after.ru_utime + usage_after.ru_stime - start.ru_utime - start.ru_stime
    return CommandResult(code, "".join(lines), stopped_by, cpu_s)


def interruptible(main: Callable[[], int], message: str) -> int:
    """The exit code of a command; if a signal ends it, what it has started ends, too.

    `message` says what is left of it.
    """
    signals: list[int] = []

    def end(number: int, _: object) -> None:
        signals.append(number)
        raise KeyboardInterrupt

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)
    try:
        return main()
    except BaseException:
        # A library may have made another exception of it.
        if not signals:
            raise
        print(f"\ninterrupted: {message}", file=sys.stderr)
        return 130
