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
    policies: dict[str, list[dict[str, Any]]] = json.loads(_core.registry())["policies"]
    return policies


def words_of(key: str) -> dict[str, object]:
    """All words of a key, and of each its parameters; of every answer if the key is `all`.

    Raises `ConfigError` for a key that has no words.
    """
    if key == ALL:
        words: dict[str, object] = {}
        for answer in KEYS:
            words |= _of_key(answer, only_fair=True)
        return words
    words = _of_key(key, only_fair=False)
    if not words:
        matches = get_close_matches(key, [ALL, *KEYS, *_registry()], 1)
        hint = f"; did you mean {matches[0]}?" if matches else ""
        key_text = key_argument("space", key)
        message = f"{key_text}: has no words of its own; give its values, KEY=VALUES{hint}"
        raise ConfigError([message])
    return words


def _of_key(key: str, *, only_fair: bool) -> dict[str, object]:
    policies = [
        p for p in _registry().get(key, []) if not only_fair or (key, p["name"]) not in UNFAIR
    ]
    if not policies:
        words = _schema_words(key)
        return {key: words} if words else {}
    result: dict[str, object] = {key: [policy["name"] for policy in policies]}
    owners: dict[tuple[str, str], list[str]] = {}
    texts: dict[tuple[str, str], object] = {}
    for policy in policies:
        for parameter in policy["params"]:
            values = _values(parameter["kind"])
            signature = parameter["name"], json.dumps(values)
            owners.setdefault(signature, []).append(policy["name"])
            texts[signature] = values
    names = [name for name, _ in owners]
    for signature, policy_names in owners.items():
        name, _ = signature
        # One key has one range: if policies differ, it is left at the default of each.
        if names.count(name) == 1:
            result[f"{key}.{name} if {key}={','.join(policy_names)}"] = texts[signature]
    return result


def _values(kind: str) -> object:
    """The values of a parameter of that kind that are searched."""
    if match := re.fullmatch(r"Int\((\d+), (\d+)\)", kind):
        low, high = max(1, int(match[1])), min(MOST, int(match[2]))
        return f"log:{low}:{high}"
    if match := re.fullmatch(r"Ratio\(([\d.e-]+), ([\d.e-]+)\)", kind):
        low_text = match[1] if float(match[1]) >= 0.001 or float(match[1]) == 0 else "0.001"
        return f"{low_text}:{match[2]}"
    if match := re.fullmatch(r"Choice\((\[.*\])\)", kind):
        words: list[str] = json.loads(match[1])
        return words
    if kind == "Bool":
        return [False, True]
    assert kind == "Time", f"a parameter of an unknown kind: {kind}"
    return TIMES


def _schema_words(key: str) -> list[str]:
    """The words of a key without parameters."""
    if key in UNLISTED:
        return UNLISTED[key]
    section, _, name = key.partition(".")
    schema = json.loads(_core.config_schema())["properties"]
    node = schema.get(section, {}).get("properties", {}).get(name, {})
    options = [node, *node.get("anyOf", [])]
    return next(
        ([str(word) for word in option["enum"]] for option in options if "enum" in option), []
    )


def words_with(key: str, name: str) -> set[str] | None:
    """The words of a key that have the parameter `name`; None if the key is not a policy."""
    policies = _registry().get(key)
    if policies is None:
        return None
    return {
        policy["name"]
        for policy in policies
        if any(parameter["name"] == name for parameter in policy["params"])
    }
