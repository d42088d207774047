"""Alternative readings of what the papers leave open; each paper is a module here."""

from __future__ import annotations

from ssdlab.reproduce.other_readings import (
    adaptive_channel,
    deferred_gc_raid,
    invalidation_rate,
    noc_copyback,
)
from ssdlab.reproduce.readings import Readings

READINGS: dict[str, Readings] = {
    readings.paper.name: readings
    for readings in (
        adaptive_channel.READINGS,
        invalidation_rate.READINGS,
        noc_copyback.READINGS,
        deferred_gc_raid.READINGS,
    )
}
"""By name of the paper."""
