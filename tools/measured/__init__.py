"""Measurements of every policy on one grid, and a page for each: see `tools/policy_pages.py`."""
