"""Devices that are small enough for a trace and have the write amplification of a drive.

Write amplification in the steady state depends on the effective spare of a pool, on the number of
its erase units and on the intervals between updates, and hardly on the pages of an erase unit (an
error of the order of 1 / pages). A superblock is written like one block of all its pages. A trial
therefore keeps the number of erase units, the watermark and the over-provisioning of the drive, and
has plain blocks with fewer pages, so that the trace fills it
(docs/adr/0026-a-trial-keeps-the-blocks-of-a-drive.md).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from ssdlab.config.drives import UNTIMED
from ssdlab.config.resolve import Config, raw_pages, whole_word_lines, with_blocks_of
from ssdlab.errors import ConfigError

Keys: TypeAlias = dict[str, object]

FUNCTIONAL: Keys = {
    "run.mode": "functional",
    **UNTIMED,
    "metrics.interval": "0 s",
    "device.bits": 1,
    "device.word_line": 1,
    "slc.mode": "off",
}
"""Switches functional mode on, and what it does not support or need off."""
FEWEST_PAGES = 32
"""With fewer pages in an erase unit the error of its size is unknown."""
TIMED_BLOCKS, FEWEST_TIMED = 343, 48
"""Erase units of a pool in the timed trial: about the first number if the trace fills as many, and
never fewer than the second."""
MOST_PAGES, MOST_PLANES = 4096, 64
"""Most pages of a block, and planes of a chip: a trial that needs more has several pools."""
NEAR = 0.06
"""Largest share by which the number of erase units may differ from the drive's, at equal spare."""
OF_NUMBER = 0.05
"""Rough weight of a relative error in the number of erase units; an error in effective spare has
weight 1."""
FIRST_SLOPE = -1.3
"""Slope of ln(WAF - 1) over ln(over-provisioning) from which the search for an over-provisioning
starts."""
FLATTEST_SLOPE = -0.1
"""Two runs with a flatter slope differ by chance: the next step takes `FIRST_SLOPE` instead."""
LONGEST_STEP = 0.7
"""Largest change of ln(over-provisioning) in a step: a factor of two."""
LEAST_EXCESS = 1e-4
"""Write amplification minus one is raised to at least this, so that it has a logarithm."""
PRECONDITION: Keys = {
    "precondition.steady_state": "none",
    "precondition.fill": 1.0,
    "precondition.overwrite": 1.0,
}
"""A trial is full when the trace begins, and has been overwritten once at random."""
BEYOND = 0.4
"""Share by which a drive may write more under cost-benefit than trials show, if nothing separates
pages (docs/adr/0026-a-trial-keeps-the-blocks-of-a-drive.md)."""
RESIDUAL, RESIDUAL_PAGES = 0.04, 2048
"""Share by which a drive may differ from an extrapolation from erase units of fewer pages than the
second number (docs/adr/0026-a-trial-keeps-the-blocks-of-a-drive.md)."""
CLASSES = {"host-and-copies": 2, "two-regions": 2, "sepbit": 6}
"""Frontiers of the separation policies that have no key for their number."""


