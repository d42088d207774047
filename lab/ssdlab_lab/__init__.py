"""The laboratory of ssdlab: papers and studies, closed forms, validation and benchmarks.

It adds `ssdlab reproduce`, `validate`, `bench`, `drives compare`, `drives scale` and `kv bench` to
the command line of ssdlab. What the release of a product does not need is here (ADR 0031).
"""

__version__ = "0.1.0"
