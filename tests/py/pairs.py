"""Random configurations with two or three features on at a time, for the external checker."""

from __future__ import annotations

import random
from pathlib import Path
from typing import TypeAlias

import ssdlab
from checking import LOGGED
from ssdlab.errors import ConfigError, WorkloadError

Settings: TypeAlias = "dict[str, object]"

SERIAL: Settings = {"timing.model": "serial", "timing.sram": "12 us"}
NOC: Settings = {
    **SERIAL,
    "interconnect.model": "formula",
    "interconnect.flit_bits": 100,
    "gc.path": "selective",
    "sched.order": "fifo",
    "controller.ecc_time": "3 us",
    "controller.page_error_probability": 0.2,
}
SUPERBLOCK: Settings = {
    "alloc.placement": "round-robin",
    "alloc.pool": "device",
    "alloc.erase_unit": "superblock",
    "device.over_provisioning": 1.2,
}
RAID: Settings = {"device.planes_per_chip": 1, "raid.group": 4, "alloc.pool": "plane"}
REDIRECT: Settings = {
    **RAID,
    **SERIAL,
    "raid.group": 2,
    "raid.redirect": "deferred-gc",
    "gc.blocking": "plane",
}
SAVED: Settings = {"power.buffer": "protected", "host.write_buffer_pages": 24}
FEATURES: dict[str, tuple[Settings, ...]] = {
    "cuts": (
        {"power.cut": {"every": "40 ms"}},
        {"power.cut": {"random": "100 ms"}, "power.checkpoint": "512 KiB"},
        {"power.cut": {"at": ["30 ms", "31 ms", "33 ms", "150 ms"]}},
    ),
    "saved": (
        {"power.cut": {"random": "100 ms"}, **SAVED},
        {"power.cut": {"every": "60 ms"}, **SAVED, "power.checkpoint": "512 KiB"},
    ),
    "redirected": (
        {**REDIRECT, "raid.redirect": {"policy": "deferred-gc", "foreign": 0.02}},
        {**REDIRECT, "raid.fail": {"chip": 1, "at": "20 ms"}, "raid.spares": 1},
    ),
    "separation": tuple(
        {"alloc.separation": policy, "device.blocks_per_plane": 64, "device.over_provisioning": 1.0}
        for policy in ("sepbit", "dac", "multilog", "two-regions", "sfs", "host-and-copies")
    ),
    "raid": (
        RAID,
        {**RAID, "raid.group": 2, "raid.update": "read-modify"},
        {**RAID, "raid.merge": True, "controller.metadata_time": "2 us"},
        {**RAID, "raid.read_buffer_pages": 40, "raid.reads": "reconstruct-if-busy"},
        {**RAID, "raid.reads": "shortest-queue"},
    ),
    "failure": (
        {**RAID, "raid.fail": {"chip": 1, "at": "20 ms"}},
        {
            **RAID,
            "raid.fail": {"chip": 2, "at": "10 ms"},
            "raid.spares": 1,
            "raid.until_rebuilt": True,
        },
    ),
    "buffer": (
        {"host.write_buffer_pages": 24},
        {"host.write_buffer_pages": 64, "host.write_buffer_threshold": 1.0},
        {"host.write_buffer_pages": 1},
    ),
    "superblocks": (SUPERBLOCK, {**SUPERBLOCK, "alloc.pool": "chip"}),
    "copies": (
        {"remap.mode": "share", "workload.copy": 0.4, "alloc.pool": "device"},
        {"remap.mode": "copy", "workload.copy": 0.3},
    ),
    "levelling": ({"wear.static_threshold": 2}, {"wear.static_threshold": 1, "gc.victim": "fifo"}),
    "endurance": (
        {"wear.endurance": 3000, "wear.daily_writes": "20 GB", "wear.warranty_years": 3},
        {"wear.endurance": 500, "wear.endurance_spread": 0.2, "wear.factory_bad_blocks": 0.02},
    ),
    "trims": ({"workload.trim": 0.4}, {"workload.trim": 0.2, "workload.read": 0.6}),
    "interconnect": (
        {**NOC, "timing.busy_unit": "channel", "alloc.pool": "channel"},
        {**NOC, "interconnect.model": "slices", "controller.buffers": 2},
        {**NOC, "gc.path": "controller", "controller.traversals_host": 0},
    ),
    "copyback": ({"gc.path": "copyback"}, {"gc.path": "copyback", "timing.busy_unit": "plane"}),
    "streams": ({"alloc.frontiers": "streams:3", "device.over_provisioning": 0.8},),
    "link": (
        {"host.link_rate": "60 MB/s"},
        {"host.link_rate": "90 MB/s", "host.link_duplex": "half"},
    ),
    "types": (
        {
            "device.bits": 3,
            "device.pages_per_block": 48,
            "timing.read_types": ["56.5 us", "77.5 us", "106 us"],
            "timing.program_types": ["820.5 us", "2225 us", "5734 us"],
        },
        {
            "device.bits": 2,
            "device.word_line": 8,
            "device.pages_per_block": 32,
            "timing.program_types": ["1300 us", "500 us"],
        },
    ),
    "SLC blocks": (
        {
            "device.bits": 3,
            "device.pages_per_block": 48,
            "slc.mode": "dynamic",
            "slc.share": 0.4,
            "slc.fold": "idle",
            "slc.idle": "5 ms",
        },
        {
            "device.bits": 4,
            "slc.mode": "hybrid",
            "slc.static": "4 MiB",
            "slc.full": "wait",
            "slc.path": "copyback",
        },
    ),
    "energy": (
        {"energy.read": "82.5 mW", "energy.bus": "31.25 mW", "energy.idle": "1.2 W"},
        {"energy.program": "60 mW", "energy.erase": "75 mW"},
    ),
    "tenants": ({"metrics.tenants": True},),
    "partial transfers": (
        {"timing.partial": True},
        {"timing.partial": True, "device.page_size": "16 KiB"},
    ),
    "partial writes": ({"device.page_size": "16 KiB"},),
    "new": (
        {"precondition.fill": 0, "precondition.overwrite": 0, "workload.read": 0.1},
        {"precondition.fill": 0.5, "precondition.overwrite": 0},
    ),
    "open": (
        {"host.mode": "open", "workload.arrival": {"kind": "poisson", "interval": "900 us"}},
        {
            "host.mode": "open",
            "workload.arrival": {"kind": "poisson", "interval": "300 us"},
            "host.max_outstanding": 6,
        },
    ),
    "warm-up": ({"workload.warmup_requests": 333},),
    "retries": ({"controller.retry_probability": 0.2}, {"controller.retry_growth": 0.05}),
    "suspension": (
        {"timing.suspend": "both"},
        {"timing.suspend": "program", "timing.suspend_limit": 1},
    ),
    "multi-plane": (
        {"timing.multi_plane": True, "alloc.placement": "round-robin", "alloc.pool": "chip"},
    ),
    "orders": (
        {"sched.order": "gc-first", "gc.window": 2},
        {"sched.order": "read-first", "run.data": "digest"},
        {"sched.order": "fifo", "alloc.placement": "least-busy"},
    ),
    "blocking": (
        {"gc.blocking": {"scope": "device", "granularity": "step"}},
        {"gc.blocking": {"scope": "plane", "granularity": "job"}},
    ),
    "collection": (
        {"gc.victim": "cost-benefit", "gc.window": 4},
        {"gc.victim": {"policy": "d-choices", "d": 3}, "gc.concurrency": "half"},
        {"gc.trigger": {"policy": "on-demand", "soft": 5, "idle": True}},
        {"gc.amount": "all-candidates", "alloc.pool": "channel"},
        {"gc.concurrency": {"policy": "adaptive", "theta1": 0.9, "theta2": 0.99}},
    ),
    "serial": (SERIAL, {**SERIAL, "timing.busy_unit": "plane"}),
    "skew": ({"workload.kind": "hot-cold"}, {"workload.kind": "zipf", "host.queue_depth": 4}),
    "snapshot": ({"snapshot": True},),
}
"""What may be on, each in one of several ways."""
MOST_DRAWN = 400


