"""Invalidation-rate GC. Electronics 2023, 12(9), 2142."""

from ssdlab.reproduce.papers.invalidation_rate.paper import PAPER
from ssdlab.reproduce.papers.invalidation_rate.readings import READINGS

__all__ = ["PAPER", "READINGS"]
