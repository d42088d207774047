"""One chip as a queue with Poisson arrivals: M/D/1, M/G/1 and two priorities."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ssdlab_lab.oracles import (
    JobClass,
    md1_mean_wait,
    md1_wait_percentile,
    mg1_mean_wait,
    priority_mean_waits,
)

from .check import Check, Line, Result, Run, interval
from .timed import TimedDevice, poisson

HISTOGRAM = 0.004
"""Percentiles of a report are read from a histogram with bins of this relative width."""
SIGMAS = 1.5
"""Half widths of 95 % intervals that a mean may be off: three standard errors."""
WIDEST = 0.04
"""A line whose 95 % interval is wider than this share is inconclusive, and fails."""


@dataclass(frozen=True)
class Length:
    """How much is simulated."""

    requests: int
    warmup: int
    seeds: tuple[int, ...]


FULL = Length(400_000, 20_000, (1, 2, 3, 4, 5, 6, 7, 8))
LONG = Length(1_600_000, 50_000, FULL.seeds)
"""At high load, where waits are long and correlated."""
QUICK = Length(150_000, 10_000, (1, 2, 3, 4))


def checks() -> Iterator[Check]:
    """Yield the checks of the full page."""
    serial = TimedDevice("serial", 50_000, 200_000)
    pipelined = TimedDevice("pipelined", 38_000, 750_000, transfer=11_000, command=1_000)
    for utilisation in (0.3, 0.5, 0.7, 0.8, 0.9):
        yield _md1(serial, utilisation, LONG if utilisation > 0.75 else FULL)
    for utilisation in (0.5, 0.8):
        yield _md1(pipelined, utilisation, LONG if utilisation > 0.75 else FULL)
    for utilisation in (0.3, 0.6, 0.8):
        yield _mixture(utilisation, FULL)
    for interval_ns in (400_000, 208_333):
        yield _priority(interval_ns, FULL)


def quick_checks() -> Iterator[Check]:
    """Yield those of `--quick`."""
    yield _md1(TimedDevice("serial", 50_000, 200_000), 0.5, QUICK)
    yield _mixture(0.6, QUICK)
    yield _priority(400_000, QUICK)


def _estimate(title: str, formula: float, values: Sequence[float], bins: float = 0.0) -> Line:
    """Return a line whose bound is what chance (and the bins of a histogram) allows."""
    mean, half = interval(values)
    bound = SIGMAS * half / formula + bins
    if half > WIDEST * formula:
        message = f"{title}: {half} around {mean} is too wide: simulate more requests"
        raise RuntimeError(message)
    return Line(title, formula, mean, bound, half)


def _runs(device: TimedDevice, length: Length, arrival: str, read: float) -> tuple[Run, ...]:
    machine = replace(device, keys={**device.keys, "host.mode": "open"})
    settings = machine.settings(
        requests=length.requests + length.warmup,
        warmup_requests=length.warmup,
        arrival=arrival,
        read=read,
    )
    return tuple(Run({**settings, "run.seed": seed}) for seed in length.seeds)


def _md1(device: TimedDevice, utilisation: float, length: Length) -> Check:
    service = device.read_latency
    spacing = round(service / utilisation)
    load = service / spacing

    def judge(results: Sequence[Result]) -> Iterator[Line]:
        latencies = [result.report["latency"]["read"] for result in results]
        title = f"M/D/1, {device.model}, rho = {utilisation}"
        waits = [latency["mean"] - service for latency in latencies]
        yield _estimate(f"{title}, mean wait, ns", md1_mean_wait(load, service), waits)
        for name, share in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99_9", 0.999)):
            percentile = service + md1_wait_percentile(load, service, share)
            label = f"{title}, {name.replace('_', '.')} latency, ns"
            values = [float(latency[name]) for latency in latencies]
            yield _estimate(label, percentile, values, HISTOGRAM)

    runs = _runs(device, length, poisson(spacing), 1.0)
    return Check("Poisson reads of one chip", runs, judge)


MIXED = TimedDevice("serial", 60_000, 700_000, blocks=8192, user=262_144)
"""Room for all writes of a run: nothing is collected."""


def _mean_waits(result: Result) -> tuple[float, float]:
    """Return the mean waits of reads and writes, ns; check that nothing was collected."""
    report = result.report
    if report["gc"]["calls"]:
        message = "the device collected: it is too small for this check"
        raise RuntimeError(message)
    latency = report["latency"]
    return latency["read"]["mean"] - MIXED.read, latency["write"]["mean"] - MIXED.program


def _mixture(utilisation: float, length: Length) -> Check:
    read = 0.7
    mean = read * MIXED.read + (1.0 - read) * MIXED.program
    spacing = round(mean / utilisation)
    parts = ((read, float(MIXED.read)), (1.0 - read, float(MIXED.program)))

    def judge(results: Sequence[Result]) -> Iterator[Line]:
        expected = mg1_mean_wait([JobClass.of_mixture(1.0 / spacing, parts)])
        title = f"70 % reads of 60 us, 30 % writes of 700 us, rho = {utilisation}, mean wait of"
        waits = [_mean_waits(result) for result in results]
        yield _estimate(f"{title} reads, ns", expected, [wait[0] for wait in waits])
        yield _estimate(f"{title} writes, ns", expected, [wait[1] for wait in waits])

    runs = _runs(MIXED, length, poisson(spacing), read)
    return Check("Reads and writes in order of arrival (Pollaczek-Khinchine)", runs, judge)


def _priority(spacing: int, length: Length) -> Check:
    read = 5.0 / 6.0
    device = replace(MIXED, keys={"sched.order": "read-first"})

    def judge(results: Sequence[Result]) -> Iterator[Line]:
        classes = [
            JobClass.of_fixed(read / spacing, MIXED.read),
            JobClass.of_fixed((1.0 - read) / spacing, MIXED.program),
        ]
        expected = priority_mean_waits(classes)
        load = sum(job.utilisation for job in classes)
        title = f"5/6 reads of 60 us first, 1/6 writes of 700 us, rho = {load:.3f}, mean wait of"
        waits = [_mean_waits(result) for result in results]
        yield _estimate(f"{title} reads, ns", expected[0], [wait[0] for wait in waits])
        yield _estimate(f"{title} writes, ns", expected[1], [wait[1] for wait in waits])

    runs = _runs(device, length, poisson(spacing), read)
    return Check("Reads before writes (Cobham)", runs, judge)
