"""What a drive's file contains besides the configuration: its last table, `[published]`.

The kernel does not read it. Presets keep theirs in separate files; files of users may end with one.
"""

from __future__ import annotations

import json
import re
from difflib import get_close_matches
from typing import Any

from ssdlab import _core
from ssdlab.errors import ConfigError

_HEAD = re.compile(r"^[ \t]*\[[ \t]*published[ \t]*\][ \t]*(?:#.*)?$", re.MULTILINE)
KEYS = ("title", "user_gb", "raw", "rated", "unknown")
"""What the table may contain."""


def configuration(text: str) -> str:
    """The text of a file without `[published]`."""
    head = _HEAD.search(text)
    return text if head is None else text[: head.start()]


def published(name: str, text: str) -> dict[str, Any]:
    """The table `[published]` of the file `name`; empty if there is none.

    Raises `ConfigError` if it is not valid TOML, or if another table follows it.
    """
    head = _HEAD.search(text)
    if head is None:
        return {}
    line = text.count("\n", 0, head.start())
    try:
        # Line numbers in errors are those of the file.
        tables = json.loads(_core.toml_json("\n" * line + text[head.start() :]))
    except _core.ConfigError as error:
        raise ConfigError([f"{name}: {error}"]) from None
    other_tables = [table for table in tables if table != "published"]
    if other_tables:
        message = (
            f"{name}: [{other_tables[0]}] follows [published], which ends a file: move [published]"
            " behind all other tables"
        )
        raise ConfigError([message])
    values = dict(tables["published"])
    for key in values:
        if key not in KEYS:
            matches = get_close_matches(key, KEYS, 1)
            hint = (
                f"; did you mean `{matches[0]}`?" if matches else f"; there are {', '.join(KEYS)}"
            )
            raise ConfigError([f"{name}: [published] no such key: `{key}`{hint}"])
    return values
