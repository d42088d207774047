"""The memory that a run needs, and that the machine has."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from ssdlab.config.quantity import quantity
from ssdlab.config.resolve import Config
from ssdlab.display.argument import argument
from ssdlab.display.numbers import size
from ssdlab.errors import ConfigError

BYTES_A_PAGE = 16
"""Upper estimate for a device; a test compares it with what runs report."""

CHANGED_BYTES = 256 << 10
"""Bytes of a device that a request changes: pages of memory with the entries of 16 flash pages in
four tables."""

TRACES = "SSDLAB_TRACES_SIZE"
"""Environment variable: how much of a process's memory the traces shared by its runs may take."""
TRACES_SHARE = 4
"""Without the variable it is the memory of the process, divided by this."""


def traces_bytes(memory_bytes: int) -> int:
    """How much of a process's memory the traces shared by its runs may take.

    Raises `ConfigError` if the variable is not a size, or is not below the memory.
    """
    text = os.environ.get(TRACES)
    if not text:
        return memory_bytes // TRACES_SHARE
    value = quantity(text)
    if value is None or value[1] == "ns" or value[0] < 0:
        raise ConfigError([f"{TRACES}: {text}: expected a size, such as 4GiB, or 0 for none"])
    if value[0] >= memory_bytes:
        limit = size(memory_bytes)
        raise ConfigError([f"{TRACES}: {text}: expected less than the {limit} of memory"])
    return int(value[0])


def device_bytes(config: Config) -> int:
    """Estimate of the bytes that the device of `config` takes."""
    device = config.values["device"]
    pages = 1
    for part in ("channels", "chips_per_channel", "planes_per_chip", "blocks_per_plane"):
        pages *= int(device[part])
    return pages * int(device["pages_per_block"]) * BYTES_A_PAGE


def changed_bytes(config: Config) -> int:
    """Estimate of the bytes of a shared device that a run of `config` changes, and so copies."""
    requests = config["workload.requests"]
    everything = device_bytes(config)
    return everything if requests is None else min(everything, requests * CHANGED_BYTES)


def available() -> int | None:
    """Available bytes; None if the system does not say."""
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def check(configs: Sequence[Config], jobs: int = 1) -> None:
    """Raise `ConfigError` if `jobs` of the devices of `configs` at once exceed the memory."""
    check_needed([device_bytes(config) for config in configs], jobs)


def check_needed(bytes_: Sequence[int], jobs: int, shared_bytes: int = 0) -> None:
    """As `check`, for runs that take this much memory each, and `shared_bytes` together."""
    largest = sorted(bytes_, reverse=True)
    required, free = shared_bytes + sum(largest[:jobs]), available()
    if free is None or required <= free:
        return
    remedy = "use larger pages or fewer blocks"
    if jobs > 1 and shared_bytes + largest[0] <= free:
        remedy = f"run fewer at once ({argument('jobs')})"
    raise ConfigError(
        [
            f"device.blocks_per_plane: the device takes about {size(required)} of memory and"
            f" {size(free)} are available: {remedy}"
        ]
    )
