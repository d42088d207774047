"""An example or two of every verb, shown below its options."""

from __future__ import annotations

EXAMPLES: dict[str, tuple[str, ...]] = {
    "reproduce": ("ssdlab reproduce adaptive-channel --quick",),
    "validate": ("ssdlab validate --quick",),
    "bench": ("ssdlab bench --only e1", "ssdlab bench --against recorded"),
    "drives compare": ("ssdlab drives compare --quick",),
    "drives scale": ("ssdlab drives scale --drive tlc-960gb --load uniform",),
    "kv bench": ("ssdlab kv bench --value 100 --size 50",),
}
