"""Throughput of a saturated device, and the laws that hold on every run: Little, utilisation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ssdlab_lab.oracles import (
    busy_fraction,
    closed_loop_throughput,
    jobs_in_system,
    multi_plane_program_rate,
    program_rate,
    read_rate,
    serial_rate,
)

from .check import Check, Line, Result, Run, Settings
from .timed import TimedDevice, poisson

DEPTH = 4
"""Requests outstanding for each plane."""
ROUNDS = 4000
"""Requests in multiples of the queue depth, of which `WARMUP` are not measured."""
WARMUP = 500
RATE = 1e-3
"""Bound of a throughput: the first measured request waits for a queue of earlier ones."""
ROUNDING = 1e-12
"""Bound if both sides are quotients of the same integers."""


def checks() -> Iterator[Check]:
    """Yield the checks of the full page."""
    yield from _programs()
    yield from _reads()
    yield from _serial()
    yield from _laws()


def quick_checks() -> Iterator[Check]:
    """Yield those of `--quick`."""
    yield from _programs()
    yield from _serial()
    yield from _laws()


def _saturated(device: TimedDevice, read: float) -> Run:
    """All units busy: round-robin writes, ascending reads of what was filled round-robin."""
    depth = DEPTH * device.channels * device.chips * device.planes
    keys = {"host.queue_depth": depth, "alloc.placement": "round-robin", **device.keys}
    settings = replace(device, keys=keys).settings(
        kind="sequential", requests=ROUNDS * depth, warmup_requests=WARMUP * depth, read=read
    )
    return Run(settings)


def _rate(topic: str, label: str, device: TimedDevice, read: float, pages_per_ns: float) -> Check:
    def judge(results: Sequence[Result]) -> list[Line]:
        if results[0].report["gc"]["calls"]:
            message = "the device collected: it is too small for this check"
            raise RuntimeError(message)
        measured = results[0].report["little"]["throughput"]
        return [Line(f"{label}, pages/s", 1e9 * pages_per_ns, measured, RATE)]

    return Check(topic, (_saturated(device, read),), judge)


def _programs() -> Iterator[Check]:
    topic = "Saturated programs, pipelined"
    for channels, chips in ((1, 1), (1, 4), (1, 8), (1, 9), (1, 16), (8, 4)):
        device = TimedDevice(
            "pipelined", 50_000, 200_000, transfer=25_000, channels=channels, chips=chips
        )
        rate = program_rate(channels, chips, device.transfer, device.program)
        yield _rate(topic, f"{channels} channels x {chips} chips", device, 0.0, rate)
    for chips, planes in ((1, 2), (1, 4), (2, 4), (8, 2)):
        keys: Settings = {"timing.multi_plane": True, "alloc.pool": "chip"}
        device = TimedDevice(
            "pipelined",
            50_000,
            200_000,
            transfer=20_000,
            channels=2,
            chips=chips,
            planes=planes,
            keys=keys,
        )
        rate = multi_plane_program_rate(2, chips, planes, device.transfer, device.program)
        yield _rate(
            topic, f"2 channels x {chips} chips, {planes} planes at once", device, 0.0, rate
        )


def _reads() -> Iterator[Check]:
    for channels, chips in ((1, 1), (1, 2), (1, 4), (1, 8), (4, 4)):
        device = TimedDevice(
            "pipelined",
            50_000,
            200_000,
            transfer=20_000,
            command=1_000,
            channels=channels,
            chips=chips,
        )
        rate = read_rate(channels, chips, device.command, device.read, device.transfer)
        label = f"{channels} channels x {chips} chips"
        yield _rate("Saturated reads, pipelined", label, device, 1.0, rate)


def _serial() -> Iterator[Check]:
    for unit, units in (("channel", 2), ("chip", 8), ("plane", 16)):
        device = TimedDevice(
            "serial",
            25_000,
            200_000,
            transfer=10_000,
            sram=12_000,
            channels=2,
            chips=4,
            planes=2,
            keys={"timing.busy_unit": unit},
        )
        for name, read, time in (
            ("reads", 1.0, device.read_latency),
            ("programs", 0.0, device.program_latency),
        ):
            label = f"{name}, busy unit {unit}"
            yield _rate("Saturated, serial", label, device, read, serial_rate(units, time))


def _laws() -> Iterator[Check]:
    machine = TimedDevice(
        "pipelined", 75_000, 750_000, transfer=12_300, channels=4, chips=4, user=60_000
    )
    for depth, think in ((1, 0), (16, 0), (64, 0), (16, 500_000)):
        keys: Settings = {"host.queue_depth": depth, "host.think_time": f"{think} ns"}
        run = Run(replace(machine, keys=keys).settings(requests=200_000, read=0.6))
        yield _closed_loop(run, depth, think)
    open_machine = replace(machine, keys={"host.mode": "open"})
    run = Run(open_machine.settings(requests=100_000, read=0.7, arrival=poisson(40_000)))
    yield Check("Little's law", (run,), lambda results: [_little("open loop, Poisson", results[0])])
    yield from _utilisation()


def _little(label: str, result: Result) -> Line:
    """Mean number in the device, by integral, against throughput times mean latency."""
    averages = result.report["little"]
    formula = jobs_in_system(averages["throughput"] * 1e-9, averages["mean_response"])
    return Line(f"mean number in system, {label}", formula, averages["mean_in_system"], ROUNDING)


def _closed_loop(run: Run, depth: int, think: int) -> Check:
    label = f"queue depth {depth}, think time {think} ns"

    def judge(results: Sequence[Result]) -> Iterator[Line]:
        yield _little(label, results[0])
        averages = results[0].report["little"]
        rate = 1e9 * closed_loop_throughput(depth, averages["mean_response"], think)
        yield Line(f"requests/s = QD / (R + Z), {label}", rate, averages["throughput"], RATE)

    return Check("Little's law", (run,), judge)


def _utilisation() -> Iterator[Check]:
    """One chip that collects: its busy time is that of its operations, including erases."""
    for device in (
        TimedDevice("serial", 25_000, 200_000, transfer=10_000, sram=12_000, erase=700_000),
        TimedDevice("pipelined", 75_000, 750_000, transfer=12_300, command=1_000),
    ):
        keys = {"gc.reserve": 1, "host.queue_depth": 4}
        small = replace(device, blocks=256, user=13_000, keys=keys)
        run = Run(small.settings(requests=100_000, read=0.3))

        def judge(results: Sequence[Result], device: TimedDevice = device) -> list[Line]:
            report = results[0].report
            elapsed = report["time"]["simulated"]
            flash = report["flash"]
            # A page that is copied crosses the SRAM in or out, a host page both.
            transfer = device.sram
            services = (
                (flash["reads"]["host"], device.read_latency),
                (flash["reads"]["gc"], device.read_latency - transfer),
                (flash["programs"]["host"], device.program_latency),
                (flash["programs"]["gc"], device.program_latency - transfer),
                (flash["erases"], device.command + device.erase),
            )
            formula = sum(busy_fraction(n / elapsed, service) for n, service in services)
            label = f"{device.model}, reads, programs and {flash['erases']} erases"
            measured = report["device"]["utilisation"]["chip"][0]
            return [Line(f"busy share of a chip, {label}", formula, measured, 1e-6)]

        yield Check("Utilisation law", (run,), judge)
