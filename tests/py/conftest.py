"""Settings that all Python tests share."""

import os
import signal

from hypothesis import settings

# HYPOTHESIS_PROFILE=slow draws other examples, for the night: what fails is printed with the line
# that replays it, and becomes an `@example` of its test.
settings.register_profile("fast", max_examples=64, deadline=None, derandomize=True)
settings.register_profile("slow", max_examples=10_000, deadline=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fast"))

# A shell starts jobs in the background with this signal ignored, and what the tests start and
# interrupt would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
