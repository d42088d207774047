"""Selective copy-back in a network-on-chip controller. Electronics 2024, 13(23), 4838."""

from ssdlab_lab.reproduce.papers.noc_copyback.paper import PAPER
from ssdlab_lab.reproduce.papers.noc_copyback.readings import READINGS

__all__ = ["PAPER", "READINGS"]
