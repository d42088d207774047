"""Adaptive channel-aware GC control. Electronics 2025, 14(23), 4741."""

from ssdlab_lab.reproduce.papers.adaptive_channel.paper import PAPER
from ssdlab_lab.reproduce.papers.adaptive_channel.readings import READINGS

__all__ = ["PAPER", "READINGS"]
