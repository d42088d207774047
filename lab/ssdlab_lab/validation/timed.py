"""Devices with time on which nothing is collected, and their service times."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .check import Settings, Value

PAGE_BYTES = 4096


@dataclass(frozen=True)
class TimedDevice:
    """Channels of chips of planes; times in ns. 64 pages of 4 KiB per block, most of them spare."""

    model: str
    read: int
    program: int
    transfer: int = 0
    command: int = 0
    sram: int = 0
    """Time into the SRAM, and again out of it."""
    erase: int = 3_800_000
    channels: int = 1
    chips: int = 1
    planes: int = 1
    blocks: int = 2048
    """Per plane."""
    user: int = 4096
    """Pages."""
    keys: Mapping[str, Value] = field(default_factory=dict)
    """Further config keys."""

    @property
    def read_latency(self) -> int:
        """Latency of one page on an idle device, ns; also the service time of a single chip."""
        return self.command + self.read + self.transfer + 2 * self.sram

    @property
    def program_latency(self) -> int:
        """Latency of one page on an idle device, ns; also the service time of a single chip."""
        return self.command + 2 * self.sram + self.transfer + self.program

    def settings(self, **more: Value) -> Settings:
        """Return the config keys; `more` are further ones of [workload]."""
        return {
            "timing.model": self.model,
            "timing.read": f"{self.read} ns",
            "timing.program": f"{self.program} ns",
            "timing.erase": f"{self.erase} ns",
            "timing.transfer": f"{self.transfer} ns",
            "timing.command": f"{self.command} ns",
            "timing.sram": f"{self.sram} ns",
            "device.channels": self.channels,
            "device.chips_per_channel": self.chips,
            "device.planes_per_chip": self.planes,
            "device.blocks_per_plane": self.blocks,
            "device.pages_per_block": 64,
            "device.page_size": f"{PAGE_BYTES} B",
            "device.user_capacity": f"{self.user * PAGE_BYTES} B",
            "sched.order": "fifo",
            "workload.size": f"{PAGE_BYTES} B",
            "metrics.interval": "0 s",
            **self.keys,
            **{f"workload.{key}": value for key, value in more.items()},
        }


def poisson(interval: int) -> str:
    """Return `workload.arrival` of Poisson arrivals, mean `interval` ns."""
    return f'{{ kind = "poisson", interval = "{interval} ns" }}'
