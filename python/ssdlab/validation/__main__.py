"""`python -m ssdlab.validation [--quick] [--only TOPIC] [--jobs N] [--write PAGE]`.

Status 1 outside a bound. `--only` leaves the other topics of a page as they are.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

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
    """Return a part that takes some seconds."""
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


def main() -> int:
    """Run the checks, tell each line, write the page."""
    parser = argparse.ArgumentParser(prog="python -m ssdlab.validation", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a part that takes some seconds")
    parser.add_argument("--only", metavar="TOPIC", default="", help="topics that begin so")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="runs at a time")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="write the page there")
    options = parser.parse_args()
    started = time.monotonic()
    everything = quick_checks() if options.quick else all_checks()
    topics = dict.fromkeys(check.topic for check in everything)
    checks = [check for check in everything if check.topic.startswith(options.only)]
    if not checks:
        sys.stderr.write(f"no topic begins with {options.only!r}; topics: {'; '.join(topics)}\n")
        return 2
    outcome = carry_out(checks, options.jobs, lambda text: print(text, flush=True))
    failed = [line for line in outcome.lines if not line.ok]
    if options.write is not None:
        before = options.write.read_text(encoding="utf-8") if options.write.exists() else ""
        options.write.write_text(markdown(outcome, topics, before), encoding="utf-8")
    sys.stdout.write(
        f"{len(outcome.lines)} lines, {len(failed)} outside their bounds, "
        f"{time.monotonic() - started:.0f} s\n"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
