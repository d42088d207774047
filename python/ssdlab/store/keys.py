"""The key of a run: the digest of everything that its results depend on, and of nothing else."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from ssdlab.config.files import FILES


def key_text(
    values: Mapping[str, Any], digests: Mapping[str, str], sources: str, results: int
) -> str:
    """The text whose digest is the key of a run, as JSON.

    `values` is the configuration, without the names of run, preset and drive, and with files
    replaced by their `digests`, by key. A file that the run does not read is omitted. `sources` is
    the digest of the policies in Python, `results` the version of the results.
    """
    config = {
        part: {**value} if isinstance(value, dict) else value for part, value in values.items()
    }
    config.pop("preset", None)
    for name in ("name", "drive"):
        config["run"].pop(name, None)
    for part, name in FILES:
        if name in config.get(part, {}):
            config[part][name] = digests.get(f"{part}.{name}")
    content = [results, config, sources]
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def key_of(text: str) -> str:
    """The key of a run, from its `key_text`."""
    return hashlib.sha256(text.encode()).hexdigest()