@dataclass(frozen=True)
class Pool:
    """What determines write amplification in a pool of a drive."""

    pools: int
    """Pools of the drive."""
    blocks: int
    """Erase units of a pool."""
    planes: int
    """Planes of a pool."""
    members: int
    """Blocks of an erase unit: those of a superblock, or one."""
    pages: int
    """Pages of an erase unit."""
    over_provisioning: float
    """(physical - user) / user pages."""
    unused: float | None
    """Erase units of a pool that hold no old data: open, or kept erased by the trigger. None if the
    trigger does not count free blocks."""

    @staticmethod
    def of(config: Config) -> Pool:
        """The pool of a configuration. Raises `ConfigError` for parity groups: they span pools."""
        device, alloc = config.values["device"], config.values["alloc"]
        group = config.values.get("raid", {}).get("group", 0)
        if group:
            message = (
                f"raid.group = {group}: parity groups span pools, so one pool does not"
                " predict the drive; set raid.group = 0, or use `ssdlab compare` with device.fit ="
                ' "trace"'
            )
            raise ConfigError([message])
        chips = device["channels"] * device["chips_per_channel"]
        planes = {
            "plane": 1,
            "chip": device["planes_per_chip"],
            "channel": device["chips_per_channel"] * device["planes_per_chip"],
            "device": chips * device["planes_per_chip"],
        }[alloc["pool"]]
        members = planes if alloc["erase_unit"] == "superblock" else 1
        return Pool(
            pools=chips * device["planes_per_chip"] // planes,
            blocks=device["blocks_per_plane"] * planes // members,
            planes=planes,
            members=members,
            pages=device["pages_per_block"] * members,
            over_provisioning=raw_pages(device) / device["user_pages"] - 1,
            unused=_unused(config, planes // members),
        )

    def spare(self, blocks: float, used: float) -> float | None:
        """Effective spare of a pool of `blocks` erase units whose user data fill `used` of them."""
        return None if self.unused is None else (blocks - self.unused) / used - 1

    @property
    def own_spare(self) -> float | None:
        """Effective spare of the drive."""
        return self.spare(self.blocks, self.blocks / (1 + self.over_provisioning))


def _unused(config: Config, planes: int) -> float | None:
    """Blocks kept erased, the block that the host fills, and half of each other that is open.

    The trigger keeps blocks erased, or the reserve if that is more. Each frontier has a block open
    on each of `planes` (a superblock counts as one).
    """
    triggers = config["gc.trigger"]
    if [trigger["policy"] for trigger in triggers] != ["free-blocks"]:
        return None
    frontiers = _frontiers(config)
    erased = max(triggers[0]["soft"], config["gc.reserve"])
    return None if frontiers is None else float(erased + 1 + (frontiers * planes - 1) / 2)


def _frontiers(config: Config) -> int | None:
    """Frontiers of a pool; None if they depend on more than the configuration."""
    separation: Mapping[str, int | str] = config["alloc.separation"]
    policy, frontiers = str(separation["policy"]), str(config["alloc.frontiers"])
    if policy == "none":
        return {"single": 1, "host+gc": 2}.get(frontiers)
    if "classes" in separation:
        # Copies have a separate class in addition to the clusters of WARCIP.
        return int(separation["classes"]) + (policy == "warcip")
    return CLASSES.get(policy)


def beyond(victim: str, separation: str) -> float:
    """Share by which a drive may write more than its trials show, under these policies."""
    return BEYOND if (victim, separation) == ("cost-benefit", "none") else 0.0


def residual(pages: int, drive_pages: int) -> float:
    """Share by which a drive may differ from an extrapolation from erase units of so many pages."""
    return RESIDUAL if pages < min(drive_pages, RESIDUAL_PAGES) else 0.0


@dataclass(frozen=True)
class ScaledDevice:
    """A device in the shape of a drive, small enough for the pages of a trace."""

    keys: Mapping[str, object]
    """The changes to the drive's configuration that define it; `device.fit` is "trace"."""
    pools: int
    blocks: int
    """Erase units of a pool."""
    pages: int
    """Pages of an erase unit."""
    spare: float | None
    """Effective spare."""

    def functional(self) -> ScaledDevice:
        """The same without time, and therefore without a write buffer."""
        keys = {key: value for key, value in self.keys.items() if "write_buffer" not in key}
        return replace(self, keys={**keys, **FUNCTIONAL})

    @property
    def over_provisioning(self) -> float:
        """(physical - user) / user pages."""
        return float(self.keys["device.over_provisioning"])  # type: ignore[arg-type]


def functional_device(drive: Config, pages: int, pools: int = 1) -> ScaledDevice:
    """The device of the functional trial: pools with the drive's number of erase units.

    The trace touches `pages`. With more pools the blocks are smaller, and a trial with one pool and
    one with two show how much their size matters. If blocks would have more than `MOST_PAGES`,
    there are that many times more pools.
    """
    pool = Pool.of(drive)
    raw = pages * (1 + pool.over_provisioning)
    pools *= max(1, math.ceil(raw / pool.blocks / (MOST_PAGES + 0.5)))
    size, blocks = _erase_unit(pool, pages / pools)
    used = pages / pools / size
    keys: Keys = {
        **FUNCTIONAL,
        "device.fit": "trace",
        "workload.fit": "compact",
        "device.channels": 1,
        "device.chips_per_channel": pools,
        "device.planes_per_chip": _planes(pool),
        "device.pages_per_block": size,
        "device.over_provisioning": _provision(blocks, used),
        "alloc.pool": "chip",
        "alloc.erase_unit": "block",
    }
    return ScaledDevice(keys, pools, blocks, size, pool.spare(blocks, used))


def _erase_unit(pool: Pool, pages: float) -> tuple[int, int]:
    """Pages and number of the erase units of a pool with `pages` user pages.

    Among the sizes that bring their number near the drive's, the one with the smallest error is
    used.
    """
    target_size = pages * (1 + pool.over_provisioning) / pool.blocks
    sizes = range(
        max(1, math.ceil(target_size * (1 - NEAR))),
        min(MOST_PAGES, math.floor(target_size * (1 + NEAR))) + 1,
    )
    return min(_evaluate(pool, pages, size) for size in sizes or [max(1, round(target_size))])[1]


def _evaluate(pool: Pool, pages: float, size: int) -> tuple[float, tuple[int, int]]:
    """The error of blocks of `size` pages, and the shape: pages of a block, number of blocks."""
    used = pages / size
    exact = _blocks(pool, used)
    blocks = _round_to_planes(exact, _planes(pool))
    spare_error = abs(blocks - exact) / max(1.0, exact - used - (pool.unused or 0.0))
    return spare_error + OF_NUMBER * abs(blocks / pool.blocks - 1), (size, blocks)


def _planes(pool: Pool) -> int:
    """Planes of a pool of a trial: one plane represents all planes of a superblock."""
    return min(pool.planes, MOST_PLANES) if pool.members == 1 else 1


def timed_device(drive: Config, pages: int, provision: float | None = None) -> ScaledDevice | None:
    """The device of the timed trial: the planes of the drive, with smaller and fewer blocks.

    Its effective spare is that of the drive, unless `provision` sets its over-provisioning. None if
    the trace fills too few blocks.
    """
    pool = Pool.of(drive)
    members = pool.members
    pool_pages = pages * (1 + pool.over_provisioning) / pool.pools / members
    size = min(
        drive["device.pages_per_block"], max(1, int(pool_pages / min(pool.blocks, TIMED_BLOCKS)))
    )
    size = whole_word_lines(size, drive)
    used = pages / pool.pools / members / size
    if _blocks(pool, used) < FEWEST_TIMED:
        return None
    target = _blocks(pool, used) if provision is None else used * (1 + provision)
    blocks = _round_to_planes(target, pool.planes // members)
    keys: Keys = {
        **with_blocks_of(size, drive),
        **_buffer(drive, pages),
        "device.fit": "trace",
        "workload.fit": "compact",
        "device.over_provisioning": _provision(blocks, used),
    }
    return ScaledDevice(keys, pool.pools, blocks, size * members, pool.spare(blocks, used))


def _buffer(drive: Config, pages: int) -> Keys:
    """The write buffer of the timed trial.

    The share of the trial's pages that it keeps for later writes to replace equals that of the
    drive: a buffer as large as the drive's would absorb rewrites that reach the drive's flash. Its
    room for new writes is the drive's, because recorded bursts are absolute.
    """
    buffer: int = drive["host.write_buffer_pages"]
    if not buffer:
        return {}
    threshold: float = drive["host.write_buffer_threshold"]
    retained = buffer * threshold * pages / drive["device.user_pages"]
    room = buffer * (1 - threshold)
    size = max(1, round(retained + room))
    return {
        "host.write_buffer_pages": size,
        "host.write_buffer_threshold": round(min(1.0, retained / size), 9),
    }


def _blocks(pool: Pool, used: float) -> float:
    """How many erase units have the drive's effective spare if user data fill `used` of them."""
    unused = pool.unused or 0.0
    return used * (1 + pool.over_provisioning) * (1 - unused / pool.blocks) + unused


def _round_to_planes(blocks: float, planes: int) -> int:
    """The nearest number of blocks, with as many on each plane."""
    return planes * round(blocks / planes)


def _provision(blocks: int, used: float) -> float:
    # Just below a whole number of blocks: `device.fit` rounds up to it.
    return round((blocks - 0.05) / used - 1, 9)


def next_provision(measured: Sequence[tuple[float, float]], target: float) -> float:
    """The over-provisioning at which a device should have the write amplification `target`.

    `measured` has over-provisioning and write amplification of at least one run, the newest last.
    ln(WAF - 1) is taken as a line over ln(over-provisioning), through the newest two.
    """
    *earlier, (x, y) = ((math.log(provision), _log_excess(waf)) for provision, waf in measured[-2:])
    slope = FIRST_SLOPE
    if earlier and earlier[0][0] != x:
        secant = (y - earlier[0][1]) / (x - earlier[0][0])
        slope = secant if secant < FLATTEST_SLOPE else FIRST_SLOPE
    step = (_log_excess(target) - y) / slope
    return math.exp(x + max(-LONGEST_STEP, min(LONGEST_STEP, step)))


def _log_excess(waf: float) -> float:
    return math.log(max(waf - 1, LEAST_EXCESS))
