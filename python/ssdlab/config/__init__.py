"""A resolved configuration, and whether the machine has the memory for it."""
