"""Link, write buffer, ECC and read retries against their closed forms."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ssdlab_lab.oracles import (
    buffer_hit_ratio,
    idle_program,
    idle_read,
    link_time,
    mean_retries,
    program_rate,
)

from .check import Check, Line, Result, Run, Settings, Value
from .timed import PAGE_BYTES, TimedDevice

DEVICE = TimedDevice("pipelined", 75_000, 750_000, transfer=12_300, command=1_234, sram=2_000)
WIDE = replace(DEVICE, channels=8, chips=8, user=262_144, blocks=512)
LINK_BYTES_PER_S = 550_000_000
RATE = 4e-3
"""Bound of a throughput: what is in the device at the first measured request takes time, too."""
CHANCE = 0.02
"""Bound of a mean over some ten thousand draws."""


def checks() -> Iterator[Check]:
    """Yield all: they are quick."""
    yield _idle_link()
    yield from _saturated_link()
    yield _buffered_latency()
    yield _buffered_rate()
    yield _coalescing()
    yield _retries()


def _settings(device: TimedDevice, keys: Settings, **workload: Value) -> Settings:
    return replace(device, keys={**device.keys, **keys}).settings(**workload)


def _idle_link() -> Check:
    keys: Settings = {
        "host.link_rate": f"{LINK_BYTES_PER_S // 1_000_000} MB/s",
        "host.queue_depth": 1,
        "controller.host_ecc_time": "5 us",
    }
    runs = tuple(Run(_settings(DEVICE, keys, requests=500, read=share)) for share in (1, 0))

    def judge(results: Sequence[Result]) -> Iterator[Line]:
        link, bus = link_time(PAGE_BYTES, LINK_BYTES_PER_S), 2 * DEVICE.sram + DEVICE.transfer
        values = {
            "read": link + idle_read(DEVICE.command, DEVICE.read, bus, ecc=5_000),
            "write": link + idle_program(DEVICE.command, bus, DEVICE.program),
        }
        for result, (op, expected) in zip(results, values.items(), strict=True):
            for statistic in ("min", "max"):
                measured = result.report["latency"][op][statistic]
                yield Line(
                    f"{op} over a link of 550 MB/s, {statistic}, ns", expected, measured, 0.0
                )

    return Check("Link: latency of an idle device", runs, judge)


def _saturated_link() -> Iterator[Check]:
    cases = (("full", 1.0, 1.0), ("full", 0.0, 1.0), ("full", 0.5, 2.0), ("half", 0.5, 1.0))
    for duplex, read, directions in cases:
        keys: Settings = {
            "host.link_rate": "100 MB/s",
            "host.link_duplex": duplex,
            "host.queue_depth": 256 if directions > 1.0 else 64,
        }
        run = Run(_settings(WIDE, keys, requests=60_000, warmup_requests=2_000, read=read))

        def judge(
            results: Sequence[Result],
            duplex: str = duplex,
            read: float = read,
            directions: float = directions,
        ) -> Iterator[Line]:
            host = results[0].report["host"]
            rate = (host["read_bytes_per_s"] or 0.0) + (host["write_bytes_per_s"] or 0.0)
            label = f"{duplex} duplex, {read:.0%} reads, bytes/s"
            # With both directions of a full link active, either may have to wait, by chance.
            bound = CHANCE if directions > 1.0 else RATE
            yield Line(label, directions * 100e6, rate, bound)

        yield Check("Link: throughput if the device is faster", (run,), judge)


def _buffered_latency() -> Check:
    keys: Settings = {
        "host.write_buffer_pages": 4096,
        "host.queue_depth": 1,
        "host.think_time": "1 ms",
        "host.link_rate": f"{LINK_BYTES_PER_S // 1_000_000} MB/s",
    }
    run = Run(_settings(WIDE, keys, requests=2000))

    def judge(results: Sequence[Result]) -> Iterator[Line]:
        expected = link_time(PAGE_BYTES, LINK_BYTES_PER_S) + WIDE.sram
        for statistic in ("min", "max"):
            measured = results[0].report["latency"]["write"][statistic]
            yield Line(f"write into a buffer with room, {statistic}, ns", expected, measured, 0.0)

    return Check("Write buffer: latency", (run,), judge)


def _buffered_rate() -> Check:
    keys: Settings = {
        "host.write_buffer_pages": 512,
        "host.queue_depth": 1,
        "alloc.placement": "round-robin",
        "precondition.fill": 0,
    }
    run = Run(_settings(WIDE, keys, requests=200_000, warmup_requests=20_000, kind="sequential"))

    def judge(results: Sequence[Result]) -> Iterator[Line]:
        transfer = WIDE.command + 2 * WIDE.sram + WIDE.transfer
        formula = 1e9 * program_rate(WIDE.channels, WIDE.chips, transfer, WIDE.program)
        measured = results[0].report["little"]["throughput"]
        yield Line("sequential writes one at a time, pages/s", formula, measured, RATE)

    return Check("Write buffer: all chips busy at queue depth 1", (run,), judge)


def _coalescing() -> Check:
    pages, buffered = 4096, 1024
    keys: Settings = {
        "host.write_buffer_pages": 2 * buffered,
        "host.write_buffer_threshold": 0.5,
        "host.queue_depth": 1,
        "host.think_time": "100 us",
    }
    device = replace(DEVICE, channels=8, chips=8, user=pages, blocks=64)
    run = Run(_settings(device, keys, requests=80_000, warmup_requests=8_000))

    def judge(results: Sequence[Result]) -> Iterator[Line]:
        report = results[0].report
        measured = report["write_buffer"]["pages_coalesced"] / report["host"]["pages_written"]
        label = f"uniform writes, {buffered} of {pages} pages kept, pages replaced per page written"
        yield Line(label, buffer_hit_ratio(pages, buffered), measured, CHANCE)

    return Check("Write buffer: coalescing", (run,), judge)


def _retries() -> Check:
    probability, limit, factor = 0.3, 4, 1.25
    keys: Settings = {
        "host.queue_depth": 1,
        "controller.retry_probability": probability,
        "controller.retry_limit": limit,
        "controller.retry_factor": factor,
    }
    run = Run(_settings(DEVICE, keys, requests=40_000, read=1))

    def judge(results: Sequence[Result]) -> Iterator[Line]:
        report, retries = results[0].report, mean_retries(probability, limit)
        measured = report["flash"]["retries"]["host"] / report["flash"]["reads"]["host"]
        yield Line("retries per read, p = 0.3, at most 4", retries, measured, CHANCE)
        bus = 2 * DEVICE.sram + DEVICE.transfer
        expected = idle_read(DEVICE.command, DEVICE.read, bus) + factor * DEVICE.read * retries
        mean = report["latency"]["read"]["mean"]
        yield Line("mean read latency, ns", expected, mean, CHANCE)

    return Check("Read retries", (run,), judge)
