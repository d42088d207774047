"""Fleets: one drive for each volume, and how their outcomes are distributed."""
