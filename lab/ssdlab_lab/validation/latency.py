"""Latencies to the nanosecond: on an idle device, and in any order of arrivals (Lindley)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ssdlab_lab.oracles import idle_program, idle_read, lindley_completions

from .check import Check, Line, Result, Run
from .timed import TimedDevice, poisson

SERIAL = TimedDevice("serial", 25_000, 200_000, transfer=12_345, sram=12_000)
LINDLEY_REQUESTS = 20_000
PIPELINED = TimedDevice("pipelined", 75_000, 750_000, transfer=12_300, command=1_234)


def checks() -> Iterator[Check]:
    """Yield all: they are quick."""
    for device in (SERIAL, PIPELINED):
        yield from _idle(device)
    for device in (SERIAL, PIPELINED):
        for read, utilisation in ((0.6, 0.5), (0.6, 0.9), (1.0, 1.2), (0.0, 1.2)):
            yield _lindley(device, read, utilisation)


def _idle(device: TimedDevice) -> Iterator[Check]:
    for unit in ("plane", "chip", "channel"):
        machine = replace(device, keys={"timing.busy_unit": unit, "host.queue_depth": 1})
        runs = tuple(
            Run(machine.settings(requests=2000, read=share, kind="uniform")) for share in (1, 0)
        )

        def judge(results: Sequence[Result], unit: str = unit) -> Iterator[Line]:
            bus = 2 * device.sram + device.transfer
            values = {
                "read": idle_read(device.command, device.read, bus),
                "write": idle_program(device.command, bus, device.program),
            }
            for result, (op, expected) in zip(results, values.items(), strict=True):
                latency = result.report["latency"][op]
                for statistic in ("min", "mean", "max"):
                    label = f"{op}, {device.model}, busy unit {unit}, {statistic}, ns"
                    yield Line(label, expected, latency[statistic], 0.0)

        yield Check("Latency of an idle device", runs, judge)


def _lindley(device: TimedDevice, read: float, utilisation: float) -> Check:
    """So many user pages that no read meets a write under way, still in the controller."""
    mean = read * device.read_latency + (1.0 - read) * device.program_latency
    machine = replace(device, keys={"host.mode": "open"}, user=262_144, blocks=8192)
    arrival = poisson(round(mean / utilisation))
    run = Run(machine.settings(requests=LINDLEY_REQUESTS, read=read, arrival=arrival), log=True)

    def judge(results: Sequence[Result]) -> Iterator[Line]:
        log = results[0].requests
        services = {"read": device.read_latency, "write": device.program_latency}
        expected = lindley_completions(
            [request.arrival for request in log], [services[request.op] for request in log]
        )
        equal = sum(
            request.completion == completion
            for request, completion in zip(log, expected, strict=True)
        )
        if results[0].report["host"]["controller_pages_read"]:
            message = "a read met a write on its way: take another seed"
            raise RuntimeError(message)
        label = f"{device.model}, {read:.0%} reads, rho = {utilisation}, equal completions"
        yield Line(label, LINDLEY_REQUESTS, equal, 0.0)

    return Check(
        "Completion times by Lindley's recursion, one chip, Poisson arrivals", (run,), judge
    )
