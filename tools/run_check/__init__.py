"""The parts of the external checker of a run; see `tools/check_run.py`."""
