"""Parts of the reproduction of deferred GC in chip-level RAID-5 (`papers/deferred_gc_raid.py`)."""
