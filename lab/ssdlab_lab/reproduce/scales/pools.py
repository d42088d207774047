"""A pool of a drive: at full size, and as the trials of `try` shrink it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from typing import TypeAlias

from ssdlab.config.resolve import Config, load_config
from ssdlab.running import scale
from ssdlab_lab.reproduce.scales import choices
from ssdlab_lab.reproduce.scales.choices import POLICIES

Keys: TypeAlias = dict[str, object]
PAGE_BYTES = 4096


@dataclass(frozen=True)
class Pool:
    """A pool of a drive, under a policy."""

    drive: Config
    quick: bool

    @cached_property
    def pages_per_block(self) -> int:
        """Pages of the pool at full size, or of the one that represents it in quick runs."""
        pages: int = self.drive["device.pages_per_block"]
        return pages // (choices.QUICK_SHARE if self.quick else 1)

    @cached_property
    def user_pages(self) -> int:
        """User pages of the pool at full size."""
        pool = scale.Pool.of(self.drive)
        share = self.pages_per_block / self.drive["device.pages_per_block"]
        return int(self.drive["device.user_pages"] / pool.pools * share)

    def full(self) -> Keys:
        """The pool at full size."""
        return {
            **scale.FUNCTIONAL,
            "device.channels": 1,
            "device.chips_per_channel": 1,
            "device.pages_per_block": self.pages_per_block,
            "device.user_capacity": f"{self.user_pages * PAGE_BYTES} B",
        }

    def trial(self, pages: int, pools: int) -> Keys:
        """The trial of `try` for a trace that touches this many pages."""
        small = scale.functional_device(self.drive, pages, pools)
        planes = int(str(small.keys["device.planes_per_chip"]))
        fitting = ("device.fit", "workload.fit", "device.over_provisioning")
        return {
            **{key: value for key, value in small.keys.items() if key not in fitting},
            "device.blocks_per_plane": small.blocks // planes,
            "device.user_capacity": f"{pages * PAGE_BYTES} B",
        }

    @property
    def unit(self) -> int:
        """Pages of an erase unit at full size."""
        return self.pages_per_block * scale.Pool.of(self.drive).members

    def unit_of_trial(self, pages: int) -> int:
        """Pages of an erase unit in the trial with one pool."""
        return scale.functional_device(self.drive, pages).pages


@cache
def pool_of(drive: str, policy: str, quick: bool) -> Pool:
    """The pool of a drive under a policy of `try`."""
    return Pool(load_config(drive, set={**scale.PRECONDITION, **POLICIES[policy]}), quick)
