"""Settings that all Python tests share."""

import os

from hypothesis import settings

# HYPOTHESIS_PROFILE=slow: for the night.
settings.register_profile("fast", max_examples=64, deadline=None, derandomize=True)
settings.register_profile("slow", max_examples=10_000, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fast"))
