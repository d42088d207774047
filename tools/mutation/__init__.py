"""Mutation testing of the crates: see `tools/mutants.py`."""
