"""The laboratory of ssdlab: papers and studies, closed forms, validation and benchmarks.

It adds `ssdlab reproduce`, `validate`, `bench`, `drives compare`, `drives scale` and `kv bench` to
the command line of ssdlab. Nothing in it is needed to use ssdlab (ADR 0031).
"""

__version__ = "0.1.0"
