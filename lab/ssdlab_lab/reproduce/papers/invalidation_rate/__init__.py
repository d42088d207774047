"""Invalidation-rate GC. Electronics 2023, 12(9), 2142."""

from ssdlab_lab.reproduce.papers.invalidation_rate.paper import PAPER
from ssdlab_lab.reproduce.papers.invalidation_rate.readings import READINGS

__all__ = ["PAPER", "READINGS"]
