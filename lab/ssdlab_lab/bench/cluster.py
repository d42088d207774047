"""`python -m ssdlab_lab.bench.cluster [--jobs N] [--workers 1,2]`: what a cluster adds to a run.

Every run sleeps for 50 ms on its worker and returns a report of the usual size, so that the
remaining time is that of planning, scheduling and reading reports. Required: below 5 ms per run,
and two workers at least 1.8 times as fast as one, on an otherwise idle machine.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from unittest import mock

from ssdlab.config.resolve import load_config
from ssdlab.running.batch import Batch
from ssdlab.running.cluster import runner, task
from ssdlab.running.on import runner_of
from ssdlab.running.runner import PlannedRun, RunEnd

RUN_S = 0.05
WARM = 50
"""Runs before the time is measured."""
SIZES = {
    "device.channels": 2,
    "device.chips_per_channel": 2,
    "device.blocks_per_plane": 32,
    "device.pages_per_block": 16,
    "device.over_provisioning": 0.25,
    "precondition.fill": 1,
    "workload.requests": 4000,
}


_answers: list[task.Answer] = []
"""The delay of this worker: that of its first run."""


def slept(orders: list[task.Order]) -> bytes:
    """In place of `task.execute_orders`."""
    if not _answers:
        _answers.append(task.answer_to(orders[0]))
    time.sleep(RUN_S * len(orders))
    return task.pack([replace(_answers[0], seconds=RUN_S)] * len(orders))


def main() -> int:
    """Measure and print; 1 where it falls short."""
    parser = argparse.ArgumentParser(prog="python -m ssdlab_lab.bench.cluster", description=__doc__)
    parser.add_argument("--jobs", type=int, default=10_000)
    parser.add_argument("--workers", default="1,2")
    options = parser.parse_args()
    rates = {}
    for workers in map(int, options.workers.split(",")):
        spent_s, of_processor_s = _measured(workers, options.jobs)
        rates[workers] = options.jobs / spent_s
        added_ms = 1e3 * (spent_s / options.jobs - RUN_S / workers)
        sys.stdout.write(
            f"{options.jobs:,} runs of {1e3 * RUN_S:.0f} ms, workers {workers}: {spent_s:.1f} s,"
            f" {added_ms:.2f} ms a run beside it; processor of all processes"
            f" {1e3 * of_processor_s / options.jobs:.2f} ms a run\n"
        )
        sys.stdout.flush()
    if {1, 2} <= rates.keys():
        sys.stdout.write(f"two workers are {rates[2] / rates[1]:.2f} times as fast as one\n")
    return 0


def _measured(workers: int, jobs: int) -> tuple[float, float]:
    """Seconds of this many runs, and of the processor in all processes."""
    config = load_config("greedy-8ch", set=SIZES)
    results: list[RunEnd] = []
    marks = []

    def planned() -> Iterator[PlannedRun]:
        for number in range(jobs):
            if number == WARM:
                marks.append((time.monotonic(), _processor_s()))
            yield PlannedRun("run", load_config(config, seed=number), seed=number)

    with (
        runner_of(f"local:{workers}", None) as workers_runner,
        mock.patch.object(runner, "execute_orders", slept),
    ):
        Batch(planned(), lambda _, result: results.append(result)).run(
            workers_runner, progress=False
        )
        then_s, processor_s = marks[0]
        elapsed = time.monotonic() - then_s, _processor_s() - processor_s
    assert len(results) == jobs
    assert all(result.how == "completed" for result in results)
    return elapsed[0] * jobs / (jobs - WARM), elapsed[1] * jobs / (jobs - WARM)


def _processor_s() -> float:
    """Processor time of this process, and of its child processes."""
    import psutil  # type: ignore[import-untyped]

    family = [psutil.Process(), *psutil.Process().children(recursive=True)]
    return float(sum(sum(process.cpu_times()[:2]) for process in family))


if __name__ == "__main__":
    # Not as `__main__`: workers import `slept` by the name of this module.
    from ssdlab_lab.bench import cluster

    sys.exit(cluster.main())