def drawn(seed: int) -> tuple[tuple[str, ...], Settings]:
    """The features of case `seed` and its settings: the first draw that is a configuration.

    What features exclude each other says the configuration itself.
    """
    chance = random.Random(seed)
    for _ in range(MOST_DRAWN):
        names = tuple(chance.sample(sorted(FEATURES), chance.choice((2, 2, 3))))
        settings: Settings = {
            **LOGGED,
            "run.seed": seed,
            "workload.requests": chance.choice((700, 1200, 2400)),
            "metrics.interval": chance.choice(("1 ms", "7 ms", "100 ms")),
        }
        for name in names:
            settings |= chance.choice(FEATURES[name])
        without_snapshot = {key: value for key, value in settings.items() if key != "snapshot"}
        try:
            ssdlab.load_config(set=without_snapshot)
        except (ConfigError, WorkloadError):
            continue
        return names, settings
    message = f"seed {seed}: no configuration in {MOST_DRAWN} draws"
    raise AssertionError(message)


def run_case(settings: Settings, folder: Path) -> bool:
    """Run a case in `folder`; whether it left a report.

    Without one, the features together leave the device no room, which only the run tells.
    """
    settings = dict(settings)
    if settings.pop("snapshot", False):
        snapshot = folder.with_name(f"{folder.name}.snapshot")
        prefixes = ("metrics.", "workload.", "host.", "power.", "run.")
        device = {key: value for key, value in settings.items() if not key.startswith(prefixes)}
        ssdlab.Device(set=device).save(snapshot)
        settings = {key: v for key, v in settings.items() if not key.startswith("precondition.")}
        settings["precondition.snapshot"] = str(snapshot)
    try:
        ssdlab.run(set=settings, out=folder, progress=False)
    except ConfigError:
        return False
    except ssdlab.RunError:
        pass
    return (folder / "report.json").exists()
