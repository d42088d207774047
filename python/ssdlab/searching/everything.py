"""The words of the answers to all questions, and ranges for their parameters.

Names and limits come from the registry of the simulator. A parameter without a limit is searched up
to `MOST`, a time from 1 us to 10 ms, both by their logarithms.
"""

from __future__ import annotations

import json
import re
from difflib import get_close_matches
from functools import cache
from typing import Any

from ssdlab import _core
from ssdlab.display.argument import key_argument
from ssdlab.errors import ConfigError

ALL = "all"
"""Stands for all of `KEYS`."""
MOST = 64
"""Largest whole number of a parameter that is searched."""
TIMES = "log:1 us:10000 us"
KEYS = (
    "gc.trigger",
    "gc.victim",
    "gc.amount",
    "gc.concurrency",
    "gc.path",
    "gc.blocking.scope",
    "sched.order",
    "alloc.placement",
    "alloc.separation",
)
"""The answers that a search for everything varies: the seven questions, where writes go, and which
pages share a block. Parity and the device itself stay as they are."""
UNFAIR = {("alloc.separation", "future"), ("alloc.separation", "fdp")}
"""Not in `all`: the first knows the future, the second needs streams of the host."""

UNLISTED = {
    "gc.blocking.scope": ["none", "block", "plane", "channel", "device"],
    "gc.blocking.granularity": ["job", "page", "step"],
}
"""Words that neither registry nor schema list; a test loads each."""


@cache
def _registry() -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = json.loads(_core.registry())["policies"]
    return found


def words_of(key: str) -> dict[str, object]:
    """All words of a key, and of each its parameters; of every answer if the key is `all`.

    Raises `ConfigError` for a key that has no words.
    """
    if key == ALL:
        found: dict[str, object] = {}
        for one in KEYS:
            found |= _of_key(one, fair=True)
        return found
    found = _of_key(key, fair=False)
    if not found:
        near = get_close_matches(key, [ALL, *KEYS, *_registry()], 1)
        hint = f"; did you mean {near[0]}?" if near else ""
        key_text = key_argument("space", key)
        message = f"{key_text}: has no words of its own; give its values, KEY=VALUES{hint}"
        raise ConfigError([message])
    return found


def _of_key(key: str, *, fair: bool) -> dict[str, object]:
    policies = [p for p in _registry().get(key, []) if not fair or (key, p["name"]) not in UNFAIR]
    if not policies:
        words = _enumerated(key)
        return {key: words} if words else {}
    found: dict[str, object] = {key: [one["name"] for one in policies]}
    owners: dict[tuple[str, str], list[str]] = {}
    texts: dict[tuple[str, str], object] = {}
    for one in policies:
        for parameter in one["params"]:
            values = _values(parameter["kind"])
            at = parameter["name"], json.dumps(values)
            owners.setdefault(at, []).append(one["name"])
            texts[at] = values
    names = [name for name, _ in owners]
    for at, having_it in owners.items():
        name, _ = at
        # One key has one range: if policies differ, it is left at the default of each.
        if names.count(name) == 1:
            found[f"{key}.{name} if {key}={','.join(having_it)}"] = texts[at]
    return found


def _values(kind: str) -> object:
    """The values of a parameter of that kind that are searched."""
    if found := re.fullmatch(r"Int\((\d+), (\d+)\)", kind):
        low, high = max(1, int(found[1])), min(MOST, int(found[2]))
        return f"log:{low}:{high}"
    if found := re.fullmatch(r"Ratio\(([\d.e-]+), ([\d.e-]+)\)", kind):
        low_text = found[1] if float(found[1]) >= 0.001 or float(found[1]) == 0 else "0.001"
        return f"{low_text}:{found[2]}"
    if found := re.fullmatch(r"Choice\((\[.*\])\)", kind):
        words: list[str] = json.loads(found[1])
        return words
    if kind == "Bool":
        return [False, True]
    assert kind == "Time", f"a parameter of an unknown kind: {kind}"
    return TIMES


def _enumerated(key: str) -> list[str]:
    """The words of a key without parameters."""
    if key in UNLISTED:
        return UNLISTED[key]
    section, _, name = key.partition(".")
    schema = json.loads(_core.config_schema())["properties"]
    here = schema.get(section, {}).get("properties", {}).get(name, {})
    options = [here, *here.get("anyOf", [])]
    return next(([str(word) for word in one["enum"]] for one in options if "enum" in one), [])


def having(key: str, name: str) -> set[str] | None:
    """The words of a key that have the parameter `name`; None if the key is not a policy."""
    policies = _registry().get(key)
    if policies is None:
        return None
    return {one["name"] for one in policies if any(p["name"] == name for p in one["params"])}
