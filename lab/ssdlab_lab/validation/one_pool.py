"""A device of one pool in functional mode, and the effective blocks N' of its conventions.

The simulator collects after a host page has been committed, while `soft` or fewer blocks are
erased; a frontier gets its block at the next page, not when the last block is full. So collection
begins when the host has just opened a block and put one page into it:

- `single`: `soft` blocks are erased, one is open with one live page, N - soft - 1 are sealed: N' =
  N - soft - 1. That is `swfK` with K = soft + 1. The one page in the open block is live and in no
  victim: rho = (U - 1) / (N' b). E[j] = (U - 1) / N' is then exact for random victims.
- `host+gc`: besides, a GC block is open. What it holds at a collection is uniform over 1 .. b
  pages (a full one is sealed), (b + 1) / 2 on average, and counts as a part of a block:
  N' = N - soft - 2 + (b + 1) / (2 b) = N - soft - 1.5 + 1 / (2 b). That is `dwfK` with
  K = soft + 2 (K counts before the host block is opened there, after it here) and a page's rest.

Adding m blocks and m to `soft` (and to the reserve, which must stay below `soft`, or the reserve
would choose) changes nothing: the identity of the page's section on shifted reserves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ssdlab_lab.oracles import load, user_pages

from .check import Result, Settings

PAGE_BYTES = 4096


@dataclass(frozen=True)
class OnePool:
    """One channel, one chip, one plane; `over_provisioning` is of the effective blocks."""

    blocks: int
    pages: int
    """Per block."""
    over_provisioning: float
    frontiers: str = "single"
    victim: str = "greedy"
    soft: int = 2
    """Erased blocks at which collection starts."""
    seed: int = 1
    user_pages_fixed: int | None = None

    @property
    def effective(self) -> float:
        """N', blocks."""
        if self.frontiers == "single":
            return self.blocks - self.soft - 1.0
        return self.blocks - self.soft - 1.5 + 0.5 / self.pages

    @property
    def user(self) -> int:
        """U, pages: floor(N' b / (1 + OP)) unless fixed."""
        if self.user_pages_fixed is not None:
            return self.user_pages_fixed
        return user_pages(self.effective, self.pages, self.over_provisioning)

    @property
    def rho(self) -> float:
        """Load of the effective blocks by the live pages that a victim may have."""
        return load(self.user - 1, self.effective, self.pages)

    def shifted(self, extra: int) -> OnePool:
        """Return the device with `extra` blocks, all of them behind the trigger."""
        return replace(
            self,
            blocks=self.blocks + extra,
            soft=self.soft + extra,
            user_pages_fixed=self.user,
        )

    def settings(self) -> dict[str, bool | int | float | str]:
        """Return the config keys of the device, functional mode."""
        return {
            "run.mode": "functional",
            "run.seed": self.seed,
            "device.channels": 1,
            "device.chips_per_channel": 1,
            "device.planes_per_chip": 1,
            "device.blocks_per_plane": self.blocks,
            "device.pages_per_block": self.pages,
            "device.page_size": f"{PAGE_BYTES} B",
            "device.user_capacity": f"{self.user * PAGE_BYTES} B",
            "alloc.frontiers": self.frontiers,
            "gc.reserve": self.soft - 1,
            "gc.trigger": f'{{ policy = "free-blocks", soft = {self.soft} }}',
            "gc.victim": self.victim,
            "workload.size": f"{PAGE_BYTES} B",
            "metrics.interval": "0 s",
        }

    def uniform(self, warmup: float, measured: float) -> Settings:
        """Return a run of uniform writes, warm-up and measurement in multiples of U.

        The warm-up is the overwriting of the precondition: the same writes, drawn faster.
        """
        return {
            **self.settings(),
            "precondition.overwrite": warmup,
            "workload.requests": round(measured * self.user),
        }

    def workload(self, kind: str, warmup: float, measured: float, **keys: float) -> Settings:
        """Return a run of another kind of writes, lengths in multiples of U."""
        return {
            **self.settings(),
            "workload.kind": kind,
            "workload.warmup_requests": round(warmup * self.user),
            "workload.requests": round((warmup + measured) * self.user),
            **{f"workload.{key}": value for key, value in keys.items()},
        }


def check_policy_chose(results: Sequence[Result]) -> None:
    """Raise `RuntimeError` unless the policy under test chose every victim, the reserve none."""
    by_reserve = [r.report["gc"]["victims_by_policy"]["reserve-greedy"] for r in results]
    if any(by_reserve):
        message = f"the reserve chose {by_reserve} victims: the policy is not what is measured"
        raise RuntimeError(message)
