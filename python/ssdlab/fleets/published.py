"""Published statistics of fleets of volumes, for stand-ins if their traces are not available.

Source: J. Li, Q. Wang, P. P. C. Lee, C. Shi, "An In-Depth Analysis of Cloud Block Storage Workloads
in Large-Scale Production", IISWC 2020, for 1,000 volumes of one cluster over 31 days (the traces:
github.com/alibaba/block-traces). The numbers in `ALIBABA` are quoted from it; its text was not
available when this table was written, so check them before you publish with them. That there are
1,000 volumes, drawn at random from one cluster in January 2020, is also in the README of the
traces.

Decided here, because nothing is published or because a model needs it:

- Between two published quantiles a number is interpolated, on a logarithmic scale if its unit is
  not a share; the ends of a distribution, marked "end" below, are ours.
- The numbers of a volume are drawn independently of one another.
- A volume is `hot-cold`: the hot space is the share of its written space that is written again (the
  update coverage), and every page of the cold space is written `COLD_WRITES` times on average.
  Within the two, writes are uniform.
- Reads and writes go to the same space and have one size, a power of two of at least 4 KiB.
- The footprint is a share of the drive, evenly from `SPAN_LOW` to 1. A published volume has
  `footprint_bytes` on average: addresses, requests and what is written in a day are scaled by the
  same factor, so that a page is written as often as published. Gaps between requests stay.
- The drive holds the footprint and nothing else before the requests begin: it is filled by the
  same share (times `precondition.fill`), so a small volume leaves much of its drive as spare space.
- `DAYS` of the published days are drawn: the volume has that part of the scaled requests. No volume
  has more than `MOST_REQUESTS`, or writes its footprint more than `MOST_ROUNDS` times: the write
  amplification has settled by then.
- Bursts are `BURST` requests at `burstiness` times the mean rate, with pauses between them; of few
  requests, there are `LEAST_BURSTS` bursts.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import exp, log

KIB = 1024
COLD_WRITES = 0.25
SPAN_LOW = 0.25
DAYS = 3.1
MOST_REQUESTS = 1_000_000
MOST_ROUNDS = 4.0
LEAST_REQUESTS = 100
BURST, LEAST_BURSTS = 256, 8


@dataclass(frozen=True)
class Quantiles:
    """A distribution by its quantiles."""

    points: tuple[tuple[float, float], ...]
    """Share of the volumes at or below a value, and the value, both ascending from 0 to 1."""
    share: bool
    """Whether it is a share from 0 to 1; otherwise a positive number, whose logarithm is
    interpolated.
    """
    published: tuple[float, ...]
    """Which of the shares of volumes are published; the others are our ends."""

    def at(self, part: float) -> float:
        """The value that the share `part` of the volumes is at or below."""
        assert 0 <= part <= 1
        for (low, low_value), (high, high_value) in pairwise(self.points):
            if part <= high:
                fraction = (part - low) / (high - low)
                return (
                    low_value + (high_value - low_value) * fraction
                    if self.share
                    else exp(log(low_value) + log(high_value / low_value) * fraction)
                )
        message = "the points do not reach 1"
        raise AssertionError(message)


@dataclass(frozen=True)
class Fleet:
    """What was published of a fleet."""

    name: str
    source: str
    days: float
    """Length of the traces."""
    footprint_bytes: float
    """Mean footprint of a volume: the working set divided by the number of volumes."""
    write_share: Quantiles
    """Writes divided by all requests of a volume."""
    requests_per_s: Quantiles
    """Mean over the days."""
    burstiness: Quantiles
    """Requests in the busiest minute over those in a mean one."""
    update_coverage: Quantiles
    """Space that is written more than once, divided by the whole footprint."""
    size_bytes: Quantiles
    """Size of the requests of a volume."""


ALIBABA = Fleet(
    name="alibaba",
    source="Alibaba block traces, January 2020 (IISWC 2020)",
    days=31.0,
    footprint_bytes=29.5e12 / 1000,  # working sets of 29.5 TB in 1,000 volumes
    write_share=Quantiles(
        # 91.5 % of the volumes write more than they read, 42.4 % more than 100 times as much.
        ((0.0, 0.0), (0.085, 0.5), (0.576, 100 / 101), (1.0, 1.0)),
        share=True,
        published=(0.085, 0.576),
    ),
    requests_per_s=Quantiles(
        # Median 2.55; 1.9 % are above 100. Ends: 0.01 and 1,000.
        ((0.0, 0.01), (0.5, 2.55), (0.981, 100.0), (1.0, 1000.0)),
        share=False,
        published=(0.5, 0.981),
    ),
    burstiness=Quantiles(
        # 25.8 % are below 10, 2.6 % above 1,000. Ends: 1 and 10,000.
        ((0.0, 1.0), (0.258, 10.0), (0.974, 1000.0), (1.0, 10_000.0)),
        share=False,
        published=(0.258, 0.974),
    ),
    update_coverage=Quantiles(
        # Median 61.2 %; 45.2 % are above 65 %. Ends: 1 % and 99 %.
        ((0.0, 0.01), (0.5, 0.612), (0.548, 0.65), (1.0, 0.99)),
        share=True,
        published=(0.5, 0.548),
    ),
    size_bytes=Quantiles(
        # 75 % of the writes are of at most 16 KiB. Ends: 4 KiB and 128 KiB.
        ((0.0, 4.0 * KIB), (0.75, 16.0 * KIB), (1.0, 128.0 * KIB)),
        share=False,
        published=(0.75,),
    ),
)
FLEETS = {fleet.name: fleet for fleet in (ALIBABA,)}
