"""The cases: what is run, what it must reach, and how its answer is known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ssdlab_lab.oracles import greedy, load, load_from_over_provisioning

PAGE_BYTES = 4096
Value = bool | int | float | str


def toml(value: Value) -> str:
    """Return the value as a configuration file has it; text in braces is a table already."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str) and not value.startswith("{"):
        return f'"{value}"'
    return str(value)


@dataclass(frozen=True)
class Case:
    """A device under uniformly random 4 KiB writes; greedy."""

    name: str
    what: str
    chips: int
    """Per channel, of 8 channels and with one plane each."""
    blocks: int
    """Per plane."""
    pages: int
    """Per block."""
    user: int
    """User pages."""
    writes: int
    required: float
    """Host writes per second of the processor."""
    aim: float
    warmup: int = 0
    """Writes that are not measured."""
    depth: int = 64
    """Requests outstanding."""
    overwrite: float | None = None
    """Preconditioning: a fill and this many times the user pages; None: an empty device."""
    built: bool = False
    """Preconditioning: the steady state built at once from the mean field, before any overwrite."""
    build_required_s: float | None = None
    """Most processor time until the workload begins."""
    functional: bool = False
    soft: int = 12
    """Erased blocks of a plane at which its collection starts."""
    repeats: int = 1
    group: int = 0
    """Chips of a parity group; 0 for none. User pages become `user` without their parity."""
    keys: Mapping[str, Value | None] = field(default_factory=dict)
    """Keys that differ from those below; None: not set."""

    @property
    def planes(self) -> int:
        """Planes of the device."""
        return 8 * self.chips

    @property
    def physical(self) -> int:
        """Pages there are."""
        return self.planes * self.blocks * self.pages

    def mean_field(self, soft: int) -> float:
        """Return WA in the steady state, collection at `soft` erased blocks.

        N' = N - soft - 1.5 a plane, with a host and a GC frontier.
        """
        effective = self.blocks - soft - 1.5
        return greedy(load(self.user // self.planes, effective, self.pages), self.pages)

    def settings(self) -> Mapping[str, Value]:
        """Return the config keys."""
        is_filled = self.overwrite is not None
        user = self.user
        if self.group:
            stripe = self.planes // self.group * (self.group - 1)
            user = self.user // self.planes * stripe
        keys: dict[str, Value | None] = {
            "run.mode": "functional" if self.functional else "timed",
            "device.channels": 8,
            "device.chips_per_channel": self.chips,
            "device.planes_per_chip": 1,
            "device.blocks_per_plane": self.blocks,
            "device.pages_per_block": self.pages,
            "device.page_size": f"{PAGE_BYTES} B",
            "device.user_capacity": f"{user * PAGE_BYTES} B",
            "raid.group": self.group,
            "timing.model": "pipelined",
            "timing.read": "75 us",
            "timing.program": "750 us",
            "timing.erase": "3.8 ms",
            "timing.bus_rate": "333 MT/s",
            "host.queue_depth": self.depth,
            "gc.victim": "greedy",
            "gc.trigger": f'{{ policy = "free-blocks", soft = {self.soft} }}',
            "precondition.fill": 1.0 if is_filled else 0.0,
            "precondition.overwrite": self.overwrite or 0.0,
            "precondition.steady_state": "mean-field" if self.built else "none",
            "workload.kind": "uniform",
            "workload.size": f"{PAGE_BYTES} B",
            "workload.requests": self.writes,
            "workload.warmup_requests": self.warmup,
            **self.keys,
        }
        return {key: value for key, value in keys.items() if value is not None}


def _load_for(amplification: float, pages: int) -> float:
    """Return the load at which greedy has this WA."""
    low, high = 0.3, 0.99
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if greedy(middle, pages) < amplification else (low, middle)
    return low


SMALL_USER = 85
"""Percentage of the raw capacity that the small cases show to the host."""
BIG_CHIPS, BIG_BLOCKS, BIG_PAGES = 8, 4096, 128
"""128 GiB of raw flash on 64 planes."""
TIB_BLOCKS = 8 * BIG_BLOCKS
"""1 TiB of raw flash on as many planes."""


def _small(name: str, title: str, pages: int, writes: int, warmup: int) -> Case:
    return Case(
        name,
        title,
        chips=4,
        blocks=256,
        pages=pages,
        user=32 * 256 * pages * SMALL_USER // 100,
        writes=writes,
        warmup=warmup,
        required=1.5e6,
        aim=2e6,
        repeats=3,
    )


def _big_user(rho: float, blocks: int = BIG_BLOCKS) -> int:
    """Return user pages for a load of the effective blocks, as many on every plane."""
    return 8 * BIG_CHIPS * int(rho * (blocks - 13.5) * BIG_PAGES)


def steady_user(amplification: float | None, blocks: int, pages: int) -> int:
    """Return user pages on 64 planes for this WA of greedy; None: over-provisioning 28 %."""
    rho = (
        load_from_over_provisioning(0.28)
        if amplification is None
        else _load_for(amplification, pages)
    )
    return 8 * BIG_CHIPS * int(rho * (blocks - 13.5) * pages)


def _big(name: str, amplification: float, required: float) -> Case:
    return Case(
        name,
        f"128 GiB raw, steady state at WA of about {amplification:g}",
        chips=BIG_CHIPS,
        blocks=BIG_BLOCKS,
        pages=BIG_PAGES,
        user=_big_user(_load_for(amplification, BIG_PAGES)),
        writes=4_000_000,
        required=required,
        aim=required,
        depth=128,
        overwrite=2.0,
    )


CASES = (
    _small("e1", "1 GiB raw, empty at first, 32 pages a block", 32, 400_000, 0),
    _small("e2", "the same, its second 400 k writes", 32, 800_000, 400_000),
    _small("d3", "4 GiB raw, empty at first, 128 pages a block", 128, 1_600_000, 0),
    _big("timed-wa2", 2.0, 2e6),
    _big("timed-wa4", 4.0, 1e6),
    Case(
        "functional",
        "128 GiB raw without time, OP 28 %",
        chips=BIG_CHIPS,
        blocks=BIG_BLOCKS,
        pages=BIG_PAGES,
        user=_big_user(load_from_over_provisioning(0.28)),
        writes=30_000_000,
        required=12e6,
        aim=12e6,
        overwrite=2.0,
        functional=True,
    ),
    Case(
        "timed-1tib",
        "1 TiB raw, its steady state at WA of about 2.5 built from the mean field",
        chips=BIG_CHIPS,
        blocks=TIB_BLOCKS,
        pages=BIG_PAGES,
        user=_big_user(_load_for(2.5, BIG_PAGES), TIB_BLOCKS),
        writes=4_000_000,
        required=1e6,
        aim=2e6,
        depth=128,
        overwrite=0.0,
        built=True,
        build_required_s=15.0,
    ),
)
BYTES_PER_PAGE = 10.0
"""Most memory for a physical page."""
