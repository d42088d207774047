"""The files that a configuration names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

FILES = (
    ("workload", "trace"),
    ("workload", "like"),
    ("workload", "job"),
    ("workload", "msr"),
    ("precondition", "snapshot"),
)
"""Keys of the configuration that name a file, or a folder, which a run may read."""
_KINDS = {"trace": "trace", "like": "app", "job": "fio", "msr": "msr"}
"""The kinds of workloads that read the file which a key of `workload` names."""


def files_of(values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The keys of a configuration that name a file which its run reads, each with the file."""
    kind = str(values["workload"]["kind"]).partition(":")[0]
    for section, key in FILES:
        file = values.get(section, {}).get(key)
        is_read = section != "workload" or _KINDS[key] == kind
        if file and file != "none" and is_read:
            yield f"{section}.{key}", str(file)


MOST_BYTES = 80
"""The most bytes of a name, which leaves room for a prefix."""


def title_of_file(path: str | Path) -> str:
    """The name of a file in titles: without endings, but with all its marks that can be printed."""
    stem = Path(path).name.lstrip(".").partition(".")[0]
    return "".join(mark if mark.isprintable() else "-" for mark in stem).strip() or "trace"


def plain_name(path: str | Path) -> str:
    """The name of a file in results: without endings, valid for `run.name`."""
    stem = Path(path).name.lstrip(".").partition(".")[0]
    name = re.sub(r"[^\w +-]", "-", stem).encode()[:MOST_BYTES].decode(errors="ignore")
    return name.strip() or "trace"
