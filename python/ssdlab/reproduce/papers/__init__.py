"""The papers that can be reproduced; each is a module here."""

from __future__ import annotations

from ssdlab.reproduce.paper import Paper
from ssdlab.reproduce.papers import (
    adaptive_channel,
    deferred_gc_raid,
    invalidation_rate,
    noc_copyback,
)

PAPERS: dict[str, Paper] = {
    paper.name: paper
    for paper in (
        adaptive_channel.PAPER,
        invalidation_rate.PAPER,
        noc_copyback.PAPER,
        deferred_gc_raid.PAPER,
    )
}
"""By name."""
