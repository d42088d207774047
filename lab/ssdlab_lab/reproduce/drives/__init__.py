"""Named drives: what was published of them, beside what is simulated."""
