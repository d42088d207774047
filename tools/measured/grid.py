"""What is measured of every policy. Fixed before the runs, and not adapted to what they said.

One trial with one seed came first. It changed what could not be run or was overloaded (the pause of
`bursts`, the classes of `midas`, the trigger of redirection, the ratio of lists) or not settled
(the length of runs), and nothing else.

A drive of 128 MiB: 4 channels of 2 chips, each of one plane of 128 blocks of 32 pages of 4 KiB,
with the timing and the controller of the preset `greedy-8ch`. It is full, and every page has been
overwritten once at random, when 160,000 requests of 4 KiB begin: 70 % writes, 30 % reads. The first
80,000 are not measured. The cells are all combinations of

- the writes: `uniform`; `zipf` with exponent 0.99; `hot-cold`, nine of ten to a tenth of the space;
- the over-provisioning: 10 % and 25 %, small and ample spare space;
- the load: `busy`, a closed loop of 8 requests, in which the drive never waits; `bursts`, an open
  loop of 200 requests at intervals of 100 us on average, followed by a pause of 300 ms.

Every cell is run with four seeds. A policy is compared with the default of its question (`Question`
has the others that are held), with the same seeds: the same requests. Both sides have
what a policy needs, such as parity groups for redirection (`NEEDS`). Parameters have their
defaults but for those in `SETTINGS`, where the default means nothing on this drive; the page of the
policy gives the reason. Numbers compared are those that `ssdlab compare` ranks: write
amplification, mean and p99.9 latency of writes and of reads; for wear levelling also the erases of
the most erased block over the mean. A cell is not judged if a run of either side has a warning that
invalidates its numbers, such as a reserve that decided in place of the policy.
"""

from __future__ import annotations

from dataclasses import dataclass, field

SEEDS = (1, 2, 3, 4)
DRIVE: dict[str, object] = {
    "device.channels": 4,
    "device.chips_per_channel": 2,
    "device.blocks_per_plane": 128,
    "device.pages_per_block": 32,
    "gc.trigger": {"policy": "free-blocks", "soft": 4},
    "precondition.fill": 1.0,
    "precondition.overwrite": 1.0,
    "workload.requests": 160_000,
    "workload.warmup_requests": 80_000,
    "workload.read": 0.3,
}
WRITES = ("uniform", "zipf", "hot-cold")
SPARES = (0.10, 0.25)
LOADS: dict[str, dict[str, object]] = {
    "busy": {"host.mode": "closed", "host.queue_depth": 8},
    "bursts": {
        "host.mode": "open",
        "workload.arrival": {
            "kind": "bursty",
            "interval": "100 us",
            "burst": 200,
            "pause": "300 ms",
        },
    },
}
METRICS = {
    "waf": "write amplification",
    "write_mean_ns": "mean write latency",
    "write_p99_9_ns": "p99.9 write latency",
    "read_mean_ns": "mean read latency",
    "read_p99_9_ns": "p99.9 read latency",
    "erase_spread": "most erases of a block over the mean",
}
"""What is compared, with its name in sentences."""


def cells() -> dict[str, dict[str, object]]:
    """The name of every cell, and what it sets."""
    return {
        f"{writes}, {spare:.0%}, {load}": {
            "workload.kind": writes,
            "device.over_provisioning": spare,
            **keys,
        }
        for load, keys in LOADS.items()
        for writes in WRITES
        for spare in SPARES
    }


