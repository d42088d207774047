"""What is compared when the answers of three papers meet, fixed before any of it was run.

Every paper changes several answers at once and leaves others open, the order of operations above
all, so their gains cannot be told apart. Here every line differs from the conventional one in one
answer, under the same order. All were chosen on 2026-11-23, before the first run of this study; an
earlier one, of all combinations at one load with one seed, had been seen by then.
"""

from __future__ import annotations

from typing import TypeAlias

NAME, TITLE = "combined", "The policies of three papers combined"
DATE = "2026-11-23"
Keys: TypeAlias = "dict[str, object]"

AT_70: Keys = {"gc.trigger": {"policy": "used-space", "at": 0.7}}
QUESTIONS: dict[str, dict[str, Keys]] = {
    "victims": {
        "list order": {"gc.victim": {"policy": "list-order", "ratio": 0.7}},
        "slowest first": {"gc.victim": {"policy": "invalidation-rate", "ratio": 0.7}},
    },
    "amount": {
        "all candidates": {"gc.amount": "all-candidates"},
        "as needed": {"gc.amount": "until-satisfied"},
    },
    "at once": {
        "all channels": {**AT_70, "gc.concurrency": "unlimited"},
        "one channel": {**AT_70, "gc.concurrency": {"policy": "fixed", "k": 1}},
        "G(t)": {"gc.trigger": "idle", "gc.concurrency": {"policy": "adaptive"}},
    },
    "path": {
        "controller": {"gc.path": "controller"},
        "selective": {"gc.path": "selective"},
    },
    "blocked": {
        "nothing": {"gc.blocking": {"scope": "none", "granularity": "step"}},
        "block": {"gc.blocking": {"scope": "block", "granularity": "job"}},
        "channel": {"gc.blocking": {"scope": "channel", "granularity": "job"}},
    },
}
"""The answers to each question; the first is that of the conventional line."""
ORDERS: dict[str, Keys] = {
    "collection first": {"sched.order": "gc-first"},
    "round robin": {"sched.order": "round-robin"},
    "oldest first": {"sched.order": "fifo"},
    "host first": {"sched.order": "host-first"},
}
"""Held fixed in every comparison."""

BASE, FLOOR, TOGETHER = "conventional", "no collection", "together"
CHANGES: dict[str, str] = {
    answer: question for question, answers in QUESTIONS.items() for answer in [*answers][1:]
}
"""The answers that are changed, one at a time, and to which question each is one."""
PROPOSALS: dict[str, tuple[str, ...]] = {
    "invalidation-rate": ("slowest first", "as needed", "one channel", "block"),
    "adaptive-channel": ("G(t)", "channel"),
}
"""Combinations of several answers that papers propose; noc-copyback is the change `selective`."""
FIXED = (BASE, *CHANGES, *PROPOSALS)
"""Lines that are known from the start; `TOGETHER` is chosen by them."""

DEVICE: Keys = {"gc.window": 8, "controller.buffers": 8, "metrics.interval": "0 s"}
"""Keys of all lines over the device of noc-copyback, whose interconnect gives the path a meaning:
the moves at once are those of its reproduction, and nobody looks at thousands of time series."""
DIVISOR, QUICK_DIVISOR = 4, 16
"""Divisors of the device of noc-copyback, for synthetic requests."""
RECORDED_DIVISOR = 2
"""For recorded requests: the largest trace touches 1 GiB, half of the flash that is left."""
UNCOLLECTED = 6
"""Multiple of the blocks with which no run reaches the end of its flash."""

CHOOSE, OTHERS = ("MySQL", "SQLite", "MongoDB"), ("Cassandra", "Dbench", "RocksDB")
"""Workloads by which `TOGETHER` is chosen, and those that only evaluate it."""
WORKLOADS = (*CHOOSE, *OTHERS)
RECORDED = (*WORKLOADS, "Varmail")
QUICK_WORKLOADS = ("MySQL", "RocksDB")
LIVE, QUICK_LIVE = (0.25, 0.45, 0.60, 0.75), (0.25, 0.60)
"""Shares of the raw flash that the volume takes."""
SEEDS, QUICK_SEEDS = (1, 2, 3, 4, 5), (1, 2)
"""Each draws different requests and page errors, the same in all lines."""
WRITTEN, WARMUP = 2.5, 0.4
"""How often the host writes the raw flash, and the share of the requests that is left out of all
statistics: by then collection has begun at every live share."""
DEPTH = 64
"""Requests that a closed loop keeps outstanding."""
LOAD = 0.5
"""Of the main comparison: requests arrive at this share of the rate that the conventional line
sustains in a closed loop, oldest first, at the same live share."""
LOADS = (0.2, 0.35, 0.65, 0.8, 0.95)
"""Loads of the sweep besides `LOAD`; a closed loop is its end."""
SWEPT, SWEPT_LIVE = ("MySQL", "MongoDB"), 0.45
SWEPT_ORDERS = ("collection first", "oldest first")
"""One workload of writes and one of reads and writes, under the two orders that papers have."""

NEAR = 0.9
"""Where the floor is at least this share of the conventional line, nothing can help much."""
