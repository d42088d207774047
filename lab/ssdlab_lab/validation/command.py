"""`ssdlab validate`: the simulator compared with closed forms."""

from __future__ import annotations

import os
import time
from pathlib import Path

from ssdlab.cli.terminal import put
from ssdlab.errors import ConfigError

from . import built, host_side, latency, parity, queues, saturation, uniform, workloads
from .check import Check, carry_out
from .page import markdown


def all_checks() -> list[Check]:
    """Return the checks of the page."""
    return [
        *uniform.checks(),
        *built.checks(),
        *workloads.checks(),
        *parity.checks(),
        *latency.checks(),
        *host_side.checks(),
        *queues.checks(),
        *saturation.checks(),
    ]


def quick_checks() -> list[Check]:
    """Return the checks that take only some seconds."""
    return [
        *uniform.quick_checks(),
        *built.quick_checks(),
        *workloads.quick_checks(),
        *parity.quick_checks(),
        *latency.checks(),
        *host_side.checks(),
        *queues.quick_checks(),
        *saturation.quick_checks(),
    ]


def validate(quick: bool, only: str, jobs: int | None, write: Path | None) -> int:
    """Run the checks, print each line, write the page; 1 if a line is outside its bound.

    Raises `ConfigError` if no topic begins with `only`.
    """
    start = time.monotonic()
    available = quick_checks() if quick else all_checks()
    topics = dict.fromkeys(check.topic for check in available)
    checks = [check for check in available if check.topic.startswith(only)]
    if not checks:
        raise ConfigError([f"no topic begins with {only!r}; topics: {'; '.join(topics)}"])
    outcome = carry_out(checks, jobs or os.cpu_count() or 1, lambda text: put(f"{text}\n"))
    failures = [line for line in outcome.lines if not line.ok]
    if write is not None:
        earlier = write.read_text(encoding="utf-8") if write.exists() else ""
        write.write_text(markdown(outcome, topics, earlier), encoding="utf-8")
    put(
        f"{len(outcome.lines)} lines, {len(failures)} outside their bounds,"
        f" {time.monotonic() - start:.0f} s\n"
    )
    return 1 if failures else 0
