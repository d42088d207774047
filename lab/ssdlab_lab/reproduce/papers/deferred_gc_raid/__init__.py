"""Deferred GC in an SSD with chip-level RAID-5. IEICE Electronics Express, 2018."""

from ssdlab_lab.reproduce.papers.deferred_gc_raid.paper import PAPER
from ssdlab_lab.reproduce.papers.deferred_gc_raid.readings import READINGS

__all__ = ["PAPER", "READINGS"]
