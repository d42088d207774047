"""Named drives: published figures compared with simulated ones."""
