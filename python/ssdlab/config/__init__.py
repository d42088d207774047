"""What a run is to do: a resolved configuration, and whether the machine has the memory for it."""
