"""Runs, comparisons of runs and devices, in this process and in others."""
