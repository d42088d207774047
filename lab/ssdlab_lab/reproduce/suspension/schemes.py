"""What suspension leaves to gain for the answers of the papers, one at a time as in `combined`.

Chosen before the first run of this part:

- The device of `combined` is one of the serial model with an interconnect, and neither can suspend.
  So it is taken in the pipelined model and without its interconnect, and the answer `selective`,
  which is a way through the interconnect, is left out. All other keys, requests, answers and
  proposals are those of `combined`.
- The live share and the orders are those of its sweep of loads, for three seeds.
- Requests arrive at half the rate that the conventional line sustains without suspension in a
  closed loop of 64 requests, oldest first; `RATES` are the means of two seeds.
- Suspension has its default times: 20 us to suspend, 5 us to resume, at most 10 times.
"""

from __future__ import annotations

from collections.abc import Iterator

from ssdlab_lab.reproduce.combined import study as combined
from ssdlab_lab.reproduce.combined.choices import (
    BASE,
    CHANGES,
    DIVISOR,
    FLOOR,
    LOAD,
    PROPOSALS,
    QUICK_DIVISOR,
    QUICK_WORKLOADS,
    SWEPT_LIVE,
    SWEPT_ORDERS,
    WORKLOADS,
)
from ssdlab_lab.reproduce.matrix import Scheme, Workload
from ssdlab_lab.reproduce.paper import Scale
from ssdlab_lab.reproduce.suspension.choices import ON

SCHEMES = "answers of the papers"
LINES = (BASE, *(line for line in CHANGES if line != "selective"), *PROPOSALS, FLOOR)
RATES = {
    "MySQL": 19_240,
    "SQLite": 22_320,
    "MongoDB": 31_825,
    "Cassandra": 4_150,
    "Dbench": 14_820,
    "RocksDB": 40_620,
}
"""Requests per second that the conventional line sustains."""


def workloads(quick: bool) -> tuple[str, ...]:
    """Those that are run."""
    return QUICK_WORKLOADS[:1] if quick else WORKLOADS


def named(order: str, line: str, suspension: str) -> str:
    """The name of a run's line."""
    return f"{line}, {order}, {suspension}"


def orders(quick: bool) -> tuple[str, ...]:
    """Those under which all lines are run."""
    return SWEPT_ORDERS[:1] if quick else SWEPT_ORDERS


def combinations(quick: bool) -> Iterator[tuple[str, str]]:
    """Every line under every order."""
    yield from ((order, line) for order in orders(quick) for line in LINES)


def scheme_of(order: str, line: str, suspension: str, quick: bool) -> Scheme:
    """The device with these answers, with suspension or without."""
    scheme = combined.scheme_of(order, line, combined.answers_of(line, {}, order), scale(quick))
    keys = {**scheme.keys, "timing.model": "pipelined", "interconnect.model": "none"}
    if suspension == ON:
        keys["timing.suspend"] = "both"
    return Scheme(named(order, line, suspension), scheme.preset, keys)


def workload_of(name: str, quick: bool) -> Workload:
    """Requests of an application at half of its rate."""
    return combined.workload_of(name, SWEPT_LIVE, LOAD, RATES[name], scale(quick))


def scale(quick: bool) -> Scale:
    """The size of the device."""
    return Scale(quick=True, divide_by=QUICK_DIVISOR if quick else DIVISOR)