@dataclass(frozen=True)
class Question:
    """One decision of the drive, the key that answers it, and its policies."""

    key: str
    title: str
    default: str
    plug: str | None
    """Folder of the files of its policies in the kernel; None: words of a key."""
    words: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Of a question without files: what each answer does, and its source."""
    values: dict[str, dict[str, object]] = field(default_factory=dict)
    """The value of the key for an answer that is not named by it."""
    needs: dict[str, object] = field(default_factory=dict)
    """Set on both sides, for all of its policies."""


FTL = "crates/ssd-core/src/ftl"
ADAPTIVE = "Adaptive Channel-Aware Garbage Collection Control, Electronics 14(23):4741, 2025"
NOC = "the NoC copyback paper; the preset `noc-copyback` names it and has its device"
QUESTIONS = (
    Question("gc.victim", "Which block is collected", "greedy", f"{FTL}/gc/victim"),
    Question("gc.trigger", "When collection starts", "free-blocks", f"{FTL}/gc/trigger"),
    Question(
        "gc.concurrency", "How many pools collect at once", "unlimited", f"{FTL}/gc/concurrency"
    ),
    Question(
        "gc.amount",
        "How many blocks are collected at a time",
        "until-satisfied",
        None,
        words={
            "one": (
                "One block; the trigger is asked again at the next write to the pool.",
                "conventional: the smallest step of collection",
            ),
            "until-satisfied": (
                "Block after block until the trigger no longer holds.",
                "Tavakkol et al., MQSim, FAST 2018",
            ),
            "all-candidates": (
                "All blocks that the victim policy lists when the trigger fires.",
                "the invalidation-rate paper, Electronics 2023, 12, 2142, algorithm 1",
            ),
        },
    ),
    Question(
        "gc.path",
        "Which way copies take",
        "controller",
        None,
        words={
            "controller": (
                "A copy goes over the bus to the controller, through its error correction, and"
                " back.",
                "conventional: errors are corrected at every copy",
            ),
            "copyback": (
                "A copy stays inside its plane: array read, array program, no transfer. Errors are"
                " copied along.",
                "the copyback command of flash chips (ONFI)",
            ),
            "selective": (
                "A copy goes from the buffer of the flash controller if its error correction finds"
                " no error, else the way of `controller`.",
                NOC,
            ),
        },
    ),
    Question(
        "gc.blocking",
        "What collection closes to the host",
        "none",
        None,
        words={
            "none": (
                "Nothing: `sched.order` orders operations of the host and of collection.",
                "conventional; as in MQSim, FAST 2018",
            ),
            "block": (
                "Reads of pages of the block under collection wait.",
                "the invalidation-rate paper, Electronics 2023, 12, 2142",
            ),
            "plane": (
                "Operations of the host on the planes of the victim wait.",
                "a scope between chip and channel; no paper of its own",
            ),
            "channel": ("Operations of the host on the channels of the victim wait.", ADAPTIVE),
            "device": (
                "All operations of the host wait.",
                "the plainest controller: collection stops the drive; no paper of its own",
            ),
        },
    ),
    Question("alloc.placement", "Where a write goes", "static", f"{FTL}/place"),
    Question("alloc.separation", "Which pages share a block", "none", f"{FTL}/separation"),
    Question("sched.order", "Who goes first", "host-first", "crates/ssd-core/src/sched/order"),
    Question(
        "raid.redirect",
        "Which writes leave their home chip",
        "none",
        f"{FTL}/raid/redirect",
        needs={"raid.group": 4, "gc.trigger": {"policy": "on-demand", "soft": 4}},
    ),
    Question(
        "wear",
        "How wear is levelled",
        "dynamic",
        None,
        words={
            "off": (
                "The block erased first is opened next (`wear.dynamic = false`).",
                "the baseline of papers on wear levelling",
            ),
            "dynamic": (
                "The erased block with the fewest erases is opened next (`wear.dynamic = true`).",
                "conventional; as in MQSim, FAST 2018",
            ),
            "static": (
                "The same, and cold data move to a block with more than 2 more erases"
                " (`wear.static_threshold = 2`).",
                "conventional; as in MQSim, FAST 2018",
            ),
        },
        values={
            "off": {"wear.dynamic": False},
            "dynamic": {"wear.dynamic": True},
            "static": {"wear.dynamic": True, "wear.static_threshold": 2},
        },
    ),
)
SETTINGS: dict[tuple[str, str], tuple[object, str]] = {
    ("gc.victim", "invalidation-rate"): (
        {"policy": "invalidation-rate", "ratio": 0.2},
        "on a full drive hardly any block reaches the default, 0.7, before it is needed",
    ),
    ("gc.victim", "list-order"): (
        {"policy": "list-order", "ratio": 0.2},
        "as for `invalidation-rate`",
    ),
    ("gc.trigger", "free-blocks"): (
        {"policy": "free-blocks", "soft": 4},
        "as under all other questions; the preset alone has 12",
    ),
    ("gc.trigger", "idle"): (
        [{"policy": "idle"}, {"policy": "free-blocks", "soft": 6}],
        "alone it would collect without end: it collects in idle time while 6 or fewer blocks are"
        " erased",
    ),
    ("gc.trigger", "used-space"): (
        {"policy": "used-space", "at": 0.96},
        "the default, 0.7, would hold for ever on a full drive",
    ),
    ("gc.concurrency", "fixed"): (
        {"policy": "fixed", "k": 2},
        "one of eight pools at a time cannot keep up",
    ),
    ("gc.concurrency", "adaptive"): (
        {"policy": "adaptive", "theta1": 0.9, "theta2": 0.97},
        "the used space of a full drive is above the default bounds at all times",
    ),
    ("alloc.separation", "midas"): (
        {"policy": "midas", "groups": 6},
        "as many as the others have; its ten need more spare blocks than there are at 10 %",
    ),
    ("alloc.separation", "fdp"): (
        {"policy": "fdp", "handles": 1},
        "requests of this grid carry no streams, so there is one handle",
    ),
}
"""What is not the default, and why."""
NEEDS: dict[tuple[str, str], dict[str, object]] = {
    ("gc.path", "selective"): {"timing.model": "serial"},
    ("gc.concurrency", "rotating"): {"raid.group": 4},
}
"""What one policy cannot do without; the policy that it is compared with has it, too."""
