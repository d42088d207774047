"""Whether the file of a drive states the capacity that its keys give."""

from __future__ import annotations

from ssdlab.config.published import published
from ssdlab.config.resolve import Config, load_config

NEAR = 0.02
"""Largest share by which the two may differ, because makers round capacities."""


def contradiction(drive: Config) -> str:
    """How `user_gb` in the file of a drive differs from its keys; empty if it does not.

    Keys set by the caller are ignored.
    """
    if drive.file is None:
        return ""
    name = str(drive.file)
    stated = published(name, drive.file.read_text(encoding="utf-8")).get("user_gb")
    if not isinstance(stated, int | float):
        return ""
    device = load_config(name).values["device"]
    actual = device["user_pages"] * device["page_bytes"] / 1e9
    if abs(actual - stated) <= NEAR * abs(stated):
        return ""
    return (
        f"{name}: user_gb = {stated:g}, but the keys of [device] give {actual:,.0f} GB: there are"
        " no years until one of them is corrected"
    )
